"""Direct labels: words beside the points that they name, which cover neither each other nor what is drawn.

Places are compared in pixels, so the limits of the axes and the layout of the canvas must stand.
"""

from collections.abc import Sequence
from itertools import pairwise

from course_lib.figures import style

Point = tuple[float, float, str]
"""x and y in the units of the data, and what stands there."""

Box = tuple[float, float, float, float]
"""left, bottom, right, top in pixels."""

# Where a label may stand, best first: offset in units of its text's size, and the side of it that is at the point.
PLACES = (
    (1.0, -0.6, "left"),
    (-1.0, -0.6, "right"),
    (0.0, 0.85, "center"),
    (0.0, -2.0, "center"),
    (0.8, 0.85, "left"),
    (-0.8, 0.85, "right"),
    (0.8, -2.0, "left"),
    (-0.8, -2.0, "right"),
    (0.0, 2.2, "center"),
    (0.0, -3.3, "center"),
    (0.8, 2.2, "left"),
    (0.8, -3.3, "left"),
    (-0.8, 2.2, "right"),
    (-0.8, -3.3, "right"),
)
HALO = 2.5  # width of the paper around a text, in widths of a line
NARROWEST = 0.2  # share of the axis that is left to the data when labels beside them are long
COVERS_LABEL, COVERS_POINT, LEAVES_AXES, COVERS_LINE = 100.0, 20.0, 500.0, 1.0  # how bad a shared area is


def label_points(axes, points: Sequence[Point]) -> None:
    """Write each text near its point, where it covers the least. Call it last."""
    at = [tuple(place) for place in axes.transData.transform([(x, y) for x, y, _ in points])] if points else []
    around = (0.6 * style.size().marker + HALO / 2 * style.size().line) * axes.figure.dpi / 72
    marks = [(x - around, y - around, x + around, y + around) for x, y in [*at, *_drawn(axes, marks=True)]]
    lines = [(x - 2, y - 2, x + 2, y + 2) for x, y in _drawn(axes, marks=False)]
    inside, em, taken = axes.get_window_extent(), _em(axes), []
    for (x, y, text), (px, py) in zip(points, at, strict=True):
        note = _note(axes, text, (x, y))
        width, height = note.get_window_extent().size

        def box(dx: float, dy: float, side: str, px=px, py=py, width=width, height=height) -> Box:
            left = px + dx * em - {"left": 0, "center": width / 2, "right": width}[side]
            return left, py + dy * em, left + width, py + dy * em + height

        def badness(place, box=box) -> float:
            own = box(*place)
            outside = max(inside.x0 - own[0], own[2] - inside.x1, inside.y0 - own[1], own[3] - inside.y1, 0)
            return (
                COVERS_LABEL * sum(_overlap(own, other) for other in taken)
                + COVERS_POINT * sum(_overlap(own, other) for other in marks)
                + COVERS_LINE * sum(_overlap(own, other) for other in lines)
                + LEAVES_AXES * outside * em
            )

        dx, dy, side = min(PLACES, key=badness)  # the first of equals
        taken.append(box(dx, dy, side))
        _move(note, dx, dy, side)


def label_beside(axes, points: Sequence[Point]) -> None:
    """Write each text to the right of its point, for which `make_room` has made room."""
    for x, y, text in points:
        _move(_note(axes, text, (x, y)), 1.0, -0.6, "left")


def make_room(axes, points: Sequence[Point]) -> None:
    """Widen the axis x until each text has its place to the right of its point."""
    frame, em = axes.get_window_extent(), _em(axes)
    at = axes.transData.transform([(x, y) for x, y, _ in points])[:, 0] - frame.x0
    free = [frame.width - _width(axes, text) - 1.4 * em for _, _, text in points]
    shrink = min(1.0, *(room / place for room, place in zip(free, at, strict=True) if place > 0))
    low, high = axes.get_xlim()
    wider = 1 / max(shrink, NARROWEST)
    log = axes.get_xscale() == "log"
    axes.set_xlim(low, low * (high / low) ** wider if log else low + (high - low) * wider)


def _note(axes, text: str, place: tuple[float, float]):
    """A text at a point, not yet moved beside it; the layout of the canvas leaves it alone."""
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=HALO * style.size().line, foreground=style.PAPER)]
    looks = {"fontsize": 0.85 * style.size().text, "path_effects": halo, "zorder": 5}
    note = axes.annotate(text, place, (0, 0), textcoords="offset points", annotation_clip=False, **looks)
    note.set_in_layout(False)
    return note


def _move(note, dx: float, dy: float, side: str) -> None:
    em = note.get_fontsize()
    note.set(position=(dx * em, dy * em), horizontalalignment=side, verticalalignment="bottom")


def _em(axes) -> float:
    """The size of a label's text in pixels."""
    return 0.85 * style.size().text * axes.figure.dpi / 72


def _width(axes, text: str) -> float:
    """How wide a label would be, in pixels."""
    note = _note(axes, text, (0.5, 0.5))
    width = note.get_window_extent().width
    note.remove()
    return width


def _drawn(axes, marks: bool) -> list[tuple[float, float]]:
    """The marks of all lines in `axes`, or places every few pixels along them."""
    found = []
    for line in axes.get_lines():
        if line.get_transform() != axes.transData:
            continue  # a line across the whole picture
        corners = [tuple(place) for place in axes.transData.transform(line.get_xydata())]
        if marks and line.get_marker() not in ("", "None", None):
            found += corners
        if not marks and line.get_linestyle() not in ("", "None", "none"):
            for (x, y), (to_x, to_y) in pairwise(corners):
                steps = max(int(max(abs(to_x - x), abs(to_y - y)) / 6), 1)
                found += [(x + (to_x - x) * n / steps, y + (to_y - y) * n / steps) for n in range(steps)]
    return found


def _overlap(one: Box, other: Box) -> float:
    """Area that two boxes share."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)
