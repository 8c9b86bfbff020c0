"""The mount answers as a plain folder would: random operations of tests/model/ from eight threads,
on the mount and on the folder that was packed, which is on a tmpfs that is read-only. So what a
change gives is compared, too: EROFS, or what the kernel says before it asks the filesystem.

Trees, options and operations follow from a seed. A failure says how to repeat it:
MODEL_SEED=N make check-mount TESTS='-k test_model', with MARKED=slow if it was in a long run. In
what a mount may differ is listed in tests/model/differences.c."""

import contextlib
import itertools
import os
import random
import shutil
import subprocess
import threading
import time

import pytest

import foldfs
import trees
from foldfs import BUILD, MIB, SOMEBODY, is_root, run
from groups import memory_group

MODEL = BUILD / "model"
SEEDS = [int(os.environ["MODEL_SEED"])] if "MODEL_SEED" in os.environ else [1, 2]
THREADS, OPERATIONS = 8, 600
SOAK_TREES, SOAK_OPERATIONS = 25, 5000  # with the threads: a million
CHANGES = ["mkdir", "mknod", "unlink", "rename", "link", "symlink", "chmod", "chown", "utimes",
           "truncate", "xattr", "change"]

pytestmark = is_root

PACKINGS = [[], ["--dedup"], ["--order=shuffle:7"], ["--shard-size=8M"], ["-j1"]]
MOUNTS = {"pool": ["16M", "24M", "64M"], "cache": ["auto", "kernel", "pool"],
          "policy": ["auto", "lru", "pin"], "io": ["auto", "direct", "buffered"],
          "threads": ["1", "2", "8"], "readahead": ["0", "1M", "8M"], "verify": ["on", "off"],
          "oracle": ["on", "off"]}


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
    for number in range(chance.choice([1, 700])):
        trees.write(root + b"/crowd/" + b"%d" % number * chance.randrange(1, 60))
    for path in made[::-1]:
        dress(chance, path)


@contextlib.contextmanager
def plain_tree(folder, make, options="ro,nosuid,nodev"):
    """What `make` makes in a folder, on a filesystem that then becomes one of these options."""
    folder.mkdir()
    run("mount", "-t", "tmpfs", "-o", "nosuid,nodev", "none", folder)
    try:
        make(folder)
        run("mount", "-o", f"remount,{options}", folder)
        yield folder
    finally:
        foldfs.detach(folder)


# --- runs -------------------------------------------------------------------------------------


def shrunk(numbers, fails):
    """Those of the numbers that cannot be left out, so that it still fails."""
    size = len(numbers)
    while size > 1:
        size = -(-size // 2)
        for at in range(0, len(numbers), size)[::-1]:
            fewer = numbers[:at] + numbers[at + size:]
            numbers = fewer if fewer and fails(fewer) else numbers
    return numbers


class Model:
    """Runs of the model on one tree and one mount."""

    def __init__(self, plain, mounted, seed, *options, before=()):
        self.command = [*before, MODEL, "-s", seed, "-t", THREADS, *options]
        self.roots = [plain, mounted]
        self.paths = b"".join(path + b"\0" for path in [b".", *trees.paths(plain)])
        self.counts = {}

    def run(self, *options):
        """What it says of a difference; None: there is none."""
        words = [os.fspath(word) if isinstance(word, os.PathLike) else str(word)
                 for word in [*self.command, *options, *self.roots]]
        done = subprocess.run(words, input=self.paths, capture_output=True,
                              timeout=10 * foldfs.PATIENCE, check=False)
        out = done.stdout.decode(errors="backslashreplace")
        assert done.returncode == (1 if "difference: " in out else 0), done.stderr
        if done.returncode == 0:
            for line in out.splitlines():
                name, *counts = line.rsplit(" ", 3)
                self.counts[name] = list(map(int, counts))
            return None
        return out[out.index("difference: "):] if "-v" not in options else out

    def shrink(self, said):
        """The shortest run that still shows a difference: of one thread, if that is enough, those
        of its operations that cannot be left out."""
        words = said.replace(":", "").split()
        thread, last = (int(words[words.index(word) + 1]) for word in ("thread", "operation"))
        alone = ["-o", thread, "-n", last + 1]
        if not self.run(*alone):
            return f"only from several threads\n{said}"

        def only(numbers):
            return [*alone, "-k", ",".join(map(str, numbers))]

        kept = shrunk(list(range(last + 1)), lambda fewer: self.run(*only(fewer)))
        return f"{only(kept)}\n{self.run(*only(kept), '-v')}"

    def hold(self, operations):
        said = self.run("-n", operations)
        assert not said, f"{self.command}\n{said}\nshrunk: {self.shrink(said)}"


def packed(chance, plain, folder):
    """What to mount: a pack, or those of a set."""
    options = chance.choice(PACKINGS)
    foldfs.pack(plain, folder / "pack.lmdb", *options)
    return folder / ("pack-*.lmdb" if "--shard-size=8M" in options else "pack.lmdb")


def mount_options(chance):
    chosen = chance.sample(list(MOUNTS), chance.randrange(len(MOUNTS)))
    return [f"--{name}={chance.choice(MOUNTS[name])}" for name in chosen]


def hold(seed, place, point, operations, mounts=1, options=()):
    """The counts of the last run."""
    chance = random.Random(seed)
    folder = place / str(seed)
    folder.mkdir()
    with plain_tree(folder / "plain", lambda root: make_tree(chance, root)) as plain:
        pack = packed(chance, plain, folder)
        for _ in range(mounts):
            words = mount_options(chance)
            with foldfs.mounted(pack, point, "--allow_other", *words) as mounted:
                print(f"MODEL_SEED={seed}", words)
                model = Model(plain, mounted, seed, *options)
                model.hold(operations // mounts)
    shutil.rmtree(folder)
    return model.counts


@pytest.mark.parametrize("user", [0, SOMEBODY])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_mount_answers_as_a_read_only_folder_does(seed, user, place, point):
    """Also to a user who might not even write to another one: what modes forbid is EACCES."""
    counts = hold(seed, place, point, OPERATIONS, options=("-u", user))
    refused = {name for name in CHANGES if counts[name][2]}
    assert refused == set(CHANGES) if user == 0 else refused


def hold_without_fuse(seed, place, point, operations):
    chance = random.Random(seed)
    folder = place / str(seed)
    folder.mkdir()
    with plain_tree(folder / "plain", lambda root: make_tree(chance, root),
                    "ro,nosuid,nodev,noexec") as plain:
        words = [*mount_options(chance), "--cache=pool"]
        before = [foldfs.FOLDFS, "--no-fuse", "-q", *words, packed(chance, plain, folder), point,
                  "--"]
        print(f"MODEL_SEED={seed}", words)
        model = Model(plain, point, seed, "-p", before=before)
        model.hold(operations)
    shutil.rmtree(folder)
    return model.counts


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_without_fuse_gets_the_same_answers(seed, place, point):
    counts = hold_without_fuse(seed, place, point, OPERATIONS)
    assert {name for name in CHANGES if counts[name][2]} == set(CHANGES)


@pytest.mark.slow
def test_a_million_operations(place, point):
    first = int(os.environ.get("MODEL_SEED", time.time_ns() // 1_000_000))
    for seed in range(first, first + SOAK_TREES):
        hold(seed, place, point, SOAK_OPERATIONS, mounts=2,
             options=("-u", SOMEBODY if seed % 4 == 0 else 0))


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
def test_a_limit_that_shrinks_changes_no_answer(place, point):
    """The pool gives memory back while it is read from."""
    ended, seen = threading.Event(), set()
    with plain_tree(place / "plain", lambda root: make_tree(random.Random(3), root)) as plain, \
            memory_group() as (group, limit), \
            foldfs.mounted(foldfs.pack(plain, place / "pack.lmdb"), point, "--pool=64M",
                           "--cache=pool") as mounted:
        (group / "cgroup.procs").write_text(str(mounted.daemon))
        beside = threading.Thread(target=change_limit, args=(group / limit, mounted, ended, seen))
        beside.start()
        try:
            for seed in range(10):
                Model(plain, mounted, seed).hold(SOAK_OPERATIONS)
        finally:
            ended.set()
            beside.join()
    assert min(seen) < 64 * MIB, "the pool has not shrunk"


def test_a_difference_is_found_and_shrunk(place, mount):
    """The model's own test: a byte of the pack is another one, and nobody checks."""
    with plain_tree(place / "plain", trees.make_small) as plain:
        pack = foldfs.pack(plain, place / "pack.lmdb")
        data = bytearray(pack.read_bytes())
        data[data.index(trees.noise(1, 2 * MIB)[MIB:MIB + 64])] ^= 1
        pack.write_bytes(data)
        model = Model(plain, mount(pack, "--verify=off"), 1)
        said = model.run("-n", 4000)
        assert said, "no difference was seen"
        shrunk = model.shrink(said)
    assert "large" in shrunk
    assert len(shrunk[:shrunk.index("difference: ")].splitlines()) <= 4
