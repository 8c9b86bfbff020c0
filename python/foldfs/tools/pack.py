"""What the scripts of this folder share: the packs that foldpack opens for them, and what they say.

foldpack runs `python3 SCRIPT JSON` (pack/tool/read/serve.h), whose object has the "words" of the
command line, the "options" that were given (a flag has ""), and of each pack its name, its process
and two pipes. The process is a child of foldpack, which opens the pack, or says why it cannot, and
shows the progress of what is read."""

import contextlib
import errno
import importlib
import json
import os
import signal
import struct
import sys
from array import array
from itertools import repeat

DONE, FAILED, USAGE, DAMAGED, SKIPPED = range(5)
ATTRS, IMAGES, CHECKSUMS, SUMMARY = 1, 2, 4, 8
PLACE, HASH = 1, 2
QUIET, WARNINGS, NORMAL, VERBOSE = range(4)
CAUGHT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

sys.path.append(sys.path.pop(0))  # a script beside this one may have the name of a package


class Failed(Exception):
    """Ends the command: the text, where there is some, is said."""

    def __init__(self, text, status=FAILED):
        super().__init__(text)
        self.status = status


class Interrupted(Exception):
    pass


class Pack:
    def __init__(self, name, process, answers, asks):
        self.name = name  # without secrets
        self.process = process
        self.answers = open(answers, "rb", buffering=1 << 18)
        self.asks = open(asks, "wb", buffering=0)

    def open(self, parts=0, rank=0, seed=0):
        """Of what is asked for, the members of the object that says what the pack is: "left_out",
        "unchecked", "splits" (names), "labels" ([label, folder] by label), "info"."""
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
        called once entries() has given all."""
        pairs = (half for pair in zip(numbers, crcs or repeat(0)) for half in pair)
        self._ask(array("I", [len(numbers), bool(crcs), *pairs]).tobytes())
        for _ in numbers:
            error, crc, size = struct.unpack("=iIQ", self._take(16))
            yield -error, self._take(size), crc
        self._take(16)

    def close(self):
        """Ends the progress, too."""
        self.answers.close()
        self.asks.close()
        if self.process:
            os.kill(self.process, signal.SIGTERM)
            os.waitpid(self.process, 0)
            self.process = None

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
        status = os.waitpid(self.process, 0)[1]
        self.process = None
        if os.WIFSIGNALED(status):
            return Failed(f"{self.name}: the process that reads it was killed")
        return Failed("", os.WEXITSTATUS(status) or FAILED)


class Command:
    def __init__(self):
        told = json.loads(sys.argv[1])
        self.name = told["command"]
        self.words = told["words"]
        self.options = told["options"]
        self.level = told["level"]
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
        """From now on a signal raises Interrupted, a second one kills."""
        for number in CAUGHT:
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def _interrupt(self, number, _):
        self.caught = number
        signal.signal(number, signal.SIG_DFL)
        raise Interrupted

    def die(self):
        """By the signal that was caught: so a shell's loop and Slurm see it."""
        os.kill(os.getpid(), self.caught)


def commands(character):
    """Whether a terminal obeys it: base/utf8.h."""
    code = ord(character)
    return (code < 0x20 or 0x7f <= code < 0xa0 or 0x2028 <= code <= 0x202e or
            0x2066 <= code <= 0x2069 or 0xd800 <= code < 0xe000)


def shown(text):
    return "".join("".join(f"\\{byte:03o}" for byte in os.fsencode(character))
                   if commands(character) else character for character in text)


def say(text):
    """A message, in one write."""
    with contextlib.suppress(OSError):
        os.write(2, f"foldpack: {shown(text)}\n".encode())


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


def need(module, what):
    """The module; `what` it does."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Failed(f"{module}, which {what}, is not in {sys.executable} ({error}): 'pip install "
                     f"{module}', or let FOLDFS_PYTHON name a python3 that has it") from None


def main(run):
    """Ends with the status that run(Command) returns."""
    for number in CAUGHT:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, CAUGHT)
    command = Command()
    try:
        return run(command)
    except Failed as error:
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
