"""What pyarrow.serialize(value) makes:

4 counts, int32       of what comes last; from 0.15 on tensors, sparse tensors, ndarrays, buffers;
                      in 0.12 to 0.14 tensors, ndarrays, buffers, 0; in 0.8 to 0.11 only two,
                      tensors (these are the ndarrays) and buffers
a stream of Arrow     a schema, a record batch, an end
from a multiple of 64 a tensor of Arrow for each ndarray

The record batch has one column, the list [value]. It is a union of all types of values: of
numbers, of binaries, of int32 numbers of ndarrays, and, for tuples and lists, of lists of such a
union. These were once within a struct. A value is found by its type and its place among those of
that type."""

import struct
from itertools import islice

from flatbuffer import Table
from lmdb_sample import SHAPE_MOST, more, other
from scan import damaged, unsupported

DEPTH, ITEMS = 8, 2  # of values in values; of a sequence: an image and a label
COLUMNS, CHILDREN, BUFFERS_MOST = 32, 16, 96
METADATA_MOST = 64 << 10
VERSION_4, VERSION_5 = 3, 4
END, SCHEMA, RECORDS, TENSOR = 0, 1, 3, 4
NULL, INT, FLOAT, BINARY, TEXT, BOOL, DATE, LIST, STRUCT, UNION = 1, 2, 3, 4, 5, 6, 8, 12, 13, 14
BUFFERS = {INT: 2, FLOAT: 2, BOOL: 2, DATE: 2, LIST: 2, BINARY: 3, TEXT: 3, STRUCT: 1}  # of columns
KNOWN_MOST = 64  # schemas


def cut_off():
    return damaged("Arrow that is cut off")


def wrong():
    return damaged("Arrow with an offset that leads outside")


def read_metadata(value, at):
    """Those of the message that begins there, and where its body does. Before 0.15 it began with
    their size; since then with 0xffffffff, and then it. A size of 0 ends the stream."""
    size = 0xffffffff
    for _ in range(2):
        if size == 0xffffffff:
            if value.size - at < 4:
                raise cut_off()
            size = int.from_bytes(value.get(at, 4), "little")
            at += 4
    if size > METADATA_MOST or size > value.size - at:
        raise cut_off()
    return value.get(at, size), at + size


class Message:
    def __init__(self, value, at):
        self.metadata, self.body = read_metadata(value, at)
        self.kind, self.size = END, 0
        if self.metadata:
            self.read()
        if self.size > value.size - self.body:
            raise cut_off()
        self.after = self.body + self.size

    def read(self):
        root = Table(self.metadata)
        self.version, self.kind = root.number(0, "H"), root.number(1, "B")
        self.header, self.size = root.table(2), root.number(3, "Q")
        if not self.header:
            raise wrong()
        if self.version not in (VERSION_4, VERSION_5):
            raise unsupported(f"Arrow with metadata of version {self.version + 1}")


# --- the schema and the record batch ------------------------------------------------------------


class Column:
    """Its type, the bits of an integer, the columns below it; which one it is, a parent before its
    children."""

    def __init__(self, number, kind):
        self.number, self.kind, self.bits, self.children = number, kind, 0, []


class Schema:
    """Columns, of which the first one has the others below it."""

    def __init__(self, message):
        self.columns, self.starts, self.size = [], {}, message.size
        if message.kind != SCHEMA:
            raise damaged("Arrow without a schema")
        count = len(message.header.vector(1, 4))
        if count != 1:
            raise unsupported(f"Arrow with {count} columns")
        self.read_field(*message.header.tables(1), 0)

    def read_field(self, field, depth):
        children = field.vector(5, 4)
        if len(self.columns) == COLUMNS or depth == DEPTH or len(children) > CHILDREN:
            raise unsupported("Arrow with too many columns")
        kind = field.table(3)
        if not kind:
            raise wrong()
        column = Column(len(self.columns), field.number(2, "B"))
        self.columns.append(column)
        if column.kind == INT:
            column.bits = kind.number(0, "I")
        if column.kind == UNION and kind.number(0, "H") != 1:
            raise unsupported("Arrow with a sparse union")
        column.children = [self.read_field(child, depth + 1) for child in field.tables(5)]
        return column

    def first_buffers(self, of_union, count):
        """Of each column, in a batch of so many. Before 0.15 a column of nulls had a buffer."""
        for of_null in (0, 1) if (of_union, count) not in self.starts else ():
            needed = {**BUFFERS, NULL: of_null, UNION: of_union}
            starts, end = [], 0
            for column in self.columns:
                starts.append(end)
                end += needed.get(column.kind, BUFFERS_MOST + 1)
            if end == count:
                self.starts[of_union, count] = starts
                break
        if (of_union, count) not in self.starts:
            raise unsupported(f"Arrow with {count} buffers for {len(self.columns)} columns")
        return self.starts[of_union, count]


class Batch:
    """Where a record batch has its buffers: before 1.0 a union had a validity buffer."""

    def __init__(self, message, schema):
        if message.kind != RECORDS:
            raise damaged("Arrow without a record batch")
        header = message.header
        if header.place(3):
            raise unsupported("compressed Arrow")
        buffers = header.vector(2, 16)
        if len(buffers) > BUFFERS_MOST:
            raise unsupported("Arrow with too many buffers")
        self.types = 0 if message.version >= VERSION_5 else 1  # buffer of a union
        self.rows, self.body, self.size = header.number(0, "Q"), message.body, message.size
        self.places = struct.unpack_from(f"<{2 * len(buffers)}Q", header.data, buffers.start)
        self.first = schema.first_buffers(2 + self.types, len(buffers))

    def place(self, column, n):
        """(offset, size) of buffer n of a column."""
        at = 2 * (self.first[column.number] + n)
        offset, size = self.places[at], self.places[at + 1]
        if offset > self.size or size > self.size - offset:
            raise wrong()
        return self.body + offset, size


# --- values -------------------------------------------------------------------------------------


def is_contiguous(tensor, shape):
    """Rows one after the other, as C has them."""
    found, expected = tensor.vector(3, 8), 1
    strides = struct.unpack_from(f"<{len(found)}Q", tensor.data, found.start)
    for stride, size in zip(strides[::-1], shape[::-1]):
        if stride != expected:
            return False
        expected *= size
    return len(strides) in (0, len(shape))


class Reading:
    known = {}  # schemas by their metadata, which is the same in most records

    def __init__(self, value, sample):
        self.value, self.sample = value, sample

    def read(self):
        if self.value.size < 16:
            raise cut_off()
        counts, at = struct.unpack("<4I", self.value.get(0, 16)), 16
        if counts[2] > 1:
            counts, at = (0, counts[0], 0, counts[1]), 8
        if counts[0] or counts[3] or counts[1] + counts[2] > 1:
            raise other("tensors or buffers")
        self.arrays = counts[1] + counts[2]
        metadata, body = read_metadata(self.value, at)
        schema = self.known.get(metadata)
        if not schema:
            schema = Schema(Message(self.value, at))
            if len(self.known) == KNOWN_MOST:
                self.known.clear()
            self.known[metadata] = schema
        message = Message(self.value, body + schema.size)
        self.batch = Batch(message, schema)
        message = Message(self.value, message.after)
        if message.kind != END or self.batch.rows != 1:
            raise other("more than one value")
        self.after = message.after
        self.add(schema.columns[0], 0, 0)

    def read_tensor(self, message):
        tensor, kind = message.header, message.header.table(1)
        is_int = tensor.number(0, "B") == INT and kind
        width, count = kind.number(0, "I") // 8 if is_int else 0, len(tensor.vector(2, 4))
        shape = [one.number(0, "Q") for one in islice(tensor.tables(2), SHAPE_MOST)]
        data = tensor.place(4)
        offset, size = struct.unpack_from("<QQ", tensor.data, data or 0)
        if not data or offset > message.size or size > message.size - offset:
            raise wrong()
        if max([1, *shape]) == 1 and 0 < width <= 8 and size == width:
            self.add_element(message.body + offset, width, kind.number(1, "B"))
            return
        if width != 1:
            raise other("an array of another type than uint8")
        if count > SHAPE_MOST or not is_contiguous(tensor, shape):
            raise other("an array of another shape")
        self.sample.add_array(message.body + offset, size, shape)

    def add_element(self, offset, width, signed):
        """An array of one element may be a label."""
        found = int.from_bytes(self.value.get(offset, width), "little", signed=bool(signed))
        if width not in (1, 2, 4, 8) or found >= 1 << 63:
            raise other("a number of more than 63 bits")
        self.sample.add_number(found)

    def read_array(self, which):
        at = self.after + -self.after % 64
        if which >= self.arrays or at > self.value.size:
            raise damaged("Arrow without the array that it names")
        message = Message(self.value, at)
        if message.kind != TENSOR:
            raise other("another tensor")
        # 0.8 and 0.9 do not align what comes after the metadata, and end with it. 0.10 aligns it,
        # but does not count the bytes in between. Later ones count them.
        left, padding = self.value.size - message.after, -message.body % 64
        if left:
            if left < padding:
                raise cut_off()
            message.body += padding
        self.read_tensor(message)

    def number_at(self, column, n, i, width, signed=False):
        """The number i of buffer n of a column."""
        offset, size = self.batch.place(column, n)
        if i >= size // width:
            raise damaged("Arrow with a buffer that is cut off")
        return int.from_bytes(self.value.get(offset + i * width, width), "little", signed=signed)

    def range_at(self, column, i):
        """Where item i of a column of offsets begins and ends."""
        start, end = self.number_at(column, 1, i, 4), self.number_at(column, 1, i + 1, 4)
        if start > end:
            raise damaged("Arrow with offsets that go back")
        return start, end

    def add(self, column, i, depth):
        kind = column.kind
        if depth == DEPTH:
            raise other("a list in a list")
        if kind == BINARY:
            start, end = self.range_at(column, i)
            offset, size = self.batch.place(column, 2)
            if end > size:
                raise damaged("Arrow with a buffer that is cut off")
            self.sample.add_bytes(offset + start, end - start)
        elif kind == INT and column.bits == 32:
            self.read_array(self.number_at(column, 1, i, 4))
        elif kind == INT and column.bits == 64:
            self.sample.add_number(self.number_at(column, 1, i, 8, True))
        elif kind == INT:
            raise other("another number")
        elif kind == UNION:
            # A type is the number of a child: before 0.13 the ids of the schema were in another
            # order than the children, and pyarrow.deserialize() never looked at them.
            types = self.batch.types
            child, i = self.number_at(column, types, i, 1), self.number_at(column, types + 1, i, 4)
            if child >= len(column.children):
                raise damaged(f"Arrow with a value of the unknown type {child}")
            self.add(column.children[child], i, depth + 1)
        elif kind == STRUCT:
            if len(column.children) != 1:
                raise other("a dict")
            self.add(column.children[0], i, depth + 1)
        elif kind == LIST:
            if len(column.children) != 1:
                raise damaged("Arrow with a list of nothing")
            start, end = self.range_at(column, i)
            if end - start > ITEMS:
                raise more()
            for one in range(start, end):
                self.add(column.children[0], one, depth + 1)
        else:
            raise other("text, a float, a bool or None")


def read_arrow(value, _, sample):
    try:
        Reading(value, sample).read()
    except struct.error:
        raise wrong() from None
