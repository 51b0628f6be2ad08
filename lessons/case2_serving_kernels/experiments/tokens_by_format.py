"""The engine against the plain loop in the same number format: how many requests get another text?"""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running.bench import torch_dtype
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.words import words

say = words(__file__)

FORMATS, PAGES, PAGE, NEW = ("fp64", "fp32", "bf16"), 200, 8, 48


def _observe(bench, seconds: float, form: str, count: int, facts: dict) -> list[float]:
    from dataclasses import replace

    from course_lib.units.case2_serving_kernels import letters, workload

    model = letters.trained().to(torch_dtype(bench.torch, form))
    asked = [replace(request, new=NEW, stop=None) for request in letters.requests(count)]
    right = workload.alone(model, asked)
    served = workload.serve(model, asked, pages=PAGES, page=PAGE)
    facts["tokens"] = sum(map(len, right))
    return [workload.differing(served, right) / count]


def _case(form: str, count: int) -> Case:
    facts = {"requests": count, "tokens": 0}
    return Case(
        say("cases", form),
        say("call", count=count, new=NEW),
        observe=partial(_observe, form=form, count=count, facts=facts),
        facts=facts,
    )


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three formats with 4 requests each; in full with 64."""
    return tuple(_case(form, 4 if quick else 64) for form in FORMATS)


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "", requests="int", tokens="int"),
    timed=False,
    recording_seconds=60,
    method={"new": NEW},
)
