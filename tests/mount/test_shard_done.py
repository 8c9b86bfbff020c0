"""Packs of a set that are handed to a command as they are finished (--shard-done): what it gets,
what happens when it fails, and how a run that was ended goes on."""

import contextlib
import json
import os
import shlex
import signal
import subprocess
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, is_root, run, small_filesystem, wait_until

SHARDS = 4


@pytest.fixture
def folder(place):
    """Of which each file becomes a shard of 1 MiB."""
    for number in range(SHARDS):
        trees.write(place / "folder" / f"class{number % 2}" / f"{number}.bin",
                    trees.noise(number, 700_000))
    return place / "folder"


class Taker:
    """A command that moves what it gets into the folder `there`, and notes the name."""

    def __init__(self, place):
        self.there, self.log = place / "there", place / "log"
        self.there.mkdir()
        self.log.touch()
        self.move = f"echo {{}} >>{self.log} && mv {{}} {self.there}/"

    def given(self):
        """The numbers of the shards that it was given, each time."""
        return [int(Path(line).name.split("-")[1]) for line in self.log.read_text().splitlines()]

    def holds(self, folder):
        """The set, as `there` has it, is the folder."""
        run(FOLDPACK, "diff", folder, f"{self.there}/x-*.lmdb")

    def lacks(self, point):
        """It is not taken for a whole, whatever opens it."""
        for command in (FOLDFS, f"{self.there}/x-*.lmdb", point), \
                (FOLDPACK, "info", f"{self.there}/x-*.lmdb"):
            assert "missing of a set of 4" in run(*command, status=1).err


@pytest.fixture
def taker(place):
    return Taker(place)


@pytest.fixture
def work(place):
    """Where the packs are made: a name that a shell would take apart."""
    path = place / "a  b'c\"d $(touch e) *"
    path.mkdir()
    return path


def words(folder, pack, command, *options):
    return [FOLDPACK, "create", "--shard-size=1M", f"--shard-done={command}", *options, folder,
            pack]


def create(folder, pack, command, *options, status=0):
    return run(*words(folder, pack, command, *options), status=status)


def lines_of(done, start):
    return [line for line in done.err.splitlines() if line.startswith(f"foldpack: {start}")]


# --- what it gets -------------------------------------------------------------------------------


@pytest.mark.parametrize("braces", ["{}", '"{}"', "'{}'"])
def test_each_shard_is_handed_over_once_and_together_they_are_the_folder(folder, taker, work,
                                                                         braces):
    done = create(folder, work / "x.lmdb", taker.move.replace("{}", braces))
    assert taker.given() == list(range(SHARDS))
    assert os.listdir(work) == []
    assert len(lines_of(done, str(work.resolve()))) == 2 * SHARDS  # packed, taken
    taker.holds(folder)


def test_a_name_that_begins_with_a_dash_is_no_option(folder, taker, work, monkeypatch):
    monkeypatch.chdir(work)
    run(FOLDPACK, "create", "-q", "--shard-size=1M", f"--shard-done={taker.move}", "--", folder,
        "-x.lmdb")
    assert len(list(taker.there.iterdir())) == SHARDS


def test_the_next_is_packed_meanwhile_and_no_third_one_begun(folder, taker, work, place):
    """The first command waits for the second pack, and the others look at what there is."""
    look = f"ls {shlex.quote(str(work))} | grep -c 'x-.*lmdb$' >>{place}/counts"
    wait = f"case {{}} in *-00000-of-*) until [ -e {shlex.quote(str(work))}/x-00001-of-00004.lmdb" \
        " ]; do sleep 0.05; done; esac"
    create(folder, work / "x.lmdb", f"{wait}; {look}; {taker.move}")
    counts = [int(line) for line in (place / "counts").read_text().split()]
    assert len(counts) == SHARDS and counts[0] == 2 and max(counts) == 2
    taker.holds(folder)


@is_root
def test_two_shards_of_room_are_enough(folder, taker, place):
    for number in range(SHARDS, 40):
        trees.write(folder / f"{number}.bin", trees.noise(number, 700_000))
    with small_filesystem(place / "small", 9) as small:
        def done(*options, status=0):
            return run(FOLDPACK, "create", "--shard-size=4M", *options, folder, small / "x.lmdb",
                       status=status)

        assert "MiB needed, only 8.98 MiB free" in done(status=1).err
        done(f"--shard-done={taker.move}")
        assert list(small.iterdir()) == []
    assert len(taker.given()) == 8
    taker.holds(folder)


def test_what_the_command_leaves_stays(folder, taker, work):
    create(folder, work / "x.lmdb", f"cp {{}} {taker.there}/")
    assert len(list(work.glob("x-*-of-00004.lmdb"))) == SHARDS
    taker.holds(folder)
    assert "finished already" in create(folder, work / "x.lmdb", "true {}", "--resume").err


def test_its_output_is_shown_when_it_fails_and_never_mixes(folder, taker, work):
    say = "echo '{\"a\": 1}'; echo said >&2; "
    done = create(folder, work / "x.lmdb", say + taker.move, "--json", "--progress-json")
    assert [json.loads(line)["files"] for line in done.out.splitlines()] == [1] * SHARDS
    assert "said" not in done.err
    assert all(json.loads(line)["doing"] for line in done.err.splitlines() if line[0] == "{")
    done = create(folder, work / "y.lmdb", say + "exit 9 {}", "--json", status=1)
    assert len(done.out.splitlines()) == SHARDS
    first = f"{work.resolve()}/y-00000-of-00004.lmdb: "
    assert lines_of(done, first)[-3:] == [f"foldpack: {first}{line}" for line in (
        '{"a": 1}', "said", "the command of --shard-done ended with status 9")]
    assert "said" in create(folder, work / "z.lmdb", say + taker.move, "-v").err


def test_a_command_has_no_input_and_no_terminal_and_what_it_leaves_is_not_awaited(folder, work,
                                                                                  place):
    """It is awaited itself, also where it has closed its outputs. Of much output the end is
    kept."""
    leave = f"sleep 1000 & echo $! >>{place}/left"
    say = "yes | head -c 200000; cat; (cat </dev/tty) 2>/dev/null || echo none"
    done = create(folder, work / "x.lmdb", f"{say}; {leave}; exec >/dev/null 2>&1; sleep 0.1; "
                  "exit 5 {}", status=1)
    first = lines_of(done, f"{work.resolve()}/x-00000-of-00004.lmdb: ")
    assert [line.rsplit(": ", 1)[1] for line in first[-3:]] == [
        "y", "none", "the command of --shard-done ended with status 5"]
    assert 1000 < sum(line.endswith(": y") for line in first) < 4096
    for pid in (place / "left").read_text().split():
        os.kill(int(pid), signal.SIGKILL)


# --- failures -----------------------------------------------------------------------------------


def test_a_pack_whose_command_fails_stays_and_is_named_at_the_end(folder, taker, work, point):
    """It is not run again; all others are handed over."""
    fails = f"case {{}} in *-00001-of-*) exit 1; esac; {taker.move}"
    done = create(folder, work / "x.lmdb", fails, status=1)
    assert done.err.splitlines()[-1] == (
        "foldpack: not taken by the command of --shard-done: "
        f"{work.resolve()}/x-00001-of-00004.lmdb")
    assert taker.given() == [0, 2, 3]
    assert os.listdir(work) == ["x-00001-of-00004.lmdb"]
    taker.lacks(point)
    (work / "x-00001-of-00004.lmdb").rename(taker.there / "x-00001-of-00004.lmdb")
    taker.holds(folder)


def test_what_is_still_there_is_handed_over_by_a_run_that_resumes(folder, taker, work):
    create(folder, work / "x.lmdb", f"cp {{}} {taker.there}/; false", status=1)
    done = create(folder, work / "x.lmdb", taker.move, "--resume")
    assert "x-00001-of-00004.lmdb: finished already" in done.err
    assert taker.given() == list(range(SHARDS))
    taker.holds(folder)


@pytest.mark.parametrize("command", ["no-such-program {}", "/dev/null {}"])
def test_a_program_that_is_not_there_is_named(folder, work, command):
    done = create(folder, work / "x.lmdb", command, status=1)
    assert "ended with status 12" in done.err


def test_inputs_that_were_left_out_are_in_the_status(folder, taker, work):
    trees.write(folder / "class0" / "0.jpg", b"no image")
    create(folder, work / "x.lmdb", taker.move, "--check=header", "--on-bad=skip", status=4)
    create(folder, work / "y.lmdb", "false {}", "--check=header", "--on-bad=skip", status=1)


# --- signals and kills ----------------------------------------------------------------------------


@contextlib.contextmanager
def held(folder, pack, place, *options):
    """A run whose command waits, and the process that waits."""
    command = f": {{}}; echo $$ >{place}/new; mv {place}/new {place}/pid; exec sleep 1000"
    process = subprocess.Popen([str(word) for word in words(folder, pack, command, *options)],
                               stderr=subprocess.PIPE, text=True)
    waits = 0
    try:
        wait_until(lambda: (place / "pid").exists())
        waits = int((place / "pid").read_text())
        yield process, waits
    finally:
        process.kill()
        process.wait()
        if waits and is_alive(waits):
            os.kill(waits, signal.SIGKILL)


def is_alive(pid):
    return Path(f"/proc/{pid}").exists() and \
        Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"


@pytest.mark.parametrize("name, stopped", [
    (signal.SIGINT, False), (signal.SIGTERM, False), (signal.SIGHUP, False),
    (signal.SIGTERM, True)])
def test_a_signal_ends_both(folder, taker, work, place, name, stopped):
    with held(folder, work / "x.lmdb", place) as (process, command):
        if stopped:
            os.kill(command, signal.SIGSTOP)
        process.send_signal(name)
        err = process.communicate(timeout=foldfs.PATIENCE)[1]
        assert process.returncode == -name, err
        assert not is_alive(command)
    assert "x-00000-of-00004.lmdb: not taken; --resume goes on with it" in err
    assert err.strip().endswith(": interrupted")
    create(folder, work / "x.lmdb", taker.move, "--resume")
    assert taker.given() == list(range(SHARDS))
    taker.holds(folder)


@foldfs.kills(2)
def test_a_run_that_is_killed_at_any_moment_is_gone_on_with(folder, taker, work, kills):
    """Its command may still be moving a pack."""
    moments = foldfs.chance()
    killed = 0
    while killed < kills:
        done = run("timeout", "-s", "KILL", f"{moments.uniform(0.01, 0.4)}",
                   *words(folder, work / "x.lmdb", taker.move, "--resume", "-q"), status=None)
        killed += done.returncode != 0
        resume = words(folder, work / "x.lmdb", taker.move, "--resume")
        wait_until(lambda: run(*resume, status=None).returncode == 0)
        taker.holds(folder)
        for path in taker.there.iterdir():
            path.unlink()


def test_a_finished_pack_of_a_set_is_compared_with_all_of_its_files(place):
    """However many they are."""
    folder, pack = place / "folder", place / "x.lmdb"
    for number in range(400):
        trees.write(folder / f"{number:04}", b"%d" % number)
    command = [FOLDPACK, "create", "--resume", "--part=0/2", folder, pack]
    run(*command)
    assert "nothing to resume" in run(*command).err
    os.utime(folder / "0123", (1, 1))
    assert "'0123' differs" in run(*command, status=1).err
