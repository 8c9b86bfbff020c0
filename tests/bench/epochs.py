#!/usr/bin/python3
"""epochs.py ROOT [--store URL] [--workers W] [--epochs N] [--seed S|none] [--ranks R]
          [--seconds S]

What a training reads: an unmodified DatasetFolder and DataLoader(shuffle=True), or with --ranks
rank 0 of a DistributedSampler, whose workers read the files and hand on when they did. With
--store, ROOT is a list of files, and a Dataset as people write it GETs each from URL/NAME. Prints
as JSON for each epoch its files, seconds, and seconds from its first file to its first batch."""

import argparse
import http.client
import json
import time
import urllib.parse

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import DatasetFolder

BATCH = 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--store", metavar="URL")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", default="none", help="for manual_seed()")
    parser.add_argument("--ranks", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0, help="end an epoch after S (never)")
    return parser.parse_args()


def read_file(path):
    asked = time.monotonic()
    with open(path, "rb") as file:
        file.read()
    return asked


class Gets(Dataset):
    """A GET a file, each worker over a connection of its own that it keeps."""

    def __init__(self, names, url):
        with open(names) as lines:
            self.names = lines.read().splitlines()
        self.url, self.connection = urllib.parse.urlsplit(url), None

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.url.netloc)
        asked = time.monotonic()
        self.connection.request("GET", f"{self.url.path}/{urllib.parse.quote(self.names[index])}")
        answer = self.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise OSError(f"{self.names[index]}: {answer.status}")
        return asked, 0


def read_epoch(loader, seconds):
    files, first, began = 0, None, time.monotonic()
    for asked, _ in loader:
        files += len(asked)
        first = time.monotonic() - asked.min().item() if first is None else first
        wall = time.monotonic() - began
        if seconds and wall > seconds:
            break
    return {"files": files, "seconds": wall, "first": first}


def main():
    args = arguments()
    if args.seed != "none":
        torch.manual_seed(int(args.seed))
    dataset = (Gets(args.root, args.store) if args.store else
               DatasetFolder(args.root, read_file, is_valid_file=lambda _: True))
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
