#!/usr/bin/python3
"""train.py DATA [options]

Trains on the ImageFolder DATA as scripts do that know nothing of foldfs, with torch's and
torchvision's own loaders and samplers. A sample's label is its number, which is how its order gets
out of the loader; the training itself is in steps.py."""

import argparse
import random

import numpy
import torch
from torch.utils.data import DataLoader, Sampler, WeightedRandomSampler, random_split
from torch.utils.data.distributed import DistributedSampler
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

from numbered import Numbered
from steps import Steps


class Masked(ImageFolder):
    """Segmentation: with each image of DATA/train its mask in DATA/masks."""

    def __getitem__(self, number):
        path = self.samples[number][0].replace("/train/", "/masks/")
        with open(path.rpartition(".")[0] + ".png", "rb") as mask:
            return super().__getitem__(number)[0], len(mask.read())


class Mosaic(ImageFolder):
    """Detection: each sample is put together from its image and three others."""

    def __getitem__(self, number):
        for other in random.choices(range(len(self)), k=3):
            super().__getitem__(other)
        return super().__getitem__(number)


class Shuffled(Sampler):
    """By numpy, as many scripts have it."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def __iter__(self):
        return iter(numpy.random.permutation(len(self.dataset)).tolist())


FOLDERS = {"plain": ImageFolder, "masks": Masked, "mosaic": Mosaic}


def make_dataset(args):
    inner = FOLDERS[args.dataset](args.data, transform=ToTensor())
    if args.split:
        inner, _ = random_split(inner, [len(inner) * 4 // 5, len(inner) - len(inner) * 4 // 5])
    return Numbered(inner)


def make_sampler(args, dataset):
    """None for the loader's own."""
    if args.world:
        return DistributedSampler(dataset, args.world, args.rank, drop_last=args.drop_last)
    if args.weighted:
        return WeightedRandomSampler(torch.rand(len(dataset)), len(dataset), replacement=True)
    return Shuffled(dataset) if args.numpy else None


def make_loader(args, dataset, sampler):
    workers = {"num_workers": args.workers,
               "persistent_workers": args.persistent and args.workers > 0}
    return DataLoader(dataset, args.batch_size, shuffle=sampler is None, sampler=sampler,
                      drop_last=args.drop_last, **workers)


def validate(args):
    """In order, as everybody does."""
    dataset = ImageFolder(args.validate, transform=ToTensor())
    return sum(len(labels) for _, labels in
               DataLoader(dataset, args.batch_size, num_workers=args.workers))


def train(args):
    if args.seed is not None:
        torch.manual_seed(args.seed)
    if args.weights:  # which come out of the same generator
        torch.nn.Sequential(torch.nn.Linear(2048, 1000), torch.nn.Linear(1000, 10))
    dataset = make_dataset(args)
    sampler = make_sampler(args, dataset)
    loader = make_loader(args, dataset, sampler)
    steps = Steps(len(dataset) // max(args.world, 1), args.rate)
    for epoch in range(args.start, args.start + args.epochs):
        if args.world:
            sampler.set_epoch(epoch)
        steps.begin(epoch)
        for _, numbers in loader:
            steps.step(numbers)
        steps.end()
        if args.validate:
            validate(args)


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    for name in ("epochs", "batch-size"):
        parser.add_argument(f"--{name}", type=int, default=1)
    for name in ("workers", "start", "world", "rank"):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--rate", type=float, default=3000)
    parser.add_argument("--dataset", choices=FOLDERS, default="plain")
    parser.add_argument("--validate")
    for name in ("persistent", "drop-last", "weighted", "numpy", "split", "weights"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    train(parse())
