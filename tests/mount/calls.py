"""Random system calls for callers.py: what is drawn follows from a seed alone, and not from what
the calls return."""

import os
import stat
import struct
from typing import NamedTuple

from callers import Bytes, Call, Out

CALLERS, SLOTS = 5, range(10, 22)  # how many callers, and the numbers of what they have open
TOP, OTHER, ABOVE = 10, 11, 12  # which stay open: the folder, another beside it, that above it
CWD, EMPTY_PATH, NOFOLLOW, FOLLOW, EACCESS, REMOVE = -100, 0x1000, 0x100, 0x400, 0x200, 0x200
STAT, STATX, STATFS, LONGEST = 144, 256, 120, 1 << 16  # bytes
NOWHERE = 1, -4096  # addresses
SHARE_FOLDER, SHARE_FILES = 0x200, 0x400  # of unshare(2)
RESTART = 0x10000000
ACCESS_LIST = b"system.posix_acl_access"


class Step(NamedTuple):
    """What is done before it is compared."""
    calls: list
    wrong: int = 0  # what may be wrong with them: then, which error comes first is left open
    undo: tuple = ()  # what is to be done where they succeed on some sides only


class Chance:
    """It knows, roughly, what callers have open, so that many calls succeed."""

    def __init__(self, random, arena, paths):
        self.random, self.uid = random, arena.uid
        self.top, self.other = os.fsencode(arena.top), os.fsencode(arena.other)
        self.above = os.path.dirname(self.top)
        self.paths = paths  # below the top
        self.alive = [0]
        self.wrong = 0
        # (caller, descriptor or CWD): the path that may be there.
        self.open = {(0, TOP): self.top, (0, OTHER): self.other, (0, ABOVE): self.above}

    def one(self, *of):
        return self.random.choice(of)

    def rarely(self, share=0.1):
        """Whether something is to be wrong."""
        wrong = self.random.random() < share
        self.wrong += wrong
        return wrong

    def often(self, usual, *wrong):
        return self.one(*wrong) if self.rarely() else usual

    def flags(self, right, wrong):
        """Some, most often few."""
        chosen = 0
        while self.random.random() < 0.4:
            chosen |= self.one(*right)
        return chosen | self.often(0, *wrong)

    # --- paths

    def known(self):
        """Of the tree, or beside it; absolute."""
        if self.random.random() < 0.75:
            return os.path.normpath(os.path.join(self.top, self.random.choice(self.paths)))
        return os.path.join(self.other, self.one(
            b"", b"file", b"folder", b"folder/below", b"to top", b"to top/links/target",
            b"to links", b"to links/inside", b"to file", b"to link", b"by cwd", b"by fd",
            b"by fd/sizes/513", b"new", b"new/new", b"other", b"..", b"../above", b"../above/mnt",
            b"39", b"40", b"38/sizes/1", b"39/sizes/1", b"40/sizes/1", b"44"))

    def reached(self, who, at, path):
        """The same from another place."""
        way = self.random.random()
        if way < 0.35:
            return path
        if way < 0.75:
            return os.path.relpath(path, self.open.get((who, at), self.top))
        fd = self.one(TOP, TOP, OTHER, *SLOTS)
        return self.one(
            b"/dev/fd/%d/" % fd, b"/proc/self/fd/%d/" % fd, b"/proc/self/cwd/",
            b"/proc/thread-self/cwd/", b"/proc/thread-self/fd/%d/" % fd,
            b"/proc/self/root" + self.top + b"/", self.other + b"/to top/", self.other + b"/39/",
            b"/proc/self/task/../cwd/", b"/proc/self/fd/%d/../mnt/" % fd,
            b"/dev/fd/../fd/%d/" % fd) + os.path.relpath(path, self.top)

    def disguised(self, path):
        """Longer, and the same; or not."""
        parts = path.split(b"/")
        where = self.random.randrange(len(parts) + 1)
        parts[where:where] = self.one(
            [b"."], [b""], [parts[where - 1] if where else b".", b".."], [b"missing"],
            [b"n" * 255], [b"n" * 256], [b"links/up/.."], [b"../" * 30 + self.top[1:]],
            [b"./" * 2100], [b"empty/.."], [b"target/.."])
        return b"/".join(parts)

    def odd(self, who):
        fd = self.fd(who)
        return self.one(
            b"", b".", b"..", b"/", b"../..", b"/dev/fd/%d" % fd, b"/proc/self/fd/%d" % fd,
            b"/dev/fd/%d/.." % fd, b"/proc/self/cwd", b"/proc/self/cwd/..", b"/proc/self",
            b"/proc/thread-self", b"x" * 4094, b"x" * 4095, b"x/" * 2100)

    def path(self, who, at=CWD):
        if self.rarely(0.03):
            return self.odd(who)
        path = self.reached(who, at, self.known())
        if self.rarely():
            path = self.disguised(path)
        return path + self.often(b"", b"/", b"/.", b"/..", b"//", b"/new", b" missing")

    def fresh(self, who, at=CWD):
        """Where nothing is, most often."""
        path = self.known()
        if not self.rarely(0.2):
            path = os.path.join(os.path.dirname(path), self.one(b"new", b"other", b"n" * 255))
        return self.reached(who, at, path) + self.often(b"", b"/", b"/.", b"//")

    # --- other arguments

    def fd(self, who):
        known = [fd for caller, fd in self.open if caller == who and fd != CWD]
        return self.often(self.random.choice(known or SLOTS), -1, 0, CWD, 33, *SLOTS)

    def slot(self):
        """Where something is to be put, or closed."""
        return self.one(*SLOTS[3:])

    def at(self, who):
        return self.often(self.one(CWD, TOP, OTHER, self.fd(who)), -1, 0, 33)

    def placed(self, what):
        """In memory; or an address where none is."""
        return self.one(*NOWHERE) if self.rarely(0.02) else what

    def room(self, size=None):
        """A buffer, and how much of it may be filled."""
        size = self.length() if size is None else size
        return self.placed(Out(size)), self.often(size, 0, size // 2)

    def length(self):
        return self.one(0, 1, 24, 100, 511, 4096, 30000, LONGEST)

    def open_flags(self):
        """Not O_PATH, but for folders: a file opened by that is one which can neither be read nor
        written."""
        right = self.one(0, 0, 0, os.O_CLOEXEC, os.O_NOFOLLOW, os.O_DIRECTORY, os.O_PATH)
        if right == os.O_PATH:
            return os.O_PATH | os.O_DIRECTORY
        return right | os.O_NONBLOCK | self.often(
            0, os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_EXCL, os.O_TRUNC, os.O_APPEND, os.O_NOCTTY,
            os.O_DIRECTORY, os.O_NOFOLLOW, os.O_SYNC, os.O_DIRECT, os.O_NOATIME, os.O_TMPFILE, 3,
            os.O_RDWR | os.O_TRUNC, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_WRONLY)

    def how(self):
        """struct open_how, and its size."""
        resolve = self.often(0, 1, 2, 4, 8, 16, 32, 1 << 20)
        return Bytes(struct.pack("QQQ", self.open_flags(), self.often(0, 0o600), resolve)), \
            self.often(24, 16, 0)

    def mode(self):
        """The owner may do all, so that not all that comes later is forbidden."""
        return 0o700 | self.random.randrange(0o10000)

    def attribute(self):
        usual = self.one(b"user.new", b"trusted.new", b"security.new", b"system.new", b"new",
                         ACCESS_LIST, b"system.posix_acl_default")
        return self.often(usual, b"", b"user." + b"n" * 251)

    def times(self, size, *special):
        """NULL, or times, of which one may be special: now, or as it is."""
        return self.one(0, Bytes(struct.pack("qqqq", 5, 7, 6, self.one(8, *special))[:size]))


# --- calls: how often they are drawn, and how their arguments are -------------------------------


def value(drawn, c):
    """Of an argument: a function of the chance, or itself."""
    drawn = drawn(c) if callable(drawn) else drawn
    return list(drawn) if isinstance(drawn, tuple) and not hasattr(drawn, "_fields") else [drawn]


def all_of(drawn, c):
    return [word for each in drawn for word in value(each, c)]


def one_of(*right):
    return lambda c: c.one(*right)


def usually(right, *wrong):
    return lambda c: c.often(c.one(*right), *wrong)


def flags(right, wrong):
    return lambda c: c.flags(right, wrong)


def room(size=None):
    return lambda c: c.room(size)


def buffer(size):
    return lambda c: c.placed(Out(size))


def some_path(c, name, who, at=CWD):
    """What the C library is told is read by foldfs-preload.so, so it is there."""
    path = c.path(who, at)
    return path if name.startswith("libc.") else c.placed(path)


def of_path(name, weight, *rest):
    """CALL(path, ...)"""
    return name, weight, lambda c, who: [some_path(c, name, who), *all_of(rest, c)]


def at_path(name, weight, *rest):
    """CALL(folder, path, ...)"""
    def draw(c, who):
        at = c.at(who)
        return [at, some_path(c, name, who, at), *all_of(rest, c)]
    return name, weight, draw


def fresh_at(name, weight, *rest):
    """CALL(folder, path of nothing, ...)"""
    def draw(c, who):
        at = c.at(who)
        return [at, c.placed(c.fresh(who, at)), *all_of(rest, c)]
    return name, weight, draw


def of_fd(name, weight, *rest):
    """CALL(descriptor, ...)"""
    return name, weight, lambda c, who: [c.fd(who), *all_of(rest, c)]


def of_fds(name, weight, between, *rest):
    """CALL(descriptor, ..., descriptor, ...)"""
    return name, weight, lambda c, who: [c.fd(who), *between, c.fd(who), *all_of(rest, c)]


def two_paths(name, weight, *rest):
    """CALL(path, path)"""
    return name, weight, lambda c, who: [c.path(who), c.fresh(who), *all_of(rest, c)]


def two_at(name, weight, *rest):
    """CALL(folder, path, folder, path, ...)"""
    def draw(c, who):
        first, second = c.at(who), c.at(who)
        return [first, c.path(who, first), second, c.fresh(who, second), *all_of(rest, c)]
    return name, weight, draw


AT = flags((NOFOLLOW, EMPTY_PATH), (0x800, FOLLOW, 0x200, 0x2000, 0x4000, 1 << 20))
OWNER = one_of(-1), lambda c: c.one(-1, c.uid)
KIND = usually((stat.S_IFREG | 0o700, stat.S_IFSOCK | 0o700, stat.S_IFCHR | 0o700),
               stat.S_IFDIR | 0o700, 0)
NOW, OMIT = (1 << 30) - 1, (1 << 30) - 2
VALUE = Bytes(b"value"), 5

CALLS = [
    # What looks at names, and at what is open.
    at_path("newfstatat", 8, buffer(STAT), AT), at_path("libc.fstatat", 8, buffer(STAT), AT),
    of_path("stat", 4, buffer(STAT)), of_path("libc.stat", 8, buffer(STAT)),
    of_path("lstat", 4, buffer(STAT)), of_path("libc.lstat", 6, buffer(STAT)),
    of_fd("fstat", 3, buffer(STAT)), of_fd("libc.fstat", 4, buffer(STAT)),
    at_path("statx", 6, AT, usually((0x7ff, 0xfff, 2), 1 << 31), buffer(STATX)),
    of_path("access", 4, usually((0, 1, 2, 4, 5), 8)),
    at_path("faccessat", 4, usually((0, 1, 2, 3, 4, 5, 6, 7), 8)),
    at_path("faccessat2", 4, usually((0, 1, 2, 4, 6), 8),
            flags((NOFOLLOW, EMPTY_PATH, EACCESS), (FOLLOW, 1 << 20))),
    of_path("readlink", 4, buffer(4096), usually((4096, 3), 0)),
    at_path("readlinkat", 4, buffer(4096), usually((4096, 3), 0, -1)),
    of_path("statfs", 2, buffer(STATFS)), of_fd("fstatfs", 2, buffer(STATFS)),
    of_path("getxattr", 1, Chance.attribute, room(100)),
    of_path("lgetxattr", 1, Chance.attribute, room(100)),
    of_fd("fgetxattr", 1, Chance.attribute, room(100)),
    of_path("listxattr", 1, room(100)), of_path("llistxattr", 1, room(100)),
    of_fd("flistxattr", 1, room(100)),
    at_path("name_to_handle_at", 1, Bytes(struct.pack("II", 128, 0) + bytes(128)), buffer(4),
            flags((FOLLOW, EMPTY_PATH, 0x200), (1 << 20,))),
    of_path("chdir", 4), of_fd("fchdir", 3), ("getcwd", 3, lambda c, who: c.room()),
    # What would change something, or run it.
    of_path("execve", 1), at_path("execveat", 1, 0, 0, flags((EMPTY_PATH,), (NOFOLLOW, 1 << 20))),
    of_path("mkdir", 2, Chance.mode), fresh_at("mkdirat", 2, Chance.mode),
    of_path("mknod", 2, KIND, 0), fresh_at("mknodat", 2, KIND, 0),
    two_paths("symlink", 2),
    ("symlinkat", 2, lambda c, who: [c.path(who), at := c.at(who), c.fresh(who, at)]),
    two_paths("link", 3), two_at("linkat", 3, flags((FOLLOW, EMPTY_PATH), (1 << 20,))),
    two_paths("rename", 3), two_at("renameat", 3),
    two_at("renameat2", 3, usually((0,), 1, 2, 3, 4, 8)),
    of_path("unlink", 2), of_path("rmdir", 2), at_path("unlinkat", 4, usually((0, REMOVE), 1)),
    of_path("truncate", 4, usually((0, 3), -1, 1 << 62)),
    of_path("chmod", 3, Chance.mode), of_fd("fchmod", 2, Chance.mode),
    at_path("fchmodat", 3, Chance.mode), at_path("fchmodat2", 3, Chance.mode, AT),
    of_path("chown", 2, *OWNER), of_path("lchown", 2, *OWNER), of_fd("fchown", 2, *OWNER),
    at_path("fchownat", 3, *OWNER, AT),
    of_path("utime", 2, lambda c: c.times(16)), of_path("utimes", 2, lambda c: c.times(32)),
    at_path("futimesat", 2, lambda c: c.times(32)),
    at_path("utimensat", 4, lambda c: c.times(32, NOW, OMIT), AT),
    of_path("setxattr", 1, Chance.attribute, *VALUE, one_of(0, 1, 2)),
    of_path("lsetxattr", 1, Chance.attribute, *VALUE, one_of(0, 1, 2)),
    of_fd("fsetxattr", 1, Chance.attribute, *VALUE, one_of(0, 1, 2)),
    of_path("removexattr", 1, Chance.attribute), of_path("lremovexattr", 1, Chance.attribute),
    of_fd("fremovexattr", 1, Chance.attribute),
    # What the kernel does by itself with what was opened.
    of_fd("read", 6, room()),
    of_fd("pread64", 6, room(), usually((0, 1, 4095, 70000), 1 << 40, -1)),
    of_fd("write", 2, Bytes(b"written"), 7), of_fd("pwrite64", 2, Bytes(b"written"), 7, 100),
    of_fd("ftruncate", 2, usually((0, 5), -1)), of_fd("fallocate", 2, one_of(0, 1, 3, 16), 0, 4096),
    of_fd("fadvise64", 1, 0, 0, usually((0, 3, 4), 77)), of_fd("readahead", 1, 0, 4096),
    of_fd("fsync", 1), of_fd("fdatasync", 1), of_fd("syncfs", 1),
    of_fds("sendfile", 2, (), 0, Chance.length),
    of_fds("copy_file_range", 2, (0,), 0, Chance.length, 0),
    of_fd("map", 4, Chance.length, usually((1,), 3), usually((2, 1), 3, 0), usually((0, 4096), 1),
          Out(LONGEST)),
    of_fd("flock", 1, usually((1 | 4, 2 | 4, 8), 4)),
    of_fd("ioctl", 1, one_of(0x541b, 0x5413, 0x5451, 0xfeed), buffer(8)),
    of_fd("fcntl", 6, usually((1, 2, 3, 4), 99),
          one_of(0, 1, os.O_APPEND, os.O_NONBLOCK, os.O_DIRECT)),
    ("umask", 1, lambda c, who: [c.one(0o022, 0o077, 0)]),
    ("handler", 2, lambda c, who: [c.often(c.one(10, 12), 9, 32, 70), c.one(0, RESTART, 4)]),
]
# These give descriptors.
OPENINGS = [
    at_path("openat", 20, Chance.open_flags, Chance.mode),
    at_path("libc.openat", 20, Chance.open_flags, Chance.mode),
    at_path("openat2", 6, Chance.how),
    of_path("open", 6, Chance.open_flags, Chance.mode),
    of_path("libc.open", 12, Chance.open_flags, Chance.mode),
    of_path("creat", 2, Chance.mode),
    of_fd("dup", 6), of_fd("fcntl", 1, one_of(0, 1030), one_of(0, 40)),
    ("receive", 4, lambda c, who: []),
]
MADE_IN_STEPS = "bind", "inotify_add_watch", "getdents", "getdents64", "rt_sigaction"
NAMES = {row[0] for row in (*CALLS, *OPENINGS)} | {
    *MADE_IN_STEPS, "socket", "inotify_init1", "close", "dup3", "lseek", "unshare"}
NAMES -= {name for name in NAMES if name.startswith("libc.")} | {"map", "handler", "receive"}


# --- steps --------------------------------------------------------------------------------------


def draw(c, who, rows, kept=""):
    name, _, arguments = c.random.choices(rows, [row[1] for row in rows])[0]
    return Call(who, name + kept, tuple(arguments(c, who)))


def call(c, who):
    return Step([draw(c, who, CALLS)])


def begin(c, who):
    return Step([Call(who, f"openat={fd}", (CWD, path, os.O_RDONLY, 0))
                 for (_, fd), path in c.open.items()])


def open_something(c, who):
    slot = c.slot()
    opened = draw(c, who, OPENINGS, f"={slot}")
    path = next((word for word in opened.arguments if isinstance(word, bytes)), b".")
    c.open[who, slot] = os.path.normpath(os.path.join(c.top, path))
    return Step([opened], undo=("close", slot))


def copy(c, who):
    first, second = c.fd(who), c.slot()
    c.open[who, second] = c.open.get((who, first), c.top)
    return Step([Call(who, "dup3", (first, second, c.one(0, os.O_CLOEXEC)))],
                undo=("close", second))


def send(c, who):
    return Step([Call(who, "send", (c.fd(who),))])


def close(c, who):
    slot = c.slot()
    c.open.pop((who, slot), None)
    return Step([Call(who, "close", (slot,))])


def enter(c, who):
    path = c.open[who, CWD] = os.path.normpath(os.path.join(c.top, c.random.choice(c.paths)))
    return Step([Call(who, "chdir", (c.reached(who, CWD, path),))], undo=("chdir", c.top))


def list_two(c, who):
    """Of two descriptors, which may share their place, and may be those of two callers: a piece of
    the one, then all of the other, and what is left."""
    first, second, other = c.fd(who), c.fd(who), c.one(who, *c.alive)
    return Step([Call(who, "lseek", (first, 0, 0)), Call(other, "lseek", (second, 0, 0)),
                 Call(who, c.one("getdents64", "getdents"),
                      (first, *c.room(c.one(24, 200, 700, 4096)))),
                 Call(other, "list", (second, Out(LONGEST))),
                 Call(who, "list", (first, Out(LONGEST)))])


def bind(c, who):
    slot, path = c.slot(), c.fresh(who)[:107]
    return Step([Call(who, f"socket={slot}", (1, 1, 0)),
                 Call(who, "bind", (slot, Bytes(struct.pack("H", 1) + path + b"\0"),
                                    len(path) + 3))])


def watch(c, who):
    """What it then tells is another matter."""
    slot = c.slot()
    return Step([Call(who, f"inotify_init1={slot}", (os.O_NONBLOCK,)),
                 Call(who, "inotify_add_watch", (slot, c.path(who), c.one(0x100, 0xfff))),
                 Call(who, "close", (slot,))])


def begin_caller(c, who):
    free = [number for number in range(CALLERS) if number not in c.alive]
    if not free:
        return end_caller(c, who)
    c.alive.append(free[0])
    for (caller, fd), path in list(c.open.items()):
        if caller == who:
            c.open[free[0], fd] = path
    return Step([Call(who, c.one("fork", "thread"), (free[0],))])


def end_caller(c, who):
    if len(c.alive) == 1:
        return begin_caller(c, who)
    c.alive.remove(who)
    return Step([Call(who, "end", ())])


def part(c, who):
    """A thread gets a working folder, or descriptors, of its own."""
    return Step([Call(who, "unshare", (c.one(SHARE_FOLDER, SHARE_FILES),))])


def move(c, who):
    """The folder above, and back."""
    there = c.above + b" moved"
    return Step([Call(who, "renameat2", (CWD, c.above, CWD, there, 0)),
                 *[draw(c, who, CALLS) for _ in range(3)],
                 Call(who, "renameat2", (CWD, there, CWD, c.above, 0))])


def time_signals(c, who):
    return Step([Call(who, "timer", (c.one(0, 700),))])


STEPS = {call: 60, open_something: 16, enter: 4, list_two: 5, copy: 6, send: 2, close: 4, bind: 1,
         watch: 1, begin_caller: 1.5, end_caller: 1, part: 0.7, move: 0.4, time_signals: 0.7}


def steps(c, count):
    made = [begin(c, 0)]
    for _ in range(count):
        c.wrong = 0
        step = c.random.choices(list(STEPS), list(STEPS.values()))[0](c, c.one(*c.alive))
        made.append(step._replace(wrong=c.wrong))
    return made
