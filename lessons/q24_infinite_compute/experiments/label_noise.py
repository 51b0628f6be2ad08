"""Small and large networks on digits of which a fifth of the labels is wrong, and on the same digits with right labels."""

from functools import partial

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
    runs = _Runs(1 if quick else SEEDS)
    return tuple(
        Case(
            say("case", labels=say("labels", labels), width=width, reading=say("readings", reading)),
            say("calls", reading),
            observe=partial(runs.reading, labels=labels, width=width, place=place),
            facts={"labels": labels, "width": width, "reading": reading},
        )
        for labels in LABELS
        for width in WIDTHS
        for place, reading in enumerate(READINGS)
    )


class _Runs:
    """Each run happens once, and all readings come from it."""

    def __init__(self, seeds: int):
        self._seeds, self._found = seeds, {}

    def reading(self, bench, seconds: float, labels: str, width: int, place: int) -> list[float]:
        """Nats, of each seed."""
        if (labels, width) not in self._found:
            with timing.single_thread(bench.torch):
                self._found[labels, width] = [
                    learners.noisy_losses(bench.torch, width, LABELS[labels], STEPS, seed)
                    for seed in range(self._seeds)
                ]
        return [run[place] for run in self._found[labels, width]]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "nat", labels="str", width="int", reading="str", hidden=("labels", "width", "reading")),
    timed=False,
    recording_seconds=60,
    method={"steps": STEPS, "train": learners.TRAIN, "noise": 100 * learners.NOISE},
)
