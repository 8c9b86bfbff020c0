"""The files that an export makes. At its end all of them appear, or none. Whoever finds the first
one, even after a kill or a power failure, finds all, and those of one export.

Each is written as NAME.foldpack-partial, which nobody else writes, and gets its name once all are
complete and on the disk. Files that exist are replaced only if that was asked for: they are
removed, the first one first, before any gets its name. The first one gets its name last."""

import contextlib
import errno
import os
import stat

from pack import Failed

PARTIAL = ".foldpack-partial"
# As a filesystem fails that does not have a call, or not for this user.
REFUSED = (errno.EPERM, errno.EACCES, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)


def create(path):
    """A descriptor of a file, made where nothing is."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        return os.open(path, flags | os.O_EXCL, 0o666)
    except OSError as error:
        if error.errno not in REFUSED or os.path.lexists(path):
            raise
    return os.open(path, flags, 0o666)


def write(file, parts):
    """All of them, by one call where that does it. Returns how many bytes they have."""
    size = sum(map(len, parts))
    left = size - os.writev(file, parts)
    rest = memoryview(b"".join(parts))[size - left:] if left else b""
    while rest:
        rest = rest[os.write(file, rest):]
    return size


def sync(file):
    """Some filesystems report a full disk only here."""
    try:
        os.fdatasync(file)
    except OSError as error:
        if error.errno not in REFUSED:
            raise


MARK = b"\xef\xbb\xbf"


def listed(items):
    """A list that base/lines.h reads as these."""
    for number, item in enumerate(items):
        mark = MARK if number == 0 and item.startswith(MARK) else b""
        front = b"./" if item[:1] in (b"#", b" ", b"\t") else b""
        yield mark + front + item + (b"\r\n" if item.endswith(b"\r") else b"\n")


class Outputs:
    def __init__(self, replace):
        self.replace = replace
        self.paths = []
        self.partial = []  # that are made and have no name

    def check(self):
        for path in (name for path in self.paths for name in (path, path + PARTIAL)):
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                continue
            except OSError as error:
                way = "; choose a shorter TARGET" if error.errno == errno.ENAMETOOLONG else ""
                raise Failed(f"{path}: {error.strerror}{way}") from None
            if not stat.S_ISREG(mode):
                raise Failed(f"{path}: exists, and is not a file")
            if not self.replace:
                raise Failed(f"{path}: exists; --force replaces it")

    def create(self, path):
        """A descriptor of an empty file."""
        if self.replace:
            with contextlib.suppress(OSError):
                os.unlink(path + PARTIAL)
        file = create(path + PARTIAL)
        self.partial.append(path)
        return file

    def write(self, path, data):
        with open(self.create(path), "wb") as file:
            file.write(data)
            file.flush()
            sync(file)

    def remove(self):
        """What has no name yet."""
        for path in self.partial:
            with contextlib.suppress(OSError):
                os.unlink(path + PARTIAL)

    def finish(self):
        named = []
        try:
            if self.replace:
                call, path = "unlink", None
                for path in self.paths:
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(path)
                    if path == self.paths[0]:
                        self._sync_names()
                self._sync_names()
            call = "rename"
            for path in reversed(self.paths):
                if path == self.paths[0]:
                    self._sync_names()
                if os.path.lexists(path):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                os.rename(path + PARTIAL, path)
                self.partial.remove(path)
                named.append(path)
        except OSError as error:
            text = f"{path}: {call}: {error.strerror}"
            if call == "rename" and error.errno in REFUSED and not named:
                raise Failed(f"{text}; all of it is there, in files whose names end in {PARTIAL}, "
                             "and can be copied") from None
            self.remove()
            for path in named:
                os.unlink(path)
            raise Failed(f"{text}; nothing was left behind" + (
                ", and what was to be replaced may be gone" if self.replace else "")) from None
        self._sync_names()

    def _sync_names(self):
        with contextlib.suppress(OSError):
            folder = os.open(os.path.dirname(self.paths[0]) or ".",
                             os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
