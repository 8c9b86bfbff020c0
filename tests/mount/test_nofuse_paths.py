"""By which ways the files of a job of --no-fuse are reached, whoever else writes to the folder, and
whatever the job and its threads are short of."""

import os
import sys

import pytest

import foldfs
from foldfs import FOLDFS, PATIENCE, is_root, needs_root, run
from test_nofuse import WITHOUT, WORDS, begun, in_job, job, listeners, pack_of  # noqa: F401


@pytest.fixture
def above(place):
    (place / "above/mnt").mkdir(parents=True)
    return place / "above"


# --- by other mounts, and long ways -----------------------------------------------------------

LATER = r"""
echo begun; read line
cat "$1/mnt/file" "$2/other" && cd "$1" && cat mnt/folder/other "$1/mnt/folder/../folder/other"
cd mnt && cat file ../mnt/file && cd folder && cat other ../file && ls .. | wc -l
cd / && cat "$2/other" && cd "$2" && cat other
python3 -c 'import os, sys
for path in sys.argv[1:]: print(os.stat(path).st_size, open(path).read(), end="")' \
    "$1/mnt/file" "$2/other"
[ ! -e "$1/mnt/missing" ] && [ ! -e "$2/file" ] && echo yes
"""


@needs_root("unshare")
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("how", [(), WITHOUT], ids=["as it is", "without the object"])
def test_a_mount_of_a_part_and_one_that_is_made_later_show_it(how, early, small, place, above):
    for name in ("twice", "part"):
        (place / name).mkdir()
    (above / "mnt/folder").mkdir()
    os.mkfifo(place / "go")
    script = 'mount --make-rprivate /; cd "$0"; above=$1 twice=$2 part=$3; shift 3; exec 3<>go; ' \
             'mounts() { mount --bind "$above" "$twice"; ' \
             'mount --bind "$above/mnt/folder" "$part"; }; ' + "mounts; " * early + \
             '{ "$@" <go; } | { read line; ' + "mounts; " * (not early) + 'echo >&3; cat; }'
    said = run("unshare", "-m", "sh", "-c", script, place, above, place / "twice", place / "part",
               FOLDFS, *WORDS, small[1], above / "mnt", "--", *how, "sh", "-c", LATER, "sh",
               place / "twice", place / "part").out
    own, other = "content\n", "other content\n"
    assert said == own + 3 * other + 2 * own + other + own + "4\n" + 2 * other + \
        f"8 {own}14 {other}yes\n"


LONG = """
import os, sys
for name in sys.argv[1:]:
    os.chdir(name)
for path in ("/proc/self/cwd/f", "/proc/self/cwd/../" + sys.argv[-1] + "/f"):
    assert open(path).read() == "text" and os.stat(path).st_size == 4, path
for at in (os.open(".", os.O_RDONLY), os.open(".", os.O_PATH)):
    assert open(f"/dev/fd/{at}/f").read() == "text"
assert len(open("f").read()) == 4 and os.stat("../" + sys.argv[-1] + "/f").st_size == 4
assert os.listdir(".") == ["f"] and not os.path.exists("g")
fd = os.open(".", os.O_RDONLY)
os.chdir("/")
print(os.listdir(fd), open("f", opener=lambda p, f: os.open(p, f, dir_fd=fd)).read())
"""


def test_a_working_folder_whose_path_is_too_long_is_no_hindrance(place):
    names = ["y" * 240, "z" * 240]
    pack = pack_of(place, {"/".join([*names, "f"]): b"text"})
    top = place.joinpath(*["x" * 245] * 15)
    top.mkdir(parents=True)
    assert in_job(pack, top, LONG, *names).out == "['f'] text\n"


# --- whoever else writes there ----------------------------------------------------------------

BESIDE = """
import os, subprocess, sys
top, link = sys.argv[1:]
print("begun", flush=True)
sys.stdin.read()
os.chdir(top + "/folder")
fd = os.open(top, os.O_RDONLY)
for path in ("other", "../folder/other", "./other", top + "/folder/other", link + "/folder/other",
             "/proc/self/cwd/other", f"/dev/fd/{fd}/folder/other",
             "/proc/self/cwd/../folder/other"):
    assert open(path).read() == "other content\\n", path
    assert os.stat(path).st_size == os.lstat(path).st_size == 14, path
    assert os.access(path, os.R_OK) and not os.access(path, os.W_OK), path
for path in ("new", top + "/folder/new", link + "/new", "../new", "/proc/self/cwd/new"):
    assert not os.path.lexists(path), path
assert sorted(os.listdir(".")) == ["other"]
for command in ("cat other", f"cat {link}/folder/other", f"cat {top}/folder/other"):
    assert subprocess.check_output(command, shell=True) == b"other content\\n", command
print("all")
"""


@pytest.mark.parametrize("how", [(), WITHOUT], ids=["as it is", "without the object"])
def test_what_others_put_there_is_not_shown(how, small, place, point):
    os.symlink(point, place / "link")
    with begun(small[1], point, *how, sys.executable, "-c", BESIDE, point, place / "link") as job:
        (point / "folder/other").write_text("of somebody else")
        (point / "folder/new").write_text("new")
        (point / "new").write_text("new")
        assert job.communicate(timeout=PATIENCE)[0] == "all\n"
    assert (point / "folder/other").read_text() == "of somebody else"


@is_root
def test_folders_that_the_filesystem_takes_for_one_are_refused(place, point):
    """As one does that does not tell 'a' from 'A': each would show the files of the other."""
    pack = pack_of(place, {"a/file": b"a", "A/file": b"A"})
    for name in ("a", "A"):
        (point / name).mkdir()
    run("mount", "--bind", point / "a", point / "A")
    try:
        said = job(pack, point, "true", status=1).err
    finally:
        foldfs.detach(point / "A")
    assert f"{point}: 'a' in it and another folder are one there" in said


NUMBERS = """
import os, sys
top, own = sys.argv[1:]
inode = os.stat(top + "/folder").st_ino
print("begun", flush=True)
sys.stdin.read()
for number in range(8):
    path = f"{own}/{number}"
    os.makedirs(path)
    open(path + "/other", "w").write("mine")
    assert os.listdir(path) == ["other"] and open(path + "/other").read() == "mine"
    os.chdir(path)
    assert open("other").read() == "mine" and os.listdir(".") == ["other"]
    os.chdir("/")
print(open(top + "/folder/other").read(), end="")
"""


@pytest.mark.parametrize("how", [(), WITHOUT], ids=["as it is", "without the object"])
def test_a_folder_of_the_job_with_the_number_of_one_that_is_gone_is_its_own(how, small, place,
                                                                            point):
    """As ext4 gives it at once, to the next folder that is made."""
    with begun(small[1], point, *how, sys.executable, "-c", NUMBERS, point, place / "own") as job:
        (point / "folder").rmdir()
        assert job.communicate(timeout=PATIENCE)[0] == "other content\n"


CHANGES = """
import ctypes, mmap, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def refused(call, *words):
    try:
        return call(*words) == -1
    except PermissionError:
        return True
link = f"/proc/{sys.argv[1]}/fd/{sys.argv[2]}"
fd, own = os.open(link, os.O_RDWR), os.open(link, os.O_RDONLY)
kept = mmap.mmap(fd, 4096, mmap.MAP_SHARED, mmap.PROT_READ)
print(refused(os.write, fd, b"x"), refused(os.pwrite, fd, b"x", 0), refused(os.ftruncate, fd, 0),
      refused(os.ftruncate, fd, 1 << 20), refused(os.truncate, link, 0),
      refused(os.open, link, os.O_WRONLY | os.O_TRUNC),
      refused(libc.fallocate, fd, 3, ctypes.c_long(0), ctypes.c_long(4096)),  # a hole
      refused(mmap.mmap, fd, 4096, mmap.MAP_SHARED), refused(libc.fcntl, fd, 1033, 8))
address = [line.split("-")[0] for line in open("/proc/self/maps") if "memfd:foldfs-" in line]
print([libc.mprotect(ctypes.c_void_p(int(start, 16)), 4096, 3) for start in address])
"""


def test_nobody_can_change_what_was_copied(small, point):
    """Not even by a descriptor that may write, as a process outside of the job can have."""
    script = f"exec 7<{point}/large; echo begun; echo $$; read line; " \
        f"cat /dev/fd/7 | cmp - {point}/large && echo same"
    with begun(small[1], point, "sh", "-c", script) as job:
        pid = job.stdout.readline().strip()
        assert run(sys.executable, "-c", CHANGES, pid, "7").out == \
            "True " * 8 + "True\n[-1]\n"
        assert job.communicate("\n", timeout=PATIENCE)[0] == "same\n"


# --- threads with something of their own ------------------------------------------------------

OWN = """
import ctypes, os, sys, threading
top, libc = sys.argv[1], ctypes.CDLL(None)
os.chdir(top)
fd = os.open("folder", os.O_RDONLY)
def apart():
    assert libc.unshare(0x200 | 0x400) == 0  # CLONE_FS | CLONE_FILES
    os.chdir("/")
    os.dup2(os.open("/", os.O_RDONLY), fd)
    for path, there in {"/proc/self/cwd/file": True, "/proc/thread-self/cwd/file": False,
                        f"/dev/fd/{fd}/other": True, f"/proc/self/fd/{fd}/../file": True,
                        f"/proc/thread-self/fd/{fd}/other": False, "file": False}.items():
        assert os.path.exists(path) == there, path
    assert open("/proc/self/cwd/folder/other").read() == "other content\\n"
    done.append(True)
done = []
thread = threading.Thread(target=apart)
thread.start()
thread.join()
print(done, os.listdir(fd))
"""


def test_self_is_the_process_and_not_its_thread(small, point):
    assert in_job(small[1], point, OWN).out == "[True] ['other']\n"


OPENAT2 = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
def opened(folder, path, resolve=0, mode=0, flags=os.O_RDONLY, more=b"", size=None):
    how = struct.pack("QQQ", flags, mode, resolve) + more
    at = os.open(folder, os.O_PATH)
    fd = libc.syscall(437, at, path.encode(), how, len(how) if size is None else size)
    os.close(at)
    return errno.errorcode[ctypes.get_errno()] if fd < 0 else os.close(fd) or "opened"
"""
KEPT_IN = OPENAT2 + """
import sys
top, above = sys.argv[1], os.path.dirname(sys.argv[1])
for resolve in (0, 0x4, 0x8, 0x10):  # no links, beneath, in root
    print(opened(top, "file", resolve), opened(top, "/file", resolve),
          opened(above, "/mnt/file", resolve), opened(above, "mnt/file", resolve),
          opened(above, "/other", resolve), opened(above, "other", resolve))
for path in ("link", "folder link/file", "../mnt/file", "mnt/../mnt/file", "../../mnt/file"):
    print(opened(above, path, 0x10))
print(opened("/", "etc/passwd", 0x10), opened("/usr", "../bin/env", 0x10))
"""


def test_paths_that_are_to_stay_in_a_folder_fail_loudly(small, above):
    """Programs that ask for that have another way where the kernel is too old. In a root of their
    own, links and names lead elsewhere: none is looked at below a folder that holds the pack."""
    (above / "other").write_text("text")
    (above / "link").symlink_to("/mnt/file")
    (above / "folder link").symlink_to("/mnt")
    out = in_job(small[1], above / "mnt", KEPT_IN).out.splitlines()
    assert out[0].split() == ["opened", "ENOENT", "ENOENT", "opened", "ENOENT", "opened"]
    assert out[1].split() == ["ENOSYS", "ENOENT", "ENOENT", "ENOSYS", "ENOENT", "opened"]
    assert out[2].split() == ["ENOSYS", "EXDEV", "EXDEV", "ENOSYS", "EXDEV", "opened"]
    assert out[3].split() == ["ENOSYS"] * 6
    assert out[4:] == ["ENOSYS"] * 5 + ["ENOSYS opened"]


WRONG = OPENAT2 + """
import fcntl, sys
top = sys.argv[1]
for words in ({"mode": 0o644}, {"flags": 1 << 31}, {"flags": os.O_PATH | os.O_CREAT}, {"size": 16},
              {"flags": os.O_PATH | os.O_NONBLOCK}, {"more": bytes(8)}, {"more": b"\\1" + bytes(7)},
              {"flags": os.O_CREAT, "mode": 0o10000}, {"more": bytes(8000)}, {"resolve": 64}):
    print(opened(top, "file", **words), end=" ")
libc.mmap.restype = ctypes.c_void_p
for rights in (0, 1):  # PROT_NONE, PROT_READ
    room = libc.mmap(None, ctypes.c_size_t(8192), 3, 0x22, -1, ctypes.c_long(0))
    libc.mprotect(ctypes.c_void_p(room), 8192, rights)
    print(libc.statfs((top + "/file").encode(), ctypes.c_void_p(room)), ctypes.get_errno(), end=" ")
text = libc.mmap(None, ctypes.c_size_t(12288), 3, 0x22, -1, ctypes.c_long(0))
libc.munmap(ctypes.c_void_p(text + 8192), 4096)
ctypes.memset(text, ord("a"), 8192)
ctypes.memset(text, ord("/"), 1)
ctypes.memset(text + 8190, ord("/"), 1)
st = ctypes.create_string_buffer(144)
file, new = (top + "/file").encode(), (top + "/new").encode()
for address in (1, -1, room, text + 8192, text + 8190, text):
    path = ctypes.c_void_p(address)
    libc.mprotect(ctypes.c_void_p(room), 8192, 0)
    for call, *words in (("open", path, 0), ("openat", -100, path, 0), ("__xstat", 1, path, st),
                         ("__lxstat", 1, path, st), ("__fxstatat", 1, -100, path, st, 0),
                         ("symlink", path, new), ("link", path, new), ("link", file, path),
                         ("rename", path, file), ("rename", file, path)):
        print(getattr(libc, call)(*words), ctypes.get_errno(), end=" ")
print(libc.renameat2(-100, file, -100, file, 64), ctypes.get_errno(), end=" ")
own = os.open(file, os.O_RDONLY)
print(libc.syscall(439, own, None, 4, 0x1000), ctypes.get_errno(), end=" ")  # faccessat2
for flags in (os.O_RDONLY, os.O_DIRECTORY, os.O_NOFOLLOW | os.O_NONBLOCK):
    at = os.open(top + "/folder", flags)
    print(hex(fcntl.fcntl(at, fcntl.F_GETFL)), end=" ")
omit = struct.pack("qqqq", 0, (1 << 30) - 2, 0, (1 << 30) - 2)
print([libc.utimensat(-100, (top + name).encode(), omit, 0) for name in ("/file", "/missing")])
"""


def test_arguments_are_judged_as_the_kernel_does(small, point):
    said = in_job(small[1], point, WRONG).out
    assert said == run(sys.executable, "-c", WRONG, small[0]).out
    assert said.count("EINVAL") == 7 and said.count("E2BIG") == 2
    assert said.count("-1 14 ") == 2 + 50 + 1 and said.count("-1 36 ") == 10  # EFAULT, ENAMETOOLONG


# --- limits -----------------------------------------------------------------------------------

FEW = """
import errno, os, sys, threading
top, count, wrong = sys.argv[1], int(sys.argv[2]), []
def read():
    for _ in range(30):
        for path in ("secret/other", top + "/secret/other", "./secret/../secret/other"):
            try:
                os.stat(path)
                os.close(os.open(path, os.O_RDONLY))
                os.listdir(os.path.dirname(path))
            except OSError as error:
                if count == 1 or error.errno not in (errno.EMFILE, errno.ENFILE):
                    wrong.append((path, error))
os.chdir(top)
threads = [threading.Thread(target=read) for _ in range(count)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(wrong)
"""


@pytest.mark.parametrize("threads", [1, 24])
@pytest.mark.parametrize("files", [16, 18])
def test_files_are_never_missing_because_descriptors_are_short(files, threads, place, point):
    """Nor is anything of what may be read refused. One thread gets all of it: what is only kept is
    given up."""
    pack = pack_of(place, {"secret/other": b"text"}, secret=0o700)  # it counts who asks
    limit = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]
    assert in_job(pack, point, FEW, str(threads), before=limit).out == "[]\n"


def test_a_limit_of_the_size_of_files_is_named(place, point):
    """Files in memory count, too. Root may raise it, and a job keeps its own."""
    pack = pack_of(place, {"large": b"x" * 1000000, "small": b"y" * 1000})
    done = job(pack, point, "sh", "-c", f"cat {point}/small {point}/large | wc -c; ulimit -f",
               before=["bash", "-c", 'ulimit -f 100; exec "$@"', "bash"])
    if done.out.split()[0] == "1001000":
        assert done.err == ""
    else:
        assert done.out.split()[0] == "1000" and "File too large" in done.err
        assert "'large' has 977 KiB, and '--no-fuse' opens files of up to 100 KiB, as 'ulimit " \
            "-f' says" in done.err
    assert done.out.split()[1] == "200"  # of 512 bytes
    done = job(pack, point, "sh", "-c", f"cat {point}/large | wc -c",
               before=["bash", "-c", 'ulimit -S -f 100; exec "$@"', "bash"])
    assert (done.out, done.err) == ("1000000\n", "")
