"""foldfs-format(5) is enough to write a reader: this one was written from the page alone.

It uses an LMDB library for the records and nothing of foldfs. Where the page and the packs
that foldpack makes part ways, a test here fails."""

import ctypes
import os
import stat
import struct
import subprocess
from pathlib import Path

import pytest

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("FOLDFS_BUILD", ROOT / "build"))
FOLDPACK = BUILD / "foldpack"
MIB, GIB = 1 << 20, 1 << 30

DIRECTORY, FILE, SYMLINK, HARDLINK, SPLIT, ALIAS, OF_BASE = 1, 2, 3, 4, 5, 6, 7
SECTIONS = [b"names", b"name-end", b"parent", b"kind", b"start", b"size", b"parts", b"targets",
            b"sums", b"mode", b"mtime", b"image", b"width", b"height", b"options"]
IN_ID = [b"names", b"name-end", b"parent", b"kind", b"size", b"targets", b"sums", b"mode",
         b"mtime"]


# --- the reader -------------------------------------------------------------------------


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


xxhash = ctypes.CDLL("libxxhash.so.0")  # foldpack itself does not start without it
for function, result in ((xxhash.XXH3_64bits, ctypes.c_uint64), (xxhash.XXH3_128bits, Hash128)):
    function.argtypes, function.restype = [ctypes.c_char_p, ctypes.c_size_t], result


def xxh64(data):
    return xxhash.XXH3_64bits(bytes(data), len(data))


def xxh128(data):
    hashed = xxhash.XXH3_128bits(bytes(data), len(data))
    return b"%016x%016x" % (hashed.high, hashed.low)


class Reader:
    """The records by LMDB, the tree by the index, as the page says."""

    def __init__(self, path, base=None):
        self.file, self.base = open(path, "rb"), base
        self.env = lmdb.open(os.fspath(path), subdir=False, readonly=True, lock=False)
        self.txn = self.env.begin(buffers=True)
        self.top = bytes(self.txn.get(b"\0foldfs"))
        (self.magic, self.version, count, self.compat, self.incompat, self.entries, self.files,
         self.directories, self.symlinks, self.hardlinks, self.bytes, self.id) = \
            struct.unpack_from("<8sIIQQQQQQQQ16s", self.top)
        assert (self.magic, self.version, count) == (b"foldfs\r\n", 1, len(SECTIONS))
        self.state = struct.unpack_from("<7Q", self.top, 96)
        self.refs = {name: struct.unpack_from("<QQQQII", self.top, 152 + 40 * i)
                     for i, name in enumerate(SECTIONS)}
        self.raw = {name: bytes(self.txn.get(b"\0foldfs." + name)) for name in SECTIONS}
        self.column = {name: self.rows(name) for name in SECTIONS if self.refs[name][4]}
        ends = self.column[b"name-end"]
        self.names = [self.raw[b"names"][start:end] for start, end in zip([0, *ends], ends)]
        self.paths = [b""]
        for entry in range(1, self.entries):
            parent = self.paths[self.column[b"parent"][entry]]
            self.paths.append(parent + b"/" + self.names[entry] if parent else self.names[entry])
        assert self.incompat == (ALIAS in self.column[b"kind"]) + 4 * bool(base)
        extents = [-(-self.size(e) // MIB) if self.is_file(e) else 0 for e in range(self.entries)]
        self.first_extent = [sum(extents[:e]) for e in range(self.entries)]

    def rows(self, name):
        width, data = self.refs[name][4], self.raw[name]
        return [int.from_bytes(data[at:at + width], "little", signed=name == b"mtime")
                for at in range(0, len(data), width)]

    def kind(self, entry):
        return self.column[b"kind"][entry]

    def is_file(self, entry):
        return self.kind(entry) in (FILE, SPLIT, ALIAS, OF_BASE)

    def start(self, entry):
        return self.column[b"start"][entry]

    def size(self, entry):
        return self.column[b"size"][entry]

    def inode(self, entry):
        return self.start(entry) if self.kind(entry) == HARDLINK else entry

    def holder(self, entry):
        inode = self.inode(entry)
        return self.start(inode) if self.kind(inode) == ALIAS else inode

    def target(self, entry):
        return self.raw[b"targets"][self.start(entry):self.start(entry) + self.size(entry)]

    def places(self, entry):
        """Of the file's bytes: (key, offset in the pack, bytes), part after part."""
        path, size = self.paths[entry], self.size(entry)
        if self.kind(entry) == FILE:
            key = path if len(path) <= 511 else b"\0path." + xxh128(path)
            return [(key, self.start(entry), size)]
        return [(b"\0part.%s.%08x" % (xxh128(path), part),
                 self.column[b"parts"][self.start(entry) + part], min(64 * MIB, size - at))
                for part, at in enumerate(range(0, size, 64 * MIB))]

    def pieces(self, entry):
        """The bytes of a file, part after part, from LMDB and by offset alike."""
        if self.kind(self.holder(entry)) == OF_BASE:
            yield from self.base.pieces(self.start(self.holder(entry)))
            return
        for key, offset, size in self.places(self.holder(entry)):
            value = bytes(self.txn.get(key))
            self.file.seek(offset)
            assert self.offsets_are_void() or value == self.file.read(size)
            assert len(value) == size
            yield value

    def offsets_are_void(self):
        metas = []
        for page in (0, struct.unpack("<I", os.pread(self.file.fileno(), 4, 40))[0]):
            meta = os.pread(self.file.fileno(), 152, page)
            branch, leaf, overflow, records, root, last, txnid = struct.unpack_from("<7Q", meta, 96)
            metas.append((txnid, root, last, branch, leaf, overflow, records))
        return max(metas) != self.state


# --- the source ---------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path):
    """A folder with everything that the page has a rule for."""
    src = tmp_path / "src"
    for folder in ("b", "b.d", "a/deeper", "empty"):
        (src / folder).mkdir(parents=True)
    (src / "b/photo.JPEG").write_bytes(os.urandom(150_000))
    (src / "a/photo again.JPEG").write_bytes((src / "b/photo.JPEG").read_bytes())
    (src / "b.d/empty file").write_bytes(b"")
    (src / "b/small.txt").write_bytes(b"x" * 12)
    (src / "a/two extents").write_bytes(os.urandom(MIB + 1))
    (src / "a/deeper/\n\udcff").write_bytes(b"odd name")
    (src / "top").write_bytes(b"first of all")
    os.link(src / "a/two extents", src / "b/second name")
    os.symlink("../a/two extents", src / "b/link")
    deep = src / ("long" * 60) / ("path" * 60) / ("here" * 60)
    deep.mkdir(parents=True)
    (deep / "file").write_bytes(os.urandom(5000))
    (deep / "file again").write_bytes((deep / "file").read_bytes())
    os.link(src / "b/photo.JPEG", src / "photo")
    os.chmod(src / "b/small.txt", 0o4751)
    os.chmod(src / "empty", 0o500)
    os.utime(src / "b/small.txt", ns=(0, -1_500_000_001))
    os.utime(src / "top", ns=(0, 1_234_567_890_123_456_789))
    return src


def make(source, tmp_path, *options):
    path = tmp_path / "pack.lmdb"
    subprocess.run([FOLDPACK, "create", "-q", *options, source, path], check=True)
    return path


@pytest.fixture(params=[(), ("--dedup",)], ids=["each", "once"])
def pack(request, source, tmp_path):
    return make(source, tmp_path, *request.param)


@pytest.fixture
def reader(pack):
    return Reader(pack)


def walk(source):
    """Each path below the source, with what lstat says of it."""
    top = os.fsencode(source)
    yield b"", os.lstat(top)
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            path = os.path.join(folder, name)
            yield os.path.relpath(path, top), os.lstat(path)


# --- what the page says, held against the source ------------------------------------------


def test_paths_kinds_modes_and_times_are_those_of_the_source(source, reader):
    types = {DIRECTORY: stat.S_IFDIR, SYMLINK: stat.S_IFLNK}
    have = {}
    for entry, path in enumerate(reader.paths):
        inode = reader.inode(entry)
        have[path] = (types.get(reader.kind(entry), stat.S_IFREG),
                      reader.column[b"mode"][inode], reader.column[b"mtime"][inode])
    want = {path: (stat.S_IFMT(st.st_mode), st.st_mode & 0o7777, st.st_mtime_ns)
            for path, st in walk(source)}
    assert have == want


def test_bytes_and_sizes_are_those_of_the_source(source, reader):
    for entry, path in enumerate(reader.paths):
        name = os.path.join(os.fsencode(source), path)
        if reader.kind(entry) == SYMLINK:
            assert reader.target(entry) == os.readlink(name)
        elif reader.kind(entry) != DIRECTORY:
            with open(name, "rb") as file:
                assert b"".join(reader.pieces(entry)) == file.read()


def test_hard_links_name_their_file(source, reader):
    links = [e for e in range(reader.entries) if reader.kind(e) == HARDLINK]
    assert len(links) == reader.hardlinks == 2
    for link in links:
        assert os.path.samefile(os.fsencode(source) + b"/" + reader.paths[reader.inode(link)],
                                os.fsencode(source) + b"/" + reader.paths[link])


def test_aliases_are_there_where_they_were_asked_for(request, reader):
    aliases = {os.path.basename(reader.paths[e]) for e in range(reader.entries)
               if reader.kind(e) == ALIAS}
    asked = "once" in request.node.name
    assert aliases == ({b"photo.JPEG", b"file again"} if asked else set())


def test_references_name_the_path_that_the_bytes_are_under(reader):
    for entry, path in enumerate(reader.paths):
        if reader.kind(entry) in (HARDLINK, ALIAS):
            key = path if len(path) <= 511 else b"\0path." + xxh128(path)
            holder = reader.holder(entry)
            assert reader.kind(holder) == FILE
            assert bytes(reader.txn.get(key)) == b"\0foldfs-link\n" + reader.paths[holder]


def test_children_are_ranges_sorted_by_name_depth_first(reader):
    expected, order = [0], 1
    while expected:
        directory = expected.pop()
        count = reader.size(directory)
        children = range(order, order + count)
        assert reader.start(directory) == (order if count else 0)
        assert all(reader.column[b"parent"][child] == directory for child in children)
        assert [reader.names[c] for c in children] == sorted(reader.names[c] for c in children)
        order += count
        expected += [c for c in reversed(children) if reader.kind(c) == DIRECTORY]
    assert order == reader.entries


def test_counts_of_the_superblock_are_those_of_the_index(reader):
    kinds = reader.column[b"kind"]
    files = [e for e in range(reader.entries) if reader.is_file(e)]
    assert len(kinds) == reader.entries
    assert len(files) == reader.files
    assert kinds.count(DIRECTORY) == reader.directories
    assert kinds.count(SYMLINK) == reader.symlinks
    assert sum(reader.size(e) for e in files) == reader.bytes


def test_sections_have_the_place_shape_and_sum_that_the_superblock_says(reader):
    for name, (offset, size, rows, sum_, width, zero) in reader.refs.items():
        data = reader.raw[name]
        assert os.pread(reader.file.fileno(), size, offset) == data
        assert (xxh64(data), rows * width, zero) == (sum_, size if width else 0, 0), name
    assert reader.top[752:4064] == bytes(3312)
    assert struct.unpack_from("<Q", reader.top, 4088)[0] == xxh64(reader.top[:4088])


def test_each_extent_has_its_checksum_in_entry_order(reader):
    for entry in range(reader.entries):
        if reader.is_file(entry):
            data, at = b"".join(reader.pieces(entry)), reader.first_extent[entry]
            for number, start in enumerate(range(0, len(data), MIB)):
                assert reader.column[b"sums"][at + number] == xxh64(data[start:start + MIB])


def test_the_id_is_the_digest_that_the_page_defines(reader, pack):
    links = [struct.pack("<Q", reader.start(e)) for e in range(reader.entries)
             if reader.kind(e) == HARDLINK]
    content = reader.raw | {b"kind": bytes(reader.kind(reader.holder(e))
                                           if reader.kind(e) == ALIAS else reader.kind(e)
                                           if reader.kind(e) != OF_BASE else FILE
                                           for e in range(reader.entries))}
    digest = xxh128(b"".join([content[name] for name in IN_ID] + links))
    assert reader.id.hex().encode() == digest
    shown = subprocess.run([FOLDPACK, "info", pack], check=True, capture_output=True).stdout
    assert digest in shown


def test_the_content_id_is_the_sum_that_the_page_defines(reader, pack):
    total = 0
    for entry, path in enumerate(reader.paths):
        kind = reader.kind(entry)
        if kind == DIRECTORY and reader.size(entry) == 0:
            rest = b"\1"
        elif kind == SYMLINK:
            rest = b"\3" + reader.target(entry)
        elif kind != DIRECTORY:
            inode = reader.inode(entry)
            size, first = reader.size(inode), reader.first_extent[inode]
            sums = reader.column[b"sums"][first:first - (-size // MIB)]
            rest = b"\2" + struct.pack(f"<Q{len(sums)}Q", size, *sums)
        else:
            continue
        total += int(xxh128(path + b"\0" + rest), 16)
    content_id = (total % 2**128).to_bytes(16, "big")
    assert reader.compat == 1 and reader.top[4072:4088] == content_id
    shown = subprocess.run([FOLDPACK, "info", pack], check=True, capture_output=True).stdout
    assert content_id.hex().encode() in shown


def test_reserved_keys_come_first_and_all_others_are_paths(reader):
    keys = [bytes(key) for key in reader.txn.cursor().iternext(values=False)]
    reserved = [key for key in keys if key[:1] == b"\0"]
    short = [p for e, p in enumerate(reader.paths)
             if reader.kind(e) in (FILE, HARDLINK, ALIAS) and len(p) <= 511]
    assert keys[0] == b"\0foldfs" and keys[:len(reserved)] == reserved
    assert sorted(short) == keys[len(reserved):]
    assert sum(key.startswith(b"\0path.") for key in reserved) == 2


def test_offsets_are_void_when_another_tool_has_moved_the_pages(pack, reader, tmp_path):
    assert not reader.offsets_are_void()
    # Makes holes that a compacting copy closes.
    os.chmod(pack, 0o644)
    with lmdb.open(os.fspath(pack), subdir=False, lock=False, map_size=1 << 30) as env:
        with env.begin(write=True) as txn:
            txn.put(b"b/small.txt", b"y" * 12)
        with open(tmp_path / "moved.lmdb", "wb") as moved:
            env.copyfd(moved.fileno(), compact=True)
    moved = Reader(tmp_path / "moved.lmdb")
    assert moved.offsets_are_void()
    photo = moved.paths.index(b"b/photo.JPEG")
    assert xxh64(b"".join(moved.pieces(photo))) == moved.column[b"sums"][moved.first_extent[photo]]


def test_a_delta_names_the_entries_of_its_base_that_have_the_bytes(source, tmp_path):
    (source / "gone").write_bytes(b"gone")
    (source / "top").rename(tmp_path / "top")
    base = Reader(make(source, tmp_path, "--dedup").rename(tmp_path / "base.lmdb"))
    (source / "gone").unlink()
    (tmp_path / "top").rename(source / "top")
    (source / "b/small.txt").write_bytes(b"changed")
    pack = make(source, tmp_path, f"--since={tmp_path}/base.lmdb", "--dedup")
    reader = Reader(pack, base)
    assert b"base=%s\n" % base.top[80:96].hex().encode() in reader.raw[b"options"]
    stored = {p for e, p in enumerate(reader.paths) if reader.kind(e) in (FILE, SPLIT, ALIAS)}
    assert stored == {b"top", b"b/small.txt"}
    keys = {bytes(key) for key in reader.txn.cursor().iternext(values=False)}
    assert {key for key in keys if key[:1] != b"\0"} == stored
    test_paths_kinds_modes_and_times_are_those_of_the_source(source, reader)
    test_bytes_and_sizes_are_those_of_the_source(source, reader)
    test_counts_of_the_superblock_are_those_of_the_index(reader)
    test_each_extent_has_its_checksum_in_entry_order(reader)
    test_the_id_is_the_digest_that_the_page_defines(reader, pack)
    test_the_content_id_is_the_sum_that_the_page_defines(reader, pack)


@pytest.mark.slow
def test_a_file_over_1_gib_is_stored_in_parts(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    with open(src / "large", "wb") as file:
        file.truncate(GIB + 5)
        for at in (0, 64 * MIB - 2, GIB):
            file.seek(at)
            file.write(b"MARK")
    os.link(src / "large", src / "other name")
    reader = Reader(make(src, tmp_path))
    entry = reader.paths.index(b"large")
    assert reader.kind(entry) == SPLIT and reader.txn.get(b"large") is None
    assert len(reader.column[b"parts"]) == 17
    with open(src / "large", "rb") as file:
        for piece in reader.pieces(reader.paths.index(b"other name")):
            assert piece == file.read(len(piece))
        assert file.read() == b""
    os.unlink(tmp_path / "pack.lmdb")  # pytest would keep a gigabyte of it
