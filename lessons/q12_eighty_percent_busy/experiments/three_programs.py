"""Three programs with one gauge: what each of their parts would take alone, and what a remedy for each part gives.

They are called A, B and C, so that the lesson can ask what is wrong with them. Each runs on one thread of the processor
and never sleeps: where it waits it polls.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.accounting.queues import pipeline
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q12_eighty_percent_busy import loops
from course_lib.words import words

say = words(__file__)

PARTS = ("input", "calls", "memory", "arithmetic")
REMEDIES = ("faster input", "one large call", "overlap")
READINGS = ("gauge", *PARTS, *REMEDIES)
ROUNDS = 3
CALLS, NUMBERS = 2000, 64  # of the program that makes many small additions
FASTER = 8  # times


@dataclass(frozen=True)
class Program:
    """A step: an input that takes `waits` times as long as the arithmetic, small additions, and arithmetic."""

    waits: float = 0.0
    ahead: bool = False  # the input is fetched while the step computes
    calls: int = 0
    products: bool = False


PROGRAMS = {
    "A": Program(waits=12.0, ahead=True, products=True),
    "B": Program(calls=CALLS),
    "C": Program(waits=1.0, products=True),
}


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """The readings of each program; full differs from quick in the time of each."""
    run = cache(_run)  # each program once, for all its readings
    return tuple(
        Case(
            f"{name}: {reading}",
            say("calls", reading),
            observe=lambda bench, seconds, program=program, reading=reading: run(bench, seconds, program)[reading],
            expect=partial(_expected, program=program, reading=reading),
            facts={"program": name, "reading": reading},
        )
        for name, program in PROGRAMS.items()
        for reading in READINGS
    )


def _expected(device: hardware.Device, program: Program, reading: str) -> float | None:
    """In % of the step, by the pace of input and product; what calls and numbers take, nothing tells beforehand."""
    if reading == "gauge":
        return 100.0  # nothing sleeps
    if program.calls:
        return {"calls": None, "memory": None, "one large call": None, "input": 0.0, "arithmetic": 0.0}.get(
            reading, 100.0
        )
    remedied = program
    if reading == "faster input":
        remedied = replace(program, waits=program.waits / FASTER)
    elif reading == "overlap":
        remedied = replace(program, ahead=True)
    alone = {"input": program.waits, "arithmetic": 1.0, "calls": 0.0, "memory": 0.0}  # in times of the product
    return 100 * alone.get(reading, _taken(remedied)) / _taken(program)


def _taken(program: Program) -> float:
    """Times of its product that a step takes."""
    return 1 / pipeline.rate({"input": program.waits, "product": 1.0}, overlapped=program.ahead).per_second


def _run(bench, seconds: float, program: Program) -> dict[str, list[float]]:
    """% in each round: of a core for the gauge, else of the time of the program's own step."""
    with timing.single_thread(bench.torch), bench.torch.inference_mode():
        rounds = [_round(bench.torch, seconds / ROUNDS, program) for _ in range(ROUNDS)]
    return {name: [found[name] for found in rounds] for name in READINGS}


def _round(torch, seconds: float, program: Program) -> dict[str, float]:
    steps = loops.step(torch, layers=1)
    alone = loops.seconds_of(steps) if program.products else 0.0
    waits = program.waits * alone

    many, one = _additions(torch, program.calls, NUMBERS), _additions(torch, 1, program.calls * NUMBERS)

    def made(waits=waits, ahead=program.ahead, adds=many):
        return _step(waits, ahead, adds if program.calls else None, steps if program.products else None)

    cores, _, step = loops.watched(made(), seconds)
    parts = {
        "input": waits,
        "calls": loops.seconds_of(_additions(torch, program.calls, 1)) if program.calls else 0.0,
        "memory": loops.seconds_of(one) if program.calls else 0.0,
        "arithmetic": alone,
    }
    remedied = {
        "faster input": made(waits=waits / FASTER),
        "one large call": made(adds=one),
        "overlap": made(ahead=True),
    }
    after = {name: loops.watched(call, seconds / 3)[2] for name, call in remedied.items()}
    return {"gauge": 100 * cores, **{name: 100 * taken / step for name, taken in (parts | after).items()}}


def _additions(torch, calls: int, numbers: int) -> Callable[[], object]:
    """`calls` additions of `numbers` numbers each, into memory that is there."""
    a, b, c = (torch.full((max(numbers, 1),), 0.5) for _ in range(3))

    def add():
        for _ in range(calls):
            torch.add(a, b, out=c)

    return add


def _step(waits: float, ahead: bool, adds, steps) -> Callable[[], object]:
    """A step of a program. ahead: an input comes each `waits` s, whatever the step does meanwhile."""
    due = None

    def step():
        nonlocal due
        now = time.perf_counter()
        due = max(due, now - waits) + waits if ahead and due else now + waits
        if waits:
            loops.poll(due - now)
        for part in (adds, steps):
            if part:
                part()

    return step


def plot(result):
    """All readings of the three programs."""
    gauges = [value for name, value in result.measured.items() if name.endswith("gauge")]
    return dots(result, title=say("title", low=min(gauges), high=max(gauges)), axis=say("axis"), log=False)


EXPERIMENT = Experiment(
    say,
    cases,
    plot,
    quantity_columns(say, "%", program="str", reading="str", hidden=("program", "reading")),
    quick_seconds=0.3,
    full_seconds=2.0,
    method={"calls": CALLS, "numbers": NUMBERS, "faster": FASTER},
)
