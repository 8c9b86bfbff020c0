"""What a mount takes does not grow with the number of its packs: threads, memory, requests and
descriptors are bounded for all of them together."""

import os
import random
import resource
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDPACK, MIB, run
from server import Server
from trees import noise, write

PACKS = 147
POOL = 32 * MIB


@pytest.fixture(scope="module")
def many(session_dir):
    """(folder, folder of packs): 588 files, 58 MB, in 147 packs."""
    source, packs = session_dir / "many", session_dir / "many-packs"
    packs.mkdir()
    for number in range(4 * PACKS):
        label = source / f"c{number % 12}"
        label.mkdir(parents=True, exist_ok=True)
        write(label / str(number), noise(number, 100_000))
    for part in range(PACKS):
        run(FOLDPACK, "create", "-q", f"--part={part}/{PACKS}", source, packs / "x.lmdb")
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


@pytest.mark.plain
@pytest.mark.parametrize("disk", [False, True])
def test_147_far_packs_take_the_threads_and_memory_of_one(many, server, place, mount, disk):
    cache = [f"--cache-dir={place / 'cache'}"] if disk else []
    mounted = mount(word(server.url("")), "--cache=pool", f"--pool={POOL}", *cache)
    pid = foldfs.daemon_of(mounted.path)
    for seed in range(4):
        epoch(many[0], mounted, seed)
        assert status(pid, "Threads") < 64
        assert status(pid, "VmHWM") * 1024 < POOL + 200 * 10**6
    if disk:
        foldfs.wait_until(lambda: mounted.stats()["disk_cache"]["state"] == "complete")
        assert status(pid, "Threads") < 64
