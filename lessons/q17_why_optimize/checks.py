"""Checks of Q17, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from itertools import pairwise
from math import ceil

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lines of the lesson ---------------------------------------------------------------------


def _per_dollar(rate, price):
    return rate * 3600 / price


def _saved(share, speedup):
    return share * (1 - 1 / speedup)


def _questions(sort, scan, search):
    return sort / (scan - search) if scan > search else None


def _always_pays(sort, scan, search):
    """A negative number, or none, where it never does."""
    return sort / (scan - search) if scan != search else 0.0


def _whole_questions(sort, scan, search):
    return ceil(sort / (scan - search)) if scan > search else None


def _draw_questions(rng):
    """ms; in two draws of five a search takes as long as a scan, or longer."""
    scan = rng.randrange(8, 400) / 8
    search = (
        scan * rng.choice([1, 1.03125, 1.25, 3])
        if rng.random() < 0.42
        else scan * rng.choice([0.03125, 0.125, 0.5, 0.96875])
    )
    return rng.randrange(500, 9000) / 8, scan, search


# ---- q17.annual-saving ---------------------------------------------------------------------------


def _annual(requests, ms, price):
    return requests * ms / 1000 * 365 / 3600 * price


def _draw_annual(rng):
    sign = -1 if rng.random() < 0.15 else 1
    return rng.randrange(1, 900) * 100_000, sign * rng.randrange(1, 1000) / 4, rng.randrange(3, 60) / 4


# ---- q17.expected-roi ----------------------------------------------------------------------------


def _roi(spend, share, speedup, cost, success, months):
    return success * share * (1 - 1 / speedup) * spend * months / cost - 1


def _roi_as_left(spend, share, speedup, cost, success, months):
    return success * share / speedup * spend * months / cost - 1


def _roi_year(spend, share, speedup, cost, success, months):
    return _roi(spend, share, speedup, cost, success, 12)


def _roi_free_failure(spend, share, speedup, cost, success, months):
    return success * (_roi(spend, share, speedup, cost, 1, months))


def _roi_clipped(spend, share, speedup, cost, success, months):
    return max(_roi(spend, share, speedup, cost, success, months), -1)


def _roi_all(spend, share, speedup, cost, success, months):
    return _roi(spend, 1, speedup, cost, success, months)


def _roi_faster(spend, share, speedup, cost, success, months):
    return success * share * (speedup - 1) * spend * months / cost - 1


def _roi_sure(spend, share, speedup, cost, success, months):
    return _roi(spend, share, speedup, cost, 1, months)


def _roi_benefit(spend, share, speedup, cost, success, months):
    return _roi(spend, share, speedup, cost, success, months) + 1


def _draw_roi(rng):
    """More than half of the draws make the part slower; the life is never a year."""
    speedup = rng.choice([0.2, 0.25, 0.5, 0.8]) if rng.random() < 0.6 else rng.choice([1.25, 1.5, 3, 4, 5, 10, 20])
    months = rng.choice([1, 3, 5, 6, 9, 18, 30, 0.5, 2.75, 4.5, 7.5])
    share = rng.randrange(2, 19) / 20
    success = rng.randrange(1, 9) / 10
    return rng.randrange(2, 90) * 1000, share, speedup, rng.randrange(2, 60) * 1000, success, months


# ---- q17.rank-projects ---------------------------------------------------------------------------


def _ordered(projects, rate):
    return [project[0] for project in sorted(projects, key=lambda project: (-rate(*project[1:]), project[0]))]


def _rank(projects):
    return _ordered(projects, _rate)


def _rate(share, speedup, days, success):
    return success * share * (1 - 1 / speedup) / days


def _rank_share(projects):
    return _ordered(projects, lambda share, speedup, days, success: share)


def _rank_speedup(projects):
    return _ordered(projects, lambda share, speedup, days, success: speedup)


def _rank_sure(projects):
    return _ordered(projects, lambda share, speedup, days, success: share * (1 - 1 / speedup) / days)


def _rank_no_days(projects):
    return _ordered(projects, lambda share, speedup, days, success: success * share * (1 - 1 / speedup))


def _rank_index(projects):
    """(speed-up of the whole − 1) / days."""
    return _ordered(
        projects,
        lambda share, speedup, days, success: success * (1 / (1 - share + share / speedup) - 1) / days,
    )


def _rank_faster(projects):
    return _ordered(projects, lambda share, speedup, days, success: success * share * (speedup - 1) / days)


def _rank_clipped(projects):
    return _ordered(projects, lambda share, speedup, days, success: max(0, success * share * (1 - 1 / speedup) / days))


def _rank_upwards(projects):
    return _rank(projects)[::-1]


def _rank_earlier(projects):
    """Of two that save equally much, the one that stands first in the list."""
    return [project[0] for project in sorted(projects, key=lambda project: -_rate(*project[1:]))]


def _rank_later(projects):
    """Of two that save equally much, the one that stands last in the list."""
    return _rank_earlier(projects[::-1])


ROUTES = (
    _rank,
    _rank_share,
    _rank_speedup,
    _rank_sure,
    _rank_no_days,
    _rank_index,
    _rank_faster,
    _rank_clipped,
    _rank_upwards,
    _rank_earlier,
    _rank_later,
)


def _draw_projects(rng):
    """Four to six projects, two of them slower, and two more that are like others but for the name. Every wrong order
    differs. Only those alike save equally much: others might tie in one order of the arithmetic and not in another.
    """
    while True:
        names = rng.sample(["cache", "attention", "loader", "norms", "copies", "logging"], rng.randrange(4, 7))
        speedups = [rng.choice([0.5, 0.8]) for _ in range(2)]
        speedups += [rng.choice([0.8, 1.1, 1.25, 1.5, 2, 3, 5, 10]) for _ in names[2:]]
        rng.shuffle(speedups)
        projects = [
            [name, rng.randrange(2, 19) / 20, speedup, rng.choice([0.5, 1, 2, 3, 5, 8, 13]), rng.randrange(2, 11) / 10]
            for name, speedup in zip(names, speedups, strict=True)
        ]
        kinds = [project[1:] for project in projects]
        projects += [["a copy", *projects[0][1:]], ["twin", *projects[1][1:]]]
        rng.shuffle(projects)
        right = _rank(projects)
        rates = sorted(success * share * (1 - 1 / speedup) / days for share, speedup, days, success in kinds)
        near = any(after - before < 1e-4 for before, after in pairwise(rates))
        if not near and all(route(projects) != right for route in ROUTES[1:]):
            return (projects,)


# ---- q17.speedup-needed --------------------------------------------------------------------------


def _needed(share, target):
    left = 1 / target - (1 - share)
    return share / left if left > 0 else None


def _needed_always(share, target):
    """Negative where the goal is out of reach."""
    left = 1 / target - (1 - share)
    return share / left if left else 1e12


def _needed_linear(share, target):
    return 1 + (target - 1) / share


def _needed_over(share, target):
    return target / share


def _needed_saved(share, target):
    """As if the whole had to save 1 − 1/target of the part."""
    return target


def _draw_needed(rng):
    """Shares in sixteenths; half of the targets out of reach, some of them exactly at the limit, some slower."""
    kind = rng.random()
    share = rng.choice([0.5, 0.75, 0.875, 0.9375] if kind < 0.2 else [0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875])
    limit = 1 / (1 - share)
    if kind < 0.2:
        return share, limit
    if kind < 0.5:
        return share, limit * rng.choice([1.03125, 1.125, 1.5, 3])
    if kind < 0.6:
        return share, rng.choice([0.25, 0.5, 0.75])
    return share, 1 + (limit - 1) * rng.choice([0.125, 0.25, 0.5, 0.75, 0.875])


CHECKS = [
    Check(
        id="q17.turn-dollar",
        points=0,
        signature="per_dollar(rate, price)",
        public=[(3.35e12, 6.88), (125e12, 3.06), (900e9, 1.0), (320e9, 0.526)],
        generate=lambda rng: (rng.randrange(300, 9000) * 1e9, rng.randrange(20, 1500) / 100),
        reference=_per_dollar,
        wrong={
            "a second": lambda rate, price: rate / price,
            "upside down": lambda rate, price: price / (rate * 3600),
            "an hour": lambda rate, price: rate * 3600,
            "minutes": lambda rate, price: rate * 60 / price,
            "times the price": lambda rate, price: rate * 3600 * price,
        },
    ),
    Check(
        id="q17.turn-saved",
        points=0,
        signature="saved(share, speedup)",
        public=[(0.24, 3), (0.5, 4), (1, 1.5), (0.9, 10), (0.3, 0.75), (0.4, 1), (0.9, 0.25)],
        generate=lambda rng: (rng.randrange(1, 20) / 20, rng.choice([0.6, 0.8, 1.25, 1.5, 3, 4, 7, 10, 50])),
        reference=_saved,
        same=Close(rel=1e-5, abs=1e-7),
        wrong={
            "what is left of the share": lambda share, speedup: share / speedup,
            "what is left of the bill": lambda share, speedup: 1 - share * (1 - 1 / speedup),
            "all of the bill": lambda share, speedup: 1 - 1 / speedup,
            "the share": lambda share, speedup: share,
            "speed-up less one": lambda share, speedup: share * (speedup - 1),
            "speed-up of the whole": lambda share, speedup: 1 / (1 - share * (1 - 1 / speedup)),
        },
    ),
    Check(
        id="q17.turn-questions",
        points=0,
        signature="questions(sort, scan, search)",
        public=[
            (40, 2, 0.25),
            (147, 0.5, 0.125),
            (100, 1, 1),
            (50, 1, 2),
            (9, 3, 1.5),
            (64, 32, 16),
            (96, 32, 31),
            (96, 31, 32),
            (4, 16, 4),
        ],
        generate=_draw_questions,
        reference=_questions,
        same=Close(rel=1e-5),
        wrong={
            "without the search": lambda sort, scan, search: sort / scan if scan > search else None,
            "one search": lambda sort, scan, search: sort / search,
            "upside down": lambda sort, scan, search: (scan - search) / sort if scan > search else None,
            "both added": lambda sort, scan, search: sort / (scan + search) if scan > search else None,
            "always": _always_pays,
            "rounded": _whole_questions,
        },
    ),
    Check(
        id="q17.annual-saving",
        points=1,
        signature="annual_saving(requests, ms, price)",
        public=[
            (1_000_000, 10, 2),
            (50_000_000, 4, 3),
            (250_000, -8, 6.88),
            (3_000_000, 0.5, 14.24),
            (1_234, 0.7, 0.5),
        ],
        generate=_draw_annual,
        reference=_annual,
        wrong={
            "a day": lambda requests, ms, price: requests * ms / 1000 / 3600 * price,
            "seconds": lambda requests, ms, price: requests * ms * 365 / 3600 * price,
            "minutes": lambda requests, ms, price: requests * ms / 1000 * 365 / 60 * price,
            "hours": lambda requests, ms, price: requests * ms / 1000 * 365 / 3600,
            "price of a second": lambda requests, ms, price: requests * ms / 1000 * 365 * price,
        },
    ),
    Check(
        id="q17.expected-roi",
        points=3,
        signature="expected_roi(spend, share, speedup, cost, success, months)",
        public=[
            (40_000, 0.24, 3, 10_000, 0.7, 6),
            (8_000, 0.5, 4, 5_000, 0.9, 18),
            (40_000, 0.24, 0.8, 10_000, 0.7, 6),
            (2_000, 0.1, 1.5, 20_000, 0.25, 3),
            (30_000, 0.6, 0.5, 3_000, 0.5, 36),
            (90.5, 0.37, 1.5, 40.5, 0.35, 5),
            (12_000, 0.3, 2, 9_000, 0.6, 4.5),
            (20_000, 0.8, 0.25, 15_000, 0.6, 9),
            (12_000, 0.3, 20, 900, 0.6, 0.5),
        ],
        generate=_draw_roi,
        reference=_roi,
        same=Close(rel=1e-5, abs=1e-5),
        wrong={
            "what is left": _roi_as_left,
            "a year": _roi_year,
            "failure is free": _roi_free_failure,
            "never below −1": _roi_clipped,
            "all of the bill": _roi_all,
            "certain": _roi_sure,
            "speed-up less one": _roi_faster,
            "without the cost": _roi_benefit,
        },
    ),
    Check(
        id="q17.rank-projects",
        points=3,
        signature="rank_projects(projects)",
        public=[
            ([["attention", 0.5, 2, 2, 0.9], ["norms", 0.1, 10, 5, 0.9], ["loader", 0.3, 3, 1, 0.9]],),
            ([["big", 0.5, 1.1, 1, 1], ["small", 0.3, 3, 1, 1]],),
            ([["sure", 0.3, 2, 2, 1], ["risky", 0.4, 2, 2, 0.5]],),
            ([["long", 0.5, 2, 5, 1], ["short", 0.3, 2, 1, 1]],),
            ([["zeta", 0.2, 2, 1, 0.5], ["alpha", 0.2, 2, 1, 0.5], ["slower", 0.9, 0.8, 1, 1]],),
            ([["fuse", 0.4, 2, 1, 0.5], ["slower", 0.9, 0.8, 1, 1], ["pin", 0.4, 2, 1, 0.5]],),
            ([["most of it", 0.9, 10, 10, 1], ["quick", 0.1, 10, 1, 1]],),
            ([["a bad idea", 0.8, 0.8, 1, 1], ["less bad", 0.2, 0.8, 1, 1], ["good", 0.1, 2, 1, 1]],),
            ([["only", 0.4, 2, 3, 0.8]],),
            (
                [
                    ["worst", 0.9, 0.5, 1, 1],
                    ["bad", 0.8, 0.5, 1, 1],
                    ["tidy", 0.05, 1.25, 13, 0.48],
                    ["wrap", 0.05, 1.25, 13, 0.5],
                ],
            ),
            (
                [
                    ["a flag", 0.2, 2, 0.5, 1],
                    ["a day", 0.3, 2, 1, 1],
                    ["longer", 0.5, 2, 2.5, 1],
                    ["two days", 0.45, 2, 2, 1],
                ],
            ),
            ([["sure", 0.2, 0.5, 1, 1], ["risky", 0.4, 0.5, 1, 0.25]],),
            ([["at once", 0.2, 0.5, 1, 1], ["slow work", 0.3, 0.5, 10, 1]],),
            (
                [
                    ["attention", 0.8, 10, 0.5, 1],
                    ["norms", 0.9, 10, 0.5, 1],
                    ["bins", 0.52, 10, 1, 1],
                    ["cache", 0.5, 20, 1, 1],
                    ["a rewrite", 0.9, 0.5, 0.5, 1],
                    ["less of it", 0.7, 0.5, 0.5, 1],
                    ["small and slow", 0.4, 0.25, 0.5, 1],
                    ["brief", 0.2, 2, 5, 1],
                    ["long", 0.5, 3, 20, 1],
                ],
            ),
            ([["copy", 0.4, 2, 1, 0.5], ["cache", 0.4, 2, 1, 0.5], ["small", 0.2, 5, 1, 0.5]],),
            # Three save equally much and three nothing, by any formula: of one share and speed-up, or as fast as before.
            # So do two pairs of other speed-ups: 0.75 · 1/2 is 0.5 · 3/4, without rounding.
            (
                [
                    ["wide", 0.75, 2, 1, 0.5],
                    ["fast", 0.5, 4, 1, 1],
                    ["xtra", 0.5, 4, 1, 0.5],
                    ["large", 0.75, 2, 1, 1],
                    ["quick", 0.5, 2, 0.5, 0.25],
                    ["half", 0.5, 2, 2, 1],
                    ["bold", 0.5, 2, 1, 0.5],
                    ["same", 0.25, 1, 0.5, 0.25],
                    ["idle", 0.5, 1, 1, 0.5],
                    ["no gain", 0.75, 1, 4, 1],
                ],
            ),
        ],
        generate=_draw_projects,
        reference=_rank,
        same=EXACT,
        wrong={
            "largest share": _rank_share,
            "largest speed-up": _rank_speedup,
            "certain": _rank_sure,
            "without the days": _rank_no_days,
            "the planning sheet": _rank_index,
            "speed-up less one": _rank_faster,
            "never below 0": _rank_clipped,
            "least first": _rank_upwards,
            "equal: first in the list": _rank_earlier,
            "equal: last in the list": _rank_later,
        },
    ),
    Check(
        id="q17.speedup-needed",
        points=2,
        signature="speedup_needed(share, target)",
        public=[
            (0.5, 1.5),
            (0.3, 1.5),
            (0.75, 2),
            (1, 4),
            (0.25, 0.5),
            (0.5, 0.75),
            (0.4, 1),
            (0.24, 1.19),
            (0.24, 1.3125),
            (0.5, 2),  # at the limit; last, so that who divides by nothing hears of goals beyond it
        ],
        generate=_draw_needed,
        reference=_needed,
        same=Close(rel=1e-4),
        wrong={
            "never none": _needed_always,
            "in proportion": _needed_linear,
            "target over share": _needed_over,
            "the target": _needed_saved,
        },
    ),
]
