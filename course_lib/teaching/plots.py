"""One plot for the course: a figure is data, drawn live as SVG by `plots.js` or as a PNG by matplotlib.

A `Figure` is computed in Python for every state of its explorer and sent whole (about 1 kB), so that a slider step
costs one short message and one redraw. Colour carries no meaning; shape, dashes and words on the picture do.
"""

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from course_lib.accounting import units

_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))

WIDTH, HEIGHT = 640, 400  # the SVG's own units, as in plots.js; matplotlib draws 6.4 × 4.0 inches


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
    """Points with a name each; `strong` ones are large diamonds, the others hollow circles."""

    x: Sequence[float]
    y: Sequence[float]
    labels: Sequence[str]
    strong: bool = False


@dataclass(frozen=True)
class Bars:
    """One bar for each category of the x axis."""

    y: Sequence[float]


@dataclass(frozen=True)
class Label:
    """Words at a place of the picture."""

    x: float
    y: float
    text: str


Mark = Line | Points | Bars | Label


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
            values = [mark.x, mark.y] if isinstance(mark, Label) else [*getattr(mark, "x", ()), *mark.y]
            if not all(math.isfinite(value) for value in values):
                raise ValueError(f"a mark of the figure {self.title!r} has a value that is not finite: {mark!r}")
            if isinstance(mark, Line | Points) and len(mark.x) != len(mark.y):
                raise ValueError(f"a mark of the figure {self.title!r} has {len(mark.x)} x and {len(mark.y)} y")
            if isinstance(mark, Points) and len(mark.labels) != len(mark.x):
                raise ValueError(f"points of the figure {self.title!r} need one label each")
            if isinstance(mark, Bars) and len(mark.y) != len(self.x.categories):
                raise ValueError(f"bars of the figure {self.title!r} need one value for each category of the x axis")

    def spec(self) -> dict[str, Any]:
        """What `plots.js` draws, as JSON values."""
        return {
            "title": self.title,
            "description": self.description,
            "x": _axis_spec(self.x),
            "y": _axis_spec(self.y),
            "marks": [self._mark_spec(mark) for mark in self.marks],
        }

    def _mark_spec(self, mark: Mark) -> dict[str, Any]:
        """The mark's fields; those that can be pointed at also say their values in words."""
        fields = {
            name: list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
            for name, value in vars(mark).items()
        }
        if isinstance(mark, Points):
            fields["texts"] = [
                f"{label}: {units.format_si(x, self.x.unit)}, {units.format_si(y, self.y.unit)}"
                for x, y, label in zip(mark.x, mark.y, mark.labels, strict=True)
            ]
        if isinstance(mark, Bars):
            fields["texts"] = [
                f"{name}: {units.format_si(y, self.y.unit)}" for name, y in zip(self.x.categories, mark.y, strict=True)
            ]
        return {"kind": type(mark).__name__.lower(), **fields}

    def widget(self):
        """A live picture; assign another figure's `spec()` to its `spec` to redraw it. Needs anywidget."""
        return _plot_widget()(spec=self.spec())

    def png(self) -> bytes:
        """The same picture for a reader without a kernel. Needs matplotlib."""
        from matplotlib.figure import Figure as Canvas

        canvas = Canvas(figsize=(WIDTH / 100, HEIGHT / 100), layout="constrained", facecolor="white")
        axes = canvas.subplots()
        axes.set_title(self.title, loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        for axis, name in ((self.x, "x"), (self.y, "y")):
            _matplotlib_axis(axes, axis, name)
        for mark in self.marks:
            _matplotlib_mark(axes, mark)
        buffer = io.BytesIO()
        canvas.savefig(buffer, format="png", dpi=100, metadata={"Software": None})
        return buffer.getvalue()


def tick_values(axis: Axis) -> list[float]:
    """Where the axis has ticks: at powers of ten on a log axis (at most eight), else at about five round numbers."""
    if axis.categories:
        return [float(position) for position in range(len(axis.categories))]
    if axis.scale == "log":
        first, last = math.ceil(math.log10(axis.low) - 1e-9), math.floor(math.log10(axis.high) + 1e-9)
        step = max(1, math.ceil((last - first) / 7))
        return [10.0**exponent for exponent in range(first, last + 1, step)]
    rough = (axis.high - axis.low) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * (1 - 1e-9))
    return [step * n for n in range(math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9) + 1)]


def tick_text(axis: Axis, value: float) -> str:
    """The text of a tick; the unit stands in the axis title."""
    if axis.categories:
        return axis.categories[int(value)]
    if value < 0:
        return f"−{tick_text(axis, -value)}"
    size, prefix = next((step for step in _PREFIXES if value >= step[0]), (1, ""))
    return f"{value / size:g} {prefix}".rstrip()


def _axis_spec(axis: Axis) -> dict[str, Any]:
    low, high = (-0.5, len(axis.categories) - 0.5) if axis.categories else (axis.low, axis.high)
    ticks = [[value, tick_text(axis, value)] for value in tick_values(axis)]
    return {
        "title": axis.title,
        "unit": axis.unit,
        "low": low,
        "high": high,
        "log": axis.scale == "log",
        "ticks": ticks,
    }


@cache
def _plot_widget():
    """The widget class, made on first use so that a figure needs no anywidget."""
    from importlib.resources import files

    import anywidget
    import traitlets

    folder = files(__package__)

    class PlotWidget(anywidget.AnyWidget):
        _esm = (folder / "plots.js").read_text(encoding="utf-8")
        _css = (folder / "plots.css").read_text(encoding="utf-8")
        spec = traitlets.Dict().tag(sync=True)

    return PlotWidget


def _matplotlib_axis(axes, axis: Axis, name: str) -> None:
    spec = _axis_spec(axis)
    axes.set(**{f"{name}scale": axis.scale, f"{name}lim": (spec["low"], spec["high"]), f"{name}label": axis.title})
    getattr(axes, f"set_{name}ticks")(*zip(*spec["ticks"], strict=True))
    axes.minorticks_off()


def _matplotlib_mark(axes, mark: Mark) -> None:
    ink = {"color": "black"}
    match mark:
        case Line():
            axes.plot(mark.x, mark.y, linestyle="--" if mark.dashed else "-", **ink)
            if mark.label:
                _annotate(axes, mark.label, mark.x[mark.label_at], mark.y[mark.label_at], ha="right")
        case Points():
            shape = (
                {"marker": "D", "s": 55, "color": "black"}
                if mark.strong
                else {"marker": "o", "s": 30, "ec": "black", "fc": "white"}
            )
            axes.scatter(mark.x, mark.y, zorder=3, **shape)
            for x, y, label in zip(mark.x, mark.y, mark.labels, strict=True):
                _annotate(axes, label, x, y, weight="bold" if mark.strong else "normal", below=True)
        case Bars():
            axes.bar(range(len(mark.y)), mark.y, width=0.6, color="0.45")
        case Label():
            axes.annotate(mark.text, (mark.x, mark.y), ha="center", va="center", fontsize=9, style="italic")


def _annotate(
    axes, text: str, x: float, y: float, ha: str = "left", weight: str = "normal", below: bool = False
) -> None:
    offset = (8, -11) if below else (0, 6)
    axes.annotate(text, (x, y), offset, textcoords="offset points", ha=ha, fontsize=9, weight=weight)
