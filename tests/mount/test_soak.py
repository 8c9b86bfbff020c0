"""Readers of all kinds on one mount at once: 64 workers of torch's DataLoader, forked and spawned,
find, tar, readers that are killed, and mounts that come and go, while the memory of the daemon's
control group shrinks and grows. No byte may be wrong, nothing may hang, and the daemon may not
grow.

`make check` does this for some seconds, `make soak-readers` for SOAK_MINUTES, and with
SOAK_VALGRIND=1 under valgrind, with a few workers. What is chosen follows from SOAK_SEED, which a
run says; when it happens does not."""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import random
import select
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import foldfs
import oracle
import trees
from foldfs import MIB, PATIENCE, needs
from groups import memory_group

MINUTES = float(os.environ.get("SOAK_MINUTES", 0))
SECONDS = MINUTES * 60 or 12
SEED = int(os.environ.get("SOAK_SEED", time.time_ns() // 1_000_000))
VALGRIND = "SOAK_VALGRIND" in os.environ

# Spawned workers import torch, each for itself: seconds of a processor.
WORKERS = {"fork": 6, "spawn": 2} if VALGRIND else \
    {"fork": 48, "spawn": 16} if MINUTES else {"fork": 62, "spawn": 2}
HANG = (10 if VALGRIND else 2) * PATIENCE  # seconds without a word from a reader
START = 10 * PATIENCE  # seconds more, until all workers are there
WARM = 1 / 3  # of the time, before memory is looked at
GROWTH = 8 * MIB  # of a daemon, by the line through its sizes: more is a leak
LIMITS = [512 * MIB, 96 * MIB, 256 * MIB, 128 * MIB]  # of memory, one after the other
POOL = 48 * MIB
FILES, LARGE = 2000, 20

LOADER = Path(__file__).resolve().parent / "soak_loader.py"
TAR = ["tar", "-c", "--sort=name", "--numeric-owner", "-C"]
CHECKER = ["valgrind", "-q", "--error-exitcode=99", "--leak-check=full",
           "--errors-for-leak-kinds=definite"]
CHOICES = [("pool", ["16M", "32M", "128M"]), ("cache", ["auto", "kernel", "pool"]),
           ("policy", ["auto", "lru", "pin"]), ("io", ["auto", "direct", "buffered"]),
           ("threads", ["1", "2", "8"]), ("readahead", ["0", "8M"]), ("verify", ["on", "off"])]

pytestmark = [pytest.mark.plain, pytest.mark.alone]


def make_files(root):
    """Three times as much as the pool holds; photographs, and some that are larger."""
    chance = random.Random(SEED)
    for number in range(FILES):
        folder = root / f"class{number % 50:02}"
        folder.mkdir(exist_ok=True)
        size = chance.randrange(MIB, 4 * MIB) if number < LARGE else chance.randrange(100_000)
        trees.write(folder / f"{number:05}.jpg", chance.randbytes(size))
    trees.write(root / "empty")
    (root / "link").symlink_to("class01/00001.jpg")


class Hung(AssertionError):
    """What it is that waits, and where."""


def waiting(pid):
    """The state of a process and of those below it, and what they wait for."""
    lines = subprocess.run(["ps", "-o", "pid,stat,wchan:30,args", "--ppid", str(pid), "-p",
                            str(pid)], capture_output=True, text=True, check=False)
    return lines.stdout


def heard(pipe, pid):
    """What a reader says, a dict for each line, up to its end."""
    said, patience = b"", START + HANG
    while True:
        if not select.select([pipe], [], [], patience)[0]:
            raise Hung(f"not a word for {patience} s:\n{waiting(pid)}")
        patience = HANG
        data = os.read(pipe.fileno(), MIB)
        if not data:
            return
        *whole, said = (said + data).split(b"\n")
        yield from map(json.loads, whole)


class Soak:
    """What goes on meanwhile. Each job runs in a thread of its own, again and again."""

    def __init__(self, source, mounted, place, group):
        self.mounted, self.place, self.group, self.limit = mounted, place, *group
        self.connection = os.minor(os.stat(mounted).st_dev)
        self.want = {os.fsdecode(path): trees.digest(source / os.fsdecode(path))
                     for path in trees.files(source)}
        (place / "want.json").write_text(json.dumps(self.want))
        self.listing, self.archive = self.find(source), self.tar(source)
        self.ended, self.failed = threading.Event(), None
        self.counts = dict.fromkeys(["files", "bytes", "epochs", "finds", "tars", "kills",
                                     "remounts", "limits"], 0)

    def abort(self):
        """So that what hangs can be killed."""
        with contextlib.suppress(OSError):
            Path(f"/sys/fs/fuse/connections/{self.connection}/abort").write_text("1")

    def start(self, *command, **options):
        """A reader, whose memory counts as the daemon's does."""
        enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', self.group / "cgroup.procs"] \
            if self.group else []
        return subprocess.Popen([*enter, *command], stdin=subprocess.DEVNULL, **options)

    def wait(self, process):
        """What a process says until its end."""
        try:
            return process.communicate(timeout=HANG)[0]
        except subprocess.TimeoutExpired:
            said = waiting(process.pid)
            self.abort()
            process.kill()
            raise Hung(f"no end for {HANG} s:\n{said}") from None

    def output(self, *command):
        process = self.start(*command, stdout=subprocess.PIPE)
        said = self.wait(process)
        assert process.returncode == 0, f"{command}: {process.returncode}"
        return said

    # --- jobs -------------------------------------------------------------------------------

    def find(self, root):
        """Folders have sizes of their own."""
        return sorted(self.output("find", root, "-mindepth", "1", "-printf", r"%P %y %m %T@ %l",
                                  "(", "-type", "d", "-printf", r"\n", "-o", "-printf", r" %s\n",
                                  ")").splitlines())

    def tar(self, root):
        return hashlib.sha256(self.output(*TAR, root, ".")).digest()

    def finds(self, _):
        assert self.find(self.mounted) == self.listing

    def tars(self, _):
        assert self.tar(self.mounted) == self.archive

    def kills(self, chance):
        paths = [self.mounted / path for path in chance.sample(sorted(self.want), 200)]
        process = self.start("cat", *paths, stdout=subprocess.DEVNULL)
        self.ended.wait(chance.uniform(0, 0.3))
        process.kill()
        self.wait(process)

    def remounts(self, chance):
        """Beside the first mount, by the same pack."""
        options = [f"--{name}={chance.choice(values)}"
                   for name, values in chance.sample(CHOICES, 3)]
        with foldfs.mounted(self.mounted.pack, self.place / "again", *options) as again:
            for path in chance.sample(sorted(self.want), 50):
                assert trees.digest(again / path) == self.want[path], (options, path)

    def limits(self, chance):
        """Of memory; EBUSY says that so much cannot be freed at once."""
        with contextlib.suppress(OSError):
            (self.group / self.limit).write_text(str(LIMITS[self.counts["limits"] % len(LIMITS)]))
        self.ended.wait(chance.uniform(1, 3))

    def again(self, name):
        """Does the job of this name until the end."""
        chance = random.Random(f"{SEED} {name}")
        while not self.ended.is_set():
            getattr(self, name)(chance)
            self.counts[name] += 1

    # --- loaders ----------------------------------------------------------------------------

    def load(self, start):
        job = oracle.Job(self.mounted, self.place / "want.json", start,
                         str(WORKERS[start]), str(SEED), script=LOADER)
        try:
            for batch in heard(job.process.stdout, job.process.pid):
                assert not batch["wrong"], f"wrong bytes: {batch['wrong']}"
                self.counts["files"] += batch["files"]
                self.counts["bytes"] += batch["bytes"]
                self.counts["epochs"] += batch["ended"]
                if self.ended.is_set():
                    return
            raise AssertionError(f"a loader ended with {job.process.wait()}")
        except Hung:
            self.abort()
            raise
        finally:
            job.kill()

    # --- the daemon -------------------------------------------------------------------------

    def idle(self):
        """What has not happened yet."""
        idle = {name for name, count in self.counts.items() if not count}
        if VALGRIND:
            idle.discard("epochs")  # which take minutes
        return idle if self.group else idle - {"limits"}

    def is_over(self, seconds):
        """A slow machine takes longer to begin so many workers."""
        return seconds >= 0 and not self.idle() or seconds >= START

    def watch(self, seconds):
        """[(seconds, bytes of the daemon, bytes of those that the pool uses)] of each second, to
        the end or to a failure."""
        began, sizes = time.monotonic(), []
        while not self.is_over(time.monotonic() - began - seconds) and not self.ended.wait(1):
            used = self.mounted.stats()["pool"]["used"]
            sizes.append((time.monotonic() - began, resident(self.mounted.daemon), used))
        return sizes

    def guarded(self, do, what):
        """The first failure ends the others, which fail then in their own ways."""
        try:
            do(what)
        except BaseException as why:
            self.failed = self.failed or why
        finally:
            self.ended.set()

    def run(self, seconds):
        jobs = ["finds", "tars", "kills", "remounts"] + ["limits"] * bool(self.group)
        with concurrent.futures.ThreadPoolExecutor(16) as threads:
            for job in jobs:
                threads.submit(self.guarded, self.again, job)
            for start in WORKERS:
                threads.submit(self.guarded, self.load, start)
            try:
                sizes = self.watch(seconds)
            finally:
                self.ended.set()
        if self.failed:
            raise self.failed
        return sizes


def resident(pid):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) << 10
    raise ProcessLookupError(pid)


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_instrumented(pid):
    """Sanitizers and valgrind keep memory of their own, and more of it the longer it takes."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    return any(name in maps for name in ("libasan", "libtsan", "asan_rt", "vgpreload"))


def growth(sizes):
    """Bytes beside the pool, by the straight line that is nearest: what comes and goes is not
    counted."""
    times = [at for at, _, _ in sizes]
    slope = statistics.linear_regression(times, [size - used for _, size, used in sizes]).slope
    return slope * (times[-1] - times[0])


def say(counts, seconds, sizes, warm):
    least, most = (pick(size for _, size, _ in warm) / MIB for pick in (min, max))
    print(f"\nSOAK_SEED={SEED}: {seconds:.0f} s, {counts['files'] / seconds:.0f} files/s, "
          f"{counts['bytes'] / seconds / MIB:.1f} MiB/s;",
          ", ".join(f"{counts[name]} {name}" for name in list(counts)[2:]),
          f"\nthe daemon: {least:.1f} to {most:.1f} MiB, growth beside the pool "
          f"{growth(warm) / MIB:+.2f} MiB; by minutes",
          *(f"{size / MIB:.0f}" for _, size, _ in sizes[::60]))


@contextlib.contextmanager
def limited(daemon):
    """A group with the daemon in it, and the file of its limit; None, None: there can be none."""
    try:
        with memory_group() as (group, limit):
            (group / "cgroup.procs").write_text(str(daemon))
            try:
                yield group, limit
            finally:
                for pid in (group / "cgroup.procs").read_text().split():
                    (group.parent / "cgroup.procs").write_text(pid)
    except pytest.skip.Exception as why:
        print(f"without limits of memory: {why}")
        yield None, None


@pytest.fixture
def soaked(place, point):
    """A mount in the foreground, under valgrind if that is asked for."""
    source, pack = trees.packed(place / "source", make_files)
    (place / "again").mkdir()
    mounted = foldfs.Mount(pack, point, ["-f", f"--pool={POOL}"])
    log = place / "valgrind"  # not stderr: it has a line for each call that it does not know
    if VALGRIND:
        mounted.command = [*CHECKER, f"--log-file={log}", *mounted.command]
    try:
        mounted.start()
        yield source, mounted
        # With a sanitizer, a step of a search for seeds takes minutes, and is waited for.
        foldfs.unmount(mounted)
        began = time.monotonic()
        assert mounted.wait(START) == 0
        print(f"the daemon ended {time.monotonic() - began:.1f} s after its mount")
    finally:
        mounted.destroy()
        if VALGRIND:
            print(*(line for line in log.read_text().splitlines() if "==" in line), sep="\n")


@oracle.needs_torch
@needs("find", "tar", "ps", *["valgrind"] * VALGRIND)
def test_readers_of_all_kinds_find_every_byte(soaked, place, capsys):
    source, mounted = soaked
    before = descriptors(mounted.daemon)
    instrumented = is_instrumented(mounted.daemon)
    with contextlib.ExitStack() as stack:
        group = None, None
        if not instrumented:
            group = stack.enter_context(limited(mounted.daemon))
        soak = Soak(source, mounted, place, group)
        sizes = soak.run(SECONDS)
    warm = [size for size in sizes if size[0] >= SECONDS * WARM]
    with capsys.disabled() if MINUTES else contextlib.nullcontext():
        say(soak.counts, SECONDS, sizes, warm)
    assert not soak.idle()
    assert descriptors(mounted.daemon) <= before + 2
    if not instrumented:
        assert growth(warm) <= GROWTH


# --- without a mount --------------------------------------------------------------------------

FOLDERS = 256 + 256  # that are kept at most, and what is open for a moment
# Sixteen workers, and processes that come and go.
JOB = """
"$@" &
while sleep 1; do
    tar -c --sort=name --numeric-owner -C "$FOLDER" . | sha256sum >>"$TARS"
done
"""


def measure(pid):
    """Bytes, threads, descriptors, and copies of files among these."""
    links = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
    return {"MiB": resident(pid) / MIB, "threads": len(os.listdir(f"/proc/{pid}/task")),
            "descriptors": len(links), "copies": sum("memfd:foldfs-" in link for link in links)}


@pytest.fixture
def job(place, point):
    """A job that reads for ever, beside archives of the folder, which are right."""
    source, pack = trees.packed(place / "source", make_files)
    want = {os.fsdecode(path): trees.digest(source / os.fsdecode(path))
            for path in trees.files(source)}
    (place / "want.json").write_text(json.dumps(want))
    archive = hashlib.sha256(subprocess.check_output([*TAR, source, "."])).hexdigest()
    with subprocess.Popen(
            [foldfs.FOLDFS, "--no-fuse", "-q", f"--pool={POOL}", pack, point, "--", "sh", "-c", JOB,
             "sh", sys.executable, "-B", LOADER, point, place / "want.json", "fork", "16",
             str(SEED)], stdout=subprocess.PIPE,
            env={**os.environ, "FOLDER": str(point), "TARS": str(place / "tars")}) as process:
        yield process
        assert set((place / "tars").read_text().splitlines()) == {f"{archive}  -"}
        process.terminate()
        assert process.wait(PATIENCE) == 128 + signal.SIGTERM
    assert os.listdir(point) == []


@pytest.mark.slow
@oracle.needs_torch
@pytest.mark.skipif(VALGRIND, reason="its processes are not followed")
def test_sixteen_workers_of_a_job_find_every_byte(job, capsys):
    counts = {"files": 0, "bytes": 0, "ended": 0}
    began, sizes = time.monotonic(), []
    for said in heard(job.stdout, job.pid):
        assert not said["wrong"]
        for name in counts:
            counts[name] += said[name]
        at = time.monotonic() - began
        if at > SECONDS and counts["ended"]:
            break
        if not sizes or at >= sizes[-1][0] + 1:
            [server] = foldfs.children(job.pid)
            sizes.append((at, measure(job.pid), measure(server)))
    else:
        raise AssertionError(f"the job ended with {job.wait()}")
    with capsys.disabled() if MINUTES else contextlib.nullcontext():
        print(f"\nSOAK_SEED={SEED}:", counts)
        for at, *both in sizes[::60]:
            print(f"{at:.0f} s, guard and server:",
                  *({name: round(size, 1) for name, size in one.items()} for one in both))
    warm = [size for size in sizes if size[0] >= SECONDS * WARM]
    for which in 1, 2:
        if not is_instrumented(server):
            assert growth([(size[0], size[which]["MiB"] * MIB, 0) for size in warm]) <= GROWTH
        assert len({size[which]["threads"] for size in warm}) == 1
        assert max(size[which]["descriptors"] - size[which]["copies"] for size in warm) <= FOLDERS
