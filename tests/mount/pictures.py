"""Pictures of all kinds, what PIL makes of them, and how far two of them differ."""

import io
import math

import numpy
from PIL import Image


def noise(size, mode="RGB", seed=1):
    """Slopes with noise in it: no two pixels or channels agree by chance."""
    width, height = size
    channels = len(Image.new(mode, (1, 1)).getbands())
    x, y, c = numpy.meshgrid(range(width), range(height), range(channels))
    slopes = (x * (c + 1) + y * (4 - c)).transpose(0, 1, 2) * 255 / (5 * sum(size))
    grain = numpy.random.default_rng(seed).integers(0, 40, slopes.shape)
    pixels = numpy.minimum(slopes + grain, 255).astype("u1")
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def encode(kind, image, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def jpeg(image, **options):
    return encode("JPEG", image, **{"quality": 92, **options})


def png(image):
    return encode("PNG", image)


def opened(data):
    image = Image.open(io.BytesIO(data))
    image.load()
    return image


def smaller(size, shorter):
    """The size that torchvision's Resize gives."""
    width, height = size
    if min(size) <= shorter:
        return size
    return ((shorter, int(shorter * height / width)) if width <= height
            else (int(shorter * width / height), shorter))


def resized(data, shorter):
    """As PIL does, from all pixels."""
    image = opened(data)
    return image.resize(smaller(image.size, shorter), Image.BILINEAR)


def drafted(data, shorter):
    """As PIL does, when the decoder may go down to twice the size."""
    image = Image.open(io.BytesIO(data))
    size = smaller(image.size, shorter)
    draft = image.draft(image.mode, (2 * size[0], 2 * size[1]))
    return image.resize(size, Image.BILINEAR, box=draft and draft[1])


def same(one, other):
    return (one.mode, one.size) == (other.mode, other.size) and one.tobytes() == other.tobytes()


def psnr(one, other):
    """In dB; infinite where they are equal."""
    error = numpy.asarray(one, float) - numpy.asarray(other, float)
    square = (error ** 2).mean()
    return 10 * math.log10(255 ** 2 / square) if square else math.inf
