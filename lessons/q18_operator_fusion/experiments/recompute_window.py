"""Sums of w neighbouring tanh values, where fusing means to compute each tanh w times; timed as calls, nothing fused."""

from functools import partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import curves
from course_lib.words import words

say = words(__file__)

ELEMENTS = 2**16  # small enough for a cache: what is compared is arithmetic
WINDOWS = (2, 4, 8, 16)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Windows of 2 to 16; full takes longer and has no more."""
    return tuple(
        Case(
            say("case", window=window),
            say("calls", window=window),
            observe=partial(_observe, window=window),
            facts={"window": window},
        )
        for window in WINDOWS
    )


def _observe(bench, seconds: float, window: int) -> list[float]:
    """Time with tanh again for each neighbour, over that with each tanh once."""
    torch = bench.torch
    with timing.single_thread(torch), torch.no_grad():
        x = bench.random(ELEMENTS + window, dtype="fp32")
        wide, short, total = torch.empty_like(x), torch.empty_like(x[:ELEMENTS]), torch.empty_like(x[:ELEMENTS])

        def once():
            torch.tanh(x, out=wide)
            total.zero_()
            for place in range(window):
                total.add_(wide[place : place + ELEMENTS])

        def again():
            total.zero_()
            for place in range(window):
                torch.tanh(x[place : place + ELEMENTS], out=short)
                total.add_(short)

        found = []
        for _ in range(3):
            slow, fast = (timing.measure(form, seconds=seconds / 6).median for form in (again, once))
            found.append(slow / fast)
        return found


EXPERIMENT = Experiment(
    say,
    cases,
    partial(curves, x="window", title=say("title"), axis=say("axis")),
    quantity_columns(say, "×", window="int"),
    method={"elements": ELEMENTS},
)
