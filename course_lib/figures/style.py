"""How every figure of the course looks: colours, marks and sizes for matplotlib.

Ink on light paper, so that a picture reads the same wherever it is shown; JupyterLab's dark theme turns it around
(`figure.image`). No meaning hangs on colour: what was predicted is an open circle on a dashed line, what was measured a
filled one on a solid line, what was recorded a diamond on a dotted line.
"""

import os
from dataclasses import dataclass

INK, FAINT, PAPER = "#1c1c1c", "#8a8a8a", "#fcfcfa"  # FAINT is for lines and grids, too pale for words
PREDICTED, MEASURED, RECORDED = "#0b62a4", "#b3460e", "#5b3a8c"
COLOURS = {"predicted": PREDICTED, "measured": MEASURED, "recorded": RECORDED}
MARKERS = {"predicted": "o", "measured": "o", "recorded": "D"}
LINES = {"predicted": "--", "measured": "-", "recorded": ":"}
SERIES = ("-", "--", ":", "-.")  # of several measured lines in one picture


@dataclass(frozen=True)
class Size:
    """width: of the canvas, inches. text: points. line, marker: points. pixels: width on the page, CSS pixels."""

    width: float
    text: float
    line: float
    marker: float
    pixels: int


PAGE = Size(width=8, text=10, line=1.3, marker=6, pixels=760)
PROJECTOR = Size(width=10, text=15, line=2.2, marker=9, pixels=1040)

_projected: bool | None = None  # what `projector` was last told; None: as the environment says


def projector(on: bool = True) -> None:
    """Draw all further figures for a projector: larger text, thicker lines; `projector(False)` goes back.

    For a whole session set the environment variable COURSE_PROJECTOR=1 before Jupyter starts.
    """
    global _projected
    _projected = bool(on)


def size() -> Size:
    """The size in which figures are drawn now."""
    on = os.environ.get("COURSE_PROJECTOR") == "1" if _projected is None else _projected
    return PROJECTOR if on else PAGE


def mark(kind: str, line: str = "none") -> dict:
    """Arguments of `axes.plot` for points that are "predicted", "measured" or "recorded"; `line` joins them."""
    now, colour, hollow = size(), COLOURS[kind], kind == "predicted"
    return {
        "color": colour,
        "marker": MARKERS[kind],
        "markersize": now.marker * (1.6 if hollow else 1),  # an open circle shows around a filled one
        "markerfacecolor": PAPER if hollow else colour,
        "markeredgecolor": colour,
        "markeredgewidth": 1.5 * now.line,
        "linestyle": line,
        "linewidth": now.line * (0.8 if hollow else 1),
    }


def rc() -> dict:
    """matplotlib's parameters, for `matplotlib.rc_context`: what `paint` draws without saying how."""
    from cycler import cycler

    now = size()
    kinds = ("measured", "predicted", "recorded")
    cycle = cycler(color=[*map(COLOURS.get, kinds), INK], linestyle=SERIES, marker=["o", "s", "D", "^"])
    return {
        "axes.axisbelow": True,
        "axes.edgecolor": INK,
        "axes.facecolor": PAPER,
        "axes.grid": True,
        "axes.labelcolor": INK,
        "axes.labelsize": now.text,
        "axes.linewidth": 0.6 * now.line,
        "axes.prop_cycle": cycle,
        "axes.spines.right": False,
        "axes.spines.top": False,
        "figure.dpi": 130,
        "figure.facecolor": PAPER,
        "font.family": "DejaVu Sans",
        "font.size": now.text,
        "grid.alpha": 0.25,
        "grid.color": FAINT,
        "hatch.linewidth": now.line,
        "legend.frameon": False,
        "lines.linewidth": now.line,
        "lines.markersize": now.marker,
        "text.color": INK,
        "text.parse_math": False,  # a dollar is a dollar
        "xtick.color": INK,
        "xtick.labelsize": 0.95 * now.text,
        "ytick.color": INK,
        "ytick.labelsize": 0.95 * now.text,
    }
