"""The C files of the project, and their text without what is only said in them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ["base", "remote", "pack", "cache", "lists", "fs"]

_SAID = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)


def files(suffixes=(".c", ".h"), folders=FOLDERS):
    """Paths relative to the root, sorted."""
    found = [path.relative_to(ROOT) for folder in folders
             for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return sorted(found)


def text(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="surrogateescape")


def _emptied(match):
    said = match.group(0)
    if said[0] == '"':
        return '""'
    return "\n" * said.count("\n") if said[0] == "/" else "0"


def code(path):
    """The text without comments and the insides of strings; lines keep their numbers."""
    return _SAID.sub(_emptied, text(path))


def report(found):
    """Prints what was found; the status for it."""
    for line in found:
        print(line)
    return 1 if found else 0
