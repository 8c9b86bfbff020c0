#!/usr/bin/python3
"""bench.py [--build DIR] [--report DIR] [--rounds N] [-o OPTIONS] [SECTION...]

Measures foldfs side by side with loose files and with squashfuse_ll, and holds the results
against what the project promises: report.md, .csv and .svg in --report.

Trees, images and packs are made once and kept in FOLDFS_BENCH_DIR (/var/tmp/foldfs-bench; 15 GB
there). QUICK=1 measures smaller trees in fewer rounds: good for a look, not for a claim. Every
mount is undone on every way out."""

import argparse
import os
import signal
import sys

import machine
import plot
import report
from sections import SECTIONS, Bench


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build", help="where the programs are (build)")
    parser.add_argument("--report", default="bench-report", help="where results go")
    parser.add_argument("--rounds", type=int, help="of each measurement (5; QUICK: 3)")
    parser.add_argument("-o", dest="options", default="", help="mount options for foldfs")
    parser.add_argument("sections", metavar="SECTION", nargs="*",
                        help=f"of {', '.join(SECTIONS)} (all)")
    args = parser.parse_args()
    unknown = [name for name in args.sections if name not in SECTIONS]
    if unknown:
        parser.error(f"no section '{unknown[0]}'; there are {', '.join(SECTIONS)}")
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
    bench = Bench(os.path.abspath(args.build), kept, args.rounds or (3 if quick else 5), quick,
                  args.options)
    settings = machine.describe(kept, bench.foldfs)
    settings += [("rounds", bench.rounds), ("quick", "yes" if quick else "no"),
                 ("foldfs options", args.options or "none"),
                 ("memory touched before", f"{machine.touch_memory() / 2**30:.1f} GiB")]
    measures = []
    for name in args.sections or SECTIONS:
        print(f"bench: {name}", file=sys.stderr)
        measures += SECTIONS[name](bench)
        text = report.write(args.report, measures, settings, bench.notes)
    plot.main(os.path.join(args.report, "report.csv"), os.path.join(args.report, "report.svg"))
    print(text, end="")


if __name__ == "__main__":
    main()
