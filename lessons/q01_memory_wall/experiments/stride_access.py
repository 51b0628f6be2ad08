"""The sum of every s-th number of an array: memory hands out whole cache lines, whatever is asked for."""

from collections.abc import Mapping, Sequence

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import fact_columns, quantity_columns, rows_of_quantity
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

FP32 = 4  # bytes
LINE = {"cpu": 64, "gpu": 32}  # B that memory hands out at once: a cache line, and a sector of a GPU's
LENGTH = {"cpu": 2**25, "gpu": 2**28}  # numbers: more than caches hold
STRIDES = (1, 2, 4, 8, 16, 32, 64)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Strides of 1 to 64 over 2²⁵ numbers (134 MB), on a GPU 2²⁸; full adds 128 and 256."""
    kind = "cpu" if device.kind == "cpu" else "gpu"
    return tuple(_case(LENGTH[kind], stride, LINE[kind]) for stride in (STRIDES if quick else (*STRIDES, 128, 256)))


def _case(length: int, stride: int, line: int) -> Case:
    elements = -(-length // stride)
    op = roofline.Op("strided sum", elements, line * lines_touched(length, stride, line))

    def build(bench: Bench):
        numbers, total = bench.random(length)[::stride], bench.empty(1)
        return lambda: bench.torch.sum(numbers, dim=0, keepdim=True, out=total)

    return Case(
        f"stride {stride}",
        say("calls", "strided", stride=stride, length=length) if stride > 1 else say("calls", "whole", length=length),
        (op,),
        build,
        share=elements,
        expect=lambda device: roofline.predict_seconds(op, device=device) / elements,
        facts={"stride": stride, "elements": elements, "bytes": op.bytes},
    )


def lines_touched(length: int, stride: int, line: int) -> int:
    """Lines of `line` bytes that hold every `stride`-th of `length` fp32 numbers, the first at the start of a line."""
    elements = -(-length // stride)
    if stride * FP32 >= line:
        return elements
    return -(-((elements - 1) * stride + 1) * FP32 // line)


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each stride, with the time of a whole pass."""
    rows = rows_of_quantity(cases, timings, device)
    return [row | {"pass": row["measured"] * row["elements"]} for row in rows]


def plot(result):
    """Measured and predicted time per number by stride, on logarithmic axes."""
    times = result.measured
    title = say("title", "plain")
    if {"stride 1", "stride 16"} <= set(times):
        whole = result["stride 16"]["pass"] / result["stride 1"]["pass"]
        title = say("title", "found", whole=whole)
    return curves(result, x="stride", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *quantity_columns(say, "s", stride="int", elements="int", bytes="int B"),
        *fact_columns(say, **{"pass": "float s"}),
    ),
    table=table,
    quick_seconds=0.06,
    full_seconds=0.5,
)
