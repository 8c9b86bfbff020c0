"""What is read ahead because it belongs to what was asked for: partners of other folders, and the
rest of a folder. With so few files, and none beside another, no other forecast has a say. And what
is left of a part of the pack on storage of others, most of which was asked for."""

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


@pytest.fixture(scope="module")
def pairs(session_dir):
    """(folder, pack) of images and their masks."""
    return trees.packed(session_dir / "pairs", make_pairs)


@pytest.fixture(scope="module")
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


def image_and_mask(number):
    split = "val" if number % 2 else "train"
    return f"images/{split}/{split}-{number // 2:04}.jpg", \
        f"masks/{split}/{split}-{number // 2:04}.png"


def test_masks_come_with_their_images_once_three_were_seen_to(mount, pairs):
    source, pack = pairs
    mounted = mount(pack)
    far_apart = random.Random(1).sample(range(0, IMAGES, 25), 7)
    for count, number in enumerate(far_apart):
        image, mask = image_and_mask(number)
        assert (mounted / image).read_bytes() == (source / image).read_bytes()
        expected = max(count - 2, 0) * MASK
        assert wait_for_prefetch(mounted, expected) == expected
        assert (mounted / mask).read_bytes() == (source / mask).read_bytes()
        assert prefetch(mounted)["used"] == expected


def test_masks_stay_away_where_nobody_asks_for_them(mount, pairs):
    source, pack = pairs
    mounted = mount(pack)
    for number in random.Random(1).sample(range(0, IMAGES, 25), 14):
        image, _ = image_and_mask(number)
        assert (mounted / image).read_bytes() == (source / image).read_bytes()
    assert prefetch(mounted)["issued"] == 0


def test_the_rest_of_a_clip_comes_with_its_second_frame(mount, clips):
    source, pack = clips
    mounted = mount(pack)
    rest = (FRAMES - 2) * FRAME
    for count, clip in enumerate(random.Random(1).sample(range(0, CLIPS, 10), 6)):
        expected = max(count - 2, 0) * rest
        for frame in (7, 2, 6, 5, 0, 1, 4, 3):  # no scan goes that way
            name = f"clip{clip:03}/{frame:03}.jpg"
            assert (mounted / name).read_bytes() == (source / name).read_bytes()
            if frame == 2:
                assert wait_for_prefetch(mounted, expected) == expected
        assert prefetch(mounted) == {"issued": expected, "used": expected, "wasted": 0}


def test_readahead_0_is_none_of_all_that(mount, clips):
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
