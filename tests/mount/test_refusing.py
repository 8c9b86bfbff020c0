"""Filesystems that refuse calls: modes, times, renames, syncs, locks, links, files that nobody else
may have made, or files without a name, as those of buckets, FAT, CIFS, NFS with root_squash and
mounts of others do. The data is there, and one line says what is not as it should be."""

import contextlib
import errno
import json
import os
import signal
import stat
import struct
import subprocess

import pytest

import foldfs
import pictures
import trees
from foldfs import FOLDPACK, NOBODY, as_user, is_root, run
from refusing import EXCLUSIVE, LINKS, MODES, RENAMES, SYNCS, TIMES, UNNAMED, refuse

ERROR = errno.EPERM  # one of those that tests/unit/test_io.c lists
SAID = os.strerror(ERROR)
users = pytest.mark.parametrize("uid", [pytest.param(None, id="self"),
                                        pytest.param(NOBODY, id="nobody", marks=is_root)])


@pytest.fixture
def open_place(place):
    place.chmod(0o777)
    return place


@pytest.fixture(scope="module")
def folder(session_dir):
    """With links of both kinds, modes, an empty folder."""
    root = session_dir / "of all kinds"
    for number in range(6):
        trees.write(root / f"c{number % 2}" / f"{number}.jpg",
                    pictures.jpeg(pictures.noise((64, 48), seed=number)))
    os.link(root / "c0" / "0.jpg", root / "c1" / "linked.jpg")
    os.symlink("../c0/0.jpg", root / "c1" / "to.jpg")
    (root / "c0" / "2.jpg").chmod(0o755)
    (root / "empty").mkdir()
    (root / "empty").chmod(0o705)
    return root


@pytest.fixture(scope="module")
def packed(folder, session_dir):
    return foldfs.pack(folder, session_dir / "of all kinds.lmdb")


def fold(uid, *words, refusal=None, **options):
    return run(*(as_user(uid) if uid else []), FOLDPACK, *words, preexec_fn=refusal, **options)


# --- create ---------------------------------------------------------------------------------


@users
def test_a_pack_is_made_where_its_mode_cannot_be_set(folder, packed, open_place, uid):
    pack = open_place / "x.lmdb"
    done = fold(uid, "create", folder, pack, refusal=refuse(MODES, ERROR))
    assert f"{pack}: its mode could not be set (fchmod: {SAID})" in done.err
    assert pack.read_bytes() == packed.read_bytes()
    assert os.listdir(open_place) == ["x.lmdb"]


def test_a_pack_is_made_where_nothing_can_be_synced(folder, packed, place):
    pack = place / "x.lmdb"
    done = run(FOLDPACK, "create", f"--bad-list={place}/bad", folder, pack,
               preexec_fn=refuse(SYNCS, ERROR))
    assert f"{pack}: the filesystem does not sync on request (fsync: " \
        f"{SAID})" in done.err
    assert pack.read_bytes() == packed.read_bytes()


def test_a_pack_is_made_without_locks_and_without_what_only_new_kernels_rename(folder, packed,
                                                                               place):
    pack = place / "x.lmdb"
    done = run(FOLDPACK, "create", "-q", folder, pack,
               preexec_fn=refuse(["flock", "renameat2"], ERROR, [*EXCLUSIVE, *UNNAMED]))
    assert done.err == ""
    assert pack.read_bytes() == packed.read_bytes()
    done = run(FOLDPACK, "create", folder, pack, status=1,
               preexec_fn=refuse(["renameat2"], ERROR))
    assert f"{pack}: exists; --force replaces it" in done.err


@users
def test_where_nothing_can_be_renamed_the_whole_pack_is_said_to_be_there(folder, packed,
                                                                         open_place, uid):
    pack, partial = open_place / "x.lmdb", open_place / "x.lmdb.partial"
    for options in [], ["--resume"]:
        done = fold(uid, "create", *options, folder, pack, status=1,
                    refusal=refuse(RENAMES, ERROR))
        assert f"{pack}: rename: {SAID}; '{partial}' is the whole pack, and can be " \
            "copied, or mounted" in done.err
        assert "--resume" not in done.err
        assert partial.read_bytes() == packed.read_bytes() and not pack.exists()
    fold(uid, "create", "--resume", folder, pack)
    assert pack.read_bytes() == packed.read_bytes()
    assert os.listdir(open_place) == ["x.lmdb"]


def test_where_nothing_can_be_written_the_call_and_the_way_out_are_said(folder, place):
    pack = place / "x.lmdb"
    done = run(FOLDPACK, "create", folder, pack, status=1,
               preexec_fn=refuse(["pwrite64", "pwritev"], errno.EOPNOTSUPP))
    assert done.err.count("\n") == 1
    assert f"{pack}: write: {os.strerror(errno.EOPNOTSUPP)}; a pack can be made on another " \
        "filesystem, and copied" in done.err
    assert not os.listdir(place)


def test_packs_are_handed_over_where_nothing_can_be_locked_or_synced(place):
    for number in range(3):
        trees.write(place / "folder" / f"{number}.bin", trees.noise(number, 700_000))
    pack, there = place / "x.lmdb", place / "there"
    there.mkdir()
    run(FOLDPACK, "create", "--shard-size=1M", f"--shard-done=mv {{}} {there}/", place / "folder",
        pack, preexec_fn=refuse(["flock", *SYNCS, *MODES], errno.EPERM))
    run(FOLDPACK, "diff", place / "folder", f"{there}/x-*.lmdb")


def test_what_is_unpacked_first_needs_no_file_without_a_name(folder, place):
    tar = place / "x.tar.gz"
    run("tar", "-czf", tar, "-C", folder, ".")
    run(FOLDPACK, "create", tar, place / "x.lmdb",
        preexec_fn=refuse([], errno.EINVAL, [*EXCLUSIVE, *UNNAMED]))
    assert sorted(os.listdir(place)) == ["x.lmdb", "x.tar.gz"]
    run(FOLDPACK, "diff", folder, place / "x.lmdb")


# --- extract ----------------------------------------------------------------------------------


def extracted(uid, packed, place, refusal, status):
    """What is said, and the folder that was made; its bytes are right."""
    out = place / "out"
    done = fold(uid, "extract", packed, out, refusal=refusal, status=status, umask=0o022)
    run(FOLDPACK, "diff", out, packed)
    return [line.removeprefix(f"foldpack: {out}: ") for line in done.err.splitlines()], out


@users
def test_what_is_extracted_has_its_modes_where_nobody_may_change_them(packed, open_place, uid):
    """But for those that a folder gets once it is complete."""
    lines, out = extracted(uid, packed, open_place, refuse(MODES, ERROR), 0)
    assert len(lines) == 1
    assert stat.S_IMODE((out / "c0" / "2.jpg").stat().st_mode) == 0o755
    assert stat.S_IMODE((out / "empty").stat().st_mode) == 0o705


def test_modes_that_cannot_be_set_are_counted(place):
    source = place / "source"
    trees.write(source / "a" / "x", b"x")
    trees.write(source / "b" / "y", b"y")
    (source / "a").chmod(0o555)
    pack = foldfs.pack(source, place / "x.lmdb")
    lines, _ = extracted(None, pack, place, refuse(MODES, ERROR), 4)
    assert f"modes that could not be set: 1 (fchmod: {SAID})" in lines


@users
def test_times_that_cannot_be_set_are_counted(packed, open_place, uid):
    """Of six files, a symbolic link and the root with three folders."""
    lines, _ = extracted(uid, packed, open_place, refuse(TIMES, ERROR), 4)
    assert lines == [f"times that could not be set: 11 (utimensat: {SAID})"] + lines[1:]
    assert len(lines) == 2


@users
def test_a_hard_link_becomes_a_file_where_there_are_none(packed, open_place, uid):
    lines, out = extracted(uid, packed, open_place, refuse(LINKS, ERROR), 4)
    assert f"hard links that became files of their own: 1 (linkat: {SAID})" in lines
    assert (out / "c1" / "linked.jpg").stat().st_nlink == 1


def test_a_symbolic_link_that_cannot_be_made_is_named(packed, place):
    done = run(FOLDPACK, "extract", packed, place / "out", status=1,
               preexec_fn=refuse(["symlinkat"], ERROR))
    assert f"{place}/out/c1/to.jpg: symlinkat: {SAID}" in done.err
    done = run(FOLDPACK, "diff", place / "out", packed, status=1)
    assert done.out == f"Only in {packed}/c1: to.jpg\n"


@users
def test_files_are_made_where_they_can_be_neither_exclusive_nor_without_a_name(packed, open_place,
                                                                              uid):
    refusal = refuse([], ERROR, [*EXCLUSIVE, *UNNAMED])
    lines, out = extracted(uid, packed, open_place, refusal, 0)
    assert len(lines) == 1
    (out / "c0" / "0.jpg").write_bytes(b"mine")
    done = fold(uid, "extract", packed, out, refusal=refusal, status=1)
    assert f"{out}/c0/0.jpg: exists; not replaced" in done.err
    assert (out / "c0" / "0.jpg").read_bytes() == b"mine"


ACL = "system.posix_acl_default"
USER_OBJ, USER, GROUP_OBJ, MASK, OTHER = 1, 2, 4, 16, 32
ALL, NONE = 7, 0


def acl(*entries):
    """As posix_acl_xattr.h of Linux has it."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.parametrize("group, other", [(ALL, NONE), (NONE, NONE), (ALL, ALL)],
                         ids=["shared", "private", "open"])
@pytest.mark.parametrize("unnamed", [True, False], ids=["unnamed", "named"])
def test_a_default_acl_counts_in_place_of_the_umask(folder, packed, place, group, other, unnamed):
    """Each entry is as cp(1) makes it, which leaves that to the kernel."""
    above, none = place / "above", 0xffffffff
    above.mkdir()
    try:
        os.setxattr(above, ACL, acl((USER_OBJ, ALL, none), (USER, ALL, NOBODY),
                                    (GROUP_OBJ, group, none), (MASK, group, none),
                                    (OTHER, other, none)))
    except OSError:
        pytest.skip("no access control lists here")
    run("cp", "-r", folder, above / "copied", umask=0o077)
    run(FOLDPACK, "extract", packed, above / "extracted", umask=0o077,
        preexec_fn=None if unnamed else refuse([], errno.EOPNOTSUPP, UNNAMED))
    have, want = trees.modes(above / "extracted"), trees.modes(above / "copied")
    assert have == want
    for path in (above / "extracted").rglob("*"):
        if not path.is_symlink():
            copy = above / "copied" / path.relative_to(above / "extracted")
            assert os.getxattr(path, "system.posix_acl_access") == \
                os.getxattr(copy, "system.posix_acl_access"), path


def test_a_group_that_folders_hand_down_stays(packed, place):
    (place / "above").mkdir()
    (place / "above").chmod(0o2775)
    run(FOLDPACK, "extract", packed, place / "above" / "x")
    assert (place / "above/x/c0").stat().st_mode & stat.S_ISGID
    assert stat.S_IMODE((place / "above/x/empty").stat().st_mode) & 0o777 == 0o705


@foldfs.kills(3)
def test_one_that_is_killed_leaves_no_part_of_a_file(place, kills):
    """Where the filesystem has files without a name."""
    source = place / "source"
    for number in range(40):
        trees.write(source / f"{number}", trees.noise(number, 900_000))
    trees.write(source / "large", trees.noise("large", 30 << 20))
    pack = foldfs.pack(source, place / "x.lmdb")
    whole = {path.name: path.stat().st_size for path in source.iterdir()}
    moments = foldfs.chance()
    for number in range(kills):
        out = place / f"out{number}"
        process = subprocess.Popen([FOLDPACK, "extract", "-q", pack, out])
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(moments.uniform(0.005, 0.08))
        process.kill()
        assert process.wait() in (0, -signal.SIGKILL)
        for path in out.iterdir() if out.exists() else []:
            assert path.stat().st_size == whole[path.name], path
        run("rm", "-rf", out)


# --- export, report, index ----------------------------------------------------------------------


# By Python, which has a list of errors of its own.
exports = pytest.mark.parametrize("form, error", [
    ("webdataset", errno.ENOSYS), ("tfrecord", errno.EOPNOTSUPP), ("lmdb", errno.EINVAL)])


@exports
def test_an_export_is_made_without_what_is_not_needed(packed, place, form, error):
    for name, refusal in (("want", None), ("have", refuse(
            [*SYNCS, *MODES, *TIMES, "flock", "renameat2"], error, EXCLUSIVE))):
        (place / name).mkdir()
        run(FOLDPACK, "export", "--skip-others", f"--format={form}", packed, place / name / "x",
            preexec_fn=refusal, status=4)
    run("diff", "-r", place / "want", place / "have")


@exports
def test_an_export_that_cannot_be_renamed_stays_under_its_other_names(packed, place, form, error):
    for name, refusal, status in (("want", None, 4), ("have", refuse(RENAMES, error), 1)):
        (place / name).mkdir()
        done = run(FOLDPACK, "export", "--skip-others", f"--format={form}", packed,
                   place / name / "x", preexec_fn=refusal, status=status)
    assert f": rename: {os.strerror(error)}; all of it is there, in files whose names end in " \
        ".foldpack-partial, and can be copied" in done.err
    for path in (place / "want").iterdir():
        partial = place / "have" / f"{path.name}.foldpack-partial"
        assert partial.read_bytes() == path.read_bytes()


def test_a_report_and_an_index_are_written_where_nothing_can_be_renamed(folder, packed, place):
    tar = place / "x.tar"
    run("tar", "-cf", tar, "-C", folder, "c0")
    for calls in (RENAMES, [*MODES, *SYNCS, *LINKS]):
        made = []
        for refusal in (None, refuse(calls, ERROR), refuse(calls, ERROR, [*EXCLUSIVE, *UNNAMED])):
            page, index = place / "x.html", place / "x.foldfs-index"
            run(FOLDPACK, "report", packed, "-o", page, preexec_fn=refusal)
            run(FOLDPACK, "index", tar, "-o", index, preexec_fn=refusal)
            made.append((page.read_bytes(), index.read_bytes()))
            page.unlink()
            index.unlink()
        assert made[0] == made[1] == made[2]
        assert [name for name in os.listdir(place) if "foldpack" in name] == []


def test_a_disk_cache_needs_little(packed, place):
    def fetch(refusal, status=0):
        return run(FOLDPACK, "fetch", f"--cache-dir={place}/cache", packed, status=status,
                   preexec_fn=refusal)

    fetch(refuse([*MODES, *TIMES, *SYNCS, *RENAMES, *LINKS, "flock", "fallocate"], ERROR,
                 [*EXCLUSIVE, *UNNAMED]))
    assert "all good" in run(FOLDPACK, "fetch", f"--cache-dir={place}/cache", packed).err


def test_a_summary_is_the_same(folder, place):
    for number, refusal in enumerate((None, refuse([*MODES, *SYNCS], errno.EPERM))):
        done = run(FOLDPACK, "create", "--json", "-q", folder, place / f"{number}.lmdb",
                   preexec_fn=refusal)
        summary = json.loads(done.out)
        del summary["seconds"]
        assert number == 0 or summary == before
        before = summary
