"""Checks of Q21, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from course_lib.teaching.checks.check import Check, Close

YEAR = 8760  # hours

# ---- the lines of the lesson ---------------------------------------------------------------------


def _hours(flops, peak, mfu):
    return flops / (peak * mfu) / 3600


def _kwh(hours, watts, pue):
    return hours * watts / 1000 * pue


def _use(own, rent):
    return own / rent if own <= rent else None


def _draw_use(rng):
    """Cents. In a third of the draws owning never pays, in some both cost the same."""
    kind, rent = rng.random(), rng.randrange(100, 1000) / 100
    if kind < 0.05:
        return rent, rent
    own = rent + rng.randrange(1, 400) / 100 if kind < 0.48 else rent * rng.randrange(5, 45) / 64
    return own, rent


# ---- q21.run-cost --------------------------------------------------------------------------------


def _run_cost(flops, peak, mfu, price, devices):
    hours = flops / (peak * mfu) / 3600
    return [hours * price, hours / devices / 24]


def _run_cost_each(flops, peak, mfu, price, devices):
    """Every device pays for all the hours."""
    dollars, days = _run_cost(flops, peak, mfu, price, devices)
    return [dollars * devices, days]


def _run_cost_shared(flops, peak, mfu, price, devices):
    """The bill of one device."""
    dollars, days = _run_cost(flops, peak, mfu, price, devices)
    return [dollars / devices, days]


def _run_cost_one(flops, peak, mfu, price, devices):
    return _run_cost(flops, peak, mfu, price, 1)


def _run_cost_peak(flops, peak, mfu, price, devices):
    return _run_cost(flops, peak, 1, price, devices)


def _run_cost_hours(flops, peak, mfu, price, devices):
    dollars, days = _run_cost(flops, peak, mfu, price, devices)
    return [dollars, days * 24]


def _run_cost_swapped(flops, peak, mfu, price, devices):
    return _run_cost(flops, peak, mfu, price, devices)[::-1]


def _draw_run(rng):
    return (
        rng.randrange(1, 900) * 10.0 ** rng.randrange(20, 24),
        rng.choice([125e12, 312e12, 362e12, 989e12, 2250e12]),
        rng.randrange(10, 70) / 100,
        rng.randrange(40, 1500) / 100,
        rng.choice([8, 64, 500, 1024, 2048, 16384]),
    )


# ---- q21.carbon ----------------------------------------------------------------------------------


def _carbon(hours, watts, pue, kg_per_kwh, made, years):
    return hours * watts / 1000 * pue * kg_per_kwh + made * hours / (years * YEAR)


def _carbon_no_pue(hours, watts, pue, kg_per_kwh, made, years):
    return _carbon(hours, watts, 1, kg_per_kwh, made, years)


def _carbon_pue_on_all(hours, watts, pue, kg_per_kwh, made, years):
    return pue * _carbon(hours, watts, 1, kg_per_kwh, made, years)


def _carbon_kw(hours, watts, pue, kg_per_kwh, made, years):
    return _carbon(hours, 1000 * watts, pue, kg_per_kwh, made, years)


def _carbon_no_making(hours, watts, pue, kg_per_kwh, made, years):
    return _carbon(hours, watts, pue, kg_per_kwh, 0, years)


def _carbon_whole(hours, watts, pue, kg_per_kwh, made, years):
    """One whole device, however long it worked."""
    return _carbon(hours, watts, pue, kg_per_kwh, 0, years) + made


def _carbon_years(hours, watts, pue, kg_per_kwh, made, years):
    """A life of so many hours."""
    return _carbon(hours, watts, pue, kg_per_kwh, made, years / YEAR)


def _draw_carbon(rng):
    """Grids from clean to dirty; what was made weighs a tenth of the electricity or more."""
    hours, watts, years = (
        rng.randrange(1, 9000) * 10.0 ** rng.randrange(0, 4),
        rng.randrange(200, 1300),
        rng.randrange(2, 9),
    )
    pue, kg = rng.randrange(105, 190) / 100, rng.randrange(10, 900) / 1000
    electric = hours * watts / 1000 * pue * kg
    made = round(electric * rng.randrange(10, 200) / 100 / hours * years * YEAR, 3)
    return hours, watts, pue, kg, made, years


# ---- q21.cost-of-success -------------------------------------------------------------------------


def _success(cost, p, fraction, most):
    """Try k is made when all before it failed."""
    each = p + (1 - p) * fraction
    return cost * each * sum((1 - p) ** tried for tried in range(most))


def _success_endless(cost, p, fraction, most):
    return cost * (1 + (1 - p) / p * fraction)


def _success_over_p(cost, p, fraction, most):
    return cost / p


def _success_to_the_end(cost, p, fraction, most):
    return _success(cost, p, 1, most)


def _success_one(cost, p, fraction, most):
    return _success(cost, p, fraction, 1)


def _success_all(cost, p, fraction, most):
    """All tries are made, whatever happens."""
    return _success(cost, p, fraction, 1) * most


def _success_free_failure(cost, p, fraction, most):
    return _success(cost, p, 0, most)


def _success_always(cost, p, fraction, most):
    """As if the last try could not fail: most − 1 failures at most, then a success."""
    return cost * (1 + fraction * sum((1 - p) ** tried for tried in range(1, most)))


def _draw_success(rng):
    p, fraction = rng.randrange(2, 16) / 20, rng.randrange(1, 18) / 20
    return rng.randrange(1, 900) * 1000, p, fraction, rng.randrange(2, 6)


# ---- q21.starts ----------------------------------------------------------------------------------


def _starts(jobs, devices):
    ends, found, now = [], [], 0
    for arrival, width, hours in jobs:
        now = max(now, arrival)
        while devices - sum(held for end, held in ends if end > now) < width:
            now = min(end for end, held in ends if end > now)
        ends.append((now + hours, width))
        found.append(now)
    return found


def _starts_arrival(jobs, devices):
    return [arrival for arrival, width, hours in jobs]


def _starts_in_turn(jobs, devices):
    """One job at a time."""
    found, now = [], 0
    for arrival, _width, hours in jobs:
        now = max(now, arrival)
        found.append(now)
        now += hours
    return found


def _starts_narrow(jobs, devices):
    """Each job takes one device."""
    return _starts([[arrival, 1, hours] for arrival, width, hours in jobs], devices)


def _starts_overtaking(jobs, devices):
    """A later job may pass one that waits, if it fits beside all that have a place."""
    placed, found = [], []

    def fits(start, width, hours):
        times = [start, *(begin for begin, *_ in placed if start < begin < start + hours)]
        return all(sum(w for begin, end, w in placed if begin <= at < end) + width <= devices for at in times)

    for arrival, width, hours in jobs:
        times = sorted({arrival, *(end for _, end, _ in placed if end > arrival)})
        start = next(at for at in times if fits(at, width, hours))
        placed.append((start, start + hours, width))
        found.append(start)
    return found


def _starts_waits(jobs, devices):
    return [start - arrival for start, (arrival, *_) in zip(_starts(jobs, devices), jobs, strict=True)]


def _starts_ends(jobs, devices):
    return [start + hours for start, (_, _, hours) in zip(_starts(jobs, devices), jobs, strict=True)]


def _starts_late(jobs, devices):
    """What ends at an instant is free only after it: a job waits for the next end."""
    found, ends = [], []
    now = 0
    for arrival, width, hours in jobs:
        now = max(now, arrival)
        while devices - sum(held for end, held in ends if end >= now) < width:
            now = min(end for end, held in ends if end >= now) + 1
        ends.append((now + hours, width))
        found.append(now)
    return found


def _starts_by(end_of):
    """While too few devices are free, the clock goes to `end_of(running, missing)`."""

    def starts(jobs, devices):
        now, running, found = 0, [], []
        for arrival, width, hours in jobs:
            now = max(now, arrival)
            running = [(end, held) for end, held in running if end > now]
            while (missing := width - devices + sum(held for end, held in running)) > 0:
                now = end_of(running, missing)
                running = [(end, held) for end, held in running if end > now]
            running.append((now + hours, width))
            found.append(now)
        return found

    return starts


_starts_last_end = _starts_by(lambda running, missing: max(running)[0])
_starts_as_begun = _starts_by(lambda running, missing: running[0][0])
_starts_enough_alone = _starts_by(
    lambda running, missing: min([end for end, held in running if held >= missing], default=max(running)[0])
)

ROUTES = (
    _starts_arrival,
    _starts_in_turn,
    _starts_narrow,
    _starts_overtaking,
    _starts_late,
    _starts_last_end,
    _starts_as_begun,
    _starts_enough_alone,
)
ONE, SEVERAL = "one device, which every job takes", "several devices"


def _draw_jobs(rng, group):
    """Whole hours, four to seven jobs. On several devices all wrong ways differ: two short jobs free enough for the
    fourth while a wide one between them runs on; some jobs arrive as another ends.
    """
    while True:
        devices = 1 if group == ONE else rng.randrange(4, 17)
        now, jobs = rng.randrange(0, 3), []
        for place in range(rng.randrange(4, 8)):
            width = 1 if group == ONE else rng.randrange(1, (devices + 1) // 2 if place < 3 else devices + 1)
            long = group != ONE and place == 1
            jobs.append([now, width, rng.randrange(6, 15) if long else rng.randrange(1, 10)])
            now += rng.randrange(0, 2 if group != ONE and place < 3 else 6)
        right = _starts(jobs, devices)
        same = [route(jobs, devices) == right for route in ROUTES]
        if group == ONE and not same[0] and not same[4] and right[0] > 0:
            return jobs, devices
        if group == SEVERAL and not any(same):
            return jobs, devices


# ---- q21.mfu-for-budget --------------------------------------------------------------------------


def _mfu(flops, peak, price, dollars):
    needed = flops / peak / 3600 * price / dollars
    return needed if needed <= 1 else None


def _mfu_always(flops, peak, price, dollars):
    return flops / peak / 3600 * price / dollars


def _mfu_clipped(flops, peak, price, dollars):
    return min(1, _mfu_always(flops, peak, price, dollars))


def _mfu_upside_down(flops, peak, price, dollars):
    needed = _mfu_always(flops, peak, price, dollars)
    return 1 / needed if needed <= 1 else None


def _mfu_minutes(flops, peak, price, dollars):
    needed = 60 * _mfu_always(flops, peak, price, dollars)
    return needed if needed <= 60 else None


def _mfu_left(flops, peak, price, dollars):
    """The share that may be lost."""
    needed = _mfu_always(flops, peak, price, dollars)
    return 1 - needed if needed <= 1 else None


def _draw_mfu(rng):
    """Some draws need just the peak, of numbers that no order of the arithmetic rounds; nearly half need more."""
    kind = rng.random()
    if kind < 0.06:
        peak, price, hours = 2.0 ** rng.randrange(45, 50), 14.0625, 2.0 ** rng.randrange(10, 18)
        return peak * 3600 * hours, peak, price, hours * price
    flops = rng.randrange(1, 900) * 1e22
    peak, price = rng.choice([125e12, 312e12, 989e12, 2250e12]), rng.randrange(40, 1500) / 100
    share = rng.randrange(105, 900) / 100 if kind < 0.48 else rng.choice([*range(5, 45), *range(55, 96)]) / 100
    return flops, peak, price, float(round(flops / peak / 3600 * price / share))


CHECKS = [
    Check(
        id="q21.turn-hours",
        points=0,
        signature="device_hours(flops, peak, mfu)",
        public=[(3.14e23, 125e12, 0.224), (3.14e23, 989e12, 0.4), (1e21, 312e12, 1), (6e15, 65e12, 0.15)],
        generate=lambda rng: _draw_run(rng)[:3],
        reference=_hours,
        wrong={
            "at the peak": lambda flops, peak, mfu: flops / peak / 3600,
            "seconds": lambda flops, peak, mfu: flops / (peak * mfu),
            "minutes": lambda flops, peak, mfu: flops / (peak * mfu) / 60,
            "fewer hours": lambda flops, peak, mfu: flops / peak * mfu / 3600,
        },
    ),
    Check(
        id="q21.turn-kwh",
        points=0,
        signature="kilowatt_hours(hours, watts, pue)",
        public=[(3.552e6, 330, 1.1), (1000, 700, 1.5), (24, 400, 1), (0.5, 73.4, 1.27)],
        generate=lambda rng: (rng.randrange(1, 90_000), rng.randrange(50, 1300), rng.randrange(105, 200) / 100),
        reference=_kwh,
        wrong={
            "watt-hours": lambda hours, watts, pue: hours * watts * pue,
            "without the building": lambda hours, watts, pue: hours * watts / 1000,
            "divided": lambda hours, watts, pue: hours * watts / 1000 / pue,
            "joules": lambda hours, watts, pue: hours * watts * pue * 3600,
        },
    ),
    Check(
        id="q21.turn-use",
        points=0,
        signature="use_needed(own, rent)",
        public=[(1.25, 2), (1.2575, 6.88), (2, 2), (3, 2), (0.5, 4), (2.26, 2.25)],
        generate=_draw_use,
        reference=_use,
        wrong={
            "above one": lambda own, rent: own / rent,
            "upside down": lambda own, rent: rent / own if own <= rent else None,
            "what is saved": lambda own, rent: 1 - own / rent if own <= rent else None,
            "always": lambda own, rent: min(own / rent, 1),
        },
    ),
    Check(
        id="q21.run-cost",
        points=2,
        signature="run_cost(flops, peak, mfu, price, devices)",
        public=[
            (3.14e23, 125e12, 0.224, 1.5, 1000),
            (3.79e25, 989e12, 0.4, 2, 16384),
            (1e21, 312e12, 0.5, 2.745, 1),
            (6e17, 65e12, 1, 0.526, 24),
        ],
        generate=_draw_run,
        reference=_run_cost,
        wrong={
            "each device pays": _run_cost_each,
            "one device's bill": _run_cost_shared,
            "days of one": _run_cost_one,
            "at the peak": _run_cost_peak,
            "hours": _run_cost_hours,
            "swapped": _run_cost_swapped,
        },
    ),
    Check(
        id="q21.carbon",
        points=2,
        signature="carbon(hours, watts, pue, kg_per_kwh, made, years)",
        public=[
            (3.552e6, 330, 1.1, 0.429, 150, 4),
            (1000, 700, 1.2, 0.02, 300, 5),
            (35_040, 400, 1.5, 0.057, 1500, 4),
            (8, 1000, 1, 0.8, 200, 3),
            (5000, 700, 1.3, 0.4, 0, 6),
            (0.5, 443.47, 1.06, 0.212, 150.3, 2.5),
        ],
        generate=_draw_carbon,
        reference=_carbon,
        same=Close(rel=1e-5),
        wrong={
            "without the building": _carbon_no_pue,
            "building on the making": _carbon_pue_on_all,
            "W as kW": _carbon_kw,
            "without the making": _carbon_no_making,
            "a whole device": _carbon_whole,
            "a life of hours": _carbon_years,
        },
    ),
    Check(
        id="q21.cost-of-success",
        points=3,
        signature="cost_of_success(cost, p, fraction, most)",
        public=[
            (1e6, 0.25, 0.3, 3),
            (1e6, 0.5, 1, 2),
            (2e6, 1, 0.5, 4),
            (1e6, 0.25, 0.3, 1),
            (0.83, 0.125, 0.055, 5),
            (3e5, 0.7, 0.8, 2),
        ],
        generate=_draw_success,
        reference=_success,
        same=Close(rel=1e-5),
        wrong={
            "never give up": _success_endless,
            "one over p": _success_over_p,
            "failures to the end": _success_to_the_end,
            "one try": _success_one,
            "all tries": _success_all,
            "failures are free": _success_free_failure,
            "the last succeeds": _success_always,
        },
    ),
    Check(
        id="q21.starts",
        points=3,
        signature="starts(jobs, devices)",
        public={
            ONE: [
                ([[2, 1, 5], [3, 1, 2], [4, 1, 1], [20, 1, 3]], 1),
                ([[1, 1, 4], [5, 1, 2], [6, 1, 3], [6, 1, 1]], 1),
                ([[0, 1, 3], [0, 1, 2], [7, 1, 1]], 1),
            ],
            SEVERAL: [
                ([[0, 4, 6], [1, 6, 3], [2, 2, 2], [6, 8, 1]], 8),
                ([[0, 3, 4], [0, 5, 9], [4, 3, 2], [5, 4, 1], [6, 1, 1]], 8),
                ([[3, 2, 5]], 4),
                ([[0, 3, 2], [0, 2, 4], [10, 4, 1]], 5),
                ([[0, 4, 2], [2, 4, 3], [2, 1, 1], [9, 2, 1]], 4),
                ([[0, 2, 6], [0, 3, 3], [0, 3, 9], [1, 3, 1]], 8),
                ([[0, 1, 6], [0, 3, 8], [1, 1, 6], [2, 5, 7], [2, 1, 2]], 8),
                ([[0, 3, 4], [0, 3, 4], [1, 4, 2], [1, 2, 3]], 8),
                ([[0, 1, 3], [0, 1, 1], [0, 1, 5], [0, 1, 2], [0, 1, 4], [0, 5, 2]], 5),
            ],
        },
        generate=_draw_jobs,
        groups={ONE: 1, SEVERAL: 2},
        reference=_starts,
        wrong={
            "at arrival": _starts_arrival,
            "one at a time": _starts_in_turn,
            "one device each": _starts_narrow,
            "overtaking": _starts_overtaking,
            "waits": _starts_waits,
            "ends": _starts_ends,
            "the last end": _starts_last_end,
            "as they began": _starts_as_begun,
            "an hour late": _starts_late,
        },
    ),
    Check(
        id="q21.mfu-for-budget",
        points=2,
        signature="mfu_for_budget(flops, peak, price, dollars)",
        public=[
            (3.14e23, 125e12, 1.5, 4.67e6),
            (3.14e23, 125e12, 1.5, 1.045e6),
            (2.0**46 * 3600 * 1024, 2.0**46, 14.0625, 14_400.0),
            (3.8e25, 989e12, 2, 53.4e6),
            (1e21, 312e12, 2.745, 2500),
            (3e21, 65e12, 0.526, 9000),
            (6e17, 65e12, 0.526, 2.5),
        ],
        generate=_draw_mfu,
        reference=_mfu,
        same=Close(rel=1e-5),
        wrong={
            "above one": _mfu_always,
            "clipped": _mfu_clipped,
            "upside down": _mfu_upside_down,
            "minutes": _mfu_minutes,
            "what may be lost": _mfu_left,
        },
    ),
]
