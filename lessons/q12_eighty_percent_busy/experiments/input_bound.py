"""A loop whose input takes three times as long as its step: in turn, with threads that fetch ahead by sleeping, and with
threads that fetch ahead by computing.
"""

import time
from functools import partial

from course_lib.accounting import hardware
from course_lib.accounting.queues import pipeline
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q12_eighty_percent_busy import loops
from course_lib.words import words

say = words(__file__)

TIMES = 3  # an input takes as many times as long as a step
WORKERS = (0, 1, 2, 4)  # 0: in turn
FETCHING = ("asleep", "computing")
ROUNDS = 3


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Workers that sleep, as one that waits for a drive does, and workers that compute. Full differs in the time."""
    return tuple(
        Case(
            say("names", fetching, workers=workers) if workers else say("names", "in turn"),
            say("calls", fetching if workers else "in turn", times=TIMES, workers=workers),
            observe=partial(_observed, fetching=fetching, workers=workers),
            expect=partial(_expected, fetching=fetching, workers=workers),
            facts={"fetching": fetching, "workers": workers},
        )
        for fetching in FETCHING
        for workers in WORKERS
        if workers != 0 or fetching == "asleep"
    )


def _expected(device: hardware.Device, fetching: str, workers: int) -> float | None:
    """Steps as a share of computing alone, in %; workers that compute share the cores, which a profile does not count."""
    if fetching == "computing":
        return None
    stages = {"fetch": (float(TIMES), max(workers, 1)), "step": 1.0}
    return 100 * pipeline.rate(stages, overlapped=bool(workers)).per_second


def _observed(bench, seconds: float, fetching: str, workers: int) -> list[float]:
    """Steps a second in % of computing alone, which is timed just before, in each round."""
    compute = loops.step(bench.torch)
    found = []
    with timing.single_thread(bench.torch), bench.torch.inference_mode():
        for _ in range(ROUNDS):
            alone = loops.seconds_of(compute)
            fetch = partial(time.sleep, TIMES * alone) if fetching == "asleep" else _several(bench, TIMES)
            if workers:
                with loops.loaders(fetch, workers) as take:
                    take()  # from the first batch on
                    rate = loops.watched(_turns(take, compute), seconds / ROUNDS)[1]
            else:
                rate = loops.watched(_turns(fetch, compute), seconds / ROUNDS)[1]
            found.append(100 * rate * alone)
    return found


def _turns(first, second):
    def loop():
        first()
        second()

    return loop


def _several(bench, times: int):
    """An input that is computed: as much arithmetic as `times` steps."""
    compute = loops.step(bench.torch)

    def fetch():
        with bench.torch.inference_mode():  # a thread has its own mode
            for _ in range(times):
                compute()

    return fetch


def plot(result):
    """The pace of each case."""
    found = result.measured
    first, most = say("names", "in turn"), say("names", "asleep", workers=WORKERS[-1])
    title = say("title", "plain")
    if {first, most} <= set(found):
        title = say("title", "found", workers=WORKERS[-1], turn=found[first], most=found[most])
    return dots(result, title=title, axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", fetching="str", workers="int", hidden=("fetching", "workers")),
    quick_seconds=0.24,
    full_seconds=2.0,
    method={"times": TIMES},
)
