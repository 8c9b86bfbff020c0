"""What the programs themselves wrote, three images of 8 x 8 pixels with the labels 2, 0 and 7:

zarr2/  zarr 2.18.7 with imagecodecs 2026.3.6, a group a codec, labels by blosc
n5/     N5Store of that zarr, labels by gzip
zarr3/  zarr 3.1.6 with a codec that calls imagecodecs.jpeg_encode(), labels by zstd"""

import tarfile
from pathlib import Path

TAR_XZ = Path(__file__).resolve().parents[2] / "data/zarr.tar.xz"


def extract(place):
    """The folder that has these three."""
    with tarfile.open(TAR_XZ) as tar:
        tar.extractall(place)
    return place / "s"
