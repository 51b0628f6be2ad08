"""A training run that is killed with signal 9, and resumed: with all that it consists of, and with a piece forgotten."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q13_training_loop import loop, survivor
from course_lib.words import words

say = words(__file__)

READINGS = ("weights", "pieces", "next loss", "accuracy")
SAME = {"weights": 0.0, "pieces": 0.0, "next loss": 100.0}  # of a run that forgets nothing, in %


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Eight variants with four readings each; all of them come from one program, and full is as quick."""
    runs = cache(survivor.killed_runs)  # once, for all cases
    return tuple(
        Case(
            f"{variant}: {reading}",
            say("calls", variant),
            observe=lambda bench, seconds, variant=variant, reading=reading: [runs()[variant][reading]],
            expect=partial(_expected, forgotten=forgotten, reading=reading),
            facts={"variant": variant, "reading": reading},
        )
        for variant, forgotten in survivor.VARIANTS.items()
        for reading in READINGS
    )


def _expected(device: hardware.Device, forgotten: tuple[str, ...], reading: str) -> float | None:
    """The next loss comes from weights, digits and dropout: a piece that is none of these cannot change it."""
    if not forgotten:
        return SAME.get(reading)
    seen = {"generator", "position"} & set(forgotten)
    return 100.0 if reading == "next loss" and not seen else None


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", variant="str", reading="str", hidden=("variant", "reading")),
    timed=False,
    method={"steps": loop.STEPS, "every": loop.EVERY, "kills": survivor.KILLS, "at": survivor.AT},
)
