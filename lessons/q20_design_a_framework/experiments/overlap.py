"""Eight buckets of gradients between two gloo ranks: sent at the end of a backward pass, or as they are made."""

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

BUCKETS, EACH, NUMBERS = 8, 0.02, 2**19  # buckets, s of work for each, fp32 numbers in each
WAYS = ("no messages", "at the end", "overlapped")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three ways; full takes more repeats."""
    return tuple(
        Case(
            way,
            say("calls", way),
            observe=partial(_observe, way=way, repeats=3 if quick else 9),
            expect=partial(_expected, way=way),
        )
        for way in WAYS
    )


def _expected(device: hardware.Device, way: str) -> float | None:
    """What messages take on the loopback interface is not known beforehand."""
    return BUCKETS * EACH if way == WAYS[0] else None


def _observe(bench, seconds: float, way: str, repeats: int) -> list[float]:
    def job(rank):
        gradients, took = [bench.torch.ones(NUMBERS) for _ in range(BUCKETS)], []
        for _ in range(repeats):
            rank.barrier()
            begin, under_way = time.perf_counter(), []
            for gradient in gradients:
                time.sleep(EACH)
                if way == "overlapped":
                    under_way.append(rank.start_all_reduce(gradient))
            if way == "at the end":
                under_way = [rank.start_all_reduce(gradient) for gradient in gradients]
            for message in under_way:
                message.wait()
            took.append(time.perf_counter() - begin)
        return took

    with timing.single_thread(bench.torch):
        return ranks.run(2, job)[0]


def plot(result):
    """Time of each way."""
    alone, end, over = (result.measured[way] for way in WAYS)
    return dots(result, title=say("title", hidden=(end - over) / (end - alone)), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s"),
    method={"count": BUCKETS, "ms": 1000 * EACH, "mib": 4 * NUMBERS // 2**20},
)
