"""Orders of epochs, told to a mount before they begin."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Generic, TypeVar

from ._commands import run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, Iterator

    from ._commands import Path

Batch = TypeVar("Batch")

_GENERATORS = [("random", "getstate", "setstate"), ("numpy.random", "get_state", "set_state"),
               ("torch.random", "get_rng_state", "set_rng_state")]


def order(path: Path, order: Iterable[Any], dataset: Any = None) -> None:
    """Makes the mount at `path` read ahead in the order of an epoch, before it begins. It replaces
    an order given before; an empty one ends that.

    foldfs finds the orders of `shuffle=True` and of DistributedSampler by itself. This is for all
    others. `order` is one of

    - paths of files, absolute or relative to `path`;
    - a DataLoader, for its next epoch;
    - a sampler, or a list of indices, of `dataset`, which samplers of torch may know themselves.

    A dataset is an ImageFolder, another with `samples`, or a Subset or ConcatDataset of these.

    Samplers are run, but draw nothing: the generators of torch, numpy and Python, and the one
    given to a loader or sampler as `generator`, are put back. So the order is right if

    - nothing else draws from the sampler's generator until the epoch begins. One of its own, or
      the loader's, is sure; the global one is, if a loader is given, and begun at once;
    - a DistributedSampler was told the epoch: `sampler.set_epoch(epoch)` comes first;
    - a sampler of your own draws from these generators only, and keeps nothing else.

    A mount has one order: of several ranks that share it, one gives the order of all.

    Raises Error if a file is not in the mount; then nothing changes."""
    chain = _chain(order)
    if dataset is None:
        dataset = next((found for found in map(_dataset, chain) if found is not None), None)
    if dataset is None:
        files = list(order)
    else:
        known, here = _files(dataset), os.getcwd()
        files = [os.path.join(here, known[index]) for index in _indices(chain)]
    root = os.fsencode(os.path.abspath(path))
    lines = b"".join(_below(root, file) + b"\n" for file in files)
    run("foldstat", "--order=/dev/stdin", path, stdin=lines)


class ordered(Generic[Batch]):
    """An iterator over a DataLoader that first tells the mount at `path` each epoch's order:

        for epoch in range(90):
            for batch in foldfs.ordered(path, loader):
                ...

    What order() says of samplers holds; raises as it does, when an epoch begins."""

    def __init__(self, path: Path, loader: Iterable[Batch]) -> None:
        self.path, self.loader = path, loader

    def __iter__(self) -> Iterator[Batch]:
        order(self.path, self.loader)
        return iter(self.loader)

    def __len__(self) -> int:
        length: int = len(self.loader)  # type: ignore[arg-type]
        return length


def _chain(order: Any) -> list[Any]:
    """A loader, its samplers and theirs, the outermost first."""
    chain = [order]
    for name in ("batch_sampler", "sampler"):
        inner = getattr(chain[-1], name, None)
        if inner is not None:
            chain.append(inner)
    return chain


def _is_loader(order: Any) -> bool:
    return hasattr(order, "batch_sampler") and hasattr(order, "dataset")


def _dataset(part: Any) -> Any:
    found = getattr(part, "dataset", None)
    return getattr(part, "data_source", None) if found is None else found


def _files(dataset: Any) -> list[Path]:
    """The file of each index."""
    if hasattr(dataset, "samples"):
        return [sample[0] for sample in dataset.samples]
    if hasattr(dataset, "indices"):
        files = _files(dataset.dataset)
        return [files[index] for index in dataset.indices]
    if hasattr(dataset, "datasets"):
        return [file for one in dataset.datasets for file in _files(one)]
    raise TypeError(f"{type(dataset).__name__} has no `samples`: give the paths of its files")


def _indices(chain: list[Any]) -> Iterator[int]:
    with _generators_put_back(chain):
        if _is_loader(chain[0]):
            _draw_as_loader(chain[0])
            chain = chain[1:]
        for batch in chain[0]:
            yield from map(int, batch if _is_batch(batch) else [batch])


def _is_batch(drawn: Any) -> bool:
    """Or an index, which may be an array, or a tensor, of no dimension."""
    return hasattr(drawn, "__iter__") and getattr(drawn, "ndim", 1) != 0


def _draw_as_loader(loader: Any) -> None:
    """A loader draws the seed of its workers before its sampler draws; but workers that persist
    keep theirs."""
    if getattr(loader, "_iterator", None) is None:
        torch = sys.modules["torch"]
        torch.empty((), dtype=torch.int64).random_(generator=loader.generator)


@contextlib.contextmanager
def _generators_put_back(chain: list[Any]) -> Iterator[None]:
    """Those of modules that are not loaded cannot be drawn from."""
    states = [(vars(sys.modules[module])[setter], vars(sys.modules[module])[getter]())
              for module, getter, setter in _GENERATORS if module in sys.modules]
    for generator in (getattr(part, "generator", None) for part in chain):
        if generator is not None:
            states.append((generator.set_state, generator.get_state()))
    try:
        yield
    finally:
        for put_back, state in states:
            put_back(state)


def _below(root: bytes, file: Path) -> bytes:
    """The path of a file below the root of the mount."""
    if isinstance(file, int):
        raise TypeError("these are indices: give their dataset, too")
    name = os.fsencode(file)
    if name.startswith(root + b"/"):
        return name[len(root) + 1:]
    return os.path.relpath(name, root) if os.path.isabs(name) else name
