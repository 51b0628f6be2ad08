"""Checks of Q24, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import log, log2, log10

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lines of the lesson ---------------------------------------------------------------------


def _faster(arithmetic, nbytes, calls):
    return max(arithmetic, nbytes, calls) / max(nbytes, calls)


def _draw_faster(rng):
    """ms. Arithmetic is the longest in less than half of the draws, and so are bytes among what is left."""
    low, middle, high = sorted(rng.sample(range(1, 400), 3))
    places = rng.choices(
        [
            ("arithmetic", "calls", "nbytes"),
            ("calls", "arithmetic", "nbytes"),
            ("arithmetic", "nbytes", "calls"),
            ("nbytes", "arithmetic", "calls"),
            ("nbytes", "calls", "arithmetic"),
        ],
        [32, 19, 19, 15, 15],
    )[0]
    times = dict(zip(places, (high / 8, middle / 8, low / 8), strict=True))
    return times["arithmetic"], times["nbytes"], times["calls"]


def _entropy(chances):
    return -sum(chance * log(chance) for chance in chances if chance)


def _draw_chances(rng):
    """Sixteenths that add up to 1, often with a zero, sometimes a sure thing."""
    parts = [0] * rng.choice([2, 3, 4, 6])
    for _ in range(16):
        parts[rng.randrange(len(parts))] += 1
    if rng.random() < 0.4:
        parts[0], parts[-1] = 0, parts[0] + parts[-1]
    if rng.random() < 0.06:
        parts = [0, 16]
    return ([part / 16 for part in parts],)


def _reach(n, factor):
    return n + log2(factor)


def _draw_reach(rng):
    return rng.randrange(5, 60), rng.choice([0.25, 0.3, 1.5, 3, 8, 50, 1000, 12_345, 1e6, 1e9, 3e12])


# ---- q24.next-bound ------------------------------------------------------------------------------


def _next(times, free):
    left = {name: time for name, time in times.items() if name not in free}
    if not left:
        return [None, None]
    name = min(left, key=lambda name: (-left[name], name))
    return [name, max(times.values()) / left[name]]


def _next_sum(times, free):
    name, _ = _next(times, free)
    left = sum(time for each, time in times.items() if each not in free)
    return [name, sum(times.values()) / left if left else None]


def _next_same(times, free):
    return [min(times, key=lambda name: (-times[name], name)), 1.0]


def _next_first(times, free):
    """Of equal times the first that was written."""
    left = {name: time for name, time in times.items() if name not in free}
    if not left:
        return [None, None]
    name = max(left, key=left.get)
    return [name, max(times.values()) / left[name]]


def _next_last(times, free):
    """Of equal times the last that was written."""
    return _next_first(dict(reversed(times.items())), free)


def _next_upside(times, free):
    name, gain = _next(times, free)
    return [name, gain and 1 / gain]


def _draw_next(rng, group):
    names = rng.sample(["arithmetic", "bytes", "calls", "messages", "distance"], rng.choice([2, 3, 4, 5]))
    if group == "one is longest":
        times = dict.fromkeys(names, 1)
        while len(set(times.values())) < len(times):
            times = {name: rng.randrange(1, 800) / 8 for name in names}
        longest = max(times, key=times.get)
        free = rng.sample(names, rng.randrange(0, len(names)))
        if longest not in free and rng.random() < 0.7:
            free = [longest, *free][: len(names) - 1]
        return times, [*free, *(["light"] if rng.random() < 0.2 else [])]
    if rng.random() < 0.1:
        free = [*names, *(["light"] if rng.random() < 0.5 else [])]
        return {name: rng.randrange(1, 800) / 8 for name in names}, rng.sample(free, len(free))
    names = rng.sample(["arithmetic", "bytes", "calls", "messages", "distance"], rng.choice([3, 4, 5]))
    pair, equal = sorted(rng.sample(names, 2), reverse=rng.random() < 0.5), rng.randrange(80, 800) / 8
    others = [name for name in names if name not in pair]
    if rng.random() < 0.8:  # what is freed was longer
        times = {name: equal + rng.randrange(1, 800) / 8 for name in others}
        return times | dict.fromkeys(pair, equal), others
    times = {name: equal * rng.choice([0.25, 0.5]) for name in others}
    return times | dict.fromkeys(pair, equal), rng.sample(others, rng.randrange(0, len(others)))


# ---- q24.loss-left -------------------------------------------------------------------------------


def _loss(E, A, B, alpha, beta, params, tokens):
    model = 0 if params is None else A / params**alpha
    data = 0 if tokens is None else B / tokens**beta
    return E + model + data


def _loss_floor(E, A, B, alpha, beta, params, tokens):
    if params is None or tokens is None:
        return E
    return E + A / params**alpha + B / tokens**beta


def _loss_swapped(E, A, B, alpha, beta, params, tokens):
    return _loss(E, A, B, beta, alpha, params, tokens)


def _loss_no_floor(E, A, B, alpha, beta, params, tokens):
    both = params is not None and tokens is not None
    return _loss(E, A, B, alpha, beta, params, tokens) - (E if both else 0)


def _loss_as_given(E, A, B, alpha, beta, params, tokens):
    return E if None in (params, tokens) else _loss_no_floor(E, A, B, beta, alpha, params, tokens)


def _loss_of_one(E, A, B, alpha, beta, params, tokens):
    return _loss(E, A, B, alpha, beta, params or 1, tokens or 1)


def _draw_loss(rng, group):
    law = (
        rng.randrange(50, 250) / 100,
        rng.randrange(100, 900),
        rng.randrange(200, 3000),
        rng.randrange(20, 50) / 100,
        rng.randrange(20, 50) / 100,
    )
    params, tokens = (
        rng.choice([1, 3, 8, 70]) * 10 ** rng.randrange(6, 12),
        rng.randrange(1, 90) * 10 ** rng.randrange(8, 13),
    )
    if group == "one or both without end":
        params, tokens = rng.choice([(None, tokens), (params, None), (None, tokens), (params, None), (None, None)])
    return (*law, params, tokens)


# ---- q24.tokens-factor ---------------------------------------------------------------------------


def _factor(beta, share):
    return share ** (-1 / beta)


def _draw_factor(rng):
    return rng.randrange(20, 50) / 100, rng.choice([0.1, 0.25, 0.3, 0.5, 0.5, 0.7, 0.9, 1.25])


# ---- q24.largest-n -------------------------------------------------------------------------------

_WORK = {"n": lambda n: n, "n^2": lambda n: n**2, "n^3": lambda n: n**3, "2^n": lambda n: 2**n}


def _largest(growth, factor, n0):
    n, allowed = n0, factor * _WORK[growth](n0)
    while _WORK[growth](n + 1) <= allowed:
        n += 1
    return n


def _largest_linear(growth, factor, n0):
    return n0 * factor


def _largest_times(growth, factor, n0):
    """2^n treated like a power: multiplied by the logarithm."""
    return int(n0 * log2(factor)) if growth == "2^n" else _largest(growth, factor, n0)


def _largest_up(growth, factor, n0):
    """The first n that is too large, where the bound is no whole number."""
    n = _largest(growth, factor, n0)
    return n if _WORK[growth](n) == factor * _WORK[growth](n0) else n + 1


def _largest_strict(growth, factor, n0):
    n = _largest(growth, factor, n0)
    return n - 1 if _WORK[growth](n) == factor * _WORK[growth](n0) else n


def _largest_more(growth, factor, n0):
    return _largest(growth, factor, n0) - n0


def _draw_largest(rng, group):
    """Two of three with n in the exponent; the work stays below what a float32 holds exactly."""
    n0, power = (
        rng.randrange(1, 13),
        rng.choice([1, 2, 3]) if group == "the bound is a whole number" else rng.choice([2, 3]),
    )
    exponential = rng.random() < 0.6
    growth = "2^n" if exponential else {1: "n", 2: "n^2", 3: "n^3"}[power]
    if group == "the bound is a whole number":
        factor = rng.choice([2, 4, 8, 16, 64, 512]) if exponential else rng.choice([2, 3, 5, 10]) ** power
        return growth, rng.randrange(2, 900) if growth == "n" else factor, n0
    while True:
        factor = rng.randrange(3, 900)
        if _WORK[growth](_largest(growth, factor, n0)) != factor * _WORK[growth](n0):
            return growth, factor, n0


# ---- q24.bandwidth-for ---------------------------------------------------------------------------


def _bandwidth(rate, weights, kv, batch, arithmetic):
    step = 1000 * batch / rate  # ms
    plain = (weights + batch * kv) / step
    if weights / plain >= arithmetic:
        return plain
    return batch * kv / (step - arithmetic) if step > arithmetic else None


def _bandwidth_no_cache(rate, weights, kv, batch, arithmetic):
    step = 1000 * batch / rate
    return weights / step if step >= arithmetic else None


def _bandwidth_no_batch(rate, weights, kv, batch, arithmetic):
    return _bandwidth(rate, weights, kv, 1, arithmetic)


def _bandwidth_free(rate, weights, kv, batch, arithmetic):
    return (weights + batch * kv) * rate / batch / 1000


def _bandwidth_all_over(rate, weights, kv, batch, arithmetic):
    """As if arithmetic overlapped with the cache too."""
    step = 1000 * batch / rate
    return (weights + batch * kv) / step if step > arithmetic else None


def _bandwidth_added(rate, weights, kv, batch, arithmetic):
    """As if nothing overlapped."""
    left = 1000 * batch / rate - arithmetic
    return (weights + batch * kv) / left if left > 0 else None


def _bandwidth_negative(rate, weights, kv, batch, arithmetic):
    step = 1000 * batch / rate
    plain = (weights + batch * kv) / step
    if weights / plain >= arithmetic:
        return plain
    return batch * kv / (step - arithmetic) if step != arithmetic else 0.0


def _bandwidth_seconds(rate, weights, kv, batch, arithmetic):
    found = _bandwidth(rate, weights, kv, batch, arithmetic)
    return found and 1000 * found


def _bandwidth_units(rate, weights, kv, batch, arithmetic):
    """As if a GB took a ms, whatever the bandwidth."""
    step = 1000 * batch / rate
    if weights >= arithmetic:
        return (weights + batch * kv) / step
    return batch * kv / (step - arithmetic) if step > arithmetic else None


def _draw_bandwidth(rng, group):
    """A step of 2 to 64 ms; arithmetic that is hidden by the weights, or is not, or takes all of the step and more.

    Where it is hidden, most steps leave time for so low a bandwidth that it takes more ms than the weights have GB.
    """
    batch = rng.choice([4, 8, 16, 64])
    step = rng.choice([2.5, 4, 6.25, 12.5, 32, 62.5])
    weights, kv = rng.choice([4, 8, 16, 70, 140]), rng.choice([0.25, 0.5, 1, 2])
    share = weights / (weights + batch * kv)  # of the step, that the weights take
    if group == "the weights take longer":
        portion = share * rng.choice([0, 0.1, 0.3, 0.6, 0.95])
        if rng.random() < 0.6:
            batch, step, weights, kv = 4, rng.choice([32, 62.5]), rng.choice([4, 8]), rng.choice([0.25, 0.5])
            portion = weights / (weights + batch * kv) * rng.choice([0.6, 0.95])
    elif rng.random() < 0.45:
        portion = rng.choice([1, 1, 1.25, 2])
    else:
        portion = share + (1 - share) * rng.choice([0.2, 0.4, 0.6, 0.8])
    return 1000 * batch / step, weights, kv, batch, step * portion


CHECKS = [
    Check(
        id="q24.turn-faster",
        points=0,
        signature="faster(arithmetic, nbytes, calls)",
        public=[
            (0.016, 4.52, 1.6),
            (10, 2, 1),
            (10, 1, 4),
            (5, 5, 1),
            (8, 3, 3),
            (1, 2, 6),
            (3, 9.5, 2),
            (3, 1, 9),
            (9, 5, 6),
        ],
        generate=_draw_faster,
        reference=_faster,
        wrong={
            "two of them": lambda arithmetic, nbytes, calls: max(arithmetic, nbytes) / nbytes,
            "added": lambda arithmetic, nbytes, calls: (arithmetic + nbytes + calls) / (nbytes + calls),
            "upside down": lambda arithmetic, nbytes, calls: max(nbytes, calls) / max(arithmetic, nbytes, calls),
            "over the rest": lambda arithmetic, nbytes, calls: arithmetic / max(nbytes, calls),
            "bytes free too": lambda arithmetic, nbytes, calls: max(arithmetic, nbytes, calls) / calls,
        },
    ),
    Check(
        id="q24.turn-entropy",
        points=0,
        signature="entropy(chances)",
        public=[
            ([0.5, 0.5],),
            ([0.25, 0.75],),
            ([1.0],),
            ([0.0, 1.0],),
            ([0.0, 0.5, 0.25, 0.25],),
            ([0.75, 0.0, 0.25, 0.0],),
            ([0.125] * 8,),
            ([0.82, *[0.02] * 9],),
        ],
        generate=_draw_chances,
        reference=_entropy,
        same=Close(rel=1e-5, abs=1e-6),
        wrong={
            "bits": lambda chances: -sum(chance * log2(chance) for chance in chances if chance),
            "tens": lambda chances: -sum(chance * log10(chance) for chance in chances if chance),
            "the sign": lambda chances: -_entropy(chances),
            "without the weights": lambda chances: -sum(log(chance) for chance in chances if chance),
            "a plain mean": lambda chances: _entropy(chances) / len(chances),
            "all alike": lambda chances: log(len(chances)),
        },
    ),
    Check(
        id="q24.turn-reach",
        points=0,
        signature="reach(n, factor)",
        public=[(50, 1e9), (20, 8), (30, 1000), (12, 1.5), (40, 0.25), (7, 3)],
        generate=_draw_reach,
        reference=_reach,
        wrong={
            "in proportion": lambda n, factor: n * factor,
            "times the logarithm": lambda n, factor: n * log2(factor),
            "natural": lambda n, factor: n + log(factor),
            "tens": lambda n, factor: n + log10(factor),
            "only what is added": lambda n, factor: log2(factor),
            "a square": lambda n, factor: n * factor**0.5,
        },
    ),
    Check(
        id="q24.next-bound",
        points=3,
        signature="next_bound(times, free)",
        public={
            "one is longest": [
                ({"arithmetic": 0.016, "bytes": 4.52, "calls": 1.6}, ["arithmetic"]),
                ({"arithmetic": 10, "bytes": 2, "calls": 1}, ["arithmetic"]),
                ({"calls": 1, "bytes": 4, "arithmetic": 5}, ["bytes", "arithmetic"]),
                ({"bytes": 3, "calls": 0.5}, []),
                ({"bytes": 3, "messages": 2.5}, ["light", "bytes"]),
            ],
            "equal times, or nothing left": [
                ({"calls": 7, "bytes": 7, "arithmetic": 9}, ["arithmetic"]),
                ({"bytes": 5, "arithmetic": 5}, ["arithmetic"]),
                ({"messages": 2, "calls": 2}, []),
                ({"messages": 1, "bytes": 5, "calls": 5, "arithmetic": 2}, ["arithmetic"]),
                ({"messages": 6, "distance": 6, "arithmetic": 9}, ["arithmetic"]),
                ({"distance": 10, "bytes": 4, "calls": 4, "arithmetic": 8}, ["arithmetic", "distance"]),
                ({"messages": 6, "calls": 6, "bytes": 2, "arithmetic": 9}, ["arithmetic"]),
                ({"bytes": 3, "calls": 1}, ["calls", "light", "bytes"]),
                ({"arithmetic": 4}, ["arithmetic"]),
            ],
        },
        groups={"one is longest": 2, "equal times, or nothing left": 1},
        generate=_draw_next,
        reference=_next,
        wrong={
            "added": _next_sum,
            "as if nothing were free": _next_same,
            "first of equals": _next_first,
            "last of equals": _next_last,
            "upside down": _next_upside,
        },
    ),
    Check(
        id="q24.loss-left",
        points=3,
        signature="loss_left(E, A, B, alpha, beta, params, tokens)",
        public={
            "both finite": [
                (1.69, 406.4, 410.7, 0.34, 0.28, 405_000_000_000, 15_600_000_000_000),
                (1.8172, 482.01, 2085.43, 0.3478, 0.3658, 8_000_000_000, 15_600_000_000_000),
                (0.5, 100, 900, 0.4, 0.25, 1_000_000, 100_000_000),
            ],
            "one or both without end": [
                (1.69, 406.4, 410.7, 0.34, 0.28, None, 15_600_000_000_000),
                (1.69, 406.4, 410.7, 0.34, 0.28, 405_000_000_000, None),
                (1.8172, 482.01, 2085.43, 0.3478, 0.3658, None, None),
                (2, 300, 700, 0.25, 0.45, None, 3_000_000_000),
                (0.5, 900, 3000, 0.2, 0.2, None, None),
            ],
        },
        groups={"both finite": 1, "one or both without end": 2},
        generate=_draw_loss,
        reference=_loss,
        same=Close(rel=1e-5),
        wrong={
            "the floor at once": _loss_floor,
            "exponents exchanged": _loss_swapped,
            "without the floor": _loss_no_floor,
            "as it was": _loss_as_given,
            "one in place of endless": _loss_of_one,
        },
    ),
    Check(
        id="q24.tokens-factor",
        points=1,
        signature="tokens_factor(beta, share)",
        public=[(0.28, 0.5), (0.3658, 0.5), (0.5, 0.1), (0.25, 0.9), (0.4, 1.25), (0.28, 0.25), (0.22, 1.25)],
        generate=_draw_factor,
        reference=_factor,
        same=Close(rel=1e-4),
        wrong={
            "the power itself": lambda beta, share: share**-beta,
            "in proportion": lambda beta, share: 1 / share,
            "upside down": lambda beta, share: share ** (1 / beta),
            "always a half": lambda beta, share: 2 ** (1 / beta),
            "one minus": lambda beta, share: (1 - share) ** (-1 / beta) if share < 1 else 0.0,
        },
    ),
    Check(
        id="q24.largest-n",
        points=3,
        signature="largest_n(growth, factor, n0)",
        public={
            "the bound is a whole number": [
                ("n", 3, 7),
                ("n", 1000, 40),
                ("n^2", 25, 4),
                ("n^3", 1000, 1),
                ("2^n", 64, 12),
                ("2^n", 8, 40),
                ("n^3", 27, 5),
                ("n^2", 9, 6),  # logarithms of any base come out too small
                ("2^n", 16, 11),  # as they do here in float32
            ],
            "the bound lies between": [
                ("n^2", 7, 4),
                ("n^2", 99, 10),
                ("n^3", 30, 7),
                ("2^n", 1000, 15),
                ("2^n", 3, 1),
                ("n^3", 2, 3),
                ("n^3", 7, 10),
                ("n^3", 633, 29),
                ("n^2", 897, 40),
                ("n^3", 934, 40),
            ],
        },
        groups={"the bound is a whole number": 1, "the bound lies between": 2},
        generate=_draw_largest,
        reference=_largest,
        same=EXACT,
        wrong={
            "in proportion": _largest_linear,
            "multiplied": _largest_times,
            "too large": _largest_up,
            "one too few": _largest_strict,
            "only what is added": _largest_more,
        },
    ),
    Check(
        id="q24.bandwidth-for",
        points=3,
        signature="bandwidth_for(rate, weights, kv, batch, arithmetic)",
        public={
            "the weights take longer": [
                (1000.5, 15.01, 0.134, 1, 0.016),
                (1000, 15.01, 0.134, 16, 0.26),
                (500, 70, 0.5, 4, 0),
                (2000, 8, 0.25, 64, 8),
                (2560, 16, 0.5, 16, 4),
                (2700, 0.5, 0.0625, 1, 0.125),
                (250, 8, 0.25, 4, 10),
            ],
            "arithmetic takes longer": [
                (2000, 8, 0.25, 16, 6),
                (2000, 8, 0.25, 16, 8),
                (4000, 16, 0.125, 64, 20),
                (1000, 16, 0.0625, 4, 3.96875),
                (1000, 140, 0.5, 8, 7.9),
                (4000, 16, 2, 64, 15.875),
                (64, 0.125, 0.25, 4, 9),
            ],
        },
        groups={"the weights take longer": 1, "arithmetic takes longer": 2},
        generate=_draw_bandwidth,
        reference=_bandwidth,
        same=Close(rel=1e-4),
        wrong={
            "without the cache": _bandwidth_no_cache,
            "a token a step": _bandwidth_no_batch,
            "arithmetic free": _bandwidth_free,
            "all at once": _bandwidth_all_over,
            "all in a row": _bandwidth_added,
            "never none": _bandwidth_negative,
            "seconds": _bandwidth_seconds,
            "GB against ms": _bandwidth_units,
        },
    ),
]
