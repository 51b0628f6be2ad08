"""Small pieces of HTML and text that cards, explorers and the progress table share."""

import html
import re


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
