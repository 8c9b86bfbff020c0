"""Odd archives, through every door, against what tar -x and unzip leave of them."""

import os
import random
import subprocess
import tarfile

import pytest

import archives
import trees
from foldfs import FOLDPACK, find_program, mounted, run
from server import Server

DOORS = ["mounted", "far", "create FILE", "create -"]
# One reader is behind all doors; these come also through those that bring it bytes in other ways.
ODDEST = ["what comes again", "links to folders", "sparse 0.1", "damaged inside", "bytes in front",
          "info-zip, stored"]


def needs_of(name):
    return {"bsdtar": name.startswith("bsdtar") or name.endswith("bsdtar"),
            "zip": name.startswith("info-zip")}


def look(root):
    """path -> what it is, and its bytes; and the names of each file that has several."""
    root = os.fsencode(root)
    inodes = {}
    for path in trees.files(root):
        inodes.setdefault(os.stat(os.path.join(root, path)).st_ino, []).append(path)
    content = trees.content(root)
    names = sorted(sorted(paths) for paths in inodes.values() if len(paths) > 1)
    return content, names


def attributes(root):
    """path -> the mode and the time of each file."""
    found = {path: os.stat(os.path.join(os.fsencode(root), path)) for path in trees.files(root)}
    return {path: (st.st_mode, int(st.st_mtime)) for path, st in found.items()}


def come_in(door, path, place, point):
    """The tree that the archive is there, and its attributes."""
    if door in ("mounted", "far"):
        source, server = path, None
        if door == "far":
            os.environ["XDG_CACHE_HOME"] = os.fspath(place / "cache")
            server = Server(place, place / "server").start()
            source = server.url(path.name)
        try:
            with mounted(source, point) as root:
                return look(root), attributes(root)
        finally:
            if server:
                server.stop()
    pack, options = place / "x.lmdb", ["--on-bad=skip"]
    if door == "create -":
        with subprocess.Popen(["cat", path], stdout=subprocess.PIPE) as cat:
            done = run(FOLDPACK, "create", *options, "-", pack, stdin=cat.stdout, status=None)
    else:
        done = run(FOLDPACK, "create", *options, path, pack, status=None)
    assert done.returncode in (0, 4), done.err
    run(FOLDPACK, "verify", pack)
    run(FOLDPACK, "extract", pack, place / "out", umask=0)
    return look(place / "out"), attributes(place / "out")


def expect_the_same(kinds, name, door, place, point):
    for program, is_needed in needs_of(name).items():
        if is_needed and not find_program(program):
            pytest.skip(f"not installed: {program}")
    path = archives.made(kinds, name, place)
    if kinds is archives.ZIPS and door in ("mounted", "far") and archives.is_compressed(path):
        pytest.skip("compressed, so that there is nothing to read in place")
    left = archives.unpacked(kinds, name, path, place / "left")
    wanted, wanted_attributes = look(left), attributes(left)
    found, found_attributes = come_in(door, path, place, point)
    assert found == wanted
    if kinds is archives.TARS and name != "fields that are no numbers":
        assert found_attributes == wanted_attributes


def come_through_doors(kinds):
    return pytest.mark.parametrize("name, door", [
        (name, door) for name in kinds for door in DOORS
        if door in ("mounted", "create FILE") or name in ODDEST])


@come_through_doors(archives.TARS)
def test_a_tar_is_what_tar_leaves(name, door, place, point):
    expect_the_same(archives.TARS, name, door, place, point)


@come_through_doors(archives.ZIPS)
def test_a_zip_is_what_unzip_leaves(name, door, place, point):
    expect_the_same(archives.ZIPS, name, door, place, point)


# --- random tars ------------------------------------------------------------------------------

NAMES = ("a", "b", "c.jpg", "é" * 40, "long" * 30)


def random_members(seed):
    """Files and folders, some of them again, hard links to files and symbolic links, also to
    folders with something below."""
    pick = random.Random(seed)
    folders, files = ["d0", "d1/deeper"], []
    yield from ((name, archives.FOLDER, "", {"mode": 0o700 + n}) for n, name in enumerate(folders))
    for n in range(pick.randint(20, 60)):
        path = f"{pick.choice(['', './'])}{pick.choice(folders)}/{n % 23}{pick.choice(NAMES)}"
        kind = pick.choice("fffffhhld")
        if kind == "f" or not files:
            yield path, pick.randbytes(pick.choice((0, 1, 511, 512, 513, 3000)))
            files.append(path)
        elif kind == "h":
            yield path, archives.NAME, pick.choice(files)
        elif kind == "l":
            yield path + ".link", archives.LINK, pick.choice(("x", "../" + files[0], "y" * 150))
        else:
            folders.append(f"{folders[0]}/f{n}")
            yield folders[-1], archives.FOLDER, "", {"mode": 0o711}
            yield f"d0/to{n}", archives.LINK, f"f{n}"
            yield f"d0/to{n}/below", b"below"


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_random_tars_are_what_tar_leaves(format, place, point):
    for seed in range(4):
        members = list(random_members(seed))
        if format == tarfile.USTAR_FORMAT:
            members = [one for one in members
                       if not any(len(part) > 99 for part in one if isinstance(part, str))]
        path = archives.tar(place / f"{seed}.tar", *members, format=format)
        left = archives.unpacked(archives.TARS, "", path, place / f"{seed}")
        with mounted(path, point) as root:
            assert (look(root), attributes(root)) == (look(left), attributes(left))
