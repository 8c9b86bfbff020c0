"""A filesystem of one file, whose reads wait at a gate, or fail, as a test wants: what a pack on
a dying disk or a hung server is to foldfs. FUSE's protocol, as far as one file needs it, spoken
by a thread of the test process; mounting takes root."""

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading

from foldfs import PATIENCE, libc

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT = 1, 2, 3, 14, 15, 17, 18, 25, 26
OPENDIR, READDIR, INTERRUPT, BATCH_FORGET = 27, 28, 36, 42
UNANSWERED = (FORGET, BATCH_FORGET)
ROOT, FILE = 1, 2
DIRECT_IO = 1  # of open: nothing is kept or read ahead by the kernel
FOREVER = 1 << 30
IN_HEADER, OUT_HEADER = struct.Struct("IIQQIIIHH"), struct.Struct("IiQ")


class Gate:
    """The file is `path`; its reads pass while the gate is open. The folder may be missing. If
    attributes are not `remembered`, the kernel asks for them each time, and that waits too."""

    def __init__(self, data, folder, remembered=True):
        self.data, self.folder = data, folder
        self.remembered = FOREVER if remembered else 0  # seconds
        self.named = FOREVER  # seconds that the kernel knows the file by its name
        self.gated = (READ,) if remembered else (READ, GETATTR)
        self.path = folder / "pack.lmdb"
        self.error, self.failed = 0, 0  # what reads fail with, and how many did
        self.touched = 0  # when the file's status changed
        self.written = 0  # when its bytes did
        self.dead = range(0)  # bytes that cannot be read
        self.most = 1 << 30  # bytes that one read gives
        self.waiting = threading.Semaphore(0)  # released once for each request that waits
        self.held = range(1 << 63)  # where reads are held, if it is shut
        self.opened = threading.Event()
        self.opened.set()
        folder.mkdir(exist_ok=True)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"gate", os.fsencode(folder), b"fuse.gate", 6, options.encode()) != 0:
            raise OSError(ctypes.get_errno(), "cannot mount the gate")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def shut(self):
        self.opened.clear()

    def open(self):
        self.opened.set()

    def is_shut(self):
        return not self.opened.is_set()

    def wait_for_reader(self):
        """Returns when a request waits at the shut gate."""
        assert self.waiting.acquire(timeout=PATIENCE), "nobody reads"

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 2 << 20)
            except OSError as error:
                if error.errno == errno.ENOENT:  # one that was interrupted
                    continue
                return  # unmounted
            _, opcode, unique, node, *_ = IN_HEADER.unpack_from(request)
            if opcode in self.gated and self.is_shut() and self.holds(opcode, request):
                self.waiting.release()
                threading.Thread(target=self.answer_later, args=(opcode, unique, node, request),
                                 daemon=True).start()
            elif opcode == INTERRUPT:  # whoever reads is being killed; a later answer is void
                self.answer(*struct.unpack_from("Q", request, IN_HEADER.size), errno.EINTR)
            elif opcode not in UNANSWERED:
                self.answer(unique, *self.reply(opcode, node, request[IN_HEADER.size:]))

    def holds(self, opcode, request):
        return opcode != READ or struct.unpack_from("Q", request, IN_HEADER.size + 8)[0] in \
            self.held

    def answer_later(self, opcode, unique, node, request):
        self.opened.wait(PATIENCE)  # a test that waits for itself comes to an end
        self.answer(unique, *self.reply(opcode, node, request[IN_HEADER.size:]))

    def answer(self, unique, error, data=b""):
        header = OUT_HEADER.pack(OUT_HEADER.size + len(data), -error, unique)
        with contextlib.suppress(OSError, TypeError):  # it may be unmounted, or closed
            os.write(self.device, header + data)

    def reply(self, opcode, node, body):
        """(error, data)."""
        if opcode == INIT:
            return 0, struct.pack("IIIIHHIIHHI28x", 7, 31, 0, 1, 12, 9, 1 << 20, 1, 256, 0, 0)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != self.path.name.encode():
                return errno.ENOENT, b""
            entry = struct.pack("QQQQII", FILE, 0, self.named, self.remembered, 0, 0)
            return 0, entry + self.attributes(FILE)
        if opcode == GETATTR:
            return 0, struct.pack("QII", self.remembered, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return 0, struct.pack("QII", 0, DIRECT_IO, 0)
        if opcode == READ:
            return self.read(body)
        if opcode == READDIR:
            first = struct.unpack_from("QQ", body)[1] == 0
            name = self.path.name.encode()
            return 0, first * struct.pack(f"QQII{len(name)}s0Q", FILE, 1, len(name), 8, name)
        if opcode in (RELEASE, FLUSH):
            return 0, b""
        if opcode == STATFS:
            return 0, bytes(80)
        return errno.ENOSYS, b""

    def read(self, body):
        _, offset, size = struct.unpack_from("QQI", body)
        if range(max(offset, self.dead.start), min(offset + size, self.dead.stop)):
            return errno.EIO, b""
        self.failed += bool(self.error)
        return (self.error, b"") if self.error else (
            0, self.data[offset:offset + min(size, self.most)])

    def attributes(self, node):
        size, mode = (len(self.data), stat.S_IFREG) if node == FILE else (0, stat.S_IFDIR)
        return struct.pack("6Q10I", node, size, -(-size // 512), 0, self.written, self.touched,
                           0, 0, 0, mode | 0o555, 1, 0, 0, 0, 4096, 0)

    def close(self):
        """Also of use where it has readers: they get an error."""
        self.error = 0
        self.open()
        if self.device is None:
            return
        force, detach = 1, 2
        libc.umount2(os.fsencode(self.folder), force | detach)
        self.thread.join(PATIENCE)
        os.close(self.device)
        self.device = None


class Changing(Gate):
    """A file that is written anew, to the same size, right before byte `at` is first read."""

    def __init__(self, data, folder, at, later):
        self.at, self.later = at, later
        assert len(later) == len(data)
        super().__init__(data, folder, remembered=False)

    def read(self, body):
        _, offset, size = struct.unpack_from("QQI", body)
        if offset <= self.at < offset + size and not self.written:
            self.data, self.written = self.later, 1
        return super().read(body)
