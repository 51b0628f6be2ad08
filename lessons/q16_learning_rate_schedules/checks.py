"""Checks of Q16, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

import math

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q16.rate-at -----------------------------------------------------------------------------------

KINDS = ("cosine", "linear", "wsd")


def _shape(kind, t):
    if kind == "cosine":
        return (1 + math.cos(math.pi * t)) / 2
    return 1 - t if kind == "linear" else min(1, 5 * (1 - t))


def _rate_at(kind, step, total, peak, warmup, final):
    if step < warmup:
        return peak * (step + 1) / warmup
    return final + (peak - final) * _shape(kind, (step - warmup) / (total - warmup))


def _rate_zero_first(kind, step, total, peak, warmup, final):
    if step < warmup:
        return peak * step / warmup
    return _rate_at(kind, step, total, peak, warmup, final)


def _rate_over_all(kind, step, total, peak, warmup, final):
    """The decay is counted from the beginning of the run."""
    if step < warmup:
        return peak * (step + 1) / warmup
    return final + (peak - final) * _shape(kind, step / total)


def _rate_one_late(kind, step, total, peak, warmup, final):
    """The peak holds for one step more than asked: the last of the warm-up counts as none."""
    if step <= warmup:
        return peak * (step + 1) / (warmup + 1)
    return _rate_at(kind, step, total, peak, warmup, final)


def _rate_last_is_final(kind, step, total, peak, warmup, final):
    """`final` at the last step and not one step after it."""
    if step < warmup:
        return peak * (step + 1) / warmup
    return final + (peak - final) * _shape(kind, (step - warmup) / max(1, total - warmup - 1))


def _rate_no_final(kind, step, total, peak, warmup, final):
    return _rate_at(kind, step, total, peak, warmup, 0)


def _rate_added_final(kind, step, total, peak, warmup, final):
    if step < warmup:
        return peak * (step + 1) / warmup
    return final + peak * _shape(kind, (step - warmup) / (total - warmup))


def _rate_clipped(kind, step, total, peak, warmup, final):
    """A floor under the curve, and not an end of it."""
    return max(final, _rate_at(kind, step, total, peak, warmup, 0))


def _rate_floor_in_rise(kind, step, total, peak, warmup, final):
    """`final` as the smallest rate of all, of the rise too."""
    return max(final, _rate_at(kind, step, total, peak, warmup, final))


def _draw_rate(rng):
    """The rise, below a `final` that is larger, or the end of the decay; a few draws where they meet, or without both."""
    total, peak = rng.randrange(100, 1000), rng.randrange(2, 90) / 1000
    kind, warmup, final = rng.choice(KINDS), rng.randrange(10, total // 5), peak / rng.randrange(5, 20)
    part = rng.random()
    if part < 0.46:
        step = rng.randrange(0, warmup)
        if step + 1 < warmup:
            final = peak * (1 - (1 - (step + 1) / warmup) * rng.uniform(0.1, 0.8))
    elif part < 0.93:
        step = warmup + int((total - warmup) * rng.uniform(0.85, 0.98))
    elif part < 0.97:
        step, final = warmup, rng.choice([0, final])
    else:
        warmup, step = 0, rng.choice([0, total - 1, rng.randrange(total)])
        final = 0 if step < 0.9 * total else final  # so near to 0 float32 has no digits left of 1 − t
    return kind, step, total, peak, warmup, final


# ---- q16.adam-moves --------------------------------------------------------------------------------


def _adam(gradients, rate, beta1, beta2, *, corrected=(True, True), eps=1e-8, squares=True):
    mean = square = 0.0
    moves = []
    for step, gradient in enumerate(gradients, 1):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        m = mean / (1 - beta1**step) if corrected[0] else mean
        v = square / (1 - beta2**step) if corrected[1] else square
        moves.append(rate * m / ((math.sqrt(v) if squares else v) + eps))
    return moves


def _adam_moves(gradients, rate, beta1, beta2):
    return _adam(gradients, rate, beta1, beta2)


def _adam_same_power(gradients, rate, beta1, beta2):
    """Corrects each step as if it were the first."""
    mean = square = 0.0
    moves = []
    for gradient in gradients:
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        moves.append(rate * mean / (1 - beta1) / (math.sqrt(square / (1 - beta2)) + 1e-8))
    return moves


def _adam_from_zero(gradients, rate, beta1, beta2):
    """Steps are counted from 0 in the powers, and the first correction is left out."""
    mean = square = 0.0
    moves = []
    for step, gradient in enumerate(gradients):
        mean = beta1 * mean + (1 - beta1) * gradient
        square = beta2 * square + (1 - beta2) * gradient**2
        lacks = (1 - beta1**step or 1, 1 - beta2**step or 1)
        moves.append(rate * mean / lacks[0] / (math.sqrt(square / lacks[1]) + 1e-8))
    return moves


def _draw_adam(rng):
    """Three to nine gradients of one size, some of them so small that the 1e-8 counts; one stands there twice."""
    size = 10 ** rng.uniform(-7, 3)
    gradients = [rng.choice([-1, 1]) * rng.uniform(0.2, 3) * size for _ in range(rng.randrange(3, 9))]
    gradients.insert(rng.randrange(1, len(gradients)), gradients[0])
    return gradients, rng.choice([1e-3, 3e-4, 0.01]), rng.choice([0.9, 0.8]), rng.choice([0.999, 0.95, 0.99])


# ---- q16.rates-used --------------------------------------------------------------------------------


def _planned(step, total, warmup):
    return min((step + 1) / warmup, (total - step) / (total - warmup))


def _rates_used(total, warmup, accumulate, stopped):
    return [_planned(step, total, warmup) for step in range(total)]


def _rates_faulty(total, warmup, accumulate, stopped, *, micro=True, first=True, restart=True):
    used, ticks = [], 0
    for step in range(total):
        if restart and step == stopped:
            ticks = 0
        for _ in range(accumulate if micro else 1):
            if first:
                ticks += 1
            rate = _planned(min(ticks, total), total, warmup)
            if not first:
                ticks += 1
        used.append(rate)
    return used


def _rates_no_second_rise(total, warmup, accumulate, stopped):
    """After the restart the schedule goes on behind the warm-up, also where the warm-up was not over."""
    skipped = max(0, warmup - stopped) if stopped else 0
    ticks = [step + (skipped if step >= stopped else 0) for step in range(total)]
    return [_planned(min(tick, total), total, warmup) for tick in ticks]


def _rates_rise_again(total, warmup, accumulate, stopped):
    """A run that was killed in its warm-up begins it again; one that was killed later goes on."""
    lost = stopped if stopped < warmup else 0
    return [_planned(step - (lost if step >= stopped else 0), total, warmup) for step in range(total)]


def _draw_used(rng):
    """Killed in the warm-up in half of the draws."""
    total, warmup = rng.randrange(12, 30), rng.randrange(2, 6)
    stopped = rng.randrange(1, warmup) if rng.random() < 0.5 else rng.randrange(warmup + 2, total - 2)
    return total, warmup, rng.randrange(2, 5), stopped


# ---- q16.smallest-batch ----------------------------------------------------------------------------


def _smallest_batch(target, rate, curvature, sigma):
    if rate * curvature >= 2:
        return None
    return max(1, math.ceil(rate * sigma**2 / (2 * (2 - rate * curvature)) / target))


def _batch_by(floor):
    """The smallest batch by another formula for the floor of a batch of one."""

    def smallest(target, rate, curvature, sigma):
        return None if rate * curvature >= 2 else max(1, math.ceil(floor(rate, curvature, sigma) / target))

    return smallest


def _batch_squared(target, rate, curvature, sigma):
    """Takes the noise of a batch as σ ÷ B."""
    if rate * curvature >= 2:
        return None
    return max(1, math.ceil(math.sqrt(rate * sigma**2 / (2 * (2 - rate * curvature)) / target)))


def _batch_down(target, rate, curvature, sigma):
    if rate * curvature >= 2:
        return None
    return max(1, math.floor(rate * sigma**2 / (2 * (2 - rate * curvature)) / target))


def _batch_always(target, rate, curvature, sigma):
    """A batch for a rate that diverges as well."""
    distance = abs(2 - rate * curvature) or 1
    return max(1, math.ceil(rate * sigma**2 / (2 * distance) / target))


def _draw_batch(rng):
    """Batches of 3 to 30,000 whose quotient is no whole number, but for some of odd ones that all orders of the arithmetic
    give exactly; half of the rates are too large for any, some of them by nothing.
    """
    curvature, sigma, part = rng.randrange(2, 60), rng.randrange(2, 30), rng.random()
    if part < 0.08:
        curvature = 2 ** rng.randrange(1, 6)
        return 0.01 * rng.randrange(1, 50), 2 / curvature, curvature, sigma
    if part > 0.9:
        curvature = 2 ** rng.randrange(1, 6)
        return 0.5 / curvature, 1 / curvature, curvature, rng.randrange(3, 30, 2)
    share = rng.uniform(2.1, 3.5) if part < 0.5 else rng.uniform(0.6, 1.8)
    rate = share / curvature
    floor = rate * sigma**2 / (2 * abs(2 - share))
    return floor / (int(3 * 10 ** rng.uniform(0, 4)) - rng.uniform(0.2, 0.8)), rate, curvature, sigma


# ---- the lesson's own: one line each ----------------------------------------------------------------


def _largest_rate(curvatures, momentum):
    return 2 * (1 + momentum) / max(curvatures)


def _draw_largest(rng):
    curvatures = [rng.randrange(1, 400) / 4 for _ in range(rng.randrange(3, 7))]
    curvatures.insert(rng.randrange(0, len(curvatures) + 1), rng.randrange(450, 2000) / 4)
    return curvatures, 0.0 if rng.random() < 0.3 else rng.choice([0.5, 0.8, 0.9, 0.95])


def _floor(rate, curvature, sigma):
    return rate * sigma**2 / (2 * (2 - rate * curvature))


def _draw_floor(rng):
    curvature = rng.choice([0.5, 2, 3, 8, 40, 100])
    return rng.uniform(0.3, 1.7) / curvature, curvature, rng.choice([0.3, 2, 3, 5])


def _my_rate(step, total, peak):
    return peak * min(1, 5 * (total - step) / total)


def _my_rate_by(share):
    def rate(step, total, peak):
        return peak * share(step / total)

    return rate


def _draw_my_rate(rng):
    total = 5 * rng.randrange(10, 200)
    step = rng.randrange(0, total) if rng.random() < 0.4 else rng.randrange(4 * total // 5 + 1, total)
    return step, total, rng.randrange(1, 90) / 1000


CHECKS = [
    Check(
        id="q16.turn-largest",
        points=0,
        signature="largest_rate(curvatures, momentum)",
        public=[
            ([1, 100], 0.0),
            ([100, 1], 0.9),
            ([3.0, 250.0, 40.0], 0.5),
            ([0.25], 0.95),
            ([7, 7, 2], 0.0),
            ([3.0, 40.0, 5.0, 120.0, 250.0, 2.0], 0.8),
            ([3.0, 250.0, 40.0, 5.0, 120.0, 2.0], 0.9),
        ],
        generate=_draw_largest,
        reference=_largest_rate,
        wrong={
            "last": lambda curvatures, momentum: 2 * (1 + momentum) / curvatures[-1],
            "first": lambda curvatures, momentum: 2 * (1 + momentum) / curvatures[0],
            "smallest": lambda curvatures, momentum: 2 * (1 + momentum) / min(curvatures),
            "sum": lambda curvatures, momentum: 2 * (1 + momentum) / sum(curvatures),
            "no momentum": lambda curvatures, momentum: 2 / max(curvatures),
            "step length": lambda curvatures, momentum: 2 * (1 - momentum) / max(curvatures),
            "half": lambda curvatures, momentum: (1 + momentum) / max(curvatures),
        },
    ),
    Check(
        id="q16.turn-floor",
        points=0,
        signature="floor(rate, curvature, sigma)",
        public=[(0.2, 1.0, 1.0), (0.2, 3.0, 2.0), (0.01, 100.0, 0.5), (0.6, 2.0, 3.0), (0.001, 1.5, 10.0)],
        generate=_draw_floor,
        reference=_floor,
        same=Close(rel=1e-5),
        wrong={
            "no half": lambda rate, curvature, sigma: rate * sigma**2 / (2 - rate * curvature),
            "curvature of one": lambda rate, curvature, sigma: rate * sigma**2 / (2 * (2 - rate)),
            "small rates": lambda rate, curvature, sigma: rate * sigma**2 / 4,
            "one step": lambda rate, curvature, sigma: curvature * (rate * sigma) ** 2 / 2,
            "noise not squared": lambda rate, curvature, sigma: rate * sigma / (2 * (2 - rate * curvature)),
            "distance": lambda rate, curvature, sigma: rate * sigma**2 / (curvature * (2 - rate * curvature)),
        },
    ),
    Check(
        id="q16.turn-rule",
        points=0,
        signature="my_rate(step, total, peak)",
        public=[
            (0, 400, 0.03),
            (200, 400, 0.03),
            (320, 400, 0.03),
            (321, 400, 0.03),
            (360, 400, 0.01),
            (399, 400, 0.02),
            (9, 10, 1.0),
            (4321, 5000, 0.03),
        ],
        generate=_draw_my_rate,
        reference=_my_rate,
        same=Close(rel=1e-5, abs=1e-9),
        wrong={
            "linear": _my_rate_by(lambda t: 1 - t),
            "never": _my_rate_by(lambda t: 1.0),
            "last half": _my_rate_by(lambda t: min(1.0, 2 * (1 - t))),
            "jump": _my_rate_by(lambda t: 1.0 if t < 0.8 else 1 - t),
            "to nothing": _my_rate_by(lambda t: 1.0 if t < 0.8 else 0.0),
            "too soon": _my_rate_by(lambda t: min(1.0, max(0.0, 4 * (0.99 - t) + 0.2))),
        },
    ),
    Check(
        id="q16.rate-at",
        points=3,
        signature="rate_at(kind, step, total, peak, warmup, final)",
        public=[
            ("cosine", 50, 100, 1.0, 0, 0.0),
            ("linear", 10, 110, 1.0, 10, 0.0),
            ("linear", 0, 100, 0.5, 20, 0.1),
            ("linear", 19, 100, 0.5, 20, 0.1),
            ("wsd", 4, 100, 0.5, 20, 0.1),
            ("cosine", 99, 100, 0.02, 10, 0.002),
            ("wsd", 85, 110, 0.02, 10, 0.0),
            ("wsd", 105, 110, 0.02, 10, 0.002),
            ("wsd", 50, 110, 0.02, 10, 0.002),
            ("wsd", 21, 23, 0.02, 4, 0.002),
            ("cosine", 30, 200, 0.02, 20, 0.004),
            ("linear", 180, 200, 0.02, 0, 0.004),
            ("linear", 4, 5, 0.02, 4, 0.004),
            ("wsd", 0, 50, 0.02, 0, 0.001),
            ("cosine", 0, 60, 0.02, 1, 0.001),
            ("linear", 21, 41, 0.02, 1, 0.004),
        ],
        generate=_draw_rate,
        reference=_rate_at,
        same=Close(rel=1e-5, abs=1e-9),
        wrong={
            "zero first": _rate_zero_first,
            "decay over all": _rate_over_all,
            "warm-up too long": _rate_one_late,
            "final too soon": _rate_last_is_final,
            "no final": _rate_no_final,
            "final added": _rate_added_final,
            "floor": _rate_clipped,
            "floor in the rise": _rate_floor_in_rise,
        },
    ),
    Check(
        id="q16.adam-moves",
        points=3,
        signature="adam_moves(gradients, rate, beta1, beta2)",
        public=[
            ([1e-6, 1e-6], 0.001, 0.9, 0.999),
            ([1000.0, 1.0, 1.0], 0.001, 0.9, 0.999),
            ([1.0, -1.0, 1.0, -1.0], 0.01, 0.9, 0.95),
            ([0.5, 0.0, 2.0, 3.0, -0.25], 0.001, 0.8, 0.99),
            ([-3.0], 0.0003, 0.9, 0.999),
            ([0.0, 0.0, 4.0], 0.001, 0.9, 0.999),
            ([2.0, -1.7], 0.0003, 0.9, 0.95),
            ([0.3, 0.2, 2.0, 3.0, 0.7, -1.1, 0.4], 0.01, 0.5, 0.99),  # moves by more than the rate
        ],
        generate=_draw_adam,
        reference=_adam_moves,
        same=Close(rel=1e-4, abs=1e-9),
        wrong={
            "not corrected": lambda gradients, rate, beta1, beta2: _adam(
                gradients, rate, beta1, beta2, corrected=(False, False)
            ),
            "mean not corrected": lambda gradients, rate, beta1, beta2: _adam(
                gradients, rate, beta1, beta2, corrected=(False, True)
            ),
            "square not corrected": lambda gradients, rate, beta1, beta2: _adam(
                gradients, rate, beta1, beta2, corrected=(True, False)
            ),
            "no root": lambda gradients, rate, beta1, beta2: _adam(gradients, rate, beta1, beta2, squares=False),
            "always the first": _adam_same_power,
            "counted from 0": _adam_from_zero,
            "betas swapped": lambda gradients, rate, beta1, beta2: _adam(gradients, rate, beta2, beta1),
        },
    ),
    Check(
        id="q16.rates-used",
        points=3,
        signature="rates_used(total, warmup, accumulate, stopped)",
        public=[
            (12, 3, 1, 0),
            (12, 3, 4, 0),
            (12, 3, 1, 7),
            (20, 5, 2, 12),
            (15, 2, 3, 13),
            (10, 1, 2, 5),
            (20, 8, 2, 3),
        ],
        generate=_draw_used,
        reference=_rates_used,
        same=Close(rel=1e-5, abs=1e-9),
        wrong={
            "as given": _rates_faulty,
            "micro-batches left": lambda *given: _rates_faulty(*given, first=False, restart=False),
            "first rate lost": lambda *given: _rates_faulty(*given, micro=False, restart=False),
            "restart left": lambda *given: _rates_faulty(*given, micro=False, first=False),
            "only the restart": lambda *given: _rates_faulty(*given, restart=False),
            "only micro-batches": lambda *given: _rates_faulty(*given, micro=False),
            "only the first rate": lambda *given: _rates_faulty(*given, first=False),
            "no second rise": _rates_no_second_rise,
            "rise again": _rates_rise_again,
        },
    ),
    Check(
        id="q16.smallest-batch",
        points=3,
        signature="smallest_batch(target, rate, curvature, sigma)",
        public=[
            (0.001, 0.1, 1.0, 1.0),
            (0.0625, 0.5, 2.0, 2.0),
            (0.25, 0.5, 2.0, 3.0),  # exactly nine
            (0.011, 0.05, 30, 10),
            (0.5, 0.01, 3, 1),
            (0.01, 0.5, 4.0, 1.0),
            (0.01, 0.6, 4.0, 1.0),
            (0.0021, 0.03, 50, 3),
            (0.3, 0.2, 3, 4),
            (0.021, 0.2, 3.5, 1.5),
            (2.0, 0.4, 2, 9),
            (0.06, 0.196, 10, 2),
            (0.5, 0.1995, 10, 2),
            (2.5e-6, 0.5, 1.0, 1.0),
        ],
        generate=_draw_batch,
        reference=_smallest_batch,
        same=EXACT,
        wrong={
            "rounded down": _batch_down,
            "always one": _batch_always,
            "noise over B": _batch_squared,
            "no half": _batch_by(lambda rate, curvature, sigma: rate * sigma**2 / (2 - rate * curvature)),
            "small rates": _batch_by(lambda rate, curvature, sigma: rate * sigma**2 / 4),
            "curvature of one": _batch_by(lambda rate, curvature, sigma: rate * sigma**2 / (2 * abs(2 - rate))),
        },
    ),
]
