"""Figures of results: matplotlib, on paper of their own colour so that they read the same in light and dark pages."""

import html
from base64 import b64encode
from dataclasses import dataclass, field
from io import BytesIO

from course_lib.experiments.table import paragraph, quantity

INK, FAINT, PREDICTED, MEASURED, RECORDED, PAPER = "#1c1c1c", "#8a8a8a", "#0b62a4", "#b3460e", "#5b3a8c", "#fcfcfa"


@dataclass(frozen=True)
class Figure:
    """A picture and its text alternative: `str(figure)` is what the picture shows in words.

    `png` is empty without matplotlib.
    """

    title: str
    alt: str
    png: bytes = field(repr=False, default=b"")

    def __str__(self) -> str:
        return paragraph(self.alt)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include=None, exclude=None):
        if not self.png:
            return {"text/plain": f"matplotlib is not installed, so there is no picture, only its words.\n{self}"}
        picture = b64encode(self.png).decode()
        alt = html.escape(self.alt, quote=True)
        img = f'<img alt="{alt}" style="max-width:100%" width="760" src="data:image/png;base64,{picture}">'
        return {"text/html": img, "text/plain": str(self)}


def draw(title: str, alt: str, paint, height: float) -> Figure:
    """The figure that `paint(axes)` draws, 8 inches wide."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure as Canvas
    except ImportError:
        return Figure(title, alt)
    canvas = Canvas(figsize=(8, height), facecolor=PAPER, layout="constrained")
    FigureCanvasAgg(canvas)
    axes = canvas.add_subplot(facecolor=PAPER)
    paint(axes)
    axes.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold", wrap=True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    file = BytesIO()
    canvas.savefig(file, format="png", dpi=130, metadata={"Software": None})
    return Figure(title, alt, file.getvalue())


def dots(result, title: str, axis: str) -> Figure:
    """Predicted (open circle) and measured (filled) value of each row on one logarithmic axis, with the middle half of
    the repeats.
    """
    unit = result.unit
    rows = list(result.rows)[::-1]
    words = [
        f"{row['case']}: predicted {quantity(result.prediction[row['case']], unit)}, "
        f"measured {quantity(row[result.quantity], unit)}."
        for row in result.rows
    ]

    def paint(axes):
        for y, row in enumerate(rows):
            predicted, measured = result.prediction[row["case"]], row[result.quantity]
            label = quantity(measured, unit)
            if predicted is not None:
                label += f" (predicted {quantity(predicted, unit)})"
                axes.plot([predicted, measured], [y, y], color=FAINT, linewidth=1, zorder=1)
            axes.plot(
                [row["q1"], row["q3"]], [y, y], color=MEASURED, linewidth=4, alpha=0.45, solid_capstyle="butt", zorder=2
            )
            if predicted is not None:
                axes.plot(predicted, y, "o", **_OPEN, zorder=3)
            axes.plot(measured, y, "o", markersize=6, color=MEASURED, zorder=4)
            axes.annotate(
                label,
                (max(measured, predicted or 0), y),
                (10, 0),
                textcoords="offset points",
                va="center",
                color=INK,
                fontsize=9,
            )
        axes.set_xscale("log")
        low, high = axes.get_xlim()
        axes.set_xlim(low, high * (high / low) ** 0.45)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        axes.set_yticks(range(len(rows)), [row["case"] for row in rows], color=INK)
        axes.set_xlabel(f"{axis}\nopen circle: predicted; filled: measured on {result.device['name']}", color=INK)
        axes.grid(axis="x", color=FAINT, alpha=0.25)

    return draw(title, f"{title}. {' '.join(words)}", paint, height=1.3 + 0.45 * len(rows))


_OPEN = {"markersize": 9, "markerfacecolor": PAPER, "markeredgecolor": PREDICTED, "markeredgewidth": 2}


def curves(result, x: str, title: str, axis: str, by: str | None = None, log: tuple[bool, bool] = (True, True)):
    """Measured (filled, with the middle half of the repeats) and predicted (open) quantity of each row over column `x`.

    by: a column whose values make lines of their own, each labelled at its end. log: of the axes x and y.
    """
    unit = result.unit
    x_column = next(column for column in result.columns if column.key == x)
    y_column = next(column for column in result.columns if column.key == result.quantity)
    names = list(dict.fromkeys(row[by] for row in result.rows)) if by else [""]
    words = [
        f"{row['case']}: predicted {quantity(result.prediction[row['case']], unit)}, "
        f"measured {quantity(row[result.quantity], unit)}."
        for row in result.rows
    ]

    def paint(axes):
        for number, name in enumerate(names):
            rows = sorted((row for row in result.rows if not by or row[by] == name), key=lambda row: row[x])
            style = ("-", "--", ":", "-.")[number % 4]
            xs, ys = [row[x] for row in rows], [row[result.quantity] for row in rows]
            told = [(row[x], result.prediction[row["case"]]) for row in rows]
            told = [(place, value) for place, value in told if value is not None]
            if told:
                axes.plot(*zip(*told, strict=True), "o", color=PREDICTED, linestyle=style, linewidth=1, **_OPEN)
            axes.vlines(xs, [row["q1"] for row in rows], [row["q3"] for row in rows], color=MEASURED, linewidth=3)
            axes.plot(xs, ys, marker="o", markersize=5, color=MEASURED, linestyle=style, linewidth=1.2)
            if name != "":
                axes.annotate(
                    str(name), (xs[-1], ys[-1]), (8, 0), textcoords="offset points", va="center", color=INK, fontsize=9
                )
        axes.set_xscale("log" if log[0] else "linear")
        axes.set_yscale("log" if log[1] else "linear")
        axes.set_xlabel(
            f"{x_column.heading}{f', {x_column.unit}' if x_column.unit else ''}\n"
            f"open: predicted; filled: measured on {result.device['name']}",
            color=INK,
        )
        axes.set_ylabel(axis, color=INK)
        axes.grid(color=FAINT, alpha=0.25)
        if by:
            low, high = axes.get_xlim()
            axes.set_xlim(low, high * (high / low) ** 0.25 if log[0] else high + 0.25 * (high - low))

    return draw(title, f"{title}. {y_column.heading} by {x_column.heading}. {' '.join(words)}", paint, height=4.2)


def label_points(axes, points) -> None:
    """Write each (x, y, text) beside its point, in the first of some places where it covers no point and no label.

    Call it last: the places are compared in pixels, so the limits of the axes must stand.
    """
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=3, foreground=PAPER)]
    at = axes.transData.transform([(x, y) for x, y, _ in points])
    taken = [(x - 6, y - 6, x + 6, y + 6) for x, y in at]
    scale = axes.figure.dpi / 72
    for (x, y, text), (px, py) in zip(points, at, strict=True):
        width, height = 4.7 * scale * len(text), 9 * scale  # of the text, about
        places = [
            (8, -3, "left"),
            (-8, -3, "right"),
            (0, -15, "center"),
            (0, 9, "center"),
            (8, -15, "left"),
            (-8, 9, "right"),
        ]

        def box(dx, dy, side, px=px, py=py, width=width, height=height):
            left = px + dx * scale - {"left": 0, "center": width / 2, "right": width}[side]
            return left, py + dy * scale, left + width, py + dy * scale + height

        clashes = [sum(_overlap(box(*place), other) for other in taken) for place in places]
        dx, dy, side = places[clashes.index(min(clashes))]
        taken.append(box(dx, dy, side))
        axes.annotate(
            text, (x, y), (dx, dy), textcoords="offset points", ha=side, color=INK, fontsize=8, path_effects=halo
        )  # fmt: skip


def _overlap(one, other) -> float:
    """Area that two boxes (left, bottom, right, top) share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)
