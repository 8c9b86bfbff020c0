#!/usr/bin/python3
"""orders.py DATA TOLD: what foldfs.order() tells a mount, and what the epochs then read.

`foldstat` is one that writes what it is told to TOLD. Prints, as JSON, for each kind of order, and
each of three epochs, the paths told and the paths read. One process, since imports take seconds."""

import json
import os
import random
import sys

import numpy
import torch
from torch.utils.data import (BatchSampler, ConcatDataset, DataLoader, DistributedSampler,
                              RandomSampler, Subset, SubsetRandomSampler, WeightedRandomSampler)
from torchvision.datasets import ImageFolder

import foldfs


class Paths(ImageFolder):
    """Samples are their own paths."""

    def __getitem__(self, index):
        return self.samples[index][0]


class OfNumpy:
    """A sampler as users write them."""

    def __init__(self, dataset):
        self.data_source = dataset

    def __len__(self):
        return len(self.data_source)

    def __iter__(self):
        yield from numpy.random.permutation(len(self)).tolist()


class OfPython(OfNumpy):
    def __iter__(self):
        yield from random.sample(range(len(self)), len(self))


class OfArrays(OfNumpy):
    """Its batches are arrays."""

    def __iter__(self):
        yield from numpy.array_split(numpy.random.permutation(len(self)), 5)


def own():
    return torch.Generator().manual_seed(3)


def with_sampler(make, **options):
    return lambda data: DataLoader(data, 4, sampler=make(data), **options)


LOADERS = {
    "shuffle": lambda data: DataLoader(data, 4, shuffle=True),
    "workers": lambda data: DataLoader(data, 4, shuffle=True, num_workers=2),
    "persistent": lambda data: DataLoader(data, 4, shuffle=True, num_workers=2,
                                          persistent_workers=True),
    "generator": lambda data: DataLoader(data, 4, shuffle=True, generator=own()),
    "sampler": with_sampler(lambda data: RandomSampler(data, generator=own())),
    "weighted": with_sampler(lambda data: WeightedRandomSampler(range(1, len(data) + 1), 50)),
    "numpy": with_sampler(OfNumpy),
    "python": with_sampler(OfPython),
    "unbatched": lambda data: DataLoader(data, None, shuffle=True),
    "batches": lambda data: DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 5,
                                                                         drop_last=True)),
    "arrays": lambda data: DataLoader(data, batch_sampler=OfArrays(data)),
    "distributed": with_sampler(lambda data: DistributedSampler(data, 2, 1, seed=5)),
    "subset": lambda data: DataLoader(Subset(data, range(0, len(data), 3)), 4, shuffle=True),
    "concat": lambda data: DataLoader(ConcatDataset([data, Subset(data, [1, 2])]), shuffle=True),
}
# order() gets the sampler; with its dataset, if it does not know that.
SAMPLERS = {
    "own": (lambda data: RandomSampler(data, generator=own()), False),
    "ranks": (lambda data: DistributedSampler(data, 2, 0), False),
    "chosen": (lambda data: SubsetRandomSampler([3, 1, 9, 7], generator=own()), True),
}


def epochs(kind, data):
    """What order() gets, and the loader."""
    if kind in LOADERS:
        loader = LOADERS[kind](data)
        return [loader], loader
    make, needs_dataset = SAMPLERS[kind]
    sampler = make(data)
    return [sampler, data] if needs_dataset else [sampler], DataLoader(data, 4, sampler=sampler)


def told_and_read(root, told, kind):
    order, loader = epochs(kind, Paths(root))
    for epoch in range(3):
        for sampler in (loader.sampler, order[0]):
            if hasattr(sampler, "set_epoch"):
                sampler.set_epoch(epoch)
        foldfs.order(root, *order)
        with open(told) as lines:
            said = lines.read().splitlines()
        read = [path for batch in loader
                for path in ([batch] if isinstance(batch, str) else batch)]
        yield said, [os.path.relpath(path, root) for path in read]


def main():
    root, told = sys.argv[1:]
    torch.manual_seed(1)
    print(json.dumps({kind: list(told_and_read(root, told, kind))
                      for kind in (*LOADERS, *SAMPLERS)}))


if __name__ == "__main__":
    main()
