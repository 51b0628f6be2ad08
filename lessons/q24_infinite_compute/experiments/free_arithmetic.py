"""A chain of layers that become narrower: arithmetic and weights all but vanish, the calls stay."""

from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype, repeated
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

LAYERS = 72
WIDTHS = (1024, 512, 256, 128, 64, 32, 16, 8)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Eight widths; full times them for longer."""
    dtype = main_dtype(device)
    return tuple(
        Case(
            say("case", width=width),
            say("call", layers=LAYERS),
            ops=(layers := repeated(roofline.matmul(1, width, width, dtype=dtype), LAYERS),),
            observe=partial(_observe, width=width, dtype=dtype),
            facts={"width": width, "flops": layers.flops, "of": say("of")},
        )
        for width in WIDTHS
    )


def _observe(bench, seconds: float, width: int, dtype: str) -> list[float]:
    """Seconds of one row through all layers, on one thread."""
    torch = bench.torch
    with timing.single_thread(torch), torch.inference_mode():
        edge = (3 / width) ** 0.5  # the row then keeps its size, and never becomes so small that arithmetic gets slow
        layers = [bench.empty(width, width, dtype=dtype).uniform_(-edge, edge) for _ in range(LAYERS)]
        row = bench.empty(1, width, dtype=dtype)

        def run():
            y = row
            for weight in layers:
                y = y @ weight
            return y

        return list(timing.measure(run, seconds=seconds).values)


def plot(result):
    """Time over the FLOPs that are left."""
    took = {row["width"]: row["measured"] for row in result.rows}
    fewer = (WIDTHS[0] / WIDTHS[-1]) ** 2
    title = say("title", fewer=fewer, faster=took[WIDTHS[0]] / took[WIDTHS[-1]])
    return curves(result, x="flops", by="of", title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "s", width="int", flops="int FLOP", of="str", hidden=("of",)),
    method={"layers": LAYERS},
)
