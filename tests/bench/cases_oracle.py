"""What it is worth to know the order: an epoch from the moment that foldfs has found out how it is
shuffled, what finding out costs, and how fast seeds are tried."""

import bisect
import contextlib
import copy
import dataclasses
import json
import math
import os
import signal
import tempfile
import threading
import time

from cases_cold import rate_from, seconds_for_peers
from harness import Failed
from peers import FOLDFS, LOOSE_FILES, Scene, Stream
from profiles import Group
from report import FILES_READ, LOOSE, OURS, Measure, Target

PROFILE = "oracle"  # of the plot
STATS = "user.foldfs.stats"
STEP_S = 0.1  # between two looks at a mount
WORKERS = 2
MEMORY_SHARE = 0.5  # of the data
POOL_SHARE = 0.9  # of the memory for data; the rest is for names, and what lags behind
PROGRAM_BYTES = 160 << 20  # of memory that torch and its workers take for themselves
KNOWN_SEED = 42  # that everybody takes, and the oracle tries early
# What torch makes of these is found after 1/2, 5/6, 1/6 of a search
OTHER_SEEDS = (3039394701, 3039396224, 3039395085)
LEAST_AFTER_S = 0.3  # or else there was no rest of the epoch to speak of
IN_ORDER = "foldfs, files in order"

WARM_PAIRS = 3  # on and off, a round: their difference is small
OFF = "oracle=off"

SEARCHED = 300  # files that are read until it searches
SEARCH_BEGINS_S = 10
SPIN_PAIRS, SPIN_S = 3, 5.0  # a search that nobody reads for ends after half a minute
IDLE = "search stopped"

SIZES = (1000, 50000, 1281167)
WIDTHS = {"16_bytes_per_s": "SSE or NEON", "32_bytes_per_s": "AVX2",
          "64_bytes_per_s": "AVX-512"}
LEAST_SEEDS = {"32_bytes_per_s": 45, "64_bytes_per_s": 80}  # millions a second


# --- an epoch, watched ---------------------------------------------------------------------------

def stats_of(mount):
    """Without a program to be started for it."""
    return json.loads(os.getxattr(mount.path, STATS))


class Watch(threading.Thread):
    """Looks at a group, and at foldfs's mount if there is one, until the `with` block ends."""

    def __init__(self, group, mount):
        super().__init__()
        self.group, self.mount, self.over = group, mount, threading.Event()
        self.seen = []  # (time, requests to the device so far, stats or None)

    def look(self):
        stats = stats_of(self.mount) if self.mount else None
        self.seen.append((time.monotonic(), self.group.device_requests(), stats))

    def run(self):
        with contextlib.suppress(OSError):  # the reader's failure is what is to be told
            while not self.over.wait(STEP_S):
                self.look()

    def __enter__(self):
        self.look()
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def is_known(stats):
    return bool(stats) and stats["oracle"]["state"] == "locked"


@dataclasses.dataclass
class Epoch:
    """What a reader printed, and what was seen of it meanwhile."""
    result: dict
    seen: list
    end: dict = None  # the stats

    @property
    def began(self):
        return self.result["began_us"] / 1e6

    @property
    def locked(self):
        """(second, stats) when the order was known; None: never, or as good as."""
        for when, _, stats in self.seen:
            if is_known(stats):
                after = max(when - self.began, 0)
                rest = self.result["wall_s"] - after
                return (after, stats) if rest > LEAST_AFTER_S else None
        return None

    def rate_after(self, seconds):
        return rate_from(self.result["progress"], math.ceil(seconds * 10))

    def requests(self):
        """To the device, by each tenth of a second."""
        times = [when - self.began for when, _, _ in self.seen]
        counts = [count for _, count, _ in self.seen]
        first = counts[max(bisect.bisect(times, 0) - 1, 0)]
        return [counts[bisect.bisect(times, (step + 1) / 10) - 1] - first
                for step in range(int(times[-1] * 10))]


def watched(bench, command, group, mount=None):
    """A command that says how many files it read by each tenth of a second, seen from outside
    meanwhile; of several epochs, the last."""
    process = bench.start(*command, group=group)
    with Watch(group, mount) as watch:
        result = bench.finish(process)
    result = result[-1] if isinstance(result, list) else result
    return Epoch(result, watch.seen, bench.stats(mount) if mount else None)


class After:
    """Measures of what comes after the moment that the order is known, against loose files."""

    def __init__(self, section, targets):
        def measure(name, unit, *targets):
            return Measure(section, name, unit, targets, PROFILE)
        self.rate = measure(f"{FILES_READ}, order known", "files/s", *targets)
        self.hits = measure("reads that find their file in the pool", "%",
                            Target(99, text="at least 99 %"))
        self.waste = measure("read ahead for nothing", "%",
                             Target(2, at_least=False, text="at most 2 %"))
        self.known = measure("order known after", "s")
        self.reads = measure(FILES_READ, "files/s")
        self.requests = measure("requests to the device", "1/s")
        self.read = measure("read from the device", "x")

    def measures(self):
        return [self.rate, self.hits, self.waste, self.known, self.reads, self.requests,
                self.read]

    def draw(self, name, epoch):
        for measure, curve in ((self.reads, epoch.result["progress"]),
                               (self.requests, epoch.requests())):
            measure.curves[name] = curve
            measure.add(name, curve[-1] / epoch.result["wall_s"])
            measure.known.pop(name, None)  # of the round before
            if epoch.locked:
                measure.known[name] = round(epoch.locked[0], 2)

    def add_ours(self, bench, epoch):
        self.draw(OURS, epoch)
        self.read.add(OURS, epoch.end["amplification"])
        if not epoch.locked:
            for measure in (self.rate, self.hits, self.waste, self.known):
                measure.absent[OURS] = "the epoch was over before its order was known"
            bench.note(f"{self.rate.section}: an epoch of {epoch.result['wall_s']:.0f} s was over "
                       "before its order was known")
            return
        after, stats = epoch.locked
        self.known.add(OURS, after)
        self.rate.add(OURS, epoch.rate_after(after))
        hits, misses = (epoch.end["pool"][name] - stats["pool"][name]
                        for name in ("hits", "misses"))
        self.hits.add(OURS, 100 * hits / max(hits + misses, 1))
        self.waste.add(OURS, 100 * wasted(stats["prefetch"], epoch.end["prefetch"]))

    def add_other(self, name, epoch):
        """Half of what it reads is to load names and inodes."""
        self.draw(name, epoch)
        self.rate.add(name, epoch.rate_after(epoch.result["wall_s"] / 2))


def wasted(then, end):
    """The share of what was read ahead since `then` that nobody wanted: what left the pool
    unused, and what lies there unused at the end."""
    unused = end["issued"] - end["used"] - end["wasted"]
    return (end["wasted"] - then["wasted"] + unused) / max(end["issued"] - then["issued"], 1)


# --- devices -------------------------------------------------------------------------------------

def load(bench, tree, peer, *options):
    """One epoch of torch's own loader, in less memory than data."""
    bench.make_cold(tree, "hdd")
    bench.load_libraries()
    memory = int(MEMORY_SHARE * tree.bytes)
    pool = f"cache=pool,pool={int(POOL_SHARE * memory)}"
    with Group(profile="hdd", memory=memory + PROGRAM_BYTES, path=tree.pack) as group, \
            peer.opened(Scene(bench, tree, group, options=pool)) as (root, mount):
        command = bench.scripted("epochs.py", root, "--workers", WORKERS, *options)
        return watched(bench, command, group, mount)


def hdd(bench):
    """A quick run has no time for a search of all seeds."""
    tree = bench.photos()
    bench.note(f"hdd, DataLoader: {PROGRAM_BYTES >> 20} MiB beside the memory for data, since "
               "torch and its workers take so much; the pool is given in so many bytes, "
               f"{POOL_SHARE:.0%} of the memory for data")
    kinds = {f"manual_seed({KNOWN_SEED})": (KNOWN_SEED,)}
    if not bench.quick:
        kinds["seeds to be searched"] = OTHER_SEEDS
    after = {words: After(f"hdd, DataLoader, {WORKERS} workers, {words}, memory for "
                          f"{MEMORY_SHARE:.0%} of the data", (Target(10, LOOSE),))
             for words in kinds}
    for number, system in bench.turns((*kinds, LOOSE)):
        if system != LOOSE:
            seed = kinds[system][number % len(kinds[system])]
            after[system].add_ours(bench, load(bench, tree, FOLDFS, "--seed", seed))
            continue
        epoch = load(bench, tree, LOOSE_FILES, "--seconds", seconds_for_peers(bench))
        for measures in after.values():
            measures.add_other(LOOSE, epoch)
    return [measure for each in after.values() for measure in each.measures()]


@contextlib.contextmanager
def in_torch_order(bench, tree, seed):
    """The tree with a list in the order of DataLoader's first epoch."""
    with open(tree.list) as names, tempfile.NamedTemporaryFile("w") as listed:
        names = list(names)
        listed.writelines(names[index] for index in bench.script("order.py", len(names), seed))
        listed.flush()
        ordered = copy.copy(tree)
        ordered.list = listed.name
        yield ordered


def nvme(bench):
    """One thread, which has the device wait whenever it does not: does it still get what the
    device gives when it is read in order?"""
    tree, stream = bench.photos(), Stream()
    after = After("nvme, 1 thread, torch's order",
                  (Target(0.8, IN_ORDER), Target(0.8, stream.name), Target(1, LOOSE)))
    with in_torch_order(bench, tree, KNOWN_SEED) as shuffled:
        runs = {OURS: (FOLDFS, shuffled), IN_ORDER: (FOLDFS, tree),
                LOOSE: (LOOSE_FILES, shuffled), stream.name: (stream, tree)}
        for _, name in bench.turns(runs):
            peer, listed = runs[name]
            bench.make_cold(tree, "nvme")
            with Group(profile="nvme", path=tree.pack) as group:
                read_alone(Scene(bench, listed, group, threads=1), name, peer, after)
    return after.measures()


def read_alone(scene, name, peer, after):
    """By one thread, in the order of the list. It has walked the tree, as ImageFolder does; there
    is nothing of the files in memory."""
    if isinstance(peer, Stream):
        after.rate.add(name, peer.run(scene).files_per_s)
        return
    bench = scene.bench
    part = [] if peer is FOLDFS else ["--seconds", str(seconds_for_peers(bench))]
    with peer.opened(scene) as (root, mount):
        bench.json(bench.walk, root)
        command = bench.reading(root, scene.tree, 0, "--listed", "--progress", *part, threads=1)
        epoch = watched(bench, command, scene.group, mount)
    if name == OURS:
        after.add_ours(bench, epoch)
    elif name == IN_ORDER:
        after.rate.add(name, epoch.result["files_per_s"])
    else:
        after.add_other(name, epoch)


# --- what it costs -------------------------------------------------------------------------------

def warm(bench):
    """The kernel holds everything, so that there is nothing to gain."""
    tree = bench.photos()
    section = "Warm, 2 threads, with the oracle and without"
    passes = ("-p", "2" if bench.quick else "3")
    measures = []
    with in_torch_order(bench, tree, KNOWN_SEED) as ordered, \
            bench.mount(OURS, tree) as on, bench.mount(OURS, tree, options=OFF) as off:
        for mount in (on, off):
            bench.read(mount.path, tree, 0, "--listed")  # in a shuffled order, it may search
        kinds = (("shuffled", tree, ()), ("shuffled, asks for a terminal", tree, ("--tcgets",)),
                 ("torch's order, asks for a terminal", ordered, ("--listed", "--tcgets")))
        for words, listed, options in kinds:
            rate = Measure(section, words, "files/s", (Target(0.98, OFF),))
            for number in range(WARM_PAIRS * bench.rounds):
                pair = [(OURS, on), (OFF, off)]
                for system, mount in pair[::-1] if number % 2 else pair:
                    result = bench.read(mount.path, listed, number, "--warm", *passes, *options)
                    rate.add(system, result["files_per_s"])
            measures.append(rate)
    return measures


def state_of(mount):
    return stats_of(mount)["oracle"]["state"]


def wait_for_search(mount):
    """Whatever else it tries takes less time than so many looks."""
    until, looks = time.monotonic() + SEARCH_BEGINS_S, 0
    while looks < 10:
        looks = looks + 1 if state_of(mount) == "searching" else 0
        if time.monotonic() > until:
            raise Failed(f"no search of all seeds goes on: {state_of(mount)}")
        time.sleep(STEP_S)


@contextlib.contextmanager
def stopped(mount):
    os.kill(mount.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(mount.pid, signal.SIGCONT)


def spin(bench):
    """What all processors get done in a second."""
    begun = [bench.start(*bench.scripted("spin.py", SPIN_S))
             for _ in os.sched_getaffinity(0)]
    return sum(bench.finish(process)["work_per_s"] for process in begun)


def busy(bench):
    """Nobody reads while it is measured: what a search takes is not to be taken for what reads
    take. It is stopped and goes on in turns, by signals to the daemon."""
    tree = bench.photos()
    done = Measure("All processors busy, a search of all seeds at the same time", "work done",
                   "1/s", (Target(0.99, IDLE),))
    for _ in range(bench.rounds):
        bench.make_cold(tree, "hdd")
        with in_torch_order(bench, tree, OTHER_SEEDS[1]) as ordered, \
                Group(profile="hdd", path=tree.pack) as group, \
                bench.mount(OURS, tree, group) as mount:
            bench.read(mount.path, ordered, 0, "--listed", "--files", str(SEARCHED), threads=1,
                       group=group)
            wait_for_search(mount)
            for _ in range(2 if bench.quick else SPIN_PAIRS):
                done.add(OURS, spin(bench))
                with stopped(mount):
                    done.add(IDLE, spin(bench))
            wait_for_search(mount)
    return [done]


def rates(bench, section, found, least_seeds):
    """Of one processor, with each of its vectors."""
    measures = []
    for name, words in WIDTHS.items():
        least = least_seeds.get(name)
        targets = (Target(least, text=f"at least {least} M/s"),) if least else ()
        rate = Measure(section, f"{words}, one processor", "million seeds/s", targets)
        if name in found:
            rate.add(OURS, found[name] / 1e6)
            measures.append(rate)
        else:
            bench.note(f"seeds: not by {words}, which this processor does not have")
    return measures


def search(bench):
    """How fast seeds are tried, by one processor with each of its vectors; and by all of them
    until all are."""
    measures = []
    for size in SIZES:
        section = f"Search for the seed of {size:,} files"
        measures += rates(bench, section, bench.json(bench.seeds, str(size)), LEAST_SEEDS)
        if not bench.quick:
            whole = Measure(section, "all 2^32 seeds, all processors", "s")
            whole.add(OURS, bench.json(bench.seeds, "-a", str(size))["wall_s"])
            measures.append(whole)
    return measures


def oracle(bench):
    """Part by part: what was measured stays where a later one fails."""
    for part in (hdd, nvme, warm, busy, search):
        yield from part(bench)
