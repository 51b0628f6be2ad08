"""The error of the convention in float32, as a quotient less 1: as right as the difference over the exact count; and
rates that are rounded, which the grade refuses, are refused by an input that learners see.
"""

import random

import numpy as np
import pytest
import torch

from course_lib.units.q08plus_why_times_two import checks

CHECK, DECODE = (
    next(check for check in checks.CHECKS if check.id == f"q08plus.{name}")
    for name in ("convention-error", "decode-line")
)


def in_numpy(layers):
    m, k, n = np.array(layers, dtype=np.float32).T
    return (2 * m * k * n).sum() / (m * n * (2 * k - 1)).sum() - np.float32(1)


def in_torch(layers):
    m, k, n = torch.tensor(layers, dtype=torch.float32).T
    return (2 * m * k * n).sum() / (m * n * (2 * k - 1)).sum() - 1


@pytest.mark.parametrize("answer", [in_numpy, in_torch])
def test_a_quotient_less_one_in_float32(answer):
    drawn = [CHECK.generate(random.Random(seed)) for seed in range(300)]
    for (layers,) in [*CHECK.public, *drawn]:
        assert CHECK.same.distance(answer(layers).item(), CHECK.reference(layers)) <= 1


def test_a_rate_in_two_decimals_is_refused_in_public():
    def close(rows, share):
        rates = DECODE.reference(rows, share)
        return DECODE.same.distance([round(rate, 2) for rate in rates], rates) <= 1

    assert not all(close(*given) for given in DECODE.public)
