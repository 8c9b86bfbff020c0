"""foldpack diff: what differs between a folder and a pack, or between two packs, in the words of
diff -rq. Of both, folders come as os.walk has them, and so they are merged."""

import errno
import os
import stat
import sys
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby

from pack import (ATTRS, CHECKSUMS, DAMAGED, DONE, FAILED, FOLDERS, PLACE, Failed, count, dumps,
                  main, put, say, size)

SUBJECTS = {"bytes": "Files", "target": "Symbolic links", "mode": "Modes of", "time": "Times of"}
FILE, FOLDER, LINK = "a regular file", "a directory", "a symbolic link"
KINDS = {"directory": FOLDER, "symlink": LINK}
TIMES = -(1 << 63), (1 << 63) - 1  # in nanoseconds; others become the nearest
PIECE = 4 << 20  # a longer file comes in several
BATCH, BATCH_FILES = 1 << 20, 64  # what a thread compares at once
WHY = {errno.ESTALE: "changed while it was being compared",
       errno.ELOOP: "changed while it was being compared",
       errno.EOVERFLOW: "has more bytes than its filesystem says; what 'cp' makes of it can be "
                        "read"}


class Entry:
    """`what` is the target of a link, and the checksum of a file of a pack."""
    __slots__ = ("kind", "size", "mode", "mtime", "what", "number", "rank")

    def __init__(self, kind, size, mode, mtime, what, number=0, rank=0):
        self.kind, self.size, self.mode, self.what = kind, size, mode, what
        self.mtime = min(max(mtime, TIMES[0]), TIMES[1])
        self.number, self.rank = number, rank


# --- what is in a pack ----------------------------------------------------------------------------


def packed(rows):
    """(folder, {name: entry}) of each folder that is not empty."""
    for folder, inside in groupby(rows, lambda row: row["path"].rpartition("/")[0]):
        found = {}
        for row in inside:
            what = os.fsencode(row["target"]) if "target" in row else row.get("checksum")
            found[os.fsencode(row["path"].rpartition("/")[2])] = Entry(
                KINDS.get(row["type"], FILE), row["size"], int(row.get("mode", "0"), 8),
                row.get("mtime", 0) * 10**9 + row.get("mtime_nsec", 0), what, row["number"],
                row.get("rank", 0))
        yield os.fsencode(folder), found


# --- what is in a folder --------------------------------------------------------------------------


def entry_here(path, status):
    kind, what = FILE, None
    if stat.S_ISDIR(status.st_mode):
        kind = FOLDER
    elif stat.S_ISLNK(status.st_mode):
        kind, what = LINK, os.readlink(path)
    elif not stat.S_ISREG(status.st_mode):
        kind = "a named pipe" if stat.S_ISFIFO(status.st_mode) else \
            "a socket" if stat.S_ISSOCK(status.st_mode) else "a device"
    return Entry(kind, status.st_size, stat.S_IMODE(status.st_mode), status.st_mtime_ns, what)


def look(top, folder):
    """({name: entry}, {name: errno}) of what is in a folder, b"" for all of it."""
    found, failed = {}, {}
    try:
        with os.scandir(os.path.join(top, folder)) as inside:
            for here in inside:
                try:
                    found[here.name] = entry_here(here.path, here.stat(follow_symlinks=False))
                except OSError as error:
                    failed[here.name] = error.errno
    except OSError as error:
        failed[b""] = error.errno
    return found, failed


def scanned(top, pool, ahead):
    """As packed(), with what failed. The folders that come next are looked into meanwhile."""
    stack, begun = [b""], {}
    while stack:
        for folder in stack[-ahead:]:
            if folder not in begun:
                begun[folder] = pool.submit(look, top, folder)
        folder = stack.pop()
        found, failed = begun.pop(folder).result()
        stack += [os.path.join(folder, name) for name in sorted(found, reverse=True)
                  if found[name].kind == FOLDER]
        if not folder:
            found[b""] = entry_here(top, os.stat(top))
        yield folder, found, failed


def same_bytes(path, size, data, at):
    """Whether a file has these bytes there. It must not hang on a named pipe that has replaced
    it."""
    with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise OSError(errno.ESTALE, "")
        if at:
            file.seek(at)
        same = file.read(len(data)) == data
        if same and at + len(data) == size and file.read(1):
            raise OSError(errno.EOVERFLOW, "")
    return same


def compare_batch(top, batch):
    """(path, whether it differs, on which side it cannot be read, errno) of those that are not the
    same."""
    verdicts = []
    for path, whole, at, error, data in batch:
        try:
            if error or not same_bytes(os.path.join(top, path), whole, data, at):
                verdicts.append((path, not error, 1, error))
        except OSError as failed:
            verdicts.append((path, False, 0, failed.errno))
    return verdicts


# --- what differs ---------------------------------------------------------------------------------


def merged(left, right):
    """(folder, {name: entry}, {name: entry}, {name: errno}) of each folder on either side."""
    sides = [[groups, next(groups, None)] for groups in (left, right)]
    while any(group for _, group in sides):
        folder = min((group[0] for _, group in sides if group), key=lambda path: path.split(b"/"))
        found, failed = [], {}
        for side in sides:
            here = side[1] if side[1] and side[1][0] == folder else (folder, {})
            if here is side[1]:
                side[1] = next(side[0], None)
            found.append(here[1])
            failed.update(*here[2:])
        yield folder, *found, failed


class Diff:
    def __init__(self, command):
        self.command, self.packs = command, command.packs
        self.tops = [os.fsencode(word) for word in command.words]
        self.json = "json" in command.options
        self.attributes = "attributes" in command.options
        self.jobs = command.jobs
        self.found, self.printed = [], 0  # (path, its word, line)
        self.alike = []  # (rank, path, size, number) of files whose bytes decide
        self.settled = None  # the path of the last one
        self.files = self.bytes = self.unreadable = self.damaged = 0

    def at(self, side, path):
        top = self.tops[side]
        return os.fsdecode(top + (b"/" if path and not top.endswith(b"/") else b"") + path)

    def find(self, word, path, line):
        self.found.append((path, word, line))

    def differ(self, word, path, rest=""):
        self.find(word, path, f"{SUBJECTS[word]} {self.at(0, path)} and {self.at(1, path)} differ"
                  f"{rest}")

    def fail(self, side, path, error):
        self.unreadable += 1
        say(f"{self.at(side, path)}: {WHY.get(error) or os.strerror(error)}")

    # --- the trees --------------------------------------------------------------------------------

    def compare_trees(self, left, right):
        """What is in a folder that only one has does not matter."""
        both = {b""}
        for folder, here, there, failed in merged(left, right):
            if folder not in both:
                continue
            both.remove(folder)
            for name, error in failed.items():
                self.fail(0, os.path.join(folder, name) if name else folder, error)
            for name in sorted({*here, *there} - {*failed}):
                path = os.path.join(folder, name)
                if name in here and name in there:
                    self.compare_entries(path, here[name], there[name])
                    if here[name].kind == there[name].kind == FOLDER:
                        both.add(path)
                elif name in here or b"" not in failed:
                    side = int(name in there)
                    self.find(("only-in-old" if len(self.packs) > 1 else "only-in-folder",
                               "only-in-pack")[side], path,
                              f"Only in {self.at(side, folder)}: {os.fsdecode(name)}")
        self.found.sort(key=lambda found: found[0].split(b"/"))

    def compare_entries(self, path, here, there):
        if here.kind != there.kind:
            self.find("kind", path, f"File {self.at(0, path)} is {here.kind} while file "
                      f"{self.at(1, path)} is {there.kind}")
        elif here.kind == LINK:
            if here.what != there.what:
                self.differ("target", path)
            return
        elif here.kind == FILE and (here.size != there.size or
                                    (here.what and here.what != there.what)):
            self.differ("bytes", path)
        elif here.kind == FILE and not here.what:
            self.alike.append((there.rank, path, there.size, there.number))
            self.files += 1
            self.bytes += there.size
        if self.attributes and here.kind == there.kind:
            if here.mode != there.mode:
                self.differ("mode", path, f": {here.mode:04o} and {there.mode:04o}")
            if here.mtime != there.mtime:
                self.differ("time", path)

    # --- the bytes --------------------------------------------------------------------------------

    def compare_bytes(self, pool):
        """In the order in which they lie in the pack."""
        waiting, batch, inside = deque(), [], 0
        pieces = []  # (path, its size, number, from, size or 0)
        for _, path, whole, number in sorted(self.alike):
            starts = range(0, whole, PIECE) if whole > PIECE else [0]
            pieces += ((path, whole, number, at, min(PIECE, whole - at) if whole > PIECE else 0)
                       for at in starts)
        answers = self.packs[0].read_pieces([piece[2:] for piece in pieces])
        for (error, data), (path, whole, _, at, _) in zip(answers, pieces):
            batch.append((path, whole, at, error, data))
            inside += len(data)
            if inside >= BATCH or len(batch) == BATCH_FILES:
                waiting.append(pool.submit(compare_batch, self.tops[0], batch))
                batch, inside = [], 0
            while len(waiting) > 2 * self.jobs:
                self.conclude(waiting.popleft().result())
        for done in waiting:
            self.conclude(done.result())
        self.conclude(compare_batch(self.tops[0], batch))

    def conclude(self, verdicts):
        """Says what became of files, once of each."""
        for path, differs, side, error in verdicts:
            if path == self.settled:
                continue
            self.settled = path
            if differs:
                self.differ("bytes", path)
                self.show()
            elif side and error == errno.EBADMSG:
                self.damaged += 1
                say(f"{self.at(1, path)}: damaged in the pack: checksum mismatch")
            else:
                self.fail(side, path, error)

    # --- all of it --------------------------------------------------------------------------------

    def show(self):
        """Prints the differences that were found since."""
        for _, _, line in self.found[self.printed:]:
            if not self.json:
                put(line)
        self.printed = len(self.found)

    def run(self):
        began = time.monotonic()
        trees = [self.begin(pack) for pack in self.packs]
        with ThreadPoolExecutor(self.jobs) as pool:
            if len(trees) == 2:
                self.compare_trees(iter([*packed(trees[0])]), packed(self.counted(trees[1])))
            else:
                self.compare_trees(scanned(self.tops[0], pool, 2 * self.jobs), packed(trees[0]))
            self.show()
            self.compare_bytes(pool)
        return self.end(time.monotonic() - began)

    def begin(self, pack):
        both = len(self.packs) == 2
        self.about = pack.open(CHECKSUMS | FOLDERS | ATTRS * self.attributes, 0 if both else PLACE)
        if both and self.about["unchecked"]:
            raise Failed(f"{pack.name}: of another format, without checksums to compare; 'foldpack "
                         "create' makes a pack of it")
        return pack.entries()

    def counted(self, rows):
        for row in rows:
            if row["type"] == "file":
                self.files += 1
                self.bytes += row["size"]
            yield row

    def end(self, seconds):
        left, right = self.command.words
        if self.json:
            put(dumps({"id": self.about["id"], "differences": [
                {"path": os.fsdecode(path), "difference": word} for path, word, _ in self.found],
                "files": self.files, "bytes": self.bytes, "unreadable": self.unreadable,
                "damaged": self.damaged, "seconds": float(f"{seconds:.6g}")}))
        if self.damaged:
            raise Failed(f"{right}: {count(self.damaged, 'file')} "
                         f"{'is' if self.damaged == 1 else 'are'} damaged; 'foldpack verify' says "
                         "more", DAMAGED)
        options = self.about["made_with"].rstrip("\n").replace("\n", " ")
        if self.found and options and len(self.packs) == 1 and not self.about["delta"]:
            self.command.notice(f"{right}: made with {options}: what that changed or left out is "
                                "not the same")
        what = count(len(self.found), "difference") if self.found else "no difference"
        self.command.info(f"{left}: {count(self.files, 'file')}, {size(self.bytes)}, compared with "
                          f"{right} in {seconds:.1f} s: {what}")
        return FAILED if self.found or self.unreadable else DONE


if __name__ == "__main__":
    sys.exit(main(lambda command: Diff(command).run()))
