"""Other bytes with the same checksum: XXH3 finds accidents, and costs a forger nothing.

Stripes of 64 bytes are added to eight accumulators, 16 stripes to a block: the data to the
accumulator beside, and the product of the halves of (data ^ secret) to its own. A half that is that
of the secret makes the product zero, and leaves the other half free. So two stripes of a block set
all accumulators: one their upper halves, one their lower ones."""

import struct

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")
STRIPE, BLOCK, LANES, MASK = 64, 1024, 8, (1 << 64) - 1


def lanes(data, at):
    return struct.unpack_from("<8Q", data, at)


def secret_of(stripe):
    return lanes(SECRET, 8 * stripe)


def added(block):
    """What the first 16 stripes of these bytes add to the accumulators."""
    sums = [0] * LANES
    for stripe in range(BLOCK // STRIPE):
        for lane, (data, secret) in enumerate(zip(lanes(block, stripe * STRIPE),
                                                  secret_of(stripe))):
            key = data ^ secret
            sums[lane ^ 1] += data
            sums[lane] += (key & 0xffffffff) * (key >> 32)
    return [each & MASK for each in sums]


def forged(data, begin):
    """Bytes of the same length and XXH3 that begin with others, of 896 at most."""
    assert len(data) > BLOCK and len(begin) <= BLOCK - 2 * STRIPE
    block = bytearray(begin + data[len(begin):BLOCK])
    low, high = (secret_of(stripe) for stripe in (14, 15))
    block[BLOCK - 2 * STRIPE:BLOCK] = struct.pack(
        "<16Q", *(each & 0xffffffff for each in low), *(each & ~0xffffffff for each in high))
    missing = [(wanted - now) & MASK for wanted, now in zip(added(data), added(block))]
    upper = [(low[lane] & 0xffffffff) + (missing[lane ^ 1] & ~0xffffffff) for lane in range(LANES)]
    lower = [(high[lane] & ~0xffffffff) + (missing[lane ^ 1] & 0xffffffff) for lane in range(LANES)]
    block[BLOCK - 2 * STRIPE:BLOCK] = struct.pack("<16Q", *upper, *lower)
    assert added(block) == added(data)
    return bytes(block) + data[BLOCK:]
