"""From timed cases to the rows of a result and its prediction: the forms that experiments share.

Four quantities cover nearly all of them: the time of a case with what it counts (`rows_by_case`), whatever a case
predicts and measures (`rows_of_quantity`), a rate, that is an amount over the time (`rates`), and the ratio of two
cases' times (`predicted_ratio`, `measured_ratio`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from operator import truediv
from typing import TYPE_CHECKING

from course_lib.accounting import hardware, roofline
from course_lib.experiments.running.result import Column
from course_lib.experiments.running.timing import Repeats
from course_lib.words import Words, words

if TYPE_CHECKING:  # an experiment has these forms by default
    from course_lib.experiments.running.experiment import Case

say = words(__file__)

Table = Callable[[Sequence["Case"], Mapping[str, Repeats], hardware.Device], list[dict]]
Predict = Callable[[Sequence["Case"], hardware.Device], dict[str, float | None]]

CASE_COLUMNS = (
    Column("case", say("columns", "case"), "", "str"),
    Column("call", say("columns", "call"), "", "str"),
    Column("flops", say("columns", "flops"), "FLOP", "int"),
    Column("bytes", say("columns", "bytes"), "B", "int"),
    Column("calls", say("columns", "calls"), "", "int"),
    Column("intensity", say("columns", "intensity"), "FLOP/B", "float"),
    Column("bound", say("columns", "bound"), "", "str"),
    Column("predicted", say("columns", "predicted"), "s", "float"),
    Column("measured", say("columns", "measured"), "s", "float"),
    Column("q1", say("columns", "q1"), "s", "float", shown=False),
    Column("q3", say("columns", "q3"), "s", "float", shown=False),
    Column("attained", say("columns", "attained"), "FLOP/s", "float"),
    Column("repeats", say("columns", "repeats"), "", "int", shown=False),
)
# of two times; the quartiles of the times give the lowest and the highest ratio
RATIO_COLUMNS = (
    Column("predicted", say("ratios", "predicted"), "×", "float?"),
    Column("measured", say("ratios", "measured"), "×", "float"),
    Column("q1", say("ratios", "q1"), "×", "float", shown=False),
    Column("q3", say("ratios", "q3"), "×", "float", shown=False),
)


def quantity_columns(beside: Words, unit: str, hidden: Collection[str] = (), **facts: str) -> tuple[Column, ...]:
    """Columns of an experiment whose cases measure one quantity: case, call, facts, predicted, measured, spread.

    beside: the words beside its module, with the headings. hidden, facts: as in `fact_columns`.
    """
    return (
        Column("case", say("columns", "case"), "", "str"),
        Column("call", say("columns", "call"), "", "str"),
        *fact_columns(beside, hidden, **facts),
        Column("predicted", say("columns", "predicted"), unit, "float?"),
        Column("measured", beside("columns", "measured"), unit, "float"),
        Column("q1", say("columns", "q1"), unit, "float", shown=False),
        Column("q3", say("columns", "q3"), unit, "float", shown=False),
        Column("repeats", say("columns", "repeats"), "", "int", shown=False),
    )


def fact_columns(beside: Words, hidden: Collection[str] = (), **facts: str) -> tuple[Column, ...]:
    """A column for each of `facts`, key="type unit" (flops="int FLOP"); tables leave out those that are `hidden`."""
    found = []
    for key, fact in facts.items():
        type_, _, unit = fact.partition(" ")
        found.append(Column(key, beside("columns", key), unit, type_, shown=key not in hidden))
    return tuple(found)


# ---------------------------------------------------------------- times, and quantities that cases measure


def rows_by_case(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each case with the columns `CASE_COLUMNS`."""
    return [
        {
            **_row(case, roofline.predict_seconds(case.ops, device=device), timings[case.name]),
            "flops": case.flops,
            "bytes": case.bytes,
            "calls": case.calls,
            "intensity": case.intensity,
            "bound": case.bound(device),
            "attained": case.flops / timings[case.name].median,
        }
        for case in cases
    ]


def rows_of_quantity(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
    """One row for each case with the columns `quantity_columns` and the case's facts."""
    return [_row(case, case.predict(device), timings[case.name]) for case in cases]


def predicted_by_case(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
    """case -> predicted value of the quantity, None where it cannot be told."""
    return {case.name: case.predict(device) for case in cases}


def _row(case: Case, predicted: float | None, repeats: Repeats, of: Callable[[float], float] = float) -> dict:
    """`of` makes the quantity of a repeat's median and quartiles; the larger quartile may become the smaller one."""
    low, high = sorted(of(value) for value in repeats.quartiles)
    return {
        "case": case.name,
        "call": case.call,
        **case.facts,
        "predicted": None if predicted is None else float(predicted),
        "measured": of(repeats.median),
        "q1": low,
        "q3": high,
        "repeats": len(repeats.values),
    }


# ---------------------------------------------------------------- rates


def rates(amount: Callable[[Case, hardware.Device], float]) -> tuple[Table, Predict]:
    """(table, predict) of an experiment that times its cases and compares amount(case, device) over their time.

    The rows have the columns `quantity_columns` and the case's facts. An amount of bytes gives B/s; what a second at
    the peak would do, divided by the peak, gives a share of the peak. The prediction is None where that of the time is.
    """

    def predicted(case: Case, device: hardware.Device) -> float | None:
        seconds = case.predict(device)
        return None if seconds is None else amount(case, device) / seconds

    def table(cases: Sequence[Case], timings: Mapping[str, Repeats], device: hardware.Device) -> list[dict]:
        return [
            _row(case, predicted(case, device), timings[case.name], partial(truediv, amount(case, device)))
            for case in cases
        ]

    def predict(cases: Sequence[Case], device: hardware.Device) -> dict[str, float | None]:
        return {case.name: predicted(case, device) for case in cases}

    return table, predict


# ---------------------------------------------------------------- ratios


def predicted_ratio(before: Case, after: Case, device: hardware.Device) -> float | None:
    """Predicted time of `after` over that of `before`; None where one of the two cannot be told."""
    first, second = before.predict(device), after.predict(device)
    return None if first is None or second is None else second / first


def measured_ratio(before: Repeats, after: Repeats) -> dict[str, float]:
    """`measured`, `q1` and `q3` of `RATIO_COLUMNS`: the median of `after` over that of `before`, and its extremes."""
    (low_before, high_before), (low, high) = before.quartiles, after.quartiles
    return {"measured": after.median / before.median, "q1": low / high_before, "q3": high / low_before}
