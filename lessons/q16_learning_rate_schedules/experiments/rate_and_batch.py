"""The learning rate with which SGD learns digits in the fewest steps, over the batch."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q16_learning_rate_schedules import networks
from course_lib.words import words

say = words(__file__)

BATCHES, QUICK = (1, 4, 16, 64, 256, networks.LEARN), (4, 16, networks.LEARN)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three batches from one seed; full: six batches, from three."""
    return tuple(
        Case(
            say("case", batch=batch),
            say("calls", count=len(networks.SGD_RATES)),
            observe=partial(_observe, batch=batch, seeds=1 if quick else 3),
            facts={"batch": batch},
        )
        for batch in (QUICK if quick else BATCHES)
    )


def _observe(bench, seconds: float, batch: int, seeds: int) -> list[float]:
    return [networks.best_rate(bench.torch, batch, seed) for seed in range(seeds)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="batch", title=say("title"), axis=say("axis")),
    quantity_columns(say, "", batch="int", hidden=("batch",)),
    timed=False,
    method={
        "low": networks.SGD_RATES[0],
        "high": networks.SGD_RATES[-1],
        "target": networks.TARGET,
        "looks": networks.LOOKS,
    },
)
