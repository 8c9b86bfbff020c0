"""What a user gains: a first epoch, shuffled, from each storage and of files of each size, foldfs
compared with loose files."""

import contextlib

from cases_cold import PART, network, seconds_for_peers
from peers import FOLDFS, LOOSE_FILES, Foldfs, Scene
from profiles import Group
from report import FILES_READ, Measure

THREADS = {"hdd": 4, "gp3": 4, "sata": 4, "nvme": 2, "net": 8}
SIDES = {"106 KB": 0, "27 KB": 256, "3 KB": 64}


@contextlib.contextmanager
def cold(bench, device, tree):
    if device == "net":
        with network(bench, tree) as (seen, group):
            yield seen, group
        return
    bench.make_cold(tree, device)
    with Group(profile=device, path=tree.pack) as group:
        yield tree, group


def rate_of(bench, device, tree, peer, number):
    with cold(bench, device, tree) as (seen, group):
        part = PART if device == "hdd" else ()
        return peer.run(Scene(bench, seen, group, THREADS[device], number,
                              seconds_for_peers(bench), part)).files_per_s


def gain(bench):
    builds = (FOLDFS, *(Foldfs(name) for name in bench.against))
    for device, threads in THREADS.items():
        for size, side in SIDES.items():
            title = f"{device}, {size}, {threads} threads"
            if bench.only not in title:
                continue
            tree = bench.small_photos(side) if side else bench.photos()
            rate = Measure(title, FILES_READ, "files/s", (), device)
            for number, peer in bench.turns((*builds, LOOSE_FILES)):
                rate.add(peer.name, rate_of(bench, device, tree, peer, number))
            yield rate
