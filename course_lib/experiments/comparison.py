"""Side by side: predicted, measured here, recorded, ratio, with machines and dates; and what a data-centre GPU does."""

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.accounting import hardware, units
from course_lib.experiments import recording, registry
from course_lib.experiments.errors import Unavailable
from course_lib.experiments.result import Result
from course_lib.experiments.table import html_table, paragraph, quantity, text_table

REPLAYED = (
    "Measured here: nothing. This is a recording, predicted with the recorded machine's own profile; a live run needs "
    "PyTorch in this kernel, which `make lab` sets up."
)
STAND_IN = "h100-sxm"  # whose data sheet speaks for a data-centre GPU until one is recorded


@dataclass(frozen=True)
class Comparison:
    """rows: mappings with `case`, `predicted`, `measured`, `recorded` (None where there is none) and `ratio` = measured
    / predicted, in `unit`; for a replayed recording `measured` is None and the ratio is recorded / predicted.
    """

    question: str
    unit: str
    rows: tuple[Mapping, ...]
    recorded_name: str | None
    notes: tuple[str, ...]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        live = any(row["measured"] is not None for row in self.rows)
        ratio = "measured / predicted" if live else "recorded / predicted"
        headings = ["case", "predicted", "measured here", "recorded", ratio]
        cells = [
            [
                row["case"],
                *(quantity(row[key], self.unit) for key in ("predicted", "measured", "recorded")),
                f"{row['ratio']:.2f}",
            ]
            for row in self.rows
        ]
        return headings, cells

    def __str__(self) -> str:
        return "\n".join([self.question, "", text_table(*self._cells()), "", *map(paragraph, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption=self.question, notes=self.notes)

    def __getitem__(self, case: str) -> Mapping:
        """The row of a case."""
        rows = {row["case"]: row for row in self.rows}
        return rows[units.choice(case, "case", rows)]


def compare(result: Result, recorded: Result | str | None = None) -> Comparison:
    """The comparison of `result` with a recording; see `Result.compare`."""
    if recorded is not None:
        beside, refused = _given(result.name, recorded), ()
    else:
        beside, refused = (result, ()) if result.replayed else _find(result.name)
    other = beside.measured if beside else {}
    rows = tuple(
        units.FrozenDict(
            case=case,
            predicted=result.prediction[case],
            measured=None if result.replayed else measured,
            recorded=other.get(case),
            ratio=measured / result.prediction[case],
        )
        for case, measured in result.measured.items()
    )
    column = f"Recorded: {_machine(beside)}." if beside else "Recorded: none yet."
    notes = (
        *((REPLAYED,) if result.replayed else (f"Measured here: {_machine(result)}.", result.provenance["profile"])),
        *result.provenance["notes"],
        column,
        *refused,
        _data_centre(result, beside),
    )
    return Comparison(result.question, result.unit, rows, beside.device["name"] if beside else None, notes)


def _machine(result: Result) -> str:
    p = result.provenance
    threads = "" if p["on"] == "cuda" else f", {p['threads']} thread{'s' if p['threads'] != 1 else ''}"
    return f"{result.device['name']}{threads}, {p['dtype']}, PyTorch {p['torch']}, {p['date']}"


def _given(name: str, recorded) -> Result:
    found = recorded if isinstance(recorded, Result) else recording.load(name, recorded)
    if found.name != name:
        raise ValueError(
            f"recorded is a result of {found.name!r} and this one of {name!r}: compare results of the same experiment."
        )
    return found


def _find(name: str) -> tuple[Result | None, tuple[str, ...]]:
    """(the recording to show, one sentence for each file that had to be refused)."""
    refused = tuple(str(reason) for reason in recording.refused().values())
    try:
        return recording.load(name), refused
    except Unavailable:
        return None, refused


def _data_centre(result: Result, beside: Result | None) -> str:
    """The line on a data-centre GPU: recorded where one was recorded, else predicted from its data sheet for the same
    operations.
    """
    experiment = registry.get(result.name)
    if beside is not None and recording.is_data_centre(beside.device["id"]):
        cases = "; ".join(
            f"{case}: predicted {quantity(beside.prediction[case], beside.unit)}, "
            f"recorded {quantity(value, beside.unit)}"
            for case, value in beside.measured.items()
        )
        return f"data-centre GPU: {_machine(beside)}: {cases}."
    gpu = hardware.load(STAND_IN)
    predicted = experiment.predict(experiment.cases(gpu, True), gpu)
    cases = "; ".join(f"{case}: {quantity(value, result.unit)}" for case, value in predicted.items())
    dash = " – stands where call overhead decides, which no data sheet states." if None in predicted.values() else ""
    return f"data-centre GPU: predicted on an {gpu.name} ({experiment.on_gpu}): {cases}; not recorded yet.{dash}"
