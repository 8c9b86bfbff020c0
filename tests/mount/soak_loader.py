#!/usr/bin/python3
"""soak_loader.py MOUNT WANT START WORKERS SEED

Reads the files that WANT, a JSON text, has the digests of, by torch's DataLoader: shuffled epochs
without end, each file in one of several ways. After each batch a line says how many files and bytes
that were, whether an epoch ended with it, and which files were wrong, as JSON."""

import hashlib
import json
import mmap
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset

BATCH = 8
PIECE = 100_000


def whole(file, size):
    return file.read(size + 1)


def mapped(file, size):
    with mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ) as mapping:
        return bytes(mapping)


def backwards(file, size):
    pieces = [os.pread(file.fileno(), PIECE, at) for at in range(0, size + 1, PIECE)[::-1]]
    return b"".join(pieces[::-1])


WAYS = [whole, mapped, backwards]


class Files(Dataset):
    """A sample is (number, bytes, whether they are right)."""

    def __init__(self, mount, want):
        self.mount, self.want = mount, want
        with open(want) as text:
            self.files = sorted(json.load(text).items())

    def __reduce__(self):
        """To a spawned worker goes less than a pipe holds: so they start side by side."""
        return Files, (self.mount, self.want)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, number):
        path, digest = self.files[number]
        with open(os.path.join(self.mount, path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            read = WAYS[torch.randint(len(WAYS), ()).item()] if size else whole
            data = read(file, size)
        return number, len(data), hashlib.sha256(data).hexdigest() == digest


def as_list(batch):
    return batch


def main(mount, want, start, workers, seed):
    torch.manual_seed(int(seed))
    files = Files(mount, want)
    loader = DataLoader(files, BATCH, shuffle=True, num_workers=int(workers), collate_fn=as_list,
                        persistent_workers=True, multiprocessing_context=start)
    while True:
        left = set(range(len(files)))
        for batch in loader:
            left -= {number for number, _, _ in batch}
            print(json.dumps({
                "files": len(batch), "bytes": sum(size for _, size, _ in batch),
                "ended": not left,
                "wrong": [files.files[number][0] for number, _, right in batch if not right],
            }), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
