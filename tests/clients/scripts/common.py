"""What the scripts for the frameworks share: their options, and the loop of those frameworks that
leave it to their users."""

import argparse

import torch.distributed
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

from numbered import Numbered
from steps import Steps


def parse(*names):
    """Besides the names of numbers, what all scripts take."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    for name in ("workers", "seed", *names):
        parser.add_argument(f"--{name}", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=40)
    parser.add_argument("--rate", type=float, default=1500)
    return parser.parse_args()


def folder(args):
    return Numbered(ImageFolder(args.data, transform=ToTensor()))


def steps_of(args, loader):
    return Steps(len(loader) * args.batch_size, args.rate)


def as_one():
    """As the gradients of DistributedDataParallel: no rank is a step ahead of another."""
    if torch.distributed.is_initialized():
        torch.distributed.barrier()


def train(args, loader, begin=lambda epoch: None):
    steps = steps_of(args, loader)
    for epoch in range(args.epochs):
        begin(epoch)
        steps.begin(epoch)
        for _, numbers in loader:
            steps.step(numbers)
            as_one()
        steps.end()
