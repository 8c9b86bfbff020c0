"""FFCV's .beton: images as JPEG files, or as pixels, and labels.

header   u16 version, u16 fields, u32 page, u64 samples, u64 offset of the table
field    u8 type, 16 bytes of name, 1024 of arguments; as many as there are fields
sample   what each field says of it, aligned as C does; as many as there are samples
image    of a sample: u8 mode (0: JPEG, 1: pixels), u16 width, u16 height, u64 offset
table    u64 sample, u64 offset, u64 bytes: of all that is stored, in any order, to the end

The size of a JPEG file stands in the table alone."""

import struct

from scan import IMAGE_KEY, LABEL_KEY, Failed, damaged, pixels, to_text, unsupported

NAME = "ffcv"
TAKES = IMAGE_KEY | LABEL_KEY
HEADER, FIELD, ROW = 24, 1041, 24
VERSION, FIELDS_MOST, PAGE_LEAST = 2, 256, 4096
INT, IMAGE = 1, 2
SHAPES = ((8, 8), (8, 8), (13, 1), (16, 1), (8, 8), (16, 1), (8, 8))  # size, alignment by type
HEADS, HEAD_BYTES = 64, 16  # so many images have their first bytes looked at
BLOCK = 1 << 16


def probe(source):
    head = source.peek(0, HEADER + 1)
    if len(head) <= HEADER:
        return False
    version, fields, page, _, table = struct.unpack_from("<HHIQQ", head)
    return (version == VERSION and 1 <= fields <= FIELDS_MOST and page >= PAGE_LEAST and
            page & page - 1 == 0 and HEADER <= table <= source.size and head[HEADER] < len(SHAPES))


def is_wanted(name, asked, usual, found):
    return name == asked if asked else found is None or name == usual


def read_fields(source, count):
    """Where a sample has its image and its label (None: it has none), and its bytes. Those are the
    fields that the user names, or those called "image" and "label", or the first of their types."""
    image = label = None
    end, most = 0, 1
    for number in range(count):
        kind, name = source.unpack("<B16s", HEADER + number * FIELD)
        name = to_text(name.split(b"\0")[0])
        if kind >= len(SHAPES):
            raise unsupported(f"field {number} ('{name}') is of a type of its own, {kind}")
        size, align = SHAPES[kind]
        at = -(-end // align) * align
        end, most = at + size, max(most, align)
        if kind == IMAGE and is_wanted(name, source.option["image_key"], "image", image):
            image = at
        elif kind == INT and is_wanted(name, source.option["label_key"], "label", label):
            label = at
    if image is None:
        key = source.option["image_key"]
        raise unsupported(f"no field of images{' called ' if key else ''}{key} in it")
    if source.option["label_key"] and label is None:
        raise Failed("option", f"no field of integers called {source.option['label_key']} in it")
    return image, label, -(-end // most) * most


def read_table(source, table):
    """The bytes of what lies at an offset."""
    sizes, count = {}, (source.size - table) // ROW
    for first in range(0, count, BLOCK // ROW):
        rows = source.get(table + first * ROW, min(count - first, BLOCK // ROW) * ROW)
        sizes.update((offset, size) for _, offset, size in struct.iter_unpack("<QQQ", rows))
    return sizes


def scan(source, tree):
    if not probe(source):
        raise damaged("no header of FFCV, version 2")
    _, fields, _, samples, table = source.unpack("<HHIQQ", 0)
    first = HEADER + fields * FIELD
    image, label, size = read_fields(source, fields)
    if first > table or samples > (table - first) // size:
        raise damaged(f"{samples} samples do not fit in front of the table at {table}")
    sizes = read_table(source, table)
    heads = source.get(first, min(samples, HEADS) * size)
    source.will_get(*((struct.unpack_from("<Q", heads, at + image + 5)[0], HEAD_BYTES)
                      for at in range(0, len(heads), size)))
    block = max(BLOCK // size, 1)
    for begin in range(0, samples, block):
        rows = source.get(first + begin * size, min(block, samples - begin) * size)
        for at in range(0, len(rows), size):
            number = begin + at // size
            mode, width, height, offset = struct.unpack_from("<BHHQ", rows, at + image)
            if mode > 1:
                raise damaged(f"record {number}: an image of mode {mode}, which is neither JPEG "
                              "nor pixels")
            if offset not in sizes:
                raise damaged(f"record {number}: its image at {offset} is not in the table")
            more = [pixels(width, height, "rgb")] if mode else []
            known = None if label is None else struct.unpack_from("<q", rows, at + label)[0]
            tree.add(number, offset, sizes[offset], known, *more)
    tree.note("left out: {} further fields of each sample", fields - 1 - (label is not None))
