"""RecordIO files of images, written by what dmlc-core's recordio.h and MXNet's recordio.py publish:
where the magic number is among the bytes of a record, the record is in parts."""

import struct

MAGIC = struct.pack("<I", 0xCED7230A)
WHOLE, FIRST, NEXT, LAST = range(4)


def frame(part, data):
    return MAGIC + struct.pack("<I", part << 29 | len(data)) + data + b"\0" * (-len(data) % 4)


def parts(data):
    """The pieces between magic numbers at multiples of 4."""
    begin = 0
    for at in range(0, len(data) // 4 * 4, 4):
        if data[at:at + 4] == MAGIC:
            yield data[begin:at]
            begin = at + 4
    yield data[begin:]


def record(data):
    if MAGIC not in data:
        return frame(WHOLE, data)
    pieces = [*parts(data)]
    if len(pieces) == 1:
        return frame(WHOLE, data)
    kinds = [FIRST, *[NEXT] * (len(pieces) - 2), LAST]
    return b"".join(map(frame, kinds, pieces))


def image(label, number, data):
    """`label` is a number, or a list of them."""
    if isinstance(label, list):
        head = struct.pack("<IfQQ", len(label), 0, number, 0)
        return record(head + struct.pack(f"<{len(label)}f", *label) + data)
    return record(struct.pack("<IfQQ", 0, label, number, 0) + data)


def write(path, records, listed=None):
    """`listed`, paths by number, becomes the .lst beside it, in an order of its own."""
    path.write_bytes(b"".join(image(*r) for r in records))
    if listed:
        lines = [f"{number}\t{0:f}\t{name}\n" for number, name in sorted(listed.items())]
        path.with_suffix(".lst").write_text("".join(reversed(lines)))
    return path
