"""foldpack create --resize, --max-side, --quality, --store, --optimize: held against PIL."""

import io
import itertools
import json
import os
import statistics
import struct
import zlib

import pytest

lmdb = pytest.importorskip("lmdb", reason="python3-lmdb is not installed")
pytest.importorskip("PIL", reason="python3-pil is not installed")
pytest.importorskip("numpy", reason="python3-numpy is not installed")

import numpy
from PIL import Image, ImageCms, ImageDraw, ImageOps

import damage
from foldfs import BUILD, FOLDPACK, PHOTOS, has_photos, memory_of, run
from pictures import drafted, jpeg, noise, opened, png, psnr, resized, same, smaller
from trees import write

# As PIL calls them.
SAMPLINGS = {"4:4:4": 0, "4:2:2": 1, "4:2:0": 2, "4:1:1": "4:1:1"}

PICTURES = {
    **{f"{name} {kind}": jpeg(noise((203, 155)), subsampling=sampling, progressive=progressive)
       for name, sampling in SAMPLINGS.items()
       for kind, progressive in (("baseline", False), ("progressive", True))},
    "grey": jpeg(noise((155, 203), "L")),
    "grey progressive": jpeg(noise((155, 203), "L"), progressive=True),
    "square": jpeg(noise((131, 131))),
    "restart markers": jpeg(noise((203, 155)), restart_marker_rows=1),
    "as it is": jpeg(noise((90, 64))),
    "one column": jpeg(noise((1, 130))),
    "one row": jpeg(noise((131, 1), "L")),
    "rough": jpeg(noise((203, 155)), quality=30),
}


def write_all(folder, pictures):
    for name, data in pictures.items():
        write(folder / f"{name.replace(':', '')}.jpg", data)
    return folder


def records(pack):
    """path -> bytes, for all files of a pack."""
    with lmdb.open(str(pack), subdir=False, readonly=True, lock=False) as env, env.begin() as txn:
        return {key.decode(): value for key, value in txn.cursor() if key[:1] != b"\0"}


@pytest.fixture
def transformed(tmp_path):
    """A function: pictures and options to {picture: its bytes in the pack}."""
    numbers = itertools.count()

    def transform(pictures, *options):
        number = next(numbers)
        source = write_all(tmp_path / f"source{number}", pictures)
        run(FOLDPACK, "create", "-q", *options, source, tmp_path / f"{number}.lmdb")
        made = records(tmp_path / f"{number}.lmdb")
        return {name: made[f"{name.replace(':', '')}.jpg"] for name in pictures}

    return transform


# --- smaller --------------------------------------------------------------------------------


@pytest.mark.parametrize("store", ["bmp", "ppm"])
def test_pixels_are_those_of_pil_bit_for_bit(transformed, store):
    for name, data in transformed(PICTURES, "--resize=64", f"--store={store}").items():
        image = opened(data)
        assert image.format == store.upper(), name
        assert same(image, resized(PICTURES[name], 64)), name


def test_a_much_smaller_one_is_decoded_at_a_fraction_like_pil(transformed):
    worst = []
    for name, data in transformed(PICTURES, "--resize=19", "--store=ppm").items():
        assert same(opened(data), drafted(PICTURES[name], 19)), name
        worst.append(psnr(opened(data), resized(PICTURES[name], 19)))
    assert min(worst) > 35


def test_resize_of_torchvision_has_nothing_left_to_do(transformed):
    transforms = pytest.importorskip("torchvision.transforms", reason="torchvision is missing")
    resize = transforms.Resize(64)
    for name, data in transformed(PICTURES, "--resize=64", "--store=ppm").items():
        if min(opened(PICTURES[name]).size) > 64:
            assert same(opened(data), resize(opened(PICTURES[name]))), name
            assert same(opened(data), resize(opened(data))), name


def test_a_jpeg_loses_what_pil_would_lose_by_writing_it(transformed):
    for name, data in transformed(PICTURES, "--resize=64", "--quality=85").items():
        image, wanted = opened(data), resized(PICTURES[name], 64)
        assert image.format == "JPEG" and image.mode == wanted.mode, name
        if image.size == opened(PICTURES[name]).size:
            assert data == PICTURES[name], name
        else:
            by_pil = opened(jpeg(wanted, quality=85, subsampling=2))
            assert psnr(image, wanted) > psnr(by_pil, wanted) - 0.1, name
            assert "progressive" not in image.info, name


def test_without_an_option_every_byte_stays(transformed):
    assert transformed(PICTURES) == PICTURES


def test_store_jpeg_encodes_what_gets_smaller_by_it(transformed):
    made = transformed(PICTURES, "--store=jpeg", "--quality=50")
    assert all(len(made[name]) <= len(data) for name, data in PICTURES.items())
    assert len(made["4:4:4 baseline"]) < len(PICTURES["4:4:4 baseline"]) / 2
    rough = {"rough": PICTURES["rough"]}
    assert transformed(rough, "--store=jpeg", "--quality=95") == rough


# --- beside the pixels ----------------------------------------------------------------------


def with_orientation(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    return jpeg(noise((200, 150)), exif=exif)


TURNED = {f"orientation {number}": with_orientation(number) for number in range(1, 9)}


@pytest.mark.parametrize("options", [("--resize=60",), ("--resize=60", "--store=ppm"),
                                     ("--optimize",), ("--store=bmp",)], ids=" ".join)
def test_who_turns_pictures_sees_them_turned_as_before(transformed, options):
    for name, data in transformed(TURNED, *options).items():
        now, before = opened(data), opened(TURNED[name])
        if "--resize=60" in options:
            before.thumbnail((80, 60))
        assert now.size == before.size, name
        turned, wanted = ImageOps.exif_transpose(now), ImageOps.exif_transpose(before)
        assert turned.size == wanted.size, name
        assert psnr(turned, wanted) > 25, name
        if "--store" in "".join(options):  # only what is not turned becomes a bitmap
            assert (now.format == "JPEG") == (name != "orientation 1"), name
        if options == ("--store=bmp",) and name != "orientation 1":
            assert data == TURNED[name]


def test_colour_profiles_go_along_in_jpegs(transformed):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    pictures = {"tagged": jpeg(noise((200, 150)), icc_profile=profile, comment=b"a comment")}
    for options in (["--resize=60"], ["--optimize"]):
        info = opened(transformed(pictures, *options)["tagged"]).info
        assert info["icc_profile"] == profile
        assert ("comment" in info) == ("--optimize" in options)
    bitmap = opened(transformed(pictures, "--resize=60", "--store=bmp")["tagged"])
    assert bitmap.format == "BMP" and "icc_profile" not in bitmap.info


# --- PNG, WebP, CMYK --------------------------------------------------------------------------


def clear(mode, size=(203, 155)):
    """A picture with all degrees of transparency."""
    image = noise(size, mode)
    image.putalpha(Image.linear_gradient("L").resize(size))
    return image


def webp(image, **options):
    return damage.encode("WEBP", image, **options)


LOSSLESS = {
    **{f"PNG {mode}": png(noise((203, 155), mode)) for mode in ("L", "RGB")},
    **{f"PNG {mode}": png(clear(mode)) for mode in ("LA", "RGBA")},
    "WebP": webp(noise((203, 155)), lossless=True),
    "clear WebP": webp(clear("RGBA"), lossless=True, exact=True),
}
LABELS = noise((203, 155), "L").quantize(21)


def segments(count, size=(203, 155), seed=1):
    """Each pixel has the number of the nearest of `count` points."""
    points = numpy.random.default_rng(seed).random((count, 2)) * size
    y, x = numpy.mgrid[0:size[1], 0:size[0]]
    return ((x[..., None] - points[:, 0]) ** 2 + (y[..., None] - points[:, 1]) ** 2).argmin(2) + 1


def bordered(numbers):
    """With a pixel of nothing in between, as panoptic COCO has it."""
    edge = numpy.zeros(numbers.shape, bool)
    edge[:, 1:] |= numbers[:, 1:] != numbers[:, :-1]
    edge[1:] |= numbers[1:] != numbers[:-1]
    return numpy.where(edge, 0, numbers)


def coded(numbers):
    """As panoptic COCO codes numbers into colours."""
    numbers = numbers * 7919
    return Image.fromarray(numpy.stack([numbers % 256, numbers // 256 % 256, numbers // 65536],
                                       -1).astype("u1"))


MASKS = {
    "palette": png(LABELS),
    "few greys": png(LABELS.point(range(256), "L")),
    "few colours": png(LABELS.convert("RGB")),
    "segments": png(coded(segments(300))),
    "segments with borders": png(coded(bordered(segments(100)))),
    "grey segments": png(Image.fromarray(segments(200).astype("u1"))),
    "grey of 80 labels, with borders": png(Image.fromarray(bordered(segments(80)).astype("u1"))),
    "lossless WebP": webp(coded(segments(150)), lossless=True),
    "segments with alpha": png(coded(segments(90)).convert("RGBA")),
    "numbers of 16 bits": png(Image.fromarray((segments(80) * 700).astype("<u2"))),
    "16 bits": png(Image.frombytes("I;16", (203, 155), os.urandom(2 * 203 * 155))),
    "1 bit": png(noise((203, 155), "1")),
}


def nearest(data, shorter):
    image = opened(data)
    return image.resize(smaller(image.size, shorter), Image.NEAREST)


def test_png_and_webp_are_resized_in_their_own_format_bit_for_bit_as_by_pil(transformed):
    for name, data in transformed(LOSSLESS, "--resize=64").items():
        image, before = opened(data), opened(LOSSLESS[name])
        assert (image.format, image.mode) == (before.format, before.mode), name
        assert same(image, resized(LOSSLESS[name], 64)), name


def test_a_lossy_webp_stays_one(transformed):
    lossy = {"lossy": webp(noise((203, 155)), quality=95), "clear": webp(clear("RGBA"), quality=95)}
    for name, data in transformed(lossy, "--resize=64", "--quality=95").items():
        image = opened(data)
        assert image.format == "WEBP" and b"VP8L" not in data[:32]
        assert image.size == smaller((203, 155), 64)
        want = resized(lossy[name], 64)
        assert psnr(image.convert("RGB"), want.convert("RGB")) > 25


@pytest.mark.parametrize("store", ["jpeg", "bmp", "ppm"])
def test_they_are_stored_in_the_format_asked_for_unless_they_are_transparent(transformed, store):
    clear_ones = {name: LOSSLESS[name] for name in ("PNG LA", "PNG RGBA", "clear WebP")}
    assert transformed(clear_ones, f"--store={store}") == clear_ones
    for name, data in transformed(clear_ones, "--resize=64", f"--store={store}").items():
        assert same(opened(data), resized(clear_ones[name], 64))
    pictures = {name: LOSSLESS[name] for name in ("PNG L", "PNG RGB", "WebP")}
    pictures["no pixel is clear"] = png(noise((203, 155)).convert("RGBA"))
    for name, data in transformed(pictures, "--resize=64", f"--store={store}").items():
        image, want = opened(data), resized(pictures[name], 64)
        want = want.convert("RGB") if want.mode == "RGBA" else want
        assert image.format == {"jpeg": "JPEG"}.get(store, "PPM" if store == "ppm" else "BMP")
        assert psnr(image, want) > 30 if store == "jpeg" else same(image, want)


@pytest.mark.parametrize("store", [(), ("--store=jpeg",), ("--store=ppm",)])
def test_values_that_may_be_labels_stay_what_they_are(transformed, store):
    assert transformed(MASKS, *store) == MASKS
    for name, data in transformed(MASKS, "--resize=64", *store).items():
        image, want = opened(data), nearest(MASKS[name], 64)
        assert (image.format, image.mode) == (opened(MASKS[name]).format,
                                              opened(MASKS[name]).mode), name
        assert same(image, want), name
        assert image.getpalette() == want.getpalette(), name


def on_background(image, colour):
    """In the middle fifth of it."""
    width, height = image.size
    whole = Image.new("RGB", (5 * width, 5 * height), colour)
    whole.paste(image, (2 * width, 2 * height))
    return whole


def drawing():
    """Its edges are soft."""
    large = Image.new("RGB", (1600, 1200), "white")
    draw = ImageDraw.Draw(large)
    for at in range(40):
        draw.ellipse((at * 37, at * 25, at * 37 + 90, at * 25 + 200), (at * 6, 200 - at * 5, 90))
        draw.line((at * 40, 0, 1600 - at * 30, 1200), (9, at * 6, 30), 7)
    return large.resize((400, 300), Image.BOX)


def test_photos_and_drawings_with_plain_backgrounds_are_mixed(transformed):
    pictures = {"white": png(on_background(noise((80, 60)), "white")),
                "black": png(on_background(noise((80, 60)), "black")), "drawing": png(drawing())}
    for name, data in transformed(pictures, "--resize=64").items():
        assert same(opened(data), resized(pictures[name], 64)), name


def test_what_was_resized_as_a_mask_is_counted(tmp_path):
    pictures = {**MASKS, "photo": png(noise((203, 155))), "small": png(LABELS.resize((64, 64)))}
    source, masks = write_all(tmp_path / "source", pictures), len(MASKS)
    done = run(FOLDPACK, "create", "--json", "--resize=64", source, tmp_path / "x.lmdb")
    assert (f"{masks + 1} images changed, {masks} of them as masks, by the nearest pixel; "
            in done.err)
    assert json.loads(done.out)["masks"] == len(MASKS)


@pytest.mark.parametrize("options, sizes", [
    (("--resize=64",), [(83, 64), (64, 83), (64, 331), (984, 64), (64, 64)]),
    (("--max-side=77",), [(77, 58), (58, 77), (14, 77), (77, 5), (77, 77)]),
    (("--resize=64", "--max-side=80", "--store=jpeg"),
     [(80, 61), (61, 80), (15, 80), (80, 5), (64, 64)])])
def test_a_photo_and_its_mask_have_one_size(transformed, options, sizes):
    pictures = {}
    for number, size in enumerate([(203, 155), (155, 203), (64, 331), (1000, 65), (131, 131)]):
        pictures |= {f"photo {number}": jpeg(noise(size)), f"png {number}": png(noise(size)),
                     f"mask {number}": png(coded(segments(70, size)))}
    for name, data in transformed(pictures, *options).items():
        assert opened(data).size == sizes[int(name[-1])], name


def test_cmyk_is_resized_as_cmyk(transformed):
    pictures = {"cmyk": jpeg(noise((203, 155), "CMYK")),
                "progressive": jpeg(noise((203, 155), "CMYK"), progressive=True)}
    for store in ((), ("--store=jpeg",), ("--store=bmp",)):
        for name, data in transformed(pictures, "--resize=64", "--quality=95", *store).items():
            image = opened(data)
            assert (image.format, image.mode) == ("JPEG", "CMYK")
            assert psnr(image, resized(pictures[name], 64)) > 30
    for name, data in transformed(pictures, "--optimize").items():
        assert same(opened(data), opened(pictures[name]))


def test_exif_and_profile_go_along(transformed):
    exif, profile = Image.Exif(), ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    exif[0x112] = 6
    pictures = {kind: damage.encode(kind.upper(), noise((203, 155)), exif=exif,
                                    icc_profile=profile) for kind in ("PNG", "WebP")}
    for store in ((), ("--store=jpeg",), ("--store=bmp",)):
        for name, data in transformed(pictures, "--resize=64", *store).items():
            made = opened(data)
            assert made.format == ("JPEG" if store == ("--store=jpeg",) else name.upper())
            assert made.getexif()[0x112] == 6
            assert made.info["icc_profile"] == profile


# --- what PIL reads of a PNG beside its pixels --------------------------------------------------


def exif_of(orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    return exif.tobytes()


XMP = b'<x:xmpmeta><rdf:Description tiff:Orientation="6"/></x:xmpmeta>'
TURNING = {
    "eXIf": damage.chunk(b"eXIf", exif_of(6)[6:]),
    "a text of ImageMagick": damage.packed(
        b"zTXt", b"\nexif\n%8d\n" % len(exif_of(6)) + exif_of(6).hex().encode() + b"\n",
        b"Raw profile type exif"),
    "XMP": damage.chunk(b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0" + XMP),
    "packed XMP": damage.packed(b"iTXt", XMP, b"XML:com.adobe.xmp"),
}
BESIDE = {
    "gamma": damage.chunk(b"gAMA", struct.pack(">I", 45455)),
    "chromaticity": damage.chunk(b"cHRM", struct.pack(">8I", *range(10, 90, 10))),
    "srgb": damage.chunk(b"sRGB", b"\1"),
    "dpi": damage.chunk(b"pHYs", struct.pack(">IIB", 1000, 1000, 1)),
    "icc_profile": damage.packed(b"iCCP", b"a profile"),
    "text": damage.chunk(b"tEXt", b"text\0by a prompt"),
    "packed": damage.packed(b"zTXt", b"by a prompt", b"packed"),
    "international": damage.packed(b"iTXt", "für ein Bild".encode(), b"international"),
}


@pytest.mark.parametrize("place", damage.PLACES)
def test_what_pil_reads_beside_the_pixels_is_kept(transformed, place):
    before = damage.PLACES[place](png(noise((203, 155))), *BESIDE.values(), TURNING["eXIf"])
    after = opened(transformed({"a": before}, "--resize=64")["a"])
    assert set(BESIDE) | {"exif"} == set(after.info) == set(opened(before).info)
    assert after.info == opened(before).info


@pytest.mark.parametrize("place", damage.PLACES)
def test_a_png_is_turned_as_before(transformed, place):
    pictures = {f"{name} {kind}": damage.PLACES[place](png(image), part)
                for name, part in TURNING.items()
                for kind, image in (("mask", LABELS), ("picture", noise((203, 155))))}
    for options in (["--resize=64"], ["--resize=64", "--store=jpeg"], ["--store=ppm"]):
        for name, data in transformed(pictures, *options).items():
            width, height = ImageOps.exif_transpose(opened(data)).size
            assert width < height, (name, options)


def test_a_webp_that_xmp_turns_stays_one(transformed):
    before = webp(noise((203, 155)), xmp=XMP)
    for store in ("jpeg", "ppm"):
        after = transformed({"a": before}, "--resize=64", f"--store={store}")["a"]
        assert opened(after).format == "WEBP" and XMP in after


KEYED = {
    **{f"grey of {depth}": (damage.chunk(b"tRNS", struct.pack(">H", 1)), image)
       for depth, image in ((1, noise((203, 155), "1")), (8, LABELS.point(range(256), "L")),
                            (16, Image.frombytes("I;16", (203, 155), bytes(range(203)) * 310)))},
    "few colours": (damage.chunk(b"tRNS", struct.pack(">HHH", *LABELS.getpalette()[:3])),
                    LABELS.convert("RGB")),
}


def raw_png(depth, colour, interlaced, rows, *chunks):
    """One that PIL never writes."""
    header = struct.pack(">IIBBBBB", 203, 155, depth, colour, 0, 0, interlaced)
    return b"".join([b"\x89PNG\r\n\x1a\n", damage.chunk(b"IHDR", header), *chunks,
                     damage.chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))),
                     damage.chunk(b"IEND", b"")])


def with_clear(image, transparency):
    image.save(out := io.BytesIO(), "PNG", transparency=transparency)
    return out.getvalue()


def test_a_value_that_stands_for_transparency_stays_one_in_masks(transformed):
    pictures = {**{name: damage.in_front(png(image), part)
                   for name, (part, image) in KEYED.items()},
                **{f"grey of {depth}": raw_png(
                    depth, 0, 0, [os.urandom((203 * depth + 7) // 8) for _ in range(155)],
                    damage.chunk(b"tRNS", b"\0\1")) for depth in (2, 4)},
                "all of a palette": with_clear(LABELS, bytes(range(21))),
                "one of a palette": with_clear(LABELS, 3)}
    for name, data in transformed(pictures, "--resize=64").items():
        image, want = opened(data), nearest(pictures[name], 64)
        assert image.info == opened(pictures[name]).info, name
        assert same(image, want), name


def test_an_interlaced_one_is_read(transformed):
    pixels = numpy.asarray(noise((203, 155)))
    data = raw_png(8, 2, 1, [row.tobytes() for x, y, dx, dy in (
        (0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
        (0, 1, 1, 2)) for row in pixels[y::dy, x::dx]])
    assert same(opened(transformed({"a": data}, "--resize=64")["a"]), resized(data, 64))


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_colour_that_stands_for_transparency_becomes_alpha_where_colours_are_mixed(
        transformed, mode):
    image = noise((203, 155), mode)
    key = image.getpixel((9, 9)) if mode == "RGB" else (image.getpixel((9, 9)),)
    part = damage.chunk(b"tRNS", struct.pack(f">{len(key)}H", *key))
    before = damage.in_front(png(image), part)
    after = opened(transformed({"a": before}, "--resize=64")["a"])
    clear_ = opened(before).convert("RGBA" if mode == "RGB" else "LA")
    assert same(after, clear_.resize(smaller(clear_.size, 64), Image.BILINEAR))


def test_pil_reads_what_is_made_of_a_png_that_it_refuses(transformed):
    data = png(noise((203, 155)))
    pictures = {f"{number} {place}": put_in(data, part)
                for number, (_, _, mode, part) in enumerate(damage.png_refused()) if mode == "RGB"
                for place, put_in in damage.PLACES.items() if b"acTL" not in part}
    pictures["wrong CRC"] = damage.in_front(data, damage.chunk(b"tEXt", b"a\0b", crc=1))
    for name, made in transformed(pictures, "--check=off", "--resize=64").items():
        assert same(opened(made), resized(data, 64)), name


# --- what is not touched --------------------------------------------------------------------


def moving(kind):
    return damage.encode(kind, noise((60, 50)), save_all=True,
                         append_images=[noise((60, 50), seed=2)])


OTHERS = {"GIF": moving("GIF"), "moving PNG": moving("PNG"), "moving WebP": moving("WEBP"),
          "BMP": damage.encode("BMP", noise((60, 50))), "text": b"no picture", "nothing": b""}


@pytest.mark.parametrize("options", [("--resize=16",), ("--store=bmp",), ("--optimize",)],
                         ids=" ".join)
def test_other_files_stay(transformed, options):
    assert transformed(OTHERS, *options) == OTHERS


def test_it_is_said_how_many_images_are_left_as_they_are_and_why(tmp_path):
    pictures = {**OTHERS, "small": png(noise((20, 15))), "small too": jpeg(noise((20, 15))),
                "masks/a": MASKS["palette"], "large": LOSSLESS["PNG RGB"]}
    source, pack = write_all(tmp_path / "source", pictures), tmp_path / "x.lmdb"
    for name, data in {"a.jp2": b"\0\0\0\x0cjP  \r\n\x87\n", "raw": b"\xff\x4f\xff\x51",
                       "b.HEIC": b"x", "c.txt": b"text"}.items():
        (source / name).write_bytes(data)
    (source / "named.jpg").write_bytes((source / "a.jp2").read_bytes())
    done = run(FOLDPACK, "create", "--json", "--resize=16", "--transform=*.jpg", "--transform=raw",
               "--transform=small*", "--transform=*.jp2", "--transform=*.HEIC", source, pack)
    assert (f"{pack}: 10 images left as they are: " in done.err
            and all(f"{count} ({why})" in done.err for count, why in (
                (1, "GIF"), (1, "BMP"), (1, "PNG that moves"), (1, "WebP that moves"),
                (2, "small enough already"), (4, "of a kind that is not decoded"))))
    assert json.loads(done.out)["left"] == 10
    assert "not resized    4 images larger than these options ask for" in run(
        FOLDPACK, "info", pack).out
    done = run(FOLDPACK, "create", "--force", "--resize=16", "--transform=large.jpg", source, pack)
    assert "(not matched by --transform)" in done.err
    assert json.loads(run(FOLDPACK, "info", "--json", pack).out)["not_resized"] == 5


def test_what_no_jpeg_can_hold_stays(tmp_path):
    wide = {"wide": png(noise((66000, 1)))}
    done = run(FOLDPACK, "create", "--store=jpeg", write_all(tmp_path / "source", wide),
               tmp_path / "pack")
    assert "1 image left as it is: 1 (libjpeg: Maximum supported image dimension" in done.err
    assert records(tmp_path / "pack")["wide.jpg"] == wide["wide"]


@pytest.mark.parametrize("name", ["PNG RGB", "WebP"])
def test_damage_of_these_is_never_turned_into_an_intact_file_either(tmp_path, name):
    data = LOSSLESS[name]
    for bad in (data[:len(data) // 2], data[:60], data[:400] + bytes(500) + data[900:]):
        source = write_all(tmp_path / "source", {"good": data, "bad": bad})
        done = run(FOLDPACK, "create", "--check=off", "--force", "--resize=16", "--on-bad=skip",
                   source, tmp_path / "pack", status=4)
        assert "bad.jpg: " in done.err
        assert list(records(tmp_path / "pack")) == ["good.jpg"]


def test_a_file_that_claims_gigapixels_gets_no_memory(tmp_path):
    data = LOSSLESS["PNG RGB"]
    body = struct.pack(">II", 65000, 65000) + data[24:29]
    huge = data[:16] + body + struct.pack(">I", zlib.crc32(b"IHDR" + body)) + data[33:]
    source = write_all(tmp_path / "source", {"huge": huge})
    done = run(FOLDPACK, "create", "--check=off", "--resize=16", source, tmp_path / "pack",
               status=1)
    assert "huge.jpg: 65000x65000 pixels need 15.7 GiB of memory, and 1 GiB are the m" in done.err


# --- damage ---------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--resize=60", "--store=bmp", "--optimize"])
def test_damage_is_never_turned_into_an_intact_file(tmp_path, option):
    """What is cut off anywhere: tests/unit/test_transform.c."""
    data = jpeg(noise((200, 150)))
    source = write_all(tmp_path / "source", {
        "good": data, "bad": data[:2000] + bytes(500) + data[2500:]})
    words = ["create", "--check=off", option, source, tmp_path / "pack"]
    assert "bad.jpg: libjpeg: " in run(FOLDPACK, *words, status=1).err
    assert "bad.jpg: libjpeg: " in run(FOLDPACK, *words, "--on-bad=skip", status=4).err
    assert list(records(tmp_path / "pack")) == ["good.jpg"]


def test_quality_alone_is_refused(tmp_path):
    source = write_all(tmp_path / "source", {"a": jpeg(noise((200, 150)))})
    done = run(FOLDPACK, "create", "--quality=90", source, tmp_path / "pack", status=2)
    assert "a quality is for images that are encoded" in done.err


# --- photographs ----------------------------------------------------------------------------


def photos():
    return {str(path.relative_to(PHOTOS)): path.read_bytes()
            for path in sorted(PHOTOS.rglob("*.JPEG"))}


@has_photos
@pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.slow)])
def test_photos_are_as_pil_makes_them(tmp_path, step):
    """At 256 pixels JPEGs of quality 90 take what PIL's do, and of all photographs at most 28 % of
    the bytes."""
    before = dict(list(photos().items())[::step])
    source = tmp_path / "source"
    for name, data in before.items():
        write(source / name, data)
    made = {}
    for kind, options in {"jpeg": ["--resize=256", "--quality=90"],
                          "ppm": ["--resize=256", "--store=ppm"],
                          "optimized": ["--optimize"]}.items():
        run(FOLDPACK, "create", "-q", *options, source, tmp_path / kind)
        made[kind] = records(tmp_path / kind)
    assert all(same(opened(made["optimized"][name]), opened(before[name])) for name in before)
    as_jpeg, as_bitmap, taken, by_pil = [], [], 0, 0
    for name, data in before.items():
        wanted, bitmap = resized(data, 256), opened(made["ppm"][name])
        if wanted.size != opened(data).size:
            assert same(bitmap, drafted(data, 256)), name
            as_jpeg.append(psnr(opened(made["jpeg"][name]), wanted))
            as_bitmap.append(psnr(bitmap, wanted))
            taken += len(made["jpeg"][name])
            by_pil += len(jpeg(wanted, quality=90))
    assert min(as_bitmap) > 45 and statistics.median(as_jpeg) > 35
    assert taken <= 1.02 * by_pil
    assert step > 1 or sum(map(len, made["jpeg"].values())) <= 0.28 * sum(map(len, before.values()))


@pytest.mark.skipif("address" in BUILD.name, reason="freed memory is kept to look at")
def test_decoded_images_are_bounded_by_their_pixels_not_by_their_files(tmp_path):
    data = jpeg(Image.new("RGB", (4000, 3000), (90, 120, 30)))
    source = write_all(tmp_path / "source", {str(n): data for n in range(30)})
    status, memory = memory_of(FOLDPACK, "create", "-q", "--store=ppm", "-j16", source,
                               tmp_path / "x.lmdb")
    assert status == 0
    assert memory < 700 << 20  # all of them are 1.1 GB
