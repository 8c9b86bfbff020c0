"""What people would use instead, beside foldfs: loaders with forms of their own, and folders of
other kinds; the same photos, transforms, machine and hour. loaders.py has the peers' own code, and
runs in a venv that loaders.sh makes; each run is a process of its own, in a group that counts it.

Cold is: no file of the tree or of a form in memory, and no name. Python's modules are in memory,
and their import is not counted."""

import contextlib
import dataclasses
import functools
import json
import os
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import machine
import store
import trees
from cases_cold import NET_CAP_MB, NET_DELAY_US
from harness import SQUASHFUSE, Failed
from mounts import Mount, Net, first_words
from profiles import Group
from report import LOOSE, OURS, Measure, number

VENV = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
                    "foldfs", "loaders", "bin", "python")
NO_FUSE, SMALL, MODULE = "foldfs --no-fuse", "foldfs, --resize 256", "foldfs, Python, no workers"
PRELOAD = "foldfs --preload"
DELAY_MS, RATE_MB = 30, 50  # as in cases_remote.py
DISK, NET, FAR = "this disk", "0.5 ms a request", f"S3, {DELAY_MS} ms away"
UNLIMITED = 1 << 45  # a limit that only has memory counted
WORKER = 64 << 20  # what a worker may take of its own where memory is short
TENTH = 0.1  # of the data
PHOTOS = 4000  # with 15 systems, 5 cells and 3 rounds, half an hour
PART = 2000  # photos of an epoch that would take minutes
SAME = 0.03  # so near to the first is first, too
DECODED = "-decoded"  # the end of a form's name
SEEN = 256  # photos whose classes are counted
# Shared memory and semaphores of those that are killed would stay.
OWN_SHM = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh"]


@dataclasses.dataclass(frozen=True)
class System:
    """Something to read photos with: a class of loaders.py, and what that reads."""
    name: str
    peer: str = "Folder"
    form: str = ""  # a name in Forms; "": loose files
    mounted: str = ""  # the command that mounts the form
    unchanged: bool = False  # the user's code


SYSTEMS = {system.name: system for system in (
    System(OURS, form="pack", mounted="foldfs", unchanged=True),
    System(NO_FUSE, form="pack", mounted="--no-fuse", unchanged=True),
    System(PRELOAD, form="pack", mounted=PRELOAD, unchanged=True),
    System(SMALL, form="pack-256", mounted="foldfs", unchanged=True),
    System(MODULE, "Module", "pack"),
    System(LOOSE, unchanged=True),
    System(SQUASHFUSE, form="squashfs", mounted=SQUASHFUSE, unchanged=True),
    System("WebDataset", "WebDataset", "WebDataset"),
    System("MosaicML Streaming", "Mosaic", "Mosaic"),
    System("LitData", "LitData", "LitData"),
    System("datasets, Parquet", "Parquet", "Parquet"),
    System("datasets, imagefolder", "HuggingFolder"),
    System("FFCV", "Ffcv", "Ffcv"),  # of decoded photos, its own form
    System("folder2lmdb", "Folder2lmdb", "Folder2lmdb"),
    System("SPDL", "Spdl"),
    System("torchdata.nodes", "Nodes"))}
OF_FOLDFS = (OURS, NO_FUSE, PRELOAD, SMALL, MODULE)
SHARDS = ("WebDataset", "MosaicML Streaming", "LitData", "datasets, Parquet")


@dataclasses.dataclass(frozen=True)
class Cell:
    """A place and what is done there, with the systems that can."""
    place: str
    workers: int
    systems: tuple
    decode: bool = False
    short: bool = False  # of memory
    part: tuple = ()  # the systems that read PART
    quick: tuple = ()  # the systems of a quick run; (): all

    def title(self):
        words = [f"loaders, {self.place}", "memory for a tenth" * self.short,
                 f"{self.workers} workers", "decoded" if self.decode else "bytes only"]
        return ", ".join(filter(None, words))


CELLS = (
    Cell(DISK, 2, tuple(name for name in SYSTEMS if name != PRELOAD)),
    Cell(DISK, 2, (OURS, SMALL, LOOSE, "WebDataset", "LitData", "FFCV"), decode=True,
         quick=(OURS, LOOSE, "WebDataset", "FFCV")),
    Cell(FAR, 8, (OURS, NO_FUSE, PRELOAD, LOOSE, *SHARDS), part=(LOOSE, "datasets, Parquet"),
         quick=(OURS, LOOSE, *SHARDS[:3])),
    Cell(NET, 2, (OURS, LOOSE, SQUASHFUSE, "WebDataset", "LitData"), part=(LOOSE, SQUASHFUSE),
         quick=(OURS, LOOSE, "LitData")),
    Cell(DISK, 2, (OURS, NO_FUSE, LOOSE, "WebDataset", "MosaicML Streaming", "LitData",
                   "folder2lmdb"), short=True, part=("folder2lmdb",), quick=(OURS, LOOSE)),
)
CONVERSION, OF_CONVERSION = "loaders, conversion", ("converting", "size", "lines of code")
# Of doc/compare.md: (heading, cell, figures).
SHOWN = (
    ("disk", CELLS[0], ("epoch 1", "epoch 2", "processors", "peak memory")),
    ("decoded", CELLS[1], ("epoch 1",)),
    ("S3", CELLS[2], ("first batch", "epoch 1", "epoch 2", "fetched")),
    ("a tenth", CELLS[4], ("epoch 1",)),
    ("shuffle", CELLS[0], ("neighbours apart", "classes in 256")),
)
PERMUTATION = "x a permutation's"
# name: (unit, whether more is better)
FIGURES = {
    "first batch": ("s", False), "epoch 1": ("images/s", True), "epoch 2": ("images/s", True),
    "processors": ("s per 1,000 images", False), "peak memory": ("MB", False),
    "fetched": ("MB", False), "disk of the node": ("MB", False),
    "neighbours apart": (PERMUTATION, True),
    "classes in 256": (PERMUTATION, True),
    "converting": ("s", False), "size": ("MB", False), "lines of code": ("lines", False),
}
# (title of a cell, figure): what bounds foldfs where it is not first; by hand, after tries.
DISKS, STORED, CROPPED, TENTHS = (CELLS[i].title() for i in (0, 2, 1, 4))
FUSE = "each photo is a FUSE round trip and two copies more than a read of a file in memory"
WAKE = "the mount is made, workers fork, and the first files come one by one"
UNKNOWN = "in an unknown order, a photo is a round trip until the sweep has brought it"
TWICE = "the pool, and the page cache of the mount, which the daemon gives back when others want it"
BOUNDS = {
    (DISKS, "first batch"): WAKE, (CROPPED, "first batch"): WAKE, (TENTHS, "first batch"): WAKE,
    (DISKS, "epoch 1"): f"{FUSE}; Parquet is in memory already, LitData reads in order",
    (DISKS, "epoch 2"): FUSE, (DISKS, "processors"): FUSE, (TENTHS, "processors"): FUSE,
    (TENTHS, "epoch 1"): FUSE, (TENTHS, "epoch 2"): FUSE,
    (DISKS, "peak memory"): TWICE, (STORED, "peak memory"): TWICE, (CROPPED, "peak memory"): TWICE,
    (DISKS, "fetched"): "a pack begins photos at pages: 2 % more than shards",
    (STORED, "first batch"): UNKNOWN,
    (STORED, "epoch 1"): f"{UNKNOWN}; WebDataset reads shards in order, and shuffles a buffer",
    (CROPPED, "epoch 1"): f"{FUSE}, of processors that are all decoding",
    (CROPPED, "processors"): FUSE,
    (CROPPED, "fetched"): "FFCV encodes photos anew, smaller",
    (CROPPED, "disk of the node"): "FFCV encodes photos anew, smaller",
}


# --- forms ---------------------------------------------------------------------------------------

class Forms:
    """The photos in the forms of all, in a folder that is gone at the end. `bench` makes each when
    it is first wanted, anew, so that its seconds are of this run."""

    def __init__(self, bench, python, tree):
        self.bench, self.python, self.tree = bench, python, tree
        self.folder = tempfile.mkdtemp(prefix="loaders-", dir=bench.kept)
        os.chmod(self.folder, 0o755)  # the store is not root
        self.failed, self.seconds = {}, {}

    def path(self, form):
        return os.path.join(self.folder, form) if form else self.tree.root

    def list(self, form):
        """The names of the photos in the order that the form has them."""
        own = self.path(form) + ".list"
        return own if os.path.exists(own) else self.tree.list

    def job(self, form):
        shard = 8 << 20 if self.tree.files < 10000 else 64 << 20
        return {"root": self.tree.root, "list": self.tree.list, "out": self.path(form),
                "shard": shard, "decode": form.endswith(DECODED)}

    def command(self, form):
        if form.startswith("pack"):
            resize = ["--resize", "256"] if form == "pack-256" else []
            return [self.bench.foldpack, "create", "-q", *resize, self.tree.root, self.path(form)]
        if form == "squashfs":
            return ["mksquashfs", self.tree.root, self.path(form), *trees.STORED, "-noappend",
                    "-no-progress", "-quiet"]
        return [*self.python, "convert", form.removesuffix(DECODED), json.dumps(self.job(form))]

    def want(self, form):
        """Makes it, or raises Failed with why it could not be made before."""
        if form in self.failed:
            raise Failed(self.failed[form])
        if not form or form in self.seconds:
            return
        cold([*self.tree.paths()])
        began = time.monotonic()
        try:
            printed = answers_of(self.command(form), environment(self.folder), 600)
            ends = [line["seconds"] for line in printed if line["at"] == "end"]
            self.seconds[form] = (ends or [time.monotonic() - began])[0]
        except (Failed, OSError) as error:
            self.failed[form] = f"not converted: {error}"
            raise Failed(self.failed[form]) from None
        finally:
            shutil.rmtree(self.path(form) + ".cache", ignore_errors=True)

    def files(self, form):
        if form:
            return files_below(self.path(form))
        return [path for path in self.tree.paths() if path.startswith(f"{self.tree.root}/")]

    def size(self, form):
        """What it takes, in MB."""
        if not form:
            return self.tree.bytes / 1e6
        return sum(map(os.path.getsize, self.files(form))) / 1e6

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)


def files_below(path):
    if os.path.isfile(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


def cold(paths):
    """Nothing of them in memory, no name, and nothing of the disk's own blocks."""
    os.sync()
    for path in [*paths, *{machine.output("findmnt", "-no", "SOURCE", "-T", paths[0])}]:
        with contextlib.suppress(OSError):
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)
    if os.access(machine.DROP_CACHES, os.W_OK):
        with open(machine.DROP_CACHES, "w") as drop:
            drop.write("2")


# --- a run ---------------------------------------------------------------------------------------

def environment(place, url="http://127.0.0.1:9"):
    """Whatever a library keeps, it keeps in `place`."""
    programs = os.environ["PATH"]
    return {"PATH": programs, "HOME": place, "TMPDIR": place, "XDG_CACHE_HOME": place,
            "HF_HOME": os.path.join(place, "hf"), "HF_HUB_OFFLINE": "1", "WDS_VERBOSE_CACHE": "0",
            "PYTHONPATH": os.path.join(trees.REPOSITORY, "python"), "NUMBA_CACHE_DIR": place,
            "AWS_ENDPOINT_URL": url, "S3_ENDPOINT_URL": url, "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "example",
            "AWS_EC2_METADATA_DISABLED": "true", "AWS_ALLOW_HTTP": "true",
            "OMP_NUM_THREADS": "1", "FOLDFS_PYTHON": trees.PYTHON}


def lines_of(process, until):
    """What a process prints, line by line, for so long. Who was forked may hold its end open."""
    text = b""
    while time.monotonic() < until:
        if select.select([process.stdout], [], [], 0.2)[0]:
            more = os.read(process.stdout.fileno(), 1 << 16)
            if not more:
                return
            *lines, text = (text + more).split(b"\n")
            yield from (json.loads(line) for line in lines if line.startswith(b"{"))
        elif process.poll() is not None:
            return
    raise Failed("not done in time")


def answers_of(command, variables, seconds, group=None, seen=lambda line: None):
    """The lines of JSON that a command prints; `seen` gets each as it comes."""
    with tempfile.TemporaryFile("w+") as messages:
        process = subprocess.Popen([*OWN_SHM, *command], stdin=subprocess.DEVNULL, env=variables,
                                   stdout=subprocess.PIPE, stderr=messages,
                                   start_new_session=True, preexec_fn=group and group.enter)
        found = []
        try:
            for line in lines_of(process, time.monotonic() + seconds):
                seen(line)
                found.append(line)
                if line["at"] == "end":
                    break
            status = process.wait(30)
        except subprocess.TimeoutExpired:
            status = 0  # it has all, and does not end
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stdout.close()
        if status and not (found and found[-1]["at"] == "end"):
            messages.seek(0)
            raise Failed(reason(messages.read(), status))
    return found


def reason(text, status):
    """The last line that has words, of errors if there is one."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w \w", line)]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b: ", line)]
    return first_words((errors or lines or [f"exit status {status}"])[-1])[:200] + \
        (", killed: out of memory?" if status == -signal.SIGKILL else "")


def form_of(cell, system):
    """FFCV decodes only what it has encoded itself."""
    return system.form + DECODED * (cell.decode and system.peer == "Ffcv")


class Run:
    """One run of a system in a cell: .figures, as they are in FIGURES."""

    def __init__(self, cell, system, forms):
        self.cell, self.system, self.forms = cell, system, forms
        self.form = form_of(cell, system)
        self.bench, self.figures, self.files = forms.bench, {}, 0
        self.began, self.at, self.cpu, self.read = 0, {}, {}, {}  # but the first: at each line
        self.base = 0  # bytes that it has when modules are imported
        self.epochs = 1 if cell.decode and system.peer != "Ffcv" else 2  # which compiles first
        self.most = PART if system.name in cell.part and PART < forms.tree.files else 0

    @contextlib.contextmanager
    def seen(self):
        """What the place shows: a function of a path, and of the form's name, and the store."""
        if self.cell.place == NET:
            for path in self.forms.files(self.form):
                machine.into_memory(path)
            with Net(self.bench.netfs, self.bench.kept, NET_DELAY_US, NET_CAP_MB) as net:
                yield lambda path: os.path.join(net.path, self.inside(path)), None
        elif self.cell.place == FAR:
            for path in self.forms.files(self.form):
                machine.into_memory(path)
            with store.Store(self.bench.kept, DELAY_MS, RATE_MB) as far:
                scheme = "s3://" if self.system.mounted or self.system.peer in (
                    "Mosaic", "LitData") else f"{far.url}/"
                yield lambda path: scheme + self.inside(path), far
        else:
            yield lambda path: path, None

    def inside(self, path):
        return os.path.relpath(path, self.bench.kept)

    def limit(self, base):
        if not self.cell.short:
            return UNLIMITED
        return int(base + WORKER * self.cell.workers + TENTH * self.forms.tree.bytes)

    @contextlib.contextmanager
    def opened(self, data, group, place, variables):
        """(the command in front of the program's, what that reads)"""
        kind, foldfs = self.system.mounted, self.bench.foldfs
        far = [f"--endpoint={variables['AWS_ENDPOINT_URL']}"] if data.startswith("s3://") else []
        if not kind:
            yield [], data
        elif kind == "--no-fuse":
            yield [foldfs, "--no-fuse", "--mkdir", *far, data, f"{place}/mnt", "--"], f"{place}/mnt"
        else:
            name, *options = kind.split()
            command = [foldfs, *far, *options] if name == "foldfs" else [kind]
            with set_variables(variables), Mount(command, data, group) as mount:
                yield [], mount.path

    def line(self, group, line):
        """Something has happened in the program."""
        self.cpu[line["at"]], self.read[line["at"]] = group.cpu_seconds(), group.device_bytes()
        self.at.setdefault(line["at"], line.get("time"))
        if line["at"] == "imported":
            self.base = group.memory_now()
        elif line["at"] == "first":
            self.figures["first batch"] = self.at["first"] - self.at["imported"] + \
                self.at["started"] - self.began
        elif line["at"] == "epoch":
            count = sum(name.startswith("epoch ") for name in self.figures) + 1
            self.figures[f"epoch {count}"] = line["files"] / line["seconds"]
            self.files += line["files"]
            self.check(line, count)
        elif line["at"] == "end":
            self.figures["processors"] = 1000 / self.files * self.spent(self.cpu)
            self.shuffled(line["order"])

    @staticmethod
    def spent(counted):
        """In all, without the import of modules."""
        return counted["end"] - counted["imported"] + counted["started"]

    def check(self, line, count):
        """Each photo once, and all bytes."""
        wanted = self.forms.tree.files
        if self.most:
            self.bench.note(f"{self.cell.title()}: {self.system.name}: of {line['files']:,} photos "
                            "an epoch")
            return
        if (line["files"], line["different"]) != (wanted, wanted):
            self.bench.note(f"{self.cell.title()}: {self.system.name}: epoch {count} had "
                            f"{line['files']:,} photos, {line['different']:,} different, of "
                            f"{wanted:,}")
        if line["bytes"] not in (0, self.forms.tree.bytes) and "256" not in self.form and \
                line["files"] == line["different"] == wanted:
            raise Failed(f"epoch {count} had {line['bytes']:,} bytes, the photos have "
                         f"{self.forms.tree.bytes:,}")

    def shuffled(self, order):
        with open(self.forms.list(self.form)) as names:
            classes = [os.path.dirname(name) for name in names]
        true = random.Random(1).sample(range(len(classes)), len(classes))
        self.figures["neighbours apart"] = apart(order) / apart(true)
        if len(order) >= SEEN:
            self.figures["classes in 256"] = kinds(order, classes) / kinds(true, classes)

    def go(self, base):
        """Runs it; `base` is what it had before, where memory is short."""
        forms, form = self.forms, self.form
        paths = forms.files(form)
        own = paths if self.cell.place == DISK else []
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory(
                prefix="loaders-node-", dir=self.bench.kept, ignore_cleanup_errors=True))
            cold(paths)
            path, far = stack.enter_context(self.seen())
            variables = environment(place, far.url if far else "http://127.0.0.1:9")
            variables["PATH"] = f"{os.path.dirname(self.bench.foldfs)}:{variables['PATH']}"
            group = stack.enter_context(Group("nvme", self.limit(base), self.bench.kept))
            stack.callback(group.kill)
            self.began = time.monotonic()
            front, data = stack.enter_context(
                self.opened(path(forms.path(form)), group, place, variables))
            job = {"data": data, "local": forms.path(form), "place": place, "epochs": self.epochs,
                   "list": forms.list(form), "workers": self.cell.workers, "most": self.most,
                   "decode": self.cell.decode, "short": self.cell.short}
            peer = "Gets" if far and not form else self.system.peer
            found = answers_of([*front, *forms.python, "run", peer, json.dumps(job)], variables,
                               60 if self.bench.quick else 400, group,
                               functools.partial(self.line, group))
            if not found or found[-1]["at"] != "end":
                raise Failed("it ended early")
            self.figures["peak memory"] = group.memory_peak() / 1e6
            if far and not self.most:
                self.figures["fetched"] = sum(sent for _, _, sent, _ in far.requests()) / 1e6
            elif self.cell.place == DISK and not self.most:
                self.figures["fetched"] = self.spent(self.read) / 1e6
            self.figures["disk of the node"] = sum(
                os.stat(file).st_blocks for file in (*own, *files_below(place))) * 512 / 1e6
        return self


@contextlib.contextmanager
def set_variables(variables):
    """For a mount, which has this program's."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def apart(order):
    """How far neighbours lie apart where they came from."""
    return statistics.mean(abs(one - other) for one, other in zip(order, order[1:]))


def kinds(order, classes):
    """The classes that SEEN photos in a row have."""
    return statistics.mean(len({classes[at] for at in order[begin:begin + SEEN]})
                           for begin in range(0, len(order) - SEEN + 1, SEEN))


# --- the section ---------------------------------------------------------------------------------

def python_of(bench):
    """The command of loaders.py, in a venv that has the peers."""
    python = os.environ.get("FOLDFS_BENCH_LOADERS", VENV)
    script = os.path.join(trees.HERE, "loaders.sh")
    if "FOLDFS_BENCH_LOADERS" not in os.environ and subprocess.run(["sh", script]).returncode:
        raise Failed("loaders.sh cannot make a venv")
    return [python, "-B", os.path.join(trees.HERE, "loaders.py")]


def about(bench, python):
    """What the peers are set to, in notes; the lines of each one's code."""
    with tempfile.TemporaryDirectory(dir=bench.kept) as place:
        *_, told = answers_of([*python, "about"], environment(place), 300)
    for system in SYSTEMS.values():
        bench.note(f"{system.name}: {told['settings'][system.peer]}")
    bench.note("versions: " + ", ".join(f"{name} {version}"
                                        for name, version in told["versions"].items()))
    bench.note("shards of 64 MB (8 MB of fewer than 10,000 photos), uncompressed; squashfs without "
               "compression; the conversion is one process, or what the peer says is usual")
    bench.note("peak memory is that of the group: all processes, foldfs's daemon, and the page "
               "cache that they filled; memory for a tenth: what a system has when its modules are "
               f"imported, {WORKER >> 20} MiB for each worker, and a tenth of the photos")
    bench.note("processors: all processes of the group, without the import of modules")
    bench.note(f"{FAR}: nginx as in section 'remote', {RATE_MB} MB/s a connection, which takes "
               "requests of S3 and does not check signatures; WebDataset and datasets by http. "
               "loose files there: " + told["settings"]["Gets"])
    bench.note("lines of code: of what makes the loader, in loaders.py; 0: ImageFolder and "
               "DataLoader as they are")
    return told["lines"], told["missing"]


def measured(bench, cell, forms, bases, missing):
    found = {name: Measure(cell.title(), name, unit) for name, (unit, _) in FIGURES.items()}
    for name in cell.systems:
        if missing[SYSTEMS[name].peer]:
            for measure in found.values():
                measure.absent[name] = first_words(missing[SYSTEMS[name].peer])
    for _, name in bench.turns(bench.quick and cell.quick or cell.systems):
        if name in found["epoch 1"].absent:
            continue
        print(f"bench: {cell.title()}: {name}", file=sys.stderr)
        try:
            forms.want(form_of(cell, SYSTEMS[name]))
            run = Run(cell, SYSTEMS[name], forms).go(bases.get(name, 600 << 20))
        except (Failed, OSError, RuntimeError, subprocess.SubprocessError) as error:
            for measure in found.values():
                measure.absent[name] = first_words(str(error))
            bench.note(f"{cell.title()}: {name} failed: {first_words(str(error))}")
            continue
        bases.setdefault(name, run.base)
        for figure, value in run.figures.items():
            found[figure].add(name, value)
    return [measure for measure in found.values() if measure.values]


def conversions(forms, lines):
    """What it takes to have each form."""
    found = [Measure(CONVERSION, name, FIGURES[name][0])
             for name in OF_CONVERSION]
    for name, system in SYSTEMS.items():
        if system.form in forms.seconds:
            found[0].add(name, forms.seconds[system.form])
        if system.form in (*forms.seconds, ""):
            found[1].add(name, forms.size(system.form))
            found[2].add(name, 0 if system.unchanged else lines[system.peer])
    return found


def behind(measure):
    """Who is first, where foldfs is neither that nor near."""
    more = FIGURES[measure.name][1]
    others = [name for name in measure.values if name not in OF_FOLDFS]
    if OURS not in measure.values or not others:
        return None
    first = (max if more else min)(others, key=measure.median)
    ours, theirs = measure.median(OURS), measure.median(first)
    if measure.unit == PERMUTATION:
        theirs = min(theirs, 1)
    near = ours >= theirs * (1 - SAME) if more else ours <= theirs * (1 + SAME)
    return None if near else first


def note_bounds(bench, measures):
    for measure in measures:
        first = behind(measure)
        if first:
            bench.note(f"not first: {measure.section}: {measure.name}: foldfs "
                       f"{number(measure.median(OURS))} {measure.unit}, {first} "
                       f"{number(measure.median(first))}: "
                       + BOUNDS.get((measure.section, measure.name), "**missing**"))


def loaders(bench):
    """Cell by cell: what was measured stays where a later one fails."""
    python = python_of(bench)
    lines, missing = about(bench, python)
    few = trees.photo_tree(bench.kept, PART, bench.foldpack)
    tree = few if bench.quick else trees.photo_tree(bench.kept, PHOTOS, bench.foldpack)
    bases = {}
    with contextlib.ExitStack() as stack:
        forms = {one.root: stack.enter_context(Forms(bench, python, one))
                 for one in {few.root: few, tree.root: tree}.values()}
        for cell in CELLS:
            root = (few if cell.decode else tree).root
            found = measured(bench, cell, forms[root], bases, missing)
            note_bounds(bench, found)
            yield from found
        found = conversions(forms[tree.root], lines)
        note_bounds(bench, found)
        yield from found
