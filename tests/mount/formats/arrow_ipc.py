"""A writer of Arrow files and streams as Hugging Face's datasets have them, after apache/arrow
(format/Message.fbs, Schema.fbs, File.fbs): a column of images, struct{bytes, path}, and one of
labels."""

import json
import struct

from .arrow import BINARY, INT, RECORDS, SCHEMA, STRUCT, message
from .flatbuffer import Table, Text, Vector

UTF8, LARGE_BINARY, LARGE_UTF8 = 5, 19, 20
DICTIONARY = 2
MAGIC = b"ARROW1"
END = b"\xff\xff\xff\xff\0\0\0\0"


def field(name, kind, about=None, children=(), coded=None):
    return Table(Text(name), ("B", 1), ("B", kind), about or Table(), coded, Vector(list(children)))


def schema(names, wide, coded, signed):
    texts = [field("bytes", LARGE_BINARY if wide else BINARY),
             field("path", LARGE_UTF8 if wide else UTF8)]
    label = {"names": names, "_type": "ClassLabel"} if names else {"dtype": "int64"}
    note = json.dumps({"info": {"features": {"image": {"_type": "Image"}, "label": label}}})
    number = Table(("i", 32 if wide else 64), ("B", signed))
    fields = [field("image", STRUCT, None, texts),
              field("label", UTF8, coded=Table(("q", 7), number)) if coded else
              field("label", INT, number)]
    return Table(("h", 0), Vector(fields), Vector([Table(Text("huggingface"), Text(note))]))


class Body:
    def __init__(self):
        self.nodes, self.buffers, self.data = [], [], bytearray()

    def add(self, data):
        self.buffers.append((len(self.data), len(data)))
        self.data += data + bytes(-len(data) % 8)

    def node(self, values):
        """With the bits of those that are there, unless all are."""
        self.nodes.append((len(values), values.count(None)))
        bits = sum(1 << i for i, value in enumerate(values) if value is not None)
        self.add(bits.to_bytes((len(values) + 7) // 8, "little") if None in values else b"")

    def texts(self, values, wide):
        self.node(values)
        ends = [0]
        for value in values:
            ends.append(ends[-1] + len(value or b""))
        self.add(struct.pack(f"<{len(ends)}{'q' if wide else 'i'}", *ends))
        self.add(b"".join(value or b"" for value in values))


def batch(rows, wide, codec):
    body = Body()
    images = [None if data is None else (data, path) for data, path, _ in rows]
    body.node(images)
    body.texts([image and image[0] for image in images], wide)
    body.texts([image and image[1] for image in images], wide)
    body.node([label for *_, label in rows])
    body.add(struct.pack(f"<{len(rows)}{'i' if wide else 'q'}",
                         *(label or 0 for *_, label in rows)))
    packed = [Table(("b", codec), ("b", 0))] if codec is not None else []
    header = Table(("q", len(rows)), Vector(body.nodes, "qq"), Vector(body.buffers, "qq"), *packed)
    return message(RECORDS, header, bytes(body.data))


def dictionary(values, more):
    body = Body()
    body.texts(values, False)
    header = Table(("q", len(values)), Vector(body.nodes, "qq"), Vector(body.buffers, "qq"))
    return message(DICTIONARY, Table(("q", 7), header, ("B", more)), bytes(body.data))


def write(path, rows, names=None, group=1000, file=False, wide=False, codec=None, end=END,
          coded=(), signed=True):
    """Rows are (bytes or None, path or None, label or None). coded: labels are numbers of a
    dictionary of these texts, of which each batch brings one more."""
    out = bytearray(MAGIC + b"\0\0" if file else b"")
    out += message(SCHEMA, schema(names, wide, coded, signed))
    for at in range(0, len(rows), group):
        if at // group < len(coded):
            out += dictionary(coded[at // group:at // group + 1], at > 0)
        out += batch(rows[at:at + group], wide, codec)
    out += end
    if file:  # whose footer repeats where they are
        out += struct.pack("<I6s", 0, MAGIC)
    path.write_bytes(bytes(out))
    return path


def save_to_disk(folder, shards, names):
    folder.mkdir(parents=True)
    files = [f"data-{i:05}-of-{len(shards):05}.arrow" for i in range(len(shards))]
    for name, rows in zip(files, shards):
        write(folder / name, rows, names, group=4)
    (folder / "state.json").write_text(json.dumps(
        {"_data_files": [{"filename": name} for name in files], "_fingerprint": "0"}, indent=2))
    (folder / "dataset_info.json").write_text("{}")
    return folder
