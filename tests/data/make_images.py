#!/usr/bin/python3
"""make_images.py DIR [--files N] [--classes C] [--seed S] [--jobs J]

An ImageFolder tree of JPEGs that cost what photos cost: 1/f noise as natural scenes have it,
gradients and a few objects, mostly about 500 x 375, and file sizes that follow ImageNet's
(log-normal, median 100 KB, mean 110 KB, long tail). The same arguments give the same pictures;
their bytes depend on the version of libjpeg, too."""

import argparse
import io
import math
import multiprocessing
import os
import sys

import numpy as np
from PIL import Image, ImageDraw

import stamped

MEDIAN_BYTES, SIGMA = 102_000, 0.47  # aimed at; the best quality falls short of the largest
LEAST_BYTES, MOST_BYTES = 3_000, 900_000
PIXELS = 500 * 375
PIXELS_BYTES = 120_000  # pictures with more bytes get more pixels, and more grain
FIELD = 2048  # side of a noise field, which pictures are cut from
RATIOS = (4 / 3, 4 / 3, 4 / 3, 3 / 4, 3 / 2, 2 / 3, 1.0)


def noise_field(rng, slope):
    """Noise whose amplitude falls as 1 / frequency^slope; mean 0, deviation 1."""
    frequency = np.hypot(np.fft.fftfreq(FIELD)[:, None], np.fft.rfftfreq(FIELD)[None, :])
    frequency[0, 0] = np.inf
    spectrum = np.fft.rfft2(rng.standard_normal((FIELD, FIELD)))
    field = np.fft.irfft2(spectrum / frequency ** slope)
    return (field / field.std()).astype(np.float32)


class Painter:
    """Paints picture after picture from noise fields that are computed once."""

    def __init__(self, seed):
        rng = np.random.default_rng([seed, 0])
        self.seed = seed
        self.textures = [noise_field(rng, slope) for slope in (1.0, 1.15, 1.3)]
        self.washes = [noise_field(rng, slope) for slope in (1.6, 1.8)]

    def cut(self, rng, fields, height, width):
        """A window of one of the fields, mirrored by chance."""
        field = fields[rng.integers(len(fields))]
        top, left = rng.integers(FIELD - height), rng.integers(FIELD - width)
        window = field[top:top + height, left:left + width]
        return window[::rng.choice((-1, 1)), ::rng.choice((-1, 1))]

    def surface(self, rng, height, width):
        """Something textured, of one colour more or less, lit from one side."""
        light = self.cut(rng, self.textures, height, width) * rng.uniform(12, 40)
        light = light + np.linspace(-1, 1, width, dtype=np.float32) * rng.uniform(-40, 40)
        light += np.linspace(-1, 1, height, dtype=np.float32)[:, None] * rng.uniform(-40, 40)
        wash = self.cut(rng, self.washes, height, width)
        colour = rng.uniform(50, 200, 3).astype(np.float32)
        tint = rng.uniform(-14, 14, 3).astype(np.float32)
        return np.stack([colour[c] + light + tint[c] * wash for c in range(3)], axis=-1)

    def paint(self, rng, height, width, grain):
        pixels = self.surface(rng, height, width)
        for _ in range(rng.integers(1, 4)):
            mask = np.asarray(shape(rng, height, width))
            pixels = np.where(mask[..., None], self.surface(rng, height, width), pixels)
        pixels += rng.standard_normal((height, width, 1), np.float32) * grain
        return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))

    def picture(self, index):
        """The bytes of picture number `index`."""
        rng = np.random.default_rng([self.seed, 1, index])
        wanted = MEDIAN_BYTES * math.exp(SIGMA * rng.standard_normal())
        wanted = min(max(wanted, LEAST_BYTES), MOST_BYTES)
        rich = max(1.0, wanted / PIXELS_BYTES)
        pixels = PIXELS * rich * rng.uniform(0.8, 1.15)
        ratio = RATIOS[rng.integers(len(RATIOS))]
        height, width = round(math.sqrt(pixels / ratio)), round(math.sqrt(pixels * ratio))
        return encode(self.paint(rng, height, width, rich * rng.uniform(1, 4)), wanted)


def shape(rng, height, width):
    """The mask of an ellipse or a polygon."""
    mask = Image.new("1", (width, height))
    corners = rng.uniform(-0.1, 1.1, (rng.integers(3, 7), 2)) * (width, height)
    if rng.random() < 0.5:
        ImageDraw.Draw(mask).polygon([tuple(corner) for corner in corners], fill=1)
    else:
        box = [*corners[:2].min(axis=0), *corners[:2].max(axis=0)]
        ImageDraw.Draw(mask).ellipse(box, fill=1)
    return mask


def jpeg(image, quality):
    out = io.BytesIO()
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()


def encode(image, wanted):
    """The picture in about `wanted` bytes. libjpeg multiplies its tables by 5000 / quality
    percent below 50 and 200 - 2 * quality above, and sizes fall as a power of that factor:
    guessed at first, then taken from the two sizes known."""
    quality, power, seen = 80, -0.6, []
    for _ in range(3):
        data = jpeg(image, quality)
        scale = 5000 / quality if quality < 50 else 200 - 2 * quality
        seen.append((math.log(scale), math.log(len(data)), data))
        if abs(len(data) / wanted - 1) < 0.05:
            break
        if len(seen) > 1 and seen[-1][0] != seen[-2][0]:
            power = (seen[-1][1] - seen[-2][1]) / (seen[-1][0] - seen[-2][0])
        scale *= (wanted / len(data)) ** (1 / min(power, -0.1))
        quality = round(min(max(5000 / scale if scale > 100 else 100 - scale / 2, 5), 98))
    return min(seen, key=lambda try_: abs(try_[1] - math.log(wanted)))[2]


def names(files, classes, seed):
    """(class, file name) of each picture: numbered with gaps, as ImageNet's are."""
    rng = np.random.default_rng([seed, 2])
    for number in range(classes):
        wnid = f"n{number + 1:08d}"
        count = files // classes + (number < files % classes)
        for image in np.sort(rng.choice(max(30000, count), count, replace=False)):
            yield wnid, f"{wnid}_{image}.JPEG"


def paint_share(painter, share):
    """One process's part of the work: (index, path) pairs."""
    for index, path in share:
        with open(path, "wb") as file:
            file.write(painter.picture(index))


def fill(target, files, classes, seed, jobs):
    work = []
    for index, (wnid, name) in enumerate(names(files, classes, seed)):
        os.makedirs(os.path.join(target, wnid), exist_ok=True)
        work.append((index, os.path.join(target, wnid, name)))
    painter = Painter(seed)
    fork = multiprocessing.get_context("fork")  # the painter's noise is shared, not copied
    painters = [fork.Process(target=paint_share, args=(painter, work[job::jobs]))
                for job in range(jobs)]
    for process in painters:
        process.start()
    for process in painters:
        process.join()
    if any(process.exitcode for process in painters):
        sys.exit(f"{target}: not all pictures could be made")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", metavar="DIR")
    parser.add_argument("--files", type=int, default=2000)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    args = parser.parse_args()
    recipe = {"images": args.files, "classes": args.classes, "seed": args.seed}
    stamped.make(args.directory, recipe,
                 lambda into: fill(into, args.files, args.classes, args.seed, args.jobs))


if __name__ == "__main__":
    main()
