"""Several files of another format are one set, and two sets are two: what a set shows is what one
file of all its records would show, and files of different splits come in folders of their own."""

import io
import os
import pickle
import shutil
import tarfile

import pytest

import foreign
import trees
from foldfs import FOLDPACK, run
from foreign import make_lmdb, shown
from formats import arrow_ipc, parquet, tfrecord
from labelled import (
    JPEG, MOUNTED, images, number, write_folder2lmdb, write_parquet, write_recordio, write_slim,
    write_tfds, write_torch, write_webdataset)

pytest_plugins = ["hub"]
pytestmark = pytest.mark.plain  # many packs

APART = "several sets by their names, each in a folder of its own: "


def part(write, place, at, of, samples, names):
    """Writes one file of a set, and returns the options that it needs."""
    folder = place / f"part{at}"
    folder.mkdir()
    path, options = write(folder, samples, names)
    stem = f"x-{at:05}-of-{of:05}"
    for made in folder.iterdir():
        if made.stem == path.stem:
            made.rename(place / (stem + made.suffix))
    return options


def set_of(write, place, parts, names=None):
    """The word for the files, and the options that they need."""
    for at, samples in enumerate(parts):
        options = part(write, place, at, len(parts), samples, names)
    suffix = next(p.suffix for p in place.iterdir() if p.stem == "x-00000-of-%05d" % len(parts))
    return f"{place}/x-*{suffix}", options


def classes(word, place, *options):
    """folder -> the images in it, of a pack that is made of it; and what create said."""
    packed = place / f"pack{len(os.listdir(place))}"
    said = run(FOLDPACK, "create", *options, word, packed).err
    run(FOLDPACK, "extract", packed, packed.with_suffix(".tree"))
    found = {}
    for path in trees.files(packed.with_suffix(".tree")):
        path = packed.with_suffix(".tree") / os.fsdecode(path)
        found.setdefault(path.parent.name, set()).add(path.read_bytes())
    return found, said


def exported(word, place, *options):
    """image -> its label, in tars of WebDataset; and the names of the classes."""
    out = place / f"tars{len(os.listdir(place))}"
    run(FOLDPACK, "export", "--format=webdataset", *options, word, out)
    found, keys = {}, {}
    for path in out.parent.glob(out.name + "*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                key, _, suffix = member.name.rpartition(".")
                keys.setdefault(key, {})[suffix] = tar.extractfile(member).read()
    for sample in keys.values():
        image, = (data for suffix, data in sample.items() if suffix != "cls")
        found[image] = sample.get("cls")
    text = out.parent / (out.name + ".classes.txt")
    return found, text.read_text() if text.exists() else None


# --- a set is as one file -------------------------------------------------------------------------

NAMES = ["ant", "bee", "cat", "dog"]
# Labels of each file, and the names of all.
SETS = {
    "none is 0 in the second": ([[0, 1, 2, 3], [1, 2, 3]], NAMES),
    "none is 0 in the first": ([[1, 2, 3], [0, 1, 2]], NAMES),
    "classes of their own": ([[0, 1], [2, 3]], NAMES),
    "not by name": ([[0, 1], [2, 3]], ["bee", "cat", "dog", "ant"]),
    "only the last is not by name": ([[1, 2], [3], [0]], ["zebra", *NAMES[1:]]),
    "one name twice": ([[0, 1], [2, 3]], ["crane", "ox", "crane", "zebra"]),
    "more digits in the second": ([[0, 3], [9999, 10000]], None),
    "numbers": ([[2, 3], [0, 1]], None),
    "one class a file": ([[0], [1], [2], [3]], ["dog", "cat", "bee", "ant"]),
}


def samples_of(labels):
    start = iter(range(1000))
    return [[(JPEG + trees.noise(next(start), 300), label) for label in part for _ in range(2)]
            for part in labels]


def set_and_whole(place, write, kind):
    """A set of files, and one file of all their records: each with the options that it needs."""
    labels, names = SETS[kind]
    parts = samples_of(labels)
    whole = place / "whole"
    whole.mkdir()
    path, listed = write(whole, [sample for part in parts for sample in part], names)
    word, options = set_of(write, place, parts, names)
    return (word, *options), (path, *listed)


def write_text_only(place, samples, names):
    """A label beside a text: whether it counts from 0 or 1, the records show."""
    return tfrecord.write(place / "x.tfrecord", [
        {"image/encoded": data, "image/class/label": label,
         **({"image/class/text": names[label]} if names else {})}
        for data, label in samples]), []


# What files have said of their labels is joined, and exported, in one way: all sets of a few
# formats, and a few of each are enough.
THOROUGH = write_parquet, write_slim, write_text_only
WHOLE = [(write, kind) for write in (*MOUNTED, write_text_only) for kind in SETS
         if write in THOROUGH or kind in ("none is 0 in the second", "not by name",
                                          "one name twice")]


@pytest.mark.parametrize("write, kind", WHOLE, ids=[
    f"{write.__name__[6:]}-{kind.replace(' ', '-')}" for write, kind in WHOLE])
def test_a_set_has_the_classes_of_one_file_of_all_its_records(place, write, kind):
    (word, *options), (path, *listed) = set_and_whole(place, write, kind)
    assert classes(word, place, *options)[0] == classes(path, path.parent, *listed)[0]
    if write in THOROUGH:
        assert exported(word, place, *options) == exported(path, path.parent, *listed)


@pytest.mark.parametrize("option, kind", [
    (f"--{option}", kind) for option in ("class-folders=numbers", "class-folders=names")
    for kind in ("none is 0 in the second", "not by name", "more digits in the second")] + [
        ("--empty-classes", "none is 0 in the second"), ("--empty-classes", "not by name")])
@pytest.mark.parametrize("write", [write_parquet, write_text_only],
                         ids=lambda write: write.__name__[6:])
def test_so_it_is_with_options_of_classes(place, write, kind, option):
    (word, *_), (path, *_) = set_and_whole(place, write, kind)
    assert classes(word, place, option)[0] == classes(path, path.parent, option)[0]


@pytest.mark.parametrize("content, said", [
    (b"", "an empty file, of 0 bytes: copy it again, or leave it out"),
    (bytes(3 << 20), "begins with zeros, as a copy that broke off may: copy it again, or leave it "
                     "out")], ids=["nothing", "zeros"])
@pytest.mark.parametrize("write", [write_parquet, write_webdataset, write_tfds])
def test_a_file_that_was_never_copied_is_named(place, write, content, said):
    word, options = set_of(write, place, samples_of([[0, 2], [1], [0]]), NAMES)
    cut, = place.glob("x-00001-*")
    cut.write_bytes(content)
    for command in (["list"], ["create"]):
        words = [*options, word] + ([place / "p.pack"] if command == ["create"] else [])
        assert f"foldpack: {cut}: {said}\n" in run(FOLDPACK, *command, *words, status=1).err


@pytest.mark.parametrize("write", [write_parquet, write_webdataset])
def test_a_file_of_a_set_may_have_no_image(place, mount, write):
    word, options = set_of(write, place, samples_of([[], [0, 2], [1], []]), NAMES)
    found, said = classes(word, place, *options)
    assert list(map(len, found.values())) == [2, 2, 2]
    assert "none in" not in said
    said = run(FOLDPACK, "list", word, *options).err
    assert "x-00000-of-00004." in said and "2 of 4 files have no image, and are left out" in said
    assert len(shown(mount(word, *options))) == 6
    empty, = place.glob("x-00003-*")
    assert "no image in it" in run(FOLDPACK, "list", empty, status=1).err
    shutil.copy(empty, place / f"y-0{empty.suffix}")
    shutil.copy(empty, place / f"y-1{empty.suffix}")
    assert f"y-0{empty.suffix}: no image in it, nor in the others" in \
        run(FOLDPACK, "list", f"{place}/y-*{empty.suffix}", status=1).err


def test_a_mount_shows_what_a_pack_of_the_set_has(place, mount):
    labels, names = SETS["only the last is not by name"]
    word, _ = set_of(write_text_only, place, samples_of(labels), names)
    run(FOLDPACK, "create", word, place / "p.pack")
    (place / "packed").mkdir()
    assert shown(mount(word)) == shown(mount(place / "p.pack", at=place / "packed"))


def test_files_that_disagree_about_a_class_are_named(place):
    for number, names in enumerate((["ant", "bee"], ["ant", "cat"])):
        parquet.write(place / f"x-{number}.parquet", [
            (data, None, label) for data, label in samples_of([[0, 1]])[0]], names=names)
    said = run(FOLDPACK, "list", f"{place}/x-{{0,1}}.parquet").err
    assert (f"label 1 is 'bee' in {place}/x-0.parquet and 'cat' in {place}/x-1.parquet: they are "
            "classes of their own; 'NAME/=' keeps such files apart") in said


def test_files_that_disagree_about_a_label_are_named(place):
    """As ants and bees are listed the other way round."""
    for number, names in enumerate((["ant", "bee"], ["bee", "ant"])):
        parquet.write(place / f"x-{number}.parquet", [
            (data, None, label) for data, label in samples_of([[0, 1]])[0]], names=names)
    said = run(FOLDPACK, "list", f"{place}/x-{{0,1}}.parquet").err
    assert "label 0 is 'ant' in" in said and "and so it is with" in said


@pytest.mark.parametrize("kind", ["folder", "tar", "pack"])
def test_a_class_beside_one_of_its_name_without_the_number_is_said(place, mount, kind):
    """Photos of one's own, beside a file whose names do not sort as its labels."""
    parts = samples_of([[0, 1], [0]])
    path, _ = write_parquet(place, parts[0], ["zebra", "ant"])
    trees.write(place / "own/zebra/1.jpg", parts[1][0][0])
    own = place / ("own" if kind == "folder" else f"own.{kind}")
    if kind == "tar":
        run("tar", "-cf", own, "-C", place / "own", "zebra")
    elif kind == "pack":
        run(FOLDPACK, "create", place / "own", own)
    want = ("1 of 2 classes, such as '0000_zebra', lie beside another of their name without the "
            "number; --class-folders=names makes one of both")
    assert want in mount(path, own).said
    assert want in classes(path, place, own)[1]
    assert "without the number" not in classes(path, place, own, "--class-folders=names")[1]


def test_files_that_are_kept_apart_do_not_decide_for_each_other(place):
    for number, labels in enumerate(([0, 1], [1, 2])):
        write_text_only(place, samples_of([labels])[0], NAMES)[0].rename(
            place / f"x-{number}.tfrecord")
    run(FOLDPACK, "create", f"a/={place}/x-0.tfrecord", f"b/={place}/x-1.tfrecord",
        place / "p.pack")
    assert {os.path.dirname(line) for line in run(FOLDPACK, "list", place / "p.pack").out.split()
            } == {"a/ant", "a/bee", "b/bee", "b/cat"}


def test_a_label_of_several_classes_is_refused_by_name(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": label} for label in ([0, 1, 0], [1, 1, 0])])
    assert run(FOLDPACK, "list", path, status=1).err == (
        f"foldpack: {path}: record 1: its label is 3 numbers, of which 2 are 1, and so not one "
        "class: --label-key names another, or none\n")


def test_a_class_of_tfrecord_that_is_one_number_of_many_is_its_place(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": label} for label in ([0, 0, 1], [1, 0, 0], [0, 1, 0])])
    listed = run(FOLDPACK, "list", path)
    assert listed.out.split() == ["0000/x-00000001.JPEG", "0001/x-00000002.JPEG",
                                  "0002/x-00000000.JPEG"]
    assert "3 records have a label of several numbers, of which the place of the only 1" \
        in listed.err


# --- names that are made up -----------------------------------------------------------------------


def write_unnamed(place, samples, _):
    return parquet.write(place / "x.parquet", [(data, None, label) for data, label in samples]), []


@pytest.mark.parametrize("write", [write_unnamed, write_tfds, write_recordio],
                         ids=["parquet", "tfrecord", "recordio"])
def test_images_of_files_of_one_name_keep_apart(place, write):
    """As Spark partitions a table."""
    first, second = samples_of([[0, 1], [0, 1]])
    for year, samples in ((2025, first), (2026, second)):
        folder = place / f"year={year}"
        folder.mkdir()
        path, _ = write(folder, samples, None)
        path.rename(folder / f"part-0{path.suffix}")
    word = f"{place}/year=*/part-0{path.suffix}"
    assert run(FOLDPACK, "list", word).out.split()[0].startswith("0000/year=2025-part-0-000000")
    found, _ = classes(word, place)
    assert {data for folder in found.values() for data in folder} == {
        data for data, _ in first + second}


def test_images_of_lmdbs_in_folders_are_called_by_these(place):
    for name in "ab":
        make_lmdb(place / name, [(b"%d" % i, pickle.dumps((data, 0), 4)) for i, (data, _) in
                                 enumerate(samples_of([[0]])[0])])
    listed = run(FOLDPACK, "list", f"{place}/{{a,b}}").out.split()
    assert len(set(listed)) == 4 and {line[:7] for line in listed} == {"0000/a-", "0000/b-"}


# --- WebDataset -----------------------------------------------------------------------------------


def test_shards_with_the_same_keys_are_one_tree_where_files_have_numbers(place):
    """As where each writer counts its samples from 0, which WebDataset takes."""
    for shard in range(2):
        foreign.write_tar(place / f"x-{shard:06}.tar", {
            f"{key}.{suffix}": JPEG + b"%d %d" % (shard, key) if suffix == "jpg" else b"%d" % key
            for key in range(3) for suffix in ("jpg", "cls")})
    shards = f"{place}/x-{{000000..000001}}.tar"
    said = run(FOLDPACK, "list", shards, status=1).err
    assert "is another file in" in said and "--name-key='' keeps one tree" in said
    found, _ = classes(shards, place, "--name-key=")
    assert found == {f"{key:04}": {JPEG + b"%d %d" % (shard, key) for shard in range(2)}
                     for key in range(3)}
    listed = run(FOLDPACK, "list", "--name-key=", shards).out.split()
    assert [name for name in listed if "." in name][:2] == [
        "0000/x-000000-00000000.JPEG", "0000/x-000001-00000000.JPEG"]


def test_samples_of_one_key_in_a_tar_are_all_there_where_files_have_numbers(place):
    with tarfile.open(place / "x.tar", "w") as out:
        for data in b"1", b"2":
            for name, content in ("a.jpg", JPEG + data), ("a.cls", b"0"), ("b.txt", b""):
                info = tarfile.TarInfo(name)
                info.size = len(content)
                out.addfile(info, io.BytesIO(content))
    assert classes(place / "x.tar", place)[0] == {"0000": {JPEG + b"2"}}
    assert classes(place / "x.tar", place, "--name-key=")[0] == {
        "0000": {JPEG + b"1", JPEG + b"2"}}


def test_names_over_255_bytes_in_a_tar_are_counted_and_named(place, mount):
    foreign.write_tar(place / "x.tar", {"a/1.jpg": JPEG, f"a/{'n' * 252}.jpg": JPEG,
                                        f"{'n' * 256}/2.jpg": JPEG})
    mounted = mount(place / "x.tar")
    assert shown(mounted) == {"a/1.jpg": JPEG}
    assert "left out: 2 members with names or paths that no file can have" in mounted.said
    said = run(FOLDPACK, "create", place / "x.tar", place / "x.lmdb", status=1).err
    assert "a name over 255 bytes" in said and "--on-bad=skip" in said
    run(FOLDPACK, "create", "--on-bad=skip", place / "x.tar", place / "x.lmdb", status=4)
    assert "a/1.jpg" in run(FOLDPACK, "list", place / "x.lmdb").out


def test_files_with_paths_keep_them(place):
    foreign.write_tar(place / "x.tar", {"a/1.jpg": JPEG})
    assert "--name-key='': its files have paths, which they keep" in run(
        FOLDPACK, "list", "--name-key=", place / "x.tar", status=1).err


def test_webdataset_is_no_plain_tar_since_its_first_sample_has_no_class(place, mount):
    """Members named __x__ are no samples, wherever they are."""
    path = place / "x.tar"
    foreign.write_tar(path, {
        "__meta__.json": b"{}", "a/__info__.json": b"{}", "0.jpg": JPEG + b"0",
        "1.jpg": JPEG + b"1", "1.cls": b"3", "2.jpg": JPEG + b"2", "2.cls": b"4"})
    mounted = mount(path)
    assert shown(mounted) == {"images/0.jpg": JPEG + b"0", "0003/1.jpg": JPEG + b"1",
                              "0004/2.jpg": JPEG + b"2"}
    assert "1 of 3 samples have no class" in mounted.said


def test_labels_and_names_of_classes_in_one_tar_are_said(place, mount):
    """As of two tars of a set: who calls a class what, no one knows."""
    foreign.write_tar(place / "x.tar", {"0.jpg": JPEG + b"0", "0.cls": b"0", "1.jpg": JPEG + b"1",
                                        "1.cls": b"cat", "2.jpg": JPEG + b"2", "2.cls": b"cat"})
    assert ("x.tar: images with only the name of a class, where others have its label: one class "
            "is two if both have it: 2") in mount(place / "x.tar").said


def test_a_class_far_behind_in_a_tar_is_named(place):
    path = place / "x.tar"
    foreign.write_tar(path, {**{f"{i:04}.jpg": JPEG for i in range(1001)}, "1000.cls": b"1"})
    said = run(FOLDPACK, "list", path).err
    assert "1 images have a .cls beside them, as samples of WebDataset have: --layout=classes" \
        in said


def test_tars_of_which_some_have_classes_are_named(place):
    for number, files in enumerate(({"0.jpg": JPEG, "0.cls": b"1"}, {"1.jpg": JPEG})):
        foreign.write_tar(place / f"x-{number}.tar", files)
    said = run(FOLDPACK, "list", f"{place}/x-{{0,1}}.tar").err
    assert (f"samples have classes in {place}/x-0.tar, and none in {place}/x-1.tar, which is shown "
            "as the tree of its members; --layout=classes shows all alike") in said
    done = run(FOLDPACK, "list", "--layout=classes", f"{place}/x-{{0,1}}.tar")
    assert "--layout" not in done.err and "images/1.jpg" in done.out


# --- splits ---------------------------------------------------------------------------------------

SPLITS = ["train-00000-of-00002", "train-00001-of-00002", "validation-00000-of-00001"]


def write_pack(place, samples, _):
    tree = place / "tree"
    for data, label in samples:
        folder = tree / f"{label:04}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number(data)}.jpg").write_bytes(data)
    run(FOLDPACK, "create", tree, place / "x.lmdb")
    return place / "x.lmdb", []


def write_tree_tar(place, samples, _):
    foreign.write_tar(place / "x.tar", {
        f"{label:04}/{number(data)}.jpg": data for data, label in samples})
    return place / "x.tar", []


@pytest.fixture
def splits(place, write):
    """The folder, the suffix of the files, and the images of each split."""
    folder = place / "data"
    folder.mkdir()
    found = {}
    for number, (stem, samples) in enumerate(zip(SPLITS, samples_of([[0, 1], [0, 2], [0, 1]]))):
        made = place / f"made{number}"
        made.mkdir()
        path, _ = write(made, samples, None)
        path.rename(folder / (stem + path.suffix))
        found.setdefault(stem.split("-")[0], set()).update(data for data, _ in samples)
    return folder, path.suffix, found


def images_in(root):
    """The first part of the path -> images."""
    found = {}
    for path in trees.files(root):
        path = os.fsdecode(path)
        found.setdefault(path.split("/")[0], set()).add((root / path).read_bytes())
    return found


kinds = pytest.mark.parametrize(
    "write", [write_unnamed, write_tfds, write_recordio, write_webdataset, write_tree_tar,
              write_pack], ids=["parquet", "tfrecord", "recordio", "webdataset", "tar", "pack"])


@kinds
def test_splits_come_in_folders_of_their_own(place, mount, splits):
    folder, suffix, want = splits
    mounted = mount(f"{folder}/*{suffix}")
    assert images_in(mounted.path) == want
    assert (f"{folder}/train-00000-of-00002{suffix} and 2 more: {APART}train (2 files) and "
            "validation (1 file); './=' in front of the words puts all into one") in mounted.said


@kinds
def test_words_that_name_the_files_of_splits_are_the_same(place, splits):
    folder, suffix, want = splits
    names = [f"{folder}/{stem}{suffix}" for stem in SPLITS]
    (place / "list").write_text("".join(name + "\n" for name in names))
    braces = f"{folder}/{{{','.join(SPLITS)}}}{suffix}"
    run(FOLDPACK, "create", *names, place / "p.pack")
    listings = {run(FOLDPACK, "list", word).out
                for word in (f"{folder}/*{suffix}", f"@{place}/list", braces, place / "p.pack")}
    assert len(listings) == 1
    assert {line.split("/")[0] for line in listings.pop().split()} == set(want)


@kinds
def test_one_split_alone_has_no_folder(splits):
    folder, suffix, _ = splits
    listed = run(FOLDPACK, "list", f"{folder}/train-*{suffix}")
    assert not any(line.startswith("train") for line in listed.out.split())
    assert APART not in listed.err


@kinds
def test_a_point_puts_all_splits_into_one_tree(splits):
    folder, suffix, _ = splits
    listed = run(FOLDPACK, "list", f"./={folder}/*{suffix}", status=None)
    if listed.returncode:  # files of one name that differ
        assert "two different files at this path" in listed.err or "in two packs" in listed.err
    else:
        assert not {line.split("/")[0] for line in listed.out.split()} & {"train", "validation"}
        assert len(listed.out.split()) == 12
    assert APART not in listed.err


@pytest.mark.parametrize("write", [write_unnamed])
def test_every_command_keeps_splits_apart(place, splits):
    folder, suffix, want = splits
    word = f"{folder}/*{suffix}"
    run(FOLDPACK, "create", word, place / "p.pack")
    tree = run(FOLDPACK, "list", place / "p.pack").out
    assert run(FOLDPACK, "list", word).out == tree
    run(FOLDPACK, "extract", word, place / "out")
    assert images_in(place / "out") == want
    for command in ["info", word], ["report", "-o", place / "report.html", word]:
        assert APART in run(FOLDPACK, *command).err, command
    first = tree.split()[0]
    run(FOLDPACK, "cat", word, first)
    for split in want:
        assert set(exported(word, place, f"--root={split}")[0]) == want[split]


@pytest.mark.parametrize("packed", [False, True], ids=["files", "pack"])
def test_labels_of_one_split_are_not_those_of_another(place, packed):
    """Whose classes have other names, or no labels at all."""
    splits = {"train": ([0, 1, 2], ["zebra", "ant", "mole"]), "val": ([0], ["cat"]),
              "test": ([-1], None)}
    parts = samples_of([labels for labels, _ in splits.values()])
    for (split, (_, names)), samples in zip(splits.items(), parts):
        path, _ = write_parquet(place, samples, names)
        path.rename(place / f"{split}-00000-of-00001.parquet")
    word = f"{place}/*.parquet"
    if packed:
        run(FOLDPACK, "create", word, place / "p.pack")
        word = place / "p.pack"
    for split, samples, listed in zip(
            splits, parts, ["0000_zebra\n0001_ant\n0002_mole\n", "0000_cat\n", ""]):
        images, text = exported(word, place, f"--root={split}")
        assert {data: int(label) for data, label in images.items()} == dict(samples)
        assert text == listed


def test_a_pack_that_has_the_folder_of_its_split_gets_no_other(place):
    for split in "train", "val":
        tree = place / "tree" / split
        (tree / split / "ant").mkdir(parents=True)
        (tree / split / "ant/0.jpg").write_bytes(JPEG)
        run(FOLDPACK, "create", tree, place / f"{split}.lmdb")
    listed = run(FOLDPACK, "list", f"{place}/*.lmdb")
    assert listed.out.split() == ["train/ant/0.jpg", "val/ant/0.jpg"]
    assert APART not in listed.err


def test_splits_of_a_repository_of_the_hub_come_in_folders(place, hub, home, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", hub.url + "/")
    for stem, samples in zip(SPLITS, samples_of([[0, 1], [0, 2], [0, 1]])):
        path, _ = write_unnamed(place, samples, None)
        hub.add("ORG/in1k", **{f"data/{stem}.parquet": path.read_bytes()})
    listed = run(FOLDPACK, "list", "hf://datasets/ORG/in1k")
    assert {line.split("/")[0] for line in listed.out.split()} == {"train", "validation"}
    assert APART + "train (2 files) and validation (1 file)" in listed.err


# --- options and kinds that say nothing to a format -----------------------------------------------


@pytest.mark.parametrize("write", [write_recordio, write_webdataset, write_tree_tar],
                         ids=["recordio", "webdataset", "tar"])
@pytest.mark.parametrize("option", ["image", "label", "name"])
def test_a_key_that_a_format_has_no_field_for_is_refused(place, write, option):
    path, _ = write(place, images([0, 1]), None)
    said = run(FOLDPACK, "list", f"--{option}-key=x", path, status=1).err
    assert f"'--{option}-key' chooses a field of a record, and " in said


def test_keys_of_zips_and_lmdbs_are_refused(place):
    foreign.write_zip(place / "x.zip", {"a/0.jpg": JPEG})
    make_lmdb(place / "x.lmdb", [(b"a/0.jpg", JPEG)], subdir=False)
    for name in "x.zip", "x.lmdb":
        assert "'--label-key' chooses a field" in run(
            FOLDPACK, "list", "--label-key=x", place / name, status=1).err


@pytest.mark.parametrize("write", [write_unnamed, write_tfds, write_folder2lmdb],
                         ids=["parquet", "tfrecord", "folder2lmdb"])
@pytest.mark.parametrize("option", ["label", "name"])
def test_a_key_that_no_record_has_is_refused(place, write, option):
    path, _ = write(place, images([0, 1]), None)
    said = run(FOLDPACK, "list", f"--{option}-key=nonesuch", path, status=None)
    assert said.returncode == 1 and ("nonesuch" in said.err or "it is none" in said.err), said.err


def test_folders_are_cut_off_what_a_script_reads(place):
    """--strip-components means the tree of members, and is no --layout that a .pth has not."""
    path, _ = write_torch(place, images([0, 1]), None)
    run(FOLDPACK, "create", "--strip-components=1", path, place / "p.pack")
    assert not any("/" in line for line in run(FOLDPACK, "list", place / "p.pack").out.split())
    path, _ = write_tfds(place, images([0, 1]), None)
    said = run(FOLDPACK, "create", "--strip-components=1", path, place / "t.pack", status=2).err
    assert "'--strip-components' is for tars and zips only" in said


@pytest.mark.parametrize("layout", ["tree", "classes"])
def test_a_layout_is_for_tars(place, layout):
    path, _ = write_tfds(place, images([0, 1]), None)
    assert f"'--layout={layout}' is for tars, and this is tfrecord" in run(
        FOLDPACK, "list", f"--layout={layout}", path, status=1).err
    foreign.write_zip(place / "x.zip", {"a/0.jpg": JPEG})
    done = run(FOLDPACK, "list", f"--layout={layout}", place / "x.zip", status=None)
    assert done.returncode == (layout == "classes")


@pytest.mark.parametrize("name, text", [
    ("state.json", '{"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}'),
    ("dataset_dict.json", '{"splits": ["train"]}')])
def test_a_folder_of_save_to_disk_is_packed_as_its_images(place, name, text):
    arrow_ipc.save_to_disk(place / "saved/train" if "dict" in name else place / "saved",
                           [[(JPEG, b"x.jpg", 0)]], ["cat"])
    (place / "saved" / name).write_text(text)
    run(FOLDPACK, "create", place / "saved", place / "p.pack")
    assert run(FOLDPACK, "list", place / "p.pack").out == "cat/x.jpg\n"
    run(FOLDPACK, "create", "--force", "--anyway", place / "saved", place / "p.pack")
    assert "data-00000-of-00001.arrow" in run(FOLDPACK, "list", place / "p.pack").out


def test_a_folder_without_an_image_is_said(place):
    (place / "tree/a").mkdir(parents=True)
    (place / "tree/a/notes.txt").write_text("none")
    said = run(FOLDPACK, "create", place / "tree", place / "p.pack").err
    assert f"{place}/tree: no image in it (1 file, such as 'a/notes.txt')" in said
    (place / "tree/a/0").write_bytes(JPEG + bytes(100))
    (place / "tree/a/0.jpg").write_bytes(JPEG + bytes(100))
    assert "no image" not in run(FOLDPACK, "create", "--force", place / "tree", place / "p.pack",
                                 status=None).err
