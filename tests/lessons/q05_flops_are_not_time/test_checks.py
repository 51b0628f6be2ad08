"""The smallest batch that is compute-bound, computed in four other ways: as right as the reference."""

import random
from math import ceil

import numpy as np
import pytest

from course_lib.units.q05_flops_are_not_time import checks

CHECK = next(check for check in checks.CHECKS if check.id == "q05.smallest-batch")
ROWS = np.arange(1, 1_200_001, dtype=np.float32)


def solved(layers, bytes_per_element, peak, bandwidth):
    """The inequality solved for the rows."""
    ridge = np.float32(peak) / np.float32(bandwidth) * np.float32(bytes_per_element)
    found = []
    for k, n in np.array(layers, dtype=np.float32):
        room = 2 * k * n - ridge * (k + n)
        found.append(int(np.ceil(ridge * k * n / room)) if room > 0 else None)
    return found


def searched(layers, bytes_per_element, peak, bandwidth):
    """The first number of rows whose intensity reaches the ridge point."""
    ridge = np.float32(peak) / np.float32(bandwidth)
    found = []
    for k, n in np.array(layers, dtype=np.float32):
        moved = np.float32(bytes_per_element) * (ROWS * k + k * n + ROWS * n)
        enough = np.flatnonzero(2 * ROWS * k * n / moved >= ridge)
        found.append(int(ROWS[enough[0]]) if enough.size else None)
    return found


def timed(layers, bytes_per_element, peak, bandwidth):
    """The inequality in seconds, each matrix by itself."""
    found = []
    for k, n in layers:
        row = 2 * k * n / peak - bytes_per_element * k / bandwidth - bytes_per_element * n / bandwidth
        found.append(ceil(bytes_per_element * k * n / bandwidth / row) if row > 0 else None)
    return found


def multiplied_out(layers, bytes_per_element, peak, bandwidth):
    """The inequality without a fraction, on numpy's integers."""
    found = []
    for k, n in np.array(layers):
        room = 2 * k * n * bandwidth - bytes_per_element * peak * (k + n)
        found.append(int(np.ceil(bytes_per_element * peak * k * n / room)) if room > 0 else None)
    return found


@pytest.mark.parametrize("answer", [solved, searched, timed, multiplied_out])
def test_the_smallest_batch_in_other_dress(answer):
    drawn = [CHECK.generate(random.Random(seed)) for seed in range(300)]
    assert all(answer(*given) == CHECK.reference(*given) for given in [*CHECK.public, *drawn])
