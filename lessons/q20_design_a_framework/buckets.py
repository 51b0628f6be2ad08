"""Which gradients share a message, and when a message may leave: DistributedDataParallel's buckets, without torch."""

from collections.abc import Sequence

MIB = 2**20
CAP, FIRST = 25 * MIB, 1 * MIB  # B; the defaults of PyTorch 2.13


def filled(sizes: Sequence[int], cap: int = CAP, first: int = FIRST) -> list[list[int]]:
    """Places of the gradients in each bucket. sizes: bytes of the gradients, in the order in which backward makes them.

    A bucket is closed as soon as it holds its cap or more; the first one has a cap of its own.
    """
    buckets, now, held, limit = [], [], 0, first
    for place, size in enumerate(sizes):
        now.append(place)
        held += size
        if held >= limit:
            buckets, now, held, limit = [*buckets, now], [], 0, cap
    return [*buckets, now] if now else buckets


def first_leaves_at(sizes: Sequence[int], cap: int = CAP, first: int = FIRST) -> float:
    """Share of the backward pass that is over when the first bucket is full, if time goes with the gradients' bytes."""
    return sum(sizes[place] for place in filled(sizes, cap, first)[0]) / sum(sizes)


def exposed(sizes: Sequence[int], seconds: float, bandwidth: float, cap: int = CAP, first: int = FIRST) -> float:
    """Seconds that messages take beyond the backward pass of `seconds`; bandwidth: bytes of gradients a second.

    A bucket leaves when it is full and the one before it is through.
    """
    through, made, whole = 0.0, 0, sum(sizes)
    for bucket in filled(sizes, cap, first):
        held = sum(sizes[place] for place in bucket)
        made += held
        through = max(through, seconds * made / whole) + held / bandwidth
    return through - seconds
