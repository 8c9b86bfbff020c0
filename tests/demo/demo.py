#!/usr/bin/python3
"""demo.py [DIR]: what foldfs does for a folder of images, DIR/CLASS/IMAGE, in two minutes: first
what is certain on any disk, then what reading gains here. Without DIR, of images made for this.

  BUILD=DIR    where the programs are, and what is kept (build)
  TMPDIR=DIR   where packs are for as long as it runs (/tmp)"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "bench"))
BUILD = Path(os.environ.get("BUILD", "build")).resolve()
os.environ["PATH"] = f"{BUILD}:{os.environ['PATH']}"

import epochs
from far import AWAY_S, far
from mounts import MountError, mount
from profiles import Group, Unavailable
from report import between
from torch.utils.data import DataLoader

FEWEST = 2000  # files: fewer are read before a rate can be told from chance
ROUNDS, WORKERS = 3, 2
SLOW_SECONDS = 3  # of loose files, and of GETs; a mount's epoch is read to its end


def step(text):
    print(f"\n--- {text}", flush=True)


def run(*command, status=0, **options):
    """Shows a command as one would type it, and runs it."""
    print("$", shlex.join(map(str, command)), flush=True)
    done = subprocess.run(list(map(str, command)), check=False, **options)
    if done.returncode != status:
        sys.exit(f"demo: {command[0]}: exit status {done.returncode}")


def files_of(data):
    return [path for path in sorted(data.rglob("*")) if path.is_file()]


def quiet(*command):
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE).stdout


def mounted(pack, group=None):
    return mount(["foldfs", "-q"], str(pack), group)


# --- what is certain -----------------------------------------------------------------------------

def the_same_folder(data, pack):
    with mounted(pack) as path:
        print(f"$ foldfs {pack} {path}", flush=True)
        run("diff", "-r", data, path)
        print(f"not a byte differs; {len(files_of(data)):,} files are one", flush=True)


def a_flipped_bit(pack, work):
    damaged = work / "damaged.lmdb"
    shutil.copy(pack, damaged)
    damaged.chmod(0o600)
    with open(damaged, "r+b") as file:
        file.seek(damaged.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))
    run("foldpack", "verify", damaged, status=3)
    damaged.unlink()


def copies_across_splits(data, work):
    """A few images in train/, of which a tenth is in val/, too."""
    for number, path in enumerate(files_of(data)[:200]):
        for split in ("train", "val") if number % 10 == 0 else ("train",):
            copy = work / "splits" / split / path.parent.name / path.name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
    run("foldpack", "create", "--dedup", work / "splits", work / "splits.lmdb")
    run("foldpack", "report", work / "splits.lmdb", "-o", BUILD / "demo-report.html")


def the_seed(pack):
    with mounted(pack) as path:
        rate_of(lambda: folder_loader(path, seed=1234))
        found = json.loads(quiet("foldstat", "--json", path))["oracle"]
    if "seed" in found:
        print(f"a DataLoader under torch.manual_seed(1234) read the mount: foldfs found that "
              f"its shuffle drew {found['seed']}, and read ahead in that order", flush=True)
    else:
        print("a DataLoader read the mount; its order was not found before it was over")


# --- what reading gains --------------------------------------------------------------------------

def folder_loader(path, seed=None):
    if seed is not None:
        epochs.torch.manual_seed(seed)
    return DataLoader(epochs.folder(path), epochs.BATCH, shuffle=True, num_workers=WORKERS)


def gets_loader(names, url):
    return DataLoader(epochs.Gets(names, url), epochs.BATCH, shuffle=True, num_workers=WORKERS)


def rate_of(loader, seconds=0, group=None):
    """Files a second of an epoch, read by a process of its own, in a group."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if group:
                group.enter()
            os.write(theirs, json.dumps(epochs.rate_of(loader(), seconds)).encode())
        except Exception:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        said = answer.read()
    os.waitpid(pid, 0)
    if not said:
        sys.exit("demo: a reader has failed")
    return json.loads(said)


def forget(*places):
    """No bytes of these in memory; names and inodes stay."""
    os.sync()
    for place in places:
        for path in [place, *place.rglob("*")]:
            if path.is_file():
                with open(path, "rb") as file:
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def spread(rates):
    return f"{min(rates):,.0f} to {max(rates):,.0f}"


def verdict(ours, others):
    """How many times as fast, or that rounds do not tell."""
    if min(ours) > max(others) or max(ours) < min(others):
        return f"{between(min(ours) / max(others), max(ours) / min(others))} x"
    return "same"


def row(title, others, ours):
    """Alternating rounds of two functions that give a rate."""
    rates = [(others(), ours()) for _ in range(ROUNDS)]
    others, ours = zip(*rates)
    print(f"{title:44} {spread(others):>16} {spread(ours):>16} {verdict(ours, others):>14}",
          flush=True)


def device(title, data, pack, limited):
    """`limited()` is a group, or None, for the time of a block."""
    def loose():
        forget(data)
        with limited() as group:
            return rate_of(lambda: folder_loader(data), SLOW_SECONDS if group else 0, group)

    def packed():
        forget(pack)
        with limited() as group, mounted(pack, group) as path:
            return rate_of(lambda: folder_loader(path), 0, group)

    row(title, loose, packed)


def server(data, work):
    """The folder and its pack behind a server, which has them in memory."""
    names = [str(path.relative_to(data)) for path in files_of(data)]

    def gets():
        with far(data) as url:
            return rate_of(lambda: gets_loader(names, url), SLOW_SECONDS)

    def packed():
        with far(work) as url, mounted(f"{url}/images.lmdb") as path:
            return rate_of(lambda: folder_loader(path))

    row(f"a web server {AWAY_S * 1000:.0f} ms away, one GET per file", gets, packed)


def rounds(data, pack, work):
    print(f"{'files/s, 3 rounds, cold':44} {'loose files':>16} {'mount':>16} {'':>14}")
    device("this storage", data, pack, contextlib.nullcontext)
    with contextlib.suppress(Unavailable):  # it takes root, and control groups
        device("as a hard disk: 120 requests/s", data, pack,
               lambda: Group(profile="hdd", path=str(pack)))
    server(data, work)


# --- all -----------------------------------------------------------------------------------------

LAST = """\
It is not for you if your images are decoded as fast as they are needed already, if you have few of
them on a fast disk, or if you change them between epochs: a mount is read-only. `make bench`
measures larger trees, other programs beside it, and little memory.
The report, which names the images of train/ that are in val/, too: {report}"""


def images():
    if sys.argv[1:] and sys.argv[1]:
        return Path(sys.argv[1]).resolve()
    data = BUILD / "demo-data"
    step("no DATA=dir given: 2,000 images of ImageNet's sizes (made once)")
    run(sys.executable, "-B", HERE.parent / "data/make_images.py", data)
    return data


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    data, began = images(), time.monotonic()
    files = len(files_of(data))
    os.sync()  # what was just written cannot be forgotten
    with tempfile.TemporaryDirectory(prefix="foldfs-demo-") as place:
        work = Path(place)
        work.chmod(0o755)
        pack = work / "images.lmdb"
        step("1. What holds a training on this folder back?")
        run(sys.executable, "-B", "-m", "foldfs", "doctor", "--seconds", 20, data,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        step("2. The folder becomes one file, and that the folder again")
        run("foldpack", "create", data, pack)
        the_same_folder(data, pack)
        step("3. What is certain, whatever the disk")
        print("one bit of the pack is flipped:", flush=True)
        a_flipped_bit(pack, work)
        print("a tenth of train/ is in val/, too:", flush=True)
        copies_across_splits(data, work)
        the_seed(pack)
        step(f"4. Reading alone, DataLoader(shuffle=True, num_workers={WORKERS})")
        if files < FEWEST:
            print(f"too few to time: fewer than {FEWEST:,} files")
        else:
            rounds(data, pack, work)
    print("\n" + LAST.format(report=f"file://{BUILD / 'demo-report.html'}"))
    print(f"({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    try:
        main()
    except (OSError, MountError, subprocess.SubprocessError) as error:
        sys.exit(f"demo: {error}")
