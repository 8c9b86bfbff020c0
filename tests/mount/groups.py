"""Control groups that limit memory, v1 or v2."""

import contextlib
import os
from pathlib import Path

import pytest


@contextlib.contextmanager
def memory_group():
    """(folder, name of the file with its limit) of a control group of its own, which must be
    empty at the end."""
    for base, limit in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                        ("/sys/fs/cgroup", "memory.max")):
        group = Path(base) / f"foldfs-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            (Path(base) / "cgroup.subtree_control").write_text("+memory")  # of v2 only
        with contextlib.suppress(OSError):
            group.mkdir()
            break
    else:
        pytest.skip("no control groups may be made")
    try:
        if not (group / limit).exists():
            pytest.skip("control groups have no memory controller")
        yield group, limit
    finally:
        group.rmdir()
