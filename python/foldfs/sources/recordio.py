"""MXNet's RecordIO of images (im2rec.py), of which the .idx is not needed. A frame, and the record
in it:

u32 magic | u32 part << 29 | length | bytes, padded with zeros to a multiple of 4
u32 flag, f32 label, u64 id, u64 id2 | f32 label[flag] | image

Where the magic number is among the bytes of a record, at a multiple of 4, the record is in parts
there, and the one with which the frame of the next part begins stands for it. The .lst beside the
file, which im2rec.py makes records from, has a line a record: its number, its labels and the path
of its image, between tabs."""

import re
import struct

from scan import (AS_GIVEN, FIRSTS, PLACES, SINGLE, Failed, damaged, name_field, path_field,
                  pieces_field)

NAME = "recordio"
TAKES = 0
STREAMED = True
MAGIC = 0xCED7230A
FRAME, HEADER = 8, 24
WHOLE, FIRST, NEXT, LAST = range(4)
SEVERAL_MOST = 65536  # labels of a record, of which one may be set
CLASSES_MOST = 1 << 24  # a float has every whole number up to it
# A number, and "a/b.jpg" behind the last tab, not the number that other lists have there.
LINE = re.compile(rb"^([0-9]{1,19})\t(?:.*\t)?([^\t\n]*\.[A-Za-z][^.\t\n]*?)\r?$", re.MULTILINE)
NOTES = (("empty", "{} records without an image are left out"),
         ("firsts", "{} records have several labels: the first counts"),
         ("places", "{} records have a label of several numbers, of which the place of the only 1 "
                    "counts"),
         ("many", "{} records have several classes, as not one of the numbers of their label is 1, "
                  "which is taken as none"),
         ("odd", "{} records have a label that is not the number of a class"))


def probe(source):
    head = source.peek(0, FRAME)
    if len(head) < FRAME:
        return False
    magic, word = struct.unpack("<II", head)
    return magic == MAGIC and word >> 29 <= FIRST


def read_frame(source, at, within):
    """(part, length) of the one there; `within` a record, one that is not its first."""
    magic, word = source.unpack("<II", at)
    if magic != MAGIC:
        raise damaged(f"no magic number at byte {at}")
    part, length = word >> 29, word & (1 << 29) - 1
    if length > source.size - at - FRAME:
        raise damaged(f"truncated: {length} bytes at byte {at + FRAME} of a file of {source.size}")
    if part > LAST or within != (part >= NEXT):
        raise damaged(f"part {part} at byte {at} is out of order")
    return part, length


def get_bytes(source, pieces, at, size):
    """Of a record, which has them."""
    found = b""
    for begin, offset, length in pieces:
        skip = max(at - begin, 0)
        if begin < at + size and skip < length:
            found += source.get(offset + skip, min(length - skip, at + size - begin - skip))
    return found


class Records:
    """A pass over all of them, which ends where of several labels the first counts, and was not
    taken: not all of them are 0 or 1, or some records have more."""

    def __init__(self, source, tree, listed, takes_first):
        self.source, self.tree, self.listed = source, tree, listed
        self.takes_first = takes_first
        self.style = SINGLE
        self.labels = 0  # of each record so far; 0: none was seen
        self.empty = self.firsts = self.places = self.many = self.odd = 0

    def take_all(self):
        """Whether they were taken."""
        at = number = size = 0
        pieces = []  # of the record: (where in it, offset, size)
        within = False
        while at < self.source.size:
            try:
                part, length = read_frame(self.source, at, within)
                if within:
                    pieces.append((size, at, 4))  # MAGIC
                    size += 4
                else:
                    pieces, size = [], 0
                pieces.append((size, at + FRAME, length))
                size += length
                within = part in (FIRST, NEXT)
                if not within and not self.take(number, pieces, size):
                    return False
            except Failed as error:
                raise Failed(error.what, f"record {number}: {error}") from None
            number += not within
            at += FRAME + length + -length % 4
        if within:
            raise damaged(f"record {number}: its last part is missing")
        return True

    def take(self, number, pieces, size):
        if size < HEADER:
            raise damaged(f"{size} bytes are no image record")
        flag, label, name = struct.unpack_from("<IfQ", get_bytes(self.source, pieces, 0, HEADER))
        image = HEADER + 4 * flag
        if image > size:
            raise damaged(f"{flag} labels in {size} bytes")
        if image == size:
            self.empty += 1
            return True
        before, self.labels = self.labels, max(flag, 1)
        if flag:
            known = 1 if self.takes_first or flag > SEVERAL_MOST else flag
            numbers = struct.unpack(f"<{known}f", get_bytes(self.source, pieces, HEADER, 4 * known))
            label = numbers[0]
        if not self.takes_first and before not in (0, self.labels):
            return False
        if flag > 1 and known > 1:
            if not set(numbers) <= {0.0, 1.0}:
                return False
            label = self.place_of(numbers)
        else:
            label = self.label_of(label, flag)
        self.add(number, pieces, size, image, label, name)
        return True

    def place_of(self, numbers):
        """As of one class of many."""
        if numbers.count(1.0) != 1:
            self.many += 1
            return None
        self.style = PLACES
        self.places += 1
        return numbers.index(1.0)

    def label_of(self, label, flag):
        if flag > 1:
            self.style = FIRSTS
            self.firsts += 1
        if 0 <= label < CLASSES_MOST and label == int(label):
            return int(label)
        self.odd += label != -1
        return None

    def add(self, number, pieces, size, image, label, name):
        fields = []
        path = self.listed.get(name, b"")
        if b"/" in path and not int(self.source.option["classes"]):
            folder, _, path = path.rpartition(b"/")
            fields.append(path_field(folder, number, b"C"))
        if path:
            fields.append(name_field(path, number))
        pieces = [piece for piece in pieces if piece[0] + piece[2] > image]
        begin, offset, _ = pieces[0]
        offset += image - begin
        if len(pieces) > 1:
            pieces[0] = image, offset, pieces[0][2] - image + begin
            fields.append(pieces_field((at - image, *place) for at, *place in pieces))
        self.tree.add(number, offset, size - image, label, *fields)


def scan(source, tree):
    listed = {}
    for line in LINE.finditer(source.read_beside(".lst") or b""):
        listed.setdefault(int(line[1]), line[2])
    records = Records(source, tree, listed, False)
    tree.prefix()
    if not records.take_all():
        tree.restart()
        tree.prefix()
        records = Records(source, tree, listed, True)
        records.take_all()
    tree.labels_are(AS_GIVEN, records.style)
    for count, text in NOTES:
        tree.note(text, getattr(records, count))
