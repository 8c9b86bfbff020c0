"""What memory is needed, and who shares it: less of it than data, several jobs on one node,
many readers of a small pool, a rank's share of the files."""

import contextlib
import copy
import os
import random
import tempfile

from cases_cold import network, seconds_for_peers
from harness import Failed
from peers import FOLDFS, LOOSE_FILES, Scene
from profiles import PROFILES, Group
from report import FILES_READ, LOOSE, OURS, Measure, Target

MEMORY_SHARE = 0.57  # of the data
EPOCHS = 3
BOUND = "bound of what is kept"

JOBS = 4
ONE_JOB = "one job"

MANY = 64
MANY_POOL = 0.12  # of the data: 256 MB of 2.2 GB
MANY_MB_PER_S = 25  # what readers that never stall reach anywhere but on a hard disk
ROW_BYTES = 40  # of the index, a file

RANKS = 16


def bound_rate(tree, stats, bytes_per_s):
    """Files a second when what pool and kernel keep is never read again, and the rest always."""
    held = min(stats["pool"]["payload"] + stats["pool"]["page_cache"], tree.bytes)
    mean = tree.bytes / tree.files
    return bytes_per_s / (mean * max(1 - held / tree.bytes, 0.01))


def epochs(bench, tree, peer, number):
    """(files a second after the first epoch, the stats of foldfs at its end)"""
    limit = int(MEMORY_SHARE * tree.bytes)
    files = seconds = 0
    stats = None
    bench.make_cold(tree, "sata")
    with Group(profile="sata", memory=limit, path=tree.pack) as group:
        scene = Scene(bench, tree, group, 4)
        with peer.opened(scene) as (root, daemon):
            for epoch in range(EPOCHS):
                scene.seed = EPOCHS * number + epoch
                run = peer.read(scene, root, daemon)
                if epoch:
                    files, seconds = files + tree.files, seconds + run.seconds
                elif daemon:
                    stats = bench.stats(daemon)
    return files / seconds, stats


def memory(bench):
    """Reader and daemon together in a group with less memory than data."""
    tree = bench.photos()
    rate = Measure(f"sata, 4 threads, memory for {MEMORY_SHARE:.0%} of the data, "
                   f"epochs 2 to {EPOCHS}", FILES_READ, "files/s",
                   (Target(1.6, LOOSE), Target(0.9, BOUND)), "sata")
    for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
        files_per_s, stats = epochs(bench, tree, peer, number)
        rate.add(peer.name, files_per_s)
        if stats:
            rate.add(BOUND, bound_rate(tree, stats, PROFILES["sata"].bytes_per_s))
    return [rate]


def jobs_bytes(bench, tree, jobs, number):
    """(bytes read from the device, files a second) of jobs that run at the same time, each in
    an order of its own, with a mount of its own."""
    bench.make_cold(tree, "nvme")
    with Group(profile="nvme", path=tree.pack) as group, contextlib.ExitStack() as stack:
        mounts = [stack.enter_context(bench.mount(OURS, tree, group)) for _ in range(jobs)]
        readers = [bench.start(*bench.reading(mount.path, tree, JOBS * number + job),
                               group=group) for job, mount in enumerate(mounts)]
        results = [bench.finish(reader) for reader in readers]
        rate = sum(result["files"] for result in results) / max(result["wall_s"]
                                                                for result in results)
        return group.device_bytes(), rate


def jobs(bench):
    tree = bench.photos()
    title = f"nvme, {JOBS} jobs with 2 threads and a mount each, one pack"
    size = Measure(title, "device bytes", "MB",
                   (Target(1.2, ONE_JOB, at_least=False),), "nvme")
    rate = Measure(title, "files read by all", "files/s", profile="nvme")
    for number, system in bench.turns((OURS, ONE_JOB)):
        device, files_per_s = jobs_bytes(bench, tree, JOBS if system == OURS else 1, number)
        size.add(system, device / 1e6)
        rate.add(system, files_per_s)
    return [size, rate]


def many(bench):
    """More readers than a small pool can serve at once."""
    tree = bench.photos()
    pool = int(MANY_POOL * tree.bytes) >> 20 << 20
    most_s = tree.bytes / 1e6 / MANY_MB_PER_S
    title = f"nvme, {MANY} readers, pool of {pool >> 20} MiB for {tree.bytes / 1e9:.2f} GB"
    in_time = Target(most_s, at_least=False, text=f"at most {most_s:.0f} s")
    took, longest, over, wrong = measures = [
        Measure(title, "all files read", "s", (in_time,), "nvme"),
        Measure(title, "longest read of a file", "s", profile="nvme"),
        Measure(title, "memory beyond pool and index", "MB",
                (Target(32, at_least=False, text="at most 32 MB"),), "nvme"),
        Measure(title, "files that are wrong", "runs",
                (Target(0, at_least=False, text="none"),), "nvme"),
    ]
    right = bench.read(tree.root, tree, 0, "--verify")["sum"]
    index = ROW_BYTES * tree.files + os.path.getsize(tree.list)
    for number in range(bench.rounds):
        bench.make_cold(tree, "nvme")
        with bench.mount(OURS, tree, options=f"pool={pool}") as mount:
            try:
                result = bench.read(mount.path, tree, number, "--verify", threads=MANY,
                                    timeout=4 * most_s)
            except Failed as error:
                took.absent[OURS] = str(error)
                break
            took.add(OURS, result["wall_s"])
            longest.add(OURS, result["longest_us"] / 1e6)
            over.add(OURS, (mount.memory("VmHWM") - pool - index) / 1e6)
            wrong.add(OURS, int(result["sum"] != right))
    return measures


@contextlib.contextmanager
def share_of(tree, seed):
    """The tree with a list of a random share of its files."""
    with open(tree.list) as names, tempfile.NamedTemporaryFile("w") as listed:
        chosen = random.Random(seed).sample(list(names), tree.files // RANKS)
        listed.writelines(chosen)
        listed.flush()
        share = copy.copy(tree)
        share.list, share.files = listed.name, len(chosen)
        yield share


def subset(bench):
    """A rank that wants few files must not pull the whole pack over the network."""
    tree = bench.photos()
    title = f"net (emulated), 8 threads, a random 1/{RANKS} of the files"
    rate = Measure(title, FILES_READ, "files/s", profile="net")
    pulled = Measure(title, "amplification", "x",
                     (Target(1.25, at_least=False, text="at most 1.25"),), "net")
    for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
        with network(bench, tree) as (seen, group), share_of(seen, number) as share:
            scene = Scene(bench, share, group, 8, number, seconds_for_peers(bench))
            with peer.opened(scene) as (root, daemon):
                rate.add(peer.name, peer.read(scene, root, daemon).files_per_s)
                if daemon:
                    pulled.add(OURS, bench.stats(daemon)["amplification"])
    return [rate, pulled]
