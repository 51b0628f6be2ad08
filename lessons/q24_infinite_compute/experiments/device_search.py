"""Every network of a small family, trained with several seeds: accuracy where one chooses, and elsewhere."""

from functools import partial

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
    runs = _Runs(1 if quick else SEEDS)
    return tuple(
        Case(
            say("case", depth=depth, width=width, reading=say("readings", reading)),
            say("calls", reading),
            observe=partial(runs.reading, depth=depth, width=width, place=place),
            facts={"depth": depth, "width": width, "reading": reading},
        )
        for depth in DEPTHS
        for width in WIDTHS
        for place, reading in enumerate(READINGS)
    )


class _Runs:
    """Each network is trained once a seed, and both readings come from that."""

    def __init__(self, seeds: int):
        self._seeds, self._found = seeds, {}

    def reading(self, bench, seconds: float, depth: int, width: int, place: int) -> list[float]:
        """% right, of each seed."""
        if (depth, width) not in self._found:
            with timing.single_thread(bench.torch):
                self._found[depth, width] = [
                    learners.judged(bench.torch, depth, width, seed) for seed in range(self._seeds)
                ]
        return [run[place] for run in self._found[depth, width]]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", depth="int", width="int", reading="str", hidden=("depth", "width", "reading")),
    timed=False,
    recording_seconds=60,
    method={"train": learners.TRAIN, "judged": learners.JUDGED, "seeds": SEEDS},
)
