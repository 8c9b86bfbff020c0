"""Folders to pack, and what is to be known about one: every name with its type and content."""

import hashlib
import os
import random
import stat

from foldfs import MIB, pack

HOSTILE_NAMES = [
    b"with space",
    b"new\nline",
    b"quote'\"quote",
    b"back\\slash",
    b"\xff\xfe not UTF-8",
    b"\x01\x1b[31m control",
    b"-rf",
    b"*?[glob]$(echo)`id`",
    b"%s%n%d",
    b"comma,equals=",
    b"\xe2\x82\xac",
    b"...",
    b".hidden",
    b"n" * 255,
    b"\xc3\xa4" * 127,
]

# Around the blocks of the kernel, its readahead and the extents of a pack.
SIZES = [0, 1, 511, 512, 513, 4095, 4096, 4097, 131071, 131072, 131073,
         MIB - 1, MIB, MIB + 1, 3 * MIB + 5]

TIMES = {b"before 1970": -123456789_000000001, b"epoch": 0, b"nanosecond": 1_700000000_123456789,
         b"after 2038": 4_102444800_000000000}


def noise(seed, size):
    return random.Random(seed).getrandbits(8 * size).to_bytes(size, "little") if size else b""


def write(path, data=b"", mode=0o644):
    """With the folders on the way there; returns the path."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)
    return path


def packed(source, make):
    """Makes the folder and its pack beside it."""
    source.mkdir()
    make(source)
    return source, pack(source, source.with_suffix(".lmdb"))


# --- folders ------------------------------------------------------------------------------


def make_names(root):
    for number, name in enumerate(HOSTILE_NAMES):
        write(root + b"/" + name, b"content %d" % number)
        if name != b"..." and len(name) < 250:
            os.mkdir(root + b"/in " + name)
            write(root + b"/in " + name + b"/" + name, name)


def make_deep(root):
    """Paths that are longer than an LMDB key can be."""
    for level in range(5):
        root += b"/" + b"%d" % level * 150
        os.mkdir(root)
        write(root + b"/file", b"level %d" % level)
        write(root + b"/big", noise(level, 300000))


def make_links(root):
    write(root + b"/target", b"target")
    os.mkdir(root + b"/folder")
    write(root + b"/folder/inside", b"inside")
    for name, target in {b"to file": b"target", b"to folder": b"folder", b"up": b"folder/../target",
                         b"dangling": b"not there", b"absolute": b"/etc/passwd", b"loop": b"loop",
                         b"outside": b"../../../outside", b"bytes": b"\xff\n" * 100}.items():
        os.symlink(target, root + b"/" + name)
        os.utime(root + b"/" + name, ns=(0, TIMES[b"nanosecond"]), follow_symlinks=False)
    os.link(root + b"/target", root + b"/another name")
    os.link(root + b"/target", root + b"/folder/third name")
    os.link(root + b"/folder/inside", root + b"/a first name")


def make_modes(root):
    for mode in (0o400, 0o444, 0o600, 0o640, 0o755, 0o711, 0o777):
        write(root + b"/file %o" % mode, b"%o" % mode, mode)
    for mode in (0o500, 0o555, 0o700, 0o777):
        os.mkdir(root + b"/folder %o" % mode)
        os.chmod(root + b"/folder %o" % mode, mode)
    for name, time in TIMES.items():
        write(root + b"/" + name)
        os.utime(root + b"/" + name, ns=(0, time))


def make_hostile(root):
    root = os.fsencode(root)
    for name, make in {b"names": make_names, b"deep": make_deep, b"links": make_links,
                       b"modes": make_modes}.items():
        os.mkdir(root + b"/" + name)
        make(root + b"/" + name)
    os.mkdir(root + b"/sizes")
    for size in SIZES:
        write(root + b"/sizes/%d" % size, noise(size, size))
    os.makedirs(root + b"/empty/empty in empty")
    os.mkdir(root + b"/.hidden folder")
    write(root + b"/.hidden folder/.hidden", b"hidden")
    os.utime(root + b"/empty", ns=(0, TIMES[b"nanosecond"]))


def make_small(root):
    (root / "folder").mkdir()
    write(root / "file", b"content\n")
    write(root / "folder" / "other", b"other content\n")
    write(root / "program", b"#!/bin/sh\necho ran\n", 0o755)
    write(root / "large", noise(1, 2 * MIB))


def make_bulk(root):
    for number in range(96):
        folder = root / f"class{number % 8}"
        folder.mkdir(exist_ok=True)
        write(folder / f"{number:03}", noise(number, random.Random(number).randrange(MIB)))


def make_images(root):
    """Noise and gradients, JPEG and PNG, colour and grey, in folders as ImageFolder wants."""
    from PIL import Image

    for number in range(64):
        chance = random.Random(number)
        folder = root / f"n{number % 4:08}"
        folder.mkdir(exist_ok=True)
        width, height = chance.randrange(40, 320), chance.randrange(40, 320)
        image = Image.effect_noise((width, height), chance.randrange(10, 90))
        if number % 8:
            image = Image.merge("RGB", [image, image.rotate(90).resize(image.size),
                                        Image.linear_gradient("L").resize(image.size)])
        image.save(folder / f"image {number}.{'PNG' if number % 5 == 0 else 'JPEG'}")
    folder = root / "n00000003"
    os.symlink("../n00000000/image 4.JPEG", folder / "linked.JPEG")


# --- what is in one -----------------------------------------------------------------------


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def paths(root):
    """All paths below root, relative, as bytes, directories before what is in them."""
    root = os.fsencode(root)
    for folder, folders, files in os.walk(root):
        for name in sorted(folders + files):
            yield os.path.relpath(os.path.join(folder, name), root)


def content(root):
    """path -> what a reader gets: type, and bytes or target."""
    root, found = os.fsencode(root), {}
    for path in paths(root):
        whole = os.path.join(root, path)
        kind = stat.S_IFMT(os.lstat(whole).st_mode)
        if kind == stat.S_IFLNK:
            found[path] = kind, os.readlink(whole)
        else:
            found[path] = kind, digest(whole) if kind == stat.S_IFREG else None
    return found


def state(root):
    """path -> all that a copy keeps: content, mode, time, and which names are one file."""
    first, found = {}, {}
    for path, what in sorted(content(root).items()):
        status = os.lstat(os.path.join(os.fsencode(root), path))
        name = first.setdefault((status.st_dev, status.st_ino), path)
        links = None if stat.S_ISDIR(status.st_mode) else status.st_nlink
        found[path] = what, status.st_mode, status.st_mtime_ns, name, links
    return found


def attributes(root):
    """path -> mode and time in seconds, of all but links."""
    found = {path: os.lstat(os.path.join(os.fsencode(root), path)) for path in paths(root)}
    return {path: (status.st_mode, int(status.st_mtime)) for path, status in found.items()
            if not stat.S_ISLNK(status.st_mode)}


def modes(root):
    """path -> mode in octal, of all but links."""
    return {os.fsdecode(path): f"{stat.S_IMODE(mode):o}" for path, (mode, _) in
            attributes(root).items()}


def files(root):
    """The regular files below root, relative paths."""
    root = os.fsencode(root)
    return [path for path in paths(root)
            if stat.S_ISREG(os.lstat(os.path.join(root, path)).st_mode)]
