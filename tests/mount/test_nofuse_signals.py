"""What signals do to a job of --no-fuse: no call of it that foldfs answers ends by one, and calls
that wait for something else do, as they do anywhere."""

import contextlib
import fcntl
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
from foldfs import FOLDFS, PATIENCE, ROOT, needs, run, wait_until
from test_nofuse import WITHOUT, in_job, job, listeners  # noqa: F401

PROGRAMS = Path(__file__).with_name("signal_programs")


def compiled(name, place, *words, compiler="cc"):
    path = place / name
    run(compiler, "-D_GNU_SOURCE", "-O1", *words, "-o", path, PROGRAMS / f"{name}.c")
    return path


def elsewhere(place):
    (place / "other/folder").mkdir(parents=True)
    (place / "other/file").write_text("content")
    (place / "other/folder/below").write_text("more")
    os.mkfifo(place / "other/fifo")
    return place / "other"


# --- the command gets each signal once --------------------------------------------------------

COUNT = """
import os, signal, sys
read, write = os.pipe()
os.set_blocking(write, False)
signal.set_wakeup_fd(write)
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
counted = [*eval(sys.argv[1]), signal.SIGXCPU]
for number in counted:
    signal.signal(number, lambda *_: None)
signal.signal(signal.SIGTERM, lambda *_: os._exit(
    sum(times == 1 for times in map(os.read(read, 99).count, counted))))
print("ready", flush=True)
while True:
    signal.pause()
"""
ENDS = [signal.SIGUSR2, signal.SIGABRT, signal.SIGALRM, signal.SIGPROF, signal.SIGIO,
        signal.SIGPWR, signal.SIGRTMIN, signal.SIGRTMAX]
SENT = {
    "all to the group": lambda group: [os.killpg(group, number) for number in ENDS],
    "by the kernel to foldfs": lambda group: tell_of_a_pipe(group),
    "to the group after another": lambda group: [
        os.killpg(group, number) for number in (signal.SIGUSR1, signal.SIGUSR2)],
    "to the group for its time": lambda group: os.killpg(group, signal.SIGXCPU),
    "to each of all": lambda group: send(members(group)),
    "to foldfs": lambda group: send([group]),
    "to the server": lambda group: send(members(group, "foldfs ") - {group}),
    "to those of its name": lambda group: send(members(group, ".*foldfs")),
    "to those with its words": lambda group: send(members(group, ".*signal.pause")),
    "to the command": lambda group: send(members(group, "python"))}


def members(group, known_by=""):
    """Processes by what their name and words match."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).replace("\n", " ")
            if os.getpgid(int(pid)) == group and \
                    re.match(known_by, " ".join([*foldfs.names([pid]), words])):
                found.add(int(pid))
    return found


def tell_of_a_pipe(pid):
    """As of a timer: nobody else gets it. What comes later, and has a lower number, is taken first.
    """
    read, write = os.pipe()
    fcntl.fcntl(read, fcntl.F_SETOWN, pid)
    fcntl.fcntl(read, fcntl.F_SETFL, os.O_ASYNC)
    os.write(write, b"x")
    wait_until(lambda: "ShdPnd:\t0000000000000000" in Path(f"/proc/{pid}/status").read_text())
    os.close(read)
    os.close(write)


def send(pids):
    for pid in sorted(pids):
        os.kill(pid, signal.SIGUSR2)


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize("words", [[], ["--no-fuse"]], ids=["mount", "without one"])
def test_the_command_gets_each_signal_once(sent, words, small, point):
    """Whoever gets it besides, so that a handler that counts is not led astray."""
    if (sent, words) == ("to the server", []):
        pytest.skip("there is none")
    with subprocess.Popen([FOLDFS, "-q", *words, small[1], point, "--", sys.executable, "-c",
                           COUNT, repr([*map(int, ENDS)])], stdout=subprocess.PIPE,
                          preexec_fn=os.setpgrp) as process:
        assert process.stdout.readline() == b"ready\n"
        SENT[sent](process.pid)
        process.terminate()
        assert process.wait(PATIENCE) == (len(ENDS) if sent == "all to the group" else 1)
        assert not members(process.pid)


# --- calls that foldfs answers ----------------------------------------------------------------


def test_the_program_makes_every_call_of_the_table():
    asked = re.findall(r"^\t{SYS_(\w+), ", (ROOT / "fs/nofuse/calls.c").read_text(), re.M)
    made = re.findall(r"{CALL\((\w+)\)", (PROGRAMS / "calls.c").read_text())
    assert len(asked) > 40 and set(asked) == set(made)


@needs("cc")
@pytest.mark.parametrize("seconds", [0.5, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["as it is", "without the object", "static"])
def test_no_call_ends_by_a_signal(how, seconds, small, place, point):
    program = compiled("calls", place, *["-static"] * (how == "static"))
    said = job(small[1], point, *WITHOUT * (how == "without the object"), program, point,
               elsewhere(place), str(seconds), status=None)
    assert (said.out, said.returncode) == ("", 0)


WALK = """
import glob, os, signal, sys, time
number = getattr(signal, sys.argv[2])
walks, want = int(sys.argv[3]), {}
signal.signal(number, lambda *_: None)
if number == signal.SIGALRM:
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
def start_children():
    '''That end while their parent lists, and tell it otherwise, too.'''
    for turn in range(6):
        if os.fork() == 0:
            time.sleep(turn * 0.0005)
            os.kill(os.getppid(), number)
            os._exit(0)
def listed(top):
    found = sorted(os.path.join(at, name) for at, _, names in os.walk(top) for name in names)
    globbed = sorted(name for name in glob.glob(top + "/**", recursive=True)
                     if not os.path.isdir(name))
    return found, globbed, [os.path.exists(path) for path in found], [os.stat(path).st_size
                                                                        for path in found]
for walk in range(walks):
    start_children()
    for top in sys.argv[4:]:
        seen = listed(top)
        assert want.setdefault(top, seen) == seen and seen[0]
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            break
signal.setitimer(signal.ITIMER_REAL, 0)
print({top: len(seen[0]) for top, seen in want.items()})
"""


@pytest.mark.parametrize("walks", [100, pytest.param(10000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("number", ["SIGCHLD", "SIGALRM", "SIGUSR1"])
def test_a_listing_is_whole_whatever_signals_come(number, walks, small, place, point):
    """As os.walk() passes over a folder that cannot be listed, and glob too."""
    count = sum(not path.is_dir() for path in small[0].rglob("*"))
    said = in_job(small[1], point, WALK, number, str(walks), point, elsewhere(place)).out
    assert eval(said) == {str(point): count, f"{place}/other": 3}


# --- calls that wait for something else -------------------------------------------------------


@pytest.mark.parametrize("compiler", [
    pytest.param(name, marks=needs(name)) for name in ("cc", "musl-gcc")])
def test_calls_that_wait_end_by_signals_as_anywhere(compiler, small, place, point):
    program = compiled("slow", place, compiler=compiler)
    said = []
    for begin in (run, lambda *words: job(small[1], point, *words)):
        (place / str(len(said))).mkdir()
        said.append(begin(program, place, place / str(len(said))).out)
    assert said[0] == said[1]
    assert said[0].count("Interrupted system call") >= 40
