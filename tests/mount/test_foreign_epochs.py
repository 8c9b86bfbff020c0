"""Shuffled epochs of an unmodified ImageFolder and DataLoader with worker processes over LMDBs of
other formats: each image once, under its class, byte for byte."""

import hashlib
import json
import pickle
import sys

import pytest

import foldfs
import trees
from foreign import make_lmdb
from formats import caffe
from oracle import needs_torch

pytest.importorskip("lmdb", reason="no py-lmdb for this Python")

CLASSES = ["bedroom", "church", "tower"]
EPOCHS = """
import hashlib, json, sys
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

torch.manual_seed(42)
for path in sys.argv[1:]:
    folder = ImageFolder(path, loader=lambda path: open(path, "rb").read())
    loader = DataLoader(folder, batch_size=8, shuffle=True, num_workers=2, collate_fn=list)
    print(json.dumps([[(folder.classes[label], hashlib.sha256(data).hexdigest())
                       for batch in loader for data, label in batch] for epoch in range(2)]))
"""


def samples():
    """(label, bytes): photos where they are."""
    if foldfs.PHOTOS.is_dir():
        found = sorted(path for path in foldfs.PHOTOS.rglob("*.*") if path.is_file())
        return [(number % 3, path.read_bytes()) for number, path in enumerate(found[:60])]
    return [(number % 3, b"\xff\xd8\xff" + trees.noise(number, 900 * number))
            for number in range(100)]


def numbers(values):
    return [(b"%d" % number, value) for number, value in enumerate(values)]


def folder2lmdb(place):
    (place / "classes").write_text("\n".join(CLASSES))
    pack = make_lmdb(place / "train.lmdb",
                     numbers(pickle.dumps((data, label)) for label, data in samples()),
                     subdir=False)
    return [f"--classes={place}/classes", pack]


def caffe_with_classes(place):
    """Which the names of its records have."""
    return [make_lmdb(place / "train_lmdb",
                      [(caffe.key(number, f"{CLASSES[label]}/{number}.jpg"),
                        caffe.encoded(data, label))
                       for number, (label, data) in enumerate(samples())])]


@needs_torch
def test_epochs(place, mount):
    """By one process: to import torch takes seconds."""
    expected = sorted([CLASSES[label], hashlib.sha256(data).hexdigest()]
                      for label, data in samples())
    writers = folder2lmdb, caffe_with_classes
    points = [place / write.__name__ / "mnt" for write in writers]
    for write, point in zip(writers, points):
        point.mkdir(parents=True)
        words = write(point.parent)
        mount(words[0], *words[1:], at=point)
    done = foldfs.run(sys.executable, "-c", EPOCHS, *points)
    for point, line in zip(points, done.out.splitlines(), strict=True):
        first, second = json.loads(line)
        assert sorted(first) == sorted(second) == expected, point
        assert first != second, point
