"""Labels: the number that torchvision's ImageFolder gives to an image is the label that the file
has, or it is said that it is not; on the mount of the file, on that of a pack that is made of it,
and on that of what a pack or the file is exported to."""

import os
import pickle

import pytest

import foldfs
import trees
from foldfs import FOLDPACK, run
from foreign import make_lmdb, write_tar
from formats import parquet, tfrecord
from labelled import (
    CREATED, JPEG, MOUNTED, OWN_NAMES, images, listed, shard, write_compressed, write_folder2lmdb,
    write_parquet, write_slim, write_tfds)

pytestmark = pytest.mark.plain  # many packs

SAID = "another number than their label"
ABSENT = "have no image here, as in a part of a set"


def targets(root):
    """label -> number, of ImageFolder: the folders in one, sorted by name, and all below them.
    (torchvision takes seconds, and nobody but this test needs it: foreign.same_imagefolder() asks
    it for one format.)"""
    found = {}
    for number, folder in enumerate(sorted(e.name for e in os.scandir(root) if e.is_dir())):
        for path in trees.files(root / folder):
            found[(root / folder / os.fsdecode(path)).read_bytes()] = number
    return found


# labels that have images, and the names of all
CASES = {
    "in order": ([0, 1, 2], ["cat", "dog", "eel"]),
    "out of order": ([0, 1, 2], ["tench", "goldfish", "great white shark"]),
    "one name twice": ([0, 1, 2], ["crane", "ox", "crane"]),
    "gaps": ([0, 2, 5], ["ape", "bat", "cat", "dog", "eel", "fox"]),
    "gaps out of order": ([1, 3], ["fox", "eel", "dog", "cat", "bat"]),
    "from 100 on": (range(100, 103), None),
    "numbers": ([0, 1, 2], None),
    "many digits": ([0, 9999, 10000], None),
}

def each(writers, cases, few=("one name twice", "gaps out of order")):
    """What becomes of labels once they were read is the same for all formats: all cases of one, and
    few of the others."""
    found = [(write, case) for write in writers for case in cases
             if write is write_parquet or case in few]
    return pytest.mark.parametrize("write, case", found, ids=[
        f"{write.__name__[6:]}-{case.replace(' ', '-')}" for write, case in found])


some = each(MOUNTED, [case for case in CASES if case != "many digits"])


@pytest.fixture
def written(place, write, case):
    """What a format holds, and the options that it needs."""
    labels, names = CASES[case]
    samples = images(labels)
    return (*write(place, samples, names), dict(samples))


def is_right(found, wanted):
    return found == wanted


def listing(path, *options):
    return run(FOLDPACK, "list", *options, path).out


def check(path, wanted, *options):
    """Mounts it, and returns what was said; where nothing was said, the numbers are the labels."""
    point = path.parent / "point"
    point.mkdir(exist_ok=True)
    with foldfs.mounted(path, point, *options) as mounted:
        found, said = targets(mounted.path), mounted.said
        stats = mounted.stats()
    assert found.keys() == wanted.keys()
    assert (SAID in said) == (not is_right(found, wanted)), (said, found)
    assert bool(stats["labels"]["text"]) == (SAID in said or ABSENT in said)
    return said


# --- on a mount, in a pack, in another format -----------------------------------------------------


@each(MOUNTED, CASES, ("out of order", "one name twice", "gaps out of order"))
def test_numbers_are_labels_or_it_is_said(written):
    path, options, wanted = written
    check(path, wanted, *options)


@some
def test_with_folders_of_empty_classes_numbers_are_labels(written, case):
    path, options, wanted = written
    assert not check(path, wanted, "--empty-classes", *options).count("ImageFolder"), case


@some
def test_a_pack_has_the_names_and_labels_of_the_mount(written, place):
    path, options, wanted = written
    for more in ([], ["--empty-classes"]):
        said = run(FOLDPACK, "create", "--force", *more, *options, path, place / "p.pack").err
        assert listing(path, *more, *options) == listing(place / "p.pack")
        assert (SAID in said) == (SAID in check(place / "p.pack", wanted))


@each([write_parquet], [case for case in CASES if case != "many digits"])
@pytest.mark.parametrize("form", ["lmdb", "tfrecord", "webdataset"])
def test_an_export_keeps_the_labels(written, place, form):
    path, options, wanted = written
    again = place / "again"
    again.mkdir()
    run(FOLDPACK, "export", f"--format={form}", *options, path, again / "t")
    parts = [p for p in again.iterdir()
             if "classes.txt" not in p.name and "names.txt" not in p.name and
             "tfindex" not in p.name]
    part, = parts
    assert not check(part, wanted, "--empty-classes", f"--classes={again}/t.classes.txt").count(
        "ImageFolder")


@each(CREATED, CASES)
def test_what_only_create_reads_has_the_labels_as_well(written, place):
    path, options, wanted = written
    said = run(FOLDPACK, "create", *options, path, place / "p.pack").err
    assert (SAID in said) == (SAID in check(place / "p.pack", wanted))
    run(FOLDPACK, "create", "--force", "--empty-classes", *options, path, place / "p.pack")
    assert "ImageFolder" not in check(place / "p.pack", wanted)


# --- what is called how ---------------------------------------------------------------------------


def tree(path, *options):
    return sorted({os.path.dirname(line) for line in listing(path, *options).splitlines()
                   if "/" in line})


@pytest.mark.parametrize("write", OWN_NAMES, ids=lambda write: write.__name__[6:])
def test_folders_are_numbered_only_where_they_must_be(place, write):
    path, options = write(place, images([0, 1]), ["cat", "dog"])
    assert tree(path, *options) == ["cat", "dog"]
    assert tree(path, "--class-folders=numbers", *options) == ["0000_cat", "0001_dog"]
    path.unlink()
    path, options = write(place, images([0, 1]), ["dog", "cat"])
    assert tree(path, *options) == ["0000_dog", "0001_cat"]
    assert tree(path, "--class-folders=names", *options) == ["cat", "dog"]
    path.unlink()
    path, options = write(place, images([0, 1]), ["cat", "cat"])
    assert tree(path, *options) == ["0000_cat", "0001_cat"]


def test_what_names_hide_is_said(place):
    path, _ = write_parquet(place, images([0, 1, 2]), ["eel", "cat", "dog"])
    said = check(path, dict(images([0, 1, 2])), "--class-folders=names")
    assert "ImageFolder gives 3 of 3 classes another number than their label: 'eel' is 2 there, " \
        "and its label is 0; --class-folders=numbers puts folders in the order" in said
    run(FOLDPACK, "create", "--class-folders=names", path, place / "p.pack")
    said = check(place / "p.pack", dict(images([0, 1, 2])))
    assert "order of their labels, in the pack that 'foldpack create' makes with it" in said


def test_all_files_of_a_set_have_the_same_folders(place):
    """Although only the second has classes out of order: the list of all decides."""
    names = ["ant", "bee", "dog", "cat"]
    for number, labels in enumerate(([0, 1], [2, 3])):
        parquet.write(place / f"x-{number}.parquet", [
            (data, None, label) for data, label in images(labels)], names=names)
    assert tree(place / "x-{0..1}.parquet") == ["0000_ant", "0001_bee", "0002_dog", "0003_cat"]


def test_a_slash_in_the_name_of_a_class_makes_no_folder(place):
    path, _ = write_parquet(place, images([0, 1]), ["cd/dvd", "mac/cheese"])
    assert tree(path) == ["cd_dvd", "mac_cheese"]


@pytest.mark.parametrize("write", [
    lambda place: parquet.write(place / "x.parquet", [(JPEG, None, 0), (JPEG, None, 1)]),
    lambda place: tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": name} for name in ("cd/dvd", "cd/rom")]),
    lambda place: shard(place / "x.tar", [(JPEG, "cd/dvd"), (JPEG + b".", "cd/rom")]),
    lambda place: make_lmdb(place / "x.lmdb", [
        (b"%d" % i, pickle.dumps((JPEG, name), 4)) for i, name in enumerate(("cd/dvd", "cd/rom"))
    ], subdir=False)], ids=["list", "tfrecord", "webdataset", "pickle"])
def test_a_class_is_one_folder_also_where_a_list_or_records_name_it(place, write):
    path = write(place)
    options = listed(place, ["cd/dvd", "cd/rom"]) if path.suffix == ".parquet" else []
    assert tree(path, *options) == ["cd_dvd", "cd_rom"]


@pytest.mark.parametrize("write, text", [(write_tfds, os.fsdecode), (write_slim, bytes)],
                         ids=["list", "records"])
def test_names_that_are_no_utf8_have_the_numbers_of_python(place, write, text):
    """In GBK. The bytes of 'mould' are also a character of UTF-8, which Python sorts first."""
    dog, mould = b"\xb9\xb7", b"\xc4\xa3"
    assert dog < mould and os.fsdecode(dog) > os.fsdecode(mould)
    wanted = dict(images([0, 1]))
    path, options = write(place, list(wanted.items()), [text(dog), text(mould)])
    assert SAID not in check(path, wanted, *options)
    assert SAID in check(path, wanted, *options, "--class-folders=names")
    path, options = write(place, list(wanted.items()), [text(mould), text(dog)])
    assert SAID not in check(path, wanted, *options)


def test_images_without_a_label_among_others_are_said(place, mount):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": 3}, {"image": JPEG}, {"image": JPEG, "label": -1}])
    assert ("x.tfrecord: 2 images have no label, and are in images, which is one more class to "
            "ImageFolder") in mount(path).said


def test_classes_that_become_one_folder_are_said(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": label} for label in (b"x/y", b"x_y", b"x/y", b"a/b", b"x_y")])
    said = run(FOLDPACK, "list", path)
    assert {line.split("/")[0] for line in said.out.splitlines()} == {"a_b", "x_y"}
    assert ("2 images are in the folder of another class, as classes 'x/y' and 'x_y' are one: a "
            "slash becomes _") in said.err


def test_a_label_of_tfrecord_that_is_a_text_is_the_class_and_no_mask_is(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": b"cat"}, {"image": JPEG, "label": b"\x89PNG\r\n\x1a\n"},
        {"image": JPEG, "label": b"x" * 256}, {"image": JPEG, "label": 1.0}])
    said = run(FOLDPACK, "create", path, place / "p.pack").err
    assert "3 records have a label that is neither an integer nor a name" in said
    assert tree(path) == ["cat", "images"]


def test_all_labels_of_a_record_but_the_first_are_counted(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": [0, 1]}, {"image": JPEG, "label": [1]}])
    said = run(FOLDPACK, "list", path)
    assert {line.split("/")[0] for line in said.out.splitlines()} == {"0000", "0001"}
    assert "1 records have several labels, of which the first counts" in said.err


def test_fields_that_may_be_the_label_are_named(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "filename": "a.jpg", "breed": 3, "boxes": [1, 2]}])
    assert ("no record has a label as image/class/label or label, so that all images are in "
            "images: --label-key names another of: breed, boxes") in run(
                FOLDPACK, "list", path).err
    assert tree(path, "--label-key=breed") == ["0003"]


def test_a_name_that_is_too_long_with_its_label_is_refused(place):
    long = "z" * 253
    path, _ = write_parquet(place, images([0, 1]), [long, "ant"])
    said = run(FOLDPACK, "list", path, status=None).err
    assert "too long for a folder with its label; --class-folders=names" in said
    assert tree(path, "--class-folders=names") == ["ant", long]
    path.unlink()
    path, _ = write_slim(place, images([0, 1]), [long, "ant"])
    assert "too long for a folder with its label" in run(FOLDPACK, "list", path, status=None).err


def test_a_class_that_cannot_be_a_folder_is_refused_where_it_must_be_one(place):
    path, _ = write_parquet(place, images([0, 1]), ["ant", "bee", "y" * 256])
    assert tree(path) == ["ant", "bee"]
    said = run(FOLDPACK, "list", "--empty-classes", path, status=None).err
    assert "'--empty-classes': the name of the class of label 2 cannot be that of a folder" in said


@pytest.mark.parametrize("name", ["..", ".", "", "y" * 256])
def test_a_class_that_cannot_be_a_folder_is_no_damage(place, name):
    path, _ = write_parquet(place, images([0, 1]), ["ant", name])
    for command in ["list", path], ["create", path, place / "p.pack"]:
        said = run(FOLDPACK, *command, status=None).err
        assert said == (f"foldpack: {path}: record 1: '{name[:80]}' is the name of its class, and "
                        "cannot be that of a folder: --classes gives classes other names\n")
    assert tree(path, *listed(place, ["ant", "bee"])) == ["ant", "bee"]


def test_a_class_that_no_label_names_has_another_way_out(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": name, "kind": 1} for name in ("ant", "..")])
    said = run(FOLDPACK, "list", path, *listed(place, ["ant", "bee"]), status=None).err
    assert "'..' is the name of its class, and cannot be that of a folder: it has no label, by " \
        "which --classes would name it; --label-key names another field" in said
    assert tree(path, "--label-key=kind") == ["0001"]


def test_a_list_of_classes_that_names_none_is_said(place):
    path = tfrecord.write(place / "x.tfrecord", [
        {"image": JPEG, "label": name} for name in ("ant", "cat")])
    said = run(FOLDPACK, "list", path, *listed(place, ["ant", "bee"])).err
    assert f"{path}: --classes names labels, which none of its 2 entries has" in said


@pytest.mark.parametrize("name", ["Étang", 'the "b"', "back\\slash", "tab\tand\nline", "\x7f\x01",
                                  "\U0001f600 and \uffff", "\udcff is no UTF-8"])
def test_names_of_classes_are_what_their_escapes_mean(place, mount, name):
    path, _ = write_parquet(place, images([0, 1]), [name, "ant"])
    assert sorted(os.listdir(mount(path))) == ["0000_" + name, "0001_ant"]


@pytest.mark.parametrize("escape", ["\\ud800", "\\udc00x", "\\ud83d\\u0041", "\\u12g4", "\\x41"])
def test_escapes_that_mean_no_text_are_refused(place, escape):
    path, _ = write_parquet(place, images([0, 1]), ["ant", "Z" * len(escape)])
    path.write_bytes(path.read_bytes().replace(b"Z" * len(escape), escape.encode()))
    said = run(FOLDPACK, "list", path, status=None).err
    assert said == (f"foldpack: {path}: the name of class 1 has escapes that mean no text: name "
                    "the classes by --classes\n")
    assert tree(path, *listed(place, ["ant", "bee"])) == ["ant", "bee"]


@pytest.mark.parametrize("write", [write_parquet, write_folder2lmdb, write_compressed])
def test_labels_that_are_far_from_the_others_get_no_million_folders(place, write):
    path, _ = write(place, images([0, 1, 10**9]), None)
    said = run(FOLDPACK, "create", "--empty-classes", path, place / "p.pack", status=None).err
    assert ("'--empty-classes': 999999998 of the labels up to 1000000000 have no image: too many "
            "folders") in said
    assert not (place / "p.pack").exists()
    said = run(FOLDPACK, "create", path, place / "p.pack").err
    assert "999999998 of 1000000001 labels" in said and "--empty-classes" not in said


def test_few_images_may_have_many_empty_classes(place, mount):
    path, _ = write_parquet(place, images(range(0, 10000, 1111)), None)
    folders = os.listdir(mount(path, "--empty-classes"))
    assert sorted(folders) == [f"{label:04}" for label in range(10000)]


def test_foldstat_says_what_differs(place, mount):
    path, _ = write_tfds(place, images([0, 2]), None)
    mounted = mount(path)
    assert mounted.stats()["labels"].items() >= {
        "known": 3, "without_image": 1, "with_another_number": 1}.items()
    shown = run(foldfs.FOLDSTAT, mounted.path).out
    assert "labels      ImageFolder gives 1 of 2 classes another number" in shown


# --- parts, and no labels -------------------------------------------------------------------------


def test_a_part_of_a_set_says_that_it_is_one(place):
    path, _ = write_tfds(place, images(range(100, 103)), None)
    said = check(path, dict(images(range(100, 103))))
    assert "100 of 103 labels, from 0 on, have no image here, as in a part of a set; " \
        "--empty-classes makes a folder of each" in said


def test_the_last_classes_without_an_image_are_said(place):
    path, _ = write_parquet(place, images([0, 1]), ["ant", "bee", "cat", "dog"])
    said = check(path, dict(images([0, 1])))
    assert "2 of 4 labels, from 2 on, have no image here" in said and SAID not in said


@pytest.mark.parametrize("write", MOUNTED + CREATED, ids=lambda write: write.__name__[6:])
def test_label_minus_1_is_none(place, write):
    path, options = write(place, images([0, -1]), None)
    run(FOLDPACK, "create", "-q", *options, path, place / "p.pack")
    shown = listing(place / "p.pack").splitlines()
    assert sorted(line.split("/")[0] for line in shown if "." in line) == \
        ["0000", "0000", "images", "images"]


@pytest.mark.parametrize("form", ["lmdb", "tfrecord", "webdataset"])
def test_an_export_keeps_that_there_is_no_label(place, form):
    path, _ = write_tfds(place, images([0, -1]), None)
    (place / "again").mkdir()
    run(FOLDPACK, "export", f"--format={form}", path, place / "again/t")
    part = next(p for p in (place / "again").iterdir()
                if not p.name.endswith(".txt") and "tfindex" not in p.name)
    assert {line.split("/")[0] for line in listing(part).splitlines()} == {"0000", "images"}


# --- what is said of many files -------------------------------------------------------------------


def test_a_notice_comes_once_for_a_set_of_files(place, mount):
    """With the sum; and no more when the index files are there."""
    for number in range(12):
        write_tar(place / f"x-{number:02}.tar", {
            f"{number}.jpg": JPEG, f"{number}.cls": b"0", f"{number}.json": b"{}",
            f"{number}.txt": b""})
    said = mount(f"{place}/x-{{00..11}}.tar").said.splitlines()
    assert [line for line in said if "left out" in line] == [
        f"foldfs: {place}/x-00.tar and 11 more: left out, as neither image nor class: 24 members"]


def test_options_that_do_nothing_to_a_pack_are_said(place, mount):
    path, _ = write_tfds(place, images([0, 2]), None)
    run(FOLDPACK, "create", path, place / "p.pack")
    stay = "p.pack: a pack, whose classes and names stay: --classes and the other options"
    for option in *listed(place, ["cat", "dog", "eel"]), "--class-folders=names", "--label-key=x":
        assert run(FOLDPACK, "list", option, place / "p.pack").err.count(stay) == 1, option
    assert "p.pack: a pack, whose folders stay: 'foldpack create --empty-classes'" in mount(
        place / "p.pack", "--empty-classes").said
    for source in path, place / "p.pack":
        assert "stay" not in run(FOLDPACK, "create", "--force", "--empty-classes", source,
                                 place / "q.pack").err


def test_options_that_do_nothing_to_a_folder_are_said(place):
    trees.write(place / "src/c/x.jpg", JPEG)
    for option in "--classes=nowhere", "--schema=tfrecord", "--empty-classes":
        said = run(FOLDPACK, "create", "--force", option, place / "src", place / "x.pack").err
        assert "src: a folder, which stays as it is: --classes and the other options" in said
    assert "stays" not in run(FOLDPACK, "create", "--force", place / "src", place / "x.pack").err


@pytest.mark.parametrize("label", [1 << 62, (1 << 63) - 1])
def test_the_greatest_labels_are_compared_too(place, label):
    path, _ = write_tfds(place, images([0, label]), None)
    said = run(FOLDPACK, "create", path, place / "x.pack").err
    assert f"'{label}' is 1 there, and its label is {label}" in said
    assert said.count("ImageFolder") == 1


def test_where_a_list_is_too_short_nothing_else_is_advised(place):
    path, _ = write_tfds(place, images([0, 1]), None)
    options = listed(place, ["cat"])
    assert run(FOLDPACK, "list", *options, path, status=None).err == (
        f"foldpack: {path}: record 1: its label is 1, and {place}/names.txt ends with label 0\n")


def test_lines_of_a_list_of_classes_that_do_not_count_are_said(place):
    """Once for all files of a set."""
    for name in "ab":
        (place / name).mkdir()
        write_tfds(place / name, images([0, 1]), None)
    (place / "list").write_text("cat\n\ndog\n")
    said = run(FOLDPACK, "list", f"--classes={place}/list", f"{place}/?/x.tfrecord").err
    assert said == (f"foldpack: {place}/a/x.tfrecord and 1 more: {place}/list: empty lines and "
                    "comments are not counted: line 3 is label 1\n")
