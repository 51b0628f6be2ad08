"""Ten times the FLOPs: pairs of runs with exactly that ratio of FLOPs, and the ratio of their times."""

from collections.abc import Mapping, Sequence

from course_lib.accounting import hardware, roofline, units
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype, repeated
from course_lib.experiments.running.rows import RATIO_COLUMNS, fact_columns, measured_ratio, predicted_ratio
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

WIDTH = 4096  # of the linear layer

# pair -> (name of the smaller case, name of the larger case), from the smallest predicted ratio on a processor to the
# largest
PAIRS = {
    "additions → GEMM": ("additions", "GEMM of 10× their FLOPs"),
    "small additions, ×10 elements": ("16 additions", "160 additions"),
    "linear, 1 → 10 rows": ("linear, 1 row", "linear, 10 rows"),
    "additions + GEMM, larger GEMM": ("additions + GEMM", "additions + larger GEMM"),
    "linear, 10 → 100 rows": ("linear, 10 rows", "linear, 100 rows"),
    "linear, 100 → 1000 rows": ("linear, 100 rows", "linear, 1000 rows"),
    "GEMM, ×10 inner size": ("GEMM", "GEMM, ×10 inner size"),
    "GEMM → GEMV passes": ("small GEMM", "GEMV passes of 10× its FLOPs"),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Every run that a pair needs, once. Full differs from quick in the repeats only."""
    dtype = main_dtype(device)
    if device.kind == "cpu":
        elements, side, product_side, mixed, base, gemv, small_gemm = 2**24, 512, 512, 480, 512, 4096, 256
    else:
        elements, side, product_side, mixed, base, gemv, small_gemm = 2**28, 1024, 4096, 4096, 4096, 8192, 2048

    def additions(name: str, elements: int) -> Case:
        op = roofline.elementwise(elements, reads=2, dtype=dtype)
        return Case(name, f"a + b, {elements} elements", (op,), calls.addition(elements, dtype))

    def gemm(name: str, m: int, k: int, n: int) -> Case:
        op = roofline.matmul(m, k, n, dtype)
        return Case(name, f"[{m}×{k}] @ [{k}×{n}]", (op,), calls.product(m, k, n, dtype))

    def linear(rows: int) -> Case:
        size = units.counted(rows, "row")
        op = roofline.matmul(rows, WIDTH, WIDTH, dtype)
        # right of the ridge it does not matter whether a weight comes from cache
        in_turn = 1 if op.intensity > roofline.ridge_point(device, dtype) else calls.beyond_cache(WIDTH, WIDTH, dtype)
        build = calls.linear(rows, WIDTH, dtype, in_turn)
        return Case(f"linear, {size}", f"Linear {WIDTH}→{WIDTH}, {size}", (op,), build, share=in_turn)

    def both(name: str, inner: int) -> Case:
        first, second = additions("", elements), gemm("", product_side, inner, product_side)
        parts = (calls.addition(elements, dtype), calls.product(product_side, inner, product_side, dtype))
        ops, build = (*first.ops, *second.ops), calls.one_after_another(*parts)
        return Case(name, f"{first.call}, then {second.call}", ops, build)

    plane = 2 * product_side**2  # FLOP of the mixed case's product for each step of its inner size
    grown = (10 * (elements + plane * mixed) - elements) // plane  # additions + product: ten times as many in all
    inner = 10 * elements // (2 * side**2)  # a product of ten times the FLOPs of the additions
    passes = 10 * 2 * small_gemm**3 // (2 * gemv**2)
    matrices = min(calls.beyond_cache(gemv, gemv, dtype), passes)
    return (
        additions("additions", elements),
        gemm("GEMM of 10× their FLOPs", side, inner, side),
        additions("16 additions", 16),
        additions("160 additions", 160),
        *(linear(rows) for rows in (1, 10, 100, 1000)),
        both("additions + GEMM", mixed),
        both("additions + larger GEMM", grown),
        gemm("GEMM", base, base, base),
        gemm("GEMM, ×10 inner size", base, 10 * base, base),
        gemm("small GEMM", small_gemm, small_gemm, small_gemm),
        Case(
            "GEMV passes of 10× its FLOPs",
            f"{passes} times [{gemv}×{gemv}] @ [{gemv}×1]",
            (repeated(roofline.matmul(gemv, gemv, 1, dtype), passes),),
            calls.matrix_times_vector(gemv, dtype, matrices),
            share=matrices / passes,
        ),
    )


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each pair of which both runs were timed."""
    known, rows = {case.name: case for case in cases}, []
    for pair, (small, large) in PAIRS.items():
        if small not in known or large not in known:
            continue
        seconds = [roofline.predict_seconds(known[name].ops, device=device) for name in (small, large)]
        rows.append(
            {
                "case": pair,
                "small": known[small].call,
                "large": known[large].call,
                "small_flops": known[small].flops,
                "large_flops": known[large].flops,
                "small_predicted": seconds[0],
                "large_predicted": seconds[1],
                "small_measured": timings[small].median,
                "large_measured": timings[large].median,
                "predicted": predicted_ratio(known[small], known[large], device),
                **measured_ratio(timings[small], timings[large]),
            }
        )
    return rows


def predict(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """pair -> predicted ratio of times; None where one of the two cannot be told."""
    known = {case.name: case for case in cases}
    return {
        pair: predicted_ratio(known[small], known[large], device)
        for pair, (small, large) in PAIRS.items()
        if small in known and large in known
    }


def plot(result):
    """Predicted and measured ratio of times for each pair, on a logarithmic axis."""
    ratios = result.measured.values()
    title = say("title", low=quantity(min(ratios), "×"), high=quantity(max(ratios), "×"))
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *fact_columns(
            say,
            case="str",
            small="str",
            large="str",
            small_flops="int FLOP",
            large_flops="int FLOP",
            small_predicted="float s",
            large_predicted="float s",
            small_measured="float s",
            large_measured="float s",
            hidden=("small_predicted", "large_predicted"),
        ),
        *RATIO_COLUMNS,
    ),
    table=table,
    predict=predict,
    quick_seconds=0.05,
)
