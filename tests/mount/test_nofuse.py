"""A folder without a mount: what a command sees whose system calls foldfs answers (--no-fuse)."""

import contextlib
import json
import os
import platform
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pytest

import container
import foldfs
import gate
import trees
from groups import memory_group
from foldfs import (
    FOLDFS, FOLDSTAT, MIB, NOBODY, PATIENCE, SOMEBODY, as_user, find_program, is_root, needs_root,
    refused, run, wait_until)

HERE = Path(__file__).resolve().parent
WORDS = ["--no-fuse", "-q"]
WITHOUT = ("env", "-u", "LD_PRELOAD")


@pytest.fixture(scope="session", autouse=True)
def listeners():
    """Skips where the kernel cannot do it, as an older one."""
    if "seccomp listeners" in run(FOLDFS, "--version").out.partition("lacks")[2]:
        pytest.skip("no seccomp listeners here")


def job(pack, folder, *command, options=(), before=(), **how):
    """What a command says, for which the pack is in the folder."""
    return run(*before, FOLDFS, *WORDS, *options, pack, folder, "--", *command, **how)


def in_job(pack, folder, script, *words, **how):
    """The same of a script of Python, which knows the modules of the tests."""
    how.setdefault("env", {**os.environ, "PYTHONPATH": str(HERE)})
    return job(pack, folder, sys.executable, "-B", "-c", script, folder, *words, **how)


@contextlib.contextmanager
def begun(pack, folder, *command, options=(), before=()):
    """A job that has said so, and that goes on when its input ends."""
    with subprocess.Popen([*before, FOLDFS, *WORDS, *options, pack, folder, "--", *command],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "begun\n"
        yield process


def running(pack, folder, *options, before=()):
    """One that has read a file."""
    return begun(pack, folder, "sh", "-c", f"cat {folder}/file >&2 && echo begun; read end; "
                 f"cat {folder}/folder/other", options=options, before=before)


def pack_of(place, files, **modes):
    """A pack of these files, {path: bytes}; some have other modes."""
    def make(source):
        for path, data in files.items():
            trees.write(source / path, data)
        for path, mode in modes.items():
            (source / path).chmod(mode)

    return trees.packed(place / "source", make)[1]


CONTENT = "import sys, trees; sys.stdout.write(repr(trees.content(sys.argv[1])))"


def content(pack, folder, **how):
    return eval(in_job(pack, folder, CONTENT, **how).out)


# --- what is seen -----------------------------------------------------------------------------


def test_a_job_sees_what_was_packed(hostile, point):
    source, pack = hostile
    assert content(pack, point) == trees.content(source)
    assert os.listdir(point) == []


def test_two_jobs_share_a_folder_and_others_see_empty_ones(small, point):
    with running(small[1], point) as first:
        with running(small[1], point):
            assert list(trees.paths(point)) == [b"folder"]
        assert first.communicate(timeout=PATIENCE)[0] == "other content\n"
        assert first.returncode == 0
    assert os.listdir(point) == []


TOOLS = {
    "find": "find . ! -type d -printf '%p %y %m %n %s %T@ %U %l\\n' | sort",
    "find folders": "find . -type d -printf '%p %m %T@ %n %U\\n' | sort",
    "ls": "ls -lR --time-style=full-iso | grep -v ^d | grep -v ^total | tr -s ' '",
    "cat": "find . -type f -print0 | sort -z | xargs -0 cat | sha1sum",
    "tar": "tar -c --sort=name --numeric-owner . | sha1sum",
    "cp": "cp -a . $OUT/cp && cd $OUT/cp && find . -printf '%p %y %m %n %T@ %l\\n' | sort && "
          "find . -type f -exec sha1sum {} + | sort",
    "cp of links": "cp -rL names $OUT/followed && find $OUT/followed -type f | wc -l",
    "realpath": "realpath --relative-to=. sizes/* links/[tud]*; realpath sizes/4096 | sed s,$PWD,,",
    "diff": "diff -r sizes $OUT/../source/sizes && echo same",
    "stat": "stat -c '%n %F %a %h %Y' sizes/* links/* .",
    "test": "for f in sizes/0 empty links/*; do test -w $f; test -x $f; echo $f $?; done",
    "readlink": "readlink links/*; readlink -f links/[tuld]* | sed s,$PWD,,",
    "changes": "export LC_ALL=C; touch new; mkdir new; rm sizes/0; mv sizes/0 sizes/1; rmdir empty;"
               " chmod 600 sizes/0; ln sizes/0 new; ln -s a new; cp sizes/0 new; truncate -s 0 "
               "sizes/0; echo x >sizes/0; echo x >>new",
    "descriptors": "exec 3<sizes/4097; cat /proc/self/fd/3 | sha1sum; cat <&3 | sha1sum; "
                   "stat -L -c %s /dev/fd/3; readlink /proc/self/fd/3 | sed s,$PWD,,",
    "relative": "cd deep && find . | sort && cd .. && cat deep/../sizes/../sizes/513 | sha1sum",
    "shell": "for f in */*; do echo \"$f\"; done; [ -d empty ] && [ ! -e missing ] && echo yes",
    "perl": "perl -e 'opendir(D, \"sizes\"); print sort map { \"$_ \" . -s \"sizes/$_\" } "
            "grep { !/^\\./ } readdir(D)'",
    "rsync": "rsync -a --no-owner . $OUT/rsync && cd $OUT/rsync && "
             "find . ! -type d -printf '%p %s %T@\\n' | sort",
}


def said_in(folder, script, out, *before):
    """What a shell says that works in a folder."""
    out.mkdir()
    environment = {**os.environ, "OUT": str(out), "TZ": "UTC"}
    return run(*before, "bash", "-c", f"cd -- '{folder}' && {script}", status=None,
               env=environment, stdin=subprocess.DEVNULL)


@is_root
@pytest.mark.parametrize("tool", TOOLS)
def test_tools_see_what_they_see_in_the_source(tool, hostile, place, point, plain_hostile):
    """The source is read-only, so that what would change something fails alike."""
    script = TOOLS[tool]
    (place / "a").mkdir()
    (place / "b").mkdir()
    for folder in "ab":
        (place / folder / "source").symlink_to(plain_hostile)
    plain = said_in(plain_hostile, script, place / "a/out")
    without = said_in(point, script, place / "b/out", FOLDFS, *WORDS, hostile[1], point, "--")
    assert without.stdout.replace(os.fsencode(place / "b"), b"").replace(
        os.fsencode(point), os.fsencode(plain_hostile)) == \
        plain.stdout.replace(os.fsencode(place / "a"), b"")
    assert without.stderr == plain.stderr
    assert without.returncode == plain.returncode
    assert plain.stdout or plain.stderr


@pytest.fixture(scope="module")
def plain_hostile(hostile, session_dir):
    def make(root):
        run("cp", "-a", f"{hostile[0]}/.", root)
        root.chmod(0o755)

    with foldfs.plain_tree(session_dir / "plain-hostile", make) as folder:
        yield folder


SHAPES = """
import glob, mmap, os, pathlib, sys
top, link = sys.argv[1:]
def same(name, got, want):
    assert got == want, f"{name}: {got!r} is not {want!r}"
want = open(top + "/large", "rb").read()
same("link to the folder", open(link + "/large", "rb").read(), want)
same("link to a file", open(link + " to file").read(), "content\\n")
same("samefile", os.path.samefile(link + "/file", top + "/file"), True)
same("realpath", os.path.realpath(link + "/folder/../file"), os.path.join(top, "file"))
fd = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
same("dir_fd", os.stat("file", dir_fd=fd), os.stat(top + "/file"))
same("listdir of a descriptor", sorted(os.listdir(fd)), ["file", "folder", "large", "program"])
os.chdir(top + "/folder")
same("working folder", os.getcwd(), top + "/folder")
same("beside it", open("../file").read(), "content\\n")
os.fchdir(fd)
same("fchdir", open("folder/other").read(), "other content\\n")
same("walk", sorted(f for _, _, files in os.walk(".") for f in files),
     ["file", "large", "other", "program"])
same("fwalk", sum(len(files) for _, _, files, _ in os.fwalk(".")), 4)
same("glob", sorted(glob.glob("**/o*", recursive=True)), ["folder/other"])
same("rglob", [str(p) for p in pathlib.Path(top).rglob("oth*")], [top + "/folder/other"])
with open("large", "rb") as file:
    same("mmap", mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)[:], want)
    same("fstat", os.fstat(file.fileno()), os.stat("large"))
    same("by descriptor", open(f"/dev/fd/{file.fileno()}", "rb").read(), want)
    same("its name", os.readlink(f"/proc/self/fd/{file.fileno()}"), top + "/large")
    again = os.dup(file.fileno())
    file.seek(5)
    same("a shared offset", os.read(again, 3), want[5:8])
one, two = open("file"), open("file")
one.read()
same("an offset of its own", two.read(), "content\\n")
path = os.open("file", os.O_PATH)
same("O_PATH", os.stat(path), os.stat("file"))
pid = os.fork()
if pid == 0:
    os._exit(open(top + "/file").read() != "content\\n")
same("fork", os.waitpid(pid, 0)[1], 0)
left, right = os.pipe()
half = os.open(top, os.O_RDONLY)
names = os.scandir(half)
first = next(names).name
same("the rest", sorted([first, *(e.name for e in names)]), ["file", "folder", "large", "program"])
same("again", len(os.listdir(half)), 4)
for name, refused in {"program": 13, "missing": 2, "file/x": 20}.items():
    try:
        os.execv(os.path.join(top, name), ["x"])
    except OSError as error:
        same(name, error.errno, refused)
same("device", os.stat(top).st_dev, os.stat("file").st_dev)
same("inodes", len({e.inode() for e in os.scandir(top)}), 4)
same("of listings", {e.inode() for e in os.scandir(top)},
     {os.lstat(e.path).st_ino for e in os.scandir(top)})
print("all")
"""


def test_files_are_reached_in_all_ways(small, place, point):
    (place / "link").symlink_to(point)
    (place / "link to file").symlink_to(point / "file")
    assert in_job(small[1], point, SHAPES, place / "link").out == "all\n"


PROCESS = """
import os, sys
top = sys.argv[1]
os.chdir(top)
fd = os.open("folder", os.O_RDONLY)
file = os.open("file", os.O_RDONLY)
root = os.open("/", os.O_RDONLY)
for own in ("/proc/self", "/proc//self", "/proc/./self", "/proc/../proc/self", "/proc/thread-self",
            f"/proc/{os.getpid()}", "/proc/self/../self"):
    for path, size in {f"{own}/cwd/file": 8, f"{own}/fd/{fd}/other": 14, f"{own}/fd/{file}": 8,
                       f"{own}/cwd/folder/../file": 8, f"{own}/fd/{fd}/../folder/other": 14,
                       f"{own}/root/{top}/file": 8, f"{own}/fd/../cwd/file": 8}.items():
        for how in (path, path.lstrip("/")):
            found = os.open(how, os.O_RDONLY, dir_fd=root)
            assert len(os.read(found, 99)) == size == os.stat(how, dir_fd=root).st_size, how
            os.close(found)
for path in (f"/dev/fd/{fd}/other", f"/dev/fd/./{fd}/other", f"/dev//fd/{fd}/../folder/other"):
    assert open(path).read() == "other content\\n", path
os.symlink("/proc/self/cwd", sys.argv[2])
assert open(sys.argv[2] + "/folder/other").read() == "other content\\n"
assert f"Pid:\\t{os.getpid()}\\n" in open("/proc//self/status").read()
print("all")
"""


def test_proc_self_is_the_job_s_however_it_is_written(small, place, point):
    assert in_job(small[1], point, PROCESS, place / "link").out == "all\n"


RENAMES = """
import errno, os, socket, sys
top, above = sys.argv[1], os.path.dirname(sys.argv[1])
def refused(call, *words):
    try:
        call(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
print(refused(os.rename, top, above + "/moved"), refused(os.rename, above, top + "/in"),
      refused(os.rmdir, top + "/../mnt"), refused(os.unlink, top))
there, inode = os.open(top, os.O_RDONLY), os.stat(top + "/folder").st_ino
def look(path):
    fd = os.open(path, os.O_RDONLY)
    assert os.stat(path).st_ino == os.fstat(fd).st_ino == inode and os.listdir(fd) == ["other"]
os.chdir(top + "/folder")
os.rename(above, above + "-2")
assert refused(os.stat, top + "/file") == "ENOENT"
look(above + "-2/mnt/folder")
os.symlink(above + "-2", above)
look(above + "-2/mnt/folder")
look(top + "/folder")
os.unlink(above)
for path in (above + "-2/mnt/file", "../file", "/proc/self/cwd/../file", f"/dev/fd/{there}/file"):
    assert open(path).read() == "content\\n", path
assert os.getcwd() == above + "-2/mnt/folder"
with open("../file") as file:
    assert os.readlink(f"/proc/self/fd/{file.fileno()}") == above + "-2/mnt/file"
os.mkdir(above)
os.mkdir(top)
open(top + "/file", "w").write("another one")
assert open(top + "/file").read() == "another one"
os.unlink(top + "/file")
os.rmdir(top)
os.rmdir(above)
os.rename(above + "-2", above)
os.mkdir(above + "-2")
os.symlink(top, above + "/link")
look(above + "/link/folder")
os.rmdir(above + "-2")
os.unlink(above + "/link")
print(open(top + "/file").read(), end="")
for name, kind in {"new": socket.SOCK_STREAM, "file": socket.SOCK_DGRAM, "folder/../new": 1,
                   "missing/new": 1, "new/": 1}.items():
    print(refused(socket.socket(socket.AF_UNIX, kind).bind, top + "/" + name), end=" ")
os.chdir(top)
print(refused(socket.socket(socket.AF_UNIX).bind, "new"))
socket.socket(socket.AF_UNIX).bind("\\0foldfs-test")
socket.socket(socket.AF_UNIX).bind(above + "/socket")
"""


@pytest.mark.parametrize("how", [(), WITHOUT], ids=["as it is", "without the object"])
def test_the_folder_stays_where_it_is_and_may_move_with_those_above(how, small, place):
    (place / "above/mnt").mkdir(parents=True)
    assert job(small[1], place / "above/mnt", *how, sys.executable, "-c", RENAMES,
               place / "above/mnt").out == \
        "EBUSY EXDEV EBUSY EISDIR\ncontent\nEROFS EADDRINUSE EROFS ENOENT ENOENT EROFS\n"
    assert sorted(os.listdir(place / "above")) == ["mnt", "socket"]
    assert os.listdir(place / "above/mnt") == []


def test_a_program_in_it_is_not_executed(small, point):
    done = job(small[1], point, point / "program", status=126)
    assert "Permission denied" in done.err
    assert job(small[1], point, "sh", point / "program").out == "ran\n"


def test_calls_that_would_pass_by_are_refused(small, point):
    script = ("import ctypes, os; libc = ctypes.CDLL(None, use_errno=True); "
              "print({(libc.syscall(n, 1, 0), ctypes.get_errno()) for n in "
              "(425, *range(463, 467), 468, 469)}, (libc.chroot(b'/'), ctypes.get_errno()), "
              "(libc.fanotify_mark(-1, 1, ctypes.c_long(32), -100, b'file'), ctypes.get_errno()))")
    assert in_job(small[1], point, script, cwd=point).out == "{(-1, 38)} (-1, 1) (-1, 95)\n"


def test_a_subfolder_and_a_selection(small, place, point):
    assert job(small[1], point, "ls", point, options=["--subdir=folder"]).out == "other\n"
    assert job(small[1], point, "ls", point, options=["--select=f*"]).out == "file\nfolder\n"


@is_root
def test_modes_hold_for_other_users(place, point):
    pack = pack_of(place, {"secret/file": b"text", "own": b"text"}, own=0o600, secret=0o700)
    other = " ".join(as_user(SOMEBODY))
    done = job(pack, point, "sh", "-c", f"cat {point}/own; {other} cat {point}/own {point}/secret/"
               "file", status=1)
    assert done.out == "text" and done.err.count("Permission denied") == 2


# --- bytes ------------------------------------------------------------------------------------


def test_damage_is_an_error_and_is_named(small, place, point):
    pack = place / "damaged.lmdb"
    data = bytearray(small[1].read_bytes())
    data[data.index(trees.noise(1, 2 * MIB)[MIB:MIB + 64])] ^= 1
    pack.write_bytes(data)
    done = job(pack, point, "sh", "-c", f"cat {point}/large; cat {point}/file", status=0)
    assert done.out == "content\n"
    assert "Input/output error" in done.err and "'large' at 1048576: checksum mismatch" in done.err


EPOCHS = """
import json, os, sys
top, names = sys.argv[1], sys.argv[2:]
for _ in range(3):
    for name in names:
        open(f"{top}/{name}", "rb").read()
    stats = json.loads(os.getxattr(top, "user.foldfs.stats"))
    print(stats["device"]["bytes"], stats["prefetch"]["issued"], stats["prefetch"]["wasted"])
"""


def test_what_has_a_copy_is_not_read_ahead_again(place, point):
    """24 MiB, all of which are kept as copies, and of which the pool holds a third."""
    names = [f"{number:02}" for number in range(48)]
    pack = pack_of(place, {name: trees.noise(int(name), MIB // 2) for name in names})
    random.Random(1).shuffle(names)
    (place / "order").write_text("\n".join(names))
    first, *later = in_job(pack, point, EPOCHS, *names, options=[
        "--pool=8M", f"--order={place / 'order'}"]).out.splitlines()
    assert later == [first, first] and first.endswith(" 0")


@pytest.mark.alone
def test_copies_of_the_epoch_before_are_few(place, point):
    """48 MiB, in another order in each epoch: more than is kept. What has a copy by chance when it
    comes again was read ahead in vain."""
    names = [f"{number:03}" for number in range(192)]
    pack = pack_of(place, {name: trees.noise(int(name), MIB // 4) for name in names})
    chance = random.Random(1)
    order = sum((chance.sample(names, len(names)) for _ in range(3)), [])
    (place / "order").write_text("\n".join(order))
    said = in_job(pack, point, EPOCHS.replace("range(3)", "range(1)"), *order, options=[
        "--pool=8M", f"--order={place / 'order'}"]).out
    _, issued, wasted = map(int, said.split())
    assert issued > 0 and wasted <= issued * 0.02


# --- foldstat outside of the job --------------------------------------------------------------


def asked(folder):
    return json.loads(run(FOLDSTAT, "--json", folder).out)


def shape(stats):
    return {name: shape(value) for name, value in stats.items()} if isinstance(stats, dict) else 0


def test_others_are_told_what_a_mount_tells(small, place, point, mount):
    (place / "mount").mkdir()
    (place / "link").symlink_to(point)
    with running(small[1], point):
        stats = asked(point)
        assert stats["served_files"] == 1
        assert shape(stats) == shape(mount(small[1], at=place / "mount").stats())
        assert asked(place / "link")["id"] == stats["id"]
        lines = run(FOLDSTAT, point, "0.01", "3").out.splitlines()
        assert "requests/s" in lines[0] and len(lines) > 4
        assert f'foldfs_up{{mount="{point}"}} 1\n' in run(FOLDSTAT, "--prometheus").out
        assert str(point) in run(FOLDSTAT, place, status=1).err.partition("; mounts: ")[2]
    assert "not the root of a foldfs mount" in run(FOLDSTAT, point, status=1).err


@needs_root("setpriv")
def test_the_live_view_shows_the_job(small, own_point):
    from terminal import Terminal
    with running(small[1], own_point, before=as_user(SOMEBODY)):
        with Terminal(*as_user(SOMEBODY), FOLDSTAT, "-w") as view:
            view.wait_for(lambda text: str(own_point) in text and str(small[1]) in text)
            view.press(b"q")
            assert view.end() == 0


def test_an_order_comes_from_outside_and_inside(small, place, point):
    (place / "order").write_text("file\nlarge\n")
    give = [FOLDSTAT, f"--order={place}/order", point]
    with running(small[1], point):
        assert run(*give).out == "order: given for 2 files\n"
        (place / "order").write_text("file\nnone\n")
        assert "line 2: 'none' is not in the pack" in run(*give, status=1).err
        (place / "order").write_text("file\n" * 20000)
        assert run(*give).out == "order: given for 20,000 files\n"
    assert job(small[1], point, *give).out == "order: given for 20,000 files\n"
    with running(small[1], point, "--readahead=0"):
        assert "nothing is read ahead there" in run(*give, status=1).err


def test_of_two_jobs_the_later_one_tells(small, point):
    with running(small[1], point, "--pool=9M"), running(small[1], point, "--pool=8M") as later:
        assert f"pool={8 * MIB}" in asked(point)["options"]
        later.communicate(timeout=PATIENCE)
        assert later.returncode == 0
        assert f"pool={9 * MIB}" in asked(point)["options"]


@needs_root("setpriv")
@pytest.mark.parametrize("whose", [0, SOMEBODY])
def test_other_users_are_told_nothing(whose, small, place, own_point):
    (place / "order").write_text("file\n")
    os.chown(own_point, whose, whose)
    with running(small[1], own_point, before=as_user(whose)):
        for words in ([], [f"--order={place}/order"]):
            said = run(*as_user(NOBODY), FOLDSTAT, *words, own_point, status=1)
            assert "permission denied" in said.err and said.out == ""
        assert asked(own_point)["served_files"] == 1  # root


STRANGER = """
import os, socket, sys
of = os.stat(sys.argv[1])
names = [f"\\0foldfs job {of.st_dev:x} {of.st_ino:x} {time:x}" for time in (1, (1 << 64) - 1)]
held = [socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in names]
for name, listener in zip(names, held):
    listener.bind(name.ljust(108, "\\0"))
    listener.listen(0)
print("listens", flush=True)
sys.stdin.read()
"""


@needs_root("setpriv")
def test_a_stranger_is_not_believed(small, point):
    """Who has such a name first, and answers nothing; soon nobody can connect any more."""
    with subprocess.Popen([*as_user(SOMEBODY), sys.executable, "-c", STRANGER, point],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
        assert stranger.stdout.readline() == b"listens\n"
        for _ in range(3):
            assert re.search("permission denied|it does not answer",
                             run(FOLDSTAT, point, status=1).err)
        with running(small[1], point):
            assert asked(point)["served_files"] == 1
        stranger.stdin.close()


SENDER = """
import os, socket, struct, sys
of = os.stat(sys.argv[1])
[begin] = [line.split("@")[1] for line in open("/proc/net/unix")
           if f"@foldfs job {of.st_dev:x} {of.st_ino:x} " in line]
listener = socket.create_server(("127.0.0.1", 0))
slow = socket.create_connection(listener.getsockname())
other_end, _ = listener.accept()
slow.setblocking(False)
try:
    while slow.send(bytes(65536)):
        pass
except BlockingIOError:
    pass
slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 30000))
way = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
way.connect(("\\0" + begin).ljust(108, "\\0"))
try:
    socket.send_fds(way, [b"?"], [slow.fileno()])
except PermissionError:  # Linux 6.16
    slow.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 0, 0))
slow.close()
print("sent", flush=True)
sys.stdin.read()
"""


@needs_root("setpriv")
def test_what_a_stranger_sends_keeps_no_job(small, point):
    """A socket whose data nobody takes: who closes it last waits for that."""
    with running(small[1], point) as process:
        [server] = foldfs.children(process.pid)
        os.kill(server, signal.SIGSTOP)
        with subprocess.Popen([*as_user(SOMEBODY), sys.executable, "-c", SENDER, point],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stranger:
            assert stranger.stdout.readline() == b"sent\n"
            os.kill(server, signal.SIGCONT)
            process.communicate(timeout=PATIENCE)
            assert process.returncode == 0
            stranger.stdin.close()


def test_a_killed_server_answers_no_question(small, point):
    with running(small[1], point) as process:
        [server] = foldfs.children(process.pid)
        os.kill(server, signal.SIGSTOP)
        with subprocess.Popen([FOLDSTAT, point], stderr=subprocess.PIPE) as asker:
            with contextlib.suppress(subprocess.TimeoutExpired):
                asker.wait(0.1)
            os.kill(server, signal.SIGKILL)
            assert b"not the root of a foldfs mount" in asker.communicate(timeout=PATIENCE)[1]
            assert asker.returncode == 1


# --- storage that hangs -----------------------------------------------------------------------


HELD_UP = """
import os, sys, threading
top, hangs = sys.argv[1:]
print("begun", flush=True)
threads = [threading.Thread(target=os.stat, args=[hangs], daemon=True) for _ in range(16)]
for thread in threads: thread.start()
sys.stdin.readline()
print(open(top + "/file").read(), end="", flush=True)
if sys.stdin.readline():
    for thread in threads: thread.join()
os._exit(0)
"""


@contextlib.contextmanager
def held_up(pack, folder, hangs):
    """A job many threads of which look at a path, which foldfs is asked for each time."""
    with begun(pack, folder, *WITHOUT, sys.executable, "-c", HELD_UP, folder, hangs) as process:
        try:
            yield process
        finally:
            process.kill()


@is_root
@pytest.mark.parametrize("what", [gate.LOOKUP, gate.GETATTR], ids=["names", "attributes"])
def test_storage_that_hangs_holds_up_nobody_else(what, small, place, point):
    """All who look at a path there are kept, by a thread of foldfs each where names are asked
    for; attributes it does not ask for."""
    with gate.Gate(b"", place / "hangs", remembered=False) as hangs:
        if what == gate.LOOKUP:
            hangs.named = 0
        hangs.gated = (what,)
        os.stat(hangs.path)
        hangs.shut()
        with held_up(small[1], point, hangs.path) as process:
            for _ in range(16):
                hangs.wait_for_reader()
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "content\n"
            hangs.open()
            process.communicate("\n", timeout=PATIENCE)
            assert process.returncode == 0


class Stopped(gate.Gate):
    """A daemon that takes no further request while the gate is shut: even a signal does not end
    the wait of who asks, but his end does."""

    def reply(self, opcode, node, body):
        if opcode == gate.LOOKUP and self.is_shut():
            self.waiting.release()
            self.opened.wait(PATIENCE)
        return super().reply(opcode, node, body)


def has_thread_that_hangs(pid):
    return any(Path(f"/proc/{pid}/task/{thread}/wchan").read_text() == "request_wait_answer"
               for thread in os.listdir(f"/proc/{pid}/task"))


@is_root
def test_a_job_that_ends_is_not_kept_by_storage_that_hangs(small, place, point):
    with Stopped(b"", place / "hangs", remembered=False) as hangs:
        hangs.gated, hangs.named = (), 0
        os.stat(hangs.path)  # a name that is there is asked for by each on his own
        hangs.shut()
        first = threading.Thread(target=os.stat, args=[hangs.path])
        first.start()
        hangs.wait_for_reader()
        with held_up(small[1], point, hangs.path) as process:
            [server] = foldfs.children(process.pid)
            wait_until(lambda: has_thread_that_hangs(server))
            process.communicate("\n", timeout=PATIENCE)
            assert process.returncode == 0
        hangs.open()
        first.join(PATIENCE)
    assert os.listdir(point) == []


@pytest.mark.slow
def test_a_stopped_server_is_said_not_to_answer(small, place, point):
    (place / "order").write_text("file\n")
    with running(small[1], point) as process:
        [server] = foldfs.children(process.pid)
        os.kill(server, signal.SIGSTOP)
        for words in ([], [f"--order={place}/order"]):
            assert "it does not answer" in run(FOLDSTAT, *words, point, status=1).err
        os.kill(server, signal.SIGCONT)
        assert asked(point)["served_files"] == 1


# --- bounds -----------------------------------------------------------------------------------


HELD = """
import contextlib, os, sys, time
top = sys.argv[1]
files = [os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names]
def held():
    total, own = 0, f"/proc/{os.getppid()}/fd"
    for fd in os.listdir(own):
        with contextlib.suppress(FileNotFoundError):  # it is open for a moment
            if os.path.isfile(f"{own}/{fd}") and os.readlink(f"{own}/{fd}").startswith(top):
                total += os.stat(f"{own}/{fd}").st_size
    return total
def read():
    return sum(len(open(path, "rb").read()) for path in files for _ in range(3)) // 3
all = read()
"""


@is_root
def test_copies_are_bounded(bulk, point):
    """48 MiB are read, and of their copies 32 MiB are kept at most."""
    done = in_job(bulk[1], point, HELD + "print(all, held())",
                  options=["--pool=8M", "--sandbox=off"])
    count, held = map(int, done.out.split())
    assert count == sum(path.stat().st_size for path in bulk[0].rglob("*") if path.is_file())
    assert 0 < held <= 32 * MIB


GIVEN_BACK = HELD + """
used = sys.argv[2]
print(all == held(), end=" ")
memory = []
for _ in range(25):
    memory.append(os.urandom(10 << 20))
    while int(open(used).read()) > 290 << 20:
        time.sleep(0.01)
print(held() < all, read() == all)
"""


@is_root
@pytest.mark.plain  # a sanitizer takes memory of its own
def test_copies_are_given_back_when_memory_gets_short(bulk, point):
    """48 MiB have room at first; then COMMAND takes 250 of 320 MiB."""
    with memory_group() as (group, limit):
        (group / limit).write_text(str(320 * MIB))
        used = group / limit.replace("limit", "usage").replace("max", "current")
        before = ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec \"$@\"", "sh"]
        said = in_job(bulk[1], point, GIVEN_BACK, used, options=["--sandbox=off"], before=before)
    assert said.out == "True True True\n"


@is_root
def test_a_file_that_would_fill_the_memory_is_refused(place, point):
    pack = pack_of(place, {"small": b"text\n", "huge": bytes(60 * MIB)})
    with memory_group() as (group, limit):
        (group / limit).write_text(str(150 * MIB))
        before = ["sh", "-c", f"echo $$ >{group}/cgroup.procs && exec \"$@\"", "sh"]
        done = job(pack, point, "sh", "-c", f"cat {point}/huge >/dev/null; cat {point}/huge; "
                   f"cat {point}/small", before=before)
    assert done.out == "text\n" and done.err.count("File too large") == 2
    assert done.err.count("'huge' has 60 MiB, and '--no-fuse' opens files of up to") == 1


LISTINGS = """
import ctypes, fcntl, os, socket, struct, sys, threading
top, inherited = sys.argv[1], int(sys.argv[2])
want = sorted(os.listdir(top))
def opened():
    return os.open(top, os.O_RDONLY)
def others():
    for _ in range(300):
        assert sorted(os.listdir(top)) == want
def listed(fd):
    os.lseek(fd, 0, os.SEEK_SET)
    return sorted(os.listdir(fd))
held = [opened() for _ in range(50)]
half = os.scandir(held[0])
names = [next(half).name]
copy, cleared, lost = os.dup(held[1]), opened(), opened()
listed(copy)
fcntl.fcntl(cleared, 37, struct.pack("hhqqi4x", fcntl.F_UNLCK, 0, 0, 0, 0))  # F_OFD_SETLK
os.set_inheritable(held[2], True)
one, other = socket.socketpair()
socket.send_fds(one, [b"x"], [lost])
os.close(lost)
def with_own_table():
    assert ctypes.CDLL(None).unshare(0x400) == 0  # CLONE_FILES
    own = opened()
    others()
    assert listed(own) == want
thread = threading.Thread(target=with_own_table)
thread.start()
thread.join()
others()
lost = socket.recv_fds(other, 1, 1)[1][0]
for fd in (*held[1:], copy, lost, cleared, inherited):
    assert listed(fd) == listed(fd) == want, fd
assert [os.get_inheritable(fd) for fd in held[1:4]] == [False, True, False]
assert sorted(names + [entry.name for entry in half]) == want
path = os.open(top, os.O_PATH)
try:
    os.listdir(path)
except OSError as error:
    print(error.strerror)
"""


def test_folders_are_listed_while_many_others_are(small, point):
    """Also those that are nowhere to be seen, or were not opened by the job."""
    limit = ["sh", "-c", 'ulimit -n 100; exec "$@"', "sh"]
    fd = os.open(point, os.O_RDONLY)
    said = in_job(small[1], point, LISTINGS, str(fd), before=limit, pass_fds=[fd]).out
    os.close(fd)
    assert said == "Bad file descriptor\n"


WORKERS_64 = """
import os, sys, threading, zlib
top, sums, right = sys.argv[1], eval(sys.stdin.read()), []
def read():
    found = {}
    for folder, _, files in os.walk(top):
        for name in files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, top)] = zlib.crc32(open(path, "rb").read())
    right.append(found == sums)
for number in range(64):
    if os.fork() == 0:
        threads = [threading.Thread(target=read) for _ in range(1 + number % 4)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        os._exit(right != [True] * len(threads))
print({os.wait()[1] for _ in range(64)})
"""


@pytest.mark.parametrize("files", [40, 128])
def test_many_workers_and_their_threads_read_with_few_descriptors(images, point, files):
    limit = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
    assert in_job(images[1], point, WORKERS_64, options=["--pool=8M"], before=limit, stdin=None,
                  input=repr(sums_of(images[0])).encode()).out == "{0}\n"


REWINDS = """
import os, sys, threading
top, wrong, done = sys.argv[1], [], []
def begin():
    fd = os.open(top, os.O_RDONLY)
    entries = os.scandir(fd)
    next(entries)
    return fd, entries
def list_on():
    while not done:
        fd, entries = begin()
        list(entries)
        os.close(fd)
others = [threading.Thread(target=list_on) for _ in range(2)]
for other in others: other.start()
for _ in range(1000):
    fd, _entries = begin()
    os.lseek(fd, 0, os.SEEK_SET)
    wrong += [fd] if os.lseek(fd, 0, os.SEEK_CUR) or len(os.listdir(fd)) != 4 else []
    _entries.close()
    os.close(fd)
done.append(True)
for other in others: other.join()
print(wrong)
"""


CALLS = """
import ctypes, errno, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    got = libc.syscall(number, *words)
    return errno.errorcode[ctypes.get_errno()] if got < 0 else got
memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
end = ctypes.addressof(ctypes.c_char.from_buffer(memory)) + mmap.PAGESIZE
libc.mprotect(ctypes.c_void_p(end), mmap.PAGESIZE, 0)
getdents, faccessat2 = 217 if os.uname().machine == "x86_64" else 61, 439
folder = os.open(sys.argv[1], os.O_RDONLY)
print(call(getdents, folder, ctypes.c_void_p(end - 8), 4096), len(os.listdir(folder)))
print(call(getdents, folder, ctypes.c_void_p(end - 100), 8), len(os.listdir(folder)))
print(call(faccessat2, folder, b"file", os.R_OK, 0x8000), call(faccessat2, folder, b"file", 4, 0))
"""


def test_a_call_that_fails_changes_nothing(small, point):
    assert in_job(small[1], point, CALLS).out == "EFAULT 4\nEINVAL 4\nEINVAL 0\n"


def test_a_rewind_is_not_lost_beside_others_at_the_same_place(small, point):
    assert in_job(small[1], point, REWINDS).out == "[]\n"


def test_a_small_stack_is_enough(small, point):
    limit = ["sh", "-c", 'ulimit -s 512; exec "$@"', "sh"]
    assert content(small[1], point, before=limit) == trees.content(small[0])


# --- clients ----------------------------------------------------------------------------------


def hold_imagefolder(images, point, *modes, **how):
    """Against the source."""
    for module in ("torch", "torchvision"):
        pytest.importorskip(module, reason=f"no {module} for this Python")
    found = json.loads(job(images[1], point, sys.executable, HERE / "imagefolder.py", images[0],
                           point, *modes, **how).out)
    assert found.pop("samples") == 65
    assert all(verdict == "same" for verdict in found.values()), found


@pytest.mark.parametrize("modes", [
    ("fork:0", "fork:2"),
    pytest.param(("spawn:2", "forkserver:2"), marks=pytest.mark.slow),
])
def test_imagefolder_cannot_tell_it_from_the_source(images, point, modes):
    hold_imagefolder(images, point, *modes)


def sums_of(folder):
    import zlib
    return {path.relative_to(folder).as_posix(): zlib.crc32(path.read_bytes())
            for path in folder.rglob("*") if path.is_file()}


# --- where it runs ----------------------------------------------------------------------------


@needs_root("setpriv")
@pytest.mark.parametrize("space", [[], ["unshare", "--user"]], ids=["as is", "user namespace"])
def test_a_user_without_capabilities(space, small, own_point):
    source, pack = small
    before = [*as_user(SOMEBODY), *space]
    assert content(pack, own_point, before=before) == trees.content(source)


@needs_root("setpriv")
def test_owners_are_called_as_the_namespace_of_who_asks_does(small, own_point):
    """A job's own one, where its user is root."""
    script = "stat -c '%u %g' $0/file; " \
        "unshare --user --map-root-user stat -c '%u %g' $0/file $0/folder"
    done = job(small[1], own_point, "sh", "-c", script, own_point, before=as_user(SOMEBODY))
    assert done.out == f"{SOMEBODY} {SOMEBODY}\n0 0\n0 0\n"


@needs_root("setpriv")
def test_what_containers_refuse_is_not_needed(small, own_point):
    """All calls since Linux 5.1, among them pidfd_getfd, which Docker's profile refuses."""
    words = as_user(SOMEBODY)
    before = [sys.executable, HERE / "older_kernel.py", "nowait", find_program(words[0]),
              *words[1:]]
    assert content(small[1], own_point, before=before) == trees.content(small[0])


def in_container(options=(), uid=0, capabilities=container.DEFAULT, privileges=()):
    """What stands before a command that runs there: see container.py and setpriv(1)."""
    if platform.machine() != "x86_64":
        pytest.skip("the profile has the numbers of x86-64")
    bounds = ",".join(["-all", *(f"+{name}" for name in capabilities)])
    return [*container.SPACES, sys.executable, HERE / "container.py", *options, *as_user(uid),
            *privileges, "--inh-caps=-all", f"--bounding-set={bounds}"]


@pytest.fixture(params=["docker", "docker, no new privileges", "docker, a user", "restricted pod",
                        "restricted pod of containerd 1.6"])
def contained(request, point):
    pod = "pod" in request.param
    uid = NOBODY if pod else SOMEBODY if "user" in request.param else 0
    os.chown(point, uid, uid)
    if pod:
        return in_container(["--docker-20"] * ("1.6" in request.param) +
                            [f"--read-only={point.parent.parent}"], uid, [], ["--no-new-privs"])
    return in_container([], uid, privileges=["--no-new-privs"] * ("no new" in request.param))


@needs_root("setpriv", "unshare")
def test_a_container_sees_what_was_packed(contained, images, point):
    source, pack = images
    assert content(pack, point, before=contained) == trees.content(source)


@needs_root("setpriv", "unshare")
def test_a_container_that_mounts_nothing_is_told_the_way_out(contained, small, point):
    assert "foldfs --no-fuse PACK DIR -- COMMAND" in run(*contained, FOLDFS, small[1], point,
                                                         status=1).err
    run(*contained, "unshare", "--user", "true", status=1)


@needs_root("setpriv", "unshare")
@pytest.mark.slow
def test_imagefolder_cannot_tell_a_container_from_the_source(contained, images, point):
    hold_imagefolder(images, point, "fork:2", "spawn:2", before=contained)


@needs_root("unshare")
def test_the_first_process_of_a_container_passes_signals_on(small, point):
    """As `docker stop` sends them: the kernel keeps from that process what it does not handle."""
    script = "trap 'echo got it; exit 5' TERM; echo began; while :; do sleep 0.05; done"
    with subprocess.Popen([*container.SPACES, FOLDFS, *WORDS, small[1], point, "--", "sh", "-c",
                           script], stdout=subprocess.PIPE) as outside:
        assert outside.stdout.readline() == b"began\n"
        [first] = foldfs.children(outside.pid)
        os.kill(first, signal.SIGTERM)
        assert outside.stdout.read() == b"got it\n"
        assert outside.wait(PATIENCE) == 5


def test_what_is_of_mounts_is_refused(small, point):
    assert "needs a COMMAND" in refused(2, "--no-fuse", small[1], point)
    for option in ("--allow_other", "-d", "--timeout=3", "--cache=kernel"):
        assert "do not go together" in refused(2, "--no-fuse", option, small[1], point, "--",
                                               "true")
    assert "needs a folder" in refused(2, "--no-fuse", small[1], "/dev/fd/7", "--", "true")


def test_only_one_listens(small, place, point):
    (place / "second").mkdir()
    done = job(small[1], point, FOLDFS, *WORDS, small[1], place / "second", "--", "true", status=1)
    assert "another program listens" in done.err and "foldpack extract" in done.err


def test_without_listeners_the_way_out_is_said(small, point, place):
    """As with a kernel before seccomp."""
    done = job(small[1], point, "true", status=1,
               before=[sys.executable, HERE / "older_kernel.py", "seccomp"])
    assert "no seccomp listeners" in done.err and "foldpack extract" in done.err
    assert os.listdir(point) == []


def test_a_missing_device_names_it(small, point):
    if os.path.exists("/dev/fuse"):
        pytest.skip("/dev/fuse is there")
    assert "foldfs --no-fuse PACK DIR -- COMMAND" in refused(1, small[1], point)


def test_only_a_folder_without_files_is_taken(small, place, point):
    trees.write(point / "folder/file")
    assert "not empty: 'file' in it would be hidden" in refused(
        1, *WORDS, small[1], point, "--", "true")
    assert (point / "folder/file").exists()
    os.unlink(point / "folder/file")  # as a killed foldfs leaves it
    assert job(small[1], point, "cat", point / "folder/other").out == "other content\n"
    assert "is missing; '--mkdir' creates it" in refused(
        1, *WORDS, small[1], place / "new", "--", "true")
    assert job(small[1], place / "new", "cat", place / "new/file", options=["--mkdir"]).out
    assert not (place / "new").exists()


# --- lifetime ---------------------------------------------------------------------------------


def test_the_status_is_the_command_s(small, point):
    assert job(small[1], point, "sh", "-c", "exit 7", status=7).err == ""
    job(small[1], point, "sh", "-c", "kill -TERM $$", status=128 + signal.SIGTERM)
    assert "No such file" in job(small[1], point, "no such program", status=127).err


def test_the_command_begins_where_foldfs_does(small, place, point):
    assert job(small[1], point, "pwd", cwd=place).out == f"{place}\n"


def marked(mark):
    """Processes that have it in their environment, {pid: command line}."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if mark.encode() in Path(f"/proc/{pid}/environ").read_bytes():
                found[int(pid)] = Path(f"/proc/{pid}/cmdline").read_bytes()
    return found


class Job:
    """A job that reads files again and again in several processes, all of which bear a mark."""

    def __init__(self, pack, folder, sums):
        name, value = "FOLDFS_TEST_JOB", str(uuid.uuid4())
        self.mark, self.out = f"{name}={value}", folder.with_suffix(".out")
        with open(self.out, "w") as out:
            self.process = subprocess.Popen(
                [FOLDFS, *WORDS, pack, folder, "--", sys.executable, "-c", WORKERS, folder,
                 repr(sums)], stdout=out, stderr=subprocess.PIPE, env={**os.environ, name: value})
        wait_until(self.out.read_text)

    def wait_for_a_pass_after(self, when):
        """One of its processes begins after that, and reads all files."""
        wait_until(lambda: any(float(began) > when for began in re.findall(
            r"^passed (.*)\n", self.out.read_text(), re.M)))

    def end(self):
        """The status; nothing of the job is left, and no worker has read other bytes."""
        try:
            status = self.process.wait(PATIENCE)
            wait_until(lambda: not marked(self.mark))
        finally:
            for pid in marked(self.mark):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        assert "wrong" not in self.out.read_text()
        self.errors = self.process.stderr.read()
        self.process.stderr.close()
        return status


WORKERS = """
import os, random, sys, time, zlib
top, sums = sys.argv[1], eval(sys.argv[2])
parent = os.getpid()
for _ in range(3):
    if os.fork() == 0:
        if os.fork():
            os._exit(0)  # a process that the command does not know
        os.setsid()
        break
if os.getpid() == parent:
    print("reads", flush=True)
while True:
    began = time.monotonic()
    for path in random.sample(sorted(sums), len(sums)):
        try:
            with open(os.path.join(top, path), "rb") as file:
                data = file.read()
        except OSError:
            os._exit(9)
        if zlib.crc32(data) != sums[path]:
            print("wrong", path, flush=True)
    print("passed", began, flush=True)
"""


def running_jobs(bulk, place, count):
    """Jobs, each at a random moment, with its folder and some of its processes."""
    chance, sums = foldfs.chance(), sums_of(bulk[0])
    for number in range(count):
        folder = place / str(number)
        folder.mkdir()
        running = Job(bulk[1], folder, sums)
        guard = running.process.pid
        [server] = foldfs.children(guard)
        command = next(pid for pid, words in foldfs.children(server).items()
                       if b"import os" in words[2])
        time.sleep(chance.uniform(0, 0.2))
        workers = lambda: {pid for pid, words in marked(running.mark).items()
                           if words.startswith(os.fsencode(sys.executable))} - {command}
        wait_until(workers)
        yield running, folder, {"guard": guard, "server": server, "command": command,
                                "worker": chance.choice(sorted(workers()))}


@foldfs.kills(1)
@pytest.mark.parametrize("whom, status", [
    ("guard", -signal.SIGKILL), ("server", 1), ("command", 128 + signal.SIGKILL)])
def test_a_kill_ends_all_of_the_job_but_that_of_a_worker_nobody_else(whom, status, bulk, place,
                                                                    kills):
    for running, folder, pids in running_jobs(bulk, place, kills):
        os.kill(pids["worker"], signal.SIGKILL)
        running.wait_for_a_pass_after(time.monotonic())
        os.kill(pids[whom], signal.SIGKILL)
        assert running.end() == status
        if whom == "server":
            assert b"was killed by signal 9, and the command with it" in running.errors
        if whom == "command":
            assert b"left behind" in running.errors
        if whom != "guard":
            assert os.listdir(folder) == []


def test_what_ends_just_after_the_command_is_not_told(small, point):
    """As the processes do that multiprocessing starts for itself."""
    assert job(small[1], point, "sh", "-c", "sleep 0.05 >/dev/null 2>&1 &").err == ""


@is_root
def test_the_server_is_in_a_sandbox(small, point):
    """It keeps what the memory of the job takes, and no more."""
    script = ("import os; print(open(f'/proc/{os.getppid()}/status').read())")
    from test_sandbox import privileges
    no_new, capabilities, seccomp = privileges(in_job(small[1], point, script).out)
    assert (no_new, seccomp) == (1, 2)
    assert capabilities == 1 << 2 | 1 << 5 | 1 << 19  # DAC_READ_SEARCH, KILL, SYS_PTRACE
