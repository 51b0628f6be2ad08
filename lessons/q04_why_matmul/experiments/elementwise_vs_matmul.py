"""The same two matrices added and multiplied: the same bytes, very different FLOPs, and the ratio of their times."""

from collections.abc import Mapping, Sequence
from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import calls
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.experiment import Case, Experiment, main_dtype
from course_lib.experiments.running.rows import RATIO_COLUMNS, fact_columns, measured_ratio, predicted_ratio
from course_lib.experiments.running.timing import Repeats
from course_lib.figures.charts import dots
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

MOST_SETS = 128  # of matrices taken in turn; of small matrices they stay in a cache, and the call decides anyway


def sides(device: hardware.Device, quick: bool) -> tuple[int, ...]:
    if device.kind == "cpu":
        return (16, 128, 512, 1024) if quick else (16, 128, 512, 1024, 2048)
    return (256, 1024, 4096, 8192) if quick else (256, 1024, 4096, 8192, 16384)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Sum and product of two n×n matrices, of every side n; full adds the largest."""
    dtype = main_dtype(device)
    found = []
    for n in sides(device, quick):
        in_turn = min(max(calls.beyond_cache(n, n, dtype) // 3, 1), MOST_SETS)
        found += [
            Case(
                f"add {n}",
                f"a + b, [{n}×{n}]",
                (roofline.elementwise(n * n, reads=2, dtype=dtype),),
                partial(build_sums, n=n, dtype=dtype, in_turn=in_turn),
                share=in_turn,
                facts={"side": n},
            ),
            Case(
                f"product {n}",
                f"a @ b, [{n}×{n}]",
                (roofline.matmul(n, n, n, dtype),),
                calls.product(n, n, n, dtype),
                facts={"side": n},
            ),
        ]
    return tuple(found)


def build_sums(bench: Bench, n: int, dtype: str, in_turn: int):
    """a + b into c, once with each of `in_turn` triples of matrices."""
    add = bench.torch.add
    triples = list(zip(*(bench.random(in_turn, n, n, dtype=dtype).unbind() for _ in range(3)), strict=True))

    def sums():
        for a, b, c in triples:
            add(a, b, out=c)

    return sums


def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each side of which both were timed."""
    rows = []
    for sum_, product in _pairs(cases):
        op, times = product.ops[0], (timings[sum_.name], timings[product.name])
        rows.append(
            {
                "case": _name(product),
                "bytes": op.bytes,
                "flops_ratio": product.flops / sum_.flops,
                "intensity": op.intensity,
                "ridges": op.intensity / roofline.ridge_point(device, op.dtype),
                "sum_measured": times[0].median,
                "product_measured": times[1].median,
                "predicted": predicted_ratio(sum_, product, device),
                **measured_ratio(*times),
            }
        )
    return rows


def predict(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """side -> predicted ratio of times: intensity over ridge where matrices are large, 1 where overhead rules both."""
    return {_name(product): predicted_ratio(sum_, product, device) for sum_, product in _pairs(cases)}


def _pairs(cases: Sequence[Case]) -> list[tuple[Case, Case]]:
    """(sum, product) of each side that has both; cases come in pairs, and an interrupt may cut the last one."""
    by_side: dict[int, list[Case]] = {}
    for case in cases:
        by_side.setdefault(case.facts["side"], []).append(case)
    return [(pair[0], pair[1]) for pair in by_side.values() if len(pair) == 2]


def _name(case: Case) -> str:
    return f"{case.facts['side']}×{case.facts['side']}"


def plot(result):
    """Measured and predicted ratio of times, for every side."""
    last = result.rows[-1]
    title = say(
        "title", large=last["case"], flops=quantity(last["flops_ratio"], "×"), time=quantity(last["measured"], "×")
    )
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    (
        *fact_columns(
            say,
            case="str",
            bytes="int B",
            flops_ratio="float ×",
            intensity="float FLOP/B",
            ridges="float ×",
            sum_measured="float s",
            product_measured="float s",
            hidden=("intensity",),
        ),
        *RATIO_COLUMNS,
    ),
    table=table,
    predict=predict,
    quick_seconds=0.1,
    full_seconds=0.5,
)
