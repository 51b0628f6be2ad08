"""Is this program slower than that one? Three rules, each asked fifty times about no change and fifty times about 5 %.

Two rules compare with times that were taken once, at the beginning, as a benchmark of yesterday is; the third times both
programs in pairs, one after the other, and knows the noise of its own answer.
"""

import statistics
import time
from collections.abc import Callable
from functools import cache, partial

from course_lib.accounting import hardware
from course_lib.experiments.running import timing
from course_lib.experiments.running.experiment import Case, Experiment
from course_lib.experiments.running.racing import clocked
from course_lib.experiments.running.rows import quantity_columns
from course_lib.figures.charts import dots
from course_lib.units.q13_training_loop import benchmarking
from course_lib.words import words

say = words(__file__)

PRODUCTS, MORE = 20, 21  # of a step; 5 % more work
ASKED, PAIRS = 50, 40
YESTERDAY: dict[str, Callable[[list[float]], float]] = {
    "yesterday's median": statistics.median,
    "yesterday's minimum": min,
}
RULES = (*YESTERDAY, "pairs")
CHANGES = ("no change", "5 % slower")
_seconds = partial(clocked, clock=time.perf_counter)


def cases(device: hardware.Device, quick: bool) -> tuple[Case, ...]:
    """Three rules about two changes; full has three times as many pairs for each answer."""
    alarms = cache(partial(_alarms, pairs=PAIRS if quick else 3 * PAIRS))  # once, for all rules
    return tuple(
        Case(
            f"{rule}: {change}",
            say("calls", rule),
            observe=lambda bench, seconds, key=(rule, change): [alarms(bench.torch)[key]],
            expect=partial(_expected, rule=rule, change=change),
            facts={"rule": rule, "change": change},
        )
        for rule in RULES
        for change in CHANGES
    )


def _expected(device: hardware.Device, rule: str, change: str) -> float | None:
    """What the rule of the pairs is made for; of the others nothing is said."""
    return None if rule != "pairs" else 0.0 if change == "no change" else 100.0


def _alarms(torch, pairs: int) -> dict[tuple[str, str], float]:
    """(rule, change) -> % of the answers that say: slower."""
    alarms = {(rule, change): 0 for rule in RULES for change in CHANGES}
    with timing.single_thread(torch), torch.inference_mode():
        old, new = _program(torch, PRODUCTS), _program(torch, MORE)
        yesterday = [_seconds(old) for _ in range(pairs)]
        for _ in range(ASKED):
            for change, program in zip(CHANGES, (old, new), strict=True):
                ratios, today = _in_pairs(old, program, pairs)
                alarms["pairs", change] += benchmarking.is_slower(ratios)
                for rule, of in YESTERDAY.items():
                    alarms[rule, change] += of(today) / of(yesterday) - 1 > benchmarking.LEAST
    return {key: 100 * count / ASKED for key, count in alarms.items()}


def _program(torch, products: int):
    """A step of small products in a row."""
    draw = torch.Generator().manual_seed(0)
    weight, x = (torch.randn(48, 48, generator=draw) for _ in range(2))

    def run():
        y = x
        for _ in range(products):
            y = y @ weight
        return y

    run()
    return run


def _in_pairs(old, new, pairs: int) -> tuple[list[float], list[float]]:
    """(new over old of each pair, seconds of new); every second pair runs in the other order."""
    ratios, today = [], []
    for pair in range(pairs):
        if pair % 2:
            after, before = _seconds(new), _seconds(old)
        else:
            before, after = _seconds(old), _seconds(new)
        ratios.append(after / before)
        today.append(after)
    return ratios, today


EXPERIMENT = Experiment(
    say,
    cases,
    partial(dots, title=say("title"), axis=say("axis"), log=False),
    quantity_columns(say, "%", rule="str", change="str", hidden=("rule", "change")),
    method={"old": PRODUCTS, "new": MORE, "asked": ASKED, "pairs": PAIRS, "least": 100 * benchmarking.LEAST},
)
