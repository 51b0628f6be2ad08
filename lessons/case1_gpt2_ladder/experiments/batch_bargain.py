"""Recomputing every block makes room for a larger batch: what the samples a second become, on a step that fills the
machine and on one that does not.

Predicted is what the FLOPs say: twice the samples take twice as long, recomputing takes its share more, and the batch
cancels.
"""

from functools import cache, partial
from typing import Any

from course_lib.accounting import hardware
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import race
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

TIMES = {"full": (2,), "small": (2, 4)}  # as many samples
WHAT = ("scaling", "factor", "gain")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """A long sequence that fills the machine, and sixteen tokens that do not; full repeats them more often."""
    steps = {"full": gpt_steps.start(device).but(attention="sdpa", optimizer="fused"), "small": small(device)}
    rounds = {"full": 3 if quick else 9, "small": 9 if quick else 31}
    found = []
    for size, step in steps.items():
        together = cache(lambda bench, size=size, step=step: bargains(bench, step, TIMES[size], rounds[size]))
        again = step.but(recompute="full").factor
        for times in TIMES[size]:
            expected = {"scaling": float(times), "factor": again, "gain": 1 / again}
            found += [_case(size, step, times, what, together, expected[what]) for what in WHAT]
    return tuple(found)


def _case(size: str, step: gpt_steps.Step, times: int, what: str, together, expected: float) -> Case:
    return Case(
        say("case", f"{size}-{what}", times=times),
        say("call", batch=step.batch, more=times * step.batch, seq=step.seq, d=step.model.d_model),
        observe=lambda bench, seconds: together(bench)[times][what],
        expect=lambda device: expected,
        facts={"size": size, "times": times, "what": what},
    )


def small(device: hardware.Device) -> gpt_steps.Step:
    """A step of sixteen tokens: calls take longer than what they compute."""
    if device.kind == "cpu":
        return gpt_steps.Step(tiny_gpt.describe(2, 64, 4, 256, 64), 16)
    return gpt_steps.Step(tiny_gpt.describe(12, 768, 12, 50257, 1024), 16)


def bargains(bench, step: gpt_steps.Step, larger: tuple[int, ...], rounds: int) -> dict[int, dict[str, list[float]]]:
    """Times as many samples -> what -> a ratio in each round. scaling: the larger batch's time over the small one's,
    both plain; factor: the larger one recomputed over plain; gain: its samples a second, recomputed, over the small one's.
    """
    calls: dict[object, Any] = {"plain": step.build(bench)}
    for times in larger:
        more = step.but(batch=times * step.batch)
        calls |= {(times, "plain"): more.build(bench), (times, "again"): more.but(recompute="full").build(bench)}
    took = race(calls, rounds, bench.on)
    found = {}
    for times in larger:
        rows = list(zip(took["plain"], took[times, "plain"], took[times, "again"], strict=True))
        found[times] = {
            "scaling": [plain / small for small, plain, _ in rows],
            "factor": [again / plain for _, plain, again in rows],
            "gain": [times * small / again for small, _, again in rows],
        }
    return found


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "×", size="str", times="int", what="str", hidden=("size", "times", "what")),
    recording_seconds=60,
)
