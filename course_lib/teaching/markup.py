"""Small pieces of HTML and text that cards, explorers and the progress table share."""

import html
import re
from collections.abc import Iterable, Sequence

# In the tags: JupyterLab's own rules align cells right, and a notebook that it does not trust loses style sheets.
_CELL = "text-align:left;vertical-align:top;font-weight:normal;overflow-wrap:break-word"


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


def wide_table(columns: Sequence[str], widths: Sequence[str], rows: Iterable[str]) -> str:
    """A table over the whole width; `rows` are made by `row`."""
    head = "".join(
        f'<th scope="col" style="{_CELL};width:{width}"><strong>{html.escape(name)}</strong></th>'
        for name, width in zip(columns, widths, strict=True)
    )
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    return f'<table style="table-layout:fixed;width:100%">{body}</table>'


def row(head: str, *cells: str, mark: str = "") -> str:
    """A row of a wide table from HTML; its `mark` is a class."""
    name = f' class="{mark}"' if mark else ""
    rest = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in cells)
    return f'<tr{name}><th scope="row" style="{_CELL}">{head}</th>{rest}</tr>'


def linked(page: str, link: str) -> str:
    """HTML that leads to a place; as it stands where there is no `link`."""
    return f'<a href="{html.escape(link)}">{page}</a>' if link else page


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
