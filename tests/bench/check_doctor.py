#!/usr/bin/python3
"""check_doctor.py [--build DIR] [--seconds N] [ROW..]: whether foldfs-doctor finds what twelve
folders and devices were prepared for: slow storage, decoding, metadata, too few workers, or
nothing. Takes root, for limits of control groups, and a machine that does nothing else. Status 1
if a verdict is wrong."""

import argparse
import contextlib
import dataclasses
import io
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from PIL import Image

import machine
import trees
from mounts import net
from profiles import KEPT, Group, Limit

FILES, CLASSES, PICTURES = 2400, 12, 24
KINDS = {"tiny": (64, 64), "scattered": (64, 64), "photos": (500, 375), "large": (3600, 2400)}
NARROW = Limit(100_000, 3_000_000)  # a device of many requests and few bytes a second
# A block for each inode, nothing read beside it: as on a disk where they lie far apart.
FORMAT = ("-b", "4096", "-I", "4096", "-m", "0", "-O", "^has_journal")
ALONE = "ro,inode_readahead_blks=1"


@dataclasses.dataclass(frozen=True)
class Row:
    cause: str
    kind: str
    device: str = "nvme"  # of profiles.py; "narrow"; netfs with a delay in us and MB/s; a disk
    # whose requests have such a delay. Control groups would charge metadata to who reads data.
    options: tuple = ()

    def title(self):
        return " ".join([self.kind, self.device, *self.options])


ROWS = (
    Row("storage", "photos", "hdd"),
    Row("storage", "photos", "narrow"),
    Row("storage", "photos", "net 0 5"),
    Row("decoding", "photos"),
    Row("decoding", "large"),
    Row("decoding", "large", "sata"),
    Row("metadata", "scattered", "disk 1000", ("--drop-caches",)),
    Row("metadata", "tiny", "net 5000 1000"),
    Row("metadata", "tiny", "net 20000 1000", ("--workers", "2")),
    Row("too few workers", "photos", "nvme", ("--workers", "1")),
    Row("too few workers", "photos", "net 2000 1000", ("--workers", "1")),
    Row("nothing", "photos", "nvme", ("--wanted", "30")),
)


def picture(rng, size):
    """Noise over a slope, so that its bytes are about those of a photo."""
    width, height = size
    slope = numpy.linspace(0, 180, width * height * 3).reshape(height, width, 3)
    coarse = rng.integers(0, 60, (height // 4 + 1, width // 4 + 1, 3))
    noise = coarse.repeat(4, 0).repeat(4, 1)[:height, :width] + rng.integers(0, 12, slope.shape)
    out = io.BytesIO()
    Image.fromarray((slope + noise).astype("u1")).save(out, "JPEG", quality=88)
    return out.getvalue()


def folder(kind):
    """FILES images of a size. Large ones are few files of many names: they are read quickly. Those
    that are scattered have a folder each, as far from each other as folders are."""
    root = Path(KEPT, f"doctor-{kind}")
    if root.is_dir():
        return root
    partial = root.with_suffix(".partial")
    rng = numpy.random.default_rng(0)
    pictures = [picture(rng, KINDS[kind]) for _ in range(PICTURES)]
    classes = FILES if kind == "scattered" else CLASSES
    for number in range(FILES):
        place = partial / str(number % classes) / f"{number}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        if kind == "large" and number >= PICTURES:
            first = number % PICTURES
            os.link(partial / str(first % CLASSES) / f"{first}.jpg", place)
        else:
            place.write_bytes(pictures[number % PICTURES])
    os.sync()
    return partial.rename(root)


def known(root):
    """Names, inodes and bytes in memory; a run forgets the bytes."""
    for path in root.rglob("*"):
        if path.is_file():
            path.read_bytes()


def image_of(root):
    """A filesystem with the folder in it."""
    image = Path(f"{root}.image/ext4")
    if not image.exists():
        image.parent.mkdir(exist_ok=True)
        partial = image.with_suffix(".partial")
        with open(partial, "wb") as file:
            file.truncate(4 * FILES * 4096 + (256 << 20))
        command = ["mkfs.ext4", "-q", "-F", *FORMAT, "-N", str(3 * FILES), "-d", root, partial]
        subprocess.run(command, check=True)
        partial.rename(image)
    known(image.parent)
    return image


@contextlib.contextmanager
def late_disk(root, netfs, delay):
    """The folder on a disk of its own, whose requests take `delay` us."""
    image = image_of(root)
    with contextlib.ExitStack() as stack:
        far = stack.enter_context(net(netfs, str(image.parent), delay, 0))
        loop = subprocess.run(["losetup", "--direct-io=on", "-f", "--show", "-r",
                               f"{far}/{image.name}"], check=True,
                              stdout=subprocess.PIPE).stdout.decode().strip()
        stack.callback(subprocess.run, ["losetup", "-d", loop], check=True)
        point = stack.enter_context(tempfile.TemporaryDirectory(prefix="foldfs-bench-"))
        subprocess.run(["mount", "-o", ALONE, loop, point], check=True)
        stack.callback(subprocess.run, ["umount", point], check=True)
        yield point


@contextlib.contextmanager
def prepared(row, netfs):
    """(the folder as it is seen there, the group that reads it)"""
    root = folder(row.kind)
    known(root)
    if row.device.startswith("disk"):
        with late_disk(root, netfs, int(row.device.split()[1])) as point:
            yield point, None
    elif row.device.startswith("net"):
        _, delay, cap = row.device.split()
        with net(netfs, str(root), int(delay), int(cap)) as path:
            yield path, None
    else:
        with Group(NARROW if row.device == "narrow" else row.device) as group:
            yield root, group


def diagnosed(row, build, seconds):
    with prepared(row, f"{build}/bench/netfs") as (root, group):
        command = [trees.PYTHON, "-B", "-m", "foldfs", "doctor", "--json", "--seconds",
                   str(seconds), *row.options, str(root)]
        env = {**os.environ, "PYTHONPATH": str(Path(trees.HERE).parents[1] / "python"),
               "PATH": f"{build}:{os.environ['PATH']}"}
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                              preexec_fn=group and group.enter)
    if done.returncode:
        sys.exit(f"{row.title()}: {done.stderr.decode()}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("rows", metavar="ROW", nargs="*", type=int, help="from 1 on (all)")
    args = parser.parse_args()
    os.makedirs(KEPT, exist_ok=True)
    right = 0
    chosen = args.rows or range(1, len(ROWS) + 1)
    for number in chosen:
        row = ROWS[number - 1]
        found = diagnosed(row, os.path.abspath(args.build), args.seconds)
        cause = found["verdict"]["cause"]
        right += cause == row.cause
        print(f"{number:2} {'right' if cause == row.cause else 'WRONG'}: {row.title()}: {cause}"
              f"{'' if cause == row.cause else ', not ' + row.cause}", flush=True)
        print(*(f"     {word}" for word in found["verdict"]["words"]), sep="\n", flush=True)
    load = machine.first_line("/proc/loadavg")
    print(f"{right} of {len(chosen)} verdicts are right; load {load}")
    return right != len(chosen)


if __name__ == "__main__":
    sys.exit(main())
