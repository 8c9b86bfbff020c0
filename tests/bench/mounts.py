"""Read-only mounts that are gone when their `with` block ends, however it ends.

with Mount(["foldfs"], "x.lmdb") as mount: ... mount.path ... mount.pid"""

import atexit
import ctypes
import os
import select
import subprocess
import tempfile
import time

_mounted = set()
_libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY = 1


class MountError(Exception):
    """Why something could not be mounted."""


def _unmount_all():
    for mount in list(_mounted):
        mount.unmount()


atexit.register(_unmount_all)


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


class Mounted:
    """A directory of its own, with something mounted on it by start()."""

    UNMOUNT = ["umount"]

    def __init__(self):
        self.path = self.pid = None
        self.said = ""  # at start
        self.ready_s = None  # seconds from the start to the first listing of the root

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="foldfs-bench-")
        _mounted.add(self)
        try:
            began = time.monotonic()
            self.start()
            os.listdir(self.path)
            self.ready_s = time.monotonic() - began
        except BaseException:
            self.unmount()
            raise
        return self

    def __exit__(self, *_):
        self.unmount()

    def unmount(self):
        """Undoes the mount and waits for the daemon's end, so that its memory is free."""
        if os.path.ismount(self.path):
            if subprocess.run([*self.UNMOUNT, self.path], stderr=subprocess.DEVNULL).returncode:
                subprocess.run(["umount", "-l", self.path], check=True)
        self._wait_for_daemon()
        os.rmdir(self.path)
        _mounted.discard(self)

    def _wait_for_daemon(self, seconds=20):
        try:
            fd = os.pidfd_open(self.pid)
        except (TypeError, ProcessLookupError):
            return
        select.select([fd], [], [], seconds)
        os.close(fd)


class Mount(Mounted):
    """`command` and `image` by FUSE; the daemon runs in `group`, if any."""

    UNMOUNT = ["fusermount3", "-u"]

    def __init__(self, command, image, group=None):
        super().__init__()
        self.command, self.image, self.enter = command, image, group and group.enter

    def start(self):
        """A file takes the messages, not a pipe: a daemon may keep its end open."""
        with tempfile.TemporaryFile("w+") as messages:
            status = subprocess.run([*self.command, self.image, self.path],
                                    stdin=subprocess.DEVNULL, stderr=messages,
                                    preexec_fn=self.enter).returncode
            messages.seek(0)
            self.said = messages.read().strip().replace(self.path, "MOUNTPOINT")
        if status:
            raise MountError(f"{os.path.basename(self.command[0])}: exit status {status}: "
                             f"{first_words(self.said)}")
        self.pid = daemon_of(self.path)

    def memory(self, field="VmRSS"):
        """The daemon's resident memory, bytes; VmHWM: the most it ever was."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith(f"{field}:"):
                    return int(line.split()[1]) * 1024
        raise MountError(f"{self.command[0]}: its daemon is gone")

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as stat:
            times = stat.read().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


class KernelMount(Mounted):
    """An image that the kernel reads: from the file itself where it can (erofs since 6.12),
    else through a loop device."""

    def __init__(self, kind, image, group=None):
        super().__init__()
        self.kind, self.image, self.enter = kind, image, group and group.enter

    def start(self):
        if self._mount_file():
            self.said = "mounted from the file"
            return
        done = subprocess.run(["mount", "-t", self.kind, "-o", "ro,loop", self.image, self.path],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                              preexec_fn=self.enter)
        if done.returncode:
            raise MountError(f"mount -t {self.kind}: {first_words(done.stderr)}")
        self.said = "mounted through a loop device"

    def _mount_file(self):
        """mount(8) would put a loop device between."""
        return self.kind == "erofs" and _libc.mount(
            os.fsencode(self.image), os.fsencode(self.path), b"erofs", MS_RDONLY, None) == 0


class InodeFiles(Mounted):
    """An empty filesystem in a new file, for so many files of up to 60 bytes: those lie in their
    inodes, where others would take a block of 4 KiB each."""

    def __init__(self, image, files):
        super().__init__()
        self.image, self.files = image, files

    def start(self):
        inodes = self.files * 21 // 20 + 1000
        with open(self.image, "wb") as image:
            image.truncate(inodes * 512 + (64 << 20))
        for command in (["mkfs.ext4", "-q", "-F", "-I", "256", "-N", str(inodes), "-m", "0",
                         "-O", "inline_data,^has_journal", self.image],
                        ["mount", "-o", "loop,noatime", self.image, self.path]):
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True)
            if done.returncode:
                raise MountError(f"{command[0]}: {first_words(done.stderr)}")
        self.said = "mounted through a loop device"


class Net(Mounted):
    """`source` through a filesystem of the tests that is as slow as a network's."""

    UNMOUNT = ["fusermount3", "-u"]

    def __init__(self, program, source, delay_us, cap_mb):
        super().__init__()
        self.command = [program, str(delay_us), str(cap_mb), source]
        self.process = None

    def start(self):
        self.process = subprocess.Popen([*self.command, self.path], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        if self.process.stdout.readline().strip() != "ready":
            raise MountError(f"netfs: {first_words(self.process.communicate()[1])}")

    def unmount(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.communicate()
            self.pid = None
        super().unmount()
