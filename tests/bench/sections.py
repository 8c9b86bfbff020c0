"""What is measured. Each section yields its measures; systems take turns within a round, and
the one that begins changes from round to round."""

import json
import os
import subprocess
import time

import machine
import trees
from mounts import Mount
from report import Measure, Target

LOOSE, FOLDFS, SQUASHFUSE = "ext4", "foldfs", "squashfuse_ll"


class Bench:
    """The settings, and the programs that sections run."""

    def __init__(self, build, kept, rounds, quick, options):
        self.kept, self.rounds, self.quick = kept, rounds, quick
        self.foldpack, self.foldfs, self.foldstat, self.reader, self.walk = (
            os.path.join(build, name)
            for name in ("foldpack", "foldfs", "foldstat", "bench/reader", "bench/walk"))
        self.options = ["-o", options] if options else []
        self.notes = []

    def photos(self):
        return trees.photo_tree(self.kept, 4000 if self.quick else 20000, self.foldpack)

    def tiny(self):
        return trees.tiny_tree(self.kept, 100000 if self.quick else 1281167, self.foldpack)

    def mount(self, system, tree):
        if system == FOLDFS:
            return Mount([self.foldfs, *self.options], tree.pack)
        return Mount(["squashfuse_ll"], tree.image)

    def turns(self, *systems):
        """(round, system), each round beginning with another system."""
        for number in range(self.rounds):
            for place in range(len(systems)):
                yield number, systems[(number + place) % len(systems)]

    def read(self, root, tree, seed, *options):
        """Reads all files in shuffled order with two threads."""
        return self.json(self.reader, "-t", "2", "-s", str(seed), *options, root, tree.list)

    def json(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)}: exit status {done.returncode}")
        return json.loads(done.stdout)

    def seconds(self, *command):
        """How long a command takes whose output nobody wants."""
        began = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began

    def requests(self, mount):
        return self.json(self.foldstat, mount.path, "--json")["requests"]

    def imagefolder(self, root):
        script = os.path.join(trees.HERE, "imagefolder.py")
        return self.json(trees.PYTHON, script, root)["wall_s"]


def count_requests(bench, mount, read):
    """Runs read(); returns its result and what the mount was asked meanwhile. The question
    itself is the one getxattr more."""
    before = bench.requests(mount)
    result = read()
    after = bench.requests(mount)
    return result, {name: after[name] - before[name] for name in after}


def warm(bench):
    """The kernel holds everything: loose files against the mount. Each timed run, five times all
    files, comes right behind an untimed one, since idle pages may be evicted between rounds."""
    tree = bench.photos()
    rate = Measure("Warm, shuffled, 2 threads", "files read", "files/s",
                   Target("at least 0.95", 0.95, LOOSE, at_least=True))
    asked = {kind: Measure(rate.section, f"{kind} requests a file", "%", Target(limit, most))
             for kind, limit, most in (("open", "none", 0), ("getattr", "none", 0),
                                       ("lookup", "at most 0.1 %", 0.1),
                                       ("read", "at most 0.1 %", 0.1))}
    with bench.mount(FOLDFS, tree) as mount:
        bench.notes.append(f"foldfs said: {mount.said}")
        for number, system in bench.turns(LOOSE, FOLDFS):
            root = mount.path if system == FOLDFS else tree.root
            bench.read(root, tree, number)
            result, requests = count_requests(bench, mount,
                                              lambda: bench.read(root, tree, number + 1000,
                                                                 "-p", "5"))
            rate.add(system, result["files_per_s"])
            for kind in asked if system == FOLDFS else ():
                asked[kind].add(FOLDFS, 100 * requests[kind] / result["files"])
    return [rate, *asked.values()]


def first_touch(bench):
    """Fresh mounts, the packed file just read into memory: what a mount costs a file whose
    pages the kernel does not hold."""
    tree = bench.photos()
    rate = Measure("First touch, pack or image in memory, shuffled, 2 threads", "files read",
                   "files/s", Target("at least 2", 2, SQUASHFUSE, at_least=True))
    slow = Measure(rate.section, "99th percentile a file", "us")
    for number, system in bench.turns(FOLDFS, SQUASHFUSE):
        machine.into_memory(tree.pack if system == FOLDFS else tree.image)
        with bench.mount(system, tree) as mount:
            result = bench.read(mount.path, tree, number)
        rate.add(system, result["files_per_s"])
        slow.add(system, result["p99_us"])
    return [rate, slow]


def steady(bench):
    """Every pass but the first."""
    tree = bench.photos()
    rate = Measure("Steady state, shuffled, 2 threads", "files read", "files/s",
                   Target("at least 2.5", 2.5, SQUASHFUSE, at_least=True))
    with bench.mount(FOLDFS, tree) as mine, bench.mount(SQUASHFUSE, tree) as other:
        for number, system in bench.turns(FOLDFS, SQUASHFUSE):
            root = (mine if system == FOLDFS else other).path
            bench.read(root, tree, number)
            rate.add(system, bench.read(root, tree, number + 1000)["files_per_s"])
    return [rate]


def listing(bench):
    """A million names: how long until they can be used, and what the daemon takes for them."""
    tree = bench.tiny()
    section = f"A tree of {tree.files:,} small files"
    ready, first, second, bare, bare_again, constructor, fresh, memory = measures = [
        Measure(section, "mount until usable", "ms", Target("under 100 ms", 100)),
        Measure(section, "find, first time", "s", Target("at most 1.3", 1.3, SQUASHFUSE)),
        Measure(section, "find, second time", "s", Target("at most 0.6", 0.6, SQUASHFUSE)),
        Measure(section, "bare readdir, first time", "s", Target("at most 1.3", 1.3, SQUASHFUSE)),
        Measure(section, "bare readdir, second time", "s",
                Target("at most 0.6", 0.6, SQUASHFUSE)),
        Measure(section, "ImageFolder, listed before", "s", Target("at most 1", 1, SQUASHFUSE)),
        Measure(section, "ImageFolder, fresh mount", "s", Target("at most 1", 1, SQUASHFUSE)),
        Measure(section, "daemon's memory after it", "MB", Target("under 100 MB", 100)),
    ]
    for _, system in bench.turns(FOLDFS, SQUASHFUSE):
        machine.into_memory(tree.pack if system == FOLDFS else tree.image)
        with bench.mount(system, tree) as mount:
            ready.add(system, 1e3 * mount.ready_s)
            first.add(system, bench.seconds("find", mount.path))
            second.add(system, bench.seconds("find", mount.path))
            constructor.add(system, bench.imagefolder(mount.path))
            memory.add(system, mount.memory() / 1e6)
        with bench.mount(system, tree) as mount:
            bare.add(system, bench.json(bench.walk, mount.path)["wall_s"])
            bare_again.add(system, bench.json(bench.walk, mount.path)["wall_s"])
        with bench.mount(system, tree) as mount:
            fresh.add(system, bench.imagefolder(mount.path))
    return measures


def packing(bench):
    """Source in memory. Both commands end with their file in the page cache at the earliest;
    the second measure waits until it is on the disk."""
    tree = bench.photos()
    size = tree.bytes()
    section = f"Packing {tree.files:,} photos, {size / 1e9:.2f} GB, source in memory"
    until_end = Measure(section, "command", "s", Target("at most 1", 1, "mksquashfs"))
    on_disk = Measure(section, "command, then sync", "s")
    overhead = Measure(section, "larger than the files", "%", Target("at most 3 %", 3))
    makers = {FOLDFS: tree.fold, "mksquashfs": tree.squash}
    target = os.path.join(bench.kept, "packing.partial")
    for number, system in bench.turns(*makers):
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


SECTIONS = {"warm": warm, "first-touch": first_touch, "steady": steady, "listing": listing,
            "packing": packing}
