"""The truth of each prediction card of Q15, computed when a learner reveals it."""

from itertools import count

from course_lib import experiments
from course_lib.accounting import precision


def count_in_ones(dtype, bits, half) -> float:
    """Where 1 + 1 + 1 + … stops: the first total to which adding one changes nothing."""
    return float(next(total for total in count(1) if precision.rounded(total + 1, dtype) == total))


def downwards(dtype, weight, above, spacing) -> float:
    """The largest update that, subtracted, leaves the weight: half of the way down; the tie goes back to it."""
    update = (weight - precision.neighbours(weight, dtype)[0]) / 2
    assert precision.rounded(weight - update, dtype) == weight != precision.rounded(weight - 1.001 * update, dtype)
    return update


def v100_bert() -> float:
    """Sequences a second in fp16 over those in fp32, as published."""
    fast, slow = (experiments.published.get(f"dle-bertlarge-v100-{how}-128").value for how in ("amp", "fp32"))
    return fast / slow


def narrow_sum() -> float:
    """% error of dot products of 32,768 terms whose running sum has 12 fraction bits; the factors are exact."""
    one_rounding = 0.2 * 2**-12  # as the prompt gives it
    return 100 * one_rounding * (32768 / 2) ** 0.5
