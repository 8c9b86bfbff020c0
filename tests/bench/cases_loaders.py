"""What people would use instead, beside foldfs: loaders with forms of their own, and folders of
other kinds; the same photos, transforms, machine and hour. loaders.py has the peers' own code, and
runs in a venv that loaders.sh makes in FOLDFS_BENCH_LOADERS (~/.cache/foldfs/loaders); each run is
a process of its own, in a group that counts it.

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
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import machine
import store
import trees
from harness import NET_CAP_MB, NET_DELAY_US, SQUASHFUSE, Failed
from mounts import first_words, mount, net
from profiles import Group
from report import LOOSE, OURS, Measure

VENV = os.environ.get("FOLDFS_BENCH_LOADERS") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "foldfs", "loaders")
NO_FUSE, SMALL, MODULE = "foldfs --no-fuse", "foldfs, --resize 256", "foldfs, Python, no workers"
PRELOAD, RATE_MB = "foldfs --preload", 50  # MB/s a connection, as in cases_remote.py
DISK, NET = "this disk", "0.5 ms a request"
STORES = {f"S3, {ms} ms away": ms for ms in (0.5, 30)}
NEAR, FAR = STORES
UNLIMITED = 1 << 45  # a limit that only has memory counted
WORKER = 64 << 20  # what a worker may take of its own where memory is short
TENTH = 0.1  # of the data
PHOTOS = 4000  # --photos
PART = 2000  # photos of a quick run, and of one that decodes
LONGEST = 6  # seconds of an epoch of GETs
UNTIL = 150  # seconds, a run has failed
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
    mounted: tuple = ()  # the command that mounts the form


SYSTEMS = {system.name: system for system in (
    System(OURS, form="pack", mounted=("foldfs",)),
    System(PRELOAD, form="pack", mounted=("foldfs", "--preload")),
    System(NO_FUSE, form="pack", mounted=("foldfs", "--no-fuse")),
    System(SMALL, form="pack-256", mounted=("foldfs",)),
    System(MODULE, "Module", "pack"),
    System(LOOSE),
    System(SQUASHFUSE, form="squashfs", mounted=(SQUASHFUSE,)),
    System("WebDataset", "WebDataset", "WebDataset"),
    System("MosaicML Streaming", "Mosaic", "Mosaic"),
    System("LitData", "LitData", "LitData"),
    System("datasets, Parquet", "Parquet", "Parquet"),
    System("datasets, imagefolder", "HuggingFolder"),
    System("FFCV", "Ffcv", "Ffcv"),  # of decoded photos, its own form
    System("folder2lmdb", "Lmdb", "Lmdb"),
    System("SPDL", "Spdl"),
    System("torchdata.nodes", "Nodes"))}
OF_FOLDFS = (OURS, PRELOAD, NO_FUSE, SMALL, MODULE)
SHARDS = ("WebDataset", "MosaicML Streaming", "LitData", "datasets, Parquet")
LOCAL = (OURS, NO_FUSE, LOOSE, *SHARDS[:3], "folder2lmdb")
OF_URLS = (OURS, PRELOAD, NO_FUSE, LOOSE, *SHARDS)


@dataclasses.dataclass(frozen=True)
class Cell:
    """A place and what is done there, with the systems that can."""
    place: str
    workers: int  # of a rank
    systems: tuple
    decode: bool = False
    short: bool = False  # of memory
    ranks: int = 1

    def where(self):
        return ", ".join(filter(None, (self.place, "memory for a tenth" * self.short,
                                       f"{self.ranks} ranks" * (self.ranks > 1))))

    def title(self):
        return (f"loaders, {self.where()}, {self.workers} workers, "
                + ("decoded" if self.decode else "bytes only"))


CELLS = (
    *(Cell(place, workers, systems, decode, short)
      for place, systems, decode, short in (
          (DISK, tuple(SYSTEMS), False, False),
          (DISK, (OURS, SMALL, LOOSE, *SHARDS[::2], "FFCV"), True, False),
          (DISK, (*LOCAL, "FFCV"), False, True),
          (NET, (*LOCAL, PRELOAD, SQUASHFUSE, "FFCV"), False, False),
          (NEAR, OF_URLS, False, False))
      for workers in (2, 8)),
    Cell(FAR, 2, OF_URLS[:-1]), Cell(FAR, 8, OF_URLS),  # Parquet: half a minute an epoch
    *(Cell(place, 2, systems, ranks=4) for place, systems in (
        (DISK, (*LOCAL, SHARDS[3], "FFCV")), (FAR, (OURS, PRELOAD, *SHARDS)))))
FEW, MANY = (next(cell for cell in CELLS if (cell.place, cell.workers) == wanted)
             for wanted in ((DISK, 2), (FAR, 8)))  # those that doc/compare.md has more of
CONVERSION, OF_CONVERSION = "loaders, conversion", ("converting", "size", "lines of code")
PERMUTATION = "x a permutation's"
# name: (unit, whether more is better)
FIGURES = {
    "first batch": ("s", False), "epoch 1": ("images/s", True), "epoch 2": ("images/s", True),
    "processors": ("s per 1,000 images", False), "peak memory": ("MB", False),
    "fetched": ("MB", False), "neighbours apart": (PERMUTATION, True),
    "classes in 256": (PERMUTATION, True),
    "converting": ("s", False), "size": ("MB", False), "lines of code": ("lines", False),
}
# (why foldfs is not first, in cells of these words, in these figures); by hand, after tries.
BOUNDS = (
    ("the mount is made, workers fork, and the first files come one by one", DISK,
     ("first batch",)),
    ("in an unknown order, a photo is a round trip until the sweep has brought it", " away",
     ("first batch", "epoch 1")),
    ("what others use, too, is not read on a guess: in an unknown order, a photo is a round trip",
     NET, ("epoch 1",)),
    ("each photo is a FUSE round trip and two copies more than a read of a file in memory", "",
     ("epoch 1", "epoch 2", "processors", "first batch")),
    ("the pool, and the page cache of the mount, which the daemon gives back when others want it",
     "", ("peak memory",)),
    ("FFCV encodes photos anew, smaller", "decoded", ("fetched", "size")),
    ("a pack begins photos at pages: 2 % more than shards", "",
     ("fetched", "size")),
)


# --- forms ---------------------------------------------------------------------------------------

class Forms:
    """The photos in the forms of all: made when they are wanted, and kept as long as they are newer
    than what makes them."""

    def __init__(self, bench, python, tree):
        self.bench, self.python, self.tree = bench, python, tree
        self.folder = f"{tree.root}-loaders"
        os.makedirs(self.folder, exist_ok=True)
        self.failed = {}

    def path(self, form):
        return os.path.join(self.folder, form) if form else self.tree.root

    def list(self, form):
        """The names of the photos in the order that the form has them."""
        own = os.path.join(self.path(form), "list")
        return own if form and os.path.exists(own) else self.tree.list

    def command(self, form, out):
        if form.startswith("pack"):
            resize = ["--resize", "256"] if form == "pack-256" else []
            return [self.bench.foldpack, "create", "-q", *resize, self.tree.root, out]
        if form == "squashfs":
            return ["mksquashfs", self.tree.root, out, *trees.STORED, "-noappend", "-no-progress",
                    "-quiet"]
        job = {"root": self.tree.root, "list": self.tree.list, "out": out,
               "shard": (8 if self.tree.files < 10000 else 64) << 20,
               "decode": form.endswith(DECODED)}
        return [*self.python, "convert", form.removesuffix(DECODED), json.dumps(job)]

    def make(self, form):
        """How many seconds it takes to make it anew; or Failed, and why it could not be made."""
        partial = self.path("partial")
        for path in partial, self.path(form):
            subprocess.run(["rm", "-rf", path], check=True)
        machine.make_cold(self.tree.paths())
        began = time.monotonic()
        try:
            with tempfile.TemporaryDirectory(dir=self.folder) as place:
                printed = answers_of(self.command(form, partial), environment(place), 600)
        except (Failed, OSError) as error:
            self.failed[form] = f"not converted: {error}"
            raise Failed(self.failed[form]) from None
        ends = [line["seconds"] for line in printed if line["at"] == "end"]
        os.rename(partial, self.path(form))
        return (ends or [time.monotonic() - began])[0]

    def want(self, form):
        if form in self.failed:
            raise Failed(self.failed[form])
        maker = self.bench.foldpack if form.startswith("pack") else f"{VENV}/installed"
        if form and not trees.newer(self.path(form), maker):
            self.make(form)

    def files(self, form):
        if form:
            return files_below(self.path(form))
        return [path for path in self.tree.paths() if path.startswith(f"{self.tree.root}/")]

    def size(self, form):
        """What it takes, in MB."""
        if not form:
            return self.tree.bytes / 1e6
        return sum(map(os.path.getsize, self.files(form))) / 1e6


def files_below(path):
    if os.path.isfile(path):
        return [path]
    return [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]


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

    def __init__(self, cell, system, forms, epochs=None):
        self.cell, self.system, self.forms = cell, system, forms
        self.form = form_of(cell, system)
        self.bench, self.figures, self.files = forms.bench, {}, 0
        self.began, self.at, self.cpu = 0, {}, {}  # but the first: at each line
        self.base = 0  # bytes that it has when modules are imported
        self.epochs = epochs if epochs is not None else \
            1 if cell.decode and system.peer != "Ffcv" else 2  # which compiles first
        self.whole = True  # no epoch took too long

    @contextlib.contextmanager
    def seen(self):
        """What the place has instead of the folder of all forms, and the store."""
        if self.cell.place == DISK:
            yield self.bench.kept, None
            return
        for path in self.forms.files(self.form):
            machine.into_memory(path)
        if self.cell.place == NET:
            with net(self.bench.netfs, self.bench.kept, NET_DELAY_US, NET_CAP_MB) as path:
                yield path, None
            return
        with store.Store(self.bench.kept, STORES[self.cell.place], RATE_MB) as far:
            buckets = self.system.mounted or self.system.peer in ("Mosaic", "LitData")
            yield "s3:/" if buckets else far.url, far

    @contextlib.contextmanager
    def opened(self, data, group, place, variables):
        """(the command in front of the program's, what that reads)"""
        program, *options = self.system.mounted or [""]
        if data.startswith("s3://"):
            options.append(f"--endpoint={variables['AWS_ENDPOINT_URL']}")
        if not program:
            yield [], data
        elif "--no-fuse" in options:
            yield [program, *options, "--mkdir", data, f"{place}/mnt", "--"], f"{place}/mnt"
        else:
            words = [f"{name}={word}" for name, word in variables.items()]
            with mount(["env", *words, program, *options], data, group) as path:
                yield [], path

    def line(self, group, line):
        """Something has happened in the program."""
        self.cpu[line["at"]] = group.cpu_seconds()
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
        elif line["at"] == "end" and self.files:
            imported = self.cpu["imported"] - self.cpu["started"]
            self.figures["processors"] = 1000 / self.files * (self.cpu["end"] - imported)
            self.shuffled(line["order"])

    def check(self, line, count):
        """Each photo once, and all bytes."""
        wanted, who = self.forms.tree.files, f"{self.cell.title()}: {self.system.name}: epoch"
        if not line["whole"]:
            self.whole = False
            self.bench.note(f"{who}s end after {LONGEST} s")
        elif line["files"] != wanted or line["different"] != wanted:
            self.bench.note(f"{who} {count} had {line['files']:,} photos, {line['different']:,} "
                            f"different, of {wanted:,}")
        elif line["bytes"] not in (0, self.forms.tree.bytes) and "256" not in self.form:
            raise Failed(f"epoch {count} had {line['bytes']:,} bytes, the photos have "
                         f"{self.forms.tree.bytes:,}")

    def shuffled(self, order):
        with open(self.forms.list(self.form)) as names:
            classes = [os.path.dirname(name) for name in names]
        true = random.Random(1).sample(range(len(classes)), len(classes))
        self.figures["neighbours apart"] = apart(order) / apart(true)
        if len(order) >= SEEN:
            self.figures["classes in 256"] = kinds(order, classes) / kinds(true, classes)

    def go(self, limit=UNLIMITED):
        """Runs it in so much memory."""
        forms, form = self.forms, self.form
        with contextlib.ExitStack() as stack:
            place = stack.enter_context(tempfile.TemporaryDirectory(
                prefix="loaders-node-", dir=self.bench.kept, ignore_cleanup_errors=True))
            machine.make_cold(forms.files(form))
            kept, far = stack.enter_context(self.seen())
            path = forms.path(form)
            variables = environment(place, far.url if far else "http://127.0.0.1:9")
            variables["PATH"] = f"{os.path.dirname(self.bench.foldfs)}:{variables['PATH']}"
            group = stack.enter_context(Group("nvme", limit, self.bench.kept))
            stack.callback(group.kill)
            self.began = time.monotonic()
            front, data = stack.enter_context(self.opened(
                f"{kept}/{os.path.relpath(path, self.bench.kept)}", group, place, variables))
            peer = "Get" if far and not form else self.system.peer
            job = {"data": data, "local": path, "place": place, "epochs": self.epochs,
                   "list": forms.list(form), "workers": self.cell.workers,
                   "ranks": self.cell.ranks, "longest": LONGEST if peer == "Get" else UNTIL,
                   "decode": self.cell.decode, "short": self.cell.short}
            found = answers_of([*front, *forms.python, "run", peer, json.dumps(job)], variables,
                               UNTIL * max(1, forms.tree.files // PHOTOS), group,
                               functools.partial(self.line, group))
            if not found or found[-1]["at"] != "end":
                raise Failed("it ended early")
            self.figures["peak memory"] = group.memory_peak() / 1e6
            if far and self.whole:
                self.figures["fetched"] = sum(sent for sent, _ in far.asked()) / 1e6
        return self


def apart(order):
    """How far neighbours lie apart where they came from."""
    return statistics.mean(abs(one - other) for one, other in zip(order, order[1:]))


def kinds(order, classes):
    """The classes that SEEN photos in a row have."""
    return statistics.mean(len({classes[at] for at in order[begin:begin + SEEN]})
                           for begin in range(0, len(order) - SEEN + 1, SEEN))


# --- the section ---------------------------------------------------------------------------------

def python_of():
    """The command of loaders.py, in a venv that has the peers."""
    if subprocess.run(["sh", os.path.join(trees.HERE, "loaders.sh"), VENV]).returncode:
        raise Failed("loaders.sh cannot make a venv")
    return [f"{VENV}/bin/python", "-B", os.path.join(trees.HERE, "loaders.py")]


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
    bench.note(f"S3: nginx as in section 'remote', {RATE_MB} MB/s a connection, which takes "
               "requests of S3 and does not check signatures; WebDataset and datasets by http. "
               "loose files there: " + told["settings"]["Get"])
    bench.note("lines of code: of what makes the loader, in loaders.py; 0: ImageFolder and "
               "DataLoader as they are")
    return told["lines"], told["missing"]


def measured(bench, cell, forms, bases, missing):
    found = {name: Measure(cell.title(), name, unit) for name, (unit, _) in FIGURES.items()}
    absent = {name: missing[SYSTEMS[name].peer] for name in cell.systems}
    for _, name in bench.turns(cell.systems):
        if absent[name]:
            continue
        print(f"bench: {cell.title()}: {name}", file=sys.stderr)
        system = SYSTEMS[name]
        try:
            forms.want(form_of(cell, system))
            limit = UNLIMITED
            if cell.short:
                bases[name] = bases.get(name) or Run(cell, system, forms, epochs=0).go().base
                limit = bases[name] + WORKER * cell.workers + int(TENTH * forms.tree.bytes)
            run = Run(cell, system, forms).go(limit)
        except (Failed, OSError, RuntimeError, subprocess.SubprocessError) as error:
            absent[name] = str(error)
            bench.note(f"{cell.title()}: {name} failed: {first_words(absent[name])}")
            continue
        for figure, value in run.figures.items():
            found[figure].add(name, value)
    for measure in found.values():
        measure.absent = {name: first_words(why) for name, why in absent.items() if why}
    return [measure for measure in found.values() if measure.values]


def conversions(bench, forms, lines):
    """What it takes to have each form."""
    found = [Measure(CONVERSION, name, FIGURES[name][0]) for name in OF_CONVERSION]
    for _, form in bench.turns(sorted({system.form for system in SYSTEMS.values()} - {""})):
        print(f"bench: {CONVERSION}: {form}", file=sys.stderr)
        with contextlib.suppress(Failed):
            seconds = forms.make(form)
            for system in SYSTEMS.values():
                if system.form == form:
                    found[0].add(system.name, seconds)
    for name, system in SYSTEMS.items():
        if name in found[0].values or not system.form:
            found[1].add(name, forms.size(system.form))
            found[2].add(name, 0 if system.peer == "Folder" else lines[system.peer])
    return found


def behind(figure, medians):
    """Who of {system: median} is first, where foldfs is neither that nor near."""
    unit, more = FIGURES[figure]
    others = {name: value for name, value in medians.items() if name not in OF_FOLDFS}
    if OURS not in medians or not others:
        return None
    first = (max if more else min)(others, key=others.get)
    ours, theirs = medians[OURS], others[first]
    if unit == PERMUTATION:
        theirs = min(theirs, 1)
    near = ours >= theirs * (1 - SAME) if more else ours <= theirs * (1 + SAME)
    return None if near else first


def bound(title, figure):
    """Why foldfs is not first there."""
    return next((why for why, place, figures in BOUNDS if place in title and figure in figures),
                "**missing**")


def loaders(bench):
    """Cell by cell: what was measured stays where a later one fails."""
    python = python_of()
    lines, missing = about(bench, python)
    few, full = (Forms(bench, python, trees.photo_tree(bench.kept, photos, bench.foldpack))
                 for photos in (PART, PART if bench.quick else bench.loader_photos))
    bases = {}
    for cell in CELLS:
        if bench.only in cell.title():
            yield from measured(bench, cell, few if cell.decode else full, bases, missing)
    if bench.only in CONVERSION:
        yield from conversions(bench, full, lines)
