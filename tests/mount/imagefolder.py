#!/usr/bin/python3
"""imagefolder.py SOURCE MOUNT START:WORKERS...

Holds what torchvision's ImageFolder and torch's DataLoader make of a mount against what they
make of its source; prints each verdict, as JSON. One process, since the imports take seconds."""

import hashlib
import json
import os
import sys

import torch
import torchvision
from torch.utils.data import DataLoader, RandomSampler
from torchvision.datasets import ImageFolder

EPOCHS, BATCH = 2, 16


def as_digest(image):
    """The size and a digest of the pixels: what workers send is small."""
    tensor = torchvision.transforms.functional.pil_to_tensor(image)
    return tuple(tensor.shape), hashlib.sha256(tensor.numpy().tobytes()).hexdigest()


def as_list(batch):
    return batch


def epochs(dataset, start, workers):
    """What the loader yields in two shuffled epochs. The order has a generator of its own: from
    the loader's, workers that persist draw another number of times."""
    loader = DataLoader(
        dataset, BATCH, sampler=RandomSampler(dataset, generator=torch.Generator().manual_seed(7)),
        num_workers=workers, persistent_workers=workers > 0, collate_fn=as_list,
        multiprocessing_context=start if workers else None,
    )
    return [[batch for batch in loader] for _ in range(EPOCHS)]


def verdict(want, have):
    return "same" if want == have else f"{str(have)[:500]} is not {str(want)[:500]}"


def relative(dataset):
    return [(os.path.relpath(path, dataset.root), label) for path, label in dataset.samples]


def decoded(dataset):
    """torchvision.io maps files instead of reading them."""
    found = []
    for path, _ in dataset.samples:
        tensor = torchvision.io.read_image(path)
        found.append((tuple(tensor.shape), hashlib.sha256(tensor.numpy().tobytes()).hexdigest()))
    return found


def main():
    source, mount = (ImageFolder(root, transform=as_digest) for root in sys.argv[1:3])
    found = {
        "samples": len(mount.samples),
        "classes": verdict(source.class_to_idx, mount.class_to_idx),
        "order": verdict(relative(source), relative(mount)),
        "read_image": verdict(decoded(source), decoded(mount)),
    }
    want = epochs(source, "fork", 0)
    if want[0] == want[1]:
        sys.exit("two epochs in the same order: nothing was shuffled")
    for mode in sys.argv[3:]:
        start, workers = mode.split(":")
        found[mode] = verdict(want, epochs(mount, start, int(workers)))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
