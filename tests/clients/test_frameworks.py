"""The loaders of frameworks over a mount, as their own examples use them."""

import importlib.metadata
import importlib.util
import socket
from pathlib import Path

import pytest

import oracle
from oracle import FULL, Epoch, follow

SCRIPTS = Path(__file__).resolve().parent / "scripts"
FILES = 20000  # divided by all batches and ranks
BATCH = 40
EPOCHS = 3


def needs_module(name):
    return pytest.mark.skipif(not importlib.util.find_spec(name), reason=f"no {name}")


@pytest.fixture(scope="module")
def data(session_dir):
    return oracle.Data(session_dir / "frameworks", FILES, 10)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def environ(rank, world, port):
    """As torchrun makes it."""
    return {"RANK": f"{rank}", "LOCAL_RANK": f"{rank}", "NODE_RANK": "0", "WORLD_SIZE": f"{world}",
            "LOCAL_WORLD_SIZE": f"{world}", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": f"{port}"}


def alone():
    """Lightning takes LOCAL_RANK for a sign that somebody else starts the ranks."""
    return {"RANK": "0", "WORLD_SIZE": "1", "ACCELERATE_USE_CPU": "true"}


@pytest.fixture
def ranks(mounted):
    """ranks(world, script, *words): a Job for each."""
    with oracle.jobs() as start:

        def begin(world, script, *words):
            port = free_port()
            return [start(mounted / "train", f"--batch-size={BATCH}", *words,
                          script=SCRIPTS / script,
                          environ=environ(rank, world, port) if world > 1 else alone())
                    for rank in range(world)]

        yield begin


def follow_all(mounted, jobs, epochs, count=EPOCHS, limits=FULL):
    for _ in range(count):
        follow(mounted, list(zip(jobs, epochs)), limits)


def test_the_versions_are_known():
    """So that a failure says with what."""
    for name in ("torch", "torchvision", "timm", "accelerate", "lightning", "transformers"):
        try:
            print(name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            print(name, "is not installed")


# --- timm ---------------------------------------------------------------------------------


@needs_module("timm")
def test_timm_on_one_device(mounted, ranks):
    jobs = ranks(1, "timm_train.py", "--workers=2", "--seed=42")
    follow_all(mounted, jobs, [Epoch(FILES)])


@needs_module("timm")
def test_timm_on_two_devices(mounted, ranks):
    jobs = ranks(2, "timm_train.py", "--workers=1", "--seed=42")
    follow_all(mounted, jobs, [Epoch(FILES, oracle.dealt(2, rank)) for rank in range(2)])


# --- Hugging Face -------------------------------------------------------------------------


def batches_dealt(world, rank):
    """Accelerate deals whole batches."""
    def part(order):
        return [number for first in range(rank * BATCH, len(order), world * BATCH)
                for number in order[first:first + BATCH]]
    return part


@needs_module("accelerate")
@pytest.mark.parametrize("seed", (0, 42))
@pytest.mark.parametrize("seedable", (0, 1))
def test_accelerate_on_one_device(mounted, ranks, seedable, seed):
    jobs = ranks(1, "accelerate_train.py", "--workers=2", f"--seedable={seedable}",
                 f"--seed={seed}")
    follow_all(mounted, jobs, [Epoch(FILES)])


@needs_module("accelerate")
@pytest.mark.parametrize("seedable, makers", [(0, oracle.stream_of), (1, oracle.one_of)])
def test_accelerate_on_two_devices(mounted, ranks, seedable, makers):
    jobs = ranks(2, "accelerate_train.py", "--workers=1", f"--seedable={seedable}", "--seed=42")
    follow_all(mounted, jobs, [Epoch(FILES, batches_dealt(2, rank), makers) for rank in range(2)])


@needs_module("transformers")
def test_the_trainer_of_transformers(mounted, ranks):
    jobs = ranks(1, "transformers_train.py", "--workers=2")
    follow_all(mounted, jobs, [Epoch(FILES)])


# --- Lightning ----------------------------------------------------------------------------


@needs_module("lightning")
@pytest.mark.parametrize("seed", (0, 42))
def test_lightning_on_one_device(mounted, ranks, seed):
    jobs = ranks(1, "lightning_train.py", "--workers=2", f"--seed={seed}")
    follow_all(mounted, jobs, [Epoch(FILES)])


@needs_module("lightning")
@pytest.mark.parametrize("seed", (0, 42))
def test_lightning_on_two_devices(mounted, ranks, seed):
    jobs = ranks(2, "lightning_train.py", "--workers=1", f"--seed={seed}")
    follow_all(mounted, jobs, [Epoch(FILES, oracle.dealt(2, rank)) for rank in range(2)])
