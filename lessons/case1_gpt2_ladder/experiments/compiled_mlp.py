"""The ladder's third rung with the MLP of each block compiled: the step before and after, and the seconds of compiling."""

import os
from functools import cache

from course_lib.accounting import hardware
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import race
from course_lib.experiments.running.rows import quantity_columns
from course_lib.experiments.running.timing import single_thread
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Plain, compiled, and the compiling itself, measured together; full repeats the steps more often."""
    step = gpt_steps.start(device).but(attention="sdpa", optimizer="fused")
    together = cache(lambda bench: measure(bench, step, 3 if quick else 5))
    return tuple(
        Case(
            say("cases", name),
            say("calls", name),
            observe=lambda bench, seconds, name=name: together(bench)[name],
        )
        for name in ("plain", "compiled", "compiling")
    )


def measure(bench, step: gpt_steps.Step, rounds: int) -> dict[str, list[float]]:
    """Seconds of a plain step and of a compiled one, in turn, and of the first compiled step less a later one."""

    def compile_parts(net):
        for block in net.h:
            block.mlp.compile(dynamic=False)

    plain = step.build(bench)
    with compiling(bench), single_thread(bench.torch):
        call = step.build(bench, compile_parts)
        begin = _used()
        call()
        first = _used() - begin
        took = race({"plain": plain, "compiled": call}, rounds, bench.on)
    return {"compiling": [first - min(took["compiled"])], **took}


def _used() -> float:
    """Seconds on a processor of this process and of those it waited for, such as a C++ compiler."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def plot(result):
    """The three times."""
    took = result.measured
    plain, compiled = (took.get(say("cases", name)) for name in ("plain", "compiled"))
    title = say("title", "found", factor=plain / compiled) if plain and compiled else say("title", "plain")
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s"), recording_seconds=60)
