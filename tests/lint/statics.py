#!/usr/bin/python3
"""statics.py BUILD: no module keeps state outside of its structs.

Asks the object files what they have that can be written: that sees every static and global,
wherever it is declared, and nothing that is constant."""

import re
import subprocess
import sys
from pathlib import Path

import source

# Each says at its place why it cannot be otherwise.
ALLOWED = {
    "base/log.c": ["state"],           # one standard error a process
    "base/reader_file.c": ["gaps"],    # 2 MiB a process, and not for each of a thousand packs
    "remote/curl.c": ["curl_beginning"],  # libcurl begins once a process
    "fs/nofuse/preload/object.c": ["job"],  # what takes the place of open(2) gets no struct
    "fs/nofuse/preload/signals.c": ["handlers", "interrupting",  # nor what that of sigaction(2)
                                     "library_sigaction"],
    "pack/tool/work/interrupt.c": ["first", "pending", "once"],  # a signal handler has none either
}

# "0000000000000000 l     O .bss (a tab) 0000000000000004 pending"
OBJECT = re.compile(r"^[0-9a-f]+ .{6}O \.(?:data|bss|tdata|tbss|common)(?!\.rel\.ro)\S*"
                    r"\s+[0-9a-f]+ (?:\.hidden )?(\S+)$")


def writable(path):
    done = subprocess.run(["objdump", "-t", path], capture_output=True, text=True, check=True)
    names = (match.group(1) for match in map(OBJECT.match, done.stdout.splitlines()) if match)
    # The compiler numbers those of functions (count.0), sanitizers add their own.
    return [name.split(".")[0] for name in names if not re.match(r"\.L|__|_G|odr_", name)]


def main(build):
    found = []
    for file in source.files((".c",)):
        compiled = Path(build) / file.with_suffix(".o")
        if not compiled.exists():
            found.append(f"{file}: {compiled} is missing; build first")
            continue
        found += [f"{file}: '{name}' can be written and is in no struct"
                  for name in writable(compiled) if name not in ALLOWED.get(str(file), [])]
    return source.report(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
