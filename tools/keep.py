"""Measured outputs that are kept: where the machine was too busy to judge what was measured, a notebook shows the
measurements of an earlier build.

A cell is *measured* if it is tagged `nbval-ignore-output`, calls `judge`, or shows what such a cell gave a name; not
if it is tagged `nbval-check-output`, and so the same everywhere.
"""

import ast
import dis
from dataclasses import dataclass, replace
from types import CodeType

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

RUNS = 3
"""How often a notebook is executed until every judge says that its claim holds on a quiet machine."""

CHANGES = {"add", "append", "extend", "insert", "update"}
"""Methods that change their object."""


@dataclass(frozen=True)
class Names:
    """What a cell reads that others gave a name, what it names or changes in place, what it imports; does it judge?"""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset()
    judges: bool = False


def measured(nb: nbformat.NotebookNode) -> list[int]:
    """The index of each measured cell: a table, its plot and its judge among them."""
    live, found = set(), []
    for index, cell, names in _code(nb):
        tags = cell.metadata.get("tags", [])
        reads = bool(names.reads & live) and "nbval-check-output" not in tags
        if reads or names.judges or "nbval-ignore-output" in tags:
            found.append(index)
            live |= names.writes | names.changes
        else:
            live -= names.writes
    return found


def kept(new: nbformat.NotebookNode, stored: nbformat.NotebookNode | None) -> nbformat.NotebookNode | None:
    """A copy of `new` with all measured outputs of `stored`, and their date; None where it has none that a quiet
    machine made, or where a measured cell, or one that it builds upon, was another one.
    """
    date = stored.metadata.get("course", {}).get("measured") if stored else None
    if not date or _sources(new) != _sources(stored):
        return None
    new = nbformat.from_dict(new)
    for index, before in zip(measured(new), measured(stored), strict=True):
        new.cells[index].outputs = stored.cells[before].outputs
    new.metadata.course.measured = date
    return new


def _sources(nb: nbformat.NotebookNode) -> list[tuple[bool, str]]:
    """The measured cells and those before them that made what they read: whether measured, and the source."""
    shown, wanted, found = set(measured(nb)), set(), []
    for index, cell, names in reversed(_code(nb)):
        if index in shown or wanted & (names.writes | names.changes):
            found.append((index in shown, cell.source))
            wanted = wanted - names.writes | names.reads
    return found


def _code(nb: nbformat.NotebookNode) -> list[tuple[int, nbformat.NotebookNode, Names]]:
    cells = [(index, cell) for index, cell in enumerate(nb.cells) if cell.cell_type == "code"]
    named = [_names(cell.source) for _, cell in cells]
    modules = frozenset().union(*(each.imports for each in named))  # torch.add(…) changes no torch
    return [
        (index, cell, replace(each, changes=each.changes - modules))
        for (index, cell), each in zip(cells, named, strict=True)
    ]


def _names(source: str) -> Names:
    """The names of a cell; what it imports is not among what it names, because no import measures."""
    try:
        tree = ast.parse(TransformerManager().transform_cell(source))
        code = compile(tree, "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError:  # a cell that shows one on purpose
        return Names()
    reads, writes, changes, imports, judges = set(), set(), set(), set(), False
    for step in dis.get_instructions(code):
        if step.opname == "STORE_NAME":
            writes.add(step.argval)
        elif step.opname == "LOAD_NAME" and step.argval not in writes:
            reads.add(step.argval)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            imports |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.Subscript, ast.Attribute)):
            method = getattr(node, "attr", "")
            judges = judges or method == "judge"
            if method in CHANGES or not isinstance(node.ctx, ast.Load):
                changes.add(_root(node.value))
    reads |= _globals(code) - writes
    return Names(*map(frozenset, (reads, writes - imports, changes, imports)), judges)


def _globals(code: CodeType) -> set[str]:
    """The globals that the functions of a cell read."""
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    own = {step.argval for each in inner for step in dis.get_instructions(each) if step.opname == "LOAD_GLOBAL"}
    return own.union(*map(_globals, inner))


def _root(node: ast.AST) -> str:
    """`x` of `x.y[0].z`."""
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""
