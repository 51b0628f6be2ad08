"""Tables as text and as HTML, and the one way in which a measured value is written."""

import html
import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from typing import Literal

from course_lib.accounting import units

WIDTH = 70
"""Characters of a line of prose. JupyterLab breaks a longer line anywhere, inside a word too, where its window has 1000
pixels and shows the file browser.
"""
MANY = 6  # columns: those of a table that has more find no room in a window of 1000 pixels
DASH = "–"
"""What stands for a value that is missing."""


def quantity(value, unit: str = "") -> str:
    """A value with its unit; None is a dash, a ratio is "2.50×", text stays as it is."""
    if value is None:
        return DASH
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


def text_table(headings: Sequence[str], rows: Iterable[Sequence[str]], words: bool = False) -> str:
    """Columns of characters: the first to the left, the others, numbers, to the right under a rule; `words` all to the
    left, without a rule.
    """
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    if not words:
        lines.insert(1, ["-" * width for width in widths])

    def line(cells: Sequence[str]) -> str:
        to = (str.ljust, *[str.ljust if words else str.rjust] * (len(widths) - 1))
        return "  ".join(put(cell, width) for put, cell, width in zip(to, cells, widths, strict=True)).rstrip()

    return "\n".join(map(line, lines))


def without_dashes(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of a table without the columns in which every cell is a dash; all of it where no row is."""
    kept = [i for i in range(len(headings)) if not rows or any(row[i] != DASH for row in rows)]
    return [headings[i] for i in kept], [[row[i] for i in kept] for row in rows]


def paragraph(text: str) -> str:
    """A sentence wrapped to WIDTH columns, continued with a hanging indent."""
    return textwrap.fill(text, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def html_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    notes: Sequence[str] = (),
    side: Literal["right", "left", ""] = "right",
) -> str:
    """An HTML table with its caption above and its notes below; the first cell of a row is its header.

    side: where the other columns stand: "right" for numbers, which stay on one line with their unit but in a table of
    more than MANY columns, which is set narrower, "left" for words; "" leaves the look of the table to the page. What
    stands `so` in a note is code.
    """

    def cell(tag: str, text: str, style: str) -> str:
        look = f' style="{style}"' if side else ""
        return f"<{tag}{look}>{html.escape(text)}</{tag.partition(' ')[0]}>"

    column, row = 'th scope="col"', 'th scope="row"'
    narrow = ";padding:.5em .2em;font-size:.92em" if len(headings) > MANY else ""
    number = narrow or (";white-space:nowrap" if side == "right" else "")
    head = "".join(cell(column, text, f"text-align:{side if i else 'left'}{narrow}") for i, text in enumerate(headings))
    lines = (
        cell(row, first, f"text-align:left;font-weight:normal{narrow or ';min-width:8em'}")
        + "".join(cell("td", text, f"text-align:{side}{number}") for text in rest)
        for first, *rest in rows
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    title = cell("caption", caption, "caption-side:top;text-align:left;color:inherit") if caption else ""
    written = [re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(note)) for note in notes]
    below = "".join(f'<p style="margin:.2em 0;font-size:.9em">{note}</p>' for note in written)
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"
