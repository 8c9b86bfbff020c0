"""Mounts that end with a block, an object or the process, and what they did."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import subprocess
import time
import weakref

from ._commands import Error, command, environment, error, run, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Sequence

    from typing_extensions import Unpack

    from ._commands import Path
    from ._types import MountOptions, Stats

    Process = Any  # subprocess.Popen, whose pipes are there

_STATS = "user.foldfs.stats"
# Given to foldfs as its command: says that the mount is usable, and ends with a line, or when all
# who could send one have ended. What ends a job is not for it: the job may need the mount to end.
# The relay passes on what foldfs says. It is no thread: processes with threads should not fork.
_DEAF = "trap '' HUP INT QUIT TERM USR1 USR2; "
_KEEPER = _DEAF + "echo; read -r _"
_RELAY = _DEAF + "while IFS= read -r line; do printf '%s\\n' \"$line\"; done >&2"
_PATIENCE = 5  # seconds


class _Folder:
    """A mount as other processes see it, such as spawned workers of a loader, and as copies of
    datasets do: its path. It cannot be closed."""

    path: str  #: of the folder
    _kept: object = None  # what is to live as long as this

    def __init__(self, path: str) -> None:
        self.path = path

    def close(self) -> None:
        """Does nothing: the mount ends with the object that made it."""

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        return _Folder, (self.path,)

    def __repr__(self) -> str:
        return f"<foldfs mount {self.path!r}>"


class mounted(_Folder):
    """A pack that is mounted as a folder, until the end of a `with` block:

        with foldfs.mounted("train.lmdb") as path:
            ...

    or, like a file, until it is closed:

        train = foldfs.mounted("train.lmdb", pool="8G")
        dataset = ImageFolder(train.path)
        train.close()

    `pack` is what foldfs(1) calls PACK: a file, a URL, or a pattern; several packs are a list.
    The other keywords are the options of foldfs(1), with _ for -: pool="8G", select=["a*", "b*"],
    cache_dir="/scratch,200G", preload=True, oracle=False; `options` are more of them, a word each.
    The folder is a private one, unless `at` names one: it may be missing, and processes that name
    the same one share the mount.

    Raises Error if the pack cannot be mounted.

    Closing unmounts. So does the end of the object, of the interpreter or, killed or not, of this
    process. Files that are still open then can be read for 5 seconds. Forked processes use the
    mount, and cannot close it; if this process is killed, the mount stays until they have ended,
    too. Closing does not wait for other processes that share the mount.

    What is pickled, as for spawned processes, or copied has the same `path`, and cannot close the
    mount either; a copy in this process keeps it.

    What foldfs says meanwhile, as about a damaged file or a server that is away, comes out on
    standard error at once; stats()["log"] has the last of it.
    """

    def __init__(self, pack: Path | Sequence[Path], *, at: Path | None = None,
                 options: Sequence[str] = (), fuse: bool = True,
                 **keywords: Unpack[MountOptions]) -> None:
        if not fuse:
            raise Error("a process that runs already cannot get a folder without FUSE: start it by "
                        "'python -m foldfs run --no-fuse PACK DIR -- COMMAND'")
        more = [options] if isinstance(options, str) else options
        packs = [pack] if isinstance(pack, (str, bytes, os.PathLike)) else pack
        self._packs = [os.fsdecode(one) for one in packs]
        path = _private_folder() if at is None else os.fsdecode(at)
        if path:  # an empty one is not the working folder: foldfs refuses it
            path = os.path.abspath(path)
        with contextlib.ExitStack() as undo:
            if at is None:
                undo.callback(_remove, path)
            process, relay = _mount("-q", "--mkdir", *words(keywords), *more,
                                    *map(_argument, self._packs), path)
            undo.pop_all()
        super().__init__(path)
        self._end = weakref.finalize(self, _unmount, process, relay, os.getpid(), path, at is None)

    def close(self) -> None:
        """Unmounts; again, or in a forked process, it does nothing."""
        self._end()

    def __copy__(self) -> _Folder:
        copy = _Folder(self.path)
        copy._kept = self
        return copy

    def __deepcopy__(self, _: object) -> _Folder:
        return self.__copy__()

    def __repr__(self) -> str:
        packs = ", ".join(map(_shown, self._packs))
        state = "on" if self._end.alive else "closed, was on"
        return f"<foldfs.mounted {packs} {state} {self.path!r}>"


def stats(path: Path) -> Stats:
    """What the mount at `path` has done since it was made: foldstat(1) describes the members.

    Raises Error if there is no mount."""
    try:
        text = os.getxattr(path, _STATS)
    except OSError:
        text = run("foldstat", "--json", path)
    members: Stats = json.loads(text)
    return members


def _shown(pack: str) -> str:
    """Without what is secret in a URL: user, password and query."""
    import re

    return re.sub(r"(?i)(https?://)(?:[^/?#]*@)?([^?#]*?)[?#].*(?=['\"])|(?<=://)[^/?#]*@",
                  r"\1\2", repr(pack))


def _argument(pack: str) -> str:
    """Its name may begin as an option does."""
    return os.path.join(".", pack) if pack.startswith("-") else pack


def _private_folder() -> str:
    """A name that nobody can guess: foldfs makes the folder, and removes it even where this
    process is killed. Not in $XDG_RUNTIME_DIR: that goes with the last login, jobs do not."""
    import tempfile

    return os.path.join(tempfile.gettempdir(), "foldfs-" + os.urandom(8).hex())


def _mount(*words: str) -> tuple[Process, Process]:
    """Returns foldfs, and the relay of what it says."""
    # A session of its own: the terminal's Ctrl-C is for this process only.
    process: Process = subprocess.Popen(
        [command("foldfs"), *words, "--", "/bin/sh", "-c", _KEEPER], bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, env=environment())
    try:
        with process.stdout, process.stderr:
            ready, said = _wait_until_ready(process)
            if not ready:
                process.wait()
                raise error("foldfs", said, process.returncode)
            if not _is_mounted(words[-1]):
                raise _why_refused(*words)
            return process, _relay(process.stderr, said)
    except BaseException:
        process.terminate()
        _end(process, words[-1])
        raise


def _wait_until_ready(process: Process) -> tuple[bool, bytes]:
    """Returns whether the keeper began, and what foldfs said until then, or until its end."""
    import selectors

    said = b""
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                data = os.read(key.fd, 65536)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is process.stdout:
                    return True, said
                else:
                    said += data
    return False, said


def _relay(source: IO[bytes], said: bytes) -> Process:
    """Passes on what was said, and what comes from `source`, to standard error."""
    try:
        os.write(2, said)
        out = 2
    except OSError:
        out = subprocess.DEVNULL
    return subprocess.Popen(["/bin/sh", "-c", _RELAY], stdin=source, stdout=subprocess.DEVNULL,
                            stderr=out, start_new_session=True)


def _is_mounted(path: str) -> bool:
    """Whether this process sees the mount. Where mounting is refused, foldfs mounts for its command
    only, in a private namespace."""
    try:
        return bool(os.getxattr(path, _STATS))
    except OSError as error:
        return error.errno in (errno.ENOTCONN, errno.ECONNABORTED)  # foldfs was killed


def _why_refused(*words: str) -> Error:
    """Without a command, foldfs says why it cannot mount."""
    try:
        run("foldfs", *words)
    except Error as error:
        return error
    _detach(words[-1])
    return Error(f"{words[-1]}: mounting was refused for a moment; try again")


def _end(process: Process, path: str) -> None:
    """Ends the keeper, and waits until the mount is gone, unless other processes share it. foldfs
    lives on while they do, or while files are open."""
    shared = _is_shared(path)
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(b"\n")
    deadline = time.monotonic() + _PATIENCE
    while (process.poll() is None and not shared and _is_mounted(path)
           and time.monotonic() < deadline):
        time.sleep(0.005)


def _is_shared(path: str) -> bool:
    """Whether another foldfs runs a command over the mount: it holds a lock meanwhile."""
    import fcntl

    try:
        root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(root, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(root)
    return False


def _unmount(process: Process, relay: Process, owner: int, path: str, private: bool) -> None:
    if os.getpid() != owner:
        return
    _end(process, path)
    if private and (process.returncode or 0) < 0:
        _detach(path)
    if private:
        _remove(path)
    if process.poll() is None:  # it serves others, who have no use for this process's stderr
        relay.kill()
    relay.wait()


def _remove(folder: str) -> None:
    with contextlib.suppress(OSError):
        os.rmdir(folder)


def _detach(path: str) -> None:
    """Unmounts what foldfs cannot, or no more. Who may mount without fusermount3 may unmount."""
    import shutil

    words = ["fusermount3", "-u", "-z"] if shutil.which("fusermount3") else ["umount", "-l"]
    subprocess.run([*words, path], check=False)
