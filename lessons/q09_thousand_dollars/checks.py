"""Checks of Q9, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import sqrt

from course_lib.teaching.checks.check import Check, Close

YEAR = 8760  # hours

# ---- q09.plan ------------------------------------------------------------------------------------


def _flops(budget, price_per_hour, peak, mfu):
    return budget / price_per_hour * 3600 * peak * mfu


def _split(flops, tokens_per_param, each=6):
    params = sqrt(flops / (each * tokens_per_param))
    return [params, tokens_per_param * params]


def _plan(budget, price_per_hour, peak, mfu, tokens_per_param):
    return _split(_flops(budget, price_per_hour, peak, mfu), tokens_per_param)


def _plan_twenty(budget, price_per_hour, peak, mfu, tokens_per_param):
    return _plan(budget, price_per_hour, peak, mfu, 20)


def _plan_all_to_the_model(budget, price_per_hour, peak, mfu, tokens_per_param):
    """The FLOP divided by 6 and by the ratio, without the root."""
    params = _flops(budget, price_per_hour, peak, mfu) / (6 * tokens_per_param)
    return [params, tokens_per_param * params]


def _draw_plan(rng):
    return (
        rng.randrange(100, 50_000),
        rng.randrange(40, 1500) / 100,
        rng.randrange(60, 2400) * 1e12,
        rng.randrange(15, 60) / 100,
        rng.choice([5, 10, 40, 100, 200]),
    )


# ---- q09.tokens-for-loss ---------------------------------------------------------------------------


def _tokens(params, loss, law):
    """Tokens with which one model reaches the loss; None where no number of them is enough."""
    E, A, B, a, b = law
    left = loss - E - A / params**a
    return (B / left) ** (1 / b) if left > 0 else None


def _all_tokens(sizes, loss, law):
    return [_tokens(params, loss, law) for params in sizes]


def _tokens_each(one):
    return lambda sizes, loss, law: [one(params, loss, *law) for params in sizes]


def _tokens_alpha(params, loss, E, A, B, a, b):
    left = loss - E - A / params**a
    return (B / left) ** (1 / a) if left > 0 else None


def _tokens_no_model(params, loss, E, A, B, a, b):
    return (B / (loss - E)) ** (1 / b)


def _tokens_never_none(params, loss, E, A, B, a, b):
    return (B / abs(loss - E - A / params**a)) ** (1 / b)


def _tokens_zero(params, loss, E, A, B, a, b):
    return _tokens(params, loss, (E, A, B, a, b)) or 0


def _tokens_not_inverted(params, loss, E, A, B, a, b):
    left = loss - E - A / params**a
    return (B / left) ** b if left > 0 else None


def _tokens_exchanged(params, loss, E, A, B, a, b):
    return _tokens(params, loss, (E, B, A, a, b))


LAWS = (
    [1.8172, 482.01, 2085.43, 0.3478, 0.3658],
    [1.69, 406.4, 410.7, 0.34, 0.28],
    [1.2, 90.0, 700.0, 0.25, 0.31],
    [1.8, 600.0, 900.0, 0.35, 0.35],
)


def _draw_tokens(rng):
    """Sizes of which one or two stay above the loss whatever they are given, and two or three do not; in any order, and
    one of them often twice.
    """
    law = list(rng.choice(LAWS))
    E, A, _, a, _ = law
    params = rng.randrange(100, 5000) * 10**6
    left = A / params**a * rng.uniform(0.4, 1.2)
    loss = round(E + A / params**a + left, 4)
    wall = (A / (loss - E)) ** (1 / a)
    sizes = [round(wall * rng.uniform(0.2, 0.8)) for _ in range(rng.randrange(1, 3))]
    sizes += [params] + [round(wall * rng.uniform(2, 30)) for _ in range(rng.randrange(1, 3))]
    sizes += rng.sample(sizes, rng.randrange(2))
    rng.shuffle(sizes)
    return sizes, loss, law


# ---- q09.own-or-rent -------------------------------------------------------------------------------


def _own(price, years, power, price_per_kwh, rents):
    spared = [rent - power / 1000 * price_per_kwh for rent in rents]
    hours = [price / years / each if each > 0 else None for each in spared]
    return [found if found is not None and found <= YEAR else None for found in hours]


def _own_with(drawn=lambda power, price_per_kwh: power / 1000 * price_per_kwh, most=YEAR, per_year=True):
    """The same with other dollars of electricity for an hour, another longest year, or for all years together."""

    def hours(price, years, power, price_per_kwh, rents):
        spared = [rent - drawn(power, price_per_kwh) for rent in rents]
        found = [price / (years if per_year else 1) / each if each > 0 else None for each in spared]
        return [each if each is not None and each <= most else None for each in found]

    return hours


def _own_all_years_in_one(price, years, power, price_per_kwh, rents):
    """Hours a year, where those of all years together are no more than a year has."""
    together = _own_with(per_year=False)(price, years, power, price_per_kwh, rents)
    return [None if each is None else each / years for each in together]


def _own_negative(price, years, power, price_per_kwh, rents):
    spared = [rent - power / 1000 * price_per_kwh for rent in rents]
    hours = [price / years / each if each else 0 for each in spared]
    return [each if each <= YEAR else None for each in hours]


def _own_absolute(price, years, power, price_per_kwh, rents):
    spared = [abs(rent - power / 1000 * price_per_kwh) for rent in rents]
    hours = [price / years / each if each else YEAR + 1 for each in spared]
    return [each if each <= YEAR else None for each in hours]


def _own_every(price, years, power, price_per_kwh, rents):
    spared = [rent - power / 1000 * price_per_kwh for rent in rents]
    return [price / years / each if each else 0 for each in spared]


def _own_at_most_a_year(price, years, power, price_per_kwh, rents):
    hours = _own_with(most=float("inf"))(price, years, power, price_per_kwh, rents)
    return [None if each is None else min(each, YEAR) for each in hours]


def _draw_own(rng):
    """Rents of which one lies below the electricity, one would take more hours than a year has, and two or three pay,
    one of them in a large part of a year; one rent is often asked twice. Now and then one that is the electricity, and one
    that takes all hours of a year: in powers of two, without rounding; a little less rent takes half an hour more. Most
    cards are so cheap that what the rent lies below the electricity would pay them in a year, were it above.
    """
    if rng.random() < 0.25:
        years, spared = rng.choice([1, 2, 4]), rng.choice([0.5, 1, 2, 4])
        rents = [0.25, 0.125, 0.25 + spared, 0.25 + 0.99995 * spared, 0.25 + spared / 2, 0.25 + 4 * spared]
        rng.shuffle(rents)
        return YEAR * years * spared, years, 500, 0.5, rents
    price, years, power = rng.randrange(800, 30_000), rng.choice([2, 3, 4, 5]), rng.choice([72, 300, 450, 700, 1000])
    price_per_kwh = rng.randrange(8, 45) / 100
    low = rng.uniform(0.3, 0.9)
    if rng.random() < 0.8:
        power, price_per_kwh, low = max(power, 300), max(price_per_kwh, 0.2), rng.uniform(0.1, 0.5)
        price = round(power / 1000 * price_per_kwh * (1 - low) * years * rng.uniform(800, 8000))
    drawn = power / 1000 * price_per_kwh
    hours = [rng.uniform(9500, 20_000), rng.uniform(4500, 8500)]
    hours += [rng.uniform(300, 8000 / years) for _ in range(rng.randrange(1, 3))]
    rents = [round(drawn + price / years / each, 6) for each in hours] + [round(drawn * low, 6)]
    rents += rng.sample(rents, rng.randrange(2))
    rng.shuffle(rents)
    return price, years, power, price_per_kwh, rents


# ---- q09.ledger ------------------------------------------------------------------------------------


def _ledger(final_hours, price_per_hour, lost, stored_gb, months, price_per_gb_month, people_hours, wage):
    lines = {
        "gpus": final_hours / (1 - lost) * price_per_hour,
        "storage": stored_gb * months * price_per_gb_month,
        "people": people_hours * wage,
    }
    return lines | {"total": sum(lines.values())}


def _ledger_with(gpus=None, storage=None, total=None):
    """The same with a line, or the lines of the total, in another way."""

    def wrong(final_hours, price_per_hour, lost, stored_gb, months, price_per_gb_month, people_hours, wage):
        lines = {
            "gpus": final_hours * price_per_hour * (gpus or (lambda f: 1 / (1 - f)))(lost),
            "storage": stored_gb * price_per_gb_month * (storage or (lambda m: m))(months),
            "people": people_hours * wage,
        }
        return lines | {"total": sum(lines[name] for name in total or lines)}

    return wrong


def _draw_ledger(rng):
    """Small losses, stores and prices are as frequent as large ones; wages are low, usual or high."""
    return (
        rng.randrange(20, 2000),
        rng.randrange(40, 1500) / 100,
        rng.choice([rng.randrange(2, 10), rng.randrange(10, 60)]) / 100,
        rng.choice([rng.randrange(50, 150), rng.randrange(150, 4000)]),
        rng.randrange(2, 13),
        rng.choice([rng.randrange(5, 13), rng.randrange(13, 60)]) / 1000,
        rng.randrange(5, 200),
        rng.choice([rng.randrange(15, 60), rng.randrange(60, 180), rng.randrange(180, 500)]),
    )


# ---- q09.cheapest ----------------------------------------------------------------------------------


def _lives(sizes, loss, served, law, train=6, serve=2):
    """[parameters, FLOP of training and serving] of every size that reaches the loss."""
    return [
        [params, train * params * tokens + serve * params * served]
        for params, tokens in zip(sizes, _all_tokens(sizes, loss, law), strict=True)
        if tokens
    ]


def _cheapest(sizes, loss, served, law):
    return min(_lives(sizes, loss, served, law), key=lambda life: life[1], default=None)


def _cheapest_to_train(sizes, loss, served, law):
    best = min(_lives(sizes, loss, 0, law), key=lambda life: life[1], default=None)
    return best and [best[0], best[1] + 2 * best[0] * served]


def _cheapest_to_serve(sizes, loss, served, law):
    return min(_lives(sizes, loss, served, law), key=lambda life: life[0], default=None)


def _cheapest_as(train, serve):
    return lambda sizes, loss, served, law: min(
        _lives(sizes, loss, served, law, train, serve), key=lambda life: life[1], default=None
    )


def _cheapest_first(sizes, loss, served, law):
    return next(iter(_lives(sizes, loss, served, law)), None)


def _draw_cheapest(rng):
    """Sizes in any order, some out of reach; so many served tokens that the best to train, the smallest that reaches the
    loss and the best for life are three models. One time in ten nobody reaches the loss. Less than half the time all sizes
    lie on one side: the smallest, with less than 20 tokens a parameter, is the best for life, or the largest (and then
    what is served is 1 % of the FLOP at least), or there is no other. Floats, because numpy's integers cannot hold the FLOP.
    """
    while True:
        law = list(rng.choice(LAWS))
        params = rng.randrange(300, 3000) * 10**6
        tokens = params * rng.randrange(15, 25)
        loss = round(law[0] + law[1] / params ** law[3] + law[2] / tokens ** law[4], 6)
        kind = rng.random()
        if kind < 0.1:
            wall = (law[1] / (loss - law[0])) ** (1 / law[3])
            return [float(round(wall * share)) for share in (0.8, 0.3, 0.5)], loss, float(10 * tokens), law
        shares = (1.6, 2.4, 4, 7) if kind < 0.35 else (0.06, 0.25, 0.34, 0.46) if kind < 0.55 else ()
        shares = shares or (0.1, 0.2, 0.3, 0.45, 0.7, 1, 1.5)
        sizes = [float(round(params * share * rng.uniform(0.95, 1.05))) for share in shares]
        rng.shuffle(sizes)
        if kind < 0.35:
            sizes, served = sizes[: rng.choice([1, 4, 4])], float(round(tokens * rng.uniform(0.1, 4)))
            if _tokens(min(sizes), loss, law) < 19 * min(sizes):
                return sizes, loss, served, law
            continue
        if kind < 0.55:
            served = float(round(tokens * rng.uniform(0.1, 0.4)))
            best = _cheapest(sizes, loss, served, law)
            shows = best and 2 * best[0] * served > 0.01 * best[1]
            if shows and best[0] == max(sizes) and _cheapest(sorted(sizes)[:-1], loss, served, law):
                return sizes, loss, served, law
            continue
        served = float(round(tokens * rng.uniform(1.5, 8)))
        chosen = (_cheapest, _cheapest_to_train, _cheapest_to_serve)
        if len({choose(sizes, loss, served, law)[0] for choose in chosen}) == 3:
            return sizes, loss, served, law


# ---- the lesson's own: one line each -----------------------------------------------------------------


def _model_size(dollars, flop_per_dollar, tokens_per_param):
    return sqrt(dollars * flop_per_dollar / (6 * tokens_per_param))


def _draw_size(rng):
    return rng.randrange(50, 100_000), rng.randrange(5, 60) * 1e16, rng.choice([5, 10, 20, 40, 150])


def _loss_at(params, flops, law):
    E, A, B, a, b = law
    return E + A / params**a + B / (flops / (6 * params)) ** b


def _loss_with(tokens_of):
    def loss(params, flops, law):
        E, A, B, a, b = law
        return E + A / params**a + B / tokens_of(params, flops) ** b

    return loss


def _loss_swapped(params, flops, law):
    E, A, B, a, b = law
    return _loss_at(params, flops, [E, B, A, b, a])


def _draw_loss(rng):
    return rng.randrange(20, 20_000) * 10**6, rng.randrange(1, 500) * 1e19, list(rng.choice(LAWS))


def _lifetime(params, tokens, served):
    return 6 * params * tokens + 2 * params * served


def _draw_lifetime(rng):
    """Floats, because 64-bit integers cannot hold the FLOP."""
    params = rng.randrange(100, 90_000) * 1e6
    return params, params * rng.randrange(10, 200), rng.randrange(1, 5000) * 1e9


CHECKS = [
    Check(
        id="q09.turn-size",
        points=0,
        signature="model_size(dollars, flop_per_dollar, tokens_per_param)",
        public=[(1000, 2e17, 20), (3000, 1.7e17, 20), (400, 9e16, 100)],
        generate=_draw_size,
        reference=_model_size,
        wrong={
            "forward only": lambda dollars, each, ratio: sqrt(dollars * each / (2 * ratio)),
            "no six": lambda dollars, each, ratio: sqrt(dollars * each / ratio),
            "no ratio": lambda dollars, each, ratio: sqrt(dollars * each / 6),
            "no root": lambda dollars, each, ratio: dollars * each / (6 * ratio),
            "tokens": lambda dollars, each, ratio: sqrt(dollars * each * ratio / 6),
        },
    ),
    Check(
        id="q09.turn-valley",
        points=0,
        signature="loss_at(params, flops, law)",
        public=[
            (1e9, 2e20, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            (3e8, 5e19, [1.69, 406.4, 410.7, 0.34, 0.28]),
            (7e9, 4e21, [1.2, 90.0, 700.0, 0.25, 0.31]),
            (1e9, 3e20, [1.8, 600.0, 900.0, 0.35, 0.35]),  # the same power of both
        ],
        generate=_draw_loss,
        reference=_loss_at,
        wrong={
            "all FLOP are tokens": _loss_with(lambda params, flops: flops),
            "no six": _loss_with(lambda params, flops: flops / params),
            "forward only": _loss_with(lambda params, flops: flops / (2 * params)),
            "twenty": _loss_with(lambda params, flops: 20 * params),
            "exchanged": _loss_swapped,
            "no floor": lambda params, flops, law: _loss_at(params, flops, law) - law[0],
        },
    ),
    Check(
        id="q09.turn-lifetime",
        points=0,
        signature="lifetime(params, tokens, served)",
        public=[(1e9, 2e10, 5e10), (7e9, 1.5e11, 2e12), (5e8, 1e11, 1e9)],
        generate=_draw_lifetime,
        reference=_lifetime,
        wrong={
            "training only": lambda params, tokens, served: 6 * params * tokens,
            "six for all": lambda params, tokens, served: 6 * params * (tokens + served),
            "two for all": lambda params, tokens, served: 2 * params * (tokens + served),
            "serving only": lambda params, tokens, served: 2 * params * served,
            "exchanged": lambda params, tokens, served: 2 * params * tokens + 6 * params * served,
        },
    ),
    Check(
        id="q09.plan",
        points=3,
        signature="plan(budget, price_per_hour, peak, mfu, tokens_per_param)",
        public=[
            (1000, 2, 312e12, 0.4, 20),
            (500, 6.88, 989e12, 0.4, 22.5),
            (2500.5, 0.8, 121e12, 0.25, 150),
        ],
        generate=_draw_plan,
        reference=_plan,
        wrong={
            "forward only": lambda *plan: _split(_flops(*plan[:4]), plan[4], each=2),
            "hours as seconds": lambda *plan: _split(_flops(*plan[:4]) / 3600, plan[4]),
            "MFU divides": lambda *plan: _split(_flops(*plan[:3], 1 / plan[3]), plan[4]),
            "no MFU": lambda *plan: _split(_flops(*plan[:3], 1), plan[4]),
            "always twenty": _plan_twenty,
            "no root": _plan_all_to_the_model,
            "exchanged": lambda *plan: _plan(*plan)[::-1],
            "no six": lambda *plan: _split(_flops(*plan[:4]), plan[4], each=1),
        },
    ),
    Check(
        id="q09.tokens-for-loss",
        points=3,
        signature="tokens_for_loss(sizes, loss, law)",
        public=[
            ([1e9, 1e7, 3e9], 2.7, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([2e8, 7e9, 4e8, 7e10, 7e9, 5e9, 2e10], 2.2, [1.69, 406.4, 410.7, 0.34, 0.28]),
            ([3e9, 1e8, 5e8], 2.7, [1.8, 600.0, 900.0, 0.35, 0.35]),  # the same power of both
            ([1e9], 2.7, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([1e7, 5e8, 2e9], 2.6, [1.7, 400.0, 60_000.0, 0.34, 0.5]),  # a square: what is negative is not complex
        ],
        generate=_draw_tokens,
        reference=_all_tokens,
        same=Close(rel=1e-4),
        wrong={
            "the model's exponent": _tokens_each(_tokens_alpha),
            "no model term": _tokens_each(_tokens_no_model),
            "never None": _tokens_each(_tokens_never_none),
            "zero": _tokens_each(_tokens_zero),
            "exponent not inverted": _tokens_each(_tokens_not_inverted),
            "A and B exchanged": _tokens_each(_tokens_exchanged),
        },
    ),
    Check(
        id="q09.own-or-rent",
        points=3,
        signature="own_or_rent(price, years, power, price_per_kwh, rents)",
        public=[
            (1599, 3, 450, 0.3, [0.8, 0.19, 0.1, 0.25, 2.0, 0.8]),
            (8760, 1, 500, 0.5, [0.25, 1.25, 1.24995, 1.0, 4.5]),
            (12_000, 4, 700, 0.15, [0.05, 1.5, 0.3]),
            (600, 3, 700, 0.45, [0.05, 0.9, 0.33]),
            (149.5, 2.5, 250.5, 0.3, [1.3, 0.8, 0.45]),
            (5000, 2, 300, 0.2, [0.9]),
        ],
        generate=_draw_own,
        reference=_own,
        same=Close(rel=2e-5),
        wrong={
            "no electricity": _own_with(drawn=lambda power, price_per_kwh: 0),
            "watts": _own_with(drawn=lambda power, price_per_kwh: power * price_per_kwh),
            "electricity added": _own_with(drawn=lambda power, price_per_kwh: -power / 1000 * price_per_kwh),
            "longer than a year": _own_with(most=float("inf")),
            "at most a year": _own_at_most_a_year,
            "all years": _own_with(per_year=False),
            "all years in one": _own_all_years_in_one,
            "negative": _own_negative,
            "without its sign": _own_absolute,
            "never None": _own_every,
        },
    ),
    Check(
        id="q09.ledger",
        points=3,
        signature="ledger(final_hours, price_per_hour, lost, stored_gb, months, price_per_gb_month, people_hours, wage)",
        public=[
            (100, 6.88, 0.2, 400, 3, 0.023, 10, 100),
            (20, 0.4, 0.4, 50, 2, 0.01, 5, 40),
            (2.5, 0.4, 0.01, 900.5, 2.5, 0.5, 1.25, 40.5),
        ],
        generate=_draw_ledger,
        reference=_ledger,
        same=Close(rel=1e-6, abs=0.02),  # a bill in whole cents is right
        wrong={
            "as given": _ledger_with(lambda f: 1 + f, lambda m: 1, ("gpus", "storage")),
            "lost left": _ledger_with(gpus=lambda f: 1 + f),
            "months left": _ledger_with(storage=lambda m: 1),
            "people left": _ledger_with(total=("gpus", "storage")),
            "lost forgotten": _ledger_with(gpus=lambda f: 1),
            "lost alone": _ledger_with(gpus=lambda f: 1 / f),
            "what is left": _ledger_with(gpus=lambda f: 1 - f),
            "lost repaired only": _ledger_with(storage=lambda m: 1, total=("gpus", "storage")),
            "months repaired only": _ledger_with(lambda f: 1 + f, None, ("gpus", "storage")),
            "total repaired only": _ledger_with(lambda f: 1 + f, lambda m: 1),
        },
    ),
    Check(
        id="q09.cheapest",
        points=4,
        signature="cheapest(sizes, loss, served, law)",
        public=[
            (
                [2e9, 1.3e9, 2.5e8, 1e8, 9e8, 5.2e8, 6.3e8, 7.2e8],
                2.464,
                1e11,
                [1.8172, 482.01, 2085.43, 0.3478, 0.3658],
            ),
            ([1e8, 5e7], 2.464, 1e11, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([1e8, 6.5e8, 3e8, 2e9, 1.3e9], 2.464, 0, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([4e8, 2e8, 9e8, 3e9, 1.5e9, 2e7, 2.5e8], 2.7, 1e10, [1.69, 406.4, 410.7, 0.34, 0.28]),
            ([7e10, 3e10, 1.5e11, 1e10], 1.98, 1e14, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            (
                [5e10, 2.2e10, 1.2e11],
                2.464,
                4e10,
                [1.8172, 482.01, 2085.43, 0.3478, 0.3658],
            ),  # fewer tokens than parameters
            ([1.3e9, 3.3e8, 6.5e8, 2e9], 2.464, 1e13, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),  # a thousand for each
            ([4e8, 3.5e8, 6e8, 2.8e8, 3.2e8, 1e8, 5e8], 2.464, 1e9, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([2.3e9, 5.2e8], 2.464, 1e10, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            (
                [2e9, 4e8, 4e8, 9e8, 6e8],
                2.6,
                1e10,
                [1.8, 600.0, 900.0, 0.35, 0.35],
            ),  # a size twice, the same power of both
            ([7e10, 4.05e11], 1.89333, 1e13, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),  # close to the floor
            (
                [1e7, 5e8, 2e9],
                2.6,
                1e10,
                [1.7, 400.0, 60_000.0, 0.34, 0.5],
            ),  # a square: what is negative is not complex
        ],
        generate=_draw_cheapest,
        reference=_cheapest,
        same=Close(rel=1e-3),
        wrong={
            "cheapest to train": _cheapest_to_train,
            "smallest": _cheapest_to_serve,
            "six for all": _cheapest_as(6, 6),
            "two for all": _cheapest_as(2, 2),
            "first that reaches it": _cheapest_first,
            "training only": lambda sizes, loss, served, law: _cheapest(sizes, loss, 0, law),
        },
    ),
]
