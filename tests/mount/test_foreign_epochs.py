"""Shuffled epochs of an unmodified ImageFolder and DataLoader with worker processes over photos in
other formats, or in packs that are made of them: each image once, by its label, byte for byte."""

import hashlib
import json
import sys

import pytest

import foldfs
import labelled
import trees
from oracle import needs_torch

pytest.importorskip("lmdb", reason="no py-lmdb for this Python")

CLASSES = ["tower", "bedroom", "church"]
EPOCHS = """
import hashlib, json, sys
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

torch.manual_seed(42)
for path in sys.argv[1:]:
    folder = ImageFolder(path, loader=lambda path: open(path, "rb").read())
    loader = DataLoader(folder, batch_size=8, shuffle=True, num_workers=2, collate_fn=list)
    print(json.dumps([[(label, folder.classes[label][5:], hashlib.sha256(data).hexdigest())
                       for batch in loader for data, label in batch] for epoch in range(2)]))
"""


def samples():
    """(bytes, label): photos where they are."""
    if foldfs.PHOTOS.is_dir():
        found = sorted(path for path in foldfs.PHOTOS.rglob("*.*") if path.is_file())
        return [(path.read_bytes(), number % 3) for number, path in enumerate(found[:30])]
    return [(labelled.JPEG + trees.noise(number, 900 * number), number % 3)
            for number in range(30)]


@needs_torch
def test_epochs(place, mount):
    """By one process: to import torch takes seconds."""
    expected = sorted([label, CLASSES[label], hashlib.sha256(data).hexdigest()]
                      for data, label in samples())
    points = []
    for write in labelled.MOUNTED + labelled.CREATED:
        folder = place / write.__name__
        folder.mkdir()
        path, options = write(folder, samples(), CLASSES)
        if write in labelled.CREATED:
            path, options = foldfs.pack(path, folder / "x.pack", *options), []
        points.append(folder / "mnt")
        points[-1].mkdir()
        mount(path, *options, at=points[-1])
    done = foldfs.run(sys.executable, "-c", EPOCHS, *points)
    for point, line in zip(points, done.out.splitlines(), strict=True):
        first, second = json.loads(line)
        assert sorted(first) == sorted(second) == expected, point
        assert first != second, point
