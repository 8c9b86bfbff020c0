"""Damaged packs, as the programs see them: each field by its name, with the message and the status
it must give, and random damage. tests/unit/ has more of both: test_damage.c, test_index.c,
test_walker.c."""

import os
import random
import shutil

import pytest

import foldfs
import trees
from fields import PAGE, SECTION, SECTIONS, SUPER, Fields
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

AGAIN = "; copy it again from an intact copy, or make it again"
RELEASE = "; use the release that made it, or pack the folder again"
NO_PACK = "; 'foldpack create' makes packs"
GOOD = None  # nothing needs the field

# What is read of each, and so checked, before anything else.
OF_EVERY_MOUNT = ["names", "name-end", "parent", "kind", "start", "size", "targets"]
OF_SOME = ["sums", "mode", "mtime", "image", "width", "height"]

# Where the newer meta page is no good, the older one counts, whose pages are no longer there.
FALLEN_BACK = "page 2: says it is page 0"

# (field, value): what is said of it
OF_THE_LMDB = {
    ("meta.number", 1): FALLEN_BACK,
    ("meta.flags", 0xffff): FALLEN_BACK,
    ("meta.magic", 7): "not an LMDB file, nor of another format that is known",
    ("meta.version", 2): "LMDB data format 2, only 1 is supported",
    ("meta.page-size", 0): "page 0: page size 0",
    ("meta.page-size", 2048): "page 0: page size 2048",
    ("meta.page-size", 4097): "page 0: page size 4097",
    ("meta.page-size", 131072): "page 0: page size 131072",
    ("meta.db-flags", 4): "database flags 0x4, only plain keys with one value each are read",
    ("meta.depth", 3): "page 5: flags 0x2, a branch page expected",
    ("meta.depth", 33): FALLEN_BACK,
    ("meta.branch", 1 << 63): FALLEN_BACK,
    ("meta.leaf", 1 << 63): FALLEN_BACK,
    ("meta.overflow", 1 << 63): FALLEN_BACK,
    ("meta.records", 140): "139 entries, 140 expected by the meta page",
    ("meta.root", 8): "page 8: flags 0x2, a branch page expected",
    ("meta.root", 1 << 63): FALLEN_BACK,
    ("meta.last", 364): "truncated: 1490944 bytes, 1495040 expected",
    ("meta.txnid", 1 << 63): GOOD,
    ("older.txnid", 1 << 63): FALLEN_BACK,
    ("older.number", 77): GOOD,
    ("older.magic", 77): GOOD,
    ("older.page-size", 77): GOOD,
    ("older.root", 77): GOOD,
    ("root.number", 8): "page 7: says it is page 8",
    ("root.flags", 2): "page 7: flags 0x2, a branch page expected",
    ("root.lower", 55): "page 7: lower 55",
    ("root.lower", 0xffff): "page 7: lower 65535 beyond upper 3796",
    ("root.upper", 3797): "page 7: node 1: offset 3796",
    ("root.upper", 0xffff): "page 7: upper 65535 beyond the page",
    ("root.pointer", 0xffff): "page 7: node 0: offset 65535",
    ("root.node[1].low", 0xffff): "page 7: node 1: child 65535 not within 2 to last page 363",
    ("root.node[1].high", 1): "page 7: node 1: child 65898 not within 2 to last page 363",
    ("root.node[1].flags", 1): "page 7: node 1: child 4294967658 not within 2 to last page 363",
    ("root.node[1].key-size", 0xffff): "page 7: node 1: key of 65535 bytes runs out of the page",
    ("leaf.number", 6): "page 5: says it is page 6",
    ("leaf.flags", 1): "page 5: flags 0x1, a leaf page expected",
    ("leaf.lower", 39): "page 5: lower 39",
    ("leaf.lower", 0xffff): "page 5: lower 65535 beyond upper 848",
    ("leaf.upper", 849): "page 5: node 8: offset 848",
    ("leaf.upper", 0xffff): "page 5: upper 65535 beyond the page",
    ("leaf.pointer", 4073): "page 5: node 0: offset 4073",
    ("leaf.node[1].low", 0xffff): "page 5: node 1: value of 65535 bytes runs out of the page",
    ("leaf.node[1].high", 1): "page 5: node 1: value of 65662 bytes runs out of the page",
    ("leaf.node[1].flags", 1): "page 5: node 1: overflow page 0 not within 2 to last page 363",
    ("leaf.node[1].flags", 2): "page 5: node 1 is a sub-database",
    ("leaf.node[1].flags", 4): "page 5: node 1 has several values",
    ("leaf.node[1].flags", 8): "page 5: node 1: flags 0x8",
    ("leaf.node[1].key-size", 15): "damaged index: section height is missing or cut",
}


def expect(pack, sentence, status=3, way_out=AGAIN):
    """`foldpack verify` and foldfs say the same of it."""
    for program in ([FOLDPACK, "verify", pack], [FOLDFS, pack, pack.parent]):
        done = run(*program, status=status)
        assert (done.out, done.err) == \
            ("", f"{program[0].name}: {pack}: {sentence}{way_out}\n"), program


@pytest.mark.parametrize("field", [name for name in SUPER if name not in ("magic", "version")])
def test_each_field_of_the_superblock(own, field):
    Fields(own)[f"super.{field}"] ^= 1
    expect(own, "damaged superblock: checksum mismatch")


@pytest.mark.parametrize("field", SECTION)
def test_each_field_of_each_section_s_reference(own, many, field):
    for section in SECTIONS:
        shutil.copyfile(many[1], own)
        Fields(own)[f"super.{section}.{field}"] ^= 1
        expect(own, "damaged superblock: checksum mismatch")


def test_what_is_of_another_version_is_no_damage(own, many):
    for field, value, sentence, status, way_out in [
            ("magic", 1, "damaged superblock: bad magic", 3, AGAIN),
            ("version", 2, "pack format version 2; this foldfs reads version 1", 1, RELEASE),
            ("incompat", 1 << 63, "the pack uses feature bits 0x8000000000000000 that this foldfs "
             "does not know", 1, RELEASE)]:
        shutil.copyfile(many[1], own)
        Fields(own)[f"super.{field}"] = value
        expect(own, sentence, status, way_out)


@pytest.mark.parametrize("section", OF_EVERY_MOUNT)
def test_each_section_that_every_mount_needs(own, section):
    Fields(own)[f"{section}[1]"] ^= 1
    expect(own, f"damaged index: checksum mismatch in section {section}")


@pytest.mark.parametrize("section", OF_SOME)
def test_each_section_that_some_need(own, section):
    Fields(own)[f"{section}[1]"] ^= 1
    done = run(FOLDPACK, "verify", own, status=3)
    assert done.out == (f"\\0foldfs.{section}: index: damaged index: checksum mismatch in section "
                        f"{section}\n")


@pytest.mark.parametrize(("field", "value"), OF_THE_LMDB)
def test_each_field_of_the_lmdb(own, field, value):
    fields, sentence = Fields(own), OF_THE_LMDB[field, value]
    assert fields[field] != value
    fields[field] = value
    if sentence is GOOD:
        assert run(FOLDPACK, "verify", own).err.endswith(": all good\n")
        return
    foreign = "magic" in field or "only" in sentence
    expect(own, sentence, 1 if foreign else 3,
           NO_PACK if "magic" in field else RELEASE if foreign else AGAIN)


# With checksums that are right: (field, value): what cannot be.
BY_MEANING = {
    ("super.sections", 14): "damaged superblock: 14 sections, not 15 to 97",
    ("super.entries", 0): "damaged superblock: 0 entries",
    ("super.entries", 127): "damaged superblock: section name-end has a wrong shape",
    ("super.size.width", 3): "damaged superblock: section size has a wrong shape",
    ("super.names.bytes", 1 << 62): "damaged index: section names is missing or cut",
    ("names[1]", 0x2f): "damaged index: a name holds a slash or NUL",
    ("name-end[1]", 0): "damaged index: entry 1",
    ("parent[1]", 1): "damaged index: entry 1",
    ("kind[1]", 9): "damaged index: entry 1",
    ("start[1]", 1 << 63): "damaged index: entry 1",
    ("size[0]", 7): "damaged index: entry 8",
    ("size[1]", 0xffffffff): "damaged index: entry 1",
}
FOUND_BY_VERIFY = {
    ("super.files", 7): "its counts are not those of its entries",
    ("super.directories", 7): "its counts are not those of its entries",
    ("super.symlinks", 7): "its counts are not those of its entries",
    ("super.hardlinks", 7): "its counts are not those of its entries",
    ("super.bytes", 7): "its counts are not those of its entries",
    ("super.content-id", 7): "its content id is not that of its files",
}


@pytest.mark.parametrize(("field", "value"), BY_MEANING)
def test_fields_that_cannot_mean_what_they_say(own, field, value):
    Fields(own, sealed=True)[field] = value
    expect(own, BY_MEANING[field, value])


@pytest.mark.parametrize(("field", "value"), FOUND_BY_VERIFY)
def test_fields_that_only_verify_compares(own, field, value):
    Fields(own, sealed=True)[field] = value
    said = f"\\0foldfs: index: {FOUND_BY_VERIFY[field, value]}\n"
    assert run(FOLDPACK, "verify", own, status=3).out == said


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
