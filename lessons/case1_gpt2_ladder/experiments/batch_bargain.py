"""Recomputing every block makes room for a larger batch: what the samples a second become, on a step that fills the
machine and on one that does not.

Predicted is what the FLOPs say: no more and no less than 1 over the work of recomputing, whatever the batch.
"""

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
    rounds = {"full": 3 if quick else 12, "small": 9 if quick else 31}
    found = []
    for size, step in steps.items():
        together = cache(lambda bench, size=size, step=step: _rates(bench, step, TIMES[size], rounds[size]))
        found += [
            Case(
                say("case", size, times=times),
                say("call", batch=step.batch, more=times * step.batch, seq=step.seq, d=step.model.d_model),
                observe=lambda bench, seconds, together=together, times=times: together(bench)[times],
                expect=lambda device, step=step: 1 / step.but(recompute="full").factor,
                facts={"size": size, "times": times},
            )
            for times in TIMES[size]
        ]
    return tuple(found)


def small(device: hardware.Device) -> gpt_steps.Step:
    """A step of sixteen tokens: calls take longer than what they compute."""
    if device.kind == "cpu":
        return gpt_steps.Step(tiny_gpt.describe(2, 64, 4, 256, 64), 16)
    return gpt_steps.Step(tiny_gpt.describe(12, 768, 12, 50257, 1024), 16)


def _rates(bench, step: gpt_steps.Step, larger: tuple[int, ...], rounds: int) -> dict[int, list[float]]:
    """Times as many samples -> samples a second, recomputed, over those of the plain batch, in each round."""
    calls = {"plain": step.build(bench)}
    calls |= {times: step.but(batch=times * step.batch, recompute="full").build(bench) for times in larger}
    took = gpt_steps.in_turn(bench, calls, rounds, times=4 if step.seq < 64 else 1)
    return {
        times: [times * before / after for before, after in zip(took["plain"], took[times], strict=True)]
        for times in larger
    }


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
    ),
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    on_gpu=say("on-gpu"),
    method=say.all("method"),
)
