#!/usr/bin/python3
"""models.py LIBRARY:NAME..: after how many outputs of torch's generator the weights of a model are
made (torchvision, timm, transformers): the rows of cache/order/streams.c.

The outputs are linear in the number of classes; a row is only printed where they are."""

import sys

import torch
from torch.nn import Conv2d, Linear

from ordinary import make_model

ROOT, BITS, CHUNK, MOST = 0, 24, 1 << 22, 600_000_000


def place_of(wanted):
    """How many outputs come before these two. (Of more than 28 bits, a number takes two.)"""
    generator = torch.Generator().manual_seed(ROOT)
    begin, last = 0, torch.empty(0, dtype=torch.int64)
    while begin < MOST:
        outputs = torch.cat((last, torch.randint(0, 1 << BITS, (CHUNK,), generator=generator)))
        rows = outputs.unfold(0, len(wanted), 1)
        found = (rows == torch.tensor(wanted)).all(1).nonzero()
        if len(found):
            return begin - len(last) + found[0].item()
        begin, last = begin + CHUNK, outputs[1 - len(wanted):]
    return None


def outputs_of(name, classes):
    torch.manual_seed(ROOT)
    make_model(name, classes)
    return place_of(torch.randint(0, 1 << BITS, (4,)).tolist())


def features_of(name, classes=7):
    return [getattr(layer, "in_features", None) or layer.in_channels
            for layer in make_model(name, classes).modules()
            if isinstance(layer, (Linear, Conv2d)) and classes in layer.weight.shape[:1]][-1]


def main():
    for name in sys.argv[1:]:
        few, some, many = (outputs_of(name, classes) for classes in (2, 10, 1000))
        each = (many - some) // 990
        if (some - few, many - some) != (8 * each, 990 * each):
            sys.exit(f"{name}: {few}, {some}, {many} outputs for 2, 10, 1000 classes")
        print(f"{{{few - 2 * each}, {each}, {features_of(name)}}}, {name}", flush=True)


if __name__ == "__main__":
    main()
