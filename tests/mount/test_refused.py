"""Programs that are refused memory, threads, processes and descriptors: at the n-th request for
them, and at all from the n-th on. For each n, the program does what it should, or says why not and
leaves nothing but what --resume goes on with. What is refused is what its own objects ask for
(tests/faults/refuse.c): libraries get all. `make check` tries every 40th n or fewer, `make soak`
all."""

import filecmp
import os
import re
import shutil
import signal
import tarfile

import pytest

import foldfs
import limits
import pictures
import trees
from foldfs import BUILD, is_mounted, run
from formats import tfrecord

pytestmark = pytest.mark.plain

FOLDPACK, FOLDFS = BUILD / "refused/foldpack", BUILD / "refused/foldfs"
WHY = re.compile(r"[Mm]emory|temporarily unavailable|Too many open files")
FROM = [pytest.param("", id="once"), pytest.param("+", id="from-then-on")]
STEP = [pytest.param(40, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.fixture(scope="module")
def tree(session_dir):
    """(folder, pack) with one of each kind of entry."""
    def make(root):
        trees.make_small(root)
        os.symlink("file", root / "symlink")
        os.link(root / "file", root / "link")
        trees.write(root / "folder" / "copy", trees.noise(1, 2 * foldfs.MIB))
        trees.write(root / "folder" / "image.jpg", pictures.jpeg(pictures.noise((64, 48))))

    return trees.packed(session_dir / "refused", make)


def refusals(place, step, every):
    """Yields what to run with, until a run was refused nothing. The last n is printed."""
    number = 1
    while True:
        yield {**os.environ, "FOLDFS_REFUSE": f"{number}{every} {place}/refused"}
        if not where(place):
            break
        number += step
    print(f"{number - 1} requests at most")


def where(place):
    """What was refused, and the address of who asked for it, whose line addr2line(1) knows."""
    return (place / "refused").read_bytes().split(b"\0", 1)[0].decode()


# --- foldpack -----------------------------------------------------------------------------


COMMANDS = {
    "create": "create -j2 SOURCE OUT/x.lmdb",
    "create-with-options": "create -j2 --dedup --check=decode --resize=32 --on-bad=skip --json "
                           "--exclude=*.foo --bad-list=OUT/bad SOURCE OUT/x.lmdb",
    "list": "list -l PACK",
    "list-json": "list --json PACK",
    "info": "info --json PACK",
    "verify": "verify PACK",
    "cat": "cat PACK large",
    "diff": "diff -a SOURCE PACK",
    "extract": "extract -j2 PACK OUT/x",
    "export-webdataset": "export --format=webdataset --skip-others PACK OUT/x",
    "export-lmdb": "export --format=lmdb --skip-others PACK OUT/x",
    "report": "report PACK -o OUT/x.html",
}


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes()
            for path in folder.rglob("*") if path.is_file()}


def run_command(words, tree, out, **options):
    if "--resume" not in words:
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
    names = {"SOURCE": tree[0], "PACK": tree[1], "OUT": out}
    words = [re.sub("|".join(names), lambda name: os.fspath(names[name[0]]), word)
             for word in words.split()]
    return run(FOLDPACK, *words, status=None, **options)


def without_times(text):
    return re.sub(rb'"seconds": ?[\d.]+', b"", text)


@pytest.mark.parametrize("step", STEP)
@pytest.mark.parametrize("every", FROM)
@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_is_right_or_says_why_not(tree, place, words, every, step):
    out = place / "out"
    want = run_command(words, tree, out)
    assert want.returncode in (0, 4), want.err
    made = files(out)
    for env in refusals(place, step, every):
        done = run_command(words, tree, out, env=env)
        left = files(out)
        if done.returncode == want.returncode:
            assert without_times(done.stdout) == without_times(want.stdout), where(place)
            assert left == made, where(place)
            continue
        assert done.returncode == 1, f"{where(place)}: {done.returncode}\n{done.err}"
        assert done.err.startswith("foldpack: ") and WHY.search(done.err), where(place) + done.err
        if "--resume continues after" in done.err:
            again = run_command(f"{words} --resume", tree, out)
            assert again.returncode == want.returncode, where(place) + again.err
            assert files(out) == made, where(place)
            continue
        assert left.items() <= made.items(), where(place)


@pytest.mark.parametrize("step", [pytest.param(4, id="some"), STEP[1]])
@pytest.mark.parametrize("every", FROM)
def test_an_export_has_the_labels_of_the_pack_or_says_why_not(place, every, step):
    """Not the numbers of ImageFolder, which it gives where there are no labels."""
    source = tfrecord.write(place / "x.tfrecord", [
        {"image/encoded": b"\xff\xd8\xff" + bytes([n]), "image/class/label": 10 * n,
         "image/class/text": f"c{n}"} for n in range(3)])
    pack, out = foldfs.pack(source, place / "x.lmdb", "--check=off"), place / "out"
    command = "export --format=webdataset PACK OUT/x"
    for env in refusals(place, step, every):
        done = run_command(command, (source, pack), out, env=env)
        if done.returncode == 0:
            assert labels_in(out / "x-000000.tar") == [0, 10, 20], where(place)


def labels_in(path):
    with tarfile.open(path) as tar:
        return [int(tar.extractfile(member).read()) for member in tar
                if member.name.endswith(".cls")]


@pytest.mark.slow  # each run waits for a disk
@pytest.mark.parametrize("every", FROM)
def test_a_fetch_is_complete_or_goes_on(tree, place, every):
    cache = place / "cache"
    words = ["fetch", f"--cache-dir={cache}", tree[1]]
    for env in refusals(place, 1, every):
        done = run(FOLDPACK, *words, status=None, env=env)
        if done.returncode:
            assert done.returncode == 1 and WHY.search(done.err), where(place) + done.err
            run(FOLDPACK, *words)
        [data] = cache.rglob("data")
        assert data.read_bytes() == tree[1].read_bytes(), where(place)
        shutil.rmtree(cache)


@pytest.fixture(scope="module")
def interrupted(fast):
    """(source, pack, folder): the pack of a run that nobody disturbed, and what one has left in
    that folder that was killed in its third batch."""
    source, pack, left = (fast / name for name in ("source", "x.lmdb", "left"))
    left.mkdir()
    for number in range(140):
        trees.write(source / str(number), trees.noise(number, foldfs.MIB))
    create = ("create", "-j2", "--dedup", source)
    run(FOLDPACK, *create, pack)
    run(FOLDPACK, *create, left / "x.lmdb", status=-signal.SIGXFSZ,
        preexec_fn=limits.deadly_file_size(132 * foldfs.MIB))
    return source, pack, left


@pytest.mark.parametrize("step", [pytest.param(80, id="few"), STEP[1]])
@pytest.mark.parametrize("every", FROM)
def test_a_run_that_goes_on_is_right_or_can_be_gone_on_with(interrupted, place, every, step):
    source, want, left = interrupted
    out = want.with_name("out")
    words = ["create", "-j2", "--dedup", "--resume", source, out / "x.lmdb"]
    for env in refusals(place, step, every):
        shutil.copytree(left, out)
        done = run(FOLDPACK, *words, status=None, env=env)
        if done.returncode:
            assert done.returncode == 1 and done.err.startswith("foldpack: "), where(place)
            assert WHY.search(done.err), where(place) + done.err
            assert "resuming after" in run(FOLDPACK, *words).err, where(place)
        assert filecmp.cmp(out / "x.lmdb", want, shallow=False), where(place)
        assert os.listdir(out) == ["x.lmdb"], where(place)
        shutil.rmtree(out)


# --- foldfs -------------------------------------------------------------------------------


def is_fair(status, err):
    return status == 0 or (status == 1 and WHY.search(err) and err.startswith("foldfs: "))


def ends_unmounted(pack, point, err):
    """Unless the table of mounts cannot be read. Then that is said, and the next foldfs removes
    what has stayed."""
    if is_mounted(point):
        assert "cannot be unmounted; a dead mount stays" in err
        assert "its mount was removed" in run(FOLDFS, pack, point, "--", "true").err
    assert not is_mounted(point)


@pytest.mark.parametrize("step", STEP)
@pytest.mark.parametrize("every", FROM)
def test_a_daemon_serves_right_bytes_or_says_why_not(tree, place, point, every, step):
    before = foldfs.children(os.getpid()).keys()
    for env in refusals(place, step, every):
        done = run(FOLDFS, "-q", tree[1], point, status=None, env=env)
        assert is_fair(done.returncode, done.err), f"{where(place)}: {done.returncode}\n{done.err}"
        if done.returncode == 0:
            read_all(tree[0], point)
            foldfs.unmount(point)
        ends_unmounted(tree[1], point, done.err)
        for pid in foldfs.children(os.getpid()).keys() - before:
            assert foldfs.wait_for(pid) == done.returncode, where(place)


def read_all(source, point):
    """Readers may be told of too little memory, but nothing wrong."""
    for path in trees.files(source):
        path = os.fsdecode(path)
        try:
            assert (point / path).read_bytes() == (source / path).read_bytes()
        except OSError as error:
            assert WHY.search(str(error)) or "Input/output" in str(error)


@pytest.mark.parametrize("step", STEP)
@pytest.mark.parametrize("every", FROM)
def test_a_command_over_a_mount_runs_or_is_said_to_be_impossible(tree, place, point, every, step):
    script = f"cat {point}/large && {BUILD}/foldstat --json {point} > /dev/null && exit 42"
    want = (tree[0] / "large").read_bytes()
    for env in refusals(place, step, every):
        done = run(FOLDFS, "-q", tree[1], point, "--", "sh", "-c", script, status=None, env=env)
        assert done.returncode in (1, 42), f"{where(place)}: {done.returncode}\n{done.err}"
        assert done.returncode == 42 or done.err, where(place)
        assert want.startswith(done.stdout), where(place)
        ends_unmounted(tree[1], point, done.err)
