"""The foldpack command, as its users meet it: no mount needed."""

import contextlib
import errno
import gzip
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

import foldfs
import gate
import trees
from foldfs import (BUILD, FOLDPACK, NOBODY, PHOTOS, as_user, has_photos, info, is_root, needs,
                    small_filesystem)
from trees import content, state, write

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")

# --- fixtures ---------------------------------------------------------------------------


@pytest.fixture
def pack(tmp_path):
    return tmp_path / "out" / "pack.lmdb"


@pytest.fixture(autouse=True)
def out_dir(tmp_path):
    (tmp_path / "out").mkdir()


def run(*args, status=0, **options):
    """Runs foldpack, holds its status against the expected one."""
    options.setdefault("stdout", subprocess.PIPE)
    done = subprocess.run([FOLDPACK, *args], stderr=subprocess.PIPE, **options)
    done.err = done.stderr.decode(errors="surrogateescape")
    assert done.returncode == status, done.err
    assert "\r" not in done.err and "\033" not in done.err
    return done


def run_as_nobody(*args, **options):
    """As a user who is not root and owns nothing."""
    return foldfs.run(*as_user(NOBODY), FOLDPACK, *args, status=None, **options)


def open_to_nobody(tmp_path):
    """Lets the unprivileged user reach the test's folder, and write into out/."""
    for path in [tmp_path, *tmp_path.parents]:
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(path.stat().st_mode | 0o055)
    (tmp_path / "out").chmod(0o777)


def nothing_left(pack):
    assert os.listdir(pack.parent) == []


def listed(pack, *path):
    return run("list", "-0", pack, *path).stdout.split(b"\0")[:-1]


def json_lines(pack):
    lines = run("list", "--json", pack).stdout.splitlines()
    return {os.fsencode(e["path"]): e for e in map(json.loads, lines)}


def damage(pack, needle):
    """Overwrites the middle of `needle` in a pack."""
    data = pack.read_bytes()
    at = data.index(needle)
    assert data.find(needle, at + 1) < 0
    os.chmod(pack, 0o644)
    with open(pack, "r+b") as file:
        file.seek(at + len(needle) // 2)
        file.write(b"\xee\xee")


# --- create: the tree, whole ------------------------------------------------------------


def test_what_was_packed_comes_out_again(hostile, tmp_path):
    again = tmp_path / "again"
    run("verify", hostile[1])
    run("extract", hostile[1], again, umask=0)
    assert state(again) == state(hostile[0])
    assert again.stat().st_mtime_ns == hostile[0].stat().st_mtime_ns
    assert stat.S_IMODE(hostile[1].stat().st_mode) == 0o444


def test_lmdb_readers_get_the_original_bytes_and_may_rewrite_the_pack(hostile, tmp_path):
    seen = 0
    with lmdb.open(os.fspath(hostile[1]), subdir=False, readonly=True, lock=False) as env:
        with env.begin() as txn:
            for path, entry in json_lines(hostile[1]).items():
                if entry["type"] != "file" or len(path) > 511:
                    continue
                seen += 1
                assert txn.get(path) == (hostile[0] / os.fsdecode(path)).read_bytes()
            keys = [key for key in txn.cursor().iternext(values=False) if key[:1] != b"\0"]
        env.copy(os.fspath(tmp_path / "moved"), compact=True)
    assert seen > 30
    assert keys == sorted(keys)
    assert info(tmp_path / "moved")["relocated"] is True
    run("verify", tmp_path / "moved")


def test_the_same_tree_gives_the_same_pack(hostile, tmp_path):
    again = tmp_path / "out/again.lmdb"
    env = {"PATH": os.environ["PATH"], "TZ": "Asia/Tokyo", "LC_ALL": "C", "HOME": "/"}
    run("create", "-q", hostile[0].name, again, cwd=hostile[0].parent, env=env, umask=0o077)
    assert again.read_bytes() == hostile[1].read_bytes()
    subprocess.run(["cp", "-a", hostile[0], tmp_path / "copy"], check=True)
    run("create", "--force", tmp_path / "copy", again)
    assert again.read_bytes() == hostile[1].read_bytes()


def test_another_mode_time_or_byte_gives_another_id(src, pack):
    file, seen = write(src / "a", b"1"), []
    for data, mode, time in ((b"1", 0o644, 0), (b"1", 0o644, 0), (b"1", 0o644, 1),
                             (b"1", 0o600, 1), (b"2", 0o600, 1)):
        file.write_bytes(data)
        file.chmod(mode)
        os.utime(file, ns=(0, time))
        os.utime(src, ns=(0, 0))
        seen.append(json.loads(run("create", "--json", "--force", src, pack).stdout)["id"])
    assert seen[0] == seen[1] and len(set(seen)) == 4


def content_id(source, *options):
    """Of the pack that is made of it."""
    pack = f"{source}.lmdb"
    made = run("create", "--json", "--force", "-q", *options, source, pack)
    return json.loads(made.stdout)["content_id"]


def test_a_copy_without_modes_times_and_links_has_the_same_content_id(
        hostile, pack, tmp_path):
    source = hostile[0]
    want = info(hostile[1])["content_id"]
    subprocess.run(["cp", "-r", source, tmp_path / "copy"], check=True)
    with tarfile.open(tmp_path / "tree.tar", "w") as tar:
        tar.add(source, "")
    for copy in (["copy"], ["tree.tar"], [source, "--dedup"], [source, "--order=shuffle:7"]):
        run("create", "--force", *copy[1:], tmp_path / copy[0], pack)
        assert info(pack)["content_id"] == want, copy


def test_each_change_of_paths_or_bytes_gives_another_content_id(src):
    file, link = write(src / "a/b", b"bytes"), src / "a/link"
    write(src / "ab/c", b"bytes")
    os.symlink("b", link)
    seen = [content_id(src)]
    for change in (lambda: file.write_bytes(b"Bytes"), lambda: file.write_bytes(b""),
                   lambda: file.rename(src / "ab/b"), link.unlink, lambda: os.symlink("c", link),
                   lambda: (link.unlink(), write(link, b"c")), (src / "empty").mkdir,
                   lambda: (src / "empty").rename(src / "Empty")):
        change()
        seen.append(content_id(src))
    assert len(set(seen)) == len(seen)


def test_content_ids_of_parts_add_up_to_that_of_the_whole(src):
    write(src / "one/a", b"a")
    write(src / "one/both/b", b"b" * (2 << 20))
    one = int(content_id(src), 16)
    (src / "one").rename(src.parent / "aside")
    write(src / "two/c", b"c")
    os.symlink("c", src / "two/link")
    two = int(content_id(src), 16)
    (src.parent / "aside").rename(src / "one")
    assert int(content_id(src), 16) == (one + two) % 2**128


@has_photos
def test_photos_take_little_more_room_in_a_pack(pack):
    summary = json.loads(run("create", "--json", PHOTOS, pack).stdout)
    assert summary["files"] == sum(len(files) for _, _, files in os.walk(PHOTOS))
    assert summary["bytes_out"] <= 1.03 * summary["bytes_in"]
    images = info(pack)["images"]
    assert images["JPEG"]["count"] == summary["files"]
    assert images["JPEG"]["width"]["min"] == 106


@pytest.mark.slow
def test_a_file_over_4_gib_is_packed_whole(src, pack):
    size = (4 << 30) + 5
    if shutil.disk_usage(src).free < 3 * size:
        pytest.skip("needs 12 GiB of disk")
    marks = {0: b"begin", (1 << 30) - 3: b"across a part", size - 3: b"end"}
    with open(src / "big", "wb") as file:
        file.truncate(size)
        for at, mark in marks.items():
            file.seek(at)
            file.write(mark)
    os.link(src / "big", src / "big too")
    write(src / "small", b"behind")
    run("create", src, pack)
    entries = json_lines(pack)
    assert entries[b"big"]["size"] == entries[b"big too"]["size"] == size
    with subprocess.Popen([FOLDPACK, "cat", pack, "big"], stdout=subprocess.PIPE) as cat:
        subprocess.run(["cmp", "-", src / "big"], stdin=cat.stdout, check=True)
    assert cat.returncode == 0
    assert run("cat", pack, "small").stdout == b"behind"
    run("verify", pack)
    pack.unlink()


# --- create: the summary ----------------------------------------------------------------


def test_the_summary_says_what_was_done(src, pack):
    write(src / "a", b"123")
    write(src / "b/c", b"4567")
    done = run("create", "--json", src, pack)
    summary = json.loads(done.stdout)
    assert set(summary) == {
        "files", "bytes_in", "bytes_out", "skipped", "kept", "left", "masks", "deduped", "seconds",
        "id", "content_id",
    }  # fmt: skip
    assert (summary["files"], summary["bytes_in"], summary["skipped"]) == (2, 7, 0)
    assert summary["bytes_out"] == pack.stat().st_size
    found = info(pack)
    assert (summary["id"], summary["content_id"]) == (found["id"], found["content_id"])
    assert summary["id"] in done.err
    assert run("create", "-q", "--force", src, pack).err == ""


def test_progress_is_shown_when_asked_for(src, pack):
    """On a terminal, one line that is gone at the end."""
    write(src / "a", b"123")
    parent, child = os.openpty()
    for number in range(2000):
        write(src / f"{number % 50}/{number}", b"x" * 5000)
    with subprocess.Popen([FOLDPACK, "create", src, pack], stderr=child) as process:
        os.close(child)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(parent, 65536):
                shown += part
    os.close(parent)
    assert process.returncode == 0
    last = shown.split(b"\033[K")[-1]
    assert b"2,001 files" in last


def test_progress_for_programs_ends_with_an_object(src, pack):
    write(src / "a", b"123")
    said = run("create", "--progress-json", src, pack).err.splitlines()
    assert json.loads(said[-1]) == {"doing": "packing", "files": 1, "files_total": 1, "bytes": 3,
                                    "bytes_total": 3}


# --- create: what cannot be packed ------------------------------------------------------


def test_special_files_are_left_out_and_said(src, pack):
    write(src / "a", b"x")
    os.mkfifo(src / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.fspath(src / "socket"))
        done = run("create", "--json", src, pack, status=4)
    assert "pipe: a named pipe" in done.err
    assert "socket: a socket" in done.err
    assert json.loads(done.stdout)["skipped"] == 2
    assert listed(pack) == [b"a"]


@is_root
@pytest.mark.parametrize("path", ["d/secret", "d"])
def test_an_unreadable_file_ends_it_unless_told_to_skip(src, pack, tmp_path, path):
    """Or folder."""
    write(src / "a", b"x")
    write(src / "d/secret", b"x")
    (src / path).chmod(0)
    open_to_nobody(tmp_path)
    for options in ([], ["--on-bad=keep"]):  # what cannot be read cannot be kept
        done = run_as_nobody("create", *options, src, pack)
        assert done.returncode == 1
        assert f"{src}/{path}: Permission denied; --on-bad=skip leaves such files out" in done.err
        nothing_left(pack)
    done = run_as_nobody("create", "--on-bad=skip", "--json", src, pack)
    assert done.returncode == 4
    assert f"{src}/{path}: Permission denied; left out" in done.err
    assert json.loads(done.stdout)["skipped"] == 1
    assert listed(pack) == [b"a", b"d/"]


@is_root
def test_a_hard_link_takes_the_place_of_a_first_name_out_of_reach(src, pack, tmp_path):
    """The first name lies in a directory that may be listed but not entered."""
    write(src / "d/first", b"data")
    os.link(src / "d/first", src / "e")
    os.link(src / "d/first", src / "f")
    (src / "d").chmod(0o444)
    open_to_nobody(tmp_path)
    assert run_as_nobody("create", "--on-bad=skip", src, pack).returncode == 4
    assert listed(pack) == [b"d/", b"e", b"f"]
    entries = json_lines(pack)
    assert entries[b"e"]["type"] == "file" and entries[b"f"]["link_to"] == "e"
    assert run("cat", pack, "f").stdout == b"data"


class Paused:
    """A create that stands still while the filter of its first file waits: what comes behind that
    has been scanned and not been read."""

    def __init__(self, src, pack, *options):
        write(src / "a.jpg", b"first")
        self.go, waits = src.parent / "go", src.parent / "waits"
        command = (f"touch {waits}; until [ -e {self.go} ]; do sleep 0.01; done; "
                   r"printf '\4\0\0\0\0\0\0\0kept\0\0\0\0\0\0\0\0'")
        self.process = subprocess.Popen(
            [FOLDPACK, "create", "-j1", "--check=off", f"--filter={command}", *options, src, pack],
            stderr=subprocess.PIPE, text=True)
        foldfs.wait_until(waits.exists)

    def go_on(self):
        self.go.touch()
        err = self.process.communicate()[1]
        return self.process.returncode, err


CHANGES = {
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"more"),
    "shorter": lambda path: os.truncate(path, 1),
    "rewritten": lambda path: path.write_bytes(b"0123456789"),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "a link": lambda path: (path.unlink(), os.symlink("/etc/hostname", path)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_file_that_changes_while_it_is_packed_is_refused(src, pack, change):
    victim = write(src / "victim", b"abcdefghij")
    paused = Paused(src, pack)
    change(victim)
    status, err = paused.go_on()
    assert status == 1, err
    assert f"{victim}: changed while it was being packed" in err
    nothing_left(pack)


# Of which the kernel says that they have no bytes, and that they have 4096.
MORE, FEWER = Path("/proc/sys/kernel/ostype"), Path("/sys/kernel/mm/transparent_hugepage/enabled")
SAYS = {MORE: "has more bytes than its filesystem says; what 'cp' makes of it can be read",
        FEWER: "has fewer bytes than its filesystem says"}


@pytest.mark.parametrize("way", [[], ["--shard-size=1M"], ["--part=0/1"], ["--dedup"]],
                         ids=["whole", "shards", "part", "dedup"])
@pytest.mark.parametrize("victim", SAYS, ids=["more", "fewer"])
def test_a_size_that_is_not_that_of_the_bytes_is_not_believed(src, pack, tmp_path, victim, way):
    if not victim.exists() or victim.stat().st_size == len(victim.read_bytes()):
        pytest.skip(f"{victim}: is not there, or has its size")
    write(src / "a", b"other")
    os.symlink(victim, src / "b")
    done = run("create", *way, "--dereference", src, pack, status=1)
    assert f"{src}/b: {SAYS[victim]}; --on-bad=skip leaves such files out" in done.err
    nothing_left(pack)
    bad = tmp_path / "bad"
    run("create", *way, "--dereference", "--on-bad=skip", f"--bad-list={bad}", src, pack, status=4)
    [bad] = tmp_path.glob("bad*")
    assert bad.read_text() == f"b\tunreadable\t{SAYS[victim]}\n"


@pytest.mark.parametrize("way", [[], ["--since-checksum"], ["--dedup"]],
                         ids=["time", "checksum", "dedup"])
def test_a_size_is_not_believed_since_an_older_pack_either(src, pack, tmp_path, way):
    write(src / "a", b"other")
    old = tmp_path / "old.lmdb"
    run("create", src, old)
    os.symlink(MORE, src / "b")
    done = run("create", "--dereference", f"--since={old}", *way, src, pack, status=1)
    assert f"{src}/b: {SAYS[MORE]}" in done.err


def test_a_container_with_more_bytes_than_its_size_is_refused(pack):
    for words in ("create", MORE, pack), ("list", MORE), ("verify", MORE):
        assert f"{MORE}: {SAYS[MORE]}" in run(*words, status=1).err


def test_a_file_that_vanishes_is_left_out_when_told_to_skip(src, pack):
    victim = write(src / "victim", b"x")
    write(src / "z", b"last")
    paused = Paused(src, pack, "--on-bad=skip")
    victim.unlink()
    status, err = paused.go_on()
    assert status == 4, err
    assert f"{victim}: vanished while it was being packed; left out" in err
    assert listed(pack) == [b"a.jpg", b"z"]
    run("verify", pack)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_leaves_nothing_behind(src, pack, name):
    write(src / "z", b"x")
    paused = Paused(src, pack)
    paused.process.send_signal(getattr(signal, name))
    status, err = paused.go_on()
    assert status == -getattr(signal, name), err
    assert "interrupted; nothing was left behind" in err
    nothing_left(pack)


def test_signals_that_follow_leave_nothing_behind_either(src, pack):
    """timeout(1) sends two; the clean-up takes longer than that."""
    write(src / "z", b"x")
    paused = Paused(src, pack)
    while paused.process.poll() is None:
        paused.process.send_signal(signal.SIGTERM)
    err = paused.process.communicate()[1]
    assert paused.process.returncode == -signal.SIGTERM
    assert "interrupted; nothing was left behind" in err
    nothing_left(pack)


class Deaf(gate.Gate):
    """It answers no interrupt, and the kernel keeps pages: so a read ends by a deadly signal alone,
    as that of a mount whose daemon was stopped."""

    def reply(self, opcode, node, body):
        return (0, bytes(16)) if opcode == gate.OPEN else super().reply(opcode, node, body)

    def answer(self, unique, error, data=b""):
        if error != errno.EINTR:
            super().answer(unique, error, data)


@is_root
def test_signals_end_one_whose_source_answers_no_more(tmp_path, pack):
    with Deaf(bytes((64 << 20) + 1), tmp_path / "src") as deaf:  # no file is read beside it
        deaf.shut()
        with subprocess.Popen([FOLDPACK, "create", deaf.folder, pack], text=True,
                              stderr=subprocess.PIPE) as process:
            deaf.wait_for_reader()
            try:
                process.terminate()
                time.sleep(5)  # pack/tool/work/interrupt.h: after the first was noted
                for _ in range(10):
                    process.terminate()
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(1)
                assert process.returncode == -signal.SIGTERM
            finally:
                process.kill()


# --- create: the place of the pack ------------------------------------------------------


@pytest.mark.parametrize("words, said", [
    ("create src", "PACK is missing; see 'foldpack create --help'"),
    ("create", "SOURCE is missing"), ("list", "PACK is missing"), ("cat p", "PATH is missing"),
    ("diff src", "PACK is missing"), ("extract p", "DEST is missing"),
    ("export --format=lmdb p", "TARGET is missing"), ("verify", "PACK is missing"),
    ("report p page.html", "unexpected argument 'page.html'; the page's place is '-o FILE'"),
    ("report -o a p b", "unexpected argument 'b';"), ("help create list", "argument 'list'"),
    ("", ""), ("--nonsense", ""), ("pack", "unknown command 'pack'; see 'foldpack --help'"),
    ("craete", "unknown command 'craete'; did you mean 'create'?"),
    ("create --forse a b", "unknown option '--forse'; did you mean '--force'?"),
    ("create src s3://b/x.lmdb", "s3://b/x.lmdb: a URL; foldpack writes local files only: "
     "name a file or folder, and copy it afterwards: aws s3 cp NAME s3://b/x.lmdb"),
    ("create --bad-list=https://u:p@h/bad src p", "https://h/bad: a URL"),
    ("extract p s3://b/x", "s3://b/x: a URL"), ("report -o s3://b/x p", "s3://b/x: a URL"),
    ("export --format=lmdb p http://h/x", "http://h/x: a URL"),
    ("create src -", "-: standard output is not possible here: name a file or folder"),
    ("export --format=lmdb p -", "-: standard output is not possible"),
    ("extract p -", "-: standard output is not possible")])
def test_a_word_too_few_or_in_the_wrong_place_is_told_its_place(src, tmp_path, words, said):
    done = run(*words.split(), cwd=tmp_path, status=2)
    assert said in done.err
    assert sorted(os.listdir(tmp_path)) == ["out", "src"]


@pytest.mark.parametrize("words", [["src"], ["nowhere.lmdb"], ["--force", "src"]])
def test_a_folder_in_place_of_the_pack_is_said_to_come_first(src, tmp_path, words):
    done = run("create", *words, "src", cwd=tmp_path, status=1)
    assert "src: a folder, and PACK is a file; SOURCE comes first, then PACK\n" in done.err
    assert "--force" not in done.err


# --- names that a terminal would obey ------------------------------------------------------


def on_terminal(*words):
    """What foldpack writes where standard output is a terminal, and its errors."""
    ours, theirs = os.openpty()
    with subprocess.Popen([FOLDPACK, *words], stdout=theirs, stderr=subprocess.PIPE) as process:
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # EIO: nobody has the other end
            while True:
                said += os.read(ours, 65536)
        said += process.stderr.read()
    os.close(ours)
    return said.replace(b"\r\n", b"\n")


def test_names_on_a_terminal_are_shown_and_elsewhere_exact(src, pack):
    names = {b"\x1b[31m\x07": rb"\033[31m\007", "\u009b2J".encode(): rb"\302\2332J",
             b"\x9b\xff": rb"\233\377", "\u202egpj".encode(): rb"\342\200\256gpj",
             "caf\u00e9".encode(): "caf\u00e9".encode(), b"line\nend": rb"line\012end"}
    for number, name in enumerate(names):
        write(os.fsencode(src) + b"/c/" + name, b"%d" % number * 5000)
    os.symlink(b"\x1b]0;title\x07", os.fsencode(src) + b"/c/link")
    run("create", src, pack)
    assert set(names) <= {path[2:] for path in listed(pack)}
    shown = on_terminal("list", pack).splitlines()
    assert {b"c/" + name for name in names.values()} <= set(shown)
    assert b"c/\x1b[31m\x07\n" in run("list", pack).stdout
    for name in names:
        os.rename(os.fsencode(src) + b"/c/" + name, os.fsencode(src) + b"/c/" + name + b"2")
    damage(pack, b"0" * 5000)
    for words in (["list", "-l", pack], ["diff", src, pack], ["verify", pack], ["info", "-v", pack],
                  ["list", "--json", pack], ["diff", "--json", src, pack],
                  ["verify", "--json", pack], ["cat", pack, b"c/\x1b[31m"],
                  ["extract", pack, src, b"\x9b\x07"]):
        said = on_terminal(*words)
        text = said.decode(errors="surrogateescape")
        assert said and not [c for c in text if ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0
                             or c == "\u202e" or "\udc80" <= c <= "\udcff"], (words, said)
    found = {json.loads(line)["path"] for line in on_terminal("list", "--json", pack).splitlines()}
    assert {os.fsdecode(b"c/" + name) for name in names} <= found


# --- sources that are no files ------------------------------------------------------------


def test_a_pipe_that_a_shell_has_opened_is_read_as_a_tar(src, pack, tmp_path):
    write(src / "a/x.jpg", b"x")
    os.mkfifo(tmp_path / "pipe")
    for words in ('tar -C "$2" -c a | "$0" create /dev/fd/0 "$1"',
                  'tar -C "$2" -c a | "$0" create --force /dev/stdin "$1"',
                  'tar -C "$2" -cf pipe a & "$0" create --force /dev/fd/3 "$1" 3<pipe'):
        foldfs.run("sh", "-c", words, FOLDPACK, pack, src, cwd=tmp_path)
        assert listed(pack) == [b"a/x.jpg"]
    with open("/dev/zero", "rb") as zeros:
        done = run("create", "--force", "/dev/stdin", pack, stdin=zeros, status=1)
    assert "neither a folder nor a regular file" in done.err


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
def test_what_may_never_end_is_refused(src, pack, tmp_path, make):
    make(tmp_path / "odd")
    done = run("create", "odd", pack, cwd=tmp_path, status=1)
    assert ("odd: neither a folder nor a regular file; 'foldpack create - PACK <odd' reads a tar "
            "from it") in done.err
    done = run("list", "odd", cwd=tmp_path, status=1)
    assert "odd: not a regular file" in done.err
    nothing_left(pack)


@pytest.mark.parametrize("text, said", [
    ("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n",
     "a pointer of Git LFS, not the file itself: 'git lfs pull'"),
    ("/annex/objects/MD5E-s5--0123.lmdb\n",
     "a pointer of git-annex, not the file itself: 'git annex get'")])
def test_a_file_that_git_keeps_elsewhere_says_how_it_is_fetched(tmp_path, pack, text, said):
    for name in ("train.lmdb", "train.tar", "train.zip", "train-00000-of-00001"):
        (tmp_path / name).write_text(text)
        for words in (["create", name, pack], ["list", name], ["verify", name]):
            assert f"{name}: {said}" in run(*words, cwd=tmp_path, status=1).err
    os.symlink("../.git/annex/objects/xX/Yy/MD5E/MD5E.lmdb", tmp_path / "link.lmdb")
    for words in (["create", "link.lmdb", pack], ["list", "link.lmdb"]):
        done = run(*words, cwd=tmp_path, status=1)
        assert "link.lmdb: a link of git-annex, whose file is not here: 'git annex get'" in done.err


@pytest.mark.parametrize("name", ["train.tar.gz.gz", "train.json.gz"])
def test_create_does_not_send_to_create(tmp_path, pack, name):
    data = b"no image"
    for _ in range(name.count(".gz")):
        data = gzip.compress(data)
    (tmp_path / name).write_bytes(data)
    done = run("create", name, pack, cwd=tmp_path, status=1)
    assert f"{name}: " in done.err and "foldpack create'" not in done.err
    (tmp_path / "a-00000-of-00001").write_bytes(b"no pack")
    done = run("create", "a-*", pack, cwd=tmp_path, status=1)
    assert "makes packs" not in done.err


def test_a_pack_inside_its_source_is_refused_and_beside_it_is_fine(src, tmp_path):
    (src / "d").mkdir()
    os.symlink(src / "d", tmp_path / "door")
    for place in (src / "x.lmdb", src / "d/x.lmdb", tmp_path / "door/x.lmdb"):
        done = run("create", src, place, status=1)
        assert "would lie inside the folder that is packed" in done.err
    assert "inside the folder" in run("create", ".", "x.lmdb", cwd=src, status=1).err
    assert os.listdir(src) == ["d"] and os.listdir(src / "d") == []
    run("create", src, f"{src}.lmdb")
    run("create", ".", "../b.lmdb", cwd=src)
    assert listed(tmp_path / "b.lmdb") == [b"d/"]


def test_a_source_or_place_that_is_none_is_said(src, pack, tmp_path):
    for words, said in (
            (["nowhere", pack], "nowhere: No such file or directory"),
            (["file", pack], "file: not a tar"),
            (["src", "no/where.lmdb"], "cannot open 'no': No such file or directory")):
        write(tmp_path / "file", b"x")
        assert said in run("create", *words, cwd=tmp_path, status=1).err
    nothing_left(pack)


@is_root
def test_a_pack_in_a_folder_that_is_not_writable_is_said(src, pack, tmp_path):
    open_to_nobody(tmp_path)
    pack.parent.chmod(0o555)
    done = run_as_nobody("create", src, pack)
    assert done.returncode == 1
    assert f"{pack}: cannot create" in done.err and "Permission denied" in done.err


@is_root
def test_what_cannot_fit_is_not_begun_and_a_full_disk_is_said(src, tmp_path):
    for number in range(40):
        write(src / str(number), os.urandom(1 << 20))
    with small_filesystem(tmp_path / "small", 16) as small:
        done = run("create", "--anyway", src, small / "x.lmdb", status=1)
        assert "the disk is full: 16 MiB free, about 40.2 MiB needed" in done.err
        assert os.listdir(small) == []
        done = run("create", src, small / "x.lmdb", status=1)
        assert (f"{small}/x.lmdb: about 40.2 MiB needed, only 16 MiB free; make room, choose "
                "another place for PACK, or use --anyway" in done.err)
        assert "the disk is full" not in done.err and os.listdir(small) == []
        # Equal or smaller files may make it fit.
        subprocess.run(["tar", "-cf", tmp_path / "x.tar", "-C", src, "."], check=True)
        for words, said in ((["--dedup", src], "the disk is full"),
                            ([tmp_path / "x.tar"], "needed, only 16 MiB free"),
                            (["--optimize", src], "the disk is full: 16 MiB free; choose another")):
            assert said in run("create", *words, small / "x.lmdb", status=1).err
            assert os.listdir(small) == []


@needs("strace")
@pytest.mark.plain  # LeakSanitizer does not work below strace
@pytest.mark.parametrize("error, text", [("EDQUOT", "Disk quota exceeded"),
                                         ("ENOSPC", "No space left on device")])
def test_a_quota_or_a_disk_without_any_room_is_said_with_the_way_out(src, pack, error, text):
    write(src / "1", b"x")
    done = foldfs.run("strace", "-qqf", "-o", "/dev/null", "-e", f"inject=pwrite64:error={error}",
                      FOLDPACK, "create", src, pack, status=1)
    assert f"{pack}: write: {text}; make room, or choose another place for PACK\n" in done.err
    nothing_left(pack)


# --- damaged and foreign packs ----------------------------------------------------------


def test_cat_writes_up_to_the_damage(src, pack):
    """What verify and extract say of it: test_verify.py."""
    good, bad = os.urandom(50000), os.urandom(2500000)
    write(src / "d/good", good)
    write(src / "d/bad", bad)
    run("create", src, pack)
    damage(pack, bad)
    assert run("cat", pack, "d/good").stdout == good
    done = run("cat", pack, "d/bad", status=3)
    assert done.stdout == bad[: 1 << 20]
    assert done.err == (f"foldpack: {pack}: d/bad: byte 1048576 and on: checksum mismatch; copy it "
                        "again from an intact copy, or make it again\n")


@pytest.mark.parametrize("command", ["list", "info", "verify"])
def test_a_pack_that_is_none_is_said(command, src, pack, tmp_path):
    write(src / "a", b"x" * 10000)
    run("create", src, pack)
    os.chmod(pack, 0o644)
    os.truncate(pack, pack.stat().st_size - 1)
    done = run(command, pack, status=3)
    assert f"{pack}: truncated" in done.err
    done = run(command, write(tmp_path / "text", b"text\n" * 9999), status=1)
    assert "not an LMDB file" in done.err
    done = run(command, tmp_path / "nowhere", status=1)
    assert f"{tmp_path}/nowhere: No such file or directory" in done.err
    with lmdb.open(os.fspath(tmp_path / "other"), subdir=False) as env:
        with env.begin(write=True) as txn:
            txn.put(b"key", b"value")
    done = run(command, tmp_path / "other", status=1)
    assert "not a foldfs pack" in done.err


# --- list, info, cat --------------------------------------------------------------------


def test_list_shows_every_path_byte_by_byte(hostile):
    tree, pack = content(hostile[0]), hostile[1]
    above = {os.path.dirname(path) for path in tree}
    wanted = {path + b"/" * (kind == stat.S_IFDIR) for path, (kind, _) in tree.items()
              if path not in above}
    assert len(listed(pack)) == len(wanted)
    assert set(listed(pack)) == wanted
    assert run("list", pack).stdout == b"".join(path + b"\n" for path in listed(pack))
    assert set(json_lines(pack)) == {path.rstrip(b"/") for path in wanted}


def test_list_limits_itself_to_a_path(src, pack):
    for path in ("a/b/c", "a/d", "ab/e"):
        write(src / path, b"x")
    run("create", src, pack)
    assert listed(pack, "a") == [b"a/d", b"a/b/c"]
    assert listed(pack, "/a/b//") == [b"a/b/c"]
    assert listed(pack, "a/d") == [b"a/d"]
    done = run("list", pack, "a/x", status=1)
    assert "a/x: not in the pack" in done.err


def test_list_l_shows_mode_size_pixels_checksum_and_target(src, pack):
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\1\xe0\x08\2\0\0\0"
    write(src / "a.png", png).chmod(0o640)
    write(src / "same.png", png).chmod(0o640)
    write(src / "empty", b"").chmod(0o755)
    os.symlink("a.png", src / "link")
    (src / "none").mkdir(mode=0o1777)
    (src / "none").chmod(0o1777)
    run("create", "--check=off", src, pack)
    lines = run("list", "-l", pack).stdout.decode().splitlines()
    fields = {line.split(None, 4)[4]: line.split(None, 4)[:4] for line in lines}
    assert fields["a.png"][:3] == ["-rw-r-----", str(len(png)), "640x480"]
    assert fields["a.png"] == fields["same.png"]
    assert fields["empty"] == ["-rwxr-xr-x", "0", "-", "2d06800538d394c2"]
    assert fields["link -> a.png"] == ["lrwxrwxrwx", "5", "-", "-"]
    assert fields["none/"] == ["drwxrwxrwt", "0", "-", "-"]


def test_list_json_has_what_there_is_to_know(src, pack):
    gif = write(src / "a.gif", b"GIF89a\x40\x01\xf0\0\xf7\0\0")
    gif.chmod(0o644)
    os.utime(gif, ns=(0, -1))
    os.link(gif, src / "b.gif")
    os.symlink("a.gif", src / "c")
    run("create", "--check=off", src, pack)
    entries = json_lines(pack)
    assert entries[b"a.gif"] == {
        "path": "a.gif", "type": "file", "size": 13, "mode": "0644", "mtime": -1,
        "mtime_nsec": 999999999, "width": 320, "height": 240, "kind": "GIF",
        "checksum": run("list", "-l", pack, "a.gif").stdout.split()[3].decode(),
    }  # fmt: skip
    assert entries[b"b.gif"]["type"] == "hardlink" and entries[b"b.gif"]["link_to"] == "a.gif"
    assert entries[b"c"]["type"] == "symlink" and entries[b"c"]["target"] == "a.gif"


def test_info_counts_splits_classes_and_images(src, pack):
    for path in ("train/cat/1", "train/cat/2", "train/dog/1", "val/cat/1"):
        write(src / path, b"GIF89a\x10\0\x20\0")
    write(src / "labels.txt", b"text")
    run("create", "--check=off", src, pack)
    found = info(pack)
    assert found["files"] == 5 and found["directories"] == 6
    assert found["classes"] == 3
    train, val = found["splits"]
    assert (train["name"], train["classes"], train["files"], train["bytes"]) == ("train", 2, 3, 30)
    assert train["class_files"] == {"min": 1, "median": 2, "max": 2} and train["imbalance"] == 2
    assert (val["name"], val["classes"], val["files"], val["empty_classes"]) == ("val", 1, 1, 0)
    assert "class_table" not in found
    assert found["images"] == {
        "GIF": {
            "count": 4,
            "width": {"min": 16, "median": 16, "max": 16},
            "height": {"min": 32, "median": 32, "max": 32},
        }
    }
    assert found["other_files"] == 1
    assert found["relocated"] is False and found["format_version"] == 1
    assert found["fragmentation"] == 0
    text = run("info", pack).stdout.decode()
    assert "2 in train, 3 files, 1 to 2 a class (median 2), imbalance 2\n" in text
    assert "1 in val, 1 file, 1 a class\n" in text and found["id"] in text


def test_info_of_plain_classes_has_no_splits(src, pack):
    write(src / "cat/1", b"x")
    write(src / "dog/1", b"x")
    (src / "hamster").mkdir()
    run("create", src, pack)
    found = info(pack)
    assert found["classes"] == 3 and found["splits"] == []
    assert found["empty_classes"] == 1 and found["imbalance"] == 1
    assert b"3, 2 files, 1 a class, 1 empty\n" in run("info", pack).stdout


def test_info_shows_no_keys_of_an_index_as_options(src, tmp_path):
    write(src / "a/1.jpg", b"x")
    with tarfile.open(tmp_path / "x.tar", "w") as tar:
        tar.add(src / "a", "a")
    for source in (src, tmp_path / "x.tar"):
        assert b"options        none that shape the content\n" in run("info", source).stdout
        assert info(source)["options"] == ""


def test_info_shows_each_class_when_asked_for_more(src, pack):
    for path, size in {"train/a/1": 5, "train/a/deep/2": 7, "train/b\n/1": 1, "val/a/1": 3}.items():
        write(src / path, b"x" * size)
    run("create", src, pack)
    assert info("-v", pack)["class_table"] == [
        {"split": "train", "name": "a", "files": 2, "bytes": 12},
        {"split": "train", "name": "b\n", "files": 1, "bytes": 1},
        {"split": "val", "name": "a", "files": 1, "bytes": 3},
    ]
    text = run("info", "-v", pack).stdout.decode()
    table = text[text.index("\nclass  ") + 1:].splitlines()
    assert [line.split() for line in table] == [
        ["class", "2", "files", "12", "bytes", "train/a"],
        ["1", "files", "1", "byte", "train/b\\012"],
        ["1", "files", "3", "bytes", "val/a"],
    ]


def test_cat_writes_files_only(src, pack):
    write(src / "d/a", b"bytes\0\n")
    os.symlink("d/a", src / "link")
    write(src / "empty", b"")
    os.link(src / "d/a", src / "second")
    run("create", src, pack)
    assert run("cat", pack, "d/a").stdout == b"bytes\0\n"
    assert run("cat", pack, "second").stdout == b"bytes\0\n"
    assert run("cat", pack, "empty").stdout == b""
    assert f"{pack}: d: a folder; name" in run("cat", pack, "d", status=1).err
    assert f"{pack}: link: a symbolic link to 'd/a'" in run("cat", pack, "link", status=1).err
    assert f"{pack}: x: not in the pack" in run("cat", pack, "x", status=1).err


def test_output_that_cannot_be_written_is_a_failure(src, pack):
    write(src / "a", b"x" * 3000000)
    os.mkfifo(src / "pipe")  # no success with inputs left out
    run("create", src, pack, status=4)
    for args in (["cat", pack, "a"], ["list", pack], ["info", pack], ["--help"],
                 ["create", "--json", "--force", src, pack]):
        with open("/dev/full", "wb") as full:
            done = run(*args, stdout=full, status=1)
        assert "No space left on device" in done.err


def test_a_reader_that_goes_away_is_no_complaint(src, pack):
    write(src / "a", b"x" * 3000000)
    run("create", src, pack)
    for ignored in ("", "trap '' PIPE; "):
        done = foldfs.run("bash", "-o", "pipefail", "-c",
                          f'{ignored}"$0" cat "$1" a | head -c 1 >/dev/null', FOLDPACK, pack,
                          status=None)
        assert done.returncode != 0 and done.err == ""


# --- extract ----------------------------------------------------------------------------


def test_extract_never_leaves_its_destination(src, pack, tmp_path):
    write(src / "d/file", b"packed")
    os.symlink("/etc", src / "link")
    run("create", src, pack)
    outside = tmp_path / "outside"
    outside.mkdir()
    again = tmp_path / "again"
    again.mkdir()
    os.symlink(outside, again / "d")
    done = run("extract", pack, again, status=1)
    assert "d: exists" in done.err
    assert os.listdir(outside) == []
    assert os.readlink(again / "link") == "/etc"


def test_extract_takes_only_the_paths_asked_for(src, pack, tmp_path):
    for path in ("a/b/c", "a/b/d", "a/e", "f"):
        write(src / path, path.encode())
    (src / "a").chmod(0o710)
    run("create", src, pack)
    again = tmp_path / "again"
    run("extract", pack, again, "a/b", "f")
    assert sorted(content(again)) == [b"a", b"a/b", b"a/b/c", b"a/b/d", b"f"]
    assert stat.S_IMODE((again / "a").stat().st_mode) == 0o710
    done = run("extract", pack, tmp_path / "none", "a/x", status=1)
    assert "a/x: not in the pack" in done.err
    assert not (tmp_path / "none").exists()


def test_extract_makes_a_file_of_a_hard_link_whose_first_name_is_not_asked_for(
    src, pack, tmp_path
):
    write(src / "a", b"data")
    os.link(src / "a", src / "b")
    os.link(src / "a", src / "c")
    run("create", src, pack)
    run("extract", pack, tmp_path / "again", "b", "c")
    assert (tmp_path / "again/b").samefile(tmp_path / "again/c")


@is_root
def test_extract_restores_directories_that_nobody_may_write(src, pack, tmp_path):
    write(src / "d/e/file", b"data")
    (src / "d/e").chmod(0o555)
    (src / "d").chmod(0o555)
    open_to_nobody(tmp_path)
    run("create", src, pack)
    done = run_as_nobody("extract", pack, pack.parent / "again")
    assert done.returncode == 0, done.err
    assert state(pack.parent / "again") == state(src)


def test_what_is_extracted_is_as_private_as_the_umask_asks(src, pack, tmp_path):
    write(src / "d/e/file", b"x").chmod(0o666)
    write(src / "d/secret", b"x").chmod(0o604)
    (src / "d").chmod(0o777)
    (src / "d/e").chmod(0o777)
    run("create", src, pack)
    run("extract", pack, tmp_path / "again", umask=0o077)
    assert stat.S_IMODE((tmp_path / "again").stat().st_mode) == 0o700
    assert trees.modes(tmp_path / "again") == {
        "d": "700", "d/e": "700", "d/e/file": "600", "d/secret": "600"}
    run("extract", pack, tmp_path / "parents", "d/e/file", umask=0o077)
    assert trees.modes(tmp_path / "parents") == {
        "d": "700", "d/e": "700", "d/e/file": "600"}
    run("extract", pack, tmp_path / "all", umask=0)
    assert trees.modes(tmp_path / "all") == trees.modes(src)


def test_what_create_makes_is_as_private_as_the_umask_asks(src, tmp_path):
    for name in "abc":
        write(src / name / "x.jpg", os.urandom(700_000))
    out = tmp_path / "out"
    for words in (["--shard-size=1M"], ["--part=0/2"]):
        run("create", "-q", *words, "--check=header", "--on-bad=keep", f"--bad-list={out}/bad",
            src, out / "p.lmdb", umask=0o027)
    run("report", "-o", out / "page.html", out / "p-00000-of-00002.lmdb", umask=0o027)
    modes = trees.modes(out)
    assert len(modes) > 6
    assert set(modes.values()) == {"440", "640"}
    assert {name for name in modes if modes[name] == "440"} == {
        path.name for path in out.glob("p-*.lmdb")}


def test_extract_makes_no_file_setuid(src, pack, tmp_path):
    write(src / "tool", b"x").chmod(0o6755)
    run("create", src, pack)
    run("extract", pack, tmp_path / "again")
    assert stat.S_IMODE((tmp_path / "again/tool").stat().st_mode) == 0o755


@is_root
def test_extract_says_a_full_disk_and_stops(src, pack, tmp_path):
    for number in range(40):
        write(src / str(number), os.urandom(1 << 20))
    run("create", src, pack)
    with small_filesystem(tmp_path / "small", 16) as small:
        done = run("extract", pack, small / "again", status=1)
        assert done.err.count("No space left on device") == 1
        for name in os.listdir(small / "again"):
            assert (small / "again" / name).read_bytes() == (src / name).read_bytes()


# --- words ------------------------------------------------------------------------------


@pytest.mark.parametrize("program", ["foldpack", "foldfs", "foldstat"])
def test_every_program_says_its_help(program):
    for words in (["-h"], ["--help"], ["help"]):
        assert foldfs.run(BUILD / program, *words).out.startswith(f"usage: {program}")
    assert foldfs.run(BUILD / program, "-V").out.startswith(f"{program} ")


@pytest.mark.parametrize("command", ["create", "list", "info", "verify", "cat", "diff", "extract",
                                     "export", "report"])
def test_every_command_has_help_and_version(command):
    text = run(command, "--help").stdout
    assert text.startswith(b"usage: foldpack")
    assert max(map(len, text.decode().splitlines())) <= 80
    assert run("help", command).stdout == run(command, "-h").stdout == text
    version = run(command, "--version").stdout.decode()
    for library in ("foldpack", "liblmdb", "libjpeg-turbo", "libarchive", "xxHash"):
        assert library in version
