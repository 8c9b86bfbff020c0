"""What the kernel or memory holds already: the price of a mount, of names, and of packing.
Systems take turns within a round, and the one that begins changes from round to round."""

import os
import time

import machine
from harness import SQUASHFUSE
from report import FILES_READ, LOOSE, OURS, Measure


def warm(bench):
    """The kernel holds everything: loose files against the mount. Each timed run, five times all
    files, comes right behind an untimed one, since idle pages may be evicted between rounds."""
    tree = bench.photos()
    rate = Measure("Warm, shuffled, 2 threads", FILES_READ, "files/s")
    with bench.root_of(OURS, tree) as mount:
        roots = {LOOSE: tree.root, OURS: mount}
        for number, system in bench.turns(roots):
            bench.read(roots[system], tree, number)
            result = bench.read(roots[system], tree, number + 1000, "-p", "5")
            rate.add(system, result["files_per_s"])
    return [rate]


def first_touch(bench):
    """Fresh mounts, the packed file just read into memory: what a mount costs a file whose
    pages the kernel does not hold."""
    tree = bench.photos()
    rate = Measure("First touch, pack or image in memory, shuffled, 2 threads", FILES_READ,
                   "files/s")
    for number, system in bench.turns((OURS, SQUASHFUSE)):
        machine.into_memory(tree.pack if system == OURS else tree.image)
        with bench.root_of(system, tree) as root:
            rate.add(system, bench.read(root, tree, number)["files_per_s"])
    return [rate]


def steady(bench):
    """Every pass but the first."""
    tree = bench.photos()
    rate = Measure("Steady state, shuffled, 2 threads", FILES_READ, "files/s")
    with bench.root_of(OURS, tree) as mine, bench.root_of(SQUASHFUSE, tree) as other:
        roots = {OURS: mine, SQUASHFUSE: other}
        for number, system in bench.turns(roots):
            bench.read(roots[system], tree, number)
            rate.add(system, bench.read(roots[system], tree, number + 1000)["files_per_s"])
    return [rate]


def listing(bench):
    """A million names."""
    tree = bench.tiny()
    section = f"A tree of {tree.files:,} small files"
    measures = [Measure(section, f"find, {time} time", "s") for time in ("first", "second")]
    for _, system in bench.turns((OURS, SQUASHFUSE)):
        machine.into_memory(tree.pack if system == OURS else tree.image)
        with bench.root_of(system, tree) as root:
            for measure in measures:
                measure.add(system, bench.seconds("find", root))
    return measures


def packing(bench):
    """Source in memory. Both commands end with their file in the page cache at the earliest."""
    tree = bench.photos()
    took = Measure(f"Packing {tree.files:,} photos, {tree.bytes / 1e9:.2g} GB, source in memory",
                   "command", "s")
    makers = {OURS: tree.fold, "mksquashfs": tree.squash}
    target = os.path.join(bench.kept, "packing.partial")
    for number, system in bench.turns(makers):
        bench.read(tree.root, tree, number)
        os.sync()
        try:
            began = time.monotonic()
            makers[system](target)
            took.add(system, time.monotonic() - began)
        finally:
            if os.path.exists(target):
                os.unlink(target)
    return [took]
