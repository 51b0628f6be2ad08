"""The same FLOPs four times: as one matrix product, as matrix-vector products, as additions, and as thousands of tiny
calls.
"""

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype, repeated
from course_lib.experiments.running.rows import CASE_COLUMNS, rows_by_case
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Four cases of exactly the same FLOPs: 2·512³ on a processor, 2·4096³ on a GPU.

    Full differs from quick in the repeats only.
    """
    dtype = main_dtype(device)
    large, gemv, elements, tiny = (512, 4096, 2**24, 16) if device.kind == "cpu" else (4096, 8192, 2**28, 128)
    flops = 2 * large**3
    passes, additions, products = flops // (2 * gemv**2), flops // elements, flops // (2 * tiny**3)
    matrices = min(calls.beyond_cache(gemv, gemv, dtype), passes)
    return (
        Case(
            "one large GEMM",
            f"[{large}×{large}] @ [{large}×{large}]",
            (roofline.matmul(large, large, large, dtype),),
            calls.product(large, large, large, dtype),
        ),
        Case(
            "GEMV passes",
            f"{passes} times [{gemv}×{gemv}] @ [{gemv}×1]",
            (repeated(roofline.matmul(gemv, gemv, 1, dtype), passes),),
            calls.matrix_times_vector(gemv, dtype, matrices),
            share=matrices / passes,
        ),
        Case(
            "additions",
            say("calls", "additions", additions=additions, elements=elements),
            (repeated(roofline.elementwise(elements, reads=2, dtype=dtype), additions),),
            calls.addition(elements, dtype),
            share=1 / additions,
        ),
        Case(
            "tiny GEMMs",
            f"{products} times [{tiny}×{tiny}] @ [{tiny}×{tiny}]",
            (repeated(roofline.matmul(tiny, tiny, tiny, dtype), products),),
            calls.product(tiny, tiny, tiny, dtype),
            share=1 / products,
        ),
    )


def plot(result):
    """Predicted and measured time of each case, on a logarithmic axis."""
    times = result.measured
    slowest, fastest = max(times, key=times.get), min(times, key=times.get)
    title = say("title", factor=times[slowest] / times[fastest], fastest=fastest, slowest=slowest)
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(say, cases, plot, CASE_COLUMNS, table=rows_by_case, quick_seconds=0.1)
