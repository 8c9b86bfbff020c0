"""What a training sees: ImageFolder and DataLoader with two workers, unmodified."""

import trees
from cases_cold import seconds_for_peers
from peers import FOLDFS, LOOSE_FILES, Scene
from profiles import Group
from report import Measure

WORKERS = 2
# (profile, what the workers do, whether a quick run does it)
RUNS = (("nvme", "raw", True), ("nvme", "decode", False), ("sata", "decode", True),
        ("hdd", "raw", False))
WORDS = {"raw": "bytes only", "decode": "decoded, cropped, normalized, 4,000 files"}


def load_libraries(bench):
    """Python's modules are not what is measured."""
    bench.seconds(trees.PYTHON, "-c", "import torchvision.datasets, PIL.JpegImagePlugin")


def limits(bench, kind, peer):
    """Reading is limited in time, but for foldfs, which always reads all. A part of an epoch would
    charge foldfs for the files of the rest, which it reads ahead."""
    if kind == "decode":
        return ["--files", "1000"] if bench.quick else []
    return [] if peer is FOLDFS else ["--seconds", seconds_for_peers(bench)]


def loader(bench):
    measures = []
    for profile, kind, quick in RUNS:
        if bench.quick and not quick:
            continue
        tree = bench.few_photos() if kind == "decode" else bench.photos()
        rate = Measure(f"{profile}, DataLoader, {WORKERS} workers", WORDS[kind],
                       "files/s", profile=profile)
        for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
            bench.make_cold(tree, profile)
            load_libraries(bench)
            with Group(profile=profile, path=tree.pack) as group, \
                    peer.opened(Scene(bench, tree, group)) as (root, _):
                result = bench.script("loader.py", root, kind, "--workers", WORKERS,
                                      "--seed", number, *limits(bench, kind, peer), group=group)
            rate.add(peer.name, result["files_per_s"])
        measures.append(rate)
    return measures
