"""Several packs mounted as one folder: what it shows is what one pack of all their files would
show, and nothing is decided that the user has not decided."""

import errno
import json
import os
import shutil
import zlib

import pytest

import foldfs
import oracle
import trees
from foldfs import FOLDFS, FOLDPACK, run
from oracle import Epoch, follow

SHARDS = 3


def pack_of(place, name, files):
    """A pack of these files, by their paths."""
    source = place / f"{name} files"
    for path, data in files.items():
        trees.write(source / path, data)
    return foldfs.pack(source, place / name)


def deal(source, place, count=SHARDS):
    """The tree in `count` packs: each has all folders, and every so manieth file."""

    def others_than(shard):
        def of(folder, names):
            files = sorted(name for name in names if not os.path.isdir(os.path.join(folder, name)))
            first = zlib.crc32(os.fsencode(os.path.relpath(folder, source)))
            return [name for at, name in enumerate(files, first) if at % count != shard]

        return of

    packs = []
    for shard in range(count):
        part = place / f"part {shard}"
        shutil.copytree(source, part, symlinks=True, ignore=others_than(shard),
                        copy_function=os.link)
        packs.append(foldfs.pack(part, place / f"set-{shard}-of-{count}.lmdb"))
        shutil.rmtree(part)
    return packs


def refused(*words, status=1):
    done = run(FOLDFS, *words, status=status)
    assert done.out == ""
    return done.err


# --- one tree -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shards(images, session_dir):
    (session_dir / "union").mkdir()
    return deal(images[0], session_dir / "union")


def test_shards_are_the_folder_that_was_packed(images, shards, mount):
    mounted = mount(shards[-1], *shards[:-1])
    run("diff", "-r", "--no-dereference", images[0], mounted)
    assert mounted.said.startswith(f"foldfs: {shards[0]} and 2 more on ")
    assert trees.content(mounted) == trees.content(images[0])


# --- how packs are named ------------------------------------------------------------------------


def test_braces_globs_and_lists_name_packs(images, shards, place, point):
    folder = shards[0].parent
    (folder / "list").write_text("# the set\n" + "".join(f"{pack.name}\n" for pack in shards))
    for word in (folder / "set-{0..2}-of-3.lmdb", folder / "set-?-of-3.lmdb", f"@{folder}/list"):
        with foldfs.mounted(word, point) as mounted:
            run("diff", "-r", "--no-dereference", images[0], mounted)


def test_an_incomplete_set_is_refused(shards, point, mount):
    said = refused(shards[0], shards[2], point)
    assert "set-1-of-3.lmdb is missing of a set of 3; '--missing=ok' does without" in said
    assert os.listdir(mount(shards[2], shards[0], "--missing=ok")) != []


def test_a_missing_pack_is_named(shards, place, point):
    assert f"{place}/none.lmdb: No such file" in refused(*shards, place / "none.lmdb", point)


# --- what is selected ---------------------------------------------------------------------------


def test_some_classes_and_files_are_selected(shards, place, mount):
    (place / "few").write_text("n00000001\n/n00000002/image 2.JPEG\n")
    mounted = mount(shards[-1], *shards[:-1], f"--select=@{place}/few", "--select=*[05]0.PNG")
    names = set(trees.paths(mounted))
    assert {name for name in names if b"/" not in name} == \
        {b"n00000001", b"n00000002"}
    assert {name for name in names if name.startswith(b"n00000002/")} == \
        {b"n00000002/image 2.JPEG", b"n00000002/image 50.PNG"}
    assert sum(name.startswith(b"n00000001/") for name in names) == 16


def test_a_part_of_one_pack_is_selected(small, mount):
    assert os.listdir(mount(small[1], "--select=folder")) == ["folder"]


# --- what foldpack makes of several packs --------------------------------------------------------


def test_foldpack_reads_several_packs_as_one_folder(images, shards, place):
    word = f"{shards[0].parent}/set-{{0..2}}-of-3.lmdb"
    run(FOLDPACK, "extract", word, place / "out")
    run("diff", "-r", "--no-dereference", images[0], place / "out")
    run(FOLDPACK, "diff", images[0], word)
    run(FOLDPACK, "report", word, "-o", place / "page.html")
    assert run(FOLDPACK, "list", "-0", word).out == run(FOLDPACK, "list", "-0", images[1]).out
    assert run(FOLDPACK, "cat", word, "n00000001/image 1.JPEG").stdout == \
        (images[0] / "n00000001" / "image 1.JPEG").read_bytes()
    assert json.loads(run(FOLDPACK, "info", "--json", word).out)["content_id"] == \
        json.loads(run(FOLDPACK, "info", "--json", images[1]).out)["content_id"]
    assert "older pack" not in run(FOLDPACK, "info", word).out


def test_foldpack_reads_one_of_a_set_but_not_some(shards):
    run(FOLDPACK, "list", shards[1])
    said = run(FOLDPACK, "list", f"{shards[0].parent}/set-[02]-of-3.lmdb", status=1).err
    assert said == "foldpack: set-1-of-3.lmdb is missing of a set of 3\n"


def test_each_of_several_packs_is_verified(shards, place):
    assert run(FOLDPACK, "verify", *shards[:2], shards[2]).err.count("all good") == SHARDS
    for pack in shards:
        shutil.copy(pack, place)
    broken = place / shards[1].name
    data = bytearray(broken.read_bytes())
    data[len(data) // 2] ^= 1
    broken.chmod(0o644)
    broken.write_bytes(data)
    done = run(FOLDPACK, "verify", f"{place}/set-*.lmdb", status=3)
    assert done.err.count("all good") == SHARDS - 1
    assert f"{broken}: 1 path is damaged" in done.err
    found = run(FOLDPACK, "verify", "-q", "--json", f"{place}/set-*.lmdb", status=3).out
    assert [(line["pack"], len(line["bad"])) for line in map(json.loads, found.splitlines())] == \
        [(f"{place}/{pack.name}", int(pack == shards[1])) for pack in shards]


# --- several mounts, stats, faults --------------------------------------------------------------


def test_the_same_packs_mounted_again_use_that_mount(shards, mount, point):
    mounted = mount(shards[-1], *shards[:-1])
    assert "already mounted" in run(FOLDFS, *shards, point).err
    assert "busy" in refused("--select=n00000001", *shards, point)
    assert "busy" in refused(*reversed(shards), point)
    pack = mounted.stats()["pack"]
    assert pack["path"] == f"{os.path.realpath(shards[0])} and 2 more"
    assert pack["files"] == 64


@pytest.mark.parametrize("how, said", [("damage", "'lost' at 0: checksum mismatch"),
                                       ("write", "was written to while mounted")])
def test_only_files_of_the_pack_that_is_at_fault_fail_and_it_is_named(place, mount, how, said):
    a = pack_of(place, "a.lmdb", {"whole": b"w" * 9000})
    b = pack_of(place, "b.lmdb", {"lost": b"b" * 9000})
    b.chmod(0o644)
    if how == "damage":
        b.write_bytes(b.read_bytes().replace(b"b" * 9000, b"b" * 8999 + b"c"))
    mounted = mount(b, a, "-f")
    if how == "write":
        with open(b, "ab") as file:
            file.write(b"more")
    assert (mounted / "whole").read_bytes() == b"w" * 9000
    with pytest.raises(OSError) as failed:
        (mounted / "lost").read_bytes()
    assert failed.value.errno == errno.EIO
    mounted.close()
    assert f"{b}: {said}" in mounted.log()


# --- the oracle ---------------------------------------------------------------------------------

FILES = 2000


class Data(oracle.Data):
    """A dataset in eight packs, whose parts of each class are anywhere."""

    def __init__(self, root, *sizes):
        super().__init__(root, *sizes)
        *others, self.pack = deal(root, root.parent, 8)
        self.options = *self.options, *others


@pytest.fixture(scope="module")
def data(session_dir):
    return Data(session_dir / "dealt", FILES, 0)


@oracle.needs_torch
@pytest.mark.plain
def test_the_order_of_training_is_found_in_eight_packs(data, mounted, start):
    job = start(mounted / "train", "--workers=2", "--batch-size=16", "--seed=42")
    assert follow(mounted, [(job, Epoch(FILES))])["sampler"] == "RandomSampler under seed 42"
    job.finish()
