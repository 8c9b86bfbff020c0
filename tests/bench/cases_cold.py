"""A first epoch, shuffled, from each kind of device, read by a C program from foldfs and from what
users would pick instead. Reader and server run in a group, which limits and counts what they do."""

import sys

from harness import SQUASHFUSE
from profiles import PROFILES, Group
from report import FILES_READ, LOOSE, OURS, Measure

LMDB = "py-lmdb"
SYSTEMS = (OURS, LOOSE, SQUASHFUSE, LMDB)
CASES = {("hdd", 4): SYSTEMS, ("gp3", 4): SYSTEMS, ("sata", 4): SYSTEMS, ("nvme", 1): SYSTEMS[:3],
         ("nvme", 2): SYSTEMS, ("nvme", 8): SYSTEMS[:3]}
PART = ("--files", "400")  # of loose files on a hard disk: 20,000 would take minutes


def title(device, threads):
    return f"{device}, {threads} thread" + "s" * (threads > 1)


def check_limits(bench, case, system, group, result):
    """A limit that does not bind what it should makes a figure worthless: say so. Reads of less
    than the files mean that somebody else did them."""
    counted = group.device_bytes()
    if PROFILES[case[0]] and counted < 0.9 * result["bytes"]:
        bench.note(f"{title(*case)}: {system} read {result['bytes'] / 1e6:.0f} MB, of which only "
                   f"{counted / 1e6:.0f} MB were counted as its own: not limited")


def read(bench, tree, case, system, number):
    """Files a second: foldfs reads all, others for some seconds."""
    device, threads = case
    limit = () if system == OURS else ("--seconds", str(bench.seconds_for_others()))
    bench.make_cold(tree, device)
    with Group(profile=device, path=tree.pack) as group:
        if system == LMDB:
            result = bench.script("lmdb_reader.py", tree.pack, tree.list, "--workers", threads,
                                  "--seed", number, *limit, group=group)
        else:
            limit += PART if device == "hdd" and system != OURS else ()
            with bench.root_of(system, tree, group) as root:
                result = bench.read(root, tree, number, *limit, threads=threads, group=group)
        check_limits(bench, case, system, group, result)
    return result["files_per_s"]


def cold(bench):
    """Case by case: what was measured stays where a later one fails."""
    tree = bench.photos()
    bench.note("py-lmdb: with MDB_NORDAHEAD")
    for case, systems in CASES.items():
        if bench.only in title(*case):
            print(f"bench: {title(*case)}", file=sys.stderr)
            rate = Measure(title(*case), FILES_READ, "files/s")
            for number, system in bench.turns(systems):
                rate.add(system, read(bench, tree, case, system, number))
            yield rate
