"""What a daemon gives up once its mount is made, and that it can still do all that it has to. What
it may not, tests/unit/test_sandbox.c tries. With the plain build: a sanitizer writes reports."""

import contextlib
import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import (
    FOLDFS, NOBODY, PATIENCE, SOMEBODY, as_user, is_mounted, is_root, needs, run, wait_until)
from server import Server
from terminal import Terminal

pytestmark = [pytest.mark.plain, is_root]

DAC_OVERRIDE, DAC_READ_SEARCH = 1 << 1, 1 << 2
HELPER = "foldfs-helper"


def privileges(status):
    """(no_new_privs, effective capabilities, mode of seccomp: 2 is a filter)."""
    field = dict(re.findall(r"^(\w+):\s*(\w+)$", status, re.MULTILINE))
    return int(field["NoNewPrivs"]), int(field["CapEff"], 16), int(field["Seccomp"])


def of_process(pid):
    return privileges(Path(f"/proc/{pid}/status").read_text())


def all_threads(pid):
    found = set()
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            found.add(of_process(f"{pid}/task/{task}"))
    return found


def helper_of(mounted):
    [pid] = foldfs.children(mounted.daemon)
    assert foldfs.names([pid]) == [HELPER]
    return pid


def test_root_s_daemon_has_no_privileges_but_its_helper_unmounts(small, mount):
    mounted = mount(small[1])
    assert trees.content(mounted) == trees.content(small[0])
    assert all_threads(mounted.daemon) == {(1, 0, 2)}
    assert of_process(helper_of(mounted)) == of_process("self")
    os.kill(mounted.daemon, signal.SIGINT)
    assert mounted.wait() == 0
    assert not is_mounted(mounted)


@needs("fusermount3", "setpriv")
def test_a_user_s_daemon_gains_none_but_its_helper_unmounts(small, own_point, mount,
                                                            device_for_users):
    mounted = mount(small[1], at=own_point, uid=SOMEBODY)
    assert all_threads(mounted.daemon) == {(1, 0, 2)}
    assert of_process(helper_of(mounted))[0] == 0
    os.kill(mounted.daemon, signal.SIGINT)
    assert mounted.wait() == 0
    assert not is_mounted(mounted)


@needs("fusermount3", "setpriv", "prlimit")
@pytest.mark.parametrize("sandbox", ["on", "off"])
def test_a_helper_that_may_start_no_process_unmounts(small, own_point, mount, device_for_users,
                                                     sandbox):
    """As where a job has used up what its user may start."""
    mounted = mount(small[1], f"--sandbox={sandbox}", at=own_point, uid=SOMEBODY)
    run(*as_user(SOMEBODY), "prlimit", f"--pid={helper_of(mounted)}", "--nproc=0")
    os.kill(mounted.daemon, signal.SIGINT)
    assert mounted.wait() == 0
    assert not is_mounted(mounted)


def test_sandbox_off_keeps_privileges(small, mount):
    mounted = mount(small[1], "-o", "sandbox=off")
    assert all_threads(mounted.daemon) == {of_process("self")}
    assert foldfs.names(foldfs.children(mounted.daemon)) == [HELPER]


def test_what_holds_is_said(small, mount):
    mounted = mount(small[1], "-f", "-v")
    assert "foldfs: sandbox: no new privileges" in mounted.said


def test_the_command_has_all_privileges(small, point):
    done = run(FOLDFS, "-q", small[1], point, "--", "sh", "-c",
               "cat /proc/self/status && unshare --mount true && echo new > /dev/shm/$$ && "
               "rm /dev/shm/$$")
    assert privileges(done.out) == of_process("self")


# --- a terminal ---------------------------------------------------------------------------


def server_of(point):
    """The process that serves the mount."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            files = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
            if os.fsencode(point) in words and "/dev/fuse" in files:
                return int(pid)
    return None


def terminal_of(pid):
    """The number of its controlling terminal; 0: none."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[4])


def on_terminal(leads, *words):
    """A leader of its session, as under ssh or in a container; or a job of a shell. The terminal
    has one more descriptor, as scripts keep one."""
    script = '{} "$@" 7<>/dev/tty; exit $?'.format("exec" if leads else "")
    return Terminal("sh", "-c", script, "sh", *words, rows=40, columns=300)


def has_left_terminal(pid):
    files = [os.readlink(fd) for fd in Path(f"/proc/{pid}/fd").iterdir()]
    return terminal_of(pid) == 0 and not any("/pts/" in file or "tty" in file for file in files)


@pytest.mark.parametrize("leads", [True, False])
def test_a_daemon_leaves_the_terminal_to_its_command(small, point, leads):
    command = "cat $0/file; tty; echo ready; read line; kill -TERM $PPID; sleep 9 & exit 5"
    with on_terminal(leads, FOLDFS, small[1], point, "--", "sh", "-c", command, point) as terminal:
        terminal.wait_for("ready")
        assert "/dev/pts/" in terminal.text and " on " in terminal.text
        assert has_left_terminal(server_of(point))
        terminal.press(b"go\n")
        assert terminal.end() in (5, 128 + signal.SIGTERM)
    assert not is_mounted(point)


@pytest.mark.parametrize("leads", [True, False])
def test_a_daemon_in_the_foreground_has_no_terminal_but_what_it_says_is_there(small, point, leads):
    with on_terminal(leads, FOLDFS, "-f", "--grace=1", small[1], point) as terminal:
        terminal.wait_for("unmount: fusermount3")
        daemon = server_of(point)
        assert has_left_terminal(daemon)
        with open(point / "file", "rb"):
            os.kill(terminal.pid if leads else daemon, signal.SIGTERM)
            terminal.wait_for("received SIGTERM; will unmount once idle")
        assert terminal.end() == 0
    assert not is_mounted(point)


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("keys, hangup", [(b"\x03", False), (b"\x1c", False), (b"", True)])
def test_a_terminal_ends_what_is_in_its_foreground(small, point, leads, keys, hangup):
    with on_terminal(leads, FOLDFS, "-f", small[1], point) as terminal:
        terminal.wait_for("unmount: fusermount3")
        terminal.press(keys)
        if hangup:
            os.close(terminal.follower)
            os.close(terminal.leader)
            terminal.leader, terminal.follower = os.open("/dev/null", 0), os.open("/dev/null", 0)
        wait_until(lambda: not is_mounted(point))
        assert foldfs.wait_for(terminal.pid) is not None
        terminal.pid = None


ASK = "import os, sys; [os.getxattr(sys.argv[1], sys.argv[2]) for _ in range(3000)]"


def ask_often(point):
    """So that a daemon with -d says more than any pipe holds."""
    subprocess.run([sys.executable, "-c", ASK, point, foldfs.STATS], check=True,
                   timeout=foldfs.PATIENCE)


def test_a_daemon_serves_and_ends_although_its_terminal_was_stopped(small, point):
    with on_terminal(False, FOLDFS, "-f", "-d", "--grace=0", small[1], point) as terminal:
        terminal.wait_for("unmount: fusermount3")
        terminal.press(b"\x13")
        ask_often(point)
        os.kill(server_of(point), signal.SIGTERM)
        wait_until(lambda: not is_mounted(point))
        assert terminal.end() == 0


def test_whoever_leads_the_session_and_is_killed_takes_the_mount_along(small, point):
    with on_terminal(True, FOLDFS, "-f", "--grace=0", small[1], point) as terminal:
        terminal.wait_for("unmount: fusermount3")
        daemon = server_of(point)
        assert daemon != terminal.pid
        os.kill(terminal.pid, signal.SIGKILL)
        assert foldfs.wait_for(daemon) == 0
    assert not is_mounted(point)


def test_sandbox_off_keeps_the_terminal(small, point):
    with on_terminal(False, FOLDFS, "-f", "--sandbox=off", small[1], point) as terminal:
        terminal.wait_for("unmount: fusermount3")
        assert terminal_of(server_of(point)) != 0
        terminal.press(b"\x03")
        terminal.end()


# --- the helper ---------------------------------------------------------------------------


def test_a_daemon_whose_helper_was_killed_says_that_its_mount_stays(small, mount):
    mounted = mount(small[1], "-f")
    os.kill(helper_of(mounted), signal.SIGKILL)
    mounted.process.send_signal(signal.SIGINT)
    foldfs.wait_for_line(mounted.process.stderr, rb": cannot be unmounted; a dead mount stays")
    foldfs.detach(mounted)
    assert mounted.wait() == 0


def test_a_folder_of_another_user_s_is_removed_at_the_end(small, place):
    """As root without capabilities could not."""
    (place / "theirs").mkdir(mode=0o700)
    os.chown(place / "theirs", SOMEBODY, SOMEBODY)
    with foldfs.mounted(small[1], place / "theirs/new", "--mkdir"):
        pass
    assert not (place / "theirs/new").exists()


def test_a_pack_that_was_moved_is_still_read(bulk, place, mount):
    os.link(bulk[1], place / "here.lmdb")
    mounted = mount(place / "here.lmdb", "--pool=8M", "--io=direct")
    os.rename(place / "here.lmdb", place / "there.lmdb")
    assert trees.content(mounted) == trees.content(bulk[0])


def test_what_happens_later_is_still_logged(small, place, point):
    """In a namespace that has a /dev/log of its own."""
    pack, image = bytearray(small[1].read_bytes()), (small[0] / "large").read_bytes()
    pack[pack.index(image[:64])] ^= 1
    (place / "damaged.lmdb").write_bytes(pack)
    (place / "dev").mkdir()
    run("mount", "-t", "tmpfs", "none", place / "dev")
    for name in "fuse", "null":
        os.mknod(place / "dev" / name, stat.S_IFCHR | 0o666, os.stat(f"/dev/{name}").st_rdev)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(os.fspath(place / "dev/log"))
        log.settimeout(PATIENCE)
        run("unshare", "--mount", "sh", "-c",
            f"mount --bind {place}/dev /dev && {FOLDFS} -q {place}/damaged.lmdb {point} && "
            f"! cat {point}/large && umount {point}")
        assert b"'large' at 0: checksum mismatch" in log.recv(65536)


def test_a_pack_on_another_machine_s_filesystem_may_be_opened_again(small, place, mount):
    """Any FUSE filesystem counts as one."""
    (place / "folder").mkdir()
    os.link(small[1], place / "folder/inner.lmdb")
    (place / "far").mkdir()
    far = mount(foldfs.pack(place / "folder", place / "outer.lmdb"), at=place / "far")
    mounted = mount(far / "inner.lmdb")
    assert all_threads(mounted.daemon) == {(1, DAC_READ_SEARCH, 2)}
    assert trees.content(mounted) == trees.content(small[0])


@pytest.fixture
def served(bulk, place):
    server = Server(bulk[1].parent, place / "server")
    yield server.start().url(bulk[1].name)
    server.stop()


def test_a_pack_on_a_server_is_read(bulk, served, mount):
    mounted = mount(served, "--pool=8M")
    assert all_threads(mounted.daemon) == {(1, DAC_READ_SEARCH, 2)}
    assert trees.content(mounted) == trees.content(bulk[0])


def test_the_disk_cache_is_written(bulk, served, place, mount):
    """By root, in a folder that a group of others shares."""
    (place / "cache").mkdir()
    os.chown(place / "cache", NOBODY, NOBODY)
    (place / "cache").chmod(0o2770)
    mounted = mount(served, f"--cache-dir={place}/cache", "--prefetch")
    assert all_threads(mounted.daemon) == {(1, DAC_READ_SEARCH | DAC_OVERRIDE, 2)}
    assert trees.content(mounted) == trees.content(bulk[0])
    wait_until(lambda: mounted.stats()["disk_cache"]["state"] == "complete")


@needs("mount.fuse3", "setpriv")
def test_mount_fuse3_drops_privileges_before_the_pack_is_opened(small, place, point):
    """The caller mounts and hands the descriptor over; what foldfs needs is to read the pack."""
    os.symlink(FOLDFS, place / "foldfs")
    options = f"ro,nosuid,nodev,allow_other,drop_privileges,setuid=nobody,umask=027,gid={SOMEBODY}"
    before = foldfs.children(os.getpid()).keys()
    run("mount.fuse3", f"{place}/foldfs#{small[1]}", point, "-o", options)
    [daemon] = foldfs.children(os.getpid()).keys() - before
    try:
        assert all_threads(daemon) == {(1, 0, 2)}
        assert os.stat(f"/proc/{daemon}").st_uid == NOBODY
        assert run(*as_user(SOMEBODY), "cat", point / "file").out == "content\n"
        run("setpriv", "--reuid=2", "--regid=2", "--clear-groups", "cat", point / "file", status=1)
    finally:
        run("umount", point)
        assert foldfs.wait_for(daemon) == 0


@needs("mount.fuse3", "setpriv", "unshare")
def test_groups_that_are_not_known_open_nothing(small, place, point):
    """With hidepid, such a daemon cannot ask for the groups of a process. One of them may have been
    shut out, unlike all others."""
    os.symlink(FOLDFS, place / "foldfs")
    options = f"ro,allow_other,drop_privileges,setuid=nobody,umask=062,gid={SOMEBODY}"
    script = f"""mount -t proc -o hidepid=2 none /proc &&
        mount.fuse3 {place}/foldfs#{small[1]} {point} -o {options} || exit 9
        setpriv --reuid=2 --regid=2 --groups={SOMEBODY} cat {point}/file
        status=$?
        umount {point}
        exit $status"""
    with foldfs.one_daemon():
        done = run("unshare", "--mount", "sh", "-c", script, status=1)
    assert "Permission denied" in done.err
