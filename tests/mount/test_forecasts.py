"""What is read ahead of readers whose order nobody knows: nothing after a few files, nothing with
readahead=0, and on shared storage the rest of a part of the pack of which most was asked for."""

import random
import shutil
import time

import pytest

import foldfs
import trees
from foldfs import PATIENCE

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
    for number in random.Random(1).sample(range(0, IMAGES, 25), 14):
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
