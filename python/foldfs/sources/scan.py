"""scan.py: what the formats of index.py share: the bytes of the file that is looked through, and
the tree that it becomes, over the socket to foldfs (pack/foreign/maker.h)."""

import os
import re
import struct

SOCKET = 0
BLOCK, BLOCK_MOST = 4096, 1 << 20  # are read at once, where less is asked for
FLUSH = 1 << 16
READ_MOST = 1 << 20
# Which options say something to a format, as pack/foreign/settings.h has them.
IMAGE_KEY, LABEL_KEY, NAME_KEY, LAYOUT_TREE, LAYOUT_CLASSES = 1, 2, 4, 8, 16
# How labels were counted, and what of several counts, as pack/labels.h has them.
AS_GIVEN, FROM_ONE, FROM_ZERO = range(3)
SINGLE, PLACES, FIRSTS = range(3)
# As pack/image_kind.c has them: at, bytes, suffix; and suffixes of names.
MAGIC = ((0, b"\xff\xd8\xff", ".jpg"), (0, b"\x89PNG", ".png"), (8, b"WEBP", ".webp"),
         (0, b"GIF8", ".gif"), (0, b"II*\0", ".tiff"), (0, b"MM\0*", ".tiff"), (0, b"BM", ".bmp"),
         (0, b"P6", ".ppm"), (0, b"P5", ".pgm"), (4, b"ftypavif", ".avif"),
         (0, b"\xff\x0a", ".jxl"), (4, b"JXL ", ".jxl"), (4, b"jP  ", ".jp2"),
         (0, b"\xff\x4f\xff\x51", ".j2k"))
IMAGES = frozenset(b"jpg jpeg png webp gif bmp ppm pgm pbm pnm tif tiff avif jxl jp2 heic".split())
# What users call images, their labels, and the like, in the dict of a sample.
LABELS = ("labels", "label", "targets", "target", "y")
IMAGE_KEYS = ("images", "image", "data", "img", "x", "jpg", "jpeg", "png", "bytes", "image_bytes")
LABEL_KEYS = (*LABELS, "cls", "class")
MARK = b"\xef\xbb\xbf"  # of byte order, in UTF-8
NUMBER = re.compile(rb"[+-]?[0-9]{1,18}")
# What a terminal obeys instead of showing it.
COMMANDS = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


def to_bytes(text):
    return text.encode("utf-8", "surrogateescape")


def to_text(data):
    return data.decode("utf-8", "surrogateescape")


def spoken(sentence):
    """It may quote what has bytes of the file."""
    return to_bytes(sentence).replace(b"\0", b" ")


class Failed(Exception):
    """What goes wrong: "damaged", "unsupported" or "unread" (a variant), or "option"."""

    def __init__(self, what, sentence):
        super().__init__(sentence)
        self.what = what


def is_image(head):
    return any(head.startswith(magic, at) for at, magic, _ in MAGIC)


def is_image_name(name):
    return name.rpartition(b".")[2].lower() in IMAGES


def can_be_name(data):
    """Whether a terminal may get these bytes: a label may be a mask."""
    try:
        return not COMMANDS.search(data.decode())
    except UnicodeDecodeError:
        return False


def label_number(text):
    """A label, as int() reads it; None: it is anything else."""
    return int(text) if NUMBER.fullmatch(text) else None


def damaged(sentence):
    return Failed("damaged", sentence)


def unsupported(sentence):
    return Failed("unsupported", sentence)


def unread(sentence):
    """What foldpack create asks table.py to read."""
    return Failed("unread", sentence)


class Channel:
    def __init__(self):
        self.waiting, self.size = [], 0

    def say(self, letter, *fields):
        payload = b"\0".join(fields) + b"\0" if fields else b""
        self.waiting += (letter, struct.pack("<I", len(payload)), payload)
        self.size += len(payload) + 5
        if self.size > FLUSH:
            self.flush()

    def flush(self):
        data = memoryview(b"".join(self.waiting))
        self.waiting, self.size = [], 0
        try:
            while data:
                data = data[os.write(SOCKET, data):]
        except OSError:
            os._exit(0)  # nobody listens any more

    def take(self, size, most=0):
        """So many bytes, and up to `most` if there are more."""
        parts = []
        while size > 0:
            part = os.read(SOCKET, min(max(size, most), READ_MOST))
            if not part:
                os._exit(0)  # nobody wants to know any more
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def take_answer(self, expected=0):
        """An answer, which may have so many bytes."""
        begin = self.take(4, 4 + expected)
        size = int.from_bytes(begin[:4], "little")
        return begin[4:] + self.take(size + 4 - len(begin))

    def ask(self, letter, *fields, expected=0):
        self.say(letter, *fields)
        self.flush()
        return self.take_answer(expected)

    def fail(self, what, sentence):
        self.say(b"E", what.encode(), spoken(sentence))


class Source:
    """A file. `option` has what the user asked for: "" where nothing was; `far`, from the scan on,
    says whether a read is a round trip."""

    letter = b"R"

    def __init__(self, channel):
        self.channel = channel
        told = to_text(channel.take_answer())
        self.option = dict(field.split("=", 1) for field in told.split("\0")[:-1])
        self.size = int(self.option["size"])
        self.lmdb = self.option["lmdb"] == "1"
        self.far = False
        self.forget()

    def forget(self):
        self.start, self.block, self.least = 0, b"", BLOCK
        self.held = None  # the page that foldfs has unpacked

    def peek(self, offset, size):
        """As many of these bytes as there are. Reads that follow each other bring more and more; of
        what was announced from far, only that is asked for."""
        at, size = offset - self.start, min(size, self.size - offset)
        if size <= 0:
            return b""
        if at < 0 or at + size > len(self.block):
            if self.least:
                follows = 0 <= at <= 2 * len(self.block)
                self.least = min(2 * self.least, BLOCK_MOST) if follows else BLOCK
            self.start, at = offset, 0
            most = max(size, self.least)
            self.block = self.channel.ask(self.letter, b"%d" % offset, b"%d" % most, expected=most)
        return self.block[at:at + size]

    def get(self, offset, size, page=None):
        """These bytes of the file, or of a page."""
        if page:
            self.hold(page)
            found = self.channel.ask(b"R", b"%d" % offset, b"%d" % size, b"page", expected=size)
        else:
            found = self.peek(offset, size)
        if len(found) < size:
            raise damaged(f"truncated: {size} bytes at {offset}, of {self.size} bytes in all")
        return found

    def will_get(self, *places):
        """These bytes, as (offset, size), are asked for soon."""
        if self.far:
            self.least = 0
        for offset, size in places:
            self.channel.say(b"W", b"%d" % offset, b"%d" % size)

    def hold(self, page):
        """From now on it is the page that files of b"k" lie in: (record, codec, offset, packed,
        unpacked)."""
        if page != self.held:
            self.held = page
            self.channel.say(b"K", *(b"%d" % number for number in page))

    def sizes(self, offset, size, count, page=None):
        """Those of values that follow each other in these bytes of the file, or of a page, each
        behind its size in 32 bits: so many, or as there are. The last may be cut off."""
        if page:
            self.hold(page)
        found = self.channel.ask(b"V", b"%d" % offset, b"%d" % size, b"%d" % count,
                                 *([b"page"] if page else ()), expected=4 * count)
        return struct.unpack(f"<{len(found) // 4}I", found)

    def read_beside(self, end, *tries):
        """All of a file beside it but its byte order mark: foreign_read_beside(). None: it is not
        there, or, if it is tried, cannot be read."""
        found = self.channel.ask(b"B", to_bytes(end), *tries)
        if found[1:3] in (b"\xff\xfe", b"\xfe\xff"):
            raise Failed("option", f"the file beside it that ends in '{end}' is in UTF-16; save it "
                         "as UTF-8")
        return found[1 + len(MARK) * found.startswith(MARK, 1):] if found else None

    def unpack(self, layout, offset):
        return struct.unpack(layout, self.get(offset, struct.calcsize(layout)))

    def unpack_part(self, offset, size, method=0, ends=False, unpacked=0, crc=0):
        """What these compressed bytes are: Unpacked, or Failed. Method: that of a zip, with what
        else that says of it; 0: what the bytes say."""
        numbers = (offset, size, self.letter != b"R", method, ends, unpacked, crc)
        what, *fields = self.channel.ask(b"Q", *(b"%d" % n for n in numbers)).split(b"\0")
        if what:
            return Failed(what.decode(), to_text(fields[0]))
        return Unpacked(self, int(fields[0]), int(fields[1]))


class Unpacked(Source):
    """What was unpacked, from `begin` to `size`, behind what was unpacked before."""

    letter = b"S"

    def __init__(self, source, begin, size):  # pylint: disable=super-init-not-called
        self.channel, self.option, self.far = source.channel, source.option, False
        self.begin, self.size = begin, begin + size
        self.forget()


class Tree:
    """What the records of the file become: pack/foreign/tree.h."""

    def __init__(self, channel):
        self.channel = channel
        self.forget_classes()

    def forget_classes(self):
        self.spelled = {}  # folders of classes without a label -> their names in the records
        self.merged, self.merged_as = 0, ""

    def add(self, record, offset, size, label, *more):
        """A file. `more`: fields as message.c has them."""
        fields = [b"r%d" % record, b"o%d" % offset, b"s%d" % size]
        if label is not None:  # one that no 64 bits hold is none
            fields.append(b"l%d" % (label if abs(label) >> 63 == 0 else -2))
        if label is None or label < 0:
            for field in more:
                if field[:1] == b"c":
                    self.note_class(field[1:])
        self.channel.say(b"F", *fields, *more)

    def note_class(self, name):
        """Its folder may be that of another: of x/y, and of x_y."""
        before = self.spelled.setdefault(name.replace(b"/", b"_"), name)
        if before != name:
            self.merged += 1
            self.merged_as = self.merged_as or " and ".join(
                f"'{to_text(one[:80])}'" for one in (before, name))

    def end(self):
        if self.merged:
            self.note("{} images are in the folder of another class, as classes "
                      f"{self.merged_as} are one: a slash becomes _", self.merged)

    def paths(self, first, count):
        """Of files, by the order in which they were added."""
        return self.channel.ask(b"y", b"%d" % first, b"%d" % count).split(b"\0")[:-1]

    def name_classes(self, names):
        """Names the classes from label 0 on, as the file itself has them: before files are
        added."""
        self.channel.say(b"C", *map(to_bytes, names))

    def add_text(self, path, text):
        """A file of these bytes, which are in no record."""
        self.channel.say(b"T", to_bytes(path), text)

    def prefix(self):
        """Made-up names begin with the name of the file."""
        self.channel.say(b"P")

    def labels_are(self, counted, several):
        """How labels were read: other files of a set may know better."""
        self.channel.say(b"G", b"%d" % counted, b"%d" % several)

    def restart(self):
        """Forgets all that was told."""
        self.forget_classes()
        self.channel.say(b"Z")

    def drop(self, file):
        """Takes the file of this number, of those that were added, out again."""
        self.channel.say(b"X", b"%d" % file)

    def until_broken(self, members):
        """Those that came before damage, where that is no reason to end."""
        try:
            yield from members
        except Failed as error:
            if error.what != "damaged":
                raise
            self.channel.say(b"H", spoken(str(error)))

    def note(self, text, *counts, example=b"", lacks=False):
        """A sentence, whose first {} stand for the counts, unless the first of these is 0. Those of
        other files are added where the text is the same, whose example then is one of many. lacks:
        so many inputs are left out that a folder would have."""
        if all(counts[:1]):
            self.channel.say(b"L" if lacks else b"N", spoken(text),
                             example.replace(b"\0", b" "), *(b"%d" % count for count in counts))


def class_field(name):
    """A field of a file: its class."""
    return b"c" + name.replace(b"\0", b"_")


def name_field(name, record, plain=False):
    """Its name; plain: without a suffix, which its content adds."""
    return path_field(name, record, b"N" if plain else b"n")


def path_field(path, record, letter=b"p"):
    """Its path; letter: q: without a suffix; C: the path of its class."""
    if b"\0" in path:
        raise damaged(f"record {record}: its name is not one that a file can have")
    return letter + path


def head_field(head, letter=b"B"):
    """Its first bytes, which say what it is; letter: b: all of it is in memory. The last field of
    a file."""
    return letter + head


def pieces_field(pieces):
    """What it consists of, as (where in it, offset, size), in order; between them it has holes."""
    return b"h" + " ".join("%d %d %d" % piece for piece in pieces).encode()


def pixels(width, height, layout):
    """Its bytes are pixels. Layout: "gray", "bgr", "rgb", "planar-bgr"."""
    return f"x{width} {height} {layout}".encode()
