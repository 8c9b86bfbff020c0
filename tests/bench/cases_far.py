"""Far storage: an epoch of ImageNet, simulated on the planner's own code, beside what a model says
of readers that ask for one file after the other."""

import json
import math
import subprocess

from report import OURS, Measure, Target

MODEL = "model"
LATENCY_S, RATE, LINK = 0.03, 50e6, 1.25e9  # bytes a second
FILES, FILE_BYTES = 1281167, 110e3
QUICK_FILES = 100000
LINE_SHARE = 0.9  # of the link, which a known order is to fill


def modelled(case, data):
    """Files a second: those of a link that is full; or of workers that wait for each file that a
    pass over all, kept in memory until used, has not brought before."""
    line = LINK / FILE_BYTES
    if case["known"]:
        return line * case["nodes"]
    if case["nodes"] > 1:
        return None
    share = min(case["memory_gb"] * 1e9 / data, 1 - 1e-9)
    misses = 1 - share + share * math.log(share)
    return min(line, case["workers"] / (LATENCY_S + FILE_BYTES / RATE) / misses)


def readers(case):
    each = f" on each of {case['nodes']} nodes" if case["nodes"] > 1 else ""
    return f"order {'known' if case['known'] else 'unknown'}, {case['workers']} workers{each}"


def measures_of(case, files):
    section = f"Far storage, simulated: {files:,} files, {readers(case)}"
    memory = f"{case['memory_gb']:g} GB"
    least = LINE_SHARE * LINK / FILE_BYTES * case["nodes"]
    targets = (Target(least, text=f"at least {least:,.0f}"),) if case["known"] else ()
    rate = Measure(section, memory, "files/s", targets if files == FILES else ())
    rate.add(OURS, case["files_per_s"])
    model = modelled(case, files * FILE_BYTES)
    if model:
        rate.add(MODEL, model)
    requests = Measure(section, memory, "thousand requests")
    requests.add(OURS, case["requests"] / 1e3)
    return [rate, requests]


def flights(bench):
    files = QUICK_FILES if bench.quick else FILES
    lines = subprocess.run([bench.flights, str(files)], check=True, capture_output=True, text=True)
    for line in lines.stdout.splitlines():
        yield from measures_of(json.loads(line), files)
