#!/usr/bin/python3
"""epochs.py PACK START:WORKERS [pause]: two epochs of a DataLoader over foldfs.mounted().

Prints, as JSON, where the mount was, the numbers that the loader gave, and what the mount has
counted; then, with `pause`, it waits in the second epoch for its end."""

import json
import sys
import time

from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

import foldfs
from numbered import Numbered


def as_tensor(image):
    return Compose([Resize((8, 8)), ToTensor()])(image.convert("RGB"))


def epoch(loader, pause):
    numbers = []
    for _, labels in loader:
        numbers += labels.tolist()
        while pause:
            time.sleep(1)
    return sorted(numbers)


def main():
    pack, (start, workers), *pause = sys.argv[1], sys.argv[2].split(":"), *sys.argv[3:]
    with foldfs.mounted(pack, pool="8M") as path:
        loader = DataLoader(Numbered(ImageFolder(path, as_tensor)), 4, shuffle=True,
                            num_workers=int(workers), persistent_workers=True,
                            multiprocessing_context=start)
        seen = [epoch(loader, False)]
        print(json.dumps({"path": path, "seen": seen, "stats": foldfs.stats(path)}), flush=True)
        seen.append(epoch(loader, pause))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
