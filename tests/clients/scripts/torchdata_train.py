#!/usr/bin/python3
"""torchdata_train.py DATA [options]: the loader that remembers where it was. With --stop it
keeps that in the file --state after so many batches, and ends; a file that is there it goes on
from."""

import os
import sys

import torch
from torchdata.stateful_dataloader import StatefulDataLoader

from common import folder, parse, steps_of


def main():
    args = parse("stop")
    if args.seed:
        torch.manual_seed(args.seed)
    loader = StatefulDataLoader(folder(args), args.batch_size, shuffle=True,
                                num_workers=args.workers)
    steps = steps_of(args, loader)
    if args.state and os.path.exists(args.state):
        loader.load_state_dict(torch.load(args.state, weights_only=False))
    for epoch in range(args.epochs):
        steps.begin(epoch)
        for batch, (_, numbers) in enumerate(loader, 1):
            steps.step(numbers)
            if batch == args.stop:
                torch.save(loader.state_dict(), args.state)
                steps.end()
                sys.exit()
        steps.end()


if __name__ == "__main__":
    main()
