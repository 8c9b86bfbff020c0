"""A file of folder2lmdb, mounted as it is, beside its own Python reader."""

import os
import subprocess

from mounts import mount
from profiles import Group
from report import OURS, Measure

READER = "py-lmdb and pickle"
DEVICES = ("nvme", "sata", "gp3", "hdd")
WORKERS = 2


def title(device):
    return f"{device}, a file of folder2lmdb, DataLoader, {WORKERS} workers"


class Folder2lmdb:
    """The photos as folder2lmdb has them: .path, and .bytes of the images."""

    def __init__(self, bench):
        tree = bench.photos()
        self.path, self.bytes = f"{tree.root}.folder2lmdb", tree.bytes
        if not os.path.exists(self.path):
            subprocess.run([bench.foldpack, "export", "-q", "--format=lmdb", tree.pack, self.path],
                           check=True)

    def paths(self):
        """And its index, which the first mount makes."""
        folder, name = os.path.split(self.path)
        index = os.path.join(folder, f".{name}.foldfs-index")
        return list(filter(os.path.exists, (self.path, index)))


def rate_of(bench, container, device, system, number):
    bench.make_cold(container, device)
    options = ["--workers", WORKERS, "--seed", number]
    with Group(profile=device, path=container.path) as group:
        if system == READER:
            [rate] = bench.epochs(container.path, *options, "--seconds",
                                  bench.seconds_for_others(), group=group)
            return rate
        with mount([bench.foldfs], container.path, group) as path:
            [rate] = bench.epochs(path, *options, group=group)
            return rate


def foreign(bench):
    container = Folder2lmdb(bench)
    with mount([bench.foldfs], container.path):
        pass  # makes the index
    for device in DEVICES:
        rate = Measure(title(device), "bytes only", "files/s")
        for number, system in bench.turns((OURS, READER)):
            rate.add(system, rate_of(bench, container, device, system, number))
        yield rate
