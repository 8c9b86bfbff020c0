"""foldpack create from HDF5, in the layouts that training code writes with h5py."""

import ast
import os
import re
import shutil
import signal
import subprocess

import pytest

import foldfs
import foreign
import trees
from foldfs import FOLDPACK, MIB, is_root, run
from gate import Changing

h5py = pytest.importorskip("h5py", reason="python3-h5py is not installed")
np = pytest.importorskip("numpy")

JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0"
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"

@pytest.fixture
def source(place):
    with h5py.File(place / "x.h5", "w") as file:
        yield file


def images(count):
    return [(PNG if number % 3 == 0 else JPEG) + trees.noise(number, number * 37)
            for number in range(count)]


def packed(source, place, *options, status=0):
    source.close()
    return foreign.packed(place / "x.h5", place, "--check=off", *options, status=status)


def add_rows(group, rows, name="images"):
    made = group.create_dataset(name, (len(rows),), dtype=h5py.vlen_dtype(np.uint8))
    for number, row in enumerate(rows):
        made[number] = np.frombuffer(row, np.uint8)


def test_kinds_of_images_are_those_of_foldpack():
    """The tables of images.py and of pack/image_kind.c."""
    named, magic = ast.literal_eval(run(
        os.environ["FOLDFS_PYTHON"], "-B", "-c",
        "import images; print((images.NAMED, images.MAGIC))",
        env={**os.environ, "PYTHONPATH": foldfs.ROOT / "python/foldfs/sources"}).out)
    text = (foldfs.ROOT / "pack/image_kind.c").read_text()
    assert set(named) == {"." + name for name in re.findall(r'"(\w+)",\s+IMAGE_\w+, true', text)}
    assert set(magic) == {
        (int(at), ast.literal_eval(f"b{begin}"), end.replace(".JPEG", ".jpg"))
        for at, begin, end in re.findall(r'(\d+), \d+, (".*"), "(.*)"}', text)}


def suffix(data):
    return ".png" if data.startswith(PNG) else ".jpg"


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


def said_of(source, place):
    source.close()
    return run(FOLDPACK, "create", "--check=off", place / "x.h5", place / "x.lmdb").err


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


def test_names_with_a_nul_are_none(source, place):
    """They ended there, so that files had one path."""
    add_rows(source, images(2))
    source["names"] = np.array([b"a\0001.jpg", b"a\0002.jpg"], "S8")
    said = said_of(source, place)
    assert "has no name for each of the 2 rows; left out" in said
    assert run(FOLDPACK, "list", "-q", place / "x.lmdb").out.count("images/0000000") == 2


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
        (place / "link").symlink_to(gate.path)
        source = place / "link" if what == "all" else gate.path
        said = run(FOLDPACK, "create", source, place / "x.lmdb", status=1).err
    assert (f"{source}: changed while it was being packed; pack it again when nothing writes "
            "to it") in said
    assert not [path for path in os.listdir(place) if path.startswith("x.lmdb")]


def test_a_name_that_no_file_can_have_ends_it(source, place):
    """While the script still has more to write than a pipe holds."""
    add_rows(source, [JPEG + trees.noise(number, 300000) for number in range(4)])
    source["names"] = ["0.jpg", "a" * 2000000, "2.jpg", "3.jpg"]
    assert f"'{'a' * 60}...': a path of over 4095 bytes" in refused(source, place)


def test_damaged_files_are_refused_and_crash_nothing(source, place):
    add_rows(source, images(40))
    source["labels"] = np.arange(40)
    source.close()
    data = (place / "x.h5").read_bytes()
    for step in range(6):
        bad = bytearray(data)
        if step < 3:
            bad = bad[:len(data) * step // 3]
        else:
            at = len(data) * (step - 3) // 3
            bad[at:at + 64] = trees.noise(step, 64)
        (place / "bad.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(bad[8:]))
        done = run(FOLDPACK, "create", "--force", place / "bad.h5", place / "bad", status=None)
        assert done.returncode in (0, 1, 3), done.err


# --- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [
    np.array([[1], [0], [1]]), np.array([True, False, True]), np.array([1., 0., 1.]),
    np.array([1, 0, 1], ">u8")], ids=["column", "bool", "float", "big-endian"])
def test_labels_of_any_shape_and_kind(source, place, labels):
    rows = images(3)
    add_rows(source, rows)
    source["labels"] = labels
    assert sorted(packed(source, place)) == [
        f"{folder:04}/{number:08}{suffix(rows[number])}"
        for folder, number in ((0, 1), (1, 0), (1, 2))]


@pytest.mark.parametrize("kind", [h5py.string_dtype(), "S3"], ids=["text", "fixed"])
def test_labels_that_are_names_of_classes(source, place, kind):
    add_rows(source.create_group("train"), images(3))
    source["train/labels"] = np.array(["cat", "a/b", "cat"], kind)
    assert sorted(packed(source, place)) == [
        "train/a_b/00000001.jpg", "train/cat/00000000.png", "train/cat/00000002.jpg"]


@pytest.mark.parametrize("labels", [None, [1, 1, 1], ["cat", "cat", "cat"]],
                         ids=["none", "numbers", "texts"])
def test_rows_of_one_name_in_one_folder_are_refused(source, place, labels):
    add_rows(source, images(3))
    source["names"] = ["a.jpg", "b", "b.jpg"]
    if labels:
        source["labels"] = labels
    said = refused(source, place)
    assert "x.h5: images, row 2: another image is '" in said and "b.jpg', too" in said


@pytest.mark.parametrize("labels", [True, False])
def test_arrays_beside_each_other_have_folders_of_their_own(source, place, labels):
    """Masks are no images of the class, whatever they are called."""
    add_rows(source, [JPEG + b"1", JPEG + b"2"])
    add_rows(source, [PNG + b"3", PNG + b"4"], "masks")
    source["names"] = ["a", "b"]
    if labels:
        source["labels"] = [1, 0]
    assert packed(source, place) == {
        ("images/0001/a.jpg" if labels else "images/a.jpg"): JPEG + b"1",
        ("images/0000/b.jpg" if labels else "images/b.jpg"): JPEG + b"2",
        ("masks/0001/a.png" if labels else "masks/a.png"): PNG + b"3",
        ("masks/0000/b.png" if labels else "masks/b.png"): PNG + b"4"}


def test_arrays_that_are_not_taken_are_counted(source, place):
    add_rows(source, [JPEG, JPEG], "train_images")
    source["train_labels"], source["boxes"] = [1, 0], np.zeros((2, 4))
    said = said_of(source, place)
    assert ("left out 2 arrays, which hold neither images nor something for each of them by a "
            "usual name: 'boxes' and others\n") in said


def test_labels_of_over_18_digits_are_refused(source, place):
    add_rows(source, images(2))
    source["labels"] = [1, 10**18]
    assert ("images, row 1: its label 1000000000000000000 has over 18 digits" in
            refused(source, place))


@pytest.mark.parametrize("labels", [np.eye(3), np.arange(4), np.array([.5, 1, 2])])
def test_labels_that_are_none_are_said(source, place, labels):
    add_rows(source, images(3))
    source["labels"] = labels
    said = said_of(source, place)
    assert (f"{place}/x.h5: images: 'labels' beside it, of shape {labels.shape} and type "
            f"{labels.dtype}, has no label for each of the 3 rows; left out") in said
    assert "images/00000000.png" in run(FOLDPACK, "list", place / "x.lmdb").out


def test_folders_of_empty_classes_are_in_each_group(source, place):
    for split in ("train", "val"):
        add_rows(source.create_group(split), images(1))
        source[f"{split}/labels"] = [1]
    (place / "classes").write_text("cat\ndog\neel\n")
    packed(source, place, "--empty-classes", f"--classes={place}/classes")
    assert {f"{folder.parent.name}/{folder.name}" for folder in (place / "out").glob("*/*")} == {
        f"{split}/{name}" for split in ("train", "val") for name in ("cat", "dog", "eel")}


# --- the script that reads -------------------------------------------------------------------


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
    assert not (place / "root/opt/x/share/foldfs").exists()


def test_where_it_is_missing_that_is_said(source, place):
    source.close()
    shutil.copy(FOLDPACK, place / "foldpack")
    said = run(place / "foldpack", "create", place / "x.h5", place / "x", status=1).err
    assert "hdf5.py, which reads it, is not installed beside foldpack" in said


PYTHON = os.environ["FOLDFS_PYTHON"]


@pytest.mark.parametrize("module, status, said", [
    ("raise ImportError('none')", 1,
     f"h5py, which reads HDF5, is not in {PYTHON} (none): 'pip install h5py', or let FOLDFS_PYTHON "
     "name a python3 that has it"),
    ("raise ValueError('numpy.dtype size changed')", 1,
     f"h5py, which reads HDF5, does not load in {PYTHON}: ValueError: numpy.dtype size changed"),
    ("import sys; print('a notice\\n' * 50000, file=sys.stderr); raise ImportError('none')", 1,
     "h5py, which reads HDF5, is not in "),
    (f"import os; os.kill(os.getpid(), {int(signal.SIGSEGV)})", 3,
     "damaged: the library that reads it crashes on it"),
    (f"import os; os.kill(os.getpid(), {int(signal.SIGKILL)})", 1,
     "the script that reads it was killed, perhaps for lack of memory")],
    ids=["missing", "does not load", "behind notices", "crashes", "killed"])
def test_where_h5py_fails_that_is_said_and_nothing_left(source, place, module, status, said):
    done = create_with(source, place, module, status=status)
    assert f"{place}/x.h5: {said}" in done.err
    assert set(os.listdir(place)) == {"x.h5", "empty"}


def create_with(source, place, module, **more):
    """Where this is h5py."""
    source.close()
    (place / "empty").mkdir()
    (place / "empty/h5py.py").write_text(module)
    return run(FOLDPACK, "create", place / "x.h5", place / "x",
               env={**os.environ, "PYTHONPATH": str(place / "empty")}, **more)


def test_names_are_utf_8_in_any_locale(source, place):
    [data] = images(1)
    source["é/日.jpg"] = np.frombuffer(data, np.uint8)
    source.close()
    run(FOLDPACK, "create", "-q", "--check=off", place / "x.h5", place / "x.lmdb",
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    run(FOLDPACK, "extract", "-q", place / "x.lmdb", place / "out")
    assert (place / "out/é/日.jpg").read_bytes() == data


def test_what_lies_in_the_working_folder_is_not_loaded(source, place):
    add_rows(source, images(2))
    source.close()
    for name in ("h5py", "images", "numpy"):
        (place / f"{name}.py").write_text("raise SystemExit('loaded')")
    run(FOLDPACK, "create", "-q", "--check=off", "x.h5", "x.lmdb", cwd=place,
        env={**os.environ, "PYTHONSAFEPATH": "1"})


def test_an_interruption_that_comes_to_both_is_no_damage(source, place):
    """As from a batch system."""
    done = create_with(source, place, "import os, signal, time; "
                       "os.kill(os.getppid(), signal.SIGINT); time.sleep(1); "
                       "os.kill(0, signal.SIGINT)", status=-signal.SIGINT)
    assert "damaged" not in done.err and "interrupted; nothing was left behind" in done.err
    assert not (place / "x").exists()


def test_an_interruption_that_is_ignored_is_none(source, place):
    done = create_with(source, place, "import os, signal; os.kill(os.getpid(), signal.SIGINT); "
                       "raise ImportError('none')", status=1,
                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
    assert "h5py, which reads HDF5, is not in" in done.err


def test_a_script_ends_with_foldpack(source, place):
    """Where foldpack is killed, what it writes to has no reader."""
    add_rows(source, images(2))
    source.close()
    (place / "python").write_text(
        f"#!/bin/sh\necho $$ >{place}/id\nwhile [ ! -e {place}/go ]; do sleep .01; done\n"
        f"exec {os.environ['FOLDFS_PYTHON']} \"$@\"\n")
    (place / "python").chmod(0o755)
    with subprocess.Popen([FOLDPACK, "create", place / "x.h5", place / "x"],
                          stderr=subprocess.DEVNULL,
                          env={**os.environ, "FOLDFS_PYTHON": str(place / "python")}) as process:
        foldfs.wait_until(lambda: (place / "id").exists() and (place / "id").read_text().strip())
        process.kill()
    (place / "go").touch()
    # Orphans are children of this process.
    assert foldfs.wait_for(int((place / "id").read_text())) != 0


def test_a_python_in_a_script_that_hangs_ends_at_a_signal(source, place):
    add_rows(source, images(2))
    source.close()
    (place / "python").write_text(
        f"#!/bin/sh\nsh -c 'echo $$ >{place}/id; exec sleep 1000'\nexit $?\n")
    (place / "python").chmod(0o755)
    with subprocess.Popen([FOLDPACK, "create", place / "x.h5", place / "x"],
                          env={**os.environ, "FOLDFS_PYTHON": str(place / "python")}) as process:
        foldfs.wait_until(lambda: (place / "id").exists() and (place / "id").read_text().strip())
        process.terminate()
        assert process.wait(foldfs.PATIENCE) == -signal.SIGTERM
    foldfs.wait_until(lambda: foldfs.is_gone(int((place / "id").read_text())))
