"""The same photos in one pack and in eight, as `foldpack create --part` deals them: a shard is to
cost nothing. Epochs of an unmodified DataLoader, its order known and unknown."""

import copy
import glob

import trees
from cases_epochs import DRAWN, Row, cold
from report import OURS, Measure, Target

ONE = "one pack"
SHARDS = 8
ROWS = (Row("nvme", quick=True), Row("nvme", seed=DRAWN), Row("nvme", side=256),
        Row("nvme", memory=0.57, epochs=2), Row("gp3"))
TARGETS = (Target(0.97, ONE),)


def cut(tree):
    """The tree with its shards as its pack, and all that must not be in memory."""
    packs = f"{tree.root}-shards-*-of-{SHARDS:05}.lmdb"
    made = glob.glob(packs)
    if len(made) < SHARDS or not all(trees.newer(pack, tree.pack) for pack in made):
        for part in range(SHARDS):
            trees.run(tree.foldpack, "create", "-q", "--force", f"--part={part}/{SHARDS}",
                      tree.root, f"{tree.root}-shards.lmdb")
    shards = copy.copy(tree)
    shards.pack, shards.bytes = packs, tree.bytes
    shards.paths = lambda: [*tree.paths(), *glob.glob(packs)]
    return shards


def measure(bench, row):
    tree = row.tree(bench)
    shards = cut(tree)
    section = f"{SHARDS} shards, {row.title()}"
    rates = [Measure(section, f"epoch {epoch}", "files/s", TARGETS, row.device)
             for epoch in range(row.epochs)]
    first = Measure(section, "first batch", "s", (), row.device)
    usable = Measure(section, "mount until usable", "ms", (), row.device)
    seen = copy.copy(tree)
    seen.paths = shards.paths
    for _, system in bench.turns((OURS, ONE)):
        with cold(bench, row, seen) as (_, group), \
                bench.mount(OURS, shards if system == OURS else tree, group) as mount:
            epochs = bench.epochs(mount.path, "--workers", row.workers, "--epochs", row.epochs,
                                  "--seed", row.seed, group=group)
        usable.add(system, 1e3 * mount.ready_s)
        first.add(system, epochs[0]["first"])
        for rate, epoch in zip(rates, epochs):
            rate.add(system, epoch["files_per_s"])
    return [*rates, first, usable]


def shards(bench):
    return [found for row in ROWS if row.quick or not bench.quick
            for found in measure(bench, row)]
