#!/usr/bin/python3
"""epochs.py ROOT|FILE [--decode | --store URL] [--workers W] [--epochs N] [--seed S|drawn]
          [--files N] [--seconds S]

What a training reads: an unmodified DatasetFolder and DataLoader(shuffle=True), whose workers read
the files and hand on how long they are. With --decode they do what training on ImageNet does. Of
FILE, which folder2lmdb wrote, it is the Dataset that comes with that. With --store, ROOT is a list
of files, and a Dataset as people write it GETs each from URL/NAME.

Prints as JSON the files a second of each epoch, from the start of the workers to the last batch."""

import argparse
import json
import os
import time

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import DatasetFolder, ImageFolder

from photos import BATCH, Folder2lmdb, Gets, content, transform


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="ROOT|FILE")
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--store", metavar="URL")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", default="drawn", help="for manual_seed()")
    parser.add_argument("--files", type=int, default=0, help="end an epoch after N (never)")
    parser.add_argument("--seconds", type=float, default=0, help="end an epoch after S (never)")
    return parser.parse_args()


def folder(root):
    return DatasetFolder(root, lambda path: len(content(path)), is_valid_file=lambda _: True)


def dataset(args):
    if args.decode:
        return ImageFolder(args.root, transform())
    if args.store:
        with open(args.root) as lines:
            return Gets(lines.read().splitlines(), args.store)
    return Folder2lmdb(args.root) if os.path.isfile(args.root) else folder(args.root)


def rate_of(loader, seconds=0, most=0):
    """Files a second of an epoch, until so many seconds or files, if not to its end."""
    files, began = 0, time.monotonic()
    for data, _ in loader:
        files += len(data)
        wall = time.monotonic() - began
        if (seconds and wall > seconds) or (most and files >= most):
            break
    return files / wall


def main():
    args = arguments()
    if args.seed != "drawn":
        torch.manual_seed(int(args.seed))
    loader = DataLoader(dataset(args), BATCH, shuffle=True, num_workers=args.workers)
    print(json.dumps([rate_of(loader, args.seconds, args.files) for _ in range(args.epochs)]))


if __name__ == "__main__":
    main()
