"""One row times matrices whose weights have 32, 16, 8 and 4 bits: how many times as fast as in fp32, by bytes and here."""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

SIDE, COPIES, GROUP = 4096, 4, 32  # matrices of 4096²; in 4 bits and their scales the four take 42 MB
# name of a case -> bits of a weight with its share of scales: one of 16 bits a row, or scale and zero for 32 weights
BITS = {"bf16": 16.0, "int8": 8 + 16 / SIDE, "int4": 4 + 32 / GROUP}
REPEATS = {True: 7, False: 25}
seconds_of = partial(clocked, clock=time.thread_time)  # of this thread on the processor


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three formats against fp32; full repeats them more often."""
    return tuple(
        Case(
            name,
            say("calls", name, side=SIDE),
            observe=partial(_observe, name=name, repeats=REPEATS[quick]),
            expect=lambda device, bits=bits: 32 / bits,  # a row that waits for weights waits for as many times fewer
            facts={"bits": bits},
        )
        for name, bits in BITS.items()
    )


def _observe(bench, seconds: float, name: str, repeats: int) -> list[float]:
    """Time of the processor with fp32 weights, over that in the format; the two take turns, on one thread."""
    torch = bench.torch
    with timing.single_thread(torch):
        matrix = torch.randn(SIDE, SIDE)  # on the processor, wherever others run
        narrow, fp32 = tried(torch, name, matrix, COPIES), tried(torch, "fp32", matrix, COPIES)
        return [seconds_of(fp32) / seconds_of(narrow) for _ in range(repeats)]


def call(torch, name: str, matrix, copies: int):
    """A function that multiplies one row by so many copies of a square matrix, in this format."""
    row = torch.randn(1, len(matrix))
    if name in ("fp32", "bf16"):
        multiply, x = torch.nn.functional.linear, row if name == "fp32" else row.bfloat16()
        stored, more = matrix.to(x.dtype), ()
    elif name == "int8":
        multiply, x, scale = torch._weight_int8pack_mm, row.bfloat16(), matrix.abs().amax(1) / 127
        stored, more = (matrix / scale[:, None]).round().char(), (scale.bfloat16(),)
    else:  # sixteen levels; what the numbers are does not change the time
        multiply, x = torch._weight_int4pack_mm_for_cpu, row.bfloat16()
        stored = torch._convert_weight_to_int4pack_for_cpu((matrix * 4 + 8).clamp(0, 15).int(), 1)
        more = (GROUP, torch.ones(len(matrix) // GROUP, len(matrix), 2, dtype=torch.bfloat16))
    weights = [stored.clone() for _ in range(copies)]

    def run():
        for one in weights:
            multiply(x, one, *more)

    return run


def tried(torch, name: str, matrix, copies: int):
    """`call`, run once; Unavailable, with torch's reason, where this machine has no such kernel."""
    try:
        made = call(torch, name, matrix, copies)
        made()
    except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError) as problem:
        raise Unavailable(say("no-kernel", problem=in_one_line(problem))) from None
    return made


def plot(result):
    """How many times as fast each format is, by bytes and here."""
    found = {row["case"]: quantity(row["measured"], "×") for row in result.rows}
    title = say("title", "found", **found) if set(found) == set(BITS) else say("title", "plain")
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say, cases, plot, quantity_columns(say, "×", bits="float"), method={"copies": COPIES, "side": SIDE, "group": GROUP}
)
