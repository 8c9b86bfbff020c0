"""What a job of --no-fuse loads so that it asks foldfs less: it changes nothing else."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from foldfs import FOLDFS, needs, run
from test_nofuse import WITHOUT, job, listeners  # noqa: F401

OBJECT = Path(FOLDFS).with_name("foldfs-preload.so")


@pytest.fixture(autouse=True, scope="module")
def accelerated():
    if os.uname().machine not in ("x86_64", "aarch64"):
        pytest.skip("calls are not marked on this architecture")


def said(pack, folder, script, *words):
    """What a script says with it, and without it."""
    command = (sys.executable, "-B", "-c", script, folder, *words)
    return [job(pack, folder, *before, *command).out for before in ((), WITHOUT)]


# How often threads of the server waited: for most calls that it was asked for. On a busy machine,
# the next call is there already.
ASKED = """
import glob, os, sys
def waited():
    return sum(int(line.split()[1]) for path in glob.glob(f"/proc/{os.getppid()}/task/*/status")
               for line in open(path) if line.startswith("voluntary"))
def missing(path):
    try:
        os.stat(path)
    except FileNotFoundError:
        pass
with open(sys.argv[2]) as file:
    for call in (lambda: os.stat(sys.argv[2]), lambda: os.lstat(sys.argv[2]),
                 lambda: os.fstat(file.fileno()), lambda: os.stat(os.path.dirname(sys.argv[2])),
                 lambda: missing(sys.argv[2] + ".missing"),
                 lambda: os.close(os.open(sys.argv[2], os.O_RDONLY))):
        before = waited()
        for _ in range(2000):
            call()
        print(waited() - before >= 200)
"""


def test_what_is_elsewhere_is_not_asked(small, place, point):
    (place / "elsewhere").write_text("text")
    assert said(small[1], point, ASKED, place / "elsewhere") == ["False\n" * 6, "True\n" * 6]


RESULTS = """
import ctypes, os, sys
top, place = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
def result(call, *words):
    try:
        return call(*words)
    except OSError as error:
        return error.errno
def words(st):
    own = st.st_dev == os.lstat("/proc/self").st_dev  # of this process
    return st.st_dev, st.st_ino * (not own), st.st_mode, st.st_size
def opened(path, flags):
    fd = os.open(path, flags)
    copy = os.dup(fd)
    try:
        return words(os.fstat(copy)), result(os.read, fd, 99)
    finally:
        os.close(fd)
        os.close(copy)
def old(name, version, *rest):
    room = ctypes.create_string_buffer(144)
    r = getattr(libc, name)(version, *rest[:-1], room, *rest[-1:] * (name == "__fxstatat"))
    return r, ctypes.get_errno() if r else room.raw[:8] + room.raw[16:56]  # without st_ino
file, folder = os.open(top + "/file", os.O_RDONLY), os.open(top + "/folder", os.O_RDONLY)
os.chdir(place)
paths = ["", ".", "file", "missing", "to top/file", "/", "/dev/null", "/dev/full/x", "/usr",
         "/missing/x", f"/proc/self/fd/{file}", f"/dev/fd/{file}", f"/dev/fd/{folder}/other",
         f"/proc/self/fd/{folder}", "/proc/self", "/proc/thread-self/cwd/file", place + "x" * 300]
for at in (top, place, place + "/to top", place + "/own", os.path.dirname(top), place + "//",
           top + "//", top + "/.", top + "/folder/..", top[:-1], top + "x"):
    paths += [at, at + "/", *(at + "/" + name for name in (
        "file", "file/", "file/x", "folder", "folder/", "folder/other", "missing", "missing/x",
        "to top", "to top/", "to file", "to nothing", "dangling", "loop", "own", "own folder/",
        "link", "../" + os.path.basename(top) + "/file"))]
for path in paths:
    print(path[-40:], result(lambda: words(os.stat(path))), result(lambda: words(os.lstat(path))),
          result(lambda: words(os.stat(path, dir_fd=folder))),
          *(result(opened, path, flags) for flags in (
              os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY, os.O_RDONLY | os.O_NOFOLLOW, os.O_PATH)),
          result(lambda: len(os.listdir(path))))
    name = os.fsencode(path)
    print(*(old(call, version, *rest) for version in (0, 1, 2) for call, *rest in (
        ("__xstat", name, 0), ("__lxstat", name, 0), ("__fxstatat", folder, name, 0),
        ("__fxstatat", folder, name, 0x100))))  # AT_SYMLINK_NOFOLLOW
for fd in (file, folder, 999, -1):
    print(result(lambda: words(os.fstat(fd))), old("__fxstat", 1, fd, 0))
print(libc.open(None, 0), ctypes.get_errno(), libc.openat(-1, b"x", 0), ctypes.get_errno())
os.umask(0o027)
for path in (place + "/new", top + "/new", top + "/file"):
    print(result(lambda: os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))),
          result(lambda: oct(os.stat(path).st_mode)))
os.unlink(place + "/new")
"""


def test_all_results_are_the_same(small, place, point):
    made = place / "made"
    (made / "folder").mkdir(parents=True)
    (made / "file").write_text("text")
    for name, target in {
            "to top": point, "to file": point / "file", "to nothing": point / "missing",
            "dangling": made / "missing", "loop": made / "loop", "own": made,
            "own file": made / "file", "own folder": made / "folder"}.items():
        (made / name).symlink_to(target)
    one, other = (out.splitlines() for out in said(small[1], point, RESULTS, made))
    assert [lines for lines in zip(one, other) if lines[0] != lines[1]] == []
    assert len(one) == len(other) > 200
    assert one[-3:] == ["None 0o100640", "30 2", "30 0o100644"]


OPENED = """
import json, os, sys
top = sys.argv[1]
def asked():
    return json.loads(os.getxattr(top, "user.foldfs.stats"))["requests"].get("getattr", 0)
files = {path: os.stat(path) for path in (top + "/file", top + "/folder/other")}
before = asked()
for path, st in files.items():
    with open(path) as file:
        for fd in (file.fileno(), os.dup(file.fileno())):
            assert os.fstat(fd) == st
print(asked() == before)
fds = [os.open(path, os.O_RDONLY) for path in files] * 2 + [os.open(top, os.O_RDONLY)]
print([os.fstat(fd) for fd in fds] == [*files.values()] * 2 + [os.stat(top)])
"""


def test_who_opens_a_file_is_told_what_it_is(small, point):
    """Once, in place of two or three calls of fstat(2) more."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (5, 19):
        pytest.skip("it is told from Linux 5.19 on")
    assert said(small[1], point, OPENED) == ["True\nTrue\n", "False\nTrue\n"]


UNSHARED = """
import ctypes, os, sys
fd = os.open(sys.argv[1] + "/file", os.O_RDONLY)
before = os.fstat(fd).st_uid
left = ctypes.CDLL(None).unshare(0x10000000) == 0  # CLONE_NEWUSER
print(left, before, os.fstat(fd).st_uid, os.fstat(fd).st_gid)
"""


def test_another_user_namespace_sees_other_owners(small, point):
    one, other = said(small[1], point, UNSHARED)
    assert one == other
    if one.startswith("False"):
        pytest.skip("no user namespaces may be made")
    assert one.split()[2:] == ["65534"] * 2


HANDLER = """
#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>
#define LOOKS 20000
static char **files;
static volatile sig_atomic_t handled;
static void handle(int number)
{
    (void)number;
    close(open(files[0], O_RDONLY));
    handled++;
}
int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    struct stat want, st;

    assert(argc == 3);
    files = argv + 1;
    assert(stat(files[1], &want) == 0);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < LOOKS; i++) {
        const struct itimerval soon = {.it_value.tv_usec = i % 97 + 1};
        int fd;

        setitimer(ITIMER_REAL, &soon, NULL);
        fd = open(files[1], O_RDONLY);
        assert(fd >= 0);
        for (int j = 0; j < 4; j++) {
            assert(fstat(fd, &st) == 0 && st.st_ino == want.st_ino);
            assert(st.st_dev == want.st_dev && st.st_size == want.st_size);
            assert(st.st_mtime == want.st_mtime);
        }
        close(fd);
    }
    return handled < 10;
}
"""


@needs("cc")
def test_a_signal_handler_may_open_files_at_any_time(small, place, point):
    (place / "handler.c").write_text(HANDLER)
    run("cc", "-O1", "-o", place / "handler", place / "handler.c")
    job(small[1], point, place / "handler", point / "file", point / "folder/other")


def test_what_the_user_preloads_stays_before_it(small, place, point):
    shutil.copy(OBJECT, place / "own.so")
    env = {**os.environ, "LD_PRELOAD": os.fspath(place / "own.so")}
    assert job(small[1], point, "printenv", "LD_PRELOAD", env=env).out == \
        f"{place}/own.so:{OBJECT}\n"


@needs("cc")
def test_what_the_user_preloads_is_called_by_programs_only(small, place, point):
    """As by a C library: there, stat(2) is no fstatat(2) of others."""
    (place / "own.c").write_text("int fstatat(void) { return -1; }\n")
    run("cc", "-shared", "-fPIC", "-o", place / "own.so", place / "own.c")
    seen = job(small[1], point, "env", f"LD_PRELOAD={place}/own.so:{OBJECT}", sys.executable, "-c",
               "import os; print(os.path.exists('/'))").out
    assert seen == "True\n"


def test_it_is_found_where_it_is_installed_and_is_not_needed(small, place, point):
    (place / "bin").mkdir()
    program = shutil.copy(FOLDFS, place / "bin")
    words = (program, "--no-fuse", "-q", small[1], point, "--", "sh", "-c",
             f"echo $LD_PRELOAD; cat {point}/file")
    assert run(*words).out == "\ncontent\n"
    (place / "lib/foldfs").mkdir(parents=True)
    shutil.copy(OBJECT, place / "lib/foldfs")
    assert run(*words).out == f"{place}/bin/../lib/foldfs/{OBJECT.name}\ncontent\n"
