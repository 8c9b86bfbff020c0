"""The mount answers as a plain folder would, one on a tmpfs that is read-only: random system calls
(calls.py) are made in lock step (callers.py), by several pairs of programs at once, which share a
mount, on random trees, packings and options. So what a change gives is compared, too: EROFS, or
what the kernel says before it asks the filesystem.

A difference is shrunk to the calls that it takes. FOLDFS_SEED repeats a run. In what a mount may
differ is listed in ALLOWED."""

import concurrent.futures
import contextlib
import itertools
import os
import random
import re
import shutil
import threading
import time

import pytest

import callers
import calls
import foldfs
import trees
from bucket import Bucket
from foldfs import MIB, SOMEBODY, is_root, needs
from groups import memory_group
from test_calls import STEPS, run, shrink, steps_of

SEEDS = [int(os.environ["FOLDFS_SEED"])] if "FOLDFS_SEED" in os.environ else [1, 2]
PAIRS, SOAK_TREES, SOAK_ROUNDS = 4, 25, 12

pytestmark = [is_root, needs("cc")]

PACKINGS = [[], ["--dedup"], ["--order=shuffle:7"], ["--shard-size=8M"], ["-j1"]]
MOUNTS = {"pool": ["16M", "24M", "64M"], "cache": ["auto", "kernel", "pool"],
          "policy": ["auto", "lru", "pin"], "io": ["auto", "direct", "buffered"],
          "threads": ["1", "2", "8"], "readahead": ["0", "1M", "8M"], "verify": ["on", "off"],
          "oracle": ["on", "off"]}

# Calls, what the plain folder gives, and the mount: errors, or "".
ALLOWED = [re.compile(row) for row in (
    # Packs do not keep extended attributes. The mount lists none, and has no ACLs.
    "[lf]?getxattr,(|ENODATA|ERANGE|ENOTSUP|EFAULT),(ENODATA|ENOTSUP)",
    "[lf]?listxattr,(|ERANGE|EFAULT),",
    "sendfile,ENOTCONN,EINTR",  # of a socket, which may wait
    "flock,,EAGAIN",  # of a folder that is beside both
    "openat2,(EAGAIN,.*|.*,EAGAIN)",  # what RESOLVE_CACHED does not find in memory
)]


# --- random trees ---------------------------------------------------------------------------


def some_name(chance, taken):
    name = chance.choice(trees.HOSTILE_NAMES)
    while name in taken:
        name = b"%x" % chance.getrandbits(chance.choice([8, 32, 160]))
    taken.add(name)
    return name


def make_link(chance, path, made):
    """Symbolic links lead within the tree, but never to its root: its parent is another's."""
    target = chance.choice(made)
    if chance.random() < 0.5 and os.path.isfile(target) and not os.path.islink(target):
        os.link(target, path)
        return
    target = os.path.relpath(target, os.path.dirname(path))
    os.symlink(target if chance.random() < 0.8 else target + b" is missing", path)


def make_file(chance, path):
    size = chance.choice([*trees.SIZES, *[chance.randrange(200_000) for _ in range(30)]])
    trees.write(path, chance.choice([trees.noise(chance.random(), size), bytes(size), b"same"]))


def make_folder(chance, folder, depth, made):
    os.mkdir(folder)
    taken = set()
    for _ in range(chance.choice([0, 3, 30])):
        path = folder + b"/" + some_name(chance, taken)
        kind = chance.random()
        if kind < 0.2 and depth < 3:
            make_folder(chance, path, depth + 1, made)
        elif kind < 0.4 and made:
            make_link(chance, path, made)
        else:
            make_file(chance, path)
        made.append(path)


def dress(chance, path):
    """Modes, times, and attributes that packs do not keep. The owner may always read: a mount makes
    that so."""
    if not os.path.islink(path):
        least = 0o500 if os.path.isdir(path) else 0o400
        mode = chance.choice([0o755, 0o755, 0o644, 0o000, chance.randrange(0o10000)])
        os.chmod(path, least | mode)
        os.setxattr(path, "user.model", b"value")
    times = [*trees.TIMES.values(), chance.randrange(1 << 60)]
    os.utime(path, ns=(0, chance.choice(times)), follow_symlinks=False)


def make_tree(chance, root):
    root, made = os.fsencode(root), []
    for number in range(6):
        make_folder(chance, root + b"/%d" % number, 0, made)
        made.append(root + b"/%d" % number)
    os.mkdir(root + b"/crowd")
    for number in range(chance.choice([1, 700])):  # whose listing is no longer than calls.LONGEST
        trees.write(root + b"/crowd/" + b"%d" % number * chance.randrange(1, 18))
    for path in made[::-1]:
        dress(chance, path)


# --- runs -------------------------------------------------------------------------------------


def may_differ(call, plain, mount):
    """Of statfs(2), only flags and the longest name are the folder's."""
    if isinstance(plain, dict) and isinstance(mount, dict):
        return all(plain[word] == mount[word] for word in ("namelen", "flags"))
    words = [said if isinstance(said, str) else "" for said in (plain, mount)]
    line = ",".join([call.name.split("=")[0], *words])
    return any(row.fullmatch(line) for row in ALLOWED)


def differs(step, outcomes):
    plain, mount = (told for told, _ in outcomes)
    for i, call in enumerate([*step.calls, step.calls[-1]]):
        if plain[i] != mount[i] and not may_differ(call, plain[i], mount[i]):
            return i
    return None


class Model:
    """Pairs of programs, on a plain folder and a mount of its pack."""

    def __init__(self, place, plain, mounted, user, writable):
        arena = callers.Arena(place / "arena", user)
        self.world = callers.World(place, arena, plain, None, writable, calls.NAMES)
        self.mounted, self.paths = mounted.path, [b".", *trees.paths(plain)]

    def said(self, steps):
        with self.world.pair(self.mounted) as sides:
            return run(sides, steps, differs)

    def differences(self, seeds):
        """Of runs at once: each what it says of a difference, or None; shrunk when asked for."""
        every = [steps_of(self.world, self.paths, seed) for seed in seeds]
        with contextlib.ExitStack() as stack, \
                concurrent.futures.ThreadPoolExecutor(len(seeds)) as threads:
            pairs = [stack.enter_context(self.world.pair(self.mounted)) for _ in seeds]
            found = list(threads.map(lambda sides, steps: run(sides, steps, differs), pairs, every))
        return (said and f"seed {seed}, step {said[0]} of {STEPS}: {said[1]}\nshrunk: " +
                shrink(steps, said, self.said)
                for seed, steps, said in zip(seeds, every, found))

    def hold(self, seed):
        for said in self.differences(seeds_of(seed)):
            assert not said, said


def seeds_of(seed):
    return range(PAIRS * seed, PAIRS * (seed + 1))


def as_objects(root):
    """Leaves what a bucket can hold: no links, no empty folders, no modes, and times in seconds."""
    for folder, folders, files in os.walk(os.fsencode(root), topdown=False):
        for path in [os.path.join(folder, name) for name in [*files, *folders]]:
            if os.path.islink(path):
                os.unlink(path)
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                os.unlink(path)
                trees.write(path, data)
                os.utime(path, (0, random.Random(data).randrange(1 << 32)))
        if os.listdir(folder):
            os.chmod(folder, 0o755)
            os.utime(folder, (0, 0))
        else:
            os.rmdir(folder)


class Source:
    """What is mounted, with options: a pack, the folder itself, or objects of a bucket."""

    def __init__(self, kind):
        self.kind, self.server = kind, None

    def make(self, chance, root):
        make_tree(chance, root)
        if self.kind == "prefix":
            as_objects(root)

    def of(self, chance, plain, folder):
        if self.kind == "folder":
            return [plain]
        if self.kind == "prefix":
            self.server = Bucket(folder.parent, folder / "server", page=100)
            self.server.list(folder.name)
            self.server.start()
            return [f"s3://{folder.name}/plain/", "--anonymous",
                    f"--endpoint={self.server.url('')}"]
        options = chance.choice(PACKINGS)
        foldfs.pack(plain, folder / "pack.lmdb", *options)
        return [folder / ("pack-*.lmdb" if "--shard-size=8M" in options else "pack.lmdb")]


@pytest.fixture(params=["pack", "folder", "prefix"])
def source(request, home):
    source = Source(request.param)
    yield source
    if source.server:
        source.server.stop()


def mount_options(chance):
    chosen = chance.sample(list(MOUNTS), chance.randrange(len(MOUNTS)))
    return [f"--{name}={chance.choice(MOUNTS[name])}" for name in chosen]


def hold(seed, place, point, user, writable, rounds=1, source=Source("pack")):
    chance = random.Random(seed)
    folder = place / str(seed)
    folder.mkdir()
    folder.chmod(0o755)
    with foldfs.plain_tree(folder / "plain", lambda root: source.make(chance, root)) as plain:
        name, *words = [*source.of(chance, plain, folder), *mount_options(chance)]
        with foldfs.mounted(name, point, "--allow_other", *words) as mount:
            print(f"FOLDFS_SEED={seed}", words)
            model = Model(folder, plain, mount, user, writable)
            for number in range(rounds):
                model.hold(1000 * number + seed)
    shutil.rmtree(folder)


@pytest.mark.parametrize("user", [0, SOMEBODY])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mount_answers_as_a_read_only_folder_does(seed, user, source, place, point,
                                                    sanitizer_reports):
    """Also to a user who might not even write to another one: what modes forbid is EACCES."""
    hold(seed, place, point, user, sanitizer_reports, source=source)


@pytest.mark.slow
def test_many_trees(place, point, sanitizer_reports):
    first = int(os.environ.get("FOLDFS_SEED", time.time_ns() // 1_000_000))
    for seed in range(first, first + SOAK_TREES):
        hold(seed, place, point, SOMEBODY if seed % 4 == 0 else 0, sanitizer_reports, SOAK_ROUNDS)


def change_limit(file, mounted, ended, seen):
    """Sets one limit after the other, and notes those of the pool, until that is over."""
    for limit in itertools.cycle([512 * MIB, 96 * MIB, 128 * MIB, 80 * MIB]):
        with contextlib.suppress(OSError):  # EBUSY: so much cannot be freed at once
            file.write_text(str(limit))
        if ended.wait(1):
            return
        seen.add(mounted.stats()["pool"]["limit"])


@pytest.mark.slow
@pytest.mark.plain
def test_a_limit_that_shrinks_changes_no_answer(place, point, sanitizer_reports):
    """The pool gives memory back while it is read from."""
    ended, seen = threading.Event(), set()
    with foldfs.plain_tree(place / "plain",
                           lambda root: make_tree(random.Random(3), root)) as plain, \
            memory_group() as (group, limit), \
            foldfs.mounted(foldfs.pack(plain, place / "pack.lmdb"), point, "--pool=64M",
                           "--cache=pool") as mounted:
        (group / "cgroup.procs").write_text(str(mounted.daemon))
        model = Model(place, plain, mounted, 0, sanitizer_reports)
        beside = threading.Thread(target=change_limit, args=(group / limit, mounted, ended, seen))
        beside.start()
        try:
            for seed in range(100):
                model.hold(seed)
        finally:
            ended.set()
            beside.join()
    assert min(seen) < 64 * MIB, "the pool has not shrunk"


def test_a_difference_is_found_and_shrunk(place, mount, sanitizer_reports):
    """The model's own test: a letter of two files is another one, and nobody checks."""
    with foldfs.plain_tree(place / "plain", trees.make_small) as plain:
        pack = foldfs.pack(plain, place / "pack.lmdb")
        pack.write_bytes(pack.read_bytes().replace(b"content\n", b"Content\n"))
        model = Model(place, plain, mount(pack, "--verify=off"), 0, sanitizer_reports)
        said = next(said for seed in range(10)
                    for said in model.differences(seeds_of(seed)) if said)
    assert "content" in said and "Content" in said
    assert len(said[said.index("shrunk: "):].splitlines()) <= 9
