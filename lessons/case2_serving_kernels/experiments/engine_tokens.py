"""The serving engine against the plain loop: are all tokens the same, and how many positions does it compute for them?

A trained model of letters serves the same requests with pages in plenty, with hardly any, in another order, one at a
time, with a common beginning, and while every third is cancelled.
"""

from functools import cache, partial
from typing import Any

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.case2_serving_kernels import letters
from course_lib.words import words

say = words(__file__)

PAGE, PLENTY, FEW, COMMON = 8, 80, 10, 24
# settings of the engine; whether the requests come backwards, have letters in common, are cancelled
SETTINGS: dict[str, dict[str, Any]] = {
    "batch": {"pages": PLENTY},
    "alone": {"pages": PLENTY, "most": 1},
    "backwards": {"pages": PLENTY, "backwards": True},
    "few": {"pages": FEW},
    "few, again": {"pages": FEW, "reuse": False},
    "common": {"pages": PLENTY, "common": COMMON},
    "cancelled": {"pages": FEW, "cancelled": True},
}


@cache
def _asked(count: int, common: int):
    """Requests, and what the plain loop makes of each."""
    import torch

    from course_lib.units.case2_serving_kernels import engine

    model, asked = letters.trained(), letters.requests(count, common=common)
    with timing.single_thread(torch), torch.inference_mode():
        return asked, [engine.plain(model, request) for request in asked]


def serve(count: int, pages: int, most: int = 8, reuse: bool = True, backwards=False, common=0, cancelled=False):
    """Serve the requests: (the engine, requests, right tokens by number, number -> tokens when it was cancelled)."""
    import torch

    from course_lib.units.case2_serving_kernels import engine

    asked, right = _asked(count, common)
    if backwards:
        asked, right = asked[::-1], right[::-1]
    served, cut = engine.Engine(letters.trained(), pages, PAGE, most, reuse), {}
    with timing.single_thread(torch), torch.inference_mode():
        for request in asked:
            served.add(request)
        while served.running or served.waiting:
            served.step()
            if cancelled and served.counts.steps % 3 == 0:
                number = served.counts.steps // 3 * 3 % count
                made = served.cancel(number)
                if made is not None:
                    cut[number] = list(made)
    return served, asked, right, cut


def _case(key: str, count: int) -> Case:
    facts = {"requests": count, "equal": 0, "preempted": 0, "found": 0, "peak": 0, "left": 0, "needed": 0}

    def observe(bench, seconds):
        served, asked, right, cut = serve(count, **SETTINGS[key])
        made = served.answers | cut
        facts.update(
            equal=sum(made[n] == (right[n][: len(made[n])] if n in cut else right[n]) for n in range(count)),
            preempted=served.counts.preempted,
            found=served.counts.found,
            peak=served.counts.peak,
            left=served.pages.held,
            needed=sum(len(r.prompt) + len(made[n]) - 1 for n, r in enumerate(asked) if made[n]),
        )
        return [served.counts.computed]

    def expect(device):
        return facts["needed"] or None  # known when it has run

    return Case(say("cases", key), say("call", count=count), observe=observe, expect=expect, facts=facts)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Each setting with 12 requests; in full with 64."""
    return tuple(map(partial(_case, count=12 if quick else 64), SETTINGS))


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(
        say,
        "",
        requests="int",
        equal="int",
        preempted="int",
        found="int",
        peak="int",
        left="int",
        needed="int",
        hidden=("needed",),
    ),
    timed=False,
    method={"page": PAGE, "plenty": PLENTY, "few": FEW, "common": COMMON, "steps": letters.STEPS},
)
