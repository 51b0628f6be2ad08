"""The two pictures of results: `dots`, a line of marks for each case, and `curves`, a quantity over a size."""

import math
from collections.abc import Mapping, Sequence

from course_lib.figures import style
from course_lib.figures.figure import Figure, draw
from course_lib.figures.tabular import quantity
from course_lib.words import words

say = words(__file__)

MOST_PLACES = 12  # on x that can be ticks themselves
CLEAR = 0.06  # of the picture: the distance at which a line's end is by itself


def values_of(row: Mapping) -> dict[str, float]:
    """Of "predicted", "measured" and "recorded" those that a row has."""
    return {kind: row[kind] for kind in style.COLOURS if row.get(kind) is not None}


def written(form: str, row: Mapping, unit: str) -> str:
    """The values of a row in words: `beside` its marks, or one of the `sentences` of the text alternative."""
    there = {kind: quantity(value, unit) for kind, value in values_of(row).items()}
    return say(form, "-".join(there), case=row["case"], **there)


def rows_of(result) -> list[dict]:
    """`case`, `predicted`, `measured` and `spread`, the quartiles of what was measured, of each row."""
    return [
        {
            "case": row["case"],
            "predicted": result.prediction[row["case"]],
            "measured": row[result.quantity],
            "spread": (row["q1"], row["q3"]),
        }
        for row in result.rows
    ]


def in_words(result) -> str:
    """Every case with its values, one sentence each."""
    return " ".join(written("sentences", row, result.unit) for row in rows_of(result))


def key(result) -> str:
    """What the marks mean, and where and when the result was measured."""
    told = any(value is not None for value in result.prediction.values())
    return say("key", "told" if told else "alone", device=result.device["name"], date=result.provenance["date"])


def titled(result, title: str) -> str:
    """The title, marked where other programs used the processor during the run; that changes times, but no bytes."""
    return say("disturbed", title=title) if result.disturbed and result.unit != "B" else title


def dots(result, title: str, axis: str, log: bool = True) -> Figure:
    """Predicted and measured value of each row on one axis, named `axis`, with the middle half of the repeats.

    log: whether the axis is logarithmic; for shares it is better not.
    """
    title = titled(result, title)
    return dot_rows(rows_of(result), title, f"{title}. {in_words(result)}", axis, result.unit, key(result), log)


def dot_rows(
    rows: Sequence[Mapping], title: str, alt: str, axis: str, unit: str, marks: str, log: bool = True
) -> Figure:
    """A line of marks for each row: its `case`, and of "predicted", "measured" and "recorded" those that are there.

    marks: what they mean, in words. A row may have a `spread`, the quartiles of what was measured.
    """

    def paint(axes):
        labels = []
        for y, row in enumerate(rows):
            there, spread = values_of(row), row.get("spread", ())
            axes.plot([min(there.values()), max(there.values())], [y, y], "-", color=style.FAINT, marker="", zorder=1)
            if spread:
                width = 3 * style.size().line
                axes.plot(spread, [y, y], "-", color=style.MEASURED, alpha=0.45, linewidth=width, marker="", zorder=2)
            for kind, value in there.items():
                axes.plot(value, y, **style.mark(kind), zorder=3 if kind == "predicted" else 4)
            labels.append((max([*there.values(), *spread]), y, written("beside", row, unit)))
        axes.set_xscale("log" if log else "linear")
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [row["case"] for row in rows])
        axes.grid(visible=False, axis="y")
        return labels

    height = 1.15 + 0.4 * len(rows)
    return draw(title, alt, paint, x=(axis, unit), y=None, note=marks, height=height, labels="beside")


def curves(
    result,
    x: str,
    title: str,
    axis: str,
    by: str | None = None,
    log: tuple[bool, bool] = (True, True),
    only: Sequence[str] = (),
) -> Figure:
    """Measured and predicted quantity of each row, named `axis`, over column `x`, with the middle half of the repeats.

    by: a column whose values make lines of their own, each labelled at that end at which it is farthest from the
    others. log: of the axes x and y. only: the lines to draw, where not all; the words still tell every case.
    """
    x_column = next(column for column in result.columns if column.key == x)
    names = [name for name in dict.fromkeys(row[by] for row in result.rows) if not only or name in only] if by else [""]
    lines = {
        name: sorted((row for row in result.rows if not by or row[by] == name), key=lambda row: row[x])
        for name in names
    }

    def paint(axes):
        for number, rows in enumerate(lines.values()):
            line = style.SERIES[number % len(style.SERIES)]
            told = [(row[x], result.prediction[row["case"]]) for row in rows]
            told = [(place, value) for place, value in told if value is not None]
            if told:
                axes.plot(
                    *zip(*told, strict=True),
                    **style.mark("predicted", line if by else style.LINES["predicted"]),
                    zorder=2,
                )
            xs, ys = [row[x] for row in rows], [row[result.quantity] for row in rows]
            spread = [row["q1"] for row in rows], [row["q3"] for row in rows]
            axes.vlines(xs, *spread, color=style.MEASURED, alpha=0.45, linewidth=3 * style.size().line, zorder=3)
            axes.plot(xs, ys, **style.mark("measured", line), zorder=4)
        axes.set_xscale("log" if log[0] else "linear")
        axes.set_yscale("log" if log[1] else "linear")
        if not by:
            return []
        return [(*place, str(name)) for name, place in _free_ends(values, log).items()]

    title = titled(result, title)
    values = {name: [(row[x], row[result.quantity]) for row in rows] for name, rows in lines.items()}
    places = {row[x] for rows in lines.values() for row in rows}
    return draw(
        title,
        f"{title}. {in_words(result)}",
        paint,
        x=(x_column.heading, x_column.unit),
        y=(axis, result.unit),
        note=key(result),
        labels="ends",
        ticks=sorted(places) if not x_column.unit and len(places) <= MOST_PLACES else (),
    )


def _free_ends(lines: Mapping, log: tuple[bool, bool]) -> dict[object, tuple[float, float]]:
    """For each line the end at which its name goes: the last point, or the first where only that is by itself."""
    spans = []
    for part in (0, 1):
        values = [point[part] for line in lines.values() for point in line]
        low, high = (math.log(value) if log[part] else value for value in (min(values), max(values)))
        spans.append((low, (high - low) or 1.0))

    def places(point) -> tuple[float, ...]:
        """The point as shares of the picture."""
        parts = zip(point, log, spans, strict=True)
        return tuple(((math.log(value) if is_log else value) - low) / span for value, is_log, (low, span) in parts)

    def gap(name, end: int, others) -> float:
        """How far the nearest point of the other lines is, as a share of the picture."""
        own = places(lines[name][end])
        return min((math.dist(own, places(p)) for other in others if other != name for p in lines[other]), default=1.0)

    ends = {}
    for name in sorted(lines, key=lambda name: -gap(name, 0, lines)):
        unnamed_there = [other for other in lines if ends.get(other) != 0]
        ends[name] = -1 if gap(name, -1, unnamed_there) >= CLEAR or gap(name, 0, lines) < CLEAR else 0
    return {name: lines[name][ends[name]] for name in lines}
