"""A pack in an object store: an epoch of an unmodified DataLoader through a mount of its URL, with
the oracle and without, beside a Dataset that GETs a file at a time, and curl with the ranges that
foldfs asked for; and with a disk cache, while the order is not known. And the files as loose
objects, and in folders, through mounts of these."""

import contextlib
import functools
import os
import subprocess
import tempfile
import time

import machine
import store
from cases_cold import NET_CAP_MB, NET_DELAY_US
from harness import Failed
from mounts import Mount, MountError, Net
from peers import command_missing
from report import LOOSE, OURS, Measure, Target

DELAY_MS, RATE_MB = 30, 50  # remote.md: a store in the same region
WORKERS = 8
MEMORY = 0.1  # of the data
GETS, OFF, CURL, LOCAL, PACKED = "one GET per file", "oracle=off", "curl, same ranges", \
    "foldfs, the pack on the disk", "foldfs, their pack"
CURL_ALL = "curl --parallel"
STORE = f"store {DELAY_MS} ms, {RATE_MB} MB/s a connection, memory {MEMORY:.0%}"
KNOWN = f"{STORE}, seed 42"
WITH_CACHE = f"{STORE}, {OFF}, a disk cache that holds all"
AGAIN = "epoch from the disk cache, nothing in memory"
OBJECTS = {seed: f"{STORE}, loose objects, seed {seed}" for seed in (42, "drawn")}
DEVICES = {"net": f"a network, {NET_DELAY_US / 1000} ms a request", "nvme": "this disk"}
FOLDERS = {device: f"folder on {name}, 2 workers, memory {MEMORY:.0%}"
           for device, name in DEVICES.items()}
PACKING = f"{STORE}, loose objects, packed"
EPOCH, NOT_KNOWN = "epoch", "epoch, the order not known"
PARALLEL, CURLS, TOGETHER = 128, 4, 250
PART = 1000  # files that others' mounts of a bucket read: an epoch would take minutes
GETTING = 20  # seconds of GETs beside loose objects: one is as long as another


class Epoch:
    def __init__(self, rate, first, requests=0, sent=0):
        self.rate, self.first = rate, first
        self.requests, self.sent = requests, sent


def read(bench, root, *options):
    epoch, = bench.epochs(root, "--workers", WORKERS, "--seed", 42, *options)
    return Epoch(epoch["files_per_s"], epoch["first"])


def counted(far, epoch):
    asked = [(sent, range_) for name, _, sent, range_ in far.requests() if name.endswith(".lmdb")]
    epoch.requests, epoch.sent = len(asked), sum(sent for sent, _ in asked)
    epoch.ranges = [range_.removeprefix("bytes=") for _, range_ in asked]
    return epoch


def url_of(far, tree):
    return f"{far.url}/{os.path.basename(tree.pack)}"


def mounted(bench, pack, tree, *options, reader=()):
    command = [bench.foldfs, f"--pool={int(MEMORY * tree.bytes)}", *options]
    with Mount(command, pack) as mount:
        epoch = read(bench, mount.path, *reader)
        bench.said = bench.stats(mount)
    return epoch


def from_store(bench, far, tree, *options, reader=()):
    far.forget()
    return counted(far, mounted(bench, url_of(far, tree), tree, *options, reader=reader))


def gets(bench, far, tree):
    return read(bench, tree.list, "--store", f"{far.url}/{os.path.basename(tree.root)}")


def curl(bench, far, tree, ranges):
    """The same ranges, about as many at once. One curl does not take more than some hundreds."""
    url = url_of(far, tree)
    with tempfile.TemporaryDirectory() as place:
        for number, begin in enumerate(range(0, len(ranges), TOGETHER)):
            with open(f"{place}/{number:06}", "w") as config:
                config.write("next\n".join(f'url = "{url}"\nrange = "{range_}"\n'
                                           f'output = "/dev/null"\n'
                                           for range_ in ranges[begin:begin + TOGETHER]))
        began = time.monotonic()
        subprocess.run(f"printf '%s\\0' {place}/* | xargs -0 -n 1 -P {CURLS} curl -s --parallel "
                       f"--parallel-immediate --parallel-max {PARALLEL // CURLS} -K",
                       shell=True, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return Epoch(tree.files / (time.monotonic() - began), 0)


def known(bench, far, tree):
    rate = Measure(KNOWN, "epoch", "files/s",
                   (Target(8, GETS), Target(5, OFF), Target(0.8, CURL)), "remote")
    first = Measure(KNOWN, "first file to first batch", "s",
                    (Target(0.5, at_least=False, text="at most 0.5 s"),), "remote")
    sent = Measure(KNOWN, "bytes", "x the data",
                   (Target(1.1, at_least=False, text="at most 1.1 x"),), "remote")
    asked = Measure(KNOWN, "requests", "requests", (), "remote")
    ranges = None
    for _, system in bench.turns((OURS, OFF, GETS)):
        epoch = gets(bench, far, tree) if system == GETS else \
            from_store(bench, far, tree, *(["--oracle=off"] if system == OFF else []))
        rate.add(system, epoch.rate)
        first.add(system, epoch.first)
        if system != GETS:
            sent.add(system, epoch.sent / tree.bytes)
            asked.add(system, epoch.requests)
        if system == OURS:
            ranges = epoch.ranges
            rate.add(CURL, curl(bench, far, tree, ranges).rate)
    return [rate, first, sent, asked]


def rank(bench, far, tree):
    """A node of two: of the files of its rank alone."""
    title = f"{STORE}, rank 0 of 2"
    rate = Measure(title, "epoch", "files/s", (), "remote")
    sent = Measure(title, "bytes", "x the data",
                   (Target(0.55, at_least=False, text="at most 0.55 x"),), "remote")
    for _, system in bench.turns((OURS,)):
        epoch = from_store(bench, far, tree, reader=("--ranks", 2))
        rate.add(system, epoch.rate)
        sent.add(system, epoch.sent / tree.bytes)
    return [rate, sent]


def unknown(bench, far, tree):
    first = Measure(WITH_CACHE, "first epoch", "files/s", (Target(3, GETS),), "remote")
    again = Measure(WITH_CACHE, AGAIN, "files/s", (Target(0.9, LOCAL),), "remote")
    for _, system in bench.turns((OURS, LOCAL, GETS)):
        if system == GETS:
            first.add(GETS, gets(bench, far, tree).rate)
        elif system == LOCAL:
            bench.make_cold(tree, "remote")
            again.add(LOCAL, mounted(bench, tree.pack, tree, "--oracle=off").rate)
        else:
            with tempfile.TemporaryDirectory(dir=bench.kept) as place:
                words = ["--oracle=off", f"--cache-dir={place}"]
                first.add(OURS, from_store(bench, far, tree, *words).rate)
                bench.make_cold(tree, "remote")
                again.add(OURS, from_store(bench, far, tree, *words).rate)
            store_into_memory(tree)
    return [first, again]


def others(url, name):
    """Others' mounts of a bucket, with all that they can keep of its names: {system: (command,
    source)}. AWS_CA_BUNDLE ends rclone."""
    return {
        "s3fs": (["s3fs", "-o", f"url={url},use_path_request_style,public_bucket=1", "-o",
                  "listobjectsv2,ro,max_stat_cache_size=2000000,stat_cache_expire=86400"], name),
        "rclone": (["env", "-u", "AWS_CA_BUNDLE", "rclone", "mount", "--daemon", "--read-only",
                    "--config=/dev/null", "--s3-provider=Other", f"--s3-endpoint={url}",
                    "--s3-list-version=2", "--use-server-modtime", "--dir-cache-time=24h",
                    "--vfs-read-chunk-size=0"], f":s3:{name}")}


def loose(seed, bench, far, tree):
    """The same files as loose objects, and their pack."""
    title = OBJECTS[seed]
    name = os.path.basename(tree.root)
    command = [bench.foldfs, f"--pool={int(MEMORY * tree.bytes)}", "--anonymous",
               f"--endpoint={far.url}", "--relist"]
    ours = {OURS: (command, f"s3://{name}/"), OFF: ([*command, "--oracle=off"], f"s3://{name}/"),
            PACKED: (command, url_of(far, tree))}
    theirs = others(far.url, name)
    rate = Measure(title, EPOCH, "files/s", (Target(8, GETS), Target(0.7, PACKED)), "remote")
    before = Measure(title, NOT_KNOWN, "files/s", (Target(1, GETS),), "remote")
    ready = Measure(title, "mount", "s", (Target(2, at_least=False, text="at most 2 s"),), "remote")
    for _, system in bench.turns((*ours, GETS, *(theirs if seed == 42 else ()))):
        if system == GETS:
            epoch = read(bench, tree.list, "--store", f"{far.url}/{name}", "--seed", seed,
                         "--seconds", GETTING)
            rate.add(GETS, epoch.rate)
            before.add(GETS, epoch.rate)
        elif system in theirs:
            try:
                with Mount(*theirs[system]) as mount:
                    rate.add(system, read(bench, mount.path, "--files", PART).rate)
                    ready.add(system, mount.ready_s)
            except (MountError, OSError, subprocess.SubprocessError) as error:
                rate.absent[system] = command_missing(system) or str(error)
        else:
            with Mount(*ours[system]) as mount:
                epoch = read(bench, mount.path, "--seed", seed)
            (before if system == OFF else rate).add(OURS if system == OFF else system, epoch.rate)
            if system == OURS:
                ready.add(OURS, mount.ready_s)
    yield from (rate, before, ready)


def packing(bench, far, tree):
    """Their pack made from there, and what one curl reads."""
    name = os.path.basename(tree.root)
    rate = Measure(PACKING, "command", "files/s", (Target(0.8, CURL_ALL),), "remote")
    with open(tree.list, encoding="utf-8") as paths, tempfile.NamedTemporaryFile("w") as config:
        config.writelines(f'url = "{far.url}/{name}/{path}"\noutput = "/dev/null"\n'
                          for path in paths.read().splitlines())
        config.flush()
        commands = {OURS: lambda target: [bench.foldpack, "create", "-q", "--anonymous",
                                          f"--endpoint={far.url}", f"s3://{name}/", target],
                    CURL_ALL: lambda _: ["curl", "-s", "--parallel", "--parallel-max", PARALLEL,
                                         "-K", config.name]}
        for _, system in bench.turns(commands):
            with tempfile.TemporaryDirectory(dir=bench.kept) as place:
                command = commands[system](f"{place}/pack")
                seconds = bench.script("timed.py", *command)["wall_s"]
            rate.add(system, tree.files / seconds)
    return [rate]


def store_into_memory(tree):
    """Else the store waits for its disk."""
    for path in tree.paths():
        if path not in (tree.image, tree.erofs):
            machine.into_memory(path)


def with_store(bench, measure, listed=False):
    reason = store.missing()
    if reason:
        raise Failed(reason)
    tree = bench.photos()
    bench.load_libraries()
    store_into_memory(tree)
    with store.Store(bench.kept, DELAY_MS, RATE_MB,
                     os.path.basename(tree.root) if listed else None) as far:
        yield from measure(bench, far, tree)


def remote(bench):
    """A pack that lies far away."""
    yield from with_store(bench, known)
    yield from with_store(bench, rank)


def folder(title, root, least, bench):
    """The files as they are, below `root` (a context: new for each run), mounted from there."""
    tree = bench.photos()
    rate = Measure(title, EPOCH, "files/s", (Target(least, LOOSE),))
    before = Measure(title, NOT_KNOWN, "files/s", (Target(0.95, LOOSE),))
    command = [bench.foldfs, f"--pool={int(MEMORY * tree.bytes)}", "--relist"]
    for _, system in bench.turns((OURS, OFF, LOOSE)):
        with contextlib.ExitStack() as stack:
            path = stack.enter_context(root(bench, tree))
            if system != LOOSE:
                words = ["--oracle=off"] if system == OFF else []
                path = stack.enter_context(Mount([*command, *words], path)).path
            epoch = read(bench, path, "--workers", 2)
        for measure in {OURS: [rate], OFF: [before], LOOSE: [rate, before]}[system]:
            measure.add(LOOSE if system == LOOSE else OURS, epoch.rate)
    yield from (rate, before)


@contextlib.contextmanager
def far_folder(bench, tree):
    """On a server that has all in memory."""
    bench.read(tree.root, tree, 0)
    with Net(bench.netfs, bench.kept, NET_DELAY_US, NET_CAP_MB) as net:
        yield tree.seen_through(net.path).root


@contextlib.contextmanager
def near_folder(bench, tree):
    bench.make_cold(tree, "nvme")
    yield tree.root


def prefix(bench):
    """Loose objects of a bucket, and folders, with nothing packed."""
    rows = {title: with_store(bench, functools.partial(loose, seed), listed=True)
            for seed, title in OBJECTS.items()}
    rows[PACKING] = with_store(bench, packing, listed=True)
    for device, root, least in (("net", far_folder, 1.8), ("nvme", near_folder, 0.9)):
        rows[FOLDERS[device]] = folder(FOLDERS[device], root, least, bench)
    for title, measures in rows.items():
        if bench.only in title:
            yield from measures


def disk_cache(bench):
    """The same, with a disk cache."""
    yield from with_store(bench, unknown)
