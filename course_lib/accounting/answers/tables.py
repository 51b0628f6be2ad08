"""The look of every table that a result shows in a notebook: no borders, the theme's own colours.

Read when a table is first shown, as `html` is.
"""

from html import escape

CELL = "padding:2px 8px;border:none;background:none;color:inherit;"
LABEL = f"{CELL}text-align:left;font-weight:normal;"
NUMBER = f"{CELL}text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap;"
BRAND = "var(--jp-brand-color1, currentColor)"  # JupyterLab's accent, elsewhere the text's colour


def label(text: str, indent: int = 0) -> str:
    """The header cell of a row, `indent` levels deep."""
    return f'<th scope="row" style="{LABEL}padding-left:{8 + 16 * indent}px">{escape(text)}</th>'


def numbers(*texts: str) -> str:
    """Cells of figures, aligned right."""
    return "".join(f'<td style="{NUMBER}">{escape(text)}</td>' for text in texts)


def heads(*texts: str, right: int = 1) -> str:
    """The header row; the columns from number `right` on are aligned right."""
    cells = (
        f'<th scope="col" style="{CELL}text-align:{"left" if column < right else "right"}">{escape(text)}</th>'
        for column, text in enumerate(texts)
    )
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def framed(table: str, explanation: str = "") -> str:
    """HTML of a table from its inner HTML, and the explanation (plain text) folded under it."""
    folded = (
        "<details><summary>how it was counted</summary>"
        '<pre style="color:inherit;background:none;white-space:pre-wrap">'
        f"{escape(explanation)}</pre></details>"
    )
    return (
        '<div style="color:var(--jp-ui-font-color1, currentColor)">'
        f'<table style="border-collapse:collapse;border:none;color:inherit">{table}</table>'
        f"{folded if explanation else ''}</div>"
    )
