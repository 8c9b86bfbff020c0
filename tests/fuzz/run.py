#!/usr/bin/python3
"""run.py [--runs N] BUILD SECONDS [NAME...]: fuzzes all targets of tests/fuzz/targets, or some.

An input that fails is left in BUILD/fuzz/finds, named after its target. A run of a minute or more
that covers fewer lines of the parser than tests/fuzz/targets says fails too: the target no longer
reaches what it is for. Inputs that led to new code stay in BUILD/fuzz/corpus, for the next run;
with 0 seconds, they and the seeds are only replayed; with --runs, a target ends after so many.

One input may take a second by the clock, FUZZ_PATIENCE times as much where the machine is busy.
Rates are runs per second of a processor."""

import argparse
import glob
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FULL = 60  # seconds that a run takes to cover what it must
TIMEOUT = int(os.environ.get("FUZZ_PATIENCE", 1))  # seconds
MEMORY = 512  # MB
PART = 1_000_000  # runs of one process: AddressSanitizer keeps 440 bytes of each thread that ended


class Target(NamedTuple):
    name: str
    size: str
    floor: int
    files: list


def targets():
    for line in (HERE / "targets").read_text().splitlines():
        if line and not line.startswith("#"):
            name, size, floor, files = line.split(maxsplit=3)
            yield Target(name, size, int(floor), [path for pattern in files.split()
                                                  for path in glob.glob(pattern)])


def covered(program, profiles, files):
    """Percent of their lines."""
    merged = program.with_suffix(".profdata")
    subprocess.run(["llvm-profdata", "merge", "-o", merged, *profiles], check=True)
    out = subprocess.run(["llvm-cov", "export", "-summary-only", f"-instr-profile={merged}",
                          program, *files], check=True, capture_output=True).stdout
    lines = json.loads(out)["data"][0]["totals"]["lines"]
    return 100 * lines["covered"] / lines["count"]


def processor_seconds():
    """What children have taken that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def command(target, folder):
    program, corpus, seeds = folder / f"fuzz_{target.name}", folder / "corpus" / target.name, \
        folder / "seeds" / target.name
    words = HERE / f"{target.name}.dict"
    for path in (corpus, seeds, folder / "finds"):
        path.mkdir(parents=True, exist_ok=True)
    return [program, f"-max_len={target.size}", f"-timeout={TIMEOUT}", f"-rss_limit_mb={MEMORY}",
            "-print_final_stats=1", f"-artifact_prefix={folder}/finds/{target.name}-", corpus,
            seeds, *([f"-dict={words}"] if words.exists() else [])]


class Failed(Exception):
    """What a target said."""


def run_parts(target, folder, seconds, runs):
    """(runs, seconds of the slowest, MB) of each process."""
    begin, done = time.monotonic(), 0
    while True:
        left = int(seconds - (time.monotonic() - begin))
        some = min(PART, runs - done) if seconds else 0
        run = subprocess.run([*command(target, folder), f"-runs={some}",
                              f"-max_total_time={max(left, 1)}"],
                             capture_output=True, check=False, env=os.environ | {
            "LLVM_PROFILE_FILE": f"{folder}/{target.name}-%p.profraw",
            "ASAN_OPTIONS": "quarantine_size_mb=16"})
        said = run.stderr.decode(errors="replace")
        if run.returncode:
            raise Failed([line for line in said.splitlines() if not re.match(r"#\d+\t", line)])
        part = [int(re.search(rf"stat::{name}: *(\d+)", said).group(1)) for name in
                ("number_of_executed_units", "slowest_unit_time_sec", "peak_rss_mb")]
        done += part[0]
        yield part
        if time.monotonic() - begin >= seconds - 1 or done >= runs:
            return


def fuzz(target, build, seconds, runs):
    """Whether all is well; a line says what was done."""
    folder = build / "fuzz"
    for old in folder.glob(f"{target.name}-*.profraw"):
        old.unlink()
    before = processor_seconds()
    try:
        counts, slowest, memory = zip(*run_parts(target, folder, seconds, runs))
    except Failed as error:
        print(f"not ok - {target.name}: an input failed", *error.args[0], sep="\n# ", flush=True)
        return False
    rate = sum(counts) / (processor_seconds() - before)
    percent = covered(folder / f"fuzz_{target.name}", folder.glob(f"{target.name}-*.profraw"),
                      target.files)
    enough = seconds < FULL or percent >= target.floor
    print(f"{'ok' if enough else 'not ok'} - {target.name}: {sum(counts)} runs, {rate:.0f}/s, at "
          f"most {max(slowest)} s and {max(memory)} MB; {percent:.1f} % of lines, at least "
          f"{target.floor}", flush=True)
    return enough


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=sys.maxsize)
    parser.add_argument("build", type=Path)
    parser.add_argument("seconds", type=int)
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    os.chdir(ROOT)
    done = [fuzz(target, args.build, args.seconds, args.runs) for target in targets()
            if not args.names or target.name in args.names]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main())
