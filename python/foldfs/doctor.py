"""foldfs-doctor: what holds a training on a folder of images back, and what foldfs could change.

It reads for a minute, writes nothing and mounts nothing; doc/doctor.md says what is measured. Of
s3://BUCKET/DIR/ it tells what the requests of an epoch cost, from a listing."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import time
import warnings
from statistics import median

from . import _requests, _verdict

WIDTH = 100
KINDS = {"list": "listing", "load": "opening and reading", "read": "reading only",
         "decode": "decoding only", "both": "both", "resized": "decoding smaller images"}


def arguments(words):
    parser = argparse.ArgumentParser(prog="foldfs-doctor", description=__doc__.split("\n\n")[0],
                                     epilog=__doc__.split("\n\n")[1])
    parser.add_argument("folder", metavar="DIR",
                        help="DIR/CLASS/IMAGE, any folder of images, or s3://BUCKET/DIR/")
    parser.add_argument("--seconds", type=positive, default=60, metavar="N",
                        help="how long it may take (60)")
    parser.add_argument("--workers", type=whole, metavar="N",
                        help="num_workers of your training (what is best here)")
    parser.add_argument("--wanted", type=positive, metavar="N",
                        help="images a second that your model takes (not known)")
    parser.add_argument("--resize", type=whole, default=256, metavar="N",
                        help="the shorter side of smaller images to try, in pixels (256)")
    parser.add_argument("--drop-caches", action="store_true",
                        help="as root: before each run, nothing of any disk in memory")
    parser.add_argument("--json", action="store_true", help="what was measured, as one object")
    return parser.parse_args(words)


def positive(text):
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError
    return number


def whole(text):
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def progress(kind, workers, left):
    """On a terminal a line that is written anew; else one at the beginning."""
    what = KINDS[kind] + (f", {_verdict.count(workers, 'worker')}" if kind not in
                          ("list", "load") else "")
    if sys.stderr.isatty():
        print(f"\r\033[Kfoldfs-doctor: {what}; {left:.0f} s left", end="", file=sys.stderr,
              flush=True)
    elif kind == "list":
        print(f"foldfs-doctor: takes up to {left:.0f} s", file=sys.stderr, flush=True)


def table(rates):
    """Images a second, the median of each and its range."""
    levels = list(rates["both"])
    rows = [["images/s", *(_verdict.count(workers, "worker") for workers in levels)]]
    for kind in ("read", "decode", "both", "resized"):
        all_rounds = [rates[kind].get(workers) for workers in levels]
        rows.append([KINDS[kind], *(
            f"{median(rounds):,.0f} ({min(rounds):,.0f} to {max(rounds):,.0f})" if rounds else ""
            for rounds in all_rounds)])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for first, *others in rows:
        yield "  ".join([first.ljust(widths[0]),
                         *(text.rjust(width) for text, width in zip(others, widths[1:]))]).rstrip()


def examine(args):
    began = time.monotonic()
    if "://" in args.folder and not args.folder.endswith("/"):
        raise RuntimeError(f"{args.folder}: a folder of objects ends with a '/'")
    if "://" in args.folder:
        measured = _requests.measure(args.folder)
        return measured, _requests.conclude(measured)
    if not os.path.isdir(args.folder):
        raise RuntimeError(f"{args.folder}: not a folder")
    try:
        from . import _measure
    except ImportError as error:
        raise RuntimeError(f"needs torch and torchvision, as the training has them: {error} "
                           f"({sys.executable})") from None
    if args.drop_caches and not os.access(_measure.DROP_CACHES, os.W_OK):
        raise RuntimeError(f"--drop-caches: only root may write {_measure.DROP_CACHES}")
    try:
        loading = time.monotonic() - began  # of torch
        left = max(args.seconds - loading, args.seconds / 2)
        measured = _measure.measure(args.folder, left, args.workers, args.resize,
                                    args.drop_caches, _verdict.FEWEST, progress)
    finally:
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    return measured, _verdict.conclude(measured, args.workers, args.wanted)


def main(words=None):
    args = arguments(words)
    warnings.simplefilter("ignore")  # of torch and PIL, about what is meant
    try:
        measured, verdict = examine(args)
    except (RuntimeError, OSError) as error:
        sys.exit(f"foldfs-doctor: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
    if args.json:
        print(json.dumps({"measured": measured, "verdict": verdict}, indent=2))
        return
    if "rates" in measured:
        print(*table(measured["rates"]), "", sep="\n")
    print(*(textwrap.fill(text, WIDTH) for text in verdict["words"]), sep="\n")


if __name__ == "__main__":
    main()
