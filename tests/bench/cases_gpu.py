"""A training on a GPU, over a mount and over loose files: images a second, and the same losses."""

import os

import trees
from harness import Failed
from report import LOOSE, OURS, Measure

HAS_GPU = "import json, torch; print(json.dumps(torch.cuda.is_available()))"
# On processors, this tries the script; it says nothing of a training.
TRIED = ("--device", "cpu", "--model", "squeezenet1_1", "--pixels", "64", "--images", "384")


def gpu(bench):
    words = ()
    if not bench.json(trees.PYTHON, "-c", HAS_GPU):
        bench.note("section gpu: no GPU, or none that torch can use; with FOLDFS_BENCH_GPU=cpu, "
                   "processors try a few steps of a small network")
        if os.environ.get("FOLDFS_BENCH_GPU") != "cpu":
            return []
        words = TRIED
    tree = bench.few_photos()
    workers = min(len(os.sched_getaffinity(0)), 16)
    device = "processors" if words else "a GPU"
    rate = Measure(f"{device}, {workers} workers", "trained", "images/s")
    losses = {}
    for number, system in bench.turns((OURS, LOOSE, *bench.against)):
        bench.make_cold(tree, "nvme")
        with bench.root_of(system, tree) as root:
            found = bench.script("train.py", root, "--workers", workers, "--seed", number, *words)
        rate.add(system, found["images_per_s"])
        if losses.setdefault(number, found["losses"]) != found["losses"]:
            raise Failed(f"round {number}: {system} has other losses than before")
    bench.note(f"section gpu: the losses of all {len(losses[0])} steps are the same in each round")
    return [rate]
