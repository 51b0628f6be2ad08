"""Checks of Q14, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q14.accumulated -----------------------------------------------------------------------------


def _accumulated(gradients, counts):
    total = sum(counts)
    kept = [(g, n) for g, n in zip(gradients, counts, strict=True) if n]
    return [sum(n * g[i] for g, n in kept) / total for i in range(len(kept[0][0]))]


def _weighted(gradients, weights):
    kept = [(g, n) for g, n in zip(gradients, weights, strict=True) if g is not None]
    return [sum(n * g[i] for g, n in kept) for i in range(len(kept[0][0]))]


def _mean_of_means(gradients, counts):
    return _weighted(gradients, [1 / len(counts)] * len(counts))


def _mean_of_the_rest(gradients, counts):
    return _weighted(gradients, [1 / sum(n > 0 for n in counts)] * len(counts))


def _sum_of_means(gradients, counts):
    return _weighted(gradients, [1] * len(counts))


def _sum_of_sums(gradients, counts):
    return _weighted(gradients, counts)


def _divided_twice(gradients, counts):
    return _weighted(gradients, [n / sum(counts) / len(counts) for n in counts])


def _by_the_largest(gradients, counts):
    return _weighted(gradients, [n / max(counts) for n in counts])


def _draw_accumulated(rng):
    """Parts of unlike size, in half of the draws one, two or three without an example, wherever they stand; now and then
    two parts have the same gradient. Coordinates are a sixteenth apart.
    """
    parts, width = rng.randrange(2, 6), rng.randrange(1, 5)
    counts = [rng.randrange(1, 20) * 4**place for place in range(parts)]
    if parts > 2 and rng.random() < 0.5:
        counts[-1] = counts[0]
    gradients = [[(rng.randrange(1, 60)) / 16 for _ in range(width)] for _ in range(parts)]
    if parts > 2 and rng.random() < 0.5:
        gradients[1] = list(gradients[0])
    if rng.random() < 0.5:
        empty = rng.randrange(1, 4)
        counts += [0] * empty
        gradients += [None] * empty
    order = list(range(len(counts)))
    rng.shuffle(order)
    return [gradients[place] for place in order], [counts[place] for place in order]


# ---- q14.plan ------------------------------------------------------------------------------------


def _plan(batch, cards, fixed, each, capacity):
    mine = batch // cards
    for part in range(mine, 0, -1):
        if mine % part == 0 and fixed + each * part <= capacity:
            return [part, mine // part]
    return None


def _plan_limit(batch, cards, fixed, each, capacity):
    """The largest part that fits, whether it divides or not."""
    mine = batch // cards
    part = min(mine, (capacity - fixed) // each)
    return [part, -(-mine // part)] if part >= 1 else None


def _plan_all(batch, cards, fixed, each, capacity):
    return _plan(batch, 1, fixed, each, capacity)


def _plan_no_state(batch, cards, fixed, each, capacity):
    return _plan(batch, cards, 0, each, capacity)


def _plan_powers(batch, cards, fixed, each, capacity):
    """Tries halves only."""
    mine, part = batch // cards, batch // cards
    while fixed + each * part > capacity:
        if part % 2:
            return None
        part //= 2
    return [part, mine // part]


def _plan_swapped(batch, cards, fixed, each, capacity):
    found = _plan(batch, cards, fixed, each, capacity)
    return found and found[::-1]


def _draw_plan(rng):
    """MB. The limit lies above a divisor or between two (no halving leads to either), now and then above one example,
    below it, at or below what is fixed, or above all. Exactly on one only where all are powers of two, which no unit and
    no order of the arithmetic rounds.
    """
    cards = rng.choice([2, 3, 4, 8])
    mine = rng.choice([12, 18, 20, 24, 30, 36, 48, 60, 90, 98, 154, 210, 330])
    fixed, each = rng.randrange(800, 3000), rng.randrange(20, 300)
    halves = {mine // 2**times for times in range(8) if mine % 2**times == 0}
    best = {room: max(n for n in range(1, room + 1) if mine % n == 0) for room in range(1, mine)}
    between = [room for room, part in best.items() if part != room and part not in halves]
    kind = rng.random()
    if kind < 0.25:
        room = each * rng.choice([1, *(part for part in set(best.values()) if part not in halves)])
        room += rng.randrange(1, each)
    elif kind < 0.8:
        room = each * rng.choice(between) + rng.randrange(0, each)
    elif kind < 0.95:
        room = rng.choice([-each, 0, each // 2, each - 1, each + 1, each * (mine + 1)])
    else:
        room = fixed = each = 2 ** rng.randrange(6, 12)
    return mine * cards, cards, fixed, each, fixed + room


# ---- q14.bytes-sent ------------------------------------------------------------------------------


def _bytes_sent(params, size, parts, cards, no_sync):
    return 2 * (cards - 1) / cards * params * size * (1 if no_sync else parts)


def _draw_bytes(rng):
    """Millions of parameters, a multiple of the cards."""
    cards = rng.choice([2, 3, 4, 8, 64]) if rng.random() < 0.97 else 1
    params = rng.randrange(1, 130) * 3 * 10**6
    return params, rng.choice([2, 4]), rng.randrange(2, 40), cards, rng.random() < 0.5


# ---- q14.critical-batch --------------------------------------------------------------------------


def _critical(first, second):
    (a, s), (b, t) = first, second
    return (s - t) / (t / a - s / b)


def _critical_endless(first, second):
    """Takes the second batch for an endless one."""
    (a, s), (_, t) = first, second
    return a * (s / t - 1)


def _critical_examples(first, second):
    (a, s), (b, t) = first, second
    return (b * t - a * s) / (s - t)


def _least(first, second):
    (a, s), (b, t) = first, second
    return (b * t - a * s) / (b - a)


def _draw_critical(rng):
    """Steps of the law itself; in half of the draws the larger batch comes first."""
    critical, least = rng.randrange(10, 900) + 0.25, rng.randrange(20, 900)
    small = critical * rng.uniform(0.05, 0.7)
    large = critical * rng.uniform(1.2, 12)
    found = [[batch, least * (1 + critical / batch)] for batch in (small, large)]
    return tuple(found if rng.random() < 0.5 else found[::-1])


# ---- q14.train -----------------------------------------------------------------------------------


def _train(parts, group, rate):
    w, seen = 0.0, []
    for first in range(0, len(parts), group):
        numbers = [x for part in parts[first : first + group] for x in part]
        w -= rate * sum(w - x for x in numbers) / len(numbers)
        seen.append(w)
        rate /= 2
    return seen


def _train_with(zero=True, divides=True, scheduled=True, last=True):
    """The loop with some of its four faults; True is right."""

    def train(parts, group, rate):
        w, gradient, examples, seen = 0.0, 0.0, 0, []
        for place, part in enumerate(parts, 1):
            if not zero:
                gradient, examples = 0.0, 0
            gradient += sum(w - x for x in part) if divides else sum(w - x for x in part) / len(part)
            examples += len(part)
            if place % group == 0 or (last and place == len(parts)):
                w -= rate * gradient / (examples if divides else 1)
                seen.append(w)
                gradient, examples = 0.0, 0
                rate = rate / 2 if scheduled else rate
            rate = rate if scheduled else rate / 2
        return seen

    return train


def _train_means(parts, group, rate):
    """Divides by the number of parts."""
    w, gradient, count, seen = 0.0, 0.0, 0, []
    for place, part in enumerate(parts, 1):
        gradient += sum(w - x for x in part) / len(part)
        count += 1
        if place % group == 0 or place == len(parts):
            w -= rate * gradient / count
            seen.append(w)
            gradient, count, rate = 0.0, 0, rate / 2
    return seen


def _train_group(parts, group, rate):
    """Divides the last, shorter group by the full number of parts."""
    w, gradient, seen = 0.0, 0.0, []
    for place, part in enumerate(parts, 1):
        gradient += sum(w - x for x in part) / len(part)
        if place % group == 0 or place == len(parts):
            w -= rate * gradient / group
            seen.append(w)
            gradient, rate = 0.0, rate / 2
    return seen


def _train_by_value(parts, group, rate):
    """Takes each part that is equal to the last one for the last one."""
    w, seen, numbers = 0.0, [], []
    for place, part in enumerate(parts, 1):
        numbers += part
        if place % group == 0 or part == parts[-1]:
            w -= rate * sum(w - x for x in numbers) / len(numbers)
            seen.append(w)
            numbers, rate = [], rate / 2
    return seen


def _train_moving(parts, group, rate):
    """A step after each part."""
    return _train(parts, 1, rate)


def _draw_train(rng):
    """Parts of unlike length and content, and a last group that is not full. In half of the draws the second group begins
    and ends with a part that is equal to the last one.
    """
    group = rng.randrange(2, 6)
    parts = []
    for place in range(group * rng.randrange(2, 4) + rng.randrange(1, group)):
        parts.append([rng.randrange(1, 9) + 10 * (place % 3) for _ in range(rng.choice([1, 2, 5]))])
    parts[0], parts[1] = [rng.randrange(1, 5)] * 4, [rng.randrange(20, 30)]
    parts[-1] = [rng.randrange(40, 60), rng.randrange(60, 80)]
    if rng.random() < 0.5:
        parts[group], parts[2 * group - 1] = list(parts[-1]), list(parts[-1])
    return parts, group, rng.choice([0.25, 0.5, 0.75])


# ---- the lesson's own: one line each --------------------------------------------------------------


def _share(place, sizes):
    return sizes[place] / sum(sizes)


def _draw_share(rng):
    sizes = [rng.randrange(1, 60) for _ in range(rng.randrange(2, 7))]
    if len(set(sizes)) == 1:
        sizes[0] += 1
    return rng.randrange(len(sizes)), sizes


def _effective(sizes):
    return len(sizes) ** 2 / sum(1 / size for size in sizes)


def _draw_sizes(rng):
    return ([rng.randrange(1, 60) * 3**place for place in range(rng.randrange(2, 6))],)


def _steps(batch, least, critical):
    return least * (1 + critical / batch)


CHECKS = [
    Check(
        id="q14.turn-share",
        points=0,
        signature="share(place, sizes)",
        public=[(0, [200, 40, 10, 6]), (3, [200, 40, 10, 6]), (1, [64, 64]), (2, [7, 1, 5]), (0, [9])],
        generate=_draw_share,
        reference=_share,
        wrong={
            "by parts": lambda place, sizes: 1 / len(sizes),
            "examples": lambda place, sizes: sizes[place],
            "one over the examples": lambda place, sizes: 1 / sizes[place],
            "of the whole batch": lambda place, sizes: 1 / sum(sizes),
            "of the largest": lambda place, sizes: sizes[place] / max(sizes),
        },
    ),
    Check(
        id="q14.turn-effective",
        points=0,
        signature="effective_batch(sizes)",
        public=[([200, 40, 10, 6],), ([64, 64, 64, 64],), ([255, 1],), ([5],), ([3, 1, 8],)],
        generate=_draw_sizes,
        reference=_effective,
        wrong={
            "all": lambda sizes: sum(sizes),
            "harmonic mean": lambda sizes: len(sizes) / sum(1 / size for size in sizes),
            "smallest": lambda sizes: len(sizes) * min(sizes),
            "upside down": lambda sizes: 1 / _effective(sizes),
            "noise of the parts only": lambda sizes: 1 / sum(1 / size for size in sizes),
            "squares": lambda sizes: sum(sizes) ** 2 / sum(size**2 for size in sizes),
        },
    ),
    Check(
        id="q14.turn-steps",
        points=0,
        signature="steps(batch, least, critical)",
        public=[(16, 20, 64), (64, 20, 64), (1024, 18, 20), (1, 18, 20)],
        generate=lambda rng: (rng.randrange(1, 500), rng.randrange(5, 300), rng.randrange(3, 400) + 0.5),
        reference=_steps,
        wrong={
            "upside down": lambda batch, least, critical: least * (1 + batch / critical),
            "without the one": lambda batch, least, critical: least * critical / batch,
            "examples": lambda batch, least, critical: least * (batch + critical),
            "at most": lambda batch, least, critical: least * max(1, critical / batch),
        },
    ),
    Check(
        id="q14.accumulated",
        points=2,
        signature="accumulated(gradients, counts)",
        public=[
            ([[1.0], [3.0]], [1, 1]),
            ([[1.0], [3.0]], [1, 3]),
            ([[0.5, -2.0], [4.0, 1.0], [1.0, 1.0]], [200, 40, 10]),
            ([[1.0, 2.0, 8.0], None, [5.0, -6.0, 1.0]], [3, 0, 9]),
            ([None, [2.0]], [0, 7]),
            ([[2.0, 1.0], [5.0, 0.5], [2.0, 1.0]], [1, 4, 7]),
            ([[1.0], [2.0], [4.0], [32.0], [8.0]], [6, 1, 6, 2, 3]),
            ([[-0.25, 1.5]], [5]),
            ([None, None, [1.0, 4.0], [0.0, 0.0], [2.0, 0.5], None], [0, 0, 2, 5, 6, 0]),
        ],
        generate=_draw_accumulated,
        reference=_accumulated,
        same=Close(rel=1e-5, abs=1e-5),
        wrong={
            "mean of means": _mean_of_means,
            "mean of the others": _mean_of_the_rest,
            "sum of means": _sum_of_means,
            "sum of sums": _sum_of_sums,
            "divided twice": _divided_twice,
            "of the largest": _by_the_largest,
        },
    ),
    Check(
        id="q14.plan",
        points=3,
        signature="plan(batch, cards, fixed, each, capacity)",
        public=[
            (512, 8, 2000, 1900, 40000),
            (96, 4, 1000, 100, 2200),
            (120, 2, 1000, 100, 2999),
            (60, 4, 500, 50, 849),
            (60, 4, 500, 50, 549),
            (60, 4, 500, 50, 550),
            (16, 2, 300, 10, 9000),
            (90, 2, 700, 30, 1000),
            (144, 8, 400, 100, 1300),
            (240, 8, 800, 100, 1800),
            (26, 2, 100, 10, 200),
            (60, 1, 500, 50, 1200),  # one card
            (14, 2, 100, 10, 90),
            (14, 2, 100, 10, 100),  # no room at all
            (660, 2, 500, 10, 520),
            (308, 2, 500, 10, 700),
            (660, 2, 500, 10, 2000),
        ],
        generate=_draw_plan,
        reference=_plan,
        same=EXACT,
        wrong={
            "limit": _plan_limit,
            "cards forgotten": _plan_all,
            "state forgotten": _plan_no_state,
            "halves only": _plan_powers,
            "swapped": _plan_swapped,
        },
    ),
    Check(
        id="q14.bytes-sent",
        points=2,
        signature="bytes_sent(params, size, parts, cards, no_sync)",
        public=[
            (2_099_712, 4, 8, 2, False),
            (2_099_712, 4, 8, 2, True),
            (124_439_808, 2, 16, 64, True),
            (124_439_808, 2, 16, 64, False),
            (10**6, 4, 3, 1, False),
            (10**6, 4, 1, 8, True),
            (10**6, 4, 1, 8, False),
        ],
        generate=_draw_bytes,
        reference=_bytes_sent,
        same=Close(rel=1e-6, abs=1e-3),
        wrong={
            "once round": lambda params, size, parts, cards, no_sync: (
                _bytes_sent(params, size, parts, cards, no_sync) / 2
            ),
            "to everyone": lambda params, size, parts, cards, no_sync: (
                (cards - 1) * params * size * (1 if no_sync else parts)
            ),
            "the whole buffer": lambda params, size, parts, cards, no_sync: (
                2 * params * size * (1 if no_sync else parts)
            ),
            "the other way round": lambda params, size, parts, cards, no_sync: _bytes_sent(
                params, size, parts, cards, not no_sync
            ),
            "always once": lambda params, size, parts, cards, no_sync: _bytes_sent(params, size, parts, cards, True),
            "never once": lambda params, size, parts, cards, no_sync: _bytes_sent(params, size, parts, cards, False),
            "numbers": lambda params, size, parts, cards, no_sync: _bytes_sent(params, 1, parts, cards, no_sync),
        },
    ),
    Check(
        id="q14.critical-batch",
        points=2,
        signature="critical_batch(first, second)",
        public=[
            ([16, 100], [64, 40]),
            ([64, 40], [16, 100]),
            ([4, 93], [1024, 18]),
            ([10, 300], [1000, 102]),
            ([8, 120.0], [32, 45.0]),
            ([40.5, 10.65], [81, 8.875]),
            ([0.5, 250_000], [2, 181_000]),  # batches in millions of tokens
            ([1000, 21_000], [250, 81_000]),  # both far below the critical batch
        ],
        generate=_draw_critical,
        reference=_critical,
        same=Close(rel=1e-4),
        wrong={
            "endless": _critical_endless,
            "upside down": lambda first, second: 1 / _critical(first, second),
            "examples over steps": _critical_examples,
            "least steps": _least,
            "sign": lambda first, second: -_critical(first, second),
        },
    ),
    Check(
        id="q14.train",
        points=4,
        signature="train(parts, group, rate)",
        public=[
            ([[2, 2, 2, 2], [10], [4, 4], [6], [9]], 2, 0.5),
            ([[1], [3]], 2, 1.0),
            ([[-1, 2.5], [-3]], 1, 0.5),
            ([[8, 8, 8], [20], [1], [2, 4], [30, 31], [7], [50, 60]], 3, 0.25),
            ([[4]], 4, 0.5),
            ([[4, 4], [4, 4], [1], [9]], 3, 0.5),
            ([[3], [5, 1], [2], [6, 8, 1], [20]], 3, 0.5),
            ([[place] for place in range(12)], 1, 0.5),
            ([[3], [1, 5], [9], [2], [4], [7, 7, 1], [30]], 5, 0.5),
            ([[10], [30], [2], [6], [12]], 2, 1.0),
            ([[3], [7, 8], [3], [9], [3]], 3, 0.5),
        ],
        generate=_draw_train,
        reference=_train,
        same=Close(rel=1e-4, abs=1e-5),
        wrong={
            "emptied in each part": _train_with(zero=False),
            "not divided": _train_with(divides=False),
            "divided by parts": _train_means,
            "divided by the group": _train_group,
            "rate halved in each part": _train_with(scheduled=False),
            "last group lost": _train_with(last=False),
            "last part by its value": _train_by_value,
            "a step after each part": _train_moving,
        },
    ),
]
