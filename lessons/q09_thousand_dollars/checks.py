"""Checks of Q9, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import sqrt

from course_lib.teaching.checks.check import Check

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
    E, A, B, a, b = law
    left = loss - E - A / params**a
    return (B / left) ** (1 / b) if left > 0 else None


def _tokens_with(change):
    """The same, with something else done to (params, loss, law)."""
    return lambda params, loss, law: _tokens(*change(params, loss, law))


def _tokens_alpha(params, loss, law):
    E, A, B, a, _ = law
    left = loss - E - A / params**a
    return (B / left) ** (1 / a) if left > 0 else None


def _tokens_no_model(params, loss, law):
    E, _, B, _, b = law
    return (B / (loss - E)) ** (1 / b) if loss > E else None


def _tokens_never_none(params, loss, law):
    E, A, B, a, b = law
    return (B / abs(loss - E - A / params**a)) ** (1 / b)


def _tokens_product(params, loss, law):
    """b in place of 1/b."""
    E, A, B, a, b = law
    left = loss - E - A / params**a
    return (B / left) ** b if left > 0 else None


def _tokens_floor_only(params, loss, law):
    """None only where the loss lies below E itself."""
    return None if loss <= law[0] else _tokens_never_none(params, loss, law)


LAWS = ([1.8172, 482.01, 2085.43, 0.3478, 0.3658], [1.69, 406.4, 410.7, 0.34, 0.28], [1.2, 90.0, 700.0, 0.25, 0.31])


def _draw_tokens(rng):
    """A loss that the model can reach, or one below what it reaches with endless data, and above E, or below E."""
    law = list(rng.choice(LAWS))
    params = rng.randrange(20, 9000) * 10**6
    model = law[1] / params ** law[3]
    share = rng.choice([rng.uniform(0.3, 2.0), rng.uniform(0.3, 2.0), -rng.uniform(0.2, 0.8), -1.3])
    loss = law[0] + (model * (1 + share) if share > -1 else -0.1)
    return params, round(loss, 6), law


# ---- q09.own-or-rent -------------------------------------------------------------------------------


def _own(price, years, power, price_per_kwh, rent):
    spared = rent - power / 1000 * price_per_kwh
    if spared <= 0:
        return None
    hours = price / years / spared
    return hours if hours <= YEAR else None


def _own_without(power_of, year=YEAR, per_year=True):
    """The same with another power, another longest year, or for all years together."""

    def hours(price, years, power, price_per_kwh, rent):
        spared = rent - power_of(power) * price_per_kwh
        if spared <= 0:
            return None
        found = price / (years if per_year else 1) / spared
        return found if found <= year else None

    return hours


def _own_energy_added(price, years, power, price_per_kwh, rent):
    hours = price / years / (rent + power / 1000 * price_per_kwh)
    return hours if hours <= YEAR else None


def _own_negative(price, years, power, price_per_kwh, rent):
    spared = rent - power / 1000 * price_per_kwh
    hours = price / years / spared
    return hours if hours <= YEAR else None


def _draw_own(rng):
    """A card that pays at some hours a year, one that would take more than a year has, or rent below its electricity."""
    price, years, power = rng.randrange(800, 30_000), rng.choice([2, 3, 4, 5]), rng.choice([72, 300, 450, 700, 1000])
    price_per_kwh = rng.randrange(8, 45) / 100
    drawn = power / 1000 * price_per_kwh
    kind = rng.choice(["pays", "pays", "pays", "too long", "dear"])
    if kind == "dear":
        return price, years, power, price_per_kwh, round(drawn * rng.uniform(0.3, 0.9), 6)
    hours = rng.uniform(500, 8000) if kind == "pays" else rng.uniform(9500, 20_000)
    return price, years, power, price_per_kwh, round(drawn + price / years / hours, 6)


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
    return (
        rng.randrange(20, 2000),
        rng.randrange(40, 1500) / 100,
        rng.randrange(8, 45) / 100,
        rng.randrange(50, 4000),
        rng.randrange(2, 13),
        rng.randrange(10, 50) / 1000,
        rng.randrange(5, 200),
        rng.randrange(40, 200),
    )


# ---- q09.cheapest ----------------------------------------------------------------------------------


def _lives(sizes, loss, served, law, train=6, serve=2):
    """[parameters, FLOP of training and serving] of every size that reaches the loss."""
    trained = [(params, _tokens(params, loss, law)) for params in sizes]
    return [[params, train * params * tokens + serve * params * served] for params, tokens in trained if tokens]


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
    loss and the best for life are three models. One time in eight nobody reaches the loss.
    """
    law = list(LAWS[0])
    while True:
        params = rng.randrange(300, 3000) * 10**6
        tokens = params * rng.randrange(15, 25)
        loss = round(law[0] + law[1] / params ** law[3] + law[2] / tokens ** law[4], 6)
        sizes = [round(params * share * rng.uniform(0.95, 1.05)) for share in (0.1, 0.2, 0.3, 0.45, 0.7, 1, 1.5)]
        rng.shuffle(sizes)
        served = round(tokens * rng.uniform(1.5, 8))
        if rng.random() < 0.125:
            return [size for size in sizes if size < 0.13 * params], loss, served, law
        found = {
            choose(sizes, loss, served, law)[0]
            for choose in (_cheapest, _cheapest_to_train, _cheapest_to_serve, _cheapest_first)
        }
        if len(found) == 4:
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
    params = rng.randrange(100, 90_000) * 10**6
    return params, params * rng.randrange(10, 200), rng.randrange(1, 5000) * 10**9


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
            {"budget": 500, "price_per_hour": 6.88, "peak": 989e12, "mfu": 0.4, "tokens_per_param": 20},
            (2500, 0.8, 121e12, 0.25, 150),
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
        signature="tokens_for_loss(params, loss, law)",
        public=[
            (1e9, 2.7, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            (1e8, 2.5, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            (3e9, 2.2, [1.69, 406.4, 410.7, 0.34, 0.28]),
            (1e9, 1.5, [1.69, 406.4, 410.7, 0.34, 0.28]),
        ],
        generate=_draw_tokens,
        reference=_tokens,
        wrong={
            "the model's exponent": _tokens_alpha,
            "no model term": _tokens_no_model,
            "never None": _tokens_never_none,
            "None below E only": _tokens_floor_only,
            "exponent not inverted": _tokens_product,
            "A and B exchanged": _tokens_with(lambda n, loss, law: (n, loss, [law[0], law[2], law[1], *law[3:]])),
        },
    ),
    Check(
        id="q09.own-or-rent",
        points=3,
        signature="own_or_rent(price, years, power, price_per_kwh, rent)",
        public=[
            (1599, 3, 450, 0.3, 0.8),
            (2000, 4, 300, 0.2, 0.05),
            (30_000, 4, 700, 0.15, 0.9),
            (6000, 3, 72, 0.4, 0.3),
        ],
        generate=_draw_own,
        reference=_own,
        wrong={
            "no electricity": _own_without(lambda power: 0),
            "watts": _own_without(lambda power: power),
            "electricity added": _own_energy_added,
            "longer than a year": _own_without(lambda power: power / 1000, year=float("inf")),
            "all years": _own_without(lambda power: power / 1000, per_year=False),
            "negative": _own_negative,
            "a longer limit": _own_without(lambda power: power / 1000, year=24 * 365 * 3),
        },
    ),
    Check(
        id="q09.ledger",
        points=3,
        signature="ledger(final_hours, price_per_hour, lost, stored_gb, months, price_per_gb_month, people_hours, wage)",
        public=[
            (100, 6.88, 0.2, 400, 3, 0.023, 10, 100),
            (60, 2.0, 0.4, 150, 6, 0.03, 25, 80),
        ],
        generate=_draw_ledger,
        reference=_ledger,
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
            ([2e9, 1.3e9, 2.5e8, 6.5e8, 4e8, 1e8], 2.464, 1e11, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([1e8, 5e7], 2.464, 1e11, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
            ([2e9, 1.3e9, 2.5e8, 6.5e8, 4e8, 1e8], 2.464, 0, [1.8172, 482.01, 2085.43, 0.3478, 0.3658]),
        ],
        generate=_draw_cheapest,
        reference=_cheapest,
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
