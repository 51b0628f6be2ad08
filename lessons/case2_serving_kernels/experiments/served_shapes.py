"""SiLU(x)·y at the sizes that are served: as it is written, into memory that is there, and compiled."""

from functools import partial

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running import timing
from course_lib.experiments.running.compiling import compiling
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import CASE_COLUMNS, fact_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

SILU = 5  # FLOPs of x / (1 + exp(-x)), the exponential counted as one
SIZES = tuple(2**power for power in (6, 10, 14, 17, 20, 23))
FORMS = {"written": (1, 2), "there": (1, 2), "compiled": (2,)}  # tensors that each call reads


def _build(bench, form: str, size: int):
    torch = bench.torch
    x, y = bench.random(size), bench.random(size)
    out, silu = bench.empty(size), torch.nn.functional.silu
    if form == "written":
        return lambda: silu(x) * y
    if form == "there":

        def there():
            torch.ops.aten.silu.out(x, out=out)
            torch.mul(out, y, out=out)

        return there
    with compiling(bench):
        fused = torch.compile(lambda x, y, out: out.copy_(silu(x) * y), fullgraph=True, dynamic=True)
        fused(x, y, out)
    return lambda: fused(x, y, out)


def _alone(bench, form: str, size: int):
    with timing.single_thread(bench.torch):
        call = _build(bench, form, size)

    def run():
        with timing.single_thread(bench.torch):
            call()

    return run


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The two that need no compiler at three sizes; in full all three at six."""
    forms = ("written", "there") if quick else tuple(FORMS)
    found = []
    for form in forms:
        for size in SIZES[::2] if quick else SIZES:
            flops = (SILU, 1) if len(FORMS[form]) == 2 else (SILU + 1,)
            ops = tuple(
                roofline.elementwise(size, reads=reads, flops_per_element=each, dtype="fp32")
                for reads, each in zip(FORMS[form], flops, strict=True)
            )
            name = say("cases", form, size=size)
            facts = {"size": size, "form": say("forms", form)}
            found.append(
                Case(name, say("calls", form), ops, lambda bench, f=form, n=size: _alone(bench, f, n), facts=facts)
            )
    return tuple(found)


def _table(cases, timings, device):
    from course_lib.experiments.running.rows import rows_by_case

    return [row | dict(case.facts) for row, case in zip(rows_by_case(cases, timings, device), cases, strict=True)]


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="size", title=say("title"), axis=say("axis"), by="form"),
    (*CASE_COLUMNS, *fact_columns(say, size="int", form="str", hidden=("size", "form"))),
    table=_table,
    full_seconds=0.5,
    recording_seconds=60,
)
