"""TFRecord and RecordIO files: records one after the other, of an image and what names it."""

import gzip

from foldfs import FOLDPACK, run
from foreign import JPEG, jpegs, refused, shown
from formats import recordio, tfrecord


# --- TFRecord -----------------------------------------------------------------------------------


def slim(data, label, synset, name):
    """As build_imagenet_data.py writes it; protocol buffers keep no order in a map."""
    return {"image/height": 3, "image/encoded": data, "image/class/label": label,
            "image/object/bbox/xmin": 0.5, "image/class/text": "a fish, or two",
            "image/class/synset": synset, "image/filename": name, "image/format": "JPEG"}


def test_slim(place, mount):
    values = jpegs(9)
    names = [f"n0{i % 3}_{i}.JPEG" for i in range(9)]
    path = tfrecord.write(place / "train-00000-of-00001", [
        slim(value, 1 + i % 3, f"n0{i % 3}", names[i]) for i, value in enumerate(values)])
    assert shown(mount(path)) == {f"n0{i % 3}/{names[i]}": values[i] for i in range(9)}


def test_labels_beside_a_class_count_from_0_where_one_is_0(place, mount):
    """Only Slim's count from 1. The one that says so may come last."""
    values = jpegs(3)
    path = tfrecord.write(place / "x.tfrecord", [
        {"image/encoded": values[label], "image/class/label": label, "image/class/text": text}
        for label, text in ((1, "b"), (2, "a"), (0, "z"))])
    found = {folder.split("/")[0]: data for folder, data in shown(mount(path)).items()}
    assert found == {"0000_z": values[0], "0001_b": values[1], "0002_a": values[2]}


def test_shards_of_tfds_with_names_of_classes(place, mount):
    values = jpegs(6)
    (place / "label.labels.txt").write_text("n01\nn02\n")
    shards = [tfrecord.write(place / f"imagenet-train.tfrecord-0000{n}-of-00002", [
        {"file_name": f"{n}_{i}.JPEG", "image": values[3 * n + i], "label": i % 2}
        for i in range(3)]) for n in range(2)]
    assert shown(mount(shards[1], shards[0], f"--classes={place}/label.labels.txt")) == {
        f"n0{1 + i % 2}/{n}_{i}.JPEG": values[3 * n + i] for n in range(2) for i in range(3)}


def test_shards_without_names(place, mount):
    values = jpegs(4)
    shards = [tfrecord.write(place / f"flowers-{n}.tfrecord", [
        {"image/encoded": values[2 * n + i], "image/class/label": i} for i in range(2)])
        for n in range(2)]
    assert shown(mount(shards[1], shards[0])) == {
        f"000{i}/flowers-{n}-0000000{i}.JPEG": values[2 * n + i]
        for n in range(2) for i in range(2)}


def test_keys_that_the_user_names(place, mount):
    value, = jpegs(1)
    path = tfrecord.write(place / "x.tfrecord", [{"jpg": value, "cls": "cat", "id": "a.jpg"}])
    assert "--image-key names another of: jpg, cls, id" in refused(path)
    mounted = mount(path, "--image-key=jpg", "--label-key=cls", "--name-key=id")
    assert shown(mounted) == {"cat/a.jpg": value}


def test_compressed_tfrecords_are_refused(place):
    path = tfrecord.write(place / "x.tfrecord", [{"image": JPEG}])
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert "a compressed TFRecord cannot be read in place: decompress it" in refused(path)


# --- RecordIO -----------------------------------------------------------------------------------


def test_recordio_with_its_list(place, mount):
    values = jpegs(5)
    names = {i * 10: f"n0{i % 2}/image {i}.jpg" for i in range(5)}
    path = recordio.write(place / "train.rec", [
        (float(i % 2), i * 10, value) for i, value in enumerate(values)], names)
    assert shown(mount(path)) == dict(zip(names.values(), values))


def test_a_list_beside_recordio_may_begin_with_a_byte_order_mark(place, mount):
    values = jpegs(2)
    path = recordio.write(place / "x.rec", [(0.0, i, value) for i, value in enumerate(values)],
                          {i: f"cat/{i}.jpg" for i in range(2)})
    text = path.with_suffix(".lst").read_bytes()
    path.with_suffix(".lst").write_bytes(b"\xef\xbb\xbf" + text)
    assert shown(mount(path)) == {f"cat/{i}.jpg": value for i, value in enumerate(values)}
    path.with_suffix(".lst").write_bytes(text.decode().encode("utf-16"))
    said = run(FOLDPACK, "list", path, status=1).err
    assert "the file beside it that ends in '.lst' is in UTF-16; save it as UTF-8" in said


def test_a_path_of_a_list_that_no_file_can_have_is_refused(place):
    for name in "a\0l9/b.jpg", "a/b\0l9.jpg":
        path = recordio.write(place / "x.rec", [(3.0, 0, JPEG)], {0: name})
        said = run(FOLDPACK, "list", path, status=3).err
        assert "record 0: its name is not one that a file can have" in said


def test_recordio_of_faces(place, mount):
    """Insightface's: the first record, and one a person, have numbers and no image."""
    values = jpegs(2)
    path = recordio.write(place / "train.rec", [
        ([3.0, 5.0], 0, b""), (0.0, 1, values[0]), ([1.0, 0.0], 2, values[1]),
        ([1.0, 2.0], 3, b"")])
    mounted = mount(path)
    assert shown(mounted) == {"0000/train-00000001.JPEG": values[0],
                              "0001/train-00000002.JPEG": values[1]}
    assert "2 records without an image are left out" in mounted.said
    assert "1 records have several labels: the first counts" in mounted.said


def test_recordio_in_parts(place, mount):
    values = jpegs(2)
    values[1] = JPEG + b"." + recordio.MAGIC + b"...." + recordio.MAGIC
    path = recordio.write(place / "train.rec", [
        (0.0, 0, values[1]), (0.0, 1, values[0]), (0.0, 2, b"." + values[1])])
    want = {"0000/train-00000000.JPEG": values[1], "0000/train-00000001.JPEG": values[0],
            "0000/train-00000002.bin": b"." + values[1]}
    assert shown(mount(path)) == want
    run(FOLDPACK, "create", path, place / "x.lmdb")
    (place / "packed").mkdir()
    assert shown(mount(place / "x.lmdb", at=place / "packed")) == want


def test_a_class_of_recordio_that_is_one_number_of_many_is_its_place(place):
    one_of_three = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    path = recordio.write(place / "train.rec", [
        (label, i, JPEG) for i, label in enumerate([*one_of_three, [1.0, 1.0, 0.0]])])
    listed = run(FOLDPACK, "list", path)
    assert listed.out.split() == [
        "0000/train-00000001.JPEG", "0001/train-00000002.JPEG", "0002/train-00000000.JPEG",
        "images/train-00000003.JPEG"]
    assert "3 records have a label of several numbers, of which the place" in listed.err
    assert "1 records have several classes" in listed.err


def test_names_of_records_from_a_pipe_begin_with_their_number(place):
    """And not with a dash, which is an option to rm."""
    path = tfrecord.write(place / "x.tfrecord", [{"image": JPEG, "label": 1}])
    with open(path, "rb") as pipe:
        run(FOLDPACK, "create", "-", place / "x.pack", stdin=pipe)
    assert run(FOLDPACK, "list", place / "x.pack").out == "0001/00000000.JPEG\n"
