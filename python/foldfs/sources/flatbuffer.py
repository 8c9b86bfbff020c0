"""flatbuffer.py: what the metadata of Arrow is in, https://flatbuffers.dev/internals: tables, whose
fields may lack, and vectors."""

import struct

READ = {layout: struct.Struct("<" + layout).unpack_from for layout in "bBhHiIqQ"}


class Table:
    """Without `at`, that which the bytes begin with. struct.error: something does not lie within
    them. All offsets but those to the fields of a table lead forward: there are no circles."""

    def __init__(self, data, at=None):
        self.data = data
        self.at = self.to(0) if at is None else at
        self.fields = self.at - READ["i"](data, self.at)[0]
        if self.fields < 0:
            raise struct.error
        self.size = READ["H"](data, self.fields)[0]

    def to(self, at):
        offset = READ["I"](self.data, at)[0]
        if offset == 0:
            raise struct.error
        return at + offset

    def place(self, field):
        """Where it is; None: there is none."""
        at = 4 + 2 * field
        offset = READ["H"](self.data, self.fields + at)[0] if at + 2 <= self.size else 0
        return self.at + offset if offset else None

    def number(self, field, layout):
        at = self.place(field)
        return 0 if at is None else READ[layout](self.data, at)[0]

    def table(self, field):
        """Or None."""
        at = self.place(field)
        return None if at is None else Table(self.data, self.to(at))

    def vector(self, field, size):
        """Where its items are, each of so many bytes."""
        at = self.place(field)
        if at is None:
            return range(0)
        at = self.to(at)
        count = READ["I"](self.data, at)[0]
        if count * size > len(self.data) - at - 4:
            raise struct.error
        return range(at + 4, at + 4 + count * size, size)

    def tables(self, field):
        return (Table(self.data, self.to(at)) for at in self.vector(field, 4))

    def text(self, field):
        found = self.vector(field, 1)
        return bytes(self.data[found.start:found.stop])
