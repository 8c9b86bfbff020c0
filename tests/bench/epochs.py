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
import http.client
import json
import os
import pickle
import time
import urllib.parse

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import transforms
from torchvision.datasets import DatasetFolder, ImageFolder

BATCH = 64


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


def read_file(path):
    asked = time.monotonic()
    with open(path, "rb") as file:
        file.read()
    return asked


class Gets(Dataset):
    """One GET per file, each worker over a connection of its own that it keeps."""

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


class Folder2lmdb(Dataset):
    """As Efficient-PyTorch and pytorch_lmdb_imagenet have it, without decoding."""

    def __init__(self, path):
        import lmdb
        self.env = lmdb.open(path, subdir=False, readonly=True, lock=False, readahead=False,
                             meminit=False)
        with self.env.begin(write=False) as txn:
            self.length = pickle.loads(txn.get(b"__len__"))
            self.keys = pickle.loads(txn.get(b"__keys__"))

    def __getitem__(self, index):
        asked = time.monotonic()
        with self.env.begin(write=False) as txn:
            _, label = pickle.loads(txn.get(self.keys[index]))
        return asked, label

    def __len__(self):
        return self.length


def dataset(args):
    if args.store:
        return Gets(args.root, args.store)
    if os.path.isfile(args.root):
        return Folder2lmdb(args.root)
    if not (args.decode or args.crop):
        return DatasetFolder(args.root, read_file, is_valid_file=lambda _: True)
    steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
             transforms.ToTensor()]
    if args.decode:
        steps.append(transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    return ImageFolder(args.root, transforms.Compose(steps))


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
