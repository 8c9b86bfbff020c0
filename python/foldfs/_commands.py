"""The commands that the module runs."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator, Mapping, Union

    Path = Union[str, "os.PathLike[str]"]

_ON_OFF = ("oracle", "sandbox", "verify")  # options of foldfs whose value says so
_UNDERSCORE = ("allow_other",)

class Error(RuntimeError):
    """A command failed. The text is what it said; `status` is its exit status: see foldfs(1)."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def command(name: str) -> str:
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


def environment() -> dict[str, str]:
    """Where nothing is said of authorities and the system has none, commands trust those that
    Python's programs do; and foldpack runs this Python where it needs one."""
    variables = dict(os.environ)
    if sys.executable:
        variables.setdefault("FOLDFS_PYTHON", sys.executable)
    if not variables.get("FOLDFS_CA_FILE"):
        with contextlib.suppress(ImportError):
            import importlib

            variables["FOLDFS_CA_FILE"] = importlib.import_module("certifi").where()
    return variables


def error(name: str, said: bytes, status: int) -> Error:
    """Of what the command said, and what it ran itself."""
    text = said.decode(errors="surrogateescape").rstrip("\n")
    own = re.findall(rf"^{name}: (.*)", text, re.MULTILINE)
    return Error("\n".join(own) or text or f"{name} ended with status {status}", status)


def run(name: str, *words: Path, stdin: bytes = b"") -> bytes:
    done = subprocess.run([command(name), *words], input=stdin, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, env=environment())
    if done.returncode:
        raise error(name, done.stderr, done.returncode)
    return done.stdout


def words(keywords: Mapping[str, object]) -> Iterator[str]:
    """Options of a command: pool="8G" is --pool=8G, preload=True --preload, oracle=False
    --oracle=off, and several values are an option for each."""
    from collections.abc import Iterable

    for name, value in keywords.items():
        option = "--" + (name if name in _UNDERSCORE else name.replace("_", "-"))
        if isinstance(value, bool) and name in _ON_OFF:
            yield f"{option}={'on' if value else 'off'}"
        elif value is True:
            yield option
        elif value is None or value is False:
            continue
        elif isinstance(value, Iterable) and not isinstance(value, (str, bytes, os.PathLike)):
            yield from (f"{option}={_text(one)}" for one in value)
        elif name == "umask" and not isinstance(value, str):
            raise Error("umask: its octal digits as text, '077': of a number, nobody sees whether "
                        "it was octal", 2)
        else:
            yield f"{option}={_text(value)}"


def _text(value: object) -> str:
    return os.fsdecode(value) if isinstance(value, (bytes, os.PathLike)) else str(value)
