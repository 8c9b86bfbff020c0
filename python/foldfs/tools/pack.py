"""What the scripts of this folder share: the packs that foldpack opens for them, and what they say.

foldpack runs `python3 SCRIPT JSON` (pack/tool/read/serve.h), whose object has the "words" of the
command line, the "options" that were given (a flag has ""), and of each pack its name, its process,
the status to end with once that has ended, and two pipes. The process is a child of foldpack, which
opens the pack, or says why it cannot, and shows the progress of what is read. foldpack itself waits
for the end of the script, and passes each signal on as SIGTERM."""

import contextlib
import errno
import importlib
import json
import mmap
import os
import re
import signal
import struct
import sys
import time
from itertools import repeat

DONE, FAILED, USAGE, DAMAGED, SKIPPED = range(5)
ATTRS, IMAGES, CHECKSUMS, SUMMARY, FOLDERS = 1, 2, 4, 8, 16
PLACE, HASH = 1, 2
BYTES, LOOK = 1, 2
QUIET, WARNINGS, NORMAL, VERBOSE = range(4)
# By suffix, those that ImageFolder takes, and GIF.
IMAGE_KINDS = {"jpg": "JPEG", "jpeg": "JPEG", "png": "PNG", "webp": "WebP", "gif": "GIF",
               "bmp": "BMP", "ppm": "PNM", "pgm": "PNM", "tif": "TIFF", "tiff": "TIFF"}

sys.path.append(sys.path.pop(0))  # a script beside this one may have the name of a package


class Failed(Exception):
    """Ends the command: the text, where there is some, is said."""

    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


class Interrupted(Exception):
    pass


class Pack:
    began = None  # to read files, and so to show progress

    def __init__(self, name, process, ended, answers, asks, memory):
        self.name = name  # without secrets
        self.process, self.ended = process, ended
        self.answers = open(answers, "rb", buffering=1 << 18)
        self.asks = open(asks, "wb", buffering=0)
        self.memory = memory >= 0 and memoryview(mmap.mmap(memory, 0, access=mmap.ACCESS_READ))

    def open(self, parts=0, rank=0, seed=0):
        """Of what is asked for, the members of the object that says what the pack is: "id",
        "made_with" (options), "delta", "left_out", "unchecked", "splits" (names), "labels" ([label,
        folder] by label), "info"."""
        self._ask(struct.pack("=IIQ", parts, rank, seed))
        return json.loads(self._line())

    def entries(self):
        """Once, after open(): what `list --json` says of each entry, of what parts are asked for;
        and its "number", and the "rank" of a file."""
        for line in iter(self._line, b"\n"):
            yield json.loads(line)

    def read(self, numbers, crcs=None):
        """(error, bytes, CRC) of each of these files, read ahead in this order: error is 0 or an
        errno. The CRC-32C is of the bytes behind what `crcs` has that of, if it has any. To be
        called once entries() has given all. The bytes may be a memoryview, which is valid until the
        next file is asked for."""
        for error, crc, _, data in self._answers(
                [(number, crc, BYTES, 0, 0) for number, crc in zip(numbers, crcs or repeat(0))],
                bool(crcs)):
            yield error, data, crc

    def read_pieces(self, pieces):
        """(error, bytes) of (file, from, size); where size is 0, of all of it."""
        for error, _, _, data in self._answers([(number, 0, BYTES, *piece)
                                                for number, *piece in pieces]):
            yield error, bytes(data)

    def look(self, numbers, wanted):
        """(error, what is said of it, bytes) of images: "kind", "width", "height"; and "damage", if
        it is "usable" and "text", as create --check=header has them. Bytes only of those that are
        `wanted`."""
        for error, _, look, data in self._answers(
                [(number, 0, LOOK | BYTES * (number in wanted), 0, 0) for number in numbers]):
            yield error, look and json.loads(look), bytes(data)

    def _answers(self, asked, checksum=False):
        """To be used up before more is asked for, so that zip() takes it first."""
        Pack.began = Pack.began or time.monotonic()
        self._ask(struct.pack("=II", len(asked), checksum) +
                  b"".join(struct.pack("=IIQQQ", *each) for each in asked))
        for _ in asked:
            error, crc, look, size, at = struct.unpack("=iIQQq", self._take(32))
            look = self._take(look)
            yield -error, crc, look, self._take(size) if at < 0 else self.memory[at:at + size]
            self._ask(b"\0")
        self._take(32)

    def close(self):
        """Ends the progress, too."""
        if not self.answers.closed:
            os.kill(self.process, signal.SIGKILL)
            while self.answers.read(1 << 20):
                pass
            self.answers.close()
            self.asks.close()

    def _ask(self, what):
        what = memoryview(what)
        try:
            while what:
                what = what[self.asks.write(what):]
        except BrokenPipeError:
            raise self._ended() from None

    def _line(self):
        line = self.answers.readline()
        if not line.endswith(b"\n"):
            raise self._ended()
        return line

    def _take(self, size):
        data = self.answers.read(size)
        if len(data) < size:
            raise self._ended()
        return data

    def _ended(self):
        return Failed("", self.ended)


class Command:
    def __init__(self):
        told = json.loads(sys.argv[1])
        self.name, self.version = told["command"], told["version"]
        self.words = told["words"]
        self.options = told["options"]
        self.level = told["level"]
        self.jobs = told["jobs"]  # threads that read
        self.packs = [Pack(*pack) for pack in told["packs"]]

    def notice(self, text):
        if self.level >= WARNINGS:
            say(text)

    def info(self, text):
        if self.level >= NORMAL:
            say(text)

    def usage(self, text):
        return Failed(f"{text}; see '{self.name} --help'", USAGE)

    def catch(self):
        """From now on a signal raises Interrupted, once."""
        signal.signal(signal.SIGTERM, self._interrupt)

    def _interrupt(self, number, _):
        signal.signal(number, signal.SIG_IGN)
        raise Interrupted


# What a terminal obeys instead of showing it, and what is no UTF-8: base/utf8.h.
COMMANDS = re.compile("[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(text):
    return COMMANDS.sub(lambda found: "".join(f"\\{byte:03o}" for byte in os.fsencode(found[0])),
                        text)


def dumps(value):
    """JSON as base/json.h writes it."""
    return COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}",
                        json.dumps(value, ensure_ascii=False))


def erase():
    """What takes a line of progress away that may be on the terminal."""
    drawn = Pack.began and time.monotonic() - Pack.began > 0.1 and os.isatty(2)
    return "\r\033[K" if drawn else ""


def say(text):
    """A message, in one write."""
    with contextlib.suppress(OSError):
        os.write(2, f"{erase()}foldpack: {shown(text)}\n".encode())


result = bytearray()  # what is to be written to standard output


def put(text, end="\n"):
    """A line of the result; names are exact but on a terminal."""
    terminal = os.isatty(1)
    result.extend(os.fsencode((shown(text) if terminal else text) + end))
    if terminal and erase():
        os.write(2, erase().encode())
    if terminal or len(result) >= 1 << 16:
        flush()


def flush():
    try:
        while result:
            del result[:os.write(1, result)]
    except OSError as error:
        result.clear()
        raise Failed("" if isinstance(error, BrokenPipeError)
                     else f"standard output: {error.strerror}") from None


def count(number, noun=""):
    return f"{number:,}" + (f" {noun}{'' if number == 1 else 's'}" if noun else "")


def size(number):
    """As people read it: "1.41 MiB"; base/size.h."""
    if number < 1024:
        return f"{number} byte{'' if number == 1 else 's'}"
    value, unit = number / 1024, 0
    while value >= 1023.5 and unit < 5:
        value, unit = value / 1024, unit + 1
    return (f"{value:.0f}" if value >= 100 else f"{value:.3g}") + f" {'KMGTPE'[unit]}iB"


def where_it_leads(link, target, kinds):
    """The kind of what a link leads to, of those that all paths have; "symlink", where it leads
    through another; "leaves" (the pack) or "dangles"."""
    if target.startswith("/"):
        return "leaves"
    at, kind = link.split("/")[:-1], "directory"
    for word in target.split("/"):
        if word in ("", "."):
            continue
        if word == "..":
            if not at:
                return "leaves"
            at.pop()
        else:
            at.append(word)
        kind = kinds.get("/".join(at), "dangles") if at else "directory"
        if kind in ("dangles", "symlink"):
            break
    return kind


def need(module, what, package="", otherwise=""):
    """The module, of a package of that name or another; `what` it does."""
    package = package or module
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Failed(f"{package}, which {what}, is not in {sys.executable} ({error}): 'pip install "
                     f"{package}', or let FOLDFS_PYTHON name a python3 that has it{otherwise}"
                     ) from None


def main(run):
    """Ends with the status that run(Command) returns."""
    command = Command()
    try:
        status = run(command)
        flush()
        return status
    except Failed as error:
        with contextlib.suppress(Failed):
            flush()
        if str(error):
            say(str(error))
        return error.status
    except MemoryError:
        say(os.strerror(errno.ENOMEM))
        return FAILED
    except Exception as error:  # of a library
        say(f"{command.name}: {type(error).__name__}: {error}")
        return FAILED
    finally:
        for pack in command.packs:
            pack.close()
