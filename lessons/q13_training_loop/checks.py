"""Checks of Q13, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are drawn,
the reference, and the wrong answers that people give.
"""

from math import sqrt

from course_lib.teaching.checks.check import EXACT, Check, Close

# ---- q13.finish ----------------------------------------------------------------------------------


def _finish(work, interval, checkpoint, restart, failures):
    clock = 0
    for start in range(0, work, interval):
        needs = min(interval, work - start) + checkpoint
        end = clock + needs
        for failure in failures:
            if clock <= failure < end:
                end = failure + restart + needs
        clock = end
    return clock


def _finish_work_kept(work, interval, checkpoint, restart, failures):
    """Failures cost the restart only."""
    pieces = -(-work // interval)
    return work + pieces * checkpoint + restart * len(failures)


def _finish_whole_pieces(work, interval, checkpoint, restart, failures):
    return _finish(-(-work // interval) * interval, interval, checkpoint, restart, failures)


def _finish_with(slip):
    """`_finish`, followed failure by failure, with one slip."""

    def finish(work, interval, checkpoint, restart, failures):
        clock, done, failures = 0, 0, [*failures]
        while done < work:
            piece = min(interval, work - done)
            unsaved = slip == "last one unsaved" and done + piece >= work
            end = clock + piece + (0 if unsaved else checkpoint)
            if not failures or failures[0] >= end:
                clock, done = end, done + piece
                continue
            at = failures.pop(0)
            if slip == "safe in a checkpoint" and at >= clock + piece:
                done += piece
            clock, again = at + restart, 0
            while failures and failures[0] < clock:
                struck, again = failures.pop(0), again + 1
                if slip not in ("safe in a restart", "restart twice") or (slip == "restart twice" and again == 1):
                    clock = struck + restart
        return clock

    return finish


def _finish_from_start(work, interval, checkpoint, restart, failures):
    """Each failure undoes everything."""
    return _finish(work, work, checkpoint * -(-work // interval), restart, failures)


def _draw_finish(rng):
    """Whole minutes. Two failures strike at work, one in the restart after that, one in a later checkpoint, one at work
    again, and two in the restart after that; the last piece is a short one, and in half of the draws one more comes
    just after it.
    """
    interval, checkpoint, restart = rng.randrange(20, 60), rng.randrange(4, 9), rng.randrange(6, 15)
    work = interval * rng.randrange(4, 9) + (1 if rng.random() < 0.3 else rng.randrange(1, interval - 1))
    each = interval + checkpoint
    alone = rng.randrange(1, interval)
    first = alone + restart + each * rng.randrange(0, 2) + rng.randrange(2, interval - 1)
    second = first + rng.randrange(1, restart)
    start = second + restart  # work goes on here
    third = start + each * rng.randrange(0, 2) + interval + rng.randrange(1, checkpoint)
    fourth = third + restart + rng.randrange(2, interval)
    fifth = fourth + rng.randrange(1, restart)
    sixth = fifth + rng.randrange(1, restart)
    failures = [alone, first, second, third, fourth, fifth, sixth]
    if rng.random() < 0.5:
        failures.append(_finish(work, interval, checkpoint, restart, failures) + rng.randrange(1, 4))
    return work, interval, checkpoint, restart, failures


# ---- q13.largest-checkpoint ----------------------------------------------------------------------

_YEAR = 365.25 * 86_400


def _largest(waste, years, devices, bandwidth):
    return waste**2 / 2 * years * _YEAR / devices * bandwidth


# ---- q13.after-the-cut ---------------------------------------------------------------------------


def _cut(operations):
    files, found = {"last.pt": ["old", True]}, ["old"]
    for operation in operations:
        name = operation[1]
        if operation[0] == "write":
            files[name] = ["new", False]
        elif operation[0] == "force":
            files[name][1] = True
        elif operation[0] == "rename":
            files[operation[2]] = files.pop(name)
        else:
            del files[name]
        content = files.get("last.pt")
        found.append("nothing" if content is None else content[0] if content[1] else "torn")
    return found


def _cut_without(what):
    def cut(operations):
        return _cut_rules(operations, what)

    return cut


def _cut_rules(operations, slip):
    files, found = {"last.pt": ["old", True]}, ["old"]
    for operation in operations:
        name, over = operation[1], operation[-1]
        aside = over != "last.pt" and files.get(over) == ["old", True] and operation[0] in ("write", "rename")
        if slip == "old aside" and aside:
            if operation[0] == "rename":
                del files[name]
        elif operation[0] == "write":
            files[name] = ["new", slip == "written is safe"]
        elif operation[0] == "force":
            for each in files if slip == "forces all" else [name]:
                files[each][1] = True
            if slip == "forced is new":
                files[name][0] = "new"
        elif operation[0] == "rename":
            moved = files[name] if slip == "copies" else files.pop(name)
            if slip == "swaps" and operation[2] in files:
                files[name] = files[operation[2]]
            files[operation[2]] = [moved[0], slip == "rename is safe" or moved[1]]
        elif slip != "never deleted":
            del files[name]
        content = files.get("last.pt")
        found.append("nothing" if content is None else content[0] if content[1] else "torn")
    return found


def _draw_cut(rng):
    """First the old file is forced, under its name or another; in most draws it then ends under another name. Then four
    saves or more in any order, each in a way that people have tried; three of the ways are always among them, one of these
    twice, so that its second rename strikes a file. At the end whatever the rules allow.
    """
    new = f"new-{rng.randrange(10)}.pt"
    last = "last.pt"
    safe = [["write", new], ["force", new], ["rename", new, last]]
    others = [
        [["write", last], ["force", last]],
        safe,
        [["write", new], ["rename", new, last], ["force", last]],
        [["write", new], ["force", new], ["write", new], ["rename", new, last]],
    ]
    ways = [
        [["delete", last], *safe],
        *[[["rename", last, "older.pt"], ["write", last], ["force", last]]] * 2,
        [["write", new], ["write", "log.txt"], ["force", "log.txt"], ["rename", new, last], ["force", last]],
        *rng.sample(others, rng.randrange(1, 3)),
    ]
    rng.shuffle(ways)
    away, back = ["rename", last, "older.pt"], ["rename", "older.pt", last]
    first = rng.choice([[["force", last]], [away, ["force", "older.pt"], back]])
    written, replaced = [away, ["write", "older.pt"], back], [["write", new], away, ["rename", new, "older.pt"], back]
    first = first + rng.choice([[], written, written, replaced, replaced])
    operations = first + [operation for way in ways for operation in way]
    return (operations + _wander(rng, operations, [last, new, "older.pt"]),)


def _wander(rng, operations, names):
    """A dozen more operations that the rules allow after these."""
    there, more = {"last.pt"}, []
    for what, name, *other in operations:
        there = there - {name} if what in ("rename", "delete") else there | {name}
        there |= set(other)
    while len(more) < 12:
        what, name = rng.choice(["write", "force", "rename", "rename"]), rng.choice(names)
        if what == "write":
            there.add(name)
            more.append([what, name])
        elif name in there and what == "force":
            more.append([what, name])
        elif name in there:
            other = rng.choice([each for each in names if each != name])
            there = there - {name} | {other}
            more.append([what, name, other])
    return more


# ---- q13.scaled-step -----------------------------------------------------------------------------

_LARGEST = 65_504  # of fp16


def _scaled(weights, grads, scale, limit, rate):
    if any(abs(grad) > _LARGEST for grad in grads):
        return {"weights": weights, "scale": scale / 2}
    true = [grad / scale for grad in grads]
    norm = sqrt(sum(grad * grad for grad in true))
    factor = min(1, limit / norm) if norm else 1
    return {"weights": [w - rate * factor * g for w, g in zip(weights, true, strict=True)], "scale": scale}


def _scaled_given(weights, grads, scale, limit, rate):
    norm = sqrt(sum(grad * grad for grad in grads))
    factor = min(1, limit / norm) if norm else 1
    return {"weights": [w - rate * factor * g / scale for w, g in zip(weights, grads, strict=True)], "scale": scale}


def _scaled_order_left(weights, grads, scale, limit, rate):
    """The overflow is found, the clipping still sees scaled gradients."""
    if any(abs(grad) > _LARGEST for grad in grads):
        return {"weights": weights, "scale": scale / 2}
    return _scaled_given(weights, grads, scale, limit, rate)


def _scaled_overflow_left(weights, grads, scale, limit, rate):
    return _scaled(weights, [grad / scale for grad in grads], 1, limit, rate) | {"scale": scale}


def _scaled_scale_left(weights, grads, scale, limit, rate):
    return _scaled(weights, grads, scale, limit, rate) | {"scale": scale}


def _scaled_still_steps(weights, grads, scale, limit, rate):
    """Halves the scale, and makes the step all the same."""
    return _scaled_overflow_left(weights, grads, scale, limit, rate) | {
        "scale": _scaled(weights, grads, scale, limit, rate)["scale"]
    }


def _scaled_positive_only(weights, grads, scale, limit, rate):
    if max(grads) > _LARGEST:
        return {"weights": weights, "scale": scale / 2}
    return _scaled_overflow_left(weights, grads, scale, limit, rate)


def _scaled_each(weights, grads, scale, limit, rate):
    """Cuts each gradient at the limit, in place of the norm."""
    if any(abs(grad) > _LARGEST for grad in grads):
        return {"weights": weights, "scale": scale / 2}
    cut = [max(-limit, min(limit, grad / scale)) for grad in grads]
    return {"weights": [w - rate * g for w, g in zip(weights, cut, strict=True)], "scale": scale}


def _scaled_always(weights, grads, scale, limit, rate):
    """Brings every norm to the limit, small ones too."""
    if any(abs(grad) > _LARGEST for grad in grads):
        return {"weights": weights, "scale": scale / 2}
    norm = sqrt(sum((grad / scale) ** 2 for grad in grads))
    factor = limit / norm if norm else 1
    return {"weights": [w - rate * factor * g / scale for w, g in zip(weights, grads, strict=True)], "scale": scale}


_FITS, _OVER = "gradients that fit", "an overflow"


def _draw_scaled(rng, group):
    """Gradients under the scale. Where they fit, the norm of the true ones is above the limit, or below it, in about half
    of the draws each; an overflow is upwards or downwards, in a few both, and the scale may be small then.
    """
    scale = 2.0 ** rng.randrange(-2 if group == _OVER else 6, 12)
    weights = [rng.randrange(-40, 40) / 8 for _ in range(rng.randrange(4, 7))]
    limit, rate = rng.choice([0.5, 1.0, 2.0]), rng.choice([0.1, 0.25, 0.5])
    size = limit * (rng.uniform(1.5, 4) if rng.random() < 0.46 else rng.uniform(0.1, 0.6))
    true = [rng.choice([-1, 1]) * rng.uniform(0.4, 1) for _ in weights]
    norm = sqrt(sum(each * each for each in true))
    grads = [each / norm * size * scale for each in true]
    if group == _OVER:
        here, there = rng.sample(range(len(grads)), 2)
        grads[here] = rng.choice([-1, 1]) * rng.randrange(70_000, 200_000)
        if rng.random() < 0.15:
            grads[there] = -grads[here]
    elif rng.random() < 0.2:
        grads[0] = grads[-1]
    special = rng.random() if group == _FITS else 1
    if special < 0.04:
        grads = [0.0 for _ in grads]
    elif special < 0.1:
        grads[0] = float(_LARGEST)  # the largest that fits
    return weights, grads, scale, limit, rate


# ---- the lesson's own: one line each --------------------------------------------------------------


def _position(steps, batches):
    return [steps // batches, steps % batches]


def _young(checkpoint, years, devices):
    return sqrt(2 * checkpoint * years * _YEAR / devices)


def _alarm(noise, least):
    return 1 + max(least, 3 * noise)


def _draw_alarm(rng):
    """Half of the draws on a quiet machine, half on a loud one; both in thousandths."""
    least = rng.randrange(10, 40) / 1000
    loud = rng.random() < 0.45
    return least / 3 * (rng.uniform(1.4, 4) if loud else rng.uniform(0.1, 0.7)), least


CHECKS = [
    Check(
        id="q13.turn-position",
        points=0,
        signature="position(steps, batches)",
        public=[(0, 20), (19, 20), (20, 20), (70, 20), (7, 1), (365, 48)],
        generate=lambda rng: (
            (batches := rng.randrange(3, 60)) * rng.randrange(1, 9)
            + (0 if rng.random() < 0.5 else rng.randrange(1, batches)),
            batches,
        ),
        reference=_position,
        same=EXACT,
        wrong={
            "the last one": lambda steps, batches: [(steps - 1) // batches, (steps - 1) % batches],
            "counted from 1": lambda steps, batches: [steps // batches + 1, steps % batches + 1],
            "swapped": lambda steps, batches: [steps % batches, steps // batches],
            "epochs from 1": lambda steps, batches: [steps // batches + 1, steps % batches],
        },
    ),
    Check(
        id="q13.turn-young",
        points=0,
        signature="young(checkpoint, years, devices)",
        public=[(60, 5.0, 1000), (30, 5.8, 16_000), (300, 4.0, 1), (1, 0.5, 8)],
        generate=lambda rng: (rng.randrange(5, 600), rng.randrange(5, 80) / 10, rng.randrange(2, 20_000)),
        reference=_young,
        wrong={
            "without the 2": lambda checkpoint, years, devices: sqrt(checkpoint * years * _YEAR / devices),
            "one device": lambda checkpoint, years, devices: sqrt(2 * checkpoint * years * _YEAR),
            "without the root": lambda checkpoint, years, devices: 2 * checkpoint * years * _YEAR / devices,
            "years": lambda checkpoint, years, devices: sqrt(2 * checkpoint * years / devices),
            "devices outside": lambda checkpoint, years, devices: sqrt(2 * checkpoint * years * _YEAR) / devices,
            "devices multiply": lambda checkpoint, years, devices: sqrt(2 * checkpoint * years * _YEAR * devices),
        },
    ),
    Check(
        id="q13.turn-alarm",
        points=0,
        signature="alarm_from(noise, least)",
        public=[(0.004, 0.02), (0.01, 0.02), (0.0, 0.05), (0.03, 0.01), (0.001, 0.0)],
        generate=_draw_alarm,
        reference=_alarm,
        wrong={
            "noise ignored": lambda noise, least: 1 + least,
            "only the noise": lambda noise, least: 1 + 3 * noise,
            "smaller of the two": lambda noise, least: 1 + min(least, 3 * noise),
            "one noise": lambda noise, least: 1 + max(least, noise),
            "sum": lambda noise, least: 1 + least + 3 * noise,
            "without 1": lambda noise, least: max(least, 3 * noise),
        },
    ),
    Check(
        id="q13.finish",
        points=3,
        signature="finish(work, interval, checkpoint, restart, failures)",
        public=[
            (100, 40, 5, 10, []),
            (100, 40, 5, 10, [30]),
            (100, 40, 5, 10, [42]),
            (100, 40, 5, 10, [30, 35]),
            (100, 40, 5, 10, [45]),
            (100, 40, 5, 10, [30, 40]),
            (100, 40, 5, 10, [30, 35, 42]),
            (120, 40, 5, 10, [134]),
            (90, 100, 7, 3, [96, 150]),
            (100, 40, 5, 10, [1000]),
            (100, 40, 5, 10, [115]),
            (100, 40, 5, 10, [115, 118]),
            (400, 30, 5, 12, [50, 60, 115, 120, 130, 260]),
            (100, 40, 5, 10, [114]),
            (81, 40, 5, 10, [95]),
            (81, 40, 5, 10, [200]),
            (30, 40, 5, 10, []),
            (100, 40, 5, 10, [1]),
            (100, 40, 5, 10, [0]),
            (100, 40, 5, 10, [3, 12, 21, 30, 39, 48, 57, 66, 75, 84]),
        ],
        generate=_draw_finish,
        reference=_finish,
        wrong={
            "work kept": _finish_work_kept,
            "whole pieces": _finish_whole_pieces,
            "safe in a checkpoint": _finish_with("safe in a checkpoint"),
            "safe in a restart": _finish_with("safe in a restart"),
            "restart twice": _finish_with("restart twice"),
            "last one unsaved": _finish_with("last one unsaved"),
            "from the start": _finish_from_start,
        },
    ),
    Check(
        id="q13.largest-checkpoint",
        points=2,
        signature="largest_checkpoint(waste, years, devices, bandwidth)",
        public=[(0.05, 5.0, 1000, 2e9), (0.1, 5.8, 16_000, 1e11), (0.01, 4.0, 1, 5e8), (0.02, 0.5, 8, 1e9)],
        generate=lambda rng: (
            rng.randrange(5, 120) / 1000,
            rng.randrange(5, 80) / 10,
            rng.randrange(3, 20_000),
            rng.randrange(1, 200) * 1e9,
        ),
        reference=_largest,
        wrong={
            "seconds": lambda waste, years, devices, bandwidth: waste**2 / 2 * years * _YEAR / devices,
            "not squared": lambda waste, years, devices, bandwidth: waste / 2 * years * _YEAR / devices * bandwidth,
            "without the 2": lambda waste, years, devices, bandwidth: waste**2 * years * _YEAR / devices * bandwidth,
            "times 2": lambda waste, years, devices, bandwidth: 2 * waste**2 * years * _YEAR / devices * bandwidth,
            "one device": lambda waste, years, devices, bandwidth: waste**2 / 2 * years * _YEAR * bandwidth,
        },
    ),
    Check(
        id="q13.after-the-cut",
        points=3,
        signature="after_the_cut(operations)",
        public=[
            ([["write", "last.pt"], ["force", "last.pt"]],),
            ([["write", "new.pt"], ["force", "new.pt"], ["rename", "new.pt", "last.pt"]],),
            ([["write", "new.pt"], ["rename", "new.pt", "last.pt"], ["force", "last.pt"]],),
            ([["delete", "last.pt"], ["write", "new.pt"], ["force", "new.pt"], ["rename", "new.pt", "last.pt"]],),
            ([["rename", "last.pt", "older.pt"], ["write", "last.pt"], ["force", "last.pt"], ["delete", "older.pt"]],),
            ([["write", "last.pt"], ["write", "log.txt"], ["force", "log.txt"], ["force", "last.pt"]],),
            ([],),
            (
                [
                    ["force", "last.pt"],
                    ["rename", "last.pt", "a.pt"],
                    ["force", "a.pt"],
                    ["rename", "a.pt", "b.pt"],
                    ["rename", "b.pt", "last.pt"],
                ],
            ),
            (
                [
                    ["write", "new.pt"],
                    ["force", "new.pt"],
                    ["rename", "new.pt", "whole.pt"],
                    ["rename", "whole.pt", "last.pt"],
                ],
            ),
            ([["write", "last.pt"], ["force", "last.pt"], ["write", "last.pt"]],),
            ([["write", "a.pt"], ["force", "a.pt"], ["rename", "last.pt", "a.pt"], ["rename", "a.pt", "last.pt"]],),
            ([["write", "new.pt"], ["force", "new.pt"], ["write", "new.pt"], ["rename", "new.pt", "last.pt"]],),
            (
                [
                    ["write", "new.pt"],
                    ["force", "new.pt"],
                    ["rename", "new.pt", "last.pt"],
                    ["write", "last.pt"],
                    ["rename", "last.pt", "a.pt"],
                    ["force", "a.pt"],
                    ["rename", "a.pt", "last.pt"],
                ],
            ),
            ([["write", "last.pt"], ["write", "new.pt"], ["force", "new.pt"], ["rename", "new.pt", "last.pt"]],),
            ([["rename", "last.pt", "a.pt"], ["write", "a.pt"], ["rename", "a.pt", "last.pt"]],),
            (
                [
                    ["rename", "last.pt", "a.pt"],
                    ["write", "b.pt"],
                    ["rename", "b.pt", "a.pt"],
                    ["rename", "a.pt", "last.pt"],
                ],
            ),
            (
                [
                    ["write", "new.pt"],
                    ["write", "log.txt"],
                    ["force", "log.txt"],
                    ["delete", "last.pt"],
                    ["rename", "new.pt", "last.pt"],
                ],
            ),
            ([["delete", "last.pt"]],),
        ],
        generate=_draw_cut,
        reference=_cut,
        same=EXACT,
        wrong={
            "written is safe": _cut_without("written is safe"),
            "renamed is safe": _cut_without("rename is safe"),
            "forces all": _cut_without("forces all"),
            "forced is new": _cut_without("forced is new"),
            "copied": _cut_without("copies"),
            "never deleted": _cut_without("never deleted"),
            "swapped": _cut_without("swaps"),
            "old aside": _cut_without("old aside"),
        },
    ),
    Check(
        id="q13.scaled-step",
        points=3,
        signature="scaled_step(weights, grads, scale, limit, rate)",
        groups={_FITS: 2, _OVER: 1},
        public={
            _FITS: [
                ([1.0, 2.0], [3072.0, 4096.0], 1024.0, 1.0, 0.1),
                ([1.0, 2.0], [307.2, 409.6], 1024.0, 1.0, 0.1),
                ([1.0, -2.0, 0.5], [0.0, 0.0, 0.0], 64.0, 1.0, 0.5),
                ([1.0], [65_504.0], 16_384.0, 0.5, 1.0),
                ([2.0, 3.0, -1.0, 2.0], [-600.0, 100.0, 100.0, 900.0], 256.0, 2.0, 0.25),
                ([1.0, 1.0, 0.0], [65_504.0, -65_504.0, 10.0], 32_768.0, 1.0, 0.5),
                ([1.0, 2.0], [-40_000.0, -40_000.0], 65_536.0, 0.5, 0.1),
                ([1.0, 2.0, 0.5], [40_000.0, 40_000.0, 0.0], 32_768.0, 2.0, 0.5),
            ],
            _OVER: [
                ([1.0, 2.0], [70_000.0, 5.0], 1024.0, 1.0, 0.1),
                ([1.0, 2.0], [-70_000.0, 5.0], 1024.0, 1.0, 0.1),
                ([1.0, 2.0, 3.0], [80_000.0, -80_000.0, 5.0], 1.0, 1.0, 0.1),
                ([0.5, 0.25, 4.0, 4.0, 1.0], [100.0, -300.0, 7.0, 7.0, 65_505.0], 128.0, 2.0, 0.25),
                ([1.0], [-65_504.5], 2.0, 1.0, 0.1),
            ],
        },
        generate=_draw_scaled,
        reference=_scaled,
        same=Close(abs=1e-6),  # PyTorch clips to limit / (norm + 1e-6)
        wrong={
            "as given": _scaled_given,
            "order left": _scaled_order_left,
            "overflow left": _scaled_overflow_left,
            "scale left": _scaled_scale_left,
            "still steps": _scaled_still_steps,
            "positive only": _scaled_positive_only,
            "each alone": _scaled_each,
            "always": _scaled_always,
        },
    ),
]
