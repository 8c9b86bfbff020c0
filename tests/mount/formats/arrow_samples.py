"""What pyarrow.serialize() itself wrote, version by version: {(version, "pair" or "array"): bytes}.
It is in hex in tests/unit/arrow_samples.h, whose head says how."""

import pathlib
import re

HEADER = pathlib.Path(__file__).resolve().parents[2] / "unit" / "arrow_samples.h"


def unhex(text):
    parts = re.findall(r"\.(\d+)\.|([^.]+)", text)
    return b"".join(bytes(int(zeros or 0)) + bytes.fromhex(digits) for zeros, digits in parts)


def samples():
    text = HEADER.read_text(encoding="utf-8")
    arrays = re.findall(r"char arrow_(\w+?)_([\d_]+)\[\] =((?:\s+\".*\")+);", text)
    return {(version.replace("_", "."), kind): unhex("".join(re.findall(r'"(.*)"', rows)))
            for kind, version, rows in arrays}
