#!/usr/bin/python3
"""make_tiny.py DIR [--files N] [--classes C]

A tree with ImageNet's number of names and hardly any bytes, for measuring what listing costs:
N files of 12 to 60 bytes, no two alike, in C classes, named as ImageNet names them
(n01440764/n01440764_10026.JPEG). The same arguments give the same tree."""

import argparse
import os
import random

import stamped

FIRST_WNID, LAST_WNID = 1440764, 15075141  # ImageNet's
HIGHEST = 30000  # ImageNet numbers a class's pictures with gaps, up to about here


def wnid_of(number, classes):
    return f"n{FIRST_WNID + number * (LAST_WNID - FIRST_WNID) // max(classes - 1, 1):08d}"


def write_class(folder, wnid, count, rng):
    """Relative to an open directory: the kernel walks no path, which is most of the work."""
    os.mkdir(folder)
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for number in sorted(rng.sample(range(max(HIGHEST, 2 * count)), count)):
            stem = f"{wnid}_{number}"
            fd = os.open(stem + ".JPEG", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644, dir_fd=at)
            os.write(fd, (stem + "." * rng.randrange(0, 41)).encode()[:60])
            os.close(fd)
    finally:
        os.close(at)


def fill(target, files, classes):
    rng = random.Random(0)
    for number in range(classes):
        wnid = wnid_of(number, classes)
        count = files // classes + (number < files % classes)
        write_class(os.path.join(target, wnid), wnid, count, rng)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--files", type=int, default=1281167)
    parser.add_argument("--classes", type=int, default=1000)
    args = parser.parse_args()
    recipe = {"tiny": args.files, "classes": args.classes}
    stamped.make(args.directory, recipe, lambda into: fill(into, args.files, args.classes))


if __name__ == "__main__":
    main()
