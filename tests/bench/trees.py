"""The trees that are measured, with their images and packs: made once, kept in a directory."""

import copy
import functools
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.path.join(HERE, "..", "data")
REPOSITORY = os.path.join(HERE, "..", "..")
PYTHON = os.environ.get("PYTHON", "/usr/bin/python3")
# What is said of squashfuse is said of its best case: nothing compressed.
STORED = ["-noI", "-noD", "-noF", "-noX"]


def run(*command):
    """Runs a command, its standard output put with the messages."""
    status = subprocess.run(command, stdout=sys.stderr, stdin=subprocess.DEVNULL).returncode
    if status:
        raise SystemExit(f"{' '.join(command)}: exit status {status}")


def make_data(script, *arguments):
    run(PYTHON, "-B", os.path.join(DATA, script), *map(str, arguments))


def photos(kept):
    """The folder of photos that a large tree is made of: real ones where they are."""
    real = os.environ.get("FOLDFS_PHOTOS",
                          os.path.join(REPOSITORY, "..", "shared", "data", "photos"))
    if os.path.isdir(real):
        return os.path.normpath(real), ""
    made = os.path.join(kept, "images-520")
    make_data("make_images.py", made, "--files", 520, "--classes", 260)
    return made, "-made"


def newer(path, than):
    return os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(than)


class Tree:
    """One tree: .root, .image (squashfs), .pack, .list (of its files), .files."""

    def __init__(self, root, foldpack, squash_options=()):
        self.root, self.foldpack = root, foldpack
        self.squash_options = [*STORED, *squash_options]
        self.image, self.pack, self.list = (
            root + end for end in (".squashfs", ".lmdb", ".list"))

    def prepare(self):
        """Makes what is not there. A pack is made again when foldpack was built anew."""
        if not newer(self.list, self.root):
            self._write_list()
        if shutil.which("mksquashfs") and not newer(self.image, self.root):
            self.squash(self.image + ".partial")
            os.rename(self.image + ".partial", self.image)
        if not (newer(self.pack, self.root) and newer(self.pack, self.foldpack)):
            self.fold(self.pack, "--force")
        with open(self.list, "rb") as names:
            self.files = sum(1 for _ in names)
        return self

    def seen_through(self, mountpoint):
        """The same tree, read through a mount of the directory that it is kept in."""
        other = copy.copy(self)
        other.root, other.pack = (os.path.join(mountpoint, os.path.basename(path))
                                  for path in (self.root, self.pack))
        other.bytes = self.bytes  # not to be asked of the mount
        return other

    def paths(self):
        """All that a cold run must not find in memory."""
        with open(self.list) as names:
            loose = [os.path.join(self.root, name.rstrip("\n")) for name in names]
        return loose + list(filter(os.path.exists, (self.image, self.pack)))

    def _write_list(self):
        with open(self.list, "w") as file:
            for folder, folders, names in os.walk(self.root):
                folders.sort()
                inside = os.path.relpath(folder, self.root)
                file.writelines(f"{inside}/{name}\n" for name in sorted(names))

    @functools.cached_property
    def bytes(self):
        with open(self.list) as names:
            return sum(os.path.getsize(os.path.join(self.root, name.rstrip("\n")))
                       for name in names)

    def squash(self, image):
        if os.path.exists(image):
            os.unlink(image)
        run("mksquashfs", self.root, image, *self.squash_options,
            "-noappend", "-no-progress", "-quiet")

    def fold(self, pack, *options):
        run(self.foldpack, "create", "-q", *options, self.root, pack)


def photo_tree(kept, files, foldpack):
    source, kind = photos(kept)
    root = os.path.join(kept, f"tree-{files}{kind}")
    make_data("make_tree.py", source, root, "--files", files)
    return Tree(root, foldpack).prepare()


def small_tree(kept, tree, side, foldpack):
    """The same photos, smaller: what `--resize` makes of them, as loose files."""
    root = f"{tree.root}-{side}"
    if not os.path.isdir(root):
        partial = os.path.join(kept, f"small-{side}.lmdb")
        run(foldpack, "create", "-q", "--force", "--resize", str(side), tree.root, partial)
        run(foldpack, "extract", "-q", partial, root)
        os.unlink(partial)
    return Tree(root, foldpack).prepare()


def tiny_tree(kept, files, foldpack):
    """Without the search for duplicates, which takes mksquashfs hours for a million files of
    50 different sizes; there are none."""
    root = os.path.join(kept, f"tiny-{files}")
    make_data("make_tiny.py", root, "--files", files, "--classes", max(files // 1281, 10))
    return Tree(root, foldpack, ["-no-duplicates"]).prepare()
