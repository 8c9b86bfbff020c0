"""What `make static` makes, in a root that holds nothing else."""

import os
import re
import shutil
import stat
import subprocess

import pytest

import trees
from foldfs import BUILD, PATIENCE, ROOT, is_mounted, is_root, is_static, needs, run, wait_for_line

LIMIT = 5_000_000  # bytes of each program
PROGRAMS = ["foldfs", "foldpack", "foldstat"]


pytestmark = [is_root, pytest.mark.skipif(not is_static(), reason="not the static build")]


@pytest.fixture
def root(place, images):
    """A root with the programs, a device, /proc and a folder of images."""
    for folder in ("bin", "dev", "mnt", "proc"):
        (place / folder).mkdir()
    for name in PROGRAMS:
        shutil.copy2(BUILD / name, place / "bin")
    os.mknod(place / "dev/fuse", stat.S_IFCHR | 0o666, os.makedev(10, 229))
    shutil.copytree(images[0], place / "images", symlinks=True)
    run("mount", "-t", "proc", "proc", place / "proc")
    yield place
    run("umount", place / "proc")


def within(root, *command, **options):
    return run("chroot", root, *command, **options)


def test_programs_are_small():
    for name in PROGRAMS:
        assert os.path.getsize(BUILD / name) < LIMIT


def test_everything_works_in_an_empty_root(root, images):
    within(root, "/bin/foldpack", "create", "/images", "/pack")
    assert "all good" in within(root, "/bin/foldpack", "verify", "/pack").err
    with subprocess.Popen(["chroot", root, "/bin/foldfs", "-f", "/pack", "/mnt"],
                          stderr=subprocess.PIPE) as daemon:
        wait_for_line(daemon.stderr, rb": .* on .*\n")
        assert trees.content(root / "mnt") == trees.content(images[0])
        assert within(root, "/bin/foldstat", "/mnt").out.startswith("pack")
        daemon.terminate()
        assert daemon.wait(PATIENCE) == 0
    assert not is_mounted(root / "mnt")


@needs("make")
def test_an_installation_has_the_licenses_of_what_is_linked(place):
    run("make", "-C", ROOT, "-o", "all", "-o", f"{BUILD}/licenses", "STATIC=1", f"B={BUILD}",
        f"DESTDIR={place}", "PREFIX=", "install")
    texts = place / "share/doc/foldfs/licenses"
    rows = re.findall(r"(?m)^    (\S+)\.a +(\S+) \S+: (.*)", (texts / "README").read_text())
    linked = {library: license for library, _, license in rows}
    assert linked["libfuse3"] == "LGPL-2.1-only" and linked["liblmdb"] == "OLDAP-2.8"
    assert {"libarchive", "libc", "libjpeg", "libjson-c", "libncursesw", "libnettle", "libxxhash",
            "libz", "libzstd"} <= linked.keys()
    for _, source, license in rows:
        assert "Copyright" in (texts / source).read_text()
        assert all(part.strip("()") in (texts / "SPDX").read_text()
                   for part in license.split(" AND "))
    assert "GNU LESSER GENERAL PUBLIC LICENSE" in (texts / "LGPL-2.1").read_text()


def test_the_wheel_is_small():
    for wheel in (ROOT / "dist").glob("foldfs-*.whl"):
        assert os.path.getsize(wheel) < 6_000_000


def test_what_cannot_be_loaded_is_said(root):
    for command in (["/bin/foldfs", "https://localhost/pack", "/mnt"],
                    ["/bin/foldpack", "info", "https://localhost/pack"]):
        assert "this static foldfs reads no URLs" in within(root, *command, status=None).err
