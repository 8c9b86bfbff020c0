"""Limits of a shell (ulimit): each program works within them, or says why not, with the status that
its page says, and leaves nothing half done."""

import os
import re
import resource
import signal

import pytest

import foldfs
import limits
import pictures
import trees
from foldfs import FOLDFS, FOLDPACK, FOLDSTAT, MIB, NAMELESS, as_user, is_mounted, is_root, run

KIB = 1 << 10


@pytest.fixture
def src(place):
    (place / "src/c").mkdir(parents=True)
    for name in ("a.jpg", "b.jpg"):
        trees.write(place / "src/c" / name, pictures.jpeg(pictures.noise((400, 300))))
    return place / "src"


def commands(src, pack, place):
    """What writes files, by their names, with what it leaves where it cannot."""
    return {"create": ["create", src, place / "new.lmdb"],
            "extract": ["extract", pack, place / "out"],
            "webdataset": ["export", "--format=webdataset", pack, place / "out-%03d.tar"],
            "lmdb": ["export", "--format=lmdb", pack, place / "out.lmdb"],
            "report": ["report", pack, "-o", place / "page.html"]}


@pytest.mark.parametrize("name", ["create", "extract", "webdataset", "lmdb", "report"])
def test_a_file_that_may_not_grow_is_said_and_leaves_no_half(src, place, name):
    pack = foldfs.pack(src, place / "x.lmdb")
    done = run(FOLDPACK, *commands(src, pack, place)[name], status=1,
               preexec_fn=limits.file_size(10 * KIB))
    assert "File too large" in done.err
    assert sorted(os.listdir(place)) in (["src", "x.lmdb"], ["out", "src", "x.lmdb"])
    assert [path for path in (place / "out").rglob("*") if path.is_file()] == []


def test_create_names_the_limit_and_what_a_folder_can_do_about_it(src, place):
    limited = {"status": 1, "preexec_fn": limits.file_size(10 * KIB)}
    why = "/new.lmdb: File too large: 'ulimit -f' or the filesystem allows no larger one"
    err = run(FOLDPACK, "create", src, place / "new.lmdb", **limited).err
    assert err.endswith(f"{why}; --shard-size makes several\n")
    run("tar", "-cf", place / "x.tar", "-C", src, ".")
    err = run(FOLDPACK, "create", place / "x.tar", place / "new.lmdb", **limited).err
    assert err.endswith(f"{why}\n")


def test_the_command_over_a_mount_can_be_ended_by_that_limit_as_ever(small, point):
    done = run(FOLDFS, small[1], point, "--", "grep", "SigIgn", "/proc/self/status")
    assert not int(done.out.split()[1], 16) >> signal.SIGXFSZ - 1 & 1


@pytest.mark.plain
def test_too_small_a_stack_is_said(small, place, point, mount):
    said = "'ulimit -s' allows 64 KiB of stack, and 256 KiB are needed\n"
    limited = {"status": 1, "preexec_fn": limits.limit(resource.RLIMIT_STACK, 64 * KIB)}
    mounted = mount(small[1])
    for program, *words in ([FOLDPACK, "create", small[0], place / "new.lmdb"],
                            [FOLDPACK, "verify", small[1]], [FOLDSTAT, mounted],
                            [FOLDFS, small[1], place]):
        assert run(program, *words, **limited).err == f"{program.name}: {said}"
    assert not (place / "new.lmdb").exists() and not is_mounted(place)


@pytest.mark.plain
def test_a_stack_that_is_just_large_enough_is_enough_for_all_threads(src, place, point):
    within = {"preexec_fn": limits.limit(resource.RLIMIT_STACK, 256 * KIB)}
    pack, archive = place / "x.lmdb", place / "x.tar.gz"
    run("tar", "-czf", archive, "-C", src, ".")
    run(FOLDPACK, "create", "-v", "--check=decode", "--resize=20", src, pack, **within)
    run(FOLDPACK, "create", "--force", "-v", archive, pack, **within)
    run(FOLDPACK, "report", pack, "-o", place / "page.html", **within)
    run(FOLDPACK, "export", "--format=tfrecord", pack, place / "out", **within)
    run(FOLDPACK, "verify", pack, **within)
    run(FOLDFS, pack, point, "--", "cmp", src / "c/a.jpg", point / "c/a.jpg", **within)


@pytest.mark.plain
@pytest.mark.parametrize("what, least, most", [
    (resource.RLIMIT_AS, 40 * MIB, 800 * MIB), (resource.RLIMIT_NOFILE, 5, 24)])
def test_less_than_is_needed_is_said_and_enough_is_enough(src, place, point, what, least, most):
    """Below `least` not even the libraries are loaded."""
    pack, new = foldfs.pack(src, place / "x.lmdb"), place / "new.lmdb"
    statuses = set()
    for step in range(12):
        within = {"preexec_fn": limits.limit(what, least + (most - least) * step // 11),
                  "status": None}
        for words in (["create", src, new], ["verify", pack], ["extract", pack, place / "out"]):
            done = run(FOLDPACK, *words, **within)
            assert done.returncode in (0, 1, 127), done.err
            assert re.search(r"memory|temporarily|open files|shared", done.err) or \
                done.returncode == 0, done.err
            statuses.add(done.returncode)
            assert new.exists() == (words[0] == "create" and done.returncode == 0)
            if new.exists():
                run(FOLDPACK, "verify", new)
                new.unlink()
            assert not list(place.glob("new.lmdb*"))
            run("rm", "-rf", place / "out")
        done = run(FOLDFS, pack, point, "--", "cat", point / "c/a.jpg", **within)
        assert done.returncode in (0, 1, 126, 127), done.err
        assert not is_mounted(point)
    assert 0 in statuses and 1 in statuses


@pytest.mark.plain
@pytest.mark.parametrize("what, least, most", [
    (resource.RLIMIT_AS, 40 * MIB, 800 * MIB), (resource.RLIMIT_DATA, MIB, 800 * MIB),
    (resource.RLIMIT_NOFILE, 5, 24), (resource.RLIMIT_MEMLOCK, 0, 16 * KIB)])
def test_a_job_without_a_mount_reads_all_or_is_told_which_limit_is_in_the_way(
        src, place, point, what, least, most):
    if "seccomp listeners" in run(FOLDFS, "--version").out.partition("lacks")[2]:
        pytest.skip("no seccomp listeners here")
    pack, said = foldfs.pack(src, place / "x.lmdb"), {0: 0, 1: 0}
    for step in range(12):
        limit = limits.limit(what, least + (most - least) * step // 11)
        done = run(FOLDFS, "--no-fuse", "-q", pack, point, "--", "cat", point / "c/a.jpg",
                   status=None, preexec_fn=limit)
        if done.returncode == 0:
            assert done.stdout == (src / "c/a.jpg").read_bytes()
        elif done.returncode != 127:  # the libraries of one of both are not loaded
            assert done.returncode == 1
            assert re.search(r"memory|temporarily|open files", done.err), done.err
        said[done.returncode] = said.get(done.returncode, 0) + 1
        assert os.listdir(point) == []
    assert said[0] and (said[1] or what == resource.RLIMIT_MEMLOCK)


@is_root
@pytest.mark.plain
def test_threads_that_may_not_start_are_named_with_the_way_out(src, place):
    place.chmod(0o777)
    pack = foldfs.pack(src, place / "x.lmdb")
    for words in (["create", src, place / "new.lmdb"], ["verify", pack]):
        done = run(*as_user(NAMELESS), FOLDPACK, *words, status=None,
                   preexec_fn=limits.limit(resource.RLIMIT_NPROC, 1))
        assert (done.returncode, done.err) == (0, "") or (
            "cannot start threads" in done.err and "ulimit -u" in done.err), done.err
    assert not list(place.glob("new.lmdb*")) or done.returncode == 0
