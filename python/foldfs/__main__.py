"""python -m foldfs COMMAND ...: runs foldpack, foldfs or foldstat; or doctor: doc/doctor.md."""

import os
import sys

from ._commands import Error, command, environment

NAMES = ("foldpack", "foldfs", "foldstat")

if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1] in NAMES:
        try:
            program = command(sys.argv[1])
        except Error as error:
            sys.exit(f"foldfs: {error}")
        os.execve(program, sys.argv[1:], environment())
    if sys.argv[1:2] == ["doctor"]:
        from .doctor import main

        main(sys.argv[2:])
        sys.exit()
    print(f"usage: python -m foldfs {'|'.join(NAMES)}|doctor ...", file=sys.stderr)
    sys.exit(2)
