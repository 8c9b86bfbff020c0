"""LMDB files whose keys are names of files, and whose values are these files:

lsun          one environment a category, in a folder as bedroom_train_lmdb, with images by names
              that say nothing. The class is the folder's name without _train_lmdb, _val_lmdb or
              _test_lmdb; the test set, test_lmdb, has none.
basicsr       keys are paths without suffix, values PNG files. A list lies beside it, as text:
              "baboon.png (480,500,3) 1", the name, the shape and how hard it was compressed.
pysodtoolbox  of PySODToolBox's ForBigDataset, and of the mmsr that it comes from: values are pixels
              as OpenCV has them, keys the names of the files that they were in. A pickle beside it,
              meta_info.pkl, has the keys, and for each, or for all, channels, height and width:
              "3_480_640".
paths         any LMDB of files by their paths, as mmcv and mmengine read them. Comes after the
              other formats of LMDB, whose keys may be paths as well."""

import re

import lmdb_pickle as pickle
from lmdb_numbered import reader_of
from lmdb_records import Dialect, Value, ask, first, note_count, walk
from lmdb_sample import counted
from scan import (Failed, class_field, damaged, head_field, is_image, name_field, path_field,
                  pixels, to_bytes, to_text, unsupported)

HEAD = 64  # bytes that tell what an image is
NAME_MOST, LINE_MOST, KEY_MOST, SHAPE_MOST = 255, 1023, 511, 31
SUFFIX = re.compile(rb"[^/]\.[A-Za-z][0-9A-Za-z]{0,4}\Z")  # neither "frame.0001" nor "v1.2 final"
LISTED = re.compile(rb"\(\s*\d{1,5},\s*\d{1,5},\s*\d{1,2}\)\s*\d")
SHAPE = re.compile(rb"\s*(\d{1,5})_\s*(\d{1,5})_\s*(\d{1,5})")


def is_path(key):
    """As in the tree, parts that are empty or "." do not count."""
    return b"\0" not in key and all(len(part) <= NAME_MOST and part != b".."
                                    for part in key.split(b"/"))


def is_note(key):
    """"__len__", "__keys__": what writers note for themselves."""
    return len(key) > 4 and key.startswith(b"__") and key.endswith(b"__")


def probe(source):
    """Whether the first file that is no note is a name and an image."""
    found = first(source)
    while found and is_note(found[0]):
        found = next(iter(ask(source, 1)), None)
    return bool(found) and is_path(found[0]) and is_image(
        source.peek(found[1], min(found[2], HEAD)))


def scan_keyed(source, tree, plain, class_name=None):
    """What has no suffix gets one by content. plain: no key has one, and what looks like one is of
    the name. Without a class the keys are paths."""
    notes, said, records = 0, None, 0
    for number, (key, offset, size, head) in enumerate(walk(source)):
        if is_note(key):
            notes += 1
            said = Value(source, offset, size) if key == b"__len__" else said
            continue
        records += 1
        lacks_suffix = plain or not SUFFIX.search(key)
        if class_name is None:
            more = [path_field(key, number, b"q" if lacks_suffix else b"p")]
        else:
            more = [class_field(class_name), name_field(key, number, True)]
        if head:
            more.append(head_field(head, b"b"))
        tree.add(number, offset, size, None, *more)
    tree.note("{} records with keys as __len__ are left out", notes)
    if said:
        note_count(tree, "__len__", counted(said, reader_of, source.option), records)


# --- LSUN ---------------------------------------------------------------------------------------


def folder_of(path):
    """That the environment is: of "a/church_val_lmdb/data.mdb" and of "a/church_val_lmdb/"."""
    if path.endswith("/data.mdb"):
        path = path[:-len("/data.mdb")]
    return path.rstrip("/").rpartition("/")[2]


def category_of(path):
    """None: the folder is not named as LSUN's are."""
    found = re.fullmatch(r"(?s:(?:(.+)_)?(?:train|val|test)_lmdb)", folder_of(path))
    return found and (found.group(1) or "images")


def probe_lsun(source):
    found = first(source)
    return bool(found and b"/" not in found[0] and category_of(source.option["path"]) and
                probe(source))


def scan_lsun(source, tree):
    name = category_of(source.option["path"]) or folder_of(source.option["path"])
    name = "images" if not name or name.startswith(".") else name
    scan_keyed(source, tree, True, to_bytes(name))


# --- BasicSR ------------------------------------------------------------------------------------


def probe_basicsr(source):
    found = first(source) and source.read_beside("/meta_info.txt", b"try")
    line = (found or b"")[:LINE_MOST].split(b"\n")[0].split(b"\0")[0]
    at = line.rfind(b"(")
    return at >= 0 and bool(LISTED.match(line, at)) and probe(source)


# --- PySODToolBox -------------------------------------------------------------------------------


def read_meta(found):
    """The lists of keys and of shapes; None: it has none."""
    try:
        root = pickle.read(Value(None, 0, len(found), found))
    except Failed as error:
        raise Failed(error.what, f"meta_info.pkl: {error}")
    lists = [pickle.lookup(root, name) if type(root) is pickle.Dict else None
             for name in (b"keys", b"resolution")]
    return [one if type(one) is list else None for one in lists]


def probe_sodtools(source):
    found = first(source) and source.read_beside("/meta_info.pkl", b"try")
    try:
        return bool(found) and None not in read_meta(found)
    except Failed:
        return False


def text_of(value, most):
    """None: it is none, or too long."""
    if type(value) is not pickle.Text or value.data is None or value.size > most:
        return None
    return value.data.split(b"\0")[0]


def shape_of(value):
    found = SHAPE.match(text_of(value, SHAPE_MOST) or b"")
    if not found:
        raise damaged('no shape as "3_480_640"')
    channels, height, width = map(int, found.groups())
    if channels not in (1, 3):
        raise unsupported(f"pixels of {channels} channels")
    return pixels(width, height, "bgr" if channels == 3 else "gray")


def add_pixels(tree, records, number, name, shape):
    key = text_of(name, KEY_MOST)
    if key is None:
        raise damaged("no key in meta_info.pkl")
    if key not in records:
        raise damaged(f"'{to_text(key)}' of meta_info.pkl is not there")
    dot = key.rfind(b".")
    offset, size = records[key]
    tree.add(number, offset, size, None, path_field(key[:dot] if dot > 0 else key, number, b"q"),
             shape_of(shape))


def scan_sodtools(source, tree):
    found = source.read_beside("/meta_info.pkl")
    if found is None:
        raise Failed("option", "meta_info.pkl: No such file or directory")
    keys, shapes = read_meta(found)
    if keys is None or shapes is None:
        raise damaged("meta_info.pkl: no lists of keys and resolutions")
    if len(shapes) not in (1, len(keys)):
        raise damaged(f"meta_info.pkl: {len(shapes)} resolutions for {len(keys)} keys")
    records = {key: (offset, size) for key, offset, size, _ in walk(source)}
    for number, name in enumerate(keys):
        try:
            add_pixels(tree, records, number, name, shapes[number if len(shapes) > 1 else 0])
        except Failed as error:
            raise Failed(error.what, f"record {number}: {error}")
    tree.note("{} records that meta_info.pkl does not name are left out",
              max(len(records) - len(keys), 0))


LSUN = Dialect("lsun", probe_lsun, scan_lsun)
BASICSR = Dialect("basicsr", probe_basicsr, lambda source, tree: scan_keyed(source, tree, True))
SODTOOLS = Dialect("pysodtoolbox", probe_sodtools, scan_sodtools)
PATHS = Dialect("paths", probe, lambda source, tree: scan_keyed(source, tree, False))
