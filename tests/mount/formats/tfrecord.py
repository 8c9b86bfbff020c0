"""TFRecord files of Examples, written by what TensorFlow publishes of both: example.proto,
feature.proto, and the framing of records."""

import struct

from formats import protobuf

CASTAGNOLI = 0x82F63B78


def make_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (CASTAGNOLI if byte & 1 else 0)
        yield byte


TABLE = [*make_table()]


def masked_crc(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def feature(value):
    """Of bytes, text or a float: a list of one; of integers: one of them, packed."""
    if isinstance(value, (bytes, str)):
        value = value.encode() if isinstance(value, str) else value
        return protobuf.data(1, protobuf.data(1, value))
    if isinstance(value, float):
        return protobuf.data(2, protobuf.data(1, struct.pack("<f", value)))
    numbers = [value] if isinstance(value, int) else value
    return protobuf.data(3, protobuf.data(1, b"".join(map(protobuf.varint, numbers))))


def example(features):
    entries = [protobuf.data(1, key.encode()) + protobuf.data(2, feature(value))
               for key, value in features.items()]
    return protobuf.data(1, b"".join(protobuf.data(1, entry) for entry in entries))


def record(data, checked=True):
    """Python takes seconds for the checksums of many photos, which can be left out."""
    length = struct.pack("<Q", len(data))
    crc = masked_crc(data) if checked else 0
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", crc)


def write(path, examples, checked=True):
    path.write_bytes(b"".join(record(example(e), checked) for e in examples))
    return path
