"""4 MiB of gradients between two gloo ranks, in one message or in many."""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q20_design_a_framework import ranks
from course_lib.words import words

say = words(__file__)

NUMBERS, MESSAGES = 2**20, (1, 4, 16, 64, 256)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """1 to 256 messages; full takes more repeats."""
    return tuple(
        Case(
            say("case", count=count),
            say("call", size=4 * NUMBERS / count / 1024),
            observe=partial(_observe, count=count, repeats=3 if quick else 9),
            facts={"messages": count},
        )
        for count in MESSAGES
    )


def _observe(bench, seconds: float, count: int, repeats: int) -> list[float]:
    def job(rank):
        parts, took = list(bench.torch.ones(NUMBERS).chunk(count)), []
        for _ in range(repeats + 1):
            rank.barrier()
            begin = time.perf_counter()
            for part in parts:
                rank.all_reduce(part)
            took.append(time.perf_counter() - begin)
        return took[1:]

    with timing.single_thread(bench.torch):
        return ranks.run(2, job)[0]


def plot(result):
    """Time over messages."""
    one, many = (result.measured[say("case", count=count)] for count in (MESSAGES[0], MESSAGES[-1]))
    return dots(result, title=say("title", ratio=many / one, count=MESSAGES[-1]), axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", messages="int", hidden=("messages",)),
    method={"mib": 4 * NUMBERS // 2**20},
)
