"""Is there a subset with a given sum? All subsets, or two halves that meet; and how many sums each way forms."""

import random


def numbers(n: int, seed: int = 24) -> tuple[list[int], int]:
    """n numbers below 10^12 and the sum of a subset of them."""
    draw = random.Random(seed)
    drawn = [draw.randrange(10**12) for _ in range(n)]
    return drawn, sum(number for number in drawn if draw.random() < 0.5)


def sums(drawn: list[int]):
    """The sums of all subsets."""
    import numpy as np

    found = np.zeros(1, dtype=np.int64)
    for number in drawn:
        found = np.concatenate([found, found + number])
    return found


def by_all(drawn: list[int], wanted: int) -> tuple[bool, int]:
    """(whether a subset has this sum, sums that were formed): 2^n."""
    found = sums(drawn)
    return bool((found == wanted).any()), len(found)


def by_halves(drawn: list[int], wanted: int) -> tuple[bool, int]:
    """The same from the sums of each half: whether one of the first and one of the second give it together."""
    import numpy as np

    first, second = (sums(part) for part in (drawn[::2], drawn[1::2]))
    return bool(np.isin(wanted - first, second).any()), len(first) + len(second)
