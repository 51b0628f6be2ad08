"""Checks of Q10, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import ceil, floor

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lesson's own: one line each --------------------------------------------------------------


def _step_seconds(readers, weight_bytes, cache_bytes, flops, peak, bandwidth):
    reading, computing = weight_bytes / bandwidth, readers * flops / peak
    return readers * cache_bytes / bandwidth + max(reading, computing)


def _step_all_added(readers, weight_bytes, cache_bytes, flops, peak, bandwidth):
    reading, computing = weight_bytes / bandwidth, readers * flops / peak
    return readers * cache_bytes / bandwidth + reading + computing


def _step_one_maximum(readers, weight_bytes, cache_bytes, flops, peak, bandwidth):
    return max((readers * cache_bytes + weight_bytes) / bandwidth, readers * flops / peak)


def _step_only_reading(readers, weight_bytes, cache_bytes, flops, peak, bandwidth):
    return (readers * cache_bytes + weight_bytes) / bandwidth


def _draw_step(rng):
    """Few readers, or so many that multiplying takes longer than reading the weights, or a number between, where the bits
    decide; with a short cache or a long one.
    """
    parameters, bandwidth, ridge = rng.randrange(1, 70) * 1e9, rng.randrange(300, 8000) * 1e9, rng.randrange(100, 400)
    readers = rng.choice([rng.randrange(1, 20), rng.randrange(20, ridge), rng.randrange(2 * ridge, 6 * ridge)])
    cache = rng.choice([0.0005, 0.05]) * parameters * rng.uniform(0.5, 2)
    return readers, parameters * rng.choice([0.5, 1, 2]), cache, 2 * parameters, ridge * bandwidth, bandwidth


def _on_grid(weights, bits):
    top = 2 ** (bits - 1) - 1
    scale = max(abs(weight) for weight in weights) / top
    return [round(weight / scale) * scale for weight in weights]


def _grid_floor(weights, bits):
    scale = max(abs(weight) for weight in weights) / (2 ** (bits - 1) - 1)
    return [floor(weight / scale) * scale for weight in weights]


def _grid_cut(weights, bits):
    scale = max(abs(weight) for weight in weights) / (2 ** (bits - 1) - 1)
    return [int(weight / scale) * scale for weight in weights]


def _grid_whole(weights, bits):
    scale = max(abs(weight) for weight in weights) / (2 ** (bits - 1) - 1)
    return [round(weight / scale) for weight in weights]


def _group(rng, size, bits, largest=None):
    """Numbers of one group, well off the middle between two points of its grid; the largest is now and then negative.

    largest: the size of the largest, drawn if None.
    """
    top = 2 ** (bits - 1) - 1
    scale = largest / top if largest else rng.uniform(0.01, 3)
    numbers = [(rng.randrange(-top + 1, top) + rng.uniform(-0.4, 0.4)) * scale for _ in range(size - 1)]
    numbers.append(rng.choice([-1, 1]) * (largest or top * scale))
    if rng.random() < 0.3:
        numbers = [-abs(number) for number in numbers]
    rng.shuffle(numbers)
    return numbers


def _draw_grid(rng):
    bits = rng.randrange(2, 9)
    weights = _group(rng, rng.randrange(5, 9), bits)
    return weights + rng.sample(weights, rng.randrange(2)), bits


def _pays_after(small, large, tokens):
    making = 6 * small * tokens + 2 * large * tokens
    return making / (2 * (large - small))


def _pays_whole(small, large, tokens):
    return (6 * small * tokens + 2 * large * tokens) / (2 * large)


def _pays_one_flop(small, large, tokens):
    return (6 * small * tokens + 2 * large * tokens) / (large - small)


def _pays_six(small, large, tokens):
    return (6 * small * tokens + 2 * large * tokens) / (6 * (large - small))


def _draw_pays(rng):
    large = rng.randrange(7, 400) * 1e9
    return large * rng.uniform(0.1, 0.6), large, rng.randrange(1, 900) * 1e9


# ---- q10.quantize --------------------------------------------------------------------------------


def _groups(weights, group):
    return [weights[start : start + group] for start in range(0, len(weights), group)]


def _quantize(weights, bits, group):
    scales, integers = [], []
    for part in _groups(weights, group):
        scale = max(abs(weight) for weight in part) / (2 ** (bits - 1) - 1)
        scales.append(scale)
        integers += [round(weight / scale) if scale else 0 for weight in part]
    return {"integers": integers, "scales": scales}


def _with(weights, scales, group, to=round):
    return [to(weight / scales[at // group]) if scales[at // group] else 0 for at, weight in enumerate(weights)]


def _quantize_half_range(weights, bits, group):
    scales = [max(map(abs, part)) / 2 ** (bits - 1) for part in _groups(weights, group)]
    return {"integers": _with(weights, scales, group), "scales": scales}


def _quantize_all_levels(weights, bits, group):
    scales = [max(map(abs, part)) / (2**bits - 1) for part in _groups(weights, group)]
    return {"integers": _with(weights, scales, group), "scales": scales}


def _quantize_floor(weights, bits, group):
    scales = _quantize(weights, bits, group)["scales"]
    return {"integers": _with(weights, scales, group, floor), "scales": scales}


def _quantize_cut(weights, bits, group):
    scales = _quantize(weights, bits, group)["scales"]
    return {"integers": _with(weights, scales, group, int), "scales": scales}


def _quantize_one_scale(weights, bits, group):
    return _quantize(weights, bits, len(weights))


def _quantize_no_sizes(weights, bits, group):
    scales = [max(part) / (2 ** (bits - 1) - 1) for part in _groups(weights, group)]
    return {"integers": _with(weights, scales, group), "scales": scales}


def _quantize_span(weights, bits, group):
    scales = [(max(part) - min(part)) / (2**bits - 1) for part in _groups(weights, group)]
    return {"integers": _with(weights, scales, group), "scales": scales}


def _quantize_scale_one(weights, bits, group):
    """A group of zeros gets the scale 1."""
    found = _quantize(weights, bits, group)
    return {"integers": found["integers"], "scales": [scale or 1.0 for scale in found["scales"]]}


def _zeros_if(is_zero):
    """The right answer but for what counts as a group of zeros."""

    def wrong(weights, bits, group):
        parts = _groups(weights, group)
        scales = [0.0 if is_zero(part) else _quantize(part, bits, group)["scales"][0] for part in parts]
        return {"integers": _with(weights, scales, group), "scales": scales}

    return wrong


def _quantize_scale_of_the_first(weights, bits, group):
    """A weight that stands in two groups gets the scale of the first."""
    scales = _quantize(weights, bits, group)["scales"]
    first = [scales[weights.index(weight) // group] for weight in weights]
    return {"integers": [round(w / s) if s else 0 for w, s in zip(weights, first, strict=True)], "scales": scales}


def _quantize_zeros_of_a_whole_group(weights, bits, group):
    """Every group of zeros gets `group` whole numbers, a shorter last one too."""
    found = _quantize(weights, bits, group)
    behind = 0 if found["scales"][-1] else -len(weights) % group
    return {"integers": found["integers"] + [0] * behind, "scales": found["scales"]}


def _quantize_drops_the_rest(weights, bits, group):
    return _quantize(weights[: len(weights) // group * group], bits, group)


# Groups of three: negative numbers; zeros; zeros and one number between, or behind, them; equal numbers; a shorter rest.
_ZEROS = [-1.0, -0.3, -0.62, 0.0, 0.0, 0.0, 0.0, 0.6, 0.0, 0.0, 0.0, -0.5, 0.3, 0.3, 0.3, 0.8, -0.2]

# Twelve groups of two, one of them very small; one weight just below the middle between two points.
_MANY = [7.0, 3.4996, -0.4, 1.4, 3e-4, -1e-4, 0.9, 0.2, -0.6, -0.35, 2.1, 0.5]
_MANY += [0.0, 0.0, 1.2, -1.0, 0.03, 0.07, -5.6, 2.3, 0.8, -0.8, 0.45]


def _draw_quantize(rng):
    """Eight groups in any order, one of zeros, two of zeros and one other number, one of equal numbers, one of negative
    ones, one with the scale of another and one whose largest number is a smaller one of another; a last one is shorter,
    and of zeros in half of the draws.
    """
    bits, group = rng.choice([2, 3, 4, 5, 8]), rng.randrange(3, 8)
    first = _group(rng, group, bits)
    largest = max(first, key=abs)
    smaller = max((number for number in first if abs(number) < abs(largest)), key=abs)
    below = [number for number in _group(rng, group, bits, abs(smaller)) if abs(number) < abs(smaller)]
    negative = [-abs(number) for number in _group(rng, group, bits)]
    zeros = [0.0] * (group - 1)
    place, size = rng.randrange(1, group), rng.uniform(0.1, 3)
    parts = [first, first[::-1], [*below, smaller], negative, [0.0] * group, [rng.uniform(0.1, 3)] * group]
    parts += [[*zeros[:place], each, *zeros[place:]] for each in (size, -size)]
    rng.shuffle(parts)
    rest = rng.randrange(1, group)
    parts.append([0.0] * rest if rng.random() < 0.5 else _group(rng, rest, bits))
    return [number for part in parts for number in part], bits, group


# ---- q10.widest-format ---------------------------------------------------------------------------


def _widest_formats(formats, parameters, readers, cache_bytes, bandwidth, goals):
    caches = readers * cache_bytes
    found = []
    for goal in goals:
        meets = [bits for bits in formats if (parameters * bits / 8 + caches) / bandwidth <= goal]
        found.append(max(meets) if meets else None)
    return found


def _widest_without_cache(formats, parameters, readers, cache_bytes, bandwidth, goals):
    return _widest_formats(formats, parameters, 0, cache_bytes, bandwidth, goals)


def _widest_one_cache(formats, parameters, readers, cache_bytes, bandwidth, goals):
    return _widest_formats(formats, parameters, 1, cache_bytes, bandwidth, goals)


def _widest_weights_for_each(formats, parameters, readers, cache_bytes, bandwidth, goals):
    return _widest_formats(formats, parameters * readers, readers, cache_bytes, bandwidth, goals)


def _widest_longer_of_two(formats, parameters, readers, cache_bytes, bandwidth, goals):
    caches = readers * cache_bytes
    seconds = {bits: max(parameters * bits / 8, caches) / bandwidth for bits in formats}
    return [max((bits for bits in formats if seconds[bits] <= goal), default=None) for goal in goals]


def _widest_bits_as_bytes(formats, parameters, readers, cache_bytes, bandwidth, goals):
    return _widest_formats(formats, 8 * parameters, readers, cache_bytes, bandwidth, goals)


def _narrowest(formats, parameters, readers, cache_bytes, bandwidth, goals):
    found = _widest_formats(formats, parameters, readers, cache_bytes, bandwidth, goals)
    return [None if bits is None else min(formats) for bits in found]


def _first_that_meets(formats, parameters, readers, cache_bytes, bandwidth, goals):
    seconds = {bits: (parameters * bits / 8 + readers * cache_bytes) / bandwidth for bits in formats}
    return [next((bits for bits in formats if seconds[bits] <= goal), None) for goal in goals]


def _widest_or_narrowest(formats, parameters, readers, cache_bytes, bandwidth, goals):
    found = _widest_formats(formats, parameters, readers, cache_bytes, bandwidth, goals)
    return [min(formats) if bits is None else bits for bits in found]


def _widest_whole_bits(formats, parameters, readers, cache_bytes, bandwidth, goals):
    caches = readers * cache_bytes
    seconds = {bits: (parameters * int(bits) / 8 + caches) / bandwidth for bits in formats}
    return [max((bits for bits in formats if seconds[bits] <= goal), default=None) for goal in goals]


def _draw_widest(rng):
    """Goals between two formats, two close to 4.5 bits, one a hair above a format and one a hair below it, one that the
    caches alone break, and one twice, in any order; the narrowest format stands first, the widest last. A goal exactly at
    a format is public only: in GB, TB and ms a right answer may take the step for a hair longer.
    """
    rest = [8, 6, 4.5, 3]
    rng.shuffle(rest)
    parameters, bandwidth = 2.0 ** rng.randrange(31, 36), 2.0 ** rng.randrange(39, 43)
    readers = 2 ** rng.randrange(3, 6)
    caches = parameters * rng.choice([1, 2])
    at = rng.choice([16, 8, 4.5, 3])
    wanted = [20, 20, 2.4, 4.4, 4.7, rng.choice([7, 5]), rng.choice([3.5, 12]), at + 0.002, at - 0.002, -3]
    rng.shuffle(wanted)
    goals = [(parameters * bits / 8 + caches) / bandwidth for bits in wanted]
    return [2, *rest, 16], parameters, readers, caches / readers, bandwidth, goals


# ---- q10.largest-saving-rank ---------------------------------------------------------------------


def _largest_saving_rank(m, n):
    return ceil(m * n / (m + n)) - 1


def _rank_half(m, n):
    return min(m, n) // 2


def _rank_half_less_one(m, n):
    return min(m, n) // 2 - 1


def _rank_even(m, n):
    return m * n // (m + n)


def _rank_one_side(m, n):
    return m * n // (2 * m) - 1


# mn/(m + n) is whole; in doubles 1/(1/m + 1/n) is more, or n/(1 + n/m) and one of m·(n/(m + n)) and m/(m + n)·n.
_ROUNDED_UP = [(98, 98), (392, 56), (294, 147), (1470, 294), (630, 990), (990, 630)]
_LARGE = [(8192, 28672), (53248, 16384), (12288, 49152), (128256, 4096), (200000, 65536)]


def _draw_rank(rng):
    """Now and then two sides at which the thin pair has exactly as many numbers as the matrix, or one number fewer; a
    square with an odd side; or those of a large model.
    """
    if rng.random() < 0.15:
        return rng.choice(_LARGE)
    if rng.random() < 0.3:
        return rng.choice(_ROUNDED_UP)
    if rng.random() < 0.1:
        side = 2 * rng.randrange(3, 3000) + 1
        return side, side
    if rng.random() < 0.2:
        m = rng.randrange(130, 251)  # at 129 mn/(m + n) − 1/(m + n) is a little less in doubles
        return m, m * (m - 1) + 1  # mn = (m − 1)(m + n) + 1
    if rng.random() < 0.6:
        side, k = rng.randrange(2, 60), rng.randrange(2, 9)
        return k * side * (k - 1), side * k  # mn/(m + n) = side·(k − 1), whole
    return rng.randrange(100, 5000), rng.randrange(5001, 20000)


# ---- q10.break-even ------------------------------------------------------------------------------


def _break_even(cost, price_per_hour, before, after):
    found = []
    for rate in after:
        saved = price_per_hour / 3600 * (1 / before - 1 / rate)
        found.append(cost / saved if rate > before else None)
    return found


def _each(way):
    """A wrong answer to one rate, for a list of them; None where the right one is."""

    def wrong(cost, price_per_hour, before, after):
        return [way(cost, price_per_hour, before, rate) if rate > before else None for rate in after]

    return wrong


def _break_even_negative(cost, price_per_hour, before, after):
    return [cost / (price_per_hour / 3600 * (1 / before - 1 / rate)) if rate != before else None for rate in after]


def _break_even_zero(cost, price_per_hour, before, after):
    return [found or 0.0 for found in _break_even(cost, price_per_hour, before, after)]


def _draw_break_even(rng):
    """Three ways that are faster, two of them alike, one little, and one that is slower, in any order; in two of three
    draws one that is as fast, with a rate and a price for which every order of the arithmetic, in float32 too, saves 0.
    """
    if as_fast := rng.random() < 0.65:
        before, price = 2.0 ** rng.randrange(4, 12), rng.randrange(2, 36) / 4
    else:
        before, price = rng.randrange(200, 20000) / 10, rng.randrange(50, 900) / 100
    fast = before * rng.uniform(1.2, 4)
    after = [before] * as_fast + [before * rng.uniform(0.1, 0.9), before * rng.uniform(1.005, 1.2), fast, fast]
    rng.shuffle(after)
    return rng.randrange(50, 5000), price, before, after


# ---- q10.two-of-four -----------------------------------------------------------------------------


def _largest_two(four):
    order = sorted(range(4), key=lambda place: -abs(four[place]))
    return [1 if place in order[:2] else 0 for place in range(4)]


def _two_of_four(matrix):
    mask = []
    for row in matrix:
        kept = []
        for start in range(0, len(row), 4):
            kept += _largest_two(row[start : start + 4])
        mask.append(kept)
    return mask


def _without_sizes(four):
    order = sorted(range(4), key=lambda place: -four[place])
    return [1 if place in order[:2] else 0 for place in range(4)]


def _of_fours(matrix, choose):
    return [[kept for at in range(0, len(row), 4) for kept in choose(row[at : at + 4])] for row in matrix]


def _down_columns(matrix, key=None):
    """What the code of the exercise does: where numbers of a column are equal, it marks the first of them."""
    mask = [[0] * len(row) for row in matrix]
    for start in range(0, len(matrix), 4):
        for column, four in enumerate(zip(*matrix[start : start + 4], strict=True)):
            for value in sorted(four, key=key, reverse=True)[:2]:
                mask[start + four.index(value)][column] = 1
    return mask


def _two_as_given(matrix):
    return _down_columns(matrix)


def _two_axis_left(matrix):
    return _down_columns([[abs(weight) for weight in row] for row in matrix])


def _two_axis_left_by_key(matrix):
    """Numbers with their signs, sorted by size: in a column that holds 0.5 and −0.5, `index` tells them apart."""
    return _down_columns(matrix, key=abs)


def _two_signs_left(matrix):
    return _of_fours(matrix, _without_sizes)


def _two_smallest(matrix):
    return [[1 - kept for kept in row] for row in _two_of_four(matrix)]


def _blocks_of_rows(matrix):
    """Rows behind the last whole block of four stay as they were: nothing is marked."""
    done = len(matrix) // 4 * 4
    return _two_of_four(matrix[:done]) + [[0] * len(row) for row in matrix[done:]]


def _half_of_the_row(matrix):
    found = []
    for row in matrix:
        order = sorted(range(len(row)), key=lambda place: -abs(row[place]))[: len(row) // 2]
        found.append([1 if place in order else 0 for place in range(len(row))])
    return found


def _draw_two(rng):
    """Eight columns and three to eight rows, the last of them an earlier one again. A size may stand in several fours, in
    one of which it stays and in another not; what people get wrong differs.
    """
    while True:
        rows = rng.choice([3, 5, 6, 8])
        sizes = [size for _ in range(2 * rows) for size in rng.sample(range(1, 40), k=4)]
        numbers = [rng.choice([-1, 1]) * size / 100 for size in sizes]
        matrix = [numbers[8 * row : 8 * row + 8] for row in range(rows - 1)]
        matrix.append(list(rng.choice(matrix)))
        wrongs = (_two_as_given, _two_axis_left, _two_signs_left, _half_of_the_row)
        if all(wrong(matrix) != _two_of_four(matrix) for wrong in wrongs):
            return (matrix,)


_FOUR = [
    [0.9, -1.4, 0.2, 0.1, -0.3, 0.25, 0.8, -0.7],
    [-0.5, 0.4, 0.6, -1.1, 1.3, 1.2, -1.5, 0.05],
    [0.15, 0.35, -0.45, 0.55, -0.65, 0.75, 0.85, -0.95],
    [-2.1, -2.2, -2.3, -2.4, 1.05, -1.15, 1.25, 1.35],
]

# Sizes that stay in one four and not in the next, in the same row and in another.
_AGAIN = [
    [0.5, -0.4, 0.3, 0.2, 0.8, -0.5, 0.7, 0.1],
    [-0.5, 0.6, 0.7, 0.2, -0.2, 0.1, 0.3, 0.05],
    [0.1, -0.9, 0.4, 0.8, 0.4, 0.3, -0.2, 0.1],
    [0.3, 0.1, -0.7, 0.2, 0.6, 0.9, 0.3, -0.8],
]

CHECKS = [
    Check(
        id="q10.turn-step",
        points=0,
        signature="step_seconds(readers, weight_bytes, cache_bytes, flops, peak, bandwidth)",
        public=[
            (1, 15e9, 0.134e9, 16e9, 989e12, 3.35e12),
            (64, 4.2e9, 0.5e9, 16e9, 989e12, 3.35e12),
            (1000, 4.2e9, 0.01e9, 16e9, 989e12, 3.35e12),
            (900, 8e9, 0.02e9, 24e9, 312e12, 2.04e12),
            (150, 4.2e9, 0.1e9, 16e9, 989e12, 3.35e12),
            (240, 15e9, 0.02e9, 16e9, 989e12, 3.35e12),
        ],
        generate=_draw_step,
        reference=_step_seconds,
        wrong={
            "all added": _step_all_added,
            "one maximum": _step_one_maximum,
            "only reading": _step_only_reading,
        },
    ),
    Check(
        id="q10.turn-grid",
        points=0,
        signature="on_grid(weights, bits)",
        public=[
            ([1.0, -0.6, 0.25, 0.0, -0.6], 4),
            ([-0.5, -1.3, -2.0], 3),
            ([0.3, 2.54, -1.1, 0.777, -0.013], 8),
            ([7.0, 3.4996, -1.2], 4),
            ([1.0, -0.37, 0.2], 12),
            ([-1.5], 4),
        ],
        generate=_draw_grid,
        reference=_on_grid,
        same=Close(rel=1e-5, abs=1e-9),
        wrong={"rounded down": _grid_floor, "cut off": _grid_cut, "whole numbers": _grid_whole},
    ),
    Check(
        id="q10.turn-pays",
        points=0,
        signature="pays_after(small, large, tokens)",
        public=[(1.2e9, 8.0e9, 1e12), (8e9, 70e9, 2e11)],
        generate=_draw_pays,
        reference=_pays_after,
        wrong={"the whole model": _pays_whole, "one FLOP": _pays_one_flop, "six": _pays_six},
    ),
    Check(
        id="q10.quantize",
        points=3,
        signature="quantize(weights, bits, group)",
        public=[
            ([1.0, -0.6, 0.25, 0.0], 4, 4),
            ([2.0, -2.0, 0.4, 1.8], 2, 4),
            (_ZEROS, 4, 3),
            ([0.317, 2.54, -1.1, 0.77, -0.13], 8, 2),
            ([0.5, -0.12, 0.2, 0.03, -0.1, 0.06, -0.9, 0.5, 0.9, 0.1, -0.2, 0.0, 0.3, 0.2, 0.5], 4, 7),
            (_MANY, 4, 2),
            ([1.0, -0.6, 0.25, 0.0, 0.0], 4, 3),
            ([0.7], 4, 3),
        ],
        generate=_draw_quantize,
        reference=_quantize,
        same=Close(rel=1e-6, abs=1e-9),  # some add a hair to a scale, so that no group of zeros divides by zero
        wrong={
            "half of the codes": _quantize_half_range,
            "all codes": _quantize_all_levels,
            "rounded down": _quantize_floor,
            "cut off": _quantize_cut,
            "one scale": _quantize_one_scale,
            "no sizes": _quantize_no_sizes,
            "span": _quantize_span,
            "zeros by the largest": _zeros_if(lambda part: max(part) == 0),
            "zeros by the first": _zeros_if(lambda part: part[0] == 0),
            "scale one": _quantize_scale_one,
            "scale of the first": _quantize_scale_of_the_first,
            "zeros of a whole group": _quantize_zeros_of_a_whole_group,
            "rest dropped": _quantize_drops_the_rest,
        },
    ),
    Check(
        id="q10.widest-format",
        points=3,
        signature="widest_formats(formats, parameters, readers, cache_bytes, bandwidth, goals)",
        public=[
            ([4.5, 16, 3, 8], 8e9, 1, 0.5e9, 2e12, [10e-3, 5e-3, 10e-3, 3e-3, 1e-3]),
            ([4.5, 16, 3, 8], 6e9, 16, 0.25e9, 3.35e12, [6e-3, 3e-3, 2.23e-3, 2.14e-3, 2e-3, 1.15e-3]),
            # Exactly 4 ms with 3 bits, in every order and in GB, TB and ms too, and a hair less.
            ([2, 3, 6, 16], 8e9, 4, 0.25e9, 1e12, [4e-3, 3.9997e-3, 7.1e-3, 2e-3, 0.5e-3]),
            ([16, 2, 6], 30e9, 4, 2e9, 2e12, [40e-3, 18e-3, 9e-3, 7.6e-3]),
            ([8], 8e9, 1, 0.5e9, 2e12, [5e-3]),
        ],
        generate=_draw_widest,
        reference=_widest_formats,
        same=EXACT,
        wrong={
            "no cache": _widest_without_cache,
            "one cache": _widest_one_cache,
            "weights for each": _widest_weights_for_each,
            "longer of two": _widest_longer_of_two,
            "bits as bytes": _widest_bits_as_bytes,
            "narrowest": _narrowest,
            "first": _first_that_meets,
            "never": _widest_or_narrowest,
            "whole bits": _widest_whole_bits,
        },
    ),
    Check(
        id="q10.largest-saving-rank",
        points=2,
        signature="largest_saving_rank(m, n)",
        public=[
            (256, 256),
            (1024, 256),
            (300, 5000),
            (1, 7),
            (20, 30),
            (98, 98),
            (99, 99),
            (250, 62251),
            (630, 990),
            (990, 630),
            (53248, 16384),
            (200000, 200000),
            (198387, 199798),  # 99545 and 1/398185: whole for `isclose`
        ],
        generate=_draw_rank,
        reference=_largest_saving_rank,
        same=EXACT,
        wrong={
            "half": _rank_half,
            "half less one": _rank_half_less_one,
            "as many": _rank_even,
            "one side": _rank_one_side,
        },
    ),
    Check(
        id="q10.break-even",
        points=3,
        signature="break_even_tokens(cost, price_per_hour, before, after)",
        public=[
            (500, 2.5, 95.6, [180.8, 8.6]),
            (1200, 4.0, 1024, [1024, 1350, 700, 2000, 1350, 1100]),
            (300.5, 1.2, 2.6, [2.7, 2.4, 2.62]),
            (400, 3.0, 100, [150]),
        ],
        generate=_draw_break_even,
        reference=_break_even,
        same=Close(rel=1e-4),  # in float32 the difference of two close rates keeps four digits
        wrong={
            "rates subtracted": _each(lambda cost, price, before, after: cost / (price / 3600) * (after - before)),
            "hours": _each(lambda cost, price, before, after: cost / (price * (1 / before - 1 / after))),
            "after only": _each(lambda cost, price, before, after: cost / (price / 3600 / after)),
            "negative": _break_even_negative,
            "zero": _break_even_zero,
        },
    ),
    Check(
        id="q10.two-of-four",
        points=3,
        signature="two_of_four(matrix)",
        public=[
            (_FOUR,),
            (_AGAIN,),
            ([[0.1, 0.2, 0.3, -0.4, -0.6, 0.5, 0.7, 0.8, 2.1, 0.9, 1.1, -1.2]] * 4,),
            (_AGAIN[:3],),
            (_AGAIN[:1],),
        ],
        generate=_draw_two,
        reference=_two_of_four,
        same=EXACT,
        wrong={
            "as given": _two_as_given,
            "columns": _two_axis_left,
            "columns by key": _two_axis_left_by_key,
            "signs": _two_signs_left,
            "smallest": _two_smallest,
            "blocks of rows": _blocks_of_rows,
            "half of the row": _half_of_the_row,
        },
    ),
]
