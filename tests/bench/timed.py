#!/usr/bin/python3
"""timed.py COMMAND [ARG..]: how long a command takes whose output nobody wants, and the most
memory that it had, as JSON.

A process counts as its own the memory of the one that it was forked from. This one is small;
the bench is not."""

import json
import os
import sys
import time


def main():
    silent = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    began = time.monotonic()
    pid = os.posix_spawnp(sys.argv[1], sys.argv[1:], os.environ, file_actions=silent)
    _, status, usage = os.wait4(pid, 0)
    wall = time.monotonic() - began
    print(json.dumps({"wall_s": wall, "peak": usage.ru_maxrss * 1024}))
    sys.exit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
