"""Adam on one weight, written out: how long its steps are for given gradients."""

from collections.abc import Sequence
from math import sqrt

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8


def step_lengths(gradients: Sequence[float]) -> list[float]:
    """Lengths of the steps, in learning rates. (Kingma and Ba 2014, algorithm 1, with PyTorch's defaults.)"""
    m = v = 0.0
    lengths = []
    for count, gradient in enumerate(gradients, 1):
        m = BETA1 * m + (1 - BETA1) * gradient
        v = BETA2 * v + (1 - BETA2) * gradient**2
        lengths.append(abs(m / (1 - BETA1**count)) / (sqrt(v / (1 - BETA2**count)) + EPSILON))
    return lengths
