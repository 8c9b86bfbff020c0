"""What pyarrow.serialize() wrote, by the layout of arrow/python/serialize.cc and the flatbuffers of
Arrow (format/Message.fbs, Schema.fbs, Tensor.fbs): pyarrow has removed it, and Debian never had it.

Three eras: "0.14" (tuples in structs, unions with a validity buffer, messages that begin with their
size), "0.15" (messages that begin with 0xffffffff, other counts) and "1.0" (each union begins with
a child of nulls, and has no validity). What older ones wrote is in arrow_samples.py."""

import struct

from .flatbuffer import Table, Text, Vector, dumps

NULL, INT, BINARY, LIST, STRUCT, UNION = 1, 2, 4, 12, 13, 14
SCHEMA, RECORDS, TENSOR = 1, 3, 4
NUMBERS = {"int": "2", "bytes": "4", "list": "9", "tuple": "11", "ndarray": "14"}


class Ndarray:
    """An array of uint8, or of signed integers of so many bytes."""

    def __init__(self, data, shape=None, width=0):
        self.data, self.shape = bytes(data), shape or (len(data) // max(width, 1),)
        self.width = width


class Batch:
    """The columns of a record batch: fields, nodes and buffers, each parent before its children."""

    def __init__(self, era, align):
        self.era, self.align = era, align
        self.nodes, self.buffers, self.body, self.arrays = [], [], b"", []

    def node(self, length):
        self.nodes.append((length, 0))

    def buffer(self, data):
        self.buffers.append((len(self.body), len(data)))
        self.body += data + bytes(-len(data) % self.align)

    def union(self, values, name):
        modern = self.era == "1.0"
        groups, ids, places = [("null", [])] if modern else [], [], []
        for value in values:
            kind = {int: "int", bytes: "bytes", list: "list", tuple: "tuple",
                    Ndarray: "ndarray"}[type(value)]
            index = next((i for i, group in enumerate(groups) if group[0] == kind), len(groups))
            if index == len(groups):
                groups.append((kind, []))
            ids.append(index)
            places.append(len(groups[index][1]))
            groups[index][1].append(value)
        self.node(len(values))
        if not modern:
            self.buffer(b"")
        self.buffer(struct.pack(f"<{len(ids)}b", *ids))
        self.buffer(struct.pack(f"<{len(places)}i", *places))
        children = [self.child(*group) for group in groups]
        kind = Table(("h", 1), Vector([(i,) for i in range(len(groups))], "i"))
        return self.field(name, UNION, kind, children)

    def field(self, name, number, kind, children=()):
        return Table(Text(name), ("B", 1), ("B", number), kind, None, Vector(list(children)))

    def child(self, kind, values):
        name = NUMBERS.get(kind, "0") if self.era == "1.0" else kind if kind in (
            "tuple", "list", "ndarray") else ""
        if kind == "null":
            self.node(0)
            return self.field("0", NULL, Table())
        if kind == "bytes":
            return self.binary(name, values)
        if kind in ("int", "ndarray"):
            return self.ints(name, kind, values)
        if self.era == "1.0":
            return self.lists(name, values)
        self.node(len(values))
        self.buffer(b"")
        return self.field("", STRUCT, Table(), [self.lists(name, values)])

    def lists(self, name, values):
        ends = [sum(len(value) for value in values[:i]) for i in range(len(values) + 1)]
        self.node(len(values))
        self.buffer(b"")
        self.buffer(struct.pack(f"<{len(ends)}i", *ends))
        items = self.union([item for value in values for item in value], "item")
        return self.field(name, LIST, Table(), [items])

    def binary(self, name, values):
        ends = [sum(len(value) for value in values[:i]) for i in range(len(values) + 1)]
        self.node(len(values))
        self.buffer(b"")
        self.buffer(struct.pack(f"<{len(ends)}i", *ends))
        self.buffer(b"".join(values))
        return self.field(name, BINARY, Table())

    def ints(self, name, kind, values):
        bits, form = (32, "i") if kind == "ndarray" else (64, "q")
        if kind == "ndarray":
            self.arrays += values
            values = range(len(self.arrays) - len(values), len(self.arrays))
        self.node(len(values))
        self.buffer(b"")
        self.buffer(struct.pack(f"<{len(values)}{form}", *values))
        return self.field(name, INT, Table(("i", bits), ("B", 1)))


def message(era, kind, header, body=b"", at=0, align=8):
    """`at`: where it begins. What it has before its body ends at a multiple of `align`."""
    metadata = dumps(Table(("h", 4 if era == "1.0" else 3), ("B", kind), header, ("q", len(body))))
    prefix = b"" if era == "0.14" else b"\xff\xff\xff\xff"
    metadata += bytes(-(at + len(prefix) + 4 + len(metadata)) % align)
    return prefix + struct.pack("<i", len(metadata)) + metadata + body


def tensor(era, array, at):
    strides = [array.width or 1]
    for size in reversed(array.shape[1:]):
        strides.insert(0, strides[0] * size)
    shape = Vector([Table(("q", size)) for size in array.shape])
    header = Table(("B", INT), Table(("i", 8 * (array.width or 1)), ("B", array.width > 0)),
                   shape,
                   Vector([(stride,) for stride in strides], "q"), ("qq", 0, len(array.data)))
    return message(era, TENSOR, header, array.data, at, 64)


def serialize(value, era="1.0", align=None):
    """pyarrow.serialize(value).to_buffer()"""
    batch = Batch(era, align or (8 if era == "0.14" else 64))
    schema = Table(("h", 0), Vector([batch.union([value], "list")]))
    records = Table(("q", 1), Vector(batch.nodes, "qq"), Vector(batch.buffers, "qq"))
    counts = (0, len(batch.arrays), 0, 0) if era == "0.14" else (0, 0, len(batch.arrays), 0)
    out = struct.pack("<4i", *counts) + message(era, SCHEMA, schema)
    out += message(era, RECORDS, records, batch.body, len(out))
    out += bytes(4) if era == "0.14" else b"\xff\xff\xff\xff" + bytes(4)
    out += bytes(-len(out) % 64)
    for array in batch.arrays:
        out += tensor(era, array, len(out))
        out += bytes(-len(out) % 64)
    return out
