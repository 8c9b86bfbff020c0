"""Writes FlatBuffers (https://flatbuffers.dev/internals): what refers to something comes first."""

import struct


class Table:
    """Fields by number: None, or a format of struct(3) and its value, or what is referred to."""

    def __init__(self, *fields):
        self.fields = fields

    def write(self, out):
        inline, places, size = [], [], 4
        for field in self.fields:
            if field is None:
                places.append(0)
                continue
            data = struct.pack("<" + field[0], *field[1:]) if isinstance(field, tuple) else None
            width = len(data) if data else 4
            size += -size % min(width, 8)
            places.append(size)
            inline.append((size, data, field))
            size += width
        vtable = struct.pack(f"<{2 + len(places)}H", 4 + 2 * len(places), size, *places)
        out.align(8)
        out.data += vtable
        out.align(8)
        start = len(out.data)
        out.data += struct.pack("<i", len(vtable) + -len(vtable) % 8) + bytes(size - 4)
        for place, data, field in inline:
            if data:
                out.data[start + place:start + place + len(data)] = data
            else:
                out.refer(start + place, field)
        return start


class Vector:
    """Of numbers or structs, by a format of struct(3); without one, of what is referred to."""

    def __init__(self, items, form=None):
        self.items, self.form = items, form

    def write(self, out):
        while len(out.data) % 8 != 4:
            out.data += b"\0"
        start = len(out.data)
        out.data += struct.pack("<I", len(self.items))
        for item in self.items:
            if self.form:
                out.data += struct.pack("<" + self.form, *item)
            else:
                out.data += bytes(4)
        for i, item in enumerate(self.items if not self.form else []):
            out.refer(start + 4 + 4 * i, item)
        return start


class Text:
    def __init__(self, text):
        self.text = text.encode()

    def write(self, out):
        out.align(4)
        start = len(out.data)
        out.data += struct.pack("<I", len(self.text)) + self.text + b"\0"
        return start


class Out:
    def __init__(self):
        self.data, self.pending = bytearray(4), []

    def align(self, to):
        self.data += bytes(-len(self.data) % to)

    def refer(self, place, to):
        self.pending.append((place, to))


def dumps(root):
    out = Out()
    out.refer(0, root)
    while out.pending:
        place, thing = out.pending.pop(0)
        struct.pack_into("<I", out.data, place, thing.write(out) - place)
    out.align(8)
    return bytes(out.data)
