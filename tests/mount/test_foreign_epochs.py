"""Shuffled epochs of an unmodified ImageFolder and DataLoader with worker processes over LMDBs of
other formats: each image once, under its class, byte for byte."""

import hashlib
import json
import pickle
import subprocess
import sys

import pytest

import foldfs
import trees
from foreign import make_lmdb
from formats import arrow
from oracle import needs_torch

pytest.importorskip("lmdb", reason="no py-lmdb for this Python")

CLASSES = ["bedroom", "church", "tower"]
EPOCHS = """
import hashlib, json, sys
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

torch.manual_seed(42)
folder = ImageFolder(sys.argv[1], loader=lambda path: open(path, "rb").read())
loader = DataLoader(folder, batch_size=8, shuffle=True, num_workers=2, collate_fn=list)
for epoch in range(2):
    print(json.dumps([(folder.classes[label], hashlib.sha256(data).hexdigest())
                      for batch in loader for data, label in batch]))
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


def image2lmdb(place):
    """Which has no classes: the user says them."""
    (place / "names").write_text("".join(f"{CLASSES[label]}/{number}.jpg\n"
                                         for number, (label, _) in enumerate(samples())))
    pack = make_lmdb(place / "train.lmdb",
                     numbers(arrow.serialize(data) for _, data in samples()), subdir=False)
    return [f"--names={place}/names", pack]


def lsun(place):
    return [make_lmdb(place / f"{name}_train_lmdb",
                      [(hashlib.sha1(data).hexdigest().encode(), data)
                       for label, data in samples() if label == number])
            for number, name in enumerate(CLASSES)]


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def caffe(place):
    """Datum: 4 data, 5 label, 7 encoded."""
    return [make_lmdb(place / "train_lmdb",
                      [(f"{number:08}_{CLASSES[label]}/{number}.jpg".encode(),
                        b"\x22" + varint(len(data)) + data + b"\x28" + varint(label) + b"\x38\x01")
                       for number, (label, data) in enumerate(samples())])]


@needs_torch
@pytest.mark.parametrize("write", [folder2lmdb, image2lmdb, lsun, caffe])
def test_epochs(place, point, write):
    expected = sorted([CLASSES[label], hashlib.sha256(data).hexdigest()]
                      for label, data in samples())
    words = write(place)
    with foldfs.mounted(words[0], point, *words[1:]) as mounted:
        done = subprocess.run([sys.executable, "-c", EPOCHS, mounted.path], check=True,
                              capture_output=True, text=True)
    epochs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [sorted(epoch) for epoch in epochs] == [expected, expected]
    assert epochs[0] != epochs[1]
