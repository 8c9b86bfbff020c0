"""msgpack (https://github.com/msgpack/msgpack/blob/master/spec.md), and arrays as msgpack_numpy has
them: neither is a dependency of these tests."""

import struct


def size(count, small, forms):
    """The first bytes of something of that many items or bytes: `small` is (limit, code)."""
    if small and count < small[0]:
        return bytes([small[1] | count])
    for code, form in forms:
        if count < 1 << 8 * struct.calcsize(form):
            return bytes([code]) + struct.pack(">" + form, count)
    raise ValueError(count)


def number(value):
    if -32 <= value < 128:
        return struct.pack("b", value)
    if value < 0:
        return b"\xd3" + struct.pack(">q", value)
    return size(value, None, [(0xcc, "B"), (0xcd, "H"), (0xce, "I"), (0xcf, "Q")])


def dumps(value, binary=True):
    """`binary`: use_bin_type, which msgpack 1.0 has by default."""
    if value is None or isinstance(value, bool):
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, int):
        return number(value)
    if isinstance(value, bytes) and binary:
        return size(len(value), None, [(0xc4, "B"), (0xc5, "H"), (0xc6, "I")]) + value
    if isinstance(value, (bytes, str)):
        data = value if isinstance(value, bytes) else value.encode()
        return size(len(data), (32, 0xa0), [(0xd9, "B"), (0xda, "H"), (0xdb, "I")]) + data
    items = [item for pair in value.items() for item in pair] if isinstance(value, dict) else value
    head = size(len(value), (16, 0x80 if isinstance(value, dict) else 0x90),
                [(0xde, "H"), (0xdf, "I")] if isinstance(value, dict) else
                [(0xdc, "H"), (0xdd, "I")])
    return head + b"".join(dumps(item, binary) for item in items)


def ndarray(data, shape=None):
    """An array of uint8, as msgpack_numpy.encode() has it."""
    return {b"nd": True, b"type": "|u1", b"kind": b"", b"shape": shape or [len(data)],
            b"data": data}


def scalar(value):
    """The same of a number of numpy."""
    return {b"nd": False, b"type": value.dtype.str, b"data": value.data.tobytes()}
