"""Drawing a token by noise, and whether draws have the distribution that they should have."""

import math
import struct
from collections.abc import Callable, Sequence
from itertools import pairwise

LOGITS = (2.0, 1.5, 1.0, 0.5, 0.0, -1.0, -2.0, -4.0)
LIMIT = 24.3  # chi-square with 7 degrees of freedom exceeds this once in a thousand right samplers


def softmax(logits: Sequence[float]) -> list[float]:
    """The share of each token."""
    weights = [math.exp(logit - max(logits)) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def chi_square(counts: Sequence[float], logits: Sequence[float]) -> float:
    """Σ (counted − expected)²/expected. About its degrees of freedom, tokens − 1, where the draws are softmax's."""
    expected = [sum(counts) * share for share in softmax(logits)]
    return sum((count - e) ** 2 / e for count, e in zip(counts, expected, strict=True))


def expected_chi_square(shares: Sequence[float], logits: Sequence[float], draws: int) -> float:
    """The mean of chi-square over many samples of so many draws that have these shares."""
    right = softmax(logits)
    bias = sum((q - p) ** 2 / p for p, q in zip(right, shares, strict=True))
    noise = sum(q * (1 - q) / p for p, q in zip(right, shares, strict=True))
    return draws * bias + noise


def bf16(x: float) -> float:
    """The nearest number with 8 significant bits; a tie goes to the even one."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def rounded_shares(logits: Sequence[float], shift: float, round: Callable[[float], float] = bf16) -> list[float]:
    """Share of each token where logit + shift, Gumbel noise and their sum are rounded, and the first of equals wins.

    Exact but for the tails: the noise takes each value of its format with the probability of what rounds to it.
    """
    noise = sorted(
        {
            sign * round(2.0**power * (1 + part / 128))
            for sign in (-1, 1)
            for power in range(-12, 5)
            for part in range(128)
        }
    )
    noise = [0.0 if abs(g) < 2.0**-12 else g for g in noise if g > -4]
    cuts = [-math.inf, *((low + high) / 2 for low, high in pairwise(noise)), math.inf]
    below = [math.exp(-math.exp(-cut)) if cut > -9 else 0.0 for cut in cuts]
    sums = []
    for logit in logits:
        found: dict[float, float] = {}
        for g, (before, after) in zip(noise, pairwise(below), strict=True):
            s = round(round(logit + shift) + g)
            found[s] = found.get(s, 0.0) + after - before
        sums.append(found)
    values = sorted(set().union(*sums))
    less, shares = [0.0] * len(logits), [0.0] * len(logits)  # probability that a token's sum is below the value
    for value in values:
        at = [found.get(value, 0.0) for found in sums]
        for token in range(len(logits)):
            beats = [less[j] + (at[j] if j > token else 0.0) for j in range(len(logits)) if j != token]
            shares[token] += at[token] * math.prod(beats)
        less = [before + here for before, here in zip(less, at, strict=True)]
    return shares
