"""index.py: where the images lie in files of other formats. foldpack and foldfs run it, and tell it
of one file after the other; pack/foreign/maker.h says how they talk. It has no access but the
socket that is its standard input: the bytes of a file come from there. Nothing of a file is
executed, and each number in it is checked before it is used.

A format is a module beside this one with NAME, TAKES (bits of scan.py), probe(source) -> bool and
scan(source, tree), and perhaps ARCHIVE, STREAMED (as struct maker_format of pack/foreign/maker.h
has them) and LMDB (it is asked for LMDB files only)."""

import os
import resource
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import arrow  # noqa: E402
import ffcv  # noqa: E402
from lmdb_caffe import CAFFE  # noqa: E402
from lmdb_crnn import CRNN  # noqa: E402
from lmdb_keyed import BASICSR, LSUN, PATHS, SODTOOLS  # noqa: E402
from lmdb_numbered import FOLDER2LMDB, IMAGE2LMDB, TENSORPACK  # noqa: E402
import parquet  # noqa: E402
import recordio  # noqa: E402
import tar  # noqa: E402
import tfrecord  # noqa: E402
import zip as zips  # noqa: E402
from scan import Channel, Failed, Source, Tree, unsupported  # noqa: E402

# In the order in which they are asked: LMDBs by their keys and values, last any LMDB of files.
FORMATS = (arrow, parquet, tfrecord, recordio, ffcv, zips, tar,
           IMAGE2LMDB, TENSORPACK, FOLDER2LMDB, CAFFE, CRNN, LSUN, BASICSR, SODTOOLS, PATHS)
MEMORY_MOST = 8 << 30
SECONDS_MOST = 3600  # of a processor


def confine():
    """From now on nothing can be opened."""
    for what, most in ((resource.RLIMIT_AS, MEMORY_MOST), (resource.RLIMIT_CPU, SECONDS_MOST),
                       (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_NOFILE, 0)):
        hard = resource.getrlimit(what)[1]
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(what, (most, most))


def find_format(source):
    name = source.option["schema"]
    for found in FORMATS:
        lmdb = getattr(found, "LMDB", False)
        if found.NAME == name and lmdb and not source.lmdb:
            raise Failed("option", f"not an LMDB file, as those of {name} are")
        if found.NAME == name or not name and lmdb == source.lmdb and found.probe(source):
            return found
    if name:
        names = ", ".join(found.NAME for found in FORMATS)
        raise unsupported(f"'--schema={name}': no format has this name; there are {names}")
    return None


def look_through(channel):
    """A file."""
    try:
        source = Source(channel)
        found = find_format(source)
        if found:
            source.far = bool(channel.ask(b"I", found.NAME.encode(),
                                          b"%d" % getattr(found, "ARCHIVE", False),
                                          b"%d" % getattr(found, "STREAMED", False),
                                          b"%d" % found.TAKES))
            tree = Tree(channel)
            found.scan(source, tree)
            tree.end()
        channel.say(b"D" if found else b"U")
    except Failed as error:
        channel.fail(error.what, str(error))
    except MemoryError:
        channel.fail("memory", "")
    except Exception as error:  # pylint: disable=broad-except  # ours: no traceback
        channel.fail("unsupported", f"the script that reads it fails: {error!r}")
    channel.flush()


def main():
    confine()
    channel = Channel()
    while True:
        look_through(channel)


if __name__ == "__main__":
    main()
