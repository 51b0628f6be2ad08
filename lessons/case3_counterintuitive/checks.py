"""Checks of case 3, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are
drawn, the reference, and the wrong answers that people give.
"""

from math import log2

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lines of the lesson ---------------------------------------------------------------------


def _gain(calls, overhead, extra, rate):
    return calls * overhead - extra / rate


def _draw_turn_gain(rng):
    """In more than half of the draws the extra FLOPs take longer than the calls; never nearly as long."""
    calls, overhead, rate = rng.randrange(2, 500), rng.randrange(1, 40) / 2 * 1e-6, rng.randrange(1, 40) * 5e9
    share = rng.choice([0.125, 0.5, 0.75, 1.5, 2, 3, 5])
    return calls, overhead, round(share * calls * overhead * rate), rate


def _issued(warps, ready, schedulers):
    return min(schedulers, warps * ready)


def _draw_issued(rng):
    """In about half of the draws more is ready than can be issued; sometimes exactly as much."""
    schedulers = rng.choice([2, 3, 4, 8])
    if rng.random() < 0.04:
        return 4 * schedulers, 0.25, schedulers
    above = rng.random() < 0.58
    while True:
        warps, ready = rng.randrange(2, 64), rng.randrange(1, 20) / 20
        if (warps * ready > schedulers) == above and warps * ready > 1:
            return warps, ready, schedulers


def _weights_read(rows, chunk, weights):
    return -(-rows // chunk) * weights


def _draw_weights(rng):
    """In half of the draws the last chunk is full."""
    chunk = rng.randrange(2, 400)
    rest = 0 if rng.random() < 0.46 else rng.randrange(1, chunk)
    return chunk * rng.randrange(1, 30) + rest, chunk, rng.randrange(1, 900) * 1000


# ---- case3.padding -------------------------------------------------------------------------------


def _up(length, bucket):
    return -(-length // bucket) * bucket


def _padding(lengths, bucket):
    longest = max(lengths)
    return [sum(n * n for n in lengths), len(lengths) * longest**2, sum(_up(n, bucket) ** 2 for n in lengths)]


def _padding_tokens(lengths, bucket):
    return [sum(lengths), len(lengths) * max(lengths), sum(_up(n, bucket) for n in lengths)]


def _padding_floor(lengths, bucket):
    return [*_padding(lengths, bucket)[:2], sum((n // bucket * bucket) ** 2 for n in lengths)]


def _padding_one_more(lengths, bucket):
    return [*_padding(lengths, bucket)[:2], sum(((n // bucket + 1) * bucket) ** 2 for n in lengths)]


def _padding_sum_squared(lengths, bucket):
    return [sum(lengths) ** 2, (len(lengths) * max(lengths)) ** 2, sum(_up(n, bucket) for n in lengths) ** 2]


def _padding_capped(lengths, bucket):
    longest = max(lengths)
    return [*_padding(lengths, bucket)[:2], sum(min(_up(n, bucket), longest) ** 2 for n in lengths)]


def _padding_rounded_longest(lengths, bucket):
    exact, _, buckets = _padding(lengths, bucket)
    return [exact, len(lengths) * _up(max(lengths), bucket) ** 2, buckets]


BETWEEN, MULTIPLES = "no length a whole number of buckets", "some lengths whole numbers of buckets"


def _draw_padding(rng, group):
    """Two to eight lengths of up to five buckets."""
    bucket = rng.choice([8, 16, 50, 64, 100])
    lengths = [
        rng.randrange(5) * bucket + rng.randrange(1, bucket)
        for _ in range(rng.randrange(1 if group == MULTIPLES else 2, 7))
    ]
    if group == MULTIPLES:
        lengths += [rng.randrange(1, 6) * bucket for _ in range(rng.randrange(1, 3))]
    rng.shuffle(lengths)
    return lengths, bucket


# ---- case3.chunk-bytes ---------------------------------------------------------------------------


def _chunk(rows, d, f, chunk, cache, size, *, times=None, matrices=2, fits=None, hidden=4, ends=2):
    chunks = -(-rows // chunk) if times is None else times
    near = chunk * f * size <= cache if fits is None else fits
    return chunks * matrices * d * f * size + ends * rows * d * size + (0 if near else hidden * rows * f * size)


def _chunk_bytes(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size)


def _chunk_floor(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, times=rows // chunk)


def _chunk_once(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, times=1)


def _chunk_one_matrix(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, matrices=1)


def _chunk_always(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, fits=True)


def _chunk_elements(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, fits=chunk * f <= cache)


def _chunk_strict(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, fits=chunk * f * size < cache)


def _chunk_one_way(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, hidden=2)


def _chunk_all_rows(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, fits=rows * f * size <= cache)


def _chunk_all_held(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, fits=chunk * (f + 2 * d) * size <= cache)


def _chunk_no_ends(rows, d, f, chunk, cache, size):
    return _chunk(rows, d, f, chunk, cache, size, ends=0)


FITS, LEAVES = "the hidden rows of a chunk fit the cache", "they do not fit"


def _draw_chunk(rng, group):
    """Where they fit, exactly in half of the draws. Where they do not, their number is in half of the draws below the
    bytes of the cache. The last chunk is full in a third.
    """
    d, f, size = rng.randrange(2, 40) * 8, rng.randrange(5, 60) * 8, rng.choice([2, 4])
    chunk = rng.randrange(2, 90)
    rows = chunk * rng.randrange(2, 12) + (0 if rng.random() < 0.35 else rng.randrange(1, chunk))
    held = chunk * f * size
    if group == FITS:
        return rows, d, f, chunk, rng.choice([held, held, held, held + 1, 2 * held, 40 * held]), size
    return rows, d, f, chunk, rng.choice([held - 1, held * 3 // 4, held // 5, held // 9]), size


# ---- case3.issue-gain ----------------------------------------------------------------------------


def _issue_gain(warps_a, ready_a, warps_b, ready_b, schedulers):
    return min(schedulers, warps_b * ready_b) / min(schedulers, warps_a * ready_a)


def _gain_uncapped(warps_a, ready_a, warps_b, ready_b, schedulers):
    return warps_b * ready_b / (warps_a * ready_a)


def _gain_occupancy(warps_a, ready_a, warps_b, ready_b, schedulers):
    return warps_b / warps_a


def _gain_one(warps_a, ready_a, warps_b, ready_b, schedulers):
    return min(1, warps_b * ready_b) / min(1, warps_a * ready_a)


def _gain_ratio(warps_a, ready_a, warps_b, ready_b, schedulers):
    return min(schedulers, warps_b * ready_b / (warps_a * ready_a))


def _gain_four(warps_a, ready_a, warps_b, ready_b, schedulers):
    return min(4, warps_b * ready_b) / min(4, warps_a * ready_a)


def _gain_upside_down(warps_a, ready_a, warps_b, ready_b, schedulers):
    return 1 / _issue_gain(warps_a, ready_a, warps_b, ready_b, schedulers)


def _draw_gain(rng):
    """The first kernel mostly below the cap, the second mostly above; any other pair in some draws."""

    def kernel(schedulers, above):
        while True:
            warps, ready = rng.randrange(1, 65), rng.randrange(1, 20) / 20
            if (warps * ready > schedulers) == above:
                return warps, ready

    schedulers = rng.choice([1, 2, 3, 4, 8])
    first, second = rng.choice([(False, True), (False, True), (False, False), (True, False), (True, True)])
    if rng.random() < 0.1:
        return 4 * schedulers, 0.25, *kernel(schedulers, False), schedulers
    return *kernel(schedulers, first), *kernel(schedulers, second), schedulers


# ---- case3.crossover -----------------------------------------------------------------------------


def _transforms(n):
    """FLOPs of three real transforms of the first power of two that is at least 2 n."""
    exponent = 1
    while 2**exponent < 2 * n:
        exponent += 1
    return 7.5 * 2**exponent * exponent


def _first(n, fft, direct, step=2):
    """The smallest of 1, 1 + step, … up to n whose direct time is above that of the transforms; times as functions."""
    return next((kernel for kernel in range(1, n + 1, step) if fft < direct(kernel)), None)


def _crossover(n, fixed, direct_rate, fft_rate):
    return _first(n, fixed + _transforms(n) / fft_rate, lambda kernel: 2 * n * kernel / direct_rate)


def _crossover_no_fixed(n, fixed, direct_rate, fft_rate):
    return _crossover(n, 0, direct_rate, fft_rate)


def _crossover_macs(n, fixed, direct_rate, fft_rate):
    return _first(n, fixed + _transforms(n) / fft_rate, lambda kernel: n * kernel / direct_rate)


def _crossover_one_rate(n, fixed, direct_rate, fft_rate):
    return _crossover(n, fixed, direct_rate, direct_rate)


def _crossover_unpadded(n, fixed, direct_rate, fft_rate):
    return _first(n, fixed + 7.5 * n * log2(n) / fft_rate, lambda kernel: 2 * n * kernel / direct_rate)


def _crossover_one_transform(n, fixed, direct_rate, fft_rate):
    return _first(n, fixed + _transforms(n) / 3 / fft_rate, lambda kernel: 2 * n * kernel / direct_rate)


def _crossover_even(n, fixed, direct_rate, fft_rate):
    return _first(n, fixed + _transforms(n) / fft_rate, lambda kernel: 2 * n * kernel / direct_rate, step=1)


def _crossover_as_needed(n, fixed, direct_rate, fft_rate):
    """With the first power of two that holds n + k − 1 sums."""
    for kernel in range(1, n + 1, 2):
        exponent = (n + kernel - 2).bit_length()
        if fixed + 7.5 * 2**exponent * exponent / fft_rate < 2 * n * kernel / direct_rate:
            return kernel
    return None


def _crossover_never_none(n, fixed, direct_rate, fft_rate):
    return _first(10**6, fixed + _transforms(n) / fft_rate, lambda kernel: 2 * n * kernel / direct_rate)


POWERS, OTHERS = "the signal is a power of two long", "it is not, or there is no such kernel"


def _draw_crossover(rng, group):
    """Of those that are no powers of two some half have no kernel; in some the answer is n itself, or 1. Ties are public
    only: solved for the kernel, in GFLOP, a right answer may lie a hair above or below one.
    """
    giga, kind = 10**9, rng.random()
    if group == OTHERS and kind < 0.04:
        return rng.choice([70, 71, 301]), 0, 10**6, giga
    if group == OTHERS and kind < 0.24:  # the last odd kernel; or none, and one more would do
        n, below = rng.choice([(45, 1.5), (71, 0.5), (141, 0.5)] if kind < 0.12 else [(46, 0.5), (70, 0.5), (140, 0.5)])
        return n, 0, giga, round(_transforms(n) / (2 * n * (n - below)) * giga)
    none = group == OTHERS and kind < 0.54
    while True:
        n = rng.choice([256, 512, 1024, 2048] if group == POWERS else [70, 71, 140, 141, 275, 301, 555, 700])
        direct, fft = rng.choice([1, 2, 3, 5]) * giga, rng.choice([1, 2, 4, 6]) * giga
        inputs = n, rng.randrange(1, 60) * rng.choice([1e-6, 1e-5, 1e-4]), direct, fft
        even = (inputs[1] + _transforms(n) / fft) * direct / (2 * n)  # where both ways tie
        if abs(even - round(even)) < 0.03 or (even > n + 3) != none or even > 3 * n:
            continue
        if none or all(slip(*inputs) != _crossover(*inputs) for slip in SLIPS):
            return inputs


SLIPS = (
    _crossover_no_fixed,
    _crossover_macs,
    _crossover_one_rate,
    _crossover_unpadded,
    _crossover_one_transform,
    _crossover_even,
)


CHECKS = [
    Check(
        id="case3.turn-gain",
        points=0,
        signature="gain(calls, overhead, extra, rate)",
        public=[(255, 2e-6, 2_662_400, 55e9), (10, 5e-6, 6e9, 6e11), (1, 1e-5, 200, 1e9), (63, 2e-6, 7e6, 5e10)],
        generate=_draw_turn_gain,
        reference=_gain,
        same=Close(rel=1e-3, abs=1e-12),
        wrong={
            "added": lambda calls, overhead, extra, rate: calls * overhead + extra / rate,
            "turned": lambda calls, overhead, extra, rate: extra / rate - calls * overhead,
            "one call": lambda calls, overhead, extra, rate: overhead - extra / rate,
            "never below 0": lambda calls, overhead, extra, rate: max(0.0, calls * overhead - extra / rate),
            "times the rate": lambda calls, overhead, extra, rate: calls * overhead - extra * rate,
        },
    ),
    Check(
        id="case3.turn-issue",
        points=0,
        signature="issued(warps, ready, schedulers)",
        public=[(32, 0.1, 4), (16, 0.7, 4), (16, 0.25, 4), (3, 0.2, 1), (40, 0.9, 2), (1, 0.5, 8), (5, 0.3, 4)],
        generate=_draw_issued,
        reference=_issued,
        wrong={
            "uncapped": lambda warps, ready, schedulers: warps * ready,
            "one a clock": lambda warps, ready, schedulers: min(1, warps * ready),
            "all warps": lambda warps, ready, schedulers: min(schedulers, warps),
            "the larger": lambda warps, ready, schedulers: max(schedulers, warps * ready),
            "times the schedulers": lambda warps, ready, schedulers: schedulers * min(1, warps * ready),
        },
    ),
    Check(
        id="case3.turn-weights",
        points=0,
        signature="weights_read(rows, chunk, weights)",
        public=[(1024, 64, 18_874_368), (1000, 64, 1000), (64, 64, 5000), (2001, 2000, 5000), (100, 30, 2000)],
        generate=_draw_weights,
        reference=_weights_read,
        same=EXACT,
        wrong={
            "full chunks": lambda rows, chunk, weights: rows // chunk * weights,
            "a part of a chunk": lambda rows, chunk, weights: rows / chunk * weights,
            "once": lambda rows, chunk, weights: weights,
            "each row": lambda rows, chunk, weights: rows * weights,
            "one more": lambda rows, chunk, weights: (rows // chunk + 1) * weights,
        },
    ),
    Check(
        id="case3.padding",
        points=3,
        signature="padding(lengths, bucket)",
        public={
            BETWEEN: [([100, 20], 64), ([30, 70, 5], 16), ([7, 7, 90], 50), ([65], 64), ([1, 2, 700], 2000)],
            MULTIPLES: [([64, 100], 64), ([64, 32, 64], 32), ([64, 10], 64), ([200], 100), ([48, 17, 16, 3], 16)],
        },
        generate=_draw_padding,
        groups={BETWEEN: 2, MULTIPLES: 1},
        reference=_padding,
        same=EXACT,
        wrong={
            "rows for pairs": _padding_tokens,
            "cut off": _padding_floor,
            "one bucket more": _padding_one_more,
            "the sum squared": _padding_sum_squared,
            "no longer than the longest": _padding_capped,
            "the longest in buckets": _padding_rounded_longest,
        },
    ),
    Check(
        id="case3.chunk-bytes",
        points=4,
        signature="chunk_bytes(rows, d, f, chunk, cache, size)",
        public={
            FITS: [
                (1024, 768, 3072, 64, 2**20, 4),
                (1000, 768, 3072, 64, 786_432, 4),
                (130, 16, 64, 50, 12_800, 4),
                (60, 32, 40, 20, 100_000, 2),
                (40, 64, 16, 40, 1280, 2),
                (24, 64, 16, 20, 2000, 2),
                (4001, 16, 8, 2000, 100_000, 4),
            ],
            LEAVES: [
                (1024, 768, 3072, 1024, 2**20, 4),
                (1000, 768, 3072, 300, 2**20, 4),
                (130, 16, 64, 50, 12_799, 4),
                (130, 16, 64, 50, 4000, 4),
                (60, 32, 40, 20, 100, 2),
                (4001, 16, 8, 2000, 50_000, 4),
            ],
        },
        generate=_draw_chunk,
        groups={FITS: 2, LEAVES: 2},
        reference=_chunk_bytes,
        same=EXACT,
        wrong={
            "full chunks": _chunk_floor,
            "weights once": _chunk_once,
            "one matrix": _chunk_one_matrix,
            "always fits": _chunk_always,
            "numbers for bytes": _chunk_elements,
            "must be smaller": _chunk_strict,
            "written, not read": _chunk_one_way,
            "all rows must fit": _chunk_all_rows,
            "more than the hidden rows": _chunk_all_held,
            "without x and y": _chunk_no_ends,
        },
    ),
    Check(
        id="case3.issue-gain",
        points=2,
        signature="issue_gain(warps_a, ready_a, warps_b, ready_b, schedulers)",
        public=[
            (32, 0.1, 16, 0.7, 4),
            (64, 0.02, 16, 0.05, 4),
            (48, 0.5, 12, 0.25, 4),
            (16, 0.5, 8, 0.9, 2),
            (10, 0.1, 6, 0.9, 1),
            (16, 0.25, 30, 0.05, 4),
            (3, 0.5, 2, 1, 8),
            (1, 0.1, 6, 0.9, 2),
            (40, 0.01, 3, 0.25, 1),
        ],
        generate=_draw_gain,
        reference=_issue_gain,
        same=Close(rel=1e-5),
        wrong={
            "uncapped": _gain_uncapped,
            "occupancy only": _gain_occupancy,
            "one a clock": _gain_one,
            "the ratio capped": _gain_ratio,
            "always four": _gain_four,
            "upside down": _gain_upside_down,
        },
    ),
    Check(
        id="case3.crossover",
        points=4,
        signature="crossover(n, fixed, direct_rate, fft_rate)",
        public={
            POWERS: [
                (16_384, 0, 10**9, 10**9),
                (1024, 0, 3 * 10**9, 10**9),
                (256, 0, 2**31, 2**30),
                (1024, 0, 2**31, 2**30),
                (16, 0, 10**6, 10**9),
                (1024, 0.0014, 10**9, 2 * 10**9),
                (512, 0.00004, 10**9, 6 * 10**9),
            ],
            OTHERS: [
                (700, 0.0002, 10**9, 2 * 10**9),
                (16, 0, 10**9, 10**9),
                (16, 0, 10**9, 2_270_000_000),
                (70, 0.000001, 10**9, 2 * 10**9),
                (1500, 0.0002, 5 * 10**9, 4 * 10**9),
                (45, 0, 10**9, 1_700_000_000),
                (45, 0, 10**9, 1_680_000_000),
                (45, 0, 10**9, 1_650_000_000),
                (46, 0, 10**9, 1_600_000_000),
                (700, 0.01, 10**9, 2 * 10**9),
                (70, 0, 10**6, 10**9),
            ],
        },
        generate=_draw_crossover,
        groups={POWERS: 2, OTHERS: 2},
        reference=_crossover,
        same=EXACT,
        wrong={
            "no fixed cost": _crossover_no_fixed,
            "multiply-adds": _crossover_macs,
            "one rate": _crossover_one_rate,
            "not padded": _crossover_unpadded,
            "as long as needed": _crossover_as_needed,
            "one transform": _crossover_one_transform,
            "even kernels": _crossover_even,
            "longer than the signal": _crossover_never_none,
        },
    ),
]
