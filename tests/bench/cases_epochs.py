"""What each part of reading ahead is worth: epochs of an unmodified DataLoader, with the oracle,
without it, from loose files, and by other builds of foldfs (--against), in alternating rounds.

Not the full product of devices, file sizes, memory and samplers: the rows that users have."""

import contextlib
import dataclasses
import subprocess
import sys

from cases_cold import network
from cases_loader import load_libraries
from profiles import Group
from report import LOOSE, OURS, Measure, Target

OFF = "oracle=off"
FLOOR = 0.98  # of the same epoch with the oracle off
LOOSE_SECONDS = 20  # of an epoch of loose files on a hard disk


@dataclasses.dataclass(frozen=True)
class Row:
    device: str
    side: int = 0  # pixels of the shorter side; 0: photos of 106 KB as they are
    memory: float = 0  # part of the data; 0: all fits
    seed: str = "42"
    ranks: int = 0
    workers: int = 2
    epochs: int = 1
    busy: bool = False  # both processors have other work
    least: float = FLOOR  # of `off`, in each epoch
    quick: bool = False

    def title(self):
        sampler = f"rank 0 of {self.ranks}" if self.ranks else f"seed {self.seed}"
        memory = f", memory {self.memory:.0%}" if self.memory else ""
        busy = ", processors busy" if self.busy else ""
        size = {0: "106 KB", 256: "27 KB", 64: "3 KB"}[self.side]
        return f"{self.device}, {size}{memory}, {sampler}, {self.workers} workers{busy}"


ROWS = (
    Row("nvme", quick=True, least=1.1), Row("nvme", seed="none"), Row("nvme", busy=True),
    Row("nvme", side=256), Row("nvme", memory=0.57, epochs=2),
    Row("sata", memory=0.57, epochs=2), Row("sata", memory=0.25, epochs=2, seed="3407"),
    Row("sata", side=256, workers=4), Row("sata", seed="none"),
    Row("gp3", quick=True), Row("gp3", side=256), Row("gp3", side=64, seed="0"),
    Row("gp3", ranks=2, side=256, epochs=2),
    Row("hdd"), Row("hdd", seed="none"), Row("hdd", memory=0.57, epochs=2, least=1.9),
    Row("hdd", memory=0.25, epochs=2), Row("hdd", side=256, seed="1234"),
    Row("net", workers=4), Row("net", side=256, workers=4),
)


@contextlib.contextmanager
def busy(wanted):
    """Two processes that only compute, until the end of the block."""
    count = 2 if wanted else 0
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                for _ in range(count)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


@contextlib.contextmanager
def cold(bench, row, tree):
    """The tree as it is seen there, nothing of it in memory, and the group that reads it."""
    if row.device == "net":
        with network(bench, tree) as (seen, group):
            load_libraries(bench)
            yield seen, group
        return
    bench.make_cold(tree, row.device)
    load_libraries(bench)
    memory = int(row.memory * tree.bytes) or None
    with Group(profile=row.device, memory=memory, path=tree.pack) as group:
        yield tree, group


@contextlib.contextmanager
def root_of(bench, system, tree, group):
    if system == LOOSE:
        yield tree.root
        return
    kind = OURS if system == OFF else system
    with bench.mount(kind, tree, group, OFF if system == OFF else "") as mount:
        yield mount.path


def read(bench, row, tree, system):
    limit = ["--seconds", LOOSE_SECONDS] if system == LOOSE and row.device == "hdd" else []
    with cold(bench, row, tree) as (seen, group), busy(row.busy), \
            root_of(bench, system, seen, group) as root:
        return bench.script("epochs.py", root, "--workers", row.workers, "--epochs", row.epochs,
                            "--seed", row.seed, "--ranks", row.ranks, *limit, group=group)


def systems_of(bench):
    return (OURS, OFF, LOOSE, *bench.against)


def measure(bench, row):
    tree = bench.small_photos(row.side) if row.side else bench.photos()
    targets = (Target(row.least, OFF),)
    rates = [Measure(row.title(), f"epoch {epoch}", "files/s", targets, row.device)
             for epoch in range(row.epochs)]
    first = Measure(row.title(), "first file to first batch", "s", (), row.device)
    for _, system in bench.turns(systems_of(bench)):
        epochs = read(bench, row, tree, system)
        first.add(system, epochs[0]["first"])
        for rate, epoch in zip(rates, epochs):
            rate.add(system, epoch["files"] / epoch["seconds"])
    return [*rates, first]


def oracle(bench):
    """Row by row: what was measured stays where a later one fails."""
    for row in ROWS:
        if bench.only in row.title() and (row.quick or not bench.quick):
            print(f"bench: oracle: {row.title()}", file=sys.stderr)
            yield from measure(bench, row)
