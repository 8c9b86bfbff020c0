#!/usr/bin/python3
"""leaf_pages.py PATH

Reads the branch and leaf pages of an LMDB, one after the other in the order of its keys, and
nothing else: what a scan of its keys costs at least. Prints pages and seconds as JSON. Data
format 1, pages of 4 KiB."""

import json
import os
import struct
import sys
import time

PAGE = 4096
BRANCH = 1


def children(page):
    lower, = struct.unpack_from("<H", page, 12)
    for pointer in struct.unpack_from(f"<{(lower - 16) // 2}H", page, 16):
        low, high, flags = struct.unpack_from("<HHH", page, pointer)
        yield low | high << 16 | flags << 32


def main():
    fd = os.open(sys.argv[1], os.O_RDONLY)
    began, pages = time.monotonic(), 0
    metas = [os.pread(fd, PAGE, number * PAGE) for number in (0, 1)]
    newest = max(metas, key=lambda meta: struct.unpack_from("<Q", meta, 144)[0])
    stack = [struct.unpack_from("<Q", newest, 128)[0]]
    while stack:
        page = os.pread(fd, PAGE, stack.pop() * PAGE)
        pages += 1
        if struct.unpack_from("<H", page, 10)[0] & BRANCH:
            stack.extend(reversed(list(children(page))))
    print(json.dumps({"pages": pages, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
