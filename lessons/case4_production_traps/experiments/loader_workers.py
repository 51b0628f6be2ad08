"""A real DataLoader: how long an epoch takes, how far ahead it fetches, and how often each item comes."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.accounting.queues import pipeline
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case4_production_traps import loading
from course_lib.words import words

say = words(__file__)

BATCHES, STEP, ITEM = 12, 0.012, 0.005  # batches; s of a step; s of an item, of four in a batch
WORKERS = (0, 1, 2, 4)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four numbers of workers; full repeats the epoch more often."""
    return tuple(
        Case(
            say("case", workers=workers),
            say("call", workers=workers),
            observe=partial(_observe, workers=workers, repeats=1 if quick else 3),
            expect=partial(_expected, workers=workers),
            facts={"workers": workers},
        )
        for workers in WORKERS
    )


def _expected(device: hardware.Device, workers: int) -> float:
    load = 4 * ITEM
    if workers == 0:
        return BATCHES * pipeline.rate({"load": load, "step": STEP}, overlapped=False).seconds
    return BATCHES * pipeline.rate({"load": (load, workers), "step": STEP}).seconds


def _observe(bench, seconds: float, workers: int, repeats: int) -> list[float]:
    with timing.single_thread(bench.torch):
        return [loading.epoch(bench.torch, workers, BATCHES, ITEM, STEP) for _ in range(repeats)]


def plot(result):
    """Seconds of an epoch, by workers."""
    first, last = result.rows[0]["measured"], result.rows[-1]["measured"]
    return dots(result, title=say("title", times=first / last), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", workers="int", hidden=("workers",)),
    recording_seconds=60.0,
    method={"batches": BATCHES, "step": 1e3 * STEP, "item": 1e3 * ITEM},
)
