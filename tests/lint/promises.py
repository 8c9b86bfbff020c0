#!/usr/bin/python3
"""promises.py: each promise of the pages below names its tests, and they exist. A name is
`file::test` of tests/mount/ or tests/nfs/, or `tests/unit/file.c::test`; after the first, the test
will do."""

import re
import sys

import source

PAGES = "doc/faults.md", "doc/security.md"


def path_of(name):
    folder = "nfs" if name == "test_nfs" else "mount"
    return name if name.endswith(".c") else f"tests/{folder}/{name}.py"


def is_there(file, test):
    pattern = rf"^(def |static void |TEST(?:_OF|_WITH)?\((?:\w+, )*){re.escape(test)}[()]"
    path = source.ROOT / path_of(file)
    return path.exists() and re.search(pattern, path.read_text(), re.MULTILINE)


def missing(cell):
    """The names in a cell that are those of no test."""
    file = None
    for name in re.findall(r"`([^`]+)`", cell):
        named, _, test = name.rpartition("::")
        file = named or file
        if not file or not is_there(file, test):
            yield name


def check(page):
    """The last column of each table has the tests."""
    cells = re.findall(r"^\|.*\|([^|]*)\|$", source.text(page), re.MULTILINE)
    rows = [cell.strip() for cell in cells if cell.strip("- ") not in ("", "Test")]
    yield from (f"{page}: no test in '{row}'" for row in rows if "`" not in row)
    yield from (f"{page}: no test {name}" for row in rows for name in missing(row))


def main():
    return source.report([fault for page in PAGES for fault in check(page)])


if __name__ == "__main__":
    sys.exit(main())
