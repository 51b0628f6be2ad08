"""A pipeline of four stages over gloo: how much of a step a stage idles, by the number of microbatches."""

import time
from functools import partial

from course_lib.accounting import hardware, parallelism
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import ranks
from course_lib.words import words

say = words(__file__)

STAGES, WORK, COUNTS = 4, 0.16, (1, 2, 4, 8)  # stages, s of work of each in a step, microbatches


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """1 to 8 microbatches; full takes more repeats."""
    return tuple(
        Case(
            say("case", count=count),
            say("call"),
            observe=partial(_observe, count=count, repeats=1 if quick else 5),
            expect=lambda device, count=count: 100 * parallelism.pipeline_bubble(stages=STAGES, microbatches=count),
            facts={"microbatches": count},
        )
        for count in COUNTS
    )


def _observe(bench, seconds: float, count: int, repeats: int) -> list[float]:
    def job(rank):
        rank.barrier()
        begin, message = time.perf_counter(), bench.torch.zeros(16)
        for number in range(count):
            if rank.place > 0:
                rank.receive(message, rank.place - 1, number)
            time.sleep(WORK / count)
            if rank.place < STAGES - 1:
                rank.send(message, rank.place + 1, number)
        rank.barrier()
        return time.perf_counter() - begin

    return [100 * (1 - WORK / max(ranks.run(STAGES, job))) for _ in range(repeats)]


def plot(result):
    """Idle share over the microbatches."""
    first, last = (result.measured[say("case", count=count)] for count in (COUNTS[0], COUNTS[-1]))
    return dots(result, title=say("title", first=first, last=last, stages=STAGES), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", microbatches="int", hidden=("microbatches",)),
    method={"stages": STAGES, "ms": 1000 * WORK},
)
