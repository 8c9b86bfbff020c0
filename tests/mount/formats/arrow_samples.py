"""What pyarrow.serialize() of several versions made of (b"image", 7), a pair, and of a list of an
array of b"image" and 7. 0.8 writes as 0.9 does, 0.13 as 0.14, 6.0 as 10.0."""

import ast
import lzma
from pathlib import Path

SAMPLES = Path(__file__).resolve().parents[2] / "data/arrow.xz"


def samples():
    """{(version, "pair" or "array"): bytes}"""
    return ast.literal_eval(lzma.decompress(SAMPLES.read_bytes()).decode())
