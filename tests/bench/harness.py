"""The settings of a run of the bench, and the programs that its cases start."""

import contextlib
import functools
import json
import os
import subprocess
import time

import machine
import trees
from mounts import mount
from report import LOOSE

SQUASHFUSE = "squashfuse_ll"
TOUCHED = 2  # times the data: once in the pool, once in the page cache
NET_DELAY_US, NET_CAP_MB = 500, 1000


class Failed(Exception):
    """Why a command did not do what it should."""


class Bench:
    def __init__(self, build, kept, quick, options, against, only, loader_photos):
        self.kept, self.quick, self.options = kept, quick, options
        self.against = against  # name: foldfs of another build, measured beside this one
        self.only, self.loader_photos = only, loader_photos
        self.rounds = 1  # of each system in a section
        self.foldpack, self.foldfs, self.reader, self.netfs = (
            os.path.join(build, name)
            for name in ("foldpack", "foldfs", "bench/reader", "bench/netfs"))
        self.notes = []

    def note(self, text):
        """Something the reader of the report should know, once."""
        if text not in self.notes:
            self.notes.append(text)

    @functools.lru_cache
    def photos(self):
        if self.quick:
            return self.few_photos()
        return trees.photo_tree(self.kept, 20000, self.foldpack)

    @functools.lru_cache
    def few_photos(self):
        """So few that all of them can be decoded."""
        return trees.photo_tree(self.kept, 4000, self.foldpack)

    @functools.lru_cache
    def small_photos(self, side):
        """The photos, resized so that their shorter side has `side` pixels."""
        return trees.small_tree(self.kept, self.photos(), side, self.foldpack)

    @functools.lru_cache
    def tiny(self):
        return trees.tiny_tree(self.kept, 128117 if self.quick else 1281167, self.foldpack)

    def seconds_for_others(self):
        """How long they may read: a part of the files where the device is slow."""
        return 4 if self.quick else 30

    @contextlib.contextmanager
    def root_of(self, system, tree, group=None, options=""):
        """The folder that is read: of loose files, of this or another foldfs, or of squashfuse."""
        if system == LOOSE:
            yield tree.root
            return
        command, image = [SQUASHFUSE], tree.image
        if system != SQUASHFUSE:
            command, image = [self.against.get(system, self.foldfs)], tree.pack
            options = ",".join(filter(None, (options, self.options)))
            command += ["-o", options] if options else []
        with mount(command, image, group) as path:
            yield path

    def turns(self, systems):
        """(round, system), each round beginning with another system."""
        systems = list(systems)
        for number in range(self.rounds):
            for place in range(len(systems)):
                yield number, systems[(number + place) % len(systems)]

    def json(self, *command, group=None):
        """What a command prints as JSON."""
        done = subprocess.run(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                              preexec_fn=group and group.enter)
        if done.returncode:
            raise Failed(f"{' '.join(command)}: exit status {done.returncode}")
        return json.loads(done.stdout)

    def read(self, root, tree, seed, *options, threads=2, group=None):
        """What the C program says that reads the files of a tree in shuffled order."""
        return self.json(self.reader, "-t", str(threads), "-s", str(seed), *options, root,
                         tree.list, group=group)

    def make_cold(self, tree, device):
        """Nothing of the tree in memory. Where the device is fast, the memory that a run is about
        to use is touched: its first use in a virtual machine costs more than reading into it."""
        machine.make_cold(tree.paths())
        if device in ("nvme", "sata") and not self.quick:
            machine.touch_memory(TOUCHED * tree.bytes)

    def script(self, name, *arguments, group=None):
        """What a Python script of this directory prints as JSON."""
        return self.json(trees.PYTHON, "-B", os.path.join(trees.HERE, name), *map(str, arguments),
                         group=group)

    def epochs(self, root, *options, group=None):
        """Files a second of each epoch of a DataLoader over `root`."""
        return self.script("epochs.py", root, *options, group=group)

    def seconds(self, *command):
        """How long a command takes whose output nobody wants."""
        began = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began
