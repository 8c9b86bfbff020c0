"""`foldpack try`: what packing would bring, measured on a sample."""

import json
import os
import resource
import signal
import subprocess

import pytest

from foldfs import BUILD, FOLDPACK, MIB, NOBODY, PATIENCE, as_user, is_root, mount_lines, run
from trees import noise, write


@pytest.fixture
def src(tmp_path):
    """Two classes of 100 files of 40 KB each."""
    for n in range(200):
        path = tmp_path / "src" / f"{n % 2}" / f"{n}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, noise(n, 40000))
    return tmp_path / "src"


def trial(src, *options, **more):
    return json.loads(run(FOLDPACK, "try", "--json", *options, src, **more).out)


def test_the_same_files_are_read_loose_packed_and_through_a_mount(src, tmp_path):
    said = trial(src)
    assert (said["files"], said["bytes"]) == (200, 200 * 40000)
    for what in ["loose", "packing", "mounted"]:
        assert (said[what]["files"], said[what]["bytes"]) == (200, 200 * 40000), what
        assert said[what]["seconds"] > 0
    assert 200 * 40000 < said["whole_bytes"] < 1.2 * 200 * 40000
    assert os.listdir(tmp_path) == ["src"]
    assert not list(mount_lines(os.fsencode(tmp_path)))


def test_a_sample_is_about_as_large_as_asked_for(src):
    said = trial(src, "--sample=2M")
    assert said["files"] == 200
    assert 10 <= said["loose"]["files"] <= 100
    assert said["mounted"]["bytes"] == said["loose"]["bytes"] == said["packing"]["bytes"]
    assert 200 * 40000 < said["whole_bytes"] < 1.5 * 200 * 40000


def test_it_says_in_words_whether_it_is_worth_it(src):
    out = run(FOLDPACK, "try", src).out
    assert f"{src}: 200 files" in out
    assert "loose files" in out and "mounted" in out and "the whole" in out
    assert "worth it" in out


def test_it_packs_where_the_pack_would_be(src, tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    trial(src, "--place", place)
    assert os.listdir(place) == []
    done = run(FOLDPACK, "try", "--place", tmp_path / "nowhere", src, status=1)
    assert f"{tmp_path}/nowhere: No such file" in done.err


@is_root
def test_a_place_that_cannot_be_written_is_named(src, tmp_path):
    for path in [tmp_path, *tmp_path.parents]:
        path.chmod(path.stat().st_mode | 0o055)
    done = run(*as_user(NOBODY), FOLDPACK, "try", src, status=1)
    assert f"{tmp_path}: Permission denied; --place=DIR packs the sample elsewhere" in done.err


def test_without_foldfs_the_rest_is_said(src, tmp_path):
    alone = tmp_path / "bin"
    alone.mkdir()
    (alone / "foldpack").write_bytes((BUILD / "foldpack").read_bytes())
    (alone / "foldpack").chmod(0o755)
    out = run(alone / "foldpack", "try", src, env={"PATH": "/usr/bin"}).out
    assert "could not be mounted here: foldfs: No such file" in out
    assert "loose files" in out


@pytest.mark.parametrize("words, complaint", [
    (["--readers=0"], "--readers"), (["-j", "300"], "--jobs"), (["--sample=0"], "--sample"),
])
def test_what_makes_no_sense_is_refused(src, words, complaint):
    assert complaint in run(FOLDPACK, "try", *words, src, status=2).err


def test_a_sample_smaller_than_the_only_file_is_that_file(tmp_path):
    for n in range(6):
        src = tmp_path / f"{n}"
        src.mkdir()
        write(src / f"name {n}", noise(n, 100000))
        said = trial(src, "--sample=1K")
        assert said["loose"]["files"] == said["packing"]["files"] == 1


def test_of_a_few_large_files_there_is_a_sample(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    for n in range(5):
        write(src / f"{n}", noise(n, 100000))
    assert trial(src, "--sample=1")["packing"]["files"] >= 1


def test_files_without_bytes_can_be_tried(tmp_path):
    src = tmp_path / "src"
    src.mkdir()
    for n in range(10):
        write(src / f"{n}")
    said = trial(src)
    assert 0 < said["whole_seconds"] < 10 and 0 < said["whole_bytes"] < MIB
    out = run(FOLDPACK, "try", src).out
    assert "nan" not in out and "inf" not in out


@is_root
def test_files_that_cannot_be_read_do_not_count(src, tmp_path):
    for path in [tmp_path, *tmp_path.parents]:
        path.chmod(path.stat().st_mode | 0o055)
    place = tmp_path / "place"
    place.mkdir()
    place.chmod(0o777)
    for path in (src / "0").iterdir():
        path.chmod(0)
    said = trial(src, "--place", place, preexec_fn=lambda: (os.setgid(NOBODY), os.setuid(NOBODY)))
    assert {said[what]["files"] for what in ("loose", "packing")} == {100}
    for path in (src / "1").iterdir():
        path.chmod(0)
    done = run(*as_user(NOBODY), FOLDPACK, "try", "-q", "--place", place, src, status=1)
    assert done.err == f"foldpack: {src}: no file in it can be read\n"
    assert os.listdir(place) == []


def large(src):
    """More than the first batch of a pack."""
    for n in range(20):
        write(src / f"large {n}", noise(n, 4 * MIB))


def test_a_sample_that_cannot_be_packed_is_said_once_and_nothing_stays(src, tmp_path):
    def limited():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (70 * MIB, 70 * MIB))
    large(src)
    done = run(FOLDPACK, "try", src, status=1, preexec_fn=limited, restore_signals=False)
    assert "sample.lmdb: " in done.err and done.err.count("\n") == 1
    assert os.listdir(tmp_path) == ["src"]


def test_a_signal_leaves_nothing_behind(src, tmp_path):
    large(src)
    with subprocess.Popen([FOLDPACK, "try", "-v", src], stderr=subprocess.PIPE,
                          stdout=subprocess.DEVNULL) as process:
        while b"packing" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == -signal.SIGINT
    assert os.listdir(tmp_path) == ["src"]


def test_a_tar_is_not_tried(src, tmp_path):
    run("tar", "-cf", tmp_path / "x.tar", src)
    for source in [tmp_path / "x.tar", "-"]:
        done = run(FOLDPACK, "try", source, status=2)
        assert f"{source}: not a folder" in done.err
        assert "of a tar, unpack a part and try that" in done.err
    assert f"{src}/no: No such file" in run(FOLDPACK, "try", src / "no", status=1).err


def test_a_folder_without_files_is_no_sample(tmp_path):
    (tmp_path / "void").mkdir()
    assert "no file in it" in run(FOLDPACK, "try", tmp_path / "void", status=1).err
