"""Speculative sampling (Leviathan, Kalman, Matias 2023, algorithm 1): a draft proposes, the large model disposes."""

import random
from collections.abc import Sequence


def acceptance(p: Sequence[float], q: Sequence[float]) -> float:
    """Probability that a token drawn from the draft's q is kept where the large model has p: Σ min(p, q)."""
    return sum(map(min, p, q))


def sample(p: Sequence[float], q: Sequence[float], rng: random.Random, again_from_p: bool = False) -> tuple[int, bool]:
    """A token with distribution p, drawn by way of q, and whether the draft's token was kept.

    again_from_p: what is wrong though it looks right: after a refusal, draw from p and not from what p has over q.
    """
    tokens = range(len(p))
    token = rng.choices(tokens, q)[0]
    if rng.random() < p[token] / q[token]:
        return token, True
    left = p if again_from_p else [max(0.0, a - b) for a, b in zip(p, q, strict=True)]
    return rng.choices(tokens, left)[0], False
