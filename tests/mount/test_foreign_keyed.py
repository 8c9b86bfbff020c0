"""LMDB files whose keys say what a file is called: Caffe's, LSUN's, CRNN's, PySODToolBox's,
BasicSR's, mmcv's. Each is written as its tool writes it, and mounted; what cannot be shown is
refused by record and reason."""

import os
import pickle

import pytest

import trees
from foldfs import FOLDFS, FOLDPACK, run
from foreign import JPEG, jpegs, make_lmdb, refused, shown
from formats import caffe

lmdb = pytest.importorskip("lmdb", reason="no py-lmdb for this Python")
numpy = pytest.importorskip("numpy", reason="no numpy for this Python")


# --- Caffe --------------------------------------------------------------------------------------


def test_caffe_pixels(place, mount):
    color = numpy.arange(2 * 3 * 3, dtype="u1").reshape(2, 3, 3)
    gray = numpy.arange(5 * 7, dtype="u1").reshape(5, 7)
    path = make_lmdb(place / "train_lmdb", [
        (caffe.key(0, "cat/a.JPEG"), caffe.pixels(color, 0)),
        (caffe.key(1), caffe.pixels(gray, 300))])
    assert shown(mount(path)) == {
        "0000_cat/a.ppm": b"P6\n3 2\n255\n" + color[:, :, ::-1].tobytes(),
        "0300/00000001.pgm": b"P5\n7 5\n255\n" + gray.tobytes()}


def test_caffe_by_numbers_without_zeros(place, mount):
    values = jpegs(12)
    path = make_lmdb(place / "train_lmdb", [
        (b"%d" % i, caffe.encoded(value, 7)) for i, value in enumerate(values)])
    assert shown(mount(path)) == {f"0007/{i:08}.JPEG": v for i, v in enumerate(values)}


def test_caffe_refusals_name_the_record(place):
    good, bad = caffe.encoded(b"x", 0), caffe.encoded(b"x" * 9000, 0)[:5000]
    path = make_lmdb(place / "train_lmdb", [
        (caffe.key(i), bad if i == 5 else good) for i in range(8)])
    assert "record 5: a field that is longer than its message" in refused(path)


# --- LSUN ---------------------------------------------------------------------------------------


def make_lsun(folder, category, values):
    return make_lmdb(folder / category, [(b"%040x" % (i * 7919), value)
                                         for i, value in enumerate(values)])


def test_lsun_has_a_class_a_folder(place, mount):
    values = jpegs(6)
    values[5] = b"RIFF\x20\0\0\0WEBPVP8 "
    church = make_lsun(place, "church_outdoor_val_lmdb", values[:3])
    tower = make_lsun(place, "tower_val_lmdb", values[3:])
    paths = [f"church_outdoor/{i * 7919:040x}.JPEG" for i in range(3)] + \
        [f"tower/{i * 7919:040x}.JPEG" for i in range(2)] + [f"tower/{2 * 7919:040x}.webp"]
    assert shown(mount(tower, church)) == dict(zip(paths, values))


# --- CRNN ---------------------------------------------------------------------------------------


def test_crnn(place, mount):
    values, texts = jpegs(12), [f"wörd {i}" for i in range(12)]
    path = make_lmdb(place / "data", [
        *[(b"image-%09d" % (i + 1), value) for i, value in enumerate(values)],
        *[(b"label-%09d" % (i + 1), text.encode()) for i, text in enumerate(texts)],
        (b"num-samples", b"12")])
    found = shown(mount(path))
    table = found.pop("labels.tsv").decode()
    assert found == {f"images/{i + 1:09}.JPEG": value for i, value in enumerate(values)}
    assert table == "".join(f"images/{i + 1:09}.JPEG\t{text}\n" for i, text in enumerate(texts))


def test_a_count_that_disagrees_with_the_records_is_noted(place):
    for number, (key, count) in enumerate([(b"num-samples", b"7"), (b"__len__", pickle.dumps(7))]):
        name = b"image-%09d" if number == 0 else b"%d.jpg"
        path = make_lmdb(place / str(number), [*[(name % i, JPEG) for i in (1, 2)], (key, count)])
        assert f"2 records, where {key.decode()} says 7" in run(FOLDPACK, "list", path).err


# --- PySODToolBox -------------------------------------------------------------------------------


def make_pixels(path, arrays, shapes=None):
    """As ImageFolder2LMDB.py does: of one shape, only that is noted."""
    names = sorted(arrays)
    shapes = shapes or [f"{a.shape[2] if a.ndim == 3 else 1}_{a.shape[0]}_{a.shape[1]}"
                        for a in map(arrays.get, names)]
    make_lmdb(path, [(name.encode(), arrays[name].tobytes()) for name in names])
    with open(path / "meta_info.pkl", "wb") as file:
        shapes = shapes[:1] if len(set(shapes)) == 1 else shapes
        pickle.dump({"name": "TrainSet", "resolution": shapes, "keys": names}, file)
    return path


@pytest.mark.parametrize("heights", [[3, 3], [3, 40]])
def test_pixels_with_shapes_beside_them(place, mount, heights):
    arrays = {f"{i}.jpg": numpy.random.default_rng(i).integers(0, 256, (height, 50, 3), "u1")
              for i, height in enumerate(heights)}
    assert shown(mount(make_pixels(place / "Image.lmdb", arrays))) == {
        f"{i}.ppm": b"P6\n50 %d\n255\n" % height + arrays[f"{i}.jpg"][:, :, ::-1].tobytes()
        for i, height in enumerate(heights)}


# --- by path ------------------------------------------------------------------------------------


def test_basicsr(place, mount):
    values = [b"\x89PNG\r\n\x1a\n" + trees.noise(i, 3000) for i in range(3)]
    names = ["0001x4", "000/baboon", "v1.5"]
    path = make_lmdb(place / "GT.lmdb", zip(map(str.encode, names), values))
    (path / "meta_info.txt").write_text("".join(f"{n}.png (480,500,3) 1\n" for n in names))
    assert shown(mount(path)) == {f"{name}.png": value for name, value in zip(names, values)}


def test_mmcv_has_paths(place, mount):
    files = dict(zip(["train/cat/a.jpg", "train/dog/b.JPEG", "val/c"], jpegs(3)))
    path = make_lmdb(place / "set.lmdb", [(k.encode(), v) for k, v in files.items()])
    files["val/c.JPEG"] = files.pop("val/c")
    assert shown(mount(path)) == files


@pytest.mark.parametrize("front", ["/", "./", "/data//./"])
def test_paths_from_a_root(place, mount, front):
    files = dict(zip(["cat/a.jpg", "dog/b.JPEG"], jpegs(2)))
    path = make_lmdb(place / "set.lmdb", [((front + k).encode(), v) for k, v in files.items()])
    folder = "data/" if "data" in front else ""
    assert shown(mount(path)) == {folder + k: v for k, v in files.items()}


def test_any_lmdb_of_paths_by_name(place, mount):
    files = {"x/notes.txt": b"text", "x/data.npy": b"\x93NUMPY"}
    path = make_lmdb(place / "set", [*[(k.encode(), v) for k, v in files.items()],
                                     (b"__len__", b"2")], subdir=False)
    assert ("an LMDB file, but not a foldfs pack, nor of another format that is known; "
            "'--schema=NAME' says") in refused(path)
    mounted = mount(path, "--schema=paths")
    assert shown(mounted) == files
    assert "1 records with keys as __len__ are left out" in mounted.said


@pytest.mark.parametrize("name", ["cat/a.jpg", "CAT/a.jpg", "a.jpg"])
def test_notes_in_front_of_the_names_are_passed(place, mount, name):
    path = make_lmdb(place / "set", [(name.encode(), JPEG), (b"__keys__", b"\x80\4]."),
                                     (b"__len__", b"1")], subdir=False)
    mounted = mount(path)
    assert shown(mounted) == {name: JPEG}
    assert "2 records with keys as __len__ are left out" in mounted.said


def test_what_is_no_image_is_not_named_as_one(place, mount):
    """As stylegan2-pytorch writes them: a count behind the images."""
    found = {f"64-{i:05}": JPEG + trees.noise(i, 5000) for i in range(70)}
    path = make_lmdb(place / "set", [*[(k.encode(), v) for k, v in found.items()],
                                     (b"length", b"70")])
    assert shown(mount(path)) == {**{f"{k}.JPEG": v for k, v in found.items()},
                                  "length.bin": b"70"}


@pytest.mark.parametrize("records", [[], [(b"a.jpg", JPEG)]], ids=["alone", "behind a record"])
def test_databases_with_names_are_refused(place, records):
    path = make_lmdb(place / "set", records)
    with lmdb.open(os.fspath(path), map_size=1 << 28, lock=False, max_dbs=1) as env:
        with env.begin(write=True, db=env.open_db(b"images")) as txn:
            txn.put(b"b.jpg", JPEG)
    done = run(FOLDFS, path, place, status=1)
    assert done.err.endswith("an LMDB with databases in it, which have names: only the records of "
                             "the main one are read\n")


@pytest.mark.parametrize("key", [b"b/../c.jpg", b"c\0d.jpg", b"e" * 300])
def test_keys_that_are_no_paths_are_refused(place, key):
    path = make_lmdb(place / "set", [(b"a.jpg", jpegs(1)[0]), (key, jpegs(1)[0])])
    assert "record 1: its name is not one that a file can have" in refused(path)


def test_a_schema_of_lmdb_wants_one(place):
    (place / "x").write_bytes(b"no LMDB" * 1000)
    for schema in ("caffe", "lsun", "crnn", "basicsr", "paths"):
        done = run(FOLDFS, f"--schema={schema}", place / "x", place, status=None)
        assert f"not an LMDB file, as those of {schema} are" in done.err
