"""foldfs: image datasets, packed into one file, as the folders that they were.

    with foldfs.mounted("train.lmdb") as path:
        train = ImageFolder(path)

The functions run the commands `foldfs` and `foldstat`: those installed with this module, or else
those in PATH. `foldpack create train/ train.lmdb` makes a pack.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import time
import weakref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any, Iterable, Iterator, Sequence, Union

    Path = Union[str, "os.PathLike[str]"]
    Process = Any  # subprocess.Popen, whose pipes are there

__all__ = ["Error", "mounted", "order", "stats"]

_STATS = "user.foldfs.stats"
# Given to foldfs as its command: says that the mount is usable, and ends with a line, or when all
# who could send one have ended. What ends a job is not for it: the job may need the mount to end.
# The relay passes on what foldfs says. It is no thread: processes with threads should not fork.
_DEAF = "trap '' HUP INT QUIT TERM USR1 USR2; "
_KEEPER = _DEAF + "echo; read -r _"
_RELAY = _DEAF + "while IFS= read -r line; do printf '%s\\n' \"$line\"; done >&2"
_GENERATORS = [("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state"),
               ("torch.random", "get_rng_state", "set_rng_state")]
_PATIENCE = 5  # seconds


class Error(RuntimeError):
    """A command failed. The text is what it said; `status` is its exit status: see foldfs(1)."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


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

        train = foldfs.mounted("train.lmdb", "--pool=8G")
        dataset = ImageFolder(train.path)
        train.close()

    `pack` is what foldfs(1) calls PACK: a file, a URL, or a pattern; several packs are a list.
    `options` are those of foldfs(1), a word each. The folder is a private one, unless `at` names
    one: it may be missing, and processes that name the same one share the mount.

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

    def __init__(self, pack: Path | Sequence[Path], *options: str, at: Path | None = None) -> None:
        packs = [pack] if isinstance(pack, (str, os.PathLike)) else pack
        self._packs = [os.fspath(one) for one in packs]
        with contextlib.ExitStack() as undo:
            if at is None:
                path = _private_folder()
                undo.callback(_remove, path)
            else:
                path = os.path.abspath(at)
                options = ("--mkdir", *options)
            process, relay = _mount("-q", *options, *self._packs, path)
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
        packs = ", ".join(map(repr, self._packs))
        state = "on" if self._end.alive else "closed, was on"
        return f"<foldfs.mounted {packs} {state} {self.path!r}>"


def stats(path: Path) -> dict[str, Any]:
    """What the mount at `path` has done since it was made: foldstat(1) describes the members.

    Raises Error if there is no mount."""
    try:
        text = os.getxattr(path, _STATS)
    except OSError:
        text = _run("foldstat", "--json", path)
    members: dict[str, Any] = json.loads(text)
    return members


def order(path: Path, order: Iterable[Any], dataset: Any = None) -> None:
    """Makes the mount at `path` read ahead in the order of an epoch, before it begins. It replaces
    an order given before; an empty one ends that.

    foldfs finds the orders of `shuffle=True` and of DistributedSampler by itself. This is for all
    others. `order` is one of

    - paths of files, absolute or relative to `path`;
    - a DataLoader, for its next epoch;
    - a sampler, or a list of indices, of `dataset`, which samplers of torch may know themselves.

    A dataset is an ImageFolder, another with `samples`, or a Subset or ConcatDataset of these.

    Samplers are run, but draw nothing: the generators of torch, numpy and Python, and the one
    given to a loader or sampler as `generator`, are put back. So the order is right if

    - nothing else draws from the sampler's generator until the epoch begins. One of its own, or
      the loader's, is sure; the global one is, if a loader is given, and begun at once;
    - a DistributedSampler was told the epoch: `sampler.set_epoch(epoch)` comes first;
    - a sampler of your own draws from these generators only, and keeps nothing else.

    A mount has one order: of several ranks that share it, one gives the order of all.

    Raises Error if a file is not in the mount; then nothing changes."""
    chain = _chain(order)
    if dataset is None:
        dataset = next((found for found in map(_dataset, chain) if found is not None), None)
    if dataset is None:
        files = list(order)
    else:
        known, here = _files(dataset), os.getcwd()
        files = [os.path.join(here, known[index]) for index in _indices(chain)]
    root = os.fsencode(os.path.abspath(path))
    lines = b"".join(_below(root, file) + b"\n" for file in files)
    _run("foldstat", "--order=/dev/stdin", path, stdin=lines)


# --- commands --------------------------------------------------------------------------------


def _command(name: str) -> str:
    """The one that the same wheel installed, wherever that is; or the one in PATH."""
    import glob
    import shutil

    site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    files = ["bin/" + name]  # of `pip install --target`, whatever the record says
    for record in glob.glob(os.path.join(glob.escape(site), "foldfs-*.dist-info", "RECORD")):
        with open(record, encoding="utf-8") as lines:
            files += [line.split(",")[0] for line in lines if f"/bin/{name}," in line]
    own = (os.path.normpath(os.path.join(site, file)) for file in files)
    found = next(filter(os.path.isfile, own), None) or shutil.which(name)
    if not found:
        raise Error(f"{name}: not in PATH, and not installed with this module", 127)
    return found


def _environment() -> dict[str, str]:
    """Where nothing is said of authorities, commands trust those that Python's programs do."""
    environment = dict(os.environ)
    if not environment.get("SSL_CERT_FILE"):
        with contextlib.suppress(ImportError):
            import importlib

            environment["SSL_CERT_FILE"] = importlib.import_module("certifi").where()
    return environment


def _error(name: str, said: bytes, status: int) -> Error:
    """Of what the command said, and what it ran itself."""
    text = said.decode(errors="surrogateescape").rstrip("\n")
    own = re.findall(rf"^{name}: (.*)", text, re.MULTILINE)
    return Error("\n".join(own) or text or f"{name} ended with status {status}", status)


def _run(name: str, *words: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run([_command(name), *words], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, env=_environment())
    if done.returncode:
        raise _error(name, done.stderr, done.returncode)
    return done.stdout


# --- mounting --------------------------------------------------------------------------------


def _private_folder() -> str:
    import tempfile

    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return tempfile.mkdtemp(prefix="foldfs-",
                            dir=runtime if os.access(runtime, os.W_OK | os.X_OK) else None)


def _mount(*words: str) -> tuple[Process, Process]:
    """Returns foldfs, and the relay of what it says."""
    # A session of its own: the terminal's Ctrl-C is for this process only.
    process: Process = subprocess.Popen(
        [_command("foldfs"), *words, "--", "/bin/sh", "-c", _KEEPER], bufsize=0,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, env=_environment())
    try:
        with process.stdout, process.stderr:
            ready, said = _wait_until_ready(process)
            if not ready:
                process.wait()
                raise _error("foldfs", said, process.returncode)
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
        _run("foldfs", *words)
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


# --- orders ----------------------------------------------------------------------------------


def _chain(order: Any) -> list[Any]:
    """A loader, its samplers and theirs, the outermost first."""
    chain = [order]
    for name in ("batch_sampler", "sampler"):
        inner = getattr(chain[-1], name, None)
        if inner is not None:
            chain.append(inner)
    return chain


def _is_loader(order: Any) -> bool:
    return hasattr(order, "batch_sampler") and hasattr(order, "dataset")


def _dataset(part: Any) -> Any:
    found = getattr(part, "dataset", None)
    return getattr(part, "data_source", None) if found is None else found


def _files(dataset: Any) -> list[Path]:
    """The file of each index."""
    if hasattr(dataset, "samples"):
        return [sample[0] for sample in dataset.samples]
    if hasattr(dataset, "indices"):
        files = _files(dataset.dataset)
        return [files[index] for index in dataset.indices]
    if hasattr(dataset, "datasets"):
        return [file for one in dataset.datasets for file in _files(one)]
    raise TypeError(f"{type(dataset).__name__} has no `samples`: give the paths of its files")


def _indices(chain: list[Any]) -> Iterator[int]:
    with _generators_put_back(chain):
        if _is_loader(chain[0]):
            _draw_as_loader(chain[0])
            chain = chain[1:]
        for batch in chain[0]:
            yield from map(int, batch if isinstance(batch, (list, tuple)) else [batch])


def _draw_as_loader(loader: Any) -> None:
    """A loader draws the seed of its workers before its sampler draws; but workers that persist
    keep theirs."""
    if getattr(loader, "_iterator", None) is None:
        torch = sys.modules["torch"]
        torch.empty((), dtype=torch.int64).random_(generator=loader.generator)


@contextlib.contextmanager
def _generators_put_back(chain: list[Any]) -> Iterator[None]:
    """Those of modules that are not loaded cannot be drawn from."""
    states = [(vars(sys.modules[module])[setter], vars(sys.modules[module])[getter]())
              for module, getter, setter in _GENERATORS if module in sys.modules]
    for generator in (getattr(part, "generator", None) for part in chain):
        if generator is not None:
            states.append((generator.set_state, generator.get_state()))
    try:
        yield
    finally:
        for put_back, state in states:
            put_back(state)


def _below(root: bytes, file: Path) -> bytes:
    """The path of a file below the root of the mount."""
    if isinstance(file, int):
        raise TypeError("these are indices: give their dataset, too")
    name = os.fsencode(file)
    if name.startswith(root + b"/"):
        return name[len(root) + 1:]
    return os.path.relpath(name, root) if os.path.isabs(name) else name
