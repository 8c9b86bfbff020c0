"""protobuf.py: protocol buffers as they are on disk: the fields of a message, one after the other.

tag      varint: number << 3 | type
varint   7 bits a byte, the lowest first; the top bit says that more follow
bytes    varint length, and so many bytes: text, a message, or packed numbers

Groups, which nobody writes any more, are refused."""

import struct

from scan import Failed, damaged

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
FIXED = {FIXED64: "<Q", FIXED32: "<I"}
VARINT_MOST = 10  # bytes: 64 bits by 7
NUMBER_MOST = (1 << 29) - 1
SHORT = frozenset(range(8 | BYTES, 0x80, 8))  # tags of BYTES that are one byte


def varint(data, at):
    """The number there, and where it ends."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for i in range(VARINT_MOST):
        if at + i == len(data):
            raise damaged("a number that does not end")
        byte = data[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80 and not value >> 64:
            return value, at + i + 1
    raise damaged("a number of more than 64 bits")


def split_field(head, left):
    """The field with which these bytes begin, of a message of which so many are left."""
    tag, at = varint(head, 0)
    number, kind = tag >> 3, tag & 7
    if not 0 < number <= NUMBER_MOST:
        raise damaged("a field without a valid number")
    if kind == BYTES:
        size, at = varint(head, at)
        if size > left - at:
            raise damaged("a field that is longer than its message")
        return number, kind, at, size, at + size
    if kind == VARINT:
        value, at = varint(head, at)
        return number, kind, value, 0, at
    if kind not in FIXED:
        raise damaged("a group or an unknown type")
    size = struct.calcsize(FIXED[kind])
    if size > len(head) - at:
        raise damaged("a number that does not end")
    return number, kind, struct.unpack_from(FIXED[kind], head, at)[0], 0, at + size


def next_field(source, start, at, end):
    """The field at `at` of the message [start, end): its number and type; of BYTES their offset and
    size, else the number, as unsigned; and where the next field begins. No bytes are read."""
    head = source.peek(at, min(2 * VARINT_MOST, end - at))
    if len(head) > 1 and head[0] in SHORT and head[1] < 0x80 and head[1] + 2 <= end - at:
        return head[0] >> 3, BYTES, at + 2, head[1], at + 2 + head[1]  # as most are
    try:
        number, kind, value, size, stop = split_field(head, end - at)
    except Failed as error:
        raise damaged(f"{error} at byte {at - start} of a message of {end - start}") from None
    return number, kind, at + value if kind == BYTES else value, size, at + stop


def next_varint(source, start, at, end):
    """The one of packed numbers, and where the next begins."""
    try:
        value, stop = varint(source.peek(at, min(VARINT_MOST, end - at)), 0)
    except Failed as error:
        raise damaged(f"{error} at byte {at - start} of a message of {end - start}") from None
    return value, at + stop
