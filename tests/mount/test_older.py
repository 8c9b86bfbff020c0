"""On kernels that lack what newer ones have, down to Linux 4.18: all of it is done without."""

import errno
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, PATIENCE, is_mounted, is_root, run
from gate import IN_HEADER, INIT, LOOKUP, OPEN, OPENDIR, OUT_HEADER, READDIR, ROOT

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
    assert "lacks statx, cachestat, Landlock, seccomp, seccomp listeners\n" in old
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


class Kernel:
    """The kernel's end of a mount, in place of /dev/fuse."""

    def __init__(self, minor, flags, pack):
        self.socket, device = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.unique = 0
        with device:
            self.daemon = subprocess.Popen(
                [FOLDFS, "-f", "-q", "-o", "umask=222", pack, f"/dev/fd/{device.fileno()}"],
                pass_fds=[device.fileno()])
        assert self.ask(INIT, 0, struct.pack("IIII", 7, minor, 1 << 17, flags))[0] == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        assert self.daemon.wait(PATIENCE) == 0

    def ask(self, opcode, node, body):
        """(errno, what follows the header)."""
        self.unique += 2
        header = IN_HEADER.pack(IN_HEADER.size + len(body), opcode, self.unique, node, 0, 0, 1, 0,
                                0)
        self.socket.send(header + body)
        while True:
            answer = self.socket.recv(1 << 20)
            _, error, unique = OUT_HEADER.unpack_from(answer)
            if unique == self.unique:
                return -error, answer[OUT_HEADER.size:]

    def open(self, opcode, node):
        return self.ask(opcode, node, struct.pack("II", os.O_RDONLY, 0))[0]


NO_OPEN, NO_OPENDIR = 1 << 17, 1 << 24  # what the kernel takes ENOSYS for: nothing to open


@pytest.mark.parametrize("minor, flags, opening, listing", [
    (27, NO_OPEN, errno.ENOSYS, 0),  # Linux 4.18
    (31, NO_OPEN | NO_OPENDIR, errno.ENOSYS, errno.ENOSYS),
    (31, 0, 0, 0)])
def test_what_is_opened_depends_on_the_kernel(small, minor, flags, opening, listing):
    with Kernel(minor, flags, small[1]) as kernel:
        name = next(os.fsencode(e.name) for e in os.scandir(small[0]) if e.is_file()) + b"\0"
        error, found = kernel.ask(LOOKUP, ROOT, name)
        assert error == 0
        [node] = struct.unpack_from("Q", found)
        assert kernel.open(OPEN, node) == opening
        assert kernel.open(OPENDIR, ROOT) == listing
        error, listed = kernel.ask(READDIR, ROOT, struct.pack("QQIIQII", 0, 0, 4096, 0, 0, 0, 0))
        assert error == 0 and name[:-1] in listed
