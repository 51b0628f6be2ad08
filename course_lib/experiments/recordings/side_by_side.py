"""Side by side: predicted, measured here, recorded, ratio, with machines and dates; what a data-centre GPU does, and
what others published.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.accounting import hardware, units
from course_lib.experiments import published, registry
from course_lib.experiments.recordings import loading
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.result import Result
from course_lib.figures import charts
from course_lib.figures.figure import Figure
from course_lib.figures.tabular import html_table, paragraph, quantity, ratio, text_table, without_dashes
from course_lib.words import words

say = words(__file__)

STAND_IN = "h100-sxm"  # whose data sheet speaks for a data-centre GPU until one is recorded


@dataclass(frozen=True)
class SideBySide:
    """rows: mappings with `case`, `predicted`, `measured`, `recorded`, `data_centre` and `published` (None where there
    is none) in `unit`, and `ratio` = measured / predicted; for a replayed recording `measured` is None and the ratio is
    recorded / predicted. `data_centre` is what a data-centre GPU was recorded at or, until one is recorded, what its
    data sheet predicts; `published` what others measured of the same quantity.
    """

    question: str
    unit: str
    rows: tuple[Mapping, ...]
    recorded_name: str | None
    data_centre_heading: str
    notes: tuple[str, ...]

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        live = _any(self.rows, "measured")
        columns = {
            "predicted": say("columns", "predicted"),
            "measured": say("columns", "measured"),
            "ratio": say("columns", "measured-ratio" if live else "recorded-ratio"),
            "recorded": say("columns", "recorded"),
            "data_centre": self.data_centre_heading,
            "published": say("columns", "published"),
        }
        if self.data_centre_heading == say("columns", "recorded-on", device=self.recorded_name):  # one column says it
            del columns["recorded"]

        def cell(row, key):
            if key == "ratio" and row[key] is not None:
                return ratio(row[key])
            return quantity(row[key], self.unit)

        headings = [say("columns", "case"), *columns.values()]
        cells = [[row["case"], *(cell(row, key) for key in columns)] for row in self.rows]
        return without_dashes(headings, cells)

    def __str__(self) -> str:
        return "\n".join([self.question, "", text_table(*self._cells()), "", *map(paragraph, self.notes)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption=self.question, notes=self.notes)

    def plot(self) -> Figure:
        """Predicted, measured here and recorded value of each case, side by side; `str(figure)` says it in words."""
        ratios = [row["ratio"] for row in self.rows if row["ratio"] is not None]
        live = _any(self.rows, "measured")
        title = self.question
        if ratios:
            low, high = (quantity(pick(ratios), "×") for pick in (min, max))
            title = say("found", "measured" if live else "recorded", low=low, high=high)
        beside = _any(self.rows, "recorded")
        marks = say("key", ("both" if beside else "live") if live else "recorded", device=self.recorded_name)
        words = " ".join(charts.written("sentences", row, self.unit) for row in self.rows)
        axes = say.table("axes")
        axis = axes.get(self.unit, axes["other"])
        return charts.dot_rows(self.rows, title, f"{self.question} {title}. {words}", axis, self.unit, marks)

    def __getitem__(self, case: str) -> Mapping:
        """The row of a case."""
        rows = {row["case"]: row for row in self.rows}
        return rows[units.choice(case, "case", rows)]


def compare(result: Result, recorded: Result | str | None = None) -> SideBySide:
    """The comparison of `result` with a recording; see `Result.compare`."""
    if recorded is not None:
        beside, refused = _given(result.name, recorded), ()
    else:
        beside, refused = (result, ()) if result.replayed else _find(result.name)
    other = beside.measured if beside else {}
    gpu = _recorded_gpu(result.name, beside)
    data_centre = gpu.measured if gpu else _promised(result)
    others = {case: found for case, found in published.beside(result.name).items() if case in result.measured}
    rows = tuple(
        units.FrozenDict(
            case=case,
            predicted=result.prediction[case],
            measured=None if result.replayed else measured,
            recorded=other.get(case),
            data_centre=data_centre.get(case),
            published=others[case].value if case in others else None,
            ratio=measured / result.prediction[case] if result.prediction[case] else None,
        )
        for case, measured in result.measured.items()
    )
    dashes = any(row["data_centre"] is None for row in rows)
    notes = (
        *_how_measured(result, predicted=_any(rows, "predicted")),
        *result.provenance["notes"],
        say("recorded", machine=_machine(beside)) if beside else say("not-recorded"),
        *refused,
        *((_data_centre(result.name, gpu, dashes),) if _any(rows, "data_centre") else ()),
        *(
            say("published", case=case, on=found.hardware.name, **vars(found), **vars(found.source))
            for case, found in others.items()
        ),
    )
    beside_name = beside.device["name"] if beside else None
    heading = say("columns", "recorded-on", device=gpu.device["name"]) if gpu else say("columns", "data-sheet")
    return SideBySide(result.question, result.unit, rows, beside_name, heading, notes)


def _how_measured(result: Result, predicted: bool) -> tuple[str, ...]:
    """Where the numbers come from; with which profile, only where something was predicted."""
    if result.replayed:
        return (say("replayed", "predicted" if predicted else "measured"),)
    return (say("measured", machine=_machine(result)), *([result.provenance["profile"]] if predicted else []))


def _any(rows, key: str) -> bool:
    """Whether one row at least has a value there."""
    return any(row[key] is not None for row in rows)


def _machine(result: Result) -> str:
    p = result.provenance
    case = "gpu" if p["on"] == "cuda" else "one-thread" if p["threads"] == 1 else "threads"
    return say("machine" if p["dtype"] else "machine-without-dtype", case, name=result.device["name"], **p)


def _given(name: str, recorded) -> Result:
    found = recorded if isinstance(recorded, Result) else loading.load(name, recorded)
    if found.name != name:
        raise ValueError(
            f"recorded is a result of {found.name!r} and this one of {name!r}: compare results of the same experiment."
        )
    return found


def _find(name: str) -> tuple[Result | None, tuple[str, ...]]:
    """(the recording to show, one sentence for each file that had to be refused)."""
    refused = tuple(str(reason) for reason in loading.refused().values())
    try:
        return loading.load(name), refused
    except Unavailable:
        return None, refused


def _recorded_gpu(name: str, beside: Result | None) -> Result | None:
    """A recording of a data-centre GPU: the one that is shown anyway, else the first there is."""
    if beside and beside.device["id"] in loading.DATA_CENTRE:
        return beside
    first = next(iter(loading.recorded(name)), None)  # data-centre GPUs come first
    return loading.load(name, first) if first in loading.DATA_CENTRE else None


def _promised(result: Result) -> dict[str, float | None]:
    """case -> what the stand-in's data sheet predicts for the experiment as it runs on a GPU; nothing where it predicts
    for each case what it does here: then the quantity hangs on no device.
    """
    experiment, gpu = registry.get(result.name), hardware.load(STAND_IN)
    promised = experiment.predict(experiment.cases(gpu, True), gpu)
    same = all(promised.get(case) in (None, value) for case, value in result.prediction.items())
    return {} if same else promised


def _data_centre(name: str, gpu: Result | None, dashes: bool) -> str:
    """On the column of the data-centre GPU: which one, at which sizes, recorded or predicted; what `dashes` are."""
    sizes = registry.get(name).on_gpu
    case, which = ("recorded", _machine(gpu)) if gpu else ("predicted", hardware.load(STAND_IN).name)
    sentence = say("data-centre", case, gpu=which, sizes=sizes)
    return f"{sentence} {say('data-centre', 'dash')}" if dashes else sentence
