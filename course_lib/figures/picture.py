"""The still twin of the SVG plot: a `plots.Figure` drawn by matplotlib in the course's style, for a page without a
kernel.
"""

import math

from course_lib.accounting import units
from course_lib.figures import figure as stills
from course_lib.figures import style
from course_lib.figures.plots import Bars, Figure, Label, Line, Points, Stack

GREYS = ("0.55", "0.8")  # of the parts of a stack, by turns


def still(figure: Figure) -> stills.Figure:
    """The picture with its text alternative; without matplotlib only the words."""
    x = None if figure.x.categories else (figure.x.label, figure.x.unit)
    return stills.draw(
        figure.title,
        figure.description,
        lambda axes: _paint(axes, figure),
        x=x,
        y=(figure.y.label, figure.y.unit),
        height=5,
    )


def _paint(axes, figure: Figure) -> list[tuple[float, float, str]]:
    """Draw the marks; returns the direct labels of lines and points."""
    spec = figure.spec()
    for name, axis in (("x", figure.x), ("y", figure.y)):
        axes.set(**{f"{name}scale": axis.scale, f"{name}lim": (spec[name]["low"], spec[name]["high"])})
    if figure.x.categories:
        axes.set_xticks(range(len(figure.x.categories)), figure.x.categories)
        axes.set_xlabel(figure.x.title)
        axes.grid(visible=False, axis="x")
    labels = []
    for mark in figure.marks:
        match mark:
            case Line():
                axes.plot(mark.x, mark.y, "--" if mark.dashed else "-", color=style.INK, marker="")
                if mark.label:
                    labels.append((mark.x[mark.label_at], mark.y[mark.label_at], mark.label))
            case Points():
                face, shape, width = (style.INK, "D", 1.4) if mark.strong else (style.PAPER, "o", 1.0)
                looks = {"color": style.INK, "markerfacecolor": face, "markersize": width * style.size().marker}
                axes.plot(mark.x, mark.y, shape, **looks, zorder=3)
                labels += zip(mark.x, mark.y, mark.labels, strict=True)
            case Bars():
                axes.bar(range(len(mark.y)), mark.y, width=0.6, color=GREYS[0])
            case Stack():
                _stack(axes, mark, figure.y.unit)
            case Label():
                size = 0.85 * style.size().text
                axes.annotate(mark.text, (mark.x, mark.y), ha="center", va="center", fontsize=size, style="italic")
    return labels


def _stack(axes, mark: Stack, unit: str) -> None:
    """Parts in two greys by turns; the names at the right are moved apart, with a line from each to its part."""
    last = len(next(iter(mark.parts.values()))) - 1
    bottom, height = [0.0] * (last + 1), axes.get_ylim()[1]
    thin, free = 0.6 * style.size().line, -math.inf
    for number, (name, values) in enumerate(mark.parts.items()):
        looks = {"color": GREYS[number % len(GREYS)], "edgecolor": style.INK, "linewidth": thin}
        axes.bar(range(last + 1), values, 0.6, bottom, **looks)
        middle = bottom[-1] + values[-1] / 2
        free = max(middle, free + 0.05 * height, 0.02 * height)
        axes.plot((last + 0.3, last + 0.36), (middle, free), "-", color=style.INK, linewidth=thin, marker="")
        text = f"{name} {units.format_si(values[-1], unit)}"
        axes.annotate(text, (last + 0.38, free), va="center", fontsize=0.85 * style.size().text)
        bottom = [below + value for below, value in zip(bottom, values, strict=True)]
