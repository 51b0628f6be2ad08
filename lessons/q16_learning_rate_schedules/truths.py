"""The truth of each prediction card of Q16, computed when a learner reveals it."""

import math

from course_lib.accounting import optimisation
from course_lib.units.q16_learning_rate_schedules import networks


def edge() -> str:
    """Whether the network diverges at 0.2, ends where it began, or trains."""
    found = networks.descend(0.2)
    return "diverges" if not found.losses[-1] < networks.GONE else "trains" if found.fall > 10 else "stalls"


def divided(k, square, root) -> float:
    """The floor of a small rate divided by k, over that of the rate; `square` and `root` are what slips give."""
    return optimisation.noise_floor(1e-3 / k, 1.0, 1.0) / optimisation.noise_floor(1e-3, 1.0, 1.0)


def first_step(small, large, ratio) -> float:
    """The first steps of Adam for two gradients, with ε = 1e-8: one over the other; `ratio` is that of the gradients."""

    def step(gradient, beta1=0.9, beta2=0.999):
        mean, square = (1 - beta1) * gradient, (1 - beta2) * gradient**2
        return mean / (1 - beta1) / (math.sqrt(square / (1 - beta2)) + 1e-8)

    return step(large) / step(small)


def with_momentum() -> float:
    return optimisation.stable_rate(130, momentum=0.95)
