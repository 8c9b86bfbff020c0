"""Read-only mounts, which are gone when their `with` block ends, however it ends.

with mount(["foldfs"], "x.lmdb") as path: ..."""

import contextlib
import os
import select
import subprocess
import tempfile


class MountError(Exception):
    """Why something could not be mounted."""


def first_words(text):
    """The first line of a message, fit for a table."""
    return (text.strip().splitlines() or ["no message"])[0].replace("|", "/")


def daemon_of(mountpoint):
    """The process id of the daemon that has `mountpoint` among its arguments. foldfs has a helper,
    too."""
    wanted = os.fsencode(mountpoint)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as cmdline, \
                    open(f"/proc/{pid}/comm", encoding="utf-8") as name:
                if wanted in cmdline.read().split(b"\0") and int(pid) != os.getpid() and \
                        name.read() != "foldfs-helper\n":
                    return int(pid)
        except OSError:
            continue
    return None


def wait_for(pid, seconds=20):
    """For the end of a process, if there is one."""
    try:
        fd = os.pidfd_open(pid)
    except (TypeError, ProcessLookupError):
        return
    select.select([fd], [], [], seconds)
    os.close(fd)


@contextlib.contextmanager
def point():
    """A folder of its own. What is mounted there ends with the block, and its daemon, so that the
    daemon's memory is free."""
    path = tempfile.mkdtemp(prefix="foldfs-bench-")
    try:
        yield path
    finally:
        daemon = daemon_of(path)
        if os.path.ismount(path):
            if subprocess.run(["fusermount3", "-u", path], stderr=subprocess.DEVNULL).returncode:
                subprocess.run(["umount", "-l", path], check=True)
        wait_for(daemon)
        os.rmdir(path)


@contextlib.contextmanager
def mount(command, image, group=None):
    """`image` by FUSE; the daemon runs in `group`, if any. A file takes the messages, not a pipe: a
    daemon may keep its end open."""
    with point() as path:
        with tempfile.TemporaryFile("w+") as messages:
            status = subprocess.run([*command, image, path], stdin=subprocess.DEVNULL,
                                    stderr=messages, preexec_fn=group and group.enter).returncode
            messages.seek(0)
            if status:
                raise MountError(f"{os.path.basename(command[0])}: exit status {status}: "
                                 f"{first_words(messages.read())}")
        os.listdir(path)
        yield path


@contextlib.contextmanager
def net(program, source, delay_us, cap_mb):
    """`source` through a filesystem of the tests that is as slow as a network's."""
    with point() as path:
        process = subprocess.Popen([program, str(delay_us), str(cap_mb), source, path],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        try:
            if process.stdout.readline().strip() != "ready":
                raise MountError(f"netfs: {first_words(process.communicate()[1])}")
            yield path
        finally:
            process.terminate()
            try:
                process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
