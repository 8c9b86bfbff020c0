#!/usr/bin/python3
"""make_records.py PATH [--records N]

Makes an LMDB of N small files by their paths, of 2 to 4 KB, so that each has a page of its own, as
photos have many."""

import argparse
import os
import random

import lmdb

BATCH = 100000
NOISE = random.Random(1).randbytes(1 << 20)


def content(number):
    start = number * 7919 % (1 << 19)
    return b"\xff\xd8\xff\xe0" + NOISE[start:start + 2100 + number * 37 % 1500]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--records", type=int, default=1281167)
    args = parser.parse_args()
    partial = f"{args.path}.partial"
    with lmdb.open(partial, subdir=False, map_size=args.records * 16384, lock=False,
                   sync=False) as env:
        for begin in range(0, args.records, BATCH):
            with env.begin(write=True) as txn:
                for number in range(begin, min(begin + BATCH, args.records)):
                    key = f"n{number // 1281:04}/n{number // 1281:04}_{number}.JPEG"
                    txn.put(key.encode(), content(number), append=True)
        env.sync(True)
    os.rename(partial, args.path)


if __name__ == "__main__":
    main()
