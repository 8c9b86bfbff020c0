"""From the start of a mount to its end, as root and as a user, with a command and without one:
nothing stays behind, and every refusal names its reason and the way out."""

import contextlib
import errno
import fcntl
import os
import pty
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import foldfs
import server
from foldfs import (
    FOLDFS, FOLDPACK, NAMELESS, PATIENCE, SOMEBODY, as_user, is_mounted, is_root, needs, needs_root,
    run)

SIGNALS = [signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
           signal.SIGALRM, signal.SIGIO, signal.SIGRTMAX]


def refused(*words, status=1, prefix=()):
    """foldfs says no, in one line, whatever fusermount3 has said."""
    done = run(*prefix, FOLDFS, *words, status=status)
    [line] = done.err.splitlines()
    assert line.startswith("foldfs: ")
    return line


def with_command(pack, point, *command, status=0, prefix=(), options=()):
    return run(*prefix, FOLDFS, *options, pack, point, "--", *command, status=status)


# --- the parent and the daemon ------------------------------------------------------------

def test_the_announcement_says_what_was_decided(small, mount, point):
    said = mount(small[1], "-o", "io=buffered").said
    assert said.startswith(f"foldfs: {small[1]} on {point}: 4 files, 2 MiB; ")
    assert "buffered I/O; pool " in said and ", the kernel keeps what was read; " in said
    assert said.endswith(f"unmount: fusermount3 -u {point}\n")

def test_the_daemon_is_detached(small, mount):
    """From its session, folder and files: a terminal may close, a disk be unmounted."""
    pid = mount(small[1]).daemon
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for fd in range(3):
        assert os.readlink(f"/proc/{pid}/fd/{fd}") == "/dev/null"

def oom_score_adj(pid):
    return int(Path(f"/proc/{pid}/oom_score_adj").read_text())


@needs_root("choom")
def test_root_s_daemon_is_killed_late_for_lack_of_memory_and_its_command_is_not(small, mount,
                                                                               place):
    if oom_score_adj("self") != 0 or run("choom", "-n", "-500", "true", status=None).returncode:
        pytest.skip("oom_score_adj is set, or may not be made less")
    assert oom_score_adj(mount(small[1]).daemon) == -500
    (place / "other").mkdir()
    done = with_command(small[1], place / "other", "sh", "-c",
                        "sleep 0.3; cat /proc/self/oom_score_adj /proc/$PPID/oom_score_adj")
    assert done.out.split() == ["0", "-500"]


@needs("choom")
def test_what_somebody_wants_the_oom_killer_to_do_stays(small, point):
    done = with_command(small[1], point, "sh", "-c", "cat /proc/$PPID/oom_score_adj",
                        prefix=["choom", "-n", "300", "--"])
    assert done.out == "300\n"


def test_the_daemon_holds_no_lock_of_whoever_started_it(small, place, point):
    with foldfs.one_daemon():
        with open(place / "lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            run(FOLDFS, small[1], point, pass_fds=[lock.fileno()])
        with open(place / "lock", "r", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        foldfs.unmount(point)


def test_relative_paths(small, place, point):
    """Of a pack, and of a mount point that a signal unmounts."""
    shutil.copy(small[1], place / "pack.lmdb")
    with foldfs.one_daemon():
        run(FOLDFS, "--grace=0", "pack.lmdb", "mnt", cwd=place)
        assert (point / "file").read_bytes() == b"content\n"
        os.kill(foldfs.daemon_of("mnt"), signal.SIGTERM)
    assert not is_mounted(point)


def test_closed_standard_descriptors(small, point):
    with foldfs.one_daemon():
        run("sh", "-c", 'exec "$@" 0<&- 1>&- 2>&-', "sh", FOLDFS, small[1], point)
        assert (point / "file").read_bytes() == b"content\n"
        foldfs.unmount(point)


def test_no_zombie_while_mounted_and_none_after(small, mount):
    before = foldfs.children(os.getpid()).keys()
    mounted = mount(small[1])
    assert foldfs.children(os.getpid()).keys() - before == {mounted.daemon}
    assert foldfs.names(foldfs.children(mounted.daemon)) == ["foldfs-helper"]
    mounted.close()
    assert foldfs.children(os.getpid()).keys() <= before


@pytest.mark.parametrize("signo", [signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGRTMAX])
def test_a_signal_unmounts(small, mount, signo):
    mounted = mount(small[1])
    os.kill(mounted.daemon, signo)
    assert mounted.wait() == 0
    assert not is_mounted(mounted)

def test_an_open_file_can_be_finished_after_sigterm(small, mount):
    source, pack = small
    mounted = mount(pack, "--grace=0")
    want = (source / "large").read_bytes()
    with open(mounted / "large", "rb", buffering=0) as file:
        head = file.read(1000)
        os.kill(mounted.daemon, signal.SIGTERM)
        assert mounted.wait(1) is None  # it waits for the reader ...
        assert not is_mounted(mounted)  # ... but nobody new comes in
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert head + file.read() == want
    assert mounted.wait() == 0


@contextlib.contextmanager
def left_open(path):
    """A descriptor that outlives its mount: then even close(2) has an error to tell."""
    fd = os.open(path, os.O_RDONLY)
    yield fd
    with contextlib.suppress(OSError):
        os.close(fd)


def test_a_second_signal_does_not_wait_for_open_files(small, mount):
    mounted = mount(small[1], "--grace=0")
    with left_open(mounted / "large"):
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: not is_mounted(mounted))
        os.kill(mounted.daemon, signal.SIGTERM)
        assert mounted.wait() == 0


def read_until(path, stop, done):
    while not stop.wait(0.01):
        done.append(path.read_bytes())


def test_after_sigterm_a_mount_serves_on_while_it_is_used(small, mount):
    """The kernel has the file: nothing but the look at the root comes here."""
    mounted = mount(small[1], "-f")
    stop, done = threading.Event(), []
    using = threading.Thread(target=read_until, args=(mounted / "file", stop, done))
    using.start()
    try:
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_for_line(mounted.process.stderr, rb"received SIGTERM; will unmount once idle")
        assert mounted.wait(3.5) is None and is_mounted(mounted)
    finally:
        stop.set()
        using.join()
    assert mounted.wait(PATIENCE / 2) == 0
    assert set(done) == {b"content\n"} and not is_mounted(mounted)


def test_a_mount_in_its_grace_makes_room_for_the_next(small, mount):
    """A job that is requeued must not begin with a mount that ends under it."""
    source, pack = small
    before = mount(pack, "-f", "--grace=3600")
    with open(before / "large", "rb", buffering=0) as file:
        head = file.read(1000)
        os.kill(before.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: before.stats()["leaving"])
        after = mount(pack, "-f")
        assert len(foldfs.mount_lines(after)) == 1 and not after.stats()["leaving"]
        assert head + file.read() == (source / "large").read_bytes()
    assert before.wait() == 0
    assert (after / "file").read_bytes() == b"content\n"


def test_the_grace_after_sigterm_ends_lazily(small, mount):
    source, pack = small
    mounted = mount(pack, "--grace=1")
    with open(mounted / "large", "rb", buffering=0) as file:
        head = file.read(1000)
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: not is_mounted(mounted))
        assert head + file.read() == (source / "large").read_bytes()
    assert mounted.wait() == 0


def test_a_second_sigterm_ends_the_grace(small, mount):
    mounted = mount(small[1], "--grace=3600")
    with open(mounted / "large", "rb"):
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: "SIGTERM" in str(mounted.stats()["log"]))
        assert is_mounted(mounted)
        os.kill(mounted.daemon, signal.SIGTERM)
        foldfs.wait_until(lambda: not is_mounted(mounted))
    assert mounted.wait() == 0


def test_unmounting_lazily_lets_readers_finish(small, mount):
    source, pack = small
    mounted = mount(pack)
    [helper] = foldfs.children(mounted.daemon)
    with open(mounted / "large", "rb") as file:
        run("fusermount3", "-u", "-z", mounted)
        assert file.read() == (source / "large").read_bytes()
    assert mounted.wait() == 0
    assert not os.path.exists(f"/proc/{helper}")


def test_a_busy_mount_is_not_unmounted(small, mount):
    mounted = mount(small[1])
    with open(mounted / "file", "rb") as file:
        assert "busy" in run("fusermount3", "-u", mounted, status=1).err.lower()
        assert file.read() == b"content\n"


def test_reading_threads_at_the_end_of_the_mount(bulk, mount):
    """All that is underway is answered, none waits for ever."""
    mounted = mount(bulk[1], "--pool=8M", "--grace=0")
    readers = [subprocess.Popen(["tar", "-cf", "-", "-C", mounted, "."],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
               for _ in range(4)]
    for reader in readers:
        reader.stdout.read(foldfs.MIB)
    os.kill(mounted.daemon, signal.SIGTERM)
    os.kill(mounted.daemon, signal.SIGTERM)
    for reader in readers:
        reader.communicate(timeout=PATIENCE)
    assert mounted.wait() == 0
    assert not is_mounted(mounted)


# --- with a command -----------------------------------------------------------------------


@pytest.mark.parametrize("script, status", [("exit 7", 7), ("exit 255", 255),
                                            ("kill -KILL $$", 128 + signal.SIGKILL)])
def test_the_command_s_status_is_foldfs_s(small, point, script, status):
    with_command(small[1], point, "sh", "-c", script, status=status)
    assert not is_mounted(point)


def test_a_command_that_cannot_be_run(small, point, place):
    missing = place / "missing"
    assert f"{missing}: No such file" in with_command(small[1], point, missing, status=127).err
    (place / "data").write_bytes(b"no program")
    assert "Permission denied" in with_command(small[1], point, place / "data", status=126).err
    assert not is_mounted(point)


def test_the_command_has_stdin_folder_environment_and_arguments(small, point, place):
    script = 'cat - "$1/file"; pwd; echo "$HELLO"; shift; printf "%s|" "$@"'
    done = subprocess.run([FOLDFS, "-q", small[1], point, "--", "sh", "-c", script, "sh", point,
                           "-o", "a b", "--", ""],
                          input=b"typed\n", capture_output=True, cwd=place,
                          env={**os.environ, "HELLO": "there"}, timeout=PATIENCE)
    assert done.stdout == f"typed\ncontent\n{place}\nthere\n-o|a b|--||".encode()
    assert done.stderr == b""


def test_the_command_inherits_no_descriptor_and_has_default_signals(small, point):
    done = with_command(small[1], point, "sh", "-c", "readlink /proc/self/fd/*; "
                        "exec grep -E 'Sig(Blk|Ign)' /proc/self/status")
    *links, blocked, ignored = done.out.splitlines()
    assert links and not any("fuse" in link or "lmdb" in link for link in links), links
    assert int(blocked.split()[1], 16) == 0
    ignored = int(ignored.split()[1], 16)
    assert ignored & ~(3 << 31) == 0  # 32 and 33: glibc's own, which it ignores in what it spawns


def running(pack, point, script, *options, prefix=()):
    """foldfs with a shell script that has said "ready", and maybe more; its $0 is the mount."""
    process = subprocess.Popen(
        [*prefix, FOLDFS, "-q", *options, pack, point, "--", "sh", "-c", script, point],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.said = foldfs.wait_for_line(process.stdout, rb"ready\n")
    return process


def test_a_signal_is_passed_to_the_command(small, point):
    # A trap that comes just before `read` waits for its line; one before sleep(1) not for long.
    traps = "".join(f"trap 'echo got {signo:d}' {signo:d}; " for signo in SIGNALS)
    script = traps + "trap 'exit 42' TERM; echo ready; while :; do sleep 0.01; done"
    with running(small[1], point, script) as process:
        for signo in SIGNALS:
            process.send_signal(signo)
            foldfs.wait_for_line(process.stdout, b"got %d\n" % signo)
        process.terminate()
        assert process.wait(PATIENCE) == 42
    assert not is_mounted(point)


def test_an_alarm_that_was_set_before_is_the_commands(small, point):
    """As of `perl -e 'alarm 60; exec @ARGV'`, where timeout(1) is missing."""
    alarm = "import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])"
    run(sys.executable, "-c", alarm, FOLDFS, "-q", small[1], point, "--", "sh", "-c",
        "trap 'exit 42' ALRM; while :; do sleep 0.01; done", status=42)
    assert not is_mounted(point)


def test_a_terminal_that_goes_takes_the_command_along(small, point):
    """Only the leader of its session is told, as foldfs is where ssh(1) or tmux(1) starts it."""
    script = "echo ready; while :; do sleep 0.01; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(FOLDFS, [FOLDFS, "-q", small[1], point, "--", "sh", "-c", script])
    try:
        with open(terminal, "rb", buffering=0) as screen:
            foldfs.wait_for_line(screen, rb"ready")
        assert foldfs.wait_for(pid, PATIENCE / 6) == 128 + signal.SIGHUP
    finally:
        if is_mounted(point):
            foldfs.detach(point)
            os.kill(pid, signal.SIGKILL)
            foldfs.wait_for(pid)


def test_a_signal_that_is_ignored_from_the_start_stays_ignored(small, point):
    """nohup(1) protects the mount, and the command over it."""
    script = "kill -HUP $PPID; kill -HUP $$; exit 3"
    with_command(small[1], point, "sh", "-c", script, status=3,
                 prefix=["sh", "-c", 'trap "" HUP; exec "$@"', "sh"])


def test_a_command_whose_end_nobody_is_told_of(small, point):
    """Some supervisors ignore SIGCHLD, and what they start inherits that."""
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); " \
               "os.execv(sys.argv[1], sys.argv[1:])"
    command = [sys.executable, "-c", ignoring, FOLDFS, "-q", small[1], point, "--", "sh", "-c",
               "exit 3"]
    with subprocess.Popen(command) as process:
        try:
            assert process.wait(PATIENCE / 6) == 3
        finally:
            process.kill()
            if is_mounted(point):
                foldfs.detach(point)

def test_what_a_command_leaves_behind_does_not_keep_the_mount(small, point):
    """A process in the background gets some seconds; then foldfs goes nevertheless."""
    script = 'exec 3< "$0/large"; sleep 600 > /dev/null 2>&1 & echo $!'
    done = with_command(small[1], point, "sh", "-c", script, point)
    assert "still in use by processes that COMMAND left behind" in done.err
    assert not is_mounted(point)
    left = int(done.out)
    os.kill(left, signal.SIGKILL)
    assert foldfs.wait_for(left) == -signal.SIGKILL

# --- as a user ----------------------------------------------------------------------------


@needs_root("fusermount3", "setpriv")
def test_a_user_mounts_and_unmounts(small, own_point, mount, device_for_users):
    source, pack = small
    mounted = mount(pack, at=own_point, uid=SOMEBODY)
    done = run(*as_user(SOMEBODY), "stat", "-c", "%u %g", own_point / "file")
    assert done.out == f"{SOMEBODY} {SOMEBODY}\n"
    run(*as_user(SOMEBODY), "diff", "-r", source, own_point)
    [line] = foldfs.mount_lines(own_point)
    assert {"ro", "nosuid", "nodev"} <= line.options
    assert f"user_id={SOMEBODY}" in line.super_options
    assert foldfs.names(foldfs.children(mounted.daemon)) == ["foldfs-helper"]
    mounted.close()
    assert not is_mounted(own_point)

@needs_root("fusermount3", "setpriv")
def test_a_user_runs_a_command(small, own_point, device_for_users):
    script = 'cat "$0/file"; exit 7'
    done = with_command(small[1], own_point, "sh", "-c", script, own_point, status=7,
                        prefix=as_user(SOMEBODY))
    assert done.out == "content\n"
    assert not is_mounted(own_point)


@needs_root("fusermount3", "setpriv")
def test_a_mount_that_cannot_be_removed_is_not_blamed_on_the_command(
        small, own_point, place, device_for_users):
    """As without /etc/mtab. libfuse mounts by the fusermount3 that it was built for."""
    fake = place / "fusermount3"
    fake.write_text("#!/bin/sh\nexit 1\n")
    fake.chmod(0o755)
    user = [*as_user(SOMEBODY), "env", f"PATH={place}:{os.environ['PATH']}"]
    try:
        done = with_command(small[1], own_point, "true", prefix=user)
        assert "cannot be unmounted; a dead mount stays" in done.err
        assert "left behind" not in done.err
        assert is_mounted(own_point)
    finally:
        foldfs.detach(own_point)


@is_root
def test_a_user_cannot_mount_on_another_s_folder(small, point, device_for_users):
    said = refused(small[1], point, prefix=as_user(SOMEBODY))
    assert os.fspath(point) in said
    assert not is_mounted(point)


@needs_root("setpriv", "unshare")
def test_a_device_that_a_user_may_not_open(small, own_point, place):
    os.mknod(place / "fuse", stat.S_IFCHR | 0o600, os.stat("/dev/fuse").st_rdev)
    hide = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /dev/fuse && exec "$@"',
            place / "fuse"]
    said = refused(small[1], own_point, prefix=[*hide, *as_user(SOMEBODY)])
    assert "/dev/fuse cannot be opened (Permission denied)" in said and "0666" in said
    assert "'foldfs --no-fuse PACK DIR -- COMMAND'" in said


@needs_root("setpriv")
def test_a_user_without_a_name(small, place, device_for_users):
    """As 'docker run --user 1234' has them: without a home, too."""
    own = place / "own"
    own.mkdir()
    os.chown(own, NAMELESS, NAMELESS)
    pack, prefix = own / "x.lmdb", ["env", "-u", "HOME", "-u", "USER", *as_user(NAMELESS)]
    run(*prefix, FOLDPACK, "create", "-q", small[0], pack)
    assert run(*prefix, FOLDPACK, "verify", "-q", pack).err == ""
    said = refused(pack, own / "m", "--mkdir", prefix=prefix)
    assert f"serves users with a name only, and {NAMELESS} has none" in said
    assert "--no-fuse" in said and "(fusermount3: could not determine username)" in said
    for words in [], ["--no-fuse"]:
        done = run(*prefix, FOLDFS, "-q", "--mkdir", *words, pack, own / "m", "--",
                   "cat", own / "m/file")
        assert done.out == "content\n" and done.err == ""


def without_fusermount(uid):
    """A prefix: as a user, where fusermount3 cannot be run."""
    return ["unshare", "--mount", "sh", "-c",
            'mount --bind /dev/null "$0" && exec "$@"',
            os.path.realpath(foldfs.find_program("fusermount3")), *as_user(uid)]


@pytest.fixture
def namespaces():
    """Skips where users may not make namespaces."""
    if run(*as_user(SOMEBODY), "unshare", "-U", "-m", "true", status=None).returncode != 0:
        pytest.skip("users may not make user namespaces here")


def without_capability():
    """A prefix: root as a container has it."""
    return ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"]


@needs_root("fusermount3", "setpriv", "unshare")
@pytest.mark.parametrize("prefix, said", [
    (lambda: without_fusermount(SOMEBODY), "fusermount3 is missing"),
    (lambda: ["setpriv", "--no-new-privs", *as_user(SOMEBODY)],
     "fusermount3 cannot become root here"),
    (without_capability, "--cap-add SYS_ADMIN")], ids=["no program", "no privileges", "root"])
def test_who_may_not_mount_is_told_the_way_out(small, own_point, device_for_users, prefix, said):
    line = refused(small[1], own_point, prefix=prefix())
    assert said in line and "-- COMMAND" in line


@needs_root("setpriv", "unshare")
def test_a_root_that_may_not_mount_runs_a_command(small, point):
    if run(*without_capability(), "unshare", "-U", "-m", "true", status=None).returncode != 0:
        pytest.skip("no user namespaces without CAP_SYS_ADMIN here")
    done = with_command(small[1], point, "cat", point / "file", prefix=without_capability())
    assert done.out == "content\n"
    assert not is_mounted(point)


@needs_root("fusermount3", "setpriv", "unshare")
def test_a_user_without_fusermount_runs_a_command(small, own_point, device_for_users, namespaces):
    """In a namespace of its own: the command sees the files, nobody else sees a mount."""
    script = 'cat "$0/file"; id -u; stat -c %u "$0/file"; echo ready; read line; exit 7'
    with running(small[1], own_point, script, prefix=without_fusermount(SOMEBODY)) as process:
        assert process.said == f"content\n{SOMEBODY}\n{SOMEBODY}\nready\n"
        assert not is_mounted(own_point) and os.listdir(own_point) == []
        process.communicate(b"go\n", timeout=PATIENCE)
    assert process.returncode == 7
    assert os.listdir(own_point) == []


@needs_root("fusermount3", "setpriv", "unshare")
def test_a_private_mount_that_ends_leaves_others_theirs(small, own_point, device_for_users,
                                                        namespaces):
    """The kernel unmounts in all namespaces what is removed in one."""
    first, second = (
        running(small[1], own_point / "new", f"echo ready; read line; {script}", "--mkdir",
                prefix=without_fusermount(SOMEBODY)) for script in ("exit 7", 'cat "$0/file"'))
    with first, second:
        first.communicate(b"go\n", timeout=PATIENCE)
        assert second.communicate(b"go\n", timeout=PATIENCE)[0] == b"content\n"
    assert (first.returncode, second.returncode) == (7, 0)


@needs_root("setpriv", "unshare")
def test_what_is_mounted_meanwhile_is_there_in_a_private_namespace(
        small, place, own_point, device_for_users, namespaces):
    """As autofs(5) does it with homes; nothing comes the other way."""
    shared = place / "shared"
    shared.mkdir()
    os.chown(own_point, NAMELESS, NAMELESS)
    run("mount", "-t", "tmpfs", "none", shared)
    try:
        run("mount", "--make-shared", shared)
        (shared / "home").mkdir()
        with running(small[1], own_point, f"echo ready; read line; ls {shared}/home",
                     prefix=as_user(NAMELESS)) as process:
            assert not is_mounted(own_point)
            run("mount", "-t", "tmpfs", "none", shared / "home")
            (shared / "home" / "late").touch()
            assert process.communicate(b"go\n", timeout=PATIENCE)[0] == b"late\n"
    finally:
        run("umount", "-R", shared)

@needs_root("fusermount3", "setpriv", "unshare")
def test_allow_other_needs_the_administrator(small, own_point, device_for_users):
    with contextlib.suppress(FileNotFoundError), open("/etc/fuse.conf", encoding="utf-8") as conf:
        if any(line.startswith("user_allow_other") for line in conf):
            pytest.skip("/etc/fuse.conf has user_allow_other")
    said = refused("--allow_other", small[1], own_point, prefix=as_user(SOMEBODY))
    assert "user_allow_other" in said and "/etc/fuse.conf" in said
    assert not is_mounted(own_point)


@needs_root("unshare")
def test_root_of_a_user_namespace_mounts(small, own_point, device_for_users, namespaces):
    """As in a rootless container."""
    script = '"$1" -q "$2" "$3" && cat "$3/file" && umount "$3"'
    with foldfs.one_daemon():
        done = run(*as_user(SOMEBODY), "unshare", "--user", "--map-root-user", "--mount", "sh",
                   "-c", script, "sh", FOLDFS, small[1], own_point)
    assert done.out == "content\n"


# --- mount points -------------------------------------------------------------------------


def test_the_same_pack_again_is_fine(small, mount, point, place):
    mounted = mount(small[1])
    os.symlink(small[1], place / "other name.lmdb")
    for pack in (small[1], place / "other name.lmdb"):
        done = run(FOLDFS, pack, f"{point}/")
        assert "already mounted" in done.err
    assert len(foldfs.mount_lines(point)) == 1
    assert (mounted / "file").read_bytes() == b"content\n"


def test_a_pack_that_was_replaced_is_not_the_one_that_is_mounted(small, images, mount, place,
                                                                 point):
    shutil.copy(small[1], place / "pack.lmdb")
    mounted = mount(place / "pack.lmdb")
    shutil.copy(images[1], place / "new.lmdb")
    os.replace(place / "new.lmdb", place / "pack.lmdb")
    said = refused(place / "pack.lmdb", point)
    assert "an older version of this pack" in said and "fusermount3 -u" in said
    assert (mounted / "file").read_bytes() == b"content\n"


def test_another_folder_of_the_pack_is_not_the_one_that_is_mounted(small, mount, point):
    mounted = mount("--subdir=folder", small[1])
    assert mounted.stats()["subdir"] == "folder"
    assert "already mounted" in run(FOLDFS, "--subdir=/folder/", small[1], point).err
    assert "another --subdir of it" in refused(small[1], point)


@pytest.mark.parametrize("first, second, said", [
    (["--pool=16M", "--umask=022"], ["-o", "pool=16M,umask=22"], None),
    ([], ["--log=/dev/null", "-q", "--mkdir"], None),
    ([], ["--pool=16M", "--noexec"], "without '--pool=16777216', '--noexec', and stays so"),
    (["--umask=022"], [], "with '--umask=22', and stays so"),
    (["--select=file"], ["--select=file", "--select=large"], None),
    (["--uid=3", "--verify=off"], ["--uid=4"],
     "without '--uid=4' and with '--verify=off', '--uid=3', and stays so"),
])
def test_options_that_the_mount_has_not_are_said(small, mount, point, first, second, said):
    mount(small[1], *first)
    done = run(FOLDFS, *second, small[1], point, status=None)
    if "--select=large" in second:  # it shows other files
        assert done.returncode == 1 and "busy" in done.err
        return
    assert done.returncode == 0
    assert (said or "stays so") in done.err or not said
    assert said or "stays so" not in done.err
    assert said is None or "unmount it first" in done.err


def test_an_option_with_quotes_is_compared_whole(small, mount, point, place):
    shutil.copy(small[1], place / 'a"b\\')
    mounted = mount(small[1], f"--ca-file={place}/a\"b\\", "--uid=3")
    assert mounted.stats()["options"] == ["uid=3", f'ca-file={place}/a"b\\']
    assert "stays so" not in run(FOLDFS, f"--ca-file={place}/a\"b\\", "--uid=3", small[1],
                                 point).err
    assert "without '--uid=4'" in run(FOLDFS, "--uid=4", small[1], point).err


def test_many_that_mount_at_once_share_one_mount(small, place):
    """As the tasks of a job on a node do."""
    new = place / "new"
    for _ in range(5):
        with foldfs.one_daemon():
            all_at_once = [subprocess.Popen([FOLDFS, "-q", "--mkdir", small[1], new])
                           for _ in range(8)]
            assert [process.wait(PATIENCE) for process in all_at_once] == [0] * 8
            assert len(foldfs.mount_lines(new)) == 1
            assert (new / "file").read_bytes() == b"content\n"
            foldfs.unmount(new)
        assert not new.exists()


def test_a_command_uses_the_mount_that_is_there(small, mount, point):
    mounted = mount(small[1])
    done = with_command(small[1], point, "sh", "-c", 'cat "$0/file"; exit 7', point, status=7)
    assert done.out == "content\n" and "already mounted" in done.err
    assert len(foldfs.mount_lines(point)) == 1
    assert (mounted / "file").read_bytes() == b"content\n"


def test_two_commands_share_one_mount_until_both_have_ended(small, point):
    """As two jobs on a node do, whichever ends first."""
    with running(small[1], point, "echo ready; read line; exit 3") as first, \
            running(small[1], point, f"echo ready; read line; cat {point}/file") as second:
        first.stdin.write(b"go\n")
        first.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(1)
        assert second.communicate(b"go\n", timeout=PATIENCE)[0] == b"content\n"
        assert first.wait(PATIENCE) == 3
    assert second.returncode == 0
    assert not is_mounted(point)


def test_a_mount_whose_folder_was_renamed_is_said_to_stay(small, mount, place):
    (place / "old/point").mkdir(parents=True)
    mounted = mount(small[1], "-f", at=place / "old/point")
    (place / "old").rename(place / "new")
    mounted.process.send_signal(signal.SIGINT)
    foldfs.wait_for_line(mounted.process.stderr, rb"cannot be unmounted; a dead mount stays")
    run("umount", place / "new/point")
    assert mounted.wait() == 0


def lock_names():
    with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
        return {line.split(" @", 1)[1].rstrip("@\n") for line in table if " @foldfs on " in line}


@pytest.mark.alone
@needs_root("setpriv")
@pytest.mark.parametrize("full", [False, True])
def test_another_user_cannot_hold_up_a_mount(small, mount, point, full):
    """By binding the name of the lock, which is no secret, even if nobody more can connect."""
    name = None
    for _ in range(100):
        process = subprocess.Popen([FOLDFS, "-q", small[1], point, "--", "true"])
        while not name and process.poll() is None:
            name = next(iter(lock_names()), None)
        assert process.wait(PATIENCE) == 0
        if name:
            break
    assert name, "the lock has no name"
    hold = """import socket, sys
kinds = socket.SOCK_SEQPACKET, socket.SOCK_STREAM, socket.SOCK_DGRAM
sockets = [socket.socket(socket.AF_UNIX, kind) for kind in kinds]
for held in sockets:
    held.bind(("\\0" + sys.argv[1]).ljust(108, "\\0"))
if sys.argv[2] == "True":
    sockets[0].listen(0)
    client = socket.socket(socket.AF_UNIX, kinds[0])
    client.connect(sockets[0].getsockname())
else:
    sockets[0].listen()
print("ready", flush=True)
input()
"""
    with subprocess.Popen([*as_user(SOMEBODY), sys.executable, "-c", hold, name, str(full)],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        foldfs.wait_for_line(holder.stdout, rb"ready\n")
        began = time.monotonic()
        mount(small[1])
        assert time.monotonic() - began < 5
        holder.communicate(b"\n")


def test_another_pack_is_busy(small, images, mount, point):
    mount(small[1])
    said = refused(images[1], point)
    assert "busy" in said and os.fspath(small[1]) in said
    assert len(foldfs.mount_lines(point)) == 1


@needs_root("setpriv")
def test_another_user_s_mount_is_busy(small, own_point, device_for_users, mount):
    """Of the same pack, even: it would not be readable."""
    mounted = mount(small[1], "--allow_other", at=own_point)
    assert "busy" in refused(small[1], mounted.path, prefix=as_user(SOMEBODY))


@needs_root("setpriv")
def test_a_user_whose_number_begins_like_another_s(small, point, device_for_users):
    """Mounted by root for the other, since fusermount3 may not let users let others in."""
    fd = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fd},rootmode=40000,user_id={10 * SOMEBODY},group_id=0,allow_other"
    assert foldfs.libc.mount(os.fsencode(small[1]), os.fsencode(point), b"fuse.foldfs", 7,
                             options.encode()) == 0
    with subprocess.Popen([FOLDFS, "-f", "-q", small[1], f"/dev/fd/{fd}"],
                          pass_fds=[fd]) as process:
        os.close(fd)
        try:
            assert "busy" in refused(small[1], point, prefix=as_user(SOMEBODY))
        finally:
            foldfs.detach(point)
        assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("name, said", [
    ("mnt", "not empty"), ("missing", "no such folder; --mkdir creates it"),
    ("mnt/.hidden", "not a folder"), ("mnt/.hidden/below", "Not a directory")])
def test_what_is_no_empty_folder_is_refused(small, place, point, name, said):
    (point / ".hidden").touch()
    assert refused(small[1], place / name).startswith(f"foldfs: {place / name}: {said}")
    assert not (place / "missing").exists()


def test_mount_points_with_odd_names(small, place, mount):
    for name in (b"with space", b"new\nline", b"back\\slash", b"comma,equals=", b"\xff\xfe", b"-x"):
        point = os.path.join(os.fsencode(place), name)
        os.mkdir(point)
        with foldfs.mounted(small[1], os.fsdecode(point)):
            with open(point + b"/file", "rb") as file:
                assert file.read() == b"content\n"
            assert "already mounted" in run(FOLDFS, small[1], os.fsdecode(point)).err


def test_a_symbolic_link_as_mount_point(small, point, place):
    os.symlink(point, place / "link")
    with foldfs.one_daemon():
        run(FOLDFS, small[1], place / "link")
        assert (point / "file").read_bytes() == b"content\n"
        assert "already mounted" in run(FOLDFS, small[1], place / "link").err
        run("fusermount3", "-u", point)


@is_root
def test_root_mounts_on_what_it_has_looked_at(small, point, place):
    """Whoever owns the folder above exchanges the mount point for a link to a folder of the system,
    again and again."""
    (place / "etc").mkdir()
    (place / "etc/passwd").touch()
    (place / "link").symlink_to(place / "etc")
    over = threading.Event()

    def exchange():
        at_cwd, exchange = -100, 2
        while not over.is_set():
            foldfs.libc.renameat2(at_cwd, os.fsencode(point), at_cwd, os.fsencode(place / "link"),
                                  exchange)

    attacker = threading.Thread(target=exchange)
    attacker.start()
    mounted = 0
    try:
        for _ in range(40):
            done = run(FOLDFS, "--grace=0", small[1], point, "--", "true", status=None)
            mounted += done.returncode == 0
            assert not foldfs.mount_lines(place / "etc")
            for line in foldfs.mount_lines(place):
                foldfs.detach(line.path)
    finally:
        over.set()
        attacker.join()
    print(f"{mounted} of 40 mounted")


@is_root
def test_the_root_of_an_empty_tmpfs_is_a_fair_place(small, point, mount):
    run("mount", "-t", "tmpfs", "none", point)
    mount(small[1]).close()
    assert len(foldfs.mount_lines(point)) == 1
    run("umount", point)


@pytest.mark.parametrize("looked_at", [False, True])
def test_the_remains_of_a_killed_daemon_are_replaced(small, mount, point, looked_at):
    """stat(2) of what was looked at before does not tell: the kernel remembers it."""
    mounted = mount(small[1])
    if looked_at:
        os.stat(point)
    os.kill(mounted.daemon, signal.SIGKILL)
    assert mounted.wait() == -signal.SIGKILL
    with pytest.raises(OSError) as raised:
        os.listdir(point)
    assert raised.value.errno == errno.ENOTCONN
    assert "the daemon that served it had died" in mount(small[1]).said
    assert len(foldfs.mount_lines(point)) == 1
    assert (point / "file").read_bytes() == b"content\n"


@needs_root("fusermount3", "setpriv")
def test_the_remains_are_replaced_where_the_caller_ignores_sigchld(small, own_point, mount,
                                                                   device_for_users):
    mounted = mount(small[1], at=own_point, uid=SOMEBODY)
    os.kill(mounted.daemon, signal.SIGKILL)
    mounted.wait()
    done = run(*as_user(SOMEBODY), sys.executable, "-c",
               "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
               "os.execv(sys.argv[1], sys.argv[1:])", FOLDFS, small[1], mounted, "--", "true")
    assert "the daemon that served it had died; its mount was removed" in done.err


@needs_root("setpriv")
def test_the_remains_of_another_user_s_daemon_are_not_touched(small, own_point, mount,
                                                              device_for_users):
    mounted = mount(small[1], "--allow_other", at=own_point)
    os.kill(mounted.daemon, signal.SIGKILL)
    mounted.wait()
    said = refused(small[1], mounted.path, prefix=as_user(SOMEBODY))
    assert "daemon has died" in said and f"fusermount3 -u {mounted.path}" in said


@pytest.fixture
def connections(place):
    """Where the kernel has a folder for each connection of FUSE."""
    (place / "connections").mkdir()
    run("mount", "-t", "fusectl", "none", place / "connections")
    yield place / "connections"
    run("umount", place / "connections")


@needs_root("prlimit")
@pytest.mark.parametrize("files", [
    1024, pytest.param(3, marks=pytest.mark.plain)])  # LeakSanitizer opens files at the end
def test_a_connection_that_is_aborted_leaves_no_mount(small, mount, point, connections, files):
    """Even if the table of mounts cannot be opened."""
    mounted = mount(small[1], "-f")
    run("prlimit", f"--pid={mounted.daemon}", f"--nofile={files}:{files}")
    connection = os.minor(os.stat(point).st_dev)
    (connections / str(connection) / "abort").write_text("1")
    assert mounted.wait() == 1
    assert not is_mounted(point)
    assert "the connection to the kernel was aborted" in mounted.log()


@is_root
def test_a_daemon_that_ends_late_leaves_the_next_mount_alone(small, mount, point):
    """The kernel gives the next mount the device number of the one before. umount(8) would ask the
    daemon, which is stopped."""
    before = mount(small[1], "-f")
    os.kill(before.daemon, signal.SIGSTOP)
    assert foldfs.libc.umount2(os.fsencode(point), 0) == 0
    after = mount(small[1], "-f")
    os.kill(before.daemon, signal.SIGCONT)
    assert before.wait() == 0
    assert before.log() == ""
    assert (after / "file").read_bytes() == b"content\n"
    assert is_mounted(point)


@is_root
@pytest.mark.parametrize("name", [b"none", b""])
def test_what_was_mounted_on_top_is_left_alone(small, mount, point, name):
    mounted = mount(small[1], "-f")
    assert foldfs.libc.mount(name, os.fsencode(point), b"tmpfs", 0, None) == 0
    try:
        os.kill(mounted.daemon, signal.SIGINT)
        foldfs.wait_for_line(mounted.process.stderr, rb"mounted on top of it: unmount that first\n")
    finally:
        run("umount", point)
    assert (point / "file").read_bytes() == b"content\n"
    os.kill(mounted.daemon, signal.SIGINT)
    assert mounted.wait() == 0
    assert not is_mounted(point)


def test_a_reader_of_a_killed_daemon_gets_an_error(small, mount):
    mounted = mount(small[1])
    with left_open(mounted / "large") as fd:
        os.kill(mounted.daemon, signal.SIGKILL)
        mounted.wait()
        with pytest.raises(OSError) as raised:
            os.read(fd, 100)
    assert raised.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)


def test_a_daemon_that_dies_while_it_starts_is_told_of(small, place):
    """The parent does not wait for ever, nor believe in a mount that is not there."""
    if b"sanitizer" in FOLDFS.read_bytes():
        pytest.skip("a sanitizer needs more addresses than this test leaves")
    done = run("prlimit", "--as=60000000", FOLDFS, "--pool=1G", small[1], place / "mnt",
               status=None)
    assert done.returncode != 0 and done.err.startswith("foldfs: ")


@pytest.mark.parametrize("lacks", [lambda: foldfs.lacks("no /dev/fuse"), server.module_lines])
def test_tests_without_a_mount_or_a_server_fail_where_these_are_required(monkeypatch, lacks):
    """As in .ci/run, which else would be green without having tried anything."""
    assert "FOLDFS_TEST_MOUNTS=required" in (foldfs.ROOT / ".ci/run").read_text()
    monkeypatch.setattr(server, "PLACES", [])
    monkeypatch.delenv("FOLDFS_TEST_MOUNTS", raising=False)
    with pytest.raises(pytest.skip.Exception):
        lacks()
    monkeypatch.setenv("FOLDFS_TEST_MOUNTS", "required")
    with pytest.raises(pytest.fail.Exception):
        lacks()
