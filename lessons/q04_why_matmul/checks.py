"""Checks of Q4, of its your-turns and its exercises: inputs, how they are drawn, references, and the wrong answers that
people give.
"""

from fractions import Fraction
from math import ceil, exp, sqrt

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q04.turn-ratio ------------------------------------------------------------------------------


def _ratio(n, peak, bandwidth):
    flops, moved = 2 * n**3, 3 * n * n * 2
    arithmetic, memory = flops / peak, moved / bandwidth
    return max(arithmetic, memory) / memory


def _ratio_arithmetic_only(n, peak, bandwidth):
    return n * bandwidth / (3 * peak)


def _ratio_added(n, peak, bandwidth):
    return 1 + _ratio_arithmetic_only(n, peak, bandwidth)


def _ratio_seconds(n, peak, bandwidth):
    return max(2 * n**3 / peak, 6 * n * n / bandwidth)


def _ratio_smaller(n, peak, bandwidth):
    return min(_ratio_arithmetic_only(n, peak, bandwidth), 1)


def _ratio_upside_down(n, peak, bandwidth):
    return 1 / _ratio(n, peak, bandwidth)


def _draw_ratio(rng):
    """A device, and a size that is not near the one at which memory and arithmetic take equally long."""
    ridge, bandwidth = rng.uniform(50, 500), rng.randrange(500, 8000) * 1e9
    share = rng.choice([rng.uniform(0.1, 0.8), rng.uniform(1.3, 8)])
    return int(share * 3 * ridge), ridge * bandwidth, bandwidth


# ---- q04.turn-fetched ----------------------------------------------------------------------------


def _fetched(n, t):
    tiles = (n // t) ** 2
    return tiles * n * (t + t)


def _fetched_one_matrix(n, t):
    return n**3 // t


def _fetched_one_step(n, t):
    return 2 * n * n // t


def _fetched_areas(n, t):
    return 2 * n**3


def _fetched_with_result(n, t):
    return _fetched(n, t) + n * n


def _fetched_one_tile(n, t):
    return 2 * n * t


def _draw_fetched(rng):
    t = rng.choice([2, 4, 8, 16, 32, 64])
    return t * rng.randrange(2, 40), t


# ---- q04.turn-peak -------------------------------------------------------------------------------


def _peak(sms, multiply_adds, clock):
    return sms * 2 * multiply_adds * clock


def _peak_period(sms, multiply_adds, clock):
    return sms * 2 * multiply_adds / clock


def _draw_peak(rng):
    return rng.randrange(20, 160), rng.choice([64, 128, 256, 512, 1024, 2048, 4096]), rng.randrange(90, 260) * 1e7


# ---- q04.tile-intensity --------------------------------------------------------------------------


def _tile(tile_m, tile_n, bytes_per_element):
    return 2 * tile_m * tile_n / (bytes_per_element * (tile_m + tile_n))


def _tile_one_flop(tile_m, tile_n, bytes_per_element):
    return tile_m * tile_n / (bytes_per_element * (tile_m + tile_n))


def _tile_no_reuse(tile_m, tile_n, bytes_per_element):
    return 2 * tile_m * tile_n / (bytes_per_element * 2 * tile_m * tile_n)


def _tile_product_of_sides(tile_m, tile_n, bytes_per_element):
    return 2 * tile_m * tile_n / (bytes_per_element * tile_m * tile_n)


def _tile_with_result(tile_m, tile_n, bytes_per_element):
    return 2 * tile_m * tile_n / (bytes_per_element * (tile_m + tile_n + tile_m * tile_n))


def _tile_upside_down(tile_m, tile_n, bytes_per_element):
    return bytes_per_element * (tile_m + tile_n) / (2 * tile_m * tile_n)


def _draw_tile(rng):
    """Never 2 bytes a number, which the public examples have: who writes a fixed 2 must fail."""
    return rng.choice([32, 64, 96, 128]), rng.choice([48, 128, 192, 256]), rng.choice([4, 8])


# ---- q04.smallest-n ------------------------------------------------------------------------------


def _exact_n(peak, bandwidth, bytes_per_element, matrices=3, flops=2):
    return Fraction(peak) / Fraction(bandwidth) * matrices * bytes_per_element / flops


def _smallest(peak, bandwidth, bytes_per_element):
    return ceil(_exact_n(peak, bandwidth, bytes_per_element))


def _smallest_one_flop(peak, bandwidth, bytes_per_element):
    return ceil(_exact_n(peak, bandwidth, bytes_per_element, flops=1))


def _smallest_no_result(peak, bandwidth, bytes_per_element):
    return ceil(_exact_n(peak, bandwidth, bytes_per_element, matrices=2))


def _smallest_rounded_down(peak, bandwidth, bytes_per_element):
    return int(_exact_n(peak, bandwidth, bytes_per_element))


def _smallest_not_rounded(peak, bandwidth, bytes_per_element):
    return float(_exact_n(peak, bandwidth, bytes_per_element))


def _smallest_nearest(peak, bandwidth, bytes_per_element):
    return round(_exact_n(peak, bandwidth, bytes_per_element))


def _smallest_ridge_rounded(peak, bandwidth, bytes_per_element):
    return ceil(Fraction(3 * bytes_per_element * ceil(Fraction(peak) / Fraction(bandwidth)), 2))


def _smallest_two_decimals(peak, bandwidth, bytes_per_element):
    return ceil(Fraction(3 * bytes_per_element, 2) * round(Fraction(peak) / Fraction(bandwidth), 2))


def _draw_smallest(rng):
    """A device and a format: n a little above a whole number (`round` fails). Most are so little above it that two
    decimals of the ridge point are too few, and small, so that fp32 is enough. An n that comes out whole is public only:
    in TFLOP and GB a right answer may lie a hair above it.
    """
    near = rng.random() < 0.6
    while True:
        bandwidth = rng.randrange(500, 8000) * 1e9
        peak, size = rng.randrange(50, 2500) * 1e12, rng.choice([2, 4])
        exact = _exact_n(peak, bandwidth, size)
        if near and _smallest_two_decimals(peak, bandwidth, size) == ceil(exact):
            continue
        least, most = (0.004, 1500) if near else (0.02, 15_000)
        if least < exact % 1 < 0.48 and 40 < exact < most:
            return peak, bandwidth, size


# ---- q04.blocked-matmul --------------------------------------------------------------------------


def _blocked(a, b, tile, whole_tiles=False, overwrite=False, once=False, results=False):
    m, k, n = len(a), len(b), len(b[0])
    c, fetched = [[0] * n for _ in range(m)], 0
    for i in range(0, m, tile):
        rows = range(i, min(i + tile, m))
        for j in range(0, n, tile):
            columns = range(j, min(j + tile, n))
            for p in range(0, k, tile):
                inner = range(p, min(p + tile, k))
                fetched += 2 * tile * tile if whole_tiles else len(inner) * (len(rows) + len(columns))
                fetched += len(rows) * len(columns) if results else 0
                for row in rows:
                    for column in columns:
                        part = sum(a[row][q] * b[q][column] for q in inner)
                        c[row][column] = part if overwrite else c[row][column] + part
    return [c, m * k + k * n if once else fetched]


def _blocked_right(a, b, tile):
    return _blocked(a, b, tile)


def _blocked_ceilings_swapped(a, b, tile):
    m, k, n = len(a), len(b), len(b[0])
    return [_blocked(a, b, tile)[0], m * k * ceil(m / tile) + k * n * ceil(n / tile)]


def _blocked_a_kept(a, b, tile):
    m, k, n = len(a), len(b), len(b[0])
    return [_blocked(a, b, tile)[0], m * k + k * n * ceil(m / tile)]


def _blocked_edges_dropped(a, b, tile):
    m, k, n = (size // tile * tile for size in (len(a), len(b), len(b[0])))
    inside, fetched = _blocked([row[:k] for row in a[:m]], [row[:n] for row in b[:k]], tile)
    c = [[0] * len(b[0]) for _ in a]
    for row, values in zip(c, inside, strict=False):
        row[: len(values)] = values
    return [c, fetched]


def _blocked_one_row(a, b, tile):
    c, fetched = _blocked(a, b, tile)
    return [[[sum(column) for column in zip(*c, strict=True)] for _ in c], fetched]


def _draw_blocked(rng):
    """Small whole numbers; no side is a multiple of the tile, and rows and columns take 2 and 3 tiles, or 3
    and 2; each matrix has a row twice.
    """
    tile = rng.choice([2, 3, 4])
    down, across = rng.sample([2, 3], 2)
    m, k, n = (tile * tiles - rng.randrange(1, tile) for tiles in (down, rng.choice([2, 3]), across))
    a, b = ([[rng.randrange(1, 10) for _ in range(width)] for _ in range(rows)] for rows, width in ((m, k), (k, n)))
    for matrix in (a, b):
        matrix[-1] = list(rng.choice(matrix[:-1]))
    return a, b, tile


# ---- q04.attention -------------------------------------------------------------------------------


def _transposed(rows):
    return [list(column) for column in zip(*rows, strict=True)]


def _product(a, b):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*b, strict=True)] for row in a]


def _softmax(row):
    powers = [exp(value - max(row)) for value in row]
    return [power / sum(powers) for power in powers]


def _attend(q, k, v, divisor=None, over_queries=False, softmax=True, after=None):
    heads = []
    for queries, keys, values in zip(q, k, v, strict=True):
        by = sqrt(len(queries[0])) if divisor is None else divisor(len(queries[0]))
        scores = [[value / by for value in row] for row in _product(queries, _transposed(keys))]
        if softmax and over_queries:
            scores = _transposed([_softmax(row) for row in _transposed(scores)])
        elif softmax:
            scores = [_softmax(row) for row in scores]
        if after:
            scores = [[value / after(len(queries[0])) for value in row] for row in scores]
        heads.append(_product(scores, values))
    return heads


def _attention(q, k, v):
    return _attend(q, k, v)


def _attention_all_heads(q, k, v):
    merged = [[[value for head in x for value in head[token]] for token in range(len(x[0]))] for x in (q, k, v)]
    result, width = _attend(*([x] for x in merged))[0], len(q[0][0])
    return [[row[head * width : (head + 1) * width] for row in result] for head in range(len(q))]


def _attend_by_powers(q, k, v, sums):
    """Powers of the scores over what `sums` makes of all their sums: of (head, query, key) and the sums of the rows."""
    powers = []
    for queries, keys in zip(q, k, strict=True):
        scores = _product(queries, _transposed(keys))
        powers.append([[exp(value / sqrt(len(queries[0]))) for value in row] for row in scores])
    rows = [[sum(row) for row in head] for head in powers]
    return [
        _product([[p / sums(rows, h, i, j) for j, p in enumerate(row)] for i, row in enumerate(head)], values)
        for h, (head, values) in enumerate(zip(powers, v, strict=True))
    ]


def _attention_over_all(q, k, v):
    return _attend_by_powers(q, k, v, lambda rows, h, i, j: sum(sum(row) for row in rows))


def _attention_sums_broadcast(q, k, v):
    """As numpy broadcasts [heads, queries] against [heads, queries, keys], where it does."""
    return _attend_by_powers(q, k, v, lambda rows, h, i, j: rows[i if len(rows) == len(rows[0]) else h][j])


def _draw_attention(rng):
    heads, (tokens, width) = rng.choice([2, 3]), rng.choice([(3, 4), (3, 6), (4, 3), (4, 6), (5, 3), (5, 4), (5, 6)])

    def one():
        return [[[round(rng.uniform(-2, 2), 2) for _ in range(width)] for _ in range(tokens)] for _ in range(heads)]

    q, k, v = one(), one(), one()
    if rng.random() < 0.5:  # heads that share their queries, keys or values with another
        q[1], k[-1], v[0] = q[0], k[-2], v[1]
    return q, k, v


# ---- q04.wave-report -----------------------------------------------------------------------------


def _report(shapes, tile_m, tile_n, multiprocessors, tiles_of=None, waves_of=None, padded=False):
    report = []
    for m, n in shapes:
        whole = ceil(Fraction(m, tile_m)) * ceil(Fraction(n, tile_n))
        tiles = tiles_of(m, n) if tiles_of else whole
        waves = waves_of(tiles) if waves_of else ceil(Fraction(tiles, multiprocessors))
        asked = whole * tile_m * tile_n if padded else m * n
        report.append({"waves": waves, "useful": asked / (waves * multiprocessors * tile_m * tile_n)})
    return report


def _waves(shapes, tile_m, tile_n, multiprocessors):
    return _report(shapes, tile_m, tile_n, multiprocessors)


def _waves_as_given(shapes, tile_m, tile_n, multiprocessors):
    return _report(
        shapes,
        tile_m,
        tile_n,
        multiprocessors,
        tiles_of=lambda m, n: Fraction(m, tile_m) * Fraction(n, tile_n),
        waves_of=lambda tiles: int(tiles // multiprocessors) + 1,
    )


def _waves_one_too_many(shapes, tile_m, tile_n, multiprocessors):
    return _report(shapes, tile_m, tile_n, multiprocessors, waves_of=lambda tiles: tiles // multiprocessors + 1)


def _waves_a_tile_too_many(shapes, tile_m, tile_n, multiprocessors):
    return _report(shapes, tile_m, tile_n, multiprocessors, tiles_of=lambda m, n: (m // tile_m + 1) * (n // tile_n + 1))


def _waves_to_the_nearest(shapes, tile_m, tile_n, multiprocessors):
    return _report(
        shapes, tile_m, tile_n, multiprocessors, waves_of=lambda tiles: max(1, round(tiles / multiprocessors))
    )


def _waves_parts_of_tiles(shapes, tile_m, tile_n, multiprocessors):
    return _report(
        shapes, tile_m, tile_n, multiprocessors, tiles_of=lambda m, n: Fraction(m, tile_m) * Fraction(n, tile_n)
    )


def _waves_tiles_down(shapes, tile_m, tile_n, multiprocessors):
    return _report(shapes, tile_m, tile_n, multiprocessors, tiles_of=lambda m, n: (m // tile_m) * (n // tile_n))


def _waves_of_tiles(shapes, tile_m, tile_n, multiprocessors):
    report = _waves(shapes, tile_m, tile_n, multiprocessors)
    for (m, n), row in zip(shapes, report, strict=True):
        row["useful"] = m * n / (ceil(m / tile_m) * ceil(n / tile_n) * tile_m * tile_n)
    return report


def _waves_percent(shapes, tile_m, tile_n, multiprocessors):
    return [row | {"useful": 100 * row["useful"]} for row in _waves(shapes, tile_m, tile_n, multiprocessors)]


def _waves_padded(shapes, tile_m, tile_n, multiprocessors):
    return _report(shapes, tile_m, tile_n, multiprocessors, padded=True)


def _waves_columns_not_rounded(shapes, tile_m, tile_n, multiprocessors):
    def tiles(m, n):
        return ceil(ceil(Fraction(m, tile_m)) * Fraction(n, tile_n))

    return _report(shapes, tile_m, tile_n, multiprocessors, tiles_of=tiles)


def _waves_rows_not_rounded(shapes, tile_m, tile_n, multiprocessors):
    def tiles(m, n):
        return ceil(Fraction(m, tile_m) * ceil(Fraction(n, tile_n)))

    return _report(shapes, tile_m, tile_n, multiprocessors, tiles_of=tiles)


def _waves_sides_swapped(shapes, tile_m, tile_n, multiprocessors):
    return _waves(shapes, tile_n, tile_m, multiprocessors)


def _waves_always_128_256(shapes, tile_m, tile_n, multiprocessors):
    return _waves(shapes, 128, 256, multiprocessors)


def _draw_waves(rng):
    """A device; a shape that fits exactly, and one for each way of rounding less that then needs fewer waves;
    one stands twice.

    Never tiles of 128 × 256, which the public examples have: who writes those sizes must fail.
    """
    sms = rng.choice([80, 108, 114, 132])
    tile_m, tile_n = rng.choice([(256, 128), (64, 192), (192, 96), (128, 64), (96, 160)])
    shapes = [[tile_m * rng.choice([1, 2, 3]), tile_n * sms]]
    for fewer in (_waves_parts_of_tiles, _waves_columns_not_rounded, _waves_rows_not_rounded):
        while True:
            shape = [rng.randrange(1000, 6000), rng.randrange(1000, 6000)]
            tiles = ceil(shape[0] / tile_m) * ceil(shape[1] / tile_n)
            reports = (function([shape], tile_m, tile_n, sms)[0]["waves"] for function in (fewer, _waves))
            if tiles % sms and next(reports) < next(reports):
                shapes.append(shape)
                break
    shapes.append(rng.choice(shapes))
    return shapes, tile_m, tile_n, sms


CHECKS = [
    Check(
        id="q04.turn-ratio",
        points=0,
        signature="times_as_long(n, peak, bandwidth)",
        public=[(4096, 989e12, 3.35e12), (512, 989e12, 3.35e12), (600, 125e12, 900e9)],
        generate=_draw_ratio,
        reference=_ratio,
        wrong={
            "arithmetic only": _ratio_arithmetic_only,
            "added": _ratio_added,
            "seconds": _ratio_seconds,
            "the smaller": _ratio_smaller,
            "upside down": _ratio_upside_down,
            "FLOPs": lambda n, peak, bandwidth: 2 * n,
        },
    ),
    Check(
        id="q04.turn-fetched",
        points=0,
        signature="numbers_fetched(n, t)",
        public=[(4096, 128), (512, 64), (96, 2), (4004, 2)],
        generate=_draw_fetched,
        reference=_fetched,
        wrong={
            "one matrix": _fetched_one_matrix,
            "one step": _fetched_one_step,
            "areas": _fetched_areas,
            "multiply-adds": lambda n, t: n**3,
            "with the result": _fetched_with_result,
            "one tile": _fetched_one_tile,
        },
    ),
    Check(
        id="q04.turn-peak",
        points=0,
        signature="peak(sms, multiply_adds, clock)",
        public=[(132, 2048, 1.83e9), (80, 64, 1.53e9)],
        generate=_draw_peak,
        reference=_peak,
        wrong={
            "one FLOP": lambda sms, multiply_adds, clock: sms * multiply_adds * clock,
            "one SM": lambda sms, multiply_adds, clock: 2 * multiply_adds * clock,
            "period": _peak_period,
            "a clock": lambda sms, multiply_adds, clock: sms * 2 * multiply_adds,
        },
    ),
    Check(
        id="q04.tile-intensity",
        points=2,
        signature="tile_intensity(tile_m, tile_n, bytes_per_element)",
        public=[(128, 128, 2), (128, 256, 2), (64, 64, 4), (64, 48, 8)],  # the last one: four decimals are too few
        generate=_draw_tile,
        reference=_tile,
        wrong={
            "one FLOP": _tile_one_flop,
            "per number": lambda tile_m, tile_n, bytes_per_element: 2 * tile_m * tile_n / (tile_m + tile_n),
            "always 2 bytes": lambda tile_m, tile_n, bytes_per_element: _tile(tile_m, tile_n, 2),
            "no reuse": _tile_no_reuse,
            "product of the sides": _tile_product_of_sides,
            "with the result": _tile_with_result,
            "upside down": _tile_upside_down,
        },
    ),
    Check(
        id="q04.smallest-n",
        points=2,
        signature="smallest_compute_bound_n(peak, bandwidth, bytes_per_element)",
        public=[
            # two that two and three decimals of the ridge point miss, one larger than all hidden ones, and one so little
            # above a whole number that four decimals of it miss, and three of n
            (989e12, 3.35e12, 2),
            (312e12, 1.555e12, 2),
            (19.5e12, 1.555e12, 4),
            (261e12, 2.039e12, 2),
            (483e12, 7.918e12, 2),
            (4e15, 700e9, 2),
            (280e12, 31.111e12, 2),
            (1979e12, 3.35e12, 1),  # of one byte, on which 3 · bytes // 2 is too little
            # n comes out whole, in every order of the arithmetic, in other units and in fp32
            (988e12, 1e12, 2),
            (494e12, 2e12, 4),
            (61.75e12, 1e12, 8),
            (1976e12, 2e12, 8),
            (1976e12, 4e12, 1),
        ],
        generate=_draw_smallest,
        reference=_smallest,
        same=EXACT,
        wrong={
            "the ridge point": lambda peak, bandwidth, bytes_per_element: ceil(Fraction(peak) / Fraction(bandwidth)),
            "one FLOP": _smallest_one_flop,
            "one byte": lambda peak, bandwidth, bytes_per_element: ceil(_exact_n(peak, bandwidth, 1)),
            "no result": _smallest_no_result,
            "rounded down": _smallest_rounded_down,
            "to the nearest": _smallest_nearest,
            "two decimals": _smallest_two_decimals,
            "ridge point rounded": _smallest_ridge_rounded,
            "not rounded": _smallest_not_rounded,
        },
    ),
    Check(
        id="q04.blocked-matmul",
        points=4,
        signature="blocked_matmul(a, b, tile)",
        public=[
            ([[1, 2], [3, 4]], [[5, 6], [7, 8]], 1),
            ([[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 0, 2], [0, 1, 3], [1, 1, 1]], 2),
            (
                [[1, 2, 3, 4, 5], [6, 7, 8, 9, 1], [2, 3, 4, 5, 6]],
                [[1, 2, 3, 4], [5, 6, 7, 8], [9, 1, 2, 3], [4, 5, 6, 7], [8, 9, 1, 2]],
                2,
            ),
            ([[1, 2], [3, 4], [5, 6]], [[1, 2, 3, 4, 5], [6, 7, 8, 9, 1]], 2),
            ([[1, 2, 3], [4, 5, 6], [1, 2, 3], [7, 8, 9], [2, 1, 4]], [[3, 1], [3, 1], [2, 5]], 2),
            ([[3]], [[5, 2, 7, 1, 4, 6, 8, 9, 3, 2, 1, 7]], 1),
        ],
        generate=_draw_blocked,
        reference=_blocked_right,
        wrong={
            "whole tiles": lambda a, b, tile: _blocked(a, b, tile, whole_tiles=True),
            "overwrites": lambda a, b, tile: _blocked(a, b, tile, overwrite=True),
            "fetched once": lambda a, b, tile: _blocked(a, b, tile, once=True),
            "results counted": lambda a, b, tile: _blocked(a, b, tile, results=True),
            "no reuse": lambda a, b, tile: [_blocked(a, b, tile)[0], 2 * len(a) * len(b) * len(b[0])],
            "tile divides": lambda a, b, tile: [_blocked(a, b, tile)[0], 2 * len(a) * len(b) * len(b[0]) // tile],
            "ceilings swapped": _blocked_ceilings_swapped,
            "tile of a kept": _blocked_a_kept,
            "rows are one list": _blocked_one_row,
            "edges dropped": _blocked_edges_dropped,
        },
    ),
    Check(
        id="q04.attention",
        points=3,
        signature="attention(q, k, v)",
        public=[
            (
                [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]],
                [[[1.0, 2.0], [0.5, -1.0], [-1.0, 0.0]]],
                [[[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]],
            ),
            (
                [[[1.0, 0.5, -1.0], [0.0, 2.0, 1.0]], [[0.3, 0.2, 0.1], [1.0, -1.0, 0.5]]],
                [[[0.5, 1.0, 0.0], [1.0, -1.0, 2.0]], [[1.0, 1.0, 1.0], [0.0, 0.5, -0.5]]],
                [[[1.0, 0.0, 0.0], [0.0, 1.0, 2.0]], [[2.0, 1.0, 0.0], [1.0, 3.0, 5.0]]],
            ),
            (  # one on which 16 bits are too few, as they are on hidden ones
                [[[1.7, 1.4, -0.4], [1.8, 0.0, 0.4], [-1.4, 0.8, -1.0], [-1.8, 0.1, -1.7]]],
                [[[1.7, 1.9, 1.0], [-1.4, 0.0, -0.5], [1.6, 1.1, -0.8], [1.4, -1.3, -0.8]]],
                [[[-1.9, -1.0, 1.0], [-1.7, -0.8, 1.2], [-1.6, 1.7, -1.1], [1.1, -0.6, -0.2]]],
            ),
            (  # three heads: two share queries, two keys, two values. Last, as sums without their axis raise here
                [[[0.5, 1.0], [1.0, -1.0]], [[1.0, 0.0], [0.2, 0.4]], [[0.5, 1.0], [1.0, -1.0]]],
                [[[1.0, 0.3], [-0.5, 1.0]], [[0.0, 1.0], [1.0, 1.5]], [[0.0, 1.0], [1.0, 1.5]]],
                [[[1.0, 4.0], [2.0, -1.0]], [[1.0, 4.0], [2.0, -1.0]], [[2.0, 2.5], [-3.0, 1.0]]],
            ),
        ],
        generate=_draw_attention,
        reference=_attention,
        same=Close(rel=1e-4, abs=1e-5),
        wrong={
            "unscaled": lambda q, k, v: _attend(q, k, v, divisor=lambda width: 1),
            "divided by the width": lambda q, k, v: _attend(q, k, v, divisor=lambda width: width),
            "divided by the tokens' root": lambda q, k, v: _attend(q, k, v, divisor=lambda width: sqrt(len(k[0]))),
            "softmax over queries": lambda q, k, v: _attend(q, k, v, over_queries=True),
            "scaled after the softmax": lambda q, k, v: _attend(q, k, v, divisor=lambda width: 1, after=sqrt),
            "softmax over the head": lambda q, k, v: _attend_by_powers(q, k, v, lambda rows, h, i, j: sum(rows[h])),
            "softmax over everything": _attention_over_all,
            "sums along the keys": lambda q, k, v: _attend_by_powers(q, k, v, lambda rows, h, i, j: rows[h][j]),
            "sums broadcast": _attention_sums_broadcast,
            "no softmax": lambda q, k, v: _attend(q, k, v, softmax=False),
            "queries and keys swapped": lambda q, k, v: _attend(k, q, v),
            "heads merged": _attention_all_heads,
        },
    ),
    Check(
        id="q04.wave-report",
        points=3,
        signature="wave_report(shapes, tile_m, tile_n, multiprocessors)",
        public=[
            (  # the last one: 130 tiles, which a row or a column of tiles too many makes more than a wave
                [[1408, 3072], [1409, 3072], [1300, 3100], [2900, 1400], [129, 25600], [1664, 2560]],
                128,
                256,
                132,
            ),
            # the last one: nine columns of tiles, exactly a wave, which `round(columns + 0.5)` takes for ten
            ([[1537, 2305], [4096, 4096], [3072, 1152]], 256, 128, 108),
            ([[2000, 3450], [2310, 3650], [864, 3040]], 96, 160, 114),
            # one tile, one column and one row more than a wave holds; many waves; the same rows, and the same shape, again
            ([[890, 4850], [1408, 3073], [2817, 3072], [16384, 16384], [1408, 3072], [1408, 3073]], 128, 256, 132),
            ([[300, 600]], 128, 256, 132),
        ],
        generate=_draw_waves,
        reference=_waves,
        same=Close(abs=1e-6),  # a share rounded to six decimals is right
        wrong={
            "as given": _waves_as_given,
            "a wave too many": _waves_one_too_many,
            "a tile too many": _waves_a_tile_too_many,
            "waves to the nearest": _waves_to_the_nearest,
            "parts of tiles": _waves_parts_of_tiles,
            "columns not rounded": _waves_columns_not_rounded,
            "rows not rounded": _waves_rows_not_rounded,
            "sides swapped": _waves_sides_swapped,
            "always 128 × 256": _waves_always_128_256,
            "tiles rounded down": _waves_tiles_down,
            "share of the tiles": _waves_of_tiles,
            "percent": _waves_percent,
            "padding is useful": _waves_padded,
        },
    ),
]
