"""Packs made of tars: those that tar(1) writes, tars of tars, and what no folder could say."""

import bz2
import fcntl
import gzip
import json
import lzma
import os
import shutil
import signal
import stat
import subprocess
import sys
import tarfile
import termios
import zipfile

import pytest

import archives
import limits
import trees
from foldfs import FOLDPACK, MIB, PATIENCE, run
from trees import noise, write

@pytest.fixture
def pack(tmp_path):
    return tmp_path / "x.lmdb"


def tar(folder, target, *options):
    """What tar(1) makes of all that is in a folder."""
    run("tar", "-cf", target, "--sort=name", *options, "-C", folder, ".")
    return target


def create(source, pack, *options, **more):
    return run(FOLDPACK, "create", *options, source, pack, **more)


def listed(pack):
    return run(FOLDPACK, "list", "-0", pack).out.split("\0")[:-1]


def cat(pack, path):
    return run(FOLDPACK, "cat", pack, path).stdout


def attributes(root):
    """path -> all that a pack keeps, but for the bytes."""
    root, found = os.fsencode(root), {}
    for path in [b".", *trees.paths(root)]:
        st = os.lstat(os.path.join(root, path))
        mode = 0 if stat.S_ISLNK(st.st_mode) else stat.S_IMODE(st.st_mode)
        links = 0 if stat.S_ISDIR(st.st_mode) else st.st_nlink
        found[path] = mode, st.st_mtime_ns, links
    return found


def expect_folder(pack, folder, tmp_path):
    """The pack holds what the folder does, times and modes included."""
    out = tmp_path / "out"
    run(FOLDPACK, "extract", pack, out, umask=0)
    assert trees.content(out) == trees.content(folder)
    assert attributes(out) == attributes(folder)


# --- what tar(1) writes -------------------------------------------------------------------


def test_a_tar_gives_what_the_folder_gives(hostile, pack, tmp_path):
    """And the id, which is a digest of paths, bytes, modes and times."""
    done = create(tar(hostile[0], tmp_path / "x.tar", "--format=pax"), pack, "--json")
    expect_folder(pack, hostile[0], tmp_path)
    run(FOLDPACK, "verify", pack)
    folder = create(hostile[0], tmp_path / "folder.lmdb", "--json")
    assert done.out.split('"id"')[1] == folder.out.split('"id"')[1]


@pytest.mark.plain
def test_large_files_are_streamed(pack, tmp_path):
    """Over 64 MiB a file is not held in memory."""
    large = noise(1, MIB) * 65
    source = archives.tar(tmp_path / "x.tar", ("a", b"before"), ("b", large), ("c", b"behind"))
    create(source, pack, "-j", "4")
    assert listed(pack) == ["a", "b", "c"]
    assert cat(pack, "b") == large
    assert cat(pack, "c") == b"behind"


# --- tars of tars -------------------------------------------------------------------------


@pytest.mark.parametrize("suffix, mode", [("tar", "w"), ("tar.gz", "w:gz"), ("tgz", "w:gz")])
def test_a_tar_of_tars_becomes_classes(suffix, mode, pack, tmp_path):
    """As ILSVRC2012_img_train.tar: a tar of a tar for each class, in each its files."""
    classes = {f"n0{number}": [(f"n0{number}_{image}.JPEG", noise(f"{number} {image}", 3000))
                               for image in range(4)] for number in range(3)}
    create(archives.tar(tmp_path / "train.tar", *(
        (f"./{name}.{suffix}", archives.tar(tmp_path / name, *files, mode=mode).read_bytes())
        for name, files in classes.items())), pack)
    assert {path: cat(pack, path) for path in listed(pack)} == {
        f"{name}/{path}": data for name, files in classes.items() for path, data in files}
    assert json.loads(run(FOLDPACK, "info", "--json", pack).out)["classes"] == 3


# --- what no folder could say -------------------------------------------------------------


def test_folders_have_the_mode_and_time_of_their_member_or_those_of_others(pack, tmp_path):
    """Behind its files, it still gives them."""
    create(archives.tar(tmp_path / "x.tar", ("a/b/c", b"1"), ("d/e", b"2"),
                        ("d", archives.FOLDER, "", {"mode": 0o711, "mtime": 1})), pack)
    out = tmp_path / "out"
    run(FOLDPACK, "extract", pack, out)
    assert (out / "a/b/c").read_bytes() == b"1"
    assert [(stat.S_IMODE(os.stat(out / path).st_mode), os.stat(out / path).st_mtime)
            for path in ("a", "a/b", "d")] == [(0o755, archives.WHEN)] * 2 + [(0o711, 1)]


def test_paths_that_leave_are_bad_and_others_become_relative(pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("/etc/passwd", b"1"), ("../../up", b"2"),
                          ("a/../../b", b"3"), ("./c", b"4"))
    done = create(source, pack, status=1)
    assert f"{source}/../../up: a path with '..'; --on-bad=skip leaves such files out" in done.err
    assert not pack.exists()
    create(source, pack, "--on-bad=skip", status=4)
    assert listed(pack) == ["c", "etc/passwd"]


@pytest.mark.parametrize("entries, said, left", [
    ([("pipe", tarfile.FIFOTYPE, ""), ("null", tarfile.CHRTYPE, ""), ("x", b"1")],
     ["pipe: a named pipe, which a pack cannot hold; left out",
      "null: a device, which a pack cannot hold; left out"], ["x"]),
    # A link that leads out must not take files along.
    *(([("a", kind, "/tmp"), ("a/b/c", b"1"), ("d", b"2")],
       ["a/b/c: lies below something that is not a folder"], ["a", "d"])
      for kind in (archives.FILE, archives.LINK)),
    ([("x", b"1"), ("w", archives.NAME, "later"), ("later", b"2")],
     ["w: a hard link to a file that did not come before it"], ["later", "x"])],
    ids=["special", "below a file", "below a link", "a link to nothing"])
def test_what_is_left_out_is_said(entries, said, left, pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", *entries)
    done = create(source, pack, "--on-bad=skip", status=4)
    assert all(f"{source}/{sentence}" in done.err for sentence in said)
    assert listed(pack) == left


def test_a_hard_link_to_what_is_excluded_becomes_the_file(pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("raw/x", b"1"), ("y", archives.NAME, "raw/x"),
                          ("z", b"2"))
    create(source, pack, "--exclude=raw")
    assert listed(pack) == ["y", "z"]
    assert cat(pack, "y") == b"1"


def test_one_folder_around_all_is_named_and_can_be_taken_off(pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("set/a/1", b"1"), ("set/b/2", b"2"),
                          ("set/b/3", archives.NAME, "set/a/1"), ("set/README", b"3"))
    done = create(source, pack)
    assert f"{source}: all of it is in one folder, 'set'" in done.err
    assert "--strip-components=1" in done.err
    done = create(source, pack, "--force", "--strip-components=1")
    assert "one folder" not in done.err
    assert listed(pack) == ["README", "a/1", "b/2", "b/3"]
    assert cat(pack, "b/3") == b"1"
    done = create(source, pack, "--force", "--strip-components=2", "--include=[12]")
    assert f"{source}/set/README: --strip-components leaves nothing of its path" in done.err
    assert listed(pack) == ["1", "2"]


def test_classes_that_no_folder_is_around_are_not_named(pack, tmp_path, src):
    source = archives.tar(tmp_path / "x.tar", ("a/1", b"1"), ("a/2", b"2"))
    assert "one folder" not in create(source, pack).err
    assert "is for tars and zips only" in create(src, pack, "--strip-components=1", status=2).err


def test_a_file_of_nothing_but_holes_is_bad(pack, tmp_path):
    """Some hundred bytes of tar that would be 1 TiB of pack."""
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(1 << 40)
    run("tar", "-cSf", tmp_path / "x.tar", "-C", tmp_path, "sparse")
    done = create(tmp_path / "x.tar", pack, "--on-bad=skip", status=4)
    assert "sparse: a sparse file with over 16 GiB of holes" in done.err
    assert listed(pack) == []


def refused_unread(pack, *options):
    """What is said before anything comes by the pipe."""
    with subprocess.Popen([FOLDPACK, "create", *options, "-", pack], stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE) as process:
        assert process.wait(PATIENCE) == 1
        return process.stderr.read().decode().removeprefix(f"foldpack: {pack}: ")


def test_a_pipe_is_not_read_where_the_pack_exists(src, pack):
    """Who has written into it for hours cannot do so again."""
    write(src / "a/1.jpg", b"x")
    create(src, pack)
    assert refused_unread(pack) == "exists; --force replaces it\n"


@pytest.mark.plain
def test_a_pipe_is_not_read_where_an_interrupted_pack_cannot_be_used(pack, tmp_path):
    source, partial = tmp_path / "x.tar", tmp_path / "x.lmdb.partial"
    archives.tar(source, *((f"{number}", b"%d" % number * MIB) for number in range(90)))
    create(source, pack, status=-signal.SIGXFSZ, preexec_fn=limits.deadly_file_size(140 * MIB))
    assert refused_unread(pack) == (f"an interrupted run has left its work in '{partial}'; "
                                    "--resume continues it, --force starts again\n")
    assert refused_unread(pack, "--resume", "--exclude=z") == (
        "was begun without 'exclude=z'; go on with the same options, or start again\n")
    assert "resuming after" in create("-", pack, "--resume", stdin=open(source, "rb")).err
    pack.unlink()
    partial.write_bytes(b"of the user")
    assert f"'{partial}' is in the way" in refused_unread(pack, "--force")
    assert partial.read_bytes() == b"of the user"


# --- options ------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    ["--include", "*.JPEG"], ["--exclude", "*.txt"], ["--exclude", "b"],
    ["--include", "a/**", "--exclude", "*.txt"],
])
def test_filters_want_the_same_of_a_tar_as_of_the_folder(options, src, pack, tmp_path):
    for path in ("a/x.JPEG", "a/x.txt", "b/c/y.txt", "b/z.JPEG", "d/only.txt"):
        write(src / path, path.encode())
    (src / "empty").mkdir()
    folder = create(src, tmp_path / "folder.lmdb", *options)
    done = create(tar(src, tmp_path / "x.tar"), pack, *options)
    assert listed(pack) == listed(tmp_path / "folder.lmdb")
    assert done.err.count("no file in it") == folder.err.count("no file in it") > 0


def test_images_in_a_tar_are_checked_as_those_in_a_folder(images, pack, tmp_path):
    src = tmp_path / "src"
    shutil.copytree(images[0], src, symlinks=True)
    first = sorted(src.rglob("*.JPEG"))[0]
    write(first.with_name("cut.JPEG"), first.read_bytes()[:-200])
    write(first.with_name("empty.JPEG"))
    os.link(first.with_name("cut.JPEG"), src / "another name")
    source = tar(src, tmp_path / "x.tar")
    for options in (["--check=header"], ["--check=decode", "--dedup"]):
        options += ["--force", "--on-bad=skip", "--bad-list", tmp_path / "bad"]
        create(src, pack, *options, status=4)
        wanted = listed(pack), set((tmp_path / "bad").read_text().splitlines())
        create(source, pack, *options, status=4)
        found = listed(pack), set((tmp_path / "bad").read_text().splitlines())
        # Which of its names a file has first is another matter in a tar.
        assert len(found[0]) == len(wanted[0])
        assert len(found[1]) == len(wanted[1]) == 3


def test_the_order_of_a_tar_cannot_be_changed(src, pack, tmp_path):
    source = tar(src, tmp_path / "x.tar")
    done = create(source, pack, "--order=shuffle:1", status=2)
    assert "'--order' is for folders only" in done.err


# --- bad tars -----------------------------------------------------------------------------


@pytest.mark.parametrize("on_bad", ["fail", "skip"])
def test_a_tar_that_is_cut_off_is_no_pack(on_bad, pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("a", noise(1, 5000)), ("b", noise(2, 5000)))
    for left, sentence in ((9000, "member 1 ('b'): truncated: the file ends within it"),
                           (5700, "no end mark behind member 0: truncated, or not finished by its "
                                  "writer"),
                           (5632, "no end mark behind member 0: truncated, or not finished by its "
                                  "writer")):
        os.truncate(source, left)
        done = create(source, pack, f"--on-bad={on_bad}", status=3)
        assert f"{source}: {sentence}" in done.err
        assert not pack.exists()
    assert os.listdir(tmp_path) == ["x.tar"]


@pytest.mark.plain
def test_a_tar_that_was_cut_off_is_gone_on_with_when_it_is_whole(pack, tmp_path):
    """Where there is more of it than a batch and what waits to be stored."""
    names = [f"{number % 3}/{number}" for number in range(60)]
    source = archives.tar(tmp_path / "x.tar", *[(name, name.encode() * MIB) for name in names])
    whole = tmp_path / "whole.lmdb"
    create(source, whole)
    with open(source, "rb") as file:
        part = file.read(200 * MIB)
    done = create("-", pack, input=part, stdin=None, status=3)
    assert "-: member 52 ('1/52'): truncated: the file ends within it" in done.err
    assert "--resume" in done.err
    assert not pack.exists()
    create(source, pack, "--resume")
    assert pack.read_bytes() == whole.read_bytes()


@pytest.mark.plain
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_container_that_was_changed_is_not_gone_on_with(kind, pack, tmp_path):
    """After a run that was killed. Its work stays, for when the change is taken back."""
    def make(path, when):
        files = {f"{number % 3}/{number}": b"%d" % number * MIB for number in range(100)}
        if kind == "tar":
            return archives.tar(path, *files.items(), when=when)
        with zipfile.ZipFile(path, "w") as out:
            for name, data in files.items():
                out.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, when % 60)), data)
        return path

    source, whole = make(tmp_path / "x", archives.WHEN), tmp_path / "whole.lmdb"
    create(source, whole)
    create(source, pack, status=-signal.SIGXFSZ, preexec_fn=limits.deadly_file_size(170 * MIB))
    make(source, archives.WHEN + 2)
    said = create(source, pack, "--resume", status=1).err
    assert ("'0/0' is not the file that was packed in this place before the interruption, or has "
            "changed since; --force without --resume starts again") in said
    assert "--resume continues" not in said and not pack.exists()
    make(source, archives.WHEN)
    assert "resuming after" in create(source, pack, "--resume").err
    assert pack.read_bytes() == whole.read_bytes()


def test_a_large_file_that_is_cut_off_is_no_pack(pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("a", bytes(65 * MIB)))
    os.truncate(source, 64 * MIB)
    done = create(source, pack, "--on-bad=skip", status=3)
    assert done.err.splitlines() == [
        f"foldpack: {source}: member 0 ('a'): truncated: the file ends within it"]
    assert os.listdir(tmp_path) == ["x.tar"]


def test_a_bit_that_turned_over_in_a_compressed_tar_is_noticed(pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar.gz", ("a", noise(1, 50000)), mode="w:gz")
    data = bytearray(source.read_bytes())
    data[20000] ^= 1
    source.write_bytes(data)
    assert "gzip: incorrect data check" in create(source, pack, status=3).err
    assert not pack.exists()


@pytest.mark.parametrize("end", ["gz", "bz2", "xz"])
def test_a_compressed_tar_that_ends_before_its_first_file_is_damaged(end, pack, tmp_path):
    source = archives.tar(tmp_path / "x.tar", ("a", noise(1, 50000)), mode=f"w:{end}")
    os.truncate(source, 60)
    for name in source, "-":
        with open(source, "rb") as file:
            said = create(name, pack, status=3, stdin=file).err
        assert f"{name}: decompressing it: " in said, said


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress])
@pytest.mark.parametrize("behind, said", [
    (b"some text\n", "10 bytes"), (bytes(512), ""), (bytes(512) + b"text\n", "bytes"),
    (bytes(300_000) + b"t" * 300_000, "bytes")], ids=["text", "zeros", "both", "much of both"])
def test_what_is_behind_a_compressed_tar_is_counted(compress, behind, said, pack, tmp_path):
    """gzip and bzip2 warn, and go on. Zeros fill the last block of a tape."""
    source = tmp_path / "x.tar"
    whole = compress(archives.tar(source, ("a", noise(1, 50000))).read_bytes())
    source.write_bytes(whole + behind)
    for name in source, "-":
        with open(source, "rb") as file:
            done = create(name, pack, "--force", stdin=file)
        assert cat(pack, "a") == noise(1, 50000)
        assert ("after the end of the compressed data are" in done.err) == bool(said), done.err
        assert said in done.err


@pytest.mark.parametrize("compress", [gzip.compress, lzma.compress, bz2.compress])
def test_nothing_in_a_compression_is_no_tar(compress, pack, tmp_path):
    source = tmp_path / "x.tar"
    source.write_bytes(compress(b""))
    for name in source, "-":
        with open(source, "rb") as file:
            said = create(name, pack, status=1, stdin=file).err
        assert said == f"foldpack: {name}: empty, so it is not a tar\n"


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_damaged_tar_in_a_tar_stays_a_file(compress, pack, tmp_path):
    inner = archives.tar(tmp_path / "in.tar", ("x", noise(1, 5000)), ("y", noise(2, 5000)))
    cut = compress(inner.read_bytes()[:9000])
    source = archives.tar(tmp_path / "x.tar", ("in.tar" + ".gz" * (compress != bytes), cut))
    for name in source, "-":
        with open(source, "rb") as file:
            done = create(name, pack, "--force", stdin=file)
        assert (f"{name}: tars in it that are damaged, and stay files: 1, such as 'in.tar"
                in done.err)
        assert "(member 1 ('y'): truncated: the file ends within it)" in done.err
        [path] = listed(pack)
        assert cat(pack, path) == cut


@pytest.mark.parametrize("beside, shown", [
    ({"c/set": b"f"}, {"c/set": b"f", "c/set.tar/in": b"1"}),
    ({"c/set/in": b"f"}, {"c/set/in": b"f", "c/set.tar/in": b"1"}),
    ({"./c/set/a": b"f"}, {"c/set/a": b"f", "c/set.tar/in": b"1"}),
    ({"c/settled": b"f"}, {"c/settled": b"f", "c/set/in": b"1"})])
@pytest.mark.parametrize("first", [True, False])
def test_a_tar_in_a_tar_lies_beside_what_has_its_folder(beside, shown, first, pack, tmp_path):
    inner = archives.tar(tmp_path / "in.tar", ("in", b"1"))
    files = [("c/set.tar", inner.read_bytes()), *beside.items()]
    source = archives.tar(tmp_path / "x.tar", *(files if first else reversed(files)))
    create(source, pack)
    assert {path: cat(pack, path) for path in listed(pack)} == shown
    assert listed(source) == listed(pack)


def test_tars_in_a_tar_that_would_be_one_folder_are_two(pack, tmp_path):
    inner = [archives.tar(tmp_path / f"{n}.tar", ("in", n)).read_bytes() for n in (b"1", b"2")]
    source = archives.tar(tmp_path / "x.tar", ("set.tar", inner[0]), ("set.TAR", inner[1]))
    create(source, pack)
    assert {path: cat(pack, path) for path in listed(pack)} == {
        "set.tar/in": b"1", "set.TAR/in": b"2"}


@pytest.mark.parametrize("begin", [b"text", b"\x89LZO\0\r\n\x1a\n", b"LRZI\0\6"])
def test_what_is_no_tar_is_said_with_the_way_out(begin, pack, tmp_path):
    """Of lzop and lrzip, too, which others leave to programs: no damage."""
    source = tmp_path / "file"
    write(source, begin + noise(1, 5000))
    done = create(source, pack, status=1)
    assert f"{source}: not a tar, plain or compressed by gzip, bzip2, xz, zstd or lz4; unpack it " \
           "and pack the folder, or pipe it decompressed into 'foldpack create - PACK'" in done.err
    assert "-: empty, so it is not a tar" in create("-", pack, status=1).err


def test_a_standard_input_that_is_closed_is_said(pack):
    done = run("sh", "-c", '"$0" create - "$1" <&-', FOLDPACK, pack, status=1)
    assert done.err == "foldpack: -: Bad file descriptor\n"


def waits(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as line:
        return line.read().rpartition(")")[2].split()[0] == "S"


def left_in(pipe):
    size = bytearray(4)
    fcntl.ioctl(pipe, termios.FIONREAD, size)
    return int.from_bytes(size, sys.byteorder)


def test_a_signal_ends_it_while_it_waits_for_a_pipe(pack, tmp_path):
    reading, writing = os.pipe()
    os.write(writing, bytes(512))
    with subprocess.Popen([FOLDPACK, "create", "-", pack], stdin=reading,
                          stderr=subprocess.PIPE) as process:
        while left_in(reading) or not waits(process.pid):
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        said = process.stderr.read().decode()
    os.close(reading)
    os.close(writing)
    assert process.returncode == -signal.SIGINT
    assert "interrupted; nothing was left behind" in said
    assert os.listdir(tmp_path) == []


def test_one_of_several_tars_that_is_cut_off_is_told(pack, tmp_path):
    for number in range(3):
        archives.tar(tmp_path / f"{number}.tgz", (f"{number}", os.urandom(100_000)), mode="w:gz")
    whole = (tmp_path / "1.tgz").read_bytes()
    (tmp_path / "1.tgz").write_bytes(whole[:50_000])
    done = create(tmp_path / "{0..2}.tgz", pack, status=None)
    assert done.returncode == 3 and "1.tgz: decompressing it: gzip: truncated" in done.err
    assert not pack.exists()
    (tmp_path / "1.tgz").unlink()
    done = create(tmp_path / "{0..2}.tgz", pack, status=1)
    assert f"{tmp_path}/1.tgz: No such file" in done.err
