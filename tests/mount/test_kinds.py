"""Kinds and sizes of images, in files that others wrote.

tests/data/images: by avifenc 0.11.1 (grid: --grid 2x2; moving: two pictures) and cjxl 0.7.0
(boxed: --container=1; parts: of a JPEG), from pictures of these sizes."""

import io
import json
import shutil
import struct

import pytest
from PIL import Image

import pictures
from foldfs import FOLDPACK, MIB, ROOT, run

STORED = {"plain.avif": (37, 23), "alpha.avif": (37, 23), "grid.avif": (300, 200),
          "moving.avif": (37, 23), "plain.jxl": (37, 23), "ratio.jxl": (300, 200),
          "boxed.jxl": (37, 23), "parts.jxl": (37, 23)}
KINDS = {"avif": "AVIF", "jxl": "JPEG XL"}
WEBP = {"lossy": {"quality": 20}, "lossless": {"lossless": True}}


def make_webp(folder):
    """Its three forms: VP8, VP8L, and VP8X around either."""
    picture = Image.linear_gradient("L").resize((37, 23)).convert("RGB")
    clear = picture.copy()
    clear.putalpha(Image.linear_gradient("L").resize((37, 23)))
    for name, options in WEBP.items():
        picture.save(folder / f"{name}.webp", **options)
        clear.save(folder / f"{name} and clear.webp", **options)
        picture.save(folder / f"{name} with profile.webp", icc_profile=b"profile", **options)
    picture.save(folder / "moving.webp", save_all=True, append_images=[clear])


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "src"
    shutil.copytree(ROOT / "tests/data/images", made)
    make_webp(made)
    return made


def pack(folder, *options, status=0):
    """(path -> (kind, width, height), what create says)"""
    made = folder.parent / "made.lmdb"
    said = run(FOLDPACK, "create", *options, folder, made, status=status).err
    lines = run(FOLDPACK, "list", "--json", made).out.splitlines()
    entries = [json.loads(line) for line in lines]
    return {e["path"]: (e["kind"], e["width"], e["height"]) for e in entries}, said


def test_avif_jpeg_xl_and_all_webp_are_known_with_their_sizes(folder):
    found, _ = pack(folder, "--check=decode")
    webp = {path.name: ("WebP", 37, 23) for path in folder.glob("*.webp")}
    assert len(webp) == 7
    assert found == webp | {name: (KINDS[name.split(".")[1]], *size)
                            for name, size in STORED.items()}
    info = run(FOLDPACK, "info", folder.parent / "made.lmdb").out
    assert "AVIF           4, width 37 to 300" in info
    assert "JPEG XL        4, width 37 to 300" in info


def test_under_the_name_of_a_jpeg_they_are_bad_as_not_every_pil_reads_them(folder):
    (folder / "plain.avif").rename(folder / "a.jpg")
    (folder / "plain.jxl").rename(folder / "b.jpg")
    found, said = pack(folder, "--check=header", "--on-bad=skip", status=4)
    assert not {"a.jpg", "b.jpg"} & set(found)
    assert "AVIF" in said and "JPEG XL" in said


def test_the_report_shows_avif_and_names_jpeg_xl(folder):
    pack(folder)
    run(FOLDPACK, "report", folder.parent / "made.lmdb", "-o", folder.parent / "page.html")
    page = (folder.parent / "page.html").read_text()
    assert "data:image/avif;base64," in page
    assert "JPEG XL: no browser shows it" in page


def tiff(width, height, gap=0, wide=False, order="<"):
    """A grey one, whose directory comes `gap` bytes behind its pixels."""
    pixels, start = bytes(width * height), 16 if wide else 8
    tags = [(256, width), (257, height), (258, 8), (259, 1), (262, 1), (273, start), (277, 1),
            (278, height), (279, len(pixels))]
    at = start + len(pixels) + gap
    letters = b"II" if order == "<" else b"MM"
    if wide:
        head = struct.pack(order + "2sHHHQ", letters, 43, 8, 0, at)
        fields = [struct.pack(order + "HHQQ", tag, 16, 1, value) for tag, value in tags]
    else:
        head = struct.pack(order + "2sHI", letters, 42, at)
        fields = [struct.pack(order + "HHII", tag, 4, 1, value) for tag, value in tags]
    count = struct.pack(order + ("Q" if wide else "H"), len(tags))
    return head + pixels + bytes(gap) + count + b"".join(fields) + bytes(8)


def far_headers():
    """Files whose size comes late, by their names."""
    image = pictures.noise((90, 60))
    data, gif = pictures.jpeg(image), io.BytesIO()
    image.save(gif, "GIF", comment=b"a comment " * 20000)
    return {
        "profile.jpg": pictures.jpeg(image, icc_profile=bytes(200000)),
        "comments.jpg": data[:2] + b"\xff\xfe\0\4ab" * 30000 + data[2:],
        "stray.jpg": data[:20] + bytes(100000) + data[20:],
        "comment.gif": gif.getvalue(),
        "last.tif": tiff(90, 60), "last.tiff": tiff(90, 60, order=">"),
        "behind a gap.tif": tiff(90, 60, gap=100001), "big.tif": tiff(90, 60, wide=True),
        "large.tif": tiff(90, 60, gap=65 * MIB)}


@pytest.fixture
def far(tmp_path):
    (tmp_path / "far").mkdir()
    for name, data in far_headers().items():
        (tmp_path / "far" / name).write_bytes(data)
        with Image.open(tmp_path / "far" / name) as image:
            assert image.size == (90, 60)
    return tmp_path / "far"


def test_a_size_is_known_wherever_it_lies(far):
    found, _ = pack(far, "--check=decode")
    assert len(found) == 9
    assert {name for name in found if found[name][1:] != (90, 60)} == set()
    run("tar", "-cf", far.parent / "far.tar", "-C", far, ".")
    assert pack(far.parent / "far.tar", "--force")[0] == found
