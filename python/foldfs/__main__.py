"""python -m foldfs COMMAND ...: runs foldpack, foldfs or foldstat; or doctor: doc/doctor.md.
`run` is foldfs, too."""

import os
import sys

from ._commands import Error, command, environment

NAMES = {"foldpack": "foldpack", "foldfs": "foldfs", "foldstat": "foldstat", "run": "foldfs"}

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in NAMES:
        try:
            name = NAMES[sys.argv[1]]
            program = command(name)
        except Error as error:
            sys.exit(f"foldfs: {error}")
        os.execve(program, [name, *sys.argv[2:]], environment())
    if sys.argv[1:2] == ["doctor"]:
        from .doctor import main

        main(sys.argv[2:])
        sys.exit()
    print(f"usage: python -m foldfs {'|'.join(NAMES)}|doctor ...", file=sys.stderr)
    sys.exit(2)
