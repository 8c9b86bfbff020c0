"""Parquet files of Hugging Face's datasets and others, after apache/parquet-format: a column of
images, struct{bytes, path}, and one of labels.

"PAR1" | pages | footer: FileMetaData | u32 bytes of the footer | "PAR1"

Images are read in place; those of compressed pages lie in the page, which foldfs unpacks. A page
may say of many rows at once that they have no value, or the same: a column comes as (count, value).
"""

import struct

from columns import BYTES, INTEGERS, LISTS, TAKES, TEXTS, Columns, Leaf
from scan import Failed, damaged, to_text, unread, unsupported

NAME, STREAMED = "parquet", True
MAGIC, MOST = b"PAR1", 64 << 20
HEAD = 65536  # bytes of a page's header that are read; more, where they do not do
LOAD = 1 << 20  # bytes of a page of labels or names that is kept in memory
ROWS = 65536  # with images, which are looked for before their names
VALUES = 4096
ENDLESS = 1 << 62
DATA, DICTIONARY, DATA_V2 = 0, 2, 3
ENCODINGS = ("PLAIN", "GROUP_VAR_INT", "PLAIN_DICTIONARY", "RLE", "BIT_PACKED",
             "DELTA_BINARY_PACKED", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "RLE_DICTIONARY",
             "BYTE_STREAM_SPLIT")
PLAIN, RLE, BY_DICTIONARY = 0, 3, (2, 8)
HAVE = ("booleans", INTEGERS, INTEGERS, "timestamps", "floats", "floats", BYTES,
        "bytes of one length")
INT64 = 2


# --- thrift, compact ------------------------------------------------------------------------------

INT, TEXT, SEEN = range(3)
DEPTH = 16  # of values in values that are passed over
LEAST = 5  # bytes of a struct in a list that is read
STRUCT, LIST, BINARY = 12, 9, 8
# What is read of a struct, by the numbers of its fields.
COLUMN = {4: INT, 5: INT, 7: INT, 9: INT, 11: INT}
CHUNK = {1: TEXT, 3: COLUMN, 8: SEEN}
FOOTER = {2: [{1: INT, 3: INT, 4: TEXT, 5: INT, 6: INT}], 4: [{1: [CHUNK], 3: INT}],
          5: [{1: TEXT, 2: TEXT}]}
HEADER = {1: INT, 2: INT, 3: INT, 5: {1: INT, 2: INT, 3: INT}, 7: {1: INT, 2: INT},
          8: {1: INT, 4: INT, 5: INT, 6: INT, 7: INT}}


class Bad(Exception):
    """What does not lie within the bytes."""


class Thrift:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        self.at += size
        if self.at > len(self.data):
            raise Bad
        return self.data[self.at - size:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = 0
        for shift in range(0, 64, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise Bad

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def fields(self):
        """(number, type) of each; its value is to be read, or passed over."""
        number = 0
        while True:
            head = self.byte()
            if head & 15 == 0:
                return
            number = number + (head >> 4) if head >> 4 else self.zigzag()
            if not 0 <= number < 1 << 15:
                raise Bad
            yield number, head & 15

    def items(self, least):
        """How many there are in a list, each of which takes so many bytes, and their type."""
        head = self.byte()
        count = self.varint() if head >> 4 == 15 else head >> 4
        if count * least > len(self.data) - self.at:
            raise Bad
        return count, head & 15

    def pass_over(self, kind, depth=0):
        """A value. Parquet has no maps."""
        if depth == DEPTH:
            raise Bad
        if kind in (4, 5, 6):
            self.varint()
        elif kind in (3, 7):
            self.take(1 if kind == 3 else 8)
        elif kind == BINARY:
            self.take(self.varint())
        elif kind in (9, 10):
            count, items = self.items(1)
            for _ in range(count):  # in a list a bool takes a byte, in a struct none
                self.pass_over(3 if items in (1, 2) else items, depth + 1)
        elif kind == STRUCT:
            for _, inner in self.fields():
                self.pass_over(inner, depth + 1)
        elif kind not in (1, 2):
            raise Bad

    def struct(self, wants):
        found = {}
        for number, kind in self.fields():
            want = wants.get(number)
            if want is INT and (kind in (1, 2) or 4 <= kind <= 6):
                found[number] = kind == 1 if kind < 3 else self.zigzag()
            elif want is TEXT and kind == BINARY:
                found[number] = self.take(self.varint())
            elif isinstance(want, dict) and kind == STRUCT:
                found[number] = self.struct(want)
            elif isinstance(want, list) and kind == LIST:
                count, items = self.items(LEAST)
                if count and items != STRUCT:
                    raise Bad
                found[number] = [self.struct(want[0]) for _ in range(count)]
            else:
                self.pass_over(kind)
                if want is SEEN:
                    found[number] = True
        return found


# --- the footer -----------------------------------------------------------------------------------


def probe(source):
    return source.peek(0, 4) == MAGIC


def bad(what):
    return damaged("its footer is damaged: " + what)


def read_footer(source):
    if source.size < 12:
        raise damaged("truncated: it has no footer")
    size, magic = source.unpack("<I4s", source.size - 8)
    if magic != MAGIC:
        raise damaged("truncated: it does not end with PAR1")
    if size > source.size - 12:
        raise bad("it is longer than the file")
    if size > MOST:
        raise unsupported("its footer is of over 64 MiB: write it with larger row groups")
    if size == 0:
        raise bad("it is empty")
    try:
        return Thrift(source.get(source.size - 8 - size, size)).struct(FOOTER)
    except Bad:
        raise bad("it is cut off") from None


class Node(Leaf):
    """A column with its type, and how many fields of its path may lack."""

    def __init__(self, name, has, kind, optional):
        super().__init__(name, has)
        self.kind, self.optional = kind, optional


def node_of(name, element, optional, repeated):
    kind = element.get(1, -1)
    has = HAVE[kind] if 0 <= kind < len(HAVE) else "another type"
    if has == BYTES and element.get(6) == 0:
        has = TEXTS
    has = LISTS if repeated else has
    return Node(name, has, kind, optional)


def read_schema(elements):
    """The columns, of a tree that lies from the root on."""
    leaves, levels = [], [[elements[0].get(5, 0) if elements else 0, "", 0, False]]
    for element in elements[1:]:
        level = levels[-1]
        name = level[1] + ("." if level[1] else "") + to_text(element.get(4, b""))
        if level[0] <= 0 or len(name) > 254:
            raise bad("the tree of the schema")
        level[0] -= 1
        repetition, children = element.get(3, 0), element.get(5, 0)
        optional, repeated = level[2] + (repetition != 0), level[3] or repetition == 2
        if children <= 0:
            leaves.append(node_of(name, element, optional, repeated))
        elif len(levels) == DEPTH:
            raise bad("the schema is too deep")
        else:
            levels.append([children, name, optional, repeated])
        while len(levels) > 1 and levels[-1][0] <= 0:
            levels.pop()
    return leaves


def check_groups(groups, columns, size):
    left = size
    for group in groups:
        for chunk in group.get(1, ()):
            if 8 in chunk:
                raise unsupported("its columns are encrypted: write it without")
            if chunk.get(1):
                raise unsupported("its columns lie in other files")
            meta = chunk.setdefault(3, {})
            start, more = meta.get(9, 0), meta.get(11, 0)
            meta[9] = start = more if 0 < more < start else start
            length = meta.setdefault(7, 0)
            if start < 0 or length < 0 or start + length > size:
                raise bad("a column lies outside of the file")
            left -= length
            if left < 0:
                raise bad("a column lies in another")
        if not 0 <= group.get(3, 0) < 1 << 63:
            raise bad("a row group")
    for group in groups:
        if len(group.get(1, ())) != columns:
            raise bad("a row group has more or fewer columns than the schema")


# --- pages ----------------------------------------------------------------------------------------


def bad_page(what):
    return damaged("a page is damaged: " + what)


class Body:
    """The bytes of a page: in memory, in the file from `offset` on, or in a compressed `page`, as
    scan.py has it."""

    def __init__(self, source, size, data=None, offset=0, page=None):
        self.source, self.size, self.data = source, size, data
        self.offset, self.page = offset, page

    def get(self, at, size):
        if at + size > self.size:
            raise bad_page("a value is cut off")
        if self.data is not None:
            return self.data[at:at + size]
        return self.source.get(self.offset + at, size, self.page)

    def sizes(self, at, count):
        if self.data is None:
            return self.source.sizes(self.offset + at, self.size - at, count, self.page)
        return struct.unpack("<I", self.get(at, 4))

    def values(self, at, count):
        """(where, size) of values of bytes."""
        while count:
            sizes = self.sizes(at, min(count, VALUES))
            if not sizes:
                raise bad_page("a value is cut off")
            for size in sizes:
                at += 4
                if size > self.size - at:
                    raise bad_page("a value is longer than its page")
                yield at, size
                at += size
            count -= len(sizes)


def runs(data, width):
    """Numbers as levels and indices are written: runs of equal ones, and of packed bits."""
    if width == 0:
        yield ENDLESS, 0
    thrift, size, mask = Thrift(data), (width + 7) // 8, (1 << width) - 1
    while thrift.at < len(data):
        try:
            head = thrift.varint()
            if head < 2 or head >> 32:
                return
            if not head & 1:
                yield head >> 1, int.from_bytes(thrift.take(size), "little") & (1 << 32) - 1
                continue
        except Bad:
            return
        for at in range(thrift.at, min(thrift.at + (head >> 1) * width, len(data)), width):
            eight = data[at:at + width]
            bits = int.from_bytes(eight, "little")
            for shift in range(0, len(eight) * 8 // width * width, width):
                yield 1, bits >> shift & mask
        thrift.at += (head >> 1) * width


class Column:
    """A column of a row group."""

    def __init__(self, source, leaf, meta, load):
        self.source, self.leaf, self.load = source, leaf, load
        self.codec = meta.get(4, 0)
        self.at, self.end = meta[9], meta[9] + meta[7]
        self.dictionary = []
        self.record = 0  # for messages

    def read_header(self):
        if self.at >= self.end:
            raise bad_page("there are fewer values than rows")
        most, want, found = min(self.end - self.at, MOST), HEAD, None
        while found is None:
            head = self.source.peek(self.at, min(most, want))
            thrift = Thrift(head)
            try:
                found = thrift.struct(HEADER)
            except Bad:
                if len(head) < want or len(head) == most:
                    raise bad_page("its header") from None
                want *= 16
        self.at += thrift.at
        return found

    def body(self, at, packed, unpacked, compressed, load):
        if not compressed:
            data = self.source.get(at, packed) if load and packed <= LOAD else None
            return Body(self.source, packed, data, at)
        # Numbers from 64 on are foldfs's own.
        codec = self.codec if 0 <= self.codec < 64 else 63
        page = (self.record, codec, at, packed, unpacked)
        if load:
            return Body(self.source, unpacked, self.source.get(0, unpacked, page))
        return Body(self.source, unpacked, page=page)

    def plain(self, body, at, count):
        if self.leaf.kind == HAVE.index(BYTES):
            return ((1, (body, where, size)) for where, size in body.values(at, count))
        width = 8 if self.leaf.kind == INT64 else 4
        return ((1, int.from_bytes(body.get(at + i * width, width), "little", signed=True))
                for i in range(count))

    def not_read(self, encoding):
        name = ENCODINGS[encoding] if 0 <= encoding < len(ENCODINGS) else "a newer encoding"
        return unread(f"the column '{self.leaf.name}' has {name}, which is not read: "
                      "pyarrow's write_table(read_table(FILE), NEW) writes one that is")

    def read_dictionary(self, at, packed, unpacked, count):
        body = self.body(at, packed, unpacked, self.codec != 0, self.load)
        if count > min(self.source.size, body.size):
            raise bad_page("more entries in a dictionary than bytes in the file")
        self.dictionary = [value for _, value in self.plain(body, 0, count)]

    def by_dictionary(self, body, at):
        data = body.get(at, body.size - at)
        if data and data[0] > 32:
            raise bad_page("the width of its indices")
        for count, index in runs(data[1:], data[0] if data else 1):
            if index >= len(self.dictionary):
                break
            yield count, self.dictionary[index]
        raise bad_page("an index outside of the dictionary")

    def data(self, at, packed, unpacked, kind, info):
        """The runs of a page. In v2 the levels lie in front of the values, which alone are
        compressed. In v1 they are part of the page, after their length."""
        second, width = kind == DATA_V2, self.leaf.optional.bit_length()
        count, encoding = info.get(1, 0), info.get(4 if second else 2, PLAIN)
        ahead = info.get(5, 0) if second else 0
        if encoding not in (PLAIN, *BY_DICTIONARY):
            raise self.not_read(encoding)
        if width and not second and info.get(3, RLE) != RLE:
            raise self.not_read(info[3])
        if count < 0 or not 0 <= ahead <= min(packed, unpacked) or (second and info.get(6, 0)):
            raise bad_page("its header")
        body = self.body(at + ahead, packed - ahead, unpacked - ahead,
                         self.codec != 0 and (not second or info.get(7, True)),
                         self.load or encoding != PLAIN)
        first, levels = 0, b""
        if second:
            levels = self.source.get(at, ahead)
        elif width:
            size = int.from_bytes(body.get(0, 4), "little")
            levels, first = body.get(4, size), 4 + size
        values = (self.plain(body, first, count) if encoding == PLAIN else
                  self.by_dictionary(body, first))
        have = 0
        for same, level in runs(levels, width):
            same = min(same, count)
            count -= same
            if level < self.leaf.optional:
                yield same, None
                same = 0
            while same:
                if not have:
                    have, value = next(values)
                some = min(have, same)
                yield some, value
                have -= some
                same -= some
            if count == 0:
                return
        if count:
            raise bad_page("its definition levels are cut off")

    def runs(self):
        while True:
            head = self.read_header()
            kind, unpacked, packed = head.get(1, -1), head.get(2, 0), head.get(3, 0)
            at, info = self.at, head.get({DATA: 5, DICTIONARY: 7, DATA_V2: 8}.get(kind), {})
            if unpacked < 0 or not 0 <= packed <= self.end - at or info.get(1, 0) < 0:
                raise bad_page("its header")
            self.at += packed
            if kind == DICTIONARY:
                self.read_dictionary(at, packed, unpacked, info.get(1, 0))
            elif kind in (DATA, DATA_V2):
                yield from self.data(at, packed, unpacked, kind, info)


# --- rows -----------------------------------------------------------------------------------------


class Cursor:
    """Where the reading of a column is; of None, which has no values."""

    def __init__(self, column):
        self.column, self.runs = column, column.runs() if column else iter([(ENDLESS, None)])
        self.left, self.value = 0, None

    def take(self, most, record):
        """(count, value): so many of `most` rows, one at least, have it."""
        if not self.left:
            if self.column:
                self.column.record = record
            try:
                self.left, self.value = next(self.runs)
            except Failed as error:
                raise Failed(error.what, f"record {record}: {error}") from None
        count = min(most, self.left)
        self.left -= count
        return count, self.value

    def pass_over(self, count, record):
        while count:
            count -= self.take(count, record)[0]

    def content(self, record):
        """The next value, with the bytes that it names."""
        value = self.take(1, record)[1]
        return value[0].get(*value[1:]) if isinstance(value, tuple) else value


def take_group(source, columns, leaves, group):
    wanted = (columns.image, columns.label, columns.path)
    metas = [leaf and group[1][leaves.index(leaf)][3] for leaf in wanted]
    image, *others = (Cursor(leaf and Column(source, leaf, meta, leaf is not columns.image))
                      for leaf, meta in zip(wanted, metas))
    # The columns of a group follow each other in the file, and so they are read: first so many
    # images. A compressed page is unpacked for what lies in it.
    most, left = ROWS if metas[0].get(4, 0) == 0 else 1, group.get(3, 0)
    while left:
        found, rows = [], 0
        while rows < left and len(found) < most:
            found.append(image.take(left - rows, columns.record + rows))
            rows += found[-1][0]
        left -= rows
        for count, value in found:
            if value is None:
                for other in others:
                    other.pass_over(count, columns.record)
                columns.pass_over(count)
                continue
            body, where, size = value
            for _ in range(count):
                label, path = (other.content(columns.record) for other in others)
                if body.page:
                    source.hold(body.page)
                columns.add(body.offset + where, size, label, path, *([b"k"] if body.page else ()))


def scan(source, tree):
    footer = read_footer(source)
    leaves, groups = read_schema(footer.get(2, [])), footer.get(4, [])
    check_groups(groups, len(leaves), source.size)
    note = b"".join(pair.get(2, b"") for pair in footer.get(5, ()) if pair.get(1) == b"huggingface")
    columns = Columns(source, tree, leaves, note)
    tree.prefix()
    for group in groups:
        take_group(source, columns, leaves, group)
    columns.end()
