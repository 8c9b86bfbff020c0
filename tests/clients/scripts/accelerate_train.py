#!/usr/bin/python3
"""accelerate_train.py DATA [options]: a loop that Accelerate prepared, as its examples have it."""

from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration, set_seed
from torch.utils.data import DataLoader

from common import folder, parse, train


def main():
    args = parse("seedable")
    accelerator = Accelerator(
        cpu=True,
        dataloader_config=DataLoaderConfiguration(use_seedable_sampler=bool(args.seedable)),
    )
    if args.seed:
        set_seed(args.seed)
    loader = DataLoader(folder(args), args.batch_size, shuffle=True, num_workers=args.workers)
    train(args, accelerator.prepare(loader))


if __name__ == "__main__":
    main()
