"""Scripts that make indexes of files of other formats, and the process in which they run: what
hostile bytes, a hostile script and no python3 lead to. What each format shows is in the tests of
formats."""

import contextlib
import importlib
import os
import random
import signal
import subprocess
import sys
import zlib

import pytest
from PIL import Image

import foldfs
from foldfs import FOLDFS, FOLDPACK, run
from foreign import JPEG, shown
from formats import recordio, tfrecord

SOURCES = foldfs.ROOT / "python/foldfs/sources"
CHANGES = 400  # of each seed


# --- whatever the bytes -------------------------------------------------------------------------

@contextlib.contextmanager
def modules_of(*folders):
    """They may have names that others have, too."""
    before, paths = dict(sys.modules), list(sys.path)
    sys.path[:0] = map(str, folders)
    try:
        yield
    finally:
        sys.path[:] = paths
        for name, module in list(sys.modules.items()):
            if str(getattr(module, "__file__", None)).startswith(tuple(map(str, folders))):
                del sys.modules[name]
        sys.modules.update(before)


@pytest.fixture(scope="module")
def index():
    with modules_of(SOURCES):
        for path in SOURCES.glob("*.py"):
            sys.modules.pop(path.stem, None)
        return importlib.import_module("index")


@pytest.fixture(scope="module")
def seeds():
    pytest.importorskip("lmdb")
    pytest.importorskip("numpy")
    with modules_of(foldfs.ROOT / "tests/fuzz"):
        return [*importlib.import_module("seeds").scripts()]


class Enough(Exception):
    """Of files: there are fewer that share their bytes."""


class Memory:
    """A channel to a file in memory, which counts what it is asked."""

    def __init__(self, data, schema):
        options = {"path": "x", "size": len(data), "lmdb": 0, "classes": 0, "names": 0,
                   "schema": schema, "image_key": "", "label_key": "", "name_key": "",
                   "shown": "x", "layout": "auto", "strip": 0, "watch": 0, "unpacks": 0}
        text = "".join(f"{name}={value}\0" for name, value in options.items())
        self.data, self.told = data, text.encode()
        self.said, self.asked, self.page = [], 0, b""

    def take_answer(self):
        return self.told

    def say(self, letter, *fields):
        assert len(letter) == 1 and all(b"\0" not in field for field in fields)
        self.said.append((letter, *fields))
        if letter == b"K":
            self.page = self.unpack(*map(int, fields))
        if len(self.said) > 90 + len(self.data):
            raise Enough

    def unpack(self, _record, codec, offset, packed, size):
        """As take_page() of maker.c does it."""
        try:
            page = zlib.decompress(self.data[offset:offset + packed], 47) if codec == 2 else b""
        except zlib.error:
            page = b""
        if len(page) != size:
            raise Enough
        return page

    def sizes(self, data, offset, size, count):
        while count and size >= 4 and offset + 4 <= len(data):
            found = data[offset:offset + 4]
            yield found
            step = 4 + int.from_bytes(found, "little")
            offset, size, count = offset + step, size - step, count - 1

    def ask(self, letter, *fields, expected=0):
        assert expected >= 0
        self.say(letter, *fields)
        self.asked += 1
        if letter == b"x":
            return self.unpack(*map(int, fields))
        data, fields = (self.page, fields[:-1]) if fields[-1] == b"page" else (self.data, fields)
        if letter == b"R":
            offset, size = map(int, fields)
            return data[offset:offset + size]
        if letter == b"V":
            return b"".join(self.sizes(data, *map(int, fields)))
        return b"+1\t0\ta/b.jpg\n" if letter == b"B" else b""


def changed(data, chance):
    """Other bytes in a few places, a cut, or bytes that stand twice."""
    out = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        at = chance.randrange(len(out) + 1)
        how = chance.randrange(5)
        if how == 0:
            del out[at:]
        elif how == 1:
            out[at:at] = out[at:at + chance.randrange(64)]
        elif how == 2:
            del out[at:at + chance.randrange(8)]
        else:
            out[at:at + 1] = chance.choice([b"\xff", b"\0", b"\x80", b"\x7f" * 8, b"\xff" * 8,
                                            bytes([chance.randrange(256)])])
    return bytes(out)


def with_sums(data):
    """A tar, as nearly each change would end at the checksum of a header."""
    out = bytearray(data)
    for at in range(0, len(out) - 511, 512):
        if out[at + 257:at + 262] == b"ustar":
            out[at + 148:at + 156] = b" " * 8
            out[at + 148:at + 156] = b"%06o\0 " % sum(out[at:at + 512])
    return bytes(out)


WRAPPED = {"tfrecord": lambda data: tfrecord.record(data, checked=False) * 2, "tar": with_sums}


@pytest.mark.parametrize("name", ["tfrecord", "recordio", "ffcv", "zip", "tar", "parquet", "arrow"])
def test_no_bytes_make_a_script_fail_or_linger(index, seeds, name):
    """It is read, or refused with a sentence; what it asks for is bounded by the file."""
    chance, refused = random.Random(name), set()
    wrap = WRAPPED.get(name, bytes)
    for seed in [data for kind, data in seeds if kind == name]:
        for data in (seed, *(changed(seed, chance) for _ in range(CHANGES))):
            channel = Memory(wrap(data), name)
            source = index.Source(channel)
            try:
                index.find_format(source).scan(source, index.Tree(channel))
            except index.Failed as error:
                refused.add(error.what)
                assert str(error)
            except Enough:
                continue
            refused.update("damaged" for letter, *_ in channel.said if letter == b"H")
            assert len(channel.said) + channel.asked < 100 + len(channel.data)
    assert "damaged" in refused


# --- whatever the script ------------------------------------------------------------------------

def as_python(place, text):
    """A program that is taken for python3, and runs this."""
    path = place / "python"
    path.write_text(f"#!{os.environ['FOLDFS_PYTHON']}\nimport os, socket, struct, sys\n"
                    "def say(letter, *fields):\n"
                    "    body = b''.join(field + b'\\0' for field in fields)\n"
                    "    os.write(1, letter + struct.pack('<I', len(body)) + body)\n" + text)
    path.chmod(0o755)
    return {**os.environ, "FOLDFS_PYTHON": str(path)}


def said_with(place, text, status=1):
    source = place / "x.rec"
    recordio.write(source, [(0.0, 0, JPEG)])
    return run(FOLDPACK, "list", source, env=as_python(place, text), status=status).err


def test_a_script_has_no_network_and_changes_no_files(place):
    (place / "kept").touch()
    tries = {"socket": "socket.socket()", "unlink": "os.unlink('kept')", "mkdir": "os.mkdir('d')",
             "rename": "os.rename('kept', 'k')", "link": "os.link('kept', 'l')",
             "symlink": "os.symlink('kept', 's')", "chmod": "os.chmod('kept', 0)",
             "kill": f"os.kill({os.getpid()}, 0)"}
    text = f"os.chdir({str(place)!r})\nfound = []\n"
    for name, call in tries.items():
        text += f"try:\n    {call}\n    found.append({name!r})\nexcept OSError:\n    pass\n"
    said = said_with(place, text + "say(b'E', b'option', b'done: %d' % len(found), b'')\n")
    assert "done: 0" in said
    assert sorted(path.name for path in place.iterdir()) == ["kept", "python", "x.rec"]


def test_a_script_of_ours_can_open_nothing_once_it_runs(index):
    pid = os.fork()
    if pid == 0:
        index.confine()
        try:
            os.open("/dev/null", os.O_RDONLY)
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0


@pytest.mark.parametrize("text", [
    "say(b'?')", "say(b'F', b'r0')", "say(b'I', b'x', b'0', b'0')", "say(b'E')", "say(b'R', b'-1')",
    "os.write(1, b'Ixxxx' * 9)", "say(b'E', b'what', b'sentence')",
    "say(b'I', b'x', b'0', b'0', b'0'); say(b'F', b'y')",
    "say(b'I', b'x', b'0', b'0', b'0'); say(b'F', b'o99999999', b's1')"])
def test_what_makes_no_sense_is_refused(place, text):
    said = said_with(place, text, status=None)
    assert "says what makes no sense" in said or "are not all in the file" in said


def test_a_script_that_ends_early_is_noticed(place):
    assert "the script that reads it has ended early" in said_with(
        place, "say(b'I', b'x', b'0', b'0', b'0')\n")


@pytest.mark.parametrize("how", ["time.sleep(900)", "say(b'?')", ""],
                         ids=["hangs", "refused", "ends"])
def test_a_script_ends_with_who_started_it_and_so_does_what_it_has_started(place, how):
    """As python3 itself, where a script around it is FOLDFS_PYTHON."""
    source, pids = place / "x.rec", place / "pids"
    recordio.write(source, [(0.0, 0, JPEG)])
    env = as_python(place, "import subprocess, time\nnone = subprocess.DEVNULL\n"
                           "child = subprocess.Popen(['sleep', '1000'], stdin=none, stdout=none)\n"
                           f"open({str(pids)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
                           + how)
    with subprocess.Popen([FOLDPACK, "list", source], env=env) as tool:
        foldfs.wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
        if "sleep" in how:
            tool.send_signal(signal.SIGKILL)
    for pid in pids.read_text().split():
        foldfs.wait_until(lambda: foldfs.is_gone(int(pid)))


# --- no python3 ---------------------------------------------------------------------------------

@pytest.fixture
def no_python(monkeypatch):
    monkeypatch.setenv("FOLDFS_PYTHON", "/nonexistent/python3")


def test_without_python_packs_and_published_indexes_are_mounted(place, mount, monkeypatch, small):
    path = tfrecord.write(place / "x.tfrecord", [{"image": JPEG, "label": 1}])
    run(FOLDPACK, "index", path)
    monkeypatch.setenv("FOLDFS_PYTHON", "/nonexistent/python3")
    assert [*shown(mount(path))] == ["0001/x-00000000.JPEG"]
    (place / "pack").mkdir()
    assert shown(mount(small[1], at=place / "pack"))


@pytest.mark.usefixtures("no_python")
def test_without_python_what_is_missing_is_said(place, point):
    path = tfrecord.write(place / "x.tfrecord", [{"image": JPEG, "label": 1}])
    for command in ([FOLDFS, path, point], [FOLDPACK, "list", path],
                    [FOLDPACK, "create", path, place / "x.lmdb"]):
        said = run(*command, status=1).err
        assert "x.tfrecord: not a pack; to read other formats needs python3, and " in said
        assert "'/nonexistent/python3' does not start: install it, or let FOLDFS_PYTHON" in said


def test_a_python_that_is_too_old_is_named(place):
    """Its scripts would not even compile there."""
    old = place / "python3.6"
    old.write_text(f"#!{os.environ['FOLDFS_PYTHON']}\nimport sys\n"
                   "sys.version_info, sys.version = (3, 6, 15, 'final', 0), '3.6.15 (default)'\n"
                   "sys.executable = sys.argv[0]\nat = sys.argv.index('-c') + 1\n"
                   "sys.argv, code = ['-c', *sys.argv[at + 1:]], sys.argv[at]\nexec(code)\n")
    old.chmod(0o755)
    tfrecord.write(place / "x.tfrecord", [{"image": JPEG, "label": 1}])
    (place / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(512))
    (place / "tree").mkdir()
    Image.new("RGB", (64, 64)).save(place / "tree/x.png")
    run(FOLDPACK, "create", "-q", place / "tree", place / "x.lmdb")
    for words in (["list", "x.tfrecord"], ["create", "x.h5", "h5.lmdb"], ["diff", "tree", "x.lmdb"],
                  ["create", "--resize=32", "tree", "png.lmdb"]):
        done = run(FOLDPACK, *words, cwd=place, status=1, env={**os.environ, "FOLDFS_PYTHON": old})
        assert (f"{old}: Python 3.6.15 is too old: install 3.8 or later, or let FOLDFS_PYTHON name "
                "one\n") in done.err


# --- sets ---------------------------------------------------------------------------------------

def test_a_script_takes_the_next_file_of_a_set(place):
    """Each of a few scripts takes many; one that fails takes none."""
    count = 40
    for number in range(count):
        recordio.write(place / f"x-{number:05}-of-{count:05}.rec", [(0.0, 0, JPEG)])
    env = {**os.environ, "FOLDFS_PYTHON": str(place / "python")}
    (place / "python").write_text(f"#!/bin/sh\necho >>{place}/started\n"
                                  f"exec {os.environ['FOLDFS_PYTHON']} \"$@\"\n")
    (place / "python").chmod(0o755)
    shards = place / f"x-{{00000..{count - 1:05}}}-of-{count:05}.rec"
    listed = run(FOLDPACK, "list", shards, env=env)
    assert len(listed.out.split()) == count
    assert len((place / "started").read_text()) <= 16
