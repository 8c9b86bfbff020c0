"""Images with labels as each format has them: what the tests of labels and of sets share."""

import gzip
import os
import pickle
import zipfile
import zlib

import pytest

import trees
from foreign import make_lmdb, write_tar
from formats import caffe, ffcv, parquet, recordio, tfrecord, zarr

JPEG = b"\xff\xd8\xff\xe0"


def images(labels):
    """(bytes, label) of two images a label."""
    return [(JPEG + trees.noise(i, 100 + i), label)
            for i, label in enumerate([*labels, *labels])]


def number(data):
    """Of a record, whatever others are in its file."""
    return zlib.crc32(data) % 10**6


# Writers: (place, samples, names) -> path, the options that it needs. A format that has names of
# classes takes them from `names`, by label.


def listed(place, names):
    if names is None:
        return []
    (place / "names.txt").write_bytes(os.fsencode("".join(f"{name}\n" for name in names)))
    return [f"--classes={place}/names.txt"]


def write_parquet(place, samples, names):
    return parquet.write(place / "x.parquet", [
        (data, f"{number(data)}.jpg".encode(), label) for data, label in samples],
        names=names), []


def write_parquet_listed(place, samples, names):
    return write_parquet(place, samples, None)[0], listed(place, names)


def write_slim(place, samples, names):
    """As TF-Slim does: the label counts from 1, and the synset is the name."""
    return tfrecord.write(place / "x.tfrecord", [
        {"image/encoded": data, "image/filename": f"{number(data)}.jpg",
         "image/class/label": 1 + label,
         **({"image/class/synset": names[label]} if label >= 0 else {})}
        if names else {"image/encoded": data, "label": label} for data, label in samples]), []


def write_tfds(place, samples, names):
    return tfrecord.write(place / "x.tfrecord", [
        {"image": data, "label": label} for data, label in samples]), listed(place, names)


def write_recordio(place, samples, names):
    return recordio.write(place / "x.rec", [
        (label, number(data), data) for data, label in samples]), listed(place, names)


def write_recordio_paths(place, samples, names):
    """The .lst has paths, whose folders are the names."""
    paths = names and {
        number(data): f"{names[label]}/{number(data)}.jpg" for data, label in samples}
    return recordio.write(place / "x.rec", [
        (label, number(data), data) for data, label in samples], paths), []


def write_folder2lmdb(place, samples, names):
    return make_lmdb(place / "x.lmdb", [
        (b"%d" % number(data), pickle.dumps((data, label), 4)) for data, label in samples],
        subdir=False), listed(place, names)


def write_caffe(place, samples, names):
    return make_lmdb(place / "x.lmdb", [
        (caffe.key(number(data)), caffe.encoded(data, label & (1 << 64) - 1))
        for data, label in samples], subdir=False), listed(place, names)


def write_caffe_paths(place, samples, names):
    return make_lmdb(place / "x.lmdb", [
        (caffe.key(number(data), names and f"{names[label]}/{number(data)}.jpg"),
         caffe.encoded(data, label)) for data, label in samples], subdir=False), []


def write_ffcv(place, samples, names):
    ffcv.write(place / "x.beton", [(ffcv.JPEG, 8, 8, data, label) for data, label in samples])
    return place / "x.beton", listed(place, names)


def shard(path, samples):
    write_tar(path, {f"{number(data):06}.{suffix}": content for data, label in samples
                     for suffix, content in (("jpg", data), ("cls", str(label).encode()))})
    return path


def write_webdataset(place, samples, names):
    return shard(place / "x.tar", samples), listed(place, names)


def write_compressed(place, samples, names):
    plain, options = write_webdataset(place, samples, names)
    (place / "x.tar.gz").write_bytes(gzip.compress(plain.read_bytes()))
    return place / "x.tar.gz", options


def write_zarr(place, samples, names):
    source = zarr.group(place / "x.zarr", "2")
    zarr.images(source / "images", "2", [data for data, _ in samples])
    zarr.labels(source / "labels", "2", [label for _, label in samples])
    return source, listed(place, names)


def write_hdf5(place, samples, names):
    h5py = pytest.importorskip("h5py", reason="python3-h5py is not installed")
    numpy = pytest.importorskip("numpy")
    with h5py.File(place / "x.h5", "w") as out:
        rows = out.create_dataset("images", (len(samples),), dtype=h5py.vlen_dtype(numpy.uint8))
        for row, (data, _) in enumerate(samples):
            rows[row] = numpy.frombuffer(data, numpy.uint8)
        out["labels"] = [label for _, label in samples]
    return place / "x.h5", listed(place, names)


def write_torch(place, samples, names):
    with zipfile.ZipFile(place / "x.pth", "w") as out:
        out.writestr("x/data.pkl", pickle.dumps(list(samples), 4))
    return place / "x.pth", listed(place, names)


MOUNTED = [write_parquet, write_parquet_listed, write_slim, write_tfds, write_recordio,
           write_recordio_paths, write_folder2lmdb, write_caffe, write_caffe_paths, write_ffcv,
           write_webdataset]
CREATED = [write_compressed, write_zarr, write_hdf5, write_torch]
OWN_NAMES = [write_parquet, write_slim, write_recordio_paths, write_caffe_paths]
