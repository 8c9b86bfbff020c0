"""What the options of `foldpack create` do to one another where a run is gone on with: counts,
lists and bytes are those of a run that nobody disturbed."""

import filecmp
import json
import os
import subprocess
from pathlib import Path

import pytest

import limits
import pictures
from foldfs import FOLDPACK, MIB, info, run
from trees import noise, write

pytestmark = pytest.mark.plain  # batches are large

TEXT = noise("text", 3000)
COUNTS = ("files", "bytes_in", "bytes_out", "skipped", "kept", "left", "masks", "deduped",
          "id")
REPORTS = ("images changed", "left as", "have the bytes of others", "packed anyway", "left out")


def make_some(root):
    """Good and bad, with equals on both sides of the place where a run is cut off."""
    picture = pictures.jpeg(pictures.noise((90, 60)))
    write(root / "damaged.jpg", TEXT)
    write(root / "none.jpg", b"")
    write(root / "cut off.jpg", picture[:len(picture) // 2])
    write(root / "no end.jpg", picture[:-2])
    write(root / "photo.jpg", picture)
    write(root / "photo too.jpg", picture)
    write(root / "a photo.png", picture)
    write(root / "mask.png", pictures.png(pictures.noise((90, 60)).quantize(9)))
    write(root / "as good as text.txt", TEXT)
    write(root / "empty", b"")
    os.link(root / "cut off.jpg", root / "linked.jpg")
    os.link(root / "photo.jpg", root / "same.jpg")


@pytest.fixture(scope="module")
def src(fast):
    """A batch and a quarter."""
    root = fast / "src"
    make_some(root / "a")
    write(root / "a" / "dropped before.jpg", noise("twin", 3000))
    write(root / "zz" / "its twin.txt", noise("twin", 3000))
    for number in range(20):
        write(root / "b" / f"{number:02}", noise(number, 4 * MIB))
    make_some(root / "zz")
    return root


@pytest.fixture(scope="module")
def tar(src, fast):
    """The same, with what only a tar can have, before what is cut off and behind it."""
    path = fast / "src.tar"
    subprocess.run(["tar", "-cf", path, "--sort=name", "-C", src, "a"], check=True)
    for name in ["a/photo.jpg", "b", "a/empty", "zz", "zz/photo.jpg"]:
        subprocess.run(["tar", "-rf", path, "--sort=name", "-C", src, name], check=True)
    return path


@pytest.fixture
def pack(fast):
    yield fast / "x.lmdb"
    for left in fast.glob("x.lmdb*"):
        left.unlink()


def cut_off(src, pack, *options):
    """A run that ends behind the first batch."""
    done = run(FOLDPACK, "create", *options, src, pack, status=1,
               preexec_fn=limits.file_size(70 * MIB))
    assert "--resume continues after" in done.err
    return done


class Made:
    """A pack, its bad list and what was said of both."""

    def __init__(self, src, pack, *options):
        lists = Path(f"{pack}.bad")
        done = run(FOLDPACK, "create", "--json", f"--bad-list={lists}", *options, src, pack,
                   status=None)
        summary = json.loads(done.out)
        self.status, self.err = done.returncode, done.err
        self.counts = {name: summary[name] for name in COUNTS}
        self.bad = lists.read_text()
        self.reports = [line.partition(": ")[2].partition(": ")[2] for line in done.err.splitlines()
                        if any(report in line for report in REPORTS)
                        and line.startswith(f"foldpack: {pack}: ")]


def expect_the_same(src, pack, *options):
    whole = Path(f"{pack}.whole")
    want = Made(src, whole, *options)
    cut_off(src, pack, *options)
    made = Made(src, pack, "--resume", *options)
    assert "resuming after" in made.err
    assert filecmp.cmp(pack, whole, shallow=False)
    assert made.bad == want.bad
    assert (made.status, made.counts) == (want.status, want.counts)
    assert made.reports == want.reports
    run(FOLDPACK, "verify", pack)
    return made


@pytest.mark.parametrize("options, status", [
    (("--check=decode", "--on-bad=keep"), 0),
    (("--check=decode", "--on-bad=skip", "--dedup"), 4),
    (("--check=header", "--on-bad=keep", "--dedup", "--order=shuffle:3"), 0),
    (("--resize=40", "--on-bad=skip", "--dedup"), 4),
    (("--store=bmp", "--on-bad=keep"), 0),
])
def test_lists_counts_and_bytes_are_those_of_a_whole_run(src, pack, options, status):
    made = expect_the_same(src, pack, *options)
    assert made.status == status
    assert "a/damaged.jpg\t" in made.bad or "--check" not in options[0]


@pytest.mark.parametrize("options", [
    ("--check=decode", "--on-bad=skip", "--dedup"),
    ("--optimize", "--on-bad=skip", "--check=header"),
])
def test_the_same_of_a_tar(tar, pack, options):
    made = expect_the_same(tar, pack, *options)
    assert made.status == 4
    assert "comes more than once" not in made.bad  # the last one counts


def test_a_run_that_was_not_checked_is_not_gone_on_with_as_if_it_had_been(src, pack):
    cut_off(src, pack, "--check=off")
    done = run(FOLDPACK, "create", "--resume", "--check=header", src, pack, status=1)
    assert f"{pack}: was begun with" in done.err and "'check=off'" in done.err
    run(FOLDPACK, "create", "--resume", "--check=off", src, pack)
    assert info(pack)["options"] == "check=off\n"
