"""All ways in which torch's own loaders shuffle, over a mount: the oracle finds the order of each
epoch, nearly all of the rest is in the pool when it is asked for, and hardly anything is read in
vain. Orders that are not torch's are never taken for one, however long is searched."""

import pytest

import oracle
from foldfs import is_root, needs
from oracle import Epoch, FULL, follow, hold_unlocked

FILES, VALIDATION = 20000, 2000
EPOCHS = 3
WORKERS, BATCHES = (0, 1, 2, 4, 8), (1, 32, 256)
RATE = "--rate=1500"


@pytest.fixture(scope="module")
def data(session_dir):
    return oracle.Data(session_dir / "dataset", FILES, VALIDATION)


@pytest.fixture
def train(mounted, start):
    """train(*words): a job of EPOCHS epochs on the mount."""
    return lambda *words: start(mounted / "train", f"--epochs={EPOCHS}", RATE, *words)


def follow_all(mounted, job, epoch):
    for _ in range(EPOCHS):
        follow(mounted, [(job, epoch)], FULL)
    job.finish()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("workers", WORKERS)
@pytest.mark.parametrize("seed", [["--seed=42"], []], ids=["seeded", "any seed"])
def test_shuffled(mounted, train, seed, workers, batch):
    job = train(f"--workers={workers}", f"--batch-size={batch}", *seed)
    follow_all(mounted, job, Epoch(FILES))


def test_a_seed_that_comes_out_of_a_generator_after_weights(mounted, train):
    """Once it was searched for: where it came from says which ones come next."""
    job = train("--weights", "--workers=2", "--batch-size=32", "--seed=42")
    searched = follow(mounted, [(job, Epoch(FILES))], FULL)["searches"]
    assert searched
    for _ in range(EPOCHS - 1):
        said = follow(mounted, [(job, Epoch(FILES))], FULL)
        assert "under seed 42" in said["sampler"]
        assert said["searches"] == searched
    job.finish()


@pytest.mark.parametrize("seed", [["--seed=123456"], []], ids=["seeded", "any seed"])
@pytest.mark.parametrize("workers", (1, 4))
def test_persistent_workers(mounted, train, seed, workers):
    job = train("--persistent", f"--workers={workers}", "--batch-size=32", *seed)
    follow_all(mounted, job, Epoch(FILES))


@pytest.mark.parametrize("workers", (0, 2))
def test_whole_batches_only(mounted, train, workers):
    job = train("--drop-last", f"--workers={workers}", "--batch-size=96")
    follow_all(mounted, job, Epoch(FILES, oracle.whole_batches(96)))


@pytest.mark.parametrize("world, ranks, more", [
    (1, [0], []), (2, [0, 1], []), (8, [0, 1], []), (8, [2, 3], ["--workers=2"]),
    (8, [6, 7], ["--workers=2", "--start=50"]), (3, [1, 2], ["--drop-last"]),
    (64, [40], ["--workers=1", "--rate=100"]),
])
def test_distributed(mounted, train, world, ranks, more):
    """The ranks of this node, at a pace that all can keep: gradients would hold them in step."""
    jobs = [train(f"--world={world}", f"--rank={rank}", "--batch-size=32", "--rate=500", *more)
            for rank in ranks]
    parts = [oracle.dealt(world, rank, "--drop-last" in more) for rank in ranks]
    if "--drop-last" in more:
        parts = [oracle.whole_batches(32, part) for part in parts]
    for _ in range(EPOCHS):
        follow(mounted, [(job, Epoch(FILES, part)) for job, part in zip(jobs, parts)], FULL)


@pytest.mark.parametrize("seed", [["--seed=42"], []], ids=["seeded", "any seed"])
def test_training_and_validation_in_turn(mounted, train, seed):
    job = train("--workers=2", "--batch-size=32", "--validate", mounted / "val", *seed)
    follow_all(mounted, job, Epoch(FILES))


@is_root
@needs("unshare")
@pytest.mark.parametrize("seed", [["--seed=42"], []], ids=["seeded", "any seed"])
def test_eight_workers_without_a_pid(data, point, seed):
    with oracle.foreign_mount(data.pack, point, *data.options) as mounted, oracle.jobs() as start:
        job = start(mounted / "train", f"--epochs={EPOCHS}", RATE, "--workers=8",
                    "--batch-size=32", *seed)
        follow_all(mounted, job, Epoch(FILES))


@pytest.mark.parametrize("sampler", ["--numpy", "--weighted", "--split"])
def test_what_is_not_torchs_order_is_not_found(mounted, train, sampler):
    """Nor after all seeds were tried."""
    job = train("--workers=2", "--batch-size=32", sampler)
    hold_unlocked(mounted, job, lambda said: said["searches"] and said["state"] != "searching",
                  FULL.seconds)
    for _ in range(EPOCHS - 1):
        hold_unlocked(mounted, job)
