#!/usr/bin/python3
"""order.py N SEED: the order in which DataLoader(shuffle=True) goes through N samples in the first
epoch after torch.manual_seed(SEED), as JSON."""

import json
import sys

import torch
from torch.utils.data import DataLoader

BATCH = 1024  # changes nothing but the time that this takes


def main(count, seed):
    torch.manual_seed(int(seed))
    loader = DataLoader(range(int(count)), batch_size=BATCH, shuffle=True)
    print(json.dumps([index for batch in loader for index in batch.tolist()]))


if __name__ == "__main__":
    main(*sys.argv[1:])
