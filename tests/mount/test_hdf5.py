"""foldpack create from HDF5, in the layouts that training code writes with h5py."""

import os
import re
import shutil
import signal
import subprocess

import pytest

import foldfs
import trees
from foldfs import FOLDPACK, MIB, has_photos, is_root, run
from gate import Changing

h5py = pytest.importorskip("h5py", reason="python3-h5py is not installed")
np = pytest.importorskip("numpy")

JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"


READER = foldfs.BUILD / "foldpack-hdf5"

if not READER.exists():
    pytest.skip("built without libhdf5", allow_module_level=True)


@pytest.fixture
def source(place):
    with h5py.File(place / "x.h5", "w") as file:
        yield file


def images(count):
    return [(PNG if number % 3 == 0 else JPEG) + trees.noise(number, number * 37)
            for number in range(count)]


def packed(source, place, *options, status=0):
    """{path: bytes} of the pack."""
    source.close()
    run(FOLDPACK, "create", "--check=off", *options, place / "x.h5", place / "x.lmdb",
        status=status)
    run(FOLDPACK, "extract", "-q", place / "x.lmdb", place / "out")
    out = os.fsencode(place / "out")
    found = {}
    for path in trees.files(out):
        with open(os.path.join(out, path), "rb") as file:
            found[path.decode()] = file.read()
    return found


def add_rows(group, rows, name="images"):
    made = group.create_dataset(name, (len(rows),), dtype=h5py.vlen_dtype(np.uint8))
    for number, row in enumerate(rows):
        made[number] = np.frombuffer(row, np.uint8)


def suffix(data):
    return ".png" if data.startswith(PNG) else ".jpg"


def test_rows_of_bytes_with_labels(source, place):
    rows = images(50)
    add_rows(source, rows)
    source["labels"] = np.arange(50) % 7
    assert packed(source, place) == {
        f"{number % 7:04}/{number:08}{suffix(row)}": row for number, row in enumerate(rows)}


def test_rows_with_names_classes_and_splits(source, place):
    rows = images(20)
    for split in ("train", "val"):
        add_rows(source.create_group(split), rows, "data")
        source[f"{split}/y"] = np.arange(20, dtype=np.uint8) % 2
        source[f"{split}/filenames"] = [f"{split} {number}.jpeg" for number in range(20)]
    (place / "classes").write_text("cat\ndog\n")
    assert packed(source, place, f"--classes={place}/classes") == {
        f"{split}/{('cat', 'dog')[number % 2]}/{split} {number}.jpeg": row
        for split in ("train", "val") for number, row in enumerate(rows)}


def test_rows_without_labels_or_with_paths(source, place):
    add_rows(source, images(3))
    add_rows(source.create_group("g"), images(3))
    source["g/paths"] = ["a/1.jpg", "b/2.png", "b/c/3.jpg"]
    source["g/labels"] = [0, 1, 1]
    assert sorted(packed(source, place)) == [
        "g/a/1.jpg", "g/b/2.png", "g/b/c/3.jpg",
        "images/00000000.png", "images/00000001.jpg", "images/00000002.jpg"]


def test_a_dataset_for_each_file_in_groups(source, place):
    wanted = {}
    for number, data in enumerate(images(30)):
        path = f"class{number % 3}/deep/{number}" + (".jpg" if number % 2 else "")
        if number % 5:
            source.create_dataset(path, data=np.frombuffer(data, np.uint8),
                                  **({"chunks": True, "compression": "gzip"} if number % 4 else {}))
        else:
            source[path] = np.void(data)
        wanted[path if number % 2 else path + suffix(data)] = data
    source["class0/label"] = np.uint8(0)
    source["mean"] = np.zeros(3)
    assert packed(source, place) == wanted


def test_what_has_several_names_is_there_under_each(source, place):
    """Hard links, to datasets and to groups; a group that is in itself is looked through once."""
    [data] = images(1)
    cats = source.create_group("cats")
    cats.create_dataset("a", data=np.frombuffer(data, np.uint8))
    source.create_group("dogs")["b"] = cats["a"]
    source["kittens"] = cats
    cats["circle"] = source["/"]
    found = packed(source, place)
    names = {path.rpartition(".")[0]: bytes for path, bytes in found.items()}
    assert names == dict.fromkeys(["cats/a", "dogs/b", "kittens/a"], data)


@has_photos
def test_photos_come_out_as_they_went_in(source, place):
    for path in trees.files(foldfs.PHOTOS):
        with open(os.path.join(os.fsencode(foldfs.PHOTOS), path), "rb") as file:
            source[path.decode()] = np.frombuffer(file.read(), np.uint8)
    packed(source, place)
    assert trees.content(place / "out") == trees.content(foldfs.PHOTOS)


def refused(source, place, *options):
    source.close()
    done = run(FOLDPACK, "create", *options, place / "x.h5", place / "x.lmdb", status=None)
    assert done.returncode in (1, 3) and not (place / "x.lmdb").exists()
    return done.err


def test_what_has_no_files_is_refused(source, place):
    assert "or still being written" in run(FOLDPACK, "create", place / "x.h5", place / "x.lmdb",
                                           status=3).err
    assert "holds no files of images" in refused(source, place)
    with h5py.File(place / "x.h5", "w") as source:
        source["x"] = np.zeros((4, 8, 8, 3), np.uint8)
    assert "holds arrays of pixels, not files of images" in refused(source, place)


def test_rows_that_the_file_cannot_have_take_no_memory(source, place):
    rows = source.create_dataset("images", (10**8,), dtype=h5py.vlen_dtype(np.uint8), chunks=True)
    rows[0] = np.frombuffer(images(1)[0], np.uint8)
    source.create_dataset("labels", (10**8,), dtype=np.int64, chunks=True)
    source.close()
    status, memory = foldfs.memory_of(FOLDPACK, "create", "-q", place / "x.h5", place / "x.lmdb")
    assert status != 0
    assert memory < 300 << 20


def test_a_label_without_a_class_is_refused(source, place):
    add_rows(source, images(3))
    source["labels"] = [0, 1, 2]
    (place / "classes").write_text("cat\ndog\n")
    said = refused(source, place, f"--classes={place}/classes")
    assert "record 2: its label is 2, and" in said and "classes ends with label 1" in said
    assert "no-such" in refused(source, place, f"--classes={place}/no-such")


def test_paths_that_lead_out_are_bad(source, place):
    add_rows(source, images(2))
    source["names"] = ["../../escaped.jpg", "fine.jpg"]
    assert list(packed(source, place, "--on-bad=skip", status=4)) == ["fine.jpg"]
    assert not (place / "escaped.jpg").exists()


def bytes_of(path, seed):
    """A file of three images. Others have the same places."""
    with h5py.File(path, "w") as file:
        add_rows(file, [JPEG + trees.noise(seed + n, 2 * MIB) for n in range(3)])
    return path.read_bytes()


@is_root
@pytest.mark.parametrize("what", ["images", "all"])
def test_a_file_that_changes_while_it_is_packed_is_refused(place, what):
    old = bytes_of(place / "x.h5", 0)
    new = bytes_of(place / "x.h5", 10) if what == "images" else bytes(len(old))
    at = old.index(trees.noise(1, 2 * MIB)) + MIB
    with Changing(old, place / "gate", at, new) as gate:
        said = run(FOLDPACK, "create", gate.path, place / "x.lmdb", status=1).err
    assert (f"{gate.path}: changed while it was being packed; pack it again when nothing writes "
            "to it") in said
    assert not [path for path in os.listdir(place) if path.startswith("x.lmdb")]


def test_a_name_that_no_tar_can_have_ends_it(source, place):
    """While the program still has more to write than a pipe holds."""
    add_rows(source, [JPEG + trees.noise(number, 300000) for number in range(4)])
    source["names"] = ["0.jpg", "a" * 2000000, "2.jpg", "3.jpg"]
    assert "damaged after '0.jpg'" in refused(source, place)


@pytest.mark.plain  # plain only: AddressSanitizer reports the memcpy that libhdf5 crashes in
def test_damaged_files_are_refused_and_crash_nothing(source, place):
    add_rows(source, images(40))
    source["labels"] = np.arange(40)
    source.close()
    data = (place / "x.h5").read_bytes()
    for step in range(40):
        bad = bytearray(data)
        if step < 20:
            bad = bad[:len(data) * step // 20]
        else:
            at = len(data) * (step - 20) // 20
            bad[at:at + 64] = trees.noise(step, 64)
        (place / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(bad[8:]))
        done = run(FOLDPACK, "create", "--force", place / "bad.h5", place / "bad", status=None)
        assert done.returncode in (0, 1, 3), done.err


def test_one_that_is_interrupted_leaves_nothing(source, place):
    add_rows(source, [JPEG + trees.noise(number, 300000) for number in range(100)])
    source.close()
    (place / "out").mkdir()
    with subprocess.Popen([FOLDPACK, "create", place / "x.h5", place / "out/x"],
                          stderr=subprocess.PIPE) as process:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=foldfs.PATIENCE)
        assert process.returncode in (0, -signal.SIGINT)
    assert os.listdir(place / "out") in ([], ["x"])


# --- the program that reads ------------------------------------------------------------------


def make(goal, place):
    """In a build that is up to date, for a machine whose root is `place`."""
    run("make", "-C", foldfs.ROOT, goal, f"B={foldfs.BUILD}", f"DESTDIR={place}", "PREFIX=/opt/x",
        env={**os.environ, "MAKEFLAGS": ""})


def test_it_is_found_where_it_is_installed_and_uninstalled(source, place):
    add_rows(source, images(2))
    source.close()
    make("install", place / "root")
    foldpack = place / "root/opt/x/bin/foldpack"
    (place / "link").symlink_to(foldpack)
    run(place / "link", "create", "--check=off", place / "x.h5", place / "x.lmdb")
    make("uninstall", place / "root")
    assert list(trees.files(os.fsencode(place / "root"))) == []
    assert not (place / "root/opt/x/libexec/foldfs").exists()


def test_where_it_is_missing_the_way_out_is_said(source, place):
    source.close()
    shutil.copy(FOLDPACK, place / "foldpack")
    said = run(place / "foldpack", "create", place / "x.h5", place / "x", status=1).err
    assert "takes foldpack-hdf5, and that is not installed: install it" in said
    assert "libhdf5-dev" in said


def test_where_libhdf5_is_missing_that_is_said(source, place):
    source.close()
    library = re.search(r"libhdf5\S*", run("ldd", READER).out).group()
    (place / library).touch()  # it is found first, and is none
    env = {**os.environ, "LD_LIBRARY_PATH": str(place)}
    said = run(FOLDPACK, "create", place / "x.h5", place / "x", env=env, status=1).err
    assert "foldpack-hdf5, which reads HDF5, does not start: install libhdf5" in said


@pytest.mark.parametrize("words", [(), ("x.h5",), ("1000", "1001", "x.h5"), ("--help",)])
def test_run_by_hand_it_says_what_it_is_for(words):
    assert "for 'foldpack create', which starts it" in run(READER, *words, status=2).err
