"""Who is measured: foldfs, what a user would pick instead, and what the device could do.

Each peer runs a scene, cold or not as it finds it, and says how many files a second that was.
Reader and server run in the scene's group, which limits and counts what they do."""

import contextlib
import dataclasses
import shutil

from harness import SQUASHFUSE
from mounts import KernelMount, MountError
from report import LOOSE, OURS


@dataclasses.dataclass
class Scene:
    bench: object
    tree: object
    group: object
    threads: int = 2
    seed: int = 0
    seconds: int = 0  # peers, not foldfs, begin no file after it; 0: all
    part: tuple = ()  # options of the C reader for peers
    options: str = ""  # of foldfs's mount
    reading: tuple = ()  # options of the C reader for everybody


    def counters(self):
        """What the group did so far."""
        return {"device_bytes": self.group.device_bytes(),
                "device_requests": self.group.device_requests(),
                "cpu_s": self.group.cpu_seconds() or 0}


@dataclasses.dataclass
class Run:
    files_per_s: float
    bytes: int = 0
    seconds: float = 0
    costs: dict = None  # what it added to the scene's counters; None: not counted
    daemon_cpu_s: float = None
    curve: list = None  # files read by each tenth of a second


def command_missing(name):
    return "" if shutil.which(name) else f"{name} is not installed"


class Files:
    """Anything that the C reader reads as files."""
    whole = False  # read everything, whatever the limits of others

    @contextlib.contextmanager
    def opened(self, scene):
        """The root to read, and who serves it (None: the kernel)."""
        yield scene.tree.root, None

    def missing(self, bench, tree):
        """Why it cannot be measured, or ""."""
        return ""

    def run(self, scene):
        with self.opened(scene) as (root, daemon):
            return self.read(scene, root, daemon)

    def read(self, scene, root, daemon):
        limit = [] if self.whole else scene.part
        if scene.seconds and not self.whole:
            limit = [*limit, "--seconds", str(scene.seconds)]
        before, cpu_before = scene.counters(), daemon.cpu_seconds() if daemon else 0
        result = scene.bench.read(root, scene.tree, scene.seed, "--progress", *limit,
                                  *scene.reading, threads=scene.threads, group=scene.group)
        costs = {name: count - before[name] for name, count in scene.counters().items()}
        cpu = daemon.cpu_seconds() - cpu_before if daemon else None
        return Run(result["files_per_s"], result["bytes"], result["wall_s"], costs, cpu,
                   result["progress"])


class Loose(Files):
    name = LOOSE


class Foldfs(Files):
    whole = True

    def __init__(self, name=OURS):
        self.name = name  # OURS, or another build of Bench.against

    @contextlib.contextmanager
    def opened(self, scene):
        with scene.bench.mount(self.name, scene.tree, scene.group, scene.options) as mount:
            if not scene.seed and self.name == OURS:
                scene.bench.note(f"foldfs said: {mount.said}")
            yield mount.path, mount


class Squashfuse(Files):
    name = SQUASHFUSE

    def missing(self, bench, tree):
        return command_missing("squashfuse_ll") or command_missing("mksquashfs")

    @contextlib.contextmanager
    def opened(self, scene):
        with scene.bench.mount(SQUASHFUSE, scene.tree, scene.group) as mount:
            yield mount.path, mount


class Kernel(Files):
    """A filesystem image that the kernel itself reads; tried once."""

    def __init__(self, name, tool, image_of):
        self.name, self.tool, self.image_of = name, tool, image_of

    def missing(self, bench, tree):
        why = command_missing(self.tool)
        if why:
            return why
        try:
            with KernelMount(self.name, self.image_of(tree)) as mount:
                bench.note(f"{self.name}: {mount.said}")
        except MountError as error:
            return str(error)
        return ""

    @contextlib.contextmanager
    def opened(self, scene):
        with KernelMount(self.name, self.image_of(scene.tree), scene.group) as mount:
            yield mount.path, None


class Lmdb:
    """py-lmdb on the same pack."""

    def __init__(self, name, *options):
        self.name, self.options = name, options

    def missing(self, bench, tree):
        try:
            __import__("lmdb")
        except ImportError:
            return "python3-lmdb is not installed"
        return ""

    def run(self, scene):
        limit = ["--seconds", scene.seconds] if scene.seconds else []
        result = scene.bench.script("lmdb_reader.py", scene.tree.pack, scene.tree.list,
                                    *self.options, "--workers", scene.threads,
                                    "--seed", scene.seed, *limit, group=scene.group)
        return Run(result["files_per_s"], result["bytes"], result["wall_s"], scene.counters())


class Bound:
    """Not a peer: what the device could do at best, in files of the tree's mean size."""

    def missing(self, bench, tree):
        return ""

    def run(self, scene):
        return Run(self.bandwidth(scene) / (scene.tree.bytes / scene.tree.files))


class Fio(Bound):
    name = "fio, 1 MiB direct"

    def missing(self, bench, tree):
        return command_missing("fio")

    def bandwidth(self, scene):
        found = scene.bench.json("fio", "--name=bench", f"--filename={scene.tree.pack}",
                                 "--readonly", "--rw=read", "--bs=1M", "--direct=1",
                                 "--ioengine=libaio", "--iodepth=8", "--output-format=json",
                                 group=scene.group)
        return found["jobs"][0]["read"]["bw_bytes"]


class Stream(Bound):
    """The pack from end to end: 4 MiB direct reads into huge pages, one after the other."""
    name = "pack, streamed"

    def run(self, scene):
        found = scene.bench.script("stream.py", scene.tree.pack, group=scene.group)
        return Run(scene.tree.files / found["wall_s"])


class Bandwidth(Bound):
    def __init__(self, name, bytes_per_s):
        self.name, self.bytes_per_s = name, bytes_per_s

    def bandwidth(self, scene):
        return self.bytes_per_s


FOLDFS, LOOSE_FILES = Foldfs(), Loose()
LMDB = (Lmdb("py-lmdb"), Lmdb("py-lmdb with readahead", "--readahead"))
SQUASHFS = Kernel("squashfs", "mksquashfs", lambda tree: tree.image)
EROFS = Kernel("erofs", "mkfs.erofs", lambda tree: tree.make_erofs())
SQUASHFUSE_LL = Squashfuse()
EVERYBODY = (FOLDFS, LOOSE_FILES, SQUASHFUSE_LL, SQUASHFS, EROFS, *LMDB)
