"""A writer of zarr 2, zarr 3 and N5, after their specifications: arrays whose chunks are files of
images, and arrays of integers."""

import gzip
import itertools
import json
import os
import struct
import zlib

NAMES = {"2": ".zarray", "3": "zarr.json", "n5": "attributes.json"}


def zstd(data):
    """A frame of one raw block."""
    return (b"\x28\xb5\x2f\xfd\xa0" + struct.pack("<I", len(data)) +
            struct.pack("<I", len(data) << 3 | 1)[:3] + data)


def blosc(data):
    """A frame of bytes that are not compressed."""
    return struct.pack("<BBBBIII", 2, 1, 2, 1, len(data), len(data), len(data) + 16) + data


PACK = {None: bytes, "zlib": zlib.compress, "gzip": gzip.compress, "zstd": zstd, "blosc": blosc}


def metadata(version, shape, chunk, codec, kind, separator, keys, fill):
    """`kind` is as of numpy: "|u1", "<i8"."""
    name = {"u": "uint", "i": "int", "f": "float"}[kind[1]] + str(8 * int(kind[2:]))
    if version == "2":
        made = {"shape": shape, "chunks": chunk, "dtype": kind, "fill_value": fill,
                "compressor": codec and {"id": codec, "level": 5, "tables": None},
                "filters": None, "order": "C", "zarr_format": 2}
        return {**made, "dimension_separator": separator} if separator else made
    if version == "3":
        endian = {"endian": "big" if kind[0] == ">" else "little"}
        codecs = [{"name": "bytes", "configuration": endian}] if "image" not in str(codec) else []
        codecs += [{"name": codec, "configuration": {}}] if codec else []
        return {"shape": shape, "data_type": name, "fill_value": fill, "codecs": codecs,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
                "chunk_key_encoding": {"name": keys, "configuration": {"separator": separator}},
                "zarr_format": 3, "node_type": "array"}
    return {"dimensions": shape[::-1], "blockSize": chunk[::-1], "dataType": name,
            "compression": {"type": codec or "raw"}}


def key(version, at, separator, keys):
    if version == "n5":
        return "/".join(map(str, at[::-1]))
    text = (separator or ".").join(map(str, at))
    return f"c{separator}{text}" if version == "3" and keys == "default" else text


def write_file(path, data):
    os.makedirs(path.parent, exist_ok=True)
    path.write_bytes(data)


def group(path, version):
    name, text = {"2": (".zgroup", {"zarr_format": 2}), "n5": (NAMES["n5"], {"n5": "4.0.0"}),
                  "3": (NAMES["3"], {"zarr_format": 3, "node_type": "group"})}[version]
    write_file(path / name, json.dumps(text).encode())
    return path


def array(path, version, shape, chunk, chunks, codec=None, kind="|u1", separator=None,
          keys="default", fill=0, mode=0, **more):
    """`chunks`: {indices: bytes}, as they are stored, but for the header of N5."""
    made = metadata(version, shape, chunk, codec, kind, separator, keys, fill)
    write_file(path / NAMES[version], json.dumps({**made, **more}).encode())
    for at, data in chunks.items():
        if version == "n5":
            lengths = [min(size, whole - size * index)
                       for size, whole, index in zip(chunk, shape, at)][::-1]
            data = (struct.pack(f">HH{len(lengths)}I", mode, len(lengths), *lengths) +
                    (struct.pack(">I", 0) if mode else b"") + data)
        write_file(path / key(version, at, separator, keys), data)
    return path


def images(path, version, files, codec="imagecodecs_jpeg", **how):
    """A chunk for each of the files; None: there is none."""
    chunks = {(i, 0, 0): data for i, data in enumerate(files) if data is not None}
    return array(path, version, [len(files), 8, 8], [1, 8, 8], chunks, codec, **how)


def labels(path, version, values, kind="<i8", chunk=4, codec=None, lacking=(), **how):
    order = ">" if version == "n5" else kind[0].replace("|", "<")
    code = order + "bhiqBHIQ"["i1 i2 i4 i8 u1 u2 u4 u8".split().index(kind[1:])]
    chunks = {}
    for number in range(-(-len(values) // chunk)):
        part = list(itertools.islice(values, number * chunk, (number + 1) * chunk))
        if version != "n5":
            part += [0] * (chunk - len(part))
        if number not in lacking:
            chunks[number,] = PACK[codec](b"".join(struct.pack(code, value) for value in part))
    return array(path, version, [len(values)], [chunk], chunks, codec, kind, **how)
