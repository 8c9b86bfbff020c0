"""The programs of doc/recipes.md: what the page says is what runs."""

import os
import re
import sys

import pytest

import foldfs
from foldfs import BUILD, ROOT, run

PAGE = (ROOT / "doc/recipes.md").read_text()


class Kitchen:
    """Where a recipe runs: `place` has the pack that it reads, of so many `images`."""

    images = 65

    def __init__(self, place):
        self.place = place

    def blocks(self, title, language):
        """The code below a heading."""
        section = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)[1]
        return re.findall(rf"^```{language}\n(.*?)^```$", section, re.M | re.S)

    def cook(self, title):
        """Runs a recipe, and returns how many images each of two epochs had, in each rank."""
        [program] = self.blocks(title, "python")
        (self.place / "train.py").write_text(program)
        command = "".join(self.blocks(title, "sh")).split() or [sys.executable, "train.py"]
        counts = re.findall(r"^epoch (\d+): (\d+) images$", run(*command).out, re.M)
        return [[int(count) for epoch, count in counts if epoch == which] for which in "01"]

    def mounts(self):
        return [os.fsdecode(line.path) for line in foldfs.mount_lines(self.place)]


@pytest.fixture
def kitchen(images, place, monkeypatch):
    os.symlink(images[1], place / "train.lmdb")
    for variable, name in {"HOME": "home", "TMPDIR": "tmp"}.items():
        (place / name).mkdir(mode=0o700)
        monkeypatch.setenv(variable, str(place / name))
    monkeypatch.setenv("PATH", os.pathsep.join(
        [str(BUILD), os.path.dirname(sys.executable), os.environ["PATH"]]))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "python"))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.chdir(place)
    kitchen = Kitchen(place)
    yield kitchen
    assert not kitchen.mounts() and not list((place / "tmp").glob("foldfs-*"))
