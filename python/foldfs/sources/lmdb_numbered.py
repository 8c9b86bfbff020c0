"""LMDB files whose keys are the numbers of their records, "0", "1", ..., "10", and whose values are
samples (lmdb_sample.py). Keys that begin with "__" are of what can be counted, and are left out.

folder2lmdb   Efficient-PyTorch's: (bytes of the file, label), by pyarrow.serialize();
              pytorch_lmdb_imagenet's is the same by pickle
tensorpack    LMDBSerializer, which Efficient-PyTorch has for a second tool: [array of uint8,
              label], by msgpack_numpy, pyarrow.serialize() or pickle, as the version of tensorpack
              was. The array is the bytes of the file, or pixels as OpenCV has them.
image2lmdb    bytes of the file, by pyarrow.serialize(). There is no label. Names are in a text
              beside the file, NAME_images_idx.txt or images_idx.map: a line "name number" a record.
              They come from all classes, so that one may be there several times."""

from collections import Counter

from lmdb_arrow import read_arrow
from lmdb_msgpack import read_msgpack
from lmdb_records import NUMBER_MOST, Dialect, Value, Values, ask, first, note_count, walk
from lmdb_sample import Sample, counted, is_pickle, read_pickle
from scan import (IMAGE_KEY, LABEL_KEY, NAME_KEY, Failed, class_field, head_field, name_field,
                  path_field, unsupported)

NAME_MOST = 255
HEAD, TAIL = 1536, 128  # bytes in which what is around an image lies, mostly
LABELED, PLAIN, ARRAY, OTHER = "labeled", "plain", "array", "other"
OPTIONS = ("image_key", "label_key", "name_key")

# --- records ------------------------------------------------------------------------------------


def is_special(key):
    return len(key) > 2 and key.startswith(b"__")


def number_of(key):
    """None: it is none."""
    return int(key) if key.isdigit() and len(key) <= 10 and int(key) < NUMBER_MOST else None


def is_arrow(head):
    """Counts of what follows the stream of Arrow: at most one array. Then its first message."""
    if len(head) < 16:
        return False
    counts = [int.from_bytes(head[at:at + 4], "little") for at in range(0, 16, 4)]
    return counts[0] <= 1 and counts[1] <= 1 and (counts[2] > 1 or counts[3] <= 1)


def reader_of(head):
    """By the first bytes of a value; None: it is in none of the encodings."""
    if is_pickle(head):
        return read_pickle
    if head[:1] in (b"\x91", b"\x92"):
        return read_msgpack
    return read_arrow if is_arrow(head) else None


def read(value, option):
    sample, reader = Sample(), reader_of(value.get(0, min(16, value.size)))
    if not reader:
        raise unsupported("neither a pickle, nor Arrow, nor msgpack")
    reader(value, option, sample)
    if sample.offset is None:
        raise unsupported("no image")
    return sample


def collect(source, tree):
    """(offset, size, number) of all records, in which order they lie: LMDB sorts keys as text, 0,
    1, 10, 100, 11, ..., but records were written in the order of their numbers."""
    found, said = [], None
    for key, offset, size, _ in walk(source):
        if is_special(key):
            said = Value(source, offset, size) if key == b"__len__" else said
            continue
        number = number_of(key)
        if number is None:
            shown = "".join(chr(byte) if 0x20 < byte < 0x7f else "?" for byte in key[:32])
            raise unsupported(f"the key '{shown}' is not the number of a record")
        found.append((offset, size, number))
    found.sort()
    if said:
        note_count(tree, "__len__", counted(said, reader_of, source.option), len(found))
    return found


def fields_of(sample, value, number, name):
    """With a label the path is a name in the class."""
    labelled = sample.class_name is not None or sample.label is not None
    if sample.class_name is not None:
        yield class_field(sample.class_name)
    if name is not None:
        yield name_field(name, number)
    elif sample.path is not None and labelled:
        yield name_field(sample.path.rpartition(b"/")[2], number)
    if sample.path is not None and not labelled:
        yield path_field(sample.path, number)
    yield sample.pixels() or head_field(value.first(sample.offset, sample.size))


def scan_numbered(source, tree, name_of=lambda number: None):
    """`name_of`: files have their names from elsewhere."""
    key = next((option for option in OPTIONS if source.option[option]), None)
    others = 0
    for (offset, _, number), value in Values(source, HEAD, TAIL).read(collect(source, tree)):
        try:
            sample = read(value, source.option)
            if key and not sample.dict:
                raise Failed("option", f"'--{key.replace('_', '-')}' chooses a field of a dict, "
                             "and it is none")
            more = fields_of(sample, value, number, name_of(number))
            tree.add(number, offset + sample.offset, sample.size, sample.label, *more)
        except Failed as error:
            raise Failed(error.what, f"record {number}: {error}")
        others += sample.others
    tree.note("{} records have more than an image, its label and its path, which is left out",
              others)


# --- names of Image2LMDB ------------------------------------------------------------------------


def parse_line(line):
    name, space, number = line.rstrip(b" \r").rpartition(b" ")
    number = number_of(number)
    if not name or len(name) > NAME_MOST or number is None:
        return None
    return number, name


def read_names(source):
    """{number: name}; None: there is no file of names beside it."""
    found = source.read_beside("_images_idx.txt")
    if found is None:
        found = source.read_beside("/images_idx.map")
    if found is None:
        return None
    names = {}
    for number, line in enumerate(found.split(b"\n"), 1):
        if line not in (b"", b"\r"):
            row = parse_line(line)
            if not row:
                raise Failed("option", f"line {number} of the file of names is not 'name number'")
            names.setdefault(*row)
    return names


def scan_image2lmdb(source, tree):
    """A name that comes again gets the number of its record in front. --names wins."""
    names = {} if source.option["names"] == "1" else read_names(source)
    if names is None:
        names = {}
        tree.note("no file of names is beside it: images are numbered")
    repeated = {name: count for name, count in Counter(names.values()).items() if count > 1}
    tree.note("{} images share their names with others: the numbers of their records come before",
              sum(repeated.values()))

    def name_of(number):
        name = names.get(number)
        return b"%08d-%b" % (number, name) if name in repeated else name

    scan_numbered(source, tree, name_of)


# --- recognising --------------------------------------------------------------------------------


def kind_of(source):
    """By the first record; one that cannot be read counts where there is a key as all these writers
    add: __keys__ or __len__."""
    found = first(source)
    if not found or number_of(found[0]) is None:
        return None
    _, offset, size, _ = found
    value = Value(source, offset, size)
    if not reader_of(value.get(0, min(16, size))):
        return None
    try:
        sample = read(value, source.option)
    except Failed:
        special = ask(source, 1, b"__")
        return OTHER if special and is_special(special[0][0]) else None
    if sample.shape:
        return ARRAY
    return PLAIN if (sample.label, sample.class_name, sample.path) == (None,) * 3 else LABELED


KEYS = IMAGE_KEY | LABEL_KEY | NAME_KEY
IMAGE2LMDB = Dialect("image2lmdb", lambda source: kind_of(source) == PLAIN, scan_image2lmdb)
TENSORPACK = Dialect("tensorpack", lambda source: kind_of(source) == ARRAY, scan_numbered, KEYS)
FOLDER2LMDB = Dialect("folder2lmdb", lambda source: kind_of(source) in (LABELED, OTHER),
                      scan_numbered, KEYS)
