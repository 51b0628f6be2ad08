"""A training step of a small GPT-2, made faster rung by rung; each rung keeps what the one before it has.

What a rung brings is predicted in the lesson, by Amdahl's law, from the profile of the first one (`step_shares`).
"""

from collections.abc import Mapping
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import Heat
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three rungs; full repeats them more often, and adds autocast."""
    foot, rounds = gpt_steps.start(device), 4 if quick else 11
    flash = foot.but(attention="sdpa")
    fused = flash.but(optimizer="fused")
    steps = {"start": foot, "flash": flash, "fused": fused}
    heat = Heat(partial(calls, steps=steps), rounds, training=True)
    found = [_case(foot, rung, partial(heat.seconds, name=rung)) for rung in steps]
    if not quick:
        alone = Heat(partial(calls, steps={"autocast": fused.but(autocast=True)}), rounds, training=True)
        found.append(_case(foot, "autocast", partial(alone.seconds, name="autocast")))
    return tuple(found)


def _case(foot: gpt_steps.Step, rung: str, observe) -> Case:
    call = say("calls", rung, seq=foot.seq, batch=foot.batch)
    return Case(say("cases", rung), call, observe=observe)


def calls(bench, steps: Mapping[str, gpt_steps.Step]):
    """Rung -> the step on it."""
    return {rung: step.build(bench) for rung, step in steps.items()}


def plot(result):
    """The time of a step on each rung."""
    took = list(result.measured.values())
    return dots(result, title=say("title", factor=took[0] / min(took)), axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s"), recording_seconds=60)
