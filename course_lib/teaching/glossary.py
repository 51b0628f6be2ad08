"""The glossary: each term of the course with its line, and the unit that introduces it.

Terms stand in `glossary.toml` of the unit that is the first to use them, `"term|another name" = "its line"`.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from course_lib import units
from course_lib.figures.tabular import text_table
from course_lib.teaching.static import Static, is_static, notice
from course_lib.words import words

say = words(__file__)

WIDTHS = ("24%", "54%", "22%")  # of the columns
# In the tags: JupyterLab's own rules align cells right, and a notebook that it does not trust loses style sheets.
_CELL = "text-align:left;vertical-align:top;font-weight:normal;overflow-wrap:break-word"


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
    try:
        if prefix is None:
            return _all()
        unit = units.unit_of(f"{prefix}.")
        return _of(unit, terms(unit), prefix) if unit else notice(_unknown(str(prefix)))
    except ValueError as error:
        return notice(str(error))


def _all() -> Static:
    found = sorted((term for unit in units.names() for term in terms(unit)), key=lambda term: term.name.casefold())
    return _table(found, linked=True) if found else notice(say("none"))


def _of(unit: str, found: Sequence[Term], prefix: str) -> Static:
    # A lesson ends with its own table. Built with links, which name cells, it would have to be executed again whenever
    # its prose moves; a page that is not live opens none of them anyway.
    return _table(found, linked=not is_static()) if found else notice(say("none-of-unit", prefix=prefix))


def _unknown(prefix: str) -> str:
    known = [units.prefix(unit) for unit in units.in_order()]
    return say("no-unit", prefix=prefix, units=", ".join(known))


def _table(found: Sequence[Term], linked: bool) -> Static:
    about = {term.unit: units.about(term.unit) if linked else {} for term in found}
    text, rows = [], []
    for term in found:
        also = say("also", names=", ".join(term.names[1:])) if term.names[1:] else ""
        text.append((f"{term.name} ({also})" if also else term.name, term.line, units.prefix(term.unit)))
        cell = about[term.unit].get("terms", {}).get(term.name)
        rows.append(
            _row(term, also, f"{term.unit}.ipynb#cell-id={units.cell_in_view(term.unit, cell)}" if cell else "")
        )
    head = "".join(
        f'<th scope="col" style="{_CELL};width:{width}"><strong>{html.escape(name)}</strong></th>'
        for name, width in zip(say.all("columns"), WIDTHS, strict=True)
    )
    page = (
        f'<table style="table-layout:fixed;width:100%"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )
    return Static(page, text_table(say.all("columns"), text, words=True))


def _row(term: Term, also: str, link: str) -> str:
    name = f"<strong>{html.escape(term.name)}</strong>" + (f"<br>{html.escape(also)}" if also else "")
    place = html.escape(units.prefix(term.unit))
    place = f'<a href="{html.escape(link)}">{place}</a>' if link else place
    cells = "".join(f'<td style="{_CELL}">{cell}</td>' for cell in (html.escape(term.line), place))
    return f'<tr><th scope="row" style="{_CELL}">{name}</th>{cells}</tr>'
