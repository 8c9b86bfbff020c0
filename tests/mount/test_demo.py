"""What `make demo` reads with."""

import os
import sys

import pytest

from foldfs import BUILD, ROOT, run
from oracle import needs_torch

pytestmark = pytest.mark.plain

PROGRAM = """import demo, sys
from pathlib import Path
from far import far
folder = Path(sys.argv[1])
names = [str(path.relative_to(folder)) for path in demo.files_of(folder)]
print(demo.rate_of(lambda: demo.folder_loader(folder)) > 0)
with far(folder) as url:
    print(demo.rate_of(lambda: demo.gets_loader(names, url)) > 0)
"""


@needs_torch
def test_its_loaders_read_a_folder_and_a_server(images):
    done = run(sys.executable, "-c", PROGRAM, images[0],
               env={**os.environ, "BUILD": BUILD, "PYTHONPATH": ROOT / "tests/demo"})
    assert done.out == "True\nTrue\n"
