"""LMDB files whose keys are numbers and whose values are pickles, Arrow or msgpack of an image and
its label: folder2lmdb, pytorch_lmdb_imagenet, tensorpack, Image2LMDB. Each is written as its tool
writes it, and mounted; what must not be read is refused by the number of its record."""

import os
import pickle

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, run
from foreign import JPEG, make_lmdb, refused, shown
from formats import arrow, msgpack

pytest.importorskip("lmdb", reason="no py-lmdb for this Python")
numpy = pytest.importorskip("numpy", reason="no numpy for this Python")

SIZES = [3, 40, 1900, 2100, 4080, 4096, 9000, 65530, 65536, 70000, 200, 300_000]


def images(count=25):
    """(bytes, label): the keys 10 to 24 come between 1 and 2."""
    return [(b"\xff\xd8\xff" + trees.noise(i, SIZES[i % len(SIZES)]), i % 3)
            for i in range(count)]


def write(path, records, special=()):
    return make_lmdb(path, [*records, *special], subdir=False)


def numbered(path, values, dumps, form="%d"):
    """As all of these tools do: keys in order, then what can be counted."""
    keys = [(form % i).encode() for i in range(len(values))]
    return write(path, zip(keys, map(dumps, values)),
                 [(b"__keys__", dumps(keys)), (b"__len__", dumps(len(keys)))])


def expected(samples, suffix=".JPEG"):
    return {f"{label:04}/{i:08}{suffix}": data for i, (data, label) in enumerate(samples)}


# --- what is shown ------------------------------------------------------------------------------


# What else records may be: test_foreign_samples.py.
@pytest.mark.parametrize("dumps, keys", [(pickle.dumps, "%d"), (arrow.serialize, "%08d")],
                         ids=["pickle", "arrow"])
def test_folder2lmdb(place, mount, dumps, keys):
    found = images()
    mounted = mount(numbered(place / "train.lmdb", found, dumps, keys))
    assert shown(mounted) == expected(found)


def test_texts_are_classes_or_paths(place, mount):
    data = images(1)[0][0]
    values = [(data, "cat"), (data, "dog/a.jpg"), (data, "/x/y/b.jpeg", "owl"),
              ("c.png", data, 3), {"image": data, "label": None, "filename": "d.jpg"}]
    mounted = mount(numbered(place / "train.lmdb", values, pickle.dumps))
    assert set(shown(mounted)) == {"cat/00000000.JPEG", "dog/a.jpg", "owl/b.jpeg", "0003/c.png",
                                   "d.jpg"}


def test_other_values_of_a_dict_are_counted(place, point):
    samples = [{"image": data, "label": label, "width": 3} for data, label in images(4)]
    done = run(FOLDFS, numbered(place / "train.lmdb", samples, pickle.dumps), point)
    foldfs.unmount(point)
    assert "4 records have more than an image, its label and its path" in done.err


@pytest.mark.parametrize("shape, header", [
    ((2, 3, 3), b"P6\n3 2\n255\n"),
    ((2, 3), b"P5\n3 2\n255\n"),
])
def test_pixels_of_tensorpack_become_pictures(place, mount, shape, header):
    pixels = numpy.arange(numpy.prod(shape), dtype="u1").reshape(shape)
    path = write(place / "train.lmdb", [(b"0", pickle.dumps([pixels, 7], -1))])
    colors = pixels[:, :, ::-1] if len(shape) == 3 else pixels
    (name, data), = shown(mount(path)).items()
    assert name == "0007/00000000." + ("ppm" if len(shape) == 3 else "pgm")
    assert data == header + colors.tobytes()


@pytest.mark.parametrize("said", [pickle.dumps(12), arrow.serialize(12), b"\x0c", b"12"],
                         ids=["pickle", "arrow", "msgpack", "digits"])
def test_a_count_that_disagrees_with_the_records_is_noted(place, said):
    records = [(b"%d" % i, pickle.dumps((JPEG, i % 3))) for i in range(9)]
    path = make_lmdb(place / "train", [*records, (b"__len__", said)])
    expected = "9 records, where __len__ says 12"
    assert (expected in run(FOLDPACK, "list", path).err) == (said != b"\x0c")
    whole = make_lmdb(place / "whole", [*records, (b"__len__", pickle.dumps(9))])
    assert "__len__" not in run(FOLDPACK, "list", whole).err


@pytest.mark.parametrize("text", ["train_images_idx.txt", "images_idx.map"])
def test_image2lmdb_has_names_beside_it(place, mount, text):
    found = [data for data, _ in images(12)]
    names = [f"image {i}.jpg" for i in range(10)] + ["same.jpg"] * 2
    (place / text).write_text("".join(f"{name} {i}\n" for i, name in enumerate(names)))
    mounted = mount(numbered(place / "train.lmdb", found, arrow.serialize))
    names[10:] = ["00000010-same.jpg", "00000011-same.jpg"]
    assert shown(mounted) == {f"images/{name}": data for name, data in zip(names, found)}
    assert "2 images share their names with others" in mounted.said


def test_image2lmdb_without_names_is_numbered(place, mount):
    found = [data for data, _ in images(3)]
    mounted = mount(numbered(place / "train.lmdb", found, arrow.serialize))
    assert shown(mounted) == {f"images/{i:08}.JPEG": data for i, data in enumerate(found)}
    assert "no file of names is beside it" in mounted.said


def test_classes_and_names_of_the_user(place, mount):
    found = images(4)
    (place / "classes").write_text("cat\ndog\nowl\n")
    (place / "names").write_text("a.jpg\nb.jpg\nc.jpg\nfish/d.jpg\n")
    mounted = mount(numbered(place / "train.lmdb", found, pickle.dumps),
                    f"--classes={place / 'classes'}", f"--names={place / 'names'}")
    paths = ["cat/a.jpg", "dog/b.jpg", "owl/c.jpg", "fish/d.jpg"]
    assert shown(mounted) == {path: data for path, (data, _) in zip(paths, found)}


# --- what is refused ----------------------------------------------------------------------------


class Harmful:
    def __reduce__(self):
        return os.system, ("touch /tmp/harmed",)


@pytest.mark.parametrize("value, why", [
    (pickle.dumps((Harmful(), 3)), "a pickle that needs posix.system, which is not called"),
    (pickle.dumps((b"x", 3), 0), "bytes of a pickle below protocol 3"),
    (pickle.dumps((b"x", b"x" * 99)), "more than an image and its label"),
    (pickle.dumps((b"x", 3), 2), "bytes of a pickle below protocol 3"),
    (pickle.dumps([numpy.zeros((2, 2, 2, 2), "u1"), 3]), "an array of 4 dimensions"),
    (pickle.dumps([numpy.zeros(3), 3]), "an array of another type than uint8"),
    (arrow.serialize((b"x" * 9000, 3))[:2000], "Arrow that is cut off"),
    (arrow.serialize([b"x", 1, 2]), "more than an image and its label"),
    (msgpack.dumps([{b"nd": False}, 3]), "a dict that is no array of uint8"),
])
def test_a_bad_record_is_named(place, value, why):
    records = [(b"%d" % i, pickle.dumps(sample)) for i, sample in enumerate(images(13))]
    records[11] = (b"11", value)
    path = write(place / "train.lmdb", records, [(b"__keys__", b"")])
    assert f"record 11: {why}" in refused(path)


@pytest.mark.parametrize("special", [b"__keys__", b"__len__"])
def test_a_bad_first_record_is_named(place, special):
    path = write(place / "train.lmdb", [(b"0", pickle.dumps("text"))], [(special, b"")])
    assert "record 0: no image" in refused(path)


def test_keys_that_are_no_numbers_are_refused(place):
    path = write(place / "train.lmdb", [(b"0", pickle.dumps((b"x", 1))), (b"zebra", b"")])
    assert "the key 'zebra' is not the number of a record" in refused(path)
