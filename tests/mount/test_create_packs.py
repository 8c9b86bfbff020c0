"""foldpack create of packs: several become one, some of their files another one."""

import os

import pytest

import foldfs
import trees
from foldfs import pack, run


def split(place, count, make):
    """Packs of parts of a tree; the tree."""
    whole = place / "whole"
    for part in range(count):
        make(whole, part)
        pack(whole, place / f"x-{part}.lmdb", f"--include=part{part}/**")
    return whole


def test_several_packs_become_one(place, point):
    def make(whole, part):
        folder = whole / f"part{part}" / "class"
        folder.mkdir(parents=True)
        for number in range(10):
            trees.write(folder / f"{number}.jpg", trees.noise(part * 100 + number, 3000 * number))

    whole = split(place, 3, make)
    merged = place / "merged.lmdb"
    run(foldfs.FOLDPACK, "create", f"{place}/x-{{0..2}}.lmdb", merged)
    run(foldfs.FOLDPACK, "verify", merged)
    with foldfs.mounted(merged, point) as mounted:
        assert trees.content(mounted) == trees.content(whole)


@pytest.mark.parametrize("make", [trees.make_names, trees.make_deep, trees.make_links])
def test_a_pack_of_a_pack_is_the_same(place, make):
    source = place / "source"
    source.mkdir()
    make(os.fsencode(source))
    trees.write(source / "z file", b"one inode")
    os.link(source / "z file", source / "a name that comes first")
    first = pack(source, place / "first.lmdb")
    second = place / "second.lmdb"
    run(foldfs.FOLDPACK, "create", first, second)
    assert run(foldfs.FOLDPACK, "list", "-l", second).out == \
        run(foldfs.FOLDPACK, "list", "-l", first).out
    run(foldfs.FOLDPACK, "diff", source, second)


def test_what_is_not_wanted_leaves_no_folder(place):
    source = place / "source"
    for name in ("a/x.jpg", "a/b/y.txt", "c/z.txt"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        trees.write(source / name, name.encode())
    first = pack(source, place / "first.lmdb")
    second = place / "second.lmdb"
    run(foldfs.FOLDPACK, "create", "--include=*.jpg", first, second)
    assert run(foldfs.FOLDPACK, "list", second).out.split() == ["a/x.jpg"]


def test_a_damaged_file_of_a_pack_is_named(place):
    source = place / "source"
    (source / "a").mkdir(parents=True)
    for number in range(5):
        trees.write(source / "a" / f"{number}.jpg", trees.noise(number, 5000))
    first = pack(source, place / "first.lmdb")
    bytes_ = bytearray(first.read_bytes())
    at = bytes_.find(trees.noise(3, 5000))
    bytes_[at + 100] ^= 1
    first.write_bytes(bytes_)
    done = run(foldfs.FOLDPACK, "create", first, place / "second.lmdb", status=None)
    assert done.returncode != 0
    assert "a/3.jpg: damaged in the pack: checksum mismatch; --on-bad=skip" in done.err
    assert not (place / "second.lmdb").exists()


def test_the_source_is_not_replaced(place):
    source = place / "source"
    source.mkdir()
    trees.write(source / "x", b"x")
    first = pack(source, place / "first.lmdb")
    done = run(foldfs.FOLDPACK, "create", "--force", first, first, status=None)
    assert done.returncode == 1 and "its own source" in done.err
    run(foldfs.FOLDPACK, "verify", first)
