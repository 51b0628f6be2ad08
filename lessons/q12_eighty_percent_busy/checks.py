"""Checks of Q12, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from fractions import Fraction
from math import ceil

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q12.queue-time ------------------------------------------------------------------------------


def _queue(issue, runs, gap):
    issued = free = 0
    for run in runs:
        issued += issue
        free = max(issued, free) + run + gap
    return free - gap


def _queue_one_maximum(issue, runs, gap):
    return issue + max(len(runs) * issue, sum(runs) + gap * (len(runs) - 1))


def _queue_call_by_call(issue, runs, gap):
    """Each kernel's run against the launch of the next."""
    return issue + sum(max(issue, run + gap) for run in runs[:-1]) + runs[-1]


def _queue_always_gap(issue, runs, gap):
    issued = done = 0
    for number, run in enumerate(runs):
        issued += issue
        done = max(issued, done) + (gap if number else 0) + run
    return done


def _queue_gap_first(issue, runs, gap):
    issued = done = 0
    for run in runs:
        issued += issue
        done = max(issued, done) + gap + run
    return done


def _queue_all_issued(issue, runs, gap):
    """As a graph: one launch for all."""
    return issue + sum(runs) + gap * (len(runs) - 1)


def _queue_once_full(issue, runs, gap):
    """After the first kernel that outlasts a launch, no launch but the last."""
    issued = free = 0
    full = False
    for run in runs:
        issued += issue
        free = (free if full else max(issued, free)) + run + gap
        full = full or run + gap > issue
    return max(free - gap, issued + runs[-1])


def _queue_no_first(issue, runs, gap):
    issued = free = 0
    for run in runs:
        free = max(issued, free) + run + gap
        issued += issue
    return free - gap


def _draw_queue(rng):
    """Short kernels, a long one behind which launches gather, in some draws a longer one, and short ones. In others so
    many short ones that the queue runs empty, and a long one again.
    """
    issue, gap = rng.randrange(6, 12), rng.randrange(1, 4)
    short = [rng.randrange(1, issue - gap - 1) for _ in range(rng.randrange(2, 11))]
    long = rng.randrange(2 * issue, 4 * issue)
    tail = [rng.randrange(1, issue - gap - 1) for _ in range(rng.randrange(2, 12))]
    if rng.random() < 0.55:
        emptied = ceil((long + gap - issue) / (issue - gap - 1)) + rng.randrange(1, 4)
        return issue, [*short, long, *emptied * [1], rng.randrange(2 * issue, 4 * issue), *tail[:2]], gap
    longer = [long + issue / 2] if rng.random() < 0.7 else []
    return issue, [*short, long, *longer, *tail], gap


# ---- q12.shortest-run ----------------------------------------------------------------------------


def _shortest(issue, gap, gain):
    return max(0, issue / gain - gap)


def _draw_shortest(rng):
    """Kernels of a few µs, or of some hundreds; in half of the draws the graph gains little with every run."""
    gap, scale = rng.randrange(1, 30) / 10, rng.choice([1, 200])
    if rng.random() < 0.48:
        return scale * gap * rng.uniform(1.1, 1.4), scale * gap, rng.uniform(1.5, 3)
    return scale * (gap + rng.randrange(40, 120) / 10), scale * gap, rng.randrange(105, 150) / 100


# ---- q12.fewest-workers --------------------------------------------------------------------------


def _workers(load, compute, cores):
    load, compute = Fraction(load), Fraction(compute)
    if cores is not None and load + compute > cores * compute:
        return None
    return ceil(load / compute)


def _workers_up_to(load, compute, cores):
    return _workers(load, compute, None) if cores is None else min(_workers(load, compute, None), cores)


def _workers_all_cores(load, compute, cores):
    """Forgets that the step needs a core as well."""
    if cores is not None and Fraction(load) > cores * Fraction(compute):
        return None
    return _workers(load, compute, None)


def _draw_workers(rng):
    """Times in whole ms, for a few workers or hundreds; nearly half of the draws have a core for each worker and none for the
    step, and some just as many cores as are needed. Now and then a load is a whole number of steps, or two cores do just
    what they must, all in powers of two: they divide alike in every order and unit, so that who compares paces finds the same.
    """
    kind, compute, many = rng.random(), 2 ** rng.randrange(2, 6), 2 ** rng.randrange(1, 10)
    if kind < 0.05:
        return compute, compute, 2
    if kind < 0.1:
        return compute * many, compute, rng.choice([None, many, many, many + 2])
    compute, many = rng.randrange(4, 40), rng.choice([rng.randrange(2, 17), rng.randrange(300, 700)])
    load = compute * many - rng.randrange(1, compute)
    return load, compute, many if rng.random() < 0.48 else rng.choice([None, many + 1, many + 1, many + 4])


# ---- q12.monitor ---------------------------------------------------------------------------------


def _monitor(ranks):
    own = [seconds for _, seconds in ranks]
    slowest = max(own)
    return {"slowest": own.index(slowest), "lost": 1 - sum(own) / (len(own) * slowest)}


def _monitor_given(ranks):
    gauges = [gauge for gauge, _ in ranks]
    return {"slowest": gauges.index(min(gauges)), "lost": 1 - sum(gauges) / len(gauges) / 100}


def _monitor_half(ranks):
    return {**_monitor_given(ranks), "slowest": _monitor(ranks)["slowest"]}


def _monitor_other_half(ranks):
    return {**_monitor(ranks), "slowest": _monitor_given(ranks)["slowest"]}


def _monitor_of_mean(ranks):
    """The longest over the mean: what the step takes too long, of what it would take."""
    own = [seconds for _, seconds in ranks]
    return {"slowest": own.index(max(own)), "lost": max(own) * len(own) / sum(own) - 1}


def _monitor_fastest(ranks):
    """The spread between the slowest and the fastest."""
    own = [seconds for _, seconds in ranks]
    return {"slowest": own.index(max(own)), "lost": 1 - min(own) / max(own)}


def _monitor_shortest(ranks):
    """The rank with the least work of its own."""
    own = [seconds for _, seconds in ranks]
    return {**_monitor(ranks), "slowest": own.index(min(own))}


def _draw_monitor(rng):
    """Ranks that wait in a kernel that polls. One may stand twice, not the slowest; the lowest gauge is at a rank that is
    neither the slowest nor the fastest.
    """
    count = rng.randrange(3, 9)
    own = [part / 100 for part in rng.sample(range(20, 60), count)]
    late = rng.randrange(count)
    own[late] = rng.randrange(70, 200) / 100
    gauges = [rng.randrange(93, 100) for _ in own]
    low = rng.choice([place for place in range(count) if place not in (late, own.index(min(own)))])
    gauges[low] = rng.randrange(80, 92)
    ranks = [[gauge, seconds] for gauge, seconds in zip(gauges, own, strict=True)]
    like = [rank for place, rank in enumerate(ranks) if place not in (late, low)]
    ranks[late:late] = rng.sample(like, min(len(like), rng.randrange(2)))
    return (ranks,)


# ---- the lesson's own: one line each --------------------------------------------------------------


def _best_share(intensity, ridge):
    return min(1.0, intensity / ridge)


def _pace(load, compute, workers):
    if workers == 0:
        return 1 / (load + compute)
    return 1 / max(load / workers, compute)


def _pace_drop_compute(load, compute, workers):
    return 1 / (load + compute) if workers == 0 else workers / load


def _draw_pace(rng):
    """In s: no worker, more than enough, or too few."""
    compute, many = rng.randrange(5, 50), rng.randrange(2, 9)
    load = compute * many * rng.uniform(0.55, 0.95)
    kind = rng.random()
    workers = 0 if kind < 0.46 else many + rng.randrange(0, 4) if kind < 0.93 else max(1, many // 2)
    return load / 1000, compute / 1000, workers


def _diagnose(profile):
    parts = {name: share for name, share in profile.items() if name != "gauge"}
    return max(parts, key=parts.get) if max(parts.values()) >= 80 else "in turn"


def _diagnose_with(threshold):
    def diagnose(profile):
        parts = {name: share for name, share in profile.items() if name != "gauge"}
        return max(parts, key=parts.get) if max(parts.values()) >= threshold else "in turn"

    return diagnose


def _diagnose_always(profile):
    return _diagnose_with(0)(profile)


def _diagnose_with_gauge(profile):
    return max(profile, key=profile.get) if max(profile.values()) >= 80 else "in turn"


def _diagnose_least(profile):
    parts = {name: share for name, share in profile.items() if name != "gauge"}
    return min(parts, key=parts.get) if max(parts.values()) >= 80 else "in turn"


def _diagnose_by_gauge(profile):
    parts = {name: share for name, share in profile.items() if name != "gauge"}
    return max(parts, key=parts.get) if profile["gauge"] >= 80 else "in turn"


PARTS = ("input", "calls", "memory", "arithmetic")


def _draw_profile(rng):
    """One part that fills 80 % of the step or more, or two that share it; the gauge is high or low."""
    parts = {part: rng.randrange(1, 30) for part in PARTS}
    first, second = rng.sample(PARTS, 2)
    kind = rng.random()
    if kind < 0.47:
        parts[first], parts[second] = rng.randrange(40, 60), rng.randrange(61, 79)
    else:
        parts[first] = 80 if kind < 0.95 else rng.randrange(81, 99)
    order = [("gauge", rng.randrange(5, 70) if rng.random() < 0.35 else 99.5), *parts.items()]
    rng.shuffle(order)
    return (dict(order),)


CHECKS = [
    Check(
        id="q12.turn-share",
        points=0,
        signature="best_share(intensity, ridge)",
        public=[(1 / 12, 4.6), (341.0, 295.0), (0.5, 20.0), (64.0, 153.0), (200.0, 295.0)],
        generate=lambda rng: (
            rng.choice([rng.uniform(0.05, 0.6), rng.uniform(1.5, 4)]) * (ridge := rng.randrange(4, 400)),
            float(ridge),
        ),
        reference=_best_share,
        wrong={
            "no limit": lambda intensity, ridge: intensity / ridge,
            "upside down": lambda intensity, ridge: min(1.0, ridge / intensity),
            "always the peak": lambda intensity, ridge: 1.0,
        },
    ),
    Check(
        id="q12.turn-pace",
        points=0,
        signature="pace(load, compute, workers)",
        public=[
            (0.03, 0.01, 0),
            (0.03, 0.01, 1),
            (0.03, 0.01, 2),
            (0.03, 0.01, 4),
            (0.005, 0.01, 1),
            (0.005, 0.01, 2),
            (0.012, 0.008, 0),
            (0.07, 0.02, 3),
            (0.9, 0.02, 40),
        ],
        generate=_draw_pace,
        reference=_pace,
        wrong={
            "always in turn": lambda load, compute, workers: 1 / (load / max(workers, 1) + compute),
            "computing forgotten": _pace_drop_compute,
            "seconds": lambda load, compute, workers: 1 / _pace(load, compute, workers),
            "faster of the two": lambda load, compute, workers: (
                1 / (load + compute) if workers == 0 else 1 / min(load / workers, compute)
            ),
            "workers forgotten": lambda load, compute, workers: _pace(load, compute, min(workers, 1)),
            "step shared": lambda load, compute, workers: (
                1 / (load + compute) if workers == 0 else workers / max(load, compute)
            ),
        },
    ),
    Check(
        id="q12.turn-diagnose",
        points=0,
        signature="diagnose(profile)",
        public=[
            ({"gauge": 97, "input": 1, "calls": 2, "memory": 95, "arithmetic": 9},),
            ({"gauge": 99, "input": 60, "calls": 1, "memory": 3, "arithmetic": 40},),
            ({"gauge": 4, "input": 92, "calls": 4, "memory": 1, "arithmetic": 8},),
            ({"calls": 80, "gauge": 50, "input": 3, "memory": 2, "arithmetic": 6},),
            ({"gauge": 40, "input": 48, "calls": 1, "memory": 5, "arithmetic": 50},),
            ({"gauge": 99, "input": 2, "calls": 3, "memory": 11, "arithmetic": 100.5},),
            ({"gauge": 99, "input": 79.9, "calls": 3, "memory": 11, "arithmetic": 21},),
            ({"gauge": 99, "input": 88, "calls": 2, "memory": 4, "arithmetic": 60},),
            ({"gauge": 60, "input": 31, "calls": 20, "memory": 25, "arithmetic": 24},),
        ],
        generate=_draw_profile,
        reference=_diagnose,
        same=EXACT,
        wrong={
            "gauge included": _diagnose_with_gauge,
            "always the largest": _diagnose_always,
            "smallest": _diagnose_least,
            "gauge decides": _diagnose_by_gauge,
            "half": _diagnose_with(50),
            "more than 80": lambda profile: _diagnose_with(80.001)(profile),
        },
    ),
    Check(
        id="q12.queue-time",
        points=3,
        signature="queue_time(issue, runs, gap)",
        public=[
            (7, [50, 50, 50], 1),
            (7, [1, 1, 1, 1], 1),
            (7, [2, 30, 2, 2, 2], 1),
            (6, [5], 2),
            (8, [3, 25, 1, 2, 1, 2, 1, 1, 2], 2),
            (7, [2, 2, 5, 2], 3),
            (7, [2, 20, 3, 25, 1, 2], 1),
            (7.5, [1, 2, 1, 1.5, 2, 1, 1, 40, 1, 2, 1, 12.25, 3], 2.0),
            (7, [2, 200, *8 * [1, 2, 3]], 1),
            (2, [3, 1, 1, 4], 5),
            (7, [2, 20, 1, 1, 1, 1, 40, 8, 2], 0),
        ],
        generate=_draw_queue,
        reference=_queue,
        wrong={
            "sum": lambda issue, runs, gap: sum(runs) + len(runs) * issue,
            "one maximum": _queue_one_maximum,
            "call by call": _queue_call_by_call,
            "gap after waiting": _queue_always_gap,
            "gap before the first": _queue_gap_first,
            "one launch": _queue_all_issued,
            "once full, always full": _queue_once_full,
            "first launch forgotten": _queue_no_first,
            "no gap": lambda issue, runs, gap: _queue(issue, runs, 0),
        },
    ),
    Check(
        id="q12.shortest-run",
        points=2,
        signature="shortest_run(issue, gap, gain)",
        public=[
            (7, 1, 1.05),
            (7, 0, 1.2),
            (5, 1.5, 1.1),
            (2, 1.5, 2.0),
            (10, 2, 1.25),
            (9, 1, 3),
            (3, 2.25, 1.1),
            (1500, 20, 1.25),
            (2, 5, 1.1),
        ],
        generate=_draw_shortest,
        reference=_shortest,
        same=Close(rel=1e-6, abs=1e-6),  # a search ends a little above zero
        wrong={
            "no gap": lambda issue, gap, gain: max(0, issue / gain),
            "no gain at all": lambda issue, gap, gain: max(0, issue - gap),
            "below zero": lambda issue, gap, gain: issue / gain - gap,
            "subtracted": lambda issue, gap, gain: issue * (2 - gain) - gap,
            "gap not divided": lambda issue, gap, gain: max(0, (issue - gap) / gain),
        },
    ),
    Check(
        id="q12.fewest-workers",
        points=3,
        signature="fewest_workers(load, compute, cores)",
        public=[
            (30, 10, None),
            (32, 10, None),
            (130, 10, None),
            (790_001, 1000, None),
            (60_001, 20_000, None),
            (5, 10, None),
            (1599, 2, None),
            (30, 10, 4),
            (30, 10, 3),
            (31, 10, 4),
            (35, 10, 5),
            (35, 10, 16),
            (9, 10, 1),
            (10, 10, 2),
            (40, 10, 2),
            (21, 6, 4),
            (21, 6, 5),
        ],
        generate=_draw_workers,
        reference=_workers,
        same=EXACT,
        wrong={
            "rounded down": lambda load, compute, cores: _workers(load - load % compute or load, compute, cores),
            "rounded down at the end": lambda load, compute, cores: (
                None if _workers(load, compute, cores) is None else load // compute
            ),
            "cores ignored": lambda load, compute, cores: _workers(load, compute, None),
            "as many as cores": _workers_up_to,
            "no core for the step": _workers_all_cores,
        },
    ),
    Check(
        id="q12.monitor",
        points=3,
        signature="monitor(ranks)",
        public=[
            ([[99, 0.40], [98, 0.40], [85, 0.38], [97, 1.00]],),
            ([[20, 0.9], [99, 0.3], [99, 0.35], [99, 0.32], [99, 0.31]],),
            ([[96, 0.5], [95, 0.45], [90, 0.4]],),
            ([[97, 0.6], [91, 0.5], [96, 0.4]],),
            ([[97, 0.31], [95, 0.45], [96, 0.22], [98, 0.52], [90, 0.27], [94, 0.36], [93, 0.41], [97, 0.88]],),
            (
                [
                    [97, 0.5],
                    [95, 0.4],
                    [55, 0.8],
                    *([96, 0.6 + place / 100] for place in range(7)),
                    [98, 0.95],
                    [97, 0.3],
                    [95, 0.4],
                ],
            ),
        ],
        generate=_draw_monitor,
        reference=_monitor,
        wrong={
            "as given": _monitor_given,
            "loss left": _monitor_half,
            "rank left": _monitor_other_half,
            "of the mean": _monitor_of_mean,
            "fastest": _monitor_fastest,
            "least work": _monitor_shortest,
        },
    ),
]
