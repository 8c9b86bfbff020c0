"""Packs of other releases and machines: an earlier release's are read, and what a later one may add
is passed over; those with large pages are read, and none are made."""

import json
import lzma
import os
import struct

import pytest

from fields import SECTION_BYTES, SUPER_SECTIONS, Fields
from foldfs import FOLDPACK, MIB, ROOT, needs, pack as pack_folder, run
from trees import content, files, write

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")


def read_everywhere(pack, source, mount):
    """Each way of reading gives the tree of the source."""
    run(FOLDPACK, "verify", pack)
    assert content(mount(pack)) == content(source)
    run(FOLDPACK, "extract", "-q", pack, pack.parent / "out")
    assert content(pack.parent / "out") == content(source)
    listed = run(FOLDPACK, "list", "-0", pack).stdout.split(b"\0")[:-1]
    assert set(files(source)) <= set(listed)
    run(FOLDPACK, "info", pack)
    run(FOLDPACK, "diff", source, pack)


def copy(pack, target, more=()):
    """The records of a pack and more of them in another file, as an LMDB library writes it."""
    with lmdb.open(os.fspath(pack), subdir=False, lock=False, readonly=True) as env, \
            env.begin() as txn:
        records = dict(txn.cursor())
    with lmdb.open(os.fspath(target), subdir=False, lock=False, map_size=1 << 30) as env, \
            env.begin(write=True) as txn:
        for key, value in {**records, **dict(more)}.items():
            txn.put(key, value)
    return target


# --- earlier ones -------------------------------------------------------------------------------

# Made by foldpack create --dedup, from make_earlier(), before packs had a content id.
EARLIER = ROOT / "tests/data/earlier.lmdb.xz"


def make_earlier(root):
    """A folder with every kind of entry, all of whose modes and times are known."""
    root.mkdir()
    for number in range(40):
        folder = root / f"train/n{number % 4:08}"
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{number}.ppm", b"P6 %d 2 255\n" % (number + 1) + bytes(6 * number + 6))
    write(root / "two extents", b"line\n" * (MIB // 5 + 1))
    write(root / "two extents more", b"line\n" * (MIB // 5 + 1))
    write(root / "no bytes", mode=0o600)
    deep = root / ("a" * 200) / ("b" * 200) / ("c" * 200)
    deep.mkdir(parents=True)
    write(deep / "far below", b"a path longer than a key")
    os.link(root / "train/n00000001/1.ppm", root / "another name")
    os.symlink("train/n00000002/2.ppm", root / "symbolic")
    (root / "empty").mkdir(mode=0o755)
    for number, path in enumerate([root, *sorted(root.rglob("*"))]):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, ns=(0, 1_600_000_000_123_456_789 + number % 7 * 10**9),
                 follow_symlinks=False)


@pytest.fixture
def earlier(place):
    """(folder, pack) of an earlier release."""
    make_earlier(place / "earlier")
    (place / "earlier.lmdb").write_bytes(lzma.decompress(EARLIER.read_bytes()))
    return place / "earlier", place / "earlier.lmdb"


def test_an_earlier_pack_is_read_in_every_way(earlier, mount):
    source, pack = earlier
    read_everywhere(pack, source, mount)
    run(FOLDPACK, "diff", "--attributes", source, pack)


def test_an_earlier_pack_has_a_content_id_that_is_not_recorded(earlier, place):
    source, pack = earlier
    now = pack_folder(source, place / "now.lmdb", "--dedup")
    ids = [json.loads(run(FOLDPACK, "info", "--json", made).out) for made in (pack, now)]
    assert ids[0]["content_id"] == ids[1]["content_id"]
    assert ids[0]["id"] == ids[1]["id"]
    note = " (not recorded: found from the index)\n"
    assert ids[0]["content_id"] + note in run(FOLDPACK, "info", pack).out
    assert ids[0]["content_id"] + "\n" in run(FOLDPACK, "info", now).out


def test_packs_of_today_differ_from_earlier_ones_in_the_content_id_only(earlier, place):
    """So that an earlier release reads them as its own."""
    source, pack = earlier
    now = bytearray(pack_folder(source, place / "now.lmdb", "--dedup").read_bytes())
    then = pack.read_bytes()
    top = then.index(b"foldfs\r\n")
    for at, size in (16, 8), (4072, 24):  # compatible features; content id, checksum
        now[top + at:top + at + size] = then[top + at:top + at + size]
    assert now == then


# --- later ones ---------------------------------------------------------------------------------

BEFORE = [b"\0", b"\0\0", b"\0dir.0", b"\0foldf"] + [b"\0dir.%05d" % n for n in range(3000)]
BEHIND = [b"\0foldfs\0", b"\0foldfs.later", b"\0foldfs.names.later", b"\0foldfs-later",
          b"\0part", b"\0part.short", b"\0path.", b"\0zone", b"\0\xff"]


@pytest.mark.parametrize("keys", [BEFORE[:1], BEFORE, BEHIND, BEFORE + BEHIND],
                         ids=["one first", "many first", "behind", "everywhere"])
def test_reserved_keys_of_later_releases_are_passed_over(keys, hostile, place, mount):
    source, pack = hostile
    more = [(key, b"later" * (1 + at % 900)) for at, key in enumerate(keys)]
    read_everywhere(copy(pack, place / "later.lmdb", more=more), source, mount)


def test_kinds_of_images_of_later_releases_are_unknown(images, place, mount):
    source, _ = images
    pack = pack_folder(source, place / "later.lmdb")
    pack.chmod(0o644)
    fields = Fields(pack, sealed=True)
    for row in range(fields["super.entries"]):
        if fields[f"image[{row}]"] == 2:
            fields[f"image[{row}]"] = 255
    read_everywhere(pack, source, mount)
    listed = [json.loads(line) for line in run(FOLDPACK, "list", "--json", pack).out.splitlines()]
    kinds = {entry["path"].rpartition(".")[2]: entry["kind"] for entry in listed
             if not entry["path"].endswith("linked.JPEG")}
    assert kinds == {"JPEG": "JPEG", "PNG": "-"}
    run(FOLDPACK, "report", pack, "-o", place / "page.html")


def test_sections_and_compatible_features_of_later_releases_are_passed_over(images, place, mount):
    source, _ = images
    pack = pack_folder(source, place / "later.lmdb")
    pack.chmod(0o644)
    fields = Fields(pack, sealed=True)
    behind = fields.super + SUPER_SECTIONS + SECTION_BYTES * 15
    fields.data[behind:behind + SECTION_BYTES * 82] = b"laterone" * 5 * 82
    fields["super.sections"] = 97
    fields["super.compat"] = 2**64 - 1
    read_everywhere(pack, source, mount)


# --- other page sizes ---------------------------------------------------------------------------


def empty_lmdb(path, page):
    """As liblmdb begins a file on a machine with pages of this size."""
    meta = struct.pack("<IIQQ", 0xBEEFC0DE, 1, 0, 1 << 30)
    meta += struct.pack("<IHHQQQQQ", page, 0x4008, 0, 0, 0, 0, 0, 2**64 - 1)
    meta += struct.pack("<IHHQQQQQ", 0, 0, 0, 0, 0, 0, 0, 2**64 - 1)
    meta += struct.pack("<QQ", 1, 0)
    pages = [struct.pack("<QHHI", number, 0, 8, 0) + meta for number in (0, 1)]
    path.write_bytes(b"".join(one.ljust(page, b"\0") for one in pages))
    return path


# No more in liblmdb 0.9, also on machines with pages of 64 KiB.
@pytest.mark.parametrize("page", [4096 << shift for shift in range(4)])
def test_packs_of_machines_with_any_page_size_are_read(page, hostile, place, mount):
    source, pack = hostile
    other = copy(pack, empty_lmdb(place / "other.lmdb", page))
    with open(other, "rb") as file:
        file.seek(40)
        assert struct.unpack("<I", file.read(4)) == (page,)
    read_everywhere(other, source, mount)


LARGE_PAGES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

long sysconf(int name)
{
    long (*real)(int) = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");

    return name == _SC_PAGESIZE ? 65536 : real(name);
}
"""


@needs("cc")
def test_a_machine_with_large_pages_makes_the_same_pack(hostile, place):
    source, pack = hostile
    (place / "large.c").write_text(LARGE_PAGES)
    library = place / "large.so"
    run("cc", "-shared", "-fPIC", "-o", library, place / "large.c", "-ldl")
    env = os.environ | {"LD_PRELOAD": os.fspath(library)}
    seen = run("getconf", "PAGESIZE", env=env).out.split()
    assert seen == ["65536"]
    run(FOLDPACK, "create", "-q", source, place / "made.lmdb", env=env)
    assert (place / "made.lmdb").read_bytes() == pack.read_bytes()
