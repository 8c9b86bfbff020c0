"""A tar: the tree of its members, as tar -x makes it, or the classes of its samples
(webdataset.py). POSIX (pax), GNU, and older ones; holes of sparse files in all forms that GNU tar
has written; several tars one after the other.

A tar in the tar is a folder of its name without the suffix: n01440764.tar in ILSVRC's train.tar
becomes n01440764/. So are tars in that, and, where they can be unpacked, compressed ones. One that
is damaged is the file that it is, and noted.

name 100 | mode 8 | uid 8 | gid 8 | size 12 | mtime 12 | checksum 8 | type 1 | target 100
| magic 6 | version 2 | user 32 | group 32 | device 16 | prefix of the name 155"""

import struct
import zlib
from functools import lru_cache

from archive import PATH_MOST, Archive, Member, shown, until_nul
from scan import LAYOUT_CLASSES, LAYOUT_TREE, Failed, damaged, label_number, to_bytes
from webdataset import Look, has_classes, scan_samples

NAME, TAKES, ARCHIVE, STREAMED = "tar", LAYOUT_TREE | LAYOUT_CLASSES, True, True
BLOCK = 512
EMPTY = bytes(BLOCK)
HEADER = struct.Struct("100s8s16x12s12s8xc100s6s82x155s12x")
SUM, SUM_END = 148, 156
EXTENDED_MOST = 1 << 20  # bytes of a header in front of one: names and times
RECORD, RECORD_MOST = 20 * BLOCK, 2048 * BLOCK  # tar fills up the last of its records with zeros
PIECES_MOST = 1 << 20
NUMBER_MOST = (1 << 63) - 1
NESTED_MOST = 2  # tars in each other
SUFFIXES = (b".tar", b".tar.gz", b".tgz", b".tar.zst", b".tar.xz", b".tar.bz2", b".tar.lz4")
EXTENDED, PLAIN, REMARKS = b"xgXLK", b"\0" b"07", b"VAE"  # the name of a volume, and the like
KINDS = {b"1": "hardlink", b"2": "symlink", b"3": "device", b"4": "device", b"5": "folder",
         b"D": "folder", b"6": "pipe", b"M": "part"}  # D: of GNU, with a list of what was in it
SECOND = 1000000000
# Files that end in few zeros, or behind these bytes, of a JPEG or PNG, in as many as they like.
ZEROLESS, ENDS = b"jpg jpeg png webp cls txt json".split(), (b"\xff\xd9", b"IEND\xaeB`\x82")
FEW, TAIL = 16, 1 << 16
BAD_MAP = "the map of its holes contradicts itself"


class Bad(Exception):
    """What is wrong with the header in hand."""


# --- the block --------------------------------------------------------------------------------


@lru_cache(4096)
def number(field):
    """Octal digits, or binary, of which GNU tar makes use; None: it is none. No digits mean 0: old
    programs write folders so."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big") & (1 << 8 * len(field) - 1) - 1
        if field[0] & 0x40:
            value -= 1 << 8 * len(field) - 1
        return value if -NUMBER_MOST <= value <= NUMBER_MOST else None
    digits = field.lstrip(b" ").replace(b"\0", b" ").partition(b" ")[0]
    if digits.strip(b"01234567"):
        return None
    value = int(digits or b"0", 8)
    return value if value <= NUMBER_MOST else None


def is_sound(block):
    """Whether it is a header: by its checksum, which counts its own field as blanks; old programs
    added signed bytes."""
    field = block[SUM:SUM_END]
    said = number(field)
    if block.isascii():  # the sum is less than the modulus of Adler-32
        return said == (zlib.adler32(block) & 0xffff) - 1 - sum(field) + 8 * 32
    total = sum(block) - sum(field) + 8 * 32
    high = sum(byte > 127 for byte in block) - sum(byte > 127 for byte in field)
    return said in (total, total - 256 * high)


def digits_of(value):
    """The number that a text begins with, and what follows."""
    rest = value.lstrip(b"0123456789")
    digits = value[:len(value) - len(rest)]
    if not digits:
        return None, rest
    significant = digits.lstrip(b"0")
    return int(significant or b"0") if len(significant) < 20 else NUMBER_MOST + 1, rest


def decimal(value):
    """A number, and nothing else, that fits; or None."""
    found, rest = digits_of(value)
    return None if rest or found is None or found > NUMBER_MOST else found


def in_nanoseconds(value):
    """What no pack can hold becomes the nearest."""
    return max(-NUMBER_MOST - 1, min(value, NUMBER_MOST))


# --- headers in front of headers --------------------------------------------------------------


def pax_time(value):
    """None: it is none. What follows the ninth digit, or the number, does not count, as for tar."""
    negative = value[:1] == b"-"
    seconds, rest = digits_of(value[negative:])
    if seconds is None or seconds > NUMBER_MOST:
        return None
    part = b""
    if rest[:1] == b".":
        part = rest[1:len(rest) - len(rest[1:].lstrip(b"0123456789"))][:9]
    found = seconds * SECOND + int(part.ljust(9, b"0"))
    return in_nanoseconds(-found if negative else found)


def hole_number(value):
    found = decimal(value)
    if found is None:
        raise Bad(BAD_MAP)
    return found


class Holes:
    """`map`: where bytes go, and how many; two numbers for each piece. `in_front`: it stands in
    front of the bytes. `size`: of the file. `path`: of the file, where one is said."""

    def __init__(self):
        self.map, self.in_front, self.size, self.path = [], False, 0, b""


def take_path(value):
    """One for all members may be long: with a longer one, a small tar would take minutes."""
    if len(value) > PATH_MOST:
        raise Bad("its pax header has a path of over 4095 bytes")
    return value


def take_hole(holes, key, value):
    if key == b"major":
        holes.in_front = value == b"1"
    elif key in (b"size", b"realsize"):
        holes.size = hole_number(value)
    elif key in (b"offset", b"numbytes"):
        holes.map.append(hole_number(value))
    elif key == b"map":
        holes.map = [hole_number(one) for one in value.split(b",")] if value else []
    elif key == b"name":
        holes.path = take_path(value)


def take_label(value):
    found = label_number(value)
    if found is None:
        raise Bad("its pax header has a label that is not a number")
    return found


def take_pax(said, key, value):
    """An empty value takes back what was said of all members."""
    if key in (b"path", b"linkpath"):
        said[key] = take_path(value) or None
    elif key == b"size":
        said[key] = decimal(value) if value else None
        if value and said[key] is None:
            raise Bad("its pax header has a size that is not a number")
    elif key == b"mtime":
        time = pax_time(value)
        if time is not None or not value:
            said[key] = time
    elif key == b"FOLDFS.label":
        said[key] = take_label(value) if value else None
    elif key in (b"FOLDFS.class", b"FOLDFS.bad"):
        said[key] = value
    elif key.startswith(b"GNU.sparse."):
        take_hole(said.setdefault(b"holes", Holes()), key[11:], value)


def read_pax(records, said):
    """"LENGTH KEY=VALUE\\n" for each."""
    at = 0
    while at < len(records):
        space = records.find(b" ", at, at + 20)
        length = decimal(records[at:space]) if space > at else None
        end = at + (length or 0)
        if not length or end > len(records) or space + 1 >= end or records[end - 1] != 10:
            raise Bad("its pax header has a record of no length")
        key, equals, value = records[space + 1:end - 1].partition(b"=")
        if not equals:
            raise Bad("its pax header has a record without '='")
        take_pax(said, key, value)
        at = end


# --- members ----------------------------------------------------------------------------------


def fills_record(size, zeros):
    """Whether a tar of this size may end in so many: with the end mark, what fills up a record, of
    any size that tar -b takes, and, where dd fills up its block, one of tar's usual size too."""
    least = max(zeros - RECORD, BLOCK)
    return any(size % record == 0 for record in range(least, RECORD_MOST + 1, BLOCK))


class Members:
    """Iterates over those in [at, end) of a source: Member. `behind`: bytes behind the end mark
    that are no tar. `filled`: of each tar whose zeros are not only those of its end, but in place
    of members, as a crash leaves them, the path of its last one. `all`, `next`: what headers in
    front say of all members to come, and of the next."""

    def __init__(self, source, at, end):
        self.source, self.at, self.end = source, at, end
        self.begin, self.last = at, None  # of the tar in hand
        self.number = self.behind = 0
        self.filled = []
        self.all, self.next, self.path = {}, {}, b""

    def damaged(self, reason):
        name = f" ('{shown(self.path)}')" if self.path else ""
        return damaged(f"member {self.number}{name}: {reason}")

    def block_at(self, offset):
        """b"": less than a block is left."""
        block = self.source.peek(offset, BLOCK) if self.end - offset >= BLOCK else b""
        return block if len(block) == BLOCK else b""

    def ends_in_zeros(self):
        """Whether the last member does, where files of its name do not."""
        member = self.last
        if not member or member.pieces is not None or not member.size or (
                member.path.rpartition(b".")[2].lower() not in ZEROLESS):
            return False
        size = min(member.size, TAIL)
        tail = self.source.get(member.offset + member.size - size, size)
        return not any(tail[-FEW:]) and not tail.rstrip(b"\0").endswith(ENDS)

    def pass_end(self):
        """The end mark is one or two empty blocks. More of them may follow, and then another tar,
        whose first header is returned; or None."""
        at, most, block = self.at, self.at + RECORD_MOST + BLOCK, EMPTY
        cut = bool(self.next) or self.ends_in_zeros()
        while block == EMPTY and at < most:
            at += BLOCK
            block = self.block_at(at)
        follows = bool(block) and is_sound(block)
        if not follows:
            self.behind = max(self.end - at, 0)
        if cut or not (self.behind or fills_record(at - self.begin, at - self.at)):
            self.filled.append(self.last.path if self.last else b"")
        if not follows:
            return None
        self.at = self.begin = at
        self.last = None
        return block

    def next_block(self):
        """None: at the end."""
        block = self.block_at(self.at)
        if not block:
            raise damaged(f"no end mark behind member {max(self.number - 1, 0)}: truncated, or not "
                          "finished by its writer")
        if block == EMPTY:
            return self.pass_end()
        if not is_sound(block):
            self.path = b""
            raise self.damaged("a header with a wrong checksum")
        return block

    def said(self, key):
        """By the header in front of the member, or that of all; None: by neither."""
        return self.next[key] if key in self.next else self.all.get(key)

    def take_extended(self, kind, size):
        if size > EXTENDED_MOST:
            raise Bad("a header of over 1 MiB in front of it")
        if size > self.end - self.at - BLOCK:
            raise Bad("truncated: the file ends within it")
        data = self.source.get(self.at + BLOCK, size)
        self.at += BLOCK + -(-size // BLOCK) * BLOCK
        if kind in b"LK":
            key = b"path" if kind == b"L" else b"linkpath"
            self.next.pop(key, None)
            if size:
                self.next[key] = until_nul(data)
        else:
            read_pax(data, self.all if kind == b"g" else self.next)

    # --- holes --------------------------------------------------------------------------------

    def read_gnu_map(self, block):
        """In the header, and in blocks behind it: each says whether another one follows."""
        holes, more, fields = self.next.setdefault(b"holes", Holes()), block[482], block[386:482]
        holes.size = number(block[483:495])
        if holes.size is None or holes.size < 0:
            raise Bad("its size is not a number")
        while True:
            for at in range(0, len(fields), 24):
                if not fields[at + 12]:
                    break
                pair = number(fields[at:at + 12]), number(fields[at + 12:at + 24])
                if None in pair or min(pair) < 0:
                    raise Bad(BAD_MAP)
                holes.map += pair
            if not more:
                return
            self.at += BLOCK
            block = self.block_at(self.at)
            if not block:
                raise Bad("truncated: the file ends within it")
            fields, more = block[:504], block[504]

    def read_front_map(self, offset, size):
        """The map in front of the bytes of a member, in lines: (map, bytes that it takes)."""
        length = BLOCK
        while True:
            lines = self.source.get(offset, min(length, size)).split(b"\n")
            count = hole_number(lines[0]) if len(lines) > 1 else PIECES_MOST
            if count > PIECES_MOST:
                raise Bad(BAD_MAP)
            if len(lines) > 2 * count + 1:
                lines = lines[:2 * count + 1]
                used = -(-sum(len(line) + 1 for line in lines) // BLOCK) * BLOCK
                if used <= size:
                    return [hole_number(line) for line in lines[1:]], used
                length = size
            if length >= min(size, EXTENDED_MOST):
                raise Bad("the map of its holes has no end")
            length *= 2

    def read_holes(self, member, holes):
        offset, stored, end, numbers = member.offset, member.size, 0, holes.map
        if holes.in_front:
            numbers, used = self.read_front_map(offset, stored)
            offset, stored = offset + used, stored - used
        if len(numbers) % 2 or sum(numbers[1::2]) != stored:
            raise Bad(BAD_MAP)
        member.pieces = []
        for at, size in zip(numbers[::2], numbers[1::2]):
            if at < end or at + size > holes.size:
                raise Bad(BAD_MAP)
            end = at + size
            if size:
                member.pieces.append((at, offset, size))
            offset += size
        member.holes, member.size = holes.size - stored, holes.size

    # --- a member -----------------------------------------------------------------------------

    def has_bytes(self, kind):
        """Folders and symbolic links have none, whatever their size says: it may be that of the
        file they lead to. So it is with hard links, but those of pax may have bytes: then no header
        follows."""
        if kind != b"1":
            return kind not in b"23456"
        block = self.block_at(self.at + BLOCK)
        return bool(block) and block != EMPTY and not is_sound(block)

    def read_member(self, block):
        """None: it was a header in front of one."""
        name, mode, size, mtime, kind, target, magic, prefix = HEADER.unpack(block)
        holes, path = self.next.get(b"holes"), None
        if self.next or self.all:
            path = holes.path if holes and holes.path else self.said(b"path")
        if path is None:
            path = until_nul(name)
            if prefix[0] and magic == b"ustar\0":  # GNU tar has other fields there
                path = until_nul(prefix) + b"/" + path
        self.path = path
        size = number(size)
        if size is None or size < 0:
            raise Bad("its size is not a number")
        if kind in EXTENDED:
            self.take_extended(kind, size)
            return None
        if kind == b"S":
            self.read_gnu_map(block)
            holes = self.next[b"holes"]
        what, mode = KINDS.get(kind, "file"), number(mode)
        if kind in PLAIN and path[-1:] == b"/":
            what = "folder"  # as old tars have them; types that are not known are files
        member = Member(self.number, what, path, 0 if mode is None else mode & 0o7777 | 0o100000,
                        in_nanoseconds((number(mtime) or 0) * SECOND), self.at + BLOCK, size)
        if what != "file":
            member.target = until_nul(target)
        if self.next or self.all:
            self.take_said(member)
        if kind not in PLAIN and not self.has_bytes(kind):
            member.size = 0
        if member.size > self.end - member.offset:
            raise Bad("truncated: the file ends within it")
        self.at = member.offset + -(-member.size // BLOCK) * BLOCK
        if holes and what == "file":
            self.read_holes(member, holes)
        return member

    def take_said(self, member):
        size, mtime, target = self.said(b"size"), self.said(b"mtime"), self.said(b"linkpath")
        if size is not None:
            member.size = size
        if mtime is not None:
            member.mtime = mtime
        if target is not None:
            member.target = target
        member.label = self.next.get(b"FOLDFS.label")
        member.class_name = self.next.get(b"FOLDFS.class", b"")
        member.bad = self.next.get(b"FOLDFS.bad", b"")

    def __iter__(self):
        while True:
            block = self.next_block()
            if block is None:
                return
            try:
                member = self.read_member(block)
            except Bad as error:
                raise self.damaged(error)
            if member is None:
                continue
            if self.next:
                self.next = {}
            if block[156:157] not in REMARKS:
                self.number += 1
                self.last = member
                yield member


# --- tars in tars -----------------------------------------------------------------------------


def stem(path):
    """(the path without the suffix of a tar, whether that is of a compressed one); None: it has
    none, or what is left is no name."""
    name = path.rpartition(b"/")[2].lower()
    if not name.endswith(SUFFIXES):
        return None
    for suffix in SUFFIXES:
        if name.endswith(suffix) and name[:-len(suffix)] not in (b"", b".", b".."):
            return path[:-len(suffix)], suffix != b".tar"
    return None


def begins(source, offset):
    """Whether a tar begins there, perhaps an empty one."""
    blocks = source.peek(offset, 2 * BLOCK)
    return len(blocks) == 2 * BLOCK and (is_sound(blocks[:BLOCK]) or blocks == 2 * EMPTY)


def bare(path):
    """Without what says nothing: "./a/b/" is "a/b"."""
    while path[:1] == b"/" or path[:2] == b"./":
        path = path[1:]
    return path.rstrip(b"/")


def look_at_paths(members):
    """(paths of members that are no tars, and the folders above them; how many tars would have a
    path without their suffix)"""
    paths, stems = set(), {}
    try:
        for member in members:
            path = bare(member.path)
            found = stem(path) if member.kind == "file" else None
            if found:
                stems[found[0]] = stems.get(found[0], 0) + 1
            while not found and path and path not in paths:
                paths.add(path)
                path = path.rpartition(b"/")[0]
    except Failed as error:
        if error.what != "damaged":
            raise
    return paths, stems


class Scan:
    """Of members, and of tars in a tar. `behind`, `filled`: as those of Members; `classed`: samples
    of WebDataset with a class, which are looked for as nobody asked for the tree."""

    def __init__(self, source, archive, looks):
        self.source, self.archive, self.behind, self.classed = source, archive, 0, 0
        self.filled = []
        self.look = Look() if looks else None

    def members(self, source, at, end, below=b"", depth=0):
        """With `below` in front of their paths."""
        found, taken = Members(source, at, end), None
        for member in found:
            if self.look and not depth:
                self.classed += self.look.sees(member)
            if depth < NESTED_MOST and member.kind == "file" and member.pieces is None:
                tar = stem(member.path)
                part = self.part_of(source, member, tar[1]) if tar else None
                if part:
                    if taken is None:
                        taken = (set(), {}) if source.far else look_at_paths(
                            Members(source, at, end))
                    inside = self.inside(member, part, below, depth, self.folder(tar[0], taken,
                                                                                 member))
                    if inside is not None:
                        yield from inside
                        continue
            if depth:
                member.path = below + member.path
                member.unpacked = source.letter != b"R"
                if member.kind == "hardlink":
                    member.target = below + member.target
            yield member
        self.behind += found.behind
        self.filled += found.filled

    @staticmethod
    def folder(name, taken, member):
        """A tar is shown as the folder of its name without suffix, or with it where something else
        has that path."""
        paths, stems = taken
        plain = bare(name)
        return (member.path if plain in paths or stems.get(plain, 0) > 1 else name) + b"/"

    def part_of(self, source, member, compressed):
        """Where the bytes of a member lie that is a tar: (source, from, to); or None."""
        part, at, size = source, member.offset, member.size
        if compressed:
            if source.option["unpacks"] != "1":
                return None
            part = source.unpack_part(at, size)
            if isinstance(part, Failed):
                if part.what in ("damaged", "unsupported"):
                    return None
                raise Failed(part.what, f"member {member.number}: {part}")
            at, size = part.begin, part.size - part.begin
        return (part, at, at + size) if size >= 2 * BLOCK and begins(part, at) else None

    def inside(self, member, part, below, depth, folder):
        """The members of a tar in a tar; None: it is damaged. Nothing of it is shown before it is
        known to be whole."""
        made = Member(member.number, "folder", below + folder, 0o40755, member.mtime)
        made.implied = True
        try:
            return [made, *self.members(*part, below + folder, depth + 1)]
        except Failed as error:
            if error.what != "damaged":
                raise Failed(error.what, f"member {member.number}: {error}")
            self.archive.count("damaged", below + member.path, to_bytes(str(error)))
            return None


def probe(source):
    head = source.peek(0, 2 * BLOCK)
    if head == 2 * EMPTY:  # one without members
        return (source.size % BLOCK == 0 and source.size <= RECORD_MOST and
                source.option["shown"].endswith(".tar"))
    return len(head) >= BLOCK and is_sound(head[:BLOCK])


def note_ends(tree, found):
    tree.note("perhaps cut by a crash: zeros in place of members begin in or behind {} member(s)",
              len(found.filled), example=b"'%b'" % b"".join(found.filled[:1])[:400])
    tree.note("behind the end of the tar are {} bytes that are not shown", found.behind)


def scan(source, tree):
    layout, all_of_it = source.option["layout"], Members(source, 0, source.size)
    looks = layout == "auto" and source.option["strip"] == "0"
    if layout == "classes" or (looks and has_classes(source, Members(source, 0, source.size))):
        scan_samples(source, tree, all_of_it)
        note_ends(tree, all_of_it)
        return
    archive = Archive(source, tree)
    found = Scan(source, archive, looks)
    for member in tree.until_broken(found.members(source, 0, source.size)):
        archive.add(member)
    archive.note()
    tree.note("{} images have a .cls beside them, as samples of WebDataset have: --layout=classes "
              "makes folders of these classes", found.classed)
    note_ends(tree, found)
