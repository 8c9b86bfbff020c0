#!/usr/bin/python3
"""lmdb_reader.py PACK LIST [--workers W] [--seed S] [--seconds T]

Reads the files that LIST names from PACK in shuffled order with W worker processes, as a
Dataset that somebody wrote around py-lmdb does, and prints how fast that went, as JSON."""

import argparse
import json
import multiprocessing
import random
import time

import lmdb


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack")
    parser.add_argument("list")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="begin no file after (all)")
    return parser.parse_args()


def read(args, keys, start, results):
    """One worker: files and bytes read, and how long that took."""
    env = lmdb.open(args.pack, subdir=False, readonly=True, lock=False, readahead=False)
    files = size = 0
    start.wait()
    began = time.monotonic()
    with env.begin() as txn:
        for key in keys:
            if args.seconds and time.monotonic() - began > args.seconds:
                break
            size += len(txn.get(key))
            files += 1
    results.put((files, size, time.monotonic() - began))


def main():
    args = arguments()
    with open(args.list, "rb") as file:
        keys = file.read().splitlines()
    random.Random(args.seed).shuffle(keys)
    start, results = multiprocessing.Barrier(args.workers), multiprocessing.Queue()
    workers = [multiprocessing.Process(target=read,
                                       args=(args, keys[number::args.workers], start, results))
               for number in range(args.workers)]
    for worker in workers:
        worker.start()
    done = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    files, size, wall = sum(d[0] for d in done), sum(d[1] for d in done), max(d[2] for d in done)
    print(json.dumps({"bytes": size, "files_per_s": files / wall}))


if __name__ == "__main__":
    main()
