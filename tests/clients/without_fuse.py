"""A plugin of pytest (run.sh --no-fuse): what these tests mount is there without a mount, and the
jobs that they start begin under foldfs. One command of foldfs stands for a mount: host.py, which
starts the jobs and says what the statistics are."""

import functools
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import foldfs
import oracle
from foldfs import FOLDFS, PATIENCE

HOST = Path(__file__).resolve().parent / "scripts/host.py"


class Begun:
    """A process of a host, as Popen has it."""

    def __init__(self, mounted, words, bufsize, env, **_):
        self.mounted = mounted
        theirs, mine = os.pipe()
        self.stdin = os.fdopen(mine, "wb", bufsize)
        mine, ours = os.pipe()
        self.stdout = os.fdopen(mine, "rb", bufsize)
        self.pid = mounted.ask({"words": [*map(os.fspath, words)], "environ": env},
                               theirs, ours)
        os.close(theirs)
        os.close(ours)

    def kill(self):
        self.mounted.ask({"kill": self.pid})

    def wait(self, timeout=PATIENCE):
        return self.mounted.ask({"wait": self.pid, "seconds": timeout})


class Mounted:
    """In place of a mount."""

    def __init__(self, pack, path, options):
        self.pack, self.path = pack, path
        self.socket, theirs = socket.socketpair()
        self.lines = self.socket.makefile("rb")
        self.process = subprocess.Popen(
            [FOLDFS, "--no-fuse", *options, pack, path, "--", sys.executable, "-B", HOST, path],
            stdin=theirs)
        theirs.close()

    def __truediv__(self, name):
        return self.path / name

    def __fspath__(self):
        return os.fspath(self.path)

    def ask(self, what, *fds):
        socket.send_fds(self.socket, [json.dumps(what).encode() + b"\n"], fds)
        return json.loads(self.lines.readline())

    def stats(self):
        return self.ask({"stats": foldfs.STATS})

    def close(self):
        self.lines.close()
        self.socket.close()
        assert self.process.wait(PATIENCE) == 0


@pytest.fixture
def mounted(data, point, monkeypatch):
    mounted = Mounted(data.pack, point, data.options)
    monkeypatch.setattr(oracle.Job, "begin", functools.partial(Begun, mounted))
    yield mounted
    mounted.close()
