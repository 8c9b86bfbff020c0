#!/usr/bin/python3
"""seeds.py FOLDPACK DIR: makes DIR/TARGET/NAME, small inputs that are what each parser is for.

They come from the writers of the mount tests and from foldpack itself, so that none is stored in
the repository. Where the first byte of an input chooses how it is read, it is put in front."""

import bz2
import gzip
import io
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "mount"))

# pylint: disable=wrong-import-position
import damage
import lmdb
import numpy
from formats import arrow, arrow_samples, caffe, ffcv, msgpack, parquet, recordio, tfrecord
from PIL import Image

SMALL = (24, 17)
LIST = [(bytes([n]) * 40, f"a/{n}.jpg".encode(), n % 3) for n in range(7)]


def pictures():
    image = damage.picture(SMALL)
    for kind, options in (("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("GIF", {}),
                          ("WEBP", {}), ("BMP", {}), ("TIFF", {}), ("PPM", {}),
                          ("TIFF", {"compression": "tiff_lzw"}), ("PNG", {"optimize": True})):
        yield damage.encode(kind, image, **options)
    for mode in "L", "CMYK":
        yield damage.encode("JPEG", image.convert(mode))
    exif = Image.Exif()
    exif[0x0112] = 6
    yield damage.encode("JPEG", image, exif=exif, icc_profile=b"profile")
    for mode in "1", "P", "LA", "RGBA", "I":
        yield damage.encode("PNG", image.convert(mode))


def damaged():
    with tempfile.TemporaryDirectory() as folder:
        damage.make_damage(Path(folder))
        damage.make_oddities(Path(folder) / "odd")
        for path in sorted(Path(folder).rglob("*.*")):
            if path.stat().st_size < 16384:
                yield path.read_bytes()


# --- packs --------------------------------------------------------------------------------------

def make_tree(root):
    """A file of each kind that an index knows, but for those of more than 1 GiB."""
    for folder in "a", "b/c", "empty":
        (root / folder).mkdir(parents=True)
    for number, data in enumerate(list(pictures())[:3]):
        (root / f"a/{number}.jpg").write_bytes(data)
    (root / "b/copy.jpg").write_bytes((root / "a/0.jpg").read_bytes())
    (root / "b/c/none").touch()
    (root / "train.txt").write_text("a/0.jpg 1\na/1.jpg 0\nb/copy.jpg 2\n")
    (root / "val.json").write_text('{"images": [{"file_name": "a/0.jpg"}, {"file_name": "2.jpg"}]}')
    (root / "link").symlink_to("a/1.jpg")
    (root / "folder").symlink_to("b/c")
    (root / "b/hard").hardlink_to(root / "a/1.jpg")
    (root / "b" / ("n" * 250)).mkdir()
    (root / "b" / ("n" * 250) / ("m" * 250 + ".jpg")).write_bytes(b"a path longer than a key")


def packs(foldpack):
    with tempfile.TemporaryDirectory() as folder:
        source, pack = Path(folder) / "source", Path(folder) / "x.lmdb"
        source.mkdir()
        subprocess.run([foldpack, "create", "-q", source, pack], check=True)
        yield pack.read_bytes()
        make_tree(source)
        subprocess.run([foldpack, "create", "-q", "--force", source, pack], check=True)
        yield pack.read_bytes()
        with lmdb.open(str(pack), subdir=False, lock=False, readonly=True) as env:
            env.copy(f"{folder}/moved", compact=True)
        yield Path(folder, "moved").read_bytes()


def trees():
    """LMDBs that are no packs: of one leaf, and of three levels."""
    for count, size in (3, 5), (70, 500):
        yield lmdb_of([(b"%0*d" % (size, n), b"v" * (n * 37 % 200)) for n in range(count)])
    yield lmdb_of([(b"big", b"v" * 9000), (b"last", b"")])


def lmdb_of(records):
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x"
        with lmdb.open(path, subdir=False, map_size=1 << 20, lock=False) as env, \
                env.begin(write=True) as txn:
            for key, value in records:
                txn.put(key, value)
        return Path(path).read_bytes()


# --- archives -----------------------------------------------------------------------------------

def tar(style, names=("a/0.jpg", "a/0.cls", "b/1.png", "b/1.json")):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=style) as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            archive.addfile(info, io.BytesIO(name.encode()))
        for kind, target in (tarfile.SYMTYPE, "a/0.jpg"), (tarfile.LNKTYPE, "a/0.jpg"), \
                (tarfile.DIRTYPE, ""), (tarfile.FIFOTYPE, ""):
            info = tarfile.TarInfo(f"z/{kind.decode()}")
            info.type, info.linkname = kind, target
            archive.addfile(info)
    return out.getvalue().rstrip(b"\0") + bytes(1536 - len(out.getvalue().rstrip(b"\0")) % 512)


def tars():
    yield tar(tarfile.USTAR_FORMAT)
    for style in tarfile.GNU_FORMAT, tarfile.PAX_FORMAT:
        yield tar(style, ["d/" + "n" * 150 + ".jpg", "\xe9.jpg"])


def packed_tars():
    yield gzip.compress(tar(tarfile.USTAR_FORMAT))
    yield bz2.compress(tar(tarfile.USTAR_FORMAT))
    yield from zips()
    yield zipped({"x.tar": tar(tarfile.USTAR_FORMAT), "y.zip": next(zips())})


def zipped(files, how=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def zips():
    files = {"a/0.jpg": b"0", "a/": b"", "b/\xe9.png": b"12", "b/none": b""}
    yield zipped(files)
    yield zipped(files, zipfile.ZIP_DEFLATED)


def made(write, *args):
    """What a writer of a file writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write(path, *args)
        return path.read_bytes()


def beton():
    ffcv.PAGE = 4096
    return made(ffcv.write, [(ffcv.JPEG, 1, 1, b"jpeg", 0), (ffcv.PIXELS, 2, 2, bytes(12), 1)])


def parquets():
    for codec in parquet.NONE, parquet.SNAPPY, parquet.GZIP:
        for version in 1, 2:
            yield made(parquet.write, LIST, ["x", "y", "z"], (codec,) * 3, version, 5)
    yield made(parquet.write, [(None, None, None), *LIST], None, (0, 0, 0), 1, 100, False)


# --- records ------------------------------------------------------------------------------------

def samples():
    array = numpy.arange(12, dtype="u1").reshape(2, 2, 3)
    for protocol in 0, 2, 4:
        for value in (b"jpeg", 3), {"image": b"jpeg", "label": 1}, [b"jpeg", "a.jpg"], (array, 2):
            yield pickle.dumps(value, protocol)
    yield msgpack.dumps([msgpack.ndarray(b"jpeg"), 3])
    yield arrow.serialize((b"jpeg", 3))
    yield arrow.serialize([arrow.Ndarray(b"jpeg"), 1], "0.14")
    yield from arrow_samples.samples().values()


def leaf(records):
    """As fuzz_records.c has the records of an LMDB."""
    return b"".join(bytes([len(key) - 1, len(value)]) + key + value for key, value in records)


def records():
    image = numpy.arange(27, dtype="u1").reshape(3, 3, 3)
    yield 0, tfrecord.example({"image/encoded": b"jpeg", "image/class/label": 3})
    yield 128, tfrecord.record(tfrecord.example({"jpg": b"jpeg", "cls": "cat", "v": 1.5}))
    yield 1, b"".join(recordio.image(n % 2, n, b"jpeg" + recordio.MAGIC) for n in range(3))
    yield 1, recordio.image([1.0, 2.0], 7, b"jpeg")
    yield 2, leaf([(caffe.key(n), caffe.pixels(image, n)) for n in range(2)])
    yield 2, leaf([(caffe.key(0, "a/b.jpg"), caffe.encoded(b"jpeg", 1))])
    yield 3, leaf([(b"image-000000001", b"jpeg"), (b"label-000000001", b"word"),
                   (b"num-samples", b"1")])
    yield 4, leaf([(b"%040x" % n, b"webp") for n in range(3)])
    yield 5, leaf([(b"0801_s001", b"png"), (b"0801_s002", b"png")])
    yield 6, leaf([(b"shape:0", b"1 2 3"), (b"shape:1", b"1 2 3"), (b"0", bytes(6))])
    yield 7, leaf([(b"a/1.jpg", b"jpeg"), (b"a/2.jpg", b"jpeg")])


def all_seeds(foldpack):
    made_packs = list(packs(foldpack))
    start = made_packs[1].index(b"foldfs\r\n")
    yield "dataset", made_packs
    yield "walker", [*made_packs, *trees()]
    yield "format", [made_packs[1][start:start + 4096], b"\0foldfs.parts", b"a/b.jpg" * 80]
    yield "tar", [*tars(), *packed_tars()]
    yield "samples", [flag + data for data in tars() for flag in (b"\0", b"\1")]
    yield "archives", [bytes([kind]) + data for kinds, datas in (
        ((0, 1), tars()), ((2, 4), zips()), ((3,), [beton()])) for data in datas for kind in kinds]
    yield "parquet", parquets()
    yield "sample", samples()
    yield "records", [bytes([kind]) + data for kind, data in records()]
    yield "check", [bytes([level]) + data for data in [*pictures(), *damaged()] for level in (0, 1)]
    yield "transform", [bytes([how]) + data for data in pictures() for how in (1, 0x16, 0xE3)]
    yield "lists", [bytes([form]) + text for form in range(14) for text in (
        b"b/1.jpg 0\nb/2.jpg 1\nb/x 1\n", b"1 /data/b/1.jpg\n2 /data/b/2.jpg\n", b"x\n1\n2\n",
        b'{"images": [{"file_name": "1.jpg"}, {"file_name": "a b.jpg"}, {"file_name": "x"}]}')]


def main(foldpack, folder):
    for name, datas in all_seeds(foldpack):
        into = Path(folder) / name
        into.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(datas):
            (into / f"{number:03}").write_bytes(data)


if __name__ == "__main__":
    os.environ["LLVM_PROFILE_FILE"] = os.devnull  # foldpack of the fuzzers' build
    main(*sys.argv[1:])
