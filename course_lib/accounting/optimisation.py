"""Learning rates: the largest that a curvature allows, and the loss that noise leaves at a fixed one."""

from math import inf

from course_lib.accounting import units


def stable_rate(curvature, *, momentum=0.0) -> float:
    """The rate above which gradient descent on a quadratic bowl diverges: 2·(1 + β)/λ.

    curvature (λ): the largest second derivative of the loss in any direction, in loss per squared unit of the weights.
    momentum (β): from 0 to below 1, of v ← β·v + gradient, w ← w − rate·v. At this rate itself the steepest direction
    neither grows nor falls. Exact for a bowl: below it both roots of z² − (1 + β − rate·λ)·z + β are smaller than 1. A
    network's curvature changes while it trains.
    """
    return 2 * (1 + _momentum(momentum)) / units.positive(curvature, "curvature")


def noise_floor(rate, curvature, sigma, *, momentum=0.0) -> float:
    """Mean loss at which a fixed rate ends on a bowl ½·λ·w² whose gradients have noise:
    rate·σ²·(1 + β) / (2·(1 − β)·(2·(1 + β) − rate·λ)).

    rate: not below zero. curvature (λ): of this direction; several directions add. sigma (σ): standard deviation of a
    step's gradient, the same everywhere and independent from step to step; a batch of B examples divides that of one
    example by √B. momentum (β): as in `stable_rate`. Infinite from `stable_rate` on. Source: the stationary variance of
    the recursion, a linear one; without momentum rate·σ²/(2·(2 − rate·λ)).
    """
    rate, curvature = units.number(rate, "rate"), units.positive(curvature, "curvature")
    beta, sigma = _momentum(momentum), units.number(sigma, "sigma")
    if rate >= stable_rate(curvature, momentum=beta):
        return inf
    return rate * sigma**2 * (1 + beta) / (2 * (1 - beta) * (2 * (1 + beta) - rate * curvature))


def _momentum(momentum) -> float:
    beta = units.number(momentum, "momentum")
    if not beta < 1:
        raise ValueError(f"momentum={momentum!r} must be from 0 to below 1: from 1 on old gradients never fade.")
    return beta


units.teach(globals())
