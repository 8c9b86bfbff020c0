"""foldpack create from zarr and N5 whose chunks are files of images."""

import bz2
import json
import os
import subprocess

import pytest

import trees
from foldfs import FOLDPACK, MIB, is_root, run
from foreign import shown
from formats import zarr, zarr_samples
from gate import Changing

HEADS = {b"\xff\xd8\xff\xe0": ".JPEG", b"\x89PNG\r\n\x1a\n": ".png"}
LAYOUTS = {
    "2": {}, "2 nested": {"separator": "/"}, "3": {"separator": "/"}, "3 flat": {"separator": "."},
    "3 as 2": {"separator": ".", "keys": "v2"}, "n5": {}, "n5 sized": {"mode": 1}}

has_numcodecs = pytest.mark.skipif(subprocess.run(
    [os.environ["FOLDFS_PYTHON"], "-c", "import numcodecs"], capture_output=True,
    check=False).returncode != 0, reason="python3-numcodecs is not installed")
layouts = pytest.mark.parametrize("layout", LAYOUTS)


def files(count):
    heads = list(HEADS)
    return [heads[i % 3 == 0] + trees.noise(i, 37 * i) for i in range(count)]


def name(number, data, folder):
    return f"{folder}/{number:08}{HEADS[data[:4] if data[0] == 255 else data[:8]]}"


def version_of(layout):
    return layout.split()[0]


@pytest.fixture
def source(place):
    return zarr.group(place / "x", "2")


def labelled(source, labels, *kind, **how):
    """An image for each of these labels. Returns their array."""
    zarr.images(source / "images", "2", files(len(labels)))
    return zarr.labels(source / "labels", "2", labels, *kind, **how)


def create(source, *options, status=0):
    return run(FOLDPACK, "create", "--force", "--check=off", *options, source,
               source.with_suffix(".lmdb"),
               status=status)


def content(source):
    """{path: bytes} of the pack."""
    run(FOLDPACK, "extract", "-q", source.with_suffix(".lmdb"), source.with_suffix(".out"))
    return shown(source.with_suffix(".out"))


def packed(source, *options):
    create(source, *options)
    return content(source)


# --- what is read ---------------------------------------------------------------------------


@layouts
def test_images_are_under_their_labels(place, layout):
    version, how = version_of(layout), LAYOUTS[layout]
    made = files(23)
    root = zarr.group(place / "x", version)
    zarr.images(root / "train/images", version, made, **how)
    zarr.labels(root / "train/labels", version, [i % 5 for i in range(23)], **how)
    assert packed(root) == {
        name(i, data, f"train/{i % 5:04}"): data for i, data in enumerate(made)}


@has_numcodecs
@pytest.mark.parametrize("version", ["2", "3", "n5"])
@pytest.mark.parametrize("codec", [None, "gzip", "zlib", "zstd", "blosc"])
def test_labels_are_unpacked(place, version, codec):
    if version != "2" and codec == "zlib":
        return  # they have none
    how = {"separator": "/"} if version == "3" else {}
    root = zarr.group(place / "x", version)
    zarr.images(root / "images", version, files(9), **how)
    zarr.labels(root / "y", version, range(1000, 1009), codec=codec, **how)
    assert sorted(packed(root)) == [name(i, data, 1000 + i) for i, data in enumerate(files(9))]


@has_numcodecs
def test_labels_by_other_codecs(source):
    """And by a filter, as zarr writes them."""
    labels = labelled(source, [7, 8, 9], "|u1")
    change(labels / ".zarray", filters=[{"id": "delta", "dtype": "|u1"}],
           compressor={"id": "bz2", "level": 1})
    (labels / "0").write_bytes(bz2.compress(bytes([7, 1, 1, 0])))
    assert [path[:4] for path in sorted(packed(source))] == ["0007", "0008", "0009"]


@pytest.mark.parametrize("codec, needed", [("zstd", True), (None, False)])
def test_where_numcodecs_is_missing_the_way_out_is_said(source, monkeypatch, codec, needed):
    """Where it is needed."""
    labelled(source, [0, 1], codec=codec)
    (source.parent / "numcodecs.py").write_text("raise ImportError('none')")
    monkeypatch.setenv("PYTHONPATH", str(source.parent))
    said = create(source, status=1 if needed else 0).err
    assert ("numcodecs, which reads labels by zstd, is not in" in said) == needed
    assert ("'pip install numcodecs', or let FOLDFS_PYTHON name" in said) == needed


@pytest.mark.parametrize("kind", ["|u1", "|i1", "<u2", ">u2", "<i4", ">i4", "<u8", ">i8"])
def test_labels_of_any_integer(source, kind):
    zarr.images(source / "images", "2", files(3))
    zarr.labels(source / "target", "2", [1, 0, 99], kind)
    assert {path.split("/")[0] for path in packed(source)} == {"0001", "0000", "0099"}


def test_labels_that_zarr_left_out_are_its_fill_value(source):
    labelled(source, [1] * 9, lacking={1}, fill=7)
    found = sorted(packed(source))
    assert [path[:4] for path in found] == ["0001"] * 5 + ["0007"] * 4


@pytest.mark.parametrize("fill, folder", [(7.0, "0007"), (None, "images"), (1.5, None),
                                          ("NaN", None), (float("inf"), None)])
def test_a_fill_value_that_is_no_integer_is_no_label(source, fill, folder):
    labelled(source, [1] * 9, lacking={1}, fill=fill)
    if folder:
        assert {path.split("/")[0] for path in packed(source)} == {"0001", folder}
    else:
        assert "labels: lacks labels, and its fill value, " in create(source, status=3).err


def test_names_of_classes(source):
    labelled(source, [1, 0])
    classes = source.parent / "classes"
    classes.write_text("cat\ndog\n")
    assert sorted(packed(source, f"--classes={classes}")) == ["cat/00000001.JPEG",
                                                             "dog/00000000.png"]
    classes.write_text("cat\n")
    said = create(source, f"--classes={classes}", status=1).err
    assert f"x: record 0: its label is 1, and {classes} ends with label 0" in said


def test_the_class_is_the_path_without_labels(source):
    for path in ("cats", "deep/er/dogs"):
        zarr.images(source / path, "2", files(2))
    assert sorted(packed(source)) == [
        f"{path}/0000000{i}.{end}" for path in ("cats", "deep/er/dogs")
        for i, end in ((0, "png"), (1, "JPEG"))]


def test_an_array_alone_is_one_class(place):
    assert sorted(packed(zarr.images(place / "x", "2", files(1)))) == ["images/00000000.png"]


def test_two_arrays_with_the_same_labels(source):
    for path in ("left", "right"):
        zarr.images(source / path, "2", files(2))
    zarr.labels(source / "labels", "2", [0, 1])
    assert sorted(packed(source)) == [
        f"{path}/000{i}/0000000{i}.{end}" for path in ("left", "right")
        for i, end in ((0, "png"), (1, "JPEG"))]


def test_tiles_have_numbers_of_their_own(source):
    tiles = {(i, j): data for (i, j), data in zip(
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)], files(6))}
    zarr.array(source / "tiles", "2", [16, 20], [8, 8], tiles, "imagecodecs_png")
    assert packed(source) == {name(i, data, "tiles") : data for i, data in enumerate(files(6))}


def test_chunks_that_zarr_left_out_are_counted(source):
    zarr.images(source / "images", "2", [None, *files(3)[1:], None, files(5)[4]])
    zarr.labels(source / "labels", "2", range(5))
    (source / "images/5.0.0").write_bytes(b"not in the shape")
    (source / "images/01.0.0").write_bytes(b"no name of a chunk")
    said = create(source).err
    assert f"{source}: 'images' lacks 2 of its 5 chunks" in said
    assert sorted(content(source)) == [
        "0001/00000001.JPEG", "0002/00000002.JPEG", "0004/00000004.JPEG"]


def test_other_arrays_are_left_out_with_a_line(source):
    zarr.images(source / "images", "2", files(2))
    zarr.labels(source / "labels", "2", [1, 2, 3])
    zarr.images(source / "masks", "2", files(2), codec="blosc")
    said = create(source).err
    assert ("left out 2 arrays, which hold neither images nor a label for each: "
            "'labels' and others") in said
    assert {path.split("/")[0] for path in content(source)} == {"images"}


@pytest.mark.parametrize("how", [
    {"kind": "<f4"}, {"filters": [{"id": "delta"}]}, {"codec": "imagecodecs_delta"}])
def test_what_is_no_image_is_no_source(source, how):
    zarr.images(source / "images", "2", files(2), **how)
    assert "images/0.0.0" in packed(source)


def test_the_folder_above_is_packed_as_it_is(source):
    zarr.images(source / "images", "2", files(2))
    above = source.parent / "above"
    above.mkdir()
    source.rename(above / "x")
    assert "x/images/0.0.0" in packed(above)


@pytest.mark.parametrize("text", ["[1, 2", "[]", '{"blockSize": 3}'])
def test_a_folder_with_a_file_of_such_a_name_is_a_folder(place, text):
    (place / "x").mkdir()
    (place / "x/attributes.json").write_text(text)
    assert list(packed(place / "x")) == ["attributes.json"]


@pytest.mark.parametrize("text", [
    '{"blockSize": 3}', '{"dimensions": [3], "blockSize": [3]}', '{"tags": ["n5"]}'])
def test_a_folder_whose_attributes_are_not_those_of_n5_needs_no_python(place, monkeypatch, text):
    (place / "x").mkdir()
    (place / "x/attributes.json").write_text(text)
    monkeypatch.setenv("FOLDFS_PYTHON", "no-such-python")
    assert list(packed(place / "x")) == ["attributes.json"]


@pytest.mark.parametrize("name", ["zarr.json", ".zarray"])
@pytest.mark.parametrize("text", ["notes on how zarr was tried", "[1, 2", "[]"])
def test_a_text_that_is_called_as_one_of_zarrs_makes_no_store(place, name, text):
    (place / "x/c").mkdir(parents=True)
    (place / "x/c/1.jpg").write_bytes(files(1)[0])
    (place / "x" / name).write_text(text)
    said = create(place / "x").err
    assert f"x: {name}: no metadata of zarr; packed as the folder that it is" in said
    assert set(content(place / "x")) == {name, "c/1.jpg"}


def test_files_beside_the_arrays_are_said_to_be_left_out(source):
    zarr.images(source / "images", "2", files(2))
    (source / "photos").mkdir()
    for number in range(3):
        (source / f"photos/{number}.jpg").write_bytes(b"x")
    said = create(source).err
    assert "left out 3 files, which belong to no array: 'photos/0.jpg' and others" in said


@has_numcodecs
def test_what_the_programs_wrote(place):
    samples = zarr_samples.extract(place)
    for version, skip in (("zarr2", 0), ("zarr3", 0), ("n5", 16)):
        found = packed(samples / version)
        chunks = {path.read_bytes()[skip:] for path in (samples / version).rglob("[0-9c]*")
                  if path.is_file() and "images" in str(path)}
        assert set(found.values()) == chunks
        for path in found:
            label, file = path.split("/")[-2:]
            assert label == {"0": "0002", "1": "0000", "2": "0007"}[file[7]]


# --- what is refused ------------------------------------------------------------------------


def refused(source, status=3):
    said = create(source, status=status).err
    assert not source.with_suffix(".lmdb").exists()
    return said


def change(path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.mark.parametrize("version", ["2", "3", "n5"])
def test_metadata_that_is_cut_off(place, version):
    root = zarr.group(place / "x", version)
    zarr.images(root / "a/images", version, files(2), separator="/")
    meta = root / "a/images" / zarr.NAMES[version]
    text = meta.read_text()
    for length in range(0, len(text), 60):
        meta.write_text(text[:length])
        assert f"a/images/{meta.name}: no JSON, or cut off" in refused(root)
    meta.write_text("[" * 100000)
    assert "no JSON" in refused(root)


@pytest.mark.parametrize("values", [
    {"shape": [-1, 8, 8]}, {"shape": [2, 8]}, {"shape": [2.5, 8, 8]}, {"shape": "2"},
    {"shape": [2, 8, "8"]}, {"chunks": [0, 8, 8]}, {"chunks": None}, {"shape": [1] * 17},
    {"shape": [10**40, 8, 8]}, {"shape": [2**63 - 1, 8, 8]}])
def test_shapes_that_make_no_sense(source, values):
    change(zarr.images(source / "a", "2", files(2)) / ".zarray", **values)
    assert "a/.zarray: the shapes of the array and of its chunks make no sense" in refused(source)


@pytest.mark.parametrize("values", [{"compressor": "x"}, {"filters": 7}, {"dtype": ""}])
def test_values_of_odd_kinds(source, values):
    change(zarr.images(source / "a", "2", files(2)) / ".zarray", **values)
    assert "a/.zarray: its values make no sense" in refused(source)


def test_shapes_that_nobody_could_count(source):
    labelled(source, [0, 1], chunk=2)
    for name, rest in ("images", [8, 8]), ("labels", []):
        change(source / name / ".zarray", shape=[2**62, *rest])
    assert sorted(packed(source)) == ["0000/00000000.png", "0001/00000001.JPEG"]
    change(source / "images/.zarray", shape=[2**62, 2**62, 8])
    assert "images/.zarray: more chunks than can be counted" in create(source, status=3).err


@pytest.mark.parametrize("key", ["tables", "header"])
def test_jpegs_without_their_tables(source, key):
    zarr.images(source / "images", "2", files(2),
                compressor={"id": "imagecodecs_jpeg", key: "/9j/"})
    assert "images/.zarray: its JPEGs have their tables in the metadata" in refused(source, 1)


def test_chunks_that_are_no_images(source):
    images = zarr.images(source / "images", "2", [*files(4), b"", b"GIF"])
    outside = source.parent / "outside"
    outside.write_bytes(files(1)[0])
    for number in (1, 2):
        (images / f"{number}.0.0").unlink()
    (images / "1.0.0").symlink_to(outside)
    os.mkfifo(images / "2.0.0")
    assert f"{source}/images/1.0.0: is a symbolic link" in refused(source, 1)
    said = create(source, "--on-bad=skip", status=4).err
    assert f"{source}/images/2.0.0: is no regular file" in said
    assert f"{source}/images/4.0.0: holds no image of a known kind" in said
    assert f"{source}/images/5.0.0: holds no image of a known kind" in said
    assert len(content(source)) == 2


def test_blocks_whose_header_is_damaged(place):
    root = zarr.group(place / "x", "n5")
    images = zarr.images(root / "images", "n5", files(4))
    block = (images / "0/0/1").read_bytes()
    for number, bad in enumerate((block[:15], b"\0\x02" + block[2:], b"\0\0\0\x04" + block[4:],
                                  block[:4] + b"\xff" * 12 + block[16:])):
        (images / "0/0" / str(number)).write_bytes(bad)
    said = create(root, "--on-bad=skip", status=4).err
    assert said.count("has a damaged header") == 4


def test_links_are_not_followed(source):
    zarr.images(source / "images", "2", files(3), separator="/")
    outside = zarr.images(source.parent / "outside", "2", files(3), separator="/")
    (source / "loop").symlink_to(source)
    (source / "away").symlink_to(outside)
    (source / "images/2").rename(source.parent / "2")
    (source / "images/2").symlink_to(source.parent / "2")
    said = create(source).err
    assert "lacks 1 of its 3 chunks" in said
    assert len(content(source)) == 2
    (source / "images/.zarray").unlink()
    (source / "images/.zarray").symlink_to(outside / ".zarray")
    assert "images/.zarray: is a symbolic link" in create(source, status=1).err


def test_groups_that_are_too_deep(source):
    deep = source.joinpath(*["d"] * 64)
    zarr.images(deep, "2", files(1))
    assert len(packed(source)) == 1
    deep.joinpath("e").mkdir()
    (deep / ".zarray").unlink()
    assert "over 64 folders deep" in create(source, status=1).err


@has_numcodecs
def test_labels_that_are_damaged(source):
    labels = labelled(source, range(6))
    (labels / "1").write_bytes(b"short")
    assert "labels/1: has 5 bytes in place of 32" in refused(source)
    for codec, data in ("gzip", zarr.PACK["gzip"](bytes(31))), ("blosc", zarr.blosc(bytes(33))), \
            ("zstd", b"\x28\xb5\x2f\xfd"), ("zlib", b""):
        change(labels / ".zarray", compressor={"id": codec})
        (labels / "0").write_bytes(data)
        assert "labels/0: " in refused(source)
    change(labels / ".zarray", chunks=[2**40])
    assert "labels/0: over 512 MiB" in refused(source, 1)


@has_numcodecs
def test_labels_by_codecs_that_are_not_known(source):
    labels = labelled(source, [0, 1])
    change(labels / ".zarray", compressor={"id": "none-such"})
    assert "labels/0: 'none-such' is no codec of numcodecs, which unpacks" in refused(source, 1)


def test_labels_of_over_four_digits(source):
    labelled(source, [0, 10000])
    assert sorted(packed(source)) == ["00000/00000000.png", "10000/00000001.JPEG"]


def said_of_change(source, name, old, new, place):
    """What create says where the file of this name changes behind its first 2 MiB."""
    with Changing(old, place / "gate", 2 * MIB, new) as gate:
        run("mount", "--bind", gate.path, source / name)
        try:
            said = create(source, status=1).err
        finally:
            run("umount", source / name)
    assert not source.with_suffix(".lmdb").exists()
    return said


@is_root
def test_a_chunk_that_changes_while_it_is_packed_is_refused(source, place):
    head = b"\xff\xd8\xff\xe0"
    old, new = (head + trees.noise(seed, 3 * MIB) for seed in range(2))
    zarr.images(source / "images", "2", [*files(1), old])
    said = said_of_change(source, "images/1.0.0", old, new, place)
    assert f"{source}: images/1.0.0: changed while it was being packed" in said


def test_a_chunk_that_goes_while_it_is_packed(source):
    """Between its folder, which is listed, and itself: once numcodecs was asked for."""
    labelled(source, [0, 1], codec="gzip")
    (source.parent / "numcodecs.py").write_text(f"""
import os, pathlib
walk = os.walk
def walk_and_lose(top):
    for found in walk(top):
        if '1.0.0' in found[2]:
            pathlib.Path('{source}/images/1.0.0').unlink()
        yield found
os.walk = walk_and_lose
raise ImportError('none')""")
    said = run(FOLDPACK, "create", source, source.with_suffix(".lmdb"), status=1,
               env={**os.environ, "PYTHONPATH": str(source.parent)}).err
    assert f"{source}: changed while it was being packed" in said


@is_root
def test_labels_that_change_while_they_are_read_are_refused(source, place):
    labelled(source, [1, 2], "|u1", chunk=3 * MIB)
    old, new = (source / "labels/0").read_bytes(), bytes([3]) * 3 * MIB
    said = said_of_change(source, "labels/0", old, new, place)
    assert f"{source}: labels/0: changed while it was being packed; pack it again when" in said
