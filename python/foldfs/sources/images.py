"""What the scripts of this folder share: they write the images of a file or folder as a tar.

foldpack runs `python3 SCRIPT SOURCE IMAGE-KEY LABEL-KEY NAME-KEY`, where "" is for a key that no
option names, and reads the tar from standard output. What a script says on standard error is told
to the user; where it fails, the last line says why, and the status is one of foldpack(1): FAILED or
DAMAGED; or OTHER. Of an image with a label, the pax records FOLDFS.label and FOLDFS.class say it
(foldpack-formats(7))."""

import importlib
import io
import os
import resource
import signal
import sys
import tarfile

from scan import MAGIC

FAILED, DAMAGED = 1, 3
OTHER = 5  # the source is not what the script reads
NAMED = (".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp", ".gif")
PATH_MOST, LABEL_DIGITS = 4095, 18

sys.path.pop(0)  # the scripts beside this one have the names of packages


class Refused(Exception):
    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


def say(text):
    print(" ".join(str(text).split("\n")), file=sys.stderr)


def many(names):
    return f"'{names[0]}'{' and others' if len(names) > 1 else ''}"


def need(module, what):
    """The module; `what` it reads."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Refused(f"{module}, which reads {what}, is not in {sys.executable} ({error}): 'pip "
                      f"install {module}', or let FOLDFS_PYTHON name a python3 that has it")
    except MemoryError:
        raise
    except Exception as error:  # of another version of what it needs
        raise Refused(f"{module}, which reads {what}, does not load in {sys.executable}: "
                      f"{type(error).__name__}: {error}")


def suffix(head):
    """Of the kind of image that begins so; None: it is none."""
    return next((end for at, magic, end in MAGIC if head[at:at + len(magic)] == magic), None)


def labels_of(values, count):
    """As many labels, numbers or texts, in an array of any library; or None."""
    if values.size != count or values.shape[:1] != (count,):
        return None
    values = values.reshape(-1)
    if values.dtype.kind in "OSU":
        texts = [text(value) for value in values]
        return texts if None not in texts else None
    if values.dtype.kind not in "biuf" or (values != values.astype("i8")).any():
        return None
    return [int(value) for value in values]


def text(value):
    """None: it is none. Arrays fill up texts with NUL."""
    value = os.fsdecode(value) if isinstance(value, bytes) else value
    value = value.rstrip("\0") if isinstance(value, str) else "\0"
    return None if "\0" in value else value


class Tar:
    def __init__(self):
        self.tar = tarfile.open(fileobj=sys.stdout.buffer, mode="w|", bufsize=1 << 20,
                                format=tarfile.PAX_FORMAT, encoding="utf-8")
        self.added = set()
        self.classes = {}  # the label of each folder

    def add(self, what, folder, name, data, mtime_ns, mode=0o644, label=None):
        """`what` is the image in the source. The label, or the name of a class, is that of a folder
        in `folder`. `name` may be a path: then it has the class."""
        info = tarfile.TarInfo()
        info.size, info.mode = len(data), mode
        info.pax_headers["mtime"] = "-" * (mtime_ns < 0) + "%d.%09d" % divmod(abs(mtime_ns), 10**9)
        above, _, base = name.rpartition("/")
        if isinstance(label, str):
            above = above or self.folder_of(what, label)
        elif label is not None:
            if abs(label) >= 10**LABEL_DIGITS:
                raise Refused(f"{what}: its label {label} has over {LABEL_DIGITS} digits")
            info.pax_headers["FOLDFS.label"] = str(int(label))
            if above:
                info.pax_headers["FOLDFS.class"] = above
            above = ""
        info.name = "/".join(part for part in (folder, above, base) if part)
        if len(os.fsencode(info.name)) > PATH_MOST:
            raise Refused(f"'{info.name[:60]}...': a path of over {PATH_MOST} bytes")
        path = hash((os.path.normpath(info.name), label, info.pax_headers.get("FOLDFS.class")))
        if path in self.added:
            raise Refused(f"{what}: another image is '{info.name}', too")
        self.added.add(path)
        self.tar.addfile(info, io.BytesIO(data))
        self.tar.members.clear()

    def folder_of(self, what, label):
        folder = label.replace("/", "_") or "images"
        other = self.classes.setdefault(folder, label)
        if other != label:
            raise Refused(f"{what}: the classes '{other}' and '{label}' would be one folder")
        return folder

    def bad(self, path, why):
        """A part of the source that cannot be taken."""
        info = tarfile.TarInfo(path)
        info.pax_headers["FOLDFS.bad"] = why
        self.tar.addfile(info)


def look(source):
    """(path, sum of path, size and time) of each file, to be held against what it was before."""
    paths = [source] if os.path.isfile(source) else (
        os.path.join(folder, name) for folder, _, names in os.walk(source) for name in names)
    for path in paths:
        try:
            status = os.stat(path) if path == source else os.lstat(path)
        except FileNotFoundError:  # since it was listed
            continue
        yield path, hash((path, status.st_size, status.st_mtime_ns))


def write_unchanged(write, source, tar):
    """What looks like damage may be where an old and a new file meet."""
    before = {seen for _, seen in look(source)}
    try:
        write(source, tar)
    finally:
        same = 0
        for path, seen in look(source):
            if seen not in before:
                raise changed(source, path) from None
            same += 1
        if same < len(before):
            raise changed(source, source) from None


def changed(source, path):
    name = "" if path == source else os.path.relpath(path, source) + ": "
    return Refused(f"{name}changed while it was being packed; pack it again when nothing writes to "
                   "it")


def main(write):
    """Calls write(SOURCE, Tar)."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash of a library is an answer, too
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        tar = Tar()
        write_unchanged(write, sys.argv[1], tar)
        tar.tar.close()
        sys.stdout.flush()
        return 0
    except Refused as error:
        say(error)
        return error.status
    except MemoryError:
        say("not enough memory")
        return FAILED
    except Exception as error:  # of any library, about any bytes
        say(f"damaged: {type(error).__name__}: {error}")
        return DAMAGED
