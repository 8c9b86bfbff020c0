#!/usr/bin/python3
"""The map in HACKING.md names each module, in the room where it is, and none that is not."""

import re
import sys

import source

ROOMS = ("base", "pack", "pack/tool", "cache", "cache/order", "fs", "fs/stat")


def faults():
    text = (source.ROOT / "HACKING.md").read_text()
    for room in ROOMS:
        section = re.search(rf"^### {room}/\n(.*?)^##", text, re.DOTALL | re.MULTILINE)
        named = set(re.findall(r"`(\w+)`", section.group(1))) if section else set()
        there = {file.stem for file in source.files() if str(file.parent) == room}
        yield from (f"{room}/{name}: is not on the map" for name in sorted(there - named))
        yield from (f"{room}/{name}: is on the map only" for name in sorted(named - there))


if __name__ == "__main__":
    sys.exit(source.report(list(faults())))
