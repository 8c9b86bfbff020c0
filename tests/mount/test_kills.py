"""foldfs is killed under its readers and mounted again by the same command; foldfs and foldpack get
signals at every moment of their start and their end. Each moment has one of the outcomes that
doc/faults.md promises."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import zlib

import pytest

import foldfs
import trees
from foldfs import BUILD, FOLDFS, FOLDPACK, PATIENCE, is_mounted, is_root, run

pytestmark = pytest.mark.plain

# --- kill -9 under readers ----------------------------------------------------------------

# Reads all files in a random order, again and again. An error ends it, wrong bytes do so with 3.
READER = """
import os, random, sys, zlib
top, sums, seed = sys.argv[1], eval(sys.stdin.read()), int(sys.argv[2])
paths, order = sorted(sums), random.Random(seed)
print("ready", flush=True)
while True:
    order.shuffle(paths)
    for path in paths:
        try:
            with open(os.path.join(top, path), "rb") as file:
                data = file.read()
        except OSError:
            sys.exit(0)
        if zlib.crc32(data) != sums[path]:
            sys.exit(3)
"""


def begin_reader(top, sums, seed):
    reader = subprocess.Popen([sys.executable, "-c", READER, top, str(seed)],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reader.stdin.write(repr(sums).encode())
    reader.stdin.close()
    return reader


@is_root
@foldfs.kills(3)
@pytest.mark.parametrize("options", [(), ("--cache=pool", "--pool=8M")], ids=["kernel", "pool"])
def test_a_daemon_killed_under_readers_is_replaced_by_the_same_command(bulk, place, point, options,
                                                                       kills):
    sums = {path.relative_to(bulk[0]).as_posix(): zlib.crc32(path.read_bytes())
            for path in bulk[0].rglob("*") if path.is_file()}
    chance, replaced, forced = foldfs.chance(), 0, 0
    for number in range(kills):
        mounted = foldfs.Mount(bulk[1], point, options)
        try:
            mounted.start()
            replaced += "its mount was removed" in mounted.said
            readers = [begin_reader(point, sums, seed) for seed in range(8)]
            for reader in readers:
                reader.stdout.readline()
            time.sleep(chance.uniform(0, 0.5))
            forced += mounted.kill()
            for reader in readers:
                reader.terminate()  # what the kernel has is read without a daemon, too
            ends = {reader.wait(PATIENCE) for reader in readers}
            assert ends <= {0, -signal.SIGTERM}
        finally:
            if number == kills - 1 or sys.exc_info()[0]:
                mounted.destroy()
    print(f"{kills} kills, {replaced} dead mounts replaced, {forced} daemons that had to be forced")
    assert kills - 1 - forced <= replaced < kills


# --- signals ------------------------------------------------------------------------------


SIGNALS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGPIPE, signal.SIGUSR1]


def moments(count, seconds):
    """From 0 on; more of them at the beginning."""
    return [seconds * (number / count) ** 2 for number in range(count)]


STEPS = [pytest.param(3, id="few"), pytest.param(100, id="many", marks=pytest.mark.slow)]


def after(seconds, signo, *command, **options):
    """Runs a command that gets a signal after so many seconds."""
    with subprocess.Popen([os.fspath(word) for word in command], stdin=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, **options) as process:
        time.sleep(seconds)
        process.send_signal(signo)
        process.err = process.communicate(timeout=PATIENCE)[1]
    return process


def duration(*command):
    began = time.monotonic()
    run(*command)
    return time.monotonic() - began


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_at_any_moment_of_a_start_ends_it_or_comes_too_late(small, point, signo, steps):
    """Too late: the parent has handed over to the daemon, which is mounted, and the status is 0."""
    for seconds in moments(steps, 0.2):
        process = after(seconds, signo, FOLDFS, "-q", small[1], point)
        daemon = foldfs.daemon_of(point)
        assert process.returncode in (0, -signo), process.err
        if daemon:
            foldfs.wait_until(lambda: is_mounted(point) or not foldfs.daemon_of(point))
        if is_mounted(point):
            assert (point / "file").read_bytes() == b"content\n"
            foldfs.unmount(point)
        if daemon:
            assert foldfs.wait_for(daemon) in (0, -signo)
        assert process.returncode or daemon, "started, but no daemon is there"
        assert not is_mounted(point) and not foldfs.daemon_of(point)


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_all_its_processes_ends_a_start_or_finds_the_mount_made(small, point, signo):
    """As ^C of a terminal, which the daemon gets as well until it has detached."""
    for seconds in moments(20, 0.02):
        with subprocess.Popen([FOLDFS, "-q", "--grace=0", small[1], point],
                              start_new_session=True) as process:
            time.sleep(seconds)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signo)
            status = process.wait(PATIENCE)
        assert status in (0, -signo)
        assert is_mounted(point) == (status == 0), seconds
        if status == 0:
            foldfs.unmount(point)
        foldfs.wait_until(lambda: not foldfs.daemon_of(point))


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_at_any_moment_in_the_foreground_leaves_no_mount(small, point, signo, steps):
    """SIGPIPE is ignored from the look at the mount point on."""
    for seconds in moments(steps, 0.2):
        with subprocess.Popen([FOLDFS, "-f", "-q", "--grace=0", small[1], point]) as process:
            time.sleep(seconds)
            process.send_signal(signo)
            if signo == signal.SIGPIPE:
                time.sleep(0.1)
                process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) in (0, -signo, -signal.SIGTERM)
        assert not is_mounted(point)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_at_any_moment_over_a_command_leaves_no_mount(small, point, signo, steps):
    for seconds in moments(steps, 0.3):
        process = after(seconds, signo, FOLDFS, "-q", small[1], point, "--", "sleep", "0.1")
        assert process.returncode in (0, -signo, 128 + signo), process.err
        assert not is_mounted(point)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_signal_at_any_moment_of_the_end_leaves_nothing_or_a_dead_mount(small, point, again,
                                                                          steps):
    for seconds in moments(steps, 0.1):
        mounted = foldfs.Mount(small[1], point)
        try:
            mounted.start()
            (point / "large").read_bytes()
            os.kill(mounted.daemon, signal.SIGINT)
            time.sleep(seconds)
            os.kill(mounted.daemon, again)  # a child that has ended and was not waited for, or not
            status = mounted.wait()
            assert status == 0 or (again == signal.SIGKILL and status == -again)
            assert status == -again or not is_mounted(point)
        finally:
            mounted.destroy()
        with foldfs.mounted(small[1], point):
            pass


STOPS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_at_any_moment_of_create_leaves_nothing_or_what_goes_on(bulk, place, signo, steps):
    """What SIGPIPE or SIGUSR1 kills leaves what a kill does."""
    pack = place / "x.lmdb"
    command = [FOLDPACK, "create", "-q", "-j4", "--resume", bulk[0], pack]
    seconds = duration(*command)
    want = pack.read_bytes()
    for moment in moments(steps, 1.2 * seconds):
        pack.unlink(missing_ok=True)
        process = after(moment, signo, *command)
        assert process.returncode in (0, -signo), process.err
        left = {path.name for path in place.glob("x.lmdb*")}
        # A signal before foldpack looks for it kills it as any program.
        if process.returncode == 0 or (signo in STOPS and "interrupted" in process.err):
            assert left <= {"x.lmdb"}
        run(*command)
        assert pack.read_bytes() == want
        assert [path.name for path in place.glob("x.lmdb*")] == ["x.lmdb"]


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", sorted(STOPS))
def test_a_signal_at_any_moment_of_extract_leaves_whole_files(bulk, place, signo, steps):
    want = trees.content(bulk[0])
    seconds = duration(FOLDPACK, "extract", "-q", bulk[1], place / "whole")
    for number, moment in enumerate(moments(steps, 1.2 * seconds)):
        out = place / f"out{number}"
        process = after(moment, signo, FOLDPACK, "extract", "-q", bulk[1], out)
        assert process.returncode in (0, -signo), process.err
        got = trees.content(out) if out.exists() else {}
        for path in set(got) & set(trees.files(out) if out.exists() else []):
            assert got[path] == want[path], (path, moment)
        assert process.returncode or got.keys() == want.keys()
        subprocess.run(["rm", "-rf", out], check=True)


@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("signo", SIGNALS)
def test_a_signal_at_any_moment_of_verify_ends_it(bulk, signo, steps):
    seconds = duration(FOLDPACK, "verify", "-q", bulk[1])
    for moment in moments(steps, 1.2 * seconds):
        assert after(moment, signo, FOLDPACK, "verify", "-q", bulk[1]).returncode in (0, -signo)


# --- signals that mean nothing ------------------------------------------------------------


STORM = {**os.environ, "FOLDFS_STORM": "300"}  # microseconds


def test_calls_that_are_interrupted_all_the_time_are_repeated(bulk, place, point):
    """foldpack reads a folder that foldfs mounts: there, reads that wait are interrupted, too."""
    pack = place / "again.lmdb"
    run(BUILD / "refused/foldfs", "-q", "--io=buffered", "--pool=8M", bulk[1], point, "--",
        BUILD / "refused/foldpack", "create", "-q", "-j8", point, pack, env=STORM)
    assert pack.read_bytes() == bulk[1].read_bytes()
    run(BUILD / "refused/foldpack", "extract", "-q", pack, place / "out", env=STORM)
    assert trees.content(place / "out") == trees.content(bulk[0])


def test_a_tar_that_comes_slowly_is_read_on_after_interruptions(bulk, place):
    """The writer is slower than the signals."""
    tar = ["tar", "-cf", "-", "--sort=name", "-C", bulk[0], "."]
    run("sh", "-c", '"$@" > "$0"', place / "whole.tar", *tar)
    create = [BUILD / "refused/foldpack", "create", "-q"]
    run(*create, place / "whole.tar", place / "want.lmdb")
    with subprocess.Popen(tar, stdout=subprocess.PIPE) as writer, \
            subprocess.Popen([*create, "-", place / "x.lmdb"], stdin=subprocess.PIPE,
                             env=STORM) as packing:
        while data := writer.stdout.read(8 * foldfs.MIB):
            time.sleep(0.05)
            packing.stdin.write(data)
        packing.stdin.close()
        assert packing.wait(PATIENCE) == 0
    assert (place / "x.lmdb").read_bytes() == (place / "want.lmdb").read_bytes()
