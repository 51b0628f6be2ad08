"""A question asked once and often: a scan of all numbers, or sorting them once and searching."""

from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

NUMBERS = 4_000_000
TIMES = {"sort": 1, "scan": 5, "search": 2000, "wide": 5, "copy": 5}  # calls between two readings of the clock


@cache
def _data():
    """Numbers in random order, and sorted."""
    import numpy as np

    numbers = np.random.default_rng(0).random(NUMBERS, dtype=np.float32)
    return numbers, np.sort(numbers)


def _call(step: str):
    import numpy as np

    numbers, ordered = _data()
    below, mask = np.float32(0.5), np.empty(NUMBERS, dtype=bool)
    return {
        "sort": lambda: np.sort(numbers),
        "scan": lambda: np.count_nonzero(np.less(numbers, below, out=mask)),
        "search": lambda: np.searchsorted(ordered, below),
        "wide": lambda: np.searchsorted(ordered, 0.5),
        "copy": lambda: ordered.astype(np.float64),
    }[step]


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Sorting, one scan, one search, a search with a number of another type, and a copy to that type; full repeats them more often."""
    return tuple(
        Case(
            say("cases", step),
            say("calls", step),
            observe=partial(_observe, step=step, repeats=3 if quick else 15),
            facts={"step": step},
        )
        for step in TIMES
    )


def _observe(bench, seconds: float, step: str, repeats: int) -> list[float]:
    """Seconds of a processor, of the quickest repeat: other programs disturb that least."""
    call, times = _call(step), TIMES[step]
    call()
    return [min(clocked(call, times) for _ in range(repeats)) / times]


def plot(result):
    """Time of each step."""
    took = {row["step"]: row["measured"] for row in result.rows}
    return dots(result, title=say("title", scans=took["sort"] / took["scan"]), axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", step="str", hidden=("step",)), method={"numbers": NUMBERS}
)
