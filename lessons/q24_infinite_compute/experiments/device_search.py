"""Every network of a small family, trained with several seeds: accuracy where one chooses, and elsewhere."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.result import Column
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
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
            expect=lambda device: None,
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


def plot(result):
    """Accuracy of each network."""
    return dots(result, title=say("title"), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    name="device_search",
    question=say("question"),
    columns=quantity_columns(
        say("columns", "measured"),
        "%",
        Column("depth", say("columns", "depth"), "", "int", shown=False),
        Column("width", say("columns", "width"), "", "int", shown=False),
        Column("reading", say("columns", "reading"), "", "str", shown=False),
    ),
    timed=False,
    recording_seconds=60,
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    on_gpu=say("on-gpu"),
    method=say.all("method", train=learners.TRAIN, judged=learners.JUDGED, seeds=SEEDS),
)
