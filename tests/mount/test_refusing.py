"""Filesystems that refuse calls: modes, times, renames, syncs, locks, links, files that nobody else
may have made, or files without a name, as those of buckets, FAT, CIFS, NFS with root_squash and
mounts of others do. The data is there, and one line says what is not as it should be."""

import errno
import json
import os

import pytest

import foldfs
import pictures
import trees
from foldfs import FOLDPACK, NOBODY, as_user, is_root, run
from refusing import ERRORS, EXCLUSIVE, LINKS, MODES, RENAMES, SYNCS, TIMES, UNNAMED, refuse

errors = pytest.mark.parametrize("error", ERRORS, ids=lambda error: errno.errorcode[error])
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


def said(error):
    return os.strerror(error)


# --- create ---------------------------------------------------------------------------------


@users
@errors
def test_a_pack_is_made_where_its_mode_cannot_be_set(folder, packed, open_place, error, uid):
    pack = open_place / "x.lmdb"
    done = fold(uid, "create", folder, pack, refusal=refuse(MODES, error))
    assert f"{pack}: its mode could not be set (fchmod: {said(error)})" in done.err
    assert pack.read_bytes() == packed.read_bytes()
    assert os.listdir(open_place) == ["x.lmdb"]


@errors
def test_a_pack_is_made_where_nothing_can_be_synced(folder, packed, place, error):
    pack = place / "x.lmdb"
    done = run(FOLDPACK, "create", f"--bad-list={place}/bad", folder, pack,
               preexec_fn=refuse(SYNCS, error))
    assert f"{pack}: the filesystem brings it to the disk when it sees fit (fsync: " \
        f"{said(error)})" in done.err
    assert pack.read_bytes() == packed.read_bytes()


@errors
def test_a_pack_is_made_without_locks_and_without_what_only_new_kernels_rename(folder, packed,
                                                                               place, error):
    pack = place / "x.lmdb"
    done = run(FOLDPACK, "create", "-q", folder, pack,
               preexec_fn=refuse(["flock", "renameat2"], error, [*EXCLUSIVE, *UNNAMED]))
    assert done.err == ""
    assert pack.read_bytes() == packed.read_bytes()
    done = run(FOLDPACK, "create", folder, pack, status=1,
               preexec_fn=refuse(["renameat2"], error))
    assert f"{pack}: exists; --force replaces it" in done.err


@users
@errors
def test_where_nothing_can_be_renamed_the_whole_pack_is_said_to_be_there(folder, packed,
                                                                         open_place, error, uid):
    pack, partial = open_place / "x.lmdb", open_place / "x.lmdb.partial"
    for options in [], ["--resume"]:
        done = fold(uid, "create", *options, folder, pack, status=1,
                    refusal=refuse(RENAMES, error))
        assert f"{pack}: rename: {said(error)}; '{partial}' is the whole pack, and can be " \
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
    assert f"{pack}: write: {said(errno.EOPNOTSUPP)}; a pack can be made on another filesystem, " \
        "and copied" in done.err
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


# --- export, report, index ----------------------------------------------------------------------


EXPORTS = [["--format=webdataset"], ["--format=tfrecord"], ["--format=lmdb"]]
exports = pytest.mark.parametrize("form", EXPORTS, ids=["webdataset", "tfrecord", "lmdb"])


@exports
@errors
def test_an_export_is_made_without_what_is_not_needed(packed, place, form, error):
    for name, refusal in (("want", None), ("have", refuse(
            [*SYNCS, *MODES, *TIMES, "flock", "renameat2"], error, EXCLUSIVE))):
        (place / name).mkdir()
        run(FOLDPACK, "export", "--skip-others", *form, packed, place / name / "x",
            preexec_fn=refusal, status=4)
    run("diff", "-r", place / "want", place / "have")


@exports
@errors
def test_an_export_that_cannot_be_renamed_stays_under_its_other_names(packed, place, form, error):
    for name, refusal, status in (("want", None, 4), ("have", refuse(RENAMES, error), 1)):
        (place / name).mkdir()
        done = run(FOLDPACK, "export", "--skip-others", *form, packed, place / name / "x",
                   preexec_fn=refusal, status=status)
    assert f": rename: {said(error)}; all of it is there, in files whose names end in " \
        ".foldpack-partial, and can be copied" in done.err
    for path in (place / "want").iterdir():
        partial = place / "have" / f"{path.name}.foldpack-partial"
        assert partial.read_bytes() == path.read_bytes()


@errors
def test_a_report_and_an_index_are_written_where_nothing_can_be_renamed(folder, packed, place,
                                                                        error):
    tar = place / "x.tar"
    run("tar", "-cf", tar, "-C", folder, "c0")
    for calls in (RENAMES, [*MODES, *SYNCS, *LINKS]):
        made = []
        for refusal in (None, refuse(calls, error), refuse(calls, error, [*EXCLUSIVE, *UNNAMED])):
            page, index = place / "x.html", place / "x.foldfs-index"
            run(FOLDPACK, "report", packed, "-o", page, preexec_fn=refusal)
            run(FOLDPACK, "index", tar, "-o", index, preexec_fn=refusal)
            made.append((page.read_bytes(), index.read_bytes()))
            page.unlink()
            index.unlink()
        assert made[0] == made[1] == made[2]
        assert [name for name in os.listdir(place) if "foldpack" in name] == []


@errors
def test_a_disk_cache_needs_locks_and_little_else(packed, place, error):
    def fetch(refusal, status=0):
        return run(FOLDPACK, "fetch", f"--cache-dir={place}/cache", packed, status=status,
                   preexec_fn=refusal)

    assert said(error) in fetch(refuse(["flock"], error), status=1).err
    fetch(refuse([*MODES, *TIMES, *SYNCS, *RENAMES, *LINKS, "symlinkat", "fallocate"], error,
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
