"""Small pieces of HTML and text that cards, explorers and the progress table share."""

import html
import re
from collections.abc import Iterable, Sequence


def markdown(text: str) -> str:
    """Markdown as HTML; raw HTML in the text is shown, not run. mistune comes with JupyterLab; without it the text
    stays as it is.
    """
    try:
        import mistune
    except ImportError:
        return "".join(f"<p>{html.escape(part)}</p>" for part in re.split(r"\n\s*\n", text.strip()))
    return mistune.create_markdown(escape=True, plugins=["table"])(text.strip()).strip()


def plain(text: str) -> str:
    """Markdown as the words alone, on one line: for labels that cannot hold markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markdown(text))).split())


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """An HTML table of texts; the first cell of a row is its header."""
    head = "".join(f'<th scope="col">{html.escape(cell)}</th>' for cell in headers)
    body = "".join(
        f'<tr><th scope="row">{html.escape(first)}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def text_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """The same table in columns of characters."""
    lines = [list(headers), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def number(value: float) -> str:
    """A number as a learner reads it: three significant digits, thousands grouped, powers of ten written e9."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    size = abs(value)
    if value == 0 or 1e-4 <= size < 999.5:
        return f"{value:.3g}"
    if 999.5 <= size < 1e7:
        return f"{value:,.0f}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
