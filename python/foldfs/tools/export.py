"""export.py: writes the samples of a pack, its images and their labels, in another format.

Classes are the folders in one folder, the root, as ImageFolder finds them: sorted by name, even if
they are empty. Their labels are those of the pack, where it has some (pack/labels.h), or else the
numbers that ImageFolder gives them, for which a link to a folder is a class, too. A sample is a
file below one of them, with the suffix of an image. Everything else cannot be held."""

import errno
import os
import signal
import sys
import time

from pack import (CHECKSUMS, DAMAGED, DONE, FAILED, HASH, PLACE, SKIPPED, Failed, Interrupted,
                  count, main, say, size, where_it_leads)
from formats import FORMATS, KINDS
from outputs import Outputs, listed

NAMED = 10  # of what cannot be held
LABEL_MOST = 1 << 24  # a list has a line for each
WITHOUT_LABEL = b"images"  # where records without one are, as pack/foreign/tree.h puts them


class Sample:
    __slots__ = ("path", "number", "size", "folder", "label", "kind", "mode", "mtime", "rank",
                 "crc")

    def __init__(self, path, entry, folder):
        self.path = path  # in the pack, bytes
        self.number = entry["number"]
        self.size = entry["size"]
        self.folder = folder  # of the class, below the root
        self.kind = entry.get("kind", "").upper().replace("JPEG XL", "JXL").encode()
        self.mode = int(entry.get("mode", "0"), 8)
        self.mtime = min(max(entry.get("mtime", 0), 0), (1 << 33) - 1)
        self.rank = entry.get("rank")
        self.crc = None  # of what a format has before the bytes


def seed_of(command):
    """(rank, seed) of the order that is asked for."""
    order = command.options.get("order", "path")
    if order in ("path", "pack"):
        return (PLACE if order == "pack" else 0), 0
    word, _, seed = order.partition(":")
    if word != "shuffle" or not "0" <= seed[:1] <= "9":
        raise command.usage("'--order': not one of path, pack, shuffle:SEED")
    if not seed.isascii() or not seed.isdigit() or int(seed) >= 1 << 64:
        raise command.usage("'--order': the seed is not a number")
    return HASH, int(seed)


def check_words(command):
    options = command.options
    kind = options.get("format")
    if not kind:
        raise command.usage("which format? '--format=lmdb|tfrecord|webdataset' is missing")
    if kind == "lmdb" and ("shards" in options or "shard-size" in options):
        raise command.usage("'--shards' and '--shard-size' do not go with --format=lmdb")
    if "shards" in options and "shard-size" in options:
        raise command.usage("'--shards' and '--shard-size' exclude each other")
    if options.get("keys") == "number" and kind != "webdataset":
        raise command.usage("'--keys' goes with --format=webdataset only")


class Export:
    def __init__(self, command):
        check_words(command)
        self.command = command
        self.options = command.options
        self.pack = command.packs[0]
        self.target = command.words[1]
        self.numbered = self.options.get("keys") == "number"
        self.format = FORMATS[self.options["format"]](self)
        self.others, self.other_count = [], 0  # what cannot be held: the first of it, and how much
        self.bytes = 0

    # --- what is exported -------------------------------------------------------------------------

    def open(self):
        rank, seed = seed_of(self.command)
        self.head = self.pack.open(CHECKSUMS | self.format.parts, rank, seed)
        splits = self.head["splits"]
        if "root" not in self.options and splits:
            raise self.failed("holds splits, not classes; choose one, by --root="
                              f"{splits[0]}; where these are the classes, --root=/")
        root = os.fsencode(self.options.get("root", ""))
        self.root = b"/".join(part for part in root.split(b"/") if part)
        self.within = self.root + b"/" if self.root else b""
        self.root_len = len(self.within)

    def failed(self, text):
        return Failed(f"{self.pack.name}: {text}")

    def collect(self):
        self.samples, self.unsure = [], None
        classes, there = set(), not self.root
        links, kinds = [], {}  # those beside classes; those of what is no sample
        for entry in self.pack.entries():
            path = os.fsencode(entry["path"])
            if not path.startswith(self.within):
                kinds[entry["path"]] = entry["type"]
                there = there or path == self.root and entry["type"] == "directory"
                if path == self.root and not there:
                    raise self.failed(f"{self.options['root']}: not a folder")
                continue
            there = True
            folder, slash, _ = path[self.root_len:].partition(b"/")
            directory = entry["type"] == "directory"
            if slash or directory:
                classes.add(folder)
            elif entry["type"] == "symlink":
                links.append(entry)
            why = None if directory and not slash else self.why_not(entry, slash, path)
            if not why and not directory:
                self.samples.append(Sample(path, entry, folder))
            else:
                kinds[entry["path"]] = entry["type"]
            if why:
                self.other_count += 1
                if self.other_count <= NAMED:
                    self.others.append((entry["path"], why))
        if not there:
            raise self.failed(f"{self.options['root']}: not in the pack; 'foldpack list "
                              f"{self.pack.name}' shows what is")
        if links:
            classes.update(self.linked(links, kinds))
        self.classes = sorted(classes, key=os.fsdecode)  # as Python, where it is not UTF-8
        self.label()
        self.sort()

    def linked(self, links, kinds):
        """The classes that are links to folders; `unsure` is a link of which that is not known."""
        kinds.update((os.fsdecode(sample.path), "file") for sample in self.samples)
        for path in list(kinds):
            above = path.rpartition("/")[0]
            while above and above not in kinds:
                kinds[above] = "directory"
                above = above.rpartition("/")[0]
        for link in links:
            leads = where_it_leads(link["path"], link["target"], kinds)
            if leads == "directory":
                yield os.fsencode(link["path"])[self.root_len:]
            elif leads in ("leaves", "symlink"):
                self.unsure = link["path"]

    def why_not(self, entry, in_class, path):
        if entry["type"] == "directory":
            return "an empty folder"
        if entry["type"] == "symlink":
            return "a symbolic link"
        if not in_class:
            return "not in the folder of a class"
        _, dot, suffix = path.rpartition(b"/")[2].rpartition(b".")
        if not dot or suffix.lower() not in KINDS:
            return "not an image by its name"
        return self.format.refuses(path[self.root_len:], entry["size"])

    def label(self):
        """Gives each class its label, and samples that of theirs. Labels of other splits are none
        here."""
        labels = [(label, path) for label, path in
                  ((label, os.fsencode(folder)) for label, folder in self.head["labels"])
                  if os.path.dirname(path) == self.root]
        greatest = labels[-1][0] if labels else -1
        if greatest > LABEL_MOST:
            raise self.failed(f"labels over {LABEL_MOST}")
        folders = {self.within + folder: folder for folder in self.classes}
        self.labels = {}
        for label, path in labels:
            if path in folders:
                self.labels.setdefault(folders[path], label)
        taken = len(self.labels)
        following = greatest + 1 if taken else 0
        self.unlabelled = 0
        for folder in self.classes:
            if folder in self.labels:
                continue
            if self.head["labels"] and folder == WITHOUT_LABEL:
                self.labels[folder] = -1
                continue
            self.labels[folder] = following
            following += 1
            self.unlabelled += taken > 0
        for sample in self.samples:
            sample.label = self.labels[sample.folder]
        self.names = {label: path.rpartition(b"/")[2] for label, path in labels}
        self.names.update((label, folder) for folder, label in self.labels.items() if label >= 0)

    def sort(self):
        """As `sorted(os.walk(folder))` does for each class in turn: by the whole path of a folder,
        so a/b-c comes before a/b/c. Or by rank; an empty file, which has no place in the pack,
        stays after the one before it."""
        def place(sample):
            above, _, name = os.fsdecode(sample.path).rpartition("/")
            return os.fsdecode(sample.folder), above, name

        self.samples.sort(key=place)
        if self.options.get("order", "path") == "path":
            return
        before = 0
        for sample in self.samples:
            before = sample.rank = before if sample.rank is None else sample.rank
        self.samples.sort(key=lambda sample: sample.rank)

    def check(self):
        for folder in self.classes:
            if b"\n" in folder:  # it would end a line in the list of classes
                raise self.failed(f"the class of label {self.labels[folder]} has a newline in its "
                                  "name")
        if not self.samples:
            raise self.failed("no images in folders of classes; nothing to export")
        skip = "skip-others" in self.options
        tell = self.command.notice if skip else say
        for path, why in self.others:
            tell(f"{self.pack.name}: {path}: {why}")
        if self.other_count > NAMED:
            tell(f"{self.pack.name}: and {count(self.other_count - NAMED)} more")
        if self.other_count and not skip:
            raise self.failed(f"{self.format.name} cannot hold these; --skip-others leaves them "
                              "out")
        if self.unsure and not self.head["labels"]:
            raise self.failed(f"{self.unsure}: a link that may lead to a folder, which would be a "
                              "class and change the labels of others; 'foldpack create "
                              "--exclude' leaves it out, --dereference packs what it leads to")

    # --- writing ----------------------------------------------------------------------------------

    def read(self, crcs=None):
        """(sample, bytes, CRC) of each."""
        numbers = [sample.number for sample in self.samples]
        for (error, data, crc), sample in zip(self.pack.read(numbers, crcs), self.samples):
            if error:
                why = ("damaged in the pack: checksum mismatch" if error == errno.EBADMSG else
                       os.strerror(error))
                raise Failed(f"{self.pack.name}: {os.fsdecode(sample.path)}: {why}; nothing was "
                             "left behind", DAMAGED if error == errno.EBADMSG else FAILED)
            self.bytes += len(data)
            yield sample, data, crc

    def write(self, files):
        began = time.monotonic()
        self.format.write(files)
        self.seconds = time.monotonic() - began
        self.pack.close()
        names = (self.names.get(label, b"%04d" % label) for label in
                 range(max(self.names, default=-1) + 1))
        files.write(self.target + ".classes.txt", b"".join(listed(names)))

    def conclude(self):
        command, target = self.command, self.target
        command.info(f"{target}: {count(len(self.samples), 'sample')}, "
                     f"{count(len(self.classes), 'label')}, {size(self.bytes)} in "
                     f"{self.seconds:.1f} s")
        if self.unlabelled:
            command.notice(f"{target}: classes without a label in {self.pack.name} have those that "
                           f"follow: {count(self.unlabelled)}")
        if self.other_count:
            command.notice(f"{target}: {count(self.other_count)} left out")
        left_out = self.head["left_out"] if "root" not in self.options else 0
        if left_out:
            command.notice(f"{self.pack.name}: {count(left_out)} of its members left out")
        return SKIPPED if self.other_count or left_out else DONE


def run(command):
    export = Export(command)
    export.open()
    export.collect()
    export.check()
    files = Outputs("force" in command.options)
    files.paths = export.format.plan(command.options)
    files.check()
    try:
        stray = export.format.stray()
    except OSError as error:
        raise Failed(f"{error.filename}: {error.strerror}") from None
    if stray:
        raise Failed(f"{stray}: a shard of another export; remove those, or choose another TARGET")
    command.catch()
    try:
        export.write(files)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    except BaseException as error:
        export.pack.close()
        files.remove()
        if isinstance(error, Interrupted):
            say(f"{export.target}: interrupted; nothing was left behind")
            return FAILED
        if isinstance(error, OSError):
            raise Failed(f"{export.target}: {error.strerror}; nothing was left behind") from None
        raise
    files.finish()
    return export.conclude()


if __name__ == "__main__":
    sys.exit(main(run))
