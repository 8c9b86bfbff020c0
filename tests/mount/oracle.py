"""Training jobs over a mount, and what its oracle makes of them.

The oracle sees which files were asked for, by whom. The scripts say which samples they had, in
which order; and what the oracle claims to know (a sampler and its seed) is turned into an order
here, by torch. The two must be the same."""

import collections
import contextlib
import importlib.util
import io
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import MIB, PATIENCE

needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torchvision"),
                                 reason="no torch and torchvision")

SCRIPTS = Path(__file__).resolve().parent / "oracle_scripts"
TRAIN = SCRIPTS / "train.py"
EPOCHS_OF_STREAM = 8  # permutations of one generator that are tried

# A share of the samples after the lock that must be in the pool when they are asked for, and of
# the bytes read ahead that may be read in vain.
Limits = collections.namedtuple("Limits", "hits wasted seconds")
QUICK = Limits(0.9, 0.1, PATIENCE)  # on any machine, however busy
FULL = Limits(0.99, 0.02, 5 * PATIENCE)  # as issue 4 has it; all 2^32 seeds take minutes

# Seconds that a job stays slow after that: it then goes on at sixty times its pace, with as many
# files at once as its workers have batches, as no job does at the moment of the lock.
READ_AHEAD = 0.5

# --- the dataset --------------------------------------------------------------------------


def jpeg():
    from PIL import Image

    data = io.BytesIO()
    Image.linear_gradient("L").resize((16, 16)).save(data, "JPEG")
    return data.getvalue()


def make_dataset(root, train, validation, masks=False):
    """Tiny images, each with noise behind its end, which decoders do not mind. Names are as
    awkward as they get: numbers of any length, folders in folders, and what is no image."""
    head, chance = jpeg(), random.Random(1)
    classes = ["n01440764", "n01443537", "n01443537/sub-1", "n01443537/sub", "n01443537/sub/in",
               "n1", "Ärger", ".hidden", "n10", "n2"]
    for split, count in (("train", train), ("val", validation), ("masks", train * masks)):
        for name in classes:
            (root / split / name).mkdir(parents=True, exist_ok=True)
            trees.write(root / split / name / "readme.txt", b"no image")
        for number in range(count):
            name = f"img{number}{('.JPEG', '.jpg', '.jpeg')[number % 3]}"
            size = chance.randrange(2500, 5500)
            if split == "masks":
                name, size = f"img{number}.png", 500
            with open(root / split / classes[number % 10] / name, "wb") as file:
                file.write(head + chance.randbytes(size))


class Data:
    """A packed dataset, and how it is mounted: with room for a quarter of the files to train on,
    so that each epoch reads anew; and from the device, not from what the kernel still has of a
    pack just written, where direct reads are possible."""

    def __init__(self, folder, train, validation, masks=False):
        folder.mkdir()
        self.make(folder, train, validation, masks)
        self.paths = [path.relative_to(folder) for path in (folder / "train").rglob("*")
                      if path.is_file()]
        self.bytes = sum((folder / path).stat().st_size for path in self.paths)
        self.pack = foldfs.pack(folder, folder.with_suffix(".lmdb"))
        shared = f"cache=pool,pool={max(8 * MIB, train * 16384 // 4)}"
        self.options = "-o", f"{shared},io=direct" if takes_direct_reads(self.pack) else shared

    make = staticmethod(make_dataset)


def takes_direct_reads(path):
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_DIRECT))
    except OSError:
        return False
    return True


# --- jobs ---------------------------------------------------------------------------------


class Job:
    """A script under way. Its workers are of its process group, and end with it."""

    begin = staticmethod(subprocess.Popen)

    def __init__(self, *words, script=TRAIN, environ=None):
        self.said = b""
        self.process = self.begin(
            [sys.executable, "-B", script, *map(os.fspath, words)], bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
            env={**os.environ, "PYTHONPATH": os.fspath(SCRIPTS), "OMP_NUM_THREADS": "1",
                 **(environ or {})},
        )

    def hear(self, ended, seconds=2 * PATIENCE):
        """The order so far, of an epoch that has begun or ended."""
        while b"\n" not in self.said:
            assert select.select([self.process.stdout], [], [], seconds)[0], "a job hangs"
            data = os.read(self.process.stdout.fileno(), 1 << 20)
            assert data, f"a job ended with {self.process.wait()}; it says why on stderr"
            self.said += data
        line, self.said = self.said.split(b"\n", 1)
        told = json.loads(line)
        assert told["ended"] == ended
        return told["order"]

    def has_said(self):
        """Waits a moment for it."""
        return select.select([self.process.stdout], [], [], 0.01)[0]

    def go_on(self):
        self.process.stdin.write(b"\n")

    def members(self):
        """Its processes, but for that of multiprocessing which removes the semaphores of the others
        from /dev/shm once they have ended, and then ends itself."""
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                group = int((path / "stat").read_text().rpartition(")")[2].split()[2])
                if group == self.process.pid and \
                        b"resource_tracker" not in (path / "cmdline").read_bytes():
                    yield int(path.name)

    def kill(self):
        self.process.kill()  # first, so that there are no new ones
        for pid in self.members():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        with contextlib.suppress(ChildProcessError):  # workers, which are ours now
            while True:
                os.waitpid(-self.process.pid, 0)

    def finish(self):
        assert self.process.wait(PATIENCE) == 0


@contextlib.contextmanager
def jobs():
    """start(*words): a Job, which ends with the block."""
    started = []

    def start(*words, **options):
        started.append(Job(*words, **options))
        return started[-1]

    try:
        yield start
    finally:
        for job in started:
            job.kill()


# --- orders -------------------------------------------------------------------------------


def permutations(seed, n, count=1):
    import torch

    generator = torch.Generator().manual_seed(seed)
    return [torch.randperm(n, generator=generator).tolist() for _ in range(count)]


def one_of(said, n):
    """A sampler that is seeded anew for each epoch; `seed` may be that of the first one."""
    for seed in {said["seed"], said["seed"] + said.get("epoch", 0)}:
        yield from permutations(seed, n)


def stream_of(said, n):
    """One generator makes all epochs."""
    yield from permutations(said["seed"], n, EPOCHS_OF_STREAM)


def all_of(order):
    return order


def dealt(world, rank, drop_last=False):
    """What DistributedSampler leaves of an order for one rank."""
    def part(order):
        short = -len(order) % world
        whole = order[:len(order) - len(order) % world] if drop_last else order + order[:short]
        return whole[rank::world]
    return part


def whole_batches(size, part=all_of):
    return lambda order: part(order)[:len(part(order)) // size * size]


class Epoch:
    """What one reader has of an order: of `n` samples, by those who make orders of a seed."""

    def __init__(self, n, part=all_of, makers=one_of):
        self.n, self.part, self.makers = n, part, makers

    def is_explained(self, said, order, ended=False):
        """Whether what the oracle said gives this order, or one that begins so."""
        if said["state"] != "locked" or said.get("seed") is None:
            return False
        for whole in self.makers(said, self.n):
            part = self.part(whole)
            if order == (part if ended else part[:len(order)]):
                return True
        return False

    def places(self):
        """Where in the order this reader's samples are."""
        return set(self.part(list(range(self.n))))


# --- what the oracle says -----------------------------------------------------------------


def oracle_of(mounted):
    return mounted.stats()["oracle"]


def wait_for(mounted, true, seconds=PATIENCE):
    """Waits until something is true of what the oracle says, which is returned."""
    deadline = time.monotonic() + seconds
    while not true(said := oracle_of(mounted)):
        assert time.monotonic() < deadline, f"after {seconds} s the oracle says {said}"
        time.sleep(0.01)
    return said


class Counted:
    """The counters of a mount from now on."""

    def __init__(self, mounted):
        self.mounted, self.before = mounted, mounted.stats()

    def __call__(self, group, name):
        return self.mounted.stats()[group][name] - self.before[group][name]

    def check(self, samples, limits):
        """Nearly all that was to come was there when it was asked for, and little else."""
        misses, prefetch = self("pool", "misses"), {
            name: self("prefetch", name) for name in ("issued", "used", "wasted")}
        assert misses <= (1 - limits.hits) * samples, \
            f"{misses} misses for {samples} samples; read ahead: {prefetch}"
        assert prefetch["wasted"] <= limits.wasted * prefetch["issued"], prefetch


def are_all_known(said, readers):
    """Whether the oracle has each of the (Job, Epoch, order so far): one seed explains ranks of
    which only one was recognised, and epochs of one generator of which only the first was. They are
    followed one by one, or all as one order of all their files."""
    if not said["followed"] or not all(epoch.is_explained(said, order)
                                       for _, epoch, order in readers):
        return False
    files = set().union(*(epoch.places() for _, epoch, _ in readers))
    return said["followed"] >= len(readers) or said["files"] >= len(files)


def follow(mounted, readers, limits=QUICK):
    """One epoch of several (Job, Epoch): the oracle locks on it while it is slow, and then knows
    the rest of it."""
    begun = [(job, epoch, job.hear(False)) for job, epoch in readers]
    said = wait_for(mounted, lambda said: are_all_known(said, begun), limits.seconds)
    time.sleep(READ_AHEAD)
    counted = Counted(mounted)
    for job, _, _ in begun:
        job.go_on()
    ended = [(epoch, job.hear(True), order) for job, epoch, order in begun]
    counted.check(sum(len(order) - len(first) for _, order, first in ended), limits)
    assert all(epoch.is_explained(said, order, True) for epoch, order, _ in ended), said
    for job, _ in readers:
        job.go_on()
    return said


def hold_unlocked(mounted, job, true=lambda said: True, seconds=PATIENCE):
    """One epoch of an order that cannot be known: whenever the oracle is asked, it says so. The
    job is slow until something is true."""
    def is_known(said):
        assert said["state"] != "locked", said
        return true(said)

    job.hear(False)
    wait_for(mounted, is_known, seconds)
    job.go_on()
    while not job.has_said():
        is_known(oracle_of(mounted))
    job.hear(True)
    job.go_on()


@contextlib.contextmanager
def foreign_mount(pack, point, *options):
    """A mount whose daemon is in a pid namespace of its own, as a container's is: for it, readers
    outside have the pid 0."""
    mounted = foldfs.Mount(pack, point, ("-f", *options))
    mounted.command = ["unshare", "--pid", "--fork", "--kill-child", *mounted.command]
    try:
        mounted.start()
        yield mounted
        mounted.close()
    finally:
        mounted.destroy()
