"""On kernels that lack what newer ones have, down to Linux 4.18: all of it is done without."""

import os
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, is_mounted, is_root, run

pytestmark = is_root  # others may not filter what fusermount3 calls

OLDER = Path(__file__).with_name("older_kernel.py")
EVERYTHING = "nowait,statx,seccomp"


@pytest.fixture
def older(place, monkeypatch):
    """Has foldfs run on a kernel without the calls since 5.1, and without what is named."""
    def use(without):
        wrapper = place / "foldfs"
        wrapper.write_text(f"#!/bin/sh\n"
                           f"exec {sys.executable} {OLDER} '{without}' {FOLDFS} \"$@\"\n")
        wrapper.chmod(0o755)
        monkeypatch.setattr(foldfs, "FOLDFS", wrapper)
        return wrapper

    return use


@pytest.mark.parametrize("without", ["", "statx", "nowait", EVERYTHING])
@pytest.mark.parametrize("cache", ["kernel", "pool"])
def test_a_mount_works_without(images, mount, older, without, cache):
    older(without)
    mounted = mount(images[1], f"--cache={cache}")
    assert trees.content(mounted) == trees.content(images[0])
    mounted.close()
    assert not is_mounted(mounted)


def test_what_is_lacking_is_said(older):
    new = run(FOLDFS, "--version").out
    old = run(older(EVERYTHING), "--version").out
    assert "lacks statx, cachestat, Landlock, seccomp\n" in old
    assert "statx" in new and old.splitlines()[:3] == new.splitlines()[:3]


def test_packing_and_verifying_work(images, place):
    pack = place / "again.foldfs"
    tool = [sys.executable, OLDER, EVERYTHING, FOLDPACK]
    run(*tool, "create", images[0], pack)
    assert "all good" in run(*tool, "verify", pack).err
    run(*tool, "extract", pack, place / "out")
    assert trees.content(place / "out") == trees.content(images[0])


def test_the_helper_keeps_nothing_open(small, mount, older):
    older("")
    mounted = mount(small[1])
    [helper] = foldfs.children(mounted.daemon)
    assert sorted(map(int, os.listdir(f"/proc/{helper}/fd"))) == [0, 1, 2, 3]
