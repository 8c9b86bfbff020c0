"""An array of msgpack, of an image and a label. The image is bytes, or what msgpack_numpy makes of
an array: {b"nd": True, b"type": "|u1", b"kind": b"", b"shape": [n], b"data": bytes}. Where
use_bin_type was not set, bytes are of the type that text has."""

from lmdb_pickle import numpy_integer
from lmdb_sample import SHAPE_MOST, other
from scan import damaged, unsupported

NOTHING, BOOL, NUMBER, BYTES, ARRAY, MAP = range(6)
SHORT = 16  # bytes of a key that is of interest
# How the bytes from 0xc0 on are read: a number or a size follows, of so many bytes.
FORMS = {0xc0: (NOTHING, 0), 0xc2: (BOOL, 0), 0xc3: (BOOL, 0),
         0xc4: (BYTES, 1), 0xc5: (BYTES, 2), 0xc6: (BYTES, 4),
         0xcc: (NUMBER, 1), 0xcd: (NUMBER, 2), 0xce: (NUMBER, 4), 0xcf: (NUMBER, 8),
         0xd0: (NUMBER, 1), 0xd1: (NUMBER, 2), 0xd2: (NUMBER, 4), 0xd3: (NUMBER, 8),
         0xd9: (BYTES, 1), 0xda: (BYTES, 2), 0xdb: (BYTES, 4), 0xdc: (ARRAY, 2), 0xdd: (ARRAY, 4),
         0xde: (MAP, 2), 0xdf: (MAP, 4)}


class Item:
    text, offset = b"", 0  # of bytes: short ones, and where they lie

    def __init__(self, kind, number):
        self.kind, self.number = kind, number  # or their size


class Cursor:
    def __init__(self, value):
        self.value, self.at = value, 0

    def get(self, size):
        if size > self.value.size - self.at:
            raise damaged("msgpack that is cut off")
        self.at += size
        return self.value.get(self.at - size, size)

    def item(self):
        first = self.get(1)[0]
        if first < 0x80 or first >= 0xe0:
            return Item(NUMBER, first if first < 0x80 else first - 0x100)
        if first < 0xc0:
            kind = MAP if first < 0x90 else ARRAY if first < 0xa0 else BYTES
            item = Item(kind, first & (0x1f if kind == BYTES else 0x0f))
        elif first not in FORMS:
            raise unsupported(f"msgpack with the type 0x{first:02x}")
        else:
            kind, width = FORMS[first]
            item = Item(kind, int.from_bytes(self.get(width), "big", signed=0xd0 <= first < 0xd4)
                        if width else first & 1)
            if kind == NUMBER and item.number >= 1 << 63:
                raise unsupported("a number of more than 63 bits")
        if item.kind == BYTES:
            item.offset = self.at
            if item.number <= SHORT:
                item.text = self.get(item.number)
            elif item.number > self.value.size - self.at:
                raise damaged("msgpack that is cut off")
            else:
                self.at += item.number
        return item


def read_shape(cursor, sizes):
    if sizes.kind != ARRAY or sizes.number > SHAPE_MOST:
        raise other("an array of another shape")
    items = [cursor.item() for _ in range(sizes.number)]
    if any(item.kind != NUMBER or item.number < 0 for item in items):
        raise damaged("an array with a size that is not a number")
    return [item.number for item in items]


def read_map(cursor, fields, sample):
    """An array of numpy; or a label: a number, {b"nd": False, b"type": "<i8", b"data": bytes}, or
    an array of one."""
    if fields > 8:
        raise other("a dict")
    shape, kind, data, is_array = [], b"", None, False
    for _ in range(fields):
        key, value = cursor.item().text, cursor.item()
        if key == b"shape":
            shape = read_shape(cursor, value)
        elif value.kind in (ARRAY, MAP):
            raise other("a list or dict in a dict")
        elif key == b"nd":
            is_array = value.kind == BOOL and value.number == 1
        elif key == b"type":
            kind = value.text
        elif key == b"data":
            data = value if value.kind == BYTES else None
    if data and kind[:1] in (b"<", b"|") and data.number <= SHORT:
        number = numpy_integer(kind[1:], data.text)
        if number is not None:
            sample.add_number(number)
            return
    if not is_array or kind != b"|u1" or not data:
        raise other("a dict that is no array of uint8")
    sample.add_array(data.offset, data.number, shape)


def read_msgpack(value, _, sample):
    cursor = Cursor(value)
    items = cursor.item()
    if items.kind != ARRAY or not 1 <= items.number <= 2:
        raise other("another value")
    for _ in range(items.number):
        item = cursor.item()
        if item.kind == BYTES:
            sample.add_bytes(item.offset, item.number)
        elif item.kind == NUMBER:
            sample.add_number(item.number)
        elif item.kind == MAP:
            read_map(cursor, item.number, sample)
        else:
            raise other("a list in a list" if item.kind == ARRAY else "None or a bool")
    if cursor.at < value.size:
        raise damaged("msgpack that ends before its record")
