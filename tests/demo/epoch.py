#!/usr/bin/python3
"""epoch.py DIR: two epochs of training's reading side over the image folder DIR.

Nothing here knows about foldfs: it is what one writes for any folder."""

import sys
import time

from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder


def main():
    dataset = ImageFolder(sys.argv[1], transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
    ]))
    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=2)
    for epoch in (1, 2):
        began, images = time.perf_counter(), 0
        for batch, labels in loader:
            images += len(labels)  # a model would learn here
        seconds = time.perf_counter() - began
        print(f"epoch {epoch}: {images} images in {seconds:.1f} s, "
              f"{images / seconds:.0f} images/s", flush=True)


if __name__ == "__main__":
    main()
