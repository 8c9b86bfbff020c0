#!/usr/bin/python3
"""loader.py ROOT|FILE raw|crop|decode [--workers W] [--epochs E] [--files N] [--seconds S]
          [--seed S] [--progress]

An unmodified ImageFolder and DataLoader(shuffle=True), and how fast its last epoch was, as JSON;
of FILE, which folder2lmdb wrote, the Dataset that comes with that.
raw: the workers read the files and hand on their sizes; decode: they do what training on ImageNet
does; crop: the same, but for normalizing. The time counts from the start of the workers to the
last batch."""

import argparse
import json
import os
import pickle
import time

import torch
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms
from torchvision.datasets import DatasetFolder, ImageFolder

BATCH = 64


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", metavar="ROOT|FILE")
    parser.add_argument("kind", choices=("raw", "crop", "decode"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=1, help="of which the last counts")
    parser.add_argument("--files", type=int, default=0, help="stop after N (all)")
    parser.add_argument("--seconds", type=float, default=0, help="stop after S (never)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--progress", action="store_true",
                        help="print how many files were read by each tenth of a second")
    return parser.parse_args()


def size_of(path):
    with open(path, "rb") as file:
        return len(file.read())


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
        with self.env.begin(write=False) as txn:
            image, label = pickle.loads(txn.get(self.keys[index]))
        return len(image), label

    def __len__(self):
        return self.length


def dataset(root, kind):
    if os.path.isfile(root):
        return Folder2lmdb(root)
    if kind == "raw":
        return DatasetFolder(root, size_of, is_valid_file=lambda _: True)
    steps = [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(),
             transforms.ToTensor()]
    if kind == "decode":
        steps.append(transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    return ImageFolder(root, transforms.Compose(steps))


def by_each_tenth(batches):
    """batches: (seconds, files read by then); as the C reader prints it."""
    steps, before = [], 0
    for wall, files in batches:
        while wall * 10 > len(steps) + 1:
            steps.append(before)
        before = files
    return [*steps, before]


def epoch(loader, args):
    """When it began, and (seconds, files read by then) of each batch."""
    files, batches, began = 0, [], time.monotonic()
    for _, labels in loader:
        files += len(labels)
        wall = time.monotonic() - began
        batches.append((wall, files))
        if (args.files and files >= args.files) or (args.seconds and wall > args.seconds):
            break
    return began, batches


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    began = time.monotonic()
    loader = DataLoader(dataset(args.root, args.kind), batch_size=BATCH, shuffle=True,
                        num_workers=args.workers)
    listed = time.monotonic() - began
    for _ in range(args.epochs):
        began, batches = epoch(loader, args)
    wall, files = batches[-1]
    progress = {"progress": by_each_tenth(batches)} if args.progress else {}
    print(json.dumps({"files": files, "wall_s": wall, "files_per_s": files / wall,
                      "listed_s": listed, "began_us": int(began * 1e6),
                      **progress}), flush=True)


if __name__ == "__main__":
    main()
