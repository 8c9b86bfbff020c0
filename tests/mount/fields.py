"""The fields of a pack by name: Fields(path)["super.entries"] = 7.

    super.FIELD            of the superblock
    super.SECTION.FIELD    of its reference to a section
    SECTION[N]             row N of a section, or byte N where it has no rows
    meta.FIELD             of the newer meta page of the LMDB

The tables are those of foldfs-format(5), and of lmdb.h and mdb.c."""

import ctypes
import re
import struct

PAGE = 4096
SUPER_BYTES, SUPER_SECTIONS, SECTION_BYTES = 4096, 152, 40
SECTIONS = ["names", "name-end", "parent", "kind", "start", "size", "parts", "targets", "sums",
            "mode", "mtime", "image", "width", "height", "options"]

# (offset, bytes)
SUPER = {"magic": (0, 8), "version": (8, 4), "sections": (12, 4), "compat": (16, 8),
         "incompat": (24, 8), "entries": (32, 8), "files": (40, 8), "directories": (48, 8),
         "symlinks": (56, 8), "hardlinks": (64, 8), "bytes": (72, 8), "id": (80, 8),
         "txnid": (96, 8), "root": (104, 8), "last": (112, 8), "branch": (120, 8),
         "leaf": (128, 8), "overflow": (136, 8), "records": (144, 8), "left-out": (4064, 8),
         "content-id": (4072, 8), "sum": (4088, 8)}
SECTION = {"offset": (0, 8), "bytes": (8, 8), "count": (16, 8), "sum": (24, 8), "width": (32, 4)}
META = {"magic": (16, 4), "version": (20, 4), "db-flags": (92, 2), "records": (120, 8),
        "root": (128, 8)}

xxhash = ctypes.CDLL("libxxhash.so.0")
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
xxhash.XXH3_64bits.restype = ctypes.c_uint64


class Fields:
    """Writes through to the file. With `sealed`, the checksums above a field are made right again:
    what is found then is found by its meaning."""

    def __init__(self, path, sealed=False):
        self.path, self.sealed = path, sealed
        self.data = bytearray(path.read_bytes())
        self.super = self.data.index(b"foldfs\r\n")
        txnids = [self.number(page * PAGE + 144, 8) for page in (0, 1)]
        self.meta = PAGE * (txnids[1] > txnids[0])

    def number(self, at, width):
        return int.from_bytes(self.data[at:at + width], "little")

    def section(self, name):
        """Where its reference is."""
        return self.super + SUPER_SECTIONS + SECTION_BYTES * SECTIONS.index(name)

    def place(self, name):
        """(offset, bytes) of a field."""
        if found := re.fullmatch(r"(.*)\[(\d+)\]", name):
            start, _, _, _, width, _ = struct.unpack_from("<QQQQII", self.data,
                                                          self.section(found[1]))
            return start + int(found[2]) * (width or 1), width or 1
        where, field = name.split(".", 1)
        if where == "super" and "." in field:
            section, field = field.split(".")
            offset, width = SECTION[field]
            return self.section(section) + offset, width
        base, table = (self.super, SUPER) if where == "super" else (self.meta, META)
        return base + table[field][0], table[field][1]

    def __getitem__(self, name):
        return self.number(*self.place(name))

    def __setitem__(self, name, value):
        at, width = self.place(name)
        self.data[at:at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
        if self.sealed:
            self.seal()
        self.path.write_bytes(self.data)

    def seal(self):
        for section in SECTIONS:
            at = self.section(section)
            start, size = struct.unpack_from("<QQ", self.data, at)
            if start + size <= len(self.data):
                self.sum(start, size, at + 24)
        self.sum(self.super, SUPER_BYTES - 8, self.super + SUPER_BYTES - 8)

    def sum(self, start, size, to):
        struct.pack_into("<Q", self.data, to,
                         xxhash.XXH3_64bits(bytes(self.data[start:start + size]), size))
