"""What the kernel or memory holds already: the price of a mount, of names, and of packing.
Systems take turns within a round, and the one that begins changes from round to round."""

import os
import time

import machine
from harness import SQUASHFUSE
from report import FILES_READ, LOOSE, OURS, Measure, Target


def at_most(limit, versus):
    return (Target(limit, versus, at_least=False),)


def value(limit, text):
    return (Target(limit, at_least=False, text=text),)


def count_requests(bench, mount, read):
    """Runs read(); returns its result and what the mount was asked meanwhile. The question
    itself is the one getxattr more."""
    before = bench.stats(mount)["requests"]
    result = read()
    after = bench.stats(mount)["requests"]
    return result, {name: after[name] - before[name] for name in after}


def warm(bench):
    """The kernel holds everything: loose files against the mount. Each timed run, five times all
    files, comes right behind an untimed one, since idle pages may be evicted between rounds."""
    tree = bench.photos()
    rate = Measure("Warm, shuffled, 2 threads", FILES_READ, "files/s",
                   (Target(0.95, LOOSE),), "nvme")
    asked = {kind: Measure(rate.section, f"{kind} requests a file", "%", value(most, limit))
             for kind, limit, most in (("open", "none", 0), ("getattr", "none", 0),
                                       ("lookup", "at most 0.1 %", 0.1),
                                       ("read", "at most 0.1 %", 0.1))}
    with bench.mount(OURS, tree) as mount:
        bench.note(f"foldfs said: {mount.said}")
        for number, system in bench.turns((LOOSE, OURS)):
            root = mount.path if system == OURS else tree.root
            bench.read(root, tree, number)
            result, requests = count_requests(bench, mount,
                                              lambda: bench.read(root, tree, number + 1000,
                                                                 "-p", "5"))
            rate.add(system, result["files_per_s"])
            for kind in asked if system == OURS else ():
                asked[kind].add(OURS, 100 * requests[kind] / result["files"])
    return [rate, *asked.values()]


def first_touch(bench):
    """Fresh mounts, the packed file just read into memory: what a mount costs a file whose
    pages the kernel does not hold."""
    tree = bench.photos()
    rate = Measure("First touch, pack or image in memory, shuffled, 2 threads", FILES_READ,
                   "files/s", (Target(2, SQUASHFUSE),))
    slow = Measure(rate.section, "99th percentile a file", "us")
    for number, system in bench.turns((OURS, SQUASHFUSE)):
        machine.into_memory(tree.pack if system == OURS else tree.image)
        with bench.mount(system, tree) as mount:
            result = bench.read(mount.path, tree, number)
        rate.add(system, result["files_per_s"])
        slow.add(system, result["p99_us"])
    return [rate, slow]


def steady(bench):
    """Every pass but the first."""
    tree = bench.photos()
    rate = Measure("Steady state, shuffled, 2 threads", FILES_READ, "files/s",
                   (Target(2.5, SQUASHFUSE),))
    with bench.mount(OURS, tree) as mine, bench.mount(SQUASHFUSE, tree) as other:
        for number, system in bench.turns((OURS, SQUASHFUSE)):
            root = (mine if system == OURS else other).path
            bench.read(root, tree, number)
            rate.add(system, bench.read(root, tree, number + 1000)["files_per_s"])
    return [rate]


def imagefolder(bench, root):
    """Seconds that the constructor takes."""
    return bench.script("imagefolder.py", root)["wall_s"]


def listing(bench):
    """A million names: how long until they can be used, and what the daemon takes for them."""
    tree = bench.tiny()
    section = f"A tree of {tree.files:,} small files"
    ready, first, second, bare, bare_again, constructor, fresh, memory = measures = [
        Measure(section, "mount until usable", "ms", value(100, "under 100 ms")),
        Measure(section, "find, first time", "s", at_most(1.3, SQUASHFUSE)),
        Measure(section, "find, second time", "s", at_most(0.6, SQUASHFUSE)),
        Measure(section, "bare readdir, first time", "s", at_most(1.3, SQUASHFUSE)),
        Measure(section, "bare readdir, second time", "s",
                at_most(0.6, SQUASHFUSE)),
        Measure(section, "ImageFolder, listed before", "s", at_most(1, SQUASHFUSE)),
        Measure(section, "ImageFolder, fresh mount", "s", at_most(1, SQUASHFUSE)),
        Measure(section, "daemon's memory after it", "MB", value(100, "under 100 MB")),
    ]
    for _, system in bench.turns((OURS, SQUASHFUSE)):
        machine.into_memory(tree.pack if system == OURS else tree.image)
        with bench.mount(system, tree) as mount:
            ready.add(system, 1e3 * mount.ready_s)
            first.add(system, bench.seconds("find", mount.path))
            second.add(system, bench.seconds("find", mount.path))
            constructor.add(system, imagefolder(bench, mount.path))
            memory.add(system, mount.memory() / 1e6)
        with bench.mount(system, tree) as mount:
            bare.add(system, bench.json(bench.walk, mount.path)["wall_s"])
            bare_again.add(system, bench.json(bench.walk, mount.path)["wall_s"])
        with bench.mount(system, tree) as mount:
            fresh.add(system, imagefolder(bench, mount.path))
    return measures


def packing(bench):
    """Source in memory. Both commands end with their file in the page cache at the earliest;
    the second measure waits until it is on the disk."""
    tree = bench.photos()
    size = tree.bytes
    section = f"Packing {tree.files:,} photos, {size / 1e9:.2f} GB, source in memory"
    until_end = Measure(section, "command", "s", at_most(1, "mksquashfs"))
    on_disk = Measure(section, "command, then sync", "s")
    overhead = Measure(section, "larger than the files", "%", value(3, "at most 3 %"))
    makers = {OURS: tree.fold, "mksquashfs": tree.squash}
    target = os.path.join(bench.kept, "packing.partial")
    for number, system in bench.turns(makers):
        bench.read(tree.root, tree, number)
        os.sync()
        try:
            began = time.monotonic()
            makers[system](target)
            until_end.add(system, time.monotonic() - began)
            os.sync()
            on_disk.add(system, time.monotonic() - began)
            overhead.add(system, 100 * (os.path.getsize(target) / size - 1))
        finally:
            if os.path.exists(target):
                os.unlink(target)
    return [until_end, on_disk, overhead]
