"""Gradient descent on bowls ½·λ·w²: step by step, with noise in many copies, and in the mean exactly."""

from collections.abc import Sequence

import numpy as np

START = 10.0  # where the noisy descents begin, in every direction


def descend(curvatures: Sequence[float], rate: float, steps: int = 100, momentum: float = 0.0) -> float:
    """The loss after `steps` without noise, from 1 in every direction."""
    loss = 0.0
    for curvature in curvatures:
        w, v = 1.0, 0.0
        for _ in range(steps):
            v = momentum * v + curvature * w
            w -= rate * v
        loss += curvature * w * w / 2
    return loss


def simulated(rates: Sequence[float], curvature: float = 1.0, sigma: float = 1.0, copies: int = 20_000) -> float:
    """Mean loss at the end of `copies` descents whose gradients have noise, one step for each of `rates`."""
    draw, w = np.random.default_rng(16), np.full(copies, START)
    for rate in rates:
        w -= rate * (curvature * w + sigma * draw.standard_normal(copies))
    return float((curvature * w**2).mean() / 2)


def expected(
    rates: Sequence[float], curvature: float = 1.0, sigma: float = 1.0, momentum: float = 0.0, start: float = START
) -> list[float]:
    """The mean loss of infinitely many such descents: before the first step, and after each.

    Follows the mean of (w, v) and the three numbers of their covariance, which a linear step maps exactly.
    """
    w, v = start, 0.0
    ww = wv = vv = 0.0
    losses = [curvature * w * w / 2]
    for rate in rates:
        v = momentum * v + curvature * w
        w -= rate * v
        # v' = βv + λw + σξ, then w' = w − rate·v': first the covariance with the new v
        new_vv = momentum**2 * vv + 2 * momentum * curvature * wv + curvature**2 * ww + sigma**2
        new_wv = momentum * wv + curvature * ww
        ww, wv, vv = ww - 2 * rate * new_wv + rate**2 * new_vv, new_wv - rate * new_vv, new_vv
        losses.append(curvature * (w * w + ww) / 2)
    return losses
