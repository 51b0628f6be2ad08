"""The time of a product in bf16 over its time in fp32, by the rows of the batch; and one of whole numbers over fp32."""

import time
from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

SIDE, COPIES = 2048, 4
ROWS = (1, 8, 64, 256)
REPEATS = {True: 5, False: 15}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """bf16 at 1 to 256 rows; whole numbers at 64; full repeats them more often."""
    found = [("bf16", rows) for rows in ROWS] + [("int8", 64)]
    return tuple(
        Case(
            say("case", "one" if rows == 1 else dtype, rows=rows),
            say("calls", dtype, rows=rows, side=SIDE),
            observe=partial(_observe, dtype=dtype, rows=rows, repeats=REPEATS[quick]),
            expect=partial(_expected, dtype=dtype, rows=rows),
            facts={"dtype": dtype, "rows": rows},
        )
        for dtype, rows in found
    )


def _expected(device: hardware.Device, dtype: str, rows: int) -> float | None:
    """By the machine's own peaks and bandwidth, where it has both peaks."""
    if device.kind != "cpu" or not {dtype, "fp32"} <= set(device.peaks):
        return None
    took = {d: roofline.matmul(rows, SIDE, SIDE, dtype=d).on(device).seconds for d in (dtype, "fp32")}
    return took[dtype] / took["fp32"]


def _observe(bench, seconds: float, dtype: str, rows: int, repeats: int) -> list[float]:
    """Time of this thread in the format over that in fp32; the two take turns."""
    torch = bench.torch
    with timing.single_thread(torch):
        x, wide = torch.randn(rows, SIDE), [torch.randn(SIDE, SIDE) for _ in range(COPIES)]
        if dtype == "bf16":
            left, right, product = x.bfloat16(), [w.bfloat16() for w in wide], torch.nn.functional.linear
        else:
            left, right = (x * 40).char(), [(w * 40).char().t() for w in wide]
            product = getattr(torch, "_int_mm", None)
        try:
            product(left, right[0])
        except (AttributeError, TypeError, RuntimeError, NotImplementedError) as problem:
            raise Unavailable(say("no-kernel", problem=in_one_line(problem))) from None

        def narrow():
            for weights in right:
                product(left, weights)

        def fp32():
            for weights in wide:
                torch.nn.functional.linear(x, weights)

        fp32(), narrow()
        seconds_of = partial(clocked, clock=time.thread_time)
        return [seconds_of(narrow) / seconds_of(fp32) for _ in range(repeats)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis")),
    quantity_columns(say, "×", dtype="str", rows="int", hidden=("dtype", "rows")),
    method={"side": SIDE, "copies": COPIES},
)
