"""The ladder's third rung with its blocks compiled: the step before and after, and the seconds of compiling."""

import os
import statistics

from course_lib.accounting import hardware
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.result import Column
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import single_thread
from course_lib.figures.charts import dots
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """One case, measured all at once; full repeats the steps more often."""
    step = gpt_steps.start(device).but(attention="sdpa", optimizer="fused")
    facts = {"plain": None, "compiling": None}

    def observe(bench, seconds: float) -> list[float]:
        took = measure(bench, step, 4 if quick else 15)
        facts.update(plain=statistics.median(took["plain"]), compiling=took["compiling"])
        return took["compiled"]

    return (Case(say("case"), say("call"), observe=observe, expect=lambda device: None, facts=facts),)


def measure(bench, step: gpt_steps.Step, rounds: int) -> dict:
    """Seconds of a plain step and of a compiled one, in turn, and of the first compiled step less a later one."""

    def compile_blocks(net):
        for block in net.h:
            block.compile(dynamic=False)

    plain = step.build(bench)
    with compiling(bench), single_thread(bench.torch):
        call = step.build(bench, compile_blocks)
        begin = _used()
        call()
        first = _used() - begin
        took = gpt_steps.in_turn(bench, {"plain": plain, "compiled": call}, rounds)
    return {"compiling": first - min(took["compiled"]), **took}


def _used() -> float:
    """Seconds on a processor of this process and of those it waited for, such as a C++ compiler."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def plot(result):
    """The compiled step."""
    (row,) = result.rows
    return dots(result, title=say("title", factor=row["plain"] / row["measured"]), axis=say("axis"))


EXPERIMENT = Experiment(
    name="compiled_blocks",
    question=say("question"),
    columns=quantity_columns(
        say("columns", "measured"),
        "s",
        Column("plain", say("columns", "plain"), "s", "float?"),
        Column("compiling", say("columns", "compiling"), "s", "float?"),
    ),
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    recording_seconds=60,
    on_gpu=say("on-gpu"),
    method=say.all("method"),
)
