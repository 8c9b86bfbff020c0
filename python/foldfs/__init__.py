"""foldfs: image datasets, packed into one file, as the folders that they were.

    foldfs.pack("train/", "train.lmdb")
    with foldfs.mounted("train.lmdb") as path:
        train = ImageFolder(path)

The functions run the commands `foldpack`, `foldfs` and `foldstat`: those installed with this
module, or else those in PATH. `python -m foldfs COMMAND ...` runs one of them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._commands import Error as Error
    from ._mounts import mounted as mounted, stats as stats
    from ._orders import order as order, ordered as ordered
    from ._packs import extract as extract, info as info, pack as pack, verify as verify
    from ._types import PackInfo as PackInfo, Stats as Stats, Verified as Verified

__version__ = "0.1.0"
__all__ = ["Error", "PackInfo", "Stats", "Verified", "extract", "info", "mounted", "order",
           "ordered", "pack", "stats", "verify"]

# Loaded when they are asked for: a program that imports this waits for none of it.
_HOMES = {"_commands": ["Error"], "_mounts": ["mounted", "stats"], "_orders": ["order", "ordered"],
          "_packs": ["extract", "info", "pack", "verify"],
          "_types": ["PackInfo", "Stats", "Verified"]}


def __getattr__(name: str) -> object:
    for home, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
