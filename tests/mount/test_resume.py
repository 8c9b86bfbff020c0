"""Packing that is interrupted: killed, signalled, out of room, and gone on with. Whatever happened,
the pack in the end is, byte for byte, the one of a run that nobody disturbed."""

import contextlib
import filecmp
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

import foldfs
import limits
from foldfs import (FOLDFS, FOLDPACK, MIB, PATIENCE, info, is_root, needs, run, small_filesystem)
from trees import noise, write

pytestmark = pytest.mark.plain

GOES_ON = re.compile(r"resuming after ([\d,]+) files, (\d.*)")


# --- a source of two batches and a part, and its pack -------------------------------------


@pytest.fixture(scope="module")
def src(fast):
    """Large files, many small ones, equal ones, bad ones, links of both kinds."""
    root = fast / "src"
    block = noise("resume", MIB)
    for number in range(150):
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
def want(src, fast):
    """The pack of a run that nobody disturbs."""
    pack = fast / "want.lmdb"
    run(FOLDPACK, "create", *OPTIONS, src, pack, status=4)
    return pack


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
    assert die_at(140 * MIB, src, pack).returncode == -signal.SIGXFSZ
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
def test_a_run_that_is_killed_at_any_moment_is_gone_on_with(src, pack, want, kills):
    """And killed again as it goes on, or not."""
    moments, done, behind = foldfs.chance(), 0, []
    began = time.monotonic()
    create(src, pack)
    seconds = time.monotonic() - began
    pack.unlink()
    while done < kills:
        for _ in range(moments.choice([1, 2])):
            done += kill_after(moments.uniform(0, 1.2) * seconds, src, pack)
        behind.append(goes_on(src, pack, want))
        pack.unlink()
    print(f"{done} kills, {sum(count > 0 for count in behind)} of {len(behind)} after a batch")
    assert kills < 10 or sum(count > 0 for count in behind) > len(behind) / 4


def test_what_is_lost_is_three_batches_at_most(src, pack, want):
    """The third is written only once the first is in the journal."""
    die_at(148 * MIB, src, pack)
    done = create(src, pack, "--resume")
    assert GOES_ON.search(done.err)[2].split()[1] == "MiB"
    assert float(GOES_ON.search(done.err)[2].split()[0]) > 60


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


def test_a_signal_leaves_what_can_be_gone_on_with(src, pack, want):
    """Others, and other moments: test_kills.py."""
    status, err = signal_when_kept(src, pack, signal.SIGTERM)
    assert status == -signal.SIGTERM, err
    assert re.search(r"--resume continues after [\d,]+ files, .*\n.*: interrupted$", err.strip())
    assert partial(pack).exists() and journal(pack).exists()
    assert goes_on(src, pack, want) > 0


def test_with_quiet_an_interruption_says_no_more_than_that(src, pack):
    status, err = signal_when_kept(src, pack, signal.SIGINT, "-q")
    assert status == -signal.SIGINT
    assert err == f"foldpack: {pack}: interrupted\n"


# --- no room ------------------------------------------------------------------------------


@is_root
@pytest.mark.parametrize("megabytes", [71, 151])
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


@is_root
@needs("mkfs.ext4")
def test_a_full_disk_of_ext4_too(src, want, place, fast):
    """There, room is taken when pages are written and not when they are filled."""
    image, small = fast / "x.lmdb.ext4", place / "small"
    with open(image, "wb") as file:
        file.truncate(270 * MIB)
    run("mkfs.ext4", "-q", "-m0", image)
    small.mkdir()
    if run("mount", "-o", "loop", image, small, status=None).returncode != 0:
        pytest.skip("no loop device may be mounted here")
    try:
        write(small / "other", bytes(150 * MIB))
        done = create(src, small / "x.lmdb", status=1)
        assert "the disk is full" in done.err and "--resume continues after" in done.err
        (small / "other").unlink()
        assert goes_on(src, small / "x.lmdb", want) > 0
    finally:
        run("umount", small)


def test_a_limit_on_the_size_of_files_is_said(src, pack, want):
    done = create(src, pack, status=1, preexec_fn=limits.file_size(140 * MIB))
    assert f"{pack}: File too large: 'ulimit -f' or" in done.err
    assert "--shard-size makes several" in done.err and "--resume continues after" in done.err
    assert goes_on(src, pack, want) > 0


# --- changed sources ----------------------------------------------------------------------


def set_time(path, status):
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.fixture
def victim(src):
    """A file of the first batch; all is as it was when the test is over. The time of its folder is
    a part of the pack."""
    path = src / "d0/14.bin"
    before, above, data = path.stat(), path.parent.stat(), path.read_bytes()
    yield path
    path.write_bytes(data)
    path.chmod(before.st_mode)
    set_time(path, before)
    path.with_name("15.new").unlink(missing_ok=True)
    set_time(path.parent, above)


def refuses(src, pack, name):
    done = create(src, pack, "--resume", status=1)
    assert f"'{name}' is not the file that was packed in this place before the interruption, or " \
        "has changed since; --force without --resume starts again" in done.err
    assert journal(pack).exists()


@pytest.mark.parametrize("change, named", [
    (lambda path: path.write_bytes(b"other"), "14.bin"), (os.utime, "14.bin"),
    (lambda path: path.chmod(0o600), "14.bin"), (Path.unlink, "140.bin"),
    (lambda path: write(path.with_name("15.new"), b"new"), "15.new")],
    ids=["bytes", "time", "mode", "gone", "new"])
def test_a_packed_file_that_has_changed_is_named(src, interrupted, victim, change, named):
    change(victim)
    refuses(src, interrupted, f"d0/{named}")


def test_a_change_that_is_taken_back_is_none(src, interrupted, want, victim):
    before = victim.stat()
    os.utime(victim)
    refuses(src, interrupted, "d0/14.bin")
    set_time(victim, before)
    assert goes_on(src, interrupted, want) > 0


@pytest.fixture
def changing(src):
    """A copy of the source that may change, by links: no file of it does."""
    copy = src.parent / "changing"
    run("cp", "-a", src, copy)
    yield copy
    shutil.rmtree(copy)


def test_what_changed_behind_the_mark_is_packed_as_it_is_now(changing, pack, fast):
    """As from a run that began after the change: new, gone and other files, and folders."""
    assert die_at(140 * MIB, changing, pack).returncode == -signal.SIGXFSZ
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
    found = info(pack)
    assert summary["id"] == found["id"]
    assert summary["bytes_out"] == pack.stat().st_size
    assert summary["skipped"] == found["left_out"] == 1
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


def test_an_interrupted_pack_is_not_begun_again_unasked(src, interrupted, want):
    before = partial(interrupted).read_bytes()
    done = create(src, interrupted, status=1)
    assert f"{interrupted}: an interrupted run has left its work in '{partial(interrupted)}'; " \
        "--resume continues it, --force starts again" in done.err
    assert partial(interrupted).read_bytes() == before
    done = create(src, interrupted, "--force")
    assert "resuming" not in done.err
    assert filecmp.cmp(interrupted, want, shallow=False)
    assert not partial(interrupted).exists() and not journal(interrupted).exists()


def test_a_pack_to_be_replaced_is_there_until_the_new_one_is(src, pack, want):
    pack.write_bytes(b"old")
    assert die_at(140 * MIB, src, pack, "--force").returncode == -signal.SIGXFSZ
    assert pack.read_bytes() == b"old"
    done = create(src, pack, "--resume", status=1)
    assert f"{pack}: exists; --force replaces it" in done.err
    done = create(src, pack, "--resume", "--force")
    assert GOES_ON.search(done.err)
    assert filecmp.cmp(pack, want, shallow=False)


def test_options_that_do_not_touch_the_pack_may_be_others(src, interrupted, want):
    create(src, interrupted, "--resume", "-j1", "-v")
    assert filecmp.cmp(interrupted, want, shallow=False)


def test_any_order_is_gone_on_with(src, pack, fast):
    """Shuffled, LMDB writes over many pages that it has no more use for."""
    whole = fast / "x.lmdb.whole"
    create(src, whole, "--order=shuffle:7")
    for size in (90 * MIB, 140 * MIB):
        assert die_at(size, src, pack, "--order=shuffle:7").returncode == -signal.SIGXFSZ
    create(src, pack, "--resume", "--order=shuffle:7")
    assert filecmp.cmp(pack, whole, shallow=False)


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
