"""Recomputing every block makes room for a larger batch: what the samples a second become, on a step that fills the
machine and on one that does not.

Predicted is what the FLOPs say: no more and no less than 1 over the work of recomputing, whatever the batch.
"""

import statistics
from functools import cache

from course_lib.accounting import hardware
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.result import Column
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

TIMES = {"full": (2,), "small": (2, 4)}  # as many samples


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """A long sequence that fills the machine, and sixteen tokens that do not; full repeats them more often."""
    steps = {"full": gpt_steps.start(device).but(attention="sdpa", optimizer="fused"), "small": small(device)}
    rounds = {"full": 3 if quick else 9, "small": 9 if quick else 31}
    found = []
    for size, step in steps.items():
        together = cache(lambda bench, size=size, step=step: bargains(bench, step, TIMES[size], rounds[size]))
        found += [_case(size, step, times, together) for times in TIMES[size]]
    return tuple(found)


def _case(size: str, step: gpt_steps.Step, times: int, together) -> Case:
    facts = {"size": size, "times": times, "scaling": None, "factor": None}

    def observe(bench, seconds: float) -> list[float]:
        gains, scaling, factor = together(bench)[times]
        facts.update(scaling=scaling, factor=factor)
        return gains

    return Case(
        say("case", size, times=times),
        say("call", batch=step.batch, more=times * step.batch, seq=step.seq, d=step.model.d_model),
        observe=observe,
        expect=lambda device: 1 / step.but(recompute="full").factor,
        facts=facts,
    )


def small(device: hardware.Device) -> gpt_steps.Step:
    """A step of sixteen tokens: calls take longer than what they compute."""
    if device.kind == "cpu":
        return gpt_steps.Step(tiny_gpt.describe(2, 64, 4, 256, 64), 16)
    return gpt_steps.Step(tiny_gpt.describe(12, 768, 12, 50257, 1024), 16)


def bargains(bench, step: gpt_steps.Step, larger: tuple[int, ...], rounds: int) -> dict[int, tuple]:
    """Times as many samples -> samples a second, recomputed, over those of the plain batch, in each round; the time of
    the larger plain batch over that of the small one; and the larger batch recomputed over the larger one plain.
    """
    calls = {"plain": step.build(bench)}
    for times in larger:
        more = step.but(batch=times * step.batch)
        calls |= {(times, "plain"): more.build(bench), (times, "again"): more.but(recompute="full").build(bench)}
    took = gpt_steps.in_turn(bench, calls, rounds, times=4 if step.seq < 64 else 1)
    small, found = took["plain"], {}
    for times in larger:
        plain, again = took[times, "plain"], took[times, "again"]
        gains = [times * before / after for before, after in zip(small, again, strict=True)]
        found[times] = gains, _middle(plain, small), _middle(again, plain)
    return found


def _middle(above: list[float], below: list[float]) -> float:
    """Median of the ratios, round by round."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


def plot(result):
    """Samples a second over before, for each bargain."""
    return dots(result, title=say("title"), axis=say("axis"))


EXPERIMENT = Experiment(
    name="batch_bargain",
    question=say("question"),
    columns=quantity_columns(
        say("columns", "measured"),
        "×",
        Column("size", say("columns", "size"), "", "str", shown=False),
        Column("times", say("columns", "times"), "", "int", shown=False),
        Column("scaling", say("columns", "scaling"), "×", "float?"),
        Column("factor", say("columns", "factor"), "×", "float?"),
    ),
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    recording_seconds=60,
    on_gpu=say("on-gpu"),
    method=say.all("method"),
)
