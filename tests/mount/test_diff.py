"""foldpack diff: a folder against a pack."""

import errno
import json
import os
import shutil
import stat
import subprocess

import pytest

from foldfs import FOLDPACK, MIB, NOBODY, as_user, is_root, pack, run
from gate import Gate
from test_foldpack import damage
from trees import make_hostile, noise, write


@pytest.fixture
def src(place):
    (place / "src").mkdir()
    return place / "src"


@pytest.fixture
def tree(src, place):
    """A folder of a bit of everything, and its pack."""
    for name in ("a", "b/c", "b/d", "b/e/f", "z"):
        (src / name).parent.mkdir(exist_ok=True)
        write(src / name, name.encode() * 1000)
    os.symlink("a", src / "link")
    (src / "empty").mkdir()
    write(src / "long", noise(1, 9 * MIB + 5))
    return src, pack(src, place / "pack.lmdb")


def diff(tree, *options, status=1):
    return run(FOLDPACK, "diff", *options, *tree, status=status)


def lines(tree, *options, status=1):
    """What is said, SRC and PACK for the two."""
    src, packed = tree
    out = diff(tree, *options, status=status).out
    return out.replace(str(src), "SRC").replace(str(packed), "PACK").splitlines()


# --- the same ---------------------------------------------------------------------------


def test_a_folder_is_the_same_as_its_pack(tree):
    done = diff(tree, "--attributes", status=0)
    assert done.out == ""
    assert "6 files, 9.01 MiB, compared" in done.err and "no difference" in done.err
    assert diff(tree, "-q", status=0).err == ""


def test_hostile_trees_are_the_same_as_their_packs(src, place):
    make_hostile(src)
    tree = src, pack(src, place / "pack.lmdb")
    for jobs in (1, 2, 8):
        assert lines(tree, "-a", f"-j{jobs}", status=0) == []


def test_an_empty_folder_and_an_empty_pack(src, place):
    write(place / "other/a", b"x")
    packs = [pack(folder, place / f"{folder.name}.lmdb") for folder in (src, place / "other")]
    assert lines((src, packs[0]), status=0) == []
    assert lines((place / "other", packs[0])) == ["Only in SRC: a"]
    assert lines((src, packs[1])) == ["Only in PACK: a"]


# --- not the same -----------------------------------------------------------------------


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def replace(path, make):
    (shutil.rmtree if path.is_dir() else os.unlink)(path)
    make(path)


def file(path):
    write(path, b"file")


def folder(path):
    file(path / "inside")


CHANGES = {
    "one byte": lambda src: flip(src / "b/c", 7),
    "longer": lambda src: write(src / "a", b"a" * 1001),
    "empty": lambda src: write(src / "a"),
    "the last byte of a long file": lambda src: flip(src / "long", 9 * MIB + 4),
    "removed": lambda src: (src / "b/d").unlink(),
    "removed at the top": lambda src: (src / "z").unlink(),
    "a folder removed": lambda src: shutil.rmtree(src / "b/e"),
    "added": lambda src: write(src / "b/new"),
    "a folder added": lambda src: shutil.copytree(src / "b", src / "new"),
    "a file became a folder": lambda src: replace(src / "a", folder),
    "a folder became a file": lambda src: replace(src / "b", file),
    "a link became a file": lambda src: replace(src / "link", file),
    "another target": lambda src: replace(src / "link", lambda path: os.symlink("b", path)),
    "a named pipe": lambda src: os.mkfifo(src / "pipe"),
    "a file became a named pipe": lambda src: replace(src / "z", os.mkfifo),
}


def test_it_says_what_diff_would(tree, place):
    """Of the folder and of what the pack holds, once it is changed in each of these ways."""
    src, packed = tree
    run(FOLDPACK, "extract", "-q", packed, place / "again")
    for change in CHANGES.values():
        here = place / "here"
        shutil.copytree(src, here, symlinks=True)
        change(here)
        said = run("diff", "-rq", "--no-dereference", here, place / "again", status=1).out
        said = said.replace(str(here), "SRC").replace(str(place / "again"), "PACK")
        [line] = lines((here, packed))
        assert line + "\n" == said.replace("is a fifo", "is a named pipe")
        shutil.rmtree(here)


def test_modes_and_times_count_when_asked_for(tree):
    src = tree[0]
    before = (src / "b/c").stat().st_mtime_ns
    (src / "a").chmod(0o600)
    os.utime(src / "b/c", ns=(0, before + 1))
    (src / "empty").chmod(0o711)
    assert lines(tree, status=0) == []
    assert lines(tree, "-a") == [
        "Modes of SRC/a and PACK/a differ: 0600 and 0644",
        "Times of SRC/b/c and PACK/b/c differ",
        "Modes of SRC/empty and PACK/empty differ: 0711 and 0755",
    ]


def test_hard_links_are_files_like_others(src, place):
    write(src / "a", b"same")
    os.link(src / "a", src / "b")
    write(src / "c", b"also")
    tree = src, pack(src, place / "pack.lmdb")
    (src / "b").unlink()
    write(src / "b", b"same")
    (src / "c").unlink()
    os.link(src / "a", src / "c")
    assert lines(tree) == ["Files SRC/c and PACK/c differ"]


def test_json_has_every_difference(tree):
    for name in ("one byte", "removed", "added", "another target", "a file became a folder"):
        CHANGES[name](tree[0])
    (tree[0] / "z").chmod(0o600)
    os.utime(tree[0] / "b/e/f", ns=(0, 0))
    found = json.loads(diff(tree, "--json").out)
    assert {(d["path"], d["difference"]) for d in found["differences"]} == {
        ("b/c", "bytes"), ("b/d", "only-in-pack"), ("b/new", "only-in-folder"),
        ("link", "target"), ("a", "kind"),
    }  # fmt: skip
    assert (found["unreadable"], found["damaged"]) == (0, 0)
    assert found["files"] == 4
    found = json.loads(diff(tree, "--json", "-a").out)
    kinds = {(d["path"], d["difference"]) for d in found["differences"]}
    assert {("z", "mode"), ("b/e/f", "time"), ("b", "time")} <= kinds


def test_what_it_says_does_not_depend_on_the_number_of_threads(src, place):
    for number in range(400):
        write(src / f"{number % 7}/{number}", noise(number, number * 613 % 40000))
    tree = src, pack(src, place / "pack.lmdb")
    for number in range(0, 400, 5):
        write(src / f"{number % 7}/{number}", noise(number + 1, number * 613 % 40000))
    said = lines(tree, "-j1")
    assert len(said) > 70
    assert lines(tree, "-j16") == said


# --- trouble ----------------------------------------------------------------------------


@is_root
def test_what_cannot_be_read_is_said_and_not_missed(tree):
    src, packed = tree
    (src / "a").chmod(0)
    (src / "b").chmod(0)
    write(src / "new")
    command = [*as_user(NOBODY), FOLDPACK, "diff", src, packed]
    done = run(*command, status=1)
    (src / "b").chmod(0o755)
    assert done.out == f"Only in {src}: new\n"
    assert f"{src}/a: Permission denied" in done.err
    assert f"{src}/b: Permission denied" in done.err


def test_a_size_that_is_not_that_of_the_bytes_is_not_believed(place):
    """The kernel says that files of /proc have no bytes."""
    folder, packed = "/proc/sys/kernel/random", place / "x.lmdb"
    for name in os.listdir(folder):
        write(place / "empty" / name)
    run(FOLDPACK, "create", place / "empty", packed)
    done = run(FOLDPACK, "diff", folder, packed, status=1)
    assert "boot_id: has more bytes than its filesystem says" in done.err


def test_a_damaged_pack_is_not_a_difference(tree):
    src, packed = tree
    damage(packed, b"b/c" * 1000)
    done = diff(tree, status=3)
    assert done.out == ""
    assert f"{packed}/b/c: damaged in the pack: checksum mismatch" in done.err
    assert "1 file is damaged; 'foldpack verify' says more" in done.err
    assert json.loads(diff(tree, "--json", status=3).out)["damaged"] == 1


@is_root
def test_bytes_that_the_disk_does_not_give_are_not_called_damaged(tree, place):
    with Gate(tree[1].read_bytes(), place / "gate") as gate:
        at = gate.data.index(b"b/c" * 1000)
        gate.dead = range(at, at + 1)
        done = diff((tree[0], gate.path))
        assert done.out == "" and "damaged" not in done.err
        assert f"{gate.path}/b/c: {os.strerror(errno.EIO)}\n" in done.err
        said = json.loads(diff((tree[0], gate.path), "--json").out)
        assert (said["damaged"], said["unreadable"]) == (0, 1)


def test_a_folder_or_a_pack_that_is_none_is_said(tree):
    src, packed = tree
    done = run(FOLDPACK, "diff", packed, src, status=1)
    assert f"{packed}: not a folder; the folder comes first, then the pack\n" in done.err
    assert "No such file" in run(FOLDPACK, "diff", src / "no", packed, status=1).err
    assert "not an LMDB file" in run(FOLDPACK, "diff", src, src / "long", status=1).err
    run(FOLDPACK, "diff", src, status=2)


def test_what_an_index_keeps_of_a_tar_is_not_told_as_its_options(tree, place):
    subprocess.run(["tar", "-cf", place / "x.tar", "-C", tree[0], "."], check=True)
    write(tree[0] / "new")
    assert "made with" not in diff((tree[0], place / "x.tar")).err


def test_output_that_cannot_be_written_is_a_failure(tree):
    write(tree[0] / "new")
    with open("/dev/full", "wb") as full:
        done = subprocess.run([FOLDPACK, "diff", *tree], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1 and b"No space left on device" in done.stderr
    assert stat.S_ISREG(os.stat(tree[1]).st_mode)
