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
_KEEPER = "trap '' HUP INT QUIT TERM USR1 USR2; echo; read -r _"
_GENERATORS = [("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state"),
               ("torch.random", "get_rng_state", "set_rng_state")]
_PATIENCE = 5  # seconds


class Error(RuntimeError):
    """A command failed. The text is what it said; `status` is its exit status: see foldfs(1)."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


class mounted:
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
    too. What foldfs said meanwhile, as about a damaged file, is written to sys.stderr.
    """

    path: str  #: of the folder

    def __init__(self, pack: Path | Sequence[Path], *options: str, at: Path | None = None) -> None:
        packs = [pack] if isinstance(pack, (str, os.PathLike)) else pack
        with contextlib.ExitStack() as undo:
            if at is None:
                self.path = _private_folder()
                undo.callback(_remove, self.path)
            else:
                self.path = os.path.abspath(at)
                options = ("--mkdir", *options)
            process, said = _mount("-q", *options, *[os.fspath(one) for one in packs], self.path)
            undo.pop_all()
        self._end = weakref.finalize(self, _unmount, process, said, os.getpid(), self.path,
                                     at is None)

    def close(self) -> None:
        """Unmounts; again, or in a forked process, it does nothing."""
        self._end()

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def __fspath__(self) -> str:
        return self.path

    def __reduce__(self) -> tuple[Any, ...]:
        """In a spawned process, it is its path."""
        return str, (self.path,)


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


def _error(name: str, said: bytes, status: int) -> Error:
    """Of what the command said, and what it ran itself."""
    text = said.decode(errors="surrogateescape").rstrip("\n")
    own = re.findall(rf"^{name}: (.*)", text, re.MULTILINE)
    return Error("\n".join(own) or text or f"{name} ended with status {status}", status)


def _run(name: str, *words: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run([_command(name), *words], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode:
        raise _error(name, done.stderr, done.returncode)
    return done.stdout


# --- mounting --------------------------------------------------------------------------------


def _private_folder() -> str:
    import tempfile

    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    return tempfile.mkdtemp(prefix="foldfs-",
                            dir=runtime if os.access(runtime, os.W_OK | os.X_OK) else None)


def _mount(*words: str) -> tuple[Process, IO[bytes]]:
    """Returns foldfs, and the file of what it says."""
    import tempfile

    command = [_command("foldfs"), *words]
    said = tempfile.TemporaryFile()
    # A session of its own: the terminal's Ctrl-C is for this process only.
    process: Process = subprocess.Popen(
        [*command, "--", "/bin/sh", "-c", _KEEPER], bufsize=0, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=said, start_new_session=True)
    try:
        with process.stdout:
            ready = process.stdout.read(1)
        if not ready:
            process.wait()
            raise _error("foldfs", _read(said), process.returncode)
        if not _is_mounted(words[-1]):
            raise _why_refused(*words)
    except BaseException:
        process.terminate()
        _end(process, words[-1])
        said.close()
        raise
    return process, said


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


def _read(said: IO[bytes]) -> bytes:
    said.seek(0)
    return said.read()


def _end(process: Process, path: str) -> None:
    """Ends the keeper, and waits until the mount is gone. foldfs lives on while files are open. If
    other processes share the mount, that stays until they have ended."""
    with contextlib.suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(b"\n")
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and _is_mounted(path) and time.monotonic() < deadline:
        time.sleep(0.005)


def _unmount(process: Process, said: IO[bytes], owner: int, path: str,
             private: bool) -> None:
    if os.getpid() != owner:
        return
    _end(process, path)
    if private and (process.returncode or 0) < 0:
        _detach(path)
    if private:
        _remove(path)
    with said:
        if sys.stderr:
            sys.stderr.write(_read(said).decode(errors="replace"))


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
