"""Packs that store the bytes of equal files once: in all else they are packs of the same folder."""

import errno
import json
import os
import random
import shutil

import pytest

import foldfs
import trees
from foldfs import FOLDPACK, MIB, info, run

PHOTO, MOVIE = trees.noise(1, 110_000), trees.noise(2, 2 * MIB + 77)
# What differs only where a hash of the beginning, or the size, would not tell.
ENDINGS = [PHOTO[:-1] + b"x", PHOTO[:-1], PHOTO + b"\0"]


def make_twins(root):
    """Copies in several folders, each with a mode and a time of its own."""
    root, moment = os.fsencode(root), 1_600000000_000000001
    copies = {b"a/first": PHOTO, b"a/second": PHOTO, b"b/deep/er/third": PHOTO,
              b"a/movie": MOVIE, b"c/movie \xff": MOVIE, b"c/" + b"n" * 250: PHOTO,
              b"a/none": b"", b"c/none": b"", b"a/512": PHOTO[:512], b"c/512": PHOTO[:512],
              b"a/513": PHOTO[:513], b"c/513": PHOTO[:513]}
    copies |= {b"c/ending %d" % number: data for number, data in enumerate(ENDINGS)}
    for number, (path, data) in enumerate(copies.items()):
        os.makedirs(os.path.dirname(root + b"/" + path), exist_ok=True)
        trees.write(root + b"/" + path, data, 0o600 | number % 8)
        os.utime(root + b"/" + path, ns=(0, moment - number * 10**15))
    os.link(root + b"/a/second", root + b"/linked to a copy")
    os.link(root + b"/b/deep/er/third", root + b"/b/again")
    os.symlink("a/second", root + b"/symlink")


SHARED = {b"a/second", b"b/again", b"c/movie \xff", b"c/" + b"n" * 250, b"c/513"}
SAVED = 3 * len(PHOTO) + len(MOVIE) + 513


@pytest.fixture(scope="module")
def twins(session_dir):
    """(source, deduplicated pack, pack)"""
    source = session_dir / "twins"
    source.mkdir()
    make_twins(source)
    return (source, foldfs.pack(source, session_dir / "once.lmdb", "--dedup"),
            foldfs.pack(source, session_dir / "each.lmdb"))


@pytest.fixture(scope="module")
def both(twins, session_dir):
    """(source, mount of the deduplicated pack)"""
    (session_dir / "twins-mnt").mkdir()
    with foldfs.mounted(twins[1], session_dir / "twins-mnt") as mount:
        yield twins[0], mount


def listed(pack):
    entries = map(json.loads, run(FOLDPACK, "list", "--json", pack).out.splitlines())
    return {os.fsencode(entry.pop("path")): entry for entry in entries}


# --- the pack -----------------------------------------------------------------------------


def test_the_pack_is_smaller_by_what_is_there_twice(twins):
    once, each = info(twins[1]), info(twins[2])
    assert each["pack_bytes"] - once["pack_bytes"] > 0.97 * SAVED
    assert (once["deduped"], once["deduped_bytes"]) == (len(SHARED), SAVED)
    assert (each["deduped"], each["deduped_bytes"]) == (0, 0)
    assert once["overhead_percent"] < 0 < each["overhead_percent"]
    said = run(FOLDPACK, "info", twins[1]).out
    assert "% less than its files)" in said
    assert "deduplicated   5 files, 2.32 MiB, with bytes that are stored for others" in said


def test_in_all_else_info_and_list_say_the_same(twins):
    once, each = info(twins[1]), info(twins[2])
    for name in ("id", "content_id", "files", "bytes", "directories", "symlinks", "hardlinks",
                 "images"):
        assert once[name] == each[name], name
    assert run(FOLDPACK, "list", "-l", twins[1]).out == run(FOLDPACK, "list", "-l", twins[2]).out
    entries = listed(twins[1])
    same = {path: entry.pop("same_as") for path, entry in entries.items() if "same_as" in entry}
    assert set(same) == SHARED
    assert set(same.values()) == {"a/first", "a/movie", "a/513"}
    assert entries == listed(twins[2])


@pytest.mark.parametrize("jobs", ["-j1", "-j64"])
def test_the_first_in_the_order_of_packing_has_the_bytes(twins, place, jobs):
    done = run(FOLDPACK, "create", "--json", "--dedup", jobs, twins[0], place / "pack")
    assert json.loads(done.out)["deduped"] == len(SHARED)
    assert "5 files have the bytes of others, which saves 2.32 MiB" in done.err
    assert (place / "pack").read_bytes() == twins[1].read_bytes()
    (place / "order").write_text(f"c/{'n' * 250}\n")
    foldfs.pack(twins[0], place / "other", "--dedup", jobs, f"--order=list:{place / 'order'}")
    assert listed(place / "other")[b"a/first"]["same_as"] == "c/" + "n" * 250
    assert info(place / "other")["id"] == info(twins[1])["id"]
    run(FOLDPACK, "verify", place / "other")


def test_without_equal_files_a_pack_needs_no_newer_reader(small, place):
    """But for the option itself it is the pack that it would be without."""
    with_option = info(foldfs.pack(small[0], place / "pack", "--dedup"))
    without = info(small[1])
    assert with_option.pop("options") == "dedup=yes\n" and without.pop("options") == ""
    for facts in with_option, without:
        facts.pop("path")
    assert with_option == without


def test_everything_that_a_filesystem_may_hold_can_be_there_twice(hostile, place):
    (place / "src").mkdir()
    for name in "one", "two":
        shutil.copytree(hostile[0], place / "src" / name, symlinks=True)
    pack = foldfs.pack(place / "src", place / "pack", "--dedup")
    assert info(pack)["deduped_bytes"] > 0.9 * info(hostile[1])["bytes"]
    run(FOLDPACK, "verify", pack)
    run(FOLDPACK, "extract", "-q", pack, place / "again")
    run("diff", "-r", "--no-dereference", place / "src", place / "again")


def test_extracted_copies_are_files_of_their_own(twins, place):
    run(FOLDPACK, "extract", "-q", twins[1], place / "again", umask=0)
    assert trees.state(place / "again") == trees.state(twins[0])
    run(FOLDPACK, "extract", "-q", twins[1], place / "one", "c")
    run("diff", "-r", twins[0] / "c", place / "one" / "c")


def test_cat_writes_the_bytes_of_a_copy(twins):
    assert run(FOLDPACK, "cat", twins[1], "a/second").stdout == PHOTO
    assert run(FOLDPACK, "cat", twins[1], "linked to a copy").stdout == PHOTO


def test_lmdb_readers_find_the_path_of_the_bytes(twins):
    lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")
    with lmdb.open(os.fspath(twins[1]), subdir=False, readonly=True, lock=False) as env:
        with env.begin() as txn:
            assert txn.get(b"a/first") == PHOTO
            for path in b"a/second", b"b/deep/er/third", b"linked to a copy":
                assert txn.get(path) == b"\0foldfs-link\na/first"


# --- damage -------------------------------------------------------------------------------


@pytest.fixture
def damaged(twins, place):
    """The deduplicated pack with a bad byte in the last extent of the movie."""
    data = bytearray(twins[1].read_bytes())
    data[data.index(MOVIE[-60:]) + 7] ^= 1
    (place / "pack").write_bytes(data)
    return place / "pack"


def test_verify_names_each_file_that_has_the_damaged_bytes(damaged):
    said = run(FOLDPACK, "verify", damaged, status=3).stdout
    fault = b": checksum: bytes 2097152-2097228 do not match their checksum\n"
    assert said == b"a/movie" + fault + b"c/movie \xff" + fault


def test_verify_names_all_of_many_copies_and_of_all_their_extents(place):
    """They are read at once, though they are more than what is read at once of other files."""
    marks = [os.urandom(64) for _ in range(4)]
    (place / "src").mkdir()
    for number in range(70):
        with open(place / "src" / f"{number:02}", "wb") as file:
            for at, mark in enumerate(marks):
                file.seek(at * MIB)
                file.write(mark)
            file.truncate(3 * MIB + MIB // 2)
    data = bytearray(foldfs.pack(place / "src", place / "pack", "--dedup").read_bytes())
    for mark in marks:
        data[data.index(mark)] ^= 1
    (place / "damaged").write_bytes(data)
    for jobs in "1", "2":
        said = run(FOLDPACK, "verify", "-j", jobs, place / "damaged", status=3).stdout
        assert [line.split(b":")[0].decode() for line in said.splitlines()] == \
            [f"{number:02}" for number in range(70)]


def test_reads_of_damaged_bytes_fail_in_each_of_the_files(damaged, twins, mount):
    mounted = mount(damaged)
    for path in b"a/movie", b"c/movie \xff":
        with open(os.path.join(os.fsencode(mounted), path), "rb") as file:
            assert file.read(2 * MIB) == MOVIE[:2 * MIB]
            with pytest.raises(OSError) as raised:
                file.read()
            assert raised.value.errno == errno.EIO
    assert mounted.stats()["bad_files"] == 2
    assert (mounted / "a/second").read_bytes() == PHOTO


# --- the mount ----------------------------------------------------------------------------


def test_the_mount_cannot_be_told_from_the_folder(both):
    source, mount = both
    assert trees.state(mount) == trees.state(source)
    run("diff", "-r", "--no-dereference", source, mount)
    stats = mount.stats()
    assert (stats["pack"]["files"], stats["bad_files"]) == (info(mount.pack)["files"], 0)


@pytest.mark.parametrize("options", ["cache=pool,pool=8M", "cache=pool,pool=8M,io=buffered",
                                     "cache=kernel,preload", "readahead=0"])
def test_copies_are_read_in_any_order_by_whatever_way(twins, mount, options):
    mounted = mount(twins[1], "-o", options)
    want, paths = trees.content(twins[0]), trees.files(twins[0])
    for seed in range(4):
        random.Random(seed).shuffle(paths)
        for path in paths:
            assert trees.digest(os.path.join(os.fsencode(mounted), path)) == want[path][1]
