"""A job without a mount gets the answers that a mount gives, or a plain folder: random system calls
(calls.py) are made in lock step (callers.py), by threads and processes of a program with libraries,
and of a static one.

A difference is shrunk to the calls that it takes. FOLDFS_SEED repeats a run; FOLDFS_CALLS is the
number of runs in `make soak`. What may differ is listed in ALLOWED."""

import contextlib
import os
import platform
import random
import re
import stat
import struct
import time

import pytest

import calls
import callers
import foldfs
import trees
from callers import Bytes, Out
from calls import TOP
from foldfs import ROOT, SOMEBODY, is_root, needs
from test_nofuse import listeners  # noqa: F401  (a fixture)

STEPS, RUNS = 300, int(os.environ.get("FOLDFS_CALLS", "200"))

pytestmark = [is_root, needs("cc")]


# --- what is compared ---------------------------------------------------------------------------

FIELDS = {"x86_64": ("QQQIII4xQq16x16xqQ", "dev ino nlink mode uid gid rdev size mtime mtime_ns"),
          "aarch64": ("QQIIIIQ8xq16x16xqQ", "dev ino mode nlink uid gid rdev size mtime mtime_ns")}
STATX = ("=I12xIIIH2xQQ64xqI4xIIII",
         "mask nlink uid gid mode ino size mtime mtime_ns rmajor rminor major minor")
MTIME = 0x40  # of statx(2)
STATFS = ("qqQ16xQ16xqqq", "type bsize blocks files namelen frsize flags")
FORGOTTEN = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NOATIME | os.O_DIRECT  # by F_GETFL
PROC = os.stat("/proc").st_dev
NEW_ATTRIBUTES = [*map(int, platform.release().split(".")[:2])] >= [6, 13]
BEGAN = time.time()


def unpacked(form, data):
    layout, names = form
    return dict(zip(names.split(), struct.unpack_from(layout, data)))


def told_of(side, st):
    """Which file it is, and what must be the same of it. The size of a folder is the filesystem's
    own, and so are times of sockets, and of what was changed just now; all in /proc changes."""
    if st["dev"] == PROC:
        return "proc", st["mode"]
    size = None if stat.S_ISDIR(st["mode"]) else st["size"]
    mtime = (st["mtime"], st["mtime_ns"]) if abs(st["mtime"] - BEGAN) > 86400 and \
        not stat.S_ISSOCK(st["mode"]) else None
    return (side.identify(st["dev"], st["ino"]), st["mode"], st["nlink"], st["uid"], st["gid"],
            st["rdev"], size, mtime)


def stat_told(side, data):
    return told_of(side, unpacked(FIELDS[platform.machine()], data))


def statx_told(side, data, asked):
    """Of times that were not asked for, some filesystems tell nothing."""
    st = unpacked(STATX, data)
    if not asked & MTIME:
        st["mtime"] = BEGAN
    st["dev"], st["rdev"] = (os.makedev(st[kind + "major"], st[kind + "minor"])
                             for kind in ("", "r"))
    return st["mask"] & 0x7ff & asked, *told_of(side, st)


def statfs_told(data):
    fs = unpacked(STATFS, data)
    return {**fs, "flags": fs["flags"] & 0xf}


def names_told(data, name_at):
    """Of a listing: names, and what they are, which getdents(2) has behind them."""
    found = []
    while data:
        length, kind = struct.unpack_from("HB", data, 16)
        found.append((data[name_at:length].split(b"\0")[0],
                      kind if name_at == 19 else data[length - 1]))
        data = data[length:]
    return found


def text_told(text):
    """Without the numbers of processes and sockets, and without names in a folder whose files have
    several: an open file is shown by the first one."""
    return re.sub(rb"^\d+(?=$|/)|(?<=/proc/)\d+|(?<=/task/)\d+|\[\d+\]|(?<=/links/).+", b"N", text)


def digest(side, call, answer):
    """What of an answer must be the same."""
    name = call.name.split("=")[0].replace("libc.", "")
    given, value = answer.given, answer.value
    if answer.error:
        return answer.error
    if name in ("stat", "lstat", "fstat", "fstatat", "newfstatat"):
        return stat_told(side, given[0])
    if name == "statx":
        return statx_told(side, given[0], call.arguments[3])
    if name in ("statfs", "fstatfs"):
        return statfs_told(given[0])
    if name in ("getdents", "getdents64", "list"):
        return names_told(given[0][:value], 18 if name == "getdents" else 19)
    if name in ("readlink", "readlinkat", "getcwd"):
        return text_told(given[0][:value].rstrip(b"\0"))
    if name == "fcntl" and call.arguments[1] == 3:
        return value & ~FORGOTTEN
    if name in ("name_to_handle_at", "handler"):
        return "done"
    return value, given


def outcome(side, step):
    """What a step gives, call by call. Where it lists, the names of all calls are one result."""
    answers = [side.call(call) for call in step.calls]
    told = [digest(side, *both) for both in zip(step.calls, answers)]
    listed = sorted(name for names in told if isinstance(names, list) for name in names)
    told = ["names" if isinstance(names, list) else names for names in told] + [listed]
    return told, [not answer.error for answer in answers]


# --- what may differ ----------------------------------------------------------------------------

# Calls, the error of the mount, and that of the job, as patterns. foldfs-nofuse(7) says so.
ALLOWED = [re.compile(row) for row in (
    "openat2,.*,ENOSYS",  # with `resolve`
    "inotify_add_watch,.*,ENOTSUP", "name_to_handle_at,.*,.+",  # of files
    "flock,,EAGAIN",  # of folders
    "(f(get|list)xattr|ioctl|fcntl|flock),EBADF,.*",  # what was opened with O_PATH
)]
CHANGES = re.compile("mk|symlink|bind|l?f?(set|remove)xattr|unlink|rmdir|truncate|exec|creat|"
                     "f?l?(chmod|chown)|f?utime|fallocate")
OF_PATHS = {"ENOENT", "ENOTDIR", "ELOOP", "ENAMETOOLONG"}
OF_TWO_PATHS = re.compile("rename|link")


def is_allowed(call, step, mount, job):
    """Where several things are wrong with a call, as that it would change something, or that a
    descriptor is none, another error may come first."""
    name = call.name.split("=")[0]
    errors = [said if isinstance(said, str) else "" for said in (mount, job)]
    if any(row.fullmatch(",".join([name, *errors])) for row in ALLOWED):
        return True
    changes = bool(CHANGES.match(name))
    wrong = step.wrong + changes + (errors[0] == "EBADF" or
                                    not changes and not OF_PATHS.isdisjoint(errors))
    return all(errors) and (bool(OF_TWO_PATHS.match(name)) or wrong >= 2)


def differs(step, outcomes):
    """The number of a call whose answer is none that the job may get; None: all is well. That of
    the names that were listed is one beyond the calls."""
    plain, mount, job, static = (told for told, _ in outcomes)
    for i, call in enumerate([*step.calls, step.calls[-1]]):
        if static[i] != job[i] or (job[i] not in (plain[i], mount[i]) and
                                   not is_allowed(call, step, mount[i], job[i])):
            return i
    return None


def run(sides, steps, differs=differs):
    """The first step at which they differ: its number, and what is to be said; or None."""
    for number, step in enumerate(steps):
        outcomes = [outcome(side, step) for side in sides]
        at = differs(step, outcomes)
        if at is not None:
            return number, "\n".join(f"  {side.name}: {told[at]}" for side, (told, _) in
                                     zip(sides, outcomes))
        if step.undo and any(done != outcomes[0][1] for _, done in outcomes):
            for side in sides:
                side.call(callers.Call(step.calls[0].caller, step.undo[0], step.undo[1:]))
    return None


# --- runs ---------------------------------------------------------------------------------------


def make_tree(arena):
    """To be packed: with links that lead out and in again."""
    def make(root):
        trees.make_hostile(root)
        for number in range(60):
            trees.write(os.fsencode(root) + b"/crowd/" + b"%d" % number * 10)
        trees.write(os.fsencode(root) + b"/links/script")
        (root / "links/script").chmod(0o755)
        os.link(root / "links/script", root / "links/script too")
        for name, target in {"out": "../../../other/file", "in": arena.top / "sizes",
                             "above": "../..", "here": "."}.items():
            (root / "links" / name).symlink_to(target)
        callers.give(root, arena.uid)
    return make


@contextlib.contextmanager
def world(place, uid, writable):
    """Of one user; and the paths of the tree."""
    arena = callers.Arena(place / "arena", uid)
    with foldfs.plain_tree(place / "plain", make_tree(arena)) as plain:
        pack = foldfs.pack(plain, place / "pack.lmdb")
        yield callers.World(place, arena, plain, pack, writable, calls.NAMES), \
            [b".", *trees.paths(plain)]


def shrunk(numbers, fails):
    """Those of the numbers that cannot be left out, so that it still fails."""
    size = len(numbers)
    while size > 1:
        size = -(-size // 2)
        for at in range(0, len(numbers), size)[::-1]:
            fewer = numbers[:at] + numbers[at + size:]
            numbers = fewer if fewer and fails(fewer) else numbers
    return numbers


def steps_of(world, paths, seed):
    return calls.steps(calls.Chance(random.Random(seed), world.arena, paths), STEPS)


def shrink(steps, found, said):
    """What is to be told of a difference: the calls that it takes. `said` is what run() says of
    steps, made by new programs."""
    kept = shrunk(list(range(found[0] + 1)), lambda fewer: said([steps[i] for i in fewer]))
    last = said([steps[i] for i in kept]) or found
    return "\n".join([*(str(call) for i in kept for call in steps[i].calls), last[1]])


def hold(world, paths, seed, *options):
    """Makes the calls of a seed, which every side answers alike."""
    def said(steps):
        with world.sides(*options) as sides:
            return run(sides, steps)

    steps = steps_of(world, paths, seed)
    found = said(steps)
    if found:
        pytest.fail(f"FOLDFS_SEED={seed}: differs at step {found[0]} of {STEPS}\n" +
                    shrink(steps, found, said))


@pytest.mark.parametrize("seed, user", [(1, 0), (2, 0), (3, SOMEBODY), (4, SOMEBODY)])
def test_a_job_gets_the_answers_of_a_mount(seed, user, place, sanitizer_reports):
    with world(place, user, sanitizer_reports) as (made, paths):
        hold(made, paths, int(os.environ.get("FOLDFS_SEED", seed)))


def test_what_differed_once_differs_no_more(place, sanitizer_reports):
    """Random calls rarely come upon it."""
    with world(place, 0, sanitizer_reports) as (made, paths):
        chance = calls.Chance(random.Random(0), made.arena, paths)
        found = [calls.Step([callers.Call(0, name, arguments)]) for name, arguments in [
            ("chdir", (chance.top,)),
            ("lgetxattr", (b"links/target", calls.ACCESS_LIST, Out(9), 9)),
            ("lgetxattr", (b"links/up", calls.ACCESS_LIST, Out(9), 9)),
            ("getxattr", (b"links/target", b"", Out(9), 9)),
            ("getxattr", (b"links/target", b"user." + b"n" * 251, Out(9), 9)),
            ("faccessat", (TOP, b"links/script", os.X_OK)),
            ("faccessat", (TOP, b"links/script too", os.X_OK)),
            ("fstat", (calls.CWD, Out(calls.STAT))), ("fchmod", (calls.CWD, 0o700)),
            *[("fsetxattr", (calls.CWD, b"security.new", *calls.VALUE, 0))] * NEW_ATTRIBUTES,
            ("linkat", (TOP, b"links/target", TOP, 0, 0)),
            ("renameat", (33, b"links", TOP, b"new")), ("renameat", (0, b"links", TOP, b"new")),
            ("getdents", (TOP, Out(4096), 4096)),
            ("openat2=13", (TOP, b"../../other/file", Bytes(bytes(16) + b"\1" + bytes(7)), 24)),
        ]]
        with made.sides() as sides:
            _, mount, job, static = ([outcome(side, step)[0] for step in
                                      [calls.begin(chance, 0), *found]] for side in sides)
        assert job[:-1] == static[:-1] == mount[:-1]
        assert job[-1] == static[-1] == ["ENOSYS", []]


@pytest.mark.slow
@pytest.mark.parametrize("user", [0, SOMEBODY])
def test_a_job_gets_them_for_long(user, place, sanitizer_reports):
    first = int(os.environ.get("FOLDFS_SEED", time.time_ns() // 1_000_000))
    with world(place, user, sanitizer_reports) as (made, paths):
        for seed in range(first, first + RUNS):
            hold(made, paths, seed)


def test_every_call_of_the_table_is_made():
    listed = re.findall(r"^\t{SYS_(\w+), ", (ROOT / "fs/nofuse/calls.c").read_text(), re.M)
    here = calls.NAMES | {"rt_sigaction", "fanotify_mark"}  # and these by test_nofuse_signals.py
    assert len(listed) > 40 and set(listed) <= here
