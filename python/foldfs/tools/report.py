"""foldpack report: makes one page to look at a dataset: figures, what is worth a look, charts,
pictures.

The page is report.html around one JSON object:

    {"name", "version",
     "info":     what foldpack info --json -v says, without the path,
     "synsets":  {id: name} of classes that are called by ids of WordNet: synsets.txt,
     "images":   figures; a histogram has [bin, count], that of sides [of width, of height, count],
     "findings": [{"kind", "bad", "title", "means", "count", "items"}, ...]; an item has the number
                 of a class + 1, or 0, then a path, and so on; last a link's target, or how many
                 copies are not named,
     "sheet":    {"checked", "labels", "shown": [{"name", "images", "pictures"}, ...]}}

and, for browsers that run no script, the findings. It needs no network, and is always the same for
the same pack."""

import base64
import errno
import html
import io
import math
import os
import stat
import sys
from collections import Counter, defaultdict, deque
from concurrent.futures import ThreadPoolExecutor

import system
from outputs import REFUSED
from pack import (CHECKSUMS, DAMAGED, DONE, FAILED, FOLDERS, IMAGE_KINDS, IMAGES, SUMMARY, Failed,
                  Interrupted, count, dumps, main, need, result, say, shown, size,
                  where_it_leads)

BEGINS = b"<!DOCTYPE html>\n<!-- a report of foldpack -->\n"  # of every page
PICTURES_MOST = 1200
CHECK_ALL = 1 << 30  # of images take seconds to read, even from a hard disk
READ_MOST = 256 << 20  # a larger file is not read
INSIDE, INSIDE_COUNT = 64 << 20, 256  # bytes and images on their way
HEAD = 64 << 10  # of a file was looked at when it was packed
LISTED, NAMED, SHOWN = 100000, 16, 20  # of a kind; copies of a group; of a kind in HTML

BINS = 8  # of a factor of two, in histograms; the last one has what is larger, too
BYTES_BINS, SIDE_BINS, ASPECT_BINS = 64 * BINS, 17 * BINS, 16 * BINS
FAR, ELONGATED, UNEVEN = 64, 4, 10  # times the median area; the other side; the smallest class

NO_IMAGE = "-"
SIDE, QUALITY = 160, 80  # of a thumbnail
HEADROOM = 1.5  # a JPEG that is decoded at a fraction of its size is still so many times larger
SMALLER = {"JPEG": ("L", "RGB"), "BMP": ("1", "L", "P", "RGB"), "PNM": ("1", "L", "RGB")}
EMBED_BYTES, EMBED_PIXELS = 64 << 10, 16 << 20
MIMES = {"JPEG": "image/jpeg", "PNG": "image/png", "GIF": "image/gif", "WebP": "image/webp",
         "BMP": "image/bmp", "AVIF": "image/avif"}

NOTHING = '<p class="calm">Nothing found.</p>\n'

# Words of the page's script, what hurts most first: whether it is bad, one, many, what it means.
KINDS = {
    "damaged": (
        True, "file is damaged in the pack", "files are damaged in the pack",
        "The bytes do not match their checksum. Only the images that this report reads were "
        "compared: foldpack verify names all that is damaged."),
    "unreadable": (
        True, "file cannot be read", "files cannot be read",
        "The storage of the pack gives an error, which says nothing about the bytes."),
    "copies-in-splits": (
        True, "image is in more than one split", "images are in more than one split",
        "What a model was trained on is what it is tested on."),
    "copies-in-classes": (
        True, "image is in more than one class", "images are in more than one class",
        "The same picture has contradicting labels."),
    "empty-class": (
        True, "class has no image", "classes have no image",
        "ImageFolder raises on a folder without one."),
    "missing-class": (
        True, "class is not in every split", "classes are not in every split",
        "ImageFolder numbers the classes of each split separately: one number then means different "
        "classes in different splits."),
    "empty": (
        True, "image is empty", "images are empty",
        "Named like images, without a byte: a loader that opens them raises."),
    "not-an-image": (
        True, "file is named like an image, but is none",
        "files are named like images, but are none",
        "Their first bytes are those of no known kind of image. ImageFolder goes by the name, and "
        "PIL then raises."),
    "no-size": (
        True, "image has a broken header", "images have broken headers",
        "They begin like images, but do not say a size: cut off, or overwritten."),
    "truncated": (
        True, "image is truncated", "images are truncated",
        "They end too early: PIL raises on them, or their lower rows are missing."),
    "corrupt": (
        True, "image is corrupt", "images are corrupt",
        "Their parts do not fit together, or decoders refuse them."),
    "link-leaves": (
        True, "link leads out of the dataset", "links lead out of the dataset",
        "A job reads whatever is there on its own machine, or nothing; foldpack create "
        "--dereference packs the files instead."),
    "link-dangles": (
        True, "link leads to nothing", "links lead to nothing",
        "A loader that opens them raises."),
    "not-taken": (
        False, "image is passed over by ImageFolder", "images are passed over by ImageFolder",
        "It goes by the suffix of the name, and takes none of these."),
    "wrong-extension": (
        False, "image is of another kind than its name says",
        "images are of another kind than their names say",
        "PIL and torchvision go by the content; some other decoders go by the name."),
    "copies-in-class": (
        False, "image is there more than once", "images are there more than once",
        "Copies within one class: they weigh more than others."),
    "imbalance": (
        False, "split has classes of very unequal sizes",
        "splits have classes of very unequal sizes",
        "The largest class has at least 10 times the files of the smallest."),
    "tiny": (
        False, "image is tiny", "images are tiny",
        "They have less than 1/64 of the pixels of the median width and height."),
    "huge": (
        False, "image is huge", "images are huge",
        "They have more than 64 times the pixels of the median width and height: each one holds up "
        "a worker."),
    "wide": (
        False, "image is very wide", "images are very wide",
        "More than four times as wide as high: a square crop shows little of them."),
    "high": (
        False, "image is very high", "images are very high",
        "More than four times as high as wide: a square crop shows little of them."),
}
COPIES = "copies-in-class", "copies-in-classes", "copies-in-splits"


# --- images ---------------------------------------------------------------------------------------


def named(path):
    """The kind that its name stands for, or NO_IMAGE."""
    _, dot, ending = path.rpartition("/")[2].rpartition(".")
    return IMAGE_KINDS.get(ending.lower(), NO_IMAGE) if dot else NO_IMAGE


def taken(path):
    """By ImageFolder, which goes by the suffix."""
    return named(path) not in (NO_IMAGE, "GIF")


class File:
    __slots__ = "number", "path", "size", "kind", "width", "height", "checksum", "own", "owner"

    def __init__(self, row, owner):
        self.number, self.path, self.size = row["number"], row["path"], row["size"]
        self.kind, self.width, self.height = row["kind"], row["width"], row["height"]
        self.checksum = row.get("checksum")
        self.own = "link_to" not in row and "same_as" not in row  # its bytes are its own
        self.owner = owner  # the number of its class + 1, or 0

    def is_one(self):
        return self.kind != NO_IMAGE or named(self.path) != NO_IMAGE

    def anomaly(self):
        """What is wrong with it by its name and header. One of unknown size is sound if it is
        longer than what was looked at."""
        if self.size == 0:
            return "empty"
        if self.kind == NO_IMAGE:
            return "not-an-image"
        if self.width == 0 and self.size <= HEAD:
            return "no-size"
        if not taken(self.path):
            return "not-taken"
        return None if named(self.path) == self.kind else "wrong-extension"


class Classes:
    """As ImageFolder sees them; those of one name, in several splits, are one label."""

    def __init__(self, info):
        self.table = info["class_table"]
        self.depth = 2 if info["splits"] else 1
        self.folders = ["/".join(one[key] for key in ("split", "name") if key in one)
                        for one in self.table]
        self.numbers = {folder: number for number, folder in enumerate(self.folders, 1)}
        self.labels = sorted({one["name"] for one in self.table}, key=os.fsencode)
        numbers = {name: number for number, name in enumerate(self.labels)}
        self.label = [len(self.labels), *(numbers[one["name"]] for one in self.table)]
        self.splits = [each["name"] for each in info["splits"]] or [None]

    def of(self, path):
        return self.numbers.get("/".join(path.split("/", self.depth)[:self.depth]), 0)

    def split(self, owner):
        return self.table[owner - 1].get("split")

    def anomalies(self, samples):
        """(kind, folder): where ImageFolder takes nothing at all, the dataset is of another
        kind."""
        for number, folder in enumerate(self.folders, 1):
            if samples and not samples[number]:
                yield "empty-class", folder
        splits = Counter(one["name"] for one in self.table)
        first = {one["name"]: folder for one, folder in zip(reversed(self.table),
                                                            reversed(self.folders))}
        for name in self.labels:
            if splits[name] < len(self.splits):
                yield "missing-class", first[name]
        for split in self.splits:
            files = [one["files"] for one in self.table
                     if one["files"] and one.get("split") == split]
            if files and max(files) >= UNEVEN * min(files):
                yield "imbalance", split or ""


# --- figures --------------------------------------------------------------------------------------


def span(values):
    """`values` is sorted."""
    if not values:
        return {"min": 0, "median": 0, "max": 0}
    return {"min": values[0], "median": values[len(values) // 2], "max": values[-1]}


def bin_of(value, bins):
    return min(max(math.floor(math.log2(value) * BINS + 1e-9), 0), bins - 1)


def even(number, of):
    """`number` of so many things, evenly spaced from the first to the last."""
    steps = max(number - 1, 1)
    return [step * (of - 1) // steps for step in range(number)]


def pairs(counter):
    return [[at, number] for at, number in sorted(counter.items())]


# --- pictures -------------------------------------------------------------------------------------


def smaller(kind, data):
    """(width, height, bytes) of a JPEG; None of an image that stays as it is."""
    if kind not in SMALLER:
        return None
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(data))
    except Image.DecompressionBombError:
        return None
    if image.mode not in SMALLER[kind]:
        return None
    width, height = image.size
    longer = max(width, height, SIDE)
    small = max(width * SIDE // longer, 1), max(height * SIDE // longer, 1)
    image.draft(None, tuple(int(HEADROOM * side) for side in small))
    image = image.convert("RGB" if image.mode == "P" else "L" if image.mode == "1" else image.mode)
    image = image.resize(small, Image.BILINEAR)
    image.info = {}
    out = io.BytesIO()
    image.save(out, "JPEG", quality=QUALITY, optimize=True)
    return (*small, out.getvalue())


def why_not(kind, width, height, data):
    """Why an image is not embedded as it is; None: it is."""
    if kind == NO_IMAGE:
        return "no image"
    if kind not in MIMES:
        return f"{kind}: no browser shows it"
    if not width:
        return f"{kind} of unknown size"
    large = len(data) > EMBED_BYTES or width * height > EMBED_PIXELS
    return f"{kind}: too large to embed" if large else None


def picture(look, data):
    """What the page has of an image; whether it cannot be decoded."""
    kind, width, height = look["kind"], look["width"], look["height"]
    try:
        made = smaller(kind, data)
    except MemoryError:
        raise
    except Exception as error:  # of any library, about any bytes
        return {"why": look.get("text") or f"{kind}: {error}"}, True
    # Of a broken one browsers would show a part, or nothing.
    why = not made and (not look.get("usable", True) or why_not(kind, width, height, data))
    if why:
        return {"why": look.get("text", why)}, False
    kind, (width, height, data) = ("JPEG", made) if made else (kind, (width, height, data))
    src = f"data:{MIMES[kind]};base64,{base64.b64encode(data).decode()}"
    return {"width": width, "height": height, "src": src}, False


# --- HTML, and its file ---------------------------------------------------------------------------


def text(name):
    return html.escape(shown(name), quote=False).replace('"', "&quot;")


def plain_findings(findings):
    """As HTML, for browsers that run no script."""
    out = []
    for found in findings:
        more = found["count"] - SHOWN
        items = ("".join(f"<div>{text(path) or 'all classes'}</div>" for path in item
                         if isinstance(path, str)) for item in found["items"][:SHOWN])
        out.append(f"<article class=\"card{' bad' * found['bad']}\"><h3>{found['title']}<span>"
                   f"{'problem' if found['bad'] else 'note'}</span></h3><p>{found['means']}</p>"
                   f"<ol class=\"paths\"><li>{'</li><li>'.join(items)}</li></ol>"
                   f"{f'<p>and {count(more)} more</p>' if more > 0 else ''}</article>\n")
    return (f"<h2>Worth a look</h2>\n<div class=\"cards\">\n"
            f"{''.join(out) or NOTHING}</div>\n")


def beside(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name),
              encoding="utf-8") as file:
        return file.read()


def check_output(path):
    """Only an earlier report or an empty file may be replaced."""
    if path == "-":
        return
    try:
        if os.path.islink(path):
            raise Failed(f"{path}: a symbolic link, which is not followed; name what it leads to, "
                         "or '-o -' writes to standard output")
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Failed(f"{path}: not a regular file; '-o -' writes to standard output")
            begins = file.read(len(BEGINS))
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from None
    if begins not in (b"", BEGINS):
        raise Failed(f"{path}: exists, and is not a report of foldpack; choose another name, or "
                     "remove it")


def write_file(path, page, flags):
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o666), "wb") as file:
            file.write(page)
    except BaseException as error:
        if not isinstance(error, OSError) or error.filename is None:  # it was made here
            os.unlink(path)
        raise


def write(path, page):
    """Readers of the file see the old page or the new one, never a part; unless the filesystem
    renames nothing."""
    folder, name = os.path.split(path)
    whole = os.path.join(folder, f".{name}.{os.urandom(4).hex()}")
    try:
        try:
            write_file(whole, page, os.O_EXCL)
            os.rename(whole, path)
        except OSError as error:
            if os.path.lexists(whole):
                os.unlink(whole)
            if error.errno not in REFUSED:
                raise
            write_file(path, page, os.O_TRUNC | os.O_NOFOLLOW)
    except OSError as error:
        raise Failed(f"{path}: {error.strerror}") from None


class Report:
    def __init__(self, command):
        self.command, [self.pack] = command, command.packs
        self.files = []  # the images
        self.noted = defaultdict(list)  # [class + 1, path, target] of each kind
        self.copies, self.unread = set(), set()  # copies of an earlier one under the same label
        self.pictures = {}
        self.groups, self.takes = defaultdict(list), {}  # of copies, by kind
        self.sized = []

    def note(self, kind, path, *target):
        self.noted[kind].append([self.classes.of(path), path, *target])

    def label(self, file):
        return self.classes.label[file.owner]

    # --- what the index says ----------------------------------------------------------------------

    def read_tree(self):
        about = self.pack.open(IMAGES | CHECKSUMS | SUMMARY | FOLDERS)
        self.info, self.checked = about["info"], not about["unchecked"]
        self.classes = Classes(self.info)
        kinds, links, samples = {}, [], Counter()
        for row in self.pack.entries():
            path, kind = row["path"], row["type"]
            owner = self.classes.of(path)
            kinds[path] = kind
            if kind != "directory" and owner and taken(path):
                samples[owner] += 1
            if kind == "symlink":
                links.append((path, row["target"]))
            elif kind != "directory":
                file = File(row, owner)
                if file.is_one():
                    self.files.append(file)
        for link, target in links:
            leads = where_it_leads(link, target, kinds)
            if leads in ("leaves", "dangles"):
                self.note(f"link-{leads}", link, target)
        for kind, folder in self.classes.anomalies(samples):
            self.note(kind, folder)

    def add(self, file):
        kind = file.anomaly()
        if kind:
            self.note(kind, file.path)
        if file.width and file.height:
            self.sized.append(file)

    def look_again(self):
        """What made the pack may have looked at too little: the metadata of a camera, or a profile,
        may be long, and a TIFF often has its size at the end."""
        vague = [file for file in self.files if self.checked and file.kind != NO_IMAGE and
                 not file.width and HEAD < file.size <= READ_MOST]
        for file, look, _ in self.look(vague) if vague else ():
            file.kind, file.width, file.height = look["kind"], look["width"], look["height"]
        for file in self.files:
            if self.checked or not file.size:
                self.add(file)

    def find_copies(self):
        if not self.checked:
            self.command.notice("the format has no checksums: duplicates are not looked for")
            return
        same = defaultdict(list)
        for file in self.files:
            if file.size:
                same[file.size, file.checksum].append(file)
        for files in (files for files in same.values() if len(files) > 1):
            # Files in no class have no label that could contradict.
            owners = {file.owner for file in files if file.owner}
            kind = COPIES[2 if len({*map(self.classes.split, owners)}) > 1 else len(owners) > 1]
            self.groups[kind].append(files)
            own = sum(file.own for file in files)
            number, bytes_ = self.takes.get(kind, (0, 0))
            self.takes[kind] = number + len(files), bytes_ + max(own - 1, 0) * files[0].size
            labels = set()
            for file in files:
                if self.label(file) in labels:
                    self.copies.add(file)
                labels.add(self.label(file))

    # --- the contact sheet ------------------------------------------------------------------------

    def choose(self, samples):
        """Of each label the pictures to show: evenly spaced over its images, in all splits, less
        copies. Where these are too many, only some labels are shown, from the one with the most
        images to the one with the fewest. Also chooses what is read."""
        images = defaultdict(list)
        for file in self.files:
            images[self.label(file)].append(file)
        single = {label: [file for file in files if file not in self.copies]
                  for label, files in images.items()}
        ranked = sorted(images, key=lambda label: (-len(images[label]), label))
        room = len(ranked)
        if sum(min(len(files), samples) for files in single.values()) > PICTURES_MOST:
            room = min(room, max(PICTURES_MOST // samples, 1))
        wanted = {}
        for label in [ranked[at] for at in even(room, len(ranked))] if samples else ():
            files = single[label]
            wanted[label] = [files[at] for at in even(min(len(files), samples), len(files))]
        whole = sum(file.size for file in self.files) <= CHECK_ALL
        self.reads = [file for label in sorted(images)
                      for file in (images if whole else wanted).get(label, ())]
        self.sheet = {"checked": len(self.reads), "labels": len(ranked) if samples else 0}
        self.shown = [(label, len(images[label]), wanted[label]) for label in sorted(wanted)]

    def look(self, files, wanted=()):
        """(file, what is said of it, bytes) of each that can be read."""
        answers = self.pack.look([file.number for file in files], wanted)
        for (error, look, data), file in zip(answers, files):
            if error == errno.ENOMEM:
                raise MemoryError
            if not error:
                yield file, look, data
                continue
            damaged = error == errno.EBADMSG
            self.pictures[file] = {"why": "damaged in the pack" if damaged else os.strerror(error)}
            if file not in self.unread:
                self.unread.add(file)
                self.note("damaged" if damaged else "unreadable", file.path)

    def read(self):
        """Makes the pictures, and notes what is damaged, truncated or corrupt."""
        wanted = {file.number for _, _, files in self.shown for file in files}
        for file in self.reads:
            if not 0 < file.size <= READ_MOST:
                self.pictures[file] = {"why": "too large" if file.size else "empty"}
        reads = [file for file in self.reads if file not in self.pictures]
        waiting, inside = deque(), 0
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, look, data in self.look(reads, wanted):
                made = pool.submit(picture, look, data) if file.number in wanted else None
                waiting.append((file, look, made, len(data)))
                inside += len(data)
                while inside > INSIDE or len(waiting) > INSIDE_COUNT:
                    inside -= self.take(*waiting.popleft())
            for one in waiting:
                self.take(*one)

    def take(self, file, look, made, size):
        """What became of an image that was read; returns the size."""
        broken = "damage" in look and not look["usable"]
        kind = "truncated" if look.get("damage") in ("truncated", "no-eoi") else "corrupt"
        if made:
            self.pictures[file], refused = made.result()
            kind, broken = kind if broken else "corrupt", broken or refused
        if not self.checked:
            file.kind, file.width, file.height = look["kind"], look["width"], look["height"]
            self.add(file)
        if broken and file.anomaly() not in ("empty", "not-an-image", "no-size"):
            self.note(kind, file.path)
        return size

    # --- the page ---------------------------------------------------------------------------------

    def measure(self):
        """The figures; also notes what is far from the others."""
        sizes = sorted(file.size for file in self.files if file.size)
        widths, heights = (sorted(getattr(file, side) for file in self.sized)
                           for side in ("width", "height"))
        width, height = span(widths), span(heights)
        median = width["median"] * height["median"]
        cells, aspects = Counter(), Counter()
        for file in self.sized:
            area = file.width * file.height
            for kind, far in (("tiny", area * FAR < median), ("huge", area > median * FAR),
                              ("wide", file.width > ELONGATED * file.height),
                              ("high", file.height > ELONGATED * file.width)):
                if far:
                    self.note(kind, file.path)
            cells[bin_of(file.height, SIDE_BINS), bin_of(file.width, SIDE_BINS)] += 1
            aspects[bin_of(256 * file.width / file.height, ASPECT_BINS)] += 1
        return {
            "count": len(self.files), "bins_of_factor_two": BINS,
            "bytes": {"count": len(sizes), "range": span(sizes),
                      "p99": sizes[-1 - len(sizes) // 100] if sizes else 0,
                      "bins": pairs(Counter(bin_of(each, BYTES_BINS) for each in sizes))},
            "sides": {"count": len(widths), "width": width, "height": height,
                      "cells": [[x, y, number] for (y, x), number in sorted(cells.items())],
                      "aspects": pairs(aspects)}}

    def findings(self):
        for kind, (bad, one, many, means) in KINDS.items():
            if kind in COPIES:
                found = self.groups[kind]
                items = [[part for file in files[:NAMED] for part in (file.owner, file.path)] +
                         [len(files) - NAMED] * (len(files) > NAMED) for files in found[:LISTED]]
                files, takes = self.takes.get(kind, (0, 0))
                means += f" {count(files, 'file')} of the same size and checksums" + (
                    f"; the copies take {size(takes)}." if takes else ", stored once.")
            else:
                found = self.noted[kind]
                items = found[:LISTED]
            if found:
                yield {"kind": kind, "bad": bad,
                       "title": f"{count(len(found))} {one if len(found) == 1 else many}",
                       "means": means, "count": len(found), "items": items}

    def page(self):
        images = self.measure()  # which may find something
        name = self.pack.name.rpartition("/")[2] or self.pack.name
        findings = [*self.findings()]
        shown_labels = [
            {**({"name": self.classes.labels[label]} if label < len(self.classes.labels) else {}),
             "images": number, "pictures": [
                 {"at": [file.owner, file.path], **self.pictures[file]} for file in files]}
            for label, number, files in self.shown]
        synsets = dict(line.split(" ", 1) for line in beside("synsets.txt").splitlines())
        data = {"name": name, "version": self.command.version, "info": self.info,
                "synsets": {label: synsets[label] for label in self.classes.labels
                            if label in synsets},
                "images": images, "findings": findings,
                "sheet": {**self.sheet, "shown": shown_labels}}
        plain = (f"<h1>{text(name)}</h1>\n<p>"
                 f"{count(self.info['files'] + self.info['hardlinks'], 'file')}, "
                 f"{size(self.info['bytes'])}; {count(len(self.files), 'image')} in "
                 f"{len(self.classes.labels)} classes</p>\n{plain_findings(findings)}")
        before, _, rest = beside("report.html").partition("{PLAIN}")
        between, _, after = rest.partition("{DATA}")
        # Only "<" could end a script element. JSON has it only in strings, where it may be escaped.
        script = dumps(data).replace("<", "\\u003c")
        return "".join((before, plain, between, script, after)).encode()

    def run(self):
        output = self.command.options["output"]
        samples = int(self.command.options.get("samples", 0))
        if samples:
            system.find("PIL")
        check_output(output)
        self.command.catch()
        try:
            self.read_tree()
            self.look_again()
            self.find_copies()
            self.choose(samples)
            if self.shown:
                need("PIL.Image", "makes the pictures", "Pillow", "; or --samples=0")
            self.read()
            page = self.page()
            if output == "-":
                result.extend(page)
            else:
                write(output, page)
        except Interrupted:
            say(f"{output}: interrupted; nothing was written")
            return FAILED
        if self.noted["damaged"]:
            raise Failed(f"{self.pack.name}: damaged; the report was written and names what it "
                         "found, 'foldpack verify' names all", DAMAGED)
        if self.noted["unreadable"]:
            raise Failed(f"{self.pack.name}: some images cannot be read; the report was written "
                         "and names them; check the storage")
        return DONE


if __name__ == "__main__":
    sys.exit(main(lambda command: Report(command).run()))
