"""Images and labels in Python's encodings, as index makers find them (lmdb_*.py of
python/foldfs/sources): what is refused, by which words, and that no byte of them is trusted."""

import pickle
import random
import struct
import sys
from pathlib import Path

import pytest

from formats import arrow, arrow_samples, caffe, msgpack

SOURCES = Path(__file__).resolve().parents[2] / "python" / "foldfs" / "sources"
NO_OPTION = {"image_key": "", "label_key": "", "name_key": ""}


@pytest.fixture(name="read", scope="module")
def make_read():
    """(bytes, label) of a value."""
    sys.path.insert(0, str(SOURCES))
    import lmdb_caffe
    import lmdb_numbered
    from lmdb_records import Value
    sys.path.remove(str(SOURCES))

    def read(data):
        sample = lmdb_numbered.read(Value(None, 0, len(data), data), NO_OPTION)
        assert 0 <= sample.offset and sample.offset + sample.size <= len(data)
        return data[sample.offset:sample.offset + sample.size], sample.label

    read.datum_of = lambda data: lmdb_caffe.datum_of(Value(None, 0, len(data), data))
    read.refusal = sys.modules["scan"].Failed
    return read


def array(shape, by_columns=b"\x89"):
    return (b"\x80\3](cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85C\1b\x87R(K\1"
            b"K" + shape + b"\x85cnumpy\ndtype\nX\2\0\0\0u1\x89\x88\x87R(K\3X\1\0\0\0|NNN"
            b"J\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb" + by_columns + b"C\5imagetbK\7e.")


@pytest.mark.parametrize("data", [
    b"\x80\3C\5image\x8a\1\7\x86.", b"\x80\2U\5imageq\1K\7\x86q\2.", b"(U\5imageI7\nt.",
    b"\x80\4\x95\x13\0\0\0\0\0\0\0C\5image\x94K\7\x86\x94.", array(b"\5"),
    b"\x80\2U\5imagecnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nU\2i4\x85RU\4\7\0\0\0\x86R\x86.",
    b"\x92\xc6\0\0\0\5image\xd3\0\0\0\0\0\0\0\7", *arrow_samples.samples().values()])
def test_what_is_read(read, data):
    assert read(data) == (b"image", 7)


IMAGE = b"image"
FORMS = {
    "tuple": (IMAGE, 7), "collated": ((IMAGE,), (7,)), "list": [[IMAGE], 7],
    "batch": [(IMAGE, 7)], "nested": (((IMAGE,),), 7), "text": (IMAGE, "7"),
    "bytes": (IMAGE, b"7"), "dict": {"label": 7, "img": IMAGE},
    "huggingface": {"image": {"bytes": IMAGE, "path": None}, "label": 7}}


def forms_of_numpy():
    numpy = pytest.importorskip("numpy")
    array = numpy.frombuffer(IMAGE, "u1")
    return {"array": ((IMAGE,), numpy.array([7])), "int32": (IMAGE, numpy.array([[7]], "i4")),
            "0d": (IMAGE, numpy.array(7)), "scalar": (IMAGE, numpy.int64(7)),
            "uint8": (bytearray(IMAGE), numpy.uint8(7)), "tensorpack": [array, 7],
            "dict of lists": {"image": [IMAGE], "target": numpy.array([7])}}


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_forms_of_loaders(read, protocol):
    for form, value in {**FORMS, **forms_of_numpy()}.items():
        assert read(pickle.dumps(value, protocol)) == (IMAGE, 7), form


def test_forms_of_arrow(read):
    labels = [arrow.Ndarray((7).to_bytes(width, "little"), (1,), width) for width in (1, 4, 8)]
    for value in [(IMAGE, 7), [arrow.Ndarray(IMAGE), 7], *(((IMAGE,), label) for label in labels)]:
        assert read(arrow.serialize(value)) == (IMAGE, 7)


def tensor(kind, code):
    """As torch pickles one of a number, with the end of what torch.save() wrote."""
    saved = f"ctorch\n{kind}Storage\n".encode() + bytes(40) + struct.pack("<q" + code, 1, 7)
    return (b"\x80\4C\5imagectorch._utils\n_rebuild_tensor_v2\n(ctorch.storage\n"
            b"_load_from_bytes\nC" + bytes([len(saved)]) + saved +
            b"\x85RK\0K\1\x85K\1\x85\x89NtR\x86.")


def test_forms_of_tensors(read):
    for kind, code in zip(("Long", "Int", "Short", "Char", "Byte"), "qihbB"):
        assert read(tensor(kind, code)) == (IMAGE, 7)


def test_forms_of_msgpack(read):
    numpy = pytest.importorskip("numpy")
    for value in [msgpack.ndarray(IMAGE), 7], [msgpack.ndarray(IMAGE),
                                               msgpack.scalar(numpy.int32(7))]:
        assert read(msgpack.dumps(value)) == read(msgpack.dumps(value, False)) == (IMAGE, 7)


OTHER = ", where an image and its label are expected"


@pytest.mark.parametrize("data, why", [
    (b"\x80\3K\1C\1x\x86.", "a number, where an image is expected"),
    (b"\x80\3C\1xK\1K\1\x87.", "more than an image and its label"),
    (b"\x80\3C\1xG\0\0\0\0\0\0\0\0\x86.", "a float" + OTHER),
    (b"\x80\4]q\0h\0a.", "lists in lists" + OTHER),
    (b"\x80\4}\x8c\1aC\1xs.", "a dict without 'image': --image-key names the image"),
    (b"\x80\3).", "no image"),
    (array(b"\6"), "an array that has not as many bytes as it says"),
    (array(b"\5", b"\x88"), "another object" + OTHER),
    (b"(S'ls'\nios\nsystem\n.", "a pickle with the opcode STRING"),
    (b"\x80\3cposix\nsystem\nX\2\0\0\0ls\x85R.",
     "a pickle that needs posix.system, which is not called"),
    (b"\x80\4\x8c\x08builtins\x8c\4eval\x93.",
     "a pickle that needs builtins.eval, which is not called"),
    (b"\x80\3)\x81.", "a pickle with the opcode NEWOBJ"),
    (b"\x80\3\x8a\x09.........", "a pickle with a number of more than 64 bits"),
    (b"\x80\3V\\u20ac\n.", "a pickle of protocol 0 with text that is not ASCII"),
    (b"\x80\3\xff.", "a pickle with the byte 0xff for an opcode"),
    (b"\x80\3B\xff\xff\xff\x7fx.", "a pickle that is cut off"),
    (b"\x80\3.", "a pickle whose opcode STOP finds no value"),
    (b"\x80\3(K\1\x86.", "a pickle whose opcode TUPLE2 finds no value"),
    (b"\x80\3K\1t.", "a pickle whose opcode TUPLE finds no mark"),
    (b"\x80\3}K\1a.", "a pickle whose opcode APPEND finds nothing to add to"),
    (b"\x80\3}(K\1u.", "a pickle whose opcode SETITEMS finds a key without a value"),
    (b"\x80\3h\0.", "a pickle whose opcode BINGET finds nothing in the memo"),
    (b"\x80\3Nr\xff\xff\xff\xff.",
     "a pickle whose opcode LONG_BINPUT leaves places of the memo out"),
    (b"\x80\3K\1K\2.", "a pickle whose opcode STOP comes before the end"),
    (b"\x80\3K\1)R.", "a pickle whose opcode REDUCE finds nothing to call"),
    (b"\x80\3I1x\n.", "a pickle whose opcode INT has no number of 64 bits"),
    (b"\x80\3I1", "a pickle whose opcode INT has a line that is cut off, or too long"),
    (b"\x92\xc1\7", "msgpack with the type 0xc1"),
    (b"\x92\xc4\1x\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "a number of more than 63 bits"),
    (b"\x92\xdf\xff\xff\xff\xff", "a dict" + OTHER),
    (b"\x92\xc6\xff\xff\xff\xffx", "msgpack that is cut off"),
    (b"\x92\xc4\1x\7x", "msgpack that ends before its record"),
    (b"\1\0\0\0" + arrow.serialize((b"image", 7))[4:], "tensors or buffers" + OTHER),
    (b"an image of an LMDB", "neither a pickle, nor Arrow, nor msgpack"),
])
def test_what_is_refused(read, data, why):
    with pytest.raises(read.refusal) as refused:
        read(data)
    assert str(refused.value) == why


@pytest.mark.parametrize("data", [
    tensor("Long", "q"),
    pickle.dumps({"image": {"bytes": b"image", "path": "a.jpg"}, "label": [3], "x": 1}),
    pickle.dumps([b"image", "a.jpg", 3.5], 2), array(b"\5"),
    b"\x80\4\x95\x13\0\0\0\0\0\0\0C\5image\x94K\7\x86\x94}(X\1\0\0\0ah\0u]q\0(N\x88Laaa\x86e\x87.",
    msgpack.dumps([msgpack.ndarray(b"image"), 3]), *arrow_samples.samples().values()])
def test_no_byte_is_trusted(read, data):
    """Cut off anywhere, and with any byte changed, it is read or refused."""
    for at in range(len(data)):
        bad = [data[:at] + bytes([byte]) + data[at + 1:]
               for byte in (0, 0x40, 0x80, 0xff, random.randrange(256))]
        for one in (data[:at], *bad):
            try:
                read(one)
            except read.refusal as error:
                assert str(error)


def test_no_byte_of_a_datum_is_trusted(read):
    import numpy
    for data in (caffe.encoded(b"image", 7), caffe.pixels(numpy.zeros((2, 3, 3), "u1"), 300)):
        for at in range(len(data)):
            for one in (data[:at], *(data[:at] + bytes([b]) + data[at + 1:] for b in range(256))):
                try:
                    found, offset = read.datum_of(one)
                    assert offset + found.get(caffe.DATA, 0) <= len(one)
                except read.refusal as error:
                    assert str(error)
