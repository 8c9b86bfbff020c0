"""LMDB of CRNN and deep-text-recognition: "image-000000001" is an encoded image and
"label-000000001" its text, numbered from 1; "num-samples" says how many, in decimal. Keys of a kind
come together, images first. The texts become labels.tsv: a line an image, its path, a tab, the
text."""

from lmdb_records import BATCH, Dialect, Values, first, note_count, walk
from scan import damaged, head_field, name_field, unsupported

DIGITS = 9
TEXT_MOST = 4096  # bytes of a label
TEXTS_MOST = 1 << 30
BLANKS = bytes(max(byte, 0x20) for byte in range(256))  # a tab or a new line would end a line


def number_of(key, kind):
    """The number of a key as "image-000000001"; 0: it is none."""
    digits = key[len(kind):]
    return int(digits) if key.startswith(kind) and len(digits) == DIGITS and digits.isdigit() else 0


def probe(source):
    found = first(source)
    return bool(found) and number_of(found[0], b"image-") > 0


class Scan:
    def __init__(self, source, tree):
        self.source, self.tree = source, tree
        self.images = {}  # number -> which one it is in the tree
        self.labels = []  # (offset, size, number)
        self.samples, self.others = None, 0

    def take(self, key, offset, size, head):
        image, label = number_of(key, b"image-"), number_of(key, b"label-")
        if image:
            self.images[image] = len(self.images)
            self.tree.add(image - 1, offset, size, None, name_field(key[-DIGITS:], image - 1, True),
                          *([head_field(head, b"b")] if head else []))
        elif label:
            if size > TEXT_MOST:
                raise damaged(f"record {label - 1}: a label of {size} bytes")
            self.labels.append((offset, size, label))
        elif key == b"num-samples":
            if size > 20:
                raise damaged("num-samples is not a number")
            found = self.source.get(offset, size)
            digits = found[:len(found) - len(found.lstrip(b"0123456789"))]
            self.samples = int(digits) if digits else None
        else:
            self.others += 1

    def lines(self):
        """Of images that have a text, in their order."""
        found = [(self.images[number], value.get(0, value.size).translate(BLANKS))
                 for (_, _, number), value in Values(self.source, TEXT_MOST, 0).read(self.labels)
                 if number in self.images]
        if sum(len(text) for _, text in found) > TEXTS_MOST:
            raise unsupported("more than 1 GiB of labels")
        paths = []
        for at in range(0, len(self.images), BATCH):
            paths += self.tree.paths(at, min(BATCH, len(self.images) - at))
        return [b"%b\t%b\n" % (paths[image], text) for image, text in found]

    def finish(self):
        count = len(self.images)
        if not count:
            raise damaged("no record has a key as image-000000001")
        lines = self.lines()
        self.tree.note("{} images have no text", count - len(lines))
        self.tree.note("{} texts without an image are left out", len(self.labels) - len(lines))
        self.tree.note("{} records with other keys, as lexicons, are left out", self.others)
        note_count(self.tree, "num-samples", self.samples, count)
        if lines:
            self.tree.add_text("labels.tsv", b"".join(lines))


def scan(source, tree):
    found = Scan(source, tree)
    for record in walk(source):
        found.take(*record)
    found.finish()


CRNN = Dialect("crnn", probe, scan)
