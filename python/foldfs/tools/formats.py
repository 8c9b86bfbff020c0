"""What samples are exported as: what goes around the bytes of an image, how the files are named,
and what they are written with."""

import os
import pickle
import re
import struct
import tarfile

import outputs
import system
from pack import ATTRS, IMAGE_KINDS, IMAGES, Failed, need

KINDS = {suffix.encode(): kind.upper().encode() for suffix, kind in IMAGE_KINDS.items()
         if kind != "GIF"}
GIB = 1 << 30


class Lmdb:
    """Keys are the numbers of the samples, values pickles of (bytes, label): folder2lmdb."""

    name, parts = "lmdb", 0
    BATCH = 64 << 20  # bytes, after which a transaction is committed

    def __init__(self, export):
        self.export = export
        system.find("lmdb")
        self.lmdb = need("lmdb", "writes it")

    @staticmethod
    def refuses(path, size):
        """`path` is that below the root. A newline would end a line in the list of names."""
        return ("a newline in its path" if b"\n" in path else
                "over 4 GiB" if size > 4 * GIB - 65 else None)

    def plan(self, _):
        target = self.export.target
        return [target, target + ".classes.txt", target + ".names.txt"]

    @staticmethod
    def stray():
        return None

    def map_size(self):
        """Room for all samples, and for what a transaction copies."""
        sizes = (sample.size for sample in self.export.samples)
        return (256 << 20) + sum((size // 4096 + 2) * 4096 if size > 1900 else 4 * (size + 96)
                                 for size in sizes)

    def write(self, files):
        target = self.export.target
        file = files.create(target)
        try:
            env = self.lmdb.open(os.fsencode(target + outputs.PARTIAL), subdir=False, lock=False,
                                 sync=False, readahead=False, map_size=self.map_size())
            with env:
                self.fill(env)
        except self.lmdb.Error as error:
            # liblmdb turns a short write into EIO: what more room fails with is why
            os.posix_fallocate(file, os.fstat(file).st_size, self.BATCH)
            raise OSError(0, str(error).rpartition(": ")[2]) from None
        outputs.sync(file)
        os.close(file)
        names = (sample.path[self.export.root_len:] for sample in self.export.samples)
        files.write(target + ".names.txt", b"".join(outputs.listed(names)))

    def fill(self, env):
        count, batched, txn = 0, 0, env.begin(write=True)
        for count, (sample, data, _) in enumerate(self.export.read(), 1):
            value = pickle.dumps((bytes(data), sample.label), protocol=4)
            txn.put(b"%d" % (count - 1), value)
            batched += len(value)
            if batched >= self.BATCH:
                txn.commit()
                batched, txn = 0, env.begin(write=True)
        keys = [b"%d" % number for number in range(count)]
        txn.put(b"__keys__", pickle.dumps(keys, protocol=4))
        txn.put(b"__len__", pickle.dumps(count, protocol=4))
        txn.commit()


class Shards:
    """A format in shards, each with the samples that follow those of the one before."""

    end = b""  # of a shard

    def __init__(self, export):
        self.export = export

    def cut(self, shards, shard_size):
        """How many samples each shard and those before it have."""
        samples = self.export.samples
        if shards > len(samples):
            raise Failed(f"{self.export.pack.name}: {shards} shards are too many for "
                         f"{len(samples)} samples")
        if shards:
            return [len(samples) * (i + 1) // shards for i in range(shards)]
        ends, used, most = [], 0, max(shard_size - len(self.end), 0)
        for number, sample in enumerate(samples):
            head, tail = self.frame(number, sample)
            used += len(head) + sample.size + len(tail)
            if used > most and number:
                ends.append(number)
                used = len(head) + sample.size + len(tail)
        return [*ends, len(samples)]

    def plan(self, options):
        """The files that there will be, the first one first."""
        self.ends = self.cut(int(options.get("shards", 0)), int(options.get("shard-size", GIB)))
        self.shards = [self.shard(i) for i in range(len(self.ends))]
        return [*self.shards, *self.lists(), self.export.target + ".classes.txt"]

    def stray(self):
        """A shard of an export with another number of shards, which readers would take for one of
        this, or what one that was killed has left; or None."""
        folder, stem = os.path.split(self.stem())
        pattern = re.compile(re.escape(stem) + self.STRAY + f"({re.escape(outputs.PARTIAL)}.*)?",
                             re.DOTALL)
        for name in os.listdir(folder or "."):
            found = pattern.fullmatch(name)
            if found and self.is_stray(int(found[1])):
                return os.path.join(folder or ".", name)
        return None

    def lists(self):
        return []

    def write(self, files):
        records, begin = self.records(), 0
        for shard, end in enumerate(self.ends):
            places, offset = [], 0
            with open(files.create(self.shards[shard]), "wb", buffering=0) as file:
                for _, parts in zip(range(begin, end), records):
                    size = outputs.write(file.fileno(), parts)
                    places.append(b"%d %d\n" % (offset, size))
                    offset += size
                outputs.write(file.fileno(), [self.end])
                outputs.sync(file)
            begin = end
            for name in self.lists()[shard:shard + 1]:
                files.write(name, b"".join(places))

    def records(self):
        for number, (sample, data, _) in enumerate(self.export.read()):
            head, tail = self.frame(number, sample)
            yield head, data, tail


# --- tfrecord -------------------------------------------------------------------------------------


TABLE = list(range(256))
for _ in range(8):
    TABLE = [crc >> 1 ^ 0x82f63b78 * (crc & 1) for crc in TABLE]


def crc32c(data, crc=0):
    """That of bytes, of which there should be few, behind what has that CRC-32C."""
    crc ^= 0xffffffff
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xff] ^ crc >> 8
    return crc ^ 0xffffffff


def masked(crc):
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def varint(value):
    data = bytearray()
    while value > 0x7f:
        data.append(value & 0x7f | 0x80)
        value >>= 7
    data.append(value)
    return bytes(data)


def field(number, data, more=0):
    """A field of a protobuf, of bytes or a message; `more` bytes of it follow."""
    return bytes([number << 3 | 2]) + varint(len(data) + more) + data


def feature(name, values, data, more=0):
    """An entry of the map of features, its value being a list of the kind `values`."""
    inner = field(1, data, more)
    outer = field(values, inner, more)
    return field(1, field(1, name) + field(2, outer, more), more)


class Tfrecord(Shards):
    """A record is a length, its CRC, a protobuf Example, its CRC. The Example has the fields of
    TF-Slim's ImageNet, sorted by name as in a deterministic serialisation:

        Example  { 1: Features }
        Features { 1: { 1: name, 2: Feature } ... }
        Feature  { 1: { 1: bytes } } or { 3: { 1: packed varints } }"""

    name, parts = "tfrecord", IMAGES
    STRAY = "-[0-9]+-of-([0-9]+)"

    @staticmethod
    def refuses(_, size):
        return "over 2 GiB" if size > 2 * GIB - (1 << 20) else None  # a protobuf has at most 2

    def frame(self, _, sample):
        """What comes before the bytes, and after them but for the last CRC."""
        folder = sample.folder
        if folder not in self.classes:
            # TF-Slim keeps 0 for the background: what is in no class
            label = varint(sample.label + 1)
            self.classes[folder] = (feature(b"image/class/label", 3, label) +
                                    feature(b"image/class/synset", 1, folder) +
                                    feature(b"image/class/text", 1, folder))
        before = self.classes[folder] + feature(b"image/encoded", 1, b"", sample.size)
        name = sample.path.rpartition(b"/")[2]
        kind = sample.kind if sample.kind != b"-" else KINDS[name.rpartition(b".")[2].lower()]
        after = feature(b"image/filename", 1, name) + feature(b"image/format", 1, kind)
        head = field(1, before, sample.size + len(after))
        if sample.crc is None:
            sample.crc = crc32c(head)
        length = struct.pack("<Q", len(head) + sample.size + len(after))
        return length + masked(crc32c(length)) + head, after + bytes(4)

    def plan(self, options):
        self.classes = {}  # the fields of each
        return super().plan(options)

    def records(self):
        samples = self.export.samples
        for number, sample in enumerate(samples):
            if sample.crc is None:
                self.frame(number, sample)
        crcs = [sample.crc for sample in samples]
        for number, (sample, data, crc) in enumerate(self.export.read(crcs)):
            head, tail = self.frame(number, sample)
            yield head, data, tail[:-4], masked(crc32c(tail[:-4], crc))

    def shard(self, number):
        return f"{self.export.target}-{number:05}-of-{len(self.ends):05}"

    def lists(self):
        """Not TARGET-*, which is how readers find shards."""
        count = len(self.ends)
        return [f"{self.export.target}.tfindex-{i:05}-of-{count:05}" for i in range(count)]

    def stem(self):
        return self.export.target

    def is_stray(self, of):
        return of != len(self.ends)


# --- webdataset -----------------------------------------------------------------------------------


def member(name, size, mode, mtime):
    """The header of a member of a tar: ustar where that can hold it, else after one of pax."""
    if len(name) <= 100 and size < 8 * GIB:
        header = bytearray(struct.pack(
            "100s8s8s8s12s12s8sc100s8s64s8s8s167x", name, b"%07o" % mode, b"0000000", b"0000000",
            b"%011o" % size, b"%011o" % mtime, b"        ", b"0", b"", b"ustar\0" b"00", b"",
            b"0000000", b"0000000"))
        header[148:155] = b"%06o\0" % sum(header)
        return bytes(header)
    info = tarfile.TarInfo(os.fsdecode(name))
    info.size, info.mode, info.mtime = size, mode, mtime
    try:
        return info.tobuf(tarfile.USTAR_FORMAT, "utf-8", "surrogateescape")
    except ValueError:
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")


def padding(size):
    return bytes(-size % 512)


class Webdataset(Shards):
    """Tars in which a sample is two members, KEY.SUFFIX and KEY.cls, sorted by name. A reader takes
    what comes before the first dot of the last name for the key, so keys have no dots there."""

    name, parts = "webdataset", ATTRS
    end = bytes(1024)
    STRAY = r"-([0-9]+)\.tar"

    @staticmethod
    def refuses(path, _):
        name = path.rpartition(b"/")[2]
        return "no name before its suffix" if name.rfind(b".") == 0 else None

    def key(self, number, sample):
        if self.export.numbered:
            return b"%08d" % number
        folder, slash, name = sample.path[self.export.root_len:].rpartition(b"/")
        return folder + slash + name.rpartition(b".")[0].replace(b".", b"_")

    def frame(self, number, sample):
        key, suffix = self.key(number, sample), sample.path.rpartition(b".")[2]
        label = b"%d" % sample.label
        image = member(key + b"." + suffix, sample.size, sample.mode, sample.mtime)
        text = member(key + b".cls", len(label), sample.mode, sample.mtime) + label
        text += padding(len(label))
        if suffix < b"cls":
            return image, padding(sample.size) + text
        return text + image, padding(sample.size)

    def plan(self, options):
        found = {}  # by key
        for number, sample in enumerate(self.export.samples):
            other = found.setdefault(self.key(number, sample), sample)
            if other is not sample:
                raise Failed(f"{self.export.pack.name}: {os.fsdecode(other.path)} and "
                             f"{os.fsdecode(sample.path)} would have one key; --keys=number "
                             "numbers the samples")
        return super().plan(options)

    def stem(self):
        """'x.tar' and 'x' both give x-000000.tar."""
        target = self.export.target
        return target[:-4] if target.endswith(".tar") and len(target) > 4 else target

    def shard(self, number):
        return f"{self.stem()}-{number:06}.tar"

    def is_stray(self, shard):
        return shard >= len(self.ends)


FORMATS = {format.name: format for format in (Lmdb, Tfrecord, Webdataset)}
