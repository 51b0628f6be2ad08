"""One linear layer whose weights are kept in 8 bits, and three ways to multiply by them.

Unpacked first: the whole matrix is written out in the format of the arithmetic, then multiplied. Unpacked on the way:
a kernel that reads 8-bit weights and unpacks them in its registers. Both in 8 bits: the inputs are rounded too, and the
arithmetic is that of whole numbers. The prediction charges bytes in full and arithmetic at the peak of the wide format.
"""

import warnings

from course_lib.accounting import hardware, precision, roofline, units
from course_lib.experiments.running.errors import Unavailable, in_one_line
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

WIDE, FIRST, ON_THE_WAY, BOTH = "wide weights", "unpacked first", "unpacked on the way", "both in 8 bits"
ONE = "1 row"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four ways to multiply 1 row, and many, by a square matrix; full is timed longer."""
    dtype, (side, many) = main_dtype(device), (4096, 32) if device.kind == "cpu" else (8192, 2048)
    builds = {WIDE: _wide, FIRST: _first, ON_THE_WAY: _on_the_way, BOTH: _both}
    return tuple(_case(way, build, rows, side, dtype) for rows in (1, many) for way, build in builds.items())


def ops(way: str, rows: int, side: int, dtype: str) -> tuple[roofline.Op, ...]:
    """What a way does: its bytes, and 2 FLOPs for each multiply-add."""
    work, ends = 2 * rows * side * side, precision.nbytes(2 * rows * side, dtype)
    wide, narrow = precision.nbytes(side * side, dtype), side * side
    product = roofline.Op("product", work, ends + (wide if way in (WIDE, FIRST) else narrow), dtype)
    return (roofline.Op("unpack", side * side, narrow + wide, dtype), product) if way == FIRST else (product,)


def _case(way: str, build, rows: int, side: int, dtype: str) -> Case:
    counted = ops(way, rows, side, dtype)
    return Case(
        f"{way}, {units.counted(rows, 'row')}",
        say("calls", "product", rows=rows, side=side, dtype=dtype),
        counted,
        lambda bench: build(bench, rows, side, dtype),
        facts={"bytes": sum(op.bytes for op in counted)},
    )


# ---------------------------------------------------------------- what is timed


def rounded(weights):
    """(whole numbers in int8, a scale for each row)"""
    scales = weights.abs().amax(1) / 127
    return (weights / scales[:, None]).round().char(), scales


def _operands(bench, rows: int, side: int, dtype: str):
    return bench.random(rows, side, dtype=dtype), bench.random(side, side, dtype=dtype)


def _wide(bench, rows, side, dtype):
    x, weights = _operands(bench, rows, side, dtype)
    return lambda: bench.torch.nn.functional.linear(x, weights)


def _first(bench, rows, side, dtype):
    """The scales are left for the results, of which there are few."""
    x, weights = _operands(bench, rows, side, dtype)
    (numbers, scales), wide = rounded(weights), bench.empty(side, side, dtype=dtype)
    return lambda: bench.torch.nn.functional.linear(x, wide.copy_(numbers)).mul_(scales)


def _on_the_way(bench, rows, side, dtype):
    """The inputs are bf16: with others, the processor's kernel of torch takes a slow path of reference."""
    x, weights = _operands(bench, rows, side, dtype)
    x, (numbers, scales) = x.bfloat16(), rounded(weights)
    return _tried(lambda: bench.torch._weight_int8pack_mm(x, numbers, scales.bfloat16()))


def _both(bench, rows, side, dtype):
    torch = bench.torch
    if bench.on != "cpu" or torch.backends.quantized.engine == "none":
        raise Unavailable(say("no-engine"))
    x, weights = _operands(bench, rows, side, dtype)
    numbers, scales = rounded(weights)
    zeros = torch.zeros(len(scales), dtype=torch.long)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that these tensors will move to torchao
        whole = torch._make_per_channel_quantized_tensor(numbers, scales.double(), zeros, 0)
        packed = torch.ops.quantized.linear_prepack(whole, None)
    return _tried(lambda: torch.ops.quantized.linear_dynamic(x, packed))


def _tried(call):
    """Unavailable, with torch's reason, where this machine has no such kernel."""
    try:
        call()
    except (AttributeError, TypeError, ValueError, RuntimeError, NotImplementedError) as problem:
        raise Unavailable(say("no-kernel", problem=in_one_line(problem))) from None
    return call


def plot(result):
    """Measured and predicted time of each way."""
    times, title = result.measured, say("title", "plain")
    wide, first = (f"{way}, {ONE}" for way in (WIDE, FIRST))
    if {wide, first} <= set(times):
        title = say("title", "found", times=quantity(times[first] / times[wide], "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, quantity_columns(say, "s", bytes="int B"), quick_seconds=0.12)
