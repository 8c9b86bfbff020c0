#!/usr/bin/python3
"""imagefolder.py DIR: the seconds that torchvision's ImageFolder(DIR) takes, as JSON."""

import json
import sys
import time

from torchvision.datasets import ImageFolder

began = time.perf_counter()
dataset = ImageFolder(sys.argv[1])
wall = time.perf_counter() - began
print(json.dumps({"files": len(dataset), "wall_s": wall}))
