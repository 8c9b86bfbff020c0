#!/usr/bin/python3
"""epochs.py START:WORKERS [--pause] MOUNT..: two epochs of a DataLoader over foldfs.mounted() with
these keywords, a JSON object for each.

Prints, as JSON, where the mounts were, the numbers that the loader gave, and what the first mount
has counted; then, with --pause, it waits in the second epoch for its end."""

import json
import os
import sys
import time

from torch.utils.data import ConcatDataset, DataLoader, Dataset
from torchvision.datasets import ImageFolder
from torchvision.transforms import Compose, Resize, ToTensor

import foldfs
from numbered import Numbered


class Images(Dataset):
    """Reads by the mount that it has, in workers too."""

    def __init__(self, keywords):
        self.mount = foldfs.mounted(pool="8M", **keywords)
        self.folder = ImageFolder(self.mount.path)
        self.names = [os.path.relpath(name, self.mount) for name, _ in self.folder.samples]
        self.transform = Compose([Resize((8, 8)), ToTensor()])

    def __len__(self):
        return len(self.names)

    def __getitem__(self, number):
        image = self.folder.loader(os.path.join(self.mount, self.names[number]))
        return self.transform(image), 0


def epoch(loader, pause):
    numbers = []
    for _, labels in loader:
        numbers += labels.tolist()
        while pause:
            time.sleep(1)
    return sorted(numbers)


def main():
    (start, workers), pause = sys.argv[1].split(":"), "--pause" in sys.argv
    images = [Images(json.loads(word)) for word in sys.argv[2 + pause:]]
    loader = DataLoader(Numbered(ConcatDataset(images)), 4, shuffle=True,
                        num_workers=int(workers), persistent_workers=True,
                        multiprocessing_context=start)
    seen = [epoch(loader, False)]
    mounts = [one.mount.path for one in images]
    print(json.dumps({"mounts": mounts, "seen": seen, "stats": foldfs.stats(mounts[0])}),
          flush=True)
    seen.append(epoch(loader, pause))
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
