"""Operations and shapes that nothing else in the course measures or calibrates with: to judge a predictor by."""

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Products and additions, small to large, square and skinny. Full differs from quick in the repeats only."""
    dtype = main_dtype(device)
    if device.kind == "cpu":
        products = ((24, 24, 24), (96, 1536, 384), (8, 2048, 2048), (3000, 40, 3000), (1100, 1300, 700))
        additions = (700, 90_000, 9_000_000)
    else:
        products = ((200, 200, 200), (384, 6144, 1536), (12, 16384, 16384), (12000, 96, 12000), (7000, 9000, 5000))
        additions = (70_000, 3_000_000, 300_000_000)
    return (
        *(
            Case(
                f"product {m}·{k}·{n}",
                f"[{m}×{k}] @ [{k}×{n}]",
                (roofline.matmul(m, k, n, dtype),),
                calls.product(m, k, n, dtype),
            )
            for m, k, n in products
        ),
        *(
            Case(
                f"addition of {elements:,}",
                f"a + b, {elements} elements",
                (roofline.elementwise(elements, reads=2, dtype=dtype),),
                calls.addition(elements, dtype),
            )
            for elements in additions
        ),
    )


def plot(result):
    """Predicted and measured time of each operation, on a logarithmic axis."""
    ratios = {row["case"]: row["measured"] / row["predicted"] for row in result.rows}
    off = {case: max(ratio, 1 / ratio) for case, ratio in ratios.items()}
    worst = max(off, key=off.__getitem__)
    title = say("title", worst=worst, off=off[worst])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, CASE_COLUMNS, table=rows_by_case, quick_seconds=0.05)
