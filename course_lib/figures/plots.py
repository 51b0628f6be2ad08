"""One plot for the course: a figure is data, drawn live as SVG by `plots.js`, or still by `picture.py`.

A `Figure` is computed in Python for every state of its explorer and sent as numbers and words (about 1 kB), so that a
slider step costs one short message and one redraw. Colour carries no meaning; shape, dashes and words do.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from course_lib.accounting import units
from course_lib.figures.ticks import few_ticks, tick_text


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high` in `unit`. With `categories` (x only) the values are positions 0, 1, … of these
    names.
    """

    label: str
    unit: str = ""
    low: float = 0.0
    high: float = 1.0
    scale: Literal["log", "linear"] = "linear"
    categories: tuple[str, ...] = ()

    def __post_init__(self):
        if self.scale not in ("log", "linear"):
            raise ValueError(f"scale={self.scale!r} of the axis {self.label!r} must be 'log' or 'linear'")
        if self.categories:
            return
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"the axis {self.label!r} needs finite low < high, not {self.low!r} and {self.high!r}")
        if self.scale == "log" and self.low <= 0:
            raise ValueError(f"low={self.low!r} of the log axis {self.label!r} must be above zero")

    @property
    def limits(self) -> tuple[float, float]:
        return (-0.5, len(self.categories) - 0.5) if self.categories else (self.low, self.high)

    @property
    def title(self) -> str:
        return f"{self.label} ({self.unit})" if self.unit else self.label


@dataclass(frozen=True)
class Line:
    """A polyline; `label` stands beside its point number `label_at`."""

    x: Sequence[float]
    y: Sequence[float]
    label: str = ""
    label_at: int = -1
    dashed: bool = False


@dataclass(frozen=True)
class Points:
    """Points with a name each, "" for none; `strong` ones are large diamonds, the others hollow circles.

    texts: what pointing at each of them says; by default its name and values.
    """

    x: Sequence[float]
    y: Sequence[float]
    labels: Sequence[str]
    strong: bool = False
    texts: Sequence[str] = ()


@dataclass(frozen=True)
class Bars:
    """One bar for each category of the x axis."""

    y: Sequence[float]


@dataclass(frozen=True)
class Stack:
    """Bars of parts on top of each other: `parts` maps a part's name to one value, not below zero, for each category of
    the x axis. Each part of the last bar has its name and value beside it.
    """

    parts: Mapping[str, Sequence[float]]

    @property
    def y(self) -> list[float]:
        return [value for values in self.parts.values() for value in values]


@dataclass(frozen=True)
class Label:
    """Words at a place of the picture."""

    x: float
    y: float
    text: str


Mark = Line | Points | Bars | Stack | Label
_STACK_ROOM = 0.15  # right of the last bar, for the names of a stack's parts: of a category, for each; of four at least


@dataclass(frozen=True)
class Figure:
    """A picture: `title` states the finding, `description` says in words what the picture shows."""

    title: str
    description: str
    x: Axis
    y: Axis
    marks: tuple[Mark, ...]

    def __post_init__(self):
        for mark in self.marks:
            _check(mark, self)

    def spec(self) -> dict[str, Any]:
        """What `plots.js` draws, as JSON values: x and y (the axes), title, description, marks."""
        return {
            "title": self.title,
            "description": self.description,
            "x": _axis_spec(self.x, self._room),
            "y": _axis_spec(self.y),
            "marks": [self._mark_spec(mark) for mark in self.marks],
        }

    @property
    def _room(self) -> float:
        stacked = any(isinstance(mark, Stack) for mark in self.marks)
        return _STACK_ROOM * max(4, len(self.x.categories)) if stacked else 0.0

    def _mark_spec(self, mark: Mark) -> dict[str, Any]:
        """The mark's fields; those that can be pointed at also say their values in words."""
        kind = {"kind": type(mark).__name__.lower()}
        if isinstance(mark, Stack):
            return kind | {"parts": [self._part_spec(*part) for part in mark.parts.items()]}
        fields = {name: _short(value) for name, value in vars(mark).items()}
        if isinstance(mark, Points) and not mark.texts:
            fields["texts"] = [
                f"{label}: {units.format_si(x, self.x.unit)}, {units.format_si(y, self.y.unit)}"
                for x, y, label in zip(mark.x, mark.y, mark.labels, strict=True)
            ]
        if isinstance(mark, Bars):
            fields["texts"] = [
                f"{name}: {units.format_si(y, self.y.unit)}" for name, y in zip(self.x.categories, mark.y, strict=True)
            ]
        return kind | fields

    def _part_spec(self, name: str, values: Sequence[float]) -> list:
        """[what stands beside the last bar, the part of each bar, what each says in words]."""
        amounts = [units.format_si(value, self.y.unit) for value in values]
        texts = [f"{category}, {name}: {amount}" for category, amount in zip(self.x.categories, amounts, strict=True)]
        return [f"{name} {amounts[-1]}", _short(values), texts]


def _check(mark: Mark, figure: "Figure") -> None:
    """Refuse a mark that could not be drawn where its numbers say."""
    shown = f"of the figure {figure.title!r}"
    x, y = ([mark.x], [mark.y]) if isinstance(mark, Label) else (list(getattr(mark, "x", ())), list(mark.y))
    if not all(math.isfinite(value) for value in (*x, *y)):
        raise ValueError(f"a mark {shown} has a value that is not finite: {mark!r}")
    for axis, values in ((figure.x, x), (figure.y, y)):
        if axis.scale == "log" and not axis.categories and any(value <= 0 for value in values):
            raise ValueError(f"a mark {shown} has a value that is not above zero, on the log axis {axis.label!r}.")
    if isinstance(mark, Line | Points) and len(x) != len(y):
        raise ValueError(f"a mark {shown} has {len(x)} x and {len(y)} y")
    if isinstance(mark, Points) and len(mark.labels) != len(x):
        raise ValueError(f"points {shown} need one label each")
    if isinstance(mark, Points) and mark.texts and len(mark.texts) != len(x):
        raise ValueError(f"points {shown} need one text each, or none")
    if isinstance(mark, Points) and not (_on(figure.x, x) and _on(figure.y, y)):
        raise ValueError(f"a point {shown} lies off the axes, where nobody would see it: {mark!r}")
    columns = [mark.y] if isinstance(mark, Bars) else mark.parts.values() if isinstance(mark, Stack) else []
    if any(len(column) != len(figure.x.categories) for column in columns):
        raise ValueError(f"bars {shown} need one value for each category of the x axis")
    if isinstance(mark, Stack) and (figure.y.scale == "log" or figure.y.low != 0 or min(y, default=0) < 0):
        raise ValueError(f"a stack {shown} needs a linear y axis from zero, and parts that are not below zero.")


def _on(axis: Axis, values: Sequence[float]) -> bool:
    low, high = axis.limits
    return all(low <= value <= high for value in values)


def _short(value):
    """JSON of a mark's field: seven digits are more than a picture shows, and a long number costs as much as a word."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return [_short(item) for item in value] if isinstance(value, Sequence) and not isinstance(value, str) else value


def _axis_spec(axis: Axis, room: float = 0.0) -> dict[str, Any]:
    """room: categories' widths left free at the right."""
    low, high = axis.limits
    return {
        "title": axis.title,
        "unit": axis.unit,
        "low": low,
        "high": high + room,
        "log": axis.scale == "log",
        "ticks": _ticks(axis),
    }


def _ticks(axis: Axis) -> list[list]:
    """[value, text] of each tick: a category's name, or a number as in every other picture of the course."""
    if axis.categories:
        return [[float(position), name] for position, name in enumerate(axis.categories)]
    values = few_ticks(axis.low, axis.high, axis.scale == "log")
    return [[value, tick_text(value, axis.unit)] for value in values]
