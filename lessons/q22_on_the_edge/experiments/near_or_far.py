"""The same products with weights that come from memory and with weights that lie in a cache: what each format waits for."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q22_on_the_edge.experiments.low_bit_decode import COPIES, SIDE, seconds_of, tried
from course_lib.words import words

say = words(__file__)

NEAR, TIMES = 1024, 32  # side of the matrix that stays near, at most 4 MB; products between two readings of the clock
FORMATS = ("fp32", "bf16", "int8", "int4")
REPEATS = {True: 7, False: 25}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four formats; full repeats them more often."""
    return tuple(
        Case(
            name,
            say("calls", "both", near=NEAR, side=SIDE),
            observe=partial(_observe, name=name, repeats=REPEATS[quick]),
        )
        for name in FORMATS
    )


def _observe(bench, seconds: float, name: str, repeats: int) -> list[float]:
    """Time of a weight from memory over that of one from a cache; the two take turns."""
    torch = bench.torch
    with timing.single_thread(torch):
        far, near = (
            tried(torch, name, torch.randn(side, side), copies) for side, copies in ((SIDE, COPIES), (NEAR, 1))
        )
        each = COPIES * SIDE**2 / (TIMES * NEAR**2)
        seconds_of(near, TIMES)
        return [seconds_of(far) / seconds_of(near, TIMES) / each for _ in range(repeats)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "×"),
    method={"near": NEAR, "side": SIDE, "copies": COPIES},
)
