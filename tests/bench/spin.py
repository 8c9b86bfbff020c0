#!/usr/bin/python3
"""spin.py SECONDS: keeps one processor busy as decoding does, and prints how much it got done a
second, as JSON."""

import hashlib
import json
import sys
import time

PIECE = bytes(64 << 10)


def main(seconds):
    done, began = 0, time.monotonic()
    while (wall := time.monotonic() - began) < seconds:
        hashlib.sha256(PIECE).digest()
        done += 1
    print(json.dumps({"work_per_s": done / wall}))


if __name__ == "__main__":
    main(float(sys.argv[1]))
