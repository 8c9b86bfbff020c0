#!/usr/bin/python3
"""forget.py PATH...: asks the kernel to drop its copies of these files' bytes (or of all files
below these directories), so that the next reader finds them on the disk. Needs no root; names
and attributes stay known."""

import os
import sys


def files(path):
    if not os.path.isdir(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


for path in sys.argv[1:]:
    os.sync()  # unwritten bytes cannot be dropped
    for name in files(path):
        if os.path.isfile(name):
            with open(name, "rb") as file:
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
