"""Files of other formats in the place of a pack: what all formats have in common. The format here
is an LMDB whose keys are paths."""

import re
import struct

import pytest

import foldfs
import foreign
import trees
from foldfs import FOLDFS, FOLDPACK, MIB, is_root, run
from foreign import write_lmdb
from formats import tfrecord
from gate import Changing, Gate

pytestmark = pytest.mark.usefixtures("indexes")

FILES = {f"{'cat' if n % 3 else 'dog'}/{n:03}.jpg": b"\xff\xd8\xff\xe0" + trees.noise(n, 70 * n)
         for n in range(200)} | {"cat/big.jpg": trees.noise(1000, 3 * MIB)}


@pytest.fixture
def container(place):
    return write_lmdb(place / "files.lmdb", FILES)


@pytest.fixture
def index(container):
    return container.with_name(f".{container.name}.foldfs-index")


def test_a_mount_shows_the_files(container, shown):
    assert shown(container) == FILES


def test_the_second_mount_reads_the_index(container, index, shown):
    assert shown(container) == FILES
    before = index.stat()
    assert shown(container) == FILES
    after = index.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_file_that_was_written_to_is_looked_through_anew(container, index, shown):
    shown(container)
    before = index.read_bytes()
    more = FILES | {"cow/1.jpg": b"\xff\xd8\xff\xe0 new"}
    write_lmdb(container, {"cow/1.jpg": b"\xff\xd8\xff\xe0 new"})
    assert shown(container) == more
    assert index.read_bytes() != before


def test_the_index_of_a_release_that_scanned_otherwise_is_made_anew(container, index, shown):
    shown(container)
    good = index.read_bytes()
    other = re.sub(rb"\nscans=\d", b"\nscans=0", good)
    assert other != good
    index.write_bytes(other)
    assert shown(container) == FILES
    assert index.read_bytes() == good


def test_reads_fail_once_the_file_is_written_to(container, mount):
    mounted = mount(container)
    write_lmdb(container, {"cow/1.jpg": b"\xff\xd8\xff\xe0 new"})
    with pytest.raises(OSError):
        foreign.shown(mounted)


@pytest.fixture(params=["create", "mount"])
def refused(request, place, point):
    """What is said where a file that changes is to be packed, or mounted."""
    command, target = {"create": ([FOLDPACK, "create"], place / "x.lmdb"),
                       "mount": ([FOLDFS], point)}[request.param]

    def refuse(path):
        said = run(*command, path, target, status=1).err
        assert (f"{path}: changed while it was looked through; try again when nothing writes to "
                "it") in said
    return refuse


@is_root
def test_a_file_that_changes_while_it_is_looked_through_is_refused(place, refused, indexes):
    old, new = (tfrecord.write(place / "x", [
        {"image/encoded": b"\xff\xd8\xff" + trees.noise(seed + n, MIB),
         "image/class/label": seed + n} for n in range(4)], checked=False).read_bytes()
        for seed in (1, 11))
    with Changing(old, place / "gate", old.index(trees.noise(3, MIB)), new) as gate:
        refused(gate.path)
    assert not indexes.exists()


@is_root
def test_a_file_that_changes_once_it_was_looked_through_is_refused(container, place, refused,
                                                                   indexes):
    class ChangingLater(Gate):
        def attributes(self, node):
            self.written = int(indexes.exists())
            return super().attributes(node)

    with ChangingLater(container.read_bytes(), place / "gate", remembered=False) as gate:
        refused(gate.path)


def test_a_damaged_index_is_made_anew(container, index, shown):
    shown(container)
    good = index.read_bytes()
    at = len(good) // 2
    for bad in good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1:], good[:at], b"":
        index.write_bytes(bad)
        assert shown(container) == FILES


@is_root
def test_the_index_goes_to_the_cache_where_it_cannot_lie_beside(container, index, session_dir,
                                                                monkeypatch):
    """And into memory, where that cannot be written to either, or there is no home."""
    cache = session_dir / "home of an index"
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    run("mount", "--bind", container.parent, container.parent)
    try:
        run("mount", "-o", "remount,bind,ro", container.parent)
        assert run(FOLDPACK, "list", container).out.count("\n") == len(FILES)
        assert not index.exists()
        assert len(list((cache / "foldfs/index").iterdir())) == 1
        monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
        assert run(FOLDPACK, "list", container).out.count("\n") == len(FILES)
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setenv("HOME", str(session_dir / "no home"))
        assert run(FOLDPACK, "list", container).out.count("\n") == len(FILES)
        assert not (session_dir / "no home").exists()
    finally:
        run("umount", "-l", container.parent)


def test_names_beside_the_file_may_come_later(place, shown):
    """A list of RecordIO: with another list the tree is another one."""
    sample = b"\xff\xd8\xff\xe0 image"
    record = struct.pack("<IfQQ", 0, 1.0, 0, 0) + sample
    data = struct.pack("<II", 0xced7230a, len(record)) + record + bytes(-len(record) % 4)
    (place / "x.rec").write_bytes(data)
    assert list(shown(place / "x.rec")) == ["0001/x-00000000.JPEG"]
    for name in ("cat/a.jpg", "dog/b.jpg"):
        (place / "x.lst").write_text(f"0\t1.0\t{name}\n")
        assert list(shown(place / "x.rec")) == [name]
    (place / "x.lst").unlink()
    assert list(shown(place / "x.rec")) == ["0001/x-00000000.JPEG"]


def test_no_glob_finds_the_index(container, place, shown):
    shown(container)
    assert sorted(name.name for name in place.glob("files*")) == ["files.lmdb"]
    assert shown(f"{place}/files*") == FILES


def test_nobody_may_read_the_index_who_may_not_read_the_file(container, index):
    container.chmod(0o600)
    run(FOLDPACK, "list", container)
    assert index.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_an_environment_is_its_data(place, shown):
    (place / "env").mkdir()
    write_lmdb(place / "env/data.mdb", FILES)
    assert shown(place / "env") == FILES


def test_create_makes_a_pack_with_checksums(container, place, shown):
    run(FOLDPACK, "create", "--check=off", container, place / "made.lmdb")
    assert "all good" in run(FOLDPACK, "verify", place / "made.lmdb").err
    assert shown(place / "made.lmdb") == FILES


def test_commands_read_it(container, place):
    assert "cat/001.jpg" in run(FOLDPACK, "list", "-l", container).out
    assert "no checksums" in run(FOLDPACK, "verify", container).err
    assert "201" in run(FOLDPACK, "info", container).out
    run(FOLDPACK, "extract", container, place / "folder")
    assert foreign.shown(place / "folder") == FILES
    run(FOLDPACK, "diff", place / "folder", container)
    (place / "folder/cat/001.jpg").write_bytes(b"other")
    run(FOLDPACK, "diff", place / "folder", container, status=1)
    run(FOLDPACK, "report", "--output", place / "report.html", container)


def test_two_files_of_one_path_are_refused(place, point):
    """Without checksums nobody knows that their bytes are equal."""
    for part in range(2):
        write_lmdb(place / f"x-{part}.lmdb", {"cat/1.jpg": b"\xff\xd8\xff same",
                                              f"dog/{part}.jpg": b"\xff\xd8\xff"})
    done = run(FOLDFS, place / "x-0.lmdb", place / "x-1.lmdb", point, status=None)
    assert done.returncode != 0 and "cat/1.jpg" in done.err


def test_a_pack_and_another_file_are_one_tree(place, container, mount):
    source = place / "source/cow"
    source.mkdir(parents=True)
    trees.write(source / "1.jpg", b"moo")
    pack = foldfs.pack(source.parent, place / "pack.lmdb")
    mounted = mount(pack, container)
    assert foreign.shown(mounted) == FILES | {"cow/1.jpg": b"moo"}


def test_an_unknown_schema_is_refused_with_those_that_there_are(container, point):
    done = run(FOLDFS, "--schema=nonsense", container, point, status=None)
    assert done.returncode == 1 and "nonsense" in done.err and "folder2lmdb" in done.err


def test_what_no_format_knows_is_said_to_be_of_none(place, point):
    (place / "x").write_bytes(b"x" * 20000)
    assert "x: not an LMDB file, nor of another format that is known; 'foldpack create' makes " \
        "packs" in run(FOLDFS, place / "x", point, status=1).err


def test_the_page_lists_the_formats(container):
    said = run(FOLDPACK, "list", "--schema=none", container, status=1).err
    page = (foldfs.ROOT / "man/foldpack-formats.7").read_text()
    listed = set(re.findall(r"^\.It Cm (\w+)$", page, re.M))
    assert listed == set(said.split("there are ")[1].strip().split(", "))
