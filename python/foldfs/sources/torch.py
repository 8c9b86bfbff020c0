"""torch.py FILE [IMAGE-KEY [LABEL-KEY]]: the images that torch.save() wrote, as

[(image, label), ...]         a sample each; without a label: [image, ...]
[{"image": ..., "label": ...}, ...]
{"a/b.jpg": image, ...}       by their paths, or {"name": (image, label), ...}
(images, labels), {"images": images, "labels": labels}
                              lists, or tensors: [N, C, H, W], [N, H, W, 3], [N, H, W]; [N]

An image is bytes, or a uint8 tensor, or array of numpy: of the bytes of a file, [N], or of pixels,
[3, H, W], [1, H, W], [H, W, 3], [H, W].

The file is a zip of a pickle, NAME/data.pkl, and of the bytes of tensors, NAME/data/KEY. For what
the pickle would call, CALLS has something that only keeps values: nothing of torch runs, which
would refuse bytes of protocol 4 and numbers of numpy where it loads weights only."""

import io
import itertools
import operator
import os
import pickle
import resource
import struct
import sys
import zipfile

from images import DAMAGED, Refused, main, suffix
from scan import IMAGE_KEYS, LABEL_KEYS

STORAGES = {"ByteStorage": "B", "CharStorage": "b", "ShortStorage": "h", "IntStorage": "i",
            "LongStorage": "q", "BoolStorage": "?"}
TYPES = {"u1": "B", "i1": "b", "u2": "H", "i2": "h", "u4": "I", "i4": "i", "u8": "Q", "i8": "q",
         "b1": "?"}
SIDE_MOST = 65535
HEAD = 16  # bytes by which an image is known
MEMORY = 4 << 30  # and 3 times the pickle

# Items may be one image: they take so many bytes, and so many for each of the file. A row costs
# some even where its image is small.
ROOM, ROOM_FACTOR, ROW = 256 << 20, 16, 256


# --- the object ----------------------------------------------------------------------------------


class Tensor:
    """Elements of a storage: (type as struct has it, or its name; file; offset; size)."""

    def __init__(self, storage, first, shape, steps, *_):
        self.storage, self.first, self.shape, self.steps = storage, first, shape, steps

    def __len__(self):
        return self.shape[0] if self.shape and all(self.shape) else 0

    def __getitem__(self, i):
        if i >= len(self):
            raise IndexError
        return Tensor(self.storage, self.first + i * self.steps[0], self.shape[1:], self.steps[1:])

    def read(self):
        """All from its first element to its last."""
        kind, file, offset, size = self.storage
        if len(kind) > 1:
            raise Refused(f"a tensor of {kind}, which holds no integers")
        if not file:
            raise Refused("a tensor whose bytes are not in the file", DAMAGED)
        width = struct.calcsize(kind)
        count = all(self.shape) + sum((n - 1) * step for n, step in zip(self.shape, self.steps))
        if min((self.first, *self.shape, *self.steps)) < 0 or (self.first + count) * width > size:
            raise Refused("a tensor that is not in its storage", DAMAGED)
        file.seek(offset + self.first * width)
        return memoryview(file.read(max(count, 0) * width)).cast(kind)


class Array(Tensor):
    def __init__(self, *_):
        pass

    def __setstate__(self, state):
        _, shape, kind, by_columns, data = state
        order = 1 if by_columns else -1
        steps = list(itertools.accumulate((1, *shape[::order]), operator.mul))[:-1][::order]
        super().__init__((TYPES.get(kind.name, kind.name), io.BytesIO(data), 0, len(data)), 0,
                         shape, steps)


class Type:
    def __init__(self, name, *_):
        self.name = name

    def __setstate__(self, state):
        self.name = ">" * (state[1] == ">") + self.name


def array(data, kind, shape, order):
    made = Array()
    made.__setstate__((1, shape, kind, order != "C", data))
    return made


def encode(text=b"", *_):
    return text.encode("latin1") if isinstance(text, str) else text


def scalar(kind, data):
    """A number; or its type, of one that can be no label."""
    return label_of(array(data, kind, (), "C")) if kind.name in TYPES else kind


CALLS = {"collections.OrderedDict": dict, "torch.Size": tuple,
         "torch._utils._rebuild_tensor_v2": Tensor, "numpy.ndarray": Array, "numpy.dtype": Type,
         "_reconstruct": Array, "_frombuffer": array,
         "scalar": scalar, "encode": encode, "bytes": encode, "bytearray": encode, "set": set,
         "frozenset": frozenset}
MODULES = ("numpy.core.multiarray", "numpy._core.multiarray", "numpy.core.numeric",
           "numpy._core.numeric", "_codecs", "builtins", "__builtin__")


class Unpickler(pickle.Unpickler):
    def __init__(self, file, storages):
        super().__init__(file)
        self.storages = storages

    def find_class(self, module, name):
        if module in ("torch", "torch.storage") and name.endswith("Storage"):
            return name
        call = CALLS.get(name if module in MODULES else f"{module}.{name}")
        if not call:
            raise Refused(f"a pickle that needs {module}.{name}, which is not called")
        return call

    def persistent_load(self, reference):
        _, name, key, *_ = reference
        return (STORAGES.get(name, name), *self.storages.get(key, (None, 0, 0)))


def limit_memory(most):
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    least = min(limit for limit in (most, soft, hard) if limit != resource.RLIM_INFINITY)
    resource.setrlimit(resource.RLIMIT_AS, (least, hard))


def load(file):
    if file.read(2) != b"PK":
        raise Refused("a .pth of torch before 1.6: load it and save it with a newer one")
    try:
        members = zipfile.ZipFile(file).infolist()
    except zipfile.BadZipFile as error:
        raise Refused(f"truncated, or damaged: {error}", DAMAGED)
    places, root = {}, None
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED:
            raise Refused("compressed, which torch.save() does not do: load it and save it again")
        file.seek(member.header_offset + 26)
        begin = file.tell() + 4 + sum(struct.unpack("<HH", file.read(4)))
        places[member.filename] = file, begin, member.file_size
        if member.filename.endswith("/data.pkl"):
            root = root or member.filename
    if not root:
        raise Refused("no data.pkl in it", DAMAGED)
    _, begin, size = places[root]
    limit_memory(MEMORY + 3 * size)
    file.seek(begin)
    above = root[:-len(".pkl")] + "/"
    return Unpickler(file, {name[len(above):]: place for name, place in places.items()
                            if name.startswith(above)}).load()


# --- samples -------------------------------------------------------------------------------------


def pixels(data, shape, steps):
    """Of bytes that lie in any order, as PPM or PGM."""
    shape, steps = list(shape), list(steps)
    channels, between = 1, 0
    if len(shape) == 3:
        channels = 3 if 3 in (shape[0], shape[2]) else 1
        axis = 0 if shape[0] == channels else 2
        channels, between = shape.pop(axis), steps.pop(axis)
    if len(shape) != 2 or channels not in (1, 3):
        raise Refused("a tensor that is neither a file nor an image")
    if max(shape) > SIDE_MOST:
        raise Refused(f"pixels of over {SIDE_MOST} rows or columns")
    (height, width), (down, right) = shape, steps
    image = bytearray(b"P%d\n%d %d\n255\n" % (6 if channels == 3 else 5, width, height))
    if down == width * right:
        height, width = 1, height * width
    for row in range(height):
        line = bytearray(channels * width)
        for channel in range(channels):
            line[channel::channels] = elements(data, row * down + channel * between, width, right)
        image += line
    return image


def elements(data, first, count, step):
    if not step:
        return bytes(data[first:first + 1]) * count
    return data[first:first + count * step:step]


def image_of(value):
    if isinstance(value, (bytes, bytearray)):
        return value
    if not isinstance(value, Tensor):
        raise Refused("an image that is neither bytes nor a tensor")
    data = value.read()
    if data.format != "B":
        raise Refused("a tensor that is not of uint8")
    if len(value.shape) != 1:
        return pixels(data, value.shape, value.steps)
    return bytes(elements(data, 0, value.shape[0], value.steps[0]))


def label_of(value):
    if isinstance(value, Tensor):
        if any(size != 1 for size in value.shape):
            raise Refused("a label that is a tensor of several numbers")
        return int(value.read()[0])
    if not isinstance(value, (int, str)):
        raise Refused("a label that is neither a number nor text")
    return value


def usual(values, keys, asked):
    return next((values[key] for key in ([asked] if asked else keys) if key in values), None)


def sample(value, asked):
    """[image], or [image, label]."""
    if any(asked) and not isinstance(value, dict):
        option = "--image-key" if asked[0] else "--label-key"
        raise Refused(f"{option}: a sample that is no dict has no '{asked[0] or asked[1]}'")
    if isinstance(value, dict):
        image, label = usual(value, IMAGE_KEYS, asked[0]), usual(value, LABEL_KEYS, asked[1])
        return [image] if label is None else [image, label]
    return value[:2] or [None] if isinstance(value, (list, tuple)) else [value]


def is_column(value):
    return isinstance(value, (list, tuple, Tensor))


def is_pair(root):
    """Of images and labels, and neither two images nor one sample."""
    if not isinstance(root, (list, tuple)) or len(root) != 2 or not all(map(is_column, root)):
        return False
    if isinstance(root[1], Tensor):
        return isinstance(root, tuple)
    return isinstance(next(iter(root[1]), None), (int, str))


def rows(root, asked):
    """How many, each as (name or None, sample), and the keys that are asked for in samples."""
    images, labels = root, None
    if is_pair(root):
        images, labels = root
    elif isinstance(root, dict):
        images, labels = usual(root, IMAGE_KEYS, asked[0]), usual(root, LABEL_KEYS, asked[1])
        if not is_column(images):
            return len(root), root.items(), asked
        asked = "", ""
    elif not is_column(root):
        raise Refused("an object that is neither a list nor a dict of images")
    count = len(images)
    if labels is not None:
        if not is_column(labels) or len(labels) != count:
            raise Refused(f"{count} images and {len(labels) if is_column(labels) else 0} labels",
                          DAMAGED)
        images = zip(images, labels)
    return count, zip(itertools.repeat(None), images), asked


def read_sample(record, value, asked):
    """(image, label or None)"""
    try:
        image, *label = sample(value, asked)
        return image_of(image), label_of(label[0]) if label else None
    except Refused as error:
        raise Refused(f"record {record}: {error}", error.status)


def name_of(record, key, image):
    end = (suffix(bytes(image[:HEAD])) or ".bin").replace(".jpg", ".JPEG")
    if not isinstance(key, str):
        return f"{record:08}{end}"
    return key if "." in key.rpartition("/")[2] else key + end


def write(source, tar):
    status, asked = os.stat(source), (sys.argv[2:] + ["", ""])[:2]
    with open(source, "rb") as file:
        count, pairs, keys = rows(load(file), asked)
        labels = 0
        room = ROOM + ROOM_FACTOR * status.st_size - count * ROW
        for record, (key, value) in enumerate(pairs):
            image, label = read_sample(record, value, keys)
            labels += label is not None
            room -= len(image)
            if room < 0:
                raise Refused("repeats its images so often that they take over "
                              f"{ROOM_FACTOR} times its size: divide it into several")
            folder = "images" if label is None and not isinstance(key, str) else ""
            tar.add(f"record {record}", folder, name_of(record, key, image), image,
                    status.st_mtime_ns, label=label)
    if asked[1] and not labels:
        raise Refused(f"--label-key: no sample has '{asked[1]}'")


if __name__ == "__main__":
    sys.exit(main(write))
