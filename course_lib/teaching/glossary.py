"""The glossary: each term of the course with its line, and the unit that introduces it.

Terms stand in `glossary.toml` of the unit that is the first to use them, `"term|another name" = "its line"`.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from course_lib import units
from course_lib.figures.tabular import text_table
from course_lib.teaching import markup
from course_lib.teaching.static import Static, is_static, notice
from course_lib.words import words

say = words(__file__)

WIDTHS = ("24%", "54%", "22%")  # of the columns


@dataclass(frozen=True)
class Term:
    """A term under all its names, its line, and the unit that introduces it."""

    names: tuple[str, ...]
    line: str
    unit: str

    @property
    def name(self) -> str:
        return self.names[0]


def terms(unit: str) -> list[Term]:
    """The terms that a unit introduces, in the order of its table. ValueError for TOML that cannot be read."""
    return [Term(split(key), line, unit) for key, line in units.glossary(unit).items()]


def split(key: str) -> tuple[str, ...]:
    """The names in a key of `glossary.toml`."""
    return tuple(name.strip() for name in key.split("|"))


def glossary(prefix: str | None = None) -> Static:
    """A table of the terms that the unit `prefix` ("q05") introduces; without one, of all units' terms by alphabet.

    Each names the unit that introduces it, with a link to the cell. What is wrong is said in one line in its place.
    """
    unit = units.unit_of(f"{prefix}.")
    if unit is None and prefix is not None:
        return notice(say("no-unit", prefix=str(prefix), units=", ".join(map(units.prefix, units.in_order()))))
    try:
        found = [term for one in ([unit] if unit else units.names()) for term in terms(one)]
    except ValueError as error:
        return notice(str(error))
    if not found:
        return notice(say("none") if prefix is None else say("none-of-unit", prefix=prefix))
    if prefix is None:
        found.sort(key=lambda term: term.name.casefold())
    # A lesson ends with its own table. Built with links, which name cells, it would have to be executed again whenever
    # its prose moves; a page that is not live opens none of them anyway.
    return _table(found, linked=prefix is None or not is_static())


def _table(found: Sequence[Term], linked: bool) -> Static:
    about = {term.unit: units.about(term.unit) if linked else {} for term in found}
    text, rows = [], []
    for term in found:
        also = say("also", names=", ".join(term.names[1:])) if term.names[1:] else ""
        text.append((f"{term.name} ({also})" if also else term.name, term.line, units.prefix(term.unit)))
        name = f"<strong>{html.escape(term.name)}</strong>" + (f"<br>{html.escape(also)}" if also else "")
        cell = about[term.unit].get("terms", {}).get(term.name)
        link = f"{term.unit}.ipynb#cell-id={units.cell_in_view(term.unit, cell)}" if cell else ""
        place = markup.linked(html.escape(units.prefix(term.unit)), link)
        rows.append(markup.row(name, html.escape(term.line), place))
    columns = say.all("columns")
    return Static(markup.wide_table(columns, WIDTHS, rows), text_table(columns, text, words=True))
