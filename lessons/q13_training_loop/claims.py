"""Claims on trial in Q13: each function decides one claim by computing it and returns the verdict with its numbers."""

import math

from course_lib.accounting import economics, memory
from course_lib.teaching.cards.verdict import Verdict
from course_lib.units.q13_training_loop import toy

WEEK, YEAR = 7 * 86_400, 365.25 * 86_400  # s


def same_curve() -> Verdict:
    """Each piece forgotten alone: does a run whose next loss is right always end as it should?"""
    right = toy.straight()
    runs = {piece: toy.resumed((piece,)) for piece in toy.PIECES}
    unseen = [run for run in runs.values() if run.losses[toy.AT] == right.losses[toy.AT]]
    same = all(run.weight == right.weight for run in unseen)
    return Verdict(
        "holds" if same else "fails",
        loss=right.losses[toy.AT],
        right=right.weight,
        losses={piece: run.losses[toy.AT] for piece, run in runs.items()},
        ends={piece: run.weight for piece, run in runs.items()},
    )


def stops(needs, limit, leak, restarts) -> list[int]:
    """Steps at which a run stops for want of memory, restarted from the last good step at most so often.

    needs: bytes of each step's batch. leak: bytes that each step leaves behind until the process ends.
    """
    stopped, held, step = [], 0, 0
    while step < len(needs) and len(stopped) <= restarts:
        if held + needs[step] > limit:
            stopped.append(step)
            held = 0
            continue
        held, step = held + leak, step + 1
    return stopped


def s003_58() -> Verdict:
    """100 steps of 60 GB on a card of 80: with a leak of 1 GB a step, and with one batch that needs 90."""
    leaking = stops([60] * 100, limit=80, leak=1, restarts=20)
    long = stops([60] * 50 + [90] + [60] * 49, limit=80, leak=0, restarts=5)
    over = len(leaking) <= 20  # it came to its end
    again = len(long) == 6 and len(set(long)) == 1
    rulings = {(True, True): "holds-if", (True, False): "holds", (False, True): "fails"}
    return Verdict(rulings[over, again], leak=len(leaking), long=len(long) - 1)


def s003_60() -> Verdict:
    """The chance that a week is cut short, its expected length, and the bytes of a checkpoint without gradients."""
    rates = {"checkpoint_seconds": 60, "mtbf_seconds": 5 * YEAR / 300}
    best = economics.young_interval(**rates)
    without = 7 * (1 + economics.expected_waste(interval_seconds=WEEK, **rates))
    held = 7 * (1 + economics.expected_waste(interval_seconds=best, **rates))
    cut = [-math.expm1(-WEEK * devices / (5 * YEAR)) for devices in (1, 300)]
    states = [memory.model_state(7e9, recipe) for recipe in ("fp32-adamw", "mixed-adamw")]
    fp32, mixed = ((int(state) - int(state["grads"])) / 1e9 for state in states)
    return Verdict(
        "holds" if without > held else "fails",
        one=1 / cut[0],
        cut=cut,
        without=without,
        with_=held,
        fp32=fp32,
        mixed=mixed,
    )


def s004_060() -> Verdict:
    """A gradient of norm 2 under a loss scale of 65,536, clipped to norm 1: before and after unscaling."""
    scale, norm, most = 65_536, 2.0, 1.0
    right = min(most, scale * norm / scale)
    wrong = min(most, scale * norm) / scale
    unclipped = norm * scale / scale == norm
    adam = [norm / (norm + 1e-8) for norm in (right, wrong)]  # the first step; PyTorch's eps
    return Verdict("holds-if" if unclipped and wrong != right else "holds", right=right, wrong=wrong, adam=adam)


def clipped(gradients, most) -> list[float]:
    factor = most / math.sqrt(sum(each * each for each in gradients))
    return [each * factor for each in gradients]


def clip_nan() -> Verdict:
    good, bad = clipped([3.0, 4.0], 1.0), clipped([3.0, math.nan], 1.0)
    stopped = all(map(math.isfinite, bad))
    shown = [", ".join(f"{each:.1f}" for each in one) for one in (good, bad)]
    return Verdict("holds" if stopped else "fails", good=shown[0], clipped=shown[1])
