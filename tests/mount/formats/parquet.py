"""A writer of Parquet as Hugging Face's datasets have it, after apache/parquet-format: a column of
images, struct{bytes, path}, and one of labels."""

import json
import struct
import zlib

I32, I64, BINARY, LIST, STRUCT, FALSE = 5, 6, 8, 9, 12, 2
BYTES, UTF8 = 6, 0
NONE, SNAPPY, GZIP = 0, 1, 2
PLAIN, RLE, RLE_DICTIONARY = 0, 3, 8
OPTIONAL, REPEATED = 1, 2


def varint(n):
    out = b""
    while n > 0x7f:
        out += bytes([n & 0x7f | 0x80])
        n >>= 7
    return out + bytes([n])


def zigzag(n):
    return varint(n << 1 if n >= 0 else (-n << 1) - 1)


def encoded(kind, value):
    if kind in (I32, I64):
        return zigzag(value)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind == LIST:
        items, values = value
        return (bytes([0xf0 | items]) + varint(len(values)) +
                b"".join(encoded(items, v) for v in values))
    return value if kind == STRUCT else b""


def record(*fields):
    """Of (id, type, value), by id."""
    out, last = b"", 0
    for number, kind, value in fields:
        out += bytes([number - last << 4 | kind]) + encoded(kind, value)
        last = number
    return out + b"\0"


def snappy(data):
    """Literals only."""
    out = varint(len(data))
    for at in range(0, len(data), 1 << 16):
        part = data[at:at + (1 << 16)]
        out += bytes([61 << 2]) + struct.pack("<H", len(part) - 1) + part
    return out


def gzip(data):
    pack = zlib.compressobj(wbits=31)
    return pack.compress(data) + pack.flush()


PACK = {NONE: bytes, SNAPPY: snappy, GZIP: gzip}


def runs(values):
    """Bits of width 1, each a run of its own."""
    return b"".join(varint(2) + bytes([v]) for v in values)


def plain(value):
    if isinstance(value, int):
        return struct.pack("<q", value)
    return struct.pack("<I", len(value)) + value


def page(kind, values, body, levels, encoding, codec, version):
    """A page of data, or, kind 2, a dictionary."""
    pack = PACK[codec]
    if kind == 2:
        packed, whole = pack(body), len(body)
        head = (7, STRUCT, record((1, I32, values), (2, I32, encoding)))
    elif version == 1:
        body = struct.pack("<I", len(levels)) + levels + body
        packed, whole = pack(body), len(body)
        head = (5, STRUCT, record((1, I32, values), (2, I32, encoding), (3, I32, RLE),
                                  (4, I32, RLE)))
    else:
        kind = 3
        packed, whole = levels + pack(body), len(levels) + len(body)
        head = (8, STRUCT, record((1, I32, values), (2, I32, 0), (3, I32, values),
                                  (4, I32, encoding), (5, I32, len(levels)), (6, I32, 0)))
    return record((1, I32, kind), (2, I32, whole), (3, I32, len(packed)), head) + packed


def column(values, depth, codec, version, dictionary):
    present = [v for v in values if v is not None]
    width = depth.bit_length()
    assert width in (1, 2)
    levels = b"".join(varint(2) + bytes([0 if v is None else depth]) for v in values)
    if not dictionary:
        return page(0, len(values), b"".join(map(plain, present)), levels, PLAIN, codec, version)
    words = sorted(set(present))
    bits = max(1, (len(words) - 1).bit_length())
    assert bits <= 8
    indices = bytes([bits]) + runs(map(words.index, present))
    return (page(2, len(words), b"".join(map(plain, words)), b"", PLAIN, codec, version) +
            page(0, len(values), indices, levels, RLE_DICTIONARY, codec, version))


LEAVES = [("bytes", 2, 6), ("path", 2, 6), ("label", 1, 2)]  # name, depth, type


def node(name, kind=None, children=None, converted=None, repetition=OPTIONAL):
    fields = [(1, I32, kind)] if kind is not None else []
    fields += [(3, I32, repetition), (4, BINARY, name)]
    fields += [(5, I32, children)] if children else []
    return record(*fields, *([(6, I32, converted)] if converted is not None else []))


def schema():
    return [node(b"schema", None, 2), node(b"image", None, 2), node(b"bytes", 6),
            node(b"path", 6), node(b"label", 2)]


def chunk(kind, where, codec, values, offset, size):
    meta = record((1, I32, kind), (2, LIST, (I32, [PLAIN, RLE])), (3, LIST, (BINARY, where)),
                  (4, I32, codec), (5, I64, values), (6, I64, size), (7, I64, size),
                  (9, I64, offset))
    return record((2, I64, 0), (3, STRUCT, meta))


def row_group(chunks, rows):
    return record((1, LIST, (STRUCT, chunks)), (2, I64, 0), (3, I64, rows))


def finish(path, pages, nodes, groups, rows, pairs=()):
    footer = record((1, I32, 2), (2, LIST, (STRUCT, nodes)), (3, I64, rows),
                    (4, LIST, (STRUCT, groups)), (5, LIST, (STRUCT, pairs)))
    path.write_bytes(pages + footer + struct.pack("<I", len(footer)) + b"PAR1")
    return path


def write(path, rows, names=None, codecs=(NONE, NONE, NONE), version=1, group=1000,
          dictionary=True):
    """Rows are (bytes or None, path or None, label or None)."""
    out, groups = bytearray(b"PAR1"), []
    for at in range(0, len(rows), group):
        part, chunks = rows[at:at + group], []
        for number, (name, depth, kind) in enumerate(LEAVES):
            content = column([row[number] for row in part], depth, codecs[number], version,
                             dictionary and name == "label")
            where = [b"image", name.encode()] if depth == 2 else [b"label"]
            chunks.append(chunk(kind, where, codecs[number], len(part), len(out), len(content)))
            out += content
        groups.append(row_group(chunks, len(part)))
    label = {"names": names, "_type": "ClassLabel"} if names else {"dtype": "int64"}
    about = json.dumps({"info": {"features": {"image": {"_type": "Image"}, "label": label}}})
    pair = record((1, BINARY, b"huggingface"), (2, BINARY, about.encode()))
    return finish(path, bytes(out), schema(), groups, len(rows), [pair])
