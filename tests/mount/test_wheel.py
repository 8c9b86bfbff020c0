"""The wheel: what is in it, that it can be made again, and what pip makes of it."""

import base64
import csv
import hashlib
import io
import os
import sys
import zipfile

import pytest

from foldfs import BUILD, ROOT, run

pytestmark = pytest.mark.plain  # sanitized programs are large, and nothing for users

NAMES = ["foldfs", "foldpack", "foldstat"]
PAGES = sorted(page.name for page in (ROOT / "man").iterdir())


def make(folder, **variables):
    """A wheel of the programs under test; that of `make wheel` has static ones."""
    done = run(sys.executable, ROOT / "python/wheel.py", "1.2.3", BUILD, folder,
               env={**os.environ, **variables})
    return folder / os.path.basename(done.out.strip())


@pytest.fixture(scope="module")
def wheel(session_dir):
    return make(session_dir / "wheel")


def test_the_same_programs_make_the_same_wheel(wheel, place):
    assert make(place).read_bytes() == wheel.read_bytes()
    dated = make(place, SOURCE_DATE_EPOCH="1700000000")
    with zipfile.ZipFile(dated) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_the_record_is_of_all_that_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        lines = list(csv.reader(io.TextIOWrapper(
            archive.open("foldfs-1.2.3.dist-info/RECORD"))))
        assert sorted(line[0] for line in lines) == sorted(archive.namelist())
        for name, digest, size in lines:
            data = archive.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert [digest, size] in ([f"sha256={want}", str(len(data))], ["", ""]), name
        assert [line[0] for line in lines if not line[1]] == ["foldfs-1.2.3.dist-info/RECORD"]


def test_its_page_has_no_links_into_the_source(wheel):
    with zipfile.ZipFile(wheel) as archive:
        page = archive.read("foldfs-1.2.3.dist-info/METADATA").decode()
    assert "](doc/" not in page and "](HACKING" not in page and "![" not in page
    assert "# foldfs" in page and "\nVersion: 1.2.3\n" in page


def test_pip_installs_commands_pages_and_the_module(wheel, small, place):
    pytest.importorskip("ensurepip", reason="python3-venv is not installed")
    run(sys.executable, "-m", "venv", place / "env")
    run(place / "env/bin/pip", "install", "--no-index", "--quiet", wheel)
    for name in NAMES:
        assert run(place / "env/bin" / name, "--version").out.startswith(name)
        assert (place / "env/share/bash-completion/completions" / name).is_file()
    pages = sorted(page.name for page in (place / "env/share/man").rglob("*.[1-8]"))
    assert pages == PAGES
    program = """import foldfs, sys
with foldfs.mounted(sys.argv[1]) as path:
    print(open(path + "/file").read(), foldfs.stats(path)["pack"]["files"])
"""
    done = run(place / "env/bin/python", "-c", program, small[1], cwd=place,
               env={"PATH": "/usr/bin:/bin", "XDG_RUNTIME_DIR": str(place)})
    assert done.out == "content\n 4\n"
