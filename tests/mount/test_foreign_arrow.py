"""Arrow files and streams of Hugging Face's datasets: written by an independent writer, and by
pyarrow where there is one; mounted in place."""

import os
import subprocess

import pytest

import trees
from foldfs import FOLDPACK, MIB, run
from foreign import refuses_damage
from formats import arrow_ipc
from test_foreign_parquet import NAMES, expected, rows

pytest_plugins = ["server"]


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("group", [1, 7, 100])
def test_images_are_under_their_classes(tmp_path, file, wide, group, shown):
    path = arrow_ipc.write(tmp_path / "a.arrow", rows(), NAMES, group, file, wide)
    for _ in range(2):  # by a scan, then by its index
        assert shown(path) == expected(rows())


@pytest.mark.parametrize("wide", [False, True])
def test_labels_may_be_categories(tmp_path, wide, shown):
    """Numbers of a dictionary, to which each batch adds one; the last two rows have none."""
    samples = [(data, path, min(i // 3, 2)) for i, (data, path, _) in enumerate(rows(11))]
    samples[-2:] = [(data, path, None) for data, path, _ in samples[-2:]]
    path = arrow_ipc.write(tmp_path / "a.arrow", samples, group=3, wide=wide,
                           coded=[name.encode() for name in NAMES])
    assert shown(path) == expected(samples[:-2]) | {
        f"images/x{i}.jpg": samples[i][0] for i in (9, 10)}


def test_a_label_that_64_bits_with_a_sign_do_not_hold_is_none(tmp_path, shown):
    """As it is in a Parquet file."""
    samples = [(data, path, -label) for data, path, label in rows(2)]
    path = arrow_ipc.write(tmp_path / "a.arrow", samples, signed=False)
    assert set(shown(path)) == {"0000/x0.jpg", "images/x1.jpg"}


def test_a_category_that_its_dictionary_lacks_is_damage(tmp_path):
    path = arrow_ipc.write(tmp_path / "a.arrow", rows(3), coded=[b"cat", b"dog"])
    said = run(FOLDPACK, "list", path, status=3).err
    assert "the dictionary of the column 'label' has no value 1" in said


def test_what_a_record_lacks_is_made_up(tmp_path, shown):
    samples = [(data, None, label) for data, _, label in rows(9)]
    samples[4] = (None, None, 1)
    samples[5] = (samples[5][0], None, None)
    path = arrow_ipc.write(tmp_path / "a.arrow", samples, group=4)
    done = run(FOLDPACK, "list", path)
    assert "1 records without an image are left out" in done.err
    assert set(done.out.split()) == {
        f"{'images' if i == 5 else f'{i % 3:04}'}/a-{i:08}.JPEG" for i in range(9) if i != 4}
    assert sorted(shown(path).values()) == sorted(filter(None, next(zip(*samples))))


def test_a_folder_of_save_to_disk_is_one_set(tmp_path, shown):
    shards = [rows(10), rows(10, 10), rows(3, 20)]
    saved = arrow_ipc.save_to_disk(tmp_path / "saved [1]", shards, NAMES)
    assert shown(saved) == expected(rows(23))
    run(FOLDPACK, "create", "--check=off", saved, tmp_path / "p.pack")
    assert shown(tmp_path / "p.pack") == expected(rows(23))
    (saved / "data-00001-of-00003.arrow").unlink()
    assert "data-00001-of-00003.arrow" in run(FOLDPACK, "list", saved, status=1).err


def test_a_folder_of_an_older_save_to_disk_is_its_file(tmp_path, shown):
    saved = arrow_ipc.save_to_disk(tmp_path / "saved", [rows(3)], NAMES)
    (saved / "data-00000-of-00001.arrow").rename(saved / "dataset.arrow")
    assert shown(saved) == expected(rows(3))


def test_the_splits_of_a_saved_dict_have_folders(tmp_path, shown):
    saved = tmp_path / "saved"
    for split, samples in ("train", rows(8)), ("test", rows(3, 8)):
        arrow_ipc.save_to_disk(saved / split, [samples], NAMES)
    (saved / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    found = {f"train/{path}": data for path, data in expected(rows(8)).items()}
    found |= {f"test/{path}": data for path, data in expected(rows(3, 8)).items()}
    assert shown(saved) == found
    run(FOLDPACK, "create", "--check=off", saved, tmp_path / "p.pack")
    assert shown(tmp_path / "p.pack") == found


def test_what_is_not_read_is_named_with_the_way_out(tmp_path):
    for codec, name in (0, "LZ4_FRAME"), (1, "ZSTD"):
        path = arrow_ipc.write(tmp_path / "a.arrow", rows(2), codec=codec)
        said = run(FOLDPACK, "list", path, status=1).err
        assert f"record batches compressed by {name}, which are not read" in said
        assert "IpcWriteOptions(compression=None)" in said
    path = arrow_ipc.write(tmp_path / "b.arrow", [(None, b"x.jpg", 0)] * 3)
    assert "none of its 3 records has the bytes" in run(FOLDPACK, "list", path, status=1).err
    path = arrow_ipc.write(tmp_path / "c.arrow", rows(2))
    assert "no column 'photo' of images" in run(FOLDPACK, "list", "--image-key=photo", path,
                                                status=1).err


def test_a_stream_that_was_not_ended_is_said(tmp_path):
    path = arrow_ipc.write(tmp_path / "a.arrow", rows(4), end=b"")
    done = run(FOLDPACK, "list", path)
    assert len(done.out.split()) == 4 and "it has no mark at its end" in done.err


def test_damage_is_refused(tmp_path):
    samples = [(data[:50], path, label) for data, path, label in rows(6)]
    refuses_damage(arrow_ipc.write(tmp_path / "a.arrow", samples, NAMES, group=3), 9, -9)


def test_a_scan_from_far_asks_for_little(web):
    samples = [(b"\xff\xd8\xff" + trees.noise(i, 300_000), b"x%d.jpg" % i, i % 3)
               for i in range(200)]
    path = arrow_ipc.write(web.folder / "a.arrow", samples, NAMES, group=40)
    assert run(FOLDPACK, "list", web.url(path.name)).out.count("\n") == 200
    asked = [range_.removeprefix("bytes=").split("-")
             for status, _, range_, *_ in web.asked() if status == "206"]
    assert len(asked) < 12
    # Besides its ends, which are asked for before it is known what it is.
    ranges = [int(end) - int(begin) + 1 for begin, end in asked if begin and end]
    assert sum(ranges) < path.stat().st_size / 10 + MIB


PYARROW = """
import sys
try:
    import pyarrow as pa, pyarrow.feather, pyarrow.parquet
except ImportError:
    sys.exit(77)
samples = eval(sys.stdin.read())
count = len(samples)
images = pa.array([data and {"bytes": data, "path": path.decode()} for data, path, _ in samples],
                  pa.struct([("bytes", pa.binary()), ("path", pa.string())]))
table = pa.table({
    "none": pa.nulls(count), "lists": pa.array([[{"x": "1", "y": [b"2"]}]] * count),
    "words": pa.array(["x"] * count).dictionary_encode(), "image": images,
    "maps": pa.array([[("a", 1)]] * count, pa.map_(pa.string(), pa.int64())),
    "pairs": pa.array([[1, 2]] * count, pa.list_(pa.int8(), 2)),
    "label": pa.array([label for *_, label in samples], pa.uint8())})
how, path = sys.argv[1:]
if how == "categories":
    names = pa.array([label if label is None else "class %d" % label for *_, label in samples])
    table = table.set_column(6, "label", names.dictionary_encode())
    pa.feather.write_feather(table, path, compression="uncompressed", chunksize=6)
elif how in ("stream", "file"):
    with getattr(pa.ipc, "new_" + how)(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=6)
elif how == "feather":
    pa.feather.write_feather(table, path, compression="lz4")
elif how == "views":
    if not hasattr(pa, "binary_view"):
        sys.exit(77)
    kind = pa.struct([("bytes", pa.binary_view()), ("path", pa.string_view())])
    images = pa.array(images.to_pylist(), kind)
    pa.feather.write_feather(table.set_column(3, "image", images), path, "uncompressed")
elif how == "delta":
    pa.parquet.write_table(table.select(["image", "label"]), path, use_dictionary=False,
                           column_encoding={"image.bytes": "DELTA_BYTE_ARRAY"})
else:
    pa.parquet.write_table(table, path, compression=how)
"""


def by_pyarrow(how, samples, path):
    """Of the python3 that scripts run in."""
    python = os.environ.get("FOLDFS_PYTHON") or "python3"
    done = subprocess.run([python, "-c", PYARROW, how, path], input=repr(samples).encode())
    if done.returncode == 77:
        pytest.skip(f"{python} has no pyarrow")
    assert done.returncode == 0
    return path


def with_a_gap():
    samples = rows()
    samples[7] = (None, None, None)
    return samples, {f"{label:04}/x{i}.jpg": data
                     for i, (data, _, label) in enumerate(samples) if data}


@pytest.mark.parametrize("how", ["stream", "file", "zstd"])
def test_what_pyarrow_writes_is_read(tmp_path, how, shown):
    """With columns of other types before and between those that are looked for."""
    samples, found = with_a_gap()
    assert shown(by_pyarrow(how, samples, tmp_path / "a.arrow")) == found


def test_categories_of_feather_are_classes(tmp_path, shown):
    samples, found = with_a_gap()
    path = by_pyarrow("categories", samples, tmp_path / "a.feather")
    assert shown(path) == {"class " + path[3:]: data for path, data in found.items()}


@pytest.mark.parametrize("how", ["feather", "views", "delta", "lz4", "brotli"])
def test_what_foldfs_does_not_read_is_packed_by_pyarrow(tmp_path, how, shown):
    samples, found = with_a_gap()
    path = by_pyarrow(how, samples, tmp_path / "a")
    assert "not " + ("found" if how == "views" else "read") in \
        run(FOLDPACK, "list", path, status=1).err
    said = run(FOLDPACK, "create", "--check=off", path, tmp_path / "p.pack").err
    assert "1 records without an image are left out" in said
    assert shown(tmp_path / "p.pack") == found
