"""What torch.save() wrote, mounted as it is."""

import os
import pickle
import subprocess
import sys
import zipfile

import pytest

import foldfs
import trees
from foldfs import FOLDFS, FOLDPACK, run

# Torch takes seconds to begin: one process writes all files, of the forms that people use.
WRITER = """
import io, json, os, sys
import numpy, torch
from PIL import Image
os.chdir(sys.argv[1])
files, pixels = [], []
for number in range(12):
    image = Image.effect_noise((20 + number, 30), 60).convert("RGB")
    data = io.BytesIO()
    image.save(data, "PNG" if number % 4 == 3 else "JPEG")
    files.append(data.getvalue())
    pixels.append(numpy.asarray(image))
def tensor(data):
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
tensors = [tensor(data) for data in files]
labels = [number % 3 for number in range(12)]
torch.save(list(zip(tensors, labels)), "list.pth")
torch.save([(t, torch.tensor(label)) for t, label in zip(tensors, labels)], "scalars.pth")
torch.save([{"image": t, "label": f"class {n}"} for t, n in zip(tensors, labels)], "dicts.pth")
torch.save((tensors, labels), "columns.pth")
torch.save({"images": tensors, "labels": torch.tensor(labels)}, "named.pth")
torch.save({f"c{n}/{i}.jpg": t for i, (t, n) in enumerate(zip(tensors, labels))}, "paths.pth")
torch.save({f"name{i}": (t, n) for i, (t, n) in enumerate(zip(tensors, labels))}, "names.pth")
torch.save(list(zip(files, labels)), "bytes.pth", pickle_protocol=4)
torch.save(list(zip(files, labels)), "text.pth")
whole = torch.cat(tensors)
ends = numpy.cumsum([len(data) for data in files])
torch.save([(whole[end - len(data):end], n) for end, data, n in zip(ends, files, labels)],
           "views.pth")
hwc = torch.stack([torch.from_numpy(p[:, :20].copy()) for p in pixels])
torch.save((hwc.permute(0, 3, 1, 2).contiguous(), torch.tensor(labels)), "planar.pth")
torch.save({"data": hwc, "targets": labels}, "rows.pth")
torch.save((hwc[..., 0].contiguous(), torch.tensor(labels)), "grey.pth")
torch.save([(hwc.permute(0, 3, 1, 2)[0], 0)], "strided.pth")
torch.save([(torch.rand(3, 4, 4), 0)], "floats.pth")
torch.save({"model": {"weight": torch.zeros(3)}, "epoch": 1}, "checkpoint.pth")
torch.save(torch.nn.Linear(2, 2), "module.pth")
numpy.save("pixels.npy", hwc.numpy())
for number, data in enumerate(files):
    open(f"{number}.file", "wb").write(data)
"""


@pytest.fixture(scope="session")
def saved(session_dir):
    pytest.importorskip("torch")
    path = session_dir / "torch"
    path.mkdir()
    subprocess.run([sys.executable, "-c", WRITER, path], check=True)
    return path


def files(saved):
    return [(saved / f"{number}.file").read_bytes() for number in range(12)]


def suffix(number):
    return "png" if number % 4 == 3 else "JPEG"


@pytest.mark.parametrize("name", ["list", "scalars", "columns", "named", "bytes", "views"])
def test_images_come_by_label_and_number(name, saved, mount):
    mounted = mount(saved / f"{name}.pth")
    assert sorted(os.listdir(mounted)) == ["0000", "0001", "0002"]
    for number, data in enumerate(files(saved)):
        path = mounted / f"{number % 3:04}/{number:08}.{suffix(number)}"
        assert path.read_bytes() == data
    assert len(trees.files(mounted)) == 12


def test_classes_may_be_text(saved, mount):
    mounted = mount(saved / "dicts.pth")
    assert sorted(os.listdir(mounted)) == ["class 0", "class 1", "class 2"]
    assert (mounted / "class 2/00000005.JPEG").read_bytes() == files(saved)[5]


def test_keys_of_a_dict_are_paths_or_names(saved, mount, place):
    mounted = mount(saved / "paths.pth")
    for number, data in enumerate(files(saved)):
        assert (mounted / f"c{number % 3}/{number}.jpg").read_bytes() == data
    (place / "other").mkdir()
    named = mount(saved / "names.pth", at=place / "other")
    assert (named / "0001/name4.JPEG").read_bytes() == files(saved)[4]


@pytest.mark.parametrize("name", ["planar", "rows", "grey"])
def test_pixels_are_shown_as_images(name, saved, mount):
    numpy, image = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    pixels = numpy.load(saved / "pixels.npy")
    mounted = mount(saved / f"{name}.pth")
    for number in range(12):
        path = f"{number % 3:04}/{number:08}.{'pgm' if name == 'grey' else 'ppm'}"
        want = pixels[number][..., 0] if name == "grey" else pixels[number]
        assert (numpy.asarray(image.open(mounted / path)) == want).all()


@pytest.mark.parametrize("name, reason", [
    ("text", "record 0: bytes that protocol 2 has as text: save them with pickle_protocol=4"),
    ("strided", "record 0: a tensor that is not contiguous"),
    ("floats", "record 0: a tensor of FloatStorage, which holds no integers"),
    ("checkpoint", "record 0: an image that is neither bytes nor a tensor"),
    ("module", "Linear"),
])
def test_what_is_not_read_is_refused_by_name(name, reason, saved, point):
    done = run(FOLDFS, saved / f"{name}.pth", point, status=None)
    assert done.returncode != 0 and reason in done.err


def test_a_file_of_torch_before_1_6_is_refused(place, point):
    head = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e80024de9032e")
    (place / "old.pth").write_bytes(head + bytes(10_000))
    done = run(FOLDFS, place / "old.pth", point, status=None)
    assert done.returncode != 0 and "a .pth of torch before 1.6: load it and save it" in done.err


def test_a_file_that_another_program_has_compressed_is_refused(place, point):
    with zipfile.ZipFile(place / "x.pth", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("archive/data.pkl", pickle.dumps([(bytes(500), 1)], protocol=4))
    for door in [FOLDFS, place / "x.pth", point], \
            [FOLDPACK, "create", place / "x.pth", place / "x.lmdb"]:
        assert "compressed, which torch.save() does not do: load it" in run(*door, status=1).err


def test_a_file_that_is_damaged_is_refused(saved, place, point):
    (place / "cut.pth").write_bytes((saved / "list.pth").read_bytes()[:-100])
    done = run(FOLDFS, place / "cut.pth", point, status=None)
    assert done.returncode != 0 and "truncated" in done.err


@pytest.mark.plain
def test_items_that_are_one_image_take_bounded_memory(place):
    """Each is two bytes of the pickle, and becomes a file in a list: 12 MB took 901 MB."""
    file = place / "many.pth"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("many/data.pkl", pickle.dumps([b"\xff\xd8\xff image"] * 6_000_000, 4))
        archive.writestr("many/version", "3\n")
    status, memory = foldfs.memory_of(FOLDPACK, "list", file)
    assert status == 1 and memory < 600 * foldfs.MIB
