"""The memory contract: what the pool holds is bounded, and what the kernel holds beside it is the
share, and the newest files."""

import concurrent.futures
import ctypes
import mmap
import os
import random
from pathlib import Path

import pytest

import trees
from foldfs import MIB, is_root, libc, run, wait_until
from formats import parquet

pytestmark = pytest.mark.alone

FILES, FILE = 1000, 100 << 10
POOL = 64 * MIB
LAG_FILES = 512  # fs/inval.h
LAG = 8 * MIB  # more than the bytes that may lag behind a pool of 64 MiB
READERS, PAGE = 8, 10 * MIB  # of compressed pages
PAGES = 128 * MIB  # pack/foreign/pages.h
BESIDES = 32 * MIB  # that the daemon may take besides pool and index

libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p]


def make_large(root):
    for number in range(FILES):
        folder = root / f"class{number % 8}"
        folder.mkdir(exist_ok=True)
        trees.write(folder / f"{number:04}", trees.noise(number, FILE))


@pytest.fixture(scope="module")
def large(session_dir):
    """(folder, pack) of half as much again as the pool holds, in files as photographs are."""
    return trees.packed(session_dir / "large", make_large)


def shuffled(source, seed):
    files = trees.files(source)
    random.Random(seed).shuffle(files)
    return files


def read_all(mounted, files, size=-1):
    for path in files:
        with open(os.path.join(os.fsencode(mounted), path), "rb", buffering=0) as file:
            file.read(size)


def read_once(large, mount, options, size=-1):
    """(mount, files in the order in which they were read)"""
    source, pack = large
    mounted = mount(pack, "-o", options)
    files = shuffled(source, 1)
    read_all(mounted, files, size)
    return mounted, files


def resident(path):
    """The pages that the kernel has of a file; mapping it reads none."""
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        address = libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, fd, 0)
    finally:
        os.close(fd)
    pages = ctypes.create_string_buffer(-(-size // mmap.PAGESIZE))
    try:
        assert libc.mincore(address, size, pages) == 0
    finally:
        libc.munmap(address, size)
    return sum(page & 1 for page in pages.raw)


def copies(mounted, files):
    """Files of which the kernel has pages, and bytes of those."""
    pages = [resident(os.path.join(os.fsencode(mounted), path)) for path in files]
    return sum(count > 0 for count in pages), sum(pages) * mmap.PAGESIZE


def memory_of(pid, field):
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    raise KeyError(field)


def is_sanitized(pid):
    return "libasan" in Path(f"/proc/{pid}/maps").read_text()


# --- the pool's copy ----------------------------------------------------------------------


def test_the_daemon_stays_within_pool_index_and_a_little(large, mount):
    source, pack = large
    mounted = mount(pack, "-o", f"cache=pool,policy=pin,pool={POOL}")
    if is_sanitized(mounted.daemon):
        pytest.skip("a sanitizer takes memory of its own")
    for seed in range(2):
        read_all(mounted, shuffled(source, seed))
    index = 512 * FILES
    assert mounted.stats()["pool"]["used"] <= POOL
    assert memory_of(mounted.daemon, "VmHWM") <= POOL + index + BESIDES


@pytest.fixture(scope="module")
def in_large_pages(session_dir):
    """A Parquet file whose images lie in compressed pages of 10 MB."""
    rows = [(bytes([number % 256]) * FILE, b"%04d.jpg" % number, number % 8)
            for number in range(2 * FILES)]
    return parquet.write(session_dir / "large.parquet", rows, codecs=(parquet.GZIP,) * 3, group=100)


def test_unpacked_pages_take_what_they_may_and_a_little(in_large_pages, mount):
    mounted = mount(in_large_pages, "-o", f"cache=pool,pool={POOL}")
    if is_sanitized(mounted.daemon):
        pytest.skip("a sanitizer takes memory of its own")
    files = shuffled(mounted.path, 1)[:200]
    with concurrent.futures.ThreadPoolExecutor(READERS) as readers:
        list(readers.map(lambda path: read_all(mounted, [path]), files))
    under_way = READERS * PAGE
    assert memory_of(mounted.daemon, "VmHWM") <= POOL + PAGES + under_way + BESIDES


def test_a_pool_that_holds_all_reads_the_pack_once(large, mount):
    source, pack = large
    mounted = mount(pack, "-o", "cache=pool,policy=pin,pool=256M")
    read_all(mounted, shuffled(source, 1))
    before = mounted.stats()
    read_all(mounted, shuffled(source, 2))
    after = mounted.stats()
    assert after["device"]["bytes"] == before["device"]["bytes"]
    # ... though nearly all of it was asked for anew, and hardly a name: the kernel forgets those
    # only where it is short of memory.
    assert after["requests"]["read"] - before["requests"]["read"] >= FILES - LAG_FILES
    assert after["requests"]["lookup"] - before["requests"]["lookup"] < FILES / 2


# --- the kernel's copy --------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, 4096], ids=["whole", "partly"])
def test_the_kernel_s_copy_is_dropped_behind_the_readers(large, mount, size):
    mounted, files = read_once(large, mount, f"cache=pool,policy=pin,pool={POOL}", size=size)

    def is_bounded():
        count, kept = copies(mounted, files)
        return count <= LAG_FILES and kept <= LAG

    wait_until(is_bounded)
    assert mounted.requests()["notify"] >= FILES - LAG_FILES


def test_the_newest_stay_with_the_kernel(large, mount):
    mounted, files = read_once(large, mount, f"cache=pool,policy=pin,pool={POOL}")
    before = mounted.requests()
    read_all(mounted, files[-8:])
    assert mounted.requests()["read"] == before["read"]


def test_a_mapping_survives_the_drop_of_its_pages(large, mount):
    source, pack = large
    mounted = mount(pack, "-o", f"cache=pool,policy=pin,pool={POOL}")
    first, *others = shuffled(source, 1)
    first = os.fsdecode(first)
    with open(mounted / first, "rb") as file, \
            mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapping:
        want = (source / first).read_bytes()
        assert mapping[:] == want
        read_all(mounted, others)
        wait_until(lambda: resident(mounted / first) == 0)
        assert mapping[:] == want


def test_what_the_kernel_owns_is_not_asked_for_again(large, mount):
    source, pack = large
    mounted = mount(pack, "-o", "cache=kernel")
    read_all(mounted, shuffled(source, 1))
    before = mounted.requests()
    read_all(mounted, shuffled(source, 2))
    after = mounted.requests()
    assert after["read"] == before["read"]
    assert after["notify"] == 0


# --- kernel and pool ----------------------------------------------------------------------


@pytest.fixture
def little_memory(place, pytestconfig):
    """A machine on which 88 MiB are available: a quarter is the pool's. The page cache keeps
    the rest, less a sixteenth, and 2 KiB a file for names."""
    if not pytestconfig.alone_with_mounts:
        pytest.skip("others would see the mount over /proc/meminfo")
    (place / "meminfo").write_text(f"MemTotal: {1 << 20} kB\nMemAvailable: {88 << 10} kB\n")
    run("mount", "--bind", place / "meminfo", "/proc/meminfo")
    yield 58 * MIB
    run("umount", "/proc/meminfo")


@is_root
def test_kernel_and_pool_share_what_does_not_fit(large, mount, little_memory):
    source = large[0]
    mounted, files = read_once(large, mount, "policy=pin")
    wait_until(lambda: copies(mounted, files)[1] <= little_memory + MIB + LAG)
    first = mounted.stats()
    assert first["cache_mode"] == "shared"
    assert little_memory - MIB < first["pool"]["page_cache"] <= little_memory + MIB
    assert copies(mounted, files)[1] >= little_memory - MIB

    read_all(mounted, shuffled(source, 2))
    second = mounted.stats()
    kept = little_memory // FILE
    newest = LAG // FILE
    asked = second["requests"]["read"] - first["requests"]["read"]
    assert FILES - kept - newest - 20 <= asked <= FILES - kept + 20
    # ... and of what was asked for the pool had its own share.
    missed = second["pool"]["misses"] - first["pool"]["misses"]
    assert missed <= FILES - kept - 22 * MIB // FILE * 3 // 4
    assert second["pool"]["page_cache"] == first["pool"]["page_cache"]


@is_root
def test_by_default_the_page_cache_keeps_its_whole_share(large, mount, little_memory):
    source, pack = large
    mounted = mount(pack)
    read_all(mounted, shuffled(source, 1))
    assert mounted.stats()["pool"]["page_cache"] > little_memory - 2 * MIB
    assert "page cache 58" in mounted.said


@is_root
def test_what_the_kernel_dropped_does_not_count_as_kept(large, mount, little_memory):
    source = large[0]
    mounted, files = read_once(large, mount, "policy=pin")
    for path in files:
        fd = os.open(os.path.join(os.fsencode(mounted), path), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    read_all(mounted, shuffled(source, 2))
    assert mounted.stats()["pool"]["page_cache"] < little_memory // 4
    for seed in range(3, 8):
        read_all(mounted, shuffled(source, seed))
    assert mounted.stats()["pool"]["page_cache"] > little_memory // 4 * 3
    assert trees.content(mounted) == trees.content(source)


@is_root
def test_whose_last_use_counts_the_kernel_keeps_it(large, mount, little_memory):
    assert mount(large[1], "-o", "policy=lru").stats()["cache_mode"] == "kernel"


@is_root
def test_the_pool_s_data_stays_the_pool_s(large, mount, little_memory):
    mounted, files = read_once(large, mount, "cache=pool,policy=pin")
    wait_until(lambda: copies(mounted, files)[1] <= LAG)
    assert mounted.stats()["cache_mode"] == "pool" and mounted.stats()["pool"]["page_cache"] == 0
