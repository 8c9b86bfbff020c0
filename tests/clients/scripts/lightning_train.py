#!/usr/bin/python3
"""lightning_train.py DATA [options]: a module and a Trainer."""

import os

import lightning
import torch
from lightning.pytorch.strategies import DDPStrategy
from torch.utils.data import DataLoader

from common import folder, parse, steps_of


class Module(lightning.LightningModule):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.layer = torch.nn.Linear(3 * 16 * 16, 1)

    def on_train_epoch_start(self):
        self.steps.begin(self.current_epoch)

    def training_step(self, batch, _):
        images, numbers = batch
        self.steps.step(numbers)
        return self.layer(images.flatten(1)).mean()

    def on_train_epoch_end(self):
        self.steps.end()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-9)


def main():
    args = parse()
    world = int(os.environ["WORLD_SIZE"])
    if args.seed:
        lightning.seed_everything(args.seed, workers=True)
    loader = DataLoader(folder(args), args.batch_size, shuffle=True, num_workers=args.workers)
    trainer = lightning.Trainer(
        accelerator="cpu", devices=world, max_epochs=args.epochs, logger=False,
        strategy=DDPStrategy(process_group_backend="gloo") if world > 1 else "auto",
        enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    )
    trainer.fit(Module(steps_of(args, loader)), loader)


if __name__ == "__main__":
    main()
