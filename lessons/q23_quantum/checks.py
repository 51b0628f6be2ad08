"""Checks of Q23, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import ceil, floor, pi, sqrt

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- gates ---------------------------------------------------------------------------------------


def _apply(gate, state, qubit):
    """Pair by pair, by the bits of the index."""
    size = len(state)
    step = size >> (qubit + 1)
    new = [0.0] * size
    for index in range(size):
        bit = index // step % 2
        zero = index - bit * step
        new[index] = gate[bit][0] * state[zero] + gate[bit][1] * state[zero + step]
    return new


def _apply_other_end(gate, state, qubit):
    """Qubit 0 as the rightmost bit."""
    bits = len(state).bit_length() - 1
    return _apply(gate, state, bits - 1 - qubit)


def _apply_transposed(gate, state, qubit):
    return _apply([[gate[0][0], gate[1][0]], [gate[0][1], gate[1][1]]], state, qubit)


def _apply_overwritten(gate, state, qubit):
    """The second row works with amplitudes that the first one has changed."""
    size = len(state)
    step, new = size >> (qubit + 1), list(state)
    for index in range(size):
        if index // step % 2 == 0:
            new[index] = gate[0][0] * new[index] + gate[0][1] * new[index + step]
            new[index + step] = gate[1][0] * new[index] + gate[1][1] * new[index + step]
    return new


def _apply_first_row(gate, state, qubit):
    """Both rows the same."""
    return _apply([gate[0], gate[0]], state, qubit)


def _apply_swapped(gate, state, qubit):
    """The rows of the result in each other's place."""
    return _apply([gate[1], gate[0]], state, qubit)


def _apply_column(gate, state, qubit):
    """Row 0 as it should be; the amplitude of a 1 by column 1."""
    return _apply([gate[0], [gate[0][1], gate[1][1]]], state, qubit)


def _apply_turned_round(gate, state, qubit):
    """Row 0 as it should be; the entries of row 1 in each other's place."""
    return _apply([gate[0], [gate[1][1], gate[1][0]]], state, qubit)


def _draw_gate(rng):
    """No symmetric gate, no equal entries; two to four qubits, and never the middle one, which either end calls the
    same. Sixteenths: exact in float32.
    """
    qubits = rng.choice([2, 3, 4])
    qubit = rng.choice([place for place in range(qubits) if 2 * place != qubits - 1])
    entries = rng.sample([-20, -13, -9, -4, 3, 7, 11, 16, 25], 4)
    state = [rng.choice([-1, 1]) * rng.randrange(1, 40) / 16 for _ in range(2**qubits)]
    return [[entries[0] / 16, entries[1] / 16], [entries[2] / 16, entries[3] / 16]], state, qubit


GATES = [
    ([[0.5, -0.25], [2, 1]], [1, 0, 0, 0], 1),
    ([[0.5, -0.25], [2, 1]], [1, 2, 3, 5], 0),
    ([[0, 3], [-2, 0]], [0.5, -1, 0.25, 2, 1, -3, 0.75, 4], 0),
    ([[1, 0.5], [0.25, -2]], [0.5, -1, 0.25, 2, 1, -3, 0.75, 4], 1),
    ([[-1, 2], [0.5, 0.75]], [0.5, -1, 0.25, 2, 1, -3, 0.75, 4], 2),
    ([[0.5, -0.25], [2, 1]], [3, -4], 0),
    ([[0.25, 1.5], [-0.75, 2]], [1, 3, -2, 0.5, 4, -1, 0.25, 2, -3, 5, 1.5, -0.5, 2, 0.75, -4, 3], 3),
]
GATE_SLIPS = {
    "the other end": _apply_other_end,
    "transposed": _apply_transposed,
    "overwritten": _apply_overwritten,
    "one row twice": _apply_first_row,
    "rows swapped": _apply_swapped,
}


# ---- the tie -------------------------------------------------------------------------------------


def _tie(call, test, cores):
    return pi / 4 * (pi / 2 * call * cores / test) * call


def _draw_tie(rng):
    return rng.randrange(1, 400) / 1e4, rng.randrange(2, 90) * 1e-9, rng.choice([2, 3, 4, 8, 16, 64, 100, 1000])


# ---- slopes --------------------------------------------------------------------------------------


def _slope(plus, minus, shots):
    return (plus - minus) / shots


def _draw_slope(rng):
    shots = rng.choice([50, 100, 250, 1000, 4000])
    plus = rng.randrange(0, shots + 1)
    return (
        plus,
        rng.choice([count for count in range(0, shots + 1, shots // 50) if abs(count - plus) > shots / 20]),
        shots,
    )


def _gradient(plus, minus, shots):
    return [(on - back) / many for on, back, many in zip(plus, minus, shots, strict=True)]


def _gradient_no_half(plus, minus, shots):
    return [2 * value for value in _gradient(plus, minus, shots)]


def _gradient_odds(plus, minus, shots):
    """With shares of zeros in place of means of ±1."""
    return [value / 2 for value in _gradient(plus, minus, shots)]


def _gradient_by_angle(plus, minus, shots):
    """Divided by the distance of the two angles, as a finite difference would be."""
    return [2 * value / pi for value in _gradient(plus, minus, shots)]


def _gradient_backwards(plus, minus, shots):
    return [-value for value in _gradient(plus, minus, shots)]


def _gradient_half_of_one(plus, minus, shots):
    """on − back / 2, without brackets."""
    return [(2 * on - back) / many - 0.5 for on, back, many in zip(plus, minus, shots, strict=True)]


def _gradient_first_shots(plus, minus, shots):
    """All counts over the first number of shots."""
    return [(on - back) / shots[0] for on, back in zip(plus, minus, strict=True)]


def _draw_gradient(rng):
    """Two to six angles, most with shots of their own; at least one slope is not near 0, and not all shots are equal."""
    many = rng.sample([40, 100, 160, 400, 1000], rng.randrange(2, 6))
    plus = [rng.randrange(0, shots + 1) for shots in many]
    minus = [rng.randrange(0, shots + 1) for shots in many]
    place = rng.randrange(1, len(many))
    minus[place] = many[place] - plus[place] if abs(2 * plus[place] - many[place]) > many[place] / 4 else 0
    plus[place] = plus[place] or many[place]
    if rng.random() < 0.5:  # an angle read as often as the first, with as many zeros one way
        plus, minus, many = [*plus, plus[0]], [*minus, rng.randrange(0, many[0] + 1)], [*many, many[0]]
    return plus, minus, many


# ---- Grover --------------------------------------------------------------------------------------


def _calls(qubits, marked):
    return floor(pi / 4 * sqrt(2**qubits / marked))


def _calls_root(qubits, marked):
    return floor(sqrt(2**qubits / marked))


def _calls_one(qubits, marked):
    return floor(pi / 4 * sqrt(2**qubits))


def _calls_up(qubits, marked):
    return ceil(pi / 4 * sqrt(2**qubits / marked))


def _calls_half(qubits, marked):
    """The turn of a whole quarter circle, π/2."""
    return floor(pi / 2 * sqrt(2**qubits / marked))


def _calls_share(qubits, marked):
    """π/4 · √N, shared out among the marked."""
    return floor(pi / 4 * sqrt(2**qubits) / marked)


def _calls_linear(qubits, marked):
    """Half of the items."""
    return 2**qubits // (2 * marked)


def _calls_index(qubits, marked):
    """The root of the number of qubits."""
    return floor(pi / 4 * sqrt(qubits / marked))


GROVER = (_calls, _calls_root, _calls_one, _calls_up, _calls_half, _calls_share, _calls_linear, _calls_index)


def _draw_grover(rng):
    """Every wrong number differs, and π/4 · √(N/marked) is no hair's breadth from a whole number."""
    while True:
        qubits, marked = rng.randrange(6, 23), rng.choice([2, 3, 4, 5, 7, 8, 12, 16])
        exact = pi / 4 * sqrt(2**qubits / marked)
        right, *wrong = (way(qubits, marked) for way in GROVER)
        if right not in wrong and abs(exact - round(exact)) > 0.01:
            return qubits, marked


# ---- shots ---------------------------------------------------------------------------------------


def _shots(percent):
    return -(-5000 // percent**2)


def _shots_whole(percent):
    """Without the half that two readings and the factor ½ leave."""
    return -(-10_000 // percent**2)


def _shots_linear(percent):
    return -(-100 // percent)


def _shots_down(percent):
    return 5000 // percent**2


def _shots_fraction(percent):
    """Per cent taken for the number itself."""
    return max(1, ceil(1 / (2 * percent**2)))


def _shots_double(percent):
    """Both circuits together."""
    return 2 * _shots(percent)


def _draw_shots(rng):
    """Not 5, 10, 25 and 50, where (√½ / error)² in floats lies a hair above a whole number; at 1 and 2 it does not."""
    return (rng.choice([1, 2] if rng.random() < 0.4 else [3, 4, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 18, 20, 30]),)


# ---- the slowest call ----------------------------------------------------------------------------


def _slowest(qubits, test, cores):
    return 2 ** (qubits - 1) * test / cores / floor(pi / 4 * sqrt(2**qubits))


def _slowest_all(qubits, test, cores):
    return 2 * _slowest(qubits, test, cores)


def _slowest_one_core(qubits, test, cores):
    return _slowest(qubits, test, 1)


def _slowest_root(qubits, test, cores):
    return 2 ** (qubits - 1) * test / cores / floor(sqrt(2**qubits))


def _slowest_test(qubits, test, cores):
    """As many calls in as many tests, upside down."""
    return floor(pi / 4 * sqrt(2**qubits)) * test * cores / 2 ** (qubits - 1)


def _slowest_more(qubits, test, cores):
    """More cores, more time for a call."""
    return _slowest(qubits, test, 1) * cores


def _slowest_not_rounded(qubits, test, cores):
    return 2 ** (qubits - 1) * test / cores / (pi / 4 * sqrt(2**qubits))


def _draw_slowest(rng):
    """Few items, so that rounding the calls shows; two cores at least, for most slips forget them, and a whole test for
    each at least.
    """
    while True:
        qubits, cores = rng.randrange(5, 17), rng.choice([2, 3, 4, 8, 16, 100])
        exact = pi / 4 * sqrt(2**qubits)
        if exact / floor(exact) > 1.002 and abs(exact - round(exact)) > 0.01 and cores <= 2 ** (qubits - 1):
            return qubits, rng.randrange(5, 400) / 10, cores


CHECKS = [
    Check(
        id="q23.turn-apply",
        points=0,
        signature="apply(gate, state, qubit)",
        public=GATES,
        generate=_draw_gate,
        reference=_apply,
        same=Close(rel=1e-4, abs=1e-4),
        wrong=GATE_SLIPS | {"a column": _apply_column, "turned round": _apply_turned_round},
    ),
    Check(
        id="q23.turn-tie",
        points=0,
        signature="tie(call, test, cores)",
        public=[(1e-3, 1e-9, 1), (1e-3, 1e-9, 10_000), (0.02, 3e-8, 64), (2, 3e-8, 3)],
        generate=_draw_tie,
        reference=_tie,
        wrong={
            "the calls": lambda call, test, cores: pi / 2 * call * cores / test * call,
            "only the root": lambda call, test, cores: pi / 2 * call * cores / test,
            "only the number of calls": lambda call, test, cores: pi / 4 * (pi / 2 * call * cores / test),
            "tests": lambda call, test, cores: pi / 4 * (pi / 2 * call * cores / test) * test,
            "the items": lambda call, test, cores: pi / 4 * (pi / 2 * call * cores / test) ** 2 * call,
        },
    ),
    Check(
        id="q23.turn-slope",
        points=0,
        signature="slope(plus, minus, shots)",
        public=[(100, 0, 100), (70, 30, 100), (30, 70, 100), (10, 60, 250), (40, 40, 50), (1, 999, 1000)],
        generate=_draw_slope,
        reference=_slope,
        same=Close(rel=1e-4, abs=1e-5),
        wrong={
            "without the half": lambda plus, minus, shots: 2 * _slope(plus, minus, shots),
            "a finite difference": lambda plus, minus, shots: 2 * _slope(plus, minus, shots) / pi,
            "divided by the shift": lambda plus, minus, shots: 4 * _slope(plus, minus, shots) / pi,
            "backwards": lambda plus, minus, shots: -_slope(plus, minus, shots),
            "half of one": lambda plus, minus, shots: (2 * plus - minus) / shots - 0.5,  # on - back / 2
            "half of the first": lambda plus, minus, shots: (plus - 2 * minus) / shots + 0.5,
            "half again": lambda plus, minus, shots: _slope(plus, minus, shots) / 2,
        },
    ),
    Check(
        id="q23.apply-gate",
        points=3,
        signature="apply_gate(gate, state, qubit)",
        public=GATES,
        generate=_draw_gate,
        reference=_apply,
        same=Close(rel=1e-4, abs=1e-4),
        wrong=GATE_SLIPS,
    ),
    Check(
        id="q23.grover-calls",
        points=2,
        signature="grover_calls(qubits, marked)",
        public=[
            (8, 1),
            (10, 16),
            (6, 3),
            (12, 7),
            (20, 5),
            (4, 1),
            (5, 8),
            (9, 7),
            (22, 1),
            (2, 4),
            (7, 19),
            (9, 35),
            (4, 8),
            (40, 1),
        ],
        generate=_draw_grover,
        reference=_calls,
        same=EXACT,
        wrong={
            "the root": _calls_root,
            "one marked": _calls_one,
            "rounded up": _calls_up,
            "twice as many": _calls_half,
            "shared out": _calls_share,
            "an ordinary search": _calls_linear,
            "qubits for items": _calls_index,
        },
    ),
    Check(
        id="q23.gradient",
        points=2,
        signature="gradient(plus, minus, shots)",
        public=[
            ([100], [0], [100]),
            ([70, 10], [30, 60], [100, 250]),
            ([0, 25, 400], [40, 75, 100], [40, 100, 400]),
            ([500, 40], [500, 10], [1000, 160]),
            ([], [], []),
            ([7, 150], [9, 1], [40, 160]),
            ([70, 10, 70], [30, 60, 10], [100, 100, 250]),
            ([49, 24, 9, 700, 33], [30, 30, 9, 100, 12], [160, 100, 40, 1000, 400]),
        ],
        generate=_draw_gradient,
        reference=_gradient,
        same=Close(rel=1e-4, abs=1e-5),
        wrong={
            "without the half": _gradient_no_half,
            "shares for means": _gradient_odds,
            "a finite difference": _gradient_by_angle,
            "backwards": _gradient_backwards,
            "half of one": _gradient_half_of_one,
            "the first shots": _gradient_first_shots,
        },
    ),
    Check(
        id="q23.shots-for",
        points=2,
        signature="shots_for(percent)",
        public=[(1,), (3,), (7,), (20,), (30,), (2,), (80,)],
        generate=_draw_shots,
        reference=_shots,
        same=EXACT,
        wrong={
            "one reading": _shots_whole,
            "in proportion": _shots_linear,
            "rounded down": _shots_down,
            "per cent": _shots_fraction,
            "both circuits": _shots_double,
        },
    ),
    Check(
        id="q23.slowest-call",
        points=2,
        signature="slowest_call(qubits, test, cores)",
        public=[
            (8, 1, 1),
            (8, 2.5, 1),
            (9, 1, 4),
            (5, 3, 2),
            (12, 40, 100),
            (16, 0.5, 3),
            (6, 20, 1),
            (6, 0.6, 16),
            (8, 0.7, 100),
        ],
        generate=_draw_slowest,
        reference=_slowest,
        same=Close(rel=1e-4),
        wrong={
            "all items": _slowest_all,
            "one core": _slowest_one_core,
            "the root": _slowest_root,
            "upside down": _slowest_test,
            "cores multiply": _slowest_more,
            "calls not rounded": _slowest_not_rounded,
        },
    ),
]
