"""A pack in an object store: an epoch of an unmodified DataLoader through a mount of its URL, with
the oracle and without, beside a Dataset that GETs a file at a time, and curl with the ranges that
foldfs asked for; and with a disk cache, while the order is not known. And the files as loose
objects, and in folders, through mounts of these."""

import contextlib
import functools
import os
import shutil
import subprocess
import tempfile
import time

import machine
import store
from harness import NET_CAP_MB, NET_DELAY_US, Failed
from mounts import MountError, mount, net
from report import LOOSE, OURS, Measure

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


def read(bench, root, *options):
    [rate] = bench.epochs(root, "--workers", WORKERS, "--seed", 42, *options)
    return rate


def url_of(far, tree):
    return f"{far.url}/{os.path.basename(tree.pack)}"


def mounted(bench, pack, tree, *options, reader=()):
    command = [bench.foldfs, f"--pool={int(MEMORY * tree.bytes)}", *options]
    with mount(command, pack) as path:
        return read(bench, path, *reader)


def gets(bench, far, tree, *options):
    return read(bench, tree.list, "--store", f"{far.url}/{os.path.basename(tree.root)}", *options)


def curl(url, tree, ranges):
    """The same ranges, about as many at once. One curl does not take more than some hundreds."""
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
        return tree.files / (time.monotonic() - began)


def known(bench, far, tree):
    rate, url = Measure(KNOWN, EPOCH, "files/s"), url_of(far, tree)
    for _, system in bench.turns((OURS, OFF, GETS)):
        if system == GETS:
            rate.add(GETS, gets(bench, far, tree))
        elif system == OFF:
            rate.add(OFF, mounted(bench, url, tree, "--oracle=off"))
        else:
            far.forget()
            rate.add(OURS, mounted(bench, url, tree))
            rate.add(CURL, curl(url, tree, [range_ for _, range_ in far.asked()]))
    yield rate


def unknown(bench, far, tree):
    first = Measure(WITH_CACHE, "first epoch", "files/s")
    again = Measure(WITH_CACHE, AGAIN, "files/s")
    for _, system in bench.turns((OURS, LOCAL, GETS)):
        if system == GETS:
            first.add(GETS, gets(bench, far, tree))
        elif system == LOCAL:
            bench.make_cold(tree, "remote")
            again.add(LOCAL, mounted(bench, tree.pack, tree, "--oracle=off"))
        else:
            with tempfile.TemporaryDirectory(dir=bench.kept) as place:
                words = [url_of(far, tree), tree, "--oracle=off", f"--cache-dir={place}"]
                first.add(OURS, mounted(bench, *words))
                bench.make_cold(tree, "remote")
                again.add(OURS, mounted(bench, *words))
            store_into_memory(tree)
    yield from (first, again)


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
    name = os.path.basename(tree.root)
    words = ["--anonymous", f"--endpoint={far.url}", "--relist"]
    ours = {OURS: f"s3://{name}/", PACKED: url_of(far, tree)}
    theirs = others(far.url, name) if seed == 42 else {}
    rate = Measure(OBJECTS[seed], EPOCH, "files/s")
    for _, system in bench.turns((*ours, GETS, *theirs)):
        if system == GETS:
            rate.add(GETS, gets(bench, far, tree, "--seed", seed, "--seconds", GETTING))
        elif system in ours:
            rate.add(system, mounted(bench, ours[system], tree, *words,
                                     reader=("--seed", seed)))
        elif not shutil.which(system):
            rate.absent[system] = f"{system} is not installed"
        else:
            try:
                with mount(*theirs[system]) as path:
                    rate.add(system, read(bench, path, "--files", PART))
            except (MountError, OSError, Failed) as error:
                rate.absent[system] = str(error)
    yield rate


def packing(bench, far, tree):
    """Their pack made from there, and what one curl reads."""
    name = os.path.basename(tree.root)
    rate = Measure(PACKING, "command", "files/s")
    with open(tree.list, encoding="utf-8") as paths, tempfile.NamedTemporaryFile("w") as config:
        config.writelines(f'url = "{far.url}/{name}/{path}"\noutput = "/dev/null"\n'
                          for path in paths.read().splitlines())
        config.flush()
        commands = {OURS: [bench.foldpack, "create", "-q", "--anonymous",
                           f"--endpoint={far.url}", f"s3://{name}/"],
                    CURL_ALL: ["curl", "-s", "--parallel", "--parallel-max", str(PARALLEL),
                               "-K", config.name]}
        for _, system in bench.turns(commands):
            with tempfile.TemporaryDirectory(dir=bench.kept) as place:
                target = [f"{place}/pack"] if system == OURS else []
                rate.add(system, tree.files / bench.seconds(*commands[system], *target))
    yield rate


def store_into_memory(tree):
    """Else the store waits for its disk."""
    for path in tree.paths():
        if path != tree.image:
            machine.into_memory(path)


def with_store(bench, measure, listed=False):
    reason = store.missing()
    if reason:
        raise Failed(reason)
    tree = bench.photos()
    store_into_memory(tree)
    with store.Store(bench.kept, DELAY_MS, RATE_MB,
                     os.path.basename(tree.root) if listed else None) as far:
        yield from measure(bench, far, tree)


def folder(bench, device):
    """The files as they are, below a folder that is new for each run, mounted from there."""
    tree = bench.photos()
    measures = {OURS: Measure(FOLDERS[device], EPOCH, "files/s"),
                OFF: Measure(FOLDERS[device], NOT_KNOWN, "files/s")}
    for _, system in bench.turns((*measures, LOOSE)):
        with folder_on(bench, device, tree) as path:
            if system == LOOSE:
                rate = read(bench, path, "--workers", 2)
            else:
                words = ["--oracle=off"] if system == OFF else []
                rate = mounted(bench, path, tree, "--relist", *words, reader=("--workers", 2))
        for measure in [measures[system]] if system in measures else measures.values():
            measure.add(LOOSE if system == LOOSE else OURS, rate)
    yield from measures.values()


@contextlib.contextmanager
def folder_on(bench, device, tree):
    """Cold on this disk, or on a server that has all in memory."""
    if device == "nvme":
        bench.make_cold(tree, "nvme")
        yield tree.root
        return
    bench.read(tree.root, tree, 0)
    with net(bench.netfs, bench.kept, NET_DELAY_US, NET_CAP_MB) as path:
        yield tree.seen_through(path).root


def remote(bench):
    """A pack that lies far away."""
    yield from with_store(bench, known)


def disk_cache(bench):
    """The same, with a disk cache."""
    yield from with_store(bench, unknown)


def prefix(bench):
    """Loose objects of a bucket, and folders, with nothing packed."""
    rows = {title: with_store(bench, functools.partial(loose, seed), listed=True)
            for seed, title in OBJECTS.items()}
    rows[PACKING] = with_store(bench, packing, listed=True)
    rows.update({title: folder(bench, device) for device, title in FOLDERS.items()})
    for title, measures in rows.items():
        if bench.only in title:
            yield from measures
