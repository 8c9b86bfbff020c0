"""Packs: made, looked at, checked, and made folders again."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

from ._commands import Error, command, environment, run, words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Sequence, Union

    from typing_extensions import Unpack

    from ._commands import Path
    from ._types import PackInfo, PackOptions, ReadOptions, Verified

    # Called now and then with files that are done, and files there are; None where nobody knows.
    Progress = Callable[[int, Union[int, None]], object]

_DONE, _DAMAGED, _SKIPPED = 0, 3, 4  # see foldpack(1), EXIT STATUS
_SUMS = ("files", "bytes_in", "bytes_out", "skipped", "kept", "left", "masks", "deduped",
         "seconds")


def pack(source: Path, pack: Path, *, progress: Progress | bool | None = None,
         **options: Unpack[PackOptions]) -> PackInfo:
    """Packs `source`, a folder or a file of a format in foldpack-formats(7), into the file `pack`.

    The keywords are the options of `foldpack create`, with _ for -: resize=256, check="decode",
    on_bad="skip", dedup=True, shard_size="1G", exclude=["*.txt"], force=True. `progress` is called
    every second, and at the end of each pack, with the numbers of files that are done and that
    there are (None where that is not known); True shows tqdm's bar, where tqdm is installed, or
    lines.

    Returns info(pack), and with it how many inputs were `skipped` or `kept` though bad, how many
    images were `left` as they were, or resized as `masks`, `bytes_in`, `bytes_out` and `seconds`;
    shards count as one.

    What foldpack says meanwhile, as about a damaged image, comes out on standard error. Raises
    Error if it fails: no pack is there then, unless one was before."""
    if "shard_done" in options:
        raise Error("shard_done: no pack is left to describe then; run 'python -m foldfs "
                    "foldpack create --shard-done ...'")
    with _shown(progress) as show:
        text = _follow("create", ["--json", *words(options), "--", source, pack], show)
        made: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        sums = {name: sum(one[name] for one in made) for name in _SUMS}
    there: Any = {**info(_made(pack, len(made), options)), **sums}
    whole: PackInfo = there
    return whole


def _made(pack: Path, count: int, options: PackOptions) -> Path:
    """The name of a part, or the pattern of shards."""
    import glob

    stem, suffix = os.path.splitext(os.fsdecode(pack))
    part = options.get("part")
    if part:
        number, of = map(int, part.split("/"))
        return f"{stem}-{number:05}-of-{of:05}{suffix}"
    if options.get("shard_size"):
        return f"{glob.escape(stem)}-*-of-{count:05}{suffix}"
    return pack


def info(pack: Path, **options: Unpack[ReadOptions]) -> PackInfo:
    """What is in a pack, as a whole: foldpack(1), `info`, describes the members. `pack` may be a
    URL, or a file of another format. Raises Error if it cannot be read."""
    there: PackInfo = json.loads(run("foldpack", "info", "--json", *words(options), "--", pack))
    return there


def verify(*packs: Path, jobs: int | None = None, progress: Progress | bool | None = None,
           **options: Unpack[ReadOptions]) -> list[Verified]:
    """Compares every byte of the packs with its checksum. Returns what was checked, of each pack.

    Raises Error, with status 3 and the first paths, if there is damage."""
    arguments = ["--json", *words({"jobs": jobs, **options}), "--", *packs]
    with _shown(progress) as show:
        text = _follow("verify", arguments, show, _DAMAGED)
    checked: list[Verified] = [json.loads(line) for line in text.splitlines()]
    bad = [f"{one['pack']}: {path['path']}: {path['text']}" for one in checked
           for path in one["bad"]]
    if bad:
        raise Error("\n".join([*bad[:10], *(["..."] if bad[10:] else [])]), _DAMAGED)
    return checked


def extract(pack: Path, folder: Path, *paths: str, jobs: int | None = None,
            progress: Progress | bool | None = None, **options: Unpack[ReadOptions]) -> None:
    """Makes what is in a pack, or the given paths of it, a folder again, and checks all bytes.

    Replaces nothing that exists. Raises Error if not all could be made."""
    arguments = [*words({"jobs": jobs, **options}), "--", pack, folder, *paths]
    with _shown(progress) as show:
        _follow("extract", arguments, show)


def _follow(name: str, arguments: Sequence[Path], show: Progress | None, also: int = _DONE) -> str:
    """Runs a command of foldpack, and passes on what it says, but for the last line of a failure,
    which is why. `also` is no failure. Returns its output."""
    with tempfile.TemporaryFile() as output, subprocess.Popen(
            [command("foldpack"), name, "--progress-json", *arguments], stdout=output,
            stderr=subprocess.PIPE, env=environment()) as process:
        try:
            last = ""
            for raw in process.stderr or ():
                line = os.fsdecode(raw).rstrip("\n")
                if line.startswith("{"):
                    if show:
                        at = json.loads(line)
                        show(at["files"], at["files_total"] or None)
                    continue
                if last:
                    print(last, file=sys.stderr)
                last = line
            status = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        output.seek(0)
        text = output.read().decode()
    if status not in (_DONE, _SKIPPED, also):
        raise Error(re.sub("^foldpack: ", "", last) or f"foldpack ended with {status}", status)
    if last:
        print(last, file=sys.stderr)
    return text


@contextlib.contextmanager
def _shown(progress: Progress | bool | None) -> Iterator[Progress | None]:
    """What to call with each step."""
    if progress is not True:
        yield progress or None
        return
    try:
        import importlib

        bar = importlib.import_module("tqdm.auto").tqdm(unit="file")
    except ImportError:
        yield lambda done, total: print(f"{done:,} of {total or '?':,} files"
                                        if total else f"{done:,} files", file=sys.stderr)
        return

    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    with bar:
        yield show
