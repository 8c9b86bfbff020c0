"""LMDBs as Caffe's convert_imageset writes them: caffe.proto's Datum, by the keys of its source."""

from formats import protobuf

CHANNELS, HEIGHT, WIDTH, DATA, LABEL, FLOATS, ENCODED = range(1, 8)


def encoded(data, label, shape=(3, 0, 0)):
    sizes = b"".join(map(protobuf.number, (CHANNELS, HEIGHT, WIDTH), shape))
    return sizes + protobuf.data(DATA, data) + protobuf.number(LABEL, label) + \
        protobuf.number(ENCODED, 1)


def pixels(array, label):
    """Of an array as OpenCV has them: height, width, and blue, green, red."""
    planes = array.transpose(2, 0, 1) if array.ndim == 3 else array[None]
    sizes = b"".join(map(protobuf.number, (CHANNELS, HEIGHT, WIDTH), planes.shape))
    return sizes + protobuf.data(DATA, planes.tobytes()) + protobuf.number(LABEL, label)


def key(number, path=None):
    return f"{number:08}_{path}".encode() if path else f"{number:08}".encode()
