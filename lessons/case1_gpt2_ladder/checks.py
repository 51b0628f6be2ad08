"""Checks of case 1: inputs, references, and the wrong answers that people give."""

from itertools import pairwise

from course_lib.teaching.checks.check import Check, Close

# ---- case1.turn-share ----------------------------------------------------------------------------


def _share(rate, forward, peak):
    return 3 * forward * rate / peak


# ---- case1.turn-after ----------------------------------------------------------------------------


def _after(parts, name, speedup):
    return sum(parts.values()) - parts[name] * (1 - 1 / speedup)


def _after_gone(parts, name, speedup):
    return sum(parts.values()) - parts[name]


def _after_whole(parts, name, speedup):
    return sum(parts.values()) / speedup


def _after_minus(parts, name, speedup):
    """As if the part lost its speed-up's share only: what is left is taken off."""
    return sum(parts.values()) - parts[name] / speedup


def _after_part(parts, name, speedup):
    return parts[name] / speedup


def _draw_after(rng):
    names = rng.sample(["attention", "FFN", "norms", "backward", "optimizer"], rng.randrange(2, 5))
    parts = {name: rng.randrange(5, 300) for name in names}
    return parts, rng.choice(names), rng.choice([0.5, 0.8, 1.25, 1.5, 3, 4, 10])


# ---- case1.turn-bargain --------------------------------------------------------------------------


def _bargain(times, scaling, factor):
    return times / (scaling * factor)


# ---- case1.peak-shares ---------------------------------------------------------------------------


def _shares(step_ms, batch, forward_gflop, peak_tflops):
    return [
        3 * samples * forward_gflop / ms / peak for ms, samples, peak in zip(step_ms, batch, peak_tflops, strict=True)
    ]


def _shares_forward(step_ms, batch, forward_gflop, peak_tflops):
    return [share / 3 for share in _shares(step_ms, batch, forward_gflop, peak_tflops)]


def _shares_hardware(step_ms, batch, forward_gflop, peak_tflops):
    """Four passes: as if every block were computed again."""
    return [share * 4 / 3 for share in _shares(step_ms, batch, forward_gflop, peak_tflops)]


def _shares_first_batch(step_ms, batch, forward_gflop, peak_tflops):
    return _shares(step_ms, [batch[0]] * len(batch), forward_gflop, peak_tflops)


def _shares_last_peak(step_ms, batch, forward_gflop, peak_tflops):
    return _shares(step_ms, batch, forward_gflop, [peak_tflops[-1]] * len(batch))


def _shares_first_peak(step_ms, batch, forward_gflop, peak_tflops):
    return _shares(step_ms, batch, forward_gflop, [peak_tflops[0]] * len(batch))


def _shares_clipped(step_ms, batch, forward_gflop, peak_tflops):
    return [min(share, 1.0) for share in _shares(step_ms, batch, forward_gflop, peak_tflops)]


def _shares_no_batch(step_ms, batch, forward_gflop, peak_tflops):
    return _shares(step_ms, [1] * len(batch), forward_gflop, peak_tflops)


def _shares_by_place(step_ms, batch, forward_gflop, peak_tflops):
    """A rung is looked up by its ms: of two that take equally long the first is taken twice."""
    first = [step_ms.index(ms) for ms in step_ms]
    return _shares(step_ms, [batch[n] for n in first], forward_gflop, [peak_tflops[n] for n in first])


def _shares_by_rate(step_ms, batch, forward_gflop, peak_tflops):
    """A rung's peak is looked up by its rate: of two with one rate the first one's is taken twice."""
    rates = [samples / ms for ms, samples in zip(step_ms, batch, strict=True)]
    return _shares(step_ms, batch, forward_gflop, [peak_tflops[rates.index(rate)] for rate in rates])


def _shares_by_peak(step_ms, batch, forward_gflop, peak_tflops):
    """A rung is looked up by its peak: of two in one format the first is taken twice."""
    first = [peak_tflops.index(peak) for peak in peak_tflops]
    return _shares([step_ms[n] for n in first], [batch[n] for n in first], forward_gflop, peak_tflops)


def _neighbours_differ(rng, values, count):
    found = []
    while len(found) < count:
        found.append(rng.choice([value for value in values if value not in found[-1:]]))
    return found


def _draw_shares(rng):
    """Two to five rungs, mostly four or more; neighbours differ in batch and in peak, and one is impossible. The third
    takes as long as the first, mostly with as many samples, and is held against another peak.
    """
    while True:
        rungs = rng.choice([2, 4, 4, 5])
        step_ms = [rng.randrange(50, 900) for _ in range(rungs)]
        batch = _neighbours_differ(rng, [4, 8, 16, 32], rungs)
        peaks = _neighbours_differ(rng, [19.5, 156.0, 312.0, 989.0], rungs)
        if rungs > 2:
            step_ms[2] = step_ms[0]
            batch[2] = rng.choice([*[batch[0]] * 4, batch[2]])
            if peaks[2] == peaks[0] or batch[2] in batch[3:4]:
                continue
        inputs = step_ms, batch, rng.randrange(20, 900), peaks
        if any(share > 1.05 for share in _shares(*inputs)):
            return inputs


# ---- case1.ladder --------------------------------------------------------------------------------


def _ladder(parts, rungs):
    now, after = dict(parts), []
    for name, speedup in rungs:
        now[name] /= speedup
        after.append(sum(now.values()))
    return after


def _ladder_whole(parts, rungs):
    total, after = sum(parts.values()), []
    for _, speedup in rungs:
        total /= speedup
        after.append(total)
    return after


def _ladder_from_first(parts, rungs):
    """What a rung saves is taken from the part as it was at first, also when it comes again."""
    total, after = sum(parts.values()), []
    for name, speedup in rungs:
        total -= parts[name] * (1 - 1 / speedup)
        after.append(total)
    return after


def _ladder_alone(parts, rungs):
    return [sum(parts.values()) - parts[name] * (1 - 1 / speedup) for name, speedup in rungs]


def _ladder_gone(parts, rungs):
    now, after = dict(parts), []
    for name, _ in rungs:
        now[name] = 0
        after.append(sum(now.values()))
    return after


def _ladder_last(parts, rungs):
    return _ladder(parts, rungs)[-1:]


def _ladder_with_start(parts, rungs):
    return [sum(parts.values()), *_ladder(parts, rungs)]


def _ladder_changes(parts, rungs):
    """Gains in place of ms: the step before over the step after."""
    steps = [sum(parts.values()), *_ladder(parts, rungs)]
    return [before / after for before, after in pairwise(steps)]


def _draw_ladder(rng):
    """Three or four parts, three to six rungs, mostly five or more; one part comes at least twice, another one in
    between, and a rung after the first makes its part slower.
    """
    names = rng.sample(["attention", "FFN", "norms", "backward", "optimizer"], rng.randrange(3, 5))
    parts = {name: rng.randrange(20, 300) for name in names}
    twice, other = names[0], names[1]
    order = [twice, other, twice, *rng.choices(names, k=rng.choice([0, 2, 2, 3]))]
    speedups = [rng.choice([0.8, 1.25, 1.5, 2, 3, 4]) for _ in order]
    speedups[rng.randrange(1, len(order))] = 0.8
    return parts, [list(rung) for rung in zip(order, speedups, strict=True)]


# ---- case1.checkpoint-gain -----------------------------------------------------------------------


def _gain(fwd, bwd, fixed, blocks, scaling):
    before = fwd + bwd + fixed
    return 2 * before / (scaling * (fwd + bwd + blocks * fwd) + fixed)


def _gain_diary(fwd, bwd, fixed, blocks, scaling):
    """The diary's: the small batch with recomputation, and twice the samples."""
    before = fwd + bwd + fixed
    return 2 * before / (before + blocks * fwd)


def _gain_all(fwd, bwd, fixed, blocks, scaling):
    return _gain(fwd, bwd, fixed, 1, scaling)


def _gain_fixed(fwd, bwd, fixed, blocks, scaling):
    return 2 * (fwd + bwd + fixed) / (scaling * (fwd + bwd + blocks * fwd + fixed))


def _gain_free(fwd, bwd, fixed, blocks, scaling):
    return _gain(fwd, bwd, fixed, 0, scaling)


def _gain_third(fwd, bwd, fixed, blocks, scaling):
    return 2 * (fwd + bwd + fixed) / (scaling * (fwd + bwd) * 4 / 3 + fixed)


def _gain_double(fwd, bwd, fixed, blocks, scaling):
    return _gain(fwd, bwd, fixed, blocks, 2)


def _gain_time(fwd, bwd, fixed, blocks, scaling):
    """Old step over new step: the samples are forgotten."""
    return _gain(fwd, bwd, fixed, blocks, scaling) / 2


def _gain_once(fwd, bwd, fixed, blocks, scaling):
    """The recomputation does not grow with the batch."""
    return 2 * (fwd + bwd + fixed) / (scaling * (fwd + bwd) + blocks * fwd + fixed)


GAINS = (_gain, _gain_diary, _gain_all, _gain_fixed, _gain_free, _gain_third, _gain_double, _gain_time, _gain_once)


def _draw_gain(rng):
    while True:
        inputs = (
            rng.randrange(20, 90),
            rng.randrange(60, 250),
            rng.randrange(5, 90),
            rng.choice([0.5, 0.625, 0.75, 0.875]),
            rng.choice([1.125, 1.25, 1.5, 1.75]),
        )
        right, *others = (gain(*inputs) for gain in GAINS)
        if all(abs(other / right - 1) > 1e-3 for other in others):
            return inputs


# ---- case1.needed-share --------------------------------------------------------------------------


def _needed(total, local):
    share = (1 - 1 / total) / (1 - 1 / local)
    return share if share <= 1 else None


def _needed_always(total, local):
    return (1 - 1 / total) / (1 - 1 / local)


def _needed_ratio(total, local):
    return total / local


def _needed_gains(total, local):
    return (total - 1) / (local - 1)


def _needed_clipped(total, local):
    return min(1.0, _needed_always(total, local))


def _needed_saved(total, local):
    """The share of the step that has to go."""
    return 1 - 1 / total if total <= local else None


def _draw_needed(rng):
    """Gains of the whole below, at and above those of the part. A tie only where every formula gives exactly 1."""
    local = rng.choice([1.25, 1.5, 2, 2.5, 3, 4, 5, 8, 10])
    kind = rng.random()
    if kind < 0.2:
        local = rng.choice([2, 4, 8])
        return local, local
    if kind < 0.7:
        return local * rng.choice([1.25, 1.5, 2]), local
    return 1 + (local - 1) * rng.choice([0.125, 0.25, 0.5, 0.75]), local


CHECKS = [
    Check(
        id="case1.turn-share",
        points=0,
        signature="peak_share(rate, forward, peak)",
        public=[(32, 291.6e9, 19.5e12), (102, 291.6e9, 312e12), (8, 3.5e12, 100e12), (1, 2e9, 4e9)],
        generate=lambda rng: (rng.randrange(1, 400), rng.randrange(20, 5000) * 1e9, rng.randrange(8, 990) * 1e12),
        reference=_share,
        wrong={
            "forward only": lambda rate, forward, peak: forward * rate / peak,
            "backward only": lambda rate, forward, peak: 2 * forward * rate / peak,
            "recomputed": lambda rate, forward, peak: 4 * forward * rate / peak,
            "upside down": lambda rate, forward, peak: peak / (3 * forward * rate),
            "most samples": lambda rate, forward, peak: peak / (3 * forward),
        },
    ),
    Check(
        id="case1.turn-after",
        points=0,
        signature="after(parts, name, speedup)",
        public=[
            ({"attention": 120, "rest": 380}, "attention", 3),
            ({"forward": 120, "backward": 250, "rest": 50}, "backward", 1.25),
            ({"a": 40, "b": 60}, "b", 0.5),
            ({"norm": 40, "norms": 40, "b": 60}, "norm", 4),
            ({"norm": 40, "norms": 60, "b": 30}, "norms", 4),
            ({"only": 90}, "only", 1.5),
            ({"a": 45, "b": 30}, "a", 4),
            ({"a": 50, "b": 20, "c": 50}, "b", 4),
        ],
        generate=_draw_after,
        reference=_after,
        wrong={
            "part gone": _after_gone,
            "whole": _after_whole,
            "what is left": _after_minus,
            "part alone": _after_part,
        },
    ),
    Check(
        id="case1.turn-bargain",
        points=0,
        signature="bargain(times, scaling, factor)",
        public=[(2, 2, 1.25), (2, 1.25, 1.5), (4, 1.6, 1.25), (8, 5, 1.2), (3, 3.5, 1.3)],
        generate=lambda rng: (
            rng.choice([2, 3, 4, 8]),
            rng.choice([1.125, 1.375, 1.75, 2.25, 3.5, 6.5]),
            rng.choice([1.0625, 1.1875, 1.3125, 1.4375]),
        ),
        reference=_bargain,
        wrong={
            "recomputing is free": lambda times, scaling, factor: times / scaling,
            "same time": lambda times, scaling, factor: times / factor,
            "full machine": lambda times, scaling, factor: 1 / factor,
            "upside down": lambda times, scaling, factor: scaling * factor / times,
            "added": lambda times, scaling, factor: times / (scaling + factor - 1),
            "multiplied": lambda times, scaling, factor: times * factor / scaling,
        },
    ),
    Check(
        id="case1.peak-shares",
        points=2,
        signature="peak_shares(step_ms, batch, forward_gflop, peak_tflops)",
        public=[
            ([500, 420], [16, 32], 291.6, [19.5, 156]),
            ([92.5], [16], 291.6, [312]),
            ([250, 325, 90], [16, 32, 8], 40, [312, 19.5, 156]),
            ([800, 50, 200, 200], [4, 32, 4, 16], 500, [989, 19.5, 989, 989]),
            ([300, 120, 300], [8, 16, 32], 250, [19.5, 156, 312]),
            ([300, 120, 300, 300], [16, 8, 16, 16], 250, [19.5, 156, 312, 19.5]),
        ],
        generate=_draw_shares,
        reference=_shares,
        wrong={
            "forward only": _shares_forward,
            "recomputed": _shares_hardware,
            "first batch": _shares_first_batch,
            "last peak": _shares_last_peak,
            "first peak": _shares_first_peak,
            "never above 1": _shares_clipped,
            "one sample": _shares_no_batch,
            "first of equals": _shares_by_place,
            "first of equal rates": _shares_by_rate,
            "first of equal peaks": _shares_by_peak,
        },
    ),
    Check(
        id="case1.ladder",
        points=3,
        signature="ladder(parts, rungs)",
        public=[
            ({"attention": 120, "rest": 380}, [["attention", 3], ["rest", 1.25], ["attention", 2]]),
            (
                {"attention": 120, "backward": 250, "rest": 130},
                [["attention", 1.5], ["backward", 1.25], ["attention", 1.5]],
            ),
            ({"a": 40, "b": 60, "c": 10}, [["b", 0.8], ["a", 4], ["b", 2], ["c", 1.25], ["a", 0.5]]),
            ({"norm": 64, "norms": 64, "c": 20}, [["norm", 2], ["norms", 0.8], ["norm", 2], ["norm", 4]]),
            ({"a": 70.5, "b": 50.25}, [["b", 1.25]]),
        ],
        generate=_draw_ladder,
        reference=_ladder,
        wrong={
            "whole step": _ladder_whole,
            "from the first profile": _ladder_from_first,
            "each alone": _ladder_alone,
            "part gone": _ladder_gone,
            "last rung": _ladder_last,
            "with the start": _ladder_with_start,
            "gains": _ladder_changes,
        },
    ),
    Check(
        id="case1.checkpoint-gain",
        points=3,
        signature="checkpoint_gain(fwd, bwd, fixed, blocks, scaling)",
        public=[
            (72, 150, 50, 0.75, 1.75),
            (72.5, 150.25, 50.5, 0.75, 1.25),
            (40, 100, 10, 0.5, 1.5),
            (30, 60, 80, 0.875, 1.125),
            (60, 130, 30, 0.625, 2),
            (60, 130, 0, 0.625, 1.5),
        ],
        generate=_draw_gain,
        reference=_gain,
        wrong={
            "the diary's": _gain_diary,
            "all of it again": _gain_all,
            "fixed time grows": _gain_fixed,
            "recomputing is free": _gain_free,
            "a third": _gain_third,
            "always double": _gain_double,
            "of time": _gain_time,
            "recomputed once": _gain_once,
        },
    ),
    Check(
        id="case1.needed-share",
        points=2,
        signature="needed_share(total, local)",
        public=[(1.25, 3), (1.1, 2), (4, 4), (2, 1.5), (1, 4), (1.5, 10), (5.01, 5), (2, 2), (8, 8)],
        generate=_draw_needed,
        reference=_needed,
        same=Close(rel=4e-6, abs=1e-7),
        wrong={
            "never none": _needed_always,
            "ratio": _needed_ratio,
            "ratio of gains": _needed_gains,
            "clipped": _needed_clipped,
            "what is saved": _needed_saved,
        },
    ),
]
