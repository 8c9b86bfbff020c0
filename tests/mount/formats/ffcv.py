"""A writer of FFCV's .beton, after ffcv/writer.py and ffcv/fields/rgb_image.py: version 2."""

import struct

PAGE = 1 << 21
INT, IMAGE = 1, 2
JPEG, PIXELS = 0, 1


def field(type_id, name):
    return struct.pack("<B16s1024x", type_id, name.encode())


def write(path, samples):
    """Samples are (mode, width, height, bytes, label). Data begins at a page, and no sample goes
    over the end of one."""
    fields = field(IMAGE, "image") + field(INT, "label")
    first = 24 + len(fields)
    at = start = -(-(first + 24 * len(samples)) // PAGE) * PAGE
    rows, table, data = b"", b"", bytearray()
    for number, (mode, width, height, content, label) in enumerate(samples):
        if at % PAGE + len(content) > PAGE:
            at = -(-at // PAGE) * PAGE
            data += bytes(at - start - len(data))
        rows += struct.pack("<BHHQ3xq", mode, width, height, at, label)
        table += struct.pack("<QQQ", number, at, len(content))
        data += content
        at += len(content)
    end = -(-at // PAGE) * PAGE
    header = struct.pack("<HHIQQ", 2, 2, PAGE, len(samples), end)
    with open(path, "wb") as file:
        file.write(header + fields + rows)
        file.seek(start)
        file.write(data)
        file.seek(end)
        file.write(table)
