"""Figures in the course's style, each with a title that states the finding and a text alternative.

    from course_lib import figures

    figures.draw(
        "Twice the batch, twice the memory",
        alt="Activations over the batch: 1 sequence 12 MB, 2 sequences 24 MB, 4 sequences 48 MB.",
        paint=lambda axes: axes.plot([1, 2, 4], [12e6, 24e6, 48e6]),
        x=("batch", "sequences"),
        y=("activations", "B"),
    )

`figures.projector()` draws all further ones for a projector.
"""

import html
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Literal

from course_lib.figures import style
from course_lib.figures.labels import Point, label_beside, label_points, make_room
from course_lib.figures.tabular import paragraph
from course_lib.figures.ticks import set_ticks
from course_lib.words import words

say = words(__file__)

# JupyterLab's dark theme turns a figure around: paper becomes dark, ink light, and hues come back to what they were.
_DARK = '<style>[data-jp-theme-light="false"] img.course-figure{filter:invert(1) hue-rotate(180deg)}</style>'


@dataclass(frozen=True)
class Figure:
    """A picture and its text alternative: `str(figure)` is what the picture shows in words.

    `png` is empty without matplotlib. pixels: its width on a page, in CSS pixels.
    """

    title: str
    alt: str
    png: bytes = field(repr=False, default=b"")
    pixels: int = style.PAGE.pixels

    def __str__(self) -> str:
        return paragraph(self.alt)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.png:
            return {"text/plain": say("no-picture", words=self)}
        return {"text/html": image(self.png, self.alt, self.pixels), "text/plain": str(self)}


def image(png: bytes, alt: str, pixels: int) -> str:
    """HTML of a picture on the course's paper, at most `pixels` wide: dark where the page around it is dark."""
    source = f"data:image/png;base64,{b64encode(png).decode()}"
    words = html.escape(alt, quote=True)
    return f'{_DARK}<img class="course-figure" alt="{words}" style="max-width:100%" width="{pixels}" src="{source}">'


# ---------------------------------------------------------------- drawing


def draw(
    title: str,
    alt: str,
    paint: Callable[[Any], Any],
    *,
    x: tuple[str, str] | None,
    y: tuple[str, str] | None,
    note: str = "",
    height: float = 4.2,
    labels: Literal["free", "ends", "beside"] = "free",
    ticks: Sequence[float] = (),
) -> Figure:
    """The figure that `paint(axes)` draws with matplotlib.

    title: the finding. alt: all that the picture shows, in words, for who cannot see it. x, y: (label, unit) of an
    axis, the unit "" for pure numbers; None for an axis whose ticks are words. paint may return a list of (x, y, text),
    the direct labels. labels: they are placed where they cover nothing ("free"), so with room at the right ("ends", for
    the names of lines), or all to the right of their points ("beside"). note: a line below, as on the source of the
    numbers. height: in inches, of 8 inches of width. ticks: where the data lie on x, if they are few. ValueError
    without title, words or label.
    """
    _require(title, alt, x, y)
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        return Figure(title, alt)
    now = style.size()
    with rc_context(style.rc()):
        canvas = Canvas(figsize=(now.width, height * now.text / style.PAGE.text), layout="constrained")
        FigureCanvasAgg(canvas)
        axes = canvas.add_subplot()
        points = paint(axes)
        canvas.suptitle(
            _wrapped(title, canvas), x=0.01, ha="left", fontsize=1.1 * now.text, fontweight="bold", linespacing=1.15
        )
        if note:
            canvas.supxlabel(note, x=0.01, ha="left", fontsize=0.9 * now.text)
        _finish(axes, x, y, ticks, points if _are_labels(points) else [], labels)
        file = BytesIO()
        canvas.savefig(file, format="png", metadata={"Software": None})
    return Figure(title, alt, file.getvalue(), now.pixels)


def _require(title: str, alt: str, x, y) -> None:
    for name, text in (("title", title), ("alt", alt)):
        if not isinstance(text, str) or not text.strip():
            raise ValueError(
                f"{name}={text!r}: a figure needs a title that states the finding, and alt, all that it shows in words."
            )
    for name, axis in (("x", x), ("y", y)):
        if axis is None:
            continue
        pair = isinstance(axis, tuple) and len(axis) == 2 and all(isinstance(part, str) for part in axis)
        if not pair or not axis[0].strip():
            raise ValueError(
                f"{name}={axis!r} must be (label, unit), as in ('time', 's'); the unit is '' for pure numbers, and "
                f"{name}=None says that the ticks are words."
            )


def _are_labels(points) -> bool:
    """Whether `paint` returned direct labels, and not what its last call of matplotlib gave."""
    return isinstance(points, (list, tuple)) and all(isinstance(p, tuple) and len(p) == 3 for p in points)


def _finish(axes, x, y, ticks: Sequence[float], points: Sequence[Point], labels: str) -> None:
    """Labels of the axes, layout, ticks, and last the direct labels, which need the layout."""
    canvas = axes.figure
    for name, axis in (("x", x), ("y", y)):
        if axis:
            label = say("label", label=axis[0], unit=axis[1]) if axis[1] else axis[0]
            log = getattr(axes, f"get_{name}scale")() == "log"
            getattr(axes, f"set_{name}label")(say("logarithmic", label=label) if log else label)
    layout = canvas.get_layout_engine()

    def fix_ticks():
        for name, axis, values in (("x", x, ticks), ("y", y, ())):
            if axis:
                set_ticks(axes, name, axis[1], values)

    layout.execute(canvas)
    fix_ticks()
    layout.execute(canvas)
    if points and labels != "free":
        rightmost = max(x for x, _, _ in points)
        make_room(axes, points if labels == "beside" else [point for point in points if point[0] == rightmost])
        fix_ticks()
    (label_beside if labels == "beside" else label_points)(axes, points)
    canvas.set_layout_engine("none")


def _wrapped(title: str, canvas) -> str:
    """The title in lines that are not wider than the canvas."""
    from matplotlib.font_manager import FontProperties

    font = FontProperties(size=1.1 * style.size().text, weight="bold")
    renderer, room = canvas.canvas.get_renderer(), 0.97 * canvas.bbox.width
    lines = [""]
    for word in title.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and renderer.get_text_width_height_descent(longer, font, ismath=False)[0] > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)
