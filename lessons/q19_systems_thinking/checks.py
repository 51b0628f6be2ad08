"""Checks of Q19, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from itertools import pairwise

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- the lesson's own: one line each --------------------------------------------------------------


def _moved(own, slowest, delta):
    return max(0, own + delta - slowest)


def _draw_moved(rng):
    """Slack that swallows all of what is added, or a part, and seldom none."""
    own, left = rng.randrange(4, 120) / 2, rng.randrange(4, 80) / 2
    kind = rng.random()
    if kind < 0.03:
        return own, own, left
    return own, own + left, (rng.randrange(1, round(2 * left)) / 2 if kind < 0.515 else left + rng.randrange(1, 80) / 2)


def _worth(part, speedup, chance, days):
    return part * (1 - 1 / speedup) * chance / days


def _suspect(step, after):
    return min(after, key=after.get) if min(after.values()) < 0.8 * step else "not in time"


CURES = ("input ready", "whole batch", "fp32", "nothing after")


def _suspect_first(step, after):
    """The first remedy that saves enough, not the best."""
    return next((cure for cure, ms in after.items() if ms < 0.8 * step), "not in time")


def _suspect_below_80(step, after):
    """As if the step were 100."""
    return min(after, key=after.get) if min(after.values()) < 80 else "not in time"


def _draw_suspect(rng):
    """No remedy saves a fifth, or one does and mostly one before it as well, but less; seldom just a fifth."""
    step = 5 * rng.randrange(40, 100)
    after = {cure: step * rng.uniform(0.83, 1.2) for cure in CURES}
    kind = rng.random()
    if kind < 0.44:
        after[rng.choice(CURES)] = step * rng.uniform(0.82, 0.9)
        return step, after
    if kind < 0.47:
        return step, {**after, rng.choice(CURES): 4 * step // 5}
    worse, best = sorted(rng.sample(range(4), 2))
    if rng.random() < 0.06:
        worse, best = best, worse
    after[CURES[best]] = step * rng.uniform(0.41, 0.7)
    if rng.random() < 0.94:
        after[CURES[worse]] = step * rng.uniform(0.72, 0.78)
    return step, after


# ---- q19.step-ms ---------------------------------------------------------------------------------


def _step_ms(stages):
    return max((ms / workers for _, ms, workers, over in stages if over), default=0) + sum(
        ms for _, ms, _, over in stages if not over
    )


def _step_all(stages):
    return sum(ms / workers if over else ms for _, ms, workers, over in stages)


def _step_hidden(stages):
    return max(ms / workers if over else ms for _, ms, workers, over in stages)


def _step_no_workers(stages):
    return _step_ms([[name, ms, 1, over] for name, ms, _, over in stages])


def _step_no_pause(stages):
    return max((ms / workers for _, ms, workers, over in stages if over), default=0)


def _step_long_pause(stages):
    """The longest pause only."""
    return max((ms / workers for _, ms, workers, over in stages if over), default=0) + max(
        (ms for _, ms, _, over in stages if not over), default=0
    )


def _step_slowest_of_all(stages):
    """The slowest of all stages, whether it overlaps or not, and on top of it the others that do not."""
    slowest = max(stages, key=lambda stage: stage[1] / stage[2] if stage[3] else stage[1])
    alone = slowest[1] / slowest[2] if slowest[3] else slowest[1]
    return alone + sum(stage[1] for stage in stages if not stage[3] and stage is not slowest)


def _step_rest_divided(stages):
    return max((ms / workers for _, ms, workers, over in stages if over), default=0) + sum(
        ms / workers for _, ms, workers, over in stages if not over
    )


def _draw_stages(rng):
    """Two to five that overlap, seldom none, and none to three that do not, often one of them longer than all others; of
    those that overlap the slowest is seldom the one with the longest ms. Half of them in µs, for whoever rounds.
    """
    part, overlapping = rng.choice([2, 2000]), rng.randrange(2, 6) if rng.random() < 0.95 else 0
    names = ["load", "decode", "copy", "compute", "augment"]
    stages = [
        [name, rng.randrange(2, 240) / part, rng.choice([1, 1, 2, 3, 4, 8]), True] for name in names[:overlapping]
    ]
    for name in ["sync", "exchange", "log"][: rng.choice([0, 1, 2, 3, 3] if overlapping else [2, 3])]:
        stages.append([name, rng.randrange(2, rng.choice([60, 900])) / part, rng.choice([1, 1, 2, 4]), False])
    rng.shuffle(stages)
    return (stages,)


# ---- q19.classify --------------------------------------------------------------------------------


def _classify(base, changed):
    saved = {name: base - ms for name, ms in changed.items() if name != "half the bytes"}
    best = max(saved, key=saved.get)
    if saved[best] > 0.2 * base:
        return best
    return "memory" if base - changed["half the bytes"] > 0.2 * base else "compute"


def _classify_bytes_first(base, changed):
    if base - changed["half the bytes"] > 0.2 * base:
        return "memory"
    return _classify(base, changed)


def _classify_no_memory(base, changed):
    return _classify(base, {**changed, "half the bytes": base})


def _classify_largest(base, changed):
    """No threshold."""
    best = min(changed, key=changed.get)
    return "memory" if best == "half the bytes" else best


def _classify_20_ms(base, changed):
    """As if the step were 100 ms."""
    best = min(REMOVED, key=changed.get)
    if base - changed[best] > 20:
        return best
    return "memory" if base - changed["half the bytes"] > 20 else "compute"


def _classify_first(base, changed):
    """The first removal that saves enough, not the best."""
    enough = [name for name, ms in changed.items() if name != "half the bytes" and base - ms > 0.2 * base]
    return enough[0] if enough else _classify(base, changed)


REMOVED = ("input", "launches", "copies", "synchronisation")


def _classify_last(base, changed):
    """The last removal that saves enough, not the best."""
    return _classify_first(base, dict(reversed(changed.items())))


def _draw_changed(rng):
    """The best of the four is never shared by two."""
    while True:
        base, changed = _draw_any_changed(rng)
        best, second = sorted(changed[name] for name in REMOVED)[:2]
        if best < second:
            return base, changed


def _draw_any_changed(rng):
    """Memory alone, something else saving less than a fifth; or something removed, mostly between two others that save
    less, beside half the bytes that saves more. Now and then half the bytes saves just above a fifth, or less, but more
    than 20 ms; or nothing saves enough, or just a fifth.
    """
    base = 10 * rng.randrange(15, 60)
    fifth, low = 8 * base // 10, base // 4
    changed = {name: rng.randrange(fifth, base + 4) for name in rng.sample(REMOVED, 4)}
    kind, half = rng.random(), base
    if kind < 0.48:
        half = rng.randrange(79 * base // 100 + 1 if kind < 0.04 else low, fifth)
        changed[rng.choice(REMOVED)] = rng.randrange(fifth, base - 20)
    elif kind < 0.955:
        half = rng.randrange(low, fifth - 3)
        before, best, behind = sorted(rng.sample(range(4), 3))
        if rng.random() < 0.1:
            before, best, behind = rng.choice([(best, before, behind), (before, behind, best)])
        names = list(changed)
        changed[names[best]] = rng.randrange(half + 1, fifth - 1)
        for worse in (before, behind):
            changed[names[worse]] = rng.randrange(changed[names[best]] + 1, fifth)
    elif kind < 0.97:
        half = rng.randrange(fifth + 1, base - 20)
    elif kind < 0.985:
        half = fifth
    else:
        changed[rng.choice(REMOVED)] = fifth
    items = list(changed.items())
    items.insert(rng.randrange(1, 5), ("half the bytes", half))
    return base, dict(items)


# ---- q19.best-order ------------------------------------------------------------------------------


def _best_order(parts, fixes):
    parts, left, order = dict(parts), [list(fix) for fix in fixes], []
    while left:
        best = max(left, key=lambda fix: _worth(parts[fix[1]], *fix[2:]))
        left.remove(best)
        parts[best[1]] /= best[2]
        order.append(best[0])
    return order


def _order_once(parts, fixes):
    return [fix[0] for fix in sorted(fixes, key=lambda fix: -_worth(parts[fix[1]], *fix[2:]))]


def _order_with(chance=True, days=True):
    def order(parts, fixes):
        return _best_order(parts, [[n, p, s, c if chance else 1, d if days else 1] for n, p, s, c, d in fixes])

    return order


def _order_part(parts, fixes):
    return [fix[0] for fix in sorted(fixes, key=lambda fix: -parts[fix[1]])]


def _order_speed(parts, fixes):
    return [fix[0] for fix in sorted(fixes, key=lambda fix: -fix[2])]


def _order_reversed(parts, fixes):
    return _best_order(parts, fixes)[::-1]


def _draw_fixes(rng):
    """Two or three parts, three to five fixes, two or more of one part; worths never tie, at no time."""
    while True:
        high, digits = rng.choice([(0.01, 6), (10, 2), (200, 2)])  # of few ms, or µs, for whoever rounds them
        names = ["attention", "mlp", "loader"][: rng.randrange(2, 4)]
        parts = {name: round(rng.uniform(high / 20, high), digits) for name in names}
        fixes = [
            [
                f"fix {place}",
                rng.choice(list(parts)),
                rng.choice([1.25, 1.5, 2, 2.5, 4, 8]),
                rng.choice([0.25, 0.4, 0.5, 0.8, 0.9, 1.0]),
                rng.choice([0.5, 1, 2, 3, 5, 10]),
            ]
            for place in range(1, rng.randrange(4, 7))
        ]
        rng.shuffle(fixes)
        if _no_ties(parts, fixes) and _order_once(parts, fixes) != _best_order(parts, fixes):
            return parts, fixes


def _no_ties(parts, fixes):
    parts, left = dict(parts), [list(fix) for fix in fixes]
    while left:
        worths = sorted((_worth(parts[fix[1]], *fix[2:]) for fix in left), reverse=True)
        if any(high < 1.0001 * low for high, low in pairwise(worths)) or worths[0] < 1.02 * max(worths[1:], default=0):
            return False
        best = max(left, key=lambda fix: _worth(parts[fix[1]], *fix[2:]))
        left.remove(best)
        parts[best[1]] /= best[2]
    return True


# ---- q19.to-save ---------------------------------------------------------------------------------


def _to_save(stages, pause, goal):
    room = goal - pause
    if room <= 0:
        return None
    return [max(0, ms - room * workers) for ms, workers in stages]


def _save_no_pause(stages, pause, goal):
    return _to_save(stages, 0, goal)


def _save_no_workers(stages, pause, goal):
    return _to_save([[ms, 1] for ms, _ in stages], pause, goal)


def _save_pace(stages, pause, goal):
    """ms from batch to batch, not of a worker."""
    room = goal - pause
    return None if room <= 0 else [max(0, ms / workers - room) for ms, workers in stages]


def _save_slowest(stages, pause, goal):
    """Only of the slowest stage."""
    found = _to_save(stages, pause, goal)
    if found is None:
        return None
    worst = max(range(len(stages)), key=lambda place: stages[place][0] / stages[place][1])
    return [saving if place == worst else 0 for place, saving in enumerate(found)]


def _save_negative(stages, pause, goal):
    room = goal - pause
    return None if room <= 0 else [ms - room * workers for ms, workers in stages]


def _draw_goal(rng):
    """A goal that several stages miss, one of them with several workers, at times by a hair above the pause; seldom one
    that all meet, or none.
    """
    pause, room = rng.randrange(0, 30) / 2, rng.choice([rng.randrange(6, 80) / 2, rng.randrange(1, 8) / 16])
    workers = [rng.choice([1, 2, 3, 4]) for _ in range(rng.randrange(3, 6))]
    workers[0] = rng.choice([2, 3, 4])
    stages = [[room * count + rng.randrange(1, 120) / 2, count] for count in workers]
    if rng.random() < 0.7:
        stages[2][0] = room * stages[2][1] * rng.randrange(1, 9) / 8
    rng.shuffle(stages)
    kind = rng.random()
    if kind < 0.15:
        return stages, max(pause, 1), max(1, pause - rng.choice([0, 1]))
    return stages, pause, pause + (room if kind > 0.2 else 300)


CARD = [["load", 40, 1, True], ["copy", 10, 1, True], ["compute", 50, 1, True], ["pause", 5, 1, False]]

CHECKS = [
    Check(
        id="q19.turn-moved",
        points=0,
        signature="moved(own, slowest, delta)",
        public=[
            (9, 12, 6),
            (9, 12, 3),
            (9, 12, 1),
            (12, 12, 6),
            (40, 50, 15),
            (10, 50, 15),
            (9.25, 12.5, 24.375),
            (3, 12.5, 4),
        ],
        generate=_draw_moved,
        reference=_moved,
        wrong={
            "always": lambda own, slowest, delta: delta,
            "only the slowest": lambda own, slowest, delta: delta if own == slowest else 0,
            "slack forgotten": lambda own, slowest, delta: delta if own + delta > slowest else 0,
            "below zero": lambda own, slowest, delta: own + delta - slowest,
            "the new step": lambda own, slowest, delta: max(slowest, own + delta),
        },
    ),
    Check(
        id="q19.turn-worth",
        points=0,
        signature="worth(part, speedup, chance, days)",
        public=[(50, 1.1, 1.0, 1), (30, 3, 1.0, 1), (30, 3, 0.5, 4), (80, 1.5, 0.8, 0.5), (12.5, 2, 0.5, 2)],
        generate=lambda rng: (
            rng.randrange(10, 600) / 2,
            rng.choice([1.1, 1.5, 2, 3, 5, 10]),
            rng.choice([0.1, 0.25, 0.5, 0.8]),
            rng.choice([0.5, 2, 3, 5, 10]),
        ),
        reference=_worth,
        wrong={
            "what is left": lambda part, speedup, chance, days: part / speedup * chance / days,
            "speed-up": lambda part, speedup, chance, days: part * (speedup - 1) * chance / days,
            "chance forgotten": lambda part, speedup, chance, days: part * (1 - 1 / speedup) / days,
            "days forgotten": lambda part, speedup, chance, days: part * (1 - 1 / speedup) * chance,
            "days multiplied": lambda part, speedup, chance, days: part * (1 - 1 / speedup) * chance * days,
        },
    ),
    Check(
        id="q19.turn-suspect",
        points=0,
        signature="suspect(step, after)",
        public=[
            (100, {"input ready": 22, "whole batch": 98, "fp32": 98, "nothing after": 99}),
            (100, {"input ready": 90, "whole batch": 103, "fp32": 101, "nothing after": 99}),
            (310, {"input ready": 300, "whole batch": 118, "fp32": 240, "nothing after": 311}),
            (310, {"input ready": 300, "whole batch": 240, "fp32": 311, "nothing after": 118}),
            (310, {"input ready": 300, "whole batch": 118, "fp32": 311, "nothing after": 240}),
            (250, {"input ready": 238, "whole batch": 260, "fp32": 252, "nothing after": 118}),
            (230, {"input ready": 210, "whole batch": 225, "fp32": 115, "nothing after": 228}),
            (314, {"input ready": 300, "whole batch": 313, "fp32": 312, "nothing after": 250}),
            (400, {"input ready": 380, "whole batch": 395, "fp32": 318, "nothing after": 400}),
            (100, {"input ready": 93, "whole batch": 80, "fp32": 101, "nothing after": 99}),
            (50.5, {"input ready": 49, "whole batch": 40.3, "fp32": 51, "nothing after": 50}),
            (50.5, {"input ready": 49, "whole batch": 40.45, "fp32": 51, "nothing after": 50}),
            (100, {"input ready": 93, "whole batch": 99, "fp32": 131, "nothing after": 98}),
            (100, {"input ready": 72, "whole batch": 99, "fp32": 131, "nothing after": 98}),
        ],
        generate=_draw_suspect,
        reference=_suspect,
        same=EXACT,
        wrong={
            "no threshold": lambda step, after: min(after, key=after.get),
            "first": _suspect_first,
            "below 80": _suspect_below_80,
            "the longest": lambda step, after: (
                max(after, key=after.get) if min(after.values()) < 0.8 * step else "not in time"
            ),
        },
    ),
    Check(
        id="q19.step-ms",
        points=2,
        signature="step_ms(stages)",
        public=[
            (CARD,),
            ([["decode", 30, 4, True], ["compute", 12, 1, True]],),
            ([["decode", 90, 6, True], ["copy", 8, 1, True], ["compute", 7, 1, True], ["exchange", 7, 1, False]],),
            ([["sync", 4, 2, False], ["load", 9, 1, True], ["log", 3, 1, False], ["compute", 20, 1, True]],),
            ([["log", 3, 1, False]],),
            ([["sync", 4, 2, False]],),
            ([["sync", 4, 2, False], ["log", 3, 1, False]],),
            ([["decode", 30, 4, True], ["sync", 3, 2, False]],),
            ([["load", 24, 3, True]],),
            ([["load", 0.02, 3, True], ["copy", 0.005, 1, True], ["log", 0.001, 1, False]],),
            ([["load", 9.5, 1, True], ["log", 1.5, 1, False], ["compute", 12.5, 2, True], ["sync", 2.25, 1, False]],),
            ([["log", 1.5, 1, False], ["load", 9, 3, True], ["sync", 1.5, 1, False], ["compute", 4.25, 1, True]],),
            ([["compute", 3, 1, True], ["exchange", 8, 1, False], ["load", 4, 2, True]],),
        ],
        generate=_draw_stages,
        reference=_step_ms,
        wrong={
            "all in turn": _step_all,
            "all hidden": _step_hidden,
            "workers forgotten": _step_no_workers,
            "pauses forgotten": _step_no_pause,
            "longest pause": _step_long_pause,
            "pauses divided": _step_rest_divided,
            "slowest of all": _step_slowest_of_all,
        },
    ),
    Check(
        id="q19.classify",
        points=3,
        signature="classify(base, changed)",
        public=[
            (100, {"input": 98, "launches": 60, "copies": 99, "synchronisation": 97, "half the bytes": 97}),
            (100, {"input": 98, "launches": 99, "copies": 99, "synchronisation": 99, "half the bytes": 60}),
            (100, {"input": 98, "launches": 99, "copies": 100, "synchronisation": 99, "half the bytes": 97}),
            (100, {"input": 70, "launches": 99, "copies": 99, "synchronisation": 98, "half the bytes": 55}),
            (200, {"input": 150, "launches": 199, "copies": 120, "synchronisation": 198, "half the bytes": 190}),
            (50, {"input": 49, "launches": 50, "copies": 51, "synchronisation": 35, "half the bytes": 41}),
            (100, {"input": 80, "launches": 99, "copies": 99, "synchronisation": 98, "half the bytes": 80}),
            (100, {"input": 98, "launches": 99, "copies": 97, "synchronisation": 98, "half the bytes": 79}),
            (100, {"half the bytes": 97, "input": 98, "launches": 99, "copies": 99, "synchronisation": 60}),
            (100, {"input": 98, "launches": 99, "copies": 79, "synchronisation": 98, "half the bytes": 104}),
            (100, {"input": 75, "launches": 30, "copies": 70, "synchronisation": 99, "half the bytes": 95}),
            (100, {"input": 98, "launches": 99, "copies": 99, "synchronisation": 97, "half the bytes": 30}),
            (200, {"input": 196, "launches": 199, "copies": 198, "synchronisation": 199, "half the bytes": 170}),
            (200, {"input": 196, "launches": 199, "copies": 198, "synchronisation": 199, "half the bytes": 159}),
            (50.5, {"input": 49, "launches": 50, "copies": 51, "synchronisation": 49.5, "half the bytes": 40.3}),
            (50.5, {"input": 49, "launches": 50, "copies": 51, "synchronisation": 49.5, "half the bytes": 40.45}),
            (50.5, {"input": 49, "launches": 50, "copies": 51, "synchronisation": 40.3, "half the bytes": 49}),
            (50.5, {"input": 49, "launches": 50, "copies": 51, "synchronisation": 40.45, "half the bytes": 49}),
            (100, {"input": 98, "launches": 135, "copies": 99, "synchronisation": 97, "half the bytes": 130}),
            (100, {"input": 97, "launches": 62, "copies": 99, "synchronisation": 98, "half the bytes": 62}),
            (100, {"half the bytes": 58, "input": 98, "launches": 97, "copies": 58, "synchronisation": 99}),
            (100, {"input": 135, "launches": 98, "copies": 72, "synchronisation": 99, "half the bytes": 97}),
            (100, {"input": 98, "launches": 99, "copies": 80, "synchronisation": 97, "half the bytes": 60}),
            (100, {"input": 97, "launches": 75, "copies": 99, "synchronisation": 98, "half the bytes": 30}),
        ],
        generate=_draw_changed,
        reference=_classify,
        same=EXACT,
        wrong={
            "bytes first": _classify_bytes_first,
            "never memory": _classify_no_memory,
            "no threshold": _classify_largest,
            "20 ms": _classify_20_ms,
            "first": _classify_first,
            "last": _classify_last,
        },
    ),
    Check(
        id="q19.best-order",
        points=3,
        signature="best_order(parts, fixes)",
        public=[
            (
                {"attention": 50, "mlp": 30},
                [["flash", "attention", 4, 1.0, 1], ["fp8", "attention", 2, 1.0, 1], ["fused", "mlp", 2, 1.0, 1]],
            ),
            (
                {"attention": 50, "mlp": 30},
                [
                    ["fused", "mlp", 3, 0.8, 1],
                    ["rewrite", "attention", 2, 0.25, 10],
                    ["compile", "attention", 1.25, 1.0, 0.5],
                ],
            ),
            (
                {"loader": 100, "mlp": 60},
                [["cache", "loader", 4, 0.5, 1], ["workers", "loader", 4, 1.0, 3], ["fp8", "mlp", 2, 0.5, 0.5]],
            ),
            ({"loader": 102.9, "mlp": 96}, [["fused", "mlp", 2, 1.0, 1], ["cache", "loader", 1.875, 1.0, 1]]),
            (
                {"decode": 3, "norm": 6, "log": 4.5},
                [
                    ["cache", "decode", 2, 1.0, 0.5],
                    ["workers", "decode", 2, 1.0, 1],
                    ["fused", "norm", 1.25, 0.5, 1],
                    ["seldom", "log", 1.25, 1.0, 1],
                ],
            ),
            (
                {"decode": 28, "norm": 30},
                [
                    ["fix 1", "decode", 1.25, 1.0, 0.5],
                    ["fix 2", "norm", 1.5, 0.5, 1],
                    ["fix 3", "decode", 2.5, 0.5, 0.5],
                    ["fix 4", "decode", 4, 0.5, 1],
                    ["fix 5", "norm", 4, 0.5, 1],
                    ["fix 6", "decode", 4, 0.8, 0.5],
                ],
            ),
            (
                {"decode": 37, "norm": 40},
                [
                    ["fix 1", "norm", 4, 0.5, 1],
                    ["fix 2", "norm", 1.5, 1.0, 3],
                    ["fix 3", "decode", 2, 1.0, 1],
                    ["fix 4", "norm", 2.5, 0.5, 3],
                    ["fix 5", "norm", 1.5, 0.8, 2],
                    ["fix 6", "decode", 1.25, 1.0, 3],
                    ["fix 7", "decode", 1.5, 1.0, 1],
                    ["fix 8", "decode", 1.25, 1.0, 0.5],
                ],
            ),
            (
                {"norm": 0.00056, "copy": 0.0003},
                [["pinned", "copy", 1.25, 1.0, 1], ["fused", "norm", 4, 1.0, 1], ["bf16", "norm", 2, 1.0, 1]],
            ),
            (
                {"attention": 80, "mlp": 30},
                [["rewrite", "attention", 4, 0.25, 0.5], ["fp8", "attention", 2, 0.5, 1], ["fused", "mlp", 2, 0.8, 1]],
            ),
            ({"mlp": 9}, [["only", "mlp", 2, 0.5, 2]]),
        ],
        generate=_draw_fixes,
        reference=_best_order,
        same=EXACT,
        wrong={
            "not recomputed": _order_once,
            "chance forgotten": _order_with(chance=False),
            "days forgotten": _order_with(days=False),
            "largest part": _order_part,
            "largest speed-up": _order_speed,
            "worst first": _order_reversed,
        },
    ),
    Check(
        id="q19.to-save",
        points=3,
        signature="to_save(stages, pause, goal)",
        public=[
            ([[40, 1], [10, 1], [50, 1]], 5, 35),
            ([[90, 6], [8, 1], [28, 1]], 7, 17),
            ([[90, 2], [8, 1], [28, 1]], 7, 27),
            ([[40, 1], [50, 1]], 5, 55),
            ([[40, 1], [50, 1]], 5, 5),
            ([[40, 1], [50, 3]], 6, 5),
            ([[40, 1], [50, 1]], 5, 6),
            ([[40, 1], [50, 1]], 5, 5.5),
            ([[40, 1], [50, 1]], 5, 5.125),
            ([[40, 1], [50, 1]], 12, 10),
            ([[40, 1], [50, 1]], 1, 3),
            ([[40, 1], [50, 1]], 0, 20),
            ([[40, 4], [12, 1]], 3, 90),
            ([[40.5, 1], [10.5, 2], [50.125, 1]], 2.5, 30),
            ([[40, 1], [52, 1]], 5, 55),
            ([[90, 6], [28, 1]], 7, 27),
            ([[60, 2], [60, 1], [60, 2]], 4, 29),
            ([[0.04037, 1], [0.05074, 2]], 0.005, 0.0092),
            ([[30, 2]], 4, 15),
        ],
        generate=_draw_goal,
        reference=_to_save,
        same=Close(rel=1e-5, abs=1e-5),
        wrong={
            "pause forgotten": _save_no_pause,
            "workers forgotten": _save_no_workers,
            "from batch to batch": _save_pace,
            "only the slowest": _save_slowest,
            "below zero": _save_negative,
        },
    ),
]
