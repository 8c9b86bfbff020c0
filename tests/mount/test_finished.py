"""A pack that is finished, and --resume: whether it is the one that was asked for, whatever the
source is and with whatever options."""

import os
import signal
from pathlib import Path

import pytest

import foldfs
import limits
from foldfs import FOLDPACK, MIB, run
from foreign import JPEG, write_tar
from formats import recordio, tfrecord
from trees import noise, write

NOT_OF = "finished already, but not of"


def images(seed, count=5):
    """Of which those with one number have one size."""
    return [JPEG + noise(f"{seed} {number}", 500 + 10 * number) for number in range(count)]


def tar_of(path, seed, count=5):
    write_tar(path, {f"c/{n}.jpg": data for n, data in enumerate(images(seed, count))})


def tfrecord_of(path, seed, count=5):
    tfrecord.write(path, [{"image/encoded": data, "image/class/label": n % 2 + 1,
                           "image/class/text": ["zebra", "ant"][n % 2], "other": data[::-1],
                           "id": f"i{n}"} for n, data in enumerate(images(seed, count))])


def recordio_of(path, seed, count=5):
    recordio.write(path, [(n % 2, n, data) for n, data in enumerate(images(seed, count))])


def pack_of(path, seed, count=5):
    """Whose files have one time, whatever they hold."""
    folder = path.parent / "of the pack"
    for number, data in enumerate(images(seed, count)):
        os.utime(write(folder / "c" / f"{number}.jpg", data), (1, 1))
    for number in range(count, 10):
        (folder / "c" / f"{number}.jpg").unlink(missing_ok=True)
    os.utime(folder / "c", (1, 1))
    foldfs.pack(folder, path, "--force", "--check=off")


# With checksums, and without; with times, and without.
KINDS = {"tar": tar_of, "pack": pack_of, "tfrecord": tfrecord_of}


def create(source, pack, *options, status=0, **more):
    return run(FOLDPACK, "create", "--check=off", "--resume", *options, source, pack,
               status=status, **more)


@pytest.mark.parametrize("count", [5, 6, 4], ids=["other bytes", "one more", "one less"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_pack_of_another_source_is_not_what_was_asked_for(kind, count, place):
    """Also where all names, sizes and times are the same."""
    source, pack = place / f"x.{kind}", place / "x.lmdb"
    KINDS[kind](source, 1)
    create(source, pack)
    assert "finished already; nothing to resume" in create(source, pack).err
    before = pack.read_bytes()
    KINDS[kind](source, 2 if count == 5 else 1, count)
    done = create(source, pack, status=1)
    assert f"{pack}: {NOT_OF} {source} as it is now: '" in done.err
    assert "differs; --force without --resume replaces it" in done.err
    assert pack.read_bytes() == before
    run(FOLDPACK, "create", "--check=off", "--force", source, pack)


def test_several_sources_and_a_pipe_are_compared_as_well(place):
    for name, seed in (("a", 1), ("b", 2)):
        folder = place / name
        for number, data in enumerate(images(seed)):
            write(folder / name / f"{number}.jpg", data)
        foldfs.pack(folder, place / f"{name}.lmdb", "--check=off")
    both, pack = f"{place}/{{a,b}}.lmdb", place / "x.lmdb"
    create(both, pack)
    assert "nothing to resume" in create(both, pack).err
    assert "'b/0.jpg' differs" in create(place / "a.lmdb", pack, status=1).err
    write_tar(place / "x.tar", {"c/1.jpg": b"1"})
    piped = place / "piped.lmdb"
    for status, data in ((0, b"1"), (0, b"1"), (1, b"2")):
        write_tar(place / "x.tar", {"c/1.jpg": data})
        with open(place / "x.tar", "rb") as tar:
            done = create("-", piped, status=status, stdin=tar)
    assert NOT_OF in done.err and "'c/1.jpg' differs" in done.err


@pytest.mark.parametrize("option", [
    "--class-folders=numbers", "--class-folders=names", "--empty-classes", "--schema=tfrecord",
    "--image-key=other", "--label-key=image/class/label", "--name-key=id"])
def test_a_pack_of_other_options_for_formats_is_not_what_was_asked_for(option, place):
    source, pack, other = place / "x.tfrecord", place / "x.lmdb", place / "other.lmdb"
    tfrecord_of(source, 1)
    create(source, pack)
    done = create(source, pack, option, status=1)
    assert f"{pack}: finished already, but made with other options" in done.err
    assert "a pack, whose classes" not in done.err
    create(source, other, option)
    assert option[2:].replace("empty-classes", "empty-classes=yes") in \
        run(FOLDPACK, "info", other).out
    assert "nothing to resume" in create(source, other, option).err
    assert "with other options" in create(source, other, status=1).err


@pytest.mark.parametrize("option", ["--classes", "--names"])
def test_a_pack_of_another_list_is_not_what_was_asked_for(option, place):
    source, pack, names = place / "x.rec", place / "x.lmdb", place / "names"
    recordio_of(source, 1, 2)
    names.write_text("ant\nbee\n")
    create(source, pack, f"{option}={names}")
    assert "nothing to resume" in create(source, pack, f"{option}={names}").err
    names.write_text("bee\nant\n")
    assert NOT_OF in create(source, pack, f"{option}={names}", status=1).err


def test_what_options_leave_out_is_no_difference(place):
    source, pack = place / "x.tar", place / "x.lmdb"
    write_tar(source, {"c/1.jpg": b"1", "c/2.txt": b"2", "d/3.jpg": b"3"})
    for options in (["--include=*.jpg"], ["--exclude=d"], ["--strip-components=1"]):
        create(source, pack, *options)
        assert "nothing to resume" in create(source, pack, *options).err
        pack.unlink()


def test_images_that_were_made_smaller_are_compared_by_their_times(place):
    pictures = pytest.importorskip("pictures")
    pack, source = place / "x.lmdb", place / "x.tar"
    write_tar(source, {"c/1.jpg": pictures.jpeg(pictures.noise((64, 48)))})
    create(source, pack, "--resize=16")
    assert "nothing to resume" in create(source, pack, "--resize=16").err
    write_tar(source, {"c/2.jpg": pictures.jpeg(pictures.noise((64, 48)))})
    assert "'c/2.jpg' differs" in create(source, pack, "--resize=16", status=1).err


# --- a folder ---------------------------------------------------------------------------------


@pytest.fixture
def folder(place):
    for name in ("a/1.jpg", "a/2.jpg", "b/c/3.jpg"):
        write(place / "folder" / name, name.encode())
    return place / "folder"


@pytest.mark.parametrize("name", ["a/new.jpg", "new.jpg", "b/c/new", "d/1.jpg", "b/d/1.jpg"])
def test_a_file_that_came_into_the_folder_is_a_difference(folder, place, name):
    pack = place / "x.lmdb"
    create(folder, pack)
    write(folder / name, b"new")
    new = "/".join(name.split("/")[:-1]) if "d/" in name else name
    done = create(folder, pack, status=1)
    assert f"{NOT_OF} {folder} as it is now: '{new}' differs" in done.err


@pytest.mark.parametrize("change", [Path.unlink, lambda path: os.utime(path, (1, 1))],
                         ids=["gone", "time"])
def test_a_file_that_is_gone_or_has_another_time_is_a_difference(folder, place, change):
    create(folder, place / "x.lmdb")
    change(folder / "a/2.jpg")
    done = create(folder, place / "x.lmdb", status=1)
    assert f"{NOT_OF} {folder} as it is now: 'a/2.jpg' differs" in done.err


def test_what_came_and_went_or_is_not_wanted_is_none(folder, place):
    pack = place / "x.lmdb"
    options = ["--exclude=*.tmp"]
    create(folder, pack, *options)
    write(folder / "a" / "gone").unlink()
    write(folder / "a" / "x.tmp")
    write(folder / "y.tmp" / "x.jpg")
    assert "nothing to resume" in create(folder, pack, *options).err
    options = ["--include=*.jpg"]
    pack = place / "y.lmdb"
    create(folder, pack, *options)
    write(folder / "notes" / "x.txt")
    write(folder / "a" / "x.txt")
    assert "nothing to resume" in create(folder, pack, *options).err


# --- before it is finished --------------------------------------------------------------------


@pytest.mark.plain
def test_other_bytes_are_not_gone_on_with_where_names_sizes_and_times_are_the_same(place):
    """As of records of raw pixels, which have no times."""
    def make(seed):
        write_tar(source, {f"{n}": bytes([n % 100 + 100 * seed - 100]) * MIB for n in range(110)})

    source, pack = place / "x.tar", place / "x.lmdb"
    make(1)
    create(source, pack, status=-signal.SIGXFSZ, preexec_fn=limits.deadly_file_size(100 * MIB))
    make(2)
    done = create(source, pack, status=1)
    assert f"{source}/0: is not the file that was packed in this place" in done.err
    assert "--resume continues" not in done.err and not pack.exists()
    make(1)
    assert "resuming after" in create(source, pack).err
    run(FOLDPACK, "verify", pack)
