#!/usr/bin/python3
"""epochs.py ROOT [--workers W] [--epochs N] [--seed S|none] [--ranks R] [--seconds S]

What a training reads: an unmodified DatasetFolder and DataLoader(shuffle=True), or with --ranks
rank 0 of a DistributedSampler, whose workers read the files and hand on their sizes. Prints as JSON
for each epoch its files, seconds, and seconds until its first batch."""

import argparse
import json
import time

import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import DatasetFolder

BATCH = 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", default="none", help="for manual_seed()")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="end an epoch after S (never)")
    return parser.parse_args()


def size_of(path):
    with open(path, "rb") as file:
        return len(file.read())


def read_epoch(loader, seconds):
    files, first, began = 0, None, time.monotonic()
    for sizes, _ in loader:
        files += len(sizes)
        wall = time.monotonic() - began
        first = wall if first is None else first
        if seconds and wall > seconds:
            break
    return {"files": files, "seconds": wall, "first": first}


def main():
    args = arguments()
    if args.seed != "none":
        torch.manual_seed(int(args.seed))
    dataset = DatasetFolder(args.root, size_of, is_valid_file=lambda _: True)
    sampler = DistributedSampler(dataset, args.ranks, 0) if args.ranks else None
    loader = DataLoader(dataset, BATCH, shuffle=sampler is None, sampler=sampler,
                        num_workers=args.workers)
    epochs = []
    for epoch in range(args.epochs):
        if sampler:
            sampler.set_epoch(epoch)
        epochs.append(read_epoch(loader, args.seconds))
    print(json.dumps(epochs), flush=True)


if __name__ == "__main__":
    main()
