"""Directories that are made once and known to be complete.

A directory DIR is made as DIR.partial and renamed; DIR.stamp beside it (never inside: it would
be part of the data) says what it was made from. Whoever asks for the same thing again gets it
at once; a directory without a fitting stamp is somebody else's and is left alone."""

import json
import os
import shutil
import sys
import time


def make(directory, recipe, fill):
    """Makes `directory` by fill(partial directory), unless it is there, made from `recipe`
    (anything JSON can say)."""
    directory = os.path.abspath(directory)
    if is_made(directory, recipe):
        return
    partial = directory + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    began = time.monotonic()
    fill(partial)
    os.rename(partial, directory)
    with open(directory + ".stamp", "w") as stamp:
        json.dump(recipe, stamp)
    print(f"{directory}: made in {time.monotonic() - began:.0f} s", file=sys.stderr)


def is_made(directory, recipe):
    """Whether `directory` is there and complete; ends the program where another one is."""
    if not os.path.lexists(directory):
        return False
    try:
        with open(directory + ".stamp") as stamp:
            if json.load(stamp) == json.loads(json.dumps(recipe)):
                return True
    except (OSError, ValueError):
        pass
    sys.exit(f"{directory}: exists, but was not made with these settings; remove it first "
             f"(its stamp is {directory}.stamp)")
