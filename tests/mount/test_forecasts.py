"""What is read ahead of readers whose order nobody knows: nothing after a few files, nothing with
readahead=0, on shared storage the rest of a part of the pack of which most was asked for, and all
of a small one that is far away once its folders are listed."""

import concurrent.futures
import random
import shutil
import time

import pytest

import foldfs
import trees
from foldfs import PATIENCE
from server import Server

IMAGE, MASK, FRAME = 30 << 10, 5 << 10, 20 << 10
IMAGES, CLIPS, FRAMES = 400, 100, 8


def make_pairs(root):
    for kind, size, suffix in (("images", IMAGE, "jpg"), ("masks", MASK, "png")):
        for split in ("train", "val"):
            folder = root / kind / split
            folder.mkdir(parents=True)
            for number in range(IMAGES // 2):
                trees.write(folder / f"{split}-{number:04}.{suffix}", trees.noise(number, size))


def make_clips(root):
    for clip in range(CLIPS):
        folder = root / f"clip{clip:03}"
        folder.mkdir()
        for frame in range(FRAMES):
            trees.write(folder / f"{frame:03}.jpg", trees.noise(clip * FRAMES + frame, FRAME))


@pytest.fixture(scope="session")
def pairs(session_dir):
    """(folder, pack) of images and their masks."""
    return trees.packed(session_dir / "pairs", make_pairs)


@pytest.fixture(scope="session")
def clips(session_dir):
    """(folder, pack) of clips, a few frames each."""
    return trees.packed(session_dir / "clips", make_clips)


def prefetch(mounted):
    return mounted.stats()["prefetch"]


def wait_for_prefetch(mounted, issued):
    """It comes by itself; returns how much that was."""
    deadline = time.monotonic() + PATIENCE
    while prefetch(mounted)["issued"] < issued and time.monotonic() < deadline:
        time.sleep(0.001)
    return prefetch(mounted)["issued"]


def test_a_few_files_far_apart_bring_nothing_else(mount, pairs):
    source, pack = pairs
    mounted = mount(pack)
    for number in random.Random(1).sample(range(0, IMAGES, 25), 7):
        split = "val" if number % 2 else "train"
        image = f"images/{split}/{split}-{number // 2:04}.jpg"
        assert (mounted / image).read_bytes() == (source / image).read_bytes()
    assert prefetch(mounted)["issued"] == 0


def test_readahead_0_reads_nothing_ahead(mount, clips):
    source, pack = clips
    mounted = mount(pack, "-o", "readahead=0")
    for clip in range(0, CLIPS, 10):
        for frame in (7, 2, 6, 5, 0, 1, 4, 3):
            name = f"clip{clip:03}/{frame:03}.jpg"
            assert (mounted / name).read_bytes() == (source / name).read_bytes()
    assert prefetch(mounted)["issued"] == 0


# --- folders that are listed ------------------------------------------------------------------


LAST = f"clip{CLIPS - 1:03}/{FRAMES - 1:03}.jpg"


def walk(mounted, clips=CLIPS):
    for clip in range(clips):
        assert len(list((mounted / f"clip{clip:03}").iterdir())) == FRAMES


@pytest.fixture
def server(clips, place):
    server = Server(clips[0].parent, place / "server")
    yield server.start()
    server.stop()


def test_a_program_that_lists_folders_far_away_finds_their_files_read(mount, clips, server):
    mounted = mount(server.url(clips[1].name))
    walk(mounted)
    expected = CLIPS * FRAMES * FRAME
    assert wait_for_prefetch(mounted, expected) == expected
    assert read_clips(mounted, clips[0]) == CLIPS * FRAMES
    assert prefetch(mounted) == {"issued": expected, "used": expected, "wasted": 0}


@pytest.mark.parametrize("listed, words", [
    (7, []), (CLIPS, ["--pool=16M"]), (CLIPS, ["--readahead=0"])],
    ids=["few-folders", "small-pool", "readahead-0"])
def test_listing_folders_far_away_brings_nothing(mount, clips, server, listed, words):
    mounted = mount(server.url(clips[1].name), *words)
    walk(mounted, listed)
    assert (mounted / LAST).read_bytes() == (clips[0] / LAST).read_bytes()
    assert prefetch(mounted)["issued"] == 0


def test_listing_folders_nearby_brings_nothing(mount, clips):
    mounted = mount(clips[1])
    walk(mounted)
    assert (mounted / LAST).read_bytes() == (clips[0] / LAST).read_bytes()
    assert prefetch(mounted)["issued"] == 0


# --- files that are opened, as Python does it, and are there ---------------------------------


def read_clips(mounted, source):
    """In the order of the pack; returns how many files there were."""
    for clip in range(CLIPS):
        for frame in range(FRAMES):
            name = f"clip{clip:03}/{frame:03}.jpg"
            with open(mounted / name, "rb") as file:
                file.isatty()  # Python before 3.14 asks by itself
                assert file.read() == (source / name).read_bytes()
    return CLIPS * FRAMES


def given(mounted):
    """(READs, files that the kernel was given before it asked)"""
    requests = mounted.requests()
    return requests["read"], requests["notify"]


def test_a_file_that_was_read_ahead_is_given_to_the_kernel_as_it_is_opened(mount, clips):
    source, pack = clips
    mounted = mount(pack, "-o", "oracle=off")
    files = read_clips(mounted, source)
    reads, notes = given(mounted)
    assert reads + notes == files and reads < files / 4
    assert mounted.stats()["served_bytes"] == files * FRAME
    read_clips(mounted, source)
    assert given(mounted) == (reads, notes)


def test_a_file_that_is_opened_and_not_there_is_read(mount, clips):
    source, pack = clips
    mounted = mount(pack, "-o", "readahead=0")
    files = read_clips(mounted, source)
    assert given(mounted) == (files, 0)


def test_the_only_thread_that_answers_the_kernel_never_waits_for_it(mount, clips):
    source, pack = clips
    mounted = mount(pack, "-o", "threads=1,oracle=off")
    files = read_clips(mounted, source)
    assert given(mounted) == (files, 0)


def test_many_readers_that_open_the_same_files_at_once_get_them(mount, clips):
    source, pack = clips
    mounted = mount(pack, "-o", "threads=2,oracle=off,pool=8M")
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        for read in [threads.submit(read_clips, mounted, source) for _ in range(8)]:
            read.result(PATIENCE)
    assert given(mounted)[1] > 0


# --- storage of others --------------------------------------------------------------------


BLOCK = 256  # files that are judged together, of which four fifths must be asked for


@pytest.fixture
def shared_pack(mount, pairs, place):
    """The pack of `pairs` on a FUSE filesystem, which counts as shared: a mount of a pack of it."""
    for folder in ("outer", "folder"):
        (place / folder).mkdir()
    shutil.copy(pairs[1], place / "folder/pack")
    foldfs.pack(place / "folder", place / "outer.lmdb")
    return mount(place / "outer.lmdb", at=place / "outer") / "pack"


def test_shared_storage_is_read_ahead_for_the_last_fifth_only(mount, pairs, shared_pack):
    source, _ = pairs
    names = sorted(path.relative_to(source) for path in source.glob("images/*/*"))[:BLOCK]
    names.reverse()  # no scan goes that way
    mounted = mount(shared_pack, "--oracle=off")
    most = BLOCK * 4 // 5 + 1
    for name in names[: most - 1]:
        assert (mounted / name).read_bytes() == (source / name).read_bytes()
    assert prefetch(mounted)["issued"] == 0
    assert (mounted / names[most - 1]).read_bytes() == (source / names[most - 1]).read_bytes()
    expected = (BLOCK - most) * IMAGE
    assert wait_for_prefetch(mounted, expected) == expected
