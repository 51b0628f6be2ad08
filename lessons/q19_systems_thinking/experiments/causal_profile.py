"""A pipeline of threads, queues and sleeps: which part moves the step when it gets slower or faster?"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q19_systems_thinking import stages
from course_lib.words import words

say = words(__file__)

DELTA = 15  # ms by which a part is slowed down
OWN = {
    "before": {**stages.SLOW, "compute": 55},
    "after": {**stages.FAST, "compute": 15},
}  # the pause is computing's own
RUNS = {  # name → (stages, pause)
    "as it is": (stages.SLOW, stages.PAUSE),
    "load slower": (stages.slowed(stages.SLOW, "load", DELTA), stages.PAUSE),
    "copy slower": (stages.slowed(stages.SLOW, "copy", DELTA), stages.PAUSE),
    "compute slower": (stages.slowed(stages.SLOW, "compute", DELTA), stages.PAUSE),
    "pause longer": (stages.SLOW, stages.PAUSE + DELTA),
    "compute 5 times as fast": (stages.FAST, stages.PAUSE),
    "then load slower": (stages.slowed(stages.FAST, "load", DELTA), stages.PAUSE),
    "then compute slower": (stages.slowed(stages.FAST, "compute", DELTA), stages.PAUSE),
    "only compute pauses": (OWN["before"], 0),
    "only compute pauses, 5 times as fast": (OWN["after"], 0),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The pipeline as it is, with one part slower, and with a fast model; full has more batches."""
    return tuple(
        Case(
            name,
            say("calls", "pause" if pause else "plain", pause=pause, **parts),
            observe=partial(_observed, parts=parts, pause=pause),
            expect=lambda device, parts=parts, pause=pause: stages.step(parts, pause),
        )
        for name, (parts, pause) in RUNS.items()
    )


def _observed(bench, seconds: float, parts: dict, pause: float) -> list[float]:
    pieces = max(6, round(1e3 * seconds / stages.step(parts, pause)))
    return stages.run(parts, pause=pause, pieces=pieces)


def plot(result):
    """The step in each case."""
    found, title = result.measured, say("title", "plain")
    if {"as it is", "compute 5 times as fast"} <= set(found):
        title = say("title", "found", before=found["as it is"], after=found["compute 5 times as fast"])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "ms"),
    quick_seconds=0.2,
    full_seconds=2.0,
    recording_seconds=40.0,
    method={"ahead": stages.AHEAD, "delta": DELTA},
)
