"""Checks of Q20, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import ceil, floor

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q20.bytes-sent ------------------------------------------------------------------------------

_ONCE = ("all_gather", "reduce_scatter", "all_to_all")


def _sent(kind, nbytes, ranks):
    if kind == "send":
        return nbytes
    return (2 if kind == "all_reduce" else 1) * (ranks - 1) / ranks * nbytes


def _sent_every_twice(kind, nbytes, ranks):
    return nbytes if kind == "send" else 2 * (ranks - 1) / ranks * nbytes


def _sent_by_hops(kind, nbytes, ranks):
    return ranks / 2 * nbytes if kind == "all_reduce" else _sent(kind, nbytes, ranks)


def _sent_whole(kind, nbytes, ranks):
    return {"all_reduce": 2, "send": 1}.get(kind, 1) * nbytes


def _sent_to_everyone(kind, nbytes, ranks):
    return nbytes if kind == "send" else (ranks - 1) * nbytes * (2 if kind == "all_reduce" else 1)


def _sent_handed_on(kind, nbytes, ranks):
    """An all-to-all whose chunks travel round the ring to their ranks."""
    return (ranks - 1) / 2 * nbytes if kind == "all_to_all" else _sent(kind, nbytes, ranks)


def _total_of(calls, ranks, one):
    return sum(one(kind, nbytes, ranks) for kind, nbytes in calls)


def _calls(one):
    return lambda calls, ranks: _total_of(calls, ranks, one)


def _bytes_sent(calls, ranks):
    total = 0
    for kind, nbytes in calls:
        total += nbytes if kind == "send" else (2 if kind == "all_reduce" else 1) * (ranks - 1) / ranks * nbytes
    return total


def _draw_calls(rng):
    """Every kind at least once, in any order, with unlike sizes; now and then one rank has nobody to send to."""
    kinds = ["all_reduce", *_ONCE, "send"]
    ranks = rng.choice([3, 4, 6, 8, 16, 64])
    calls = [[kind, rng.randrange(1, 900) * 1000 * ranks] for kind in kinds + rng.choices(kinds, k=rng.randrange(0, 4))]
    if rng.random() < 0.5:
        calls.append(list(rng.choice(calls)))  # a call that is made twice
    rng.shuffle(calls)
    return calls, ranks


# ---- q20.proportional-shares ---------------------------------------------------------------------


def _shares(speeds, batch):
    whole = sum(speeds)
    floors = [batch * speed // whole for speed in speeds]
    rests = [batch * speed % whole for speed in speeds]
    order = sorted(range(len(speeds)), key=lambda place: (-rests[place], place))
    for place in order[: batch - sum(floors)]:
        floors[place] += 1
    return floors


def _shares_equal(speeds, batch):
    return _shares([1] * len(speeds), batch)


def _shares_rounded(speeds, batch):
    return [floor(batch * speed / sum(speeds) + 0.5) for speed in speeds]


def _shares_floored(speeds, batch):
    return [batch * speed // sum(speeds) for speed in speeds]


def _shares_rest_first(speeds, batch):
    """What is left goes to the first ranks."""
    found = _shares_floored(speeds, batch)
    for place in range(batch - sum(found)):
        found[place] += 1
    return found


def _shares_rest_fastest(speeds, batch):
    """All that is left goes to the fastest rank."""
    found = _shares_floored(speeds, batch)
    found[speeds.index(max(speeds))] += batch - sum(found)
    return found


def _shares_upside_down(speeds, batch):
    scale = 1
    for speed in speeds:
        scale *= speed
    return _shares([scale // speed for speed in speeds], batch)


def _draw_shares(rng):
    """Draws in which all of the plausible rules differ: some rest, which is not all for the first or the fastest."""
    while True:
        speeds = [rng.randrange(1, 40) for _ in range(rng.randrange(3, 7))]
        if rng.random() < 0.5:
            speeds[-1] = speeds[0]
        batch = rng.randrange(8, 200)
        right = _shares(speeds, batch)
        wrong = (
            _shares_equal,
            _shares_rounded,
            _shares_floored,
            _shares_rest_first,
            _shares_rest_fastest,
            _shares_upside_down,
        )
        if all(other(speeds, batch) != right for other in wrong):
            return speeds, batch


# ---- q20.zero-traffic ----------------------------------------------------------------------------


def _halves(stage, microbatches):
    return {0: 2, 1: 2, 2: microbatches + 1, 3: 3 * microbatches}[stage]


def _zero(params, stage, ranks, microbatches):
    return 2 * params * (ranks - 1) / ranks * _halves(stage, microbatches)


def _zero_with(halves, size=2):
    return lambda params, stage, ranks, microbatches: size * params * (ranks - 1) / ranks * halves(stage, microbatches)


# ---- q20.microbatches-for ------------------------------------------------------------------------


def _microbatches(stages, percent):
    return max(1, -(-(stages - 1) * (100 - percent) // percent))


# ---- the lesson's own: one line each --------------------------------------------------------------


def _rate(speeds, shares):
    return sum(shares) / max(share / speed for share, speed in zip(shares, speeds, strict=True))


def _draw_rate(rng):
    speeds = [rng.randrange(20, 400) for _ in range(rng.randrange(2, 6))]
    if len(speeds) > 3 and rng.random() < 0.5:
        speeds[3] = speeds[2]
    shares = [rng.randrange(1, 30) for _ in speeds]
    if len(shares) > 3 and rng.random() < 0.5:
        shares[3] = shares[2]
    speeds[0], shares[0] = max(speeds) + 7, max(shares) + 3  # the fastest is not always the first to be ready
    return speeds, shares


def _ring(nbytes, ranks):
    return 2 * (ranks - 1) / ranks * nbytes


def _idle(stages, microbatches):
    return (stages - 1) / (microbatches + stages - 1)


CHECKS = [
    Check(
        id="q20.turn-rate",
        points=0,
        signature="job_rate(speeds, shares)",
        public=[
            ([312, 312, 125, 125], [1, 1, 1, 1]),
            ([312, 312, 125, 125], [312, 312, 125, 125]),
            ([100, 50], [3, 1]),
            ([100, 50], [1, 1]),
            ([80], [5]),
            ([10, 40, 20], [1, 8, 3]),
            ([40, 10, 10], [8, 3, 1]),  # of two equal ranks the first is ready last
            ([10, 10, 40], [1, 3, 3]),  # here the second; and of two equal shares the first
        ],
        generate=_draw_rate,
        reference=_rate,
        wrong={
            "sum of speeds": lambda speeds, shares: sum(speeds),
            "slowest rank": lambda speeds, shares: len(speeds) * min(speeds),
            "seconds": lambda speeds, shares: 1 / _rate(speeds, shares),
            "one after the other": lambda speeds, shares: (
                sum(shares) / sum(share / speed for share, speed in zip(shares, speeds, strict=True))
            ),
            "first to be ready": lambda speeds, shares: (
                sum(shares) / min(share / speed for share, speed in zip(shares, speeds, strict=True))
            ),
        },
    ),
    Check(
        id="q20.turn-ring",
        points=0,
        signature="ring(nbytes, ranks)",
        public=[(8_000_000, 8), (1_000, 4), (14e9, 64), (601, 3), (1_001, 4), (5, 2), (1_000, 1)],
        generate=lambda rng: (rng.randrange(1, 900) * 10**5, rng.choice([3, 4, 5, 8, 16, 40])),
        reference=_ring,
        wrong={
            "half the ranks": lambda nbytes, ranks: ranks / 2 * nbytes,
            "once round": lambda nbytes, ranks: _ring(nbytes, ranks) / 2,
            "to everyone": lambda nbytes, ranks: 2 * (ranks - 1) * nbytes,
            "twice the buffer": lambda nbytes, ranks: 2 * nbytes,
        },
    ),
    Check(
        id="q20.turn-idle",
        points=0,
        signature="idle(stages, microbatches)",
        public=[(4, 4), (4, 1), (8, 63), (1, 3), (16, 32)],
        generate=lambda rng: (rng.randrange(3, 30), rng.randrange(2, 100)),
        reference=_idle,
        wrong={
            "over busy": lambda stages, microbatches: (stages - 1) / microbatches,
            "busy": lambda stages, microbatches: microbatches / (microbatches + stages - 1),
            "all stages": lambda stages, microbatches: stages / (microbatches + stages),
            "one slot": lambda stages, microbatches: 1 / (microbatches + 1),
        },
    ),
    Check(
        id="q20.bytes-sent",
        points=2,
        signature="bytes_sent(calls, ranks)",
        public=[
            ([["all_reduce", 8_000_000]], 8),
            ([["all_gather", 8_000_000]], 8),
            ([["reduce_scatter", 1_200]], 4),
            ([["all_to_all", 1_200], ["send", 500]], 5),
            ([["all_gather", 400], ["all_gather", 400], ["reduce_scatter", 400], ["all_reduce", 40]], 4),
            ([], 4),
            ([["send", 700], ["all_gather", 400], ["send", 300]], 2),
            ([["all_reduce", 1_000], ["all_gather", 500]], 1),
            ([["all_reduce", 600], ["all_to_all", 200]], 2),
        ],
        generate=_draw_calls,
        reference=_bytes_sent,
        same=Close(rel=1e-5, abs=1e-3),
        wrong={
            "half the ranks": _calls(_sent_by_hops),
            "all of it twice": _calls(_sent_every_twice),
            "whole buffers": _calls(_sent_whole),
            "to everyone": _calls(_sent_to_everyone),
            "handed on": _calls(_sent_handed_on),
            "of all ranks": lambda calls, ranks: ranks * _calls(_sent)(calls, ranks),
        },
    ),
    Check(
        id="q20.proportional-shares",
        points=3,
        signature="proportional_shares(speeds, batch)",
        public=[
            ([125, 125, 312, 312], 64),
            ([1, 2, 4], 10),
            ([3, 3, 3], 64),
            ([5, 5, 1], 10),
            ([7], 5),
            ([2, 1], 3),
            ([9, 9, 1], 2),
            ([1, 1, 30], 4),
            ([4, 10, 10, 3], 11),
            ([16, 7, 1], 56),
            ([1, 7, 16], 56),
            ([3, 8, 27], 192),
            ([3, 18, 3, 2, 1, 3, 2], 175),
            ([2, 17, 35, 18, 34, 17], 122),  # remainders that differ by less than a hundredth
            ([48 * 10**10, 48 * 10**10 + 1, 5 * 10**10], 1),  # remainders that rounding makes equal
            ([1, 2] * 9, 20),  # more ranks than a sort that is not stable leaves in their order
        ],
        generate=_draw_shares,
        reference=_shares,
        same=EXACT,
        wrong={
            "equal": _shares_equal,
            "rounded": _shares_rounded,
            "rounded down": _shares_floored,
            "rest to the first": _shares_rest_first,
            "rest to the fastest": _shares_rest_fastest,
            "upside down": _shares_upside_down,
        },
    ),
    Check(
        id="q20.zero-traffic",
        points=3,
        signature="zero_traffic(params, stage, ranks, microbatches)",
        public={
            "stages 0 and 1": [
                (10**9, 0, 64, 1),
                (10**9, 0, 64, 4),
                (10**9, 1, 64, 4),
                (10**9, 1, 8, 1),
                (10**6, 0, 1, 4),
                (10**9, 0, 2, 3),
            ],
            "stage 2": [(10**9, 2, 64, 4), (10**9, 2, 64, 1), (10**6, 2, 1, 4), (10**9, 2, 4, 2)],
            "stage 3": [(10**9, 3, 64, 1), (10**9, 3, 64, 4), (10**6, 3, 1, 2), (10**9, 3, 2, 8)],
        },
        generate=lambda rng, group: (
            rng.randrange(1, 900) * 10**6,
            {"stages 0 and 1": rng.choice([0, 1]), "stage 2": 2, "stage 3": 3}[group],
            rng.choice([2, 4, 8, 16, 64]),
            rng.randrange(3, 17),
        ),
        groups={"stages 0 and 1": 1, "stage 2": 1, "stage 3": 1},
        reference=_zero,
        same=Close(rel=1e-5, abs=1e-3),
        wrong={
            "microbatches forgotten": _zero_with(lambda stage, m: _halves(stage, 1), size=2),
            "an all-reduce for each": _zero_with(lambda stage, m: 2 * m),
            "always an all-reduce": _zero_with(lambda stage, m: 2),
            "bytes of fp32": _zero_with(_halves, size=4),
        },
    ),
    Check(
        id="q20.microbatches-for",
        points=2,
        signature="microbatches_for(stages, percent)",
        public=[
            (8, 10),
            (4, 50),
            (16, 5),
            (2, 90),
            (1, 10),
            (5, 7),
            (12, 30),
            (3, 99),
            (4, 75),
            (18, 85),
            (29, 56),
            (22, 35),
            (16, 3),
            (8, 25),  # here and below: fractions that are rounded on the way
            (2, 2),
            (40, 65),
            (8, 3),  # with one microbatch less the share is 3.004 %
            (1608, 77),  # and here 77.0005 %
            (40, 5),
            (30, 29),  # here and below: the share is just so large, and percent / 100 is rounded
            (22, 42),
            (4, 60),
        ],
        generate=lambda rng: (rng.randrange(3, 40), rng.randrange(5, 40)),
        reference=_microbatches,
        same=EXACT,
        wrong={
            "idle over busy": lambda stages, percent: ceil((stages - 1) * 100 / percent),
            "stages over idle": lambda stages, percent: ceil(stages * 100 / percent),
            "rounded down": lambda stages, percent: max(1, (stages - 1) * (100 - percent) // percent),
            "one too few": lambda stages, percent: _microbatches(stages, percent) - 1,
            "all stages": lambda stages, percent: ceil(stages * (100 - percent) / percent),
        },
    ),
]
