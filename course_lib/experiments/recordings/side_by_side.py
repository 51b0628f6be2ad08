"""Side by side: predicted, measured here, recorded, ratio, with machines and dates; and what a data-centre GPU does."""

from collections.abc import Mapping
from dataclasses import dataclass

from course_lib.accounting import hardware, units
from course_lib.experiments import registry
from course_lib.experiments.recordings import loading
from course_lib.experiments.running.errors import Unavailable
from course_lib.experiments.running.result import Result
from course_lib.figures import charts
from course_lib.figures.figure import Figure
from course_lib.figures.tabular import html_table, paragraph, quantity, ratio, text_table

REPLAYED = (
    "Measured here: nothing. This is a recording, predicted with the recorded machine's own profile; a live run needs "
    "PyTorch in this kernel, which `make lab` sets up."
)
RECORDED = "Recorded: {machine} (this project's recording, measured with `course record`)."
PREDICTED_GPU = (
    "data-centre GPU: predicted from the data sheet of an {gpu}, not recorded yet. What runs there: {sizes}."
)
RECORDED_GPU = "data-centre GPU: recorded on {machine}. What runs there: {sizes}."
DASH = (
    " A dash stands where the GPU runs another case, or where call overhead or latency decides, which no data sheet "
    "states."
)
FOUND = "Measured over predicted: between {low} and {high}"
FOUND_RECORDED = "Recorded over predicted: between {low} and {high}"
KEY_LIVE = "open circle: predicted; filled: measured here"
KEY_BOTH = "open circle: predicted; filled circle: measured here; diamond: recorded on {device}"
KEY_RECORDED = "open circle: predicted; diamond: recorded on {device}"
AXES = {"s": "time", "B": "memory", "B/s": "rate", "FLOP/s": "rate", "×": "ratio", "%": "share"}  # by unit
STAND_IN = "h100-sxm"  # whose data sheet speaks for a data-centre GPU until one is recorded


@dataclass(frozen=True)
class SideBySide:
    """rows: mappings with `case`, `predicted`, `measured`, `recorded` and `data_centre` (None where there is none) in
    `unit`, and `ratio` = measured / predicted; for a replayed recording `measured` is None and the ratio is recorded /
    predicted. `data_centre` is what a data-centre GPU was recorded at or, until one is recorded, what its data sheet
    predicts.
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
            "predicted": "predicted",
            "measured": "measured here",
            "ratio": "measured / predicted" if live else "recorded / predicted",
            "recorded": "recorded",
            "data_centre": self.data_centre_heading,
        }
        if self.data_centre_heading == f"{self.recorded_name}, recorded":  # one column says it
            del columns["recorded"]
        if not _any(self.rows, "data_centre"):  # its footnote is left out as well
            del columns["data_centre"]

        def cell(row, key):
            if key == "ratio" and row[key] is not None:
                return ratio(row[key])
            return quantity(row[key], self.unit)

        headings = ["case", *columns.values()]
        cells = [[row["case"], *(cell(row, key) for key in columns)] for row in self.rows]
        return headings, cells

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
            title = (FOUND if live else FOUND_RECORDED).format(low=low, high=high)
        beside = _any(self.rows, "recorded")
        marks = (KEY_BOTH if beside else KEY_LIVE) if live else KEY_RECORDED
        words = " ".join(charts.written(charts.SENTENCES, row, self.unit) for row in self.rows)
        axis = AXES.get(self.unit, "value")
        alt = f"{self.question} {title}. {words}"
        return charts.dot_rows(self.rows, title, alt, axis, self.unit, marks.format(device=self.recorded_name))

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
    data_centre = gpu.measured if gpu else _promised(result.name)
    rows = tuple(
        units.FrozenDict(
            case=case,
            predicted=result.prediction[case],
            measured=None if result.replayed else measured,
            recorded=other.get(case),
            data_centre=data_centre.get(case),
            ratio=measured / result.prediction[case] if result.prediction[case] else None,
        )
        for case, measured in result.measured.items()
    )
    dashes = any(row["data_centre"] is None for row in rows)
    notes = (
        *((REPLAYED,) if result.replayed else (f"Measured here: {_machine(result)}.", result.provenance["profile"])),
        *result.provenance["notes"],
        RECORDED.format(machine=_machine(beside)) if beside else "Recorded: none yet.",
        *refused,
        *((_data_centre(result.name, gpu) + DASH * dashes,) if _any(rows, "data_centre") else ()),
    )
    beside_name = beside.device["name"] if beside else None
    heading = f"{gpu.device['name']}, recorded" if gpu else "H100, data sheet"
    return SideBySide(result.question, result.unit, rows, beside_name, heading, notes)


def _any(rows, key: str) -> bool:
    """Whether one row at least has a value there: a column without any is not worth its width."""
    return any(row[key] is not None for row in rows)


def _machine(result: Result) -> str:
    p = result.provenance
    threads = "" if p["on"] == "cuda" else f", {p['threads']} thread{'s' if p['threads'] != 1 else ''}"
    dtype = f", {p['dtype']}" if p["dtype"] else ""
    return f"{result.device['name']}{threads}{dtype}, PyTorch {p['torch']}, {p['date']}"


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
    if beside and loading.is_data_centre(beside.device["id"]):
        return beside
    first = next(iter(loading.recorded(name)), None)  # data-centre GPUs come first
    return loading.load(name, first) if first and loading.is_data_centre(first) else None


def _promised(name: str) -> dict[str, float | None]:
    """case -> what the stand-in's data sheet predicts for the experiment as it runs on a GPU."""
    experiment, gpu = registry.get(name), hardware.load(STAND_IN)
    return experiment.predict(experiment.cases(gpu, True), gpu)


def _data_centre(name: str, gpu: Result | None) -> str:
    """The sentence on the column of the data-centre GPU: which GPU, at which sizes, recorded or only predicted."""
    sizes = registry.get(name).on_gpu
    if gpu:
        return RECORDED_GPU.format(machine=_machine(gpu), sizes=sizes)
    return PREDICTED_GPU.format(gpu=hardware.load(STAND_IN).name, sizes=sizes)
