#!/usr/bin/python3
"""stream.py FILE: reads FILE once in order, past the page cache, in pieces of 4 MiB into huge
pages, as fast as one reader can, and prints how fast that was, as JSON.

A device takes a limited number of memory segments a request: pieces of scattered 4 KiB pages
would be split."""

import ctypes
import json
import mmap
import os
import sys
import time

PIECE = 4 << 20
HUGE = 2 << 20


def huge_buffer():
    """PIECE bytes in huge pages, all of them touched."""
    memory = mmap.mmap(-1, PIECE + HUGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    memory[::mmap.PAGESIZE] = b"x" * (len(memory) // mmap.PAGESIZE)
    start = -ctypes.addressof(ctypes.c_char.from_buffer(memory)) % HUGE
    return memoryview(memory)[start:start + PIECE]


def main(path):
    buffer = huge_buffer()
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    size, began = 0, time.monotonic()
    while got := os.preadv(fd, [buffer], size):
        size += got
        if got < PIECE:  # the end, behind which an unaligned read would begin
            break
    wall = time.monotonic() - began
    print(json.dumps({"bytes": size, "wall_s": wall, "mb_per_s": size / 1e6 / wall}))


if __name__ == "__main__":
    main(sys.argv[1])
