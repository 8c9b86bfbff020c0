"""An image and its label, as a value of an LMDB has them in one of Python's encodings: pickle,
pyarrow.serialize() or msgpack. What is read are the few bytes around the image, and not the image.
Of pickles these are the forms that copies of folder2lmdb and DataLoaders without a collate_fn make:

(image, 3)                    also as a list, in the other protocols, or with a text
((image,), tensor([3]))       as torch's default_collate has a batch of one
[(image, 3)]                  as collate_fn=lambda x: x has it
(image, array([3]))           of numpy, or a scalar
(image, "a/b.jpg")            the path instead of the label, or a third value
{"image": image, "label": 3}  also {"image": {"bytes": ..., "path": ...}}

An image is bytes, or an array or a tensor of uint8."""

import lmdb_pickle as pickle
from scan import (IMAGE_KEYS, LABEL_KEYS, Failed, damaged, is_image_name, pixels, to_bytes,
                  unsupported)

DEPTH, VALUES = 4, 64  # of values in values, and in all
SHAPE_MOST = 3
MISSING = object()
STORAGE_HEAD = 1024  # bytes of a saved storage in which its type is
STORAGES = ((b"\nLongStorage\n", b"i8"), (b"\nIntStorage\n", b"i4"), (b"\nShortStorage\n", b"i2"),
            (b"\nCharStorage\n", b"i1"), (b"\nByteStorage\n", b"u1"))
USUAL = (("image_key", (*map(to_bytes, IMAGE_KEYS),)),
         ("label_key", (*map(to_bytes, LABEL_KEYS),)),
         ("name_key", (b"path", b"filename", b"file_name", b"name", b"fname", b"image_path",
                       b"img_path", b"img_name")))


def other(kind):
    return unsupported(f"{kind}, where an image and its label are expected")


def more():
    return unsupported("more than an image and its label")


class Sample:
    """First the image, then the label, and no more; a text is the path of the file, if it ends as
    those of images do, or else the label."""
    offset = size = None  # of the image in the value
    shape = None  # of the array that it is
    label = class_name = path = None
    dict = others = False  # they are values of one, which has more than these

    def add_bytes(self, offset, size):
        if self.offset is not None:
            raise more()
        self.offset, self.size = offset, size

    def add_array(self, offset, size, shape):
        if not 1 <= len(shape) <= SHAPE_MOST:
            raise unsupported(f"an array of {len(shape)} dimensions")
        elements = 1
        for one in shape:
            elements *= one
        if elements != size:
            raise damaged("an array that has not as many bytes as it says")
        self.shape = tuple(shape)
        self.add_bytes(offset, size)

    def add_number(self, number):
        if self.offset is None:
            raise unsupported("a number, where an image is expected")
        if self.label is not None or self.class_name is not None:
            raise more()
        self.label = number

    def add_text(self, text):
        if b"." in text and is_image_name(text):
            if self.path is not None:
                raise more()
            self.path = text
        elif text.isdigit() and len(text) < 20 and int(text) < 1 << 63:
            self.add_number(int(text))
        elif self.class_name is not None or self.label is not None:
            raise more()
        else:
            self.class_name = text

    def pixels(self):
        """A field of a file: the array is pixels as OpenCV has them. None: it is the bytes of an
        image file."""
        if not self.shape or len(self.shape) == 1:
            return None
        height, width, *channels = self.shape
        if not 0 < height < 1 << 16 or not 0 < width < 1 << 16 or channels not in ([], [1], [3]):
            raise other("an array of another shape")
        return pixels(width, height, "bgr" if channels == [3] else "gray")


class Reading:
    """Of a pickle."""

    def __init__(self, value, option, sample):
        self.value, self.option, self.sample, self.values = value, option, sample, 0

    def add(self, value, depth):
        self.values += 1
        if depth == DEPTH or self.values > VALUES:
            raise other("lists in lists")
        kind, number = type(value), pickle.number_of(value)
        if number is not None:
            self.sample.add_number(number)
        elif kind is pickle.Bytes:
            if self.sample.offset is not None and value.data is not None:
                self.sample.add_text(value.data)  # short, and behind the image
            else:
                self.sample.add_bytes(value.offset, value.size)
        elif kind is pickle.Text:
            if value.data is None:
                raise other("a long text")
            self.sample.add_text(value.data)
        elif kind in (list, tuple):
            for one in value:
                self.add(one, depth + 1)
        elif kind is pickle.Dict:
            self.add_dict(value, depth + 1)
        elif kind is pickle.Call:
            self.add_call(value)
        elif value is not None:
            raise other("a float" if kind is pickle.Float else "a class")

    def add_dict(self, value, depth):
        found = 0
        for option, usual in USUAL:
            asked = self.option[option]
            keys = (to_bytes(asked),) if asked else usual
            here = [one for one in (pickle.lookup(value, key, MISSING) for key in keys)
                    if one is not MISSING]
            if here:
                found += 1
                self.add(here[0], depth)
            elif option == "image_key" and depth == 1:
                raise unsupported(f"a dict without '{asked or 'image'}': --image-key names the "
                                  "image")
        self.sample.dict = True
        self.sample.others |= len(value) // 2 > found

    def add_call(self, call):
        array, storage = pickle.array(call), pickle.item(call.arguments, 0)
        if array:
            self.add_array(*array)
            return
        if call.name == b"_rebuild_tensor_v2" and pickle.callee(storage) == b"_load_from_bytes":
            saved = pickle.item(storage.arguments, 0)
            if type(saved) is pickle.Bytes:
                self.add_tensor(saved)
                return
        if call.name == b"encode":
            raise unsupported("bytes of a pickle below protocol 3 are not stored as they are: "
                              "write them by protocol 4")
        raise other("another object")

    def add_array(self, kind, shape, data):
        if kind != b"u1":
            raise other("an array of another type than uint8")
        sizes = [pickle.number_of(one) for one in shape[:SHAPE_MOST]]
        if any(size is None or size < 0 for size in sizes):
            raise damaged("an array with a size that is not a number")
        self.sample.add_array(data.offset, data.size, (*sizes, *shape[SHAPE_MOST:]))

    def add_tensor(self, saved):
        """A tensor in a pickle has what torch.save() wrote of its storage, before 1.6: pickles,
        among them the type; then the number of elements as 64 bits, and they. Those of 1 are a
        label."""
        head = self.value.get(saved.offset, min(saved.size, STORAGE_HEAD))
        kind = next((kind for name, kind in STORAGES if name in head), None)
        width = int(kind[1:]) if kind else 0
        if not kind or saved.size < 8 + width:
            raise other("a tensor that holds no integers")
        end = self.value.get(saved.offset + saved.size - 8 - width, 8 + width)
        number = pickle.numpy_integer(kind, end[8:])
        if int.from_bytes(end[:8], "little") != 1 or number is None:
            raise other("a tensor of several numbers")
        self.sample.add_number(number)


def is_pickle(head):
    """Protocols 0 and 1: a tuple that begins with bytes, a dict or a list."""
    return len(head) > 1 and (head[0] == 0x80 and 2 <= head[1] <= 5 or
                              head[0] == 0x28 and head[1] in b"cSTUdl")


def counted(value, readers, option):
    """What the record __len__ says: a number in one of these encodings, or digits. None: it is
    anything else."""
    reader = readers(value.get(0, min(16, value.size)))
    sample = Sample()
    sample.offset = 0  # a number comes behind an image
    if not reader:
        text = value.get(0, value.size) if value.size < 20 else b""
        return int(text) if text.isdigit() else None
    try:
        reader(value, option, sample)
    except Failed:
        return None
    return sample.label


def read_pickle(value, option, sample):
    Reading(value, option, sample).add(pickle.read(value), 0)
