"""Training on what a text in the pack names, in the order in which it names it: no folder's listing
is that list. A script without workers has read the text before it comes to the first image."""

import json
import random

import pytest

import oracle
from oracle import Epoch, follow

pytestmark = [oracle.needs_torch, pytest.mark.plain]
FILES, LISTED = 4000, 3000


class Data(oracle.Data):
    @staticmethod
    def make(root, train, *_):
        head, chance = oracle.jpeg(), random.Random(1)
        names = [f"{number:06}.jpg" for number in range(train)]
        for folder in ("images", "annotations"):
            (root / folder).mkdir()
        for name in names:
            data = head + chance.randbytes(chance.randrange(2500, 5500))
            (root / "images" / name).write_bytes(data)
        (root / "train.txt").write_text(
            "".join(f"images/{name}\n" for name in chance.sample(names, LISTED)))
        (root / "train.csv").write_text("path,label\n" + "".join(
            f"images/{name},{chance.randrange(10)}\n" for name in chance.sample(names, LISTED)))
        images = [{"license": 1, "file_name": name, "height": 16, "width": 16, "id": int(name[:6])}
                  for name in chance.sample(names, LISTED)]
        boxes = [{"id": number, "image_id": chance.choice(images)["id"], "category_id": 1,
                  "bbox": [1, 2, 3, 4]} for number in range(LISTED)]
        (root / "annotations" / "instances.json").write_text(json.dumps(
            {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "dot"}]}))


@pytest.fixture(scope="module")
def data(session_dir):
    return Data(session_dir / "listed", FILES, 0)


@pytest.mark.parametrize("index, workers", [
    ("train.txt", 0),
    ("annotations/instances.json", 0),
    pytest.param("train.csv", 0, marks=pytest.mark.slow),
    pytest.param("train.csv", 2, marks=pytest.mark.slow),
])
def test_the_images_that_a_text_names(mounted, start, index, workers):
    job = start(mounted, "--index", index, "--workers", str(workers), "--batch-size=16",
                "--seed=42", "--epochs=2")
    for epoch in range(2):
        said = follow(mounted, [(job, Epoch(LISTED))])
        assert (said["sampler"], said["list"]) == ("RandomSampler under seed 42", index)
        assert said["epoch"] == epoch
    job.finish()
