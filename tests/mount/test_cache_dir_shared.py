"""--cache-dir of several mounts at a time: one fetches what all read, whoever is killed."""

import os
import random
import shutil
import subprocess
import sys
import zlib

import pytest

import foldfs
from foldfs import NOBODY, is_root, wait_until

GROUP = 4242
MEMBER = ["setpriv", f"--reuid={NOBODY}", f"--regid={GROUP}", "--clear-groups"]

# Reads all files in some order, in four threads, and again until it is ended.
READER = """
import concurrent.futures, os, random, sys, zlib
top, sums, seed = sys.argv[1:]
sums, seed = eval(open(sums).read()), int(seed)
def check(path):
    with open(os.path.join(top, path), "rb") as file:
        if zlib.crc32(file.read()) != sums[path]:
            os.write(2, ("wrong bytes: " + path).encode())
            os._exit(3)
paths = sorted(sums)
while True:
    random.Random(seed).shuffle(paths)
    seed += 100
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(check, paths))
"""


class Reader(subprocess.Popen):
    def __init__(self, top, sums, seed, user):
        super().__init__([*user, sys.executable, "-c", READER, top, sums, str(seed)],
                         stderr=subprocess.PIPE, text=True)


def write_sums(source, target):
    sums = {path.relative_to(source).as_posix(): zlib.crc32(path.read_bytes())
            for path in source.rglob("*") if path.is_file()}
    target.write_text(repr(sums))
    return target


def start_server(folder, place, rate):
    """As far as another region: 30 ms to the first byte."""
    server = pytest.importorskip("server").Server(
        folder, place / "server", access="ngx.sleep(0.03)", directives=f"limit_rate {rate};")
    return server.start()


def is_complete(mount):
    return lambda: mount.stats()["disk_cache"]["state"] == "complete"


def points(place):
    for number in range(4):
        path = place / f"mnt{number}"
        path.mkdir()
        yield path


# --- kills ----------------------------------------------------------------------------------


class Job:
    """A mount, and who reads it."""

    def __init__(self, url, cache, path, sums, user):
        self.user, self.sums, self.seed = user, sums, 0
        self.mount = foldfs.Mount(url, path, (f"--cache-dir={cache}",))
        self.mount.command = [*user, *self.mount.command]
        self.reader = None

    def start(self):
        self.mount.start()
        self.seed += 1
        self.reader = Reader(self.mount.path, self.sums, self.seed, self.user)

    def check(self):
        assert self.reader.poll() is None, self.reader.stderr.read()

    def kill(self):
        self.check()
        self.mount.kill()
        self.reader.terminate()  # what the kernel has is read without a daemon, too
        assert "wrong bytes" not in self.reader.communicate()[1]
        foldfs.detach(self.mount.path)

    def end(self):
        if self.reader:
            self.reader.kill()
            self.reader.communicate()
        self.reader = None
        self.mount.destroy()


def used(cache):
    return sum(path.stat().st_blocks * 512 for path in cache.rglob("data"))


def kill_while_it_fills(jobs, cache, chosen, times, size):
    for job in jobs:
        job.start()
    for number in range(times):
        moment = size * (number + chosen.random()) / times
        wait_until(lambda: used(cache) >= min(moment, size))
        victim = chosen.choice(jobs)
        victim.kill()
        victim.start()
    wait_until(is_complete(jobs[0].mount))
    for job in jobs:
        job.check()
        assert job.user or job.mount.stats()["disk_cache"]["damaged"] == 0
        job.end()


def check_kills(bulk, place, rounds, times):
    cache, chosen, size = place / "shared", random.Random(5), bulk[1].stat().st_size
    cache.mkdir()
    os.chown(cache, 0, GROUP)
    cache.chmod(0o2770)
    server = start_server(bulk[1].parent, place, "4m")
    sums = write_sums(bulk[0], place / "sums")
    jobs = [Job(server.url(bulk[1].name), cache, path, sums, user)
            for path, user in zip(points(place), [[], [], MEMBER, MEMBER])]
    for job in jobs[2:]:
        os.chown(job.mount.path, NOBODY, GROUP)
    try:
        for _ in range(rounds):
            kill_while_it_fills(jobs, cache, chosen, times, size)
            (data,) = cache.rglob("data")
            assert data.read_bytes() == bulk[1].read_bytes()
            assert os.listdir(data.parent) == ["data"]
            assert sorted(os.listdir(cache)) == sorted([data.parent.name, "index"])
            shutil.rmtree(data.parent)
    finally:
        server.stop()
        for job in jobs:
            job.end()


@is_root
@pytest.mark.plain
def test_mounts_of_two_users_are_killed_while_others_read(bulk, place, device_for_users):
    check_kills(bulk, place, 1, 8)


@is_root
@pytest.mark.plain
@pytest.mark.slow
def test_a_hundred_kills_of_mounts_of_two_users(bulk, place, device_for_users):
    check_kills(bulk, place, 10, 10)
