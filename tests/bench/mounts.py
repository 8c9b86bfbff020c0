"""A read-only FUSE mount that is gone when its `with` block ends, however it ends."""

import atexit
import os
import select
import subprocess
import tempfile
import time

_mounted = set()


def _unmount_all():
    for mount in list(_mounted):
        mount.unmount()


atexit.register(_unmount_all)


def daemon_of(mountpoint):
    """The process id of the daemon that has `mountpoint` among its arguments."""
    wanted = os.fsencode(mountpoint)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as cmdline:
                if wanted in cmdline.read().split(b"\0") and int(pid) != os.getpid():
                    return int(pid)
        except OSError:
            continue
    return None


class Mount:
    """`command` and `image`, mounted on a directory of its own.

    with Mount(["foldfs"], "x.lmdb") as mount: ... mount.path ... mount.pid"""

    def __init__(self, command, image):
        self.command, self.image = command, image
        self.path = self.pid = None
        self.said = ""  # what the command printed at start
        self.ready_s = None  # seconds from the command to the first listing of the root

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="foldfs-bench-")
        _mounted.add(self)
        try:
            self._start()
        except BaseException:
            self.unmount()
            raise
        return self

    def _start(self):
        """A file takes the messages, not a pipe: a daemon may keep its end open."""
        with tempfile.TemporaryFile("w+") as messages:
            began = time.monotonic()
            status = subprocess.run([*self.command, self.image, self.path],
                                    stdin=subprocess.DEVNULL, stderr=messages).returncode
            os.listdir(self.path)
            self.ready_s = time.monotonic() - began
            messages.seek(0)
            self.said = messages.read().strip()
        if status:
            raise SystemExit(f"{self.command[0]}: exit status {status}: {self.said}")
        self.pid = daemon_of(self.path)

    def __exit__(self, *_):
        self.unmount()

    def unmount(self):
        """Undoes the mount and waits for the daemon's end, so that its memory is free."""
        if os.path.ismount(self.path):
            if subprocess.run(["fusermount3", "-u", self.path],
                              stderr=subprocess.DEVNULL).returncode:
                subprocess.run(["fusermount3", "-uz", self.path], check=True)
        self._wait_for_daemon()
        os.rmdir(self.path)
        _mounted.discard(self)

    def _wait_for_daemon(self, seconds=10):
        try:
            fd = os.pidfd_open(self.pid)
        except (TypeError, ProcessLookupError):
            return
        select.select([fd], [], [], seconds)
        os.close(fd)

    def memory(self):
        """The daemon's resident memory, bytes."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
        raise SystemExit(f"{self.command[0]}: its daemon is gone")
