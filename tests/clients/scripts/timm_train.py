#!/usr/bin/python3
"""timm_train.py DATA [options]: as timm's own train.py reads a folder."""

import os

import torch
from timm.data import ImageDataset, create_loader
from timm.utils import random_seed

from common import parse, train


class Numbered(ImageDataset):
    def __getitem__(self, number):
        return super().__getitem__(number)[0], number


def main():
    args = parse()
    world, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    if world > 1:
        torch.distributed.init_process_group("gloo")
    random_seed(args.seed, rank)
    loader = create_loader(
        Numbered(args.data), input_size=(3, 16, 16), batch_size=args.batch_size, is_training=True,
        use_prefetcher=False, num_workers=args.workers, distributed=world > 1,
        device=torch.device("cpu"),
    )

    def begin(epoch):
        if world > 1:
            loader.sampler.set_epoch(epoch)

    train(args, loader, begin)


if __name__ == "__main__":
    main()
