"""Checks of Q15, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import copysign, floor, frexp, log2, sqrt, trunc

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q15.rounded ---------------------------------------------------------------------------------


def _held(value, fraction_bits):
    """One number, to nearest, ties to even."""
    unit = 2.0 ** (frexp(value)[1] - 1 - fraction_bits)
    return round(value / unit) * unit


def _rounded(values, fraction_bits):
    held = []
    for value in values:
        octave = frexp(value)[1] - 1
        unit = 2.0 ** (octave - fraction_bits)
        held.append(round(value / unit) * unit)
    return held


def _rounded_by(to_whole, places=lambda octave, bits: octave - bits):
    """Rounding to multiples of 2^places, where 2^octave is the power of two at or below the size."""

    def rounded(values, fraction_bits):
        units = [2.0 ** places(frexp(value)[1] - 1, fraction_bits) for value in values]
        return [to_whole(value / unit) * unit for value, unit in zip(values, units, strict=True)]

    return rounded


def _half_away(number):
    return copysign(floor(abs(number) + 0.5), number)


def _draw_rounded(rng):
    """Ties with an even and an odd neighbour below, a number just below a power of two, and others, of both signs; some
    far beyond the range of fp16.
    """
    bits = rng.randrange(2, 11)
    odd = 2 * rng.randrange(2 ** (bits - 1), 2**bits - 1) + 1
    parts = [
        odd + 0.5,
        odd + 1.5,
        odd + 0.3,
        odd + 0.7,
        -odd - 0.5,
        -odd - 1.5,
        -odd - 0.2,
        -odd - 0.8,
        2 ** (bits + 1) - 0.3,
    ]
    values = [part * 2.0 ** (rng.choice([-40, *range(-8, -1), *range(2, 9), 40]) - bits) for part in parts]
    values = rng.sample(values, rng.randrange(7, 10))
    return [0.0, *values, values[0]], bits


# ---- q15.kahan -----------------------------------------------------------------------------------


def _kahan(start, update, times, fraction_bits):
    total, lost = start, 0.0
    for _ in range(times):
        wanted = _held(update - lost, fraction_bits)
        after = _held(total + wanted, fraction_bits)
        lost = _held(_held(after - total, fraction_bits) - wanted, fraction_bits)
        total = after
    return total


def _kahan_turned(start, update, times, fraction_bits):
    """What was added too much is added to the next update once more."""
    total, lost = start, 0.0
    for _ in range(times):
        wanted = _held(update + lost, fraction_bits)
        after = _held(total + wanted, fraction_bits)
        lost = _held(_held(after - total, fraction_bits) - wanted, fraction_bits)
        total = after
    return total


def _kahan_plain(start, update, times, fraction_bits):
    for _ in range(times):
        start = _held(start + update, fraction_bits)
    return start


def _draw_kahan(rng):
    """An update that is lost without help, of either sign, often enough to move the total by several spacings; at most
    by 36 of the 40 or more that the start has. Sometimes it is half a spacing, which ties, or larger than the total.
    """
    bits, kind = rng.randrange(5, 9), rng.random()
    start = 2.0 ** rng.randrange(-2, 6) * (1 + rng.randrange(2 ** (bits - 2), 2 ** (bits - 1)) / 2**bits)
    spacing = 2.0 ** (frexp(start)[1] - 1 - bits)
    if kind < 0.1:
        return start, rng.choice([-1, 1]) * spacing / 2, 2 * rng.randrange(2, 9) + 1, bits
    if kind < 0.2:
        return start, start * rng.uniform(9, 60), rng.randrange(3, 9), bits
    update = rng.choice([-1, 1]) * spacing * rng.uniform(0.13, 0.4)
    return start, update, rng.randrange(30, 90), bits


# ---- q15.scaler ----------------------------------------------------------------------------------


def _scaler_with(over=lambda size: size > 65504, after_overflow=0, after_growth=0, taken_always=False, first=0):
    """The scales in use and the steps taken; `after_overflow`: what the count of good steps becomes, None for unchanged."""

    def scaler(largest, start, interval):
        scale, good, scales, taken = start, first, [], 0
        for size in largest:
            scales.append(scale)
            if over(size * scale):
                scale, good = scale / 2, good if after_overflow is None else after_overflow
                taken += taken_always
                continue
            taken, good = taken + 1, good + 1
            if good >= interval:
                scale, good = scale * 2, good if after_growth is None else after_growth
        return {"scales": scales, "taken": taken}

    return scaler


def _scaler(largest, start, interval):
    scale, good, scales, taken = start, 0, [], 0
    for size in largest:
        scales.append(scale)
        if size * scale > 65504:
            scale, good = scale / 2, 0
        else:
            taken, good = taken + 1, good + 1
            if good == interval:
                scale, good = scale * 2, 0
    return {"scales": scales, "taken": taken}


def _scaler_counts_all(largest, start, interval):
    """An overflow, too, counts as one of the steps in a row."""
    scale, steps, scales, taken = start, 0, [], 0
    for size in largest:
        scales.append(scale)
        steps += 1
        if size * scale > 65504:
            scale /= 2
        else:
            taken += 1
            if steps >= interval:
                scale *= 2
        if steps >= interval:
            steps = 0
    return {"scales": scales, "taken": taken}


def _scaler_count_halved(largest, start, interval):
    """An overflow halves the count of good steps along with the scale."""
    scale, good, scales, taken = start, 0, [], 0
    for size in largest:
        scales.append(scale)
        if size * scale > 65504:
            scale, good = scale / 2, good // 2
        else:
            taken, good = taken + 1, good + 1
            if good == interval:
                scale, good = scale * 2, 0
    return {"scales": scales, "taken": taken}


def _scaler_shown_after(largest, start, interval):
    found = _scaler([*largest, 0.0], start, interval)
    return {"scales": found["scales"][1:], "taken": _scaler(largest, start, interval)["taken"]}


def _draw_scaler(rng):
    """Gradients near the edge: growth, an overflow anywhere in a row of good steps, sometimes exactly at the edge."""
    interval, start = rng.randrange(2, 6), 2.0 ** rng.choice([*range(8, 13), 24, 40])
    steps = 4 * interval + rng.randrange(3, 9)
    fits = 65504 / start / 4  # fits up to a scale of four times the start
    largest = [fits * rng.choice([0.3, 0.5, 0.7]) for _ in range(steps)]
    largest[interval + rng.randrange(1, interval)] = fits * 6  # within a row, at any scale that can be there
    if rng.random() < 0.5:
        largest[0] = 65504 / start  # just fits
    return largest, start, interval


# ---- q15.clipped ---------------------------------------------------------------------------------


def _clipped_with(norm_of, least_one=True, divide=True):
    """norm_of: the norm that is compared, from (unscaled gradients, scaled ones)."""

    def clipped(scaled, scale, most):
        gradients = [g / scale for g in scaled]
        factor = most / norm_of(gradients, scaled)
        factor = min(1.0, factor) if least_one else factor
        return [g * factor for g in (gradients if divide else scaled)]

    return clipped


def _norm(values):
    return sqrt(sum(value * value for value in values))


def _clipped(scaled, scale, most):
    norm = sqrt(sum(g * g for g in scaled)) / scale
    factor = min(1.0, most / norm)
    return [g / scale * factor for g in scaled]


def _clipped_each(scaled, scale, most):
    return [max(-most, min(most, g / scale)) for g in scaled]


def _clipped_if_one(scaled, scale, most):
    """Clips by the norm, but only where one number alone is above the limit."""
    above = max(map(abs, scaled)) / scale > most
    return _clipped(scaled, scale, most) if above else [g / scale for g in scaled]


def _draw_clipped(rng):
    """More than half of the draws are above the limit, most of these so little that often each number alone is below;
    some are so far below that even the scaled norm is. One number comes twice.
    """
    numbers = [rng.choice([-1, 1]) * rng.uniform(0.5, 2) for _ in range(rng.randrange(3, 7))]
    numbers.append(numbers[0])
    most, scale = rng.uniform(0.5, 3), 2.0 ** rng.randrange(6, 17)
    kind = rng.random()
    if kind < 0.46:
        wanted = most * (0.5 / scale if kind < 0.1 else rng.uniform(0.2, 0.7))
    else:
        wanted = most * (rng.uniform(1.1, 1.5) if kind < 0.9 else rng.uniform(1.5, 5))
    return [g * wanted / _norm(numbers) * scale for g in numbers], scale, most


# ---- q15.narrowest -------------------------------------------------------------------------------


def _narrowest(tensors, formats):
    found = []
    for smallest, largest, error in tensors:
        good = []
        for bits, top, bottom, fraction in formats:
            scale = 2.0 ** floor(log2(top / largest))
            if smallest * scale >= bottom and 2.0 ** -(fraction + 1) <= error:
                good.append(bits)
        found.append(min(good) if good else None)
    return found


def _narrowest_with(fits_range, error_of=lambda bits: 2.0 ** -(bits + 1), choose=min):
    def one(smallest, largest, error, formats):
        good = [
            stored
            for stored, top, bottom, fraction in formats
            if fits_range(smallest, largest, top, bottom) and error_of(fraction) <= error
        ]
        return choose(good) if good else None

    return lambda tensors, formats: [one(*tensor, formats) for tensor in tensors]


def _fits_scaled(smallest, largest, top, bottom):
    return smallest * 2.0 ** floor(log2(top / largest)) >= bottom


def _fits_by_ratio(smallest, largest, top, bottom):
    return largest / smallest <= top / bottom


FP32, BF16, FP16 = [32, 3.4e38, 1.18e-38, 23], [16, 3.39e38, 1.18e-38, 7], [16, 65504.0, 6.1e-5, 10]
E5M2, E4M3, E2M1 = [8, 57344.0, 6.1e-5, 2], [8, 448.0, 0.015625, 3], [4, 6.0, 1.0, 1]
# With these two, fewer bits in all is neither fewer fraction bits nor less range.
E8M3, E3M4 = [12, 3.19e38, 1.18e-38, 3], [8, 15.5, 0.25, 4]


def _draw_narrowest(rng):
    """For each of three formats a tensor that it just holds, that no scale moves into it, that it holds far too coarsely,
    and that would fit where it is; two that fit by nothing to spare, and two that a format can hardly hold. Far below 1
    only without the wide formats: their largest number over such a size is infinite in float32.
    Sometimes the formats are others, of which the one with the fewest bits has not the fewest fraction bits, or not the
    least range.
    """
    wide, other = rng.random() < 0.6, rng.random() < 0.3
    some = [FP16, E8M3, E3M4] if wide and other else [FP16, E4M3, E2M1]
    formats = rng.sample(some + [FP32, BF16] * wide, 5 if wide else 3)
    moves = [-1, 6, 8, 60] if wide else [-70, -7, -5, 6, 8, 60]
    tensors = []
    for _, top, bottom, fraction in (FP16, E4M3, E2M1):
        octaves, error = log2(top / bottom), 2.0 ** -(fraction + 1)
        high = top * 2.0 ** (rng.choice(moves) - rng.uniform(0.05, 0.2))
        tensors.append([high / 2.0 ** (octaves - 0.4), high, error * rng.choice([1.0, 1.5])])
        high = top * 2.0 ** (rng.choice(moves) - rng.uniform(0.5, 0.8))
        tensors.append([high / 2.0 ** (octaves - 0.3), high, error])
        tensors.append([bottom * 1.1, top * 0.9, error * 0.7])
    tensors.append([8 * E4M3[2], 7.2 * E4M3[1], 0.0625])  # exactly down to the smallest normal number
    tensors.append([2 * E2M1[2], 2 * E2M1[1], 0.25])  # exactly from the smallest normal number to the largest
    tensors.append([1e-30, 1e30 * rng.uniform(0.1, 1), 2.0**-9 * 0.9])
    tensors.append([1.0, rng.uniform(1.1, 1.9), 2.0**-25])
    tensors += rng.sample(tensors, rng.randrange(2))
    rng.shuffle(tensors)
    return tensors, formats


# ---- the lesson's own: one line each --------------------------------------------------------------


def _spacing(value, fraction_bits):
    return 2.0 ** (floor(log2(value)) - fraction_bits)


def _next_scale(scale, good, overflow, interval):
    if overflow:
        return scale / 2, 0
    good += 1
    return (scale * 2, 0) if good == interval else (scale, good)


def _next_scale_with(grows, after=lambda good: 0, times=2):
    def next_scale(scale, good, overflow, interval):
        if overflow:
            return scale / 2, 0
        good += 1
        return (scale * times, after(good)) if grows(good, interval) else (scale, good)

    return next_scale


def _draw_next(rng):
    """A row of good steps that ends now, in the next step or later, or an overflow."""
    interval, kind = rng.randrange(3, 2000), rng.random()
    good = interval - 1 if kind < 0.47 else interval - 2 if kind < 0.8 else rng.randrange(0, interval - 2)
    return 2.0 ** rng.randrange(4, 20), good, rng.random() < 0.05, interval


def _draw_scale(rng):
    """limit over largest: a power of two exactly, a little above one, or nearly the next."""
    kind, limit = rng.random(), rng.choice([65504.0, 57344.0, 448.0])
    part = 1.0 if kind < 0.1 else rng.uniform(1.05, 1.3) if kind < 0.3 else rng.uniform(1.55, 1.95)
    below = [-4, -3, -2] if part > 1 else []  # there the logarithms of an exact power differ by no whole number
    return limit / part / 2.0 ** rng.choice([*below, *range(2, 30)]), limit


def _largest_scale(largest, limit):
    return 2.0 ** floor(log2(limit / largest))


CHECKS = [
    Check(
        id="q15.turn-spacing",
        points=0,
        signature="spacing(value, fraction_bits)",
        public=[(1.0, 7), (4.0, 7), (3.9, 7), (0.01, 7), (5000.0, 10), (0.3, 23), (96.0, 3)],
        generate=lambda rng: (
            rng.randrange(17, 31) / 16 * 2.0 ** rng.choice([*range(-9, -1), *range(3, 12)]),
            rng.randrange(1, 24),
        ),
        reference=_spacing,
        wrong={
            "that of 1": lambda value, fraction_bits: 2.0**-fraction_bits,
            "with the value": lambda value, fraction_bits: value * 2.0**-fraction_bits,
            "half": lambda value, fraction_bits: _spacing(value, fraction_bits) / 2,
            "next octave": lambda value, fraction_bits: _spacing(value, fraction_bits) * 2,
            "bits added": lambda value, fraction_bits: 2.0 ** (floor(log2(value)) + fraction_bits),
        },
    ),
    Check(
        id="q15.turn-scale",
        points=0,
        signature="largest_scale(largest, limit)",
        public=[
            (0.7, 65504.0),
            (4094.0, 65504.0),
            (1e-6, 65504.0),
            (3.0, 448.0),
            (100_000.0, 57344.0),
            (3e6, 448.0),
            (0.25, 448.0),
            (0.24, 448.0),  # the octaves of the two differ by one more than their ratio has
        ],
        generate=_draw_scale,
        reference=_largest_scale,
        wrong={
            "rounded up": lambda largest, limit: 2.0 ** -floor(-log2(limit / largest)),
            "nearest": lambda largest, limit: 2.0 ** round(log2(limit / largest)),
            "no power of two": lambda largest, limit: limit / largest,
            "upside down": lambda largest, limit: 2.0 ** floor(log2(largest / limit)),
        },
    ),
    Check(
        id="q15.turn-scaler",
        points=0,
        signature="next_scale(scale, good, overflow, interval)",
        public=[
            (65536.0, 0, False, 3),
            (65536.0, 1, False, 3),
            (65536.0, 2, False, 3),
            (131072.0, 2, True, 3),
            (1024.0, 1998, False, 2000),
            (2.0**30, 1999, False, 2000),  # no largest scale
            (1.0, 7, True, 2000),  # nor a smallest
        ],
        generate=_draw_next,
        reference=_next_scale,
        wrong={
            "count goes on": _next_scale_with(lambda good, interval: good == interval, after=lambda good: good),
            "one step late": _next_scale_with(lambda good, interval: good > interval),
            "one step early": _next_scale_with(lambda good, interval: good + 1 == interval),
            "always": _next_scale_with(lambda good, interval: True),
        },
    ),
    Check(
        id="q15.rounded",
        points=3,
        signature="rounded(values, fraction_bits)",
        public=[
            ([0.01, 1.00390625, 1.01171875, 64.265625, 0.0, -0.3, 255.7], 7),  # the fourth: just above a tie
            ([-1.0625, -1.1875, -0.3, 0.9999, 5.0, 5.3, 5.3], 3),
            ([1000.3, -1000.3, 2049.0, 2051.0, 3e-5, 1e-12, 70_001.0, 1e12], 10),  # no smallest, no largest number
            ([5.3], 4),
        ],
        generate=_draw_rounded,
        reference=_rounded,
        wrong={
            "cut off": _rounded_by(trunc),
            "always down": _rounded_by(floor),
            "ties away from zero": _rounded_by(_half_away),
            "fixed places": _rounded_by(round, lambda octave, bits: -bits),
            "one bit too few": _rounded_by(round, lambda octave, bits: octave - bits + 1),
            "one bit too many": _rounded_by(round, lambda octave, bits: octave - bits - 1),
        },
    ),
    Check(
        id="q15.kahan",
        points=3,
        signature="kahan(start, update, times, fraction_bits)",
        public=[
            (1.0, 0.001, 500, 7),
            (1.25, -0.02, 40, 4),
            (48.0, 0.07, 60, 7),
            (3.0, 0.003, 50, 8),
            (1.0, 0.00390625, 3, 7),  # ties, to the even number above and
            (1.0, 0.00390625, 5, 7),  # to the one below
            (3.25, 86.429, 3, 4),  # larger than the total: what it gains is no number of the format
            (1.0, 1.1, 5, 4),  # the turned sign is not the same as no correction
            (1.25, 8.3, 1, 4),  # nor the total less what was lost the same as the total
            (3.0, -0.1, 20, 4),  # what is wanted is negative, and rounded too
        ],
        generate=_draw_kahan,
        reference=_kahan,
        wrong={
            "plain": _kahan_plain,
            "sign turned": _kahan_turned,
            "never rounded": lambda start, update, times, fraction_bits: start + times * update,
        },
    ),
    Check(
        id="q15.scaler",
        points=4,
        signature="scaler(largest, start, interval)",
        public=[
            ([1.0, 0.4, 0.4, 1.0, 1e6, 0.4, 0.4, 0.4, 0.4, 0.4], 32768.0, 3),
            ([0.5, 100.0, 0.5, 0.5, 0.5, 0.5, 0.5], 1024.0, 2),
            ([15.9921875, 15.9921875, 3.0, 3.0, 3.0, 50.0, 50.0, 3.0, 3.0, 3.0], 4096.0, 3),
            ([1e9, 1e9, 1e9, 0.1], 65536.0, 2),
            ([1e9, 1e9, 1e9, 0.1], 2.0, 3),  # below 1
            ([1e-9] * 5, 2.0**30, 2),  # no largest scale
            ([0.5, 0.5, 1e6, 0.5, 0.5, 0.5, 0.5, 0.5], 1024.0, 4),  # two good steps are lost from the count, not one
            (
                [4094.015625, 4094.0, 4094.5, 4094.0],
                16.0,
                2,
            ),  # 65,504.25: too large by the text, though fp16 and whole numbers round it to 65,504
            ([0.5], 64.0, 2),
        ],
        generate=_draw_scaler,
        reference=_scaler,
        wrong={
            "count kept after an overflow": _scaler_with(after_overflow=None),
            "part of the count kept": _scaler_count_halved,
            "count kept after growth": _scaler_with(after_growth=None),
            "step taken": _scaler_with(taken_always=True),
            "one step late": _scaler_with(first=-1, after_overflow=-1, after_growth=-1),
            "overflow counts as good": _scaler_counts_all,
            "scales afterwards": _scaler_shown_after,
            "never too large": _scaler_with(over=lambda size: False),
        },
    ),
    Check(
        id="q15.clipped",
        points=3,
        signature="clipped(scaled, scale, most)",
        public=[
            ([3072.0, 3072.0, 3072.0, 3072.0], 1024.0, 1.0),
            ([-30.0, 40.0], 1000.0, 1.0),
            ([6000.0, -8000.0, 1.0], 100.0, 50.0),
            ([600.0, -200.0, 300.0], 1000.0, 0.5),
            ([400.0, -200.0, 300.0], 1000.0, 0.5),  # each is below the limit, the norm above
            ([300.0, -400.0], 1000.0, 0.6),  # the sum of sizes is above, the norm below
            ([0.25, -0.5, 0.25], 64.0, 1.0),
            ([-300.0], 100.0, 2.0),
        ],
        generate=_draw_clipped,
        reference=_clipped,
        same=Close(rel=1e-5),  # torch.nn.utils.clip_grad_norm_ adds 1e-6 to the norm
        wrong={
            "as given": _clipped_with(lambda gradients, scaled: _norm(scaled), least_one=False),
            "order left": _clipped_with(lambda gradients, scaled: _norm(scaled)),
            "small ones enlarged": _clipped_with(lambda gradients, scaled: _norm(gradients), least_one=False),
            "each alone": _clipped_each,
            "if one is above": _clipped_if_one,
            "largest": _clipped_with(lambda gradients, scaled: max(map(abs, gradients))),
            "still scaled": _clipped_with(lambda gradients, scaled: _norm(gradients), divide=False),
        },
    ),
    Check(
        id="q15.narrowest",
        points=3,
        signature="narrowest(tensors, formats)",
        public=[
            ([[1e-8, 1e-5, 0.01], [1e-8, 1e-5, 0.04], [100.0, 2000.0, 0.0625], [1e-8, 1e-5, 0.01]], [FP16, E4M3]),
            ([[0.01, 100.0, 0.0625], [1e-30, 1.0, 0.01], [1e-30, 1.0, 0.001]], [FP32, BF16, E5M2, E4M3]),
            ([[1.0, 4.9, 0.25], [1.15, 6.8, 0.25], [1.0, 5.0, 0.3], [1e-30, 1.0, 0.001]], [E4M3, FP16, E2M1, BF16]),
            (
                [[1.0, 6.0, 0.25], [0.95, 6.0, 0.25], [1.0, 5.0, 0.24], [1e-22, 1e-18, 0.001], [4e35, 1e36, 0.25]],
                [E4M3, FP16, E2M1],
            ),
            # fewer bits in all, though more of them are fraction, or range
            ([[1.0, 10.0, 0.0625], [1.0, 1000.0, 0.0625]], [FP16, E8M3, E3M4]),
            ([[1.0, 5.0, 0.25]], [FP16]),
        ],
        generate=_draw_narrowest,
        reference=_narrowest,
        same=EXACT,
        wrong={
            "no scale": _narrowest_with(lambda smallest, largest, top, bottom: smallest >= bottom and largest <= top),
            "ratio alone": _narrowest_with(_fits_by_ratio),
            "whole spacing": _narrowest_with(_fits_scaled, error_of=lambda bits: 2.0**-bits),
            "range alone": _narrowest_with(_fits_scaled, error_of=lambda bits: 0.0),
            "error alone": _narrowest_with(lambda *each: True),
            "first in the list": _narrowest_with(_fits_scaled, choose=lambda good: good[0]),
            "widest": _narrowest_with(_fits_scaled, choose=max),
        },
    ),
]
