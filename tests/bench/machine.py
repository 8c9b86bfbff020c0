"""What the numbers were measured on, and the state memory is in before measuring."""

import contextlib
import datetime
import mmap
import os
import platform
import subprocess

DROP_CACHES = "/proc/sys/vm/drop_caches"


def output(*command):
    """What a command prints, or "" where it fails or is missing."""
    try:
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def first_line(path, default="?"):
    try:
        with open(path) as file:
            return file.readline().strip()
    except OSError:
        return default


def fields(path):
    """A file of "name: value" lines, the first of each name."""
    found = {}
    with open(path) as file:
        for line in file:
            name, _, value = line.partition(":")
            found.setdefault(name.strip(), value.strip())
    return found


def available():
    """Bytes of memory that can be had without harm."""
    return int(fields("/proc/meminfo")["MemAvailable"].split()[0]) * 1024


def device_of(path):
    """The block device below `path`, in words."""
    source, kind = (output("findmnt", "-no", "SOURCE,FSTYPE", "-T", path).split() + ["?", "?"])[:2]
    name = os.path.basename(os.path.realpath(source))
    queue = f"/sys/class/block/{name}/queue"
    if not os.path.isdir(queue):
        queue = f"/sys/class/block/{name}/../queue"
    spins = {"0": "not rotational", "1": "rotational"}.get(first_line(f"{queue}/rotational"), "?")
    return f"{source}, {kind}, {spins}, readahead {first_line(f'{queue}/read_ahead_kb')} KiB"


def package(name):
    return output("dpkg-query", "-W", "-f", "${Version}", name) or "?"


def describe(directory, foldfs):
    """(name, value) pairs for the head of a report."""
    cpu = fields("/proc/cpuinfo")
    memory = int(fields("/proc/meminfo")["MemTotal"].split()[0]) / 2**20
    packages = ("squashfuse", "squashfs-tools", "python3-lmdb", "python3-torch",
                "python3-torchvision", "s3fs", "rclone")
    return [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("machine", f"{os.cpu_count()} x {cpu.get('model name', platform.machine())}, "
                    f"{memory:.0f} GiB"),
        ("kernel", platform.release()),
        ("storage", device_of(directory)),
        ("foldfs", (output(foldfs, "--version").splitlines() or ["?"])[0]),
        ("commit", output("git", "-C", os.path.dirname(foldfs), "describe", "--always", "--dirty")),
        ("peers", ", ".join(f"{name} {package(name)}" for name in packages)),
        ("load at start", f"{os.getloadavg()[0]:.2f}"),
        ("cold", "fresh mounts; of what is read, nothing in memory" +
         ("" if os.access(DROP_CACHES, os.W_OK) else " but names")),
    ]


def touch_memory(wanted=8 << 30):
    """Uses memory once and gives it back: in a virtual machine the first use of a page costs a
    fault of the host's, which would be charged to whatever is measured first."""
    size = min(wanted, available() * 6 // 10) // mmap.PAGESIZE * mmap.PAGESIZE
    pid = os.fork()
    if pid == 0:
        memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        memory.madvise(mmap.MADV_HUGEPAGE)
        memory[::mmap.PAGESIZE] = b"x" * (size // mmap.PAGESIZE)
        os._exit(0)
    os.waitpid(pid, 0)
    return size


def into_memory(path):
    """Reads a file into the page cache."""
    with open(path, "rb", buffering=0) as file:
        buffer = bytearray(4 << 20)
        while file.readinto(buffer):
            pass


def make_cold(files):
    """Nothing of them in memory, no name, and nothing of the disk's own blocks. Programs stay."""
    os.sync()
    for path in [*files, output("findmnt", "-no", "SOURCE", "-T", files[0])]:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    if os.access(DROP_CACHES, os.W_OK):
        with open(DROP_CACHES, "w") as drop:
            drop.write("2")
