"""FLOP/s of one matrix product by its size, shape and number format."""

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import quantity_columns, rates
from course_lib.figures.charts import curves
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

SQUARE, SKINNY = "square", "skinny"

table, predict = rates(lambda case, device: case.flops)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Square products in each format that the device computes in, products of few rows, sides beside a power of two.

    Full adds sizes between the quick ones, the largest ones, and fp64 where it has a peak.
    """
    main = main_dtype(device)
    if device.kind == "cpu":
        sides, more_sides = (16, 64, 256, 512), (32, 128, 1024, 2048)
        rows, more_rows, width, power = (1, 16, 256), (4, 64, 1024), 2048, 512
    else:
        sides, more_sides = (256, 1024, 4096, 8192), (128, 512, 2048, 16384)
        rows, more_rows, width, power = (1, 64, 512), (8, 256, 1024, 4096), 8192, 4096
    formats = [dtype for dtype in dict.fromkeys(("fp32", "bf16", main)) if dtype in device.peaks]
    if not quick:
        sides, rows = sides + more_sides, rows + more_rows
        formats += [dtype for dtype in ("fp64",) if dtype in device.peaks]

    def square(n: int, dtype: str) -> Case:
        return _case(f"{SQUARE} {n}, {dtype}", n, n, dtype, f"{SQUARE} {dtype}", calls.product(n, n, n, dtype), 1)

    def skinny(m: int) -> Case:
        op = roofline.matmul(m, width, width, main)
        # right of the ridge it does not matter whether a weight comes from cache
        in_turn = 1 if op.intensity > roofline.ridge_point(device, main) else calls.beyond_cache(width, width, main)
        build = calls.linear(m, width, main, in_turn)
        return _case(f"{SKINNY} {m}, {main}", m, width, main, f"{SKINNY} {main}", build, in_turn)

    return (
        *(square(n, dtype) for dtype in formats for n in sorted(sides)),
        *(skinny(m) for m in sorted(rows)),
        *(square(n, main) for n in (power - 1, power + 1)),
    )


def _case(name, m, width, dtype, series, build, share) -> Case:
    """[m, width] @ [width, width]."""
    op = roofline.matmul(m, width, width, dtype)
    facts = {"series": series, "rows": m, "flops": op.flops, "intensity": op.intensity}
    return Case(name, f"[{m}×{width}] @ [{width}×{width}], {dtype}", (op,), build, share=share, facts=facts)


def plot(result):
    """Measured and predicted FLOP/s over the rows of the left operand, a line for each series."""
    rates = result.measured.values()
    title = say("title", low=quantity(min(rates), "FLOP/s"), high=quantity(max(rates), "FLOP/s"))
    return curves(result, x="rows", title=title, axis=say("axis"), by="series")


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(
        say, "FLOP/s", series="str", rows="int", flops="int FLOP", intensity="float FLOP/B", hidden=("series", "rows")
    ),
    table=table,
    predict=predict,
    quick_seconds=0.05,
    full_seconds=0.2,
)
