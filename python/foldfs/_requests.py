"""What an epoch on loose objects of a bucket costs, from their listing, compared with a pack: no
object is read."""

from __future__ import annotations

import json

from ._commands import run
from ._verdict import count, size

# Dollars a request, as in foldstat: about what the large clouds charge for a GET, and a listing.
PRICE, LISTING_PRICE = 0.4e-6, 5e-6
OBJECT = 1 << 20  # bytes of an object that one request brings
RANGE = 4 << 20  # of a pack that a disk cache is filled with
PAGE = 750  # names that a request brings, about


def measure(prefix):
    """{"objects", "bytes", "requests", "pack_requests", "listing_requests"}; Error if it cannot be
    listed."""
    sizes = [entry["size"] for entry in map(json.loads, run(
        "foldpack", "list", "--json", "--", prefix).splitlines()) if entry["type"] == "file"]
    return {"objects": len(sizes), "bytes": sum(sizes),
            "requests": sum(-(-each // OBJECT) for each in sizes),
            "pack_requests": -(-sum(sizes) // RANGE),
            "listing_requests": len(sizes) // PAGE + 1}


def price(dollars):
    return "under $0.01" if dollars < 0.01 else f"${dollars:,.2f}"


def conclude(measured):
    prices = {"price": measured["requests"] * PRICE,
              "pack_price": measured["pack_requests"] * PRICE,
              "listing_price": measured["listing_requests"] * LISTING_PRICE}
    said = {name: price(dollars) for name, dollars in prices.items()}
    requests, packed, listed = (count(measured[name], "request")
                                for name in ("requests", "pack_requests", "listing_requests"))
    return {**prices, "words": [
        f"{count(measured['objects'], 'object')}, {size(measured['bytes'])}. Nothing of them was "
        "read.",
        f"Their listing takes about {listed}: {said['listing_price']} at $5.00 a million. It is "
        "kept: later mounts take none.",
        f"As they are, an epoch takes {requests}, one for each MiB of an object: {said['price']} "
        "at $0.40 a million. They have no checksums, so no disk cache keeps them: each epoch takes "
        "as many.",
        f"A pack of them in a disk cache takes {packed}, of 4 MiB each, once: "
        f"{said['pack_price']}; later epochs take none. Without a disk cache, an epoch in a "
        "shuffled order requests each file of a pack, too."]}
