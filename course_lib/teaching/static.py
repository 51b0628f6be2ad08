"""What a reader without a live kernel sees: the static form of cards and explorers, and calm one-line notices."""

import html
import os


def is_static() -> bool:
    """True while a notebook is built or tested (`COURSE_STATIC=1`): cards and explorers then show a form without a
    widget.
    """
    return os.environ.get("COURSE_STATIC", "") not in ("", "0")


class Static:
    """Something to display as HTML, with its plain text for a terminal."""

    def __init__(self, html: str, text: str):
        self.html = html
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return {"text/html": self.html, "text/plain": self.text}


def notice(line: str) -> Static:
    """One calm line in the place of what could not be shown; an exception would stop "Run All"."""
    return Static(f"<p>{html.escape(line)}</p>", line)
