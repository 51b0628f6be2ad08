"""Values in the text of a lesson: `{{expression:format}}` is what Python's f-string has for `{expression:format}`, in
the kernel, after the code cells above it.

What each field came to is kept in the notebook, by the code cell after which it was asked, so that prose is written
again without executing.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import nbformat

from tools.source import Cell, Page

RESERVED = ("minutes", "deeper", "exercises", "units", "tracks", "claims")  # filled from the sources, not by a kernel
ANOTHER = "its prose asks for another value"

MARKS = re.compile(
    r"""
    \\[\\`$]                                                                  # an escaped mark is none
    | ^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n .*? (?:^[ \t>]*(?P=fence)|\Z)    # code in a fence
    | (?<!`)(?P<ticks>`+)(?!`) (?:(?!\n\s*\n).)+? (?<!`)(?P=ticks)(?!`)       # code in a line
    | \$\$ .+? \$\$ | \$ (?:(?!\n\s*\n)[^$])+ \$                              # formulas
    | (?P<field>\{\{)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


QUOTES = "'''"


@dataclass(frozen=True)
class Field:
    """A field of a text: what stands between its braces (None where they are not closed), and where."""

    asks: str | None
    start: int
    end: int


class FieldError(Exception):
    """A field that the kernel cannot evaluate: the field, and the kernel's error."""


def fields(text: str) -> list[Field]:
    """The fields of a text that a kernel evaluates; none in formulas and in code."""
    found, at = [], 0
    while mark := MARKS.search(text, at):
        at = mark.end()
        if mark["field"]:
            field = _field(text, mark.start())
            at = field.end
            if field.asks not in RESERVED:
                found.append(field)
    return found


def _field(text: str, start: int) -> Field:
    """The field that begins at `start`, up to the first closing braces that make it one expression."""
    blank = re.compile(r"\n\s*\n").search(text, start)
    inside = text[start + 2 : blank.start() if blank else len(text)]
    ends = [close.start() for close in re.finditer(r"(?=\}\})", inside)]
    if not ends:
        return Field(None, start, start + 2)
    end = next((end for end in ends if not fault(inside[:end].strip())), ends[0])
    return Field(inside[:end].strip(), start, start + 2 + end + 2)


def fault(asks: str) -> str:
    """Why a field is not one expression, with its format where it has one; empty where it is."""
    if not asks:
        return "it is empty"
    if QUOTES in asks:
        return f"{QUOTES} ends it on Python 3.11"
    try:
        parts = ast.parse(_f_string(asks), mode="eval").body
    except SyntaxError as error:
        return f"SyntaxError: {error.msg}"
    one = isinstance(parts, ast.JoinedStr) and [type(part) for part in parts.values] == [ast.FormattedValue]
    return "" if one else "it is not one expression"


def _f_string(asks: str) -> str:
    return f"f{QUOTES}{{ {asks}}}{QUOTES}"  # the quotes inside work; after the space, a brace is no escaped one


# ---------------------------------------------------------------------------------------------------------- the lint


def faults(page: Page) -> Iterator[tuple[int, str]]:
    """(line, message) of each field that cannot be filled."""
    above = False
    for cell in page.cells:
        above = above or cell.node.cell_type == "code"
        for field in fields(cell.node.source) if cell.node.cell_type == "markdown" else ():
            line = line_of(cell, field.asks)
            if field.asks is None:
                yield line, "{{ is never closed in its paragraph; a value is {{expression:format}}"
            elif why := fault(field.asks):
                yield line, f"{{{{{field.asks}}}}}: {why}; a value is {{{{expression:format}}}}, as in an f-string"
            elif page.path.endswith("exercises.md"):
                yield line, f"{{{{{field.asks}}}}}: exercises are not executed, so their text has no computed values"
            elif not above:
                yield line, f"{{{{{field.asks}}}}}: no code cell stands above it that could compute it"


def line_of(cell: Cell, asks: str | None) -> int:
    """The line of a lesson in which a cell has this field first."""
    starts = [field.start for field in fields(cell.node.source) if field.asks == asks]
    return cell.source_line + cell.node.source.count("\n", 0, starts[0])


# ------------------------------------------------------------------------------------------------------- the notebook


def asked(nb: nbformat.NotebookNode) -> dict[int, tuple[str, list[str]]]:
    """Index of each cell of text with fields -> the id of the code cell above it, and the fields."""
    found, above = {}, ""
    for index, cell in enumerate(nb.cells):
        if cell.cell_type == "code":
            above = cell.id
        elif cell.cell_type == "markdown" and (asks := [field.asks for field in fields(cell.source)]):
            found[index] = above, asks
    return found


def values(nb: nbformat.NotebookNode, stored: nbformat.NotebookNode) -> dict[str, dict[str, str]] | None:
    """Code cell -> field -> text, for all that a lesson asks, from an executed notebook; None where it lacks one."""
    known, found = stored.metadata.get("course", {}).get("values", {}), {}
    for above, asks in asked(nb).values():
        if any(field not in known.get(above, {}) for field in asks):
            return None
        found.setdefault(above, {}).update({field: known[above][field] for field in asks})
    return found


def filled(nb: nbformat.NotebookNode, texts: Mapping[str, Mapping[str, str]]) -> nbformat.NotebookNode:
    """A copy of a lesson's notebook with these values in its text."""
    nb = nbformat.from_dict(nb)
    for index, (above, _) in asked(nb).items():
        cell = nb.cells[index]
        for field in reversed(fields(cell.source)):
            cell.source = cell.source[: field.start] + texts[above][field.asks] + cell.source[field.end :]
    return nb


async def evaluate(client, asks: list[str]) -> dict[str, str]:
    """Field -> text, in the running kernel of a `NotebookClient`. Raises `FieldError`."""
    wanted = {field: _f_string(field) for field in asks}
    request = client.kc.execute("", silent=True, user_expressions=wanted)
    reply = await client.async_wait_for_reply(request)
    found = reply["content"]["user_expressions"]
    for field in asks:
        if found[field]["status"] != "ok":
            raise FieldError(field, f"{found[field]['ename']}: {found[field]['evalue']}")
    return {field: ast.literal_eval(found[field]["data"]["text/plain"]) for field in asks}
