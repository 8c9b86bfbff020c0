"""TFRecord files and the protobufs in them, read by what TensorFlow publishes of both: each record
is a length, its CRC, an Example, its CRC."""

import struct

from formats.tfrecord import masked_crc


def records(path, check=True):
    """(offset, length with the framing, data) of each."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        length, length_crc = struct.unpack_from("<QI", data, at)
        record = data[at + 12:at + 12 + length]
        data_crc, = struct.unpack_from("<I", data, at + 12 + length)
        assert len(record) == length and length_crc == masked_crc(data[at:at + 8])
        assert not check or data_crc == masked_crc(record)
        yield at, length + 16, record
        at += length + 16
    assert at == len(data)


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, bytes) of each field of a message, all of which have a length."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        assert tag & 7 == 2
        length, at = varint(data, at)
        assert at + length <= len(data)
        yield tag >> 3, data[at:at + length]
        at += length


def feature(data):
    """The one value of a Feature."""
    (kind, values), = fields(data)
    (number, value), = fields(values)
    assert number == 1 and kind in (1, 3)
    if kind == 1:
        return value
    value, end = varint(value, 0)
    return value


def example(data):
    """{name: value}, in the order of the record."""
    (number, features), = fields(data)
    assert number == 1
    found = {}
    for number, entry in fields(features):
        (one, name), (two, value) = fields(entry)
        assert (number, one, two) == (1, 1, 2) and name not in found
        found[name.decode()] = feature(value)
    return found
