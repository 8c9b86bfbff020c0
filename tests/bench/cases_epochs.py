"""Epochs of an unmodified DataLoader over a mount and over loose files: those that README shows,
and what each part of reading ahead is worth, with the oracle and without it; of other builds of
foldfs, too (--against), in alternating rounds.

Not the full product of devices, file sizes, memory and samplers: the rows that users have."""

import contextlib
import dataclasses
import os
import subprocess
import sys

from cases_cold import network
from profiles import Group
from report import LOOSE, OURS, Measure, Target

OFF = "oracle=off"
FLOOR = 0.98  # of the same epoch with the oracle off
SAME = 0.95  # of loose files
DRAWN = "drawn"
LOOSE_SECONDS = 20  # of an epoch of loose files on a hard disk


@dataclasses.dataclass(frozen=True)
class Row:
    device: str
    side: int = 0  # pixels of the shorter side; 0: photos of 106 KB as they are
    memory: float = 0  # part of the data; 0: all fits
    seed: str = "42"  # for manual_seed(); DRAWN: it is not called
    ranks: int = 0
    workers: int = 2
    epochs: int = 1
    busy: bool = False  # both processors have other work
    decode: bool = False  # as training on ImageNet does, of 4,000 photos
    least: float = FLOOR  # of `off`, in each epoch
    quick: bool = False

    def title(self):
        size = {0: "106 KB", 256: "27 KB", 64: "3 KB"}[self.side]
        words = [self.device, size, f"{self.workers} worker" + "s" * (self.workers > 1),
                 f"rank 0 of {self.ranks}" if self.ranks else f"seed {self.seed}",
                 "decoded" * self.decode, "processors busy" * self.busy,
                 f"memory for {self.memory:.0%}" if self.memory else ""]
        return ", ".join(filter(None, words))

    def tree(self, bench):
        if self.decode:
            return bench.few_photos()
        return bench.small_photos(self.side) if self.side else bench.photos()


FRONT = (
    *(Row("hdd", side=side, seed=DRAWN) for side in (0, 256, 64)),
    *(Row("gp3", side=side, seed=DRAWN) for side in (0, 256, 64)),
    *(Row("net", side=side, seed=DRAWN, workers=4) for side in (0, 256, 64)),
    *(Row("sata", side=side, seed=DRAWN) for side in (0, 256, 64)),
    Row("nvme", seed=DRAWN, workers=1), Row("nvme", seed=DRAWN, quick=True),
    Row("nvme", workers=1), Row("nvme", quick=True),
    Row("nvme", side=256, seed=DRAWN), Row("nvme", side=64, seed=DRAWN),
    Row("nvme", seed=DRAWN, decode=True, quick=True),
)
ROWS = (
    Row("nvme", quick=True, least=1.1), Row("nvme", seed=DRAWN), Row("nvme", busy=True),
    Row("nvme", seed=DRAWN, workers=1, busy=True),
    Row("nvme", side=256), Row("nvme", memory=0.57, epochs=2),
    Row("sata", memory=0.57, epochs=2), Row("sata", memory=0.25, epochs=2, seed="3407"),
    Row("sata", side=256, workers=4), Row("sata", seed=DRAWN),
    Row("gp3", quick=True), Row("gp3", side=256), Row("gp3", side=64, seed="0"),
    Row("gp3", ranks=2, side=256, epochs=2),
    Row("hdd"), Row("hdd", seed=DRAWN), Row("hdd", memory=0.57, epochs=2, least=1.9),
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
            bench.load_libraries()
            yield seen, group
        return
    bench.make_cold(tree, row.device)
    bench.load_libraries()
    if row.device == "hdd":  # the 32 blocks of inodes that ext4 reads at once would be 32 requests
        for path in tree.paths():
            os.stat(path)
    memory = int(row.memory * tree.bytes) or None
    with Group(profile=row.device, memory=memory, path=tree.pack) as group:
        yield tree, group


@contextlib.contextmanager
def root_of(bench, system, tree, group=None):
    if system == LOOSE:
        yield tree.root
        return
    kind = OURS if system == OFF else system
    with bench.mount(kind, tree, group, OFF if system == OFF else "") as mount:
        yield mount.path


def read(bench, row, tree, system):
    words = ["--decode"] if row.decode else []
    if system == LOOSE and row.device == "hdd":
        words += ["--seconds", LOOSE_SECONDS]
    with cold(bench, row, tree) as (seen, group), busy(row.busy), \
            root_of(bench, system, seen, group) as root:
        return bench.epochs(root, "--workers", row.workers, "--epochs", row.epochs,
                            "--seed", row.seed, "--ranks", row.ranks, *words, group=group)


def measure(bench, row, systems, *targets):
    tree = row.tree(bench)
    rates = [Measure(row.title(), f"epoch {epoch}", "files/s", targets, row.device)
             for epoch in range(row.epochs)]
    first = Measure(row.title(), "first file to first batch", "s", (), row.device)
    for _, system in bench.turns((*systems, *bench.against)):
        epochs = read(bench, row, tree, system)
        for rate, epoch in zip(rates, epochs):
            rate.add(system, epoch["files_per_s"])
        if epochs[0]["first"]:
            first.add(system, epochs[0]["first"])
    return [*rates, first] if first.values else rates


def wanted(bench, rows):
    """Row by row: what was measured stays where a later one fails."""
    for row in rows:
        if bench.only in row.title() and (row.quick or not bench.quick):
            print(f"bench: {row.title()}", file=sys.stderr)
            yield row


def front(bench):
    for row in wanted(bench, FRONT):
        yield from measure(bench, row, (OURS, LOOSE), Target(SAME, LOOSE))


def oracle(bench):
    for row in wanted(bench, ROWS):
        yield from measure(bench, row, (OURS, OFF, LOOSE), Target(row.least, OFF))
