#!/usr/bin/python3
"""Whitespace and width of everything that no formatter looks after, as .editorconfig has it; and
comments that clang-format damages."""

import re
import sys

import source

WIDTH = 100
SUFFIXES = {".py", ".html", ".sh", ".bash", ".zsh", ".fish", ".md", ".1", ".5", ".7"}
SKIPPED = (".git", "build", "__pycache__", "bench-report", ".pytest_cache")


def texts():
    for path in sorted(source.ROOT.rglob("*")):
        file = path.relative_to(source.ROOT)
        if path.is_file() and not file.parts[0].startswith(SKIPPED) and \
                "__pycache__" not in file.parts and \
                (path.suffix in SUFFIXES or path.name == "Makefile" or file.parts[0] == ".ci"):
            yield file


def faults(file):
    text = source.text(file)
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield f"{file}: does not end with one newline"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"{file}:{number}: blanks at the end"
        if "\t" in line and file.suffix in (".py", ".sh", ".bash"):
            yield f"{file}:{number}: a tab"
        # A table or a link cannot be broken.
        if len(line) > WIDTH and not line.startswith("|") and "](" not in line:
            yield f"{file}:{number}: {len(line)} columns"


def glued():
    """In a comment with an empty line, clang-format 14 puts what it breaks off a long line after a
    bare star. Left alone, it never mends that."""
    for file in source.files(folders=["base", "remote", "pack", "cache", "lists", "fs", "tests"]):
        for number, line in enumerate(source.text(file).split("\n"), 1):
            if re.match(r"\t* \*[A-Za-z]", line):
                yield f"{file}:{number}: no blank after the star"


if __name__ == "__main__":
    sys.exit(source.report([*(fault for file in texts() for fault in faults(file)), *glued()]))
