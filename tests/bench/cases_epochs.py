"""Epochs of an unmodified DataLoader over a mount and over loose files: those that README shows,
and what a known order is worth, with the oracle and without it; of other builds of foldfs, too
(--against), in alternating rounds.

Not the full product of devices, file sizes, memory and samplers: the rows that users have."""

import contextlib
import dataclasses
import os
import subprocess
import sys

import machine
from harness import NET_CAP_MB, NET_DELAY_US
from mounts import net
from profiles import Group
from report import LOOSE, OURS, Measure

OFF = "oracle=off"
DRAWN = "drawn"
LOOSE_SECONDS = 20  # of an epoch of loose files on a hard disk


@dataclasses.dataclass(frozen=True)
class Row:
    device: str
    side: int = 0  # pixels of the shorter side; 0: photos of 106 KB as they are
    memory: float = 0  # part of the data; 0: all fits
    seed: str = "42"  # for manual_seed(); DRAWN: it is not called
    workers: int = 2
    epochs: int = 1
    busy: bool = False  # both processors have other work
    decode: bool = False  # as training on ImageNet does, of 4,000 photos
    quick: bool = False

    def title(self):
        size = {0: "106 KB", 256: "27 KB", 64: "3 KB"}[self.side]
        words = [self.device, size, f"{self.workers} worker" + "s" * (self.workers > 1),
                 f"seed {self.seed}", "decoded" * self.decode, "processors busy" * self.busy,
                 f"memory for {self.memory:.0%}" if self.memory else ""]
        return ", ".join(filter(None, words))

    def tree(self, bench):
        if self.decode:
            return bench.few_photos()
        return bench.small_photos(self.side) if self.side else bench.photos()


FRONT = (
    Row("hdd", seed=DRAWN),
    *(Row("gp3", side=side, seed=DRAWN) for side in (0, 256, 64)),
    *(Row("net", side=side, seed=DRAWN, workers=4) for side in (0, 256, 64)),
    *(Row("sata", side=side, seed=DRAWN) for side in (0, 256, 64)),
    Row("nvme", seed=DRAWN, workers=1), Row("nvme", seed=DRAWN, quick=True),
    Row("nvme", workers=1), Row("nvme", quick=True),
    Row("nvme", side=256, seed=DRAWN), Row("nvme", side=64, seed=DRAWN),
    Row("nvme", seed=DRAWN, decode=True, quick=True),
)
# README shows these, too; of a cloud volume, those for which no run draws its seed yet.
MORE_OF_FRONT = (
    Row("nvme", busy=True), Row("nvme", seed=DRAWN, workers=1, busy=True),
    Row("gp3", side=256), Row("gp3", side=64, seed="0"),
)
# Photos as they are, on a disk that is read in the order of need.
KNOWN = (
    Row("nvme", quick=True), MORE_OF_FRONT[0], Row("gp3"), Row("hdd"),
    Row("hdd", memory=0.57, epochs=2), Row("net", workers=4),
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
    """The tree as it is seen there, nothing of it in memory, and the group that reads it. The
    server of a network has everything in memory."""
    bench.make_cold(tree, row.device)
    memory = int(row.memory * tree.bytes) or None
    with contextlib.ExitStack() as stack:
        profile = row.device
        if row.device == "net":
            machine.into_memory(tree.pack)
            bench.read(tree.root, tree, 0)
            path = stack.enter_context(net(bench.netfs, bench.kept, NET_DELAY_US, NET_CAP_MB))
            tree, profile = tree.seen_through(path), "nvme"
        elif row.device == "hdd":
            for path in tree.paths():  # the 32 blocks of inodes that ext4 reads at once would be
                os.stat(path)          # 32 requests
        yield tree, stack.enter_context(Group(profile, memory, bench.kept))


def read(bench, row, tree, system):
    words = ["--decode"] if row.decode else []
    if system == LOOSE and row.device == "hdd":
        words += ["--seconds", LOOSE_SECONDS]
    options = OFF if system == OFF else ""
    with cold(bench, row, tree) as (seen, group), busy(row.busy), \
            bench.root_of(system, seen, group, options) as root:
        return bench.epochs(root, "--workers", row.workers, "--epochs", row.epochs,
                            "--seed", row.seed, *words, group=group)


def measure(bench, rows, systems):
    """Row by row: what was measured stays where a later one fails."""
    for row in rows:
        if bench.only in row.title() and (row.quick or not bench.quick):
            print(f"bench: {row.title()}", file=sys.stderr)
            tree = row.tree(bench)
            rates = [Measure(row.title(), f"epoch {epoch}", "files/s")
                     for epoch in range(row.epochs)]
            for _, system in bench.turns((*systems, *bench.against)):
                for rate, files_per_s in zip(rates, read(bench, row, tree, system)):
                    rate.add(system, files_per_s)
            yield from rates


def front(bench):
    yield from measure(bench, FRONT, (OURS, LOOSE))


def oracle(bench):
    yield from measure(bench, dict.fromkeys((*MORE_OF_FRONT, *KNOWN)), (OURS, OFF, LOOSE))
