"""Which of a notebook's other statements the answers need: imports and helpers yes, experiments no.

An answer may use `ceil` of the first cell, or a helper that the student wrote in a cell of their own. Running every
cell would cost the time of every experiment in them, so only the statements run that bind a name which the answers
use, directly or through other such statements. This reads the student's code, so it runs where that code runs.
Standard library only.
"""

import ast
from collections.abc import Sequence


def plain_code(source: str) -> str:
    """A cell without what only a notebook understands: lines of `%magic` and `!command`, and whole `%%cell` magics."""
    if source.lstrip().startswith("%%"):
        return ""
    lines = source.split("\n")
    return "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def needed(answers: Sequence[str], others: Sequence[str]) -> str:
    """The statements of `others` that bind a name which `answers` use, in their order; cells that do not parse are
    left out.
    """
    statements = [statement for source in others for statement in _statements(source)]
    wanted = {name for source in answers for statement in _statements(source) for name in _used(statement)}
    kept: set[int] = set()
    while True:
        more = {i for i, one in enumerate(statements) if i not in kept and _bound(one) & wanted}
        if not more:
            return "\n".join(ast.unparse(statements[i]) for i in sorted(kept))
        kept |= more
        wanted |= {name for i in more for name in _used(statements[i])}


def _statements(source: str) -> list[ast.stmt]:
    for text in (source, plain_code(source)):
        try:
            return ast.parse(text).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return []


def _used(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement sets in the notebook, or whose object it changes by an assignment to a part."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {statement.name}
    names = set()
    for node in ast.walk(statement):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            while isinstance(node, (ast.Attribute, ast.Subscript)):
                node = node.value
            names |= {node.id} if isinstance(node, ast.Name) else set()
    return names
