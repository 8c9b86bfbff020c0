"""Odd archives, and what the programs that made tar and zip leave of them where they unpack."""

import io
import os
import stat
import struct
import subprocess
import tarfile
import zipfile
import zlib

import trees
from foldfs import find_program, run

WHEN = 1_000_000_000
PHOTO = trees.noise(1, 3000)

FILE, FOLDER, LINK, NAME = (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE)


# --- tars -------------------------------------------------------------------------------------


def tar(path, *members, format=tarfile.GNU_FORMAT, mode="w", when=WHEN, end=b"", **settings):
    """A tar of (name, kind, content or target) and of (name, content), with more attributes behind
    these; and bytes behind its end."""
    with tarfile.open(path, mode, format=format, **settings) as out:
        for name, *rest in members:
            more = rest.pop() if isinstance(rest[-1], dict) else {}
            kind, what = rest if len(rest) == 2 else (FILE, rest[0])
            info = tarfile.TarInfo(name)
            info.type, info.mtime, info.mode = kind, when, 0o755 if kind == FOLDER else 0o644
            if isinstance(what, bytes):
                info.size = len(what)
            else:
                info.linkname = what
            for key, value in more.items():
                setattr(info, key, value)
            out.addfile(info, io.BytesIO(what if isinstance(what, bytes) else b""))
    with open(path, "ab") as file:
        file.write(end)
    return path


def header(block, field, value):
    """A field of a header, and its checksum made right."""
    fields = {"mode": (100, 8), "size": (124, 12), "mtime": (136, 12), "type": (156, 1)}
    at, room = fields[field]
    block[at:at + room] = value.ljust(room, b"\0")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block[:512])


def changed(path, *changes):
    """Headers of a tar of members without bytes, by their number: (number, field, value)."""
    data = bytearray(path.read_bytes())
    for number, field, value in changes:
        block = data[512 * number:512 * number + 512]
        header(block, field, value)
        data[512 * number:512 * number + 512] = block
    path.write_bytes(data)
    return path


def sparse(path, *options):
    root = path.with_name("sparse.src")
    root.mkdir()
    for name, size in (("a", 300_000), ("b", 1 << 20), ("holes only", 123_456)):
        with open(root / name, "wb") as file:
            file.truncate(size)
            if name != "holes only":
                for at in range(4096, size - 4096, 65536 * 2):
                    file.seek(at)
                    file.write(trees.noise(at, 4096 + 1000 * (at > 200_000)))
        os.utime(root / name, (WHEN, WHEN))
    run(*options, "-cf", path, "-C", root, "a", "b", "holes only")
    return path


def of_folder(path, *options):
    """What a program makes of names, links and times that old formats write in their own ways."""
    root = path.with_name("made.src")
    (root / "class" / ("long" * 10)).mkdir(parents=True)
    for n, size in enumerate((0, 1, 511, 512, 513, 100_000, (2 << 20) + 7)):
        trees.write(root / f"class/{n}.jpg", trees.noise(n, size), 0o600 | n)
    trees.write(root / "class" / ("long" * 10) / ("name" * 10), b"of a long path")
    os.link(root / "class/1.jpg", root / "class/another")
    os.symlink("class/2.jpg", root / "link")
    for place in trees.paths(os.fsencode(root)):
        os.utime(os.path.join(os.fsencode(root), place), (WHEN, WHEN), follow_symlinks=False)
    run(*options, "-cf", path, "-C", root, "class", "link")
    return path


def updated(path):
    root = path.with_name("updated.src")
    (root / "c").mkdir(parents=True)
    for content in (b"old", b"newer", b"the newest of all"):
        trees.write(root / "c/f.jpg", content)
        os.utime(root / "c/f.jpg", (WHEN + len(content), WHEN + len(content)))
        run("tar", "rf", path, "-C", root, "c")
    return path


def dumped(path):
    """Incremental: folders have lists of what was in them."""
    root = path.with_name("dumped.src")
    (root / "c").mkdir(parents=True)
    trees.write(root / "c/x.jpg", PHOTO)
    run("tar", "-g", path.with_name("snapshot"), "-cf", path, "-C", root, "c")
    return path


def damaged_inside(path):
    inner = tar(path.with_name("inner"), ("c/a.txt", PHOTO))
    return tar(path, ("x.jpg", PHOTO), ("c/cut.tar", inner.read_bytes()[:1100]),
               ("text.tar", b"text" * 300), ("z.jpg", b"behind"))


TARS = {
    "updated": updated,
    "what comes again": lambda path: tar(
        path, ("x", b"old"), ("y", NAME, "x"), ("x", b"new"), ("l", LINK, "x"), ("l", LINK, "y"),
        ("f", b"a file first"), ("f", FOLDER, ""), ("f/in", b"in it"), ("e", FOLDER, ""),
        ("e", b"a file now"), ("d/in", b"stays"), ("d", b"is left out"), ("d", LINK, "x"),
        ("d", FOLDER, "", {"mode": 0o711, "mtime": 5}), ("x", NAME, "x"), ("t", b"t"),
        ("s", LINK, "t"), ("s", b"no link now"), ("./x", b"newest")),
    "links to folders": lambda path: tar(
        path, ("real", FOLDER, ""), ("real/b.txt", b"two"), ("cat", LINK, "real"),
        ("cat/a.txt", b"one"), ("to", LINK, "./cat/"), ("to/sub/c.txt", b"three"),
        ("hard", NAME, "to/b.txt"), ("dots", LINK, "real/../real"), ("dots/no", b"left out"),
        ("away", LINK, "/tmp"), ("away/no", b"left out"), ("self", LINK, "self"),
        ("self/no", b"left out"), ("none", LINK, "nothing"), ("none/no", b"left out"),
        ("file", b"f"), ("file/no", b"left out"), ("late", LINK, "real"), ("late", FOLDER, ""),
        ("late/own", b"in a folder of its own")),
    "hard links": lambda path: tar(
        path, ("a", b"1"), ("b", NAME, "a"), ("c", NAME, "./b"), ("no", NAME, "later"),
        ("later", b"2"), ("l", LINK, "a"), ("k", NAME, "l"), ("d", FOLDER, ""),
        ("no folder", NAME, "d")),
    "old hard links": lambda path: changed(tar(
        path, ("a", b""), ("b", NAME, "a"), ("c", b"")), (1, "size", b"00000003000")),
    "paths that lead out": lambda path: tar(
        path, ("../x", b"1"), ("a/../b", b"2"), ("/abs/c", b"3"), ("./d", b"4"), ("..e", b"5")),
    "bytes behind the end": lambda path: tar(path, ("c/a", PHOTO), ("c/b", b"b"),
                                             end=b"trailing bytes"),
    "times of pax": lambda path: tar(
        path, *[(f"c/{n}", b"abc", {"pax_headers": {"mtime": time}}) for n, time in enumerate(
            ["-", "-1.5", "1e9", "12345678901234567890123", "1.25", "", "x", "-99", "0.1234567891"
             ])], format=tarfile.PAX_FORMAT),
    "global records": lambda path: tar(
        path, ("a", b"abc"), ("b", b"abc", {"pax_headers": {"mtime": "77"}}),
        format=tarfile.PAX_FORMAT, pax_headers={"comment": "a commit", "mtime": "1234.5"}),
    "fields that are no numbers": lambda path: changed(
        tar(path, ("a", b""), ("b", b"")), (0, "mode", b"rw-r--r"), (0, "mtime", b"yesterday")),
    "unknown types": lambda path: tar(path, ("a", b"Q", b"text"), ("b", tarfile.CONTTYPE, b"text"),
                                      ("c", tarfile.AREGTYPE, b"text"),
                                      ("d/", tarfile.AREGTYPE, b"")),
    "damaged inside": damaged_inside,
    **{f"long names, format {format}": lambda path, format=format: tar(
        path, (f"{'d' * 99}/x.jpg", b"1"), ("l", LINK, f"{'d' * 99}/{'e' * 90}/../x.jpg"),
        format=format) for format in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)},
    "names of bytes": lambda path: tar(path, ("caf\udce9", b"1"), ("new\nline", b"2"),
                                       ("日本", b"3"), errors="surrogateescape"),
    "incremental": dumped,
    **{f"{program} {format}": lambda path, words=(program, f"--format={format}"): of_folder(
        path, *words) for program, formats in (("tar", "v7 gnu ustar posix"), ("bsdtar", "pax v7"))
       for format in formats.split()},
    "oldgnu": lambda path: of_folder(path, "tar", "--format=oldgnu", "--label=name"),
    "bsdtar": lambda path: of_folder(path, "bsdtar"),
    "sparse gnu": lambda path: sparse(path, "tar", "--sparse", "--format=gnu"),
    **{f"sparse {version}": lambda path, version=version: sparse(
        path, "tar", "--sparse", "--format=posix", f"--sparse-version={version}")
       for version in ("0.0", "0.1", "1.0")},
    "sparse bsdtar": lambda path: sparse(path, "bsdtar", "--read-sparse", "--format=pax"),
}


# --- zips -------------------------------------------------------------------------------------


class Entry:
    """An entry of a zip, byte by byte."""

    def __init__(self, name, data=b"", method=0, flags=0, host=0, extra=b"", mode=0):
        self.name, self.data, self.method, self.flags = name, data, method, flags
        self.host, self.extra, self.mode, self.at = host, extra, mode, 0
        squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
        self.packed = squeeze.compress(data) + squeeze.flush() if method == 8 else data

    def fields(self, extra):
        return struct.pack("<HHHHIIIHH", self.flags, self.method, 12 << 11, 43 << 9 | 2 << 5 | 3,
                           zlib.crc32(self.data), len(self.packed), len(self.data),
                           len(self.name), len(extra))

    def local(self):
        return b"PK\3\4\24\0" + self.fields(b"") + self.name + self.packed

    def central(self):
        return (b"PK\1\2" + bytes([20, self.host]) + b"\24\0" + self.fields(self.extra) +
                struct.pack("<HHHII", 0, 0, 0, self.mode << 16, self.at) + self.name + self.extra)


def zip_of(path, *entries, front=b"", end=b"", comment=b""):
    data = b""
    for entry in entries:
        entry.at = len(data)
        data += entry.local()
    directory = b"".join(entry.central() for entry in entries)
    path.write_bytes(front + data + directory + struct.pack(
        "<4sHHHHIIH", b"PK\5\6", 0, 0, len(entries), len(entries), len(directory), len(data),
        len(comment)) + comment + end)
    return path


def unicode_path(raw, name):
    text = name.encode()
    return struct.pack("<HHBI", 0x7075, 5 + len(text), 1, zlib.crc32(raw)) + text


def zip_by_python(path, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as out:
        for n, name in enumerate(("c/plain.jpg", "c/café.jpg", "日/本.jpg")):
            info = zipfile.ZipInfo(name, (2001, 9, 9, 1, 46, 40))
            info.compress_type, info.external_attr = method, (stat.S_IFREG | 0o644) << 16
            out.writestr(info, bytes(1000) + trees.noise(n, 1000))
    return path


def zip_with_vast_dictionary(path):
    """The size of the dictionary is in front of the bytes: behind the header, the name and the
    version of the SDK."""
    zip_by_python(path, zipfile.ZIP_LZMA)
    data = bytearray(path.read_bytes())
    at = 30 + len("c/plain.jpg") + 4
    data[at + 1:at + 5] = (3 << 30).to_bytes(4, "little")
    path.write_bytes(data)
    return path


def zip_by_info(path, *options):
    root = path.with_name("made.src")
    (root / "class/empty").mkdir(parents=True)
    trees.write(root / "class/é.jpg", bytes(1000) + PHOTO)
    os.symlink("class/é.jpg", root / "link")
    run("zip", "-q", "-r", "--symlinks", *options, path, ".", cwd=root)
    return path


def is_compressed(path):
    """As far as Python can read it."""
    try:
        with zipfile.ZipFile(path) as file:
            return any(info.compress_type and info.file_size for info in file.infolist())
    except zipfile.BadZipFile:
        return False


DIR = stat.S_IFDIR | 0o755
REG = stat.S_IFREG | 0o644

ZIPS = {
    "stored": lambda path: zip_by_python(path, zipfile.ZIP_STORED),
    "deflated": zip_by_python,
    "bzip2": lambda path: zip_by_python(path, zipfile.ZIP_BZIP2),
    "lzma": lambda path: zip_by_python(path, zipfile.ZIP_LZMA),
    "lzma, a vast dictionary": zip_with_vast_dictionary,
    "info-zip": zip_by_info,
    "info-zip, stored": lambda path: zip_by_info(path, "-0"),
    "bytes behind the end": lambda path: zip_of(path, Entry(b"c/a.jpg", PHOTO), end=b"\r\n"),
    "bytes in front": lambda path: zip_of(path, Entry(b"c/a.jpg", PHOTO, 8), Entry(b"b", b"b"),
                                          front=b"#!/bin/sh\nexit 1\n", comment=b"a comment"),
    "a comment": lambda path: zip_of(path, Entry(b"c/a.jpg", PHOTO), comment=PHOTO),
    "what comes again": lambda path: zip_of(path, Entry(b"x", b"old"), Entry(b"x", b"new" * 99, 8),
                                            Entry(b"y", b"y")),
    "names of a FAT host": lambda path: zip_of(
        path, Entry(b"cat\\", b""), Entry(b"cat\\x.jpg", PHOTO),
        Entry(b"dog\\y.jpg", b"y" * 99, 8)),
    "names in CP437": lambda path: zip_of(path, Entry(b"caf\x82.jpg", PHOTO),
                                          Entry(b"\x8e\x99\x9a/x.jpg", b"y" * 99, 8)),
    "the Unicode path field": lambda path: zip_of(
        path, Entry(b"_.jpg", PHOTO, extra=unicode_path(b"_.jpg", "日本.jpg")),
        Entry(b"b.jpg", b"b" * 99, 8, extra=unicode_path(b"_.jpg", "of another.jpg"))),
    "extra fields that overrun": lambda path: zip_of(
        path, Entry(b"a", PHOTO, extra=b"UT\xff\xff\1"), Entry(b"b", b"b", extra=b"\0")),
    "names in UTF-8 that do not say so": lambda path: zip_of(
        path, Entry("é.jpg".encode(), PHOTO, host=3, mode=REG),
        Entry("ü.jpg".encode(), b"u" * 99, 8, host=3, mode=REG)),
    "folders that are deflated": lambda path: zip_of(
        path, Entry(b"d/", b"", 8, host=3, mode=DIR), Entry(b"d/x", b"", 8, host=3, mode=REG)),
    "a link that is deflated": lambda path: zip_of(
        path, Entry(b"a.jpg", PHOTO),
        Entry(b"link", b"./" * 50 + b"a.jpg", 8, host=3, mode=stat.S_IFLNK | 0o777)),
    "paths that lead out": lambda path: zip_of(path, Entry(b"../x", b"1"), Entry(b"a/../b", b"2"),
                                               Entry(b"/abs/c", b"3")),
}

# unzip says of these that it lacks the method, or takes their names for those of another code page.
BY_PYTHON = {"bzip2", "lzma", "lzma, a vast dictionary", "names in CP437"}


# --- what is left -----------------------------------------------------------------------------


def made(kinds, name, folder):
    """The archive; skips where its program is not installed."""
    path = folder / ("odd.tar" if kinds is TARS else "odd.zip")
    return kinds[name](path)


def unpacked(kinds, name, path, folder):
    """What the programs leave of it, whatever they say. """
    folder.mkdir()
    if kinds is TARS:
        subprocess.run(["tar", "-xf", path], cwd=folder, stderr=subprocess.DEVNULL, check=False)
    elif name in BY_PYTHON or not find_program("unzip"):
        with zipfile.ZipFile(path) as file:
            file.extractall(folder)
    else:
        subprocess.run(["unzip", "-qq", "-o", path], cwd=folder, check=False,
                       env={**os.environ, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return folder
