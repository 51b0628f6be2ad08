"""A student's cells as Python, and which of their statements the answers need.

Cells are read as IPython reads them: its own transformer, and the magics whose text is Python. `%%time` on top of a
cell leaves the cell's names behind, as it does in a notebook; `!ls`, `f?` and all other magics become calls of
`get_ipython()`, which stands for nothing in a graded run.

An answer may use `ceil` of the first cell, or a helper that the student wrote in a cell of their own. Running every
cell would cost the time of every experiment in them, so only the statements run that bind a name which the answers
use, directly or through other such statements. What this leaves out and an answer needs all the same (a star import, a
table that a call fills) is found where the notebook runs whole. All this reads the student's code, so it runs where
that code runs.
"""

import __future__

import ast
import re
from collections.abc import Sequence

from IPython.core.inputtransformer2 import TransformerManager

PYTHON = {"capture", "prun", "time"}
"""Magics that run their text in the notebook itself."""

OPTIONS = re.compile(r"^\s*(-[qr]\s+|-[lsTD]\s*\S+\s+)*")
"""What may stand before the Python of `%prun`."""

FILES = {"file", "writefile"}
"""Magics that write a cell to a file."""

SETTINGS = {"env", "set_env"}
"""Magics that set a variable of the environment, where their text is `NAME=value` or `NAME value`."""


def parsed(source: str) -> ast.Module:
    """The statements of a cell. Raises `SyntaxError`, and what `ast.parse` raises for a text that is no program."""
    return ast.fix_missing_locations(_Magics().visit(ast.parse(TransformerManager().transform_cell(source))))


def features(tree: ast.Module) -> int:
    """The flags of `compile` that the `from __future__ import …` of a cell asks for, as IPython keeps them."""
    asked = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    names = [alias.name for one in asked for alias in one.names if alias.name in __future__.all_feature_names]
    return sum({getattr(__future__, name).compiler_flag for name in names})


class _Magics(ast.NodeTransformer):
    """Puts the Python of a magic in the place of its call."""

    def visit_Expr(self, node: ast.Expr):
        name, text = _magic(node.value)
        if name in PYTHON:
            statements = parsed(text).body or [ast.Pass()]
            return [ast.increment_lineno(one, node.lineno) for one in statements]
        if name in FILES and (place := node.value.args[1].value.split()):
            mode = "a" if place[0] in ("-a", "--append") else "w"
            return ast.parse(f"open({place[-1]!r}, {mode!r}).write({text!r})").body
        if name == "run" and (files := [word for word in text.split() if word.endswith(".py")]):
            return ast.parse(f"exec(open({files[0]!r}).read(), globals())").body
        if name in SETTINGS and (setting := re.fullmatch(r"(\w+)(?:=| +)(.+)", text.strip())):
            return ast.parse(f"__import__('os').environ[{setting[1]!r}] = {setting[2].strip()!r}").body
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call):
        name, text = _magic(node)
        return ast.parse(text.strip(), mode="eval").body if name in PYTHON else self.generic_visit(node)


def _magic(node: ast.expr) -> tuple[str, str]:
    """The name of the magic that a call of IPython's runs, and its text; two empty texts for all else."""
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Name("get_ipython")), attr="run_cell_magic" | "run_line_magic"),
            args=[ast.Constant(str(name)), ast.Constant(str(line)), *rest],
        ):
            match rest:
                case []:
                    return name, OPTIONS.sub("", line) if name == "prun" else line
                case [ast.Constant(str(text))]:
                    return name, text
    return "", ""


def needed(answers: Sequence[str], others: Sequence[str]) -> list[ast.stmt]:
    """The statements of `others` that bind a name which `answers` use, in their order; cells that do not parse are
    left out.
    """
    statements = [statement for source in others for statement in _statements(source)]
    wanted = {name for source in answers for statement in _statements(source) for name in _used(statement)}
    kept: set[int] = set()
    while True:
        more = {i for i, one in enumerate(statements) if i not in kept and _bound(one) & wanted}
        if not more:
            return [statements[i] for i in sorted(kept)]
        kept |= more
        wanted |= {name for i in more for name in _used(statements[i])}


def _statements(source: str) -> list[ast.stmt]:
    try:
        return parsed(source).body
    except Exception:  # IPython's own too: it gives up where a cell has hundreds of magics
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
