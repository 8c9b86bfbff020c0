"""table.py FILE: the images of a Parquet or Arrow file whose pages foldfs does not read, as those
that LZ4 or brotli compressed, or those of DELTA encodings: by pyarrow, with the columns, classes
and names that the same file would have without."""

import os
import sys

import columns
import scan
from images import DAMAGED, Refused, main, need, say, suffix

AT_ONCE = 64  # rows
BYTES, TEXTS = (f"{name} large_{name} {name}_view".split() for name in ("binary", "string"))


class Tree:
    """What columns.py says."""

    names = ()

    def note(self, text, *counts):
        if all(counts[:1]):
            for count in counts:
                text = text.replace("{}", f"{count:,}", 1)
            say(text)

    def name_classes(self, names):
        self.names = names


class Source:
    def __init__(self, image_key, label_key, name_key):
        self.option = {"image_key": image_key, "label_key": label_key, "name_key": name_key,
                       "classes": "0"}


class Column(columns.Leaf):
    """`path` leads to it, from the top."""

    def __init__(self, path, has):
        super().__init__(".".join(path), has)
        self.path = path


def leaves_of(types, field, above=(), repeated=False):
    kind, path = field.type, (*above, field.name)
    if types.is_struct(kind):
        for child in kind:
            yield from leaves_of(types, child, path, repeated)
        return
    if types.is_list(kind) or types.is_large_list(kind):
        yield from leaves_of(types, kind.value_field.with_name("element"), (*path, "list"), True)
        return
    value = kind.value_type if types.is_dictionary(kind) else kind
    yield Column(path, columns.LISTS if repeated or types.is_nested(value) else
                 columns.INTEGERS if types.is_integer(value) else
                 columns.BYTES if str(value) in BYTES else
                 columns.TEXTS if str(value) in TEXTS else str(value))


def values_of(arrow, batch, column):
    if not column:
        return [None] * batch.num_rows
    found = batch.column(batch.schema.get_field_index(column.path[0]))
    if column.path[1:]:
        found = arrow.compute.struct_field(found, list(column.path[1:]))
    return found.to_pylist()


def open_table(arrow, source):
    """Its schema, and what reads some columns of it: batches."""
    with open(source, "rb") as file:
        head = file.read(8)
    if head[:4] == b"PAR1":
        import pyarrow.parquet
        file = pyarrow.parquet.ParquetFile(source)
        return file.schema_arrow, lambda wanted: file.iter_batches(AT_ONCE, columns=wanted)
    if head == b"ARROW1\0\0":
        file = arrow.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
        return file.schema, lambda wanted: batches
    file = arrow.ipc.open_stream(source)
    return file.schema, lambda wanted: file


class Rows:
    def __init__(self, tar, names, source):
        self.tar, self.names = tar, names
        self.stem = os.path.basename(source).rpartition(".")[0] or os.path.basename(source)
        self.time = os.stat(source).st_mtime_ns

    def add(self, record, data, label, path):
        name = path.rpartition("/")[2] if path else f"{self.stem}-{record:08}"
        if not path or "." not in name:
            name += suffix(data[:256]) or ".bin"
        if isinstance(label, bytes):
            label = os.fsdecode(label)
        folder = "" if isinstance(label, str) and label else "images"
        if isinstance(label, int) and label >= 0:
            folder, above = "", self.names[label] if label < len(self.names) else ""
            name = f"{above.replace('/', '_')}/{name}" if above else name
        self.tar.add(f"record {record}", folder, name, data, self.time,
                     label=label if not folder else None)


def write(source, tar):
    arrow = need("pyarrow", "such Parquet and Arrow files")
    import pyarrow.compute  # noqa: F401
    tree = Tree()
    try:
        schema, batches = open_table(arrow, source)
        leaves = [leaf for field in schema for leaf in leaves_of(arrow.types, field)]
        note = (schema.metadata or {}).get(b"huggingface", b"")
        found = columns.Columns(Source(*sys.argv[2:5]), tree, leaves, note)
        rows = Rows(tar, tree.names, source)
        wanted = [found.image, found.label, found.path]
        for batch in batches([column.name for column in wanted if column]):
            for data, label, path in zip(*(values_of(arrow, batch, column) for column in wanted)):
                if data is None:
                    found.pass_over(1)
                else:
                    rows.add(found.record, data, label, path)
                    found.record += 1
        found.end()
    except scan.Failed as error:
        raise Refused(str(error)) from None
    except NotImplementedError as error:  # of an old pyarrow
        raise Refused(f"pyarrow {arrow.__version__}: {error}") from None
    except arrow.ArrowException as error:
        raise Refused(f"damaged: {error}", DAMAGED) from None


if __name__ == "__main__":
    sys.exit(main(write))
