"""What a mount takes does not grow with the number of its packs: threads, memory, requests and
descriptors are bounded for all of them together."""

import contextlib
import random
import resource
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import foldfs
import foreign
from foldfs import FOLDPACK, MIB, run
from server import Server
from trees import noise, write

PACKS = 84
POOL = 32 * MIB


@pytest.fixture(scope="module")
def many(session_dir):
    """(folder, folder of packs): 588 files, 58 MB, in 84 packs."""
    source, packs = session_dir / "bounds", session_dir / "bounds-packs"
    packs.mkdir()
    for number in range(7 * PACKS):
        label = source / f"c{number % 12}"
        label.mkdir(parents=True, exist_ok=True)
        write(label / str(number), noise(number, 100_000))
    run(FOLDPACK, "create", "-q", "--shard-size=1M", source, packs / "x.lmdb")
    return source, packs


@pytest.fixture
def server(many, place):
    one = Server(many[1], place / "server").start()
    yield one
    one.stop()


def word(folder):
    return f"{folder}x-{{00000..{PACKS - 1:05}}}-of-{PACKS:05}.lmdb"


def status(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(field)


def epoch(source, mounted, seed):
    names = sorted(path.relative_to(source) for path in source.glob("*/*"))
    random.Random(seed).shuffle(names)
    with ThreadPoolExecutor(8) as readers:
        assert all(readers.map(lambda name: (mounted.path / name).read_bytes() ==
                               (source / name).read_bytes(), names))


def files(soft, hard):
    """For the preexec_fn of a child."""
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@contextlib.contextmanager
def mounted_with(limit, point, *words):
    """A mount by a process that may open so many files; what it has said so far is in .said."""
    done = subprocess.run([foldfs.FOLDFS, *words, point], preexec_fn=files(*limit), check=False,
                          stderr=subprocess.PIPE, timeout=foldfs.PATIENCE)
    try:
        yield done.returncode, done.stderr.decode()
    finally:
        if foldfs.is_mounted(point):
            run("fusermount3", "-u", point)


@pytest.mark.plain
@pytest.mark.parametrize("disk", [False, True])
def test_many_far_packs_take_the_threads_and_memory_of_one(many, server, place, mount, disk):
    cache = [f"--cache-dir={place / 'cache'}"] if disk else []
    mounted = mount(word(server.url("")), "--cache=pool", f"--pool={POOL}", "--threads=2",
                    "--oracle-cpu=1", *cache)
    pid = foldfs.daemon_of(mounted.path)
    for seed in range(4):
        epoch(many[0], mounted, seed)
        assert status(pid, "Threads") < 40
        assert status(pid, "VmHWM") * 1024 < POOL + 200 * 10**6
    if disk:
        foldfs.wait_until(lambda: mounted.stats()["disk_cache"]["state"] == "complete")
        assert status(pid, "Threads") < 40


def test_an_outage_is_said_once_for_all_packs_of_a_server(many, server, mount):
    mounted = mount(word(server.url("")), "--cache=pool", "--pool=8M", "--readahead=0")
    names = sorted(path.relative_to(many[0]) for path in many[0].glob("*/*"))[::12]
    server.stop()
    with ThreadPoolExecutor(len(names)) as readers:
        read = [readers.submit((mounted.path / name).read_bytes) for name in names]
        foldfs.wait_until(lambda: "asking again" in str(mounted.stats()["log"]))
        server.restart()
        assert [done.result() for done in read] == [(many[0] / name).read_bytes()
                                                    for name in names]
    said = str(mounted.stats()["log"])
    assert said.count("asking again") == 1
    foldfs.wait_until(lambda: str(mounted.stats()["log"]).count("answers again") == 1)


# --- descriptors ----------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [(64, 1024), (120, 120)])
def test_many_local_packs_are_read_with_few_descriptors(many, point, limit):
    with mounted_with(limit, point, word(f"{many[1]}/")) as (code, said):
        assert code == 0, said
        epoch(many[0], SimpleNamespace(path=point), 1)


def test_too_few_descriptors_are_said_with_the_way_out(many, point):
    with mounted_with((60, 60), point, word(f"{many[1]}/")) as (code, said):
        assert code == 1
        assert "Too many open files; allow more ('ulimit -n')" in said
    done = subprocess.run([FOLDPACK, "list", word(f"{many[1]}/")], preexec_fn=files(60, 60),
                          stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    assert done.returncode == 1
    assert b"allow more ('ulimit -n')" in done.stderr


def test_too_few_descriptors_for_files_of_another_format_are_said_as_well(place):
    for number in range(64):
        foreign.write_tar(place / f"{number:02}.tar", {"0.jpg": b"%d" % number})
    done = run("sh", "-c", 'ulimit -n 32; exec "$@"', "sh", FOLDPACK, "list",
               f"{place}/{{00..63}}.tar", status=1)
    assert "Too many open files; allow more ('ulimit -n')" in done.err


@pytest.mark.parametrize("limit", [(1024, 1024), (230, 230)])
def test_copies_of_many_packs_leave_descriptors_for_connections(many, server, place, point, limit):
    words = word(server.url("")), "--cache=pool", "--pool=16M", f"--cache-dir={place / 'cache'}"
    with mounted_with(limit, point, *words) as (code, said):
        assert code == 0, said
        assert said.count("the disk cache cannot be used") == (limit[0] < 1024)
        for seed in range(2):
            epoch(many[0], SimpleNamespace(path=point), seed)


def test_a_command_gets_the_limit_of_its_shell(many, point):
    done = subprocess.run([foldfs.FOLDFS, "-q", word(f"{many[1]}/"), point, "--", "sh", "-c",
                           "ulimit -Sn"], preexec_fn=files(256, 1024), check=True,
                          stdout=subprocess.PIPE, timeout=foldfs.PATIENCE)
    assert done.stdout.split() == [b"256"]
