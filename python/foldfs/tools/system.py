"""system.py: another python3, where the one in PATH lacks a library: distributions bring theirs for
that of the system, and PATH may have that of pyenv, conda or a venv in front of it."""

import importlib.util
import os
import subprocess
import sys

PYTHON = "/usr/bin/python3"
# As base/python.h refuses it, and for a module that is not there.
LACKS = """import importlib.util, sys
sys.exit(sys.version_info < (3, 8) or not importlib.util.find_spec(sys.argv[1]))"""


def find(module):
    """Begins the script again in the system's python3 if that has such a module, and this one has
    not. Where the user named one by FOLDFS_PYTHON, that is meant. To be called before anything is
    read."""
    if (importlib.util.find_spec(module) or os.environ.get("FOLDFS_PYTHON") or
            sys.prefix == "/usr" or not os.access(PYTHON, os.X_OK) or
            subprocess.call([PYTHON, "-c", LACKS, module], stderr=subprocess.DEVNULL)):
        return
    os.environ["FOLDFS_PYTHON"] = PYTHON
    os.execv(PYTHON, [PYTHON, "-B", "-X", "utf8", "-W", "ignore", *sys.argv])
