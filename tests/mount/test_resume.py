"""Packing that is interrupted: killed, signalled, out of room, and gone on with. Whatever happened,
the pack in the end is, byte for byte, the one of a run that nobody disturbed."""

import contextlib
import fcntl
import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import foldfs
import limits
import pictures
from foldfs import (FOLDFS, FOLDPACK, MIB, PATIENCE, is_root, needs, run, small_filesystem,
                    wait_until)
from trees import noise, write

pytestmark = pytest.mark.plain

ROOM = 3 << 30  # what the tests here may take at one time

NEITHER_BEGUN = "an interrupted run has left its work in"
GOES_ON = re.compile(r"resuming after ([\d,]+) files, (\d.*)")


# --- a source of five batches, and its pack -----------------------------------------------


@pytest.fixture(scope="module")
def fast():
    """A folder in memory, where there is enough of it: the packs here are large, and many."""
    shm = Path("/dev/shm")
    enough = shm.is_dir() and shutil.disk_usage(shm).free > ROOM
    path = Path(tempfile.mkdtemp(prefix="foldfs-resume-", dir=shm if enough else None))
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def src(fast):
    """Large files, many small ones, equal ones, bad ones, links of both kinds."""
    root = fast / "src"
    block = noise("resume", MIB)
    for number in range(280):
        write(root / f"d{number % 7}" / f"{number}.bin", b"%d" % number + block)
    for number in range(3000):
        write(root / f"small/{number % 5}" / f"{number}.txt", b"%d " % (number % 1500) * 50)
    write(root / "d3/bad.jpg", b"\xff\xd8\xff\xe0 no picture")
    write(root / "empty")
    (root / "nothing").mkdir()
    os.link(root / "d1/1.bin", root / "link")
    os.symlink("d1/1.bin", root / "symlink")
    yield root
    shutil.rmtree(root)


OPTIONS = ("--dedup", "--check=header", "--on-bad=skip", "-j3")


@pytest.fixture(scope="module")
def undisturbed(src, fast):
    """The pack, and the seconds that it took."""
    pack = fast / "want.lmdb"
    began = time.monotonic()
    run(FOLDPACK, "create", *OPTIONS, src, pack, status=4)
    return pack, time.monotonic() - began


@pytest.fixture
def want(undisturbed):
    return undisturbed[0]


@pytest.fixture
def seconds(undisturbed):
    return undisturbed[1]


@pytest.fixture
def pack(fast):
    path = fast / "x.lmdb"
    yield path
    for left in fast.glob("x.lmdb*"):
        left.unlink()


def partial(pack):
    return Path(f"{pack}.partial")


def journal(pack):
    return Path(f"{pack}.partial.journal")


def create(src, pack, *options, status=4, **more):
    return run(FOLDPACK, "create", *OPTIONS, *options, src, pack, status=status, **more)


def goes_on(src, pack, want):
    """Goes on to the end, and holds the pack against the one that is wanted. How many files the
    run began behind. One that was killed as its last act has nothing left to do."""
    done = create(src, pack, "--resume")
    assert "needed, only" not in done.err
    assert filecmp.cmp(pack, want, shallow=False)
    assert not partial(pack).exists() and not journal(pack).exists()
    found = GOES_ON.search(done.err)
    return int(found[1].replace(",", "")) if found else 0


def die_at(size, src, pack, *options):
    """A create that is killed when the pack has that size, or is done before it has."""
    return create(src, pack, "--resume", *options, status=None,
                  preexec_fn=limits.deadly_file_size(size))


@pytest.fixture(scope="module")
def killed(src, fast):
    """What a run has left that was killed after two batches."""
    pack = fast / "killed.lmdb"
    assert die_at(190 * MIB, src, pack).returncode == -signal.SIGXFSZ
    return pack


@pytest.fixture
def interrupted(killed, pack):
    for left in (partial, journal):
        shutil.copy(left(killed), left(pack))
    return pack


# --- kills --------------------------------------------------------------------------------


def kill_after(seconds, src, pack, *options):
    """Kills a run after so many seconds. False where it was done before. A search for leaks, which
    comes last, would tell of threads that are being killed."""
    command = [FOLDPACK, "create", *OPTIONS, "--resume", *options, src, pack]
    quiet = {**os.environ, "ASAN_OPTIONS": os.environ["ASAN_OPTIONS"] + ":detect_leaks=0"}
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=quiet)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    process.kill()
    return process.wait() == -signal.SIGKILL


@foldfs.kills(2)
def test_a_run_that_is_killed_at_any_moment_is_gone_on_with(src, pack, want, seconds, kills):
    moments = foldfs.chance()
    behind = []
    while len(behind) < kills:
        if kill_after(moments.uniform(0, 1.2) * seconds, src, pack):
            behind.append(goes_on(src, pack, want))
        pack.unlink()
    print(f"{kills} kills, {sum(count > 0 for count in behind)} of them after a batch")
    assert kills < 10 or sum(count > 0 for count in behind) > kills / 4


@foldfs.kills(2)
def test_a_run_that_is_killed_again_and_again_comes_to_its_end(src, pack, want, seconds, kills):
    moments = foldfs.chance()
    done = 0
    while done < kills:
        while kill_after(moments.uniform(0.1, 0.7) * seconds, src, pack) and done < kills:
            done += 1
        if done == kills:
            goes_on(src, pack, want)
        assert filecmp.cmp(pack, want, shallow=False)
        pack.unlink()


@pytest.mark.slow  # in `make check`, of a builder: tests/unit/test_resume.c
def test_a_run_that_is_killed_within_any_commit_is_gone_on_with(src, pack, want):
    """Each commit makes the file longer: a limit on its length ends the run in the midst of it,
    and what it wrote first is in the file."""
    for size in range(2 * MIB + 4321, want.stat().st_size, 3 * MIB):
        assert die_at(size, src, pack).returncode == -signal.SIGXFSZ
        behind = goes_on(src, pack, want)
        assert size < 140 * MIB or behind > 0
        pack.unlink()


def test_what_is_lost_is_three_batches_at_most(src, pack, want):
    die_at(250 * MIB, src, pack)
    done = create(src, pack, "--resume")
    assert GOES_ON.search(done.err)[2].split()[1] == "MiB"
    assert float(GOES_ON.search(done.err)[2].split()[0]) > 250 - 3 * 67


# --- signals ------------------------------------------------------------------------------


def signal_when_kept(src, pack, name, *options):
    """Sends a signal when the first batch is in the journal. On a busy machine the run may be
    over before that is seen: then it is begun again."""
    while True:
        command = [FOLDPACK, "create", *OPTIONS, "--resume", *options, src, pack]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        while process.poll() is None and not journal(pack).exists():
            pass
        process.send_signal(name)
        err = process.communicate(timeout=PATIENCE)[1]
        if process.returncode != 4:
            return process.returncode, err
        pack.unlink()


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_what_can_be_gone_on_with(src, pack, want, name):
    status, err = signal_when_kept(src, pack, name)
    assert status == -name, err
    assert re.search(r"--resume continues after [\d,]+ files, .*\n.*: interrupted$", err.strip())
    assert partial(pack).exists() and journal(pack).exists()
    assert goes_on(src, pack, want) > 0


def test_with_quiet_an_interruption_says_no_more_than_that(src, pack):
    status, err = signal_when_kept(src, pack, signal.SIGINT, "-q")
    assert status == -signal.SIGINT
    assert err == f"foldpack: {pack}: interrupted\n"


# --- no room ------------------------------------------------------------------------------


@is_root
@pytest.mark.parametrize("megabytes", [
    71, 281, *(pytest.param(size, marks=pytest.mark.slow) for size in (135, 200))])
def test_a_full_disk_is_gone_on_with_when_there_is_room(src, want, place, megabytes):
    with small_filesystem(place / "small", megabytes) as small:
        done = create(src, small / "x.lmdb", "--anyway", status=1)
        assert f"{small}/x.lmdb: the disk is full" in done.err
        assert "more needed; make room" in done.err
        assert "--resume continues after" in done.err
        done = create(src, small / "x.lmdb", "--resume", "--anyway", status=1)
        assert "resuming after" in done.err and "the disk is full" in done.err
        run("mount", "-o", "remount,size=500m", small)
        assert goes_on(src, small / "x.lmdb", want) > 0


@is_root
def test_a_disk_without_room_for_one_batch_has_nothing_left(src, want, place):
    with small_filesystem(place / "small", 40) as small:
        done = create(src, small / "x.lmdb", "--resume", status=1)
        assert "the disk is full: 40 MiB free" in done.err
        assert os.listdir(small) == []


def processor_time(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]


@is_root
def test_threads_that_still_read_when_the_disk_is_full_come_to_no_harm(place):
    """They ask for the names of what comes next, until somebody stops them. The one who does that
    is held up here while it says what is wrong."""
    picture = pictures.jpeg(pictures.noise((1800, 1400)), quality=97)
    count = 100 * MIB // len(picture)
    for number in range(count):
        write(place / f"src/{number}.jpg", picture)
    reader, writer = os.pipe()
    room = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"x" * room)
    with small_filesystem(place / "small", 40) as small, open(reader, "rb") as said:
        process = subprocess.Popen([FOLDPACK, "create", "-qj1", "--check=decode", "--anyway",
                                    place / "src", small / "x.lmdb"], stderr=writer)
        os.close(writer)
        with process:
            wait_until(partial(small / "x.lmdb").exists)
            wait_until(lambda: not partial(small / "x.lmdb").exists())
            before = None
            while (now := processor_time(process.pid)) != before:
                before = now
                time.sleep(0.3)
            assert b"the disk is full" in said.read()
        assert process.returncode == 1


@is_root
@needs("mkfs.ext4")
def test_a_full_disk_of_ext4_too(src, want, place, fast):
    """There, room is taken when pages are written and not when they are filled."""
    image, small = fast / "x.lmdb.ext4", place / "small"
    with open(image, "wb") as file:
        file.truncate(420 * MIB)
    run("mkfs.ext4", "-q", "-m0", image)
    small.mkdir()
    if run("mount", "-o", "loop", image, small, status=None).returncode != 0:
        pytest.skip("no loop device may be mounted here")
    try:
        write(small / "other", bytes(200 * MIB))
        done = create(src, small / "x.lmdb", status=1)
        assert "the disk is full" in done.err and "--resume continues after" in done.err
        (small / "other").unlink()
        assert goes_on(src, small / "x.lmdb", want) > 0
    finally:
        run("umount", small)


def test_a_limit_on_the_size_of_files_is_said(src, pack, want):
    done = create(src, pack, status=1, preexec_fn=limits.file_size(150 * MIB))
    assert f"{pack}: File too large: 'ulimit -f' or" in done.err
    assert "--shard-size makes several" in done.err and "--resume continues after" in done.err
    assert goes_on(src, pack, want) > 0


# --- changed sources ----------------------------------------------------------------------


CHANGED = "is not the file that was packed in this place before the interruption, or has changed"


def set_time(path, status):
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture
def folder(src):
    """A folder whose files are in the first batch. Its time is a part of the pack."""
    path = src / "d0"
    before = path.stat()
    yield path
    set_time(path, before)


@pytest.fixture
def victim(folder):
    """A file in it; all is as it was when the test is over."""
    path = folder / "14.bin"
    before = path.stat()
    data = path.read_bytes()
    yield path
    path.write_bytes(data)
    path.chmod(before.st_mode)
    set_time(path, before)


def refuses(src, pack, *words):
    done = create(src, pack, "--resume", status=1)
    for word in (*words, "--force without --resume starts again"):
        assert word in done.err, done.err
    assert "--resume goes on" not in done.err
    assert journal(pack).exists()


CHANGES = {
    "its bytes": lambda path: path.write_bytes(b"other"),
    "its time": os.utime,
    "its mode": lambda path: path.chmod(0o600),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_packed_file_that_has_changed_is_named(src, interrupted, want, victim, change):
    change(victim)
    refuses(src, interrupted, f"'d0/14.bin' {CHANGED}")


def test_a_change_that_is_taken_back_is_none(src, interrupted, want, victim):
    before = victim.stat()
    os.utime(victim)
    refuses(src, interrupted, "'d0/14.bin'")
    set_time(victim, before)
    assert goes_on(src, interrupted, want) > 0


def test_a_file_that_is_new_among_the_packed_ones_is_named(src, interrupted, folder):
    new = write(folder / "15.new", b"new")
    try:
        refuses(src, interrupted, f"'d0/15.new' {CHANGED}")
    finally:
        new.unlink()


def test_where_a_packed_file_is_gone_the_next_one_is_named(src, interrupted, victim):
    victim.unlink()
    refuses(src, interrupted, "'d0/140.bin' is not the file that was packed in this place")


@pytest.fixture
def changing(src):
    """A copy of the source that may change, by links: no file of it does."""
    copy = src.parent / "changing"
    run("cp", "-a", src, copy)
    yield copy
    shutil.rmtree(copy)


def test_what_changed_behind_the_mark_is_packed_as_it_is_now(changing, pack, fast):
    """As from a run that began after the change: new, gone and other files, and folders."""
    assert die_at(230 * MIB, changing, pack).returncode == -signal.SIGXFSZ
    (changing / "small/3/1503.txt").unlink()
    write(changing / "small/4/new.txt", b"new")
    write(changing / "small/2/2.txt", b"other" * 1000)
    (changing / "zz").mkdir()
    os.symlink("nowhere", changing / "dangling")
    (changing / "d0").chmod(0o700)
    fresh = fast / "x.lmdb.fresh"
    create(changing, fresh)
    assert goes_on(changing, pack, fresh) > 0


# --- what is there, and what was asked for ------------------------------------------------


def test_where_nothing_was_begun_resume_begins(src, pack, want):
    assert goes_on(src, pack, want) == 0


def test_a_finished_pack_is_left_as_it_is_and_says_what_it_left_out(src, pack, want):
    shutil.copy(want, pack)
    write(journal(pack), b"a journal of somebody else")
    done = create(src, pack, "--resume")
    assert f"{pack}: finished already" in done.err
    assert f"{pack}: 1 of the inputs left out" in done.err
    assert journal(pack).exists()
    write(journal(pack), b"foldjrn\nof a run that was killed right behind its rename")
    create(src, pack, "--resume")
    assert not journal(pack).exists()
    done = create(src, pack, "--resume", "--json", "-q")
    assert done.err == ""
    summary = json.loads(done.out)
    info = json.loads(run(FOLDPACK, "info", "--json", pack).out)
    assert summary["id"] == info["id"]
    assert summary["bytes_out"] == pack.stat().st_size
    assert summary["skipped"] == info["left_out"] == 1
    assert re.search(r"^left out +1$", run(FOLDPACK, "info", pack).out, re.M)
    pack.unlink()
    pack.write_bytes(b"something else")
    done = create(src, pack, "--resume", status=1)
    assert f"{pack}: not an LMDB file" in done.err
    assert pack.read_bytes() == b"something else"


def test_a_finished_pack_of_what_cannot_all_be_read_is_left_as_it_is(tmp_path):
    write(tmp_path / "src/class/0", b"0")
    (tmp_path / "src/class/gone").symlink_to("nowhere")
    pack, listed = tmp_path / "x.lmdb", tmp_path / "bad"
    options = ["--dereference", "--on-bad=skip", f"--bad-list={listed}"]
    create(tmp_path / "src", pack, *options, status=4)
    bad = listed.read_text()
    done = create(tmp_path / "src", pack, "--resume", *options, status=4)
    assert f"{pack}: finished already" in done.err
    assert f"{pack}: 1 of the inputs left out" in done.err
    assert listed.read_text() == bad != ""


def test_a_finished_pack_of_other_options_is_no_end_to_go_on_to(src, pack, want):
    shutil.copy(want, pack)
    done = create(src, pack, "--resume", "--exclude=d1", status=1)
    assert f"{pack}: finished already, but made with other options" in done.err
    assert "--force without --resume replaces it" in done.err
    assert filecmp.cmp(pack, want, shallow=False)


def test_an_interrupted_pack_is_not_begun_again_unasked(src, interrupted, want):
    before = partial(interrupted).read_bytes()
    done = create(src, interrupted, status=1)
    assert f"{interrupted}: {NEITHER_BEGUN} '{partial(interrupted)}'" in done.err
    assert "; --resume continues it, --force starts again" in done.err
    assert partial(interrupted).read_bytes() == before
    done = create(src, interrupted, "--force")
    assert "resuming" not in done.err
    assert filecmp.cmp(interrupted, want, shallow=False)
    assert not partial(interrupted).exists() and not journal(interrupted).exists()


def test_a_pack_to_be_replaced_is_there_until_the_new_one_is(src, pack, want):
    pack.write_bytes(b"old")
    assert die_at(190 * MIB, src, pack, "--force").returncode == -signal.SIGXFSZ
    assert pack.read_bytes() == b"old"
    done = create(src, pack, "--resume", status=1)
    assert f"{pack}: exists; --force replaces it" in done.err
    done = create(src, pack, "--resume", "--force")
    assert GOES_ON.search(done.err)
    assert filecmp.cmp(pack, want, shallow=False)


@pytest.mark.parametrize("options, sentence", [
    (("--order=shuffle:7",), "was begun without 'order=shuffle:7'"),
    (("--exclude=*.txt", "--order=shuffle:7"), "was begun without"),
])
def test_other_options_are_named(src, interrupted, want, options, sentence):
    done = create(src, interrupted, "--resume", *options, status=1)
    assert f"{interrupted}: {sentence}" in done.err
    assert "go on with the same options, or start again" in done.err
    assert goes_on(src, interrupted, want) > 0


def test_options_that_do_not_touch_the_pack_may_be_others(src, interrupted, want):
    create(src, interrupted, "--resume", "-j1", "-v")
    assert filecmp.cmp(interrupted, want, shallow=False)


@pytest.mark.parametrize("order", [
    "shuffle:7", pytest.param("path", marks=pytest.mark.slow)])
def test_any_order_is_gone_on_with(src, pack, fast, order):
    """Shuffled, LMDB writes over many pages that it has no more use for."""
    whole = fast / "x.lmdb.whole"
    create(src, whole, f"--order={order}")
    for size in range(90 * MIB, 280 * MIB, 62 * MIB):
        assert die_at(size, src, pack, f"--order={order}").returncode == -signal.SIGXFSZ
    create(src, pack, "--resume", f"--order={order}")
    assert filecmp.cmp(pack, whole, shallow=False)


def test_lists_and_counts_are_those_of_a_whole_run(src, interrupted, want, fast):
    lists = fast / "x.lmdb.bad"
    done = create(src, interrupted, "--resume", "--json", f"--bad-list={lists}")
    summary = json.loads(done.out)
    other = fast / "x.lmdb.other"
    whole = create(src, other, "--json", f"--bad-list={lists}.whole")
    expected = json.loads(whole.out)
    for name in ("files", "bytes_in", "bytes_out", "skipped", "deduped", "id"):
        assert summary[name] == expected[name], name
    assert lists.read_text() == Path(f"{lists}.whole").read_text()
    assert "d3/bad.jpg\t" in lists.read_text()


# --- what an unfinished pack is to others -------------------------------------------------


UNFINISHED = "an unfinished pack; 'foldpack create --resume SOURCE PACK' continues it"


def test_an_unfinished_pack_says_what_it_is(interrupted, point):
    left = partial(interrupted)
    for command in (["info", left], ["list", left], ["verify", left], ["cat", left, "d0/0.bin"],
                    ["extract", left, point / "out"]):
        done = run(FOLDPACK, *command, status=1)
        assert f"{left}: {UNFINISHED}" in done.err
    done = run(FOLDFS, left, point, status=1)
    assert f"{left}: {UNFINISHED}" in done.err


def test_what_is_left_of_a_run_that_had_just_begun_says_so_too(fast, pack):
    src = fast / "x.lmdb.src"
    write(src / "a", bytes(MIB))
    try:
        process = subprocess.run([FOLDPACK, "create", src, pack], stderr=subprocess.PIPE,
                                 preexec_fn=limits.deadly_file_size(MIB // 2))
        assert process.returncode == -signal.SIGXFSZ
        assert not journal(pack).exists()
        assert UNFINISHED in run(FOLDPACK, "info", partial(pack), status=1).err
        done = run(FOLDPACK, "create", src, pack)
        assert "resuming" not in done.err
        run(FOLDPACK, "verify", pack)
    finally:
        shutil.rmtree(src)


def test_two_runs_do_not_go_on_with_one_pack(src, interrupted, want):
    gone_on = [subprocess.Popen([FOLDPACK, "create", *OPTIONS, "--resume", src, interrupted],
                                stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=PATIENCE)[1] for process in gone_on]
    statuses = sorted(process.returncode for process in gone_on)
    assert statuses in ([1, 4], [0, 4]), said
    assert statuses[0] == 0 or any("another foldpack" in err for err in said)
    assert filecmp.cmp(interrupted, want, shallow=False)


@pytest.mark.parametrize("damage", ["cut off", "a wrong byte", "gone"])
def test_a_damaged_journal_leads_back_to_where_it_is_whole(src, interrupted, want, damage):
    path = journal(interrupted)
    data = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        data[len(data) * 3 // 4] ^= 1
        path.write_bytes(data[:-3] if damage == "cut off" else data)
    behind = goes_on(src, interrupted, want)
    assert (behind == 0) == (damage == "gone")
