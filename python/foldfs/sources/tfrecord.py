"""TFRecord of Examples (vahidk/tfrecord's writer.py; TensorFlow's example.proto, feature.proto). Of
a record:

u64 length | u32 crc of these 8 bytes | bytes | u32 crc of the bytes

The crc is a masked CRC-32C. That of the bytes is not looked at: a scan does not read them all. An
Example is a map from names to Features, each one of three lists, of which the first value is what
counts here.

Of a class the synset counts, else its text; a label beside these counts from 1 on, as in
build_imagenet_data.py, unless one is 0. A label that is bytes is a class where the user named its
key, or where they can be a name, not a mask. In a set, a 0 in any file counts for all of them:
pack/labels_join.h."""

import functools
import struct

from protobuf import BYTES as PACKED, next_field, next_varint
from scan import (AS_GIVEN, FIRSTS, FROM_ONE, FROM_ZERO, IMAGE_KEY, LABEL_KEY, NAME_KEY, PLACES,
                  SINGLE, Failed, can_be_name, class_field, damaged, label_number, name_field,
                  to_bytes, to_text, unsupported)

NAME = "tfrecord"
TAKES = IMAGE_KEY | LABEL_KEY | NAME_KEY
STREAMED = True
HEAD, FOOT = 12, 4
CASTAGNOLI = 0x82F63B78
ENTRY = 0x0A  # the tag of one in the map
SHORT, SHORT_KEPT = 0x7F, 1 << 14  # bytes of one that is read at once; so many are remembered
PART = 1024  # bytes of a map that are looked at at once
KEY_MOST = 256  # bytes of keys that are compared
NAME_MOST = 255  # of a label that may be a class
TEXT_MOST = 4096  # bytes of names
KEYS_TOLD = 12
NUMBERS = 1 << 20  # bytes of packed ones that are looked at at once

IMAGE, LABEL, FILE, SYNSET, WORDS = range(5)
# If a record has two for one role, the first of this list wins.
USUAL = ((IMAGE, b"image/encoded"), (IMAGE, b"image"), (LABEL, b"image/class/label"),
         (LABEL, b"image/label"), (LABEL, b"label"), (LABEL, b"class"), (FILE, b"image/filename"),
         (FILE, b"file_name"), (FILE, b"filename"), (SYNSET, b"image/class/synset"),
         (WORDS, b"image/class/text"))
NAMED, NONE = 0, 1 + len(USUAL)  # ranks: the user named it; there is none
NOTHING, BYTES, FLOAT, INTEGER = range(4)  # kinds of values, by the number of their list
ONES = {FLOAT: 0x3F800000, INTEGER: 1}
ZEROS = {FLOAT: (0, 1 << 31), INTEGER: (0,)}


def make_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)
        yield byte


TABLE = [*make_table()]


# --- frames -------------------------------------------------------------------------------------

def length_holds(head):
    crc = 0xFFFFFFFF
    for byte in head[:8]:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    return masked == int.from_bytes(head[8:], "little")


def get_frame(source, at):
    """How many bytes the record has."""
    head = source.get(at, HEAD)
    if not length_holds(head):
        raise damaged(f"the checksum of its length, at byte {at}, does not hold")
    size = int.from_bytes(head[:8], "little")
    if size > source.size - at - HEAD - FOOT:
        raise damaged(f"truncated: {size} bytes at byte {at + HEAD} of a file of {source.size}")
    return size


def is_compressed(source, head):
    """gzip (RFC 1952), or zlib (RFC 1950) of a usual level, and named as a TFRecord."""
    zlib = head[0] == 0x78 and (head[0] << 8 | head[1]) % 31 == 0
    path = source.option["path"]
    return (head[:2] == b"\x1f\x8b" or zlib) and ("tfrec" in path or ".record" in path)


def probe(source):
    head = source.peek(0, HEAD)
    return len(head) == HEAD and (length_holds(head) or is_compressed(source, head))


# --- features -----------------------------------------------------------------------------------

class Value:
    """The first of a list."""
    kind = NOTHING
    offset = size = 0  # of bytes, in the source
    number = 0
    text = b""  # bytes that were read
    several = False  # further ones follow
    # Of a label of several numbers:
    all_01 = True
    ones = place = count = 0  # how many are 1, where the last of them is, and of how many

    def take(self, numbers):
        one, zeros = ONES[self.kind], ZEROS[self.kind]
        for number in numbers:
            if number == one:
                self.ones += 1
                self.place = self.count
            elif number not in zeros:
                self.all_01 = False
            self.count += 1


NO_VALUE = Value()


class Held:
    """Bytes in hand, as a source."""

    def __init__(self, data):
        self.data = data

    def get(self, offset, size):
        return self.data[offset:offset + size]

    peek = get


def read_list(source, at, end):
    """Of a Feature, which is one list."""
    if at == end:
        return NOTHING, end, end
    number, kind, offset, size, _ = next_field(source, at, at, end)
    if kind != PACKED or number > INTEGER:
        raise damaged("no Example: a feature that is not a list")
    return number, offset, offset + size


def read_bytes(source, value, begin, end):
    at = begin
    while at < end:
        number, kind, offset, size, at = next_field(source, begin, at, end)
        if number == 1 and kind == PACKED:
            value.kind, value.offset, value.size, value.several = BYTES, offset, size, at < end
            return


def read_integer(source, value, begin, end):
    """They are packed, as they are written today, or not."""
    _, kind, number, size, at = next_field(source, begin, begin, end)
    value.several = at < end
    if kind == PACKED:
        if not size:
            return
        stop = number + size
        number, at = next_varint(source, number, number, stop)
        value.several |= at < stop
    value.kind, value.number = INTEGER, number - (number >> 63 << 64)


def read_value(source, at, end):
    value = Value()
    kind, begin, end = read_list(source, at, end)
    if kind == BYTES:
        read_bytes(source, value, begin, end)
    elif begin < end and kind == INTEGER:
        read_integer(source, value, begin, end)
    elif begin < end:
        value.kind = FLOAT
    return value


def packed_numbers(source, kind, begin, end):
    at = begin
    while at < end and kind == INTEGER:
        number, at = next_varint(source, begin, at, end)
        yield number
    while end - at >= 4 and kind == FLOAT:
        size = min(NUMBERS, end - at) // 4 * 4
        yield from struct.unpack(f"<{size // 4}I", source.get(at, size))
        at += size


def read_several(source, value, at, end):
    """Looks at all numbers of a label: packed or not."""
    _, begin, end = read_list(source, at, end)
    at = begin
    while at < end:
        _, kind, number, size, at = next_field(source, begin, at, end)
        value.take(packed_numbers(source, value.kind, number, number + size)
                   if kind == PACKED else (number,))
    value.several = value.count > 1


# --- the map ------------------------------------------------------------------------------------

def find_field(source, number, begin, end, behind=0):
    """The place of the first field of this number, which has a length, from the field at `behind`
    on; None: there is none."""
    at = behind or begin
    while at < end:
        found, kind, offset, size, at = next_field(source, begin, at, end)
        if found == number and kind == PACKED:
            return offset, offset + size
    return None


def read_entry(source, at, end):
    """(key, begin and end of the Feature) of an entry of the map: { 1: key, 2: Feature }. Of a key
    that is too long, the first bytes."""
    key = find_field(source, 1, at, end)
    # Behind the key, as it is written, or in front of it.
    feature = key and (find_field(source, 2, at, end, key[1]) or find_field(source, 2, at, end))
    if not feature:
        raise damaged("no Example: a key or a value is missing")
    return source.get(key[0], min(key[1] - key[0], KEY_MOST + 1)), *feature


def next_entry(source, begin, at, end):
    """Where it begins and ends."""
    number, kind, offset, size, _ = next_field(source, begin, at, end)
    if number != 1 or kind != PACKED:
        raise damaged(f"no Example: field {number} in its map")
    return offset, offset + size


def open_map(source, at, end):
    place = find_field(source, 1, at, end)
    if not place:
        raise damaged("no Example: it has no features")
    return place


def choose_keys(option):
    """(role, rank) by key: those that the user named, or the usual ones."""
    label = option["label_key"]
    named = [option["image_key"], label, option["name_key"], label, label]  # by role
    keys = {key: (role, 1 + rank) for rank, (role, key) in enumerate(USUAL) if not named[role]}
    keys.update((to_bytes(named[role]), (role, NAMED)) for role in (FILE, LABEL, IMAGE)
                if named[role])
    return keys


# --- an Example ---------------------------------------------------------------------------------

def read_role(source, role, rank, begin, end):
    """The value of a Feature that has this role."""
    value = read_value(source, begin, end)
    if role == LABEL and (value.kind == FLOAT or value.kind == INTEGER and value.several):
        read_several(source, value, begin, end)
    guessed = role == LABEL and rank != NAMED
    if role == IMAGE or value.kind != BYTES or guessed and value.size > NAME_MOST:
        return value
    if value.size > TEXT_MOST:
        raise damaged(f"a name of {value.size} bytes")
    value.text = source.get(value.offset, value.size)
    if guessed and not can_be_name(value.text):
        value.text = b""
    number = label_number(value.text) if role == LABEL else None
    if number is not None:  # "7" is 7, as in a WebDataset
        value.kind, value.number, value.text = INTEGER, number, b""
    return value


class Keys:
    """Which fields count, and what short ones say: most records have the same."""

    def __init__(self, option):
        self.found = choose_keys(option)
        self.short = functools.lru_cache(SHORT_KEPT)(self.read_short)

    def role_of(self, key):
        return self.found.get(key, (IMAGE, NONE))

    def read_short(self, data):
        """(role, rank, value) of an entry; None of an image, of which the place counts."""
        source = Held(data)
        try:
            key, begin, end = read_entry(source, 0, len(data))
            role, rank = self.role_of(key)
            if rank == NONE:
                return role, rank, NO_VALUE
            return role != IMAGE and (role, rank, read_role(source, role, rank, begin, end))
        except Failed:
            return None  # it may be one that does not count


class Example:
    """What of its fields is the image, and what names it."""

    def __init__(self, source, keys, at, end):
        self.values, self.ranks = [NO_VALUE] * 5, [NONE] * 5
        begin, end = open_map(source, at, end)
        at = begin
        while at < end:
            known = self.take_short(keys, source.peek(at, min(PART, end - at)))
            if not known:
                entry, known = next_entry(source, begin, at, end)
                known -= at
                key, *feature = read_entry(source, entry, at + known)
                role, rank = keys.role_of(key)
                if rank < self.ranks[role]:
                    self.ranks[role] = rank
                    self.values[role] = read_role(source, role, rank, *feature)
            at += known
        self.image, self.label = self.values[:2]
        if self.image.kind not in (NOTHING, BYTES):
            raise unsupported("its image is numbers, and no image file")

    def take_short(self, keys, data):
        """How many bytes of these are short entries, in front of another."""
        at, last = 0, len(data) - 2
        while at < last and data[at] == ENTRY and data[at + 1] <= min(SHORT, last - at):
            stop = at + 2 + data[at + 1]
            known = keys.short(data[at + 2:stop])
            if not known:
                break
            role, rank, value = known
            if rank < self.ranks[role]:
                self.ranks[role], self.values[role] = rank, value
            at = stop
        return at

    def has(self, role):
        return self.ranks[role] != NONE

    def class_name(self):
        return self.label.text or self.values[SYNSET].text or self.values[WORDS].text


# --- the file -----------------------------------------------------------------------------------

NOTES = (("odd_labels", "{} records have a label that is neither an integer nor a name, which is "
                        "taken as none"),
         ("more_labels", "{} records have several labels, of which the first counts"),
         ("places", "{} records have a label of several numbers, of which the place of the only 1 "
                    "counts"),
         ("more_images", "{} records have several images, of which the first is shown"))


class Records:
    """A pass over all of them, which ends where labels prove to be others than they were taken
    for: where one is 0, that count from 1; where one of several numbers has others than 0 and 1, or
    more than another, and was taken for one of many."""

    def __init__(self, source, tree, keys, from_zero, takes_first):
        self.source, self.tree, self.keys = source, tree, keys
        self.from_zero, self.takes_first = from_zero, takes_first
        self.counted, self.several = FROM_ZERO if from_zero else AS_GIVEN, SINGLE
        self.number = self.images = self.classed = 0
        self.odd_labels = self.more_labels = self.places = self.more_images = 0
        self.integers = 0  # of each label so far; 0: none was seen
        self.unclear = None  # the first of several classes

    def take_all(self):
        """Whether they were taken."""
        at = 0
        while at < self.source.size:
            try:
                size = get_frame(self.source, at)
                example = Example(self.source, self.keys, at + HEAD, at + HEAD + size)
            except Failed as error:
                raise Failed(error.what, f"record {self.number}: {error}") from None
            if not self.take(example):
                return False
            self.number += 1
            at += HEAD + size + FOOT
        return True

    def take(self, example):
        label, image = example.label, example.image
        several = label.count > 1 and not self.takes_first
        if several and label.kind == INTEGER and not label.all_01 or not self.is_like(example):
            self.takes_first = True
            return False
        number, is_place, is_guess = None, several and label.all_01 and label.ones == 1, False
        if is_place:
            number = label.place
        elif several and label.all_01:
            self.unclear = self.unclear or (self.number, label.count, label.ones)
        elif label.kind == INTEGER:
            from_one = not self.from_zero and (example.has(SYNSET) or example.has(WORDS))
            # With a synset, 0 is TF-Slim's background.
            is_guess = from_one and not example.has(SYNSET)
            if is_guess and label.number == 0:
                self.from_zero = True
                return False
            if label.number >= from_one:
                number = label.number - from_one
        if image.size:
            self.add(example, number, is_place, is_guess)
        return True

    def is_like(self, example):
        """Labels that are one of many have as many numbers in each record."""
        label, before = example.label, self.integers
        count = label.kind == INTEGER and (label.count if label.several else 1)
        if self.takes_first or not example.image.size or not count:
            return True
        self.integers = count
        return before in (0, count)

    def add(self, example, number, is_place, is_guess):
        label, image, word = example.label, example.image, example.class_name()
        more = not is_place and label.kind != FLOAT and label.several
        self.images += 1
        self.classed += number is not None or bool(word)
        self.odd_labels += (number is None and not word and
                            label.kind not in (INTEGER, NOTHING))
        self.more_labels += more
        self.places += is_place
        self.more_images += image.several
        if is_guess and number is not None:
            self.counted = FROM_ONE
        if is_place or more:
            self.several = PLACES if is_place else FIRSTS
        fields = []
        if word and (number is None or not int(self.source.option["classes"])):
            fields.append(class_field(word))
        name = example.values[FILE].text.rpartition(b"/")[2]
        if name:
            fields.append(name_field(name, self.number, plain=b"." not in name))
        self.tree.add(self.number, image.offset, image.size, number, *fields)


def other_keys(source, keys):
    """The first fields of the first record that have no other use, for a message."""
    begin, end = open_map(source, HEAD, HEAD + get_frame(source, 0))
    at, found = begin, []
    while at < end and len(found) < KEYS_TOLD:
        entry, at = next_entry(source, begin, at, end)
        found.append(read_entry(source, entry, at)[0])
    return ", ".join(to_text(key[:KEY_MOST]) for key in found if key and key not in keys.found)


def note_lack(source, tree, keys):
    key, others = source.option["label_key"], other_keys(source, keys)
    if key:
        raise Failed("option", f"no record has a label as {key}; --label-key names another of: "
                               f"{others or 'none'}")
    if others:
        tree.note("no record has a label as image/class/label or label, so that all images are in "
                  f"images: --label-key names another of: {others}")


def scan(source, tree):
    if is_compressed(source, source.get(0, HEAD)):
        raise unsupported("a compressed TFRecord cannot be read in place: decompress it")
    keys = Keys(source.option)
    records = Records(source, tree, keys, False, False)
    while True:
        tree.prefix()
        if records.take_all():
            break
        tree.restart()
        records = Records(source, tree, keys, records.from_zero, records.takes_first)
    if records.unclear:
        raise unsupported("record %d: its label is %d numbers, of which %d are 1, and so not one "
                          "class: --label-key names another, or none" % records.unclear)
    if not records.images:
        image = source.option["image_key"]
        raise unsupported(f"no record has an image as {image or 'image/encoded or image'}; "
                          f"--image-key names another of: {other_keys(source, keys) or 'none'}")
    tree.labels_are(records.counted, records.several)
    if not records.classed and not records.odd_labels:
        note_lack(source, tree, keys)
    tree.note("{} records without an image are left out", records.number - records.images)
    for count, text in NOTES:
        tree.note(text, getattr(records, count))
