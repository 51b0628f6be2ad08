"""Checks of case 2, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are
drawn, the reference, and the wrong answers that people give.
"""

from math import exp, log

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lines of the lesson ---------------------------------------------------------------------


def _saved(rows, hidden, layers, step, bandwidth):
    return 4 * rows * hidden * layers / bandwidth / step


def _draw_saved(rng):
    return (
        rng.randrange(1, 300),
        rng.choice([3072, 8960, 14_336, 18_432]),
        rng.choice([16, 24, 32, 60]),
        rng.randrange(2, 40) / 1000,
        rng.choice([9e11, 2e12, 3.35e12, 8e12]),
    )


def _winner(scores):
    return scores.index(max(scores))


def _race(logits, temperature, noise):
    return _winner([z / temperature - log(e) for z, e in zip(logits, noise, strict=True)])


def _race_colder(logits, temperature, noise):
    return _winner([(z - log(e)) / temperature for z, e in zip(logits, noise, strict=True)])


def _race_hot(logits, temperature, noise):
    return _winner([z * temperature - log(e) for z, e in zip(logits, noise, strict=True)])


def _race_plus(logits, temperature, noise):
    return _winner([z / temperature + log(e) for z, e in zip(logits, noise, strict=True)])


def _race_no_log(logits, temperature, noise):
    return _winner([z / temperature - e for z, e in zip(logits, noise, strict=True)])


def _race_greedy(logits, temperature, noise):
    return _winner(logits)


WAYS = (_race_colder, _race_hot, _race_plus, _race_no_log, _race_greedy)


def _noise(rng, tokens):
    """Exponential numbers as short decimals."""
    return [max(0.002, round(rng.expovariate(1), 3)) for _ in range(tokens)]


def _clear(scores):
    first, second = sorted(scores)[-1:-3:-1]
    return first - second > 0.01


def _score(logit, temperature, noise):
    return logit / temperature - log(noise)


def _draw_score(rng):
    return (
        rng.choice([-1, 1]) * rng.randrange(2, 13) / 4,
        rng.choice([0.25, 0.5, 2, 4]),
        rng.choice([0.125, 0.3, 0.6, 1.75, 2.5]),
    )


def _slot(table, position, page):
    return table[position // page] * page + position % page


def _draw_slot(rng):
    """Never a position in the first page or in one whose number is its place, nor the first slot of a page."""
    while True:
        page, length = rng.choice([2, 3, 4, 8, 16]), rng.randrange(2, 7)
        table = rng.sample(range(40), length)
        position = rng.randrange(page, page * length)
        wrong = [slot(table, position, page) for slot in SLOTS]
        if all(value != _slot(table, position, page) for value in wrong) and len(set(wrong)) == len(wrong):
            return table, position, page


def _slot_itself(table, position, page):
    return position


def _slot_page(table, position, page):
    return table[position // page]


def _slot_begin(table, position, page):
    return table[position // page] * page


def _slot_turned(table, position, page):
    return table[position % len(table)] * page + position // page


def _slot_added(table, position, page):
    return table[position // page] + position % page


def _slot_unturned(table, position, page):
    return position + page * table[position // page]


SLOTS = (_slot_itself, _slot_page, _slot_begin, _slot_turned, _slot_added, _slot_unturned)

# ---- case2.traffic -------------------------------------------------------------------------------


def _traffic(rows, hidden, size):
    tensor = rows * hidden * size
    return [8 * tensor, 5 * tensor, 3 * tensor]


def _times(*factors):
    def traffic(rows, hidden, size):
        return [factor * rows * hidden * size for factor in factors]

    return traffic


def _traffic_elements(rows, hidden, size):
    return _traffic(rows, hidden, 1)


# ---- case2.sample --------------------------------------------------------------------------------


def _all(way):
    return lambda logits, temperature, draws: [way(logits, temperature, noise) for noise in draws]


def _race_exp(logits, temperature, noise):
    """Shares by exp, without the largest taken off: everything above 709 overflows, and is taken as equal here."""
    shares = [exp(min(z / temperature, 700)) for z in logits]
    return _winner([share / e for share, e in zip(shares, noise, strict=True)])


def _sample(logits, temperature, draws):
    tokens = []
    for noise in draws:
        scores = [logit / temperature - log(e) for logit, e in zip(logits, noise, strict=True)]
        tokens.append(scores.index(max(scores)))
    return tokens


def _race_from_zero(logits, temperature, noise):
    """A loop that keeps the largest so far, and begins with 0."""
    scores = [z / temperature - log(e) for z, e in zip(logits, noise, strict=True)]
    return _winner(scores) if max(scores) > 0 else 0


def _first_noise(logits, temperature, draws):
    return [_race(logits, temperature, draws[0]) for _ in draws]


USUAL, LARGE = "logits as usual", "large logits"
SAMPLERS = (*map(_all, (_race_colder, _race_hot, _race_plus, _race_no_log, _race_greedy)), _first_noise)


def _draw_sample(rng, group):
    """Six to twelve draws; each wrong way gives another list. Large logits lie near 2,000, where exp overflows; of the
    usual ones every second time all are negative.
    """
    while True:
        tokens, shift = rng.randrange(3, 7), 2000 if group == LARGE else rng.choice([0, -4])
        logits = [shift + rng.randrange(-8, 9) / 4 for _ in range(tokens)]
        temperature = rng.choice([0.25, 0.5, 2, 4])
        draws = [_noise(rng, tokens) for _ in range(rng.randrange(6, 12))]
        draws += rng.sample(draws, rng.randrange(2))
        right = _all(_race)(logits, temperature, draws)
        scores = [[z / temperature - log(e) for z, e in zip(logits, noise, strict=True)] for noise in draws]
        ways = SAMPLERS + ((_all(_race_exp),) if group == LARGE else ())
        if all(map(_clear, scores)) and all(way(logits, temperature, draws) != right for way in ways):
            return logits, temperature, draws


# ---- case2.chi-square ----------------------------------------------------------------------------


def _shares(logits):
    weights = [exp(z - max(logits)) for z in logits]
    return [weight / sum(weights) for weight in weights]


def _chi(counts, logits):
    expected = [sum(counts) * share for share in _shares(logits)]
    return sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True))


def _chi_observed(counts, logits):
    expected = [sum(counts) * share for share in _shares(logits)]
    return sum((c - e) ** 2 / max(c, 1) for c, e in zip(counts, expected, strict=True))


def _chi_shares(counts, logits):
    return _chi(counts, logits) / sum(counts)


def _chi_squared(counts, logits):
    expected = [sum(counts) * share for share in _shares(logits)]
    return sum((c - e) ** 2 for c, e in zip(counts, expected, strict=True))


def _chi_even(counts, logits):
    return _chi(counts, [0] * len(counts))


def _chi_mean(counts, logits):
    return _chi(counts, logits) / (len(counts) - 1)


def _chi_drawn(counts, logits):
    expected = [sum(counts) * share for share in _shares(logits)]
    return sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True) if c)


def _chi_often(counts, logits):
    expected = [sum(counts) * share for share in _shares(logits)]
    return sum((c - e) ** 2 / e for c, e in zip(counts, expected, strict=True) if e >= 5)


def _draw_chi(rng, group):
    tokens, shift = rng.randrange(3, 7), 1000 if group == LARGE else 0
    logits = [shift + rng.randrange(-8, 9) / 4 for _ in range(tokens)]
    if rng.random() < 0.5:
        logits[-1] = logits[0]
    most = rng.choice([20, 20, 900])  # where few are drawn, some are expected less than five times
    counts = [rng.randrange(0, most) for _ in logits]
    if rng.random() < 0.6:
        counts[rng.randrange(tokens)] = 0
    if sum(counts) <= 10:
        return _draw_chi(rng, group)
    right = _chi(counts, logits) or 1
    near = [way(counts, logits) / right for way in (_chi_drawn, _chi_often)]  # a term left out is none, or is seen
    return _draw_chi(rng, group) if any(0.98 < share < 1 for share in near) else (counts, logits)


# ---- case2.pair-seconds --------------------------------------------------------------------------


def _pair(batch, d, f, ranks, link, latency, *, whole=False, rows=False, both=False, sums=1, steps=1, volume=2):
    """Microseconds of the pair on H100s, with what may be forgotten."""
    share = f if whole else f / ranks

    def product(inputs, outputs):
        computing = 2 * batch * inputs * outputs / 989e12
        reading = 2 * (inputs * outputs + batch * inputs + batch * outputs) / 3.35e12
        if rows:  # the batch alone against the ridge
            return computing if batch > 989e12 / 3.35e12 else reading
        return computing + reading if both else max(computing, reading)

    sent = volume * (ranks - 1) / ranks if volume else ranks / 2
    message = sums * (steps * 2 * (ranks - 1) * latency + sent * 2 * batch * d / link)
    return 1e6 * (product(d, share) + product(share, d) + message)


def _pair_seconds(batch, d, f, ranks, link, latency):
    share, seconds = f / ranks, 0.0
    for inputs, outputs in ((d, share), (share, d)):
        reading = 2 * (inputs * outputs + batch * inputs + batch * outputs) / 3.35e12
        seconds += max(2 * batch * inputs * outputs / 989e12, reading)
    seconds += 2 * (ranks - 1) * latency + 2 * (ranks - 1) / ranks * 2 * batch * d / link
    return 1e6 * seconds


def _pair_but(**what):
    return lambda batch, d, f, ranks, link, latency: _pair(batch, d, f, ranks, link, latency, **what)


def _draw_pair(rng):
    """Few rows, many, or many through shares so narrow that they wait for bytes; ranks that divide f."""
    kind = rng.random()
    return (
        rng.choice([16, 64, 128]) if kind < 0.25 else rng.choice([700, 1024, 4096]),
        rng.choice([4096, 8192]),
        4096 if kind > 0.45 else rng.choice([8192, 14_336, 28_672]),
        16 if kind > 0.45 else rng.choice([4, 8, 16]),
        rng.choice([50e9, 450e9]),
        rng.choice([2e-6, 5e-6]),
    )


# ---- case2.sequences -----------------------------------------------------------------------------


def _sequences(pages, page, common, own):
    whole = common // page
    each = -(-(common + own) // page) - whole
    return (pages - whole) // each


def _sequences_copies(pages, page, common, own):
    return pages // -(-(common + own) // page)


def _sequences_free(pages, page, common, own):
    whole = common // page
    return pages // (-(-(common + own) // page) - whole)


def _sequences_apart(pages, page, common, own):
    """The common tokens fill their last page up, and one's own begin a new one."""
    return max(0, pages - -(-common // page)) // -(-own // page)


def _sequences_tokens(pages, page, common, own):
    return max(0, pages * page - common) // own


def _sequences_floor(pages, page, common, own):
    whole = common // page
    return (pages - whole) // max(1, (common + own) // page - whole)


OTHERS = (_sequences_copies, _sequences_free, _sequences_apart, _sequences_tokens, _sequences_floor)


def _draw_sequences(rng):
    """The pages of the beginning always fit; every wrong way gives another number."""
    while True:
        page = rng.choice([4, 8, 16, 32])
        common, own = rng.randrange(page, 40 * page), rng.randrange(2, 12 * page)
        whole = common // page
        pages = rng.randrange(whole, whole + 400)
        right = _sequences(pages, page, common, own)
        if all(other(pages, page, common, own) != right for other in OTHERS):
            return pages, page, common, own


CHECKS = [
    Check(
        id="case2.turn-saved",
        points=0,
        signature="saved_share(rows, hidden, layers, step, bandwidth)",
        public=[(8, 14_336, 32, 0.005, 3.35e12), (64, 8960, 24, 0.016, 2e12), (1, 3072, 16, 0.002, 9e11)],
        generate=_draw_saved,
        reference=_saved,
        wrong={
            "elements": lambda rows, hidden, layers, step, bandwidth: _saved(rows, hidden, layers, step, bandwidth) / 2,
            "what is left": lambda r, hidden, layers, step, bandwidth: _saved(1.5 * r, hidden, layers, step, bandwidth),
            "one layer": lambda rows, hidden, layers, step, bandwidth: _saved(rows, hidden, 1, step, bandwidth),
            "seconds": lambda rows, hidden, layers, step, bandwidth: _saved(rows, hidden, layers, 1, bandwidth),
        },
    ),
    Check(
        id="case2.turn-score",
        points=0,
        signature="score(logit, temperature, noise)",
        public=[(2.0, 1, 0.5), (3.0, 0.5, 4.0), (-1.0, 2, 0.25), (0.0, 4, 1.5), (1.5, 0.25, 1)],
        generate=_draw_score,
        reference=_score,
        same=Close(rel=1e-5, abs=1e-6),
        wrong={
            "noise divided": lambda logit, temperature, noise: (logit - log(noise)) / temperature,
            "times the temperature": lambda logit, temperature, noise: logit * temperature - log(noise),
            "plus the log": lambda logit, temperature, noise: logit / temperature + log(noise),
            "no log": lambda logit, temperature, noise: logit / temperature - noise,
            "logit alone": lambda logit, temperature, noise: logit / temperature,
            "no temperature": lambda logit, temperature, noise: logit - log(noise),
        },
    ),
    Check(
        id="case2.turn-slot",
        points=0,
        signature="slot(table, position, page)",
        public=[([5, 2, 9], 7, 4), ([3, 0], 5, 3), ([7], 1, 16), ([4, 6, 1, 8], 12, 4), ([2, 11], 3, 2)],
        generate=_draw_slot,
        reference=_slot,
        same=EXACT,
        wrong={
            "no table": _slot_itself,
            "the page": _slot_page,
            "its first slot": _slot_begin,
            "turned round": _slot_turned,
            "page not multiplied": _slot_added,
            "position not reduced": _slot_unturned,
        },
    ),
    Check(
        id="case2.traffic",
        points=2,
        signature="traffic(rows, hidden, size)",
        public=[(2048, 4096, 4), (16, 14_336, 2), (1, 768, 2), (3, 5, 4)],
        generate=lambda rng: (rng.randrange(1, 4096), rng.choice([768, 4096, 11_008, 14_336]), rng.choice([2, 4, 8])),
        reference=_traffic,
        wrong={
            "all of x": _times(16, 10, 6),
            "chunk copies": _times(12, 9, 7),
            "no writes": _times(5, 3, 2),
            "two calls": _times(6, 5, 3),
            "read once": _times(7, 5, 3),
            "elements": _traffic_elements,
        },
    ),
    Check(
        id="case2.sample",
        points=3,
        signature="sample(logits, temperature, draws)",
        groups={USUAL: 2, LARGE: 1},
        public={
            USUAL: [
                ([2.0, 1.0, 0.0], 1, [[0.9, 0.1, 0.2], [0.5, 0.5, 0.5]]),
                ([0.0, 3.0], 0.5, [[0.1, 4.0], [0.001, 3.0], [1.0, 1.0]]),
                ([0.5, 1.5], 1, [[0.4, 0.9]]),
                ([1.0, 0.0, -1.0, 0.5], 2, [[1.5, 0.6, 0.25, 1.1], [0.8, 0.9, 0.1, 2.0], [1.5, 0.6, 0.25, 1.1]]),
                ([0.0, 0.25], 4, [[0.9405, 1.0], [0.5, 1.5]]),
                ([-1.5, -2.0, -0.5], 0.5, [[1.5, 2.0, 1.25], [0.5, 0.8, 2.5], [0.1, 1.0, 3.0], [2.0, 0.02, 2.0]]),
            ],
            LARGE: [
                ([2001.0, 2000.0, 1999.5], 0.5, [[2.5, 0.2, 0.9], [0.4, 0.5, 0.002], [1.0, 1.5, 0.7]]),
                ([1998.0, 2000.0], 4, [[0.2, 1.5], [0.9, 0.8]]),
            ],
        },
        generate=_draw_sample,
        reference=_sample,
        same=EXACT,
        wrong={
            "noise divided": _all(_race_colder),
            "times the temperature": _all(_race_hot),
            "plus the log": _all(_race_plus),
            "no log": _all(_race_no_log),
            "greedy": _all(_race_greedy),
            "one noise for all": _first_noise,
            "from zero": _all(_race_from_zero),
        },
    ),
    Check(
        id="case2.chi-square",
        points=3,
        signature="chi_square(counts, logits)",
        groups={USUAL: 2, LARGE: 1},
        public={
            USUAL: [
                ([60, 40], [0.0, 0.0]),
                ([700, 200, 100], [2.0, 0.75, 0.0]),
                ([0, 31, 12, 5], [-1.0, 0.5, 0.25, -2.0]),
                ([3, 40, 9, 60], [-2.0, 1.0, 0.0, 1.5]),
                ([30, 20, 1], [2.0, 1.5, -2.5]),
                ([7, 7, 30, 2], [0.25, 1.0, 2.0, -0.5]),
                ([12, 9, 0, 1], [2.0, 2.0, -2.0, -2.0]),
            ],
            LARGE: [
                ([60, 40], [1000.0, 1000.0]),
                ([700, 200, 100], [1002.0, 1000.75, 1000.0]),
                ([0, 31, 12, 5], [999.0, 1000.5, 1000.25, 998.0]),
                ([30, 20, 1], [1002.0, 1001.5, 997.5]),
                ([7, 7, 30, 2], [1000.25, 1001.0, 1002.0, 999.5]),
                ([12, 9, 0, 1], [1002.0, 1002.0, 998.0, 998.0]),
            ],
        },
        generate=_draw_chi,
        reference=_chi,
        same=Close(rel=1e-3, abs=1e-3),
        wrong={
            "over the counted": _chi_observed,
            "shares": _chi_shares,
            "not divided": _chi_squared,
            "all alike": _chi_even,
            "a degree": _chi_mean,
            "never drawn": _chi_drawn,
            "rare ones": _chi_often,
        },
    ),
    Check(
        id="case2.pair-seconds",
        points=3,
        signature="pair_microseconds(batch, d, f, ranks, link, latency)",
        public=[
            (1, 8192, 28_672, 8, 450e9, 2e-6),
            (4096, 8192, 28_672, 2, 450e9, 2e-6),
            (1, 768, 3072, 4, 50e9, 5e-6),
            (512, 4096, 14_336, 16, 50e9, 5e-6),
            (16, 4096, 8192, 1, 450e9, 2e-6),
            (1024, 8192, 4096, 16, 450e9, 2e-6),
        ],
        generate=_draw_pair,
        reference=_pair_seconds,
        same=Close(rel=1e-4),
        wrong={
            "whole weights": _pair_but(whole=True),
            "arithmetic and bytes": _pair_but(both=True),
            "rows alone": _pair_but(rows=True),
            "two messages": _pair_but(sums=2),
            "no latency": _pair_but(steps=0),
            "half the ranks": _pair_but(volume=0),
            "gather": _pair_but(volume=1),
        },
    ),
    Check(
        id="case2.sequences",
        points=3,
        signature="sequences(pages, page, common, own)",
        public=[
            (40, 16, 64, 20),
            (100, 16, 70, 30),
            (63, 8, 20, 5),
            (500, 16, 2000, 500),
            (128, 16, 2048, 100),
            (940, 16, 2048, 993),
            (200, 4, 100, 121),
            (50, 4, 41, 3),
            (90, 32, 100, 64),
            (40, 8, 60, 16),
            (12, 16, 160, 40),
            (13, 16, 160, 40),
            (900, 16, 40, 20),
            (30, 8, 8, 8),
        ],
        generate=_draw_sequences,
        reference=_sequences,
        same=EXACT,
        wrong={
            "a copy each": _sequences_copies,
            "the beginning is free": _sequences_free,
            "own pages begin anew": _sequences_apart,
            "tokens": _sequences_tokens,
            "rounded down": _sequences_floor,
        },
    ),
]
