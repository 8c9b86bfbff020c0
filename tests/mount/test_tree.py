"""The mount is the packed folder: the same names, types, attributes and bytes, for whoever
looks, and nobody can change it."""

import ctypes
import errno
import os
import shutil
import stat

import pytest

import foldfs
import trees
from foldfs import MIB, is_root, libc, needs, run

ENTRIES = 20000


@pytest.fixture(scope="module")
def tree(hostile, session_dir):
    """(source, mount) of the hostile folder, for all tests that only look."""
    source, pack = hostile
    point = session_dir / "tree"
    point.mkdir()
    with foldfs.mounted(pack, point) as mount:
        yield source, mount


@pytest.fixture(scope="module")
def crowd(session_dir):
    """A mounted folder with very many names in it, and the names."""
    source, point = session_dir / "crowd", session_dir / "crowd-mnt"
    (source / "folder").mkdir(parents=True)
    point.mkdir()
    names = {f"{number * 7919 % ENTRIES:05}{'x' * (number % 100)}" for number in range(ENTRIES)}
    for name in names:
        os.close(os.open(source / "folder" / name, os.O_CREAT | os.O_WRONLY))
    pack = foldfs.pack(source, session_dir / "crowd.lmdb")
    with foldfs.mounted(pack, point) as mount:
        yield os.fspath(mount / "folder"), names


# --- other programs' eyes -----------------------------------------------------------------


def test_diff_finds_none(tree):
    source, mount = tree
    run("diff", "-r", "--no-dereference", source, mount)


@needs("rsync")
def test_rsync_would_copy_nothing(tree):
    source, mount = tree
    done = run("rsync", "--archive", "--hard-links", "--checksum", "--no-owner", "--no-group",
               "--delete", "--dry-run", "--itemize-changes", f"{mount.path}/", f"{source}/")
    assert done.out == ""


# --- attributes ---------------------------------------------------------------------------


def test_every_attribute_is_the_source_s(tree):
    source, mount = tree
    seen = 0
    for path in trees.paths(source):
        want = os.lstat(os.path.join(os.fsencode(source), path))
        have = os.lstat(os.path.join(os.fsencode(mount), path))
        seen += 1
        assert stat.S_IFMT(have.st_mode) == stat.S_IFMT(want.st_mode), path
        assert stat.S_IMODE(have.st_mode) == stat.S_IMODE(want.st_mode), path
        assert have.st_mtime_ns == want.st_mtime_ns, path
        assert have.st_nlink == want.st_nlink, path
        assert (have.st_uid, have.st_gid) == (os.getuid(), os.getgid()), path
        assert have.st_blksize == 131072, path
        if not stat.S_ISDIR(want.st_mode):
            assert have.st_size == want.st_size, path
            assert have.st_blocks == -(-have.st_size // 512), path
    assert seen > 80


def test_root_has_the_source_s_attributes(tree):
    source, mount = tree
    want, have = os.stat(source), os.stat(mount)
    assert have.st_mtime_ns == want.st_mtime_ns
    assert (have.st_mode, have.st_nlink) == (want.st_mode, want.st_nlink)
    assert have.st_ino == 1


def test_listing_and_stat_name_the_same_inode(tree):
    _, mount = tree
    for folder, _, _ in os.walk(os.fsencode(mount)):
        for entry in os.scandir(folder):
            assert entry.inode() == os.lstat(entry.path).st_ino
            assert entry.is_symlink() or \
                entry.is_dir() == stat.S_ISDIR(os.lstat(entry.path).st_mode)


def test_no_two_files_share_an_inode(tree):
    source, mount = tree
    inodes = {os.lstat(os.path.join(os.fsencode(mount), path)).st_ino
              for path in trees.paths(source)}
    originals = {os.lstat(os.path.join(os.fsencode(source), path)).st_ino
                 for path in trees.paths(source)}
    assert len(inodes) == len(originals)


def test_inodes_are_the_same_at_every_mount(hostile, place, mount):
    source, pack = hostile

    def inodes(mounted):
        return [os.lstat(os.path.join(os.fsencode(mounted), path)).st_ino
                for path in trees.paths(source)]

    first = mount(pack)
    before = inodes(first)
    first.close()
    assert inodes(mount(pack)) == before


def test_d_type_is_always_filled(tree):
    _, mount = tree
    kinds = set()
    for name, kind, _ in entries(mount / "links"):
        kinds.add(kind)
        whole = os.path.join(os.fsencode(mount), b"links", name)
        assert kind == stat.S_IFMT(os.lstat(whole).st_mode) >> 12, name
    assert kinds == {4, 8, 10}


def test_statfs_tells_of_the_pack(tree):
    source, mount = tree
    found = os.statvfs(mount)
    # Hard links hold their bytes once.
    sizes = {os.lstat(path).st_ino: os.lstat(path).st_size
             for path in (os.path.join(os.fsencode(source), path) for path in trees.files(source))}
    assert found.f_blocks * found.f_frsize == -(-sum(sizes.values()) // 4096) * 4096
    assert found.f_files == sum(1 for _ in trees.paths(source)) + 1
    assert (found.f_bfree, found.f_ffree, found.f_namemax) == (0, 0, 255)
    assert found.f_flag & os.ST_RDONLY and found.f_flag & os.ST_NOSUID


def test_only_the_root_has_an_attribute(tree):
    _, mount = tree
    assert "version" in mount.stats()
    for path, name in ((mount / "sizes", foldfs.STATS), (mount.path, "user.other"),
                       (mount / "sizes/1", "security.capability")):
        with pytest.raises(OSError) as raised:
            os.getxattr(path, name)
        assert raised.value.errno == errno.ENODATA
    # ... and asking for others has not silenced the stats.
    assert "version" in mount.stats()


def test_no_attributes_are_listed(tree):
    """Not even the stats: what copies attributes would take them along."""
    _, mount = tree
    for path in (mount.path, mount / "sizes", mount / "sizes/1"):
        assert os.listxattr(path) == []
    assert libc.listxattr(os.fsencode(mount), None, 0) == 0
    assert mount.requests()["listxattr"] >= 4


@foldfs.needs("tar")
def test_programs_that_keep_attributes_have_nothing_to_say(tree, place):
    _, mount = tree
    folder = mount / "sizes"
    done = foldfs.run("tar", "--xattrs", "--xattrs-include=*", "-cf", place / "copy.tar", folder)
    assert "xattr" not in done.err and "upported" not in done.err
    assert foldfs.run("cp", "-a", folder, place / "copy").err == ""
    if foldfs.find_program("rsync"):
        assert foldfs.run("rsync", "-aX", f"{folder}/", place / "synced/").err == ""
    if foldfs.find_program("getfattr"):
        assert foldfs.run("getfattr", "-d", mount.path).out == ""


def test_stats_do_not_fit_into_too_small_a_buffer(tree):
    _, mount = tree
    buffer = ctypes.create_string_buffer(10)
    path, name = os.fsencode(mount), foldfs.STATS.encode()
    assert libc.getxattr(path, name, buffer, 10) == -1
    assert ctypes.get_errno() == errno.ERANGE


# --- names --------------------------------------------------------------------------------


def test_names_that_cannot_be_are_refused(tree):
    _, mount = tree
    for name, error in (("n" * 256, errno.ENAMETOOLONG), ("not there", errno.ENOENT),
                        ("sizes/1/below a file", errno.ENOTDIR), ("sizes/1/", errno.ENOTDIR),
                        ("nn", errno.ENOENT), ("siz", errno.ENOENT), ("sizess", errno.ENOENT)):
        with pytest.raises(OSError) as raised:
            os.stat(mount / name if not name.endswith("/") else f"{mount.path}/{name}")
        assert raised.value.errno == error, name


def test_symbolic_links_lead_where_they_led(tree):
    source, mount = tree
    links = mount / "links"
    assert (links / "to file").read_bytes() == b"target"
    assert (links / "to folder" / "inside").read_bytes() == b"inside"
    assert (links / "up").read_bytes() == b"target"
    assert os.path.samefile(links / "absolute", "/etc/passwd")
    assert not (links / "dangling").exists() and (links / "dangling").is_symlink()
    with pytest.raises(OSError) as raised:
        (links / "loop").read_bytes()
    assert raised.value.errno == errno.ELOOP
    # Where the kernel keeps targets: asked twice, the same both times.
    for _ in range(2):
        for name in os.listdir(source / "links"):
            if os.path.islink(source / "links" / name):
                assert os.readlink(links / name) == os.readlink(source / "links" / name)


# --- listing ------------------------------------------------------------------------------


class Dirent(ctypes.Structure):
    _fields_ = [("inode", ctypes.c_uint64), ("offset", ctypes.c_int64),
                ("length", ctypes.c_ushort), ("kind", ctypes.c_ubyte),
                ("name", ctypes.c_char * 256)]


libc.opendir.restype = ctypes.c_void_p
libc.opendir.argtypes = [ctypes.c_char_p]
libc.readdir.restype = ctypes.POINTER(Dirent)
libc.telldir.restype = ctypes.c_long
for call in (libc.readdir, libc.telldir, libc.rewinddir, libc.closedir):
    call.argtypes = [ctypes.c_void_p]
libc.seekdir.argtypes = [ctypes.c_void_p, ctypes.c_long]


class Listing:
    """opendir(3) and its family: what os.scandir does not show."""

    def __init__(self, path):
        self.handle = libc.opendir(os.fsencode(path))
        assert self.handle, os.strerror(ctypes.get_errno())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        libc.closedir(self.handle)

    def next(self):
        entry = libc.readdir(self.handle)
        return (entry[0].name, entry[0].kind, entry[0].inode) if entry else None

    def rest(self):
        return list(iter(self.next, None))

    def tell(self):
        return libc.telldir(self.handle)

    def seek(self, place):
        libc.seekdir(self.handle, place)

    def rewind(self):
        libc.rewinddir(self.handle)


def entries(path):
    with Listing(path) as listing:
        return listing.rest()


def test_a_crowded_folder_lists_every_name_once_in_order(crowd):
    path, names = crowd
    for _ in range(2):
        found = [entry.name for entry in os.scandir(path)]
        assert len(found) == ENTRIES
        assert set(found) == names
        assert found == sorted(found)


def test_dot_and_dot_dot_come_first(crowd):
    path, _ = crowd
    with Listing(path) as listing:
        own, parent = listing.next(), listing.next()
    assert own == (b".", 4, os.stat(path).st_ino)
    assert parent == (b"..", 4, os.stat(os.path.dirname(path)).st_ino)


def test_seekdir_returns_to_where_telldir_was(crowd):
    path, _ = crowd
    with Listing(path) as listing:
        places = []
        while True:
            place, entry = listing.tell(), listing.next()
            if not entry:
                break
            places.append((place, entry))
        assert len(places) == ENTRIES + 2
        for place, entry in places[::-997] + places[::503]:
            listing.seek(place)
            assert listing.next() == entry


def test_listings_start_anew_and_do_not_disturb_each_other(crowd):
    path, _ = crowd
    with Listing(path) as one, Listing(path) as two:
        first = [one.next() for _ in range(3000)]
        assert [two.next() for _ in range(10000)][:3000] == first
        assert len(one.rest()) == ENTRIES + 2 - 3000
        assert one.next() is None
        one.rewind()
        assert [one.next() for _ in range(3000)] == first


# --- nobody changes anything --------------------------------------------------------------

CHANGES = {
    "open for writing": lambda path: os.open(path / "sizes/1", os.O_WRONLY),
    "open for both": lambda path: os.open(path / "sizes/1", os.O_RDWR),
    "open to truncate": lambda path: os.open(path / "sizes/1", os.O_TRUNC | os.O_WRONLY),
    "create": lambda path: os.open(path / "new", os.O_CREAT | os.O_WRONLY),
    "create in a folder": lambda path: os.open(path / "sizes/new", os.O_CREAT | os.O_RDONLY),
    "unnamed file": lambda path: os.open(path, os.O_TMPFILE | os.O_WRONLY),
    "mkdir": lambda path: os.mkdir(path / "new"),
    "rmdir": lambda path: os.rmdir(path / "empty/empty in empty"),
    "unlink": lambda path: os.unlink(path / "sizes/1"),
    "rename": lambda path: os.rename(path / "sizes/1", path / "sizes/new"),
    "rename over": lambda path: os.rename(path / "sizes/1", path / "sizes/511"),
    "link": lambda path: os.link(path / "sizes/1", path / "sizes/new"),
    "symlink": lambda path: os.symlink("1", path / "sizes/new"),
    "mkfifo": lambda path: os.mkfifo(path / "new"),
    "chmod": lambda path: os.chmod(path / "sizes/1", 0o777),
    "chmod root": lambda path: os.chmod(path, 0o777),
    "chown": lambda path: os.chown(path / "sizes/1", os.getuid(), os.getgid()),
    "utime": lambda path: os.utime(path / "sizes/1"),
    "truncate": lambda path: os.truncate(path / "sizes/1", 0),
    "setxattr": lambda path: os.setxattr(path / "sizes/1", "user.new", b"value"),
    "set the stats": lambda path: os.setxattr(path, foldfs.STATS, b"value"),
    "removexattr": lambda path: os.removexattr(path / "sizes/1", "user.new"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_gives_erofs(tree, change):
    _, mount = tree
    with pytest.raises(OSError) as raised:
        CHANGES[change](mount.path)
    assert raised.value.errno == errno.EROFS


def test_a_file_cannot_be_mapped_for_writing(tree):
    _, mount = tree
    prot_write, map_shared, failed = 2, 1, ctypes.c_void_p(-1).value
    libc.mmap.restype = ctypes.c_void_p
    fd = os.open(mount / "sizes/4096", os.O_RDONLY)
    assert libc.mmap(None, 4096, prot_write, map_shared, fd, 0) == failed
    assert ctypes.get_errno() == errno.EACCES
    os.close(fd)


@is_root
def test_the_mount_is_nosuid_and_nodev(tree):
    _, mount = tree
    [line] = foldfs.mount_lines(mount)
    assert {"ro", "nosuid", "nodev"} <= line.options
    assert line.type == "fuse.foldfs"
    assert line.source == os.fsencode(mount.pack.resolve())


# --- large files --------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_over_4_gib_is_whole(place, mount):
    free = shutil.disk_usage(place).free
    if free < 12 << 30:
        pytest.skip(f"{free >> 30} GiB free, 12 are needed: a pack stores zeros, too")
    size = (4 << 30) + 3 * MIB + 17
    marks = {0: b"head", MIB - 2: b"over a MiB", (1 << 30) - 3: b"over a GiB",
             (2 << 30) + 12345: b"middle", (4 << 30) - 4: b"over 4 GiB", size - 4: b"tail"}
    (place / "source").mkdir()
    with open(place / "source/large", "wb") as file:
        file.truncate(size)
        for offset, mark in marks.items():
            os.pwrite(file.fileno(), mark, offset)
    mounted = mount(foldfs.pack(place / "source", place / "pack.lmdb"))
    have = os.stat(mounted / "large")
    assert (have.st_size, have.st_blocks) == (size, -(-size // 512))
    with open(mounted / "large", "rb") as file:
        for offset, mark in marks.items():
            around = os.pread(file.fileno(), len(mark) + 8, max(offset - 4, 0))
            assert around.strip(b"\0") == mark
        assert os.pread(file.fileno(), 100, size) == b""
        assert os.lseek(file.fileno(), 0, os.SEEK_END) == size
