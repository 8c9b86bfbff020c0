"""Damaged packs, as the programs see them: the message, the way out and the status of each sort of
damage, and random damage. Each field is in tests/unit/: test_index.c, test_walker.c, test_damage.c,
test_format.c."""

import os
import random
import shutil

import pytest

import foldfs
import trees
from fields import PAGE, Fields
from foldfs import FOLDFS, FOLDPACK, MIB, run

RANDOM, SOAKED, MOUNTED = 20, 1000, 5  # damages; one in so many is mounted, too


def make_many(root):
    """Enough names for a branch page; and a file, links and a folder of each kind."""
    for number in range(120):
        trees.write(root / f"file {number:03}", trees.noise(number, 100 + 37 * number))
    trees.write(root / "large", trees.noise(1, MIB + 5000))
    (root / "folder").mkdir()
    trees.write(root / "folder/empty")
    os.symlink("../large", root / "folder/link")
    os.link(root / "large", root / "folder/large too")


@pytest.fixture(scope="session")
def many(session_dir):
    return trees.packed(session_dir / "many", make_many)


@pytest.fixture
def own(many, place):
    return shutil.copy(many[1], place / "own.lmdb")


# --- by name ----------------------------------------------------------------------------------

AGAIN = 3, "; copy it again from an intact copy, or make it again"
RELEASE = 1, "; use the release that made it, or pack the folder again"
NO_PACK = 1, "; 'foldpack create' makes packs"
DAMAGED = "damaged superblock: checksum mismatch"

# What becomes of a field, whether checksums are right again, what is said of it, the way out
FIELDS = [
    ("super.magic", 1, True, "damaged superblock: bad magic", AGAIN),
    ("super.version", 2, True, "pack format version 2; this foldfs reads version 1", RELEASE),
    ("super.incompat", 1 << 63, True,
     "the pack uses feature bits 0x8000000000000000 that this foldfs does not know", RELEASE),
    ("super.entries", 7, False, DAMAGED, AGAIN),
    ("super.size.width", 7, False, DAMAGED, AGAIN),
    ("targets[1]", 0, False, "damaged index: checksum mismatch in section targets", AGAIN),
    ("parent[1]", 1, True, "damaged index: entry 1", AGAIN),
    ("meta.magic", 7, False, "not an LMDB file, nor of another format that is known", NO_PACK),
    ("meta.version", 2, False, "LMDB data format 2, only 1 is supported", RELEASE),
    ("meta.db-flags", 4, False,
     "database flags 0x4, only plain keys with one value each are read", RELEASE),
    # The older one counts then, whose pages are no longer there.
    ("meta.root", 1 << 63, False, "page 2: says it is page 0", AGAIN),
    ("meta.records", 140, False, "139 entries, 140 expected by the meta page", AGAIN),
]


@pytest.mark.parametrize(("field", "value", "sealed", "sentence", "end"), FIELDS)
def test_a_field_that_is_wrong_is_said_with_the_way_out(own, field, value, sealed, sentence, end):
    Fields(own, sealed)[field] = value
    status, way_out = end
    for program in ([FOLDPACK, "verify", own], [FOLDFS, own, own.parent]):
        done = run(*program, status=status)
        assert (done.out, done.err) == \
            ("", f"{program[0].name}: {own}: {sentence}{way_out}\n"), program


def test_verify_finds_all_sections_that_only_some_need(own):
    fields, sections = Fields(own), ["sums", "mode", "mtime", "image", "width", "height"]
    for section in sections:
        fields[f"{section}[1]"] ^= 1
    assert run(FOLDPACK, "verify", own, status=3).out == "".join(
        f"\\0foldfs.{section}: index: damaged index: checksum mismatch in section {section}\n"
        for section in sections)


@pytest.mark.parametrize("field", ["files", "directories", "symlinks", "hardlinks", "bytes",
                                   "content-id"])
def test_fields_that_only_verify_compares(own, field):
    Fields(own, sealed=True)[f"super.{field}"] = 7
    said = "content id is not that of its files" if field == "content-id" else \
        "counts are not those of its entries"
    assert run(FOLDPACK, "verify", own, status=3).out == f"\\0foldfs: index: its {said}\n"


# --- random -----------------------------------------------------------------------------------


def damage_anything(chance, path):
    """Bits flipped, bytes and pages overwritten, pages swapped, an end that is missing. Whether all
    of that was where nothing is kept cannot be told here: see tests/unit/test_damage.c."""
    data = bytearray(path.read_bytes())
    kind, pages = chance.randrange(5), len(data) // PAGE
    if kind == 0:
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == 1:  # the headers of pages, where LMDB keeps its tree
        data[PAGE * chance.randrange(pages) + chance.randrange(64)] = chance.randrange(256)
    elif kind == 2:
        at, size = chance.randrange(len(data)), chance.randrange(1, 3 * PAGE)
        data[at:at + size] = bytes(min(size, len(data) - at))
    elif kind == 3:
        a, b = (PAGE * chance.randrange(pages) for _ in range(2))
        data[a:a + PAGE], data[b:b + PAGE] = data[b:b + PAGE], data[a:a + PAGE]
    else:
        del data[chance.choice([PAGE * chance.randrange(pages), chance.randrange(len(data))]):]
    path.write_bytes(data)


def differing(good, root):
    """Paths below the root whose bytes or targets are wrong; what is missing is not wrong."""
    wrong = []
    for path in trees.paths(root):
        whole = os.path.join(os.fsencode(root), path)
        try:
            have = os.readlink(whole) if os.path.islink(whole) else \
                None if os.path.isdir(whole) else trees.digest(whole)
        except OSError:
            continue
        if good.get(path, (0, ""))[1] != have:
            wrong.append(path)
    return wrong


def expect_no_wrong_byte(good, pack, place, chance, damage):
    status = run(FOLDPACK, "verify", pack, status=None).returncode
    assert status in (0, 1, 3), damage
    again = place / "again"
    extracted = run(FOLDPACK, "extract", pack, again, status=None).returncode
    assert extracted in (0, 1, 3), damage
    assert extracted == 0 or status != 0, f"{damage}: verify has found nothing"
    if again.exists():
        assert not differing(good, again), damage
        assert status != 0 or trees.content(again) == good, damage
        shutil.rmtree(again)
    if chance.randrange(MOUNTED) == 0:
        expect_no_wrong_byte_in_a_mount(good, pack, place / "mnt", damage)


def expect_no_wrong_byte_in_a_mount(good, pack, point, damage):
    point.mkdir(exist_ok=True)
    if run(FOLDFS, "-q", pack, point, status=None).returncode != 0:
        return
    daemon = foldfs.daemon_of(point)
    try:
        assert not differing(good, point), damage
    finally:
        foldfs.unmount(point)
    assert foldfs.wait_for(daemon) == 0, damage


@pytest.mark.parametrize("count", [RANDOM, pytest.param(SOAKED, marks=pytest.mark.slow)])
def test_random_damage_is_harmless_or_an_error(many, place, count):
    good, own = trees.content(many[0]), place / "own.lmdb"
    for seed in range(count):
        chance = random.Random(seed)
        shutil.copyfile(many[1], own)
        damage_anything(chance, own)
        expect_no_wrong_byte(good, own, place, chance, f"seed {seed}")
