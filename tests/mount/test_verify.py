"""foldpack verify and extract in many threads: damage done by name is found by name, and what they
say and make does not depend on how many threads there are."""

import errno
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess

import pytest

from fields import Fields
from foldfs import FOLDPACK, MIB, NAMELESS, PATIENCE, as_user, is_root, needs, pack, run
from gate import Gate
from server import Server
from trees import content, files, noise, write

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")

JOBS = (1, 8)


@pytest.fixture(scope="module")
def original(session_dir):
    """(folder, pack) of files of all sizes, among them one of many pieces."""
    src = session_dir / "verify"
    for number in range(400):
        folder = src / f"class{number % 5}"
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / f"{number:03}", noise(number, 20 + 977 * number % 30000))
    write(src / "long", noise(400, 11 * MIB + 77))
    write(src / "empty")
    os.link(src / "long", src / "long too")
    os.symlink("long", src / "link")
    (src / "class1/300").mkdir()
    os.utime(src / "class1", ns=(0, 1_234_567_890_123_456_789))
    return src, pack(src, session_dir / "verify.lmdb")


@pytest.fixture
def own(original, place):
    """(folder, pack): a pack of the test's own, which may be written to."""
    shutil.copyfile(original[1], place / "own.lmdb")
    return original[0], place / "own.lmdb"


def patch(packed, at, data):
    with open(packed, "r+b") as file:
        file.seek(at)
        file.write(data)


def damage_file(own, *places):
    """One byte of a file, at each place."""
    data = own[1].read_bytes()
    for path, at in places:
        near = (own[0] / path).read_bytes()[at:at + 64]
        start = data.index(near)
        assert data.find(near, start + 1) < 0
        patch(own[1], start, bytes([near[0] ^ 1]))


def damage_section(own, name):
    Fields(own[1])[f"{name}[0]"] ^= 1


def verify(packed, *options, status=3):
    return run(FOLDPACK, "verify", *options, packed, status=status)


def found(packed, status=3):
    """{path: class}, the same for any number of threads and in both forms."""
    said = verify(packed, "-j1", status=status).out
    bad = json.loads(verify(packed, "-j8", "--json", status=status).out)["bad"]
    lines = "".join(f"{one['path'] or packed}: {one['damage']}: {one['text']}\n" for one in bad)
    assert lines.replace("\0", "\\0") == said
    return {one["path"]: one["damage"] for one in bad}


# --- damage by name ---------------------------------------------------------------------


def test_a_good_pack_is_good_for_any_number_of_threads(original):
    assert found(original[1], status=0) == {}
    assert "402 files" in verify(original[1], status=0).err


def test_every_file_that_is_damaged_is_named(own):
    victims = [f"class{number % 5}/{number:03}" for number in range(7, 400, 31)]
    damage_file(own, *((path, 11) for path in victims))
    assert found(own[1]) == dict.fromkeys(victims, "checksum")
    assert f"{len(victims)} paths are damaged; copy the pack again" in verify(own[1]).err


def test_the_places_in_a_long_file_are_named_and_neighbours_are_one(own):
    damage_file(own, *(("long", mib * MIB + 5) for mib in (0, 3, 4, 5, 11)))
    assert verify(own[1]).out == "".join(
        f"long: checksum: bytes {start}-{end} do not match their checksum\n"
        for start, end in [(0, MIB - 1), (3 * MIB, 6 * MIB - 1), (11 * MIB, 11 * MIB + 76)])
    bad = json.loads(verify(own[1], "--json").out)
    assert bad["bad_files"] == 1 and len(bad["bad"]) == 3
    assert found(own[1]) == {"long": "checksum"}


def test_behind_a_damaged_section_files_are_compared_still(own):
    """Each section by name: test_damage.py."""
    damage_section(own, "mtime")
    damage_file(own, ("class0/100", 1))
    assert found(own[1]) == {"\0foldfs.mtime": "index", "class0/100": "checksum"}


def test_lost_checksums_are_no_damage_to_the_files(own):
    damage_section(own, "sums")
    assert found(own[1]) == {"\0foldfs.sums": "index"}
    assert "the checksums are lost, so no file could be checked" in verify(own[1]).err


def test_pages_that_lead_nowhere_are_said_of_the_pack(own):
    with lmdb.open(os.fspath(own[1]), subdir=False, readonly=True, lock=False) as env:
        page = env.stat()["psize"]
    data = own[1].read_bytes()
    # The leaf of the last key, where no section of the index is.
    leaf = data.index(b"class4/399") // page * page
    assert struct.unpack_from("<QHH", data, leaf)[2] == 2
    patch(own[1], leaf + 10, b"\xff\xff")
    assert found(own[1])[""] == "pages"


def test_records_that_another_tool_wrote_are_named(own):
    with lmdb.open(os.fspath(own[1]), subdir=False, lock=False, map_size=1 << 30) as env:
        with env.begin(write=True) as txn:
            link = txn.get(b"long too")
            txn.put(b"long too", link.replace(b"long", b"lone"))
            txn.put(b"class1/intruder", b"?")
    assert found(own[1]) == {"long too": "wrong-link", "class1/intruder": "unknown-record"}


def test_a_truncated_pack_is_said_in_json_too(own):
    os.truncate(own[1], own[1].stat().st_size - 1)
    bad = json.loads(verify(own[1], "--json").out)["bad"]
    assert [(fault["path"], fault["damage"]) for fault in bad] == [("", "index")]
    assert bad[0]["text"].startswith("truncated: ")


@pytest.fixture
def gate(original, place):
    """The pack behind a gate."""
    with Gate(original[1].read_bytes(), place / "gate") as gate:
        yield gate


@is_root
@pytest.mark.parametrize("what", ["class2/202", "\0foldfs.mtime", ""])
def test_bytes_that_the_disk_does_not_give_are_named_and_not_called_damaged(original, gate, what):
    """Of a file, a section of the index, which has a page of its own, and pages of the LMDB: the
    leaf of the last key."""
    at = {"class2/202": gate.data.index((original[0] / "class2/202").read_bytes()),
          "": gate.data.index(b"class4/399") // 4096 * 4096}.get(what)
    at = Fields(gate.path).place("mtime[0]")[0] if at is None else at
    gate.dead = range(at, at + 1)
    assert found(gate.path, status=1) == {what: "unreadable"}
    done = verify(gate.path, status=1)
    assert re.search(r": I(nput/output|/O) error\n", done.out)  # glibc, musl
    assert done.err == (f"foldpack: {gate.path}: 1 path cannot be read, which says nothing about "
                        "its bytes; check the storage, and verify again\n")
    said = json.loads(verify(gate.path, "--json", status=1).out)
    assert (said["bad_files"], said["unreadable_files"]) == (0, 1)


@is_root
def test_damage_counts_more_than_what_cannot_be_read(own, place):
    """Both in one file, too."""
    damage_file(own, ("long", 5 * MIB + 5))
    with Gate(own[1].read_bytes(), place / "gate") as gate:
        at = gate.data.index((own[0] / "long").read_bytes()[:64])
        gate.dead = range(at, at + 1)
        done = verify(gate.path)
        assert re.findall(r"^long: (\w+): ", done.out, re.M) == ["unreadable", "checksum"]
        assert "1 path cannot be read" in done.err and "1 path is damaged" in done.err


def test_what_a_server_does_not_give_is_not_called_damaged(original, place):
    data = original[1].read_bytes()
    at = data.index((original[0] / "class2/202").read_bytes())
    server = Server(original[1].parent, place / "server", access=f"""
        local from, to = (ngx.var.http_range or ""):match("bytes=(%d+)-(%d+)")
        if from and tonumber(from) <= {at} and {at} <= tonumber(to) then return ngx.exit(503) end
        """)
    try:
        done = verify(server.start().url(original[1].name), "--retry=0", status=1)
    finally:
        server.stop()
    assert "class2/202: unreadable: " in done.out and ": checksum: " not in done.out
    assert "cannot be read, which says nothing about" in done.err


def test_a_pack_that_was_cached_stays_and_another_does_not(original, place):
    """What verify has read for itself is not left in memory."""
    copy = place / "copy.lmdb"
    shutil.copyfile(original[1], copy)
    run("sync", copy)
    run(FOLDPACK, "verify", copy)
    cached = pages(copy)
    if cached is None:
        pytest.skip("no fincore")
    assert cached == -(-copy.stat().st_size // os.sysconf("SC_PAGESIZE"))
    drop(copy)
    if pages(copy) > 0:
        pytest.skip("this filesystem keeps what it is told to forget")
    run(FOLDPACK, "verify", copy)
    assert pages(copy) < cached / 3


def pages(path):
    if not shutil.which("fincore"):
        return None
    return int(run("fincore", "-nb", "-o", "PAGES", path).out)


def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


# --- extract ----------------------------------------------------------------------------


def attributes(root):
    """path -> mode and time; and which names are one file."""
    found, inodes = {}, {}
    for path in content(root):
        st = os.lstat(os.path.join(os.fsencode(root), path))
        found[path] = st.st_mode, st.st_mtime_ns
        if stat.S_ISREG(st.st_mode):
            inodes.setdefault(st.st_ino, []).append(path)
    return found, sorted(map(sorted, inodes.values()))


@pytest.mark.parametrize("jobs", JOBS)
def test_extract_makes_the_same_tree_with_any_number_of_threads(original, place, jobs):
    run(FOLDPACK, "extract", f"-j{jobs}", original[1], place / "again")
    assert content(place / "again") == content(original[0])
    assert attributes(place / "again") == attributes(original[0])


def test_damaged_files_are_left_out_and_named_in_one_order(own, place):
    victims = [f"class{number % 5}/{number:03}" for number in range(7, 400, 31)]
    damage_file(own, *((path, 11) for path in victims), ("long", 5 * MIB))
    left = {os.fsencode(path) for path in [*victims, "long", "long too"]}
    whole = {path: kind for path, kind in content(own[0]).items() if path not in left}
    said = set()
    for jobs in JOBS:
        again = place / "again"
        done = run(FOLDPACK, "extract", f"-j{jobs}", own[1], again, status=3)
        assert content(again) == whole
        shutil.rmtree(again)
        said.add(done.err)
    assert len(said) == 1
    named = [line.split(": ")[1].removeprefix(f"{again}/") for line in done.err.splitlines()
             if "damaged in the pack" in line]
    assert sorted(named) == sorted([*victims, "long", "long too"])
    # The other name of a file is another try, after all files.
    assert named[-1] == "long too"


def test_what_exists_is_named_ten_times_and_then_counted(original, place):
    again = place / "again"
    run(FOLDPACK, "extract", original[1], again)
    (again / "class3/398").chmod(0o600)
    write(again / "class3/398", b"mine")
    (again / "class0/000").unlink()
    for jobs in JOBS:
        done = run(FOLDPACK, "extract", f"-j{jobs}", original[1], again, status=1)
        assert done.err.count("exists; not replaced") == 10
        assert "and 393 more that exist; choose a folder that is not there yet" in done.err
        assert (again / "class0/000").read_bytes() == (original[0] / "class0/000").read_bytes()
        (again / "class0/000").unlink()
    assert (again / "class3/398").read_bytes() == b"mine"


def test_what_is_in_a_folder_that_cannot_be_made_is_not_complained_about(original, place):
    again = place / "again"
    again.mkdir()
    write(again / "class2", b"in the way")
    done = run(FOLDPACK, "extract", original[1], again, status=1)
    assert done.err.count("\n") == 1
    assert f"{again}/class2: exists; not replaced" in done.err
    assert (again / "class2").read_bytes() == b"in the way"
    assert len(content(again)) == len(content(original[0])) - 80


@pytest.fixture
def folding(place):
    """A filesystem that takes upper and lower case for the same."""
    path, image = place / "exfat", place / "image"
    path.mkdir()
    image.touch()
    os.truncate(image, 32 * MIB)
    run("mkfs.exfat", image)
    device = run("losetup", "--find", "--show", image, status=None)
    if device.returncode:
        pytest.skip(f"no loop device: {device.err}")
    run("mount.exfat-fuse", device.out.strip(), path)
    yield path
    run("umount", "-l", path)
    run("losetup", "--detach", device.out.strip())


@is_root
@needs("mkfs.exfat")
@needs("mount.exfat-fuse")
def test_folders_that_the_filesystem_takes_for_one_are_not_mixed(src, folding):
    """Nor do files take each other's place. Extracted again, all that is there stays."""
    for name in ("Cat/1.jpg", "cat/2.jpg", "cat/sub/3.jpg", "dog/a.jpg", "dog/A.jpg"):
        write(src / name, name.encode())
    packed = pack(src, src.parent / "x.lmdb")
    out = folding / "out"
    for again in (False, True):
        done = run(FOLDPACK, "extract", packed, out, status=1)
        assert f"{out}/cat: the filesystem takes its name for another that is there" in done.err
        assert f"{out}/dog/a.jpg: the filesystem takes its name" in done.err
        assert done.err.count("exists; not replaced") == 2 * again
        assert sorted(files(out)) == [b"Cat/1.jpg", b"dog/A.jpg"]
        assert (out / "dog/A.jpg").read_bytes() == b"dog/A.jpg"


def test_a_name_takes_the_place_of_a_first_one_that_exists(original, place):
    again = place / "again"
    again.mkdir()
    write(again / "long", b"mine")
    done = run(FOLDPACK, "extract", original[1], again, status=1)
    assert done.err.count("exists; not replaced") == 1
    assert (again / "long").read_bytes() == b"mine"
    assert (again / "long too").read_bytes() == (original[0] / "long").read_bytes()


@is_root
@pytest.mark.parametrize("jobs", JOBS)
def test_an_interrupted_extract_leaves_whole_files_only(original, gate, place, jobs):
    again = place / "again"
    command = [FOLDPACK, "extract", f"-j{jobs}", gate.path, again]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (again / "class0/000").exists():
            pass
        gate.shut()
        gate.waiting.acquire(timeout=0.2)  # or it is over already
        process.send_signal(signal.SIGINT)
        gate.open()
        err = process.communicate(timeout=PATIENCE)[1]
    assert process.returncode in (-signal.SIGINT, 0)
    assert process.returncode == 0 or "interrupted; the files that are there are whole" in err
    whole = content(original[0])
    for path, what in content(again).items():
        assert whole[path] == what


# --- what needs the index -----------------------------------------------------------------

NEEDS = {
    "sums": ["cat PACK class0/100", "diff DIR PACK", "diff OTHER PACK", "extract PACK again",
             "list -l PACK", "list --json PACK", "report PACK -o page"],
    "mode": ["diff -a DIR PACK", "extract PACK again", "list -l PACK"],
    "mtime": ["extract PACK again"],
    "image": ["info PACK", "list -l PACK", "report PACK -o page"],
    "height": ["info PACK"],
}


@pytest.fixture(scope="module")
def other(original, session_dir):
    """The folder, with other bytes in some files."""
    copy = session_dir / "other"
    shutil.copytree(original[0], copy, symlinks=True)
    for number in range(0, 50, 5):
        file = copy / f"class0/{number:03}"
        file.write_bytes(bytes(file.stat().st_size))
    return copy


@pytest.mark.parametrize(("name", "words"), [(name, words) for name in NEEDS
                                             for words in NEEDS[name]])
def test_a_damaged_section_is_named_once_by_whoever_needs_it(own, other, place, name, words):
    """And not for each file: these may be whole."""
    damage_section(own, name)
    before = os.listdir(place)
    folders = {"DIR": own[0], "OTHER": other, "PACK": own[1]}
    done = run(FOLDPACK, *(folders.get(word, word) for word in words.split()), cwd=place, status=3)
    assert done.err == (f"foldpack: {own[1]}: damaged index: checksum mismatch in section {name}; "
                        "copy it again from an intact copy, or make it again\n")
    assert done.out == ""
    assert os.listdir(place) == before


@pytest.mark.parametrize(("name", "words"), [
    ("mode", "cat PACK class0/100"), ("mode", "diff DIR PACK"), ("mode", "list PACK"),
    ("mode", "report PACK -o page"), ("sums", "list PACK"),
])  # fmt: skip
def test_a_damaged_section_is_nothing_to_whoever_does_not_need_it(own, place, name, words):
    damage_section(own, name)
    command = [{"DIR": own[0], "PACK": own[1]}.get(word, word) for word in words.split()]
    run(FOLDPACK, *command, cwd=place)


@is_root
@pytest.mark.plain  # LeakSanitizer needs a thread
def test_extract_says_why_it_ends_whatever_else_it_has_said(place):
    (place / "src/d/e").mkdir(parents=True)
    write(place / "src/a", b"x")
    packed = pack(place / "src", place / "x.lmdb")
    (place / "out/d").mkdir(parents=True)
    (place / "out").chmod(0o777)
    done = run(*as_user(NAMELESS), "prlimit", "--nproc=1", FOLDPACK, "extract", packed,
               place / "out", status=1)
    assert f"out/d/e: mkdirat: {os.strerror(errno.EACCES)}\n" in done.err
    assert f"{packed}: cannot start threads: {os.strerror(errno.EAGAIN)}; allow more" in done.err
