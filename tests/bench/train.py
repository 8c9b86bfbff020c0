#!/usr/bin/python3
"""train.py ROOT [--device cuda|cpu] [--model NAME] [--pixels N] [--workers W] [--images N]
         [--seed S]

Trains a network of torchvision over an image folder, as one does on ImageNet, and prints as JSON
how many images a second that were after the first steps, and the loss of each step: the same of the
same images in the same order, wherever they come from."""

import argparse
import json
import os
import time

import torch
from torch.utils.data import DataLoader
from torchvision import models
from torchvision.datasets import ImageFolder

from photos import BATCH, transform

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # so that it repeats its results
FIRST = 3  # steps that prepare


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--pixels", type=int, default=224)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--images", type=int, default=0, help="in all (an epoch)")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


def batches(args):
    dataset = ImageFolder(args.root, transform(args.pixels))
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=args.workers, drop_last=True,
                        pin_memory=args.device == "cuda")
    steps = args.images // BATCH or len(loader)
    for _, (images, labels) in zip(range(steps), loader):
        yield (images.to(args.device, non_blocking=True),
               labels.to(args.device, non_blocking=True))


def train(args):
    torch.manual_seed(args.seed)
    torch.use_deterministic_algorithms(True, warn_only=True)
    model = getattr(models, args.model)(num_classes=1000).to(args.device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    losses, began = [], 0
    for images, labels in batches(args):
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if len(losses) == FIRST:
            losses[-1].item()  # waits for the device
            began = time.monotonic()
    losses = torch.stack(losses).tolist()
    return losses, time.monotonic() - began


def main():
    losses, seconds = train(arguments())
    print(json.dumps({"images_per_s": (len(losses) - FIRST) * BATCH / seconds, "losses": losses}))


if __name__ == "__main__":
    main()
