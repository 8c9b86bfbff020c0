"""What readers get, whatever way they read; and how little the kernel asks the daemon for it."""

import concurrent.futures
import ctypes
import errno
import json
import mmap
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import MIB, libc, needs, run

HERE = Path(__file__).resolve().parent


@pytest.fixture(scope="module")
def client(small, session_dir):
    """(source, mount) of the small folder, for tests that only read."""
    source, pack = small
    point = session_dir / "client"
    point.mkdir()
    with foldfs.mounted(pack, point) as mount:
        yield source, mount


@pytest.fixture
def large(client):
    """(bytes, path) of a file of 2 MiB that is not in the kernel's cache."""
    source, mount = client
    forget(mount / "large")
    return (source / "large").read_bytes(), mount / "large"


def forget(path):
    """Drops what the kernel has of a file."""
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def read_forgotten(path):
    forget(path)
    return trees.digest(path)


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


def test_requests_and_bytes_are_counted(large, client):
    data, path = large
    _, mount = client
    before = mount.stats()
    assert path.read_bytes() == data
    after = mount.stats()
    assert after["requests"]["read"] > before["requests"]["read"]
    assert after["served_bytes"] - before["served_bytes"] == len(data)


# --- ways to read -------------------------------------------------------------------------


def test_pread_at_odd_places(large):
    data, path = large
    chance = random.Random(5)
    fd = os.open(path, os.O_RDONLY)
    for _ in range(500):
        at, size = chance.randrange(len(data)), chance.randrange(1, 300000)
        assert os.pread(fd, size, at) == data[at:at + size]
    os.close(fd)


def test_pread_of_a_cold_file_across_extents(large):
    data, path = large
    for at in (MIB - 1, MIB - 4097, MIB, 1, len(data) - 1):
        forget(path)
        fd = os.open(path, os.O_RDONLY)
        assert os.pread(fd, 5000, at) == data[at:at + 5000]
        os.close(fd)


def test_reading_past_the_end(large):
    data, path = large
    fd = os.open(path, os.O_RDONLY)
    assert os.pread(fd, 4096, len(data) - 10) == data[-10:]
    for at in (len(data), len(data) + 1, len(data) + MIB, 1 << 40):
        assert os.pread(fd, 4096, at) == b""
    os.close(fd)


def test_a_map_of_a_file(large):
    data, path = large
    with open(path, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
        assert mapped[MIB + 1] == data[MIB + 1]  # a fault in the middle
        assert mapped[:] == data
    with open(path, "rb") as file, \
            mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as own:
        own[0] = data[0] ^ 0xff
        assert path.read_bytes() == data


def test_direct_io(large):
    data, path = large
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    buffer = mmap.mmap(-1, 2 * MIB)  # page-aligned
    got = b""
    while count := os.preadv(fd, [buffer], len(got)):
        got += buffer[:count]
    os.close(fd)
    assert got == data


def test_direct_io_in_odd_pieces(large):
    data, path = large
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    for at, size in ((1, 1), (MIB - 7, 14), (4097, 131073), (len(data) - 3, 100)):
        assert os.pread(fd, size, at) == data[at:at + size]
    os.close(fd)


def test_sendfile(large, place):
    data, path = large
    with open(path, "rb") as source, open(place / "sent", "wb") as target:
        at = 0
        while count := os.sendfile(target.fileno(), source.fileno(), at, len(data)):
            at += count
    assert (place / "sent").read_bytes() == data


def test_copy_file_range_tells_programs_to_fall_back(large, place):
    """As between any two filesystems; or it copies, should the kernel once do that."""
    data, path = large
    with open(path, "rb") as source, open(place / "copied", "wb") as target:
        try:
            count = os.copy_file_range(source.fileno(), target.fileno(), len(data))
        except OSError as error:
            assert error.errno == errno.EXDEV
            return
    assert (place / "copied").read_bytes() == data[:count]


def test_splice(large):
    data, path = large
    reader, writer = os.pipe()
    got = b""
    with open(path, "rb") as file:
        while len(got) < len(data):
            moved = libc.splice(file.fileno(), None, writer, None, ctypes.c_size_t(65536), 0)
            assert moved > 0
            got += os.read(reader, moved)
    os.close(reader)
    os.close(writer)
    assert got == data


def test_a_program_runs_from_the_mount(client):
    _, mount = client
    assert run(mount / "program").out == "ran\n"


def test_a_binary_and_a_library_run_from_the_mount(place, mount):
    (place / "source").mkdir()
    shutil.copy("/bin/true", place / "source/true")
    shutil.copy("/bin/false", place / "source/false")
    mounted = mount(foldfs.pack(place / "source", place / "pack.lmdb"))
    run(mounted / "true")
    run(mounted / "false", status=1)


@needs("flock")
def test_a_file_can_be_locked(client):
    _, mount = client
    run("flock", "--shared", mount / "file", "true")
    run("flock", "--exclusive", mount / "file", "true")


# --- many at once -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bulk_digests(bulk):
    source, _ = bulk
    return {path: trees.digest(os.path.join(os.fsencode(source), path))
            for path in trees.files(source)}


def shuffled(digests, seed):
    paths = list(digests)
    random.Random(seed).shuffle(paths)
    return paths


def read_all(root, digests, seed):
    """One reader's epoch: the paths whose bytes are wrong."""
    return [path for path in shuffled(digests, seed)
            if read_forgotten(os.path.join(root, path)) != digests[path]]


def test_64_threads_and_a_pool_smaller_than_the_data(bulk, bulk_digests, mount):
    mounted = mount(bulk[1], "--pool=8M")
    root = os.fsencode(mounted)
    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        jobs = [threads.submit(read_forgotten, os.path.join(root, path))
                for seed in range(4) for path in shuffled(bulk_digests, seed)]
        wanted = [bulk_digests[path] for seed in range(4) for path in shuffled(bulk_digests, seed)]
        assert [job.result(foldfs.PATIENCE) for job in jobs] == wanted
    stats = mounted.stats()
    assert stats["pool"]["budget"] == 8 * MIB
    assert stats["pool"]["used"] <= 8 * MIB
    assert stats["device"]["bytes"] >= sum(
        os.path.getsize(os.path.join(root, path)) for path in bulk_digests)
    assert (stats["bad_files"], stats["device"]["errors"]) == (0, 0)


def test_16_processes_read_the_same_files_in_other_orders(bulk, bulk_digests, mount):
    mounted = mount(bulk[1], "--pool=8M")
    with multiprocessing.get_context("fork").Pool(16) as pool:
        jobs = [pool.apply_async(read_all, (os.fsencode(mounted), bulk_digests, seed))
                for seed in range(16)]
        assert [job.get(2 * foldfs.PATIENCE) for job in jobs] == [[]] * 16
        pool.close()  # leaving without it ends workers that may hold the lock others wait for
        pool.join()


def test_all_readers_of_one_file_at_once(client, large):
    data, path = large
    wanted = trees.digest(client[0] / "large")
    with concurrent.futures.ThreadPoolExecutor(32) as threads:
        for _ in range(5):
            forget(path)
            jobs = [threads.submit(trees.digest, path) for _ in range(32)]
            assert {job.result(foldfs.PATIENCE) for job in jobs} == {wanted}


def test_a_killed_reader_leaves_the_mount_whole(bulk, bulk_digests, mount):
    mounted = mount(bulk[1], "--pool=8M")
    for round in range(10):
        reader = subprocess.Popen(["cat", *(os.path.join(os.fsencode(mounted), path)
                                            for path in shuffled(bulk_digests, round))],
                                  stdout=subprocess.PIPE)
        reader.stdout.read(MIB * (round % 3 + 1))  # in the middle of its work
        reader.kill()
        reader.stdout.close()
        reader.wait()
    assert read_all(os.fsencode(mounted), bulk_digests, 0) == []


# --- the clients that this is for ---------------------------------------------------------


def imagefolder(source, mounted, *modes):
    """What imagefolder.py, run on both folders, has found to differ."""
    done = run(sys.executable, HERE / "imagefolder.py", source, mounted, *modes)
    return json.loads(done.out)


def skip_without(*modules):
    for module in modules:
        pytest.importorskip(module, reason=f"no {module} for this Python")


@pytest.mark.parametrize("workers", [
    ("fork:0", "fork:8", "spawn:1"),
    pytest.param(("fork:2", "spawn:8"), marks=pytest.mark.slow),
])
def test_imagefolder_cannot_tell_the_mount_from_the_source(images, mount, workers):
    skip_without("torch", "torchvision")
    source, pack = images
    found = imagefolder(source, mount(pack), *workers)
    assert found.pop("samples") == 65
    assert all(verdict == "same" for verdict in found.values()), found


@pytest.mark.plain
def test_imagefolder_on_photos(photos_pack, mount):
    skip_without("torch", "torchvision")
    found = imagefolder(foldfs.PHOTOS, mount(photos_pack, "--pool=8M"), "fork:2")
    assert found.pop("samples") > 0
    assert all(verdict == "same" for verdict in found.values()), found


def test_opencv_decodes_the_same(images, mount):
    skip_without("cv2")
    import cv2

    source, pack = images
    mounted = mount(pack)
    for path in trees.files(source):
        want, have = (cv2.imread(os.fsdecode(os.path.join(os.fsencode(root), path)))
                      for root in (source, mounted))
        assert want is not None and (want == have).all()
