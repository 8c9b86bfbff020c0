"""A delta has what a folder has and an older pack of it has not (foldpack create --since): mounted
together they are the folder as it is now, and one pack of both is the pack of the folder."""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import time

import pytest

import foldfs
import trees
from fields import Fields
from foldfs import FOLDFS, FOLDPACK, MIB, info, run
from formats import tfrecord
from server import web  # noqa: F401
from test_shards import shards

def delta(base, source, target, *options):
    """What a summary says of it."""
    base = [base] if isinstance(base, (str, os.PathLike)) else base
    done = run(FOLDPACK, "create", "-q", "--json", *[f"--since={word}" for word in base], *options,
               source, target)
    return json.loads(done.out)


def word(packs, place):
    """One argument that names all of them."""
    (place / "packs").write_text("".join(f"{pack}\n" for pack in packs))
    return f"@{place}/packs"


def are_the_folder(source, packs, place, *options):
    """However they are read, and folded into one pack."""
    point = place / "seen"
    point.mkdir(exist_ok=True)
    with foldfs.mounted(packs[-1], point, *packs[:-1]) as mounted:
        assert trees.state(mounted) == trees.state(source)
    fresh, folded = place / "fresh.lmdb", place / "folded.lmdb"
    run(FOLDPACK, "create", "-q", "--force", *options, source, fresh)
    run(FOLDPACK, "create", "-q", "--force", *options, *packs, folded)
    assert folded.read_bytes() == fresh.read_bytes()
    together = word(packs, place)
    for command in (["list", "-l"], ["list", "-0"]):
        assert run(FOLDPACK, *command, together).out == run(FOLDPACK, *command, fresh).out
    assert info(together)["id"] == info(fresh)["id"]
    assert info(together)["content_id"] == info(fresh)["content_id"]
    run(FOLDPACK, "diff", "-q", "--attributes", source, together)
    run(FOLDPACK, "verify", "-q", *packs)


def touch(path, seconds=1_500000000):
    os.utime(path, ns=(0, seconds * 10**9 + 7), follow_symlinks=False)


def make_tree(root):
    for folder in ("a", "a-b", "b/deep/er", "gone"):
        for name in ("1", "2", "3.jpg", "z"):
            trees.write(root / folder / name, trees.noise(f"{folder}{name}", 3000))
    trees.write(root / "empty file")
    trees.write(root / "large", trees.noise(1, 2 * MIB + 5))
    (root / "empty").mkdir()
    os.symlink("a/1", root / "link")
    os.symlink("gone/1", root / "other link")
    os.link(root / "a/1", root / "b/linked")
    os.link(root / "a/2", root / "b/linked too")
    for path in root.rglob("*"):
        touch(path)


def change_tree(root):
    trees.write(root / "a/1", b"changed, and with another name")
    trees.write(root / "a-b/1", trees.noise("changed", 3000))
    os.chmod(root / "a/3.jpg", 0o600)
    os.chmod(root / "b", 0o700)
    touch(root / "a/z", 1_600000000)
    shutil.rmtree(root / "gone")
    trees.write(root / "gone", b"a file now")
    (root / "a-b/2").unlink()
    trees.write(root / "a-b/2/inside", b"a folder now")
    (root / "empty").rmdir()
    os.makedirs(root / "new/empty")
    trees.write(root / "new/file", b"new")
    (root / "link").unlink()
    os.symlink("a/2", root / "link")
    (root / "b/linked too").unlink()
    trees.write(root / "b/linked too", trees.noise("a2", 3000))
    os.link(root / "b/deep/er/2", root / "linked now")
    (root / "b/deep/er/3.jpg").rename(root / "renamed.jpg")


@pytest.fixture
def changed(place):
    """(folder, pack of what it was)"""
    source = place / "source"
    source.mkdir()
    make_tree(source)
    old = foldfs.pack(source, place / "old.lmdb")
    change_tree(source)
    return source, old


def test_a_delta_and_its_base_are_the_folder_as_it_is_now(changed, place):
    source, old = changed
    said = delta(old, source, place / "delta.lmdb")
    assert said["based"] == 9  # the others are new or changed, in content or in time
    assert said["id"] == info(place / "delta.lmdb")["id"]
    are_the_folder(source, [old, place / "delta.lmdb"], place)
    assert (place / "delta.lmdb").stat().st_size < old.stat().st_size / 8


def test_a_delta_of_anything_that_a_filesystem_may_hold(hostile, place):
    delta(hostile[1], hostile[0], place / "same.lmdb")
    are_the_folder(hostile[0], [hostile[1], place / "same.lmdb"], place)
    (place / "none").mkdir()
    empty = foldfs.pack(place / "none", place / "none.lmdb")
    assert delta(empty, hostile[0], place / "all.lmdb")["based"] == 0
    are_the_folder(hostile[0], [empty, place / "all.lmdb"], place)
    delta(hostile[1], place / "none", place / "gone.lmdb")
    are_the_folder(place / "none", [hostile[1], place / "gone.lmdb"], place)


def test_with_dedup_what_was_renamed_costs_no_bytes(images, place):
    source = place / "source"
    shutil.copytree(images[0], source)
    old = foldfs.pack(source, place / "old.lmdb")
    for folder in sorted(path for path in source.rglob("*") if path.is_dir())[1:3]:
        folder.rename(folder.with_name(f"new {folder.name}"))
    said = delta(old, source, place / "delta.lmdb", "--dedup")
    assert said["based"] == said["files"] and said["deduped"] == 0
    are_the_folder(source, [old, place / "delta.lmdb"], place)
    are_the_folder(source, [old, place / "delta.lmdb"], place, "--dedup")


def test_by_checksum_only_bytes_count(changed, place):
    source, old = changed
    for path in source.rglob("*"):
        touch(path, 1_700000000)
    trees.write(source / "a/2", trees.noise("a3", 3000))
    touch(source / "a/2")  # as it was, but for its bytes
    said = delta(old, source, place / "delta.lmdb", "--since-checksum")
    assert said["based"] == 10
    are_the_folder(source, [old, place / "delta.lmdb"], place)


@pytest.mark.slow
def test_files_over_1_gib_of_the_base(place):
    source = place / "source"
    trees.write(source / "middle", trees.noise(1, 70 * MIB))
    with open(trees.write(source / "large"), "wb") as file:
        for part in range(18):
            file.seek(64 * MIB * part)
            file.write(trees.noise(part, MIB))
        file.truncate(64 * 18 * MIB + 5)
    old = foldfs.pack(source, place / "old.lmdb")
    trees.write(source / "new", b"new")
    delta(old, source, place / "first.lmdb")
    (source / "large").rename(source / "renamed")
    (source / "middle").rename(source / "also renamed")
    said = delta([old, place / "first.lmdb"], source, place / "second.lmdb", "--dedup")
    assert said["based"] == 3
    are_the_folder(source, [old, place / "first.lmdb", place / "second.lmdb"], place)


# --- bases ----------------------------------------------------------------------------------------


def test_a_delta_of_a_set_of_shards_fits_whatever_makes_the_same_tree(place):
    source = place / "source"
    trees.write(source / "empty/x")
    (source / "empty/x").unlink()
    for number in range(40):
        trees.write(source / f"{number % 4}" / f"{number}.jpg", trees.noise(number, 90_000))
    before = foldfs.pack(source, place / "one.lmdb")
    three = shards(source, place / "set.lmdb", "2M")
    more = shards(source, place / "cut.lmdb", "1M")
    assert len(more) > len(three) > 1
    (source / "1/1.jpg").unlink()
    trees.write(source / "4/new.jpg", b"new")
    delta(f"{place}/set-*.lmdb", source, place / "delta.lmdb")
    for base in three, three[::-1], [before], more:
        are_the_folder(source, [*base, place / "delta.lmdb"], place)


def test_in_a_folder_of_the_mount_and_of_some_files(changed, small, place, point):
    source, old = changed
    delta(old, source, place / "delta.lmdb")
    words = [f"below/={old}", f"other/={small[1]}", f"below/={place}/delta.lmdb"]
    with foldfs.mounted(words[-1], point, *words[:-1]) as mounted:
        assert trees.state(mounted.path / "below") == trees.state(source)
        assert trees.content(mounted.path / "other") == trees.content(small[0])
    with foldfs.mounted(place / "delta.lmdb", point, old, "--select=*.jpg") as mounted:
        assert (mounted.path / "renamed.jpg").read_bytes() == (source / "renamed.jpg").read_bytes()
        assert not (mounted.path / "large").exists()


@pytest.mark.parametrize("folders", [["train"], ["train", "val"]])
def test_since_packs_that_go_into_folders(place, point, folders):
    source, packs = place / "source", []
    for folder in folders:
        trees.write(source / folder / "a/1", trees.noise(folder, 3000))
        packs.append(f"{folder}/={foldfs.pack(source / folder, place / f'{folder}.lmdb')}")
        trees.write(source / folder / "a/new", b"new")
    changed = place / "delta.lmdb"
    assert delta(packs, source, changed)["based"] == len(folders)
    with foldfs.mounted(changed, point, *packs) as mounted:
        assert trees.state(mounted) == trees.state(source)
    run(FOLDPACK, "create", "-q", *packs, changed, place / "folded.lmdb")
    fresh = foldfs.pack(source, place / "fresh.lmdb")
    assert (place / "folded.lmdb").read_bytes() == fresh.read_bytes()


@foldfs.needs("mdb_copy")
def test_pages_that_another_tool_moved(changed, place):
    source, old = changed
    delta(old, source, place / "delta.lmdb")
    moved = [place / "moved old.lmdb", place / "moved delta.lmdb"]
    for pack, to in zip([old, place / "delta.lmdb"], moved):
        run("mdb_copy", "-c", "-n", pack, to)
    with foldfs.mounted(moved[1], place / "seen", moved[0], "--mkdir") as mounted:
        assert trees.state(mounted) == trees.state(source)


def test_a_url_is_asked_for_its_index_only(changed, place, web):
    source, old = changed
    trees.write(source / "more", trees.noise(5, 5 * MIB))
    old.rename(web.folder / "old.lmdb")
    delta(web.url("old.lmdb"), source, web.folder / "delta.lmdb")
    asked = web.asked()
    assert len(asked) <= 10, asked
    with foldfs.mounted(web.url("delta.lmdb"), place / "seen", web.url("old.lmdb"),
                        "--mkdir") as mounted:
        assert trees.state(mounted) == trees.state(source)
    cache = f"--cache-dir={place}/cache,64M"
    run(FOLDPACK, "fetch", "-q", cache, web.url("old.lmdb"), web.url("delta.lmdb"))
    with foldfs.mounted(web.url("delta.lmdb"), place / "seen", web.url("old.lmdb"), cache,
                        "--mkdir") as mounted:
        asked = len(web.asked())
        assert trees.state(mounted) == trees.state(source)
        assert len(web.asked()) == asked


def test_diff_says_what_a_delta_changes(changed, place):
    source, old = changed
    delta(old, source, place / "delta.lmdb", "--dedup")
    done = run(FOLDPACK, "diff", "-q", old, place / "delta.lmdb", status=1)
    new = f"{place}/delta.lmdb"
    assert done.out.splitlines() == [
        f"Files {old}/a/1 and {new}/a/1 differ", f"Files {old}/a-b/1 and {new}/a-b/1 differ",
        f"File {old}/a-b/2 is a regular file while file {new}/a-b/2 is a directory",
        f"Only in {old}/b/deep/er: 3.jpg", f"Files {old}/b/linked and {new}/b/linked differ",
        f"Only in {old}: empty", f"File {old}/gone is a directory while file {new}/gone is a "
        "regular file", f"Symbolic links {old}/link and {new}/link differ",
        f"Only in {new}: linked now", f"Only in {new}: new", f"Only in {new}: renamed.jpg"]
    said = json.loads(run(FOLDPACK, "diff", "--json", "--attributes", old, new, status=1).out)
    assert {"path": "a/3.jpg", "difference": "mode"} in said["differences"]
    assert {"path": "empty", "difference": "only-in-old"} in said["differences"]
    together = word([old, new], place)
    assert run(FOLDPACK, "diff", "-q", old, together, status=1).out.count("\n") == 11
    run(FOLDPACK, "diff", "-q", together, foldfs.pack(source, place / "fresh.lmdb"))
    run(FOLDPACK, "diff", "-q", place / "delta.lmdb", place / "fresh.lmdb")
    trees.write(source / "newer", b"newer")
    delta([old, place / "delta.lmdb"], source, place / "second.lmdb")
    for words, count in ((old, place / "second.lmdb"), 12), ((new, place / "second.lmdb"), 1), \
            ((place / "second.lmdb", old), 12):
        assert run(FOLDPACK, "diff", "-q", *words, status=1).out.count("\n") == count
    assert "a delta since the id" in run(FOLDPACK, "diff", source, new, status=1).err
    run("tar", "-cf", place / "x.tar", "-C", source, ".")
    assert "without checksums" in run(FOLDPACK, "diff", old, place / "x.tar", status=1).err


# --- refused --------------------------------------------------------------------------------------


def refused(*command, status=1):
    done = run(*command, status=status)
    assert done.out == ""
    return done.err


def test_without_its_base_or_out_of_order_a_delta_is_refused(changed, small, place, point):
    source, old = changed
    first, second = place / "first.lmdb", place / "second.lmdb"
    delta(old, source, first)
    trees.write(source / "newer", b"newer")
    delta([old, first], source, second)
    ids = {pack: info(pack)["id"] for pack in (old, first, second, small[1])}
    way_out = ("; name right before it, oldest first, the packs that it was made since: 'foldpack "
               "info' shows the id of each\n")
    for words, name, since, instead in (
            ([first], first, old, ", without that"),
            ([small[1], first], first, old, f", but before it comes {ids[small[1]]}"),
            ([first, old], first, old, ", without that"),
            ([old, second], second, first, f", but before it comes {ids[old]}"),
            ([old, second, first], second, first, f", but before it comes {ids[old]}")):
        said = refused(FOLDFS, *words, point)
        assert said == (f"foldfs: {name}: a delta since the id {ids[since]}{instead}"
                        f"{way_out}")
    assert refused(FOLDFS, old, first, old, point) == (
        f"foldfs: {old} and {old} are the same pack: leave one out\n")
    for command in (["create", first, place / "no.lmdb"], ["list", first], ["report", first, "-o",
                    place / "no.html"], ["extract", first, place / "no"], ["cat", first, "newer"],
                    ["export", "--format=webdataset", first, place / "no"]):
        assert "a delta since the id" in refused(FOLDPACK, *command)
    assert info(first)["based"] == 9


def test_out_of_order_is_refused_whatever_was_changed(place, point):
    source = place / "source"
    for name in "abcd":
        touch(trees.write(source / name, b"the same"))
    packs = [foldfs.pack(source, place / "0.lmdb")]
    for edit_it in (lambda: os.chmod(source / "a", 0o600), lambda: touch(source / "a", 1),
                    lambda: ((source / "b").unlink(), os.link(source / "a", source / "b"))):
        edit_it()
        packs.append(place / f"{len(packs)}.lmdb")
        delta(packs[:-1], source, packs[-1])
    are_the_folder(source, packs, place)
    for words in ((0, 2), (0, 1, 3), (0, 2, 1, 3), (0, 1, 2, 1), (0, 1, 3, 2)):
        said = refused(FOLDFS, *[packs[number] for number in words], point)
        assert "a delta since the id" in said and "but before it comes" in said


def test_a_delta_is_compared_with_the_base_that_is_named_before_it(changed, small, place):
    source, old = changed
    first, second = place / "first.lmdb", place / "second.lmdb"
    delta(old, source, first)
    trees.write(source / "newer", b"newer")
    delta([old, first], source, second)
    alone = run(FOLDPACK, "verify", second).err
    assert alone.endswith(": all good; name its base before it to compare both\n")
    for words in [old, first, second], [old, small[1], first, small[1], second]:
        assert run(FOLDPACK, "verify", *words).err.count(": all good, with its base\n") == 2
    said = run(FOLDPACK, "verify", "-q", small[1], second, status=1).err
    assert said == (f"foldpack: {second}: a delta since the id {info(first)['id']}, but before it "
                    f"comes {info(small[1])['id']}\n")
    os.chmod(old, 0o644)
    Fields(old, sealed=True)["sums[0]"] = 7  # it says that it is the right one
    done = run(FOLDPACK, "verify", "--json", old, first, status=3)
    assert json.loads(done.out.splitlines()[1])["bad"] == [
        {"path": "large", "damage": "wrong-base", "text": "its base has other bytes for it"}]


def test_a_signed_url_is_whole_when_a_base_is_opened_again(changed, place, web):
    source, old = changed
    old.rename(web.folder / "old.lmdb")
    signed = web.url("old.lmdb?signature=7")
    delta(signed, source, place / "delta.lmdb")
    done = run(FOLDPACK, "verify", signed, place / "delta.lmdb")
    assert done.err.endswith(", with its base\n") and "signature" not in done.err
    assert {path for _, path, *_ in web.asked()} == {"/old.lmdb?signature=7"}


def test_a_set_is_compared_with_its_delta(place):
    source = place / "source"
    for number in range(40):
        trees.write(source / f"{number}.jpg", trees.noise(number, 90_000))
    shards(source, place / "set.lmdb", "2M")
    trees.write(source / "new.jpg", b"new")
    delta(f"{place}/set-*.lmdb", source, place / "delta.lmdb")
    done = run(FOLDPACK, "verify", f"{place}/set-*.lmdb", place / "delta.lmdb")
    assert done.err.endswith("all good, with its base\n")
    trees.write(source / "new.jpg", b"changed")
    other = foldfs.pack(source, place / "other.lmdb")
    trees.write(source / "new.jpg", b"changed once more")
    another = foldfs.pack(source, place / "another.lmdb")
    done = run(FOLDPACK, "verify", other, another, place / "delta.lmdb", status=1)
    assert "delta.lmdb: a delta: the packs before it are not its base\n" in done.err


def test_labels_that_a_folder_does_not_have_are_said_to_be_gone(place):
    for labels, gone in ((0, 2), True), ((0, 1), False):
        source = tfrecord.write(place / "x.tfrecord", [
            {"image": b"\xff\xd8\xff" + trees.noise(label, 99), "label": label}
            for label in labels])
        run(FOLDPACK, "create", "-q", "--force", source, place / "old.lmdb")
        run(FOLDPACK, "extract", "-q", place / "old.lmdb", place / f"{gone}")
        said = run(FOLDPACK, "create", "--force", f"--since={place}/old.lmdb", place / f"{gone}",
                   place / "new.lmdb").err
        assert ("has labels that are not the numbers of ImageFolder" in said) == gone


def test_what_a_delta_cannot_be_made_of_is_refused(changed, images, place):
    source, old = changed
    create = [FOLDPACK, "create", "-q"]
    pack = place / "delta.lmdb"
    assert "--since-checksum" in refused(*create, "--since-checksum", source, pack, status=2)
    for option in ("--resize=64", "--optimize", "--shard-size=4M", "--part=0/2"):
        refused(*create, f"--since={old}", option, source, pack, status=2)
    refused(*create, f"--since={old}", old, pack, status=2)
    small = foldfs.pack(images[0], place / "small.lmdb", "--resize=8")
    assert "made with resize=8" in refused(*create, f"--since={small}", images[0], pack)
    assert "choose another name" in refused(*create, "--force", f"--since={old}", source, old)
    assert not pack.exists()
    run("tar", "-cf", place / "x.tar", "-C", source, ".")
    assert "no pack" in refused(*create, f"--since={place}/x.tar", source, pack)


def test_damage_of_a_delta_is_found(changed, place, point):
    source, old = changed
    delta(old, source, place / "delta.lmdb")
    kinds = Fields(place / "delta.lmdb")
    based = next(e for e in range(50) if kinds[f"kind[{e}]"] == 7)
    for field, value, status, text in (
            (f"start[{based}]", 1 << 20, 3, f"damaged index: entry {based} is not in the base"),
            (f"start[{based}]", 0, 3, f"damaged index: entry {based} is not in the base"),
            (f"start[{based}]", 1 << 40, 3, f"damaged index: entry {based}"),
            ("super.incompat", 0, 3, "damaged index: the bytes of files are not in it"),
            ("options[0]", 0x53, 3, "damaged index: a delta that does not name its base"),
            ("options[5]", 0x67, 1, "a delta since the id g")):
        copy = place / "copy.lmdb"
        copy.write_bytes((place / "delta.lmdb").read_bytes())
        Fields(copy, sealed=True)[field] = value
        assert text in refused(FOLDFS, old, copy, point, status=status)
    copy.write_bytes((place / "delta.lmdb").read_bytes())
    at = copy.read_bytes().index(trees.noise("changed", 3000))
    with open(copy, "r+b") as file:
        file.seek(at)
        file.write(b"\0\0\0\0")
    assert "a-b/1: checksum" in run(FOLDPACK, "verify", copy, status=3).out
    with foldfs.mounted(copy, point, old) as mounted:
        with pytest.raises(OSError, match="Input/output error"):
            (mounted.path / "a-b/1").read_bytes()
        assert (mounted.path / "large").read_bytes() == (source / "large").read_bytes()


# --- random changes -------------------------------------------------------------------------------


def edit(chance, root):
    """Some random changes of a folder, however little is left of it."""
    for _ in range(chance.randrange(1, 8)):
        every = [path for path in sorted(root.rglob("*")) if not path.is_symlink()]
        folders = [root, *[path for path in every if path.is_dir()]]
        files = [path for path in every if path.is_file()]
        new = chance.choice(folders) / f"{chance.randrange(40)}"
        kind = chance.randrange(9) if files else 0
        if os.path.lexists(new) and kind in (0, 1, 2, 3, 4):
            continue
        if kind == 0:
            trees.write(new, trees.noise(chance.random(), chance.choice([0, 1, 700, 5000])))
        elif kind == 1:
            new.mkdir()
        elif kind == 2:
            os.symlink(chance.choice(["a", "b/c", "../x"]), new)
        elif kind == 3:
            os.link(chance.choice(files), new)
        elif kind == 4:
            moved = chance.choice(every)
            if moved not in new.parents:
                moved.rename(new)
        elif kind == 5:
            gone = chance.choice(every)
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        elif kind == 6:
            trees.write(chance.choice(files), trees.noise(chance.random(), 700))
        elif kind == 7:
            os.chmod(chance.choice(files), chance.choice([0o600, 0o644, 0o755]))
        else:
            touch(chance.choice(every), chance.randrange(10**9))


@pytest.mark.parametrize("deltas", [
    pytest.param(12, id="few"), pytest.param(1000, id="many", marks=pytest.mark.slow)])
def test_random_changes(place, deltas):
    """Bases are now and then folded, so that chains have any length up to eight."""
    chance, source, packs = foldfs.chance(), place / "source", []
    source.mkdir()
    make_tree(source)
    packs.append(foldfs.pack(source, place / "0.lmdb"))
    for number in range(1, deltas + 1):
        edit(chance, source)
        packs.append(place / f"{number}.lmdb")
        options = chance.choice([[], ["--dedup"], ["--since-checksum"],
                                 ["--dedup", "--since-checksum"]])
        delta(packs[:-1], source, packs[-1], *options)
        are_the_folder(source, packs, place)
        if chance.random() < 0.25:
            folded = place / f"folded {number}.lmdb"
            run(FOLDPACK, "create", "-q", *packs, folded)
            for pack in packs:
                pack.unlink()
            packs = [folded]


@pytest.mark.plain
@foldfs.kills(3)
def test_a_delta_that_was_killed_is_resumed(place, kills):
    """The batches are of 64 MiB, so that there must be some to go on after."""
    source, chance = place / "source", foldfs.chance()
    for number in range(24):
        trees.write(source / f"{number:02d}", trees.noise(number, 100_000))
    old = foldfs.pack(source, place / "old.lmdb")
    (source / "00").rename(source / "renamed")
    for number in range(30):
        trees.write(source / f"new {number:02d}", trees.noise(100 + number, 5 * MIB))
    command = [FOLDPACK, "create", "-q", f"--since={old}", "--dedup", source]
    begun = time.monotonic()
    run(*command, place / "whole.lmdb")
    seconds = time.monotonic() - begun
    pack = place / "killed.lmdb"
    for _ in range(kills):
        with subprocess.Popen([*command, "--resume", pack]) as process:
            time.sleep(chance.uniform(0, seconds))
            process.send_signal(signal.SIGKILL)
        if pack.exists():
            break
    run(*command, "--resume", pack)
    assert pack.read_bytes() == (place / "whole.lmdb").read_bytes()
    run(*command, "--resume", pack)  # finished already
    are_the_folder(source, [old, pack], place)
