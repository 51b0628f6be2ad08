"""The truth of each prediction card of Q9, computed when a learner reveals it."""

from math import sqrt

from course_lib.accounting import hardware
from course_lib.units.q09_thousand_dollars import plans


def size(dollars: int, two: float, six: float, mfu: float, sparse: float) -> float:
    """Billions of parameters. From `two` on they are wrong answers that the card's slips name."""
    return plans.plan(dollars).params / 1e9


def half_the_size() -> float:
    chosen = plans.plan()
    small = plans.longer(chosen, chosen.params // 2)
    return small.params * small.tokens / (chosen.params * chosen.tokens)


def served() -> float:
    """Billions of tokens."""
    chosen = plans.plan()
    return plans.served_until_cheaper(chosen, chosen.params // 2) / 1e9


def four_hundred_on_a10g() -> float:
    """Millions of parameters."""
    card = hardware.load("a10g")
    flops = 400 / card.price_per_hour * 3600 * card.peak("bf16") * 0.4
    return sqrt(flops / 120) / 1e6
