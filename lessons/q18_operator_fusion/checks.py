"""Checks of Q18, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from itertools import pairwise

from course_lib.teaching.checks.check import Check, Close

# ---- turns ---------------------------------------------------------------------------------------


def _fused_gain(reads, inputs):
    return (sum(reads) + len(reads)) / (inputs + 1)


def _draw_reads(rng):
    """A call reads different tensors: those from outside, and what the calls before it made. Half of the draws have as
    few from outside as that allows.
    """
    reads = [rng.randrange(1, 4 if place else 3) for place in range(rng.randrange(3, 9))]
    fewest = max(count - place for place, count in enumerate(reads))
    return reads, rng.choice([fewest, rng.randrange(fewest, 1 + sum(reads) - len(reads) + 1)])


def _limit(size, peak, bandwidth):
    return 2 * size * peak / bandwidth


def _draw_limit(rng):
    return rng.choice([1, 2, 4, 8]), rng.randrange(5, 990) * 1e12, rng.randrange(3, 80) * 1e11


def _share_saved(channels, peak, bandwidth):
    conv = max(18 * channels / peak, 4 / bandwidth)
    return 8 / bandwidth / (conv + 8 / bandwidth)


def _draw_share(rng):
    """Convolutions on both sides of the ridge."""
    peak, bandwidth = rng.randrange(20, 990) * 1e12, rng.randrange(5, 80) * 1e11
    ridge = 4 * peak / bandwidth / 18
    return max(1, round(ridge * rng.choice([0.2, 0.5, 0.7, 1.5, 3, 9]))), peak, bandwidth


def _compute_only(channels, peak, bandwidth):
    return 8 / bandwidth / (18 * channels / peak + 8 / bandwidth)


def _added(channels, peak, bandwidth):
    return 8 / bandwidth / (18 * channels / peak + 12 / bandwidth)


def _over_conv(channels, peak, bandwidth):
    return 8 / bandwidth / max(18 * channels / peak, 4 / bandwidth)


def _one_pass(channels, peak, bandwidth):
    conv = max(18 * channels / peak, 4 / bandwidth)
    return 4 / bandwidth / (conv + 4 / bandwidth)


# ---- q18.fused-bytes -----------------------------------------------------------------------------


def _fused_bytes(ops, groups, elements, size):
    total = 0
    for group in groups:
        read = {name for place in group for name in ops[place][0]}
        made = {ops[place][1] for place in group}
        outside = {name for place, op in enumerate(ops) if place not in group for name in op[0]}
        anywhere = {name for op in ops for name in op[0]}
        total += len(read - made) + len({name for name in made if name in outside or name not in anywhere})
    return total * elements * size


def _without_fusion(ops, groups, elements, size):
    return sum(len(reads) + 1 for reads, _ in ops) * elements * size


def _one_write(ops, groups, elements, size):
    """Writes the last result of a group only."""
    total = 0
    for group in groups:
        made = {ops[place][1] for place in group}
        total += len({name for place in group for name in ops[place][0]} - made) + 1
    return total * elements * size


def _read_twice(ops, groups, elements, size):
    """Reads an input again for each operation."""
    total = _fused_bytes(ops, groups, elements, size)
    for group in groups:
        made = {ops[place][1] for place in group}
        outer = [name for place in group for name in ops[place][0] if name not in made]
        total += (len(outer) - len(set(outer))) * elements * size
    return total


def _made_elsewhere(ops, groups, elements, size):
    """Reads the inputs of the plan once, and what another group made at each reading."""
    results = {name for _, name in ops}
    total = _fused_bytes(ops, groups, elements, size)
    for group in groups:
        made = {ops[place][1] for place in group}
        outer = [name for place in group for name in ops[place][0] if name in results - made]
        total += (len(outer) - len(set(outer))) * elements * size
    return total


def _two_a_group(ops, groups, elements, size):
    return 2 * len(groups) * elements * size


def _last_result(ops, groups, elements, size):
    """Takes the last operation's result for the only one that nobody reads."""
    read = {name for reads, _ in ops for name in reads}
    forgotten = [name for _, name in ops[:-1] if name not in read]
    return _fused_bytes(ops, groups, elements, size) - len(forgotten) * elements * size


def _only_later(ops, groups, elements, size):
    """Looks for readers behind the group's last operation only."""
    total = _fused_bytes(ops, groups, elements, size)
    for group in groups:
        later = {name for reads, _ in ops[max(group) + 1 :] for name in reads}
        outside = {name for place, op in enumerate(ops) if place not in group for name in op[0]}
        total -= len({ops[place][1] for place in group} & (outside - later)) * elements * size
    return total


def _all_written(ops, groups, elements, size):
    """Reads are spared, writes are not."""
    total = 0
    for group in groups:
        made = {ops[place][1] for place in group}
        total += len({name for place in group for name in ops[place][0]} - made) + len(made)
    return total * elements * size


SILU = [[["x"], "s"], [["s", "y"], "o"]]
SIGMOID = [[["x"], "s"], [["s", "x"], "t"], [["t", "y"], "o"]]
SHARED = [[["x"], "a"], [["a", "y"], "b"], [["b", "a"], "c"], [["c", "x"], "d"]]

GATED = [[["x"], "a"], [["a", "y", "z"], "b"], [["x", "b", "a"], "c"]]
FORK = [[["x"], "a"], [["a", "y"], "b"], [["a"], "c"]]
SEVERAL = [[["x"], "a"], [["a", "y"], "b"], [["a"], "c"], [["b", "a"], "d"]]


def _draw_ops(rng):
    """Some eight operations; each reads one or two of what was there before, so that some results are read by nobody
    and others by several; two or three groups of neighbours, of which one operation has moved to an earlier group
    where all that it reads is there. Most draws have readers between the operations of a group, and a group that reads
    a result of another group twice.
    """
    for _ in range(40):
        ops, groups = _moved(rng, *_neighbours(rng))
        right = _fused_bytes(ops, groups, 1, 1)
        if right not in (_only_later(ops, groups, 1, 1), _made_elsewhere(ops, groups, 1, 1)):
            break
    return ops, groups, rng.randrange(2, 5000), rng.choice([2, 4, 8])


def _neighbours(rng):
    ops, names = [], ["x", "y"]
    for place in range(rng.randrange(6, 10)):
        reads = [f"t{place - 1}" if place and rng.random() < 0.6 else rng.choice(names)]
        if rng.random() < 0.8:
            reads.append(rng.choice([name for name in names if name not in reads]))
        ops.append([reads, f"t{place}"])
        names.append(f"t{place}")
    cuts = [0, *sorted(rng.sample(range(2, len(ops) - 1), rng.randrange(1, 3))), len(ops)]
    return ops, [list(range(start, end)) for start, end in pairwise(cuts)]


def _moved(rng, ops, groups):
    home = {ops[place][1]: at for at, group in enumerate(groups) for place in group}
    moves = []
    for at, group in enumerate(groups):
        for place in group if len(group) > 1 else []:
            first = max(home.get(name, 0) for name in ops[place][0])
            if first < at:
                moves.append((place, at, first))
    if moves:
        place, at, first = rng.choice(moves)
        groups[at].remove(place)
        groups[first].append(place)
    return ops, groups


# ---- q18.recompute-or-store ----------------------------------------------------------------------


def _both(flops, uses, size, peak, bandwidth):
    return [uses * flops / peak, (1 + uses) * size / bandwidth]


def _draw_both(rng):
    size, uses = rng.choice([2, 4, 8]), rng.randrange(2, 30)
    peak, bandwidth = rng.randrange(5, 900) * 1e12, rng.randrange(3, 80) * 1e11
    even = (1 + uses) * size * peak / bandwidth / uses
    return max(1, round(even * rng.choice([0.02, 0.1, 0.3, 0.6, 0.8, 1.3, 1.9, 5]))), uses, size, peak, bandwidth


# ---- q18.fold-batch-norm -------------------------------------------------------------------------


def _fold(weights, biases, means, variances, gains, shifts, eps):
    return [
        [[g / (v + eps) ** 0.5 * w for w in row], g / (v + eps) ** 0.5 * (b - m) + s]
        for row, b, m, v, g, s in zip(weights, biases, means, variances, gains, shifts, strict=True)
    ]


def _fold_variance(weights, biases, means, variances, gains, shifts, eps):
    return _fold(weights, biases, means, [(v + eps) ** 2 - eps for v in variances], gains, shifts, eps)


def _fold_no_eps(weights, biases, means, variances, gains, shifts, eps):
    return _fold(weights, biases, means, variances, gains, shifts, 0)


def _fold_eps_outside(weights, biases, means, variances, gains, shifts, eps):
    return _fold(weights, biases, means, [(v**0.5 + eps) ** 2 for v in variances], gains, shifts, 0)


def _fold_bias(weights, biases, means, variances, gains, shifts, eps):
    found = _fold(weights, [0] * len(biases), means, variances, gains, shifts, eps)
    return [[row, bias + b] for (row, bias), b in zip(found, biases, strict=True)]


def _fold_mean(weights, biases, means, variances, gains, shifts, eps):
    found = _fold(weights, biases, [0] * len(means), variances, gains, shifts, eps)
    return [[row, bias - m] for (row, bias), m in zip(found, means, strict=True)]


def _fold_mean_gain(weights, biases, means, variances, gains, shifts, eps):
    found = _fold(weights, biases, [0] * len(means), variances, gains, shifts, eps)
    return [[row, bias - m * g] for (row, bias), m, g in zip(found, means, gains, strict=True)]


def _draw_fold(rng):
    outputs, inputs = rng.randrange(2, 5), rng.randrange(2, 5)

    def signed(count):
        return [rng.choice([-1, 1]) * rng.randrange(3, 40) / 8 for _ in range(count)]

    variances = [rng.choice([0.0625, 0.25, 4.0, 6.25, 9.0]) for _ in range(outputs)]
    weights = [signed(inputs) for _ in range(outputs)]
    if rng.random() < 0.3:
        weights[-1] = weights[0]
    return (
        weights,
        signed(outputs),
        signed(outputs),
        variances,
        signed(outputs),
        signed(outputs),
        rng.choice([0.125, 0.5, 0.75]),
    )


# ---- q18.bandwidth-without-gain ------------------------------------------------------------------


def _bandwidth(flops, size, peak, gain):
    return 2 * size * peak / (flops * (gain - 1))


def _draw_bandwidth(rng):
    return (
        rng.randrange(50, 4000),
        rng.choice([2, 4, 8]),
        rng.randrange(5, 900) * 1e12,
        rng.choice([1.03125, 1.1, 1.25, 1.4, 2.5]),
    )


CHECKS = [
    Check(
        id="q18.turn-fused-gain",
        points=0,
        signature="fused_gain(reads, inputs)",
        public=[([1, 2], 2), ([1, 2, 2], 2), ([1] * 8, 1), ([2, 2, 2], 4), ([3, 1], 3), ([1, 2, 2], 1), ([3], 3)],
        generate=_draw_reads,
        reference=_fused_gain,
        wrong={
            "calls": lambda reads, inputs: float(len(reads)),
            "one write": lambda reads, inputs: (sum(reads) + 1) / (inputs + 1),
            "reads only": lambda reads, inputs: sum(reads) / inputs,
            "upside down": lambda reads, inputs: (inputs + 1) / (sum(reads) + len(reads)),
            "to one tensor": lambda reads, inputs: (sum(reads) + len(reads)) / 2,
            "widest call": lambda reads, inputs: (sum(reads) + len(reads)) / (max(inputs, max(reads)) + 1),
        },
    ),
    Check(
        id="q18.turn-limit",
        points=0,
        signature="limit(size, peak, bandwidth)",
        public=[(4, 19.5e12, 1.555e12), (2, 312e12, 1.555e12), (8, 9.7e12, 2.039e12), (1, 67e12, 3.35e12)],
        generate=_draw_limit,
        reference=_limit,
        wrong={
            "one way": lambda size, peak, bandwidth: size * peak / bandwidth,
            "ridge": lambda size, peak, bandwidth: 2 * peak / bandwidth,
            "upside down": lambda size, peak, bandwidth: bandwidth / (2 * size * peak),
        },
    ),
    Check(
        id="q18.turn-share-saved",
        points=0,
        signature="share_saved(channels, peak, bandwidth)",
        public=[
            (64, 312e12, 1.555e12),
            (512, 312e12, 1.555e12),
            (16, 312e12, 1.555e12),
            (300, 990e12, 3.35e12),
            (2, 65e12, 0.32e12),
            (30, 312e12, 1.555e12),
        ],
        generate=_draw_share,
        reference=_share_saved,
        wrong={
            "arithmetic only": _compute_only,
            "added up": _added,
            "of the convolution": _over_conv,
            "one pass": _one_pass,
        },
    ),
    Check(
        id="q18.fused-bytes",
        points=3,
        signature="fused_bytes(ops, groups, elements, size)",
        public=[
            (SILU, [[0], [1]], 1000, 2),
            (SILU, [[0, 1]], 1000, 2),
            (SIGMOID, [[0, 1, 2]], 1000, 4),
            (SHARED, [[0, 1], [2, 3]], 10, 4),
            (SHARED, [[0, 1, 2], [3]], 10, 2),
            (SHARED, [[0], [1, 2], [3]], 10, 4),
            (FORK, [[0, 1, 2]], 100, 4),
            (SEVERAL, [[0, 1], [2], [3]], 10, 8),
            (FORK, [[0, 2], [1]], 10, 2),
            (GATED, [[0, 1], [2]], 10, 4),
            (SILU[:1], [[0]], 10, 4),
        ],
        generate=_draw_ops,
        reference=_fused_bytes,
        wrong={
            "not fused": _without_fusion,
            "one write": _one_write,
            "read again": _read_twice,
            "made elsewhere": _made_elsewhere,
            "two a group": _two_a_group,
            "all written": _all_written,
            "last result": _last_result,
            "only later": _only_later,
        },
    ),
    Check(
        id="q18.recompute-or-store",
        points=2,
        signature="both_ways(flops, uses, size, peak, bandwidth)",
        public=[
            (50, 2, 4, 19.5e12, 1.555e12),
            (500, 2, 4, 19.5e12, 1.555e12),
            (60, 9, 4, 19.5e12, 1.555e12),
            (90, 2, 4, 19.5e12, 1.555e12),
            (10, 4, 2, 67e12, 3.35e12),
            (2, 3, 8, 67e12, 3.35e12),
        ],
        generate=_draw_both,
        reference=_both,
        wrong={
            "one way": lambda f, u, s, p, b: [u * f / p, u * s / b],
            "uses forgotten": lambda f, u, s, p, b: [f / p, 2 * s / b],
            "written each time": lambda f, u, s, p, b: [u * f / p, 2 * u * s / b],
            "swapped": lambda f, u, s, p, b: _both(f, u, s, p, b)[::-1],
        },
    ),
    Check(
        id="q18.fold-batch-norm",
        points=3,
        signature="fold(weights, biases, means, variances, gains, shifts, eps)",
        public=[
            ([[1.0, 2.0]], [3.0], [1.0], [4.0], [2.0], [0.5], 0.5),
            ([[1.0, 0.0], [0.0, 1.0]], [0.5, -2.0], [2.0, -1.0], [0.25, 9.0], [1.5, 3.0], [0.25, -1.0], 0.75),
            (
                [[2.0, -1.0, 4.0], [1.0, 1.0, 3.0]],
                [1.0, 2.0],
                [-3.0, 1.5],
                [6.25, 0.0625],
                [0.5, -2.5],
                [1.0, 2.0],
                0.125,
            ),
            # channels that share weights, or one of their other numbers
            (
                [[1.0, 2.0], [1.0, 2.0], [0.5, -1.0]],
                [3.0, 1.0, 3.0],
                [1.0, 2.0, 2.0],
                [3.75, 0.75, 3.75],
                [2.0, 2.0, -1.5],
                [0.5, -1.0, -1.0],
                0.25,
            ),
        ],
        generate=_draw_fold,
        reference=_fold,
        same=Close(rel=1e-4, abs=1e-4),
        wrong={
            "variance": _fold_variance,
            "eps forgotten": _fold_no_eps,
            "eps outside": _fold_eps_outside,
            "bias not scaled": _fold_bias,
            "mean not scaled": _fold_mean,
            "mean times gain": _fold_mean_gain,
        },
    ),
    Check(
        id="q18.bandwidth-without-gain",
        points=2,
        signature="bandwidth_without_gain(flops, size, peak, gain)",
        public=[
            (100, 4, 19.5e12, 1.1),
            (200, 2, 66.9e12, 1.05),
            (1000, 8, 9.7e12, 1.4),
            (60, 4, 40e12, 1.25),
            (400, 4, 65e12, 1.03125),
            (60, 4, 40e12, 3.5),
        ],
        generate=_draw_bandwidth,
        reference=_bandwidth,
        same=Close(rel=1e-4),
        wrong={
            "one way": lambda f, s, p, g: s * p / (f * (g - 1)),
            "whole gain": lambda f, s, p, g: 2 * s * p / (f * g),
            "no bytes": lambda f, s, p, g: p / (f * (g - 1)),
            "upside down": lambda f, s, p, g: 2 * s * p * (g - 1) / f,
        },
    ),
]
