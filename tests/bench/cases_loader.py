"""What a training sees: ImageFolder and DataLoader with two workers, unmodified."""

import contextlib

import trees
from cases_cold import network, seconds_for_peers
from cases_memory import MEMORY_SHARE
from peers import FOLDFS, LOOSE_FILES, Scene
from profiles import Group
from report import Measure

WORKERS = 2
LITTLE = "sata, little memory"  # whose second epoch is measured
# (where, what the workers do, whether a quick run does it)
RUNS = (("nvme", "raw", True), ("nvme", "decode", False), ("sata", "decode", True),
        ("gp3", "decode", False), ("net", "raw", False), ("net", "decode", False),
        ("hdd", "raw", False), (LITTLE, "raw", False))
WORDS = {"raw": "bytes only", "decode": "decoded, cropped, normalized, 4,000 files"}


def load_libraries(bench):
    """Python's modules are not what is measured."""
    bench.seconds(trees.PYTHON, "-c", "import torchvision.datasets, PIL.JpegImagePlugin")


@contextlib.contextmanager
def cold(bench, where, tree):
    """The tree as it is seen there, nothing of it in memory, and the group that reads it."""
    if where == "net":
        with network(bench, tree) as (seen, group):
            load_libraries(bench)
            yield seen, group
        return
    profile = profile_of(where)
    memory = int(MEMORY_SHARE * tree.bytes) if where == LITTLE else None
    bench.make_cold(tree, profile)
    load_libraries(bench)
    with Group(profile=profile, memory=memory, path=tree.pack) as group:
        yield tree, group


def profile_of(where):
    return where.split(",")[0]


def limits(bench, where, kind, peer):
    """Reading is limited in time, but for foldfs, which always reads all. A part of an epoch would
    charge foldfs for the files of the rest, which it reads ahead."""
    if where == LITTLE:
        return ["--epochs", "2"]
    if kind == "decode":
        return ["--files", "1000"] if bench.quick else []
    return [] if peer is FOLDFS else ["--seconds", seconds_for_peers(bench)]


def rate_of(bench, where, kind, peer, number):
    tree = bench.few_photos() if kind == "decode" else bench.photos()
    with cold(bench, where, tree) as (seen, group), \
            peer.opened(Scene(bench, seen, group)) as (root, _):
        return bench.script("loader.py", root, kind, "--workers", WORKERS, "--seed", number,
                            *limits(bench, where, kind, peer), group=group)["files_per_s"]


def loader(bench):
    measures = []
    for where, kind, quick in RUNS:
        if bench.quick and not quick:
            continue
        rate = Measure(f"{where}, DataLoader, {WORKERS} workers", WORDS[kind], "files/s",
                       profile=profile_of(where))
        for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
            rate.add(peer.name, rate_of(bench, where, kind, peer, number))
        measures.append(rate)
    return measures
