"""Checks of Case 4, of its exercises and of the lines that the lesson leaves to write: what is asked, how inputs are
drawn, the reference, and the wrong answers that people give.
"""

from math import ceil

from course_lib.teaching.checks.check import EXACT, Check

# ---- the lines of the lesson ---------------------------------------------------------------------


def _answered(size, most, clean):
    return size // most * most if clean else 0


def _draw_answered(rng):
    most = rng.choice([1, 4, 7, 8, 16, 32])
    size = most * rng.randrange(1, 5) if rng.random() < 0.25 else rng.randrange(1, 150)
    return size, most, rng.random() < 0.8


def _each_step(host, device, every):
    return max(host, device) + min(host, device) / every


def _into(gradients, outputs, ranks, kind):
    if kind == "DDP":
        return 2 * (ranks - 1) / ranks * gradients
    return (ranks - 1) * gradients + (ranks - 1) / ranks * outputs


def _as_dp(of):
    """A wrong answer for DP only."""
    return lambda gradients, outputs, ranks, kind: (
        _into(gradients, outputs, ranks, kind) if kind == "DDP" else of(gradients, outputs, ranks)
    )


def _draw_into(rng):
    kind = "DP" if rng.random() < 0.8 else "DDP"
    return rng.randrange(1, 60) * 100e6, rng.randrange(1, 60) * 100e6, rng.choice([2, 3, 4, 6, 8]), kind


# ---- case4.pipeline ------------------------------------------------------------------------------


def _pipeline(host, device, steps, every):
    launched = done = 0
    for number in range(1, steps + 1):
        launched += host
        done = max(done, launched) + device
        if every and number % every == 0:
            launched = done
    return done


def _first_free(host, device, steps, every):
    """The long run: nothing is filled first, and nothing is left at the end."""
    waits = steps // every if every else 0
    return steps * max(host, device) + waits * min(host, device)


def _waits_from_first(host, device, steps, every):
    """Waits before the first step of every so many, not after the last."""
    launched = done = 0
    for number in range(steps):
        if every and number % every == 0:
            launched = done
        launched += host
        done = max(done, launched) + device
    return done if not every else max(launched, done) + min(host, device)


def _draw_pipeline(rng):
    host, device = rng.randrange(1, 40) / 4, rng.randrange(1, 40) / 4
    return host, device, rng.randrange(3, 40), rng.choice([0, 1, 2, 3, 5, 7])


# ---- case4.outcomes ------------------------------------------------------------------------------


def _outcomes(groups, most):
    counts = []
    for group in groups:
        answers = errors = 0
        for first in range(0, len(group), most):
            batch = group[first : first + most]
            there = sum(request != "gone" for request in batch)
            if "bad" in batch:
                errors += there
            else:
                answers += there
        counts.append([answers, errors])
    return counts


def _batches(group, most):
    return [group[first : first + most] for first in range(0, len(group), most)]


def _tell(count):
    """Outcomes where count(batch) -> (answers, errors)."""
    return lambda groups, most: [
        [sum(values) for values in zip(*map(count, _batches(group, most)), strict=True)] for group in groups
    ]


def _there(batch):
    return sum(request != "gone" for request in batch)


def _only_the_bad(batch):
    return (0, batch.count("bad")) if "bad" in batch else (_there(batch), 0)


def _isolated(batch):
    return batch.count("ok"), batch.count("bad")


def _gone_spoils(batch):
    return (0, 0) if "gone" in batch else _only_fails(batch)


def _only_fails(batch):
    return (0, _there(batch)) if "bad" in batch else (_there(batch), 0)


def _gone_counts(batch):
    return (0, len(batch)) if "bad" in batch else (len(batch), 0)


def _one_error(batch):
    return (0, 1) if "bad" in batch else (_there(batch), 0)


def _short_waits(groups, most):
    """A batch that is not full never runs."""
    return [
        [sum(values) for values in zip((0, 0), *map(_only_fails, full), strict=True)]
        for full in ([batch for batch in _batches(group, most) if len(batch) == most] for group in groups)
    ]


def _gone_taken_out(groups, most):
    return _outcomes([[request for request in group if request != "gone"] for group in groups], most)


def _silenced(groups, most):
    """After a bad input nothing runs any more."""
    counts, dead = [], False
    for group in groups:
        answers = errors = 0
        for batch in _batches(group, most):
            if dead:
                continue
            if "bad" in batch:
                errors, dead = errors + _there(batch), True
            else:
                answers += _there(batch)
        counts.append([answers, errors])
    return counts


KINDS = {
    "all inputs are good and everybody stays": ("ok",),
    "a caller who left": ("ok", "ok", "gone"),
}


OUTCOMES = {
    "a short batch waits": _short_waits,
    "only the bad one hears": _tell(_only_the_bad),
    "one error a batch": _tell(_one_error),
    "the others are answered": _tell(_isolated),
    "who left spoils the batch": _tell(_gone_spoils),
    "who left is counted": _tell(_gone_counts),
    "who left takes no place": _gone_taken_out,
    "silenced": _silenced,
}
NO_BAD = (
    "only the bad one hears",
    "one error a batch",
    "the others are answered",
    "silenced",
    "who left takes no place",
)


def _draw_outcomes(rng, group):
    """Three or four groups of up to eight; each wrong answer that the group can show differs."""
    shown = [
        wrong
        for name, wrong in OUTCOMES.items()
        if group == "a bad input"
        or name == "a short batch waits"
        or (group == "a caller who left" and name not in NO_BAD)
    ]
    kinds = ("ok", "ok", "ok", "bad", "gone", "gone") if group == "a bad input" else KINDS[group]
    while True:
        most = rng.randrange(2, 5)
        groups = [[rng.choice(kinds) for _ in range(rng.randrange(1, 9))] for _ in range(rng.randrange(3, 5))]
        right = _outcomes(groups, most)
        if all(wrong(groups, most) != right for wrong in shown):
            return groups, most


# ---- case4.reserved ------------------------------------------------------------------------------


def _cache(events, round_mb, fits=lambda block, size, up: block >= size, choose=min, mode=""):
    free, blocks = [], []  # of each block its size, and its place in the order of reserving
    reserved = allocated = peak_reserved = peak_allocated = 0
    for event in events:
        if event > 0:
            whole = event if mode == "no rounding" else -(-event // round_mb) * round_mb
            found = [one for one in free if fits(one[0], event, whole)]
            if found:
                block, place = choose(found)
                free.remove((block, place))
                if mode == "split":
                    free.append((block - whole, place))
                if mode in ("split", "shrinks"):
                    block = whole
            else:
                block, place = whole, len(blocks)
                reserved += block
            blocks.append((block, place, event))
            allocated += block if mode == "blocks" else event
            peak_allocated = max(peak_allocated, allocated)
            peak_reserved = max(peak_reserved, reserved)
        else:
            block, place, size = blocks[-event - 1]
            allocated -= block if mode == "blocks" else size
            if mode == "returned":
                reserved -= block
            elif mode != "never reused":
                free.append((block, place))
    if mode == "end":
        return [allocated, reserved]
    return [peak_allocated, peak_reserved]


def _reserved(events, round_mb):
    return _cache(events, round_mb)


def _mode(mode):
    return lambda events, round_mb: _cache(events, round_mb, mode=mode)


def _largest(events, round_mb):
    return _cache(events, round_mb, choose=max)


def _first_freed(events, round_mb):
    return _cache(events, round_mb, choose=lambda kept: next(iter(kept)))


def _exact_only(events, round_mb):
    return _cache(events, round_mb, fits=lambda block, size, whole: block == whole)


def _larger_only(events, round_mb):
    return _cache(events, round_mb, fits=lambda block, size, whole: block > size)


def _one_of_a_size(events, round_mb):
    """Kept blocks in a set: of two that are equally long one is forgotten."""
    kept, blocks = set(), []
    allocated = peak = whole = 0
    for event in events:
        if event > 0:
            fitting = [block for block in kept if block >= event]
            block = min(fitting, default=-(-event // round_mb) * round_mb)
            whole += 0 if fitting else block
            kept.discard(block)
            blocks.append((block, event))
            allocated += event
            peak = max(peak, allocated)
        else:
            block, size = blocks[-event - 1]
            allocated -= size
            kept.add(block)
    return [peak, whole]


def _first_reserved(events, round_mb):
    return _cache(events, round_mb, choose=lambda kept: min(kept, key=lambda one: one[1]))


REUSE = ("nothing fits into what was freed", "freed blocks come back")


RESERVED = {
    "split": _mode("split"),
    "goes back": _mode("returned"),
    "never reused": _mode("never reused"),
    "exact fits only": _exact_only,
    "larger only": _larger_only,
    "the largest": _largest,
    "the first freed": _first_freed,
    "the first reserved": _first_reserved,
    "shrinks": _mode("shrinks"),
    "one of a size": _one_of_a_size,
    "no rounding": _mode("no rounding"),
    "allocated in blocks": _mode("blocks"),
    "at the end": _mode("end"),
}
NO_REUSE = ("goes back", "no rounding", "allocated in blocks", "at the end")


def _draw_reserved(rng, group):
    """Sizes in MB; in the first group no request fits into what was freed, in the second each wrong answer differs, but
    for the one to which two equal blocks are one: it does in most.
    """
    while True:
        round_mb = rng.choice([2, 3, 4, 5])
        if group == REUSE[0]:
            events, largest = [], 0
            for number in range(1, rng.randrange(4, 8)):
                largest = -(-largest // round_mb) * round_mb + rng.randrange(1, 8)
                events += [largest] if rng.random() < 0.3 else [largest, -number]
            names = NO_REUSE
        else:
            events, alive, number = [], [], 0
            if rng.random() < 0.7:  # two equal blocks, which no other can stand in for
                events, alive, number = [31, 31, -1, -2, 30, 30], [3, 4], 4
            for _ in range(rng.randrange(12, 20)):
                if len(alive) > 1 and rng.random() < 0.5:
                    events.append(-alive.pop(rng.randrange(len(alive))))
                    continue
                number += 1
                alive.append(number)
                events.append(rng.choice([1, rng.randrange(1, 30), rng.randrange(1, 7) * round_mb]))
            names = [name for name in RESERVED if name != "one of a size"]
        right = _reserved(events, round_mb)
        if group == REUSE[0] and right != RESERVED["never reused"](events, round_mb):
            continue
        if all(RESERVED[name](events, round_mb) != right for name in names):
            return events, round_mb


# ---- case4.pick-kernel ---------------------------------------------------------------------------


def _version(text):
    return tuple(int(part) for part in text.split("."))


def _pick_one(here, binaries, ptx):
    runs = [
        built for built in binaries if _version(built)[0] == _version(here)[0] and _version(built) <= _version(here)
    ]
    if runs:
        return f"binary {max(runs, key=_version)}"
    compiled = [built for built in ptx if _version(built) <= _version(here)]
    return f"ptx {max(compiled, key=_version)}" if compiled else None


def _pick(devices, binaries, ptx):
    return [_pick_one(here, binaries, ptx) for here in devices]


def _otherwise(device, binaries, ptx, key=_version, major=True, minor=True, with_ptx=True, first="binary", choose=max):
    """With one rule broken."""
    here = key(device)
    found = {"binary": [], "ptx": [built for built in ptx if with_ptx and key(built) <= here]}
    for built in binaries:
        if (not major or built.split(".")[0] == device.split(".")[0]) and (not minor or key(built) <= here):
            found["binary"].append(built)
    for kind in ("ptx", "binary") if first == "ptx" else ("binary", "ptx"):
        if found[kind]:
            return f"{kind} {choose(found[kind], key=key)}"
    return None


def _variant(**how):
    return lambda devices, binaries, ptx: [_otherwise(here, binaries, ptx, **how) for here in devices]


def _same_only(devices, binaries, ptx):
    """A binary must be for exactly this version."""
    return [_pick_one(here, [built for built in binaries if built == here], ptx) for here in devices]


def _ptx_same_major(devices, binaries, ptx):
    return [
        _pick_one(here, binaries, [built for built in ptx if built.split(".")[0] == here.split(".")[0]])
        for here in devices
    ]


def _ptx_minor_too(devices, binaries, ptx):
    """The two numbers of PTX are compared apart: 8.6 does not serve 9.0."""
    return [
        _pick_one(here, binaries, [built for built in ptx if _version(built)[1] <= _version(here)[1]])
        for here in devices
    ]


PICKS = {
    "as text": _variant(key=str),
    "newest as text": _variant(choose=lambda found, key: max(found)),
    "as a decimal": _variant(key=float),
    "any major": _variant(major=False),
    "any minor": _variant(minor=False),
    "no PTX": _variant(with_ptx=False),
    "PTX first": _variant(first="ptx"),
    "the oldest": _variant(choose=min),
    "exactly this one": _same_only,
    "PTX of one major": _ptx_same_major,
}


def _draw_pick(rng):
    """Versions of one and of two digits, real ones and such as may come; each wrong answer differs."""
    known = ["7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "12.0", "12.2", "12.10"]
    while True:
        devices = rng.sample(known, rng.randrange(5, 9))
        binaries, ptx = rng.sample(known, rng.randrange(3, 6)), rng.sample(known, rng.randrange(1, 4))
        right = _pick(devices, binaries, ptx)
        if all(wrong(devices, binaries, ptx) != right for wrong in PICKS.values()):
            return devices, binaries, ptx


# ---- case4.look-every ----------------------------------------------------------------------------


def _look(host, device, lost):
    if lost == 0:
        return None
    return max(1, ceil(min(host, device) / (max(host, device) * lost)))


def _look_floor(host, device, lost):
    return None if lost == 0 else max(1, int(min(host, device) / (max(host, device) * lost)))


def _look_short(host, device, lost):
    """A search that gives up at a hundred steps."""
    long, short = max(host, device), min(host, device)
    return next((k for k in range(1, 101) if short / k <= long * lost), None)


def _draw_look(rng):
    """ms in whole numbers, and shares that are powers of two. Where exactly what is allowed is lost is public only: in
    floats a right answer from rates, or over an inverse, may take it for more.
    """
    if rng.random() < 0.1:
        return rng.randrange(1, 20), rng.randrange(1, 20), rng.choice([0, 0, 1.5, 2])
    while True:
        lost = rng.choice([2**-13, 2**-9, 2**-8, 0.0625])
        short, long = sorted((rng.randrange(1, 60), rng.randrange(2, 80)))
        steps = short / (long * lost)
        if short < long and steps > 2 and steps != int(steps):
            return (long, short, lost) if rng.random() < 0.6 else (short, long, lost)


CHECKS = [
    Check(
        id="case4.turn-answered",
        points=0,
        signature="answered(size, most, clean)",
        public=[(33, 32, True), (64, 32, True), (31, 32, True), (40, 16, True), (64, 32, False), (3, 1, True)],
        generate=_draw_answered,
        reference=_answered,
        same=EXACT,
        wrong={
            "all but one": lambda size, most, clean: size - 1 if clean else 0,
            "all": lambda size, most, clean: size if clean else 0,
            "the rest": lambda size, most, clean: size % most if clean else 0,
            "batches": lambda size, most, clean: size // most if clean else 0,
            "rounded up": lambda size, most, clean: -(-size // most) * most if clean else 0,
            "one batch": lambda size, most, clean: min(size, most) if clean else 0,
        },
    ),
    Check(
        id="case4.turn-step",
        points=0,
        signature="each_step(host, device, every)",
        public=[(5, 5, 1), (1, 5, 1), (5, 1, 10), (3, 4, 15), (2, 8, 4), (9, 3, 2)],
        generate=lambda rng: (rng.randrange(1, 60) / 4, rng.randrange(1, 60) / 4, rng.randrange(1, 40)),
        reference=_each_step,
        wrong={
            "always added": lambda host, device, every: host + device,
            "never added": lambda host, device, every: max(host, device),
            "both divided": lambda host, device, every: (host + device) / every,
            "the host once more": lambda host, device, every: max(host, device) + host / every,
            "the device once more": lambda host, device, every: max(host, device) + device / every,
            "the longer once more": lambda host, device, every: max(host, device) * (1 + 1 / every),
            "the shorter sets the pace": lambda host, device, every: min(host, device) + max(host, device) / every,
        },
    ),
    Check(
        id="case4.turn-into",
        points=0,
        signature="into(gradients, outputs, ranks, kind)",
        public=[
            (500e6, 3300e6, 4, "DP"),
            (500e6, 3300e6, 4, "DDP"),
            (100e6, 800e6, 2, "DP"),
            (900e6, 100e6, 8, "DP"),
        ],
        generate=_draw_into,
        reference=_into,
        wrong={
            "no outputs": _as_dp(lambda gradients, outputs, ranks: (ranks - 1) * gradients),
            "no gradients": _as_dp(lambda gradients, outputs, ranks: (ranks - 1) / ranks * outputs),
            "its own too": _as_dp(lambda gradients, outputs, ranks: ranks * gradients + outputs),
            "all outputs": _as_dp(lambda gradients, outputs, ranks: (ranks - 1) * gradients + outputs),
            "gradients divided": _as_dp(lambda gradients, outputs, ranks: (ranks - 1) / ranks * (gradients + outputs)),
            "outputs from each": _as_dp(lambda gradients, outputs, ranks: (ranks - 1) * (gradients + outputs)),
        },
    ),
    Check(
        id="case4.pipeline",
        points=2,
        signature="pipeline(host, device, steps, every)",
        public=[
            (5, 5, 100, 1),
            (1, 5, 100, 0),
            (5, 1, 100, 0),
            (2, 3, 10, 4),
            (3, 2, 12, 4),
            (1.5, 0.25, 7, 3),
            (4, 4, 3, 5),
        ],
        generate=_draw_pipeline,
        reference=_pipeline,
        wrong={
            "always added": lambda host, device, steps, every: steps * (host + device),
            "never added": lambda host, device, steps, every: steps * max(host, device),
            "nothing to fill": _first_free,
            "waits are free": lambda host, device, steps, every: _pipeline(host, device, steps, 0),
            "waits first": _waits_from_first,
            "waits each step": lambda host, device, steps, every: _pipeline(host, device, steps, 1 if every else 0),
        },
    ),
    Check(
        id="case4.outcomes",
        points=4,
        signature="outcomes(groups, most)",
        groups={
            "all inputs are good and everybody stays": 1,
            "a bad input": 2,
            "a caller who left": 1,
        },
        public={
            "all inputs are good and everybody stays": [
                ([["ok"] * 3, ["ok"] * 4, ["ok"]], 3),
                ([["ok"] * 5, ["ok"] * 2], 2),
                ([["ok"] * 3], 2),
            ],
            "a bad input": [
                ([["ok", "bad", "ok", "ok", "ok"], ["ok", "ok"]], 3),
                ([["bad", "ok", "bad", "ok"], ["ok"] * 5], 4),
                ([["ok", "gone", "ok"], ["bad", "gone", "ok"], ["ok"] * 5], 2),
                ([["ok", "ok", "bad", "ok"], ["ok"]], 3),
            ],
            "a caller who left": [
                ([["ok", "gone", "ok", "ok", "ok"], ["ok"]], 3),
                ([["gone", "ok"], ["ok", "ok", "gone", "ok", "ok"]], 2),
            ],
        },
        generate=_draw_outcomes,
        reference=_outcomes,
        same=EXACT,
        wrong=OUTCOMES,
    ),
    Check(
        id="case4.reserved",
        points=3,
        signature="reserved(events, round_mb)",
        groups={REUSE[0]: 1, REUSE[1]: 2},
        public={
            REUSE[0]: [([10, -1, 20, -2, 41], 2), ([3, 5, 9, -1, 30], 4), ([5], 4)],
            REUSE[1]: [
                ([10, 20, -1, -2, 20, 10], 2),
                ([30, -1, 7, 25], 10),
                ([7, -1, 7, -2, 8, 1], 4),
                ([40, -1, 15, 20], 5),
                ([10, 20, 30, -1, -2, 25], 5),
                ([20, 40, 60, -2, -1, -3, 15, 38, 55], 20),
                ([20, 40, 60, -2, -1, -3, 15, 50], 20),
                ([20, 10, -2, -1, 8, 20], 2),
                ([20, -1, 8, -2, 20, 12], 2),
                ([7, 8, -1, -2, 5, 6], 4),
            ],
        },
        generate=_draw_reserved,
        reference=_reserved,
        same=EXACT,
        wrong=RESERVED,
    ),
    Check(
        id="case4.pick-kernel",
        points=3,
        signature="pick_kernels(devices, binaries, ptx)",
        public=[
            (["8.0", "7.0", "8.9"], ["7.0", "8.0"], ["8.0"]),
            (["7.5", "8.0", "8.9", "9.0"], ["7.0", "8.6"], ["8.6"]),
            (["10.0", "9.0"], ["9.0"], ["9.0", "8.0"]),
            (["9.0"], ["10.0"], ["10.0"]),
            (["12.10", "12.2"], ["12.2", "12.0"], ["12.10"]),
            (["8.9"], ["8.6", "8.0"], ["8.9"]),
            (["8.9", "12.0"], ["8.0", "8.6", "9.0"], ["8.0", "9.0"]),
            (["7.5"], [], ["7.5"]),
            (["10.3"], ["10.0", "9.0"], []),
            (["12.10", "12.2"], ["12.10", "12.2"], []),
            (["12.0", "9.0"], [], ["9.0", "10.0"]),
            (["12.11", "13.0"], [], ["12.2", "12.11", "13.0"]),
            (["12.11"], [], ["13.0", "12.2"]),
        ],
        generate=_draw_pick,
        reference=_pick,
        same=EXACT,
        wrong=PICKS | {"minor of PTX": _ptx_minor_too},
    ),
    Check(
        id="case4.look-every",
        points=2,
        signature="look_every(host, device, lost)",
        public=[
            (3, 4, 0.0625),
            (4, 3, 0.25),
            (5, 5, 0.125),
            (5, 5, 2**-13),
            (2, 9, 0),
            (1, 16, 0.125),
            (7, 6, 1.5),
            (5, 7, 0.25),
            (25001, 100_000, 0.03125),
            (77, 78, 2**-13),
        ],
        generate=_draw_look,
        reference=_look,
        same=EXACT,
        wrong={
            "ends early": _look_short,
            "rounded down": _look_floor,
            "not rounded": lambda host, device, lost: (
                None if lost == 0 else max(1, min(host, device) / (max(host, device) * lost))
            ),
            "the host over the device": lambda host, device, lost: (
                None if lost == 0 else max(1, ceil(host / (device * lost)))
            ),
            "as if both were equal": lambda host, device, lost: None if lost == 0 else max(1, ceil(1 / lost)),
        },
    ),
]
