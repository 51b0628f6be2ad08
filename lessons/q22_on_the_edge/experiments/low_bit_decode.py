"""One row times matrices whose weights have 32, 16, 8 and 4 bits: how many times as fast as in fp32, by bytes and here."""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.result import Column
from course_lib.experiments.running.rows import quantity_columns, rows_of_quantity
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

SIDE, COPIES, GROUP = 4096, 4, 32  # matrices of 4096²; in 4 bits and their scales the four take 42 MB
# name of a case -> bits of a weight with its share of scales: one of 16 bits a row, or scale and zero for 32 weights
BITS = {"bf16": 16.0, "int8": 8 + 16 / SIDE, "int4": 4 + 32 / GROUP}
REPEATS = {True: 7, False: 25}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three formats against fp32; full repeats them more often."""
    return tuple(
        Case(
            name,
            say("calls", name, side=SIDE),
            observe=partial(_observe, name=name, repeats=REPEATS[quick]),
            expect=partial(_expected, bits=bits),
            facts={"bits": bits},
        )
        for name, bits in BITS.items()
    )


def _expected(device: hardware.Device, bits: float) -> float:
    """A row that waits for weights waits for as many times fewer bytes."""
    return 32 / bits


def _observe(bench, seconds: float, name: str, repeats: int) -> list[float]:
    """Time of the processor with fp32 weights, over that in the format; the two take turns, on one thread."""
    torch = bench.torch
    with timing.single_thread(torch):
        x, matrix = torch.randn(1, SIDE), torch.randn(SIDE, SIDE)  # on the processor, wherever others run
        narrow = _tried({"bf16": _bf16, "int8": _int8, "int4": _int4}[name](torch, x, matrix))
        wide = _copies(matrix)

        def fp32():
            for weights in wide:
                torch.nn.functional.linear(x, weights)

        fp32(), narrow()
        return [_seconds(fp32) / _seconds(narrow) for _ in range(repeats)]


def _copies(matrix) -> list:
    """As many of it as do not fit into a cache."""
    return [matrix.clone() for _ in range(COPIES)]


def _bf16(torch, x, wide):
    x, weights = x.bfloat16(), _copies(wide.bfloat16())

    def run():
        for matrix in weights:
            torch.nn.functional.linear(x, matrix)

    return run


def _int8(torch, x, wide):
    x, scale = x.bfloat16(), wide.abs().amax(1) / 127
    weights, scale = _copies((wide / scale[:, None]).round().char()), scale.bfloat16()

    def run():
        for matrix in weights:
            torch._weight_int8pack_mm(x, matrix, scale)

    return run


def _int4(torch, x, wide):
    """Groups of 32, sixteen levels; what the numbers are does not change the time."""
    pack = getattr(torch, "_convert_weight_to_int4pack_for_cpu", None)
    if pack is None:
        raise Unavailable(say("no-kernel", problem="_convert_weight_to_int4pack_for_cpu"))
    x, weights = x.bfloat16(), _copies(pack((wide * 4 + 8).clamp(0, 15).int(), 1))
    scales = torch.ones(SIDE // GROUP, SIDE, 2, dtype=torch.bfloat16)

    def run():
        for matrix in weights:
            torch._weight_int4pack_mm_for_cpu(x, matrix, GROUP, scales)

    return run


def _tried(call):
    """Unavailable, with torch's reason, where this machine has no such kernel."""
    try:
        call()
    except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError) as problem:
        raise Unavailable(say("no-kernel", problem=in_one_line(problem))) from None
    return call


def _seconds(call) -> float:
    before = time.thread_time()
    call()
    return time.thread_time() - before


def plot(result):
    """How many times as fast each format is, by bytes and here."""
    found = {row["case"]: quantity(row["measured"], "×") for row in result.rows}
    title = say("title", "found", **found) if set(found) == set(BITS) else say("title", "plain")
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    name="low_bit_decode",
    question=say("question"),
    columns=quantity_columns(say("columns", "measured"), "×", Column("bits", say("columns", "bits"), "", "float")),
    cases=cases,
    table=rows_of_quantity,
    plot=plot,
    on_gpu=say("on-gpu"),
    method=say.all("method", copies=COPIES, side=SIDE, group=GROUP),
)
