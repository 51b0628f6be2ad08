"""What the core path of a lesson may hold at most, and must hold at least."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from tools.core_path import (
    DEEPER,
    FOLDED,
    TURN,
    begins_deeper,
    calls,
    heading,
    prose_lines,
    sections,
    words,
)
from tools.source import Cell, Page, called
from tools.turns import turns

WORDS, CODE, CARDS, TURNS, VOTES = 2500, 30, 6, 3, (2, 4)
PARTS = re.compile(r"[A-F]\. |Cases")
SHOWN = 3
"""Sections that a message names."""

Faults = Iterator[tuple[int, str]]


def faults(page: Page, tables: Mapping[str, Mapping]) -> Faults:
    """Where a lesson breaks the form, as (line, message). tables: card id -> its table in cards.toml.

    Deeper sections have a form in every lesson. The limits hold for lessons of the course's parts.
    """
    yield from _deeper_faults(page)
    if PARTS.match(str(page.course.get("part"))):
        core = sections(page)[0].cells
        code = [cell for cell in core if cell.is_code]
        shown = [(cell.line_of(call), id) for cell in code for call in calls(cell) if (id := _first(call, "card"))]
        yield from _size_faults(core, code, shown)
        yield from _card_faults(page, shown, tables)
        yield from _turn_faults(page, core, code)
        yield from _frame_faults(page, core)


# -------------------------------------------------------------------------------------------------- deeper sections


def _deeper_faults(page: Page) -> Faults:
    """The form of deeper sections, and names that the core path takes from them."""
    for cell in page.cells:
        source, folded = cell.node.source, FOLDED in cell.node.metadata
        if folded != (source.startswith(DEEPER) and not cell.is_code):
            yield cell.line, f'a cell is folded ("{FOLDED}": true) if and only if it begins with `{DEEPER}…`'
        elif begins_deeper(cell):
            first = next((part for part in source.split("\n\n")[1:] if part.strip()), "")
            if "({{minutes}} minutes)" not in first:
                yield cell.source_line, "the first paragraph says in a line what it adds, and `({{minutes}} minutes)`"
    core, *deeper = sections(page)
    for section in deeper:
        for cell in section.cells:
            lines = [] if cell.is_code else prose_lines(cell.node.source)
            for number, text in enumerate(lines):
                if number and re.match(r"#{1,2} ", text):
                    yield cell.source_line + number, "this heading ends a deeper section: begin a new cell with it"
    yield from _needed_faults(core.cells, [cell for section in deeper for cell in section.cells])


def _needed_faults(core: Sequence[Cell], deeper: Sequence[Cell]) -> Faults:
    """Names in the code of the core that only deeper sections define: whoever skips those meets a NameError."""
    own = {name for cell in core for name, _ in _names(cell, ast.Store)}
    theirs = {name for cell in deeper for name, _ in _names(cell, ast.Store)} - own
    for cell in core:
        seen = set()
        for name, node in _names(cell, ast.Load):
            if name in theirs and name not in seen:
                seen.add(name)
                yield cell.line_of(node), f"the core path uses {name!r}, which only a deeper section defines"


def _names(cell: Cell, use: type[ast.expr_context]) -> Iterator[tuple[str, ast.AST]]:
    """The names that a code cell stores, be it by an assignment, a definition, an argument or an import; or loads."""
    try:
        nodes = list(ast.walk(cell.syntax())) if cell.is_code else []
    except SyntaxError:
        return
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, use):
            yield node.id, node
        elif use is ast.Store and isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name, node
        elif use is ast.Store and isinstance(node, ast.arg):
            yield node.arg, node
        elif use is ast.Store and isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0], node


# ---------------------------------------------------------------------------------------------------------- the core


def _size_faults(core: Sequence[Cell], code: Sequence[Cell], shown: Sequence[tuple[int, str]]) -> Faults:
    if (total := words(core)) > WORDS:
        longest = _longest(core)
        named = ", ".join(f"{title!r} with {size:,} (line {line})" for size, title, line in longest)
        how = f"shorten them, or move what nothing else needs into a section `{DEEPER}…`"
        limit = f"core path: {total:,} words, {WORDS:,} are the limit"
        yield longest[0][2], f"{limit}; the longest sections are {named}: {how}"
    if len(code) > CODE:
        yield code[CODE].line, f"core path: {len(code)} code cells, {CODE} are the limit; this is the first too many"
    if len(shown) > CARDS:
        yield shown[CARDS][0], f"core path: {len(shown)} cards, {CARDS} are the limit; this is the first too many"


def _longest(core: Sequence[Cell]) -> list[tuple[int, str, int]]:
    """(words, heading, line) of the longest sections of the core."""
    found = []
    for cell in core:
        if heading(cell) or not found:
            found.append((heading(cell) or "the beginning", cell.source_line, []))
        found[-1][2].append(cell)
    sized = [(words(cells), title, line) for title, line, cells in found]
    return sorted(sized, key=lambda each: -each[0])[:SHOWN]


def _card_faults(page: Page, shown: Sequence[tuple[int, str]], tables: Mapping[str, Mapping]) -> Faults:
    """How many claims are voted on, and the transfer card, which is the last."""
    end = page.cells[-1].line
    votes = [line for line, id in shown if tables.get(id, {}).get("kind") == "claim"]
    if not VOTES[0] <= len(votes) <= VOTES[1]:
        line = votes[VOTES[1]] if len(votes) > VOTES[1] else end
        yield line, f"core path: {len(votes)} claims are voted on; {VOTES[0]} to {VOTES[1]} are wanted"
    transfers = [(line, id) for line, id in shown if tables.get(id, {}).get("transfer") is True]
    if len(transfers) != 1:
        line = transfers[1][0] if transfers else end
        yield line, f"core path: {len(transfers)} cards with `transfer = true`; one is wanted, as the last card"
    elif transfers[0] != shown[-1]:
        yield transfers[0][0], f"the transfer card is the last of the core; {shown[-1][1]!r} stands after it"


def _turn_faults(page: Page, core: Sequence[Cell], code: Sequence[Cell]) -> Faults:
    lines = {cell.line for cell in core}
    own = [turn for turn in turns(page) if turn.cell.line in lines]
    if len(own) < TURNS:
        yield page.cells[-1].line, f"core path: {len(own)} cells tagged {TURN}, at least {TURNS} are wanted"
    followers = dict(zip([cell.line for cell in code], code[1:], strict=False))
    pairs = [(turn, followers[turn.cell.line]) for turn in own if turn.cell.line in followers]
    if own and not any(_first(call, "interact") == turn.function for turn, cell in pairs for call in calls(cell)):
        yield own[0].cell.line, "one your-turn function goes under explore.interact(function, …) in the next code cell"


def _frame_faults(page: Page, core: Sequence[Cell]) -> Faults:
    """The review after the imports, the cell that answers the title's question, the cell that closes it."""
    prefix = str(page.course.get("unit")).partition("_")[0]
    first = next((number for number, cell in enumerate(core) if cell.is_code), len(core) - 1)
    reviews = [(number, call) for number, cell in enumerate(core) for call in _own_calls(cell, "review")]
    line = core[first].line
    if [number for number, _ in reviews] != [first + 1]:
        yield line, f'the cell after the imports is review("{prefix}"), and no other is'
    elif _first(reviews[0][1], "review") != prefix:
        yield core[first + 1].source_line, f'this lesson is reviewed as review("{prefix}")'
    total = words(core)
    for tag, place, fits, code_only in (
        ("answer", "first", lambda before: before <= total / 3, False),
        ("close", "last", lambda before: before >= total * 2 / 3, True),
    ):
        found = [number for number, cell in enumerate(core) if tag in cell.tags]
        if len(found) != 1:
            line = core[found[1]].line if found else page.cells[-1].line
            yield line, f"core path: {len(found)} cells tagged {tag}, one is wanted"
            continue
        cell, before = core[found[0]], words(core[: found[0]])
        if code_only and not cell.is_code:
            yield cell.line, f"the cell tagged {tag} computes: it is a code cell"
        if not fits(before):
            where = f"the {place} third of the core's {total:,} words"
            yield cell.line, f"the cell tagged {tag} belongs into {where}; {before:,} stand before it"


def _own_calls(cell: Cell, name: str) -> list[ast.Call]:
    return [call for call in calls(cell) if called(call) == name] if cell.is_code else []


def _first(call: ast.Call, name: str) -> str:
    """The text or the name that a call of `name` gets first; empty for any other call."""
    if called(call) != name or not call.args:
        return ""
    match call.args[0]:
        case ast.Name(text) | ast.Constant(str(text)):
            return text
    return ""
