"""LMDB of Caffe's convert_imageset: key "%08d_PATH" or "%08d", value a Datum (caffe.proto), which
has the image as a file, or as pixels, in OpenCV's order of channels, a plane after the other."""

from lmdb_records import NUMBER_MOST, Dialect, Value, Values, first, walk
from protobuf import BYTES, FIXED32, VARINT, next_field
from scan import Failed, damaged, head_field, name_field, path_field, pixels, unsupported

CHANNELS, HEIGHT, WIDTH, DATA, LABEL, FLOATS, ENCODED = range(1, 8)
HEAD, TAIL = 256, 64  # bytes of a Datum in front of the data, and behind it, at most
BIGGEST = (1 << 32) - 1


def datum_of(value):
    """{field: number}, and where the data is."""
    found, offset, at = {}, 0, 0
    while at < value.size:
        field, kind, number, size, at = next_field(value, 0, at, value.size)
        if field > ENCODED or kind != (BYTES if field in (DATA, FLOATS) else VARINT) and (
                field, kind) != (FLOATS, FIXED32):
            raise damaged(f"field {field} of type {kind} is not one of a Datum")
        found[field] = size if kind == BYTES else number
        if field == DATA:
            offset = number
    return found, offset


def probe(source):
    record = first(source)
    if not record or record[2] == 0:
        return False
    try:
        found, _ = datum_of(Value(source, *record[1:3]))
    except Failed:
        return False
    return DATA in found or FLOATS in found


# --- images -------------------------------------------------------------------------------------


def number_of(key, walked):
    """A key that is only a number says which record it is: those without zeros in front are in
    another order."""
    return int(key) if key.isdigit() and len(key) < 20 and int(key) <= NUMBER_MOST else walked


def path_of(key):
    """(folder, name), from what follows the number: the path in the list that was converted.
    (b"", None): nothing does."""
    number, mark, path = key.partition(b"_")
    if not number.isdigit() or not path:
        return b"", None
    folder, _, name = path.rpartition(b"/")
    return folder, name


def pixels_of(found):
    if DATA not in found and FLOATS in found:
        raise unsupported("a Datum of floats is not an image")
    channels = found.get(CHANNELS, 0)
    if channels not in (1, 3):
        raise unsupported(f"a Datum of {channels} channels is not an image")
    return pixels(min(found.get(WIDTH, 0), BIGGEST), min(found.get(HEIGHT, 0), BIGGEST),
                  "planar-bgr" if channels == 3 else "gray")


def add(source, tree, number, key, value):
    found, offset = datum_of(value)
    encoded = found.get(ENCODED)
    more = [] if encoded else [pixels_of(found)]
    if not found.get(DATA):
        raise damaged("a Datum without data")
    label = ((found[LABEL] & BIGGEST) ^ 1 << 31) - (1 << 31) if LABEL in found else None
    folder, name = path_of(key)
    if folder and not (label is not None and source.option["classes"] == "1"):
        more.append(path_field(folder, number, b"C"))
    if name is not None and encoded:
        more.append(name_field(name, number))
    elif name is not None:  # its suffix is that of the file before it became pixels
        dot = name.rfind(b".")
        more.append(name_field(name[:dot] if dot > 0 else name, number, True))
    if encoded:
        more.append(head_field(value.first(offset, found[DATA])))
    tree.add(number, value.offset + offset, found[DATA], label, *more)


def scan(source, tree):
    """In the order of the keys."""
    values = Values(source, HEAD, TAIL)
    records = [(offset, size, key) for key, offset, size, _ in walk(source)]
    for walked, ((_, _, key), value) in enumerate(values.read(records)):
        number = number_of(key, walked)
        try:
            add(source, tree, number, key, value)
        except Failed as error:
            raise Failed(error.what, f"record {number}: {error}")


CAFFE = Dialect("caffe", probe, scan)
