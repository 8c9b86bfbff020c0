"""What packing costs, beside tar and mksquashfs; what checks and millions of files add to it; and
what images that were made smaller, or decoded, bring to a training.

foldpack syncs a pack before it gives it its name; tar and mksquashfs leave theirs in memory."""

import collections
import contextlib
import copy
import os
import tempfile

import machine
import trees
from harness import Failed
from mounts import InodeFiles
from profiles import Group, Unavailable
from report import OURS, Measure, Target

TAR, TAR_SYNCED = "tar cf", "tar cf, then sync FILE"
COLD_JOBS = 16

ONE_JOB, TWO_JOBS = "foldpack -j1", OURS
SCALES = 1.5  # from one job to two; writing keeps a thread busy besides

SQUASH = "mksquashfs -no-duplicates"
SQUASH_STORED = f"{SQUASH}, nothing compressed"
BUFFERS, BYTES_A_FILE = 172e6, 100  # 300 MB for 1,281,167 files
ON_DISK = 600  # bytes that a tiny file takes in its inode, its directory, a pack and its journal

WORKERS = 2
ORIGINAL = "original, mounted"
RESIZED = "--resize 256 --quality 90"
TRANSFORMS = {RESIZED: 1.6, "--resize 256 --store bmp": 1.9, "--store ppm": 1.9}
LARGEST = 0.28  # of the original, the pack of RESIZED


def sort_behind(name):
    """Globs for the names that do."""
    ranges = (f"{name[:at]}[{chr(ord(name[at]) + 1)}-~]*" for at in range(len(name)))
    return [*ranges, f"{name}?*"]


class Part:
    """The first classes of a tree, of `wanted` files together or hardly more."""

    def __init__(self, tree, wanted):
        with open(tree.list) as names:
            counts = collections.Counter(name.partition("/")[0] for name in names)
        self.tree, self.files, self.classes = tree, 0, []
        for name in sorted(counts):
            if self.files < wanted:
                self.files += counts[name]
                self.classes.append(name)
        self.whole = self.files == tree.files

    def __str__(self):
        return f"{self.files:,} photos" + ("" if self.whole else f" of {self.tree.files:,}")

    def create(self, bench, target, *options):
        left_out = [] if self.whole else sort_behind(self.classes[-1])
        left_out = (f"--exclude=/{glob}" for glob in left_out)
        return [bench.foldpack, "create", "-q", *options, *left_out, self.tree.root, target]

    def tar(self, target):
        return ["tar", "cf", target, "-C", self.tree.root, "--", *self.classes]

    def tar_synced(self, target):
        return ["sh", "-c", '"$@" && sync -- "$0"', target, *self.tar(target)]


@contextlib.contextmanager
def place(bench):
    """A folder on the disk of the trees, gone with all that is in it at the end of the block."""
    with tempfile.TemporaryDirectory(prefix="pack-", dir=bench.kept) as folder:
        yield folder


def into_memory(bench, tree, seed):
    """The tree in memory, and nothing left to be written."""
    os.sync()
    bench.read(tree.root, tree, seed)


def timed(bench, maker, group=None):
    """What timed.py says of the command maker(target), and the target's size; it is removed."""
    with place(bench) as folder:
        target = os.path.join(folder, "target")
        result = bench.script("timed.py", *maker(target), group=group)
        return {**result, "bytes": os.path.getsize(target)}


# --- photos --------------------------------------------------------------------------------------

def warm(bench):
    tree = bench.photos()
    part = Part(tree, tree.files)
    makers = {OURS: lambda target: part.create(bench, target),
              TAR: part.tar, TAR_SYNCED: part.tar_synced}
    rate = Measure(f"Packing, source in memory, {part}", "packed", "files/s",
                   (Target(1, TAR), Target(1, TAR_SYNCED)))
    for number, system in bench.turns(makers):
        into_memory(bench, tree, number)
        rate.add(system, part.files / timed(bench, makers[system])["wall_s"])
    return [rate]


def load_programs(bench):
    """Reading them is not what is measured where a device is slow."""
    for program in (bench.foldpack, "tar"):
        bench.script("timed.py", program, "--version")


def cold(bench):
    """A part of the tree: the whole would take minutes. tar writes to the same disk, whose limits
    are for reads only."""
    part = Part(bench.photos(), 300 if bench.quick else 600)
    makers = {OURS: lambda target: part.create(bench, target, f"-j{COLD_JOBS}"), TAR: part.tar}
    rate = Measure(f"hdd, packing with -j{COLD_JOBS}, {part}", "packed", "files/s",
                   (Target(2, TAR),), "hdd")
    for _, system in bench.turns(makers):
        bench.make_cold(part.tree, "hdd")
        load_programs(bench)
        try:
            with Group(profile="hdd", path=bench.kept) as group:
                rate.add(system, part.files / timed(bench, makers[system], group)["wall_s"])
        except Unavailable as error:
            rate.absent.update(dict.fromkeys(makers, str(error)))
            break
    return [rate]


def check(bench):
    part = Part(bench.few_photos(), 1000 if bench.quick else 4000)
    jobs = {TWO_JOBS: "-j2", ONE_JOB: "-j1"}
    rate = Measure(f"Packing with --check decode -j2, source in memory, {part}", "packed",
                   "files/s", (Target(SCALES, ONE_JOB),))
    for number, system in bench.turns(jobs):
        into_memory(bench, part.tree, number)
        result = timed(bench, lambda target, system=system: part.create(
            bench, target, "--check=decode", jobs[system]))
        rate.add(system, part.files / result["wall_s"])
    return [rate]


# --- millions of files ---------------------------------------------------------------------------

def squash(root, *options):
    return lambda target: ["mksquashfs", root, target, *options, "-no-duplicates", "-noappend",
                           "-no-progress", "-quiet"]


class Scale:
    """Time, memory and size of packing so many tiny files."""

    def __init__(self, files, state, versus):
        section = f"Packing {files:,} files of 12 to 60 bytes, {state}"
        peak = (BUFFERS + BYTES_A_FILE * files) / 1e6
        self.took = Measure(section, "time", "s", tuple(
            Target(0.5, system, at_least=False) for system in versus))
        self.peak = Measure(section, "peak memory", "MB",
                            (Target(peak, at_least=False, text=f"under {peak:,.0f} MB"),))
        self.size = Measure(section, "size", "MB")

    def add(self, system, result):
        self.took.add(system, result["wall_s"])
        self.peak.add(system, result["peak"] / 1e6)
        self.size.add(system, result["bytes"] / 1e6)

    def measures(self):
        return [self.took, self.peak, self.size]


def tiny(bench):
    """What is said of mksquashfs is said with and without its compression: which one takes longer
    is up to the processors."""
    tree = bench.tiny()
    makers = {OURS: lambda target: [bench.foldpack, "create", "-q", tree.root, target],
              SQUASH: squash(tree.root), SQUASH_STORED: squash(tree.root, *trees.STORED)}
    scale = Scale(tree.files, "source in memory", (SQUASH, SQUASH_STORED))
    read = set()
    for number, system in bench.turns(makers):
        if number not in read:  # once a round: the commands themselves read all of it
            into_memory(bench, tree, number)
            read.add(number)
        scale.add(system, timed(bench, makers[system]))
    return scale.measures()


def check_room(folder, files):
    room = os.statvfs(folder)
    if room.f_bavail * room.f_frsize < files * ON_DISK:
        raise Failed(f"BENCH_SCALE={files}: {folder} has room for "
                     f"{room.f_bavail * room.f_frsize // ON_DISK:,} files")


def larger(bench):
    """As many files as BENCH_SCALE says, once: that takes long. Nothing of them is in memory."""
    files = int(os.environ.get("BENCH_SCALE", "0"))
    if not files:
        return []
    if os.geteuid() != 0:
        bench.note(f"BENCH_SCALE={files}: not measured: its filesystem wants root")
        return []
    check_room(bench.kept, files)
    scale = Scale(files, "nothing in memory", ())
    with place(bench) as folder, InodeFiles(os.path.join(folder, "image"), files) as made:
        root = os.path.join(made.path, "tiny")
        trees.make_data("make_tiny.py", root, "--files", files, "--classes",
                        max(files // 1281, 10))
        machine.make_cold(())
        scale.add(OURS, timed(bench, lambda target: [bench.foldpack, "create", "-q", root,
                                                     target]))
    return scale.measures()


# --- smaller and decoded images ------------------------------------------------------------------

def packed(bench, part, folder, words):
    """The tree of a part, with a pack that `words` shaped."""
    tree = copy.copy(part.tree)
    tree.pack = os.path.join(folder, f"{words or 'original'}.lmdb".replace(" ", ""))
    bench.seconds(*part.create(bench, tree.pack, *words.split()))
    return tree


def sizes(part, packs):
    of_original = os.path.getsize(packs[""].pack)
    for words in TRANSFORMS:
        targets = ()
        if words == RESIZED:
            targets = (Target(LARGEST, at_least=False, text=f"at most {LARGEST}"),)
        size = Measure(f"Transforms, {part}", words, "of the original's size", targets)
        size.add(OURS, os.path.getsize(packs[words].pack) / of_original)
        yield size


def rates(bench, part, packs):
    """The second epoch of each process: everything is in memory then."""
    section = f"DataLoader, {WORKERS} workers, RandomResizedCrop(224), flip, ToTensor, warm, {part}"
    measures = {words: Measure(section, words, "images/s", (Target(least, ORIGINAL),))
                for words, least in TRANSFORMS.items()}
    for number, words in bench.turns(packs):
        with bench.mount(OURS, packs[words]) as mount:
            rate = bench.epochs(mount.path, "--crop", "--workers", WORKERS, "--epochs", 2,
                                "--seed", number)[-1]["files_per_s"]
        if words:
            measures[words].add(OURS, rate)
        for measure in () if words else measures.values():
            measure.add(ORIGINAL, rate)
    return measures.values()


def transforms(bench):
    """A tree with all the photos in it: the first of another one are not like the rest."""
    tree = trees.photo_tree(bench.kept, 520 if bench.quick else 1040, bench.foldpack)
    part = Part(tree, tree.files)
    with place(bench) as folder:
        packs = {words: packed(bench, part, folder, words) for words in ("", *TRANSFORMS)}
        return [*sizes(part, packs), *rates(bench, part, packs)]


def pack(bench):
    bench.note("packing: foldpack's time includes that the pack is synced; that of mksquashfs, and "
               "of tar where nothing else is said, does not")
    parts = (warm, cold, check, tiny, larger, transforms)
    return [measure for part in parts for measure in part(bench)]
