#!/usr/bin/python3
"""epochs.py ROOT|FILE [--decode | --crop | --store URL] [--workers W] [--epochs N]
          [--seed S|drawn] [--ranks R] [--files N] [--seconds S]

What a training reads: an unmodified DatasetFolder and DataLoader(shuffle=True), or with --ranks
rank 0 of a DistributedSampler, whose workers read the files and hand on when they did. With
--decode they do what training on ImageNet does; with --crop the same, but for normalizing. Of FILE,
which folder2lmdb wrote, it is the Dataset that comes with that. With --store, ROOT is a list of
files, and a Dataset as people write it GETs each from URL/NAME.

Prints as JSON for each epoch its files, seconds from the start of the workers to the last batch,
files a second, seconds from the first file to the first batch, when it began, and how many files
were read by each tenth of a second."""

import argparse
import json
import os
import time

import torch
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import DatasetFolder, ImageFolder

from photos import BATCH, Folder2lmdb, Gets, content, transform


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="ROOT|FILE")
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--crop", action="store_true")
    parser.add_argument("--store", metavar="URL")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", default="drawn", help="for manual_seed()")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--files", type=int, default=0, help="end an epoch after N (never)")
    parser.add_argument("--seconds", type=float, default=0, help="end an epoch after S (never)")
    return parser.parse_args()


class Timed:
    """A dataset of which each sample is when it was asked for."""

    def __init__(self, data):
        self.data = data

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        asked = time.monotonic()
        self.data[index]
        return asked, 0


def dataset(args):
    if args.decode or args.crop:
        steps = transform()
        del steps.transforms[3 if args.crop else 4:]
        return ImageFolder(args.root, steps)
    if args.store:
        with open(args.root) as lines:
            return Timed(Gets(lines.read().splitlines(), args.store))
    if os.path.isfile(args.root):
        return Timed(Folder2lmdb(args.root))
    return Timed(DatasetFolder(args.root, content, is_valid_file=lambda _: True))


def by_each_tenth(batches):
    """batches: (seconds, files read by then); as the C reader prints it."""
    steps, before = [], 0
    for wall, files in batches:
        while wall * 10 > len(steps) + 1:
            steps.append(before)
        before = files
    return [*steps, before]


def read_epoch(loader, seconds=0, most=0):
    """Until so many seconds or files, if not to its end."""
    files, first, batches, began = 0, None, [], time.monotonic()
    for data, _ in loader:
        files += len(data)
        if not batches and data.dim() == 1:  # when each was asked for
            first = time.monotonic() - data.min().item()
        wall = time.monotonic() - began
        batches.append((wall, files))
        if (seconds and wall > seconds) or (most and files >= most):
            break
    return {"files": files, "wall_s": wall, "files_per_s": files / wall, "first": first,
            "began_us": int(began * 1e6), "progress": by_each_tenth(batches)}


def main():
    args = arguments()
    if args.seed != "drawn":
        torch.manual_seed(int(args.seed))
    data = dataset(args)
    sampler = DistributedSampler(data, args.ranks, 0) if args.ranks else None
    loader = DataLoader(data, BATCH, shuffle=sampler is None, sampler=sampler,
                        num_workers=args.workers)
    epochs = []
    for epoch in range(args.epochs):
        if sampler:
            sampler.set_epoch(epoch)
        epochs.append(read_epoch(loader, args.seconds, args.files))
    print(json.dumps(epochs), flush=True)


if __name__ == "__main__":
    main()
