"""What foldpack asks PIL of images other than JPEGs: whether it reads one, and to make another.

foldpack runs `python3 pictures.py`, and asks it as it asks any filter (foldpack-images(7)), but
with one of these in place of a path:

    check                           does PIL read all of it, as training code does?
    make WIDTH HEIGHT STORE QUALITY of this size, as 'jpeg', 'bmp' or 'ppm', or as it is: 'keep'

The verdict is a word and a sentence: 'good', 'kept' and why, 'made', 'mask' (the same, of one that
was resized as a mask), or a word of foldpack-images(7) for what is damaged; 'failed' ends it
all."""

import io
import re
import resource
import signal
import struct
import sys
import zlib

import system

system.find("PIL")
try:
    from PIL import Image, ImageChops, features
    MISSING = None
except ImportError as error:
    MISSING = error

SIGNATURE, END = b"\x89PNG\r\n\x1a\n", (b"IEND", b"")
BESIDE = (b"gAMA", b"cHRM", b"sRGB", b"iCCP", b"cICP", b"eXIf", b"pHYs", b"tEXt", b"zTXt", b"iTXt")
GREY, COLOUR, PALETTE, ALPHA = 0, 2, 3, 4  # types of a PNG; ALPHA is added to the first two
FEW, LINES = 64, 64  # colours of a mask; rows and columns that are looked at
JPEG_SIDE, SEGMENT = 65500, 65533
EXIF, ORIENTATION = b"Exif\0\0", 0x112
NOT_READ = (("too-large", "bomb|too large|too much"), ("unsupported", "not available|unsupported"),
            ("corrupt", "chunk|APNG"), ("truncated", "truncat|EOF|not enough|too short"))


class Verdict(Exception):
    """What is said of an image instead of another one: a word and a sentence."""


# --- masks --------------------------------------------------------------------------------------


def runs(image):
    """Of equal pixels, in all rows: how many, and how many are of one pixel."""
    width, height = image.size
    begins = Image.new("L", (width + 1, height), 255)
    if width > 1:
        bands = ImageChops.difference(image.crop((0, 0, width - 1, height)),
                                      image.crop((1, 0, width, height))).split()
        differ = bands[0]
        for band in bands[1:]:
            differ = ImageChops.lighter(differ, band)
        begins.paste(differ.point([0] + 255 * [255]), (1, 0))
    first, behind = begins.crop((0, 0, width, height)), begins.crop((1, 0, width + 1, height))
    return first.histogram()[255], ImageChops.darker(first, behind).histogram()[255]


def is_mask(image):
    """Noise ends a run of a photograph at nearly each pixel, and so does a soft edge in a drawing;
    its background may be as large as it likes."""
    if image.getcolors(FEW):
        return True
    width, height = image.size
    some = (image.resize((width, min(height, LINES)), Image.NEAREST),
            image.resize((min(width, LINES), height), Image.NEAREST).transpose(Image.TRANSPOSE))
    count, single = map(sum, zip(*map(runs, some)))
    return single <= count / 2


# --- beside the pixels --------------------------------------------------------------------------


def orientation(exif):
    """How EXIF asks to turn an image; 1: not at all."""
    try:
        read = Image.Exif()
        read.load(exif)
        return read.get(ORIENTATION, 1)
    except Exception:  # of any bytes
        return 1


def text_turns(info):
    """Whether XMP, or a text of ImageMagick, does."""
    raw = info.get("Raw profile type exif")
    if raw:
        digits = re.sub("[^0-9a-fA-F]", "", "".join(raw.split("\n")[3:]))
        return orientation(bytes.fromhex(digits[:len(digits) // 2 * 2])) != 1
    xmp = info.get("XML:com.adobe.xmp") or info.get("xmp") or b""
    xmp = xmp.encode() if isinstance(xmp, str) else xmp
    return re.search(rb"tiff:Orientation[='\">]*[2-8]", xmp) is not None


# --- PNG ----------------------------------------------------------------------------------------


def chunks(data):
    """(kind, body) of each up to the end. Of those that are wrong only the ones count that make
    the pixels."""
    at = len(SIGNATURE)
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body, at = data[at + 8:at + 8 + size], at + 12 + size
        if at > len(data) and kind == b"IDAT":
            raise Verdict("truncated", "PNG: ends in its chunk IDAT")
        if at > len(data):
            return
        if zlib.crc32(body, zlib.crc32(kind)) == int.from_bytes(data[at - 4:at], "big"):
            yield kind, body
        elif kind in (b"IHDR", b"PLTE", b"IDAT"):
            raise Verdict("corrupt", f"PNG: the CRC of its chunk {kind.decode()} is wrong")


def joined(header, *parts):
    """A PNG of lists of chunks."""
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body +
        struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
        for part in ([(b"IHDR", struct.pack(">IIBBBBB", *header))], *parts, [END])
        for kind, body in part)


def read_beside(parts):
    """What PIL reads of these chunks; None: it refuses them."""
    pixel = [(b"IDAT", zlib.compress(bytes(2)))]
    try:
        return Image.open(io.BytesIO(joined((1, 1, 8, 0, 0, 0, 0), parts, pixel))).info
    except Exception:  # PIL raises nearly everything
        return None


class Png:
    """Its pixels are PIL's, its chunks beside them stay."""

    name = "PNG"

    def __init__(self, data):
        found = list(chunks(data))
        kinds = [kind for kind, _ in found]
        if kinds[:1] != [b"IHDR"] or len(found[0][1]) != 13 or b"IDAT" not in kinds:
            raise Verdict("truncated", "PNG: ends in front of its pixels")
        if b"acTL" in kinds[:kinds.index(b"IDAT")]:
            raise Verdict("kept", "PNG that moves")
        self.header = list(struct.unpack(">IIBBBBB", found[0][1]))
        self.depth, self.type = self.header[2:4]
        if self.depth == 16 and self.type != GREY:
            raise Verdict("kept", "PNG with colours of 16 bits, which PIL cuts off")
        self.beside = [part for part in found if part[0] in BESIDE]
        self.info = read_beside(self.beside)
        if self.info is None:
            self.beside = [part for part in self.beside if read_beside([part]) is not None]
            self.info = read_beside(self.beside)
        if self.info is None:
            self.beside, self.info = [], {}
        self.palette = [part for part in found if part[0] == b"PLTE"][:1]
        self.clear = [part for part in found if part[0] == b"tRNS" and len(part[1]) >= {
            GREY: 2, COLOUR: 6}.get(self.type, 1)][:1]
        self.decode([part for part in found if part[0] == b"IDAT"])

    def decode(self, pixels):
        header, few = list(self.header), self.depth < 8 and self.type == GREY
        if few:  # PIL would spread their values
            header[3] = PALETTE
        colours = [(b"PLTE", bytes(3 << self.depth))] if few else self.palette
        clear = self.clear if self.depth == 8 and self.type in (GREY, COLOUR) else []
        self.image = Image.open(io.BytesIO(joined(header, colours, clear, pixels)))
        self.image.load()
        self.mask = self.depth != 8 or self.type == PALETTE or is_mask(self.image)
        if clear and not self.mask:  # new colours come up beside the one that stands for it
            self.image = self.image.convert(self.image.mode[:3] + "A")
            self.type, self.clear = self.type | ALPHA, []

    def encode(self, image, _):
        """As it was, with other pixels."""
        out = io.BytesIO()
        image.save(out, "PNG", **({"bits": self.depth} if image.mode == "P" else {}))
        pixels = [part for part in chunks(out.getvalue()) if part[0] == b"IDAT"]
        return joined((*image.size, self.depth, self.type, 0, 0, 0), self.beside, self.palette,
                      self.clear, pixels)


# --- WebP ---------------------------------------------------------------------------------------


def is_lossless(data):
    at = 12
    while at + 8 <= len(data):
        kind, size = struct.unpack_from("<4sI", data, at)
        if kind in (b"VP8L", b"VP8 "):
            return kind == b"VP8L"
        at += 8 + size + size % 2
    return False


class WebP:
    name = "WebP"

    def __init__(self, data):
        if not features.check("webp"):
            raise Verdict("failed", f"PIL in {sys.executable} was built without WebP")
        self.image = Image.open(io.BytesIO(data))
        if getattr(self.image, "is_animated", False):
            raise Verdict("kept", "WebP that moves")
        self.image.load()
        self.info, self.lossless = self.image.info, is_lossless(data)
        self.mask = is_mask(self.image)

    def encode(self, image, quality):
        out = io.BytesIO()
        image.save(out, "WEBP", lossless=self.lossless, exact=True,
                   quality=75 if self.lossless else quality,
                   **{name: self.info.get(name, b"") for name in ("exif", "icc_profile", "xmp")})
        return out.getvalue()


# --- what is asked ------------------------------------------------------------------------------


def check(data):
    Image.open(io.BytesIO(data)).convert("RGB")
    return "good", b""


def not_plain(picture, image, store):
    """Why no JPEG or bitmap can hold it; None: one can."""
    clear = image.mode in ("LA", "RGBA") and image.getchannel("A").getextrema()[0] < 255
    if picture.mask or clear:
        return "with transparency, or a mask"
    turned = orientation(picture.info.get("exif", b"")) != 1
    if turned and store != "jpeg" or not turned and text_turns(picture.info):
        return "that is to be turned, which the format asked for could not say"
    return None


def plain(picture, image, store, quality):
    """As a JPEG or a bitmap."""
    image, out = image.convert("L" if image.mode in ("L", "LA") else "RGB"), io.BytesIO()
    if store != "jpeg":
        image.save(out, store.upper())
        return out.getvalue()
    if max(image.size) > JPEG_SIDE:
        raise Verdict("kept", f"libjpeg: Maximum supported image dimension is {JPEG_SIDE} pixels")
    exif = picture.info.get("exif") or b""
    exif = exif if not exif or exif.startswith(EXIF) else EXIF + exif
    image.save(out, "JPEG", quality=quality, optimize=True, subsampling="4:2:0",
               exif=exif if len(exif) <= SEGMENT else b"",
               icc_profile=picture.info.get("icc_profile"))
    return out.getvalue()


def make(data, width, height, store, quality):
    picture = Png(data) if data.startswith(SIGNATURE) else WebP(data)
    image, size, quality = picture.image, (int(width), int(height)), int(quality)
    resized = image.size != size
    if resized:
        image = image.resize(size, Image.NEAREST if picture.mask else Image.BILINEAR)
    why = store != "keep" and not_plain(picture, image, store)
    if store != "keep" and not why:
        made = plain(picture, image, store, quality)
        if store == "jpeg" and not resized and len(made) >= len(data):
            raise Verdict("kept")
        return "made", made
    if not resized:
        raise Verdict("kept", f"{picture.name} {why}")
    return "mask" if picture.mask else "made", picture.encode(image, quality)


def not_read(error):
    """What an exception of PIL says of the image."""
    text = " ".join((str(error).partition(" <")[0] or type(error).__name__).split())
    word = next((word for word, pattern in NOT_READ
                 if re.search(pattern, f"{type(error).__name__} {text}", re.I)), "corrupt")
    return f"{word} PIL: {text}"


def answer(question, data):
    """(verdict, another image)."""
    if MISSING:
        return (f"failed PIL, which is needed for images other than JPEGs, is not in "
                f"{sys.executable} ({MISSING}): 'pip install pillow', or let FOLDFS_PYTHON name a "
                "python3 that has it"), b""
    word, *words = question.split()
    try:
        return {"check": check, "make": make}[word](data, *words)
    except Verdict as verdict:
        return " ".join(verdict.args), b""
    except MemoryError:
        return "failed not enough memory", b""
    except Exception as error:  # of any library, about any bytes
        return not_read(error), b""


def part():
    """The next one of a question; None: there are no more."""
    size = sys.stdin.buffer.read(8)
    return sys.stdin.buffer.read(int.from_bytes(size, "little")) if len(size) == 8 else None


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash of a library is an answer, too
    for number in (signal.SIGINT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    question = part()
    while question is not None:
        verdict, made = answer(question.decode(), part())
        verdict = verdict.encode()
        for one in (verdict, made):
            sys.stdout.buffer.write(len(one).to_bytes(8, "little"))
            sys.stdout.buffer.write(one)
        sys.stdout.buffer.flush()
        question = part()


if __name__ == "__main__":
    main()
