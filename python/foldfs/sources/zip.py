"""A zip whose files are stored, as by `zip -0`, as the folder that it is of. Compressed files have
no bytes that could be read in place; `foldpack create` has them unpacked."""

import encodings.cp437  # noqa: F401  as nothing can be opened later
import struct
import zlib
from collections import deque
from datetime import date

from archive import Archive, Member, shown
from scan import LAYOUT_TREE, Failed, damaged, unsupported

NAME, TAKES, ARCHIVE = "zip", LAYOUT_TREE, True
LOCAL, CENTRAL, END, END64, LOCATOR = (b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7")
SPANNED, SPANNED_NOT = b"PK\7\x08", b"PK00"  # in front of what was made for several volumes
LOCAL_LEN, CENTRAL_LEN, END_LEN, END64_LEN, LOCATOR_LEN = 30, 46, 22, 56, 20
COMMENT_MOST = 65535
TARGET_MOST = 4095
FAT, UNIX, HPFS, NTFS, VFAT, MACOS = 0, 3, 6, 10, 14, 19  # who made it
ENCRYPTED, ENDS, UTF8 = 1, 2, 1 << 11  # flags
EXTRA_ZIP64, EXTRA_TIME, EXTRA_UNIX, EXTRA_PATH = 1, 0x5455, 0x5855, 0x7075
KINDS = {0o120000: "symlink", 0o010000: "pipe", 0o140000: "socket", 0o020000: "device",
         0o060000: "device"}
HEADER = struct.Struct("<5xB2xHHHHIIIHHHHHII")
SECOND = 1000000000
AHEAD = 512  # local headers that are asked for ahead


def fault(make, number, name, reason):
    return make(f"entry {number} ('{shown(name)}'): {reason}")


# --- the end ----------------------------------------------------------------------------------


class Directory:
    """Where the central directory is, as the end says that is at an offset. `at`: of the record
    that said it; `end`: of the zip, with its comment; `counted`: the bits of `entries` that the
    record has; `start`: of the directory; `front`: bytes in front of the zip."""

    def __init__(self, source, at):
        (self.disk, self.of_disk, _, self.entries, self.bytes, self.offset,
         comment) = source.unpack("<HHHHIIH", at + 4)
        self.at, self.counted = at, 0xffff
        self.end = min(at + END_LEN + comment, source.size)
        self.take_end64(source)
        if self.disk or self.of_disk:
            raise unsupported("one of several volumes of a zip: 'zip -s 0 OLD --out NEW' makes one "
                              "of all")
        self.find(source)

    def take_end64_at(self, source, at):
        if at < 0 or at > self.at - LOCATOR_LEN - END64_LEN:
            return False
        record = source.peek(at, END64_LEN)
        if len(record) < END64_LEN or record[:4] != END64:
            return False
        self.disk, self.of_disk = struct.unpack_from("<II", record, 16)
        self.entries, self.bytes, self.offset = struct.unpack_from("<QQQ", record, 32)
        self.at, self.counted = at, (1 << 64) - 1
        return True

    def take_end64(self, source):
        """The fields of zip64, if it is there. Where something lies in front of the zip, its
        locator is wrong by as much."""
        if self.at < LOCATOR_LEN:
            return
        locator = source.get(self.at - LOCATOR_LEN, LOCATOR_LEN)
        if locator[:4] != LOCATOR:
            return
        if not self.take_end64_at(source, struct.unpack_from("<Q", locator, 8)[0]) and not (
                self.take_end64_at(source, self.at - LOCATOR_LEN - END64_LEN)):
            raise damaged("the end of zip64 is not where its locator says")

    def find(self, source):
        """It is in front of the end, where the end says, or both."""
        start = self.at - self.bytes
        if start >= 0 and self.offset <= self.at:
            if (not self.bytes or source.peek(start, 4) == CENTRAL) and start >= self.offset:
                self.start, self.front = start, start - self.offset
                return
            if self.offset <= start and source.peek(self.offset, 4) == CENTRAL:
                self.start, self.front = self.offset, 0
                return
        raise damaged(f"the central directory, {self.bytes} bytes at {self.offset}, is not in "
                      f"front of the end at {self.at}")

    def records(self, source):
        """The entries, as they stand in it. Without zip64, the end has the lower 16 bits of their
        count."""
        at, stop, number = self.start, self.start + self.bytes, 0
        while at < stop:
            if stop - at < CENTRAL_LEN:
                raise damaged(f"entry {number}: behind the central directory")
            record = source.get(at, CENTRAL_LEN)
            if record[:4] != CENTRAL:
                raise damaged(f"entry {number}: no entry at {at}")
            name, extra, comment = struct.unpack_from("<HHH", record, 28)
            size = CENTRAL_LEN + name + extra
            if stop - at < size + comment:
                raise damaged(f"entry {number}: longer than the central directory")
            yield source.get(at, size)
            at += size + comment
            number += 1
        if number & self.counted != self.entries:
            raise damaged(f"its end counts {self.entries} entries, its directory has {number}")


def find_directory(source):
    """That of the last end that has one."""
    most, why = min(source.size, END_LEN + COMMENT_MOST), None
    tail = source.get(source.size - most, most)
    at = tail.rfind(END)
    while at >= 0:
        if most - at >= END_LEN:
            try:
                return Directory(source, source.size - most + at)
            except Failed as error:
                why = why or error
        at = tail.rfind(END, 0, at + 3)
    raise why or damaged("truncated: no end of a zip in it")


def probe(source):
    """What unpacks itself begins as a program."""
    head = source.peek(0, 4)
    if head in (LOCAL, END, SPANNED, SPANNED_NOT):
        return True
    name = source.option["path"].lower()
    if source.size < END_LEN or not (name.endswith(".zip") or head[:2] in (b"MZ", b"#!")):
        return False
    try:
        find_directory(source)
    except Failed as error:  # of several volumes the last one has no other mark
        return error.what == "unsupported" and name.endswith(".zip")
    return True


# --- entries ----------------------------------------------------------------------------------


class Entry:
    """`start`: of the central directory; `front`: bytes in front of the zip."""

    __slots__ = ("number", "raw", "name", "unicode", "host", "method", "encrypted", "ends", "crc",
                 "packed", "size", "header", "mtime", "mode", "kind")

    def __init__(self, number, record, start, front):
        (self.host, flags, self.method, time, day, self.crc, self.packed, self.size, name_len,
         _, _, volume, _, attributes, self.header) = HEADER.unpack_from(record)
        self.number, self.raw = number, record[CENTRAL_LEN:CENTRAL_LEN + name_len]
        self.encrypted, self.ends = bool(flags & ENCRYPTED), bool(flags & ENDS)
        self.mtime, self.unicode = dos_time(day, time), None
        if not self.take_extra(record[CENTRAL_LEN + name_len:]):
            raise fault(damaged, number, self.raw, "damaged extra fields")
        self.name = self.named(flags)
        attributes >>= 16
        if self.host not in (UNIX, MACOS):
            attributes = 0
        self.mode = attributes
        self.kind = "folder" if self.name.endswith(b"/") else KINDS.get(attributes & 0o170000,
                                                                        "file")
        if self.method == 0 and not self.encrypted and self.packed != self.size:
            raise fault(damaged, number, self.raw, "stored, but of two sizes")
        if volume:
            raise fault(unsupported, number, self.raw, "in another volume of the zip")
        if self.header + self.packed > start - front:
            raise fault(damaged, number, self.raw, "not in front of the central directory")
        self.header += front

    def take_extra(self, extra):
        while len(extra) >= 4:
            kind, size = struct.unpack_from("<HH", extra)
            field, extra = extra[4:4 + size], extra[4 + size:]
            if len(field) < size:  # unzip passes over it, too
                break
            if kind == EXTRA_ZIP64:
                for name in ("size", "packed", "header"):
                    if getattr(self, name) == 0xffffffff:
                        if len(field) < 8:
                            return False
                        setattr(self, name, struct.unpack_from("<Q", field)[0])
                        field = field[8:]
            elif kind == EXTRA_TIME and size >= 5 and field[0] & 1:
                self.mtime = struct.unpack_from("<i", field, 1)[0] * SECOND
            elif kind == EXTRA_UNIX and size >= 8:
                self.mtime = struct.unpack_from("<i", field, 4)[0] * SECOND
            elif kind == EXTRA_PATH and size > 5 and field[0] == 1 and (
                    struct.unpack_from("<I", field, 1)[0] == zlib.crc32(self.raw)):
                # Programs that know nothing of this field may have changed the name.
                self.unicode = field[5:]
        return True

    def named(self, flags):
        """Unix writes whatever bytes its names have, and many a program UTF-8 without saying so.
        Programs of Windows have written backslashes between folders, against the rules."""
        dos, name = self.host in (FAT, HPFS, NTFS, VFAT), self.raw
        if self.unicode is not None:
            name = self.unicode
        elif dos and not flags & UTF8 and not is_utf8(name):
            name = name.decode("cp437").encode()
        return name.replace(b"\\", b"/") if dos and b"/" not in name else name

    def why_not_stored(self):
        if self.kind == "folder" or self.size == 0:
            return None
        if self.encrypted:
            return fault(unsupported, self.number, self.name,
                         "encrypted: unpack the zip and pack the folder")
        if self.method:
            return fault(unsupported, self.number, self.name,
                         "compressed, so that there is nothing to read in place: 'zip -0' stores, "
                         "and 'foldpack create' makes a pack of it")
        return None

    def place(self, source, start):
        """Where its bytes begin."""
        size = LOCAL_LEN + len(self.raw)
        if size > start - self.header:
            raise fault(damaged, self.number, self.name, "its local header is cut off")
        local = source.get(self.header, size)
        flags, method = struct.unpack_from("<HH", local, 6)
        name_len, extra_len = struct.unpack_from("<HH", local, 26)
        if (local[:4] != LOCAL or name_len != len(self.raw) or local[LOCAL_LEN:] != self.raw or
                method != self.method or bool(flags & ENCRYPTED) != self.encrypted):
            raise fault(damaged, self.number, self.name, "its local header is another one")
        place = self.header + size + extra_len
        if place + self.packed > start:
            raise fault(damaged, self.number, self.name, "not in front of the central directory")
        return place


def is_utf8(name):
    try:
        name.decode()
    except UnicodeDecodeError:
        return False
    return True


def dos_time(day, time):
    """The time of MS-DOS has no zone; it is taken as UTC."""
    month = (day >> 5 & 15) - 1  # from -1 on
    first = date((day >> 9) + 1980 + month // 12, month % 12 + 1, 1).toordinal()
    days = first - date(1970, 1, 1).toordinal() + (day & 31) - 1
    return (days * 86400 + (time >> 11) * 3600 + (time >> 5 & 63) * 60 + (time & 31) * 2) * SECOND


# --- members ----------------------------------------------------------------------------------


def unpack(source, entry, offset):
    """(where it was unpacked, the offset)"""
    part = source.unpack_part(offset, entry.packed, entry.method, entry.ends, entry.size, entry.crc)
    if isinstance(part, Failed):
        raise fault(lambda text: Failed(part.what, text), entry.number, entry.name, part)
    return part, part.begin


def member_of(source, entry, start):
    why = entry.why_not_stored()
    if why and (entry.encrypted or source.option["unpacks"] != "1"):
        raise why
    where, offset = source, entry.place(source, start)
    if why:
        where, offset = unpack(source, entry, offset)
    member = Member(entry.number, entry.kind, entry.name, entry.mode, entry.mtime, offset,
                    entry.size)
    member.unpacked = where is not source
    if entry.kind == "symlink":
        if entry.size > TARGET_MOST:
            raise damaged(f"entry {entry.number}: a symbolic link of {entry.size} bytes")
        member.target = where.get(offset, entry.size)
    return member


def scan(source, tree):
    directory, waiting = find_directory(source), deque()
    archive = Archive(source, tree, passes_dots=True)
    for number, record in enumerate(list(directory.records(source))):
        entry = Entry(number, record, directory.start, directory.front)
        source.will_get((entry.header, LOCAL_LEN + len(entry.raw)))
        waiting.append(entry)
        if len(waiting) == AHEAD:
            archive.add(member_of(source, waiting.popleft(), directory.start))
    for entry in waiting:
        archive.add(member_of(source, entry, directory.start))
    archive.note()
    tree.note("in front of the zip are {} bytes that are not shown", directory.front)
    tree.note("behind the end of the zip are {} bytes that are not shown",
              source.size - directory.end)
