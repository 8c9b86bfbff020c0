"""Files of other formats, mounted as they are: beside their own Python reader, and how long a first
and a second mount take."""

import os
import subprocess
import time

import machine
import trees
from cases_cold import seconds_for_peers
from harness import Failed
from mounts import Mount
from profiles import Group
from report import OURS, Measure, Target

READER = "py-lmdb and pickle"
LEAVES = "reading the leaf pages alone"
DEVICES = ("nvme", "sata", "gp3", "hdd")
RECORDS, WORKERS = 1281167, 2


def index_of(path):
    return os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.foldfs-index")


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
        return [path for path in (self.path, index_of(self.path)) if os.path.exists(path)]


def rate_of(bench, container, profile, system, number):
    bench.make_cold(container, profile)
    bench.load_libraries()
    options = ["--workers", WORKERS, "--seed", number]
    with Group(profile=profile, memory=None, path=container.path) as group:
        if system == READER:
            found = bench.epochs(container.path, *options, "--seconds", seconds_for_peers(bench),
                                 group=group)
        else:
            with Mount([bench.foldfs], container.path, group) as mount:
                found = bench.epochs(mount.path, *options, group=group)
    return found[0]["files_per_s"]


def reading(bench):
    container = Folder2lmdb(bench)
    with Mount([bench.foldfs], container.path):
        pass  # makes the index
    for profile in DEVICES:
        rate = Measure(title(profile), "bytes only", "files/s", (Target(5, READER),), profile)
        for number, system in bench.turns((OURS, READER)):
            rate.add(system, rate_of(bench, container, profile, system, number))
        yield rate


def records(bench):
    """An LMDB of many small files by their paths."""
    count = RECORDS // 10 if bench.quick else RECORDS
    path = os.path.join(bench.kept, f"records-{count}.lmdb")
    trees.make_data("make_records.py", path, "--records", count)
    return path


def opening(bench):
    path = records(bench)
    index = index_of(path)
    title = f"an LMDB of {os.path.basename(path).split('-')[1].split('.')[0]} files"
    first = Measure(title, "first mount, cold", "s", (Target(2, LEAVES, at_least=False),))
    second = Measure(title, "second mount", "s",
                     (Target(0.1, at_least=False, text="at most 0.1 s"),))
    for _ in range(bench.rounds):
        machine.make_cold([path])
        leaves = bench.script("leaf_pages.py", path)
        first.add(LEAVES, leaves["seconds"])
        if os.path.exists(index):
            os.unlink(index)
        machine.make_cold([path])
        for measure in (first, second):
            began = time.monotonic()
            with Mount([bench.foldfs], path):
                measure.add(OURS, time.monotonic() - began)
    return [first, second]


def foreign(bench):
    try:
        __import__("lmdb")
    except ImportError:
        raise Failed("python3-lmdb is not installed") from None
    return [*reading(bench), *opening(bench)]
