"""Checks of Q11's exercises and your-turns: inputs, references, and the wrong answers that people give."""

import heapq
from math import ceil, floor, log

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lesson's own: one line each --------------------------------------------------------------


def _step_seconds(batch, weights, cache, parameters, peak, bandwidth):
    return batch * cache / bandwidth + max(weights / bandwidth, 2 * batch * parameters / peak)


def _step_one_maximum(batch, weights, cache, parameters, peak, bandwidth):
    return max((weights + batch * cache) / bandwidth, 2 * batch * parameters / peak)


def _step_all_added(batch, weights, cache, parameters, peak, bandwidth):
    return (weights + batch * cache) / bandwidth + 2 * batch * parameters / peak


def _draw_step(rng):
    """Weights of 1, 2 or 4 bytes, and a batch left or right of that for which they arrive as fast as they compute."""
    bandwidth, parameters = rng.randrange(500, 5000) * 1e9, rng.randrange(1, 70) * 1e9
    ridge, width = rng.randrange(100, 400), rng.choice([1, 2, 4])
    even = ridge * width // 2
    batch = rng.randrange(2, even // 2) if rng.random() < 0.4 else rng.randrange(4 * even, 9 * even)
    return batch, width * parameters, rng.randrange(50, 900) * 1e6, parameters, ridge * bandwidth, bandwidth


def _mean_wait(rate, service, scv):
    busy = rate * service
    return busy / (1 - busy) * (1 + scv) / 2 * service


def _draw_wait(rng):
    service = rng.uniform(0.01, 3)
    return rng.uniform(0.2, 0.95) / service, service, rng.choice([0.0, 0.25, 1.0, 4.0])


def _tokens_a_round(acceptance, drafted):
    return sum(acceptance**k for k in range(drafted + 1))


# ---- q11.in-flight -------------------------------------------------------------------------------


def _in_flight(arrivals, finishes):
    return sum(end - came for came, end in zip(arrivals, finishes, strict=True)) / (max(finishes) - min(arrivals))


def _total(arrivals, finishes):
    return sum(end - came for came, end in zip(arrivals, finishes, strict=True))


def _seen_by_arrivals(arrivals, finishes):
    """The mean number that a request finds when it comes."""
    spans = list(zip(arrivals, finishes, strict=True))
    return sum(sum(came < at < end for came, end in spans) for at in arrivals) / len(arrivals)


def _share_busy(arrivals, finishes):
    """The share of the time in which anybody is there."""
    spans = sorted(zip(arrivals, finishes, strict=True))
    covered, until = 0.0, min(arrivals)
    for came, end in spans:
        covered += max(0.0, end - max(came, until))
        until = max(until, end)
    return covered / (max(finishes) - min(arrivals))


def _draw_in_flight(rng):
    """One request well after zero, a pause, and six to nine that meet others, the last of which ends early; one of
    these comes and goes together with another. All times in multiples of 9/32 s: exact, and on no grid of looks."""
    first = rng.randrange(20, 60)
    begun = first + rng.randrange(15, 40)
    arrivals = sorted(begun + rng.randrange(1, 40) for _ in range(rng.randrange(4, 7)))
    arrivals = [begun, *arrivals, arrivals[-1] + 1]
    finishes = [came + rng.randrange(6, 30) for came in arrivals]
    finishes[0] = max(finishes) + rng.randrange(10, 30)
    spans = list(zip(arrivals, finishes, strict=True))
    spans += [(first, first + rng.randrange(3, 9)), rng.choice(spans)]
    rng.shuffle(spans)
    return [came * 9 / 32 for came, _ in spans], [end * 9 / 32 for _, end in spans]


# ---- q11.steps -----------------------------------------------------------------------------------


def _static(lengths, slots):
    return sum(max(lengths[i : i + slots]) for i in range(0, len(lengths), slots))


def _continuous(lengths, slots):
    ends = [0] * slots
    for length in lengths:
        heapq.heapreplace(ends, ends[0] + length)
    return max(ends)


def _steps(lengths, slots):
    return {"static": _static(lengths, slots), "continuous": _continuous(lengths, slots)}


def _steps_by_mean(lengths, slots):
    groups = [lengths[i : i + slots] for i in range(0, len(lengths), slots)]
    return _steps(lengths, slots) | {"static": round(sum(sum(group) / len(group) for group in groups))}


def _steps_full_only(lengths, slots):
    whole = len(lengths) // slots * slots
    return _steps(lengths, slots) | {"static": _static(lengths[:whole], slots)}


def _steps_sorted(lengths, slots):
    return _steps(sorted(lengths), slots)


def _steps_shared(lengths, slots):
    return _steps(lengths, slots) | {"continuous": ceil(sum(lengths) / slots)}


def _steps_dealt(lengths, slots):
    return _steps(lengths, slots) | {"continuous": max(sum(lengths[i::slots]) for i in range(slots))}


def _steps_last_of_rest(lengths, slots):
    whole = len(lengths) // slots * slots
    rest = lengths[-1] if len(lengths) > whole else 0
    return _steps(lengths, slots) | {"static": _static(lengths[:whole], slots) + rest}


def _steps_exchanged(lengths, slots):
    right = _steps(lengths, slots)
    return {"static": right["continuous"], "continuous": right["static"]}


def _draw_steps(rng):
    """Unequal lengths in no order, three to six full groups of them, two with the same longest, and a last one that is
    not full: a single answer, or three or more, of which the longest is neither the first nor the last."""
    slots = rng.randrange(4, 7)
    answers = rng.randrange(3, 7) * slots
    lengths = [rng.choice([rng.randrange(1, 6), rng.randrange(20, 90)]) for _ in range(answers)]
    lengths[0] = lengths[slots] = rng.randrange(90, 99)
    rest = [rng.randrange(30, 60)]
    if rng.random() < 0.5:
        rest = [rng.randrange(1, 30), *rest, *(rng.randrange(1, 30) for _ in range(rng.randrange(1, slots - 2)))]
    return lengths + rest, slots


# ---- q11.finish-times ----------------------------------------------------------------------------


def _batches(arrivals, step, each, most, late=False, limit=True, busy=True):
    """Finish times of greedy batches, with slips: an arrival at the start is late, no limit, the model is never busy."""
    finishes, free, first = [], 0, 0
    while first < len(arrivals):
        start = max(free, arrivals[first]) if busy else arrivals[first]
        last = first + 1
        while last < len(arrivals) and (last - first < most or not limit):
            if arrivals[last] > start or (late and arrivals[last] == start):
                break
            last += 1
        free = start + step + each * (last - first)
        finishes += [free] * (last - first)
        first = last
    return finishes


def _finish_times(arrivals, step, each, most):
    finishes, start, size, free = [], 0, 0, 0
    for came in arrivals:
        if 0 < size < most and came <= start:
            size += 1
        else:
            if size:
                free = start + step + each * size
            finishes += [free] * size
            start, size = max(free, came), 1
    return finishes + [start + step + each * size] * size


def _finish_as_given(arrivals, step, each, most):
    whole = [arrivals[first : first + most] for first in range(0, len(arrivals) - most + 1, most)]
    return [group[-1] + step + each * most for group in whole for _ in group]


def _finish_full(arrivals, step, each, most):
    """Waits for a full batch, runs one after the other, and answers the rest at the end."""
    finishes, free = [], 0
    for first in range(0, len(arrivals), most):
        group = arrivals[first : first + most]
        free = max(free, group[-1]) + step + each * len(group)
        finishes += [free] * len(group)
    return finishes


def _finish_idle_all(arrivals, step, each, most):
    """Where the model was idle, all that come at that moment are taken, however many."""
    finishes, free, first = [], 0, 0
    while first < len(arrivals):
        start = max(free, arrivals[first])
        size = sum(came <= start for came in arrivals[first:])
        size = size if arrivals[first] > free else min(size, most)
        free = start + step + each * size
        finishes += [free] * size
        first += size
    return finishes


def _finish_padded(arrivals, step, each, most):
    """Every batch takes as long as a full one."""
    return _batches(arrivals, step + each * most, 0, most)


def _draw_finish(rng):
    """A lone request, a rush of more than a batch in which one comes at the very moment when a batch starts, and a few
    that come when the model has long been free, of the last more than a batch together. Of a long rush two that come
    together are in different batches. All times in multiples of 9/32 ms: exact, and on no grid of ticks."""
    most, step, each = rng.randrange(2, 5), rng.randrange(20, 40), rng.randrange(1, 5)
    start = rng.randrange(1, 9)
    done = start + step + each
    rush = sorted(start + rng.randrange(1, step) for _ in range(rng.choice([most - 2, 2 * most + 1])))
    if len(rush) > most:
        rush[most] = rush[most - 1]
    later = done + 6 * (step + each * most)
    tail = [later, later + 1, later + rng.randrange(2, step), later + step + each]
    last = later + 10 * (step + each * most)
    arrivals = [start, *rush, done, *tail, *[last] * (most + 1), last + 1, last + 2]
    return [came * 9 / 32 for came in arrivals], step * 9 / 32, each * 9 / 32, most


# ---- q11.servers ---------------------------------------------------------------------------------


def _servers(rate, service, limit):
    room = 1 - service * log(100) / limit
    return ceil(rate * service / room) if room > 0 else None


def _servers_of_mean(rate, service, limit):
    room = 1 - service / limit
    return ceil(rate * service / room) if room > 0 else None


def _servers_log10(rate, service, limit):
    room = 1 - service * 2 / limit
    return ceil(rate * service / room) if room > 0 else None


def _servers_down(rate, service, limit):
    room = 1 - service * log(100) / limit
    return floor(rate * service / room) if room > 0 else None


def _servers_busy_only(rate, service, limit):
    return ceil(rate * service) if service * log(100) < limit else None


def _servers_zero(rate, service, limit):
    return _servers(rate, service, limit) or 0


def _servers_negative(rate, service, limit):
    return ceil(rate * service / (1 - service * log(100) / limit))


def _draw_servers(rng):
    """A promise that can be kept with some servers, or with hundreds or thousands, or a service whose own p99 is above
    the limit. The quotient is no whole number, nor near one."""
    while True:
        service = rng.uniform(0.05, 2)
        ratio, busy = rng.choice([(rng.uniform(1.1, 3), 20), (rng.uniform(2, 3), 700)])
        if rng.random() < 0.5:
            ratio = rng.uniform(0.5, 0.9)
        limit, rate = service * log(100) * ratio, rng.uniform(busy / 3, 2 * busy) / service
        if 0.1 < rate * service / (1 - service * log(100) / limit) % 1 < 0.9:
            return rate, service, limit


# ---- q11.accept-and-residual ---------------------------------------------------------------------


def _accept(p, q):
    left = [max(0.0, large - drafted) for large, drafted in zip(p, q, strict=True)]
    refused = sum(left)
    acceptance = sum(min(a, b) for a, b in zip(p, q, strict=True))
    return {"acceptance": acceptance, "residual": [x / refused for x in left] if refused else None}


def _accept_from_p_always(p, q):
    return _accept(p, q) | {"residual": list(p)}


def _accept_from_p(p, q):
    return _accept(p, q) if p == q else _accept_from_p_always(p, q)


def _accept_not_normalised_zeros(p, q):
    return _accept(p, q) | {"residual": [max(0.0, a - b) for a, b in zip(p, q, strict=True)]}


def _accept_not_normalised(p, q):
    return _accept(p, q) if p == q else _accept_not_normalised_zeros(p, q)


def _accept_absolute(p, q):
    apart = [abs(a - b) for a, b in zip(p, q, strict=True)]
    whole = sum(apart)
    return _accept(p, q) | {"residual": [x / whole for x in apart] if whole else None}


def _accept_product(p, q):
    return _accept(p, q) | {"acceptance": sum(a * b for a, b in zip(p, q, strict=True))}


def _accept_unweighted(p, q):
    kept = [min(1.0, a / b) for a, b in zip(p, q, strict=True)]
    return _accept(p, q) | {"acceptance": sum(kept) / len(kept)}


def _accept_swapped(p, q):
    return _accept(q, p)


def _accept_zeros(p, q):
    right = _accept(p, q)
    return right | {"residual": right["residual"] or [0.0] * len(p)}


def _draw_accept(rng):
    """Two distributions in steps of 1/64, some with the same numbers in another order, of which three may stay in place;
    two that hardly differ; or the same one twice."""
    if rng.random() < 0.45:
        p = rng.choice([[0.5, 0.25, 0.25], [0.125, 0.375, 0.5]])
        return p, list(p)
    while True:
        p, q = ([rng.randrange(2, 20) for _ in range(4)] for _ in range(2))
        p, q = ([*some, 64 - sum(some)] for some in (p, q))
        near = [p[0] - 0.5, p[1] + 0.5, *p[2:]]
        q = rng.choice([q, q, near, near, [*p[1:], p[0]], [p[1], p[0], *p[2:]], [*p[:3], p[4], p[3]]])
        if min(*p, *q) > 0 and p != q:
            return [a / 64 for a in p], [b / 64 for b in q]


CHECKS = [
    Check(
        id="q11.turn-step",
        points=0,
        signature="step_seconds(batch, weights, cache, parameters, peak, bandwidth)",
        public=[
            (1, 16e9, 134e6, 8e9, 989e12, 3.35e12),
            (64, 16e9, 134e6, 8e9, 989e12, 3.35e12),
            (1000, 16e9, 134e6, 8e9, 989e12, 3.35e12),
            (4, 2e9, 50e6, 1e9, 312e12, 1.555e12),
            (500, 52e9, 819e6, 13e9, 312e12, 1.555e12),
            (8, 26e9, 819e6, 13e9, 312e12, 1.555e12),
            (2000, 16e9, 1e6, 8e9, 989e12, 3.35e12),
            (250, 16e9, 134e6, 8e9, 989e12, 3.35e12),
            (200, 8e9, 134e6, 8e9, 989e12, 3.35e12),
        ],
        generate=_draw_step,
        reference=_step_seconds,
        wrong={
            "bytes only": lambda batch, weights, cache, parameters, peak, bandwidth: (
                (weights + batch * cache) / bandwidth
            ),
            "one maximum": _step_one_maximum,
            "all added": _step_all_added,
            "one cache": lambda batch, weights, cache, parameters, peak, bandwidth: (
                max(weights / bandwidth, 2 * batch * parameters / peak) + cache / bandwidth
            ),
            "weights each": lambda batch, weights, cache, parameters, peak, bandwidth: (
                batch * cache / bandwidth + max(batch * weights / bandwidth, 2 * batch * parameters / peak)
            ),
            "one FLOP": lambda batch, weights, cache, parameters, peak, bandwidth: (
                batch * cache / bandwidth + max(weights / bandwidth, batch * parameters / peak)
            ),
        },
    ),
    Check(
        id="q11.turn-wait",
        points=0,
        signature="mean_wait(rate, service, scv)",
        public=[(0.8, 1.0, 1.0), (0.8, 1.0, 0.0), (0.19, 5.0, 1.0), (30.0, 0.02, 4.0)],
        generate=_draw_wait,
        reference=_mean_wait,
        wrong={
            "with service": lambda rate, service, scv: _mean_wait(rate, service, scv) + service,
            "without the 1 −": lambda rate, service, scv: rate * service * (1 + scv) / 2 * service,
            "in services": lambda rate, service, scv: _mean_wait(rate, service, scv) / service,
            "always random": lambda rate, service, scv: _mean_wait(rate, service, 1.0),
            "never random": lambda rate, service, scv: _mean_wait(rate, service, 0.0),
            "not halved": lambda rate, service, scv: 2 * _mean_wait(rate, service, scv),
            "upside down": lambda rate, service, scv: (1 - rate * service) / (rate * service) * (1 + scv) / 2 * service,
        },
    ),
    Check(
        id="q11.turn-round",
        points=0,
        signature="tokens_a_round(acceptance, drafted)",
        public=[(0.8, 4), (0.5, 1), (0.65, 8), (0.9, 0), (0.7, 3)],
        generate=lambda rng: (rng.randrange(20, 95) / 100, rng.randrange(2, 9)),
        reference=_tokens_a_round,
        wrong={
            "kept only": lambda acceptance, drafted: _tokens_a_round(acceptance, drafted) - 1,
            "each alone": lambda acceptance, drafted: acceptance * drafted + 1,
            "mean of drafted": lambda acceptance, drafted: acceptance * drafted,
            "one short": lambda acceptance, drafted: sum(acceptance**k for k in range(drafted)),
            "all or none": lambda acceptance, drafted: 1 + drafted * acceptance**drafted,
        },
    ),
    Check(
        id="q11.in-flight",
        points=2,
        signature="in_flight(arrivals, finishes)",
        public=[
            ([0, 1, 1, 2], [4, 5, 5, 6]),
            ([3, 1, 20, 21, 2], [5, 4, 23, 26, 9]),
            ([10, 11, 30, 31], [50, 12, 33, 38]),
            ([105, 100, 101, 109], [109, 130, 121, 111]),
            ([0.1, 1.37, 3.0], [2.0, 4.505, 3.75]),
            ([2.5], [4.5]),
        ],
        generate=_draw_in_flight,
        reference=_in_flight,
        wrong={
            "mean latency": lambda arrivals, finishes: _total(arrivals, finishes) / len(arrivals),
            "from zero": lambda arrivals, finishes: _total(arrivals, finishes) / max(finishes),
            "until the last arrival": lambda arrivals, finishes: (
                _total(arrivals, finishes) / (max(arrivals) - min(arrivals) or 1)
            ),
            "seen by arrivals": _seen_by_arrivals,
            "share busy": _share_busy,
            "last listed": lambda arrivals, finishes: _total(arrivals, finishes) / (finishes[-1] - arrivals[0] or 1),
        },
    ),
    Check(
        id="q11.steps",
        points=3,
        signature="steps(lengths, slots)",
        public=[
            ([100, 10, 10, 10], 2),
            ([9, 1, 1, 8, 7], 2),
            ([5, 5, 5, 5], 4),
            ([90, 2, 3, 40, 4, 5, 6, 50, 1, 35], 3),
            ([7], 3),
            ([4, 2, 7], 1),
            ([9, 7, 1, 9, 8, 7, 5], 3),
            ([6, 2, 8, 3, 1, 9, 4], 4),
            ([3, 30, 4, 4, 25, 6, 8, 8, 2, 40, 1, 1, 19], 2),
            ([4, 9, 2, 2, 7, 7, 1, 8, 30, 5, 5, 3, 6, 6, 2, 9, 4, 1, 8, 3, 2, 5, 7, 20], 2),  # twelve groups
        ],
        generate=_draw_steps,
        reference=_steps,
        same=EXACT,
        wrong={
            "mean for longest": _steps_by_mean,
            "full batches only": _steps_full_only,
            "sorted": _steps_sorted,
            "evenly shared": _steps_shared,
            "dealt in turn": _steps_dealt,
            "last of the rest": _steps_last_of_rest,
            "exchanged": _steps_exchanged,
        },
    ),
    Check(
        id="q11.finish-times",
        points=4,
        signature="finish_times(arrivals, step, each, most)",
        public=[
            ([5], 10, 1, 4),
            ([2, 3, 20, 21], 5, 1, 1),
            ([0, 1, 2, 3, 4, 5], 10, 2, 2),
            ([0, 2, 2, 4, 11, 12, 40, 90], 10, 1, 8),
            ([0.25, 0.5, 0.75, 8.5, 8.5, 20.75], 2.5, 0.25, 2),
            ([0.00025, 0.0005, 0.00075, 0.0085, 0.0085, 0.02075], 0.0025, 0.00013, 2),
            ([3, 4, 5, 6, 6, 8, 9, 36, 300, 300, 301, 310], 30, 3, 3),
            ([0, 50, 50, 50, 50, 50], 10, 1, 3),
            ([7, 7, 7, 8, 9, 9, 9, 10, 10, 11, 12, 12, 40], 10, 1, 12),  # three come first; nine are in one batch
        ],
        generate=_draw_finish,
        reference=_finish_times,
        wrong={
            "as given": _finish_as_given,
            "waits for a full batch": _finish_full,
            "never busy": lambda arrivals, step, each, most: _batches(arrivals, step, each, most, busy=False),
            "no limit": lambda arrivals, step, each, most: _batches(arrivals, step, each, most, limit=False),
            "no limit when idle": _finish_idle_all,
            "one at a time": lambda arrivals, step, each, most: _batches(arrivals, step, each, 1),
            "late at the start": lambda arrivals, step, each, most: _batches(arrivals, step, each, most, late=True),
            "always full price": _finish_padded,
            "size ignored": lambda arrivals, step, each, most: _batches(arrivals, step + each, 0, most),
        },
    ),
    Check(
        id="q11.servers",
        points=3,
        signature="servers(rate, service, limit)",
        public=[
            (10, 0.5, 5.0),
            (10, 0.5, 2.0),
            (40, 0.5, 3.0),
            (0.1, 0.5, 5.0),
            (300, 0.1, 0.6),
            (1450, 0.5, 6.0),
            (3500, 0.5, 6.0),
            (1.8, 0.5, 5.0),  # a load below that of one server, which one does not serve in time
            (19.1, 0.5, 100.0),  # a promise that allows more than 95 % busy
            (1115, 0.8, 6.0),  # just above a whole number: 4.605 for ln 100, or four decimals, gives one less
            (61, 0.8, 4.0),  # just below a whole number: 4.6052 for ln 100 gives one more
        ],
        generate=_draw_servers,
        reference=_servers,
        same=EXACT,
        wrong={
            "the mean": _servers_of_mean,
            "log10": _servers_log10,
            "rounded down": _servers_down,
            "enough to be busy": _servers_busy_only,
            "zero for never": _servers_zero,
            "negative": _servers_negative,
        },
    ),
    Check(
        id="q11.accept-and-residual",
        points=3,
        signature="accept_and_residual(p, q)",
        public=[
            ([0.5, 0.3, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25]),
            ([0.5, 0.5], [0.5, 0.5]),
            ([0.125, 0.625, 0.25], [0.5, 0.125, 0.375]),
            ([0.109375, 0.890625], [0.890625, 0.109375]),  # an acceptance that three decimals do not hold
            ([0.25, 0.5, 0.125, 0.125], [0.25, 0.125, 0.5, 0.125]),
            ([0.5, 0.1, 0.25, 0.15], [0.2, 0.3, 0.1, 0.4]),
            ([0.5, 0.25, 0.25], [0.498, 0.252, 0.25]),
        ],
        generate=_draw_accept,
        reference=_accept,
        same=Close(rel=1e-4, abs=1e-6),
        wrong={
            "from p": _accept_from_p,
            "from p always": _accept_from_p_always,
            "not normalised": _accept_not_normalised,
            "not normalised, zeros": _accept_not_normalised_zeros,
            "absolute difference": _accept_absolute,
            "product": _accept_product,
            "unweighted": _accept_unweighted,
            "exchanged": _accept_swapped,
            "zeros": _accept_zeros,
        },
    ),
]
