"""Tables as text and as HTML, and the one way in which a measured value is written."""

import html
import math
import re
import textwrap
from collections.abc import Sequence

from course_lib.accounting import units


def quantity(value, unit: str = "") -> str:
    """A value with its unit; None is a dash, a ratio is "2.50×", text stays as it is."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if unit == "×":
        return f"{ratio(value)}×" if value < 9.995 else f"{units.format_si(float(f'{value:.3g}'))}×"
    if unit == "s":
        return units.format_seconds(value)
    if unit == "B":
        return units.format_bytes(value)
    return units.format_si(value, unit)


def ratio(value: float) -> str:
    """A pure number: two decimals, and more where these would not show two digits that count (0.0042)."""
    decimals = 1 - math.floor(math.log10(value)) if 0 < value < 0.095 else 2
    return f"{value:.{decimals}f}"


def text_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of characters: the first to the left, the others to the right."""
    lines = [headings, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(headings))]

    def line(cells) -> str:
        first, *rest = (
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        )
        return "  ".join([first, *rest]).rstrip()

    return "\n".join([line(headings), "  ".join("-" * w for w in widths), *map(line, rows)])


def paragraph(text: str) -> str:
    """A sentence wrapped to 100 columns, continued with a hanging indent."""
    return textwrap.fill(text, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def html_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], caption: str, notes: Sequence[str] = (), left=False
) -> str:
    """An HTML table in the page's own colours, with its caption above and its notes below; `left` for words instead of
    numbers. A number stays on one line with its unit, and what stands `so` in a note is code.
    """
    e = html.escape
    side, wrap = ("left", "") if left else ("right", ";white-space:nowrap")
    head = "".join(
        f'<th scope="col" style="text-align:{"left" if i == 0 else side}">{e(h)}</th>' for i, h in enumerate(headings)
    )
    body = "".join(
        f'<tr><th scope="row" style="text-align:left;font-weight:normal">{e(first)}</th>'
        + "".join(f'<td style="text-align:{side}{wrap}">{e(cell)}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    written = [re.sub("`([^`]+)`", r"<code>\1</code>", e(note)) for note in notes]
    below = "".join(f'<p style="margin:.2em 0;font-size:.9em">{note}</p>' for note in written)
    return (
        f'<table><caption style="caption-side:top;text-align:left;color:inherit">{e(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
    )
