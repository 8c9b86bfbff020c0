"""hdf5.py FILE: the images that an HDF5 file holds as the bytes of image files. There is no
standard. Three layouts are common, and a file may mix them:

CLASS/NAME      a dataset is a file: bytes in one dimension, or one opaque value
images, labels  each row of an array of arrays of bytes is a file. Beside it, `labels` has their
                classes, and `names` their names. Where a group has several such arrays, as images
                and masks, each has a folder of its own

Bytes are taken for a file if they begin as an image does."""

import os
import sys
from collections import Counter

from images import DAMAGED, NAMED, Refused, labels_of, main, many, need, say, suffix, text
from scan import LABELS

NAMES = ("names", "filenames", "file_names", "paths")
HEAD = 256  # bytes by which an image is known
IMAGE_MOST = 2 << 30
GROUPS = 1000000  # that are looked through: of links to groups, each may double them


def look_through(h5py, group, path, above):
    """(path, dataset, group) of what hard links lead to. What several of them name is there under
    each name, as in a filesystem; a group that is in itself, once."""
    for name in sorted(group):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        found, below = group[name], joined(path, name)
        if isinstance(found, h5py.Dataset):
            yield below, found, group
        elif isinstance(found, h5py.Group):
            address = h5py.h5o.get_info(found.id).addr
            look_through.groups += 1
            if look_through.groups > GROUPS:
                raise Refused(f"{below}: links lead to more than {GROUPS} groups")
            if address not in above:
                yield from look_through(h5py, found, below, {*above, address})


look_through.groups = 0


def joined(above, name):
    return f"{above}/{name}" if above else name


def has_rows(h5py, dataset):
    of = h5py.check_vlen_dtype(dataset.dtype)
    return getattr(of, "kind", "") in ("i", "u") and of.itemsize == 1 and len(dataset.shape) == 1


def is_bytes(dataset):
    kind, dimensions = dataset.dtype.kind, dataset.shape and len(dataset.shape)
    return (kind in "iu" and dataset.dtype.itemsize == 1 and dimensions == 1) or (
        kind == "V" and not dataset.dtype.names and dataset.shape == ())


def read(path, dataset, where, what=""):
    """Bytes of a dataset."""
    try:
        value = dataset[where]
        return value if isinstance(value, bytes) else value.tobytes()
    except (OSError, RuntimeError) as error:
        raise Refused(f"{path}{what}: cannot be read: {error}", DAMAGED)


def beside(h5py, group, path, names, count, take, used):
    """What take() makes of the first of these arrays that has something for each row."""
    for name in names:
        found = group.get(name)
        if not isinstance(found, h5py.Dataset) or found.shape is None:
            continue
        used.add(joined(path.rpartition("/")[0], name))
        taken = take(found, count)
        if taken is not None:
            return taken
        say(f"{path}: '{name}' beside it, of shape {found.shape} and type {found.dtype}, has no "
            f"{'label' if names is LABELS else 'name'} for each of the {count} rows; left out")
    return None


def take_names(found, count):
    if found.size != count or found.dtype.kind not in "OS":
        return None
    names = [text(value) for value in found[()].reshape(-1)]
    return names if None not in names else None


def with_suffix(name, data):
    return name if name.lower().endswith(NAMED) else name + (suffix(data[:HEAD]) or ".bin")


def write_rows(h5py, tar, path, dataset, group, alone, status, used):
    count, above = dataset.shape[0], path.rpartition("/")[0]
    if count > status.st_size:  # each has at least one byte
        raise Refused(f"{path}: more rows than the file can have")
    labels = beside(h5py, group, path, LABELS, count, lambda found, count:
                    labels_of(found[()], count) if found.size == count else None, used)
    names = beside(h5py, group, path, NAMES, count, take_names, used)
    for row in range(count):
        data = read(path, dataset, row, f", row {row}")
        name = names[row] if names else ""
        folder = above if alone else path
        if alone and not labels and not name:
            folder = joined(above, "images")
        tar.add(f"{path}, row {row}", folder, with_suffix(name or f"{row:08}", data), data,
                status.st_mtime_ns, label=labels[row] if labels else None)


def write_file(tar, path, dataset, status):
    if dataset.size * dataset.dtype.itemsize > IMAGE_MOST:
        raise Refused(f"{path}: over 2 GiB")
    data = read(path, dataset, ())
    above, _, base = path.rpartition("/")
    tar.add(path, above, with_suffix(base, data), data, status.st_mtime_ns)


def write(source, tar):
    h5py = need("h5py", "HDF5")
    status = os.stat(source)
    files = pixels = 0
    rows, others, used = [], [], set()
    try:
        file = h5py.File(os.fsencode(source), "r")
    except OSError as error:
        raise Refused(f"damaged, or still being written: {error}", DAMAGED)
    root = h5py.h5o.get_info(file.id).addr
    for path, dataset, group in look_through(h5py, file, "", {root}):
        shape = dataset.shape
        if has_rows(h5py, dataset) and shape[0] and suffix(read(path, dataset, 0)[:HEAD]):
            rows.append((path, dataset, group))
        elif is_bytes(dataset) and suffix(read(path, dataset, slice(HEAD) if shape else ())[:HEAD]):
            write_file(tar, path, dataset, status)
            files += 1
        else:
            others.append(path)
            pixels += shape is not None and len(shape) >= 3
    if not files and not rows:
        raise Refused("holds arrays of pixels, not files of images" if pixels else
                      "holds no files of images in a layout known here")
    groups = Counter(path.rpartition("/")[0] for path, _, _ in rows)
    for path, dataset, group in rows:
        alone = groups[path.rpartition("/")[0]] == 1
        write_rows(h5py, tar, path, dataset, group, alone, status, used)
    left = [path for path in others if path not in used]
    if left:
        say(f"left out {len(left)} arrays, which hold neither images nor something for each of "
            f"them by a usual name: {many(left)}")


if __name__ == "__main__":
    sys.exit(main(write))
