"""Checks of Q5, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from fractions import Fraction
from math import ceil

from course_lib.teaching.checks.check import EXACT, Check

# ---- q05.intensity -------------------------------------------------------------------------------


def _intensity(m, k, n, bytes_per_element):
    return 2 * m * k * n / (bytes_per_element * (m * k + k * n + m * n))


def _intensity_upside_down(m, k, n, bytes_per_element):
    return bytes_per_element * (m * k + k * n + m * n) / (2 * m * k * n)


def _draw_intensity(rng):
    return rng.randrange(1, 5000), rng.randrange(64, 5000), rng.randrange(64, 5000), rng.choice([2, 4, 8])


# ---- q05.smallest-batch --------------------------------------------------------------------------


def _rows(k, n, bytes_per_element, peak, bandwidth, flops_per_multiply_add=2):
    """Exact number of rows at which the layer's intensity equals the ridge point; None where it never does."""
    ridge = Fraction(peak) / Fraction(bandwidth) * bytes_per_element
    room = flops_per_multiply_add * k * n - ridge * (k + n)
    return ridge * k * n / room if room > 0 else None


def _smallest_batch(layers, bytes_per_element, peak, bandwidth):
    exact = [_rows(k, n, bytes_per_element, peak, bandwidth) for k, n in layers]
    return [None if rows is None else ceil(rows) for rows in exact]


def _batch_is_ridge(layers, bytes_per_element, peak, bandwidth):
    return [ceil(Fraction(peak) / Fraction(bandwidth)) for _ in layers]


def _batch_weights_only(layers, bytes_per_element, peak, bandwidth):
    return [ceil(Fraction(peak) / Fraction(bandwidth) * bytes_per_element / 2) for _ in layers]


def _batch_without_two(layers, bytes_per_element, peak, bandwidth):
    exact = [_rows(k, n, bytes_per_element, peak, bandwidth, flops_per_multiply_add=1) for k, n in layers]
    return [None if rows is None else ceil(rows) for rows in exact]


def _batch_rounded_down(layers, bytes_per_element, peak, bandwidth):
    exact = [_rows(k, n, bytes_per_element, peak, bandwidth) for k, n in layers]
    return [None if rows is None else int(rows) for rows in exact]


def _batch_no_ceiling(layers, bytes_per_element, peak, bandwidth):
    ridge = Fraction(peak) / Fraction(bandwidth) * bytes_per_element
    rooms = [2 * k * n - ridge * (k + n) for k, n in layers]
    return [ceil(ridge * k * n / room) if room else None for (k, n), room in zip(layers, rooms, strict=True)]


def _batch_two_byte_ceiling(layers, bytes_per_element, peak, bandwidth):
    """Never where k·n/(k + n) is not above the ridge point, whatever the size of an element."""
    ridge = Fraction(peak) / Fraction(bandwidth)
    solved = _batch_no_ceiling(layers, bytes_per_element, peak, bandwidth)
    return [rows if k * n > ridge * (k + n) else None for (k, n), rows in zip(layers, solved, strict=True)]


def _batch_never_too_soon(layers, bytes_per_element, peak, bandwidth):
    """The ceiling of 2-byte elements beside the right one."""
    ridge = Fraction(peak) / Fraction(bandwidth)
    right = _smallest_batch(layers, bytes_per_element, peak, bandwidth)
    return [rows if k * n > ridge * (k + n) else None for (k, n), rows in zip(layers, right, strict=True)]


def _batch_minus_one(layers, bytes_per_element, peak, bandwidth):
    return [-1 if rows is None else rows for rows in _smallest_batch(layers, bytes_per_element, peak, bandwidth)]


def _batch_gives_up(layers, bytes_per_element, peak, bandwidth):
    """A search that stops after a thousand rows."""
    return [
        rows if rows and rows <= 1000 else None for rows in _smallest_batch(layers, bytes_per_element, peak, bandwidth)
    ]


def _batch_zero(layers, bytes_per_element, peak, bandwidth):
    return [0 if rows is None else rows for rows in _smallest_batch(layers, bytes_per_element, peak, bandwidth)]


def _batch_no_output(layers, bytes_per_element, peak, bandwidth):
    ridge = Fraction(peak) / Fraction(bandwidth) * bytes_per_element
    rooms = [2 * k * n - ridge * k for k, n in layers]
    return [ceil(ridge * k * n / room) if room > 0 else None for (k, n), room in zip(layers, rooms, strict=True)]


def _draw_smallest_batch(rng):
    """A device, wide layers, one that needs more than 5,000 rows, one that only its wide side lets get there and, mostly,
    one that never does (at 4 bytes an element; at 2 it would); one of them twice. Never a draw whose answer hangs on
    rounding, of float32 either; a whole number of rows, and never by a hair, are public only: in seconds, from TFLOP and
    GB, a right answer may miss them. Peak and bandwidth are floats: numpy's int64 is too small for peak · k · n.
    """
    while True:
        peak, bandwidth = rng.randrange(50, 2500) * 1e12, rng.randrange(500, 8000) * 1e9
        size = rng.choice([1, 1, 1, 2, 4])
        side = peak / bandwidth * size
        narrow = round(side + side**2 / (2 * rng.randrange(6000, 9000)))
        never = round(0.6 * side)  # too narrow, but with 4-byte elements wide enough for 2-byte ones
        layers = [[width, width * rng.choice([1, 2, 4])] for width in rng.sample([never, 4096, 8192, 12288], k=3)]
        layers += [[round(0.7 * side), 4 * round(side)], [narrow, narrow]]
        exact = [_rows(k, n, size, peak, bandwidth) for k, n in layers]
        reached = [float(rows) for rows in exact if rows is not None]
        if side > 200 and len(reached) == 4 and all(0.2 < rows % 1 < 0.8 and 20 < rows < 12_000 for rows in reached):
            drawn = [*layers, rng.choice(layers)], size, peak, bandwidth
            if reached[-1] > 5000 and _batch_no_output(*drawn) != _smallest_batch(*drawn):
                return drawn  # few rows have hardly any output


# ---- q05.predict ---------------------------------------------------------------------------------

_SIZE = {"fp32": 4, "bf16": 2}


def _times(ops, profile, streams=3, peak_of=None, flops_per_add=1, output=1, sizes=_SIZE):
    """(arithmetic, memory) seconds of each operation."""
    for op, shape, dtype in ops:
        if op == "matmul":
            m, k, n = shape
            flops, moved = 2 * m * k * n, sizes[dtype] * (m * k + k * n + output * m * n)
        else:
            (elements,) = shape
            flops, moved = flops_per_add * elements, streams * sizes[dtype] * elements
        yield flops / profile["peaks"][peak_of or dtype], moved / profile["memory_bandwidth"]


def _predict(ops, profile):
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile))


def _predict_flops_only(ops, profile):
    return sum(profile["call_overhead"] + arithmetic for arithmetic, _ in _times(ops, profile))


def _predict_bytes_only(ops, profile):
    return sum(profile["call_overhead"] + memory for _, memory in _times(ops, profile))


def _predict_sum(ops, profile):
    return sum(profile["call_overhead"] + sum(pair) for pair in _times(ops, profile))


def _predict_max_of_sums(ops, profile):
    arithmetic, memory = zip(*_times(ops, profile), strict=True)
    return len(ops) * profile["call_overhead"] + max(sum(arithmetic), sum(memory))


def _predict_one_overhead(ops, profile):
    return profile["call_overhead"] + sum(max(pair) for pair in _times(ops, profile))


def _predict_fp32_peak(ops, profile):
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile, peak_of="fp32"))


def _predict_two_streams(ops, profile):
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile, streams=2))


def _predict_two_flops_an_addition(ops, profile):
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile, flops_per_add=2))


def _predict_no_output(ops, profile):
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile, output=0))


def _predict_fp32_bytes(ops, profile):
    sizes = {"fp32": 4, "bf16": 4}
    return sum(profile["call_overhead"] + max(pair) for pair in _times(ops, profile, sizes=sizes))


def _predict_each_once(ops, profile):
    return sum({profile["call_overhead"] + max(pair) for pair in _times(ops, profile)})


def _predict_by_rows(ops, profile):
    """Arithmetic for products of several rows, memory for the rest."""
    several = [op == "matmul" and shape[0] > 1 for op, shape, _ in ops]
    pairs = zip(several, _times(ops, profile), strict=True)
    return sum(profile["call_overhead"] + (pair[0] if rows else pair[1]) for rows, pair in pairs)


def _predict_rows_and_ridge(ops, profile):
    """A product's intensity taken from its rows, as if its weights were all that travels."""
    total = 0.0
    for (op, shape, dtype), (arithmetic, memory) in zip(ops, _times(ops, profile), strict=True):
        enough = 2 * shape[0] / _SIZE[dtype] > profile["peaks"][dtype] / profile["memory_bandwidth"]
        decides = max(arithmetic, memory) if op == "add" else arithmetic if enough else memory
        total += profile["call_overhead"] + decides
    return total


# Round numbers near two real machines, so that a learner can check by hand; a check never uses the learner's own machine.
_LAPTOP = {"peaks": {"fp32": 2e11, "bf16": 4e11}, "memory_bandwidth": 3e10, "call_overhead": 4e-6}
_SERVER = {"peaks": {"fp32": 2e13, "bf16": 3e14}, "memory_bandwidth": 1.5e12, "call_overhead": 5e-6}
# No machine that is sold: its arithmetic is so slow, for its memory, that even an addition is compute-bound.
_SLOW = {"peaks": {"fp32": 2e9, "bf16": 4e9}, "memory_bandwidth": 3e10, "call_overhead": 4e-6}
# Its fp32 ridge point lies between the intensities of an addition in fp32, 1/12, and in bf16, 1/6.
_BETWEEN = {"peaks": {"fp32": 4e9, "bf16": 8e9}, "memory_bandwidth": 3e10, "call_overhead": 4e-6}


def _draw_predict(rng):
    """A machine with units for bf16 only, which does fp32 so slowly that even an addition is compute-bound, and a short
    model: in bf16 a compute-bound product, a memory-bound one of few rows, one of more rows than the ridge point that
    memory bounds all the same, and an addition, in fp32 an addition, up to three of them again, in any order.
    """
    bandwidth, ridge = rng.randrange(40, 90) * 1e9, rng.randrange(30, 60)
    profile = {
        "peaks": {"fp32": bandwidth * rng.randrange(20, 70) / 1000, "bf16": bandwidth * ridge},
        "memory_bandwidth": bandwidth,
        "call_overhead": rng.randrange(2, 20) * 1e-6,
    }
    ops = [
        ["matmul", [rng.randrange(1000, 1500) for _ in range(3)], "bf16"],
        ["matmul", [rng.randrange(4, 25), rng.randrange(500, 1500), rng.randrange(500, 1500)], "bf16"],
        ["matmul", [ridge + rng.randrange(1, 3), rng.randrange(300, 500), rng.randrange(300, 500)], "bf16"],
        ["add", [rng.randrange(1_000_000, 4_000_000)], "bf16"],
        ["add", [rng.randrange(1_000_000, 4_000_000)], "fp32"],
    ]
    ops += rng.choices(ops, k=rng.randrange(1, 4))
    rng.shuffle(ops)
    return ops, profile


# ---- q05.layer-norm-report -----------------------------------------------------------------------


def _report(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = 2 * rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 1e9)}


def _report_as_given(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = 8 * rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 2**30)}


def _report_bytes_repaired(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = 2 * rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 2**30)}


def _report_unit_repaired(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = 8 * rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 1e9)}


def _report_read_only(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 1e9)}


def _report_written_once(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s):
    moved = 5 * rows * cols * bytes_per_element
    return {"bytes": moved, "share": moved / seconds / (bandwidth_gb_per_s * 1e9)}


def _draw_report(rng):
    rows, cols, size = rng.randrange(64, 8192), rng.choice([768, 1024, 4096]), rng.choice([2, 4])
    bandwidth = rng.choice([900, 1555, 2039, 3350])
    return rows, cols, size, 2 * rows * cols * size / (bandwidth * 1e9) / rng.uniform(0.1, 0.9), bandwidth


# ---- the lesson's own: one line each --------------------------------------------------------------


def _layer_times(rows, k, n, peak, bandwidth):
    """(arithmetic, memory) seconds of a layer in a 16-bit format."""
    return 2 * rows * k * n / peak, 2 * (rows * k + k * n + rows * n) / bandwidth


def _layer_seconds(rows, k, n, peak, bandwidth):
    flops = 2 * rows * k * n
    moved = 2 * (rows * k + k * n + rows * n)
    return max(flops / peak, moved / bandwidth)


def _layer_by_rows(rows, k, n, peak, bandwidth):
    arithmetic, memory = _layer_times(rows, k, n, peak, bandwidth)
    return arithmetic if rows > peak / bandwidth else memory


def _draw_layer(rng):
    """A wide layer with many rows, or one so narrow that more rows than the ridge point are still too few."""
    bandwidth, ridge = rng.randrange(300, 5000) * 1e9, rng.randrange(100, 400)
    many = rng.choice([2048, 4096]), rng.randrange(5_000, 50_000)
    width, rows = rng.choice([many, (ridge, rng.randrange(ridge + 1, 3 * ridge))])
    return rows, width, 2 * width, bandwidth * ridge, bandwidth


def _model_seconds(ops, peak, bandwidth):
    return sum(max(flops / peak, moved / bandwidth) for flops, moved in ops)


def _model_each_once(ops, peak, bandwidth):
    return sum({max(flops / peak, moved / bandwidth) for flops, moved in ops})


def _model_max_of_sums(ops, peak, bandwidth):
    return max(sum(flops for flops, _ in ops) / peak, sum(moved for _, moved in ops) / bandwidth)


def _draw_model(rng):
    """Two or three operations left of the ridge and two or three right of it, one of them twice, in any order."""
    bandwidth = rng.randrange(300, 5000) * 1e9
    ridge = rng.randrange(100, 400)
    left, right = (rng.randrange(2, 4) for _ in range(2))
    intensities = [rng.uniform(0.01, 0.5) for _ in range(left)] + [rng.uniform(2, 10) for _ in range(right)]
    sizes = [(share, rng.randrange(1, 500) * 10**6) for share in intensities]
    ops = [[round(share * ridge * moved), moved] for share, moved in sizes]
    ops.append(rng.choice(ops))
    rng.shuffle(ops)
    return ops, bandwidth * ridge, bandwidth


def _pass_seconds(starting, running, ahead):
    return max(sum(starting), sum(running)) if ahead else sum(starting) + sum(running)


def _pass_call_by_call(starting, running, ahead):
    return sum(max(pair) for pair in zip(starting, running, strict=True)) if ahead else sum(starting) + sum(running)


def _pass_of_a_queue(starting, running, ahead):
    """Each call runs when it has been started and the one before it has run."""
    if not ahead:
        return sum(starting) + sum(running)
    started = done = 0.0
    for start, run in zip(starting, running, strict=True):
        started += start
        done = max(started, done) + run
    return done


def _draw_pass(rng):
    """Some calls that take longer to start than to run, and some the other way round; ahead or not."""
    calls = rng.randrange(2, 6)
    short = [(rng.randrange(3, 9) * 1e-6, rng.randrange(1, 3) * 1e-6) for _ in range(calls)]
    long = [(rng.randrange(3, 9) * 1e-6, rng.randrange(10, 40) * 1e-6) for _ in range(rng.randrange(1, 3))]
    drawn = [*short, *long]
    rng.shuffle(drawn)
    return [start for start, _ in drawn], [run for _, run in drawn], rng.random() < 0.55


CHECKS = [
    Check(
        id="q05.turn-layer",
        points=0,
        signature="layer_seconds(rows, k, n, peak, bandwidth)",
        public=[
            (1, 4096, 4096, 989e12, 3.35e12),
            (10_000, 4096, 4096, 989e12, 3.35e12),
            (20, 1024, 8192, 312e12, 1.555e12),
            (320, 4096, 4096, 989e12, 3.35e12),
            (3000, 256, 256, 989e12, 3.35e12),
            (6000, 8192, 1024, 312e12, 1.555e12),
            (600, 512, 4096, 312e12, 1.555e12),  # above this ridge point, below an H100's; only both sides tell
            (600, 4096, 512, 312e12, 1.555e12),
        ],
        generate=_draw_layer,
        reference=_layer_seconds,
        wrong={
            "arithmetic only": lambda *layer: _layer_times(*layer)[0],
            "memory only": lambda *layer: _layer_times(*layer)[1],
            "sum": lambda *layer: sum(_layer_times(*layer)),
            "smaller": lambda *layer: min(_layer_times(*layer)),
            "by rows": _layer_by_rows,
        },
    ),
    Check(
        id="q05.turn-maxima",
        points=0,
        signature="model_seconds(ops, peak, bandwidth)",
        public=[
            ([[4e12, 1e9], [1e9, 2e9]], 1e15, 1e12),
            ([[4e12, 2e9], [1e9, 3e9], [1e9, 3e9]], 1e15, 1e12),
            ([[2e9, 3e9], [6e12, 5e9], [5e12, 4e9], [1e9, 1e9]], 5e14, 2e12),
            ([[3e12, 1e9]], 1e15, 1e12),
            # Right of an H100's ridge point and left of this one, then the other way round.
            ([[5e11, 1e9], [4e11, 2e9], [2e9, 1e9]], 1e15, 1e12),
            ([[3e11, 2e9], [6e9, 3e9]], 1.25e14, 9e11),
        ],
        generate=_draw_model,
        reference=_model_seconds,
        wrong={
            "maximum of sums": _model_max_of_sums,
            "each once": _model_each_once,
            "arithmetic only": lambda ops, peak, bandwidth: sum(flops for flops, _ in ops) / peak,
            "memory only": lambda ops, peak, bandwidth: sum(moved for _, moved in ops) / bandwidth,
            "both": lambda ops, peak, bandwidth: sum(flops / peak + moved / bandwidth for flops, moved in ops),
            "slowest": lambda ops, peak, bandwidth: max(max(flops / peak, moved / bandwidth) for flops, moved in ops),
        },
    ),
    Check(
        id="q05.turn-launches",
        points=0,
        signature="pass_seconds(starting, running, ahead)",
        public=[
            ([5e-6, 5e-6, 5e-6], [2e-6, 30e-6, 2e-6], True),
            ([5e-6, 5e-6, 5e-6], [2e-6, 30e-6, 2e-6], False),
            ([6e-6, 7e-6, 5e-6, 8e-6], [1e-6, 9e-6, 2e-6, 3e-6], True),
            ([6e-6, 7e-6, 5e-6, 8e-6], [1e-6, 9e-6, 2e-6, 3e-6], False),
            ([6e-6], [4e-6], True),
        ],
        generate=_draw_pass,
        reference=_pass_seconds,
        wrong={
            "always the sum": lambda starting, running, ahead: sum(starting) + sum(running),
            "always the larger": lambda starting, running, ahead: max(sum(starting), sum(running)),
            "call by call": _pass_call_by_call,
            "queue": _pass_of_a_queue,
            "the other way round": lambda starting, running, ahead: _pass_seconds(starting, running, not ahead),
        },
    ),
    Check(
        id="q05.intensity",
        points=2,
        signature="arithmetic_intensity(m, k, n, bytes_per_element)",
        public=[(4096, 4096, 4096, 2), (1, 4096, 4096, 2), (128, 768, 3072, 4)],
        generate=_draw_intensity,
        reference=_intensity,
        wrong={
            "one FLOP": lambda m, k, n, bytes_per_element: m * k * n / (bytes_per_element * (m * k + k * n + m * n)),
            "no output": lambda m, k, n, bytes_per_element: 2 * m * k * n / (bytes_per_element * (m * k + k * n)),
            "per element": lambda m, k, n, bytes_per_element: 2 * m * k * n / (m * k + k * n + m * n),
            "upside down": _intensity_upside_down,
        },
    ),
    Check(
        id="q05.smallest-batch",
        points=3,
        signature="smallest_compute_bound_rows(layers, bytes_per_element, peak, bandwidth)",
        public=[
            ([[4096, 4096], [256, 256]], 2, 989e12, 3.35e12),
            ([[4096, 16384], [64, 4096], [12288, 12288]], 2, 312e12, 1.555e12),
            ([[1024, 1024], [16, 16], [40, 40]], 4, 19.5e12, 1.555e12),
            ([[256, 256], [512, 512], [4096, 4096]], 2, 128e12, 1e12),
            ([[600, 600], [8192, 8192]], 2, 989e12, 3.35e12),
            ([[222, 8192], [4096, 4096], [222, 4096], [222, 8192], [64, 8192], [8192, 4096]], 2, 128e12, 1e12),
            ([[17_766, 17_766], [4096, 4096]], 4, 4096e12, 1e12),  # more than 100,000 rows
            # More than a million, 1,153,433.6, and exact in each order of the arithmetic up to the last division.
            ([[2**20, 2**20]], 1, 11 * 2.0**46, 2.0**30),
            ([[640, 40]], 2, 35e12, 936e9),  # the ratio's fifth decimal decides
            ([[47, 1024], [4096, 51]], 2, 137e12, 4e12),  # half a number a row more or less decides
            # Exactly 21, an odd number, in each order of the arithmetic and in other units, and a hair above 18.
            ([[84, 336], [160, 1436]], 2, 2.0**44, 2.0**40),
            ([[4096, 4096], [64, 32]], 1, 2e12, 4e12),  # one row is enough
            ([[1024, 1024], [4096, 4096]], 1, 1979e12, 3.35e12),  # with 2 bytes an element the first would never do
        ],
        generate=_draw_smallest_batch,
        reference=_smallest_batch,
        same=EXACT,
        wrong={
            "the ridge point": _batch_is_ridge,
            "weights only": _batch_weights_only,
            "without the two": _batch_without_two,
            "rounded down": _batch_rounded_down,
            "no output": _batch_no_output,
            "minus one": _batch_minus_one,
            "zero": _batch_zero,
            "gives up": _batch_gives_up,
            "two-byte ceiling": _batch_two_byte_ceiling,
            "never too soon": _batch_never_too_soon,
            "no ceiling": _batch_no_ceiling,
        },
    ),
    Check(
        id="q05.predict",
        points=4,
        signature="predict_seconds(ops, profile)",
        public=[
            ([["matmul", [1024, 1024, 1024], "fp32"]], _LAPTOP),
            ([["matmul", [1, 1024, 1024], "bf16"], ["add", [1_000_000], "fp32"]], _LAPTOP),
            ([["matmul", [8, 1024, 1024], "fp32"]], _LAPTOP),
            ([["matmul", [210, 4096, 4096], "bf16"]], _SERVER),  # more rows than the ridge point, and memory-bound
            ([["add", [1_000_000], "fp32"], ["matmul", [8, 1024, 1024], "fp32"]], _SLOW),
            ([["add", [1_000_000], "bf16"]], _SLOW),  # compute-bound, at an intensity of 1/6 and not 1/12
            (
                [  # only all three sides tell; between the two ridge points
                    ["matmul", [600, 512, 4096], "bf16"],
                    ["matmul", [600, 4096, 512], "bf16"],
                    ["matmul", [64, 1024, 1024], "fp32"],
                ],
                _SERVER,
            ),
            # Attention's two products: only a side that is left out would make them compute-bound.
            ([["matmul", [1024, 64, 1024], "bf16"], ["matmul", [1024, 1024, 64], "bf16"]], _SERVER),
            ([["add", [1_000_000], "fp32"]], _BETWEEN),  # memory-bound, though 1/6 would be above the ridge point
            (
                [
                    ["matmul", [2048, 4096, 4096], "bf16"],
                    ["add", [8_388_608], "bf16"],
                    ["matmul", [1, 4096, 4096], "bf16"],
                    ["add", [8_388_608], "bf16"],
                    ["add", [8_388_608], "bf16"],
                    ["add", [8_388_608], "fp32"],
                    ["matmul", [2048, 4096, 4096], "bf16"],
                ],
                _SERVER,
            ),
        ],
        generate=_draw_predict,
        reference=_predict,
        wrong={
            "FLOPs only": _predict_flops_only,
            "bytes only": _predict_bytes_only,
            "sum for max": _predict_sum,
            "max of sums": _predict_max_of_sums,
            "no overhead": lambda ops, profile: sum(max(pair) for pair in _times(ops, profile)),
            "one overhead": _predict_one_overhead,
            "fp32 peak": _predict_fp32_peak,
            "two FLOPs an addition": _predict_two_flops_an_addition,
            "no output": _predict_no_output,
            "fp32 bytes": _predict_fp32_bytes,
            "by rows": _predict_by_rows,
            "rows and ridge": _predict_rows_and_ridge,
            "each once": _predict_each_once,
            "two streams": _predict_two_streams,
        },
    ),
    Check(
        id="q05.layer-norm-report",
        points=3,
        signature="layer_norm_report(rows, cols, bytes_per_element, seconds, bandwidth_gb_per_s)",
        public=[(128, 4096, 4, 14.5e-6, 1500), (8192, 768, 2, 20e-6, 1555.2)],
        generate=_draw_report,
        reference=_report,
        wrong={
            "as given": _report_as_given,
            "unit left": _report_bytes_repaired,
            "bytes left": _report_unit_repaired,
            "written once": _report_written_once,
            "read only": _report_read_only,
        },
    ),
]
