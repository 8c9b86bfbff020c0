"""foldpack create from what torch.save() wrote."""

import os
import pickle
import resource
import struct
import subprocess
import sys
import zipfile

import pytest

import foldfs
import limits
from foldfs import FOLDFS, FOLDPACK, NOBODY, as_user, run
from foreign import packed

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
torch.save((hwc.permute(0, 3, 1, 2), torch.tensor(labels)), "strided.pth")
torch.save((hwc.permute(0, 3, 2, 1).contiguous().permute(0, 1, 3, 2), labels), "turned.pth")
torch.save([(t, numpy.int64(label)) for t, label in zip(tensors, labels)], "numbers.pth")
torch.save([(numpy.frombuffer(data, "u1"), numpy.array([label], "i2"))
            for data, label in zip(files, labels)], "arrays.pth", pickle_protocol=4)
torch.save([(numpy.asfortranarray(p), n) for p, n in zip(hwc.numpy(), labels)], "fortran.pth")
torch.save([{"mine": t, "theirs": n, "image": 1} for t, n in zip(tensors, labels)], "keys.pth")
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


def refused(source, place, status=1, options=()):
    said = run(FOLDPACK, "create", *options, source, place / "x.lmdb", status=status).err
    assert not (place / "x.lmdb").exists()
    return said


def suffix(number):
    return "png" if number % 4 == 3 else "JPEG"


@pytest.mark.parametrize("name", ["list", "scalars", "columns", "named", "bytes", "text", "views",
                                  "numbers", "arrays"])
def test_images_come_by_label_and_number(name, saved, place):
    assert packed(saved / f"{name}.pth", place) == {
        f"{number % 3:04}/{number:08}.{suffix(number)}": data
        for number, data in enumerate(files(saved))}


def test_classes_may_be_text(saved, place):
    assert packed(saved / "dicts.pth", place) == {
        f"class {number % 3}/{number:08}.{suffix(number)}": data
        for number, data in enumerate(files(saved))}


def test_options_name_keys(saved, place):
    found = packed(saved / "keys.pth", place, "--image-key=mine", "--label-key=theirs")
    assert found["0002/00000005.JPEG"] == files(saved)[5] and len(found) == 12


@pytest.mark.parametrize("name, path", [("paths", "c{label}/{number}.jpg"),
                                        ("names", "{label:04}/name{number}.{suffix}")])
def test_keys_of_a_dict_are_paths_or_names(name, path, saved, place):
    assert packed(saved / f"{name}.pth", place) == {
        path.format(label=number % 3, number=number, suffix=suffix(number)): data
        for number, data in enumerate(files(saved))}


@pytest.mark.parametrize("name", ["planar", "rows", "grey", "strided", "turned", "fortran"])
def test_pixels_are_images(name, saved, place):
    numpy, image = pytest.importorskip("numpy"), pytest.importorskip("PIL.Image")
    pixels = numpy.load(saved / "pixels.npy")
    assert len(packed(saved / f"{name}.pth", place)) == 12
    for number in range(12):
        path = f"out/{number % 3:04}/{number:08}.{'pgm' if name == 'grey' else 'ppm'}"
        want = pixels[number][..., 0] if name == "grey" else pixels[number]
        assert (numpy.asarray(image.open(place / path)) == want).all()


@pytest.mark.parametrize("name, reason", [
    ("floats", "record 0: a tensor of FloatStorage, which holds no integers"),
    ("checkpoint", "record 0: an image that is neither bytes nor a tensor"),
    ("module", "a pickle that needs torch.nn.modules.linear.Linear, which is not called"),
])
def test_what_is_not_read_is_refused_by_name(name, reason, saved, place):
    assert f"{name}.pth: {reason}" in refused(saved / f"{name}.pth", place)


# --- written here ---------------------------------------------------------------------------------


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def ints(*values):
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


def tensor(kind, key, shape, steps, first=1):
    return (b"ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") +
            f"ctorch\n{kind}Storage\n".encode() + text(key) + text("cpu") + b"K\6tQ" +
            b"J" + struct.pack("<i", first) + ints(*shape) + ints(*steps) + b"\x89NtR")


def image(size):
    return tensor("Byte", "0", [size], [1])


def items(*values):
    return b"](" + b"".join(values) + b"e"


def scalar(kind, data):
    return (b"cnumpy.core.multiarray\nscalar\n(cnumpy\ndtype\n(" + text(kind) + b"K\0K\1tR(K\3" +
            text("<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tbC" +
            bytes([len(data)]) + data + b"tR")


def sample(*more):
    return b"}(" + text("image") + image(5) + text("label") + b"K\7" + b"".join(more) + b"u"


def write(path, saved, root="x"):
    with zipfile.ZipFile(path, "w") as out:
        out.writestr(f"{root}/data.pkl", b"\x80\4" + saved + b".")
        out.writestr(f"{root}/version", "3\n")
        out.writestr(f"{root}/data/0", b"-PHOTO")
        out.writestr(f"{root}/data/1", b"-rgbRG")
        out.writestr(f"{root}/data/2", b"\0")
    return path


@pytest.mark.parametrize("saved, wanted", [
    (items(image(5) + b"K\7\x86", image(2)),
     {"0007/00000000.bin": b"PHOTO", "images/00000001.bin": b"PH"}),
    (b"}(" + text("a/b.c") + image(5) + text("d") + image(1) + text("cat") + b"\x86u",
     {"a/b.c": b"PHOTO", "cat/d.bin": b"P"}),
    (items(image(5), image(1)) + items(b"K\1", b"K\2") + b"\x86",
     {"0001/00000000.bin": b"PHOTO", "0002/00000001.bin": b"P"}),
    (items(tensor("Byte", "1", [3, 1, 1], [1, 1, 1]), tensor("Byte", "1", [1, 1, 3], [3, 3, 1]),
           tensor("Byte", "1", [2, 2], [2, 1]), tensor("Byte", "1", [1, 2, 2], [9, 0, 1])),
     {"images/00000000.ppm": b"P6\n1 1\n255\nrgb", "images/00000001.ppm": b"P6\n1 1\n255\nrgb",
      "images/00000002.pgm": b"P5\n2 2\n255\nrgbR", "images/00000003.pgm":
      b"P5\n2 2\n255\nrgrg"}),
    (items(image(5) + tensor("Short", "1", [1], [1], 0) + b"\x86"),
     {f"{ord('r') << 8 | ord('-'):04}/00000000.bin": b"PHOTO"}),
    (items(image(5) + b"\x88\x86", image(2) + b"\x89\x86"),
     {"0001/00000000.bin": b"PHOTO", "0000/00000001.bin": b"PH"}),
    (items(image(5) + scalar("i2", b"\5\1") + b"\x86"), {"0261/00000000.bin": b"PHOTO"}),
    (items(image(5) + scalar("b1", b"\1") + b"\x86",
           image(2) + tensor("Bool", "2", [], [], 0) + b"\x86"),
     {"0001/00000000.bin": b"PHOTO", "0000/00000001.bin": b"PH"}),
    (items(sample(text("score"), scalar("f8", bytes(8)))), {"0007/00000000.bin": b"PHOTO"}),
    (items(sample(text("mask"), b"c__builtin__\nbytes\n)R")), {"0007/00000000.bin": b"PHOTO"}),
    (items(sample(text("tags"), b"c__builtin__\nset\n](" + text("a") + b"e\x85R")),
     {"0007/00000000.bin": b"PHOTO"}),
], ids=["list", "dict", "columns", "pixels", "label", "bool", "scalar", "bools", "float", "empty",
        "set"])
def test_lists_dicts_and_columns(saved, wanted, place):
    assert packed(write(place / "x.pth", saved), place, "--check=off") == wanted


@pytest.mark.plain  # a sanitizer reserves more
def test_a_limit_of_memory_that_a_user_cannot_raise_is_kept(place):
    path = write(place / "x.pth", items(image(5)))
    place.chmod(0o777)
    run(*as_user(NOBODY), FOLDPACK, "create", "-q", "--check=off", path, place / "x.lmdb",
        preexec_fn=limits.limit(resource.RLIMIT_AS, 32 << 30))


def test_its_folder_may_have_the_name_of_a_pickle(place):
    path = write(place / "x.pth", items(image(5)), "train.pkl")
    assert packed(path, place, "--check=off") == {"images/00000000.bin": b"PHOTO"}


def test_classes_that_would_be_one_folder_are_refused(place):
    path = write(place / "x.pth", items(image(5) + text("x/y") + b"\x86",
                                        image(2) + text("x_y") + b"\x86"))
    said = refused(path, place, 1, ["--check=off"])
    assert "record 1: the classes 'x/y' and 'x_y' would be one folder" in said


def test_a_label_that_no_sample_has_is_refused(place):
    path = write(place / "x.pth", items(sample(), sample()))
    said = refused(path, place, 1, ["--check=off", "--label-key=breed"])
    assert "x.pth: --label-key: no sample has 'breed'" in said


@pytest.mark.parametrize("option", ["--image-key", "--label-key"])
def test_a_key_of_samples_that_have_none_is_refused(option, place):
    path = write(place / "x.pth", items(image(5) + b"K\7\x86"))
    said = refused(path, place, 1, ["--check=off", f"{option}=kind"])
    assert f"record 0: {option}: a sample that is no dict has no 'kind'" in said


@pytest.mark.parametrize("saved, status, reason", [
    (items(tensor("Long", "0", [1], [1])), 3, "record 0: a tensor that is not in its storage"),
    (items(image(5), image(6)), 3, "record 1: a tensor that is not in its storage"),
    (items(tensor("Byte", "0", [5], [-1])), 3, "record 0: a tensor that is not in its storage"),
    (items(tensor("Byte", "9", [1], [1])), 3,
     "record 0: a tensor whose bytes are not in the file"),
    (items(tensor("Char", "0", [5], [1])), 1, "record 0: a tensor that is not of uint8"),
    (items(tensor("Byte", "1", [1, 1, 2, 2], [1, 1, 1, 1])), 1,
     "record 0: a tensor that is neither a file nor an image"),
    (items(tensor("Byte", "1", [65536, 1], [0, 1])), 1, "record 0: pixels of over 65535 rows"),
    (items(image(5) + image(5) + b"\x86"), 1,
     "record 0: a label that is a tensor of several numbers"),
    (items(b"K\1"), 1, "record 0: an image that is neither bytes nor a tensor"),
    (items(image(5) + b"N\x86"), 1, "record 0: a label that is neither a number nor text"),
    (items(image(5)) + items(b"K\1", b"K\2") + b"\x86", 3, "1 images and 2 labels"),
    (b"K\1", 1, "an object that is neither a list nor a dict of images"),
    (b"cposix\nsystem\n" + text("touch called") + b"\x85R", 1,
     "a pickle that needs posix.system, which is not called"),
    (tensor("Byte", "0", [1 << 30, 1], [0, 1]), 1, "repeats its images so often"),
    (b"\x8e" + struct.pack("<Q", 1 << 60), 1, "not enough memory"),
    (b"R", 3, "damaged: UnpicklingError"),
    (b"Nr" + struct.pack("<I", (1 << 31) - 1), 1, "not enough memory"),
], ids=range(17))
def test_what_is_odd_is_refused_with_its_record(saved, status, reason, place):
    assert f"x.pth: {reason}" in refused(write(place / "x.pth", saved), place, status)
    assert os.listdir(place) == ["x.pth"]


def test_a_file_of_torch_before_1_6_is_refused(place):
    head = bytes.fromhex("80028a0a6cfc9c46f9206aa850192e80024de9032e")
    (place / "old.pth").write_bytes(head + bytes(10_000))
    assert "a .pth of torch before 1.6: load it and save it" in refused(place / "old.pth", place)


def test_a_file_that_another_program_has_compressed_is_refused(place):
    with zipfile.ZipFile(place / "x.pth", "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("archive/data.pkl", pickle.dumps([(bytes(500), 1)], protocol=4))
    assert "compressed, which torch.save() does not do: load it" in refused(place / "x.pth", place)


def test_a_file_that_is_damaged_is_refused(place):
    whole = write(place / "x.pth", items(image(5) + b"K\7\x86", image(2))).read_bytes()
    (place / "x.pth").write_bytes(whole[:-100])
    assert "truncated" in refused(place / "x.pth", place, 3)
    for at in range(60, len(whole), len(whole) // 9):
        (place / "x.pth").write_bytes(whole[:at] + bytes(8) + whole[at + 8:])
        done = run(FOLDPACK, "create", "--force", place / "x.pth", place / "x", status=None)
        assert done.returncode in (0, 1, 3), done.err


def test_it_is_not_mounted_and_the_way_out_is_said(place, point):
    write(place / "x.pth", items(image(5)))
    for command in [FOLDFS, place / "x.pth", point], [FOLDPACK, "list", place / "x.pth"]:
        assert ("x.pth: a .pth of torch.save(), which is not read in place: 'foldpack create FILE "
                "PACK' makes a pack of one on this machine") in run(*command, status=1).err
    assert "x/data.pkl" in run(FOLDPACK, "list", "--schema=zip", place / "x.pth").out


@pytest.mark.plain
def test_items_that_are_one_image_take_bounded_memory(place):
    """Each is two bytes of the pickle: 12 MB took 901 MB."""
    write(place / "many.pth", pickle.dumps([b"\xff\xd8\xff image"] * 6_000_000, 4)[2:-1])
    status, memory = foldfs.memory_of(FOLDPACK, "create", place / "many.pth", place / "x")
    assert status == 1 and memory < 600 * foldfs.MIB
