"""Loops that compute the same: without waiting, waiting asleep, waiting by polling, and beside a spinning thread.

Each has two readings: what the gauge of a core shows, and how many steps it makes, as a share of computing alone.
"""

import time
from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.accounting.queues import pipeline
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q12_eighty_percent_busy import loops
from course_lib.words import words

say = words(__file__)

SPINNERS = {"beside a spinner": 5e-3, "spinner, lock handed on sooner": 5e-4}  # s of Python's switch interval
LOOPS = ("computing alone", "waiting asleep", "waiting, polling", *SPINNERS)
READINGS = ("gauge", "work")
ROUNDS = 3
IN_TURN = 100 * pipeline.rate({"wait": 1.0, "step": 1.0}, overlapped=False).per_second  # % of one step a second


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five loops with two readings each; full differs from quick in the time of each loop."""
    run = cache(_run)  # each loop once, for both readings
    return tuple(
        Case(
            f"{loop}: {reading}",
            say("calls", loop),
            observe=lambda bench, seconds, loop=loop, reading=reading: run(bench, seconds, loop)[reading],
            expect=partial(_expected, loop=loop, reading=reading),
            facts={"loop": loop, "reading": reading},
        )
        for loop in LOOPS
        for reading in READINGS
    )


def _expected(device: hardware.Device, loop: str, reading: str) -> float | None:
    """In %. Waiting as long as computing, in turn, halves the work, and sleeping the gauge; of a spinner nothing is said."""
    if loop in SPINNERS:
        return None
    asleep = {"gauge", "work"} if loop == "waiting asleep" else {"work"} if loop == "waiting, polling" else set()
    return IN_TURN if reading in asleep else 100.0


def _run(bench, seconds: float, loop: str) -> dict[str, list[float]]:
    """% in each round."""
    with timing.single_thread(bench.torch), bench.torch.inference_mode():
        rounds = [_round(loop, loops.step(bench.torch), seconds / ROUNDS) for _ in range(ROUNDS)]
    return dict(zip(READINGS, map(list, zip(*rounds, strict=True)), strict=True))


def _round(loop: str, compute, seconds: float) -> tuple[float, float]:
    """(gauge, work) in %; computing alone is timed just before, because other programs come and go."""
    alone = loops.seconds_of(compute)
    if loop in SPINNERS:
        with loops.spinner(SPINNERS[loop]):
            cores, rate, _ = loops.watched(compute, seconds)
    else:
        cores, rate, _ = loops.watched(_waiting(loop, compute, alone), seconds)
    return 100 * cores, 100 * rate * alone


def _waiting(loop: str, compute, alone: float):
    if loop == "computing alone":
        return compute
    wait = time.sleep if loop == "waiting asleep" else loops.poll

    def turn():
        wait(alone)
        compute()

    return turn


def plot(result):
    """Both readings of each loop."""
    found = result.measured
    title = say("title", "plain")
    if {"waiting asleep: gauge", "waiting, polling: gauge"} <= set(found):
        gauges = {"asleep": found["waiting asleep: gauge"], "polling": found["waiting, polling: gauge"]}
        title = say("title", "found", **gauges)
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", loop="str", reading="str", hidden=("loop", "reading")),
    quick_seconds=0.24,
    full_seconds=2.0,
)
