"""Packs that are none, are damaged, or lie in odd places: what cannot be mounted is refused with
a name and a reason, and what is damaged costs only itself."""

import contextlib
import errno
import os
import shutil
import subprocess

import pytest

import foldfs
import trees
from fields import Fields
from foldfs import FOLDFS, PATIENCE, SOMEBODY, as_user, is_mounted, is_root, needs, run


@pytest.fixture
def own(small, place):
    """(source, pack): a pack of the test's own, which may be written to."""
    source, pack = small
    shutil.copyfile(pack, place / "own.lmdb")
    return source, place / "own.lmdb"


def refused(pack, point, status):
    done = run(FOLDFS, pack, point, status=status)
    assert done.err.startswith(f"foldfs: {pack}: ") and done.err.count("\n") == 1, done.err
    assert not is_mounted(point)
    return done.err


@contextlib.contextmanager
def fails_with_eio():
    with pytest.raises(OSError) as raised:
        yield
    assert raised.value.errno == errno.EIO


def patch(pack, at, data):
    with open(pack, "r+b") as file:
        file.seek(at)
        file.write(data)


# --- not a pack ---------------------------------------------------------------------------


def test_a_missing_pack(point, place):
    assert "No such file" in refused(place / "missing", point, 1)


def test_a_pipe_and_a_device(point, place):
    os.mkfifo(place / "pipe")
    assert "not a regular file" in refused(place / "pipe", point, 1)
    assert "not a regular file" in refused("/dev/null", point, 1)


@pytest.mark.parametrize("records", [{}, {b"key": b"value"}, {b"\0foldfs": b"short"}],
                         ids=["empty", "plain", "short superblock"])
def test_an_lmdb_that_is_no_pack(point, place, records):
    lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")
    with lmdb.open(os.fspath(place / "other.lmdb"), subdir=False, lock=False) as other, \
            other.begin(write=True) as transaction:
        for key, value in records.items():
            transaction.put(key, value)
    done = run(FOLDFS, place / "other.lmdb", point, status=None)
    assert done.returncode == (3 if b"\0foldfs" in records else 1)
    assert done.err.startswith(f"foldfs: {place}/other.lmdb: ") and done.err.count("\n") == 1
    assert not is_mounted(point)


@is_root
@needs("setpriv")
def test_a_pack_that_may_not_be_read(own, place):
    own[1].chmod(0o600)
    (place / "user").mkdir()
    os.chown(place / "user", SOMEBODY, SOMEBODY)
    done = run(*as_user(SOMEBODY), FOLDFS, own[1], place / "user", status=1)
    assert done.err == f"foldfs: {own[1]}: Permission denied\n"


# --- a damaged pack -----------------------------------------------------------------------


def test_a_damaged_index(own, point):
    """The names are read at every mount."""
    Fields(own[1])["names[0]"] ^= 1
    assert "damaged index: checksum mismatch in section names" in refused(own[1], point, 3)


@pytest.mark.parametrize("name", ["mode", "mtime"])
def test_attributes_that_are_damaged_are_said_once(own, mount, name):
    Fields(own[1])[f"{name}[0]"] ^= 1
    mounted = mount(own[1], "-f")
    for _ in range(3):
        with fails_with_eio():
            os.stat(mounted / "file")
    mounted.close()
    said = mounted.said + mounted.log()
    assert said.splitlines()[:-1] == [
        f"foldfs: {own[1]}: cannot look up any file: damaged index: checksum mismatch in section "
        f"{name}; 'foldpack verify' lists all that is damaged"]


def test_checksums_that_are_damaged_are_said_once(own, mount):
    Fields(own[1])["sums[0]"] ^= 1
    mounted = mount(own[1], "-f")
    for _ in range(3):
        with fails_with_eio():
            (mounted / "file").read_bytes()
    mounted.close()
    said = mounted.said + mounted.log()
    assert said.splitlines()[1:] == [
        f"foldfs: {own[1]}: no file can be read but with '--verify=off': damaged index: checksum "
        "mismatch in section sums; 'foldpack verify' lists all that is damaged"]
    unchecked = mount(own[1], "--verify=off")
    assert (unchecked / "file").read_bytes() == (own[0] / "file").read_bytes()


@is_root
def test_damaged_modes_cost_what_needs_them(own, point):
    """Of a file that nothing can be said of, nothing is noted either. Mounted by the caller, for a
    kernel that asks for the file although it knows nothing of the root."""
    Fields(own[1])["mode[0]"] ^= 1
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id=0,group_id=0"
    assert foldfs.libc.mount(b"own", os.fsencode(point), b"fuse.foldfs", 7, options.encode()) == 0
    with subprocess.Popen([FOLDFS, "-f", "-q", own[1], f"/dev/fd/{fd}"], pass_fds=[fd]) as process:
        os.close(fd)
        try:
            for name in ("file", "folder", "file"):
                with fails_with_eio():
                    os.stat(point / name)
            with pytest.raises(FileNotFoundError):
                os.stat(point / "missing")
        finally:
            foldfs.detach(point)
        assert process.wait(PATIENCE) == 0


def test_one_flipped_byte_costs_one_file(own, mount):
    source, pack = own
    want = (source / "large").read_bytes()
    at = pack.read_bytes().index(want[:64])
    patch(pack, at + 100, bytes([want[100] ^ 1]))

    mounted = mount(pack, "-f")
    for _ in range(3):
        with fails_with_eio():
            (mounted / "large").read_bytes()
    # The second MiB has a checksum of its own.
    with open(mounted / "large", "rb") as file:
        assert os.pread(file.fileno(), 4096, len(want) - 4096) == want[-4096:]
    for name in ("file", "folder/other", "program"):
        assert (mounted / name).read_bytes() == (source / name).read_bytes()
    assert os.stat(mounted / "large").st_size == len(want)
    stats = mounted.stats()
    assert stats["bad_files"] == 1
    mounted.close()
    log = mounted.log()
    assert log.count("\n") == 1 and "'large' at 0: checksum mismatch" in log and str(pack) in log


def test_verify_off_serves_a_flipped_byte(own, mount):
    source, pack = own
    want = bytearray((source / "large").read_bytes())
    at = pack.read_bytes().index(want[:64])
    want[100] ^= 1
    patch(pack, at + 100, want[100:101])
    mounted = mount(pack, "--verify=off")
    assert (mounted / "large").read_bytes() == want
    assert mounted.stats()["bad_files"] == 0


# --- what happens to a pack while it is mounted -------------------------------------------


def test_a_pack_that_is_deleted_renamed_or_replaced(own, place, images, mount):
    source, pack = own
    mounted = mount(pack)
    pack.rename(place / "renamed.lmdb")
    assert (mounted / "file").read_bytes() == b"content\n"
    shutil.copy(images[1], pack)
    assert (mounted / "program").read_bytes() == (source / "program").read_bytes()
    (place / "renamed.lmdb").chmod(0o400)
    os.replace(pack, place / "renamed.lmdb")
    assert trees.content(mounted) == trees.content(source)


def test_a_pack_that_is_deleted(own, mount):
    source, pack = own
    mounted = mount(pack)
    pack.unlink()
    assert trees.content(mounted) == trees.content(source)


def overwritten(mounted, source, log):
    with fails_with_eio():
        (mounted / "large").read_bytes()
    with pytest.raises(OSError):
        (mounted / "folder/other").read_bytes()
    # The tree is in memory and stays.
    assert set(os.listdir(mounted)) == set(os.listdir(source))
    assert mounted.stats()["bad_files"] == 2
    mounted.close()
    said = mounted.log()
    assert said.count("\n") == 1 and log in said, said


def test_a_pack_that_is_overwritten_in_place(own, images, mount):
    source, pack = own
    mounted = mount(pack, "-f")
    assert (mounted / "file").read_bytes() == b"content\n"
    shutil.copyfile(images[1], pack)
    overwritten(mounted, source, f"{pack}: was written to while mounted")


def test_a_pack_that_is_truncated_while_mounted(own, mount):
    source, pack = own
    mounted = mount(pack, "-f")
    os.stat(mounted)  # modes and times are read when first asked for
    os.truncate(pack, 4096)
    overwritten(mounted, source, str(pack))


def test_a_pack_that_lmdb_writes_to(own, mount):
    lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")
    source, pack = own
    mounted = mount(pack, "-f")
    with lmdb.open(os.fspath(pack), subdir=False, lock=False, map_size=1 << 26) as other, \
            other.begin(write=True) as transaction:
        transaction.put(b"new", b"x" * 100000)
    overwritten(mounted, source, f"{pack}: was written to while mounted")


# --- where a pack lies --------------------------------------------------------------------


def only_the_pack(folder, pack):
    assert os.listdir(folder) == [pack.name], "something was left beside the pack"


@is_root
@needs("fusermount3", "setpriv")
def test_another_s_pack_in_a_folder_of_another(small, place, mount, device_for_users):
    """Mode 0444, and nothing there may be written."""
    (place / "packs").mkdir()
    pack = shutil.copy(small[1], place / "packs/pack.lmdb")
    os.chmod(pack, 0o444)
    os.chmod(place / "packs", 0o555)
    (place / "own").mkdir()
    os.chown(place / "own", SOMEBODY, SOMEBODY)
    mounted = mount(pack, at=place / "own", uid=SOMEBODY)
    run(*as_user(SOMEBODY), "diff", "-r", small[0], mounted)
    only_the_pack(place / "packs", pack)


@contextlib.contextmanager
def mounted_on(folder, *mount_words):
    folder.mkdir()
    run("mount", *mount_words, folder)
    try:
        yield folder
    finally:
        run("umount", folder)


@is_root
@pytest.mark.parametrize("kind", ["tmpfs", "read-only", "overlay"])
def test_a_pack_on_another_filesystem(small, place, mount, kind):
    for name in ("lower", "upper", "work"):
        (place / name).mkdir()
    shutil.copy(small[1], place / "lower/pack.lmdb")
    layers = f"lowerdir={place}/lower,upperdir={place}/upper,workdir={place}/work"
    words = {"tmpfs": ["-t", "tmpfs", "none"], "read-only": ["--bind", "-o", "ro", place / "lower"],
             "overlay": ["-t", "overlay", "-o", layers, "none"]}
    with mounted_on(place / "there", *words[kind]) as folder:
        if kind == "tmpfs":
            shutil.copy(small[1], folder / "pack.lmdb")
        mounted = mount(folder / "pack.lmdb")
        assert "; tmpfs, " in mounted.said or kind != "tmpfs"
        assert trees.content(mounted) == trees.content(small[0])
        only_the_pack(folder, folder / "pack.lmdb")
        mounted.close()


def test_a_pack_whose_path_is_odd(small, place, mount):
    for name in ("with space", "new\nline", "comma,equals=", "back\\slash", "-x"):
        pack = shutil.copy(small[1], place / name)
        mounted = mount(pack)
        [line] = foldfs.mount_lines(mounted)
        assert line.source == os.fsencode(pack)
        assert "already mounted" in run(FOLDFS, pack, mounted).err
        mounted.close()


# --- odd packs ----------------------------------------------------------------------------


def test_an_empty_pack(place, mount):
    (place / "source").mkdir()
    mounted = mount(foldfs.pack(place / "source", place / "pack.lmdb"))
    assert os.listdir(mounted) == []
    assert os.statvfs(mounted).f_blocks == 0
