"""What the formats of LMDBs share: records, which the walker of foldfs finds, and their values."""

import struct

RECORD = struct.Struct("<HHQQ")
BATCH = 512
FIRST = 16
NUMBER_MOST = (1 << 32) - 1


class Dialect:
    """A format as index.py asks for it; its functions get the source, and the tree."""
    LMDB = True

    def __init__(self, name, probe, scan, takes=0):
        self.NAME, self.TAKES, self.probe, self.scan = name, takes, probe, scan


def ask(source, count, *key):
    """The next records, as (key, offset, size, head), or those from a key on. The head has the
    first bytes of a value that is in memory."""
    data = source.channel.ask(b"k", b"%d" % count, *key)
    found, at = [], 0
    while at < len(data):
        key_size, head_size, offset, size = RECORD.unpack_from(data, at)
        key = at + RECORD.size
        head = key + key_size
        at = head + head_size
        found.append((data[key:head], offset, size, data[head:at]))
    return found


def walk(source):
    """All records, by their keys."""
    found = ask(source, BATCH, b"")
    while found:
        yield from found
        found = ask(source, BATCH)


def note_count(tree, key, said, count):
    """Of what the writer has counted itself; None: it has not."""
    if said not in (None, count):
        tree.note(f"{{}} records, where {key} says {{}}", count, said)


def first(source):
    """The first record, or None."""
    return next(iter(ask(source, 1, b"")), None)


class Value:
    """The bytes of a record, of which the first and the last ones are here."""
    __slots__ = ("source", "offset", "size", "head", "tail")
    missed = 0  # questions for others

    def __init__(self, source, offset, size, head=b"", tail=b""):
        self.source, self.offset, self.size, self.head, self.tail = source, offset, size, head, tail

    def get(self, at, size):
        """The caller knows that they are in it."""
        end = at + size
        if end <= len(self.head):
            return self.head[at:end]
        start = self.size - len(self.tail)
        if at >= start:
            return self.tail[at - start:end - start]
        Value.missed += 1
        return self.source.get(self.offset + at, size)

    peek = get  # as a source has it

    def first(self, at, size):
        """Those that tell what these bytes are."""
        return self.get(at, min(size, FIRST))


class Values:
    """Reads the values of records (offset, size, ...), of each its ends. Where they lack what is
    asked for, those of the next ones are longer."""

    def __init__(self, source, head, tail):
        self.source, self.head, self.tail = source, head, tail

    def fields(self, records):
        return [b"%d\0%d" % (self.head, self.tail),
                *[b"%d\0%d" % (record[0], record[1]) for record in records]]

    def read(self, records):
        """(record, its value) of each."""
        batches = [records[i:i + BATCH] for i in range(0, len(records), BATCH)]
        for number, batch in enumerate(batches):
            if number == 0:
                self.source.channel.say(b"a", *self.fields(batch))
            if number + 1 < len(batches):
                self.source.channel.say(b"a", *self.fields(batches[number + 1]))
            yield from self.read_batch(batch)

    def read_batch(self, batch):
        Value.missed, at = 0, 0
        data = self.source.channel.ask(b"v", *self.fields(batch))
        for record in batch:
            offset, size = record[0], record[1]
            middle = at + min(self.head, size)
            end = at + min(self.head + self.tail, size)
            yield record, Value(self.source, offset, size, data[at:middle], data[middle:end])
            at = end
        if Value.missed > len(batch) // 2:
            self.head, self.tail = 4096, 1024
