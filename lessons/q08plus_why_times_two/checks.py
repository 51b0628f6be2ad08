"""Checks of Q8+, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from operator import mul

from course_lib.teaching.checks.check import Check, Close

# ---- q08plus.convention-error --------------------------------------------------------------------


def _error(layers):
    convention = sum(2 * m * k * n for m, k, n in layers)
    exact = sum(m * n * (2 * k - 1) for m, k, n in layers)
    return (convention - exact) / exact


def _error_of_convention(layers):
    convention = sum(2 * m * k * n for m, k, n in layers)
    exact = sum(m * n * (2 * k - 1) for m, k, n in layers)
    return (convention - exact) / convention


def _error_macs(layers):
    return sum(m * n * k for m, k, n in layers) / sum(m * n * (2 * k - 1) for m, k, n in layers) - 1


def _error_shapes(layers):
    return _error([list(layer) for layer in {tuple(layer) for layer in layers}])


def _draw_error(rng):
    """Three to five layers with different inner sizes, one of them small, so that a mean of errors is another number;
    two layers are equal, as they are in a network.
    """
    layers = [[rng.randrange(50, 200), rng.randrange(2, 5), rng.randrange(50, 200)]]
    layers += [[rng.randrange(2, 40), rng.randrange(20, 400), rng.randrange(2, 40)] for _ in range(rng.randrange(1, 4))]
    layers.append(list(rng.choice(layers)))
    rng.shuffle(layers)
    return (layers,)


# ---- q08plus.count-product -----------------------------------------------------------------------


def _count(a, b, both=True, from_zero=False, empty=0):
    multiplications = additions = 0
    product = []
    for row in a:
        line = []
        for column in zip(*b, strict=True):
            pairs = list(zip(row, column, strict=True))
            terms = [x * y for x, y in pairs if (x != 0 and y != 0 if both else x != 0)]
            multiplications += len(terms)
            additions += len(terms) if from_zero else max(empty, len(terms) - 1)
            line.append(sum(terms))
        product.append(line)
    dense = 2 * len(a) * len(b) * len(b[0])
    return {"product": product, "multiplications": multiplications, "additions": additions, "dense": dense}


def _count_reference(a, b):
    return _count(a, b)


def _count_dense(a, b):
    m, k, n = len(a), len(b), len(b[0])
    return _count(a, b) | {"multiplications": m * k * n, "additions": m * n * (k - 1)}


def _count_cancelled(a, b):
    counts = _count(a, b)
    sums = sum(element != 0 for line in counts["product"] for element in line)
    return counts | {"additions": counts["multiplications"] - sums}


def _count_none_cancelled(a, b):
    """An element that is 0 is taken for one without products."""
    additions = 0
    for row in a:
        for column in zip(*b, strict=True):
            terms = [x * y for x, y in zip(row, column, strict=True) if x != 0 and y != 0]
            additions += len(terms) - 1 if sum(terms) else 0
    return _count(a, b) | {"additions": additions}


def _count_whole(a, b):
    """The product is kept in whole numbers, as in an array of dtype=int."""
    counts = _count(a, b)
    return counts | {"product": [[int(element) for element in line] for line in counts["product"]]}


def _count_running(a, b):
    """An addition is counted only where the sum so far is not zero."""
    additions = 0
    for row in a:
        for column in zip(*b, strict=True):
            total = 0
            for x, y in zip(row, column, strict=True):
                additions += total != 0 and x * y != 0
                total += x * y
    return _count(a, b) | {"additions": additions}


def _draw_count(rng):
    """Small numbers, some of them halves, about half of them zero; a row without numbers; a zero on the right meets a
    number on the left; two products cancel, and two cancel before a third, so that every wrong count differs; two rows
    alike, or two columns.
    """
    m, k, n = rng.randrange(3, 6), rng.randrange(3, 6), rng.randrange(4, 6)
    a, b = (
        [
            [rng.choice([0, rng.choice([-3, -2, -1.5, -1, -0.5, 0.5, 1, 1.5, 2, 3])]) for _ in range(columns)]
            for _ in range(rows)
        ]
        for rows, columns in ((m, k), (k, n))
    )
    a[0] = [0] * k
    a[1] = [rng.choice([1, 2]) for _ in range(k)]
    b[0][0], b[1][0], b[0][1] = 0, 2, 3
    for row, number in zip(b, [a[1][1], -a[1][0]] + [0] * (k - 2), strict=True):
        row[2] = row[3] = number  # a[1] times this column: two products, together 0
    b[-1][3] = rng.choice([1, 2])  # ... and one more
    if k > 3 and rng.random() < 0.3:  # two rows alike
        b[-2] = [*b[-1]]
    if n > 4:  # two columns alike
        for row in b:
            row[4] = row[3]
    return a, b


# ---- q08plus.decode-line -------------------------------------------------------------------------


def _decode(rows, share, sparsity=True, line_macs=True, work_macs=True, devices=True, always_half=False):
    rates = []
    for row in rows:
        peak = row["number"] * 1e12 / (row["devices"] if devices else 1)
        if line_macs and row["unit"] == "TMAC/s":
            peak *= 2
        if always_half or (sparsity and row["with_sparsity"]):
            peak /= 2
        rates.append(share * peak / (row["work"] * 1e9 * (2 if work_macs and row["work_unit"] == "GMAC" else 1)))
    return rates


def _decode_reference(rows, share):
    return _decode(rows, share)


def _decode_one_factor(rows, share):
    return [_decode([row], share, sparsity=row["unit"] != "TMAC/s")[0] for row in rows]


def _decode_halved_work(rows, share):
    return [
        rate * (4 if row["work_unit"] == "GMAC" else 1) for row, rate in zip(rows, _decode(rows, share), strict=True)
    ]


def _decode_pairs(rows, share):
    """Every line for several devices is taken for a pair."""
    return _decode([row | {"devices": min(2, row["devices"])} for row in rows], share)


def _decode_doubled_flop(rows, share):
    """The work is doubled where the *line* is in multiply-adds."""
    return _decode([row | {"work_unit": "GMAC"} if row["unit"] == "TMAC/s" else row for row in rows], share)


def _decode_undivided(rows, share):
    """Only lines in TFLOPS are divided by their devices."""
    return _decode([row | {"devices": 1} if row["unit"] == "TMAC/s" else row for row in rows], share)


def _decode_naive(rows, share):
    return _decode(rows, share, sparsity=False, line_macs=False, work_macs=False, devices=False)


def _row(number, unit, with_sparsity, devices, work, work_unit):
    return {
        "number": number,
        "unit": unit,
        "with_sparsity": with_sparsity,
        "devices": devices,
        "work": work,
        "work_unit": work_unit,
    }


# An H100 SXM, an A100 by its dense line, a pair of H100 NVL, a small accelerator in multiply-adds (its work in either
# unit), one with a star, four of these on a card, the two dies of an MI250X, eight A100s in a box, by the starred and by
# the dense line, and a network so large that rounding shows.
_H100 = _row(1979, "TFLOPS", True, 1, 4.09, "GMAC")
_A100 = _row(312, "TFLOPS", False, 1, 8.18, "GFLOP")
_PAIR = _row(3958, "TFLOPS", True, 2, 35.1, "GFLOP")
_SMALL = _row(4, "TMAC/s", False, 1, 0.3, "GMAC")
_SMALL_FLOP = _row(4, "TMAC/s", False, 1, 0.6, "GFLOP")
_STARRED = _row(8, "TMAC/s", True, 1, 0.3, "GMAC")
_CARD = _row(32, "TMAC/s", True, 4, 0.3, "GMAC")
_DIES = _row(383, "TFLOPS", False, 2, 35.1, "GFLOP")
_BOX = _row(4992, "TFLOPS", True, 8, 8.18, "GFLOP")
_DENSE_BOX = _row(2496, "TFLOPS", False, 8, 4.09, "GMAC")
_SLOW = _row(4, "TMAC/s", False, 1, 61.55, "GMAC")


def _draw_decode(rng):
    """Each unit of the line with each star and each unit of the work, for one device or several, in any order, so that
    each lost factor shows wherever it is lost; and one line twice.
    """
    devices = [1, 1, 1, 2, 2, 4, 8, 8]
    rng.shuffle(devices)
    rows = [
        _row(rng.randrange(100, 4000), "TFLOPS", star, devices.pop(), round(rng.uniform(1, 60), 2), work_unit)
        if unit == "TFLOPS"
        else _row(rng.randrange(1, 40), "TMAC/s", star, devices.pop(), round(rng.uniform(0.1, 2), 2), work_unit)
        for unit in ["TFLOPS", "TMAC/s"]
        for star in [True, False]
        for work_unit in ["GMAC", "GFLOP"]
    ]
    rows.append(rng.choice(rows))
    rng.shuffle(rows)
    return rows, round(rng.uniform(0.1, 0.9), 2)


# ---- q08plus.budget ------------------------------------------------------------------------------


def _budget(params, tokens, gpus, printed_tflops, mfu, price_per_hour, per_weight=6, sparse=2):
    flop, peak = per_weight * params * tokens, gpus * printed_tflops / sparse * 1e12
    seconds = flop / (peak * mfu)
    dollars = gpus * seconds / 3600 * price_per_hour
    return {"flop": flop, "peak": peak, "days": seconds / 86400, "dollars": dollars}


def _budget_reference(*arguments):
    return _budget(*arguments)


def _draw_budget(rng):
    return (
        rng.randrange(1, 500) * 1e9,
        rng.randrange(1, 20) * 1e12,
        rng.choice([256, 1024, 2048, 16384]),
        rng.choice([624, 1513, 1979, 2615]),
        rng.choice([0.3, 0.35, 0.4, 0.5]),
        rng.choice([1.5, 2.0, 2.5, 6.88]),
    )


# ---- the lesson's own: one line each --------------------------------------------------------------


def _operations(m, k, n, start):
    return m * n * (2 * k if start else 2 * k - 1)


def _draw_operations(rng):
    start = rng.random() < 0.45
    return *(rng.randrange(2, 60) for _ in range(3)), start


def _sparse_dot(kept, places, inputs):
    return sum(
        weight * inputs[4 * (at // 2) + place] for at, (weight, place) in enumerate(zip(kept, places, strict=True))
    )


def _draw_sparse(rng):
    """Two to five groups of four inputs, all different or two equal, and two kept weights in each."""
    groups = rng.randrange(2, 6)
    inputs = [
        sign * number
        for sign, number in zip(rng.choices([-1, 1], k=4 * groups), rng.sample(range(2, 99), k=4 * groups), strict=True)
    ]
    if rng.random() < 0.3:
        inputs[-1] = inputs[0]
    places = [place for _ in range(groups) for place in sorted(rng.sample(range(4), k=2))]
    return [rng.choice([-1, 1]) * rng.randrange(1, 50) for _ in places], places, inputs


def _attained(params, tokens, gpu_hours, peak, per_weight=6):
    return per_weight * params * tokens / (gpu_hours * 3600 * peak)


def _draw_attained(rng):
    """A model, and hours at which 5 to 300 % of a peak are attained: some that are reported cannot be."""
    params, tokens = rng.randrange(1, 500) * 1e9, rng.randrange(1, 20) * 1e12
    peak = rng.choice([312e12, 624e12, 989e12, 1979e12])
    return params, tokens, round(6 * params * tokens / (rng.uniform(0.05, 3.0) * peak) / 3600), peak


CHECKS = [
    Check(
        id="q08plus.turn-operations",
        points=0,
        signature="operations(m, k, n, start)",
        public=[(2, 3, 2, False), (2, 3, 2, True), (5, 64, 7, False), (7, 9, 4, True)],
        generate=_draw_operations,
        reference=_operations,
        wrong={
            "always from something": lambda m, k, n, start: 2 * m * k * n,
            "always from nothing": lambda m, k, n, start: m * n * (2 * k - 1),
            "the other way round": lambda m, k, n, start: _operations(m, k, n, not start),
            "MACs": lambda m, k, n, start: m * k * n,
            "one for the whole product": lambda m, k, n, start: 2 * m * k * n - (not start),
            "one element": lambda m, k, n, start: 2 * k if start else 2 * k - 1,
        },
    ),
    Check(
        id="q08plus.turn-sparse",
        points=0,
        signature="sparse_dot(kept, places, inputs)",
        public=[
            ([2, -1, 3, 5], [1, 2, 0, 3], [10, 20, 30, 40, 50, 60, 70, 80]),
            ([5, 5, -2, 5], [1, 3, 0, 2], [3, 1, 4, 15, 9, 2, 6, 53]),
            ([4, 7, 6, -2, 1, 3], [0, 3, 2, 3, 1, 2], [11, -5, 2, 7, 13, 8, -17, 9, 4, 11, -3, 12]),
            ([4, 1, 2, 3], [0, 1, 2, 3], [9, 8, 7, 6, 5, 4, 3, 2]),  # no place is smaller than the one before
        ],
        generate=_draw_sparse,
        reference=_sparse_dot,
        wrong={
            "places of the first group": lambda kept, places, inputs: sum(
                weight * inputs[place] for weight, place in zip(kept, places, strict=True)
            ),
            "groups of one": lambda kept, places, inputs: sum(
                weight * inputs[at // 2 + place] for at, (weight, place) in enumerate(zip(kept, places, strict=True))
            ),
            "the first inputs": lambda kept, places, inputs: sum(map(mul, kept, inputs)),
            "dense": lambda kept, places, inputs: sum(
                weight * sum(inputs[4 * (at // 2) : 4 * (at // 2) + 4]) for at, weight in enumerate(kept)
            ),
            "first two of each four": lambda kept, places, inputs: sum(
                weight * inputs[4 * (at // 2) + at % 2] for at, weight in enumerate(kept)
            ),
        },
    ),
    Check(
        id="q08plus.turn-attained",
        points=0,
        signature="attained(params, tokens, gpu_hours, peak)",
        public=[
            (405e9, 15.6e12, 30.84e6, 989e12),
            (405e9, 15.6e12, 30.84e6, 1979e12),
            (8e9, 15e12, 1.3e6, 989e12),
            (70e9, 2e12, 1.7e6, 312e12),
            (70e9, 2e12, 0.5e6, 312e12),
        ],
        generate=_draw_attained,
        reference=_attained,
        wrong={
            "half": lambda *training: _attained(*training) / 2,
            "forward only": lambda *training: _attained(*training, per_weight=2),
            "backward once": lambda *training: _attained(*training, per_weight=4),
            "twice": lambda *training: _attained(*training) * 2,
            "upside down": lambda *training: 1 / _attained(*training),
            "per cent": lambda *training: _attained(*training) * 100,
            "hours": lambda *training: _attained(*training) * 3600,
            "at most 1": lambda *training: min(1, _attained(*training)),
        },
    ),
    Check(
        id="q08plus.convention-error",
        points=2,
        signature="convention_error(layers)",
        public=[
            ([[2, 3, 2]],),
            ([[8, 1, 8], [8, 64, 8]],),
            ([[100, 9, 1], [1, 768, 50]],),
            ([[3, 4, 5], [6, 64, 6], [6, 64, 6]],),
            ([[4, 32, 4], [3, 4, 5], [8, 9, 2], [20, 2, 30], [5, 7, 11]],),
        ],
        generate=_draw_error,
        reference=_error,
        same=Close(rel=3e-4),  # a quotient near 1, less 1, keeps three or four digits in float32
        wrong={
            "each shape once": _error_shapes,
            "share of the convention": _error_of_convention,
            "mean of errors": lambda layers: sum(1 / (2 * k - 1) for _, k, _ in layers) / len(layers),
            "per cent": lambda layers: 100 * _error(layers),
            "absolute": lambda layers: sum(m * n for m, _, n in layers),
            "MACs": _error_macs,
        },
    ),
    Check(
        id="q08plus.count-product",
        points=4,
        signature="count_product(a, b)",
        public=[
            ([[1, 2, 3], [4, 5, 6]], [[7, 8], [9, 10], [11, 12]]),
            ([[0, 2, 0, 1], [0, 0, 0, 0], [3, 1, 2, 1]], [[0, 1], [2, 0], [0, 3], [5, 0]]),
            ([[0, 3]], [[2], [0]]),
            ([[1, 2], [3, 0]], [[2, 1], [-1, 0]]),
            ([[1, 1, 1]], [[1], [-1], [2]]),
            ([[-1, 2, 1], [0, 3, -2]], [[-2, 1, 0, 3], [1, 0, 2, 1], [2, 1, -1, 0]]),
            ([[1, 0, 2], [1, 0, 2], [0, 3, 1], [2, 2, 2], [1, 1, 0]], [[1, 2, 1], [1, 2, 1], [3, 0, 3]]),
            ([[0.5, -1.5, 0], [1.5, 0.5, 2]], [[0.5, 1], [0.5, 1.5], [0, -0.5]]),
            ([[3], [0]], [[2, -1]]),
            ([[1, 2, 0], [0, 3, 1]], [[0.5, -1.5], [1, 0.5], [0, 2]]),  # only b has halves
        ],
        generate=_draw_count,
        reference=_count_reference,
        wrong={
            "by shape": _count_dense,
            "left zeros only": lambda a, b: _count(a, b, both=False),
            "from zero": lambda a, b: _count(a, b, from_zero=True),
            "minus one": lambda a, b: _count(a, b, empty=-1),
            "cancelled": _count_cancelled,
            "cancelled to none": _count_none_cancelled,
            "whole numbers": _count_whole,
            "cancelled on the way": _count_running,
            "dense in MACs": lambda a, b: _count(a, b) | {"dense": len(a) * len(b) * len(b[0])},
        },
    ),
    Check(
        id="q08plus.decode-line",
        points=3,
        signature="images_per_second(rows, share)",
        public=[
            ([_H100], 1.0),
            ([_A100, _PAIR], 0.5),
            ([_SMALL, _H100, _A100], 0.4),
            ([_STARRED, _DIES, _STARRED], 0.5),
            ([_SMALL_FLOP, _BOX], 0.6),
            ([_CARD, _DENSE_BOX], 0.5),
            ([_SLOW], 0.1),
            ([_BOX, _SLOW, _A100, _STARRED, _A100], 0.3),
        ],
        generate=_draw_decode,
        reference=_decode_reference,
        wrong={
            "the star": lambda rows, share: _decode(rows, share, sparsity=False),
            "MACs for FLOPs": lambda rows, share: _decode(rows, share, work_macs=False),
            "both twos": lambda rows, share: _decode(rows, share, sparsity=False, work_macs=False),
            "the pair": lambda rows, share: _decode(rows, share, devices=False),
            "MAC/s for FLOP/s": lambda rows, share: _decode(rows, share, line_macs=False),
            "one factor of two": _decode_one_factor,
            "work halved": _decode_halved_work,
            "always half": lambda rows, share: _decode(rows, share, always_half=True),
            "number ÷ work": _decode_naive,
            "share forgotten": lambda rows, share: _decode(rows, 1.0),
            "pairs only": _decode_pairs,
            "several in TMAC/s": _decode_undivided,
            "GFLOP doubled": _decode_doubled_flop,
        },
    ),
    Check(
        id="q08plus.budget",
        points=3,
        signature="budget(params, tokens, gpus, printed_tflops, mfu, price_per_hour)",
        public=[
            (405e9, 15.6e12, 16384, 1978.9, 0.4, 2.0),
            (8e9, 15e12, 1024, 624, 0.35, 1.5),
            (1e9, 1e12, 256, 2615, 0.5, 1.5),  # so cheap that rounding shows
        ],
        generate=_draw_budget,
        reference=_budget_reference,
        wrong={
            "as given": lambda *arguments: _budget(*arguments, per_weight=3, sparse=1),
            "MACs left": lambda *arguments: _budget(*arguments, per_weight=3),
            "sparsity left": lambda *arguments: _budget(*arguments, sparse=1),
            "forward only": lambda *arguments: _budget(*arguments, per_weight=2),
            "backward once": lambda *arguments: _budget(*arguments, per_weight=4),
            "the wrong way": lambda *arguments: _budget(*arguments, sparse=0.5),
        },
    ),
]
