"""Commands that run as if the disk that they read were another one:

  nvme    the disk as it is
  sata    12,000 requests/s, 500 MB/s
  gp3      3,000 requests/s, 125 MB/s
  hdd        120 requests/s, 180 MB/s

Control groups do it, v1 or v2, which takes root or a delegated group. They limit reads that miss
the page cache, by whichever process sends them: a daemon must be started in the group, too. They
count requests before neighbours become one: the 32 blocks of inodes that ext4 reads at once are
32, where a disk would get one. The memory limit counts the page cache, of pages that nobody
outside has read before.

    with Group(profile="hdd", memory=2 << 30, path=pack) as group:
        subprocess.Popen(["daemon"], preexec_fn=group.enter)
        group.device_bytes(), group.cpu_seconds()

Where the system cannot do it, Unavailable says what is missing. Groups are made below the one that
this process is in, so that its own limits hold as well; processes that are still in one at its end
go back there. Those of runs that were killed are removed by the next."""

import contextlib
import dataclasses
import itertools
import os
import re
import signal
import time

PREFIX = "foldfs-bench-"
KEPT = os.environ.get("FOLDFS_BENCH_DIR", "/var/tmp/foldfs-bench")
UNLIMITED = 10**15  # bytes/s; a device without any limit is not counted by the v1 controller

_numbers = itertools.count()


class Unavailable(RuntimeError):
    """What this system lacks for a profile: a reason to skip, in words."""


@dataclasses.dataclass(frozen=True)
class Limit:
    iops: int
    bytes_per_s: int


PROFILES = {
    "nvme": None,
    "sata": Limit(12000, 500_000_000),
    "gp3": Limit(3000, 125_000_000),
    "hdd": Limit(120, 180_000_000),
}


# --- the device ----------------------------------------------------------------------------------

def _read(path):
    with open(path) as file:
        return file.read()


def _write(path, text):
    with open(path, "w") as file:
        file.write(text)


def _mounts():
    """(device "M:m", root, mount point, type, source, options) of each mount seen here."""
    for line in _read("/proc/self/mountinfo").splitlines():
        here, _, there = line.partition(" - ")
        _, _, device, root, point = (re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), word)
                                     for word in here.split()[:5])
        kind, source, options = there.split(" ", 2)
        yield device, root, point, kind, source, options.split(",")


def _number(device):
    return f"{os.major(device)}:{os.minor(device)}"


def disk_of(path):
    """The number, "M:m", of the whole disk below `path`."""
    number = _number(os.stat(path).st_dev)
    if number.startswith("0:"):  # of a filesystem that is not the device itself, like btrfs
        sources = (mount[4] for mount in _mounts() if mount[0] == number)
        source = next(sources, "none")
        if not source.startswith("/dev/"):
            raise Unavailable(f"{path} is not on a disk of this machine ({source})")
        number = _number(os.stat(source).st_rdev)
    block = os.path.realpath(f"/sys/dev/block/{number}")
    if not os.path.isdir(block):
        raise Unavailable(f"{path}: its device {number} is not in /sys/dev/block")
    if os.path.exists(f"{block}/partition"):
        block = os.path.dirname(block)
    return _read(f"{block}/dev").strip()


# --- hierarchies ---------------------------------------------------------------------------------

def _own_paths():
    """Where this process is: {controller, or "" for v2: path in its hierarchy}."""
    paths = {}
    for line in _read("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        paths.update({controller: path for controller in controllers.split(",")})
    return paths


def _directory(root, point, path):
    """The folder of a group; a container may see a part of the hierarchy only."""
    inside = os.path.relpath(path, root) if path.startswith(root) else "."
    return os.path.normpath(os.path.join(point, inside))


class Version1:
    """A controller that has a hierarchy of its own."""

    def __init__(self, controller):
        self.point = self.home = None
        for _, root, point, kind, _, options in _mounts():
            if kind == "cgroup" and controller in options and not self.point:
                self.point = point
                self.home = _directory(root, point, _own_paths().get(controller, "/"))

    def parent(self, _):
        return self.home


class Version2:
    """The hierarchy that all other controllers share. A group with processes has no limited
    groups in it, unless it is the root; then those go beside it, or further up."""

    def __init__(self):
        self.point = self.home = None
        for _, root, point, kind, _, _ in _mounts():
            if kind == "cgroup2" and not self.point:
                self.point = point
                self.home = _directory(root, point, _own_paths().get("", "/"))

    def has(self, controller):
        return self.point is not None and \
            controller in _read(f"{self.point}/cgroup.controllers").split()

    def parent(self, controllers):
        wanted = " ".join(f"+{controller}" for controller in controllers)
        directory = self.home
        while True:
            with contextlib.suppress(OSError):
                _write(f"{directory}/cgroup.subtree_control", wanted)
                return directory
            if directory == self.point:
                raise Unavailable(f"no group above {self.home} lets its groups be limited "
                                  f"({', '.join(controllers)}): run as root, or in "
                                  "'systemd-run --user --scope -p Delegate=yes'")
            directory = os.path.dirname(directory)


def _remove(directory, home, seconds=5):
    """Removes a group. Who is still in it goes home; who is just ending is waited for."""
    until = time.monotonic() + seconds
    while os.path.isdir(directory):
        with contextlib.suppress(OSError):
            for pid in _read(f"{directory}/cgroup.procs").split():
                with contextlib.suppress(OSError):
                    _write(f"{home}/cgroup.procs", pid)
        try:
            os.rmdir(directory)
        except FileNotFoundError:
            return
        except OSError as error:
            if time.monotonic() > until:
                raise Unavailable(f"{directory}: cannot be removed: {error.strerror}") from error
            time.sleep(0.01)


def _remove_stale(hierarchy):
    """Groups of runs that are gone without having cleaned up."""
    for folder, folders, _ in os.walk(hierarchy.point):
        for name in folders:
            match = re.fullmatch(rf"{PREFIX}(\d+)-\d+", name)
            if match and not os.path.isdir(f"/proc/{match[1]}"):
                with contextlib.suppress(Unavailable):
                    _remove(f"{folder}/{name}", hierarchy.home, seconds=1)


# --- groups --------------------------------------------------------------------------------------

class Group:
    """A place for processes with a slower disk, or less memory, for the time of a `with` block.
    `profile` is a name of PROFILES, or a Limit; `path` says which disk it is about."""

    def __init__(self, profile="nvme", memory=None, path=KEPT):
        self.limit = profile if isinstance(profile, Limit) else PROFILES[profile]
        self.path, self.memory = path, memory
        self.disk = None
        self.directories = {}  # of "io", "memory" and "cpu", what there is of them
        self.homes = {}  # directory: the group where its processes came from

    def __enter__(self):
        try:
            self._make()
        except BaseException as error:
            self._close()
            if isinstance(error, OSError):
                raise Unavailable(f"control group {error.filename}: {error.strerror}") from error
            raise
        return self

    def __exit__(self, *_):
        self._close()

    def _make(self):
        self.disk = disk_of(self.path)
        name = f"{PREFIX}{os.getpid()}-{next(_numbers)}"
        shared, on_shared = Version2(), {}
        for role, v1, v2 in (("io", "blkio", "io"), ("memory", "memory", "memory"),
                             ("cpu", "cpuacct", None)):
            if role == "memory" and self.memory is None:
                continue
            own = Version1(v1)
            if own.point:
                self._make_one(own, name, [], [role])
            elif role == "cpu" and shared.point:
                on_shared[role] = None  # each v2 group is accounted, without a controller
            elif shared.has(v2):
                on_shared[role] = v2
            elif role != "cpu":
                raise Unavailable(f"no {role} limits: the control group controller '{v1}' (v1) or "
                                  f"'{v2}' (v2) is not there")
        if on_shared:
            self._make_one(shared, name, list(filter(None, on_shared.values())), on_shared)
        self._set_limits()

    def _make_one(self, hierarchy, name, controllers, roles):
        _remove_stale(hierarchy)
        directory = os.path.join(hierarchy.parent(controllers), name)
        if directory not in self.homes:  # cpu and cpuacct may be one hierarchy
            os.mkdir(directory)
            self.homes[directory] = hierarchy.home
        self.directories.update({role: directory for role in roles})

    def _set(self, role, name, text):
        _write(os.path.join(self.directories[role], name), text)

    def _has(self, role, name):
        return os.path.exists(os.path.join(self.directories[role], name))

    def _set_limits(self):
        limit = self.limit
        if self._has("io", "io.max"):
            if limit:
                self._set("io", "io.max",
                          f"{self.disk} rbps={limit.bytes_per_s} riops={limit.iops}")
        elif self._has("io", "blkio.throttle.read_bps_device"):
            self._set("io", "blkio.throttle.read_bps_device",
                      f"{self.disk} {limit.bytes_per_s if limit else UNLIMITED}")
            if limit:
                self._set("io", "blkio.throttle.read_iops_device", f"{self.disk} {limit.iops}")
        else:
            raise Unavailable("no device limits: the kernel was built without "
                              "CONFIG_BLK_DEV_THROTTLING")
        if self.memory is not None:
            v2 = self._has("memory", "memory.max")
            self._set("memory", "memory.max" if v2 else "memory.limit_in_bytes",
                      str(self.memory))

    def _close(self):
        for directory, home in self.homes.items():
            _remove(directory, home)

    def enter(self):
        """Moves the calling process into the group: for preexec_fn."""
        for directory in self.homes:
            _write(f"{directory}/cgroup.procs", "0")

    def device_bytes(self):
        """Bytes that the group's processes have read from the disk."""
        name, key = ("io.stat", r" .*?\brbytes=") if self._has("io", "io.stat") else \
            ("blkio.throttle.io_service_bytes", " Read ")
        match = re.search(rf"^{self.disk}{key}(\d+)", _read(f"{self.directories['io']}/{name}"),
                          re.MULTILINE)
        return int(match[1]) if match else 0

    def memory_now(self):
        """Bytes that the group's processes have now, the page cache that they filled included: of a
        group with a limit."""
        return self._memory("memory.usage_in_bytes", "memory.current")

    def memory_peak(self):
        """The most that ever was."""
        return self._memory("memory.max_usage_in_bytes", "memory.peak")

    def _memory(self, v1, v2):
        name = v1 if self._has("memory", v1) else v2
        return int(_read(f"{self.directories['memory']}/{name}"))

    def kill(self):
        """Ends all that is still in the group."""
        for directory in self.homes:
            with contextlib.suppress(OSError):
                for pid in _read(f"{directory}/cgroup.procs").split():
                    os.kill(int(pid), signal.SIGKILL)

    def cpu_seconds(self):
        """Processor time of the group's processes, those that have ended included; None where
        nobody counts it."""
        if "cpu" not in self.directories:
            return None
        if self._has("cpu", "cpuacct.usage"):
            return int(_read(f"{self.directories['cpu']}/cpuacct.usage")) / 1e9
        usage = re.search(r"^usage_usec (\d+)", _read(f"{self.directories['cpu']}/cpu.stat"),
                          re.MULTILINE)
        return int(usage[1]) / 1e6
