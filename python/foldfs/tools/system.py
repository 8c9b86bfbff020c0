"""system.py: another python3, where the one in PATH lacks a library: distributions bring theirs for
that of the system, and PATH may have that of pyenv, conda or a venv in front of it."""

import importlib.util
import os
import sys

PYTHON = "/usr/bin/python3"


def find(module):
    """Begins the script again in the system's python3 if this one has no such module. Where the
    user named one by FOLDFS_PYTHON, that is meant. To be called before anything is read."""
    if (importlib.util.find_spec(module) or os.environ.get("FOLDFS_PYTHON") or
            sys.prefix == "/usr" or not os.access(PYTHON, os.X_OK)):
        return
    os.environ["FOLDFS_PYTHON"] = PYTHON
    os.execv(PYTHON, [PYTHON, "-B", "-X", "utf8", "-W", "ignore", *sys.argv])
