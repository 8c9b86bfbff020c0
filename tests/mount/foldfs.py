"""Packs and mounts for the tests: what starts a mount, knows it is usable, and ends it.

Readiness is foldfs returning (or its announcing line, with -f), never a sleep. A daemon becomes
a child of the test process (a subreaper, see conftest.py), so that its end and its exit status
can be waited for: a sanitizer's complaint or a crash after the mount fails the test, too."""

import contextlib
import ctypes
import json
import os
import random
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FOLDFS_BUILD", ROOT / "build")).resolve()
PHOTOS = Path(os.environ.get("FOLDFS_PHOTOS", ROOT / "../shared/data/photos")).resolve()
FOLDPACK, FOLDFS, FOLDSTAT = BUILD / "foldpack", BUILD / "foldfs", BUILD / "foldstat"
os.environ.setdefault("FOLDFS_PYTHON", sys.executable)  # which has the libraries of the tests

STATS = "user.foldfs.stats"
MIB = 1 << 20
NOBODY, SOMEBODY = 65534, 1  # users who own nothing; fusermount3 asks that they have names
NAMELESS = 54321  # a user that no passwd(5) knows, as containers have
PATIENCE = 60  # seconds after which something that is awaited counts as hung

# How many times a test kills a program: a few in `make check`, FOLDFS_KILLS in `make soak`.
ALL_KILLS = int(os.environ.get("FOLDFS_KILLS", "100"))


def kills(few):
    return pytest.mark.parametrize("kills", [
        pytest.param(few, id="few"), pytest.param(ALL_KILLS, id="all", marks=pytest.mark.slow)])


def chance():
    """Random numbers from FOLDFS_SEED, or a seed that a test that fails has printed."""
    seed = int(os.environ.get("FOLDFS_SEED", random.randrange(1 << 32)))
    print(f"FOLDFS_SEED={seed}")
    return random.Random(seed)


def fail_for_good():
    """Whatever a second run of the test says: run.sh looks for this."""
    (BUILD / "failed").mkdir(exist_ok=True)
    (BUILD / "failed/for-good").touch()


is_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
has_photos = pytest.mark.skipif(not PHOTOS.is_dir(), reason=f"no photos in {PHOTOS}")

libc = ctypes.CDLL(None, use_errno=True)
MNT_FORCE = 1  # sys/mount.h
PIDFD_OPEN = 434  # asm/unistd.h


def needs(*programs):
    """Skips where one of them is not installed."""
    missing = [name for name in programs if not find_program(name)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")


def needs_root(*programs):
    return lambda test: is_root(needs(*programs)(test))


def lacks(reason):
    """Skips where there is no mount, or no server, but not where a run without these would be worth
    nothing (.ci/run)."""
    if os.environ.get("FOLDFS_TEST_MOUNTS") == "required":
        pytest.fail(reason)
    pytest.skip(reason)


def find_program(name):
    """Also where a user's PATH does not lead."""
    for folder in os.environ.get("PATH", "").split(":") + ["/usr/sbin", "/sbin"]:
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK):
            return path
    return None


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]


def run(*command, status=0, **options):
    """Runs a program, holds its status against the expected one (None: any). What it says on
    stdout is `out`, on stderr `err`. A daemon that it leaves behind closes both, so this
    returns."""
    options.setdefault("stdin", subprocess.DEVNULL)
    done = subprocess.run(
        [os.fspath(word) for word in command],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=5 * PATIENCE, **options,
    )
    done.out = done.stdout.decode(errors="surrogateescape")
    done.err = done.stderr.decode(errors="surrogateescape")
    if status is not None:
        assert done.returncode == status, f"{command}: {done.returncode}\n{done.err}"
    return done


def refused(status, *words):
    """foldfs says no, in one line, which this returns."""
    done = run(FOLDFS, *words, status=status)
    assert done.err.startswith("foldfs: ") and done.err.count("\n") == 1, done.err
    return done.err


def doctor(*args, status=0, prefix=(), **variables):
    env = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}",
           "PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    return run(*prefix, sys.executable, "-m", "foldfs", "doctor", *args, status=status,
               env={**env, **variables})


def is_static():
    """As of `make static`: it loads no libraries."""
    return run(FOLDFS, "--version").out.splitlines()[0].endswith(", static")


MEASURE = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(status, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
"""


def memory_of(*command):
    """The exit status of a program, and the bytes of memory that it had at most. A process that is
    small begins it, as that of the one that begins it counts, too."""
    done = run(sys.executable, "-S", "-c", MEASURE, *command)
    return tuple(map(int, done.out.split()))


def pack(source, target, *options):
    """`target`, made from the folder `source`."""
    run(FOLDPACK, "create", "-q", *options, source, target)
    return target


def info(*packs):
    """What is known of it, or of all of them together."""
    return json.loads(run(FOLDPACK, "info", "--json", *packs).out)


# --- what is mounted ----------------------------------------------------------------------


def unescape(field):
    return re.sub(rb"\\(\d{3})", lambda code: bytes([int(code[1], 8)]), field)


class MountLine:
    """A line of /proc/self/mountinfo."""

    def __init__(self, line):
        fields, tail = (half.split() for half in line.split(b" - ", 1))
        self.path = unescape(fields[4])
        self.options = set(fields[5].decode().split(","))
        self.type = tail[0].decode()
        self.source = unescape(tail[1])
        self.super_options = set(tail[2].decode().split(","))


def mount_lines(under=b"/"):
    under = os.fsencode(under)
    with open("/proc/self/mountinfo", "rb") as table:
        lines = [MountLine(line) for line in table]
    return [line for line in lines if (line.path + b"/").startswith(under.rstrip(b"/") + b"/")]


def is_mounted(path):
    path = os.path.realpath(os.fsencode(path))
    return any(line.path == path for line in mount_lines())


def unmount(path, uid=None):
    """As the user who mounted would."""
    if os.geteuid() == 0 and uid is None:
        run("umount", path)
    else:
        run(*(as_user(uid) if uid else []), "fusermount3", "-u", path)


def detach(path):
    """Unmounts whatever is there, in use or not; for cleaning up, where nothing may fail."""
    command = ["umount", "-l"] if os.geteuid() == 0 else ["fusermount3", "-u", "-z"]
    subprocess.run([*command, path], check=False)


@contextlib.contextmanager
def plain_tree(folder, make, options="ro,nosuid,nodev"):
    """What `make` makes in a folder, on a filesystem that then becomes one of these options."""
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", "nosuid,nodev", "none", folder)
    try:
        make(folder)
        run("mount", "-o", f"remount,{options}", folder)
        yield folder
    finally:
        detach(folder)


@contextlib.contextmanager
def small_filesystem(path, megabytes):
    """A tmpfs."""
    path.mkdir()
    options = f"size={megabytes}m"
    if run("mount", "-t", "tmpfs", "-o", options, "none", path, status=None).returncode:
        pytest.skip("no tmpfs may be mounted here")
    try:
        yield path
    finally:
        detach(path)


# --- processes ----------------------------------------------------------------------------


def children(pid):
    """pid -> command line of the children of a process, zombies (no command line) included."""
    found = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        numbers = ""
        with contextlib.suppress(OSError):  # of a thread that has ended, another has them
            numbers = (task / "children").read_text()
        for child in numbers.split():
            with contextlib.suppress(OSError):
                found[int(child)] = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")[:-1]
    return found


def names(pids):
    """What processes call themselves; one that has ended and was not waited for keeps its name."""
    return [Path(f"/proc/{pid}/comm").read_text().strip() for pid in pids]


def daemon_of(path):
    """The process that serves the mount at path, or None. That of a killed daemon's helper, which
    ends on its own, is another."""
    path = os.fsencode(path)
    for pid, words in children(os.getpid()).items():
        if path in words and os.path.basename(words[0]) == b"foldfs" and names([pid]) == ["foldfs"]:
            return pid
    return None


def wait_for(pid, seconds=PATIENCE):
    """Waits for a child; its exit status, or minus the signal, or None if it still runs."""
    fd = libc.syscall(PIDFD_OPEN, pid, 0)  # os.pidfd_open() is new in Python 3.9
    try:
        if not select.select([fd], [], [], seconds)[0]:
            return None
    finally:
        os.close(fd)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)


@contextlib.contextmanager
def one_daemon():
    """What the block mounts, and unmounts, leaves one daemon behind, which ends well."""
    before = children(os.getpid()).keys()
    yield
    [daemon] = children(os.getpid()).keys() - before
    assert wait_for(daemon) == 0


def is_gone(pid):
    """Its parent may have been killed before it could wait for it."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not os.path.exists(f"/proc/{pid}")


def wait_until(true):
    """For what nobody tells. Who asks leaves the processor to those who are asked, and asks less
    often the longer it takes."""
    began = time.monotonic()
    while not true():
        waited = time.monotonic() - began
        assert waited < PATIENCE
        time.sleep(0.002 + waited / 20)


def wait_for_line(pipe, pattern):
    """Reads lines from a pipe up to one that matches; returns them all."""
    seen = b""
    while select.select([pipe], [], [], PATIENCE)[0]:
        data = os.read(pipe.fileno(), 65536)
        seen += data
        if re.search(pattern, seen) or not data:
            break
    assert re.search(pattern, seen), f"no {pattern!r} in {seen!r}"
    return seen.decode(errors="surrogateescape")


# --- mounts -------------------------------------------------------------------------------


@contextlib.contextmanager
def stopped(mounted):
    """Its daemon does not answer meanwhile: none of its threads runs."""
    os.kill(mounted.daemon, signal.SIGSTOP)
    try:
        wait_until(lambda: all(
            "State:\tT" in (task / "status").read_text()
            for task in Path(f"/proc/{mounted.daemon}/task").iterdir()))
        yield
    finally:
        os.kill(mounted.daemon, signal.SIGCONT)


class Mount:
    """A mounted pack. The daemon's pid is known where the test process started it."""

    def __init__(self, pack, path, options=(), uid=None):
        self.pack, self.path, self.uid = Path(pack), Path(path), uid
        self.command = [*(as_user(uid) if uid else []), FOLDFS, *options, pack, path]
        self.foreground = "-f" in options
        self.process = self.daemon = None

    def start(self):
        if self.uid is None and not os.access("/dev/fuse", os.R_OK | os.W_OK):
            lacks("/dev/fuse is missing, or not for this user")
        if self.foreground:
            self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE)
            self.daemon = self.process.pid
            self.said = wait_for_line(self.process.stderr, rb": .* on .*\n")
        else:
            self.said = run(*self.command).err
            self.daemon = daemon_of(self.path)
        assert self.daemon, "foldfs returned, but no daemon is there"

    def __truediv__(self, name):
        return self.path / name

    def __fspath__(self):
        return os.fspath(self.path)

    def stats(self):
        return json.loads(os.getxattr(self.path, STATS))

    def requests(self):
        return self.stats()["requests"]

    def wait(self, seconds=PATIENCE):
        """Waits for the daemon's end, returns its exit status (see wait_for)."""
        if self.foreground:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
            status = self.process.returncode
        else:
            status = wait_for(self.daemon, seconds)
        if status is not None:
            self.daemon = None
        return status

    def kill(self):
        """Kills the daemon under its readers. Returns whether the mount had to be forced to end: a
        thread may wait for an answer of its own mount, see CAVEATS in foldfs(1)."""
        os.kill(self.daemon, signal.SIGKILL)
        status = self.wait(2)
        forced = status is None
        if forced:
            libc.umount2(os.fsencode(self.path), MNT_FORCE)
            status = self.wait()
        assert status == -signal.SIGKILL
        return forced

    def log(self):
        """What a daemon in the foreground has said after its announcement; it has ended."""
        return self.process.stderr.read().decode(errors="surrogateescape")

    def all_said(self):
        """By a daemon in the foreground: its counters, its command line, its messages; it ends."""
        said = f"{self.stats()}{self.said}{Path(f'/proc/{self.daemon}/cmdline').read_text()}"
        self.close()
        return said + self.log()

    def close(self):
        """Unmounts, and holds the daemon to a clean end."""
        if self.daemon is None:
            return
        if is_mounted(self.path):
            unmount(self.path, self.uid)
        status = self.wait()
        assert status is not None, f"{self.path}: the daemon outlives its mount"
        assert status == 0, f"{self.path}: the daemon ended with {status}"

    def destroy(self):
        """Whatever became of the test: nothing stays."""
        pid = self.daemon
        if is_mounted(self.path):
            detach(self.path)
        if pid is not None and self.wait(PATIENCE / 10) is None:
            os.kill(pid, signal.SIGKILL)
            self.wait()
        if self.process:
            self.process.stderr.close()


@contextlib.contextmanager
def mounted(pack, path, *options, uid=None):
    mount = Mount(pack, path, options, uid)
    try:
        mount.start()
        yield mount
        mount.close()
    finally:
        mount.destroy()


def members_asked_for():
    """JSON pointers of what foldstat looks for in a mount's stats."""
    asked = set()
    for source in (ROOT / "fs/stat").glob("*.c"):
        asked.update(re.findall(r'"((?:/[a-z][a-z0-9_]*)+)"', source.read_text()))
    return {member for member in asked if not member.startswith("/proc")}


def become_subreaper():
    """Orphaned daemons become children of this process."""
    set_child_subreaper = 36
    if libc.prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        sys.exit("this process cannot become a subreaper")


def leave_mounts_of_others():
    """What this process and its children mount is seen, and held, by nobody else: a namespace that
    others make meanwhile would hold mounts that end here, and with them their daemons. False where
    that is not allowed, or / is no mount."""
    new_mounts, recursive, private = 0x20000, 1 << 14, 1 << 18
    return (libc.unshare(new_mounts) == 0 and
            libc.mount(None, b"/", None, recursive | private, None) == 0)
