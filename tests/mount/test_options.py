"""Each option does what it says, by its own name and in -o; what is wrong is refused."""

import contextlib
import fcntl
import json
import os
import random
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import (
    FOLDFS, FOLDPACK, FOLDSTAT, MIB, NOBODY, PATIENCE, SOMEBODY, as_user, is_root, needs_root,
    refused, run)


# --- files that are no files ----------------------------------------------------------------

PIPE = "a named pipe, whose writer is not waited for; a file, or <(COMMAND), can be read\n"


@pytest.fixture
def fifo(place, monkeypatch):
    monkeypatch.setenv("HOME", str(place))
    for variable in ("AWS_CA_BUNDLE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    os.mkfifo(place / "fifo")
    return place / "fifo"


def test_no_named_pipe_is_waited_for(small, mount, point, place, fifo):
    assert refused(1, f"--order={fifo}", small[1], point) == f"foldfs: {fifo}: {PIPE}"
    done = run(FOLDPACK, "create", f"--order=list:{fifo}", small[0], place / "p", status=1)
    assert done.err.endswith(f"{fifo}: {PIPE}")
    done = run(FOLDSTAT, f"--order={fifo}", mount(small[1]), status=1)
    assert done.err == f"foldstat: {fifo}: {PIPE}"
    assert "not a regular file" in refused(1, f"--select=@{fifo}", small[1], point)


@pytest.mark.parametrize("name, options, environment", [
    ("fifo", ["--ca-file={}"], {}),
    ("fifo", [], {"SSL_CERT_FILE": "{}"}),
    ("fifo", [], {"FOLDFS_TOKEN_FILE": "{}"}),
    (".netrc", [], {}),
    ("fifo", ["--anonymous"], {"AWS_CONFIG_FILE": "{}"}),
    ("fifo", ["--anonymous"], {"AWS_SHARED_CREDENTIALS_FILE": "{}"}),
    ("fifo", [], {"AWS_WEB_IDENTITY_TOKEN_FILE": "{}", "AWS_ROLE_ARN": "arn:aws:iam::1:role/x"}),
])
def test_no_named_pipe_is_waited_for_with_a_url(fifo, monkeypatch, name, options, environment):
    path = fifo.rename(fifo.with_name(name))
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value.format(path))
    aws = any(variable.startswith("AWS") for variable in environment)
    url = "s3://bucket/x" if aws else "https://127.0.0.1:1/x"
    words = [option.format(path) for option in options]
    said = run(FOLDPACK, "info", "--retry=0", *words, url, status=1).err
    assert said == f"foldpack: {url}: {path}: {PIPE}"


def test_what_a_shell_pipes_is_read(small, point, place):
    names = sorted(trees.files(small[0]))
    (place / "names").write_bytes(b"".join(name + b"\n" for name in names))
    script = ('"$1" create -q --order=list:<(cat names) "$4" p.lmdb && '
              '"$2" --order=<(cat names) p.lmdb "$5" && "$3" --order=<(cat names) "$5"; '
              'r=$?; fusermount3 -u "$5"; exit $r')
    run("bash", "-c", script, "sh", FOLDPACK, FOLDFS, FOLDSTAT, small[0], point,
        cwd=place)


# --- messages -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", [["--log=log"], ["-f", "--log=log"]])
def test_messages_go_to_a_file_too(small, mount, place, monkeypatch, form):
    monkeypatch.chdir(place)
    (place / "log").write_text("before\n")
    mounted = mount(small[1], *form, "--grace=1")
    with open(mounted / "file", "rb"):
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: "SIGTERM" in (place / "log").read_text())
    assert mounted.wait() == 0
    lines = (place / "log").read_text().splitlines()
    assert lines[0] == "before" and len(lines) == 3
    head = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} foldfs\[\d+\]: "
    assert all(re.match(head, line) for line in lines[1:])
    assert f" on {mounted.path}: 4 files" in lines[1] and "SIGTERM" in lines[2]


@pytest.mark.parametrize("words", [["{fifo}", "{point}"], ["{pack}", "{fifo}"],
                                   ["{pack}", "{fifo}", "{point}"],
                                   ["--log={fifo}", "{pack}", "{point}"],
                                   ["--cache-dir={fifo}", "{pack}", "{point}"],
                                   ["--select=@{fifo}", "{pack}", "{point}"]])
def test_a_pipe_without_an_end_holds_nothing_up(small, fifo, point, words):
    said = refused(1, *(word.format(fifo=fifo, pack=small[1], point=point) for word in words))
    assert os.fspath(fifo) in said


def test_a_log_that_nobody_reads_holds_nothing_up(small, place, mount):
    """What does not fit into it is lost there."""
    os.mkfifo(place / "fifo")
    reader = os.open(place / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    mounted = mount(small[1], f"--log={place}/fifo")
    assert b" on " in os.read(reader, 4096)
    os.close(reader)
    assert (mounted / "file").read_bytes() == b"content\n"


def test_a_log_that_cannot_be_written_is_refused(small, point):
    assert "/proc/log: No such file" in refused(1, "--log=/proc/log", small[1], point)


# --- who owns, who may --------------------------------------------------------------------


def test_uid_and_gid_are_everybody_s_owner(small, mount):
    source, pack = small
    mounted = mount(pack, "-ouid=12", "--gid", "34")
    for path in ["", *map(os.fsdecode, trees.paths(source))]:
        assert (os.lstat(mounted / path).st_uid, os.lstat(mounted / path).st_gid) == (12, 34)


def test_umask_replaces_the_modes(small, mount):
    mounted = mount(small[1], "-o", "ro,umask=0027")
    for path, mode in {"file": 0o640, "program": 0o640, "folder": 0o750, "": 0o750}.items():
        assert stat.S_IMODE(os.stat(mounted / path).st_mode) == mode


def test_files_without_any_mode_are_readable_for_the_owner(place, mount):
    (place / "source/folder").mkdir(parents=True)
    trees.write(place / "source/folder/file", b"content", 0)
    os.chmod(place / "source/folder", 0o300)
    if os.geteuid() != 0:
        pytest.skip("only root can pack what nobody may read")
    mounted = mount(foldfs.pack(place / "source", place / "pack.lmdb"))
    assert stat.S_IMODE(os.stat(mounted / "folder").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(mounted / "folder/file").st_mode) == 0o400


@is_root
def test_noexec_forbids_programs(small, mount):
    mounted = mount(small[1], "-o", "noexec")
    [line] = foldfs.mount_lines(mounted)
    assert "noexec" in line.options
    with pytest.raises(PermissionError):
        run(mounted / "program")


@is_root
def test_the_mount_s_modes_are_enforced(small, mount):
    mounted = mount(small[1], "--allow_other", "--umask=077")
    done = run(*as_user(SOMEBODY), "cat", mounted / "file", status=1)
    assert "Permission denied" in done.err


# --- what is mounted ----------------------------------------------------------------------


@pytest.mark.parametrize("path", ["folder", "/folder//"])
def test_subdir_is_the_root(small, mount, path):
    source, pack = small
    mounted = mount(pack, f"--subdir={path}")
    assert trees.content(mounted) == trees.content(source / "folder")
    assert os.stat(mounted).st_ino == 1
    assert os.stat(f"{mounted.path}/..").st_ino == os.stat(mounted.path.parent).st_ino


def test_subdir_deep_in_a_hostile_tree(hostile, mount):
    source, pack = hostile
    for name in (b"in new\nline", b"in comma,equals=", b"in \xff\xfe not UTF-8"):
        inner = b"names/" + name
        mounted = mount(pack, b"--subdir=" + inner)
        assert trees.content(mounted) == trees.content(os.path.join(os.fsencode(source), inner))
        mounted.close()


def test_subdir_keeps_hard_links_to_outside(hostile, mount):
    source, pack = hostile
    mounted = mount(pack, "--subdir=links/folder")
    assert (mounted / "third name").read_bytes() == b"target"
    assert os.stat(mounted / "third name").st_nlink == 3


@pytest.mark.parametrize("path, reason", [
    ("none", "is not in the pack"), ("file", "is not a folder"),
    ("folder/none", "is not in the pack")])
def test_a_subdir_that_is_no_folder_is_refused(small, point, path, reason):
    said = refused(1, f"--subdir={path}", small[1], point)
    assert f"'--subdir={path}'" in said and reason in said and os.fspath(small[1]) in said
    assert not foldfs.is_mounted(point)


# --- how it is read -----------------------------------------------------------------------


def test_pool_is_the_budget(small, mount):
    assert mount(small[1], "--pool=16M").stats()["pool"]["budget"] == 16 * MIB


def test_pool_is_chosen_by_default(small, mount):
    budget = mount(small[1]).stats()["pool"]["budget"]
    assert 8 * MIB <= budget <= small[1].stat().st_size + 9 * MIB


@pytest.mark.parametrize("options", ["readahead=0,threads=1,pool=8M", "threads=64,verify=off",
                                     "readahead=1G", "cache=kernel,policy=lru,oracle=off",
                                     "cache=pool,policy=lru,pool=8M",
                                     "cache=pool,policy=pin,pool=16M,io=buffered",
                                     "preload,pool=8M,readahead=0", "oracle=on,oracle-cpu=1024"])
def test_what_is_read_does_not_depend_on_how(bulk, mount, options):
    source, pack = bulk
    assert trees.content(mount(pack, "-o", options)) == trees.content(source)


def test_readahead_off_reads_nothing_ahead(bulk, mount):
    source, pack = bulk
    quiet = mount(pack, "--readahead=0")
    assert trees.content(quiet) == trees.content(source)
    assert quiet.stats()["prefetch"] == {"issued": 0, "used": 0, "wasted": 0}
    quiet.close()
    eager = mount(pack)
    assert trees.content(eager) == trees.content(source)
    assert eager.stats()["prefetch"]["used"] > 0


@pytest.mark.parametrize("options, mode, policies", [
    ("cache=kernel,policy=lru", "kernel", ["pin"]), ("cache=pool,policy=lru", "pool", ["lru"]),
    ("cache=pool,policy=pin", "pool", ["pin"]),
    ("cache=pool,policy=auto", "pool", ["lru", "pin"]),
])
def test_cache_says_who_keeps_what_was_read(small, mount, options, mode, policies):
    mounted = mount(small[1], "-o", options)
    stats = mounted.stats()
    assert stats["cache_mode"] == mode and stats["pool"]["policy"] in policies
    assert ("the kernel keeps what was read" in mounted.said) == (mode == "kernel")

@needs_root("unshare")
def test_cache_is_shared_where_not_all_fits(bulk, place):
    """In a namespace of its own, on a machine with less memory than the pack has bytes."""
    (place / "mnt").mkdir()
    (place / "meminfo").write_text(f"MemTotal: {1 << 20} kB\nMemAvailable: {40 << 10} kB\n")
    hide = 'mount --bind meminfo /proc/meminfo && exec "$@"'
    done = run("unshare", "--mount", "sh", "-c", hide, "sh", FOLDFS, bulk[1], "mnt", "--",
               "sh", "-c", f"{foldfs.BUILD}/foldstat mnt >&2 && {foldfs.BUILD}/foldstat --json mnt",
               cwd=place)
    stats = json.loads(done.out)
    assert stats["cache_mode"] == "shared" and stats["pool"]["budget"] == 10 * MIB
    assert "; pool 10 MiB of 40 MiB, pin, page cache 27.3 MiB; " in done.err
    assert re.search(r"^cache +the pool and the kernel keep what was read, policy pin\n"
                     r" +the kernel has 0 bytes, at most 27.3 MiB$", done.err, re.M)


def test_io_buffered_is_what_it_says(bulk, mount):
    mounted = mount(bulk[1], "--io=buffered")
    trees.content(mounted)
    assert mounted.stats()["io"] == "buffered" and "buffered I/O" in mounted.said


def test_io_direct_is_what_it_says_or_refused(bulk, mount, point):
    done = run(FOLDFS, "--io=direct", bulk[1], point, "--", "true", status=None)
    if done.returncode:
        assert "its filesystem has no direct reads; leave out '--io=direct'" in done.err
        pytest.skip("the tests' filesystem has no direct reads")
    mounted = mount(bulk[1], "--io=direct")
    trees.content(mounted)
    assert mounted.stats()["io"] == "direct" and "direct I/O" in mounted.said


@is_root
def test_io_direct_is_refused_where_there_is_none(small, place, point):
    (place / "memory").mkdir()
    run("mount", "-t", "tmpfs", "-o", "size=8M", "tmpfs", place / "memory")
    pack = shutil.copy(small[1], place / "memory")
    said = refused(1, "--io=direct", pack, point)
    assert said == (f"foldfs: {pack}: its filesystem has no direct reads; "
                    "leave out '--io=direct'\n")
    assert "buffered I/O" in run(FOLDFS, pack, point, "--", "true").err


def forget(path):
    """Has the kernel let go of what it has of a file."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)

def read_of_devices(mounted):
    """Bytes that its daemon had devices read: what the page cache had does not count."""
    with open(f"/proc/{mounted.daemon}/io", encoding="ascii") as counts:
        return int(re.search(r"^read_bytes: (\d+)", counts.read(), re.M)[1])


@pytest.mark.alone
def test_two_mounts_of_a_pack_have_the_device_read_it_once(bulk, mount, place):
    source, pack = bulk
    (place / "second").mkdir()
    mounts = [mount(pack), mount(pack, at=place / "second")]
    forget(pack)
    before = [read_of_devices(mounted) for mounted in mounts]
    for mounted in mounts:
        assert trees.content(mounted) == trees.content(source)
    first, second = (read_of_devices(mounted) - was
                     for mounted, was in zip(mounts, before))
    if first == 0:
        pytest.skip("the pack is on no device")
    size = pack.stat().st_size
    assert first > size * 9 / 10
    assert second < size / 10


@pytest.mark.parametrize("option", ["--cache=pool", "--readahead=0"])
def test_preload_reads_the_pack_before_anybody_asks(bulk, mount, option):
    source, pack = bulk
    mounted = mount(pack, "--preload", "--pool=128M", option)
    size = mounted.stats()["pack"]["bytes"]
    foldfs.wait_until(lambda: mounted.stats()["preloaded"] >= size)
    assert mounted.stats()["preloaded"] == size
    assert mounted.requests()["read"] == 0
    assert trees.content(mounted) == trees.content(source)
    # Nothing is read a second time, whether it had arrived or was still on its way.
    assert mounted.stats()["prefetch"] == {"issued": size, "used": size, "wasted": 0}


def test_preload_stops_where_the_pool_is_full(bulk, mount):
    mounted = mount(bulk[1], "--preload", "--cache=pool", "--pool=32M")
    foldfs.wait_until(lambda: mounted.stats()["preloaded"] >= 16 * MIB)
    trees.content(mounted)
    pool = mounted.stats()["pool"]
    assert pool["used"] <= pool["limit"] == pool["budget"] == 32 * MIB


# --- an order -----------------------------------------------------------------------------


def test_an_order_is_read_before_the_daemon_leaves(bulk, place, point):
    """By a path that holds in the folder where foldfs was started."""
    source, pack = bulk
    paths = trees.files(source)
    random.Random(1).shuffle(paths)
    (place / "list").write_bytes(b"".join(path + b"\n" for path in paths))
    run(FOLDFS, "-q", "-oorder=list", pack, point, cwd=place)
    (place / "list").unlink()
    assert trees.content(point) == trees.content(source)
    foldfs.unmount(point)


def test_an_order_does_not_need_the_oracle(small, place, mount):
    (place / "list").write_text("file\n./folder/other\n\n/program\nfile\n")
    mounted = mount(small[1], "--oracle=off", f"--order={place}/list")
    assert trees.content(mounted) == trees.content(small[0])

@pytest.mark.parametrize("text, reason", [
    ("file\n\nfile/none\n", ": line 3: 'file/none' is not in the pack; paths begin below the "
     "root of the mount"),
    ("\n\n", ": no paths in it; '--order' takes one a line"),
])
def test_a_wrong_order_is_refused(small, place, point, text, reason):
    (place / "list").write_text(text)
    said = refused(1, f"--order={place}/list", small[1], point)
    assert said == f"foldfs: {place}/list{reason}\n"
    assert not foldfs.is_mounted(point)


def test_an_order_that_cannot_be_read_is_refused(small, place, point):
    assert refused(1, f"--order={place}/list", small[1], point) == (
        f"foldfs: {place}/list: No such file or directory\n")
    assert refused(1, f"--order={place}", small[1], point) == f"foldfs: {place}: Is a directory\n"
    assert not foldfs.is_mounted(point)


# --- the end of a mount -------------------------------------------------------------------


@is_root
def test_timeout_unmounts_what_nobody_uses_any_more(small, mount, point):
    mounted = mount(small[1], "-o", "timeout=1")
    with open(mounted / "file", "rb") as file:
        assert mounted.wait(2.5) is None
        assert file.read() == b"content\n"
    assert mounted.wait() == 0
    assert not foldfs.is_mounted(point)


@is_root
def test_timeout_is_root_s(small, place):
    point = place / "own"
    point.mkdir()
    os.chown(point, SOMEBODY, SOMEBODY)
    done = run(*as_user(SOMEBODY), FOLDFS, "--timeout=1", small[1], point, status=1)
    assert "'--timeout' needs root" in done.err


def test_mkdir_creates_and_removes(small, place, mount):
    mounted = mount(small[1], "--mkdir", at=place / "new")
    assert (mounted / "file").read_bytes() == b"content\n"
    mounted.close()
    assert not (place / "new").exists()


def test_mkdir_removes_what_it_created_when_the_mount_fails(small, place):
    refused(1, "--mkdir", small[1], place / "not/there")
    assert not (place / "not").exists()
    (place / "bad").write_bytes(b"no pack")
    refused(1, "--mkdir", place / "bad", place / "new")
    assert not (place / "new").exists()


@pytest.mark.parametrize("command", [False, True])
def test_mkdir_removes_no_folder_that_somebody_else_made(small, place, command):
    """By the path of its own, whose folder has been moved away."""
    (place / "a").mkdir()
    move = "mv a b && mkdir -p a/m"
    if command:
        run(FOLDFS, "-q", "--mkdir", small[1], "a/m", "--", "sh", "-c", f"{move}; umount b/m",
            cwd=place)
    else:
        with foldfs.mounted(small[1], place / "a/m", "--mkdir") as mounted:
            run("sh", "-c", move, cwd=place)
            foldfs.detach(place / "b/m")
            assert mounted.wait() == 0
    assert (place / "a/m").is_dir()
    assert not (place / "b/m").exists()


def test_mkdir_removes_no_folder_that_took_the_place_of_its_own(small, place, mount):
    mounted = mount(small[1], "--mkdir", "-f", at=place / "m")
    os.kill(mounted.daemon, signal.SIGSTOP)
    foldfs.detach(place / "m")
    (place / "m").rmdir()
    (place / "m").mkdir()
    os.kill(mounted.daemon, signal.SIGCONT)
    assert mounted.wait() == 0
    assert (place / "m").is_dir()


def test_mkdir_leaves_what_was_there(small, point, mount):
    mount(small[1], "--mkdir").close()
    assert point.is_dir()


def test_foreground_says_one_line_and_stays(small, mount, point):
    mounted = mount(small[1], "-f")
    assert mounted.said.count("\n") == 1
    assert f"foldfs: {small[1]} on {point}: " in mounted.said
    assert f"; unmount: fusermount3 -u {point}\n" in mounted.said
    mounted.close()
    assert mounted.log() == ""


def test_quiet_says_nothing(small, mount):
    assert mount(small[1], "-q").said == ""


# --- as other programs start it -----------------------------------------------------------


@needs_root("mount.fuse3", "unshare")
def test_mount_8_mounts(small, point, place):
    """Where mount(8) finds foldfs: in a folder of the system, for which this one stands in."""
    (place / "bin").mkdir()
    os.symlink(FOLDFS, place / "bin/foldfs")
    script = """set -e
        mount --bind "$1" /usr/local/bin
        mount -t fuse.foldfs "$2" "$3" -o ro,noatime,_netdev,x-systemd.automount,uid=12,pool=8M
        stat -c %u "$3/file"
        cat "$3/file"
        umount "$3"
    """
    with foldfs.one_daemon():
        done = run("unshare", "--mount", "sh", "-c", script, "sh", place / "bin", small[1], point)
    assert done.out == "12\ncontent\n"


@is_root
def test_an_automount_mounts(small, mount, point):
    """As for systemd: whoever looks waits until it is mounted, except for the process group that
    mounts."""
    if "\tautofs\n" not in Path("/proc/filesystems").read_text():
        pytest.skip("this kernel has no autofs")
    ready, fail = 0x9360, 0x9361  # ioctls of linux/auto_fs.h
    asks, end = os.pipe()
    options = f"fd={end},pgrp={os.getpgrp()},minproto=5,maxproto=5,direct"
    assert foldfs.libc.mount(b"test", os.fsencode(point), b"autofs", 0, options.encode()) == 0
    os.close(end)
    trigger = os.open(point, os.O_RDONLY)
    with subprocess.Popen(["cat", point / "file"], stdout=subprocess.PIPE,
                          start_new_session=True) as looks:
        token, = struct.unpack_from("=I", os.read(asks, 4096), 8)
        # Should foldfs have to wait for itself, too.
        alarm = threading.Timer(PATIENCE, fcntl.ioctl, (trigger, fail, token))
        alarm.start()
        mounted = mount(small[1])
        alarm.cancel()
        fcntl.ioctl(trigger, ready, token)
        assert looks.stdout.read() == b"content\n"
    mounted.close()
    os.close(trigger)
    os.close(asks)


PASS_DEVICE = """import ctypes, os, subprocess, sys
foldfs, pack, point, *options = sys.argv[1:]
fd = os.open("/dev/fuse", os.O_RDWR)
libc = ctypes.CDLL(None, use_errno=True)
data = f"fd={fd},rootmode=40000,user_id=0,group_id=0,default_permissions"
flags = 1 | 2 | 4  # MS_RDONLY, MS_NOSUID, MS_NODEV
if libc.mount(b"pack", point.encode(), b"fuse.foldfs", flags, data.encode()) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
sys.exit(subprocess.run([foldfs, *options, pack, f"/dev/fd/{fd}"], pass_fds=[fd]).returncode)
"""


@contextlib.contextmanager
def handed_over(pack, point, *options, kernel=",allow_other"):
    """Mounted by this process, as containers do it, and passed on; what was said."""
    device = PASS_DEVICE.replace(",default_permissions", kernel)
    with foldfs.one_daemon():
        said = run(sys.executable, "-c", device, FOLDFS, pack, point, *options).err
        try:
            yield said
        except BaseException:  # whoever waits for the daemon cannot be killed
            for pid, words in foldfs.children(os.getpid()).items():
                if any(word.startswith(b"/dev/fd/") for word in words):
                    os.kill(pid, signal.SIGKILL)
            raise
        run("umount", point)


@is_root
def test_a_descriptor_as_mount_point(small, point):
    with handed_over(small[1], point, kernel=",default_permissions") as said:
        assert "mounted by the caller, who should have made it read-only" in said
        assert trees.content(point) == trees.content(small[0])


@pytest.mark.parametrize("end", ["0", "1", "77", "x", "", "1/.."])
def test_a_descriptor_that_is_no_mount_is_refused(small, end):
    """A pipe would be waited for without an end."""
    said = refused(1, small[1], f"/dev/fd/{end}")
    assert "is not a descriptor of /dev/fuse that the caller has mounted" in said


def test_a_device_that_was_not_mounted_is_refused(small):
    fd = os.open("/dev/fuse", os.O_RDWR)
    done = run(FOLDFS, small[1], f"/dev/fd/{fd}", pass_fds=[fd], status=1)
    os.close(fd)
    assert "/dev/fd/" in done.err


@needs_root("setpriv")
def test_modes_hold_where_the_caller_leaves_them_to_foldfs(small, point):
    """The kernel looks at them only if the mount was made with default_permissions."""
    with handed_over(small[1], point, f"--uid={NOBODY}", f"--gid={NOBODY}", "--umask=077"):
        owner = run(*as_user(NOBODY), "cat", point / "file", point / "folder/other").out
        assert owner == "content\nother content\n"
        for command in (["cat", point / "file"], ["ls", point], ["cat", point / "folder/other"],
                        ["test", "-r", point / "file"]):
            run(*as_user(SOMEBODY), *command, status=2 if command[0] == "ls" else 1)
        assert run("cat", point / "file").out == "content\n"  # root


@needs_root("setpriv")
def test_modes_are_looked_up_of_a_file_whose_first_name_is_not_in_the_mount(place, point):
    """It is linked from a folder beside the one that is shown."""
    source = place / "source"
    trees.write(source / "a/first", b"both\n")
    trees.write(source / "b/own", b"own\n")
    os.link(source / "a/first", source / "b/second")
    with handed_over(foldfs.pack(source, place / "x.lmdb"), point, "--subdir=b"):
        reader = subprocess.Popen([*as_user(NOBODY), "cat", point / "own", point / "second"],
                                  stdout=subprocess.PIPE)
        assert reader.communicate(timeout=PATIENCE / 4)[0] == b"own\nboth\n"


# --- words of mount(8) and fstab(5) -------------------------------------------------------

WORDS = """async atime auto comment=x context context=x defaults dev diratime dirsync exec group
    helper=x iversion lazytime loop loud mand _netdev noatime noauto nodev nodiratime nofail
    nogroup noiversion nolazytime nomand noowner norelatime nostrictatime nosuid nouser nousers
    noexec owner relatime ro rw seclabel silent strictatime suid symfollow sync uhelper=x user
    user=x users x-systemd.automount X-mount.mkdir default_permissions""".split()


@pytest.mark.parametrize("options", [
    ",".join(word for word in WORDS if "context" not in word), "noatime,nodiratime", "defaults",
    "ro=recursive,noexec=vfs,nosuid=fs"])
def test_words_that_all_filesystems_take_are_taken(small, mount, options):
    mounted = mount(small[1], "-o", options)
    [line] = foldfs.mount_lines(mounted)
    assert {"ro", "nosuid", "nodev"} <= line.options
    assert (mounted / "file").read_bytes() == b"content\n"


@pytest.mark.parametrize("options, noexec", [("noexec", True), ("noexec,exec", False),
                                             ("exec,noexec", True), ("user,noexec,exec", False)])
def test_the_last_of_exec_and_noexec_counts(small, mount, options, noexec):
    [line] = foldfs.mount_lines(mount(small[1], "-o", options))
    assert ("noexec" in line.options) == noexec


@pytest.mark.parametrize("options, said", [
    ("rw", "'-o rw' changes nothing: the mount is read-only"), ("rw,ro", None), ("ro", None),
    ("ro,rw", "'-o rw' changes nothing"), ("suid", "'-o suid' and 'dev' change nothing"),
    ("dev,nodev,suid,nosuid", None)])
def test_what_a_mount_cannot_be_is_said(small, mount, options, said):
    mounted = mount(small[1], "-o", options)
    assert (said or " nothing: ") in mounted.said or not said
    assert said or "change" not in mounted.said


@pytest.mark.parametrize("options, said", [("remount,ro", "unmount it, and mount it"),
                                           ("bind", "mount(8) does that"),
                                           ("rbind", "mount(8)"), ("move", "mount(8)"),
                                           ("nosymfollow", "once it is mounted"),
                                           ("rshared", "mount(8)"), ("allow_root", "allow_other"),
                                           ("fsname=x", "leave this out"),
                                           ("max_read=4096", "leave this out"),
                                           ("auto_unmount", "stays until")])
def test_what_foldfs_cannot_do_is_refused(small, point, options, said):
    assert said in refused(2, "-o", options, small[1], point)


@is_root
@pytest.mark.parametrize("word", ["context", "fscontext", "defcontext", "rootcontext"])
def test_contexts_reach_the_kernel(small, point, word):
    """With the commas of their categories. Only SELinux takes them."""
    if os.path.exists("/sys/fs/selinux"):
        pytest.skip("what the kernel makes of it depends on the policy")
    option = f'{word}="system_u:object_r:tmp_t:s0:c127,c456"'
    said = refused(1, "-o", f"ro,{option}", small[1], point)
    assert "for SELinux, which this kernel has not started" in said
    if foldfs.find_program("strace"):
        leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # not beside strace
        done = run("strace", "-f", "-qq", "-s", "300", "-e", "trace=mount,fsconfig", FOLDFS, "-o",
                   option, small[1], point, status=None,
                   env={**os.environ, "ASAN_OPTIONS": leaks})
        assert "tmp_t:s0:c127,c456" in done.err


# --- refusals -----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [
    ["--pool=7M"], ["--threads=65"], ["--umask=1777"], ["--umask=9"], ["--uid=4294967295"],
    ["--gid=99999999999"], ["--timeout=2147483648"], ["--cache=none"], ["--preload=1G"],
    ["--oracle-cpu=0"], ["--oracle-cpu=1025"], ["--order=list", "--readahead=0"], ["-Z"],
])
def test_a_wrong_value_is_refused(small, point, words):
    refused(2, *words, small[1], point)
    assert not foldfs.is_mounted(point)


def test_wrong_numbers_of_arguments_are_refused(small, point):
    for words in ([], [small[1]], [small[1], point, "more"], [small[1], point, "--"]):
        refused(2, *words)


def test_an_empty_argument_is_not_the_working_folder(small, point):
    done = run(FOLDFS, small[1], "", cwd=point, status=2)
    assert "an argument is empty, as of a variable that is not set" in done.err
    assert not foldfs.is_mounted(point)


def test_an_empty_pattern_is_refused(small, place, point):
    assert "'--select': is empty" in refused(2, "--select=", small[1], point)
    for option in "--include=", "--exclude=", "--since=":
        done = run(foldfs.FOLDPACK, "create", option, small[0], place / "x.lmdb", status=2)
        assert f"'{option[:-1]}': is empty, as of a variable that is not set" in done.err


def test_a_log_is_appended_to_a_text_only(small, place, point, mount):
    pack = place / "x.lmdb"
    pack.write_bytes(small[1].read_bytes())
    assert "no text that '--log' could append to" in refused(1, f"--log={pack}", pack, point)
    assert pack.read_bytes() == small[1].read_bytes()
    (place / "log").write_text("mine\n")
    mount(pack, f"--log={place}/log").close()
    assert (place / "log").read_text().startswith("mine\n2")


def test_swapped_arguments_are_named(small, place, point):
    assert "PACK comes first" in refused(2, point, small[1])
    assert "PACK comes first" in refused(2, small[0], small[1])


def test_a_command_without_dashes_is_named(small, place, point):
    (place / "train.py").touch()
    for words in (["--mkdir", small[1], "mm", "python", "train.py"],
                  ["--mkdir", small[1], "mm", "python", "train.py", "--epochs", "3"],
                  ["--mkdir", small[1], "mm", "nvidia-smi"],
                  [small[1], "mnt", "python", "train.py"], [small[1], "mnt", "python", "-c", "1"],
                  [small[1], "mnt", "sh", "train.py", "--thread", "4"]):
        done = run(FOLDFS, *words, cwd=place, status=2)
        assert "a COMMAND goes after '--'" in done.err, words
        assert not (place / "mm").exists() and not foldfs.is_mounted(point)


def test_a_pool_larger_than_memory_is_said_to_be(small, mount):
    said = mount(small[1], "--pool=10T").said
    assert re.search(r"; pool 10 TiB, more than the [\d.]+ [GM]iB that are available, ", said)

def test_help_that_cannot_be_written_is_a_failure():
    for option in ("--help", "--version"):
        done = run("sh", "-c", f"'{FOLDFS}' {option} > /dev/full", status=1)
        assert done.err == "foldfs: standard output: No space left on device\n"
