"""What an epoch on loose objects of a bucket costs, from their listing, compared with a pack: no
object is read."""

from __future__ import annotations

import json

from ._commands import run
from ._verdict import count, size

PRICE = 0.4e-6  # dollars a request, as in foldstat: about what the large clouds charge for a GET
OBJECT = 1 << 20  # bytes of an object that one request brings
RANGE = 4 << 20  # of a pack that a disk cache is filled with


def measure(prefix):
    """{"objects", "bytes", "requests", "pack_requests"}; Error if it cannot be listed."""
    sizes = [entry["size"] for entry in map(json.loads, run(
        "foldpack", "list", "--json", "--", prefix).splitlines()) if entry["type"] == "file"]
    return {"objects": len(sizes), "bytes": sum(sizes),
            "requests": sum(-(-each // OBJECT) for each in sizes),
            "pack_requests": -(-sum(sizes) // RANGE)}


def price(requests):
    dollars = requests * PRICE
    return "under $0.01" if dollars < 0.01 else f"${dollars:,.2f}"


def conclude(measured):
    requests, packed = measured["requests"], measured["pack_requests"]
    return {"price": requests * PRICE, "pack_price": packed * PRICE, "words": [
        f"{count(measured['objects'], 'object')}, {size(measured['bytes'])}. Nothing of them was "
        "read.",
        f"As they are, an epoch takes {count(requests, 'request')}, one for each MiB of an object: "
        f"{price(requests)} at $0.40 a million. They have no checksums, so no disk cache keeps "
        "them: each epoch takes as many.",
        f"A pack of them in a disk cache takes {count(packed, 'request')}, of 4 MiB each, once: "
        f"{price(packed)}; later epochs take none. Without a disk cache, an epoch in a shuffled "
        "order requests each file of a pack, too."]}
