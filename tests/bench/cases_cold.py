"""A first epoch, shuffled, from each kind of device: foldfs, its peers, and the device's bound."""

import contextlib
import dataclasses
import os

import machine
import peers
from harness import SQUASHFUSE
from mounts import Net
from peers import EROFS, EVERYBODY, FOLDFS, LMDB, LOOSE_FILES, SQUASHFS, SQUASHFUSE_LL
from peers import Bandwidth, Scene
from profiles import PROFILES, Group
from report import FILES_READ, LOOSE, OURS, Measure, Target

NET_DELAY_US, NET_CAP_MB = 500, 1000
FIRST = 256  # images of a first batch
STREAMING = 0.25  # of the files are read by then
PART = ("--files", "400")  # of loose files on a hard disk: 20,000 would take minutes
LMDB_NAMES = tuple(peer.name for peer in LMDB)


@dataclasses.dataclass(frozen=True)
class Case:
    profile: str
    threads: int
    peers: tuple
    targets: tuple = ()
    part: tuple = ()  # options of the reader for foldfs's peers
    not_quick: tuple = ()  # peers that a quick run leaves out

    @property
    def title(self):
        threads = f"{self.threads} thread" + "s" * (self.threads > 1)
        return f"{self.profile}, {threads}"


def describe(bench):
    """(name, value) pairs of the head of the report."""
    limits = "; ".join(f"{name} {limit.iops:,} requests/s, {limit.bytes_per_s / 1e6:,.0f} MB/s"
                       for name, limit in PROFILES.items() if limit)
    tree = bench.photos()
    return [("files", f"{tree.files:,}, {tree.bytes / 1e9:.2f} GB, {os.path.basename(tree.root)}"),
            ("devices", f"nvme as it is; limited by the block I/O controller, reader and server "
                        f"together: {limits}"),
            ("net", f"emulated: {NET_DELAY_US} us more for each LOOKUP, OPEN, GETATTR and READ, "
                    f"{NET_CAP_MB} MB/s, the server's files in memory"),
            ("peers read", f"for {seconds_for_peers(bench)} s at most, a part of the files where "
                           "the device is slow; foldfs reads all"),
            ("peers on hdd", f"{PART[1]} files at most; such a part begins with the names and "
                             "inodes of loose files, see their last quarter")]


def seconds_for_peers(bench):
    """How long one of them may read: a part of the files where the device is slow."""
    return 4 if bench.quick else 30


def rate_from(curve, begin):
    """Files a second after step `begin` of a curve; its last step is not a whole one."""
    steps = len(curve) - 2 - begin
    return (curve[-2] - curve[begin]) / steps * 10 if steps > 0 else 0


class Costs:
    """What a run costs besides time, as measures beside the one of its rate."""

    def __init__(self, title, profile):
        def measure(name, unit):
            return Measure(title, name, unit, profile=profile)
        self.bandwidth = measure("read from the device", "MB/s")
        self.requests = measure("requests to the device", "1/s")
        self.late = measure("read in the last quarter", "files/s")
        self.all_cpu = measure("CPU of reader and server", "s/GB")
        self.daemon_cpu = measure("CPU of the daemon", "s/GB")

    def measures(self):
        found = (self.late, self.bandwidth, self.requests, self.all_cpu, self.daemon_cpu)
        return [measure for measure in found if measure.values]

    def add(self, name, run):
        if not run.costs:
            return
        self.bandwidth.add(name, run.costs["device_bytes"] / 1e6 / run.seconds)
        self.requests.add(name, run.costs["device_requests"] / run.seconds)
        if name != OURS and len(run.curve or ()) > 10:
            self.late.add(name, rate_from(run.curve, len(run.curve) * 3 // 4))
        for measure, cpu_s in ((self.all_cpu, run.costs["cpu_s"]),
                               (self.daemon_cpu, run.daemon_cpu_s)):
            if cpu_s:
                measure.add(name, cpu_s / run.bytes * 1e9)


def present(bench, tree, wanted, measure):
    """Those of the peers that can be measured here; why not the others goes into measure."""
    found = []
    for peer in wanted:
        why = peer.missing(bench, tree)
        if why:
            measure.absent[peer.name] = why
        else:
            found.append(peer)
    return found


def check_limits(bench, case, peer, run):
    """A limit that does not bind what it should makes a figure worthless: say so. The loop
    device's and the daemons' reads must count as the group's; reads of less than the files
    mean that somebody else did them."""
    if not run.costs or not PROFILES[case.profile]:
        return
    counted = run.costs["device_bytes"]
    if counted < 0.9 * run.bytes:
        bench.note(f"{case.title}: {peer.name} read {run.bytes / 1e6:.0f} MB, of which only "
                   f"{counted / 1e6:.0f} MB were counted as its own: not limited")


def run_cold(bench, case):
    """All peers of a case in turns: the measure of files read, and what they cost."""
    tree = bench.photos()
    rate = Measure(case.title, FILES_READ, "files/s", case.targets, case.profile)
    costs = Costs(case.title, case.profile)
    wanted = [peer for peer in case.peers if not (bench.quick and peer in case.not_quick)]
    for number, peer in bench.turns(present(bench, tree, wanted, rate)):
        bench.make_cold(tree, case.profile)
        with Group(profile=case.profile, path=tree.pack) as group:
            run = peer.run(Scene(bench, tree, group, case.threads, number,
                                 seconds_for_peers(bench), case.part))
            rate.add(peer.name, run.files_per_s)
            costs.add(peer.name, run)
            check_limits(bench, case, peer, run)
        if run.curve:
            rate.curves[peer.name] = run.curve
    return [rate, *costs.measures()]


def note_lmdb(bench):
    bench.note("py-lmdb: with MDB_NORDAHEAD. With readahead, py-lmdb's default, each page fault "
               "reads as much as the device's read_ahead_kb says; where that is megabytes, as "
               "some clouds set it (128 KiB is usual), it streams the whole pack")


def nvme(bench):
    note_lmdb(bench)
    fio = peers.Fio()
    measures = run_cold(bench, Case("nvme", 2, (*EVERYBODY, fio), (
        Target(1.25, LOOSE), Target(3, SQUASHFUSE), Target(0.7, fio.name),
        Target(4, LMDB_NAMES[0]))))
    for threads, least in ((1, 1.5), (8, 1.0)):
        measures += run_cold(bench, Case("nvme", threads, (FOLDFS, LOOSE_FILES, SQUASHFUSE_LL),
                                         (Target(least, LOOSE),), not_quick=(SQUASHFUSE_LL,)))
    return measures


def bandwidth_of(profile):
    return Bandwidth("the profile's bandwidth", PROFILES[profile].bytes_per_s)


def sata(bench):
    note_lmdb(bench)
    bound = bandwidth_of("sata")
    return run_cold(bench, Case("sata", 4, (*EVERYBODY, bound), (Target(0.95, bound.name),),
                                not_quick=(SQUASHFS, EROFS, *LMDB)))


def gp3(bench):
    note_lmdb(bench)
    bound = bandwidth_of("gp3")
    return run_cold(bench, Case("gp3", 4, (*EVERYBODY, bound),
                                (Target(0.95, bound.name), Target(9, LMDB_NAMES[0])),
                                not_quick=(SQUASHFS, EROFS, LMDB[1])))


def hdd(bench):
    note_lmdb(bench)
    stream = peers.Stream()
    measures = run_cold(bench, Case("hdd", 4, (*EVERYBODY, stream), (
        Target(50, LOOSE), Target(15, SQUASHFUSE), Target(0.85, stream.name),
        Target(100, LMDB_NAMES[0])), PART, not_quick=(SQUASHFS, EROFS, LMDB[1])))
    return measures + first_images(bench)


def first_images(bench):
    """How long a training waits for its first images, which must not wait for the stream."""
    tree = bench.photos()
    wait = Measure("hdd, 2 threads, oracle off", f"time to the first {FIRST} images",
                   "s", (Target(0.5, LOOSE, at_least=False),), "hdd")
    for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
        bench.make_cold(tree, "hdd")
        with Group(profile="hdd", path=tree.pack) as group:
            run = peer.run(Scene(bench, tree, group, 2, number, options="oracle=off",
                                 reading=("--files", str(FIRST))))
        wait.add(peer.name, run.seconds)
    return [wait]


@contextlib.contextmanager
def network(bench, tree):
    """The tree behind a network filesystem whose server has everything in memory, and what
    holds the reader and foldfs."""
    machine.make_cold(tree.paths())
    machine.into_memory(tree.pack)
    bench.read(tree.root, tree, 0)
    with Net(bench.netfs, bench.kept, NET_DELAY_US, NET_CAP_MB) as net, \
            Group(profile="nvme", path=tree.pack) as group:
        yield tree.seen_through(net.path), group


def net(bench):
    tree = bench.photos()
    cap = Bandwidth("the link's cap", NET_CAP_MB * 1e6)
    title = "net (emulated), 8 threads"
    rate = Measure(title, FILES_READ, "files/s", (Target(5, LOOSE),), "net")
    streaming = Measure(title, "once streaming", "files/s", (Target(0.8, cap.name),), "net")
    for number, peer in bench.turns((FOLDFS, LOOSE_FILES)):
        with network(bench, tree) as (seen, group):
            scene = Scene(bench, seen, group, 8, number, seconds_for_peers(bench))
            run = peer.run(scene)
        rate.add(peer.name, run.files_per_s)
        rate.curves[peer.name] = run.curve
        if peer is FOLDFS:
            begin = next(step for step, files in enumerate(run.curve)
                         if files >= STREAMING * run.curve[-1])
            streaming.add(OURS, rate_from(run.curve, begin))
            streaming.add(cap.name, cap.run(scene).files_per_s)
    return [rate, streaming]
