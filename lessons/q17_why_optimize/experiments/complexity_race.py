"""Counting duplicates among n numbers: every pair compared, or neighbours after sorting."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

SIZES = (4_096, 8_192, 16_384, 32_768)
BLOCK = 64  # rows of pairs at a time: their results stay in a cache
WAYS = ("pairs", "sort")


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Both ways, four sizes, each twice the one before; full repeats them more often."""
    return tuple(
        Case(
            say("case", way, n=n),
            say("calls", way),
            observe=partial(_observe, way=way, n=n, repeats=3 if quick else 9),
            facts={"way": say("ways", way), "n": n},
        )
        for way in WAYS
        for n in SIZES
    )


def numbers(n: int):
    """Whole numbers, some of them twice."""
    import numpy as np

    return np.random.default_rng(0).integers(0, 20 * n, n)


def counter(way: str, n: int):
    """A function that counts equal neighbours after sorting, or all equal pairs, each once."""
    import numpy as np

    drawn, found = numbers(n), np.empty((BLOCK, n), dtype=bool)

    def pairs():
        total = 0
        for first in range(0, n, BLOCK):
            np.equal(drawn[first : first + BLOCK, None], drawn, out=found)
            total += np.count_nonzero(found)
        return (total - n) // 2

    def neighbours():
        ordered = np.sort(drawn)
        return np.count_nonzero(ordered[1:] == ordered[:-1])

    return pairs if way == "pairs" else neighbours


def _observe(bench, seconds: float, way: str, n: int, repeats: int) -> list[float]:
    """Seconds of a processor, of the quickest repeat."""
    count, times = counter(way, n), 1 if way == "pairs" else 20
    count()
    return [min(clocked(count, times) for _ in range(repeats)) / times]


def plot(result):
    """Time over the number of numbers, a line for each way."""
    took = {(row["way"], row["n"]): row["measured"] for row in result.rows}
    grows = {
        way: (took[say("ways", way), SIZES[-1]] / took[say("ways", way), SIZES[0]]) ** (1 / (len(SIZES) - 1))
        for way in WAYS
    }
    return curves(result, x="n", by="way", title=say("title", **grows), axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "s", way="str", n="int", hidden=("way",)), method={"block": BLOCK}
)
