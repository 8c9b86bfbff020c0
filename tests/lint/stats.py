#!/usr/bin/python3
"""stats.py: the words of fs/stats.def are those of the manual pages, of the module for Python, and
of what foldstat reads."""

import re
import sys

import source

ROW = re.compile(r"^(?:OWNER\()*([A-Z]+)\b(?:\((\w+))?", re.MULTILINE)


def pointers():
    """"/pool/hits" of each row, as foldstat names it."""
    rows = source.text("fs/stats.def").rpartition("#endif")[2].partition("#undef")[0]
    folder = ""
    for kind, word in ROW.findall(rows):
        if kind != "END":
            yield f"{folder}/{word}"
        folder = {"OBJECT": f"/{word}", "END": ""}.get(kind, folder)


def explained(page, begin, end):
    """What a part of a page has as .Va."""
    part = source.text(page).partition(begin)[2].partition(end)[0]
    return set(re.findall(r"\w+", " ".join(re.findall(r"^\.(?:It )?Va (.*)", part, re.MULTILINE))))


def main():
    known = list(pointers())
    words = {pointer.rpartition("/")[2] for pointer in known}
    pages = (explained("man/foldstat.1", ".Ss The JSON object", ".Sh ENVIRONMENT")
             | explained("man/foldfs-oracle.7", ".Va oracle :", ".El"))
    types = set(re.findall(r"^    (\w+):", source.text("python/foldfs/_types.py").partition(
        "class _Seldom")[2], re.MULTILINE))
    shown = {(file, pointer) for file in source.files((".c",), ["fs/stat"])
             for pointer in re.findall(r'"(/[a-z0-9_]+(?:/[a-z0-9_]+)?)"', source.text(file))}
    return source.report(
        [f"fs/stats.def: '{word}' is in no manual page" for word in sorted(words - pages)]
        + [f"manual pages: '{word}' is not in fs/stats.def" for word in sorted(pages - words)]
        + [f"python/foldfs/_types.py: {word}, and fs/stats.def: one has it" for word in sorted(
            types ^ {pointer[1:] for pointer in known if pointer.count("/") == 1})]
        + [f"{file}: {pointer} is not in fs/stats.def" for file, pointer in sorted(shown)
           if pointer not in known])


if __name__ == "__main__":
    sys.exit(main())
