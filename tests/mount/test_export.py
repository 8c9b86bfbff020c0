"""foldpack export: what comes out is read by the formats' own readers: py-lmdb and pickle, an
independent reader of TFRecord, tarfile. No mount needed, but for a pack behind a gate."""

import contextlib
import io
import os
import pickle
import re
import signal
import stat
import struct
import subprocess
import tarfile

import pytest

import foldfs
import gate
import trees
from foldfs import FOLDPACK, PATIENCE, is_root, needs, run
from formats import tfrecord_reader
from test_foldpack import damage, small_filesystem

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")

FORMATS = ("lmdb", "tfrecord", "webdataset")
# Around the lengths at which pickles change, and the extents of a pack.
SIZES = [0, 1, 254, 255, 256, 511, 512, 513, 65520, *range(65526, 65541), 1 << 20, (3 << 20) + 5]
NESTED = ["b/1.jpg", "b/sub/2.jpg", "b/sub-1/3.jpg", "b/sub/x/4.jpg", "b/sub.d/5.png"]
LONG = "n" * 120
NAMES = ["c/with space.jpg", "c/1.2.3.JPEG", "c/upper.PNG", "c/photo.webp", "c/x.ppm", "c/.h.jpg",
         f"c/{LONG}.jpg", f"c/{'d' * 90}/{'e' * 60}.jpg", f"c/{'d' * 200}/{LONG}.jpg"]


def make_tree(root):
    paths = [f"a/{size:07}.jpg" for size in SIZES] + NESTED + NAMES
    for number, path in enumerate([*paths, *(f"many{i:03}/x.jpg" for i in range(300))]):
        size = SIZES[number] if number < len(SIZES) else 100 + number
        trees.write(root / path, trees.noise(number, size))
    (root / "a-b").mkdir()  # a class without images has its number
    with open(os.fsencode(root) + b"/c/\xff\xfe.jpg", "wb") as file:
        file.write(b"no UTF-8")
    folder = os.fsencode(root) + b"/c/" + b"\xe9" * 170
    os.mkdir(folder)
    with open(folder + b"/" + b"\xe8" * 110 + b".jpg", "wb") as file:
        file.write(b"no UTF-8 and long")


@pytest.fixture(scope="module")
def tree(session_dir):
    return trees.packed(session_dir / "exported", make_tree)


@pytest.fixture
def out(place):
    (place / "out").mkdir()
    return place / "out"


@pytest.fixture
def packed(place):
    """packed({path: bytes}): a pack of these files, of the folder `src` of the test."""
    def make(files):
        for path, data in files.items():
            trees.write(place / "src" / path, data)
        return foldfs.pack(place / "src", place / "pack", "--force")
    return make


def export(pack, target, kind, *options, status=0):
    return run(FOLDPACK, "export", f"--format={kind}", *options, pack, target, status=status)


def samples(root):
    """[(path below root, label)] as ImageFolder lists them, and the classes; all bytes."""
    root = os.fspath(root)
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    found = []
    for label, name in enumerate(classes):
        for folder, _, files in sorted(os.walk(os.path.join(root, name))):
            found += [(os.fsencode(os.path.relpath(os.path.join(folder, file), root)), label)
                      for file in sorted(files)]
    return found, list(map(os.fsencode, classes))


def content(root, path):
    with open(os.path.join(os.fsencode(root), path), "rb") as file:
        return file.read()


def lines(path):
    return path.read_bytes().split(b"\n")[:-1]


# --- lmdb ---------------------------------------------------------------------------------


def values(path):
    with lmdb.open(str(path), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        return dict(txn.cursor())


def check_lmdb(root, target):
    """Each value is what pickle writes, at the number that ImageFolder has for it."""
    found, (wanted, classes) = values(target), samples(root)
    for number, (path, label) in enumerate(wanted):
        value = found.pop(b"%d" % number)
        assert value == pickle.dumps((content(root, path), label), protocol=4), path
    keys = ["{}".format(number).encode("ascii") for number in range(len(wanted))]
    assert found == {b"__keys__": pickle.dumps(keys, protocol=4),
                     b"__len__": pickle.dumps(len(wanted), protocol=4)}
    assert lines(target.with_name(target.name + ".classes.txt")) == classes
    assert lines(target.with_name(target.name + ".names.txt")) == [path for path, _ in wanted]


def test_lmdb_has_the_values_that_folder2lmdb_writes(tree, out):
    said = export(tree[1], out / "x.lmdb", "lmdb").err
    check_lmdb(tree[0], out / "x.lmdb")
    assert re.fullmatch(r"foldpack: .*/x\.lmdb: 342 samples, 304 labels, .* s\n", said)
    assert sorted(os.listdir(out)) == ["x.lmdb", "x.lmdb.classes.txt", "x.lmdb.names.txt"]


def test_classes_with_names_that_are_not_utf_8_are_numbered_as_imagefolder_does(packed, place, out):
    """Which sorts texts: such bytes are between U+DC80 and U+DCFF."""
    names = "\udcff", "\udcc3(", "\u00e9", "\uff21", "\U0001f600", "z"
    images = {f"{name}/{below}/1.jpg": b"image" for name in names for below in names}
    export(packed(images), out / "x.lmdb", "lmdb", "--root=/")
    check_lmdb(place / "src", out / "x.lmdb")


def test_names_of_classes_that_lists_read_otherwise_are_written_so_that_they_come_back(
        packed, out):
    paths = {f"{name}/{name}{i}.jpg" for i, name in enumerate(
        ["\ufeffa", " blank", "  ", "#b", "\ttab", "end\r", ".", "plain"]) if name != "."}
    pack = packed({path: b"%d" % i for i, path in enumerate(sorted(paths))})
    export(pack, out / "x", "lmdb")
    again = run(FOLDPACK, "list", "-0", f"--classes={out}/x.classes.txt",
                f"--names={out}/x.names.txt", out / "x").out
    assert {path for path in again.split("\0") if path.endswith(".jpg")} == paths
    again = run(FOLDPACK, "list", "-0", f"--classes={out}/x.classes.txt", out / "x").out
    assert {path.partition("/")[0] for path in again.split("\0") if "/" in path} == {
        path.partition("/")[0] for path in paths}


# --- tfrecord -----------------------------------------------------------------------------


def check_tfrecord(root, target, shards, check=True):
    """Returns how many records each shard has."""
    wanted, classes = samples(root)
    counts = []
    for shard in range(shards):
        name = f"{target.name}-{shard:05}-of-{shards:05}"
        index = target.with_name(name.replace("-", ".tfindex-", 1))
        found = list(tfrecord_reader.records(target.with_name(name), check))
        assert lines(index) == [b"%d %d" % (offset, size) for offset, size, _ in found]
        counts.append(len(found))
        for (path, label), (_, _, record) in zip(wanted[sum(counts[:-1]):], found):
            suffix = os.path.splitext(path)[1].lower()
            kind = {b".png": b"PNG", b".webp": b"WEBP", b".ppm": b"PNM"}.get(suffix, b"JPEG")
            example = tfrecord_reader.example(record)
            assert list(example) == sorted(example)
            assert example == {
                "image/class/label": label + 1, "image/class/synset": classes[label],
                "image/class/text": classes[label], "image/encoded": content(root, path),
                "image/filename": os.path.basename(path), "image/format": kind}
    assert sum(counts) == len(wanted)
    assert lines(target.with_name(target.name + ".classes.txt")) == classes
    return counts


def test_tfrecord_has_the_fields_of_slim(tree, out):
    export(tree[1], out / "train", "tfrecord", "--shards=7")
    counts = check_tfrecord(tree[0], out / "train", 7)
    assert counts == [48] + [49] * 6
    assert len(os.listdir(out)) == 15


def test_tfrecord_shards_have_at_most_the_size_asked_for(tree, out):
    export(tree[1], out / "train", "tfrecord", "--shard-size=400000")
    shards = sorted(out.glob("train-*"))
    check_tfrecord(tree[0], out / "train", len(shards), check=False)
    sizes = [os.path.getsize(shard) for shard in shards]
    assert [size > 400000 for size in sizes].count(True) == 2  # of one record each
    assert sum(a + b <= 400000 for a, b in zip(sizes, sizes[1:])) == 0


def test_the_kind_of_an_image_is_what_it_is_not_what_it_is_called(packed, out):
    image, files = pytest.importorskip("PIL.Image"), {}
    for name, kind in {"a.jpg": "PNG", "b.png": "JPEG", "c.bmp": "BMP"}.items():
        image.new("RGB", (8, 8)).save(file := io.BytesIO(), kind)
        files[f"c/{name}"] = file.getvalue()
    export(packed(files), out / "x", "tfrecord")
    found = [tfrecord_reader.example(record)["image/format"]
             for _, _, record in tfrecord_reader.records(out / "x-00000-of-00001")]
    assert found == [b"PNG", b"JPEG", b"BMP"]


# --- webdataset ---------------------------------------------------------------------------

# As webdataset's tariterators.py has it.
BASE_PLUS_EXT = re.compile(r"^((?:.*/|)[^.]+)[.]([^/]*)$", re.DOTALL)


def groups(path):
    """{key: {suffix: bytes}}, as webdataset groups members."""
    found = {}
    with tarfile.open(path, errors="surrogateescape") as tar:
        for member in tar:
            key, suffix = BASE_PLUS_EXT.match(member.name).groups()
            assert key not in found or key == list(found)[-1]
            assert suffix not in found.setdefault(key, {})
            found[key][suffix] = tar.extractfile(member).read()
    return found


def check_webdataset(root, shards, key=None):
    wanted, classes = samples(root)
    found = {}
    for shard in shards:
        found.update(groups(shard))
    assert len(found) == len(wanted)
    for number, ((path, label), (name, parts)) in enumerate(zip(wanted, found.items())):
        stem, suffix = os.path.splitext(os.fsdecode(path))
        folder, stem = os.path.split(stem)
        assert name == (key(number) if key else f"{folder}/{stem.replace('.', '_')}")
        assert parts == {suffix[1:]: content(root, path), "cls": b"%d" % label}
        assert list(parts) == sorted(parts)


def test_webdataset_has_an_image_and_a_label_for_each_key(tree, out):
    export(tree[1], out / "train.tar", "webdataset", "--shards=3")
    shards = [out / f"train-{number:06}.tar" for number in range(3)]
    check_webdataset(tree[0], shards)
    assert sorted(os.listdir(out)) == sorted(
        [*(shard.name for shard in shards), "train.tar.classes.txt"])
    assert [len(groups(shard)) for shard in shards] == [114, 114, 114]


def test_webdataset_keeps_modes_and_times_and_is_ustar_where_that_can_hold_it(tree, out):
    path = tree[0] / NESTED[1]
    export(tree[1], out / "x", "webdataset")
    with tarfile.open(out / "x-000000.tar", errors="surrogateescape") as tar:
        members = tar.getmembers()
    pax = [os.fsencode(member.name) for member in members if member.pax_headers]
    assert [len(name) for name in pax] == [2 + 124] * 2 + [2 + 201 + 124] * 2 + [2 + 171 + 114] * 2
    member = next(member for member in members if member.name == NESTED[1])
    assert (member.mode, member.mtime) == (0o644, int(os.stat(path).st_mtime))
    assert (member.uid, member.gid, member.uname) == (0, 0, "")
    run("tar", "-xf", out / "x-000000.tar", "-C", out)
    assert (out / NESTED[1]).read_bytes() == path.read_bytes()


def test_webdataset_shards_have_at_most_the_size_asked_for(tree, out):
    export(tree[1], out / "x", "webdataset", "--shard-size=400K")
    shards = sorted(out.glob("x-*.tar"))
    check_webdataset(tree[0], shards)
    large = [shard for shard in shards if os.path.getsize(shard) > 400 << 10]
    assert [len(groups(shard)) for shard in large] == [1, 1]


def test_webdataset_refuses_two_samples_with_one_key_unless_they_are_numbered(packed, place, out):
    pack = packed({f"c/{name}": name.encode() for name in ("1.jpg", "1.png", "2.jpg")})
    said = export(pack, out / "x", "webdataset", status=1).err
    assert "c/1.jpg and c/1.png would have one key; --keys=number numbers the samples" in said
    assert os.listdir(out) == []
    export(pack, out / "x", "webdataset", "--keys=number")
    check_webdataset(place / "src", [out / "x-000000.tar"], key="{:08}".format)


# --- all formats --------------------------------------------------------------------------


def all_files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_pack_gives_the_same_files(tree, out, place, kind):
    (place / "again").mkdir()
    export(tree[1], out / "x", kind, "-j1")
    export(tree[1], place / "again/x", kind, "-j9")
    assert all_files(out) == all_files(place / "again")


def names(target):
    return lines(target.with_name(target.name + ".names.txt"))


def test_orders(tree, out, place):
    root, pack = tree
    export(pack, out / "path", "lmdb")
    export(pack, out / "one", "lmdb", "--order=shuffle:1")
    export(pack, out / "two", "lmdb", "--order=shuffle:2")
    assert names(out / "path") == [path for path, _ in samples(root)[0]]
    assert sorted(names(out / "one")) == sorted(names(out / "two")) == sorted(names(out / "path"))
    assert names(out / "one") != names(out / "two")
    labels = dict(samples(root)[0])
    for number, path in enumerate(names(out / "one")):
        value = values(out / "one")[b"%d" % number] if number < 20 else None
        assert value is None or pickle.loads(value) == (content(root, path), labels[path])
    # A pack that was shuffled has that order, but for small files, which share pages.
    foldfs.pack(root, place / "shuffled", "--order=shuffle:1")
    export(place / "shuffled", out / "pack", "lmdb", "--order=pack")
    large = {b"a/%07d.jpg" % size for size in SIZES if size > 4096}
    assert [path for path in names(out / "pack") if path in large] == [
        path for path in names(out / "one") if path in large]


def test_what_a_format_does_not_hold_is_never_left_out_in_silence(packed, place, out):
    (place / "src/b/empty").mkdir(parents=True)
    (place / "src/a").mkdir()
    os.symlink("1.jpg", place / "src/a/link.jpg")
    mixed = packed(dict.fromkeys(["a/1.jpg", "a/labels.json", "b/2.jpg", "README", "b/deep/3.jpg"],
                                 b"data"))
    said = export(mixed, out / "x", "lmdb", status=1).err
    for line in ("README: not in the folder of a class", "a/labels.json: not an image by its name",
                 "a/link.jpg: a symbolic link", "b/empty: an empty folder",
                 "lmdb cannot hold these; --skip-others leaves them out"):
        assert line in said
    assert os.listdir(out) == []
    said = export(mixed, out / "x", "lmdb", "--skip-others", status=4).err
    assert "README: not in the folder of a class" in said and "4 left out" in said
    assert "3 samples, 2 labels" in said


def test_links_to_folders_are_classes_as_in_the_mounted_tree(packed, place, out):
    source = place / "src"
    (source / "b-links").mkdir(parents=True)
    for link, target in (("aa", "c/deep"), ("b-links/x.jpg", "../c/1.jpg"), ("bb", "c/1.jpg"),
                         ("cc", "nothing"), ("d/way/x", "../../../c")):
        (source / link).parent.mkdir(parents=True, exist_ok=True)
        os.symlink(target, source / link)
    tree = packed({"c/1.jpg": b"1", "c/deep/2.jpg": b"2", "d/3.jpg": b"3", "README": b""})
    labels = {name: label for label, name in enumerate(samples(source)[1])}
    assert list(labels) == [b"aa", b"b-links", b"c", b"d"]
    said = export(tree, out / "x", "lmdb", "--skip-others", status=4).err
    assert "3 samples, 4 labels" in said
    assert lines(out / "x.classes.txt") == list(labels)
    found = values(out / "x")
    assert [pickle.loads(found[key]) for key in (b"0", b"1", b"2")] == [
        (b"1", 2), (b"2", 2), (b"3", 3)]
    for target in ("d/way/x", "/elsewhere", "../d"):
        os.symlink(target, source / "e")
        said = export(packed({}), out / "y", "lmdb", "--skip-others", status=1).err
        assert "pack: e: a link that may lead to a folder, which would be a class" in said
        os.unlink(source / "e")
    assert not list(out.glob("y*"))


def test_the_first_ten_are_named(packed, out):
    pack = packed({**{f"c/{number}.txt": b"" for number in range(34)}, "c/x.jpg": b"x"})
    said = export(pack, out / "x", "lmdb", status=1).err
    assert said.count("not an image by its name") == 10 and "and 24 more" in said


@pytest.mark.parametrize("name, kind, said", [
    ("c/new\nline.jpg", "lmdb", "a newline in its path"),
    ("c/new\nline/a.jpg", "lmdb", "a newline in its path"),
    ("c/.jpg", "webdataset", "no name before its suffix"),
    ("c\n/a.jpg", "tfrecord", "the class of label 1 has a newline in its name")])
def test_names_that_a_line_cannot_hold_are_refused(packed, out, name, kind, said):
    pack = packed({name: b"x", "c/b.jpg": b"x"})
    assert said in export(pack, out / "x", kind, status=1).err
    if kind == "lmdb":
        export(pack, out / "x", kind, "--skip-others", status=4)
        assert (out / "x.names.txt").read_text() == "c/b.jpg\n"


def test_splits_are_exported_one_at_a_time(packed, place, out):
    pack = packed({path: path.encode() for path in ("train/a/1.jpg", "train/b/2.jpg",
                                                    "val/a/3.jpg")})
    said = export(pack, out / "x", "lmdb", status=1).err
    assert "holds splits, not classes; choose one, by --root=train" in said
    export(pack, out / "train", "lmdb", "--root=train")
    check_lmdb(place / "src/train", out / "train")
    export(pack, out / "val", "webdataset", "--root=val/")
    check_webdataset(place / "src/val", [out / "val-000000.tar"])
    export(pack, out / "all", "lmdb", "--root=/")
    check_lmdb(place / "src", out / "all")
    assert "not a folder" in export(pack, out / "x", "lmdb", "--root=val/a/3.jpg", status=1).err
    assert "nothing to export" in export(pack, out / "x", "lmdb", "--root=val/a", "--skip-others",
                                         status=1).err


@pytest.mark.parametrize("words, text", [
    ([], "--format=lmdb|tfrecord|webdataset"),
    (["--format=lmdb", "--shards=2"], "do not go with --format=lmdb"),
    (["--format=tfrecord", "--shards=2", "--shard-size=1M"], "exclude each other"),
    (["--format=lmdb", "--keys=number"], "goes with --format=webdataset only"),
    (["--format=lmdb", "--order=random"], "not one of path, pack, shuffle:SEED"),
    (["--format=lmdb", "--order=shuffle:1x"], "the seed is not a number"),
])
def test_wrong_words_are_a_usage_error(tree, out, words, text):
    assert text in run(FOLDPACK, "export", *words, tree[1], out / "x", status=2).err


def test_more_shards_than_samples_or_a_folder_in_their_place_are_refused(tree, out):
    said = export(tree[1], out / "x", "tfrecord", "--shards=343", status=1).err
    assert "343 shards are too many for 342 samples" in said
    (out / "x").mkdir()
    said = export(tree[1], out / "x", "lmdb", "--force", status=1).err
    assert "exists, and is not a file" in said


def test_a_target_that_is_too_long_for_its_files_is_refused_with_the_way_out(tree, out):
    for kind, name in (("lmdb", 239), ("tfrecord", 240), ("webdataset", 245)):
        said = export(tree[1], out / ("x" * name), kind, status=1).err
        assert "File name too long; choose a shorter TARGET" in said and os.listdir(out) == []


# --- the script that writes -------------------------------------------------------------------


@pytest.mark.parametrize("name, module, said", [
    ("FOLDFS_PYTHON", "no-such-python", "Python, which this command needs, does not start: "
     "no-such-python: No such file or directory; install python3, or let FOLDFS_PYTHON name one"),
    ("PYTHONPATH", None, "lmdb, which writes it, is not in")])
def test_what_it_needs_is_named_where_it_is_missing(tree, place, out, name, module, said):
    (place / "lmdb.py").write_text("raise ImportError('none')")
    done = run(FOLDPACK, "export", "--format=lmdb", tree[1], out / "x", status=1,
               env={**os.environ, name: module or str(place)})
    assert said in done.err and done.err.count("\n") == 1 and os.listdir(out) == []


# --- a python3 that hangs -------------------------------------------------------------------


def wrapped(place, text):
    """The environment with a shell script in place of python3, which does not become it."""
    (place / "python").write_text(f"#!/bin/sh\n{text}\nexit $?\n")
    (place / "python").chmod(0o755)
    return {**os.environ, "FOLDFS_PYTHON": str(place / "python")}


def test_a_wrapper_around_python_stays_in_front_of_it(tree, place, out):
    env = wrapped(place, f'{os.environ["FOLDFS_PYTHON"]} "$@"')
    run(FOLDPACK, "export", "--format=lmdb", tree[1], out / "x", env=env)
    run(FOLDPACK, "diff", tree[0], tree[1], env=env)
    run(FOLDPACK, "diff", place, tree[1], env=env, status=1)


HANGS = "sh -c 'echo $$ >\"$0\"; exec sleep 1000' "


@pytest.mark.parametrize("words, number", [
    ("export --format=lmdb PACK out", signal.SIGINT), ("report -o out PACK", signal.SIGTERM),
    ("diff DIR PACK", signal.SIGHUP)])
def test_one_that_hangs_ends_with_foldpack_at_a_signal(tree, place, words, number):
    names = {"DIR": tree[0], "PACK": tree[1], "out": place / "x"}
    words = [names.get(word, word) for word in words.split()]
    with subprocess.Popen([FOLDPACK, *words], env=wrapped(place, HANGS + f"{place}/id")) as process:
        foldfs.wait_until(lambda: (place / "id").exists() and (place / "id").read_text().strip())
        process.send_signal(number)
        assert process.wait(PATIENCE) == -number
    foldfs.wait_until(lambda: foldfs.is_gone(int((place / "id").read_text())))


def test_one_that_ignores_it_is_killed_by_a_later_one(tree, place):
    env = wrapped(place, f"trap '' TERM\n{HANGS} {place}/id")
    with subprocess.Popen([FOLDPACK, "diff", tree[0], tree[1]], env=env) as process:
        foldfs.wait_until(lambda: (place / "id").exists() and (place / "id").read_text().strip())
        process.send_signal(signal.SIGTERM)
        for _ in range(10):  # from 5 s on, as foldpack sees it: pack/tool/work/interrupt.h
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGTERM
    foldfs.wait_until(lambda: foldfs.is_gone(int((place / "id").read_text())))


# --- accidents ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind, name", [
    ("lmdb", "x"), ("lmdb", "x.classes.txt"), ("tfrecord", "x-00001-of-00002"),
    ("tfrecord", "x.tfindex-00000-of-00002"), ("webdataset", "x-000001.tar.foldpack-partial")])
def test_nothing_is_replaced_without_force(tree, out, kind, name):
    (out / name).write_bytes(b"precious")
    (out / f"{name}.partial").write_bytes(b"a download")
    before, shards = all_files(out), [] if kind == "lmdb" else ["--shards=2"]
    said = export(tree[1], out / "x", kind, *shards, status=1).err
    assert f"{out}/{name}: exists; --force replaces it" in said
    assert all_files(out) == before
    export(tree[1], out / "x", kind, *shards, "--force")
    assert not [path for path in os.listdir(out) if path.endswith(".foldpack-partial")]
    assert all_files(out).get(name) != b"precious"
    assert (out / f"{name}.partial").read_bytes() == b"a download"


@pytest.mark.parametrize("kind", ["lmdb", "webdataset"])
def test_what_is_written_is_as_private_as_the_umask_asks(tree, out, kind):
    run("sh", "-c", 'umask 077 && exec "$@"', "sh", FOLDPACK, "export", "-q", f"--format={kind}",
        tree[1], out / "x")
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}


@pytest.mark.parametrize("kind, name", [
    ("tfrecord", "x-00001-of-00003"), ("tfrecord", "x-00001-of-00003.foldpack-partial"),
    ("webdataset", "x-000002.tar"), ("webdataset", "x-000002.tar.foldpack-partial")])
def test_shards_of_another_export_are_not_mixed_with_these(tree, out, kind, name):
    (out / name).write_bytes(b"precious")
    for other in ("x-000002.tar.bak", "x-notes", "y-000007.tar", "x-00001-of-00003x"):
        (out / other).write_bytes(b"")
    said = export(tree[1], out / "x.tar" if kind == "webdataset" else out / "x", kind,
                  "--shards=2", "--force", status=1).err
    assert f"{out}/{name}: a shard of another export; remove those, or choose another" in said
    assert len(os.listdir(out)) == 5
    (out / name).unlink()
    export(tree[1], out / "x", kind, "--shards=2")


@pytest.mark.parametrize("kind, options", [("lmdb", ["--names={}.names.txt"]), ("tfrecord", [])])
def test_foldfs_mounts_what_was_exported_as_the_folder_it_was(images, place, out, mount, kind,
                                                              options):
    export(images[1], out / "x", kind, "--skip-others", status=4)
    path = out / ("x" if kind == "lmdb" else "x-00000-of-00001")
    mounted = mount(path, *(option.format(out / "x") for option in
                            ["--classes={}.classes.txt", *options]))
    found, wanted = trees.content(mounted), trees.content(images[0])
    assert wanted.pop(b"n00000003/linked.JPEG") and found == wanted


def test_what_is_no_pack_is_exported_as_well(images, out):
    export(images[1], out / "t", "tfrecord", "--shards=3", "--skip-others", status=4)
    export(images[1], out / "direct", "lmdb", "--skip-others", status=4)
    export(out / "t-0000{0..2}-of-00003", out / "again", "lmdb", f"--classes={out}/t.classes.txt")
    assert values(out / "again") == values(out / "direct")
    assert names(out / "again") == names(out / "direct")


@pytest.mark.parametrize("kind", ["lmdb", "webdataset"])
def test_damage_ends_it_and_nothing_is_left(tree, place, out, kind):
    copy = place / "copy"
    copy.write_bytes(tree[1].read_bytes())
    damage(copy, trees.noise(len(SIZES) - 1, SIZES[-1]))
    said = export(copy, out / "x", kind, "--force", status=3).err
    assert f"a/{SIZES[-1]:07}.jpg: damaged in the pack: checksum mismatch" in said
    assert "nothing was left behind" in said
    assert os.listdir(out) == []


@is_root
@pytest.mark.parametrize("kind", ["lmdb", "webdataset"])
def test_a_full_disk_is_said_and_nothing_is_left(bulk, packed, place, kind):
    packed({f"c/{number}.jpg": trees.noise(number, 1 << 20) for number in range(20)})
    with small_filesystem(place / "small", "12m") as small:
        said = export(place / "pack", small / "x", kind, status=1).err
        assert f"{small}/x: No space left on device; nothing was left behind" in said
        assert os.listdir(small) == []


class Halting(gate.Gate):
    """Shut for reads of one byte of the pack."""

    def holds(self, opcode, request):
        _, offset, size = struct.unpack_from("QQI", request, gate.IN_HEADER.size)
        return offset <= self.at < offset + size


@is_root
@pytest.mark.parametrize("kind, signo", [
    ("lmdb", signal.SIGINT), ("tfrecord", signal.SIGTERM),
    *((kind, signal.SIGKILL) for kind in FORMATS)])
def test_one_that_is_ended_in_the_middle_leaves_no_whole_file(tree, place, out, kind, signo):
    with Halting(tree[1].read_bytes(), place / "gate") as halting:
        halting.at = halting.data.index(trees.noise(len(SIZES) + 4, 100 + len(SIZES) + 4))
        halting.shut()
        with subprocess.Popen([FOLDPACK, "export", f"--format={kind}", halting.path, out / "x"],
                              stderr=subprocess.PIPE) as process:
            halting.wait_for_reader()
            process.send_signal(signo)
            halting.open()
            said = process.communicate(timeout=PATIENCE)[1].decode()
            assert process.returncode == -signo, said
    left = os.listdir(out)
    if signo != signal.SIGKILL:
        assert "interrupted; nothing was left behind" in said and left == []
        return
    assert all(name.endswith(".foldpack-partial") for name in left)
    if left:
        assert "--force replaces it" in export(tree[1], out / "x", kind, status=1).err
    export(tree[1], out / "x", kind, "--force")
    assert not [name for name in os.listdir(out) if name.endswith(".foldpack-partial")]


# --- files that are replaced --------------------------------------------------------------


@pytest.fixture
def again(place, out):
    """Makes an export of other images over an earlier one, each time, with one of its system calls
    changed. (status, what it said, what there was, what there would be now)"""
    shards, packs, want = ["--shards=3"], [], []
    for version in range(2):
        for number in range(6):
            trees.write(place / f"src{version}/class{version}/{number}.jpg",
                        trees.noise(10 * version + number, 500))
        packs.append(foldfs.pack(place / f"src{version}", place / f"pack{version}"))
    for pack in packs:
        export(pack, out / "x", "webdataset", "--force", *shards)
        want.append(all_files(out))

    def make(change):
        export(packs[0], out / "x", "webdataset", "--force", *shards)
        done = run("strace", "-qqf", "-o", "/dev/null", "-e", f"inject={change}",
                   FOLDPACK, "export", "-j1", "--format=webdataset", "--force", *shards, packs[1],
                   out / "x", status=None)
        return done.returncode, done.err, *want
    return make


def finals(folder):
    return {name: data for name, data in all_files(folder).items()
            if ".foldpack-partial" not in name}


RENAMES, UNLINKS = "?rename,renameat,renameat2", "?unlink,unlinkat"


@needs("strace")
@pytest.mark.plain
@pytest.mark.parametrize("calls", [RENAMES, UNLINKS])
def test_one_that_is_killed_while_it_replaces_leaves_no_mixture(again, out, calls):
    number, status = 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        number += 1
        status, said, old, new = again(f"{calls}:signal=KILL:when={number}")
        left = finals(out)
        assert left.items() <= old.items() or left.items() <= new.items(), number
        assert "x-000000.tar" not in left or left in (old, new), number
    assert status == 0 and left == new and number > len(new), said


@needs("strace")
@pytest.mark.plain
def test_a_file_that_cannot_get_its_name_is_said_and_nothing_is_left(again, out):
    number, status = 0, 1
    while status == 1:
        number += 1
        status, said, _, new = again(f"{RENAMES}:error=EDQUOT:when={number}")
        if status == 1:
            assert re.search(rf"{out}/x[^:]*: .*quota.*; nothing was left behind", said)
            assert os.listdir(out) == []
    assert status == 0 and finals(out) == new and number > len(new), said
