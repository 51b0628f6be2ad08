"""Every network of a small family, trained with several seeds: accuracy where one chooses, and elsewhere."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q24_infinite_compute import learners
from course_lib.words import words

say = words(__file__)

DEPTHS, WIDTHS, SEEDS = (1, 2, 4), (8, 16, 32, 64, 128), 5
READINGS = ("judged", "others")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Fifteen networks, two readings of each; full takes five seeds in place of one."""
    runs = cache(partial(_runs, seeds=1 if quick else SEEDS))  # once, for both readings
    return tuple(
        Case(
            say("case", depth=depth, width=width, reading=say("readings", reading)),
            say("calls", reading),
            observe=lambda bench, seconds, run=(depth, width), place=place: runs(bench.torch, *run)[place],
            facts={"depth": depth, "width": width, "reading": reading},
        )
        for depth in DEPTHS
        for width in WIDTHS
        for place, reading in enumerate(READINGS)
    )


def _runs(torch, depth: int, width: int, seeds: int) -> list[tuple[float, ...]]:
    """% right with each seed, for each reading."""
    with timing.single_thread(torch):
        return list(zip(*(learners.judged(torch, depth, width, seed) for seed in range(seeds)), strict=True))


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", depth="int", width="int", reading="str", hidden=("depth", "width", "reading")),
    timed=False,
    recording_seconds=60,
    method={"train": learners.TRAIN, "judged": learners.JUDGED, "seeds": SEEDS},
)
