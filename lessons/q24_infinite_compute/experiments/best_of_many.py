"""The best of many answers, by a judge who is exact, one who errs, and one who can be fooled."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.units.q24_infinite_compute import choosing
from course_lib.words import words

say = words(__file__)

TRIES = {1: 20_000, 16: 20_000, 256: 4_000, 4_096: 400, 16_384: 200}  # answers to choose from: rounds


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three judges and five numbers of answers; full repeats each with four more seeds."""
    return tuple(
        Case(
            say("case", judge=say("judges", judge), tries=tries),
            say("calls", judge),
            observe=partial(_observe, judge=judge, tries=tries, seeds=1 if quick else 5),
            expect=partial(_expected, judge=judge, tries=tries),
            facts={"judge": say("judges", judge), "tries": tries},
        )
        for judge in choosing.JUDGES
        for tries in TRIES
    )


def _expected(device: hardware.Device, judge: str, tries: int) -> float | None:
    """Of one answer there is nothing to choose, and a mean of 0 has no ratio."""
    return None if tries == 1 else choosing.expected(judge, tries)


def _observe(bench, seconds: float, judge: str, tries: int, seeds: int) -> list[float]:
    return [choosing.chosen(bench.torch, judge, tries, TRIES[tries], seed) for seed in range(seeds)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="tries", by="judge", title=say("title"), axis=say("axis"), log=(True, False)),
    quantity_columns(say, "", judge="str", tries="int", hidden=("judge", "tries")),
    timed=False,
)
