"""How long it takes until a pack of a million files in an object store can be used, and how much
memory that takes: nothing of it here, and all of it in a disk cache."""

import os
import tempfile
import time

import store
from cases_remote import DELAY_MS, RATE_MB
from harness import Failed
from mounts import Mount
from report import OURS, Measure, Target

CACHED = "2nd mount, --cache-dir"


def at_most(limit, unit):
    return Target(limit, at_least=False, text=f"at most {limit:g} {unit}")


def a_file(path):
    """The attributes of a file in the first folder."""
    for folder, _, names in os.walk(path):
        if names:
            return os.stat(os.path.join(folder, min(names)))
    raise Failed(f"{path}: no files")


def wait_until_complete(bench, mount):
    while bench.stats(mount)["disk_cache"]["state"] != "complete":
        time.sleep(0.1)


def opening(bench):
    """A pack that lies far away, of very many files."""
    reason = store.missing()
    if reason:
        raise Failed(reason)
    pack = bench.tiny_pack()
    title = f"{pack.files:,} files, store {DELAY_MS} ms, {RATE_MB} MB/s a connection"
    ready = Measure(title, "mount, list /, stat a file", "s", (at_most(2, "s"),), "remote")
    again = Measure(title, f"the same, {CACHED}", "s", (at_most(0.1, "s"),), "remote")
    memory = Measure(title, "memory of the daemon", "MB", (at_most(200, "MB"),), "remote")
    with store.Store(bench.kept, DELAY_MS, RATE_MB) as far, \
            tempfile.TemporaryDirectory(prefix="foldfs-bench-") as cache:
        url = f"{far.url}/{os.path.basename(pack.path)}"
        cached = [bench.foldfs, f"--cache-dir={cache},4G"]
        with Mount([*cached, "--prefetch"], url) as mount:
            wait_until_complete(bench, mount)
        for _ in range(bench.rounds):
            for command, measure in (([bench.foldfs], ready), (cached, again)):
                began = time.monotonic()
                with Mount(command, url) as mount:
                    a_file(mount.path)
                    measure.add(OURS, time.monotonic() - began)
                    if measure is ready:
                        memory.add(OURS, mount.memory("VmHWM") / 1e6)
    return [ready, again, memory]
