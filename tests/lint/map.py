#!/usr/bin/python3
"""The map in HACKING.md names each module, in the section of its folder or of the one around it,
and none that is not there."""

import re
import sys

import source

SECTION = re.compile(r"^### ([\w/]+)/\n(.*?)(?=^##)", re.DOTALL | re.MULTILINE)


def section_of(folder, sections):
    while folder and folder not in sections:
        folder = folder.rpartition("/")[0]
    return folder


def faults():
    sections = dict(SECTION.findall((source.ROOT / "HACKING.md").read_text()))
    there = {name: set() for name in sections}
    for file in source.files():
        section = section_of(str(file.parent), sections)
        if not section:
            yield f"{file}: no section of the map covers its folder"
            continue
        there[section].add(file.stem)
    for name, text in sections.items():
        named = set(re.findall(r"`(\w+)`", text))
        yield from (f"{name}/{one}: is not on the map" for one in sorted(there[name] - named))
        yield from (f"{name}/{one}: is on the map only" for one in sorted(named - there[name]))


if __name__ == "__main__":
    sys.exit(source.report(list(faults())))
