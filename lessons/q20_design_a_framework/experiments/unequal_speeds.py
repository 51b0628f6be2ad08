"""Ranks of two speeds in one synchronous job: sleeping stands for computing, and a real all-reduce ends each step."""

import time
from functools import partial

from course_lib.accounting import hardware, parallelism
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import ranks
from course_lib.words import words

say = words(__file__)

SLOW, FAST, STEP, REPEATS = 125, 312, 0.12, 3  # peaks in TFLOP/s; s that two fast ranks take for a step; steps
JOBS = {  # name → (speeds, shares or None for equal ones)
    "two fast ranks": ((FAST, FAST), None),
    "two slow ones beside them, equal shares": ((FAST, FAST, SLOW, SLOW), None),
    "the same, shares by speed": ((FAST, FAST, SLOW, SLOW), (FAST, FAST, SLOW, SLOW)),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three jobs; full has no more."""
    return tuple(
        Case(name, say("calls", name), observe=partial(_observe, name=name), expect=partial(_expected, name=name))
        for name in JOBS
    )


def _expected(device: hardware.Device, name: str) -> float:
    return parallelism.synchronous_rate(*JOBS[name]) / (2 * FAST)


def _observe(bench, seconds: float, name: str) -> list[float]:
    speeds, by_speed = JOBS[name]
    shares = by_speed or (1,) * len(speeds)
    sleeps = [2 * FAST * STEP * share / sum(shares) / speed for share, speed in zip(shares, speeds, strict=True)]

    def job(rank):
        gradient, took = bench.torch.ones(1024), []
        for _ in range(REPEATS):
            rank.barrier()
            begin = time.perf_counter()
            time.sleep(sleeps[rank.place])
            rank.all_reduce(gradient)
            took.append(time.perf_counter() - begin)
        return min(took)

    return [STEP / max(ranks.run(len(speeds), job))]


def plot(result):
    """The rate of each job."""
    rate = result.measured
    return dots(
        result, title=say("title", equal=rate[list(JOBS)[1]], share=rate[list(JOBS)[2]]), axis=say("axis"), log=False
    )


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "×"), method={"fast": FAST, "slow": SLOW, "ms": 1000 * STEP}
)
