"""What pyarrow.serialize() wrote since 1.0, by the layout of arrow/python/serialize.cc and the
flatbuffers of Arrow (format/Message.fbs, Schema.fbs, Tensor.fbs): pyarrow has removed it, and
Debian never had it. What others wrote is in arrow_samples.py."""

import struct

from .flatbuffer import Table, Text, Vector, dumps

NULL, INT, BINARY, LIST, STRUCT, UNION = 1, 2, 4, 12, 13, 14
SCHEMA, RECORDS, TENSOR = 1, 3, 4
NUMBERS = {int: "2", bytes: "4", list: "9", tuple: "11"}


class Ndarray:
    """An array of uint8, or of signed integers of so many bytes."""

    def __init__(self, data, shape=None, width=0):
        self.data, self.shape = bytes(data), shape or (len(data) // max(width, 1),)
        self.width = width


NUMBERS[Ndarray] = "14"


class Batch:
    """The columns of a record batch: fields, nodes and buffers, each parent before its children."""

    def __init__(self):
        self.nodes, self.buffers, self.body, self.arrays = [], [], b"", []

    def node(self, length, *buffers):
        self.nodes.append((length, 0))
        for data in buffers:
            self.buffers.append((len(self.body), len(data)))
            self.body += data + bytes(-len(data) % 64)

    def union(self, values, name):
        """Its first child is of nulls."""
        groups, ids, places = {None: []}, [], []
        for value in values:
            group = groups.setdefault(type(value), [])
            ids.append(list(groups).index(type(value)))
            places.append(len(group))
            group.append(value)
        self.node(len(values), struct.pack(f"<{len(ids)}b", *ids),
                  struct.pack(f"<{len(places)}i", *places))
        children = [self.child(*group) for group in groups.items()]
        kind = Table(("h", 1), Vector([(i,) for i in range(len(groups))], "i"))
        return self.field(name, UNION, kind, children)

    def field(self, name, number, kind, children=()):
        return Table(Text(name), ("B", 1), ("B", number), kind, None, Vector(list(children)))

    def child(self, kind, values):
        if kind is None:
            self.node(0)
            return self.field("0", NULL, Table())
        if kind in (int, Ndarray):
            return self.ints(kind, values)
        ends = [sum(len(value) for value in values[:i]) for i in range(len(values) + 1)]
        ends = struct.pack(f"<{len(ends)}i", *ends)
        if kind is bytes:
            self.node(len(values), b"", ends, b"".join(values))
            return self.field(NUMBERS[kind], BINARY, Table())
        self.node(len(values), b"", ends)
        items = self.union([item for value in values for item in value], "item")
        return self.field(NUMBERS[kind], LIST, Table(), [items])

    def ints(self, kind, values):
        bits, form = (32, "i") if kind is Ndarray else (64, "q")
        if kind is Ndarray:
            self.arrays += values
            values = range(len(self.arrays) - len(values), len(self.arrays))
        self.node(len(values), b"", struct.pack(f"<{len(values)}{form}", *values))
        return self.field(NUMBERS[kind], INT, Table(("i", bits), ("B", 1)))


def message(kind, header, body=b"", at=0, align=8):
    """`at`: where it begins. What it has before its body ends at a multiple of `align`."""
    metadata = dumps(Table(("h", 4), ("B", kind), header, ("q", len(body))))
    metadata += bytes(-(at + 8 + len(metadata)) % align)
    return b"\xff\xff\xff\xff" + struct.pack("<i", len(metadata)) + metadata + body


def tensor(array, at):
    strides = [array.width or 1]
    for size in reversed(array.shape[1:]):
        strides.insert(0, strides[0] * size)
    shape = Vector([Table(("q", size)) for size in array.shape])
    header = Table(("B", INT), Table(("i", 8 * (array.width or 1)), ("B", array.width > 0)),
                   shape,
                   Vector([(stride,) for stride in strides], "q"), ("qq", 0, len(array.data)))
    return message(TENSOR, header, array.data, at, 64)


def serialize(value):
    """pyarrow.serialize(value).to_buffer()"""
    batch = Batch()
    schema = Table(("h", 0), Vector([batch.union([value], "list")]))
    records = Table(("q", 1), Vector(batch.nodes, "qq"), Vector(batch.buffers, "qq"))
    out = struct.pack("<4i", 0, 0, len(batch.arrays), 0) + message(SCHEMA, schema)
    out += message(RECORDS, records, batch.body, len(out))
    out += b"\xff\xff\xff\xff" + bytes(4)
    out += bytes(-len(out) % 64)
    for array in batch.arrays:
        out += tensor(array, len(out))
        out += bytes(-len(out) % 64)
    return out
