#!/usr/bin/python3
"""transformers_train.py DATA [options]: Hugging Face's Trainer."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments

from common import folder, parse
from steps import Steps


class Named(Dataset):
    """Samples as the Trainer wants them: by name."""

    def __init__(self, inner):
        self.inner = inner

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, number):
        return dict(zip(("images", "labels"), self.inner[number]))


class Model(torch.nn.Module):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.layer = torch.nn.Linear(3 * 16 * 16, 1)

    def forward(self, images, labels):
        self.steps.step(labels)
        return {"loss": self.layer(images.flatten(1)).mean()}


class Epochs(TrainerCallback):
    def __init__(self, steps):
        self.steps, self.epoch = steps, 0

    def on_epoch_begin(self, *_, **__):
        self.steps.begin(self.epoch)

    def on_epoch_end(self, *_, **__):
        self.steps.end()
        self.epoch += 1


def main():
    args = parse()
    dataset = Named(folder(args))
    steps = Steps(len(dataset), args.rate)
    with tempfile.TemporaryDirectory() as output:
        Trainer(
            Model(steps), callbacks=[Epochs(steps)], train_dataset=dataset,
            args=TrainingArguments(
                output, num_train_epochs=args.epochs, dataloader_num_workers=args.workers,
                per_device_train_batch_size=args.batch_size, use_cpu=True, report_to=[],
                save_strategy="no", logging_strategy="no", disable_tqdm=True,
                remove_unused_columns=False,
            ),
        ).train()


if __name__ == "__main__":
    main()
