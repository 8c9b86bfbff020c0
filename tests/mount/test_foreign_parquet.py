"""Parquet files of Hugging Face's datasets: written by an independent writer, and mounted."""

import errno
import json
import os
import time

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, MIB, run
from foreign import refuses_damage
from formats import parquet
from formats.parquet import GZIP, NONE, SNAPPY

NAMES = ["cat", "dog", "owl"]
SIZES = [3, 40, 1900, 4096, 9000, 65536, 70000, 200_000]


def rows(count=20, first=0):
    return [(b"\xff\xd8\xff" + trees.noise(i, SIZES[i % len(SIZES)]), b"a/x%d.jpg" % i, i % 3)
            for i in range(first, first + count)]


def expected(samples):
    return {f"{NAMES[label]}/{path.decode().rpartition('/')[2]}": data
            for data, path, label in samples}


@pytest.mark.parametrize("codecs", [(SNAPPY,) * 3, (GZIP,) * 3, (NONE, SNAPPY, GZIP)])
@pytest.mark.parametrize("version", [1, 2])
def test_images_are_under_their_classes(tmp_path, codecs, version, shown):
    file = parquet.write(tmp_path / "a.parquet", rows(), NAMES, codecs, version, group=6)
    for _ in range(2):  # by a scan, then by its index
        assert shown(file) == expected(rows())


@pytest.mark.parametrize("codec", [NONE, SNAPPY])
def test_what_a_record_lacks_is_made_up(tmp_path, codec, shown):
    samples = [(data, None, label) for data, _, label in rows(9)]
    samples[4] = (None, None, 1)
    file = parquet.write(tmp_path / "a.parquet", samples, None, (codec,) * 3, dictionary=False)
    found = shown(file)
    assert sorted(found.values()) == sorted(data for data, _, _ in samples if data)
    assert {path.split("/")[0] for path in found} == {"0000", "0001", "0002"}
    assert all(path.endswith(".JPEG") for path in found)


def test_damage_is_refused(tmp_path):
    samples = [(data[:50], path, label) for data, path, label in rows(6)]
    refuses_damage(parquet.write(tmp_path / "a.parquet", samples, NAMES, (GZIP,) * 3), 4, -1)


# --- what other writers do ----------------------------------------------------------------------

def test_what_is_not_read_is_named(tmp_path):
    """With the way out; and it is not called damaged."""
    image = parquet.plain(b"\xff\xd8\xff")
    for encoding, name in (7, "DELTA_BYTE_ARRAY"), (9, "BYTE_STREAM_SPLIT"), (99, "a newer"):
        page = parquet.page(0, 1, image, b"\2\2", encoding, NONE, 1)
        file = write_column(tmp_path / f"{encoding}.parquet", page, 1, 1)
        said = run(FOLDPACK, "list", file, status=1).err
        assert f"record 0: the column 'image.bytes' has {name}" in said
        assert "write_table(read_table(FILE), NEW)" in said and "copy it again" not in said
    for codec, name in (4, "brotli"), (7, "lz4"), (99, "a newer codec"):
        page = parquet.page(0, 1, image, b"\2\2", parquet.PLAIN, NONE, 1)
        file = write_column(tmp_path / f"codec{codec}.parquet", page, 1, 1, codec)
        said = run(FOLDPACK, "list", file, status=1).err
        assert f"pages compressed by {name}, which is not read" in said
        assert "copy it again" not in said


def write_columns(path, nodes, columns, pairs=(), top=None):
    """Columns are (name, type, values), of one row group; those at the top are optional."""
    pages, chunks = bytearray(b"PAR1"), []
    for name, kind, values in columns:
        content = parquet.column(values, 1, NONE, 1, False)
        chunks.append(parquet.chunk(kind, [name], NONE, len(values), len(pages), len(content)))
        pages += content
    rows = len(columns[0][2])
    return parquet.finish(
        path, bytes(pages), [parquet.node(b"schema", None, top or len(columns)), *nodes],
        [parquet.row_group(chunks, rows)], rows, pairs)


IMAGES = b"image", parquet.BYTES, [b"\xff\xd8\xff1", b"\xff\xd8\xff2"]
IMAGE = parquet.node(b"image", parquet.BYTES)


def listed(file, *options, status=0):
    done = run(FOLDPACK, "list", *options, file, status=status)
    return done.err if status else (done.out.split(), done.err)


def test_labels_that_are_texts_are_classes(tmp_path):
    file = write_columns(tmp_path / "a.parquet",
                         [IMAGE, parquet.node(b"label", parquet.BYTES, None, parquet.UTF8)],
                         [IMAGES, (b"label", parquet.BYTES, [b"cat", b"dog"])])
    assert listed(file) == (["cat/a-00000000.JPEG", "dog/a-00000001.JPEG"], "")


def about(features):
    text = json.dumps({"info": {"features": features}}).encode()
    return [parquet.record((1, parquet.BINARY, b"huggingface"), (2, parquet.BINARY, text))]


CATS = {"names": ["cat", "ant"], "_type": "ClassLabel"}


@pytest.mark.parametrize("features", [
    {"breed": CATS}, {"breed": CATS, "age": {"dtype": "int64"}}, {"a.b": {}, "breed": CATS}])
def test_the_one_column_with_names_of_classes_has_the_labels(tmp_path, features):
    names = ["breed", *(["age"] if "age" in features else [])]
    file = write_columns(tmp_path / "a.parquet", [
        IMAGE, *(parquet.node(name.encode(), 2) for name in names)],
        [IMAGES, *((name.encode(), 2, [1, 0]) for name in names)], about(features))
    assert listed(file) == (["0000_cat/a-00000001.JPEG", "0001_ant/a-00000000.JPEG"], "")


def test_labels_beside_the_image_in_a_struct_are_found(tmp_path):
    data = parquet.node(b"data", None, 2, repetition=0)
    file = write_columns(
        tmp_path / "a.parquet", [data, IMAGE, parquet.node(b"label", 2)],
        [IMAGES, (b"label", 2, [1, 0])],
        about({"data": {"image": {"_type": "Image"}, "label": CATS}}), top=1)
    assert listed(file, "--image-key=data.image") == (
        ["0000_cat/a-00000001.JPEG", "0001_ant/a-00000000.JPEG"], "")


def test_columns_that_may_have_the_labels_are_named(tmp_path):
    file = write_columns(tmp_path / "a.parquet", [
        IMAGE, parquet.node(b"target", 2), parquet.node(b"score", 5)],
        [IMAGES, (b"target", 2, [1, 0]), (b"score", 5, [1, 2])])
    assert ("no column 'label', so that all images are in images: --label-key names another of: "
            "target\n") in listed(file)[1]


def test_a_column_of_labels_that_has_none_is_noted(tmp_path):
    floats = write_columns(tmp_path / "a.parquet", [IMAGE, parquet.node(b"label", 5)],
                           [IMAGES, (b"label", 5, [1, 2])])
    lists = write_columns(tmp_path / "b.parquet",
                          [IMAGE, parquet.node(b"label", None, 1),
                           parquet.node(b"list", None, 1, repetition=parquet.REPEATED),
                           parquet.node(b"element", 2)], [IMAGES, (b"label", 2, [1, 2])])
    for file, what, name in (floats, "floats", "label"), (lists, "lists", "label.list.element"):
        paths, said = listed(file)
        assert paths == [f"images/{file.stem}-0000000{n}.JPEG" for n in range(2)]
        assert f"the column '{name}' has {what}, and no labels: --label-key names another" in said
        said = listed(file, f"--label-key={name}", status=1)
        assert f"--label-key: the column '{name}' has {what}" in said


def test_other_columns_of_images_and_labels_are_named(tmp_path):
    image = [parquet.node(b"bytes", parquet.BYTES), parquet.node(b"path", parquet.BYTES)]
    structs = [parquet.node(name, None, 2, repetition=0) for name in (b"image", b"mask")]
    pair = [(b"bytes", *IMAGES[1:]), (b"path", parquet.BYTES, [None, None])]
    file = write_columns(
        tmp_path / "a.parquet",
        [structs[0], *image, structs[1], *image, parquet.node(b"fine_label", 2),
         parquet.node(b"coarse_label", 2)],
        [*pair, *pair, (b"fine_label", 2, [1, 0]), (b"coarse_label", 2, [0, 0])],
        about({"fine_label": CATS, "coarse_label": CATS}), top=4)
    paths, said = listed(file)
    assert paths == ["0000_cat/a-00000001.JPEG", "0001_ant/a-00000000.JPEG"]
    assert ("the column 'mask' has images, too, which are left out: --image-key=mask shows them "
            "instead") in said
    assert "the column 'coarse_label' has labels, too: --label-key=coarse_label takes them" in said
    assert listed(file, "--image-key=mask", "--label-key=coarse_label")[1] == ""


def test_paths_that_are_no_texts_name_nothing(tmp_path):
    """As pandas writes a column of None."""
    file = write_columns(
        tmp_path / "a.parquet", [parquet.node(b"image", None, 2, repetition=0),
                                 parquet.node(b"bytes", parquet.BYTES), parquet.node(b"path", 1)],
        [(b"bytes", *IMAGES[1:]), (b"path", 1, [None, None])], top=1)
    paths, said = listed(file)
    assert paths == [f"images/a-0000000{n}.JPEG" for n in range(2)]
    assert "the column 'image.path' has integers, and no names\n" in said
    assert "--name-key names another" in listed(file, "--name-key=image.path", status=1)


def test_columns_that_are_no_images_are_said_by_name(tmp_path):
    texts = write_columns(tmp_path / "a.parquet",
                          [parquet.node(b"image", parquet.BYTES, None, parquet.UTF8)],
                          [(b"image", parquet.BYTES, [b"https://example.org/1.jpg"])])
    assert "the column 'image' has texts: --image-key names another" in listed(texts, status=1)
    nodes = [parquet.node(name, *how) for name in (b"a", b"b")
             for name, *how in ((name, None, 2), (b"bytes", 6), (b"path", 6))]
    nodes = [parquet.node(b"schema", None, 2), *nodes]
    two = parquet.finish(tmp_path / "b.parquet", b"PAR1", nodes, [], 0)
    assert "images in 'a.bytes' and in 'b.bytes': --image-key names one" in listed(two, status=1)
    none = write_columns(tmp_path / "c.parquet", [IMAGE], [(*IMAGES[:2], [None] * 3)])
    assert "none of its 3 records has the bytes of an image" in listed(none, status=1)


def test_what_is_encrypted_or_too_long_is_not_called_damaged(tmp_path):
    secret = parquet.record((2, parquet.I64, 4), (8, parquet.STRUCT, b"\0"))
    file = parquet.finish(tmp_path / "a.parquet", b"PAR1", ONE_COLUMN,
                          [parquet.row_group([secret], 1)], 1)
    assert "a.parquet: its columns are encrypted: write" in listed(file, status=1)
    with open(tmp_path / "b.parquet", "wb") as long:
        long.write(b"PAR1")
        long.truncate(65 * MIB)
        long.seek(65 * MIB)
        long.write((65 * MIB - 4).to_bytes(4, "little") + b"PAR1")
    assert "its footer is of over 64 MiB: write it" in listed(tmp_path / "b.parquet", status=1)


def test_statistics_in_front_of_a_page_may_have_whole_images(tmp_path, shown):
    """Some writers note the least and the greatest value, whatever its size."""
    image = b"\xff\xd8\xff" + trees.noise(1, 300_000)
    statistics = parquet.record((5, parquet.BINARY, image), (6, parquet.BINARY, image))
    head = parquet.record((1, parquet.I32, 1), (2, parquet.I32, 0), (3, parquet.I32, 3),
                          (4, parquet.I32, 3), (5, parquet.STRUCT, statistics))
    body = b"\2\0\0\0\2\2" + parquet.plain(image)
    page = parquet.record((1, parquet.I32, 0), (2, parquet.I32, len(body)),
                          (3, parquet.I32, len(body)), (5, parquet.STRUCT, head)) + body
    file = write_column(tmp_path / "a.parquet", page, 1, 1)
    assert list(shown(file).values()) == [image]


# --- small files that would cost much -----------------------------------------------------------

ONE_COLUMN = [parquet.node(b"schema", None, 1), parquet.node(b"image", None, 1),
              parquet.node(b"bytes", 6)]


def write_column(path, pages, groups, rows, codec=NONE, fill=0):
    """Row groups that are one: of a single column of images."""
    chunk = parquet.chunk(6, [b"image", b"bytes"], codec, rows, 4 + fill, len(pages))
    return parquet.finish(path, b"PAR1" + bytes(fill) + pages, ONE_COLUMN,
                          [parquet.row_group([chunk], rows)] * groups, rows * groups)


def one_image(rows):
    """A dictionary of one, and as many indices of it."""
    levels = parquet.varint(rows << 1) + b"\2"
    return (parquet.page(2, 1, parquet.plain(b"\xff\xd8\xff"), b"", parquet.PLAIN, NONE, 1) +
            parquet.page(0, rows, b"\0", levels, parquet.RLE_DICTIONARY, NONE, 1))


def no_image(rows):
    return parquet.page(0, rows, b"", parquet.varint(rows << 1) + b"\0", parquet.PLAIN, NONE, 1)


def test_rows_may_be_more_than_the_bytes_of_the_file(tmp_path):
    """Equal ones take a few bytes for all of them."""
    file = write_column(tmp_path / "a.parquet", one_image(60_000), 1, 60_000)
    assert len(run(FOLDPACK, "list", file).out.splitlines()) == 60_000
    rows = 2_000_000_000
    file = write_column(tmp_path / "b.parquet", one_image(1) + no_image(rows), 1, rows + 1)
    done = run(FOLDPACK, "list", file)
    assert done.out == "images/b-00000000.JPEG\n"
    assert f"{rows:,} records without an image are left out" in done.err


def test_labels_and_paths_of_rows_without_an_image_are_passed_over(tmp_path, shown):
    samples = [(None, b"no.jpg", 2)] * 300 + rows(4) + [(None, None, 1), (None, b"no.jpg", None)]
    file = parquet.write(tmp_path / "a.parquet", samples + rows(6)[4:], NAMES, group=200)
    assert shown(file) == expected(rows(6))


@pytest.mark.plain
def test_rows_that_repeat_an_image_take_bounded_memory(tmp_path):
    """Each becomes a file in a list: 10 million took 1.7 GB, and a page says of two billion."""
    file = write_column(tmp_path / "a.parquet", one_image(300_000), 1, 300_000)
    status, memory = foldfs.memory_of(FOLDPACK, "list", file)
    assert status == 0 and memory < 100 * MIB
    file = write_column(tmp_path / "b.parquet", one_image(1 << 30), 1, 1 << 30)
    status, memory = foldfs.memory_of(FOLDPACK, "list", file)
    assert status == 1 and memory < 600 * MIB


def test_columns_are_not_longer_than_the_file(tmp_path):
    """Each row group would unpack the same page."""
    page = parquet.page(0, 1, parquet.plain(trees.noise(1, 9000)), b"\2\2", parquet.PLAIN, GZIP, 1)
    file = write_column(tmp_path / "a.parquet", page, 1, 1, GZIP)
    assert len(run(FOLDPACK, "list", file).out.splitlines()) == 1
    file = write_column(tmp_path / "b.parquet", page, 2, 1, GZIP)
    assert "its footer is damaged: a column" in run(FOLDPACK, "list", file, status=3).err


def test_a_dictionary_has_no_more_entries_than_the_file_has_bytes(tmp_path):
    """16 million empty ones, in 64 KiB by gzip, took 700 MB."""
    page = parquet.page(2, 16 << 20, bytes(64 * MIB), b"", parquet.PLAIN, GZIP, 1)
    file = write_column(tmp_path / "a.parquet", page, 1, 1, GZIP)
    assert ("a page is damaged: more entries in a dictionary than bytes in the file" in
            run(FOLDPACK, "list", file, status=3).err)


def test_many_columns_of_bytes_are_soon_given_up(tmp_path):
    """Each was compared with all: 49 seconds."""
    nodes = [parquet.node(b"schema", None, 60_000)] + [parquet.node(b"x.bytes", 6)] * 60_000
    file = parquet.finish(tmp_path / "a.parquet", b"PAR1", nodes, [], 0)
    begin = time.monotonic()
    assert " of images; --image-key names another" in run(FOLDPACK, "list", file, status=1).err
    assert time.monotonic() - begin < 10


def test_a_damaged_page_takes_no_other_with_it(tmp_path):
    samples = rows(24)
    file = parquet.write(tmp_path / "a.parquet", samples, NAMES, (GZIP, NONE, NONE), group=6)
    (tmp_path / "m").mkdir()
    with foldfs.mounted(file, tmp_path / "m"):
        before = file.stat()
    with open(file, "r+b") as damaged:
        damaged.seek(before.st_size * 3 // 8)  # in the third of four pages
        damaged.write(bytes(8))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))  # its index is as good as before
    with foldfs.mounted(file, tmp_path / "m") as mount:
        found = {}
        for path, data in expected(samples).items():
            try:
                found[path] = (mount.path / path).read_bytes() == data
            except OSError as error:
                found[path] = error.errno
    bad = {f"{NAMES[label]}/{path.decode().rpartition('/')[2]}"
           for _, path, label in samples[12:18]}
    assert found == {path: errno.EIO if path in bad else True for path in found}


@pytest.mark.parametrize("codec, library", [(SNAPPY, "libsnappy.so.1"), (GZIP, "libz.so.1")])
def test_a_library_that_is_missing_is_named(tmp_path, codec, library, shown):
    """When the file is scanned, and when it is mounted by its index. Python itself needs zlib."""
    file = parquet.write(tmp_path / "a.parquet", rows(3), NAMES, (codec,) * 3)
    (tmp_path / "m").mkdir()
    (tmp_path / "libraries").mkdir()
    (tmp_path / "libraries" / library).touch()  # what is found first, and cannot be loaded
    without = dict(os.environ, LD_LIBRARY_PATH=tmp_path / "libraries")
    for scanned in False, True:
        done = run(FOLDFS, file, tmp_path / "m", status=1, env=without)
        assert f"its compressed bytes need {library}: install " in done.err or (
            codec == GZIP and not scanned and "needs python3" in done.err)
        assert shown(file) == expected(rows(3))
