"""What an experiment gives back: a typed table with units, what was predicted, every repeat, and under which
conditions.

A live run and a recording are the same object. As JSON it carries a digest (SHA-256 of its canonical JSON), which
guards against accidents and hand edits, not against forgery.
"""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from course_lib.accounting import units
from course_lib.experiments.profile import machine
from course_lib.experiments.running import timing
from course_lib.experiments.running.errors import Unavailable
from course_lib.figures.tabular import html_table, paragraph, quantity, text_table, without_dashes
from course_lib.words import words

say = words(__file__)

SCHEMA = 1
# The parts of a result that JSON has as they are, and its type of them.
_WRITTEN = {"name": str, "question": str, "quantity": str, "rows": list} | dict.fromkeys(
    ("prediction", "raw", "device", "provenance"), dict
)
_TYPES = {"str": (str,), "int": (int,), "float": (float,), "float?": (float, type(None))}


@dataclass(frozen=True)
class Column:
    """One column: `key` in the rows, heading, unit ("" for text and pure numbers), type ("str", "int", "float", or
    "float?" where a value may be missing), and whether the printed table shows it.
    """

    key: str
    heading: str
    unit: str
    type: str
    shown: bool = True


@dataclass(frozen=True)
class Result:
    """The outcome of one experiment on one device.

    columns: what the keys of `rows` mean. quantity: key of the measured column that is compared with the prediction.
    prediction: case -> predicted value, in the unit of `quantity`. raw: timed call -> seconds of every repeat. device:
    the measured profile that the prediction used (peaks in FLOP/s, memory_bandwidth in B/s, call_overhead in s).
    provenance: versions, threads, date, method, notes. replayed: whether this was loaded from a recording; a state of
    the object, not of the measurement, so it is neither stored nor compared.
    """

    name: str
    question: str
    columns: tuple[Column, ...]
    quantity: str
    rows: tuple[Mapping, ...]
    prediction: Mapping[str, float]
    raw: Mapping[str, tuple[float, ...]]
    device: Mapping
    provenance: Mapping
    replayed: bool = field(default=False, compare=False)

    @property
    def unit(self) -> str:
        """Unit of the compared quantity: "s", "×", "FLOP/s"."""
        return next(column.unit for column in self.columns if column.key == self.quantity)

    @property
    def measured(self) -> dict[str, float]:
        """case -> measured value of the compared quantity."""
        return {row["case"]: row[self.quantity] for row in self.rows}

    @property
    def disturbed(self) -> bool:
        """Whether other programs used so much of the processor meanwhile that the times cannot be judged."""
        return (self.provenance["used_by_others"] or 0.0) > machine.BUSY

    def __getitem__(self, case: str) -> Mapping:
        """The row of a case: `result["GEMM"]["measured"]`."""
        rows = {row["case"]: row for row in self.rows}
        return rows[units.choice(case, "case", rows)]

    def judge(self, holds: bool, claim: str) -> None:
        """Assert what a lesson expects of these measurements, such as `r.judge(slow > 3 * fast, "random is slower")`.

        Prints one line: that it holds, or that the machine was too noisy to judge (other programs used it, or repeats
        spread widely). AssertionError with the claim where it fails on a quiet machine.
        """
        spreads = {} if holds else {case: timing.Repeats(values).spread for case, values in self.raw.items()}
        wide = [case for case, spread in spreads.items() if spread > timing.NOISY]
        how = "disturbed" if self.disturbed else "wide" if wide else "quiet"
        sys.audit("course_lib.judge", bool(holds), how, claim)  # the build listens, to store what a quiet machine did
        if holds:
            print(paragraph(say("holds", how, claim=claim)))
        elif how == "quiet":
            raise AssertionError(say("fails", claim=claim))
        else:
            print(paragraph(say("too-noisy", how, claim=claim, cases=", ".join(wide))))

    def compare(self, recorded=None):
        """Predicted, measured here, recorded and their ratio, side by side.

        recorded: a Result, the id of a recorded device, or None: a data-centre GPU's recording if there is one, else a
        recorded processor's.
        """
        from course_lib.experiments.recordings.side_by_side import compare

        return compare(self, recorded)

    def plot(self):
        """The figure of this experiment; its text alternative is `str(figure)`."""
        from course_lib.experiments import registry

        if not self.rows:
            raise Unavailable(f"{self.name} was interrupted before a row was complete, so there is nothing to draw.")
        return registry.get(self.name).plot(self)

    # ------------------------------------------------------------ JSON

    def to_json(self) -> str:
        """This result as one JSON object with its digest; `Result.from_json` gives an equal result back."""
        return canonical(sign(self.as_dict()))

    def as_dict(self) -> dict:
        """What `json` writes, without digest."""
        columns = [asdict(column) for column in self.columns]
        return {"schema": SCHEMA, "columns": columns, **{name: getattr(self, name) for name in _WRITTEN}}

    @classmethod
    def from_json(cls, text: str) -> "Result":
        """The result written by `to_json`.

        Unavailable, with the reason, if it is damaged, was edited, or has a newer schema.
        """
        return cls.from_dict(verified(text, "This result"))

    @classmethod
    def from_dict(cls, data: Mapping) -> "Result":
        """The inverse of `as_dict`; checks that every row has each column in its type."""
        try:
            columns = tuple(Column(**column) for column in data["columns"])
            for row in data["rows"]:
                wrong = [c.key for c in columns if type(row[c.key]) not in _TYPES[c.type]]
                if wrong or len(row) != len(columns):
                    raise TypeError(
                        f"row {row.get('case')!r} does not fit the columns {wrong or [c.key for c in columns]}"
                    )
            wrong = [name for name, kind in _WRITTEN.items() if not isinstance(data[name], kind)]
            if wrong:
                raise TypeError(f"{', '.join(wrong)} have another form")
            return cls(columns=columns, **{name: frozen(data[name]) for name in _WRITTEN})
        except (KeyError, TypeError, AttributeError) as problem:
            raise Unavailable(f"This result is refused: {type(problem).__name__}, {problem}.") from None

    # ------------------------------------------------------------ display

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        shown = [column for column in self.columns if column.shown]
        cells = [[quantity(row[c.key], c.unit) for c in shown] for row in self.rows]
        return without_dashes([c.heading for c in shown], cells)

    def _caption(self) -> list[str]:
        p = self.provenance
        case = "one-thread" if p["threads"] == 1 else "threads"
        return [say("machine", case, name=self.device["name"], **p), *p["notes"]]

    def __str__(self) -> str:
        return "\n".join([self.question, "", text_table(*self._cells()), "", *self._caption()])

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), caption=self.question, notes=self._caption())

    def __repr__(self) -> str:
        rows = units.counted(len(self.rows), "row")
        return f"<Result {self.name}: {rows} on {self.device['name']}, {self.provenance['date']}>"


# ---------------------------------------------------------------- JSON with a digest


def canonical(data) -> str:
    """The one JSON text of `data`: sorted keys, no spaces, every float in its shortest exact form."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(data: Mapping) -> str:
    """SHA-256 of the canonical JSON of `data` without its own digest."""
    return hashlib.sha256(canonical({k: v for k, v in data.items() if k != "digest"}).encode()).hexdigest()


def sign(data: Mapping) -> dict:
    return {**data, "digest": digest(data)}


def verified(text: str, what: str) -> dict:
    """The JSON object `text` if this code can read its schema and its digest fits; else Unavailable with the reason."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise Unavailable(f"{what} is refused: it is not a JSON object; the file is damaged or cut short.")
    schema = data.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        raise Unavailable(
            f"{what} is refused: it has schema {schema} and this course reads up to {SCHEMA}; update the course."
        )
    if schema != SCHEMA:
        raise Unavailable(f"{what} is refused: its schema {schema!r} is not {SCHEMA}.")
    if data.get("digest") != digest(data):
        raise Unavailable(
            f"{what} is refused: its content does not fit its digest; it was damaged or edited after it was measured."
        )
    return data


def frozen(value):
    """The same as read-only mappings and tuples."""
    if isinstance(value, Mapping):
        return units.FrozenDict({key: frozen(item) for key, item in value.items()})
    return tuple(frozen(item) for item in value) if isinstance(value, (list, tuple)) else value
