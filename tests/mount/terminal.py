"""A program on a terminal of its own, whose screen can be looked at."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

import pyte

from foldfs import PATIENCE, wait_for


class Terminal:
    """The process leads a session. TERM is linux, unless it is given: pyte knows that one best."""

    def __init__(self, *command, rows=24, columns=80, **environment):
        self.raw = b""
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        leader, self.follower = pty.openpty()
        self.leader = leader
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.follower)
        self.pid = os.fork()
        if self.pid == 0:
            os.login_tty(self.follower) if hasattr(os, "login_tty") else self.become_leader()
            words = [os.fspath(word) for word in command]
            os.execvpe(words[0], words, {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "linux",
                                         **environment})

    def become_leader(self):
        os.setsid()
        fcntl.ioctl(self.follower, termios.TIOCSCTTY, 0)
        for fd in range(3):
            os.dup2(self.follower, fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.leader)
        os.close(self.follower)

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.leader, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.leader, keys)

    def kill(self, number):
        os.kill(self.pid, number)

    @property
    def text(self):
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds):
        """Takes what comes; False if nothing did."""
        if not select.select([self.leader], [], [], seconds)[0]:
            return False
        data = os.read(self.leader, 65536)
        self.raw += data
        self.stream.feed(data)
        return True

    def wait_for(self, shown):
        """Until a text is on the screen, or shown(text) is true."""
        deadline = time.monotonic() + PATIENCE
        fits = shown if callable(shown) else lambda text: shown in text
        while not fits(self.text):
            assert time.monotonic() < deadline, f"not shown: {shown}\n{self.text}"
            self.read(0.1)
        return self.text

    def end(self):
        """Waits for the end of the process: its status. All it has written is in raw."""
        deadline = time.monotonic() + PATIENCE
        while (status := wait_for(self.pid, 0)) is None:
            assert time.monotonic() < deadline, f"it goes on:\n{self.text}"
            self.read(0.02)
        self.pid = None
        with contextlib.suppress(OSError):
            while self.read(0):
                pass
        return status

    def is_restored(self):
        return termios.tcgetattr(self.follower) == self.before
