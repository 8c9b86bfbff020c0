"""A folder that is mounted as it is: nothing of it is packed."""

import errno
import os
import re
import shutil
import subprocess
import time

import pytest

import foldfs
import trees
from fields import Fields
from foldfs import FOLDFS, FOLDPACK, MIB, is_root, run
from gate import Gate

LISTED = re.compile(r"a folder as it is, without checksums: ([\d,]+) files?, listed ([^;]*); "
                    r"'--relist' lists it anew")


def listing_of(folder):
    return folder.with_name(f".{folder.name}.foldfs-index")


def fails(path, *codes):
    """The errno of reading it."""
    with pytest.raises(OSError) as failure:
        path.read_bytes()
    assert failure.value.errno in codes
    return failure.value.errno


@pytest.fixture
def folder(place):
    """One that a test may change: files of some sizes in two folders."""
    for number in range(20):
        trees.write(place / f"data/{'ab'[number % 2]}/{number:02}", trees.noise(number, 5000))
    return place / "data"


# --- it is the folder ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def tree(hostile, session_dir):
    """(source, mount) of all that a filesystem may hold."""
    point = session_dir / "folder-mnt"
    point.mkdir()
    with foldfs.mounted(hostile[0], point) as mount:
        yield hostile[0], mount


def test_it_is_the_folder(tree):
    source, mount = tree
    assert trees.content(mount) == trees.content(source)


def test_it_is_what_its_pack_is(tree, hostile, mount):
    packed = mount(hostile[1])
    for path, _, files in os.walk(packed.path):
        for name in [".", *files]:
            a = os.lstat(os.path.join(path, name))
            b = os.lstat(os.path.join(tree[1], os.path.relpath(path, packed.path), name))
            assert (a.st_mode, a.st_mtime_ns, a.st_nlink, a.st_size) == \
                (b.st_mode, b.st_mtime_ns, b.st_nlink, b.st_size)


@pytest.mark.parametrize("options", [["--io=buffered"], ["--pool=8M", "--cache=pool"],
                                     ["--preload"]])
def test_it_is_the_folder_however_it_is_read(bulk, mount, options):
    mounted = mount(bulk[0], *options)
    assert trees.content(mounted) == trees.content(bulk[0])


def test_without_a_mount(folder, point):
    done = run(FOLDFS, "--no-fuse", folder, point, "--", "diff", "-r", folder, point)
    assert done.out == ""


@pytest.fixture
def slow(bulk, place):
    """A mount of its own as the folder: on FUSE, a request may be a round trip."""
    (place / "slow").mkdir()
    with foldfs.mounted(bulk[1], place / "slow") as mount:
        yield mount


@pytest.mark.parametrize("options", [[], ["--pool=8M", "--cache=pool"], ["--preload"]])
def test_a_folder_of_another_machine_is_read_side_by_side(slow, mount, bulk, options):
    mounted = mount(slow.path, *options)
    assert trees.content(mounted) == trees.content(bulk[0])
    assert "a server's, file by file" in mounted.said
    mounted.close()


@is_root
def test_a_reader_does_not_wait_for_what_is_read_ahead(place, mount):
    """Of storage that hangs in a part of it."""
    with Gate(bytes(200 * MIB), place / "far") as gate:
        mounted = mount(gate.folder, "--preload", "--pool=400M")
        gate.held = range(199 * MIB)
        gate.shut()
        for _ in range(28):
            gate.wait_for_reader()
        with open(mounted / gate.path.name, "rb") as file:
            file.seek(199 * MIB + 5)
            assert len(file.read(1000)) == 1000
        gate.open()


def test_an_order_of_a_folder_of_another_machine(slow, mount, bulk, place):
    names = [os.fsdecode(path) for path in trees.files(bulk[0])]
    (place / "order").write_text("".join(f"{name}\n" for name in reversed(names)))
    mounted = mount(slow.path, "--pool=8M", "--cache=pool", f"--order={place}/order")
    for name in reversed(names):
        assert (mounted / name).read_bytes() == (bulk[0] / name).read_bytes()
    assert mounted.stats()["prefetch"]["used"] > 0
    mounted.close()


def test_a_large_file_with_holes(place, mount):
    path = trees.write(place / "data/large", b"")
    with open(path, "r+b") as file:
        file.truncate((5 << 30) + 3)
        file.seek((4 << 30) + MIB - 5)
        file.write(b"beyond four")
    mounted = mount(place / "data")
    with open(mounted / "large", "rb") as file:
        file.seek((4 << 30) + MIB - 10)
        assert file.read(20) == b"\0" * 5 + b"beyond four" + b"\0" * 4
        file.seek((5 << 30) + 1)
        assert file.read() == b"\0\0"


def test_an_empty_folder_and_one_of_one_file(place, point):
    (place / "data").mkdir()
    with foldfs.mounted(place / "data", point) as mount:
        assert os.listdir(mount) == []
        assert LISTED.search(mount.said)[1] == "0"
    trees.write(place / "data/x", b"x")
    with foldfs.mounted(place / "data", point, "--relist") as mount:
        assert (mount / "x").read_bytes() == b"x"


@pytest.mark.slow
def test_ten_thousand_folders(place, mount):
    for number in range(10000):
        trees.write(place / f"data/{number:05}/x", b"%d" % number)
    mounted = mount(place / "data")
    run("diff", "-r", place / "data", mounted)


# --- the listing --------------------------------------------------------------------------


def test_the_listing_is_kept_until_another_is_asked_for(folder, point):
    with foldfs.mounted(folder, point) as mount:
        assert LISTED.search(mount.said).groups() == ("20", "just now")
    (folder / "a/new").write_bytes(b"new")
    with foldfs.mounted(folder, point) as mount:
        assert not (mount / "a/new").exists()
    made = listing_of(folder).stat().st_mtime
    with foldfs.mounted(folder, point, "--relist") as mount:
        assert (mount / "a/new").read_bytes() == b"new"
    assert listing_of(folder).stat().st_mtime > made


def test_a_damaged_listing_is_made_anew(folder, point):
    run(FOLDPACK, "list", folder)
    listing = listing_of(folder)
    whole = listing.read_bytes()
    for at in (0, 5000, len(whole) // 2, len(whole) - 10):
        listing.write_bytes(whole[:at] + bytes([whole[at] ^ 255]) + whole[at + 1:])
        with foldfs.mounted(folder, point) as mount:
            run("diff", "-r", folder, mount)
    listing.write_bytes(whole[:-100])
    with foldfs.mounted(folder, point) as mount:
        run("diff", "-r", folder, mount)


def test_a_listing_that_names_a_file_beside_the_folder_is_made_anew(folder):
    run(FOLDPACK, "list", folder)
    fields = Fields(listing_of(folder))
    fields.data = fields.data.replace(b"format=folder", b"beside=x 0000")
    fields.seal()
    listing_of(folder).write_bytes(fields.data)
    assert "a/00" in run(FOLDPACK, "list", folder).out
    assert b"format=folder" in listing_of(folder).read_bytes()


def test_it_is_kept_elsewhere_where_the_folder_above_takes_none(folder, home, mount):
    listing_of(folder).mkdir()
    mount(folder)
    assert len(list((home / ".cache/foldfs/index").iterdir())) == 1


def test_what_cannot_be_in_it_is_counted_and_named(folder, mount):
    os.mkfifo(folder / "a/pipe")
    mounted = mount(folder)
    assert f"{folder}: left out, as they are no files: 1, such as 'a/pipe' (a named pipe)" \
        in mounted.said
    mounted.close()
    assert ", left out then: 1; '--relist' lists it anew" in mount(folder).said


# --- what changes -------------------------------------------------------------------------


def change(path):
    path.write_bytes(b"other bytes")


def rewrite(path):
    """As many bytes."""
    path.write_bytes(bytes(path.stat().st_size))


def link(path):
    path.unlink()
    path.symlink_to("/etc/passwd")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("how", [change, rewrite, link, pipe])
def test_a_file_that_changed_is_an_error_that_names_it(folder, mount, how):
    mounted = mount(folder, "-f")
    time.sleep(0.02)  # for another time of the last write
    how(folder / "a/00")
    fails(mounted / "a/00", errno.EIO)
    assert (mounted / "a/02").read_bytes() == (folder / "a/02").read_bytes()
    mounted.close()
    assert re.search(r"'a/00' at 0: it has changed since it was listed; '--relist' lists all anew",
                     mounted.log())


def test_a_file_that_is_gone_is_an_error_that_names_it(folder, mount):
    mounted = mount(folder, "-f")
    (folder / "a/00").unlink()
    shutil.rmtree(folder / "b")
    fails(mounted / "a/00", errno.EIO, errno.ENOENT)
    fails(mounted / "b/01", errno.EIO, errno.ENOENT)
    mounted.close()
    said = mounted.log()
    assert "'a/00' at 0: it is gone since it was listed; '--relist' lists all anew" in said
    assert "'b/01' at 0: it is gone since it was listed" in said


def test_no_link_leads_outside(folder, place, mount):
    """One that takes a folder's place."""
    trees.write(place / "outside/00", (folder / "a/00").read_bytes())
    os.utime(place / "outside/00", ns=(0, (folder / "a/00").stat().st_mtime_ns))
    mounted = mount(folder)
    (folder / "a").rename(place / "elsewhere")
    (folder / "a").symlink_to(place / "outside")
    fails(mounted / "a/00", errno.EIO)


def test_what_comes_back_is_read_again(folder, mount):
    mounted = mount(folder)
    (folder / "a/00").rename(folder / "a/away")
    fails(mounted / "a/00", errno.EIO, errno.ENOENT)
    (folder / "a/away").rename(folder / "a/00")
    assert (mounted / "a/00").read_bytes() == (folder / "a/00").read_bytes()


@pytest.fixture
def far(place):
    """A folder of another machine, of one file."""
    with Gate(trees.noise(1, 3 * MIB), place / "far") as gate:
        yield gate


@is_root
@pytest.mark.parametrize("error", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_a_failure_of_a_network_filesystem_passes(far, mount, error):
    """After two tries, where another part of the folder can be read."""
    mounted = mount(far.folder, "-f", "--readahead=0")
    far.error = error
    with subprocess.Popen(["cat", mounted / far.path.name], stdout=subprocess.PIPE) as reader:
        foldfs.wait_until(lambda: far.failed)
        far.error = 0
        assert reader.communicate(timeout=foldfs.PATIENCE)[0] == far.data
    stats = mounted.stats()
    assert stats["bad_files"] == 0 and not stats["changed"]
    mounted.close()
    assert mounted.log() == ""


@is_root
def test_a_network_filesystem_that_goes_and_comes_back_is_opened_again(far, mount):
    mounted = mount(far.folder, "-f", "--readahead=0")
    far.close()
    with subprocess.Popen(["cat", mounted / far.path.name], stdout=subprocess.PIPE) as reader:
        foldfs.wait_for_line(mounted.process.stderr, rb"; reads are repeated for up to 30 s\n")
        with Gate(far.data, far.folder):
            assert reader.communicate(timeout=foldfs.PATIENCE)[0] == far.data
            mounted.close()
    assert "can be read again, after " in mounted.log()


@is_root
def test_without_retries_it_fails_at_once(far, mount):
    mounted = mount(far.folder, "-f", "--readahead=0", "--retry=0")
    far.error = errno.EIO
    began = time.monotonic()
    fails(mounted / far.path.name, errno.EIO)
    assert time.monotonic() - began < 1
    far.error = 0
    assert (mounted / far.path.name).read_bytes() == far.data
    mounted.close()


# --- parts, and commands ------------------------------------------------------------------


def test_a_selection_and_a_folder_of_it(folder, point):
    with foldfs.mounted(folder, point, "--select=a") as mount:
        assert trees.content(mount / "a") == trees.content(folder / "a")
        assert os.listdir(mount) == ["a"]
    with foldfs.mounted(folder, point, "--subdir=b") as mount:
        assert trees.content(mount) == trees.content(folder / "b")


def test_beside_a_pack(folder, images, mount):
    mounted = mount(images[1], f"loose/={folder}")
    assert trees.content(mounted / "loose") == trees.content(folder)


def test_commands_read_it(folder, place):
    done = run(FOLDPACK, "list", folder)
    assert "a/00" in done.out and LISTED.search(done.err)
    assert run(FOLDPACK, "cat", folder, "a/00").stdout == (folder / "a/00").read_bytes()
    run(FOLDPACK, "extract", "-q", folder, place / "out")
    assert trees.content(place / "out") == trees.content(folder)
    run(FOLDPACK, "verify", folder)
    assert "20" in run(FOLDPACK, "info", folder).out
    (folder / "a/00").write_bytes(b"changed")
    assert run(FOLDPACK, "cat", folder, "a/00", status=None).returncode in (1, 3)


@pytest.mark.parametrize("command", [["index"], ["fetch", "--cache-dir={place}/cache"]])
def test_no_checksums_are_made_of_it(folder, place, command):
    words = [word.format(place=place) for word in command]
    done = run(FOLDPACK, *words, folder, status=1)
    assert "a folder: what is kept of files needs checksums" in done.err


@pytest.mark.parametrize("inside", ["", "/mnt", "/a/mnt"])
def test_a_mount_in_it_is_refused(folder, inside):
    os.makedirs(f"{folder}{inside}", exist_ok=True)
    done = run(FOLDFS, folder, f"{folder}{inside}", status=2)
    assert "MOUNTPOINT must be outside of it" in done.err
