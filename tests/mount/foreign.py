"""What the tests of foreign formats share: LMDBs of given records, and what a mount shows."""

import os
import tarfile
import zipfile

import archives
import trees
from foldfs import FOLDFS, FOLDPACK, run
from formats import parquet

JPEG = b"\xff\xd8\xff"


def photo(number, size=100_000):
    return JPEG + b"\xe0" + trees.noise(number, size)


def jpegs(count):
    """Values in leaf pages as well as in overflow pages."""
    return [JPEG + trees.noise(i, (40, 1990, 5000, 70000)[i % 4]) for i in range(count)]


def make_lmdb(path, records, subdir=True):
    import lmdb

    with lmdb.open(os.fspath(path), subdir=subdir, map_size=1 << 28, lock=False) as env:
        with env.begin(write=True) as txn:
            for key, value in records:
                txn.put(key, value)
    return path


def write_lmdb(path, files):
    return make_lmdb(path, [(name.encode(), data) for name, data in files.items()], subdir=False)


def write_tar(path, files):
    archives.tar(path, *files.items(), format=tarfile.PAX_FORMAT)


def write_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)


def write_parquet(path, files, codec=parquet.NONE):
    """Of "LABEL/NAME"."""
    samples = [(data, name.partition("/")[2].encode(), int(name[0]))
               for name, data in files.items()]
    parquet.write(path, samples, ["0", "1", "2", "3", "4"], (codec,) * 3, group=20)


def shown(mount):
    """path -> bytes of all files of a mount, or of a folder."""
    root = getattr(mount, "path", mount)
    return {path.decode(): (root / path.decode()).read_bytes() for path in trees.files(root)}


def packed(source, folder, *options, status=0):
    """path -> bytes of the files of a pack of it, in a folder where there is none yet."""
    run(FOLDPACK, "create", "-q", *options, source, folder / "x.lmdb", status=status)
    run(FOLDPACK, "extract", "-q", folder / "x.lmdb", folder / "out")
    return shown(folder / "out")


def refused(path, *options):
    """What is said where it should be mounted."""
    return run(FOLDFS, *options, path, path.parent, status=None).err


def refuses_damage(path, first, last):
    """Cut anywhere from `first` to `last` it is refused; with another byte, refused or read."""
    whole = path.read_bytes()
    damaged = [(whole[:end], (1, 3)) for end in (*range(first, len(whole), 97), last)]
    damaged += [(whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:], (0, 1, 3))
                for at in range(0, len(whole), 61)]
    for data, statuses in damaged:
        path.write_bytes(data)
        done = run(FOLDPACK, "list", path, status=None)
        assert done.returncode in statuses and "Sanitizer" not in done.err, done.err
