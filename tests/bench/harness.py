"""The settings of a run of the bench, and the programs that its cases start."""

import functools
import json
import os
import subprocess
import time

import machine
import trees
from report import OURS
from mounts import Mount

SQUASHFUSE = "squashfuse_ll"
TOUCHED = 2  # times the data: once in the pool, once in the page cache


class Failed(Exception):
    """Why a command did not do what it should."""


class Bench:
    def __init__(self, build, kept, quick, options, against=None, only="",
                 loader_photos=0):
        self.kept, self.quick, self.options = kept, quick, options
        self.against = against or {}  # name: foldfs of another build, measured beside this one
        self.only, self.loader_photos = only, loader_photos
        self.rounds = 1  # of each system in a section
        (self.foldpack, self.foldfs, self.foldstat, self.reader, self.walk, self.netfs,
         self.seeds, self.flights) = (
            os.path.join(build, name)
            for name in ("foldpack", "foldfs", "foldstat", "bench/reader", "bench/walk",
                         "bench/netfs", "bench/seeds", "bench/flights"))
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

    @functools.lru_cache
    def tiny_pack(self):
        """A pack of as many tiny files, without a tree."""
        return trees.TinyPack(self.kept, 128117 if self.quick else 1281167, self.foldpack)

    @functools.lru_cache
    def supports(self, option):
        """Whether this foldfs knows a mount option; status 2 is "not with these words"."""
        done = subprocess.run([self.foldfs, "-o", option, "/nonexistent/x.lmdb", "/nonexistent"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if done.returncode == 2:
            self.note(f"foldfs without `{option}`, which it does not know")
        return done.returncode != 2

    def mount_options(self, wanted=""):
        """The words for a mount with the options `wanted`, as far as they are known, and with
        those that the user asked for."""
        words = [word for word in wanted.split(",") if word and self.supports(word)]
        words += [self.options] if self.options else []
        return ["-o", ",".join(words)] if words else []

    def mount(self, system, tree, group=None, options=""):
        if system == OURS or system in self.against:
            foldfs = self.against.get(system, self.foldfs)
            return Mount([foldfs, *self.mount_options(options)], tree.pack, group)
        return Mount(["squashfuse_ll"], tree.image, group)

    def turns(self, systems):
        """(round, system), each round beginning with another system."""
        systems = list(systems)
        for number in range(self.rounds):
            for place in range(len(systems)):
                yield number, systems[(number + place) % len(systems)]

    def start(self, *command, group=None):
        """A command that runs in `group`, if any, to be ended by finish()."""
        return subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                preexec_fn=group and group.enter)

    def finish(self, process, timeout=None):
        """What a command of start() prints as JSON."""
        try:
            printed, _ = process.communicate(timeout=timeout)
        except BaseException as error:
            process.kill()
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"{process.args[0]}: not done after {timeout:.0f} s") from None
            raise
        if process.returncode:
            raise Failed(f"{' '.join(process.args)}: exit status {process.returncode}")
        return json.loads(printed)

    def json(self, *command, group=None, timeout=None):
        return self.finish(self.start(*command, group=group), timeout)

    def reading(self, root, tree, seed, *options, threads=2):
        """The command that reads the files of a tree in shuffled order."""
        return [self.reader, "-t", str(threads), "-s", str(seed), *options, root, tree.list]

    def read(self, *what, threads=2, group=None, timeout=None):
        return self.json(*self.reading(*what, threads=threads), group=group, timeout=timeout)

    def make_cold(self, tree, profile):
        """Nothing of the tree in memory. Where the device is fast, the memory that a run is about
        to use is touched: its first use in a virtual machine costs more than reading into it."""
        machine.make_cold(tree.paths())
        if profile in ("nvme", "sata") and not self.quick:
            machine.touch_memory(TOUCHED * tree.bytes)

    def stats(self, mount):
        return self.json(self.foldstat, mount.path, "--json")

    def scripted(self, name, *arguments):
        """The command of a Python script of this directory, which prints JSON."""
        return [trees.PYTHON, "-B", os.path.join(trees.HERE, name), *map(str, arguments)]

    def script(self, name, *arguments, group=None):
        return self.json(*self.scripted(name, *arguments), group=group)

    def epochs(self, root, *options, group=None):
        """What epochs.py says of each epoch of a DataLoader over `root`."""
        return self.script("epochs.py", root, *options, group=group)

    def load_libraries(self):
        """Python's modules are not what is measured."""
        self.seconds(trees.PYTHON, "-c", "import torchvision.datasets, PIL.JpegImagePlugin")

    def seconds(self, *command):
        """How long a command takes whose output nobody wants."""
        began = time.monotonic()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began
