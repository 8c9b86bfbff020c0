"""The wheel: what is in it, that it can be made again, and what pip makes of it."""

import base64
import csv
import email
import hashlib
import io
import os
import sys
import zipfile

import pytest

try:
    import h5py
except ImportError:
    h5py = None

import trees
from foldfs import BUILD, ROOT, run

pytestmark = pytest.mark.plain  # sanitized programs are large, and nothing for users

NAMES = ["foldfs", "foldpack", "foldstat"]
PAGES = sorted(page.name for page in (ROOT / "man").iterdir())


def make(folder, programs, **variables):
    done = run(sys.executable, ROOT / "python/wheel.py", "1.2.3", programs, folder,
               env={**os.environ, **variables})
    return folder / os.path.basename(done.out.strip())


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read("foldfs-1.2.3.dist-info/METADATA"))


@pytest.fixture(scope="module")
def wheel(session_dir):
    """Of the programs under test; that of `make wheel` has static ones."""
    return make(session_dir / "wheel", BUILD)


@pytest.fixture
def programs(place):
    """As small as programs can be that say for which machine they are."""
    with open(BUILD / "foldfs", "rb") as file:
        head = file.read(20)
    for name in [*NAMES, "foldfs-preload.so", "completion/foldfs.bash", "licenses/zlib"]:
        trees.write(place / "programs" / name, head)
    (place / "programs/licenses/SPDX").write_text("MIT AND Zlib\n")
    return place / "programs"


def test_the_same_programs_make_the_same_wheel(programs, place):
    made = make(place, programs).read_bytes()
    assert make(place, programs).read_bytes() == made
    dated = make(place, programs, SOURCE_DATE_EPOCH="1700000000")
    with zipfile.ZipFile(dated) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}


def test_the_record_is_of_all_that_is_in_it(programs, place):
    with zipfile.ZipFile(make(place, programs)) as archive:
        lines = list(csv.reader(io.TextIOWrapper(
            archive.open("foldfs-1.2.3.dist-info/RECORD"))))
        assert sorted(line[0] for line in lines) == sorted(archive.namelist())
        for name, digest, size in lines:
            data = archive.read(name)
            want = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert [digest, size] in ([f"sha256={want}", str(len(data))], ["", ""]), name
        assert [line[0] for line in lines if not line[1]] == ["foldfs-1.2.3.dist-info/RECORD"]


def test_licenses_of_static_programs_are_in_it(programs, place):
    """PEP 639: one expression, and the files by name."""
    wheel = make(place, programs)
    said = metadata(wheel)
    assert said["Metadata-Version"] == "2.4" and said["License-Expression"] == "MIT AND Zlib"
    assert said.get_all("License-File") == ["LICENSE", "zlib"]
    assert "License" not in said and "License ::" not in str(said.get_all("Classifier"))
    with zipfile.ZipFile(wheel) as archive:
        folder = "foldfs-1.2.3.dist-info/licenses"
        assert archive.read(f"{folder}/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert archive.read(f"{folder}/zlib") == (programs / "licenses/zlib").read_bytes()


def test_every_license_that_is_named_is_in_it(wheel):
    with zipfile.ZipFile(wheel) as archive:
        texts = {os.path.basename(name) for name in archive.namelist() if "/licenses/" in name}
    assert set(metadata(wheel).get_all("License-File")) == texts


def test_its_page_has_no_links_into_the_source(wheel):
    said = metadata(wheel)
    page = said.get_payload()
    assert "](doc/" not in page and "](HACKING" not in page and "![" not in page
    assert "# foldfs" in page and said["Version"] == "1.2.3"


def check_scripts(foldpack, place):
    """foldpack finds what reads HDF5, in whatever Python has the library."""
    if not h5py:
        return
    with h5py.File(place / "x.h5", "w") as file:
        file["cats/1.jpg"] = h5py.Empty("f4")
    said = run(foldpack, "create", place / "x.h5", place / "x.lmdb", status=1).err
    assert "x.h5: holds no files of images in a layout known here" in said


def test_pip_installs_commands_pages_and_the_module(wheel, small, place):
    pytest.importorskip("ensurepip", reason="python3-venv is not installed")
    run(sys.executable, "-m", "venv", place / "env")
    run(place / "env/bin/pip", "install", "--no-index", "--quiet", wheel)
    for name in NAMES:
        assert run(place / "env/bin" / name, "--version").out.startswith(name)
        assert (place / "env/share/bash-completion/completions" / name).is_file()
    assert "usage: foldfs-doctor" in run(place / "env/bin/foldfs-doctor", "--help").out
    pages = sorted(page.name for page in (place / "env/share/man").rglob("*.[1-8]"))
    assert pages == PAGES
    program = """import foldfs, sys
with foldfs.mounted(sys.argv[1]) as path:
    print(open(path + "/file").read(), foldfs.stats(path)["pack"]["files"])
"""
    env = {"PATH": "/usr/bin:/bin", "TMPDIR": str(place)}
    python = place / "env/bin/python"
    assert run(python, "-c", program, small[1], cwd=place, env=env).out == "content\n 4\n"
    check_scripts(place / "env/bin/foldpack", place)
    run(place / "env/bin/pip", "uninstall", "--yes", "--quiet", "foldfs")
    # There, RECORD says where the commands were before pip moved them.
    run(place / "env/bin/pip", "install", "--no-index", "--quiet", "--target", place / "lib", wheel)
    env["PYTHONPATH"] = str(place / "lib")
    assert run(python, "-c", program, small[1], cwd=place, env=env).out == "content\n 4\n"
