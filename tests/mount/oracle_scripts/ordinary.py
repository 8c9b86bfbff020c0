#!/usr/bin/python3
"""ordinary.py DATA [options]: the script that everybody writes.

It seeds torch, makes a model, and trains with DataLoader(shuffle=True), a validation in between if
wanted. A line of JSON for each batch says how many samples of which epoch were had, and when; one
at the end of each epoch, in which order they came."""

import argparse
import json
import time

import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import ToTensor

from numbered import Numbered


def say(**what):
    print(json.dumps(what), flush=True)


def folder(path):
    return Numbered(ImageFolder(path, transform=ToTensor()))


def make_model(name, classes):
    """As the library makes it: resnet50 of torchvision, timm:NAME, transformers:TYPE."""
    library, _, name = name.rpartition(":")
    if library == "timm":
        import timm
        return timm.create_model(name, num_classes=classes)
    if library == "transformers":
        from transformers import AutoConfig, AutoModelForImageClassification
        return AutoModelForImageClassification.from_config(
            AutoConfig.for_model(name, num_labels=classes))
    import torchvision
    return getattr(torchvision.models, name)(num_classes=classes)


def replace_head(model, classes):
    """The last layer by one for these classes, as tutorials do it."""
    name, head = [(name, module) for name, module in model.named_modules()
                  if isinstance(module, torch.nn.Linear)][-1]
    parent, _, name = name.rpartition(".")
    setattr(model.get_submodule(parent), name, torch.nn.Linear(head.in_features, classes))


def loader(args, dataset, shuffle):
    return DataLoader(dataset, args.batch, shuffle=shuffle, num_workers=args.workers,
                      persistent_workers=args.persistent)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--validation", action="store_true")
    parser.add_argument("--model")
    for name, value in (("seed", None), ("workers", 2), ("batch", 32), ("epochs", 3), ("rate", 0),
                        ("dropout", 0), ("classes", 1000), ("head", 0)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--persistent", action="store_true")
    args = parser.parse_args()

    if args.seed is not None:
        torch.manual_seed(args.seed)
    if args.model:
        model = make_model(args.model, args.classes)
        if args.head:
            replace_head(model, args.head)
    train = loader(args, folder(f"{args.data}/train"), True)
    validation = loader(args, folder(f"{args.data}/val"), False) if args.validation else None
    for epoch in range(args.epochs):
        order, began = [], time.monotonic()
        for _, numbers in train:
            order += numbers.tolist()
            say(epoch=epoch, had=len(order), time=time.monotonic())
            if args.dropout:  # on the processor, as a model without a GPU has it
                torch.nn.functional.dropout(torch.ones(args.dropout))
            if args.rate:
                time.sleep(max(0, began + len(order) / args.rate - time.monotonic()))
        say(epoch=epoch, order=order)
        for _ in validation or ():
            pass


if __name__ == "__main__":
    main()
