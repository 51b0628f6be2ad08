"""The lint of what executed notebooks show: an image comes with words that say what it shows."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import nbformat

HOW = (
    "the output shows an image without a text alternative: draw it with figures.draw(title, alt=…), or give the image "
    "an alt text"
)
MARKDOWN_IMAGE = re.compile(r"!\[\s*\][(\[]")
HTML_KINDS = ("text/html", "text/markdown", "image/svg+xml")


def images_without_words(nb: nbformat.NotebookNode) -> list[int]:
    """The index of every cell that shows an image without a text alternative, once for each output that does."""
    return [n for n, cell in enumerate(nb.cells) for output in cell.get("outputs", []) if _wordless(output)]


def _wordless(output) -> bool:
    """Whether an output has a form with a wordless image; bitmaps have their words in the output's metadata, except
    where HTML stands beside them, which is then what is shown.
    """
    data, metadata = output.get("data", {}), output.get("metadata", {})
    for kind, content in data.items():
        text = content if isinstance(content, str) else "".join(content) if isinstance(content, list) else ""
        if kind in HTML_KINDS:
            if (kind == "text/markdown" and MARKDOWN_IMAGE.search(text)) or any(_Images(text).wordless()):
                return True
        elif kind.startswith("image/") and "text/html" not in data and not _words(metadata.get(kind, {}).get("alt")):
            return True
    return False


def _words(text) -> bool:
    return isinstance(text, str) and bool(text.strip())


class _Images(HTMLParser):
    """The images of a piece of HTML or SVG: `alt` of each <img>; label or <title> of each <svg> that is not hidden."""

    def __init__(self, page: str):
        super().__init__()
        self._named: list[bool] = []
        self._svg: list[int | None] = []  # of the open <svg>s: their place in _named, None where hidden
        self._in_title = False
        self.feed(page)
        self.close()

    def wordless(self) -> Iterator[bool]:
        return (not named for named in self._named)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "img":
            self._named.append(_words(attributes.get("alt")))
        elif tag == "svg":
            inner = bool(self._svg) or attributes.get("aria-hidden") == "true"
            self._svg.append(None if inner else len(self._named))
            if not inner:
                self._named.append(_words(attributes.get("aria-label")))
        elif tag == "title":
            self._in_title = bool(self._svg)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.handle_endtag(tag)

    def handle_data(self, text):
        place = self._svg[-1] if self._svg else None
        if self._in_title and place is not None and _words(text):
            self._named[place] = True

    def handle_endtag(self, tag):
        if tag == "svg" and self._svg:
            self._svg.pop()
        elif tag == "title":
            self._in_title = False
