"""The error of dot products whose factors are narrow, and of those whose running sum is narrow too."""

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.bench import torch_dtype
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q15_mixed_precision import narrow
from course_lib.words import words

say = words(__file__)

SIDE, SHORT, LONG = 64, 256, 4096  # rows and columns of the product; terms of a dot product
WAYS = (("tf32", "fp32"), ("fp16", "fp32"), ("bf16", "fp32"), ("fp16", "fp16"), ("bf16", "bf16"))


def name_of(factors: str, sums: str, terms: int) -> str:
    return f"{factors} factors, {sums} sums, {terms:,} terms"


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Five ways and two lengths; full draws ten products of each instead of three."""
    return tuple(_case(*way, terms, 3 if quick else 10) for terms in (SHORT, LONG) for way in WAYS)


def _case(factors: str, sums: str, terms: int, draws: int) -> Case:
    def observe(bench, seconds):
        with timing.single_thread(bench.torch):
            return [error(bench.torch, factors, sums, terms, seed) for seed in range(draws)]

    return Case(
        name_of(factors, sums, terms),
        say("calls", side=SIDE, terms=terms),
        observe=observe,
        expect=lambda device: 100 * narrow.product_error(factors, terms, sums),
        facts={"factors": factors, "sums": sums, "terms": terms},
    )


def error(torch, factors: str, sums: str, terms: int, seed: int) -> float:
    """Relative error of a product of random matrices, root mean square over all results, in %."""
    generator = torch.Generator().manual_seed(seed)
    a, b = torch.randn(SIDE, terms, generator=generator), torch.randn(terms, SIDE, generator=generator)
    exact = a.double() @ b.double()
    found = _product(torch, _narrow(torch, a, factors), _narrow(torch, b, factors), sums)
    return 100 * ((found.double() - exact).norm() / exact.norm()).item()


def _narrow(torch, values, dtype: str):
    """The values in a format, held as fp32."""
    return narrow.nearest(torch, values, 10) if dtype == "tf32" else values.to(torch_dtype(torch, dtype)).float()


def _product(torch, a, b, sums: str):
    if sums == "fp32":
        return a @ b
    total = torch.zeros(len(a), b.shape[1])
    for column, row in zip(a.T, b, strict=True):  # a term of every result at a time, and each sum is rounded
        total = _narrow(torch, total + column[:, None] * row, sums)
    return total


def plot(result):
    """Predicted and measured error of each way."""
    found, title = result.measured, say("title", "plain")
    wide, thin = name_of("bf16", "fp32", LONG), name_of("bf16", "bf16", LONG)
    if {wide, thin} <= set(found):
        title = say("title", "found", times=found[thin] / found[wide])
    return dots(result, title=title, axis=say("axis"))


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", factors="str", sums="str", terms="int", hidden=("factors", "sums", "terms")),
    timed=False,
    method={"side": SIDE},
)
