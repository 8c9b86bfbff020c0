"""Measures what a training waits for in a folder of images: doc/doctor.md says what and how,
_verdict.py what comes out."""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import mmap
import os
import random
import re
import time
from pathlib import Path
from statistics import mean, median

import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, get_worker_info
from torchvision import transforms
from torchvision.datasets.folder import IMG_EXTENSIONS

LISTING, LISTING_MOST, LOADING = 0.2, 0.5, 0.15  # of the time
LEAST_LISTING = 10  # seconds, however short the time
KEPT_BYTES, KEPT = 256 << 20, 1000  # images in memory, at most
SMALLER = 200  # of these, made smaller
SHORTEST = 0.3  # seconds of a run
BATCH_SECONDS, BATCH_MOST = 0.1, 64
PROBED = 16  # of so many files, one is asked after
QUALITY = 90  # of images that are made smaller
UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)
DROP_CACHES = Path("/proc/sys/vm/drop_caches")

# Of a row that a worker hands on; UNKNOWN where there is nothing to say.
WORKER, BEGAN, OPENED, DROPPED, READ, ENDED, WARM, BAD = range(8)
UNKNOWN = -1.0

_libc = ctypes.CDLL(None, use_errno=True)


# --- files ---------------------------------------------------------------------------------------

def images_in(folder, fewest, enough, most):
    """(paths, folders, seconds, whether that is all), as ImageFolder finds them; for `enough`
    seconds, or up to `most` to find `fewest`."""
    began, paths, folders = time.monotonic(), [], 0
    for place, _, names in os.walk(folder, followlinks=True):
        taken = time.monotonic() - began
        if taken > (enough if len(paths) >= fewest else most):
            return paths, folders, taken, False
        folders += 1
        paths += (os.path.join(place, name) for name in names
                  if name.lower().endswith(IMG_EXTENSIONS))
    return paths, folders, time.monotonic() - began, True


def in_memory(file):
    """The part of an open file that is in the page cache; UNKNOWN where the kernel does not say it
    (mincore(2)), but "all"."""
    status = os.fstat(file.fileno())
    pages = -(-status.st_size // mmap.PAGESIZE)
    if not pages or not (status.st_uid == os.geteuid() or os.access(file.name, os.W_OK)):
        return UNKNOWN
    with mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as mapped:
        residency = (ctypes.c_ubyte * pages)()
        first = ctypes.c_ubyte.from_buffer(mapped)
        failed = _libc.mincore(ctypes.c_void_p(ctypes.addressof(first)),
                               ctypes.c_size_t(status.st_size), residency)
        del first
    return UNKNOWN if failed else sum(page & 1 for page in residency) / pages


def open_and_read(path):
    """(bytes, seconds to open, seconds to open again, seconds to read)"""
    began = time.monotonic()
    with open(path, "rb") as file:
        opened = time.monotonic()
        data = file.read()
    read = time.monotonic()
    with open(path, "rb"):
        again = time.monotonic() - read
    return data, opened - began, again, read - opened


def memory_available():
    """What this job may have, of the machine or of its control groups: foldfs knows."""
    from ._commands import run

    said = run("foldfs", "--version").decode()
    return int(re.search(r"^(\d+) MiB of memory", said, re.MULTILINE)[1]) << 20


class Processors:
    """Whose time they had since this was made."""

    def __init__(self):
        self.began = self.times()

    @staticmethod
    def times():
        """(all, idle, ours) in ticks, of those that this process may use."""
        mine = {f"cpu{number}" for number in os.sched_getaffinity(0)}
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
        ticks = [list(map(int, words[1:9])) for words in lines if words[0] in mine]
        ours = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")
        return sum(map(sum, ticks)), sum(cpu[3] + cpu[4] for cpu in ticks), ours

    def of_others(self):
        every, idle, ours = (now - then for now, then in zip(self.times(), self.began))
        return min(max((every - idle - ours) / max(every, 1), 0), 1)


# --- images --------------------------------------------------------------------------------------

TRANSFORM = transforms.Compose([
    transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])


def decode(data):
    return TRANSFORM(Image.open(io.BytesIO(data)).convert("RGB"))


def smaller(data, pixels):
    """As --resize has it: the shorter side has so many pixels, and images never grow."""
    image = Image.open(io.BytesIO(data)).convert("RGB")
    scale = pixels / min(image.size)
    if scale >= 1:
        return data
    out = io.BytesIO()
    image.resize([round(side * scale) for side in image.size], Image.BILINEAR) \
        .save(out, "JPEG", quality=QUALITY)
    return out.getvalue()


def shrunk(images, pixels, seconds):
    """(the first images, made smaller, how many times fewer bytes these have), for so long."""
    made, before, until = [], 0, time.monotonic() + seconds
    for data in images[:SMALLER]:
        with contextlib.suppress(UNREADABLE):
            made.append(smaller(data, pixels))
            before += len(data)
        if made and time.monotonic() > until:
            break
    if not made:
        raise OSError("no image in it can be read and decoded")
    return made, before / sum(map(len, made))


def seconds_to_decode(images):
    """Of one, from a few."""
    began, done = time.monotonic(), 0
    for data in images[:8]:
        with contextlib.suppress(UNREADABLE):
            decode(data)
        done += 1
        if time.monotonic() > began + BATCH_SECONDS:
            break
    return (time.monotonic() - began) / done


class Images(Dataset):
    """Files (paths) or images in memory (bytes). Each worker does something for them until so many
    seconds after its first one; then it hands on rows that have not ended."""

    def __init__(self, sources, decoded, seconds):
        self.sources, self.decoded, self.seconds = sources, decoded, seconds
        self.until = None  # of a worker: a process of its own

    def __len__(self):
        return len(self.sources)

    def __getitem__(self, index):
        image, row = torch.zeros(0), [0.0] * (BAD + 1)
        if self.decoded:
            image = torch.zeros(3, 224, 224)
        row[WORKER], row[BEGAN], row[WARM] = get_worker_info().id, time.monotonic(), UNKNOWN
        self.until = self.until or row[BEGAN] + self.seconds
        if row[BEGAN] < self.until:
            try:
                data = self.data(index, row)
                image = decode(data) if self.decoded else image
            except UNREADABLE:
                row[BAD] = 1
            row[ENDED] = time.monotonic()
        return image, torch.tensor(row, dtype=torch.float64)

    def data(self, index, row):
        source = self.sources[index]
        row[OPENED:READ + 1] = [row[BEGAN]] * 3
        if isinstance(source, bytes):
            return source
        with open(source, "rb") as file:
            row[OPENED:READ + 1] = [time.monotonic()] * 3
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            if index % PROBED == 0:
                row[WARM] = in_memory(file)
            row[DROPPED:READ + 1] = [time.monotonic()] * 2
            data = file.read()
        row[READ] = time.monotonic()
        return data


def turns(count):
    """A sampler without an end that goes on where the run before has ended: what was read last
    comes last."""
    return itertools.cycle(random.Random(0).sample(range(count), count))


# --- a run ---------------------------------------------------------------------------------------

def rows_of(loader, workers):
    """Of all images until the time of each worker was over."""
    rows, over = [], set()
    for _, batch in loader:
        for row in batch.tolist():
            if row[ENDED]:
                rows.append(row)
            else:
                over.add(row[WORKER])
        if len(over) == workers:
            return rows


def rate_of(rows):
    """Images a second of all workers, from when all of them have begun."""
    of_worker = {}
    for row in rows:
        of_worker.setdefault(row[WORKER], []).append(row)
    together = max(own[0][BEGAN] for own in of_worker.values())
    rate = 0
    for own in of_worker.values():
        late = [row for row in own if row[BEGAN] >= together]
        own = late if len(late) > 1 else own
        counted = own[:-1] or own
        end = own[-1][BEGAN] if len(own) > 1 else own[-1][ENDED]
        seconds = end - own[0][BEGAN] - sum(row[DROPPED] - row[OPENED] for row in counted)
        rate += len(counted) / max(seconds, 1e-9)
    return rate


def open_share(rows):
    opening = sum(row[OPENED] - row[BEGAN] for row in rows)
    reading = sum(row[READ] - row[DROPPED] for row in rows)
    return opening / max(opening + reading, 1e-9)


class Doctor:
    """All runs over one folder, within so many seconds."""

    def __init__(self, seconds, drop_caches, say):
        self.until = time.monotonic() + seconds
        self.drop_caches, self.say = drop_caches, say
        self.sources, self.turns, self.batches = {}, {}, {}
        self.overhead = 0.2  # seconds that the last run took beside its own
        self.rates, self.open_shares, self.warm, self.bad = {}, {}, [], []

    def left(self):
        return max(self.until - time.monotonic(), 0)

    def load(self, paths, seconds, pixels):
        """Images into memory, and how long that took of each; the sources of all kinds of runs."""
        self.turns["read"] = self.turns["both"] = turns(len(paths))
        self.forget_all()
        until, times, blobs, most = time.monotonic() + seconds, [], [], KEPT_BYTES
        for place in itertools.islice(self.turns["read"], min(KEPT, len(paths))):
            with contextlib.suppress(OSError):
                data, *took = open_and_read(paths[place])
                times.append(took)
                blobs.append(data)
                most -= len(data)
            if most < 0 or time.monotonic() > until:
                break
        resized, fewer = shrunk(blobs, pixels, seconds / 3)
        self.sources.update(read=paths, both=paths, decode=blobs, resized=resized)
        for kind in ("decode", "resized"):
            self.turns[kind] = turns(len(self.sources[kind]))
        self.set_batches(mean(map(sum, times)))
        first, again, _ = (1e6 * median(column) for column in zip(*times))
        return {"bytes": mean(map(len, blobs)), "open_us": [first, again],
                "resize": [pixels, fewer]}

    def set_batches(self, read_s):
        """Of a tenth of a second, so that a run has several of each worker."""
        decode_s = {kind: seconds_to_decode(self.sources[kind]) for kind in ("decode", "resized")}
        for kind, seconds in {"read": read_s, "both": read_s + decode_s["decode"],
                              **decode_s}.items():
            self.batches[kind] = min(max(int(BATCH_SECONDS / seconds), 1), BATCH_MOST)

    def forget_all(self):
        if self.drop_caches:
            os.sync()
            DROP_CACHES.write_text("3")

    def run(self, kind, workers, seconds):
        if kind in ("read", "both"):
            self.forget_all()
        began = time.monotonic()
        loader = DataLoader(Images(self.sources[kind], kind != "read", seconds),
                            self.batches[kind], sampler=self.turns[kind], num_workers=workers,
                            multiprocessing_context="fork")
        rows = rows_of(loader, workers)
        self.overhead = time.monotonic() - began - seconds
        self.rates.setdefault(kind, {}).setdefault(workers, []).append(rate_of(rows))
        self.warm += [row[WARM] for row in rows if row[WARM] != UNKNOWN]
        if kind == "both":
            self.bad += [row[BAD] for row in rows]
        if kind == "read":
            self.open_shares.setdefault(workers, []).append(open_share(rows))

    def runs(self, levels, many):
        """Three rounds, each in another order than the one before; two where time is over then."""
        one = [(kind, workers) for workers in levels for kind in ("read", "decode", "both")]
        one.append(("resized", many))
        plan = [*one, *reversed(one), *one]
        for done, (kind, workers) in enumerate(plan):
            if done == 2 * len(one) and not self.left():
                break
            self.say(kind, workers, self.left())
            seconds = self.left() / (len(plan) - done) - self.overhead
            self.run(kind, workers, max(seconds, SHORTEST))


def levels_of(processors, asked):
    """1, 2, 4.. to the number of processors; of 16 and more every other."""
    step = 2 if processors < 16 else 4
    powers = [1]
    while powers[-1] * step < processors:
        powers.append(powers[-1] * step)
    return sorted({*powers, processors, asked or 1})


def measure(folder, seconds, workers, pixels, drop_caches, fewest, say):
    """`measured` of _verdict.py. Of fewer than `fewest` files, only what the listing says.
    `say(kind, workers, seconds left)` is called before each run."""
    memory = memory_available()
    doctor, work = Doctor(seconds, drop_caches, say), Processors()
    processors = len(os.sched_getaffinity(0))
    say("list", 1, seconds)
    paths, folders, listed_s, complete = images_in(
        folder, fewest, LISTING * seconds, max(LISTING_MOST * seconds, LEAST_LISTING))
    measured = {"files": len(paths), "folders": folders, "listed_s": listed_s,
                "complete": complete, "processors": processors, "memory": memory}
    if len(paths) < fewest:
        return measured
    torch.manual_seed(0)
    say("load", 1, doctor.left())
    measured.update(doctor.load(paths, LOADING * seconds, pixels))
    doctor.runs(levels_of(processors, workers), workers or processors)
    warm = mean(doctor.warm) if doctor.warm else None
    return {**measured, "rates": doctor.rates, "open_share": doctor.open_shares, "warm": warm,
            "bad": mean(doctor.bad), "others": work.of_others()}
