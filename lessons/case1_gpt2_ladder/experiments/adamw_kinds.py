"""One step of 32 tokens with 5 million parameters, where the optimizer weighs: AdamW as a loop, as foreach, fused."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)

KINDS = ("loop", "foreach", "fused")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three kinds; full repeats them more often."""
    step = gpt_steps.Step(tiny_gpt.describe(4, 256, 4, 8192, 64), 32)
    heat = Heat(partial(calls, step=step), 7 if quick else 31, training=True)
    return tuple(
        Case(
            say("cases", kind),
            say("calls", kind, seq=step.seq, params=step.model.parameters().total / 1e6),
            observe=partial(heat.seconds, name=kind),
        )
        for kind in KINDS
    )


def calls(bench, step: gpt_steps.Step):
    """Kind -> the step with it."""
    return {kind: step.but(optimizer=kind).build(bench) for kind in KINDS}


def plot(result):
    """The time of a step with each kind."""
    took = result.measured
    factor = took[say("cases", "loop")] / took[say("cases", "fused")]
    return dots(result, title=say("title", factor=factor), axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s"))
