"""What readers get, whatever way they read; and how little the kernel asks the daemon for it."""

import ctypes
import json
import mmap
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import MIB, libc, run
from oracle import needs_torch

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def client(small, session_dir):
    """(source, mount) of the small folder, for tests that only read."""
    source, pack = small
    point = session_dir / "client"
    point.mkdir()
    with foldfs.mounted(pack, point) as mount:
        yield source, mount


# --- the request diet ---------------------------------------------------------------------


def new_requests(mount, do):
    before = mount.requests()
    do()
    after = mount.requests()
    return {name: after[name] - before[name] for name in after if after[name] != before[name]}


def fewest_requests(mount, do):
    """Of three rounds: this kernel may drop idle pages at any time, and one round without a
    request proves that none is necessary."""
    rounds = [new_requests(mount, do) for _ in range(3)]
    return min(rounds, key=lambda counts: sum(counts.values()) - counts.get("ioctl", 0))


def test_a_warm_epoch_asks_for_nothing(images, mount):
    source, pack = images
    mounted = mount(pack)
    files = [os.path.join(os.fsencode(mounted), path) for path in trees.files(source)]

    def epoch():
        random.shuffle(files)
        for path in files:
            with open(path, "rb") as file:
                file.read()

    epoch()
    counts = fewest_requests(mounted, epoch)
    # Python before 3.14 asks each file whether it is a terminal; the stats are an attribute.
    counts.pop("ioctl", None)
    assert counts.pop("getxattr") <= 2
    assert counts == {}


def test_a_cold_epoch_looks_each_name_up_once(images, mount):
    source, pack = images
    mounted = mount(pack)
    paths = trees.files(source)
    folders = {os.path.dirname(path) for path in paths}

    def epoch():
        for path in paths:
            trees.digest(os.path.join(os.fsencode(mounted), path))

    counts = new_requests(mounted, epoch)
    assert counts["lookup"] == len(paths) + len(folders)
    assert counts.get("getattr", 0) <= 1
    assert counts["read"] + counts["notify"] >= len(paths)


def test_opening_is_asked_once_for_all(client):
    source, mount = client
    for _ in range(1000):
        os.close(os.open(mount / "file", os.O_RDONLY))
        os.close(os.open(mount / "folder", os.O_RDONLY | os.O_DIRECTORY))
    assert mount.requests()["open"] <= 2


def test_a_missing_name_is_remembered(client):
    _, mount = client

    def look():
        assert not os.path.exists(mount / "missing/too")
        assert not os.path.exists(mount / "absent")

    look()
    counts = fewest_requests(mount, look)
    assert "lookup" not in counts


def test_a_symbolic_link_is_read_once(hostile, mount):
    mounted = mount(hostile[1])
    os.readlink(mounted / "links/to file")
    counts = fewest_requests(mounted, lambda: os.readlink(mounted / "links/to file"))
    assert set(counts) <= {"getxattr"}


def test_a_second_listing_comes_from_the_kernel(client):
    _, mount = client
    os.listdir(mount / "folder")
    counts = fewest_requests(mount, lambda: os.listdir(mount / "folder"))
    assert "readdir" not in counts


def test_scanning_a_tree_asks_for_no_attributes(images, mount):
    """os.walk, as ImageFolder does it: the types come with the names."""
    mounted = mount(images[1])
    counts = new_requests(mounted, lambda: list(os.walk(mounted)))
    # At most the four folders, which os.walk goes into by name, and a link and what it points to;
    # none where the listing has brought the attributes along.
    assert counts.get("lookup", 0) <= 6
    assert counts.get("getattr", 0) <= 1


# --- ways to read -------------------------------------------------------------------------
# Random calls are compared with a plain folder's in test_model.py; crowds read in test_memory.py
# and test_soak.py.


def by_pieces_from_the_end(fd, size):
    pieces = [os.pread(fd, 5000, at) for at in range(0, size, 5000)[::-1]]
    assert os.pread(fd, 4096, size) == os.pread(fd, 4096, size + MIB) == b""
    return b"".join(pieces[::-1])


def by_map(fd, size):
    with mmap.mmap(fd, size, prot=mmap.PROT_READ) as mapped:
        assert mapped[MIB + 1] >= 0  # a fault in the middle comes first
        return mapped[:]


def by_private_map(fd, size):
    """What is written to it is not the file's."""
    with mmap.mmap(fd, size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as own:
        own[0] ^= 0xff
    return os.pread(fd, size, 0)


def by_sendfile(fd, size):
    with tempfile.TemporaryFile() as sent:
        at = 0
        while count := os.sendfile(sent.fileno(), fd, at, size):
            at += count
        return os.pread(sent.fileno(), size + 1, 0)


def by_splice(fd, size):
    reader, writer = os.pipe()
    got = b""
    while len(got) < size:
        moved = libc.splice(fd, None, writer, None, ctypes.c_size_t(65536), 0)
        assert moved > 0
        got += os.read(reader, moved)
    return got


def directly(fd, size):
    fd = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, size)  # page-aligned
    got = b""
    while count := os.preadv(fd, [buffer], len(got)):
        got += buffer[:count]
    for at, length in ((1, 1), (MIB - 7, 14), (4097, 131073), (size - 3, 100)):
        assert os.pread(fd, length, at) == got[at:at + length]
    os.close(fd)
    return got


@pytest.mark.parametrize("way", [by_pieces_from_the_end, by_map, by_private_map, by_sendfile,
                                 by_splice, directly])
def test_it_is_read(client, way):
    """A file of 2 MiB that is not in the kernel's cache."""
    source, mount = client
    data = (source / "large").read_bytes()
    with open(mount / "large", "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert way(file.fileno(), len(data)) == data


def test_programs_and_their_libraries_run_from_the_mount(client, place, mount):
    assert run(client[1] / "program").out == "ran\n"
    (place / "source").mkdir()
    shutil.copy("/bin/false", place / "source/false")
    run(mount(foldfs.pack(place / "source", place / "pack.lmdb")) / "false", status=1)


# --- the clients that this is for ---------------------------------------------------------


@needs_torch
@pytest.mark.parametrize("workers", [
    ("fork:0", "fork:8", "spawn:1"),
    pytest.param(("fork:2", "spawn:8"), marks=pytest.mark.slow),
])
def test_imagefolder_cannot_tell_the_mount_from_the_source(images, mount, workers):
    """What imagefolder.py, run on both folders, has found to differ."""
    source, pack = images
    found = json.loads(run(sys.executable, HERE / "imagefolder.py", source, mount(pack),
                           *workers).out)
    assert found.pop("samples") == 65
    assert all(verdict == "same" for verdict in found.values()), found
