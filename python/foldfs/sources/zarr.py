"""zarr.py FOLDER: the images of the arrays below a folder that zarr (formats 2 and 3) or N5 wrote:
chunks that are image files, as imagecodecs and n5-jpeg make them.

    .zarray          chunks at 0.1.2, or 0/1/2
    zarr.json        c/0/1/2, or as .zarray
    attributes.json  2/1/0, each with a header in front

Arrays come sorted by path, chunks by number. An array of integers beside one, by a usual name and
as long, has its labels, which numcodecs unpacks."""

import errno
import json
import math
import os
import re
import stat
import struct
import sys

from images import DAMAGED, OTHER, Refused, main, many, need, say, suffix
from scan import LABELS

FIELDS = {".zarray": ("shape", "chunks", "dtype"),
          "zarr.json": ("shape", "chunk_shape", "data_type"),
          "attributes.json": ("dimensions", "blockSize", "dataType")}
ZARR_2, ZARR_3, N5 = FIELDS
IMAGES = "apng avif bmp gif htj2k jpeg jpeg2k jpegxl png spng tiff ultrahdr webp".split()
N5_CODECS = {"bzip2": "bz2", "xz": "lzma"}
RANK_MOST, DEPTH_MOST = 16, 64
META_MOST, CHUNK_MOST = 16 << 20, 512 << 20


def read_file(path, most):
    """(bytes, os.stat_result); a link is not followed."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Refused("is no regular file")
            if status.st_size > most:
                raise Refused(f"over {most >> 20} MiB")
            return file.read(), status
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Refused("is a symbolic link" if error.errno == errno.ELOOP else error.strerror)


class Array:
    """The slowest dimension comes first, of N5 as well."""

    def __init__(self, root, path, kind, meta):
        self.root, self.path, self.kind, self.n5 = root, path, kind, kind == N5
        self.labels, self.users = None, 0
        shape, chunk, data_type = FIELDS[kind]
        grid, keys = meta, {}
        if kind == ZARR_3:
            grid = member(meta, "chunk_grid", "configuration")
            keys = {"name": "default", **member(meta, "chunk_key_encoding")}
        self.shape, self.chunk = meta.get(shape), grid.get(chunk)
        if not (is_shape(self.shape, 0) and is_shape(self.chunk, 1) and
                len(self.shape) == len(self.chunk)):
            raise Refused("the shapes of the array and of its chunks make no sense, or have over "
                          f"{RANK_MOST} dimensions", DAMAGED)
        self.along = [-(-size // chunk) for size, chunk in zip(self.shape, self.chunk)]
        if math.prod(self.along) >= 1 << 64:
            raise Refused("more chunks than can be counted", DAMAGED)
        self.below_c = keys.get("name") == "default"
        separator = member(keys, "configuration").get("separator") if keys else \
            meta.get("dimension_separator")
        self.nested = self.n5 or (separator == "/" if separator else self.below_c)
        if self.n5:
            self.shape, self.chunk, self.along = (
                values[::-1] for values in (self.shape, self.chunk, self.along))
        self.take_type(str(meta.get(data_type)))
        self.fill = meta.get("fill_value", 0)
        self.take_codecs(meta)

    def take_type(self, text):
        """"<i8" of zarr 2, "int64" of the others."""
        found = re.fullmatch(r"(u?)int(8|16|32|64)|[<>|]([iu])([1248])", text)
        self.width, self.signed = 0, False
        self.order = "big" if self.n5 or text[0] == ">" else "little"
        if found:
            self.width = int(found[4]) if found[4] else int(found[2]) // 8
            self.signed = found[3] == "i" if found[4] else not found[1]

    def take_codecs(self, meta):
        """(name, parameters) of each, in the order in which they pack."""
        if self.kind == ZARR_2:
            codecs = [(codec.get("id"), codec) for codec in (
                *(meta.get("filters") or []), meta.get("compressor") or {"id": "raw"})]
        elif self.n5:
            codec = member(meta, "compression")
            codecs = [(codec.get("type", "raw"), codec)]
        else:
            codecs = [(codec.get("name"), codec.get("configuration") or {})
                      for codec in meta.get("codecs") or []]
        if any(parameters.get("endian") == "big" for _, parameters in codecs):
            self.order = "big"
        codecs = [(re.sub("^(numcodecs[.])?(imagecodecs_)?", "", str(name)), parameters)
                  for name, parameters in codecs]
        self.codecs = [codec for codec in codecs if codec[0] not in ("raw", "bytes", "transpose")]
        self.is_image = len(self.codecs) == 1 and self.codecs[0][0] in IMAGES and \
            bool(self.shape) and not self.signed and self.width in (1, 2)
        if self.is_image and {"tables", "header"} & {
                key for key, value in self.codecs[0][1].items() if value is not None}:
            raise Refused("its JPEGs have their tables in the metadata, so that they are not whole")

    def key(self, at):
        """The path of a chunk, below that of the array."""
        numbers = [str(number) for number in (at[::-1] if self.n5 else at)]
        separator = "/" if self.nested else "."
        return separator.join(["c", *numbers] if self.below_c else numbers)

    def place(self, key=""):
        return "/".join(part for part in (self.path, key) if part)

    def head(self, data):
        """(bytes in front of a chunk, values behind them)."""
        if not self.n5:
            return 0, self.chunk[0]
        rank = len(self.shape)
        mode, count = struct.unpack_from(">HH", data) if len(data) >= 4 else (2, 0)
        skip = 4 + 4 * rank + 4 * mode
        if mode > 1 or count != rank or len(data) < skip:
            raise Refused("has a damaged header", DAMAGED)
        sizes = struct.unpack_from(f">{rank}I", data, 4)
        if any(size > most for size, most in zip(sizes, self.chunk[::-1])):
            raise Refused("has a damaged header", DAMAGED)
        return skip, math.prod(sizes)

    def chunks(self):
        """(number, key) of those that are there, sorted."""
        folder = os.path.join(self.root, self.path)
        if self.below_c and self.nested:
            folder = os.path.join(folder, "c")
        found = []
        for at in self.indices(folder, ()):
            number = 0
            for index, along in zip(at, self.along):
                number = number * along + index
            found.append((number, self.key(at)))
        return sorted(found)

    def indices(self, folder, taken):
        """Links to folders are not followed."""
        limits = self.along[::-1] if self.n5 else self.along
        prefix = "c." if self.below_c and not self.nested else ""
        try:
            entries = list(os.scandir(folder))
        except (FileNotFoundError, NotADirectoryError):
            return
        for entry in entries:
            if not entry.name.startswith(prefix):
                continue
            parts = entry.name[len(prefix):].split(".")
            at = (*taken, *parts)
            if len(parts) != (1 if self.nested else len(limits)) or not all(
                    re.fullmatch("0|[1-9][0-9]*", part, re.ASCII) and int(part) < limit
                    for part, limit in zip(parts, limits[len(taken):])):
                continue
            if len(at) == len(limits):
                numbers = [int(part) for part in at]
                yield numbers[::-1] if self.n5 else numbers
            elif entry.is_dir(follow_symlinks=False):
                yield from self.indices(entry.path, at)


def member(values, *names):
    """An object in an object; empty where there is none."""
    for name in names:
        values = values.get(name)
        if not isinstance(values, dict):
            return {}
    return values


def is_shape(values, least):
    return isinstance(values, list) and len(values) <= RANK_MOST and all(
        type(value) is int and least <= value < (1 << 63) - 1 for value in values)


# --- the folder ----------------------------------------------------------------------------------


def read_meta(path, kind):
    """What describes an array, {} of a group, None: it belongs to something else."""
    try:
        meta = json.loads(read_file(path, META_MOST)[0])
    except (ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict):
        raise Refused("no JSON, or cut off", DAMAGED)
    if kind == ZARR_3:
        return meta if meta.get("node_type") == "array" else {}
    if kind == N5 and not meta.keys() >= set(FIELDS[N5]):
        return {} if "n5" in meta else None
    return meta


def node(root, path):
    """An array; True for a group, False for another folder."""
    for kind in FIELDS:
        place = os.path.join(root, path, kind)
        try:
            meta = read_meta(place, kind)
            if meta:
                return Array(root, path, kind, meta)
        except FileNotFoundError:
            continue
        except Refused as error:
            status = error.status if path or "tables" in str(error) else OTHER
            raise Refused(f"{os.path.join(path, kind)}: {error}", status)
        except Exception as error:  # of values of odd kinds
            raise Refused(f"{os.path.join(path, kind)}: its values make no sense: {error}",
                          DAMAGED if path else OTHER)
        if meta is not None:
            return True
    return os.path.exists(os.path.join(root, path, ".zgroup"))


def find(root, path, others, depth=0):
    """All arrays. Folders of N5 need no metadata."""
    if depth > DEPTH_MOST:
        raise Refused(f"{path}/: over {DEPTH_MOST} folders deep")
    found = node(root, path)
    if isinstance(found, Array):
        return [found]
    if not found and not path:
        raise Refused("no metadata of zarr or N5", OTHER)
    arrays = []
    for entry in sorted(os.scandir(os.path.join(root, path)), key=lambda entry: entry.name):
        below = os.path.join(path, entry.name)
        if entry.name.startswith("."):
            continue
        if entry.is_dir(follow_symlinks=False):
            arrays += find(root, below, others, depth + 1)
        elif entry.name not in FIELDS:
            others.append(below)
    return arrays


def pair(arrays):
    """Finds the labels of images."""
    by_path = {array.path: array for array in arrays}
    for images in arrays:
        if not images.is_image or images.chunk[0] != 1:
            continue
        above = images.path.rpartition("/")[0]
        for name in LABELS:
            found = by_path.get(f"{above}/{name}".lstrip("/"))
            if found and found.width and not found.is_image and \
                    found.shape == images.shape[:1] and not images.labels:
                images.labels = found
                found.users += 1


# --- labels --------------------------------------------------------------------------------------


def unpack(array, data):
    for name, parameters in reversed(array.codecs):
        if array.n5:
            name = "zlib" if parameters.get("useZlib") else N5_CODECS.get(name, name)
        codecs = need("numcodecs", f"labels by {name}")
        try:
            codec = codecs.get_codec({**parameters, "id": name})
        except TypeError:  # parameters of another dialect; compressors need none to unpack
            codec = codecs.get_codec({"id": name})
        except ValueError:
            raise Refused(f"'{name}' is no codec of numcodecs, which unpacks labels")
        data = bytes(codec.decode(data))
    return data


def read_labels(array, number):
    """Of a chunk; None: it was left out, and has the fill value."""
    key = array.key([number])
    try:
        if array.chunk[0] * array.width > CHUNK_MOST:
            raise Refused(f"over {CHUNK_MOST >> 20} MiB")
        data, _ = read_file(os.path.join(array.root, array.path, key), CHUNK_MOST)
        skip, count = array.head(data)
        values = unpack(array, data[skip:])
        if len(values) != count * array.width:
            raise Refused(f"has {len(values)} bytes in place of {count * array.width}", DAMAGED)
        return [int.from_bytes(values[at:at + array.width], array.order, signed=array.signed)
                for at in range(0, len(values), array.width)]
    except FileNotFoundError:
        return None
    except Refused as error:
        raise Refused(f"{array.place(key)}: {error}", error.status)
    except Exception as error:  # of a codec
        raise Refused(f"{array.place(key)}: {error}", DAMAGED)


def fill_label(array):
    """Of a chunk that was left out. Without a fill value there is no label."""
    fill = -1 if array.fill is None else array.fill
    if isinstance(fill, float) and fill.is_integer():
        fill = int(fill)
    if not isinstance(fill, int):
        raise Refused(f"{array.path}: lacks labels, and its fill value, {fill!r}, is none", DAMAGED)
    return fill


def label_of(array, row, read):
    """`read` has the labels of the last chunk, by its number."""
    number, at = divmod(row, array.chunk[0])
    if number not in read:
        read.clear()
        read[number] = read_labels(array, number)
    if read[number] is None:
        return fill_label(array)
    if at >= len(read[number]):
        raise Refused(f"{array.path}: has no label {row}", DAMAGED)
    return read[number][at]


# --- images --------------------------------------------------------------------------------------


def write_images(images, tar):
    chunks, count, read = images.chunks(), math.prod(images.along), {}
    above, _, name = images.path.rpartition("/")
    folder = above if images.labels and images.labels.users == 1 else images.path or "images"
    if len(chunks) < count:
        say(f"'{images.path or '.'}' lacks {count - len(chunks)} of its {count} chunks")
    for number, key in chunks:
        place = images.place(key)
        try:
            data, status = read_file(os.path.join(images.root, place), 1 << 62)
            data = data[images.head(data[:4 + 4 * RANK_MOST + 4])[0]:]
            end = suffix(data[:16])
            if not end:
                raise Refused("holds no image of a known kind")
        except (Refused, FileNotFoundError) as error:
            tar.bad(place, str(error))
            continue
        row = number // math.prod(images.along[1:])
        tar.add(place, folder, f"{number:08}{end.replace('.jpg', '.JPEG')}", data,
                status.st_mtime_ns, status.st_mode & 0o777,
                label_of(images.labels, row, read) if images.labels else None)


def write(source, tar):
    others = []
    arrays = sorted(find(source, "", others), key=lambda array: array.path)
    pair(arrays)
    if not any(array.is_image for array in arrays):
        raise Refused("no array in it has chunks that are images", OTHER)
    for array in arrays:
        if array.is_image:
            write_images(array, tar)
    left = [array.path or "." for array in arrays if not array.is_image and not array.users]
    if left:
        say(f"left out {len(left)} arrays, which hold neither images nor a label for each: "
            f"{many(left)}")
    if others:
        say(f"left out {len(others)} files, which belong to no array: {many(others)}")


if __name__ == "__main__":
    sys.exit(main(write))
