"""The ledger of published figures: what it holds about one of them, and what `accounting` says of it today.

`figures/<kind>.toml` has a table for each figure, `sources.toml` one for each publication, `models.toml` the models
that the library's catalogue lacks. Facts and sources only; a published value stands in the unit that was printed.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from course_lib.accounting import hardware
from course_lib.accounting.units import FrozenDict, choice
from course_lib.figures.tabular import html_table, quantity, text_table
from course_lib.words import words

say = words(__file__)

_HERE = Path(__file__).parent
# units of published values, in SI base units; a bound on a time or on bytes is the least there is, on a rate the most
_TIMES = {"s": 1, "hours": 3600, "days": 86400, "GPU hours": 3600}
_BYTES = {"B": 1, "MB": 1e6, "GB": 1e9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_OTHERS = {"%": 0.01, "GB/s": 1e9, "TFLOP/s": 1e12, "GMAC": 1e9, "M parameters": 1e6, "MWh": 3.6e9, "t CO2e": 1000}
_SCALES = _TIMES | _BYTES | _OTHERS
_ALLOWED = {"exact": 0.01, "estimate": 0.10}  # how far a prediction may lie off without a reason


def _predictor(name: str):
    """A function of `predictors`, which needs all of `accounting`: loaded when the first prediction is asked for."""
    from course_lib.experiments.published import predictors

    return getattr(predictors, name)


@dataclass(frozen=True)
class Source:
    """A publication. where: a repository (owner/name), an arXiv number, or what the file is."""

    title: str
    publisher: str
    year: int
    where: str

    def __str__(self) -> str:
        return f"{self.publisher}: {self.title}, {self.year}"


class _Cells:
    """What shows `_cells()`, headings and rows, as text and as HTML."""

    _cells: Any

    def __repr__(self) -> str:
        return text_table(*self._cells(), words=True)

    def _repr_html_(self) -> str:
        return html_table(*self._cells(), side="left")


@dataclass(frozen=True, repr=False, eq=False)
class Figure(_Cells):
    """A figure that others measured and published, beside what `accounting` says of it; `published.get` gives it.

    kind: what it is about ("decode", "training", "memory" …). role: what the prediction is of the published value:
    "exact" (by definition), "bound", "estimate", or "fits" (both are True or False). published and `prediction` are in
    `unit`. place: file and line @ commit of the source's repository, or part of a paper. device: an id of `hardware`.
    reason: why the prediction misses, where it does. impossible: the published value breaks a bound and cannot be
    right. note: what the prediction assumes or leaves out. units: prefixes of the course's units that it serves.
    beside: experiment and case that measure the same quantity. predict: the predictor, `by`, and its arguments.
    """

    id: str
    kind: str
    measures: str
    published: float | bool
    unit: str
    role: str
    source: Source
    place: str
    conditions: str
    units: list[str]
    predict: Mapping
    device: str = ""
    dtype: str = ""
    reason: str = ""
    impossible: bool = False
    note: str = ""
    beside: Mapping = field(default_factory=FrozenDict)

    @property
    def year(self) -> int:
        return self.source.year

    @property
    def hardware(self) -> hardware.Device:
        """The device that it was measured on. ValueError where the figure belongs to none."""
        if not self.device:
            raise ValueError(f"{self.id!r} was measured on no device.")
        return hardware.load(self.device)

    @property
    def value(self) -> float:
        """What was published, in SI base units."""
        return self.published * _SCALES.get(self.unit, 1)

    @cached_property
    def prediction(self) -> float | bool:
        """What `accounting` says, in `unit`; computed when it is first asked for."""
        arguments = dict(self.predict)
        said = _predictor(arguments.pop("by"))(self, **arguments)
        return said if self.role == "fits" else said / _SCALES.get(self.unit, 1)

    @property
    def ratio(self) -> float | None:
        """Predicted over published; of a bound the share of it that was reached: published over bound for rates, bound
        over published for times and bytes, at most 1 where the bound holds. None for "fits".
        """
        if self.role == "fits":
            return None
        rate = self.role == "bound" and self.unit not in _TIMES | _BYTES
        return self.published / self.prediction if rate else self.prediction / self.published

    @property
    def hits(self) -> bool:
        """Whether the prediction is right: within 1 % of what is exact, 10 % of an estimate, a bound that holds."""
        if self.ratio is None:
            return self.prediction == self.published
        return self.ratio <= 1 if self.role == "bound" else abs(self.ratio - 1) <= _ALLOWED[self.role]

    @property
    def efficiency(self) -> float | None:
        """Which share of what is possible was reached: of a bound, or of the peak (MFU, HFU). None for all else."""
        if self.role == "bound":
            return self.ratio
        return self.published / 100 if self.unit == "%" else None

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        by = self.predict["by"]
        arguments = ", ".join(f"{key}={value}" for key, value in self.predict.items() if key != "by")
        rows = {
            "published": f"{shown(self.published, self.unit)}, {self.measures}",
            "source": f"{self.source}; {self.source.where}, {self.place}",
            "device": ", ".join([self.hardware.name] + [self.dtype] * bool(self.dtype)) if self.device else "",
            "conditions": self.conditions,
            "predicted": f"{shown(self.prediction, self.unit)} ({self.role})",
            "by": f"{by}({arguments}): {_predictor(by).__doc__.splitlines()[0]}",
            "share" if self.role == "bound" else "ratio": quantity(self.ratio, "×"),
            "reason": self.reason,
            "note": self.note,
        }
        return [self.id, ""], [[say("rows", row), text] for row, text in rows.items() if text]

    def explain(self) -> str:
        """Published and predicted value, source, conditions and what is to be said of them, a line each."""
        return repr(self)


def shown(value: float | bool, unit: str) -> str:
    """A published or predicted value with its unit, in the form that figures are printed in."""
    if isinstance(value, bool):
        return say("fits" if value else "fits-not")
    text = f"{value:,.0f}" if 1e4 <= value < 1e12 else f"{value:.4g}"
    return f"${text}" if unit == "$" else f"{text} {unit}"


class Table(_Cells, tuple):
    """Figures, a row each, to look at or to compute with: `[f.efficiency for f in published.table(kind="decode")]`."""

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        return list(say.table("columns").values()), [
            [
                *(f.id, str(f.year), f.device or "–", f.measures),
                *(shown(f.published, f.unit), shown(f.prediction, f.unit), f.role),
                *(quantity(f.ratio, "×"), f.source.publisher),
            ]
            for f in self
        ]


@cache
def figures() -> Mapping[str, Figure]:
    """All figures by id."""
    sources = {key: Source(**entry) for key, entry in _read("sources.toml").items()}
    found = {}
    for path in sorted((_HERE / "figures").glob("*.toml")):
        for id, entry in _read(f"figures/{path.name}").items():
            source = sources[choice(entry["source"], "source", sources)]
            found[id] = Figure(**entry | {"id": id, "kind": path.stem, "source": source})
    return FrozenDict(found)


def _read(name: str) -> dict:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))
