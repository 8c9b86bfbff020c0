"""Arrow files and streams, as save_to_disk and the cache of Hugging Face's datasets hold them,
after apache/arrow (format/Message.fbs, Schema.fbs): a column of images, struct{bytes, path}, and
one of labels, in record batches that are not compressed.

"ARROW1\\0\\0", in a file only | messages | what a file repeats of them
message  u32 0xffffffff, not before 0.15 | u32 bytes of the metadata, 0: the end | metadata, a
         flatbuffer | body: the buffers of the columns, one after the other

The values of a column lie between the numbers of its buffer of offsets: no image is read. A column
of categories has numbers, and batches of its dictionary, which come first, what they stand for."""

import struct

from columns import BYTES, INTEGERS, LISTS, TAKES, TEXTS, Columns, Leaf
from flatbuffer import Table
from scan import BLOCK, Failed, damaged, to_text, unread, unsupported

NAME = "arrow"
MAGIC, MARK, MOST = b"ARROW1\0\0", 0xffffffff, 64 << 20
DEPTH, NAME_MOST = 16, 255
NEXT = 1 << 14  # bytes of the next message that are asked for ahead
SCHEMA, DICTIONARY, RECORDS = 1, 2, 3
INT, BINARY, UTF8, STRUCT, LARGE_BINARY, LARGE_UTF8 = 2, 4, 5, 13, 19, 20
LISTED = {12: 2, 16: 1, 17: 2, 21: 2, 25: 3, 26: 3}  # lists and maps: how many buffers they have
# What the others have, and how many buffers; unions and views depend on more.
OTHER = {1: ("nulls", 0), 3: ("floats", 2), 6: ("booleans", 2), 7: ("decimals", 2), 8: ("dates", 2),
         9: ("times", 2), 10: ("timestamps", 2), 11: ("intervals", 2),
         15: ("bytes of one length", 2), 18: ("durations", 2)}
WIDE = {BINARY: (BYTES, 4), UTF8: (TEXTS, 4), LARGE_BINARY: (BYTES, 8), LARGE_UTF8: (TEXTS, 8)}
NUMBERS = {(8, True): "b", (8, False): "B", (16, True): "h", (16, False): "H", (32, True): "i",
           (32, False): "I", (64, True): "q", (64, False): "Q"}
CODECS = {0: "LZ4_FRAME", 1: "ZSTD"}

# --- messages -------------------------------------------------------------------------------------


def probe(source):
    head = source.peek(0, 12)
    if head[:8] == MAGIC:
        return True
    if len(head) < 12:
        return False
    mark, size, root = struct.unpack("<3I", head)
    return mark == MARK and 0 < size < source.size and size % 8 == 0 and root < size


def messages(source, tree):
    """(kind, header, where it begins, where its body begins, and ends) of each."""
    at = 8 if source.peek(0, 8) == MAGIC else 0
    while at < source.size:
        first = at
        size, = source.unpack("<I", at)
        at += 4
        if size == MARK:
            size, = source.unpack("<I", at)
            at += 4
        if size == 0:
            return
        if size > MOST:
            raise damaged(f"a message at {at} of {size} bytes of metadata")
        root = Table(source.get(at, size))
        body = root.number(3, "q")
        at += size
        if not 0 <= body <= source.size - at:
            raise damaged(f"truncated: a message at {at - size} has {body} bytes, of {source.size} "
                          "bytes in all")
        yield root.number(1, "B"), root.table(2), first, at, at + body
        at += body
    tree.note("it has no mark at its end: its writer was stopped, and what it would have written "
              "is not there")


# --- columns --------------------------------------------------------------------------------------


class Column(Leaf):
    """`node` and `buffer` are its numbers in a record batch, `above` the buffers that tell where it
    and the structs that it is in are null, `layout` that of its numbers or offsets, `coded` the
    dictionary that its numbers are of, or None."""

    def __init__(self, name, has, node, buffer, above, layout=None, coded=None):
        super().__init__(name, has)
        self.node, self.buffer, self.above, self.layout = node, buffer, above, layout
        self.coded = coded

    @property
    def has_numbers(self):
        return bool(self.coded) or self.has == INTEGERS


class Dictionary:
    """What the numbers of a column stand for: values of another, whose batches come as those of a
    schema that has only that."""
    nodes = 1

    def __init__(self, column, buffers):
        self.column, self.buffers, self.values = column, buffers, []

    def take(self, batch, more):
        """Of a batch: more values, or others."""
        batch.load([(self.column, not self.column.has_numbers)])
        self.values = (self.values if more else []) + batch.values(self.column)

    def find(self, number):
        if number is None:
            return None
        if not 0 <= number < len(self.values):
            raise damaged(f"the dictionary of the column '{self.column.name}' has no value "
                          f"{number}")
        return self.values[number]


def type_of(kind, about):
    """What a column of this type has, how many buffers, and the layout of its numbers or offsets.
    None: it is not known."""
    if kind in WIDE:
        has, width = WIDE[kind]
        return has, 3, "iq"[width == 8]
    if kind == INT and about:
        layout = NUMBERS.get((about.number(0, "i"), bool(about.number(1, "B"))))
        return INTEGERS if layout else "another type", 2, layout
    return (*OTHER[kind], None) if kind in OTHER else None


def name_of(field):
    if len(field.vector(0, 1)) > NAME_MOST:
        raise damaged("its schema is damaged: the name of a column")
    return to_text(field.text(0))


class Schema:
    def __init__(self, table, room):
        if table.number(0, "h"):
            raise unsupported("numbers in the byte order of other machines: write it on this one")
        self.columns, self.nodes, self.buffers, self.room = [], 0, 0, room
        self.dictionaries = {}  # by their numbers
        for field in table.tables(1):
            self.add(field, name_of(field), [], False)
        self.note = next((pair.text(1) for pair in table.tables(2)
                          if len(pair.vector(0, 1)) == 11 and pair.text(0) == b"huggingface"), b"")

    def add(self, field, name, nulls, repeated, depth=0):
        self.room -= 1
        if depth == DEPTH or self.room < 0:
            raise damaged("its schema is damaged: the tree of its columns")
        kind, about, coded = field.number(2, "B"), field.table(3), field.table(4)
        node, buffer = self.nodes, self.buffers
        self.nodes += 1
        if kind == STRUCT and not coded:
            self.buffers += 1
            for child in field.tables(5):
                self.add(child, f"{name}.{name_of(child)}", [*nulls, buffer], repeated, depth + 1)
            return
        if kind in LISTED and not coded:
            self.buffers += LISTED[kind]
            for child in field.tables(5):
                self.add(child, name + ".list.element", nulls, True, depth + 1)
            return
        found = type_of(kind, about)
        if coded:
            has, count, layout, coded = self.code(name, found, coded)
        elif found:
            has, count, layout = found
        else:
            raise unread(f"the column '{name}' has another type, and what is behind it is not "
                         "found: write it without")
        self.buffers += count
        self.columns.append(Column(name, LISTS if repeated else has, node, buffer,
                                   [*nulls, buffer] if count else nulls, layout, coded))

    def code(self, name, found, coded):
        """As type_of() has it, of numbers of a dictionary, and that."""
        index = coded.table(1)
        layout = NUMBERS.get((index.number(0, "i"), bool(index.number(1, "B")))) if index else "i"
        has, buffers, values = found or (None, 0, None)
        if not layout or not values:
            return "numbers of a dictionary", 2, None, None
        number, has = coded.number(0, "q"), TEXTS if has == BYTES else has
        if number not in self.dictionaries:
            self.dictionaries[number] = Dictionary(Column(name, has, 0, 0, [0], values), buffers)
        return has, 2, layout, self.dictionaries[number]


# --- record batches -------------------------------------------------------------------------------


class Batch:
    def __init__(self, source, schema, header, first, start, end):
        self.source, self.first, self.start, self.end = source, first, start, end
        self.loaded = {}
        packed = header.table(3)
        if packed:
            name = CODECS.get(packed.number(0, "b"), "a newer codec")
            raise unread(f"record batches compressed by {name}, which are not read: "
                         "IpcWriteOptions(compression=None) of pyarrow writes others, and "
                         "write_feather(..., compression='uncompressed')")
        self.rows = header.number(0, "q")
        self.nodes, self.buffers = [
            [struct.unpack_from("<qq", header.data, at) for at in header.vector(field, 16)]
            for field in (1, 2)]
        if (self.rows, len(self.nodes), len(self.buffers)) != (
                max(self.rows, 0), schema.nodes, schema.buffers):
            raise damaged("a record batch is not as its schema says")

    def place(self, number):
        """Of a buffer, in the file."""
        offset, size = self.buffers[number]
        if offset < 0 or size < 0 or offset + size > self.end - self.start:
            raise damaged("a buffer of a record batch is not in it")
        return self.start + offset, size

    def load(self, columns):
        """Reads what the values of columns need, as it lies in the file."""
        if any(self.nodes[column.node][0] != self.rows for column, _ in columns):
            raise damaged("a column of a record batch has more or fewer rows than that")
        wanted = set()
        for column, content in columns:
            wanted.update(column.above, [column.buffer + 1], [column.buffer + 2] if content else [])
        places = sorted((*self.place(number), number) for number in wanted)
        # What lies behind the beginning of this message, and the beginning of the next.
        self.source.will_get(*((at, min(max(size, BLOCK), MOST)) for at, size, _ in places
                               if size and at + max(size, BLOCK) > self.first + NEXT),
                             (self.end, NEXT))
        for at, size, number in places:
            self.loaded[number] = b"".join(self.source.get(at + done, min(size - done, MOST))
                                           for done in range(0, size, MOST))

    def read(self, number, size):
        if size > len(self.loaded[number]):
            raise damaged("a buffer of a record batch is too short")
        return self.loaded[number][:size]

    def is_there(self, column):
        """Whether each row has a value: bits."""
        found = (1 << self.rows) - 1
        for number in column.above:
            if self.loaded[number]:
                found &= int.from_bytes(self.read(number, (self.rows + 7) // 8), "little")
        bits = found.to_bytes(self.rows // 8 + 1, "little")
        return (bits[row >> 3] >> (row & 7) & 1 for row in range(self.rows))

    def numbers(self, column, count):
        size = struct.calcsize(column.layout)
        return struct.unpack(f"<{count}{column.layout}",
                             self.read(column.buffer + 1, count * size))

    def places(self, column):
        """(offset, size), in the file."""
        place, most = self.place(column.buffer + 2)
        ends = self.numbers(column, self.rows + 1) if self.rows else (0,)
        for begin, end in zip(ends, ends[1:]):
            if not 0 <= begin <= end <= most:
                raise damaged("a value is not in its buffer")
            yield place + begin, end - begin

    def values(self, column):
        """None, a number or bytes for each row."""
        if not column:
            return [None] * self.rows
        if column.has_numbers:
            found = self.numbers(column, self.rows)
        else:
            start, data = self.place(column.buffer + 2)[0], self.loaded[column.buffer + 2]
            found = (data[at - start:at - start + size] for at, size in self.places(column))
        found = [value if there else None for value, there in zip(found, self.is_there(column))]
        return [column.coded.find(value) for value in found] if column.coded else found


def rows_of(batch, columns):
    """(whether it has an image, its place, label, path) of each row."""
    image, label, path = columns.image, columns.label, columns.path
    wanted = [column for column in (image, label, path) if column]
    batch.load([(column, column is not image and not column.has_numbers) for column in wanted])
    places = list(batch.places(image))
    return zip(batch.is_there(image), places, batch.values(label), batch.values(path))


def take_batch(batch, columns):
    try:
        rows = rows_of(batch, columns)
    except Failed as error:
        raise Failed(error.what, f"record {columns.record}: {error}") from None
    for there, (offset, size), label, path in rows:
        if there:
            columns.add(offset, size, label, path)
        else:
            columns.pass_over(1)


def read(source, tree):
    schema = columns = None
    for kind, header, first, start, end in messages(source, tree):
        if kind == SCHEMA and not schema and header:
            schema = Schema(header, len(header.data) // 8)
            columns = Columns(source, tree, schema.columns, schema.note)
            coded = [column.coded for column in (columns.label, columns.path) if column]
            tree.prefix()
        elif kind == RECORDS and schema and header:
            take_batch(Batch(source, schema, header, first, start, end), columns)
        elif kind == DICTIONARY and schema and header and header.table(1):
            found = schema.dictionaries.get(header.number(0, "q"))
            if found and found in coded:
                found.take(Batch(source, found, header.table(1), first, start, end),
                           header.number(2, "B"))
        else:
            raise damaged(f"a message of kind {kind} at {start}, which an Arrow file does not have "
                          "there")
    if not schema:
        raise damaged("truncated: it has no schema")
    columns.end()


def scan(source, tree):
    try:
        read(source, tree)
    except struct.error:
        raise damaged("a message is damaged: its metadata") from None
