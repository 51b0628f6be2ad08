"""Small and large networks on digits of which a fifth of the labels is wrong, and on the same digits with right labels."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q24_infinite_compute import learners
from course_lib.words import words

say = words(__file__)

WIDTHS, STEPS, SEEDS = (16, 64, 256), 1000, 3
LABELS = {"wrong": learners.NOISE, "right": 0.0}
READINGS = ("lowest", "last", "learned")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Two kinds of labels, three widths, three readings of each run; full takes three seeds in place of one."""
    runs = cache(partial(_runs, seeds=1 if quick else SEEDS))  # once, for all readings
    return tuple(
        Case(
            say("case", labels=say("labels", labels), width=width, reading=say("readings", reading)),
            say("calls", reading),
            observe=lambda bench, seconds, run=(labels, width), place=place: runs(bench.torch, *run)[place],
            facts={"labels": labels, "width": width, "reading": reading},
        )
        for labels in LABELS
        for width in WIDTHS
        for place, reading in enumerate(READINGS)
    )


def _runs(torch, labels: str, width: int, seeds: int) -> list[tuple[float, ...]]:
    """Nats with each seed, for each reading."""
    with timing.single_thread(torch):
        found = [learners.noisy_losses(torch, width, LABELS[labels], STEPS, seed) for seed in range(seeds)]
    return list(zip(*found, strict=True))


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "nat", labels="str", width="int", reading="str", hidden=("labels", "width", "reading")),
    timed=False,
    recording_seconds=60,
    method={"steps": STEPS, "train": learners.TRAIN, "noise": 100 * learners.NOISE},
)
