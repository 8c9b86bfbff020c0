"""A folder of damaged pictures, each named after its damage, and one of sound oddities.

make_damage(folder) and make_oddities(folder) return a list of Case: what `foldpack create --check`
must say of each file. The judge is pil(): what PIL refuses must be found. Files that are cut off at
any byte are in tests/unit/test_check.c."""

import io
import struct
import warnings
import zlib
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageFile, PngImagePlugin

import pictures

SIZE = (96, 72)
EOI = b"\xff\xd9"


class Case(NamedTuple):
    name: str
    data: bytes
    damage: str           # the class that --check=decode gives it; None: nothing is wrong
    usable: bool = False  # listed, but packed: training code reads all of it
    decode: bool = False  # --check=header cannot see it


def pil(data):
    """Why PIL refuses these bytes, as a training loop reads them; None: it does not."""
    assert not ImageFile.LOAD_TRUNCATED_IMAGES
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            Image.open(io.BytesIO(data)).convert("RGB")
        except Exception as error:  # PIL raises nearly everything
            return f"{type(error).__name__}: {error}"
    return None


def picture(size=SIZE, seed=0):
    return pictures.noise(size, seed=seed)


def encode(kind, image=None, **options):
    return pictures.encode(kind, image or picture(), **options)


def put(data, at, new):
    """`data` with other bytes at `at`."""
    return data[:at] + new + data[at + len(new):]


# --- JPEG -----------------------------------------------------------------------------------


def segments(data):
    """[(marker, where it begins)] up to the first scan, that included."""
    found, at = [], 2
    while not found or found[-1][0] != 0xDA:
        found.append((data[at + 1], at))
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return found


def segment(data, *markers):
    """Where the first of these segments begins."""
    return next(at for marker, at in segments(data) if marker in markers)


def frame(data):
    return segment(data, 0xC0, 0xC2)


def scan(data):
    """Where the coded data of the first scan begins."""
    at = segment(data, 0xDA)
    return at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]


def without(data, *markers):
    """Without these segments."""
    for marker, at in reversed(segments(data)):
        if marker in markers:
            data = data[:at] + data[at + 2 + struct.unpack(">H", data[at + 2:at + 4])[0]:]
    return data


def with_size(data, width, height):
    return put(data, frame(data) + 5, struct.pack(">HH", height, width))


def last_scan(data):
    """Where the last scan of a progressive JPEG begins, its tables included."""
    at = data.rfind(b"\xff\xda")
    tables = data.rfind(b"\xff\xc4", 0, at)
    return tables if data[tables:at].count(b"\xff") == 1 else at


def jpeg_cut():
    data, progressive = encode("JPEG"), encode("JPEG", progressive=True)
    middle = (scan(data) + len(data)) // 2
    return [
        Case("empty.jpg", b"", "empty"),
        Case("ends in the middle.jpg", data[:middle], "truncated"),
        Case("no end marker.jpg", data[:-2], "no-eoi"),
        Case("progressive, ends in the middle.jpg", progressive[:len(progressive) // 2],
             "truncated"),
        Case("progressive, without the last scan.jpg", progressive[:last_scan(progressive)],
             "truncated"),
        Case("progressive, no end marker.jpg", progressive[:-2], "no-eoi"),
        Case("the second half is zero.jpg", data[:middle] + bytes(len(data) - middle), "truncated"),
        Case("ends in the middle, with an end marker.jpg", data[:middle] + EOI, "corrupt",
             decode=True),
    ]


def jpeg_garbled():
    data = encode("JPEG")
    start = scan(data)
    middle = (start + len(data)) // 2
    return [
        Case("a hole of zeros.jpg", put(data, middle, bytes(500)), "corrupt", decode=True),
        Case("a part is missing.jpg", data[:middle] + data[middle + 300:], "corrupt", decode=True),
        Case("another one in its middle.jpg", data[:middle] + data, "corrupt", decode=True),
        Case("stray bytes.jpg", data[:-2] + b"stray bytes" * 9 + EOI, "corrupt", decode=True),
        Case("stray bytes in the header.jpg", data[:20] + b"stray" * 99 + data[20:], "corrupt",
             True),
        Case("zeros in the header.jpg", data[:20] + bytes(99999) + data[20:], "corrupt", True),
        Case("padded in front of its end.jpg", data[:-2] + bytes(99) + EOI, "corrupt", True,
             decode=True),
        Case("padded in place of its end.jpg", data[:-2] + bytes(99), "no-eoi", True),
        Case("few stray bytes.jpg", data[:-2] + b"abc" + EOI, "corrupt", True, decode=True),
        Case("more rows than there are.jpg", with_size(data, SIZE[0], 2 * SIZE[1]), "corrupt",
             decode=True),
        Case("fewer rows than there are.jpg", with_size(data, SIZE[0], SIZE[1] // 2), "corrupt",
             decode=True),
        Case("a wild code table.jpg", put(data, segment(data, 0xC4) + 5, b"\xff" * 16), "corrupt"),
        Case("no quantization tables.jpg", without(data, 0xDB), "corrupt", decode=True),
        Case("a wild length of a segment.jpg",
             put(data, segment(data, 0xC4) + 2, b"\0\7"), "corrupt"),
        Case("no scan.jpg", data[:segment(data, 0xDA)] + EOI, "corrupt"),
        Case("a progressive frame around a baseline scan.jpg", put(data, frame(data), b"\xff\xc2"),
             "corrupt", decode=True),
        Case("sent as text.jpg", data.replace(b"\n", b"\r\n"), "corrupt", decode=True),
    ]


def jpeg_odd():
    data = encode("JPEG")
    at = frame(data)
    gray = encode("JPEG", picture().convert("L"))
    return [
        Case("no rows.jpg", with_size(data, SIZE[0], 0), "no-size"),
        Case("no columns.jpg", with_size(data, 0, SIZE[1]), "no-size"),
        Case("65500 x 65500.jpg", with_size(data, 65500, 65500), "too-large"),
        Case("twelve bits.jpg", put(data, at + 4, b"\x0c"), "unsupported"),
        Case("lossless.jpg", put(data, at, b"\xff\xc3"), "unsupported"),
        Case("two components.jpg", two_components(gray), "unsupported"),
        Case("CMYK.JPEG", encode("JPEG", picture().convert("CMYK")), "cmyk", True),
    ]


def two_components(gray):
    """A picture that repeats its only component under another number."""
    at = frame(gray)
    gray = gray[:at] + b"\xff\xc0\0\x0e\x08" + gray[at + 5:at + 9] + \
        b"\2\1\x11\0\2\x11\0" + gray[at + 13:]
    at = segment(gray, 0xDA)
    return gray[:at] + b"\xff\xda\0\x0a\2\1\0\2\0" + gray[at + 7:]


# --- what is something else -----------------------------------------------------------------


def others():
    jpeg = encode("JPEG")
    return [
        Case("PNG.JPEG", encode("PNG"), "wrong-extension", True),
        Case("WebP.jpg", encode("WEBP"), "wrong-extension", True),
        Case("GIF.png", encode("GIF"), "wrong-extension", True),
        Case("JPEG.png", jpeg, "wrong-extension", True),
        Case("BMP.jpeg", encode("BMP"), "wrong-extension", True),
        Case("JPEG cut.bmp", jpeg[:-300], "truncated"),
        Case("a page of a server.jpg", b"<!DOCTYPE html><html>404</html>", "not-an-image"),
        Case("text.jpg", b"a photograph of a cat\n", "not-an-image"),
        Case("zeros.jpg", bytes(5000), "not-an-image"),
        Case("._of macOS.jpg", b"\0\5\x16\7\0\2\0\0Mac OS X        " + bytes(90), "not-an-image"),
        Case("of git-lfs.png", b"version https://git-lfs.github.com/spec/v1\n", "not-an-image"),
        Case("HEIC.jpg", b"\0\0\0\x18ftypheic" + bytes(200), "not-an-image"),
        Case("a byte in front.jpg", b"\n" + jpeg, "not-an-image"),
        Case("made UTF-8.jpg", jpeg.decode(errors="replace").encode(), "not-an-image"),
        Case("sent as text.png", encode("PNG").replace(b"\r\n", b"\n"), "not-an-image"),
    ]


# --- the other kinds ------------------------------------------------------------------------


def chunk(kind, body, crc=0):
    return struct.pack(">I", len(body)) + kind + body + \
        struct.pack(">I", zlib.crc32(kind + body) ^ crc)


def ihdr(data, **changes):
    """A PNG with another header, whose CRC is right."""
    names = ("width", "height", "depth", "colour", "packing", "filter", "interlace")
    fields = dict(zip(names, struct.unpack(">IIBBBBB", data[16:29])), **changes)
    return put(data, 8, chunk(b"IHDR", struct.pack(">IIBBBBB", *fields.values())))


def png():
    data, tail = encode("PNG"), chunk(b"IEND", b"")
    pixels = data.index(b"IDAT") - 4
    return [
        Case("ends in the middle.png", data[:len(data) // 2], "truncated"),
        Case("no end.png", data[:-12], "truncated", True),
        Case("no end, and not all pixels.png", data[:-17], "truncated"),
        Case("zeros in front of its end.png", data[:-12] + bytes(16) + tail, "corrupt", True),
        Case("a wrong CRC behind its pixels.png",
             data[:-12] + chunk(b"tEXt", b"a\0b", crc=1) + tail, "corrupt", True, decode=True),
        Case("a wrong CRC of its end.png", data[:-4] + b"crc?", "corrupt", True, decode=True),
        Case("a bit of the header.png", put(data, 18, b"\1"), "corrupt"),
        Case("a bit of the pixels.png",
             put(data, pixels + 999, bytes([data[pixels + 999] ^ 1])), "corrupt", decode=True),
        Case("a wrong CRC of a text.png",
             data[:pixels] + chunk(b"tEXt", b"a\0b", crc=1) + data[pixels:], "corrupt"),
        Case("a wild length of a chunk.png", put(data, pixels, b"\0\0\0\7"), "corrupt",
             decode=False),
        Case("no pixels.png", data[:pixels] + tail, "corrupt"),
        Case("no header.png", data[:8] + data[33:], "corrupt"),
        Case("no rows.png", ihdr(data, height=0), "no-size"),
        Case("depth 3.png", ihdr(data, depth=3), "corrupt"),
        Case("30000 x 30000.png", ihdr(data, width=30000, height=30000), "too-large"),
    ]


def in_front(data, *chunks):
    """A PNG with chunks more, in front of its pixels, or behind them."""
    return data[:33] + b"".join(chunks) + data[33:]


def behind(data, *chunks):
    return data[:-12] + b"".join(chunks) + data[-12:]


PLACES = {"in front": in_front, "behind": behind}
MIB = 1 << 20


def packed(kind, content, name=b"name"):
    """A chunk of text, or of a profile, that is compressed."""
    return chunk(kind, name + {b"zTXt": b"\0\0", b"iTXt": b"\0\1\0\0\0", b"iCCP": b"\0\0"}[kind] +
                 zlib.compress(content))


def frame_header(number, width, height):
    return chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 1, 9, 0, 0))


def png_refused():
    """Chunks that make PIL refuse an image, wherever they are: name, damage, mode, chunks."""
    for kind in (b"zTXt", b"iTXt", b"iCCP"):
        yield f"{kind.decode()} of over a MiB", "too-large", "RGB", packed(kind, bytes(MIB + 1))
    yield "over 64 MiB of text", "too-large", "RGB", b"".join(
        packed(b"zTXt", bytes(MIB), b"%d" % number) for number in range(65))
    for kind, size in {b"pHYs": 8, b"gAMA": 3, b"sRGB": 0, b"cHRM": 28, b"acTL": 7, b"fcTL": 25,
                       b"fdAT": 3, b"tRNS": 5}.items():
        yield f"short {kind.decode()}", "corrupt", "RGB", chunk(kind, bytes(size))
    yield "short tRNS of grey", "corrupt", "L", chunk(b"tRNS", bytes(1))
    yield "a profile without a name", "corrupt", "RGB", chunk(b"iCCP", b"name")
    yield "a text packed by another method", "corrupt", "RGB", chunk(b"zTXt", b"name\0\1")
    yield "a second frame alone", "corrupt", "RGB", frame_header(1, *SIZE)
    yield "a frame beyond the picture", "corrupt", "RGB", frame_header(0, SIZE[0] + 1, 1)


def png_refused_cases():
    cases = [Case(f"{name}, {place}.png", put_in(encode("PNG", picture().convert(mode)), part),
                  damage)
             for name, damage, mode, part in png_refused() for place, put_in in PLACES.items()]
    return cases + [
        Case("ends in a text behind its pixels.png",
             behind(encode("PNG"), chunk(b"tEXt", bytes(99)))[:-60], "truncated"),
        Case("a wrong CRC of a text, and a large one, behind its pixels.png",
             behind(encode("PNG"), chunk(b"tEXt", b"a\0b", crc=1), packed(b"zTXt", bytes(2 * MIB))),
             "too-large")]


def png_harmless():
    """Chunks that look like that, and PIL reads."""
    return {"a text of a MiB": packed(b"zTXt", bytes(MIB)),
            "an international text of a MiB": packed(b"iTXt", bytes(MIB)),
            "a profile of a MiB": packed(b"iCCP", bytes(MIB)),
            "a text that is not packed": chunk(b"zTXt", b"a\0\0none"),
            "an international text that is not packed": chunk(b"iTXt", b"a\0\1\0\0\0none"),
            "one packed by another method": chunk(b"iTXt", b"a\0\1\1\0\0none"),
            "half of one": chunk(b"iTXt", b"a\0\1"), "only a name": chunk(b"tEXt", b"a"),
            "no text": chunk(b"zTXt", b""), "no EXIF": chunk(b"eXIf", b""),
            "no frames": chunk(b"acTL", bytes(8)), "one of nobody's": chunk(b"prVt", b"")}


def png_read():
    """What PIL reads although it has them, or worse where it does not look: names and bytes."""
    data = encode("PNG")
    for name, part in png_harmless().items():
        for place, put_in in PLACES.items():
            yield f"{name}, {place}.png", put_in(data, part)
    yield "a short tRNS in front of a palette.png", in_front(
        encode("PNG", picture().quantize(9)), chunk(b"tRNS", b"\0"))
    yield "a wild chunk of a later frame.png", behind(
        in_front(data, chunk(b"acTL", struct.pack(">II", 2, 0)), frame_header(0, *SIZE)),
        frame_header(1, *SIZE), chunk(b"pHYs", b""))


def gif():
    still = encode("GIF")
    moving = encode("GIF", picture().quantize(16), save_all=True,
                    append_images=[picture(seed=1).quantize(16)])
    pixels = still.index(b"\x2c\0\0\0\0")
    return [
        Case("ends in the middle.gif", still[:pixels + 500], "truncated"),
        Case("no trailer.gif", still[:-1], "truncated", True),
        Case("ends in the second picture.gif", moving[:-500], "truncated", True),
        Case("no pixels.gif", still[:pixels] + b";", "corrupt"),
        Case("a wild block.gif", still[:pixels] + b"wild" + still[pixels:], "corrupt"),
    ]


def webp():
    data = encode("WEBP", quality=90)
    return [
        Case("ends in the middle.webp", data[:len(data) // 2], "truncated"),
        Case("a wild frame.webp", put(data, 23, b"wild"), "corrupt"),
        Case("a wild length of a chunk.webp", put(data, 16, b"\xff\xff\0\0"), "corrupt"),
        Case("no pixels.webp", b"RIFF\x16\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x5f\0\0\x47\0\0",
             "corrupt"),
    ]


def bmp():
    data = encode("BMP")
    return [
        Case("ends in the middle.bmp", data[:len(data) // 2], "truncated"),
        Case("pixels behind the end.bmp", put(data, 10, struct.pack("<I", 10**8)), "truncated"),
        Case("pixels in the header.bmp", put(data, 10, struct.pack("<I", 5)), "corrupt"),
        Case("seven bits a pixel.bmp", put(data, 28, b"\7"), "unsupported"),
        Case("no columns.bmp", put(data, 18, bytes(4)), "no-size"),
        Case("a wild header.bmp", put(data, 14, b"\xff\xff"), "corrupt"),
    ]


def pnm():
    data, gray = encode("PPM"), encode("PPM", picture().convert("L"))
    return [
        Case("ends in the middle.ppm", data[:len(data) // 2], "truncated"),
        Case("without the last byte.pgm", gray[:-1], "truncated"),
        Case("samples of text are missing.ppm", b"P3\n2 2\n255\n" + b"1 2 3 " * 3, "truncated",
             decode=True),
        Case("no largest sample.ppm", data.replace(b"255", b"0  ", 1), "corrupt"),
        Case("too large a largest sample.pgm", gray.replace(b"255", b"70000", 1), "corrupt"),
    ]


def tiff_field(data, tag, value):
    """A TIFF of PIL, whose directory is at 8, with another value of a field."""
    for at in range(10, 10 + 12 * struct.unpack("<H", data[8:10])[0], 12):
        if struct.unpack("<H", data[at:at + 2])[0] == tag:
            return put(data, at + 8, struct.pack("<I", value))
    raise LookupError(tag)


def tiff():
    data = encode("TIFF")
    return [
        Case("ends in the middle.tif", data[:len(data) // 2], "truncated"),
        Case("a directory behind the end.tiff", put(data, 4, b"\xff\xff\xff\0"), "truncated"),
        Case("a directory in the header.tiff", put(data, 4, b"\2\0\0\0"), "corrupt"),
        Case("no columns.tif", tiff_field(data, 256, 0), "no-size"),
        Case("no pixels.tif", data.replace(b"\x11\1", b"\xfe\xfd", 1), "corrupt"),
    ]


# --- what is no damage ----------------------------------------------------------------------


def with_comment(data, text):
    return data[:2] + b"\xff\xfe" + struct.pack(">H", 2 + len(text)) + text + data[2:]


def oddities():
    jpeg = encode("JPEG")
    noise = picture()
    note = PngImagePlugin.PngInfo()
    note.add_text("Comment", "IDAT and IEND")
    return [
        ("padded.jpg", jpeg + bytes(4096)),
        ("another behind it.jpg", jpeg + jpeg),
        ("text behind it.jpg", jpeg + b"SEFHe\0\0\0"),
        ("an end marker in a comment.jpg", with_comment(jpeg, EOI + b"\xff\xda" + EOI)),
        ("filled markers.jpg", jpeg[:2] + b"\xff\xff" + jpeg[2:]),
        ("progressive.jpg", encode("JPEG", progressive=True)),
        ("progressive and padded.JPG", encode("JPEG", progressive=True) + bytes(100)),
        ("gray.jpeg", encode("JPEG", noise.convert("L"))),
        ("one pixel.jpg", encode("JPEG", noise.resize((1, 1)))),
        ("of a video, without its tables.jpg", without(encode("JPEG"), 0xC4)),
        ("palette.png", encode("PNG", noise.quantize(16))),
        ("one bit.png", encode("PNG", noise.convert("1"))),
        ("sixteen bits.png", encode("PNG", Image.fromarray(np.arange(900, dtype=np.uint16)
                                                           .reshape(30, 30)))),
        ("alpha, text, padding.png", encode("PNG", noise.convert("RGBA"), pnginfo=note) + b"\0"),
        *png_read(),
        ("padded.gif", encode("GIF") + bytes(9)),
        ("animated.gif", encode("GIF", save_all=True, append_images=[picture(seed=1)])),
        ("lossless.webp", encode("WEBP", lossless=True)),
        ("alpha.webp", encode("WEBP", noise.convert("RGBA"))),
        ("animated.webp", encode("WEBP", save_all=True, append_images=[picture(seed=1)])),
        ("palette.bmp", encode("BMP", noise.quantize(16))),
        ("one bit, odd width.bmp", encode("BMP", noise.resize((33, 7)).convert("1"))),
        ("from the top.bmp", put(encode("BMP"), 22, struct.pack("<i", -SIZE[1]))),
        ("bits.ppm", encode("PPM", noise.convert("1"))),
        ("sixteen bits.pgm", b"P5 2 2 65535\n" + bytes(8)),
        ("text.ppm", b"P3 # by hand\n2 1\n255\n1 2 3\n4 5 6\n"),
        ("LZW.tif", encode("TIFF", compression="tiff_lzw")),
        ("JPEG.tiff", encode("TIFF", compression="jpeg")),
        ("many strips.tif", encode("TIFF", picture((400, 400)))),
        ("two pages.tif", encode("TIFF", save_all=True, append_images=[picture(seed=1)])),
        ("big-endian.tif", encode("TIFF", Image.fromarray(np.zeros((9, 9), ">u2")))),
    ]


# --- folders --------------------------------------------------------------------------------


def write(folder, cases):
    folder.mkdir(parents=True, exist_ok=True)
    for case in cases:
        (folder / case.name).write_bytes(case.data)
    assert len({case.name for case in cases}) == len(cases)
    return cases


def make_damage(folder):
    return write(folder, [*jpeg_cut(), *jpeg_garbled(), *jpeg_odd(), *others(), *png(),
                          *png_refused_cases(), *gif(), *webp(), *bmp(), *pnm(), *tiff()])


def make_oddities(folder):
    return write(folder, [Case(name, data, None) for name, data in oddities()])
