"""Programs that make the same system calls in lock step (callers.c), each with another thing at one
path: a plain folder that is read-only, the mount of its pack, and the pack without a mount, for a
program with libraries and for a static one.

Each is alone with its mounts. All that it can write to is a filesystem in memory, the same on each
side: so what is done beside the folder is compared, too, and does no harm."""

import contextlib
import ctypes
import errno
import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import foldfs
from foldfs import FOLDFS, as_user, libc, run

NEW_MOUNTS, PRIVATE, BIND, RECURSIVE = 0x20000, 1 << 18, 1 << 12, 1 << 14
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 1, 2, 4, 8
MOUNT_SETATTR, ALL_BELOW, HERE = 442, 0x8000, -100


class Out(NamedTuple):
    """A buffer that a call fills."""
    size: int


class Bytes(NamedTuple):
    """A buffer that it reads."""
    bytes: bytes


class Call(NamedTuple):
    caller: int
    name: str
    arguments: tuple


class Answer(NamedTuple):
    value: int
    error: str  # the name of errno; "": it succeeded
    given: list  # what the buffers hold then


# --- where they are -----------------------------------------------------------------------------


def checked(result):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def set_attributes(path, flags, are_set=True):
    attributes = (ctypes.c_uint64 * 4)(flags * are_set, flags * (not are_set))
    checked(libc.syscall(MOUNT_SETATTR, HERE, os.fsencode(path), ALL_BELOW, attributes, 32))


def bind(source, target):
    checked(libc.mount(os.fsencode(source), os.fsencode(target), None, BIND, None))


class Arena:
    """What callers can write to, and in it the folder that is compared."""

    def __init__(self, path, uid):
        self.path, self.uid = path, uid
        path.mkdir()
        self.top, self.other = path / "above/mnt", path / "other"

    def enter(self, writable):
        """For this process and its children alone."""
        checked(libc.unshare(NEW_MOUNTS))
        checked(libc.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
        checked(libc.mount(b"none", os.fsencode(self.path), b"tmpfs",
                           NO_SUID | NO_DEVICES | NO_EXEC, b"mode=755"))
        bind(writable, writable)
        set_attributes("/", READ_ONLY)
        for path in (self.path, "/proc", writable):
            set_attributes(path, READ_ONLY, False)
        self.fill()

    def fill(self):
        self.top.mkdir(parents=True)
        (self.other / "folder").mkdir(parents=True)
        (self.other / "file").write_text("beside")
        (self.other / "folder/below").write_text("below")
        links = {"to top": self.top, "to file": "../above/mnt/links/target",
                 "to links": "../above/mnt/links", "to link": "to links/to file",
                 "by cwd": "/proc/self/cwd", "by fd": "/dev/fd/10"}
        links.update({f"{n}": f"{n - 1}" if n else "to top" for n in range(45)})
        for name, target in links.items():
            (self.other / name).symlink_to(target)
        give(self.path, self.uid)
        for path in (*self.path.rglob("*"), self.path):
            os.utime(path, (1, 1), follow_symlinks=False)


def give(top, uid):
    for folder, folders, files in os.walk(top):
        for name in [".", *folders, *files]:
            os.chown(os.path.join(folder, name), uid, uid, follow_symlinks=False)


# --- who they are -------------------------------------------------------------------------------


def encoded(argument):
    if isinstance(argument, Out):
        return b"o%d" % argument.size
    if isinstance(argument, Bytes):
        return b"b" + argument.bytes.hex().encode()
    if isinstance(argument, bytes):
        return b"s" + argument.hex().encode()
    return b"%d" % argument


class Side:
    """One of the programs, which has begun."""

    def __init__(self, name, command, begin, numbers):
        self.name, self.numbers, self.ids = name, numbers, {}
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=begin)

    def call(self, call):
        name, *kept = call.name.split("=")
        what = "=".join([str(self.numbers.get(name, name)), *kept])
        line = b" ".join([b"%d" % call.caller, what.encode(), *map(encoded, call.arguments)])
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line + b"\n")
            self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        if len(words) < 2:
            return Answer(-1, "no answer", [])
        value, number, *given = words
        return Answer(int(value), errno.errorcode[int(number)] if int(number) else "",
                      [bytes.fromhex(word.decode()) for word in given])

    def identify(self, device, inode):
        """A number for each file, which is the same on all sides: by when it was seen first."""
        return self.ids.setdefault((device, inode), len(self.ids))

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        assert self.process.wait(foldfs.PATIENCE) == 0, self.name


def numbers_of(names):
    """Of system calls; -1 where this one's headers lack it."""
    asked = "#include <sys/syscall.h>\n" + "".join(f"@ {name} __NR_{name}\n" for name in names)
    said = run("cc", "-E", "-P", "-", stdin=None, input=asked.encode()).out
    return {name: dict(re.findall(r"^@ (\w+) (\d+)$", said, re.M)).get(name, -1) for name in names}


class World:
    """What is needed to begin the programs: in `place`, for calls of these names."""

    def __init__(self, place, arena, plain, pack, writable, names):
        self.arena, self.plain, self.pack, self.writable = arena, plain, pack, writable
        self.place, self.numbers = place, numbers_of(names)

    def program(self, name, *words):
        """Compiled once, with words for the compiler."""
        made = self.place / name
        if not made.exists():
            run("cc", "-D_GNU_SOURCE", "-O1", "-pthread", *words, "-o", made,
                Path(__file__).with_suffix(".c"))
        return made

    def enter(self):
        self.arena.enter(self.writable)

    def enter_with(self, folder):
        """It is in the arena then."""
        self.enter()
        bind(folder, self.arena.top)
        set_attributes(self.arena.top, READ_ONLY | NO_SUID | NO_DEVICES | NO_EXEC)

    @contextlib.contextmanager
    def begun(self, *sides):
        """Sides, by names, commands, and what they enter."""
        with contextlib.ExitStack() as stack:
            found = []
            for side in sides:
                found.append(Side(*side, self.numbers))
                stack.callback(found[-1].close)
            yield found

    def pair(self, mounted):
        """The plain folder, and a mount that others share."""
        user = as_user(self.arena.uid) if self.arena.uid else []
        command = [*user, self.program("callers")]
        return self.begun(*((name, command, lambda folder=folder: self.enter_with(folder))
                            for name, folder in (("plain", self.plain), ("mount", mounted))))

    def sides(self, *options):
        """All of one user, as plain, mount, job and static job."""
        uid = self.arena.uid
        user = as_user(uid) if uid else []
        owner = [f"--uid={uid}", f"--gid={uid}"]
        shown = [*options, self.pack, self.arena.top, "--"]
        mount = [FOLDFS, "-q", "--noexec", "--allow_other", *owner, *shown, *user]
        job = [*user, FOLDFS, "--no-fuse", "-q", *shown]
        dynamic, static = self.program("callers"), self.program("callers-static", "-static")
        return self.begun(
            ("plain", [*user, dynamic], lambda: self.enter_with(self.plain)),
            ("mount", [*mount, dynamic], self.enter), ("job", [*job, dynamic], self.enter),
            ("static job", [*job, static], self.enter))
