#!/usr/bin/python3
"""bench.py [--build DIR] [--against NAME=BUILD] [--report DIR] [--rounds N] [-o OPTIONS]
         [SECTION...]

Measures foldfs side by side with loose files and what people use instead, on devices of several
speeds: report.md, and report.csv for figures.py, in --report.

Trees, images and packs are made once and kept in FOLDFS_BENCH_DIR (/var/tmp/foldfs-bench; 20 GB
there). QUICK=1 measures smaller trees in fewer rounds: good for a look, not for a claim. Limits of
devices and memory, and cold caches, want root: without it their sections are left out, and the
report says so. Mounts and groups are undone on every way out."""

import argparse
import os
import signal
import subprocess
import sys
import time

import cases_cached
import cases_cold
import cases_epochs
import cases_foreign
import cases_gpu
import cases_loaders
import cases_remote
import machine
import report
from harness import Bench, Failed
from mounts import MountError

CACHED = {
    "warm": cases_cached.warm, "first-touch": cases_cached.first_touch,
    "steady": cases_cached.steady, "listing": cases_cached.listing,
    "packing": cases_cached.packing,
}
SECTIONS = {
    "front": cases_epochs.front, "oracle": cases_epochs.oracle, "cold": cases_cold.cold,
    **CACHED, "foreign": cases_foreign.foreign, "remote": cases_remote.remote,
    "prefix": cases_remote.prefix, "disk-cache": cases_remote.disk_cache, "gpu": cases_gpu.gpu,
}
ASIDE = {"loaders": cases_loaders.loaders}  # measured when asked for: it installs
FIVE = {*CACHED, "front"}
FAILURES = (Failed, MountError, OSError, RuntimeError, subprocess.SubprocessError)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where the programs are (build)")
    parser.add_argument("--report", default="bench-report", help="where results go")
    parser.add_argument("--rounds", type=int, help="of each measurement (3; 5 of 'front' and "
                        "what is cached; QUICK: 1)")
    parser.add_argument("--against", metavar="NAME=BUILD", action="append", default=[],
                        help="measure foldfs of another build, too: 'front', 'oracle', 'gpu'")
    parser.add_argument("--only", default="", metavar="TEXT",
                        help="only what has TEXT in its title: 'front', 'oracle', 'cold', "
                        "'prefix', 'loaders'")
    parser.add_argument("--photos", type=int, default=cases_loaders.PHOTOS,
                        help="that 'loaders' reads (%(default)s)")
    parser.add_argument("-o", dest="options", default="", help="mount options for foldfs")
    parser.add_argument("sections", metavar="SECTION", nargs="*",
                        help=f"of {', '.join(SECTIONS)} (all), or {', '.join(ASIDE)}")
    args = parser.parse_args()
    unknown = [name for name in args.sections if name not in {**SECTIONS, **ASIDE}]
    if unknown:
        parser.error(f"no section '{unknown[0]}'; there are {', '.join((*SECTIONS, *ASIDE))}")
    return args


def leave(number, _):
    """Signals end the program by an exception, so that mounts are undone."""
    sys.exit(128 + number)


def main():
    args = arguments()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)
    quick = os.environ.get("QUICK", "") not in ("", "0", "no")
    kept = os.path.abspath(os.environ.get("FOLDFS_BENCH_DIR", "/var/tmp/foldfs-bench"))
    os.makedirs(kept, exist_ok=True)
    against = {name: os.path.join(os.path.abspath(build), "foldfs") for name, _, build in
               (word.partition("=") for word in args.against)}
    bench = Bench(os.path.abspath(args.build), kept, quick, args.options, against,
                  args.only, args.photos)
    machine.touch_memory(*([1 << 30] if quick else []))
    settings = [*machine.describe(kept, bench.foldfs), ("quick", "yes" if quick else "no"),
                ("foldfs options", args.options or "none")]
    measures, failed, text = [], False, ""
    for name in args.sections or SECTIONS:
        print(f"bench: {name}", file=sys.stderr)
        began = time.monotonic()
        bench.rounds = args.rounds or (1 if quick else 5 if name in FIVE else 3)
        try:
            measures += {**SECTIONS, **ASIDE}[name](bench)
        except FAILURES as error:
            failed = True
            bench.note(f"section {name}: not measured: {error}")
            print(f"bench: {name}: {error}", file=sys.stderr)
        finally:  # where it was interrupted, too
            text = report.write(args.report, measures, settings, bench.notes)
        print(f"bench: {name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(text, end="")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
