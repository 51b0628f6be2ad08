"""Your turn: a cell of a lesson in which the learner writes one line, its check of no points, and an answer to it."""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from course_lib.teaching.checks.check import Check
from tools.core_path import TURN, calls
from tools.source import Cell, Page, called

ANSWER = re.compile(
    r"<details><summary>One way to write it</summary>\n\n```python\n(?P<code>.*?)\n```\n\n</details>", re.DOTALL
)
HOW = (
    "the markdown cell after a your-turn holds `<details><summary>One way to write it</summary>`, an empty line, the "
    "whole function in a ```python fence, an empty line, `</details>`"
)
FORM = 'a your-turn ends with check("id", function), about a function that the same cell defines'


@dataclass(frozen=True)
class Turn:
    """A cell tagged `your-turn`: the check and the name of the function with which it ends, and one way to write it;
    each empty where it is missing.
    """

    cell: Cell
    check: str
    function: str
    answer: str

    @property
    def answered(self) -> str:
        """The source of the cell with the line written."""
        return f'{self.answer}\n\n\ncheck("{self.check}", {self.function})'


def turns(page: Page) -> list[Turn]:
    """The your-turn cells of a lesson, in order."""
    after = [*page.cells[1:], None]
    pairs = zip(page.cells, after, strict=True)
    return [Turn(cell, *_checked(cell), _answer(below)) for cell, below in pairs if cell.is_code and TURN in cell.tags]


def _checked(cell: Cell) -> tuple[str, str]:
    """The id and the function in the check with which a cell ends."""
    try:
        last = cell.syntax().body[-1]
    except (SyntaxError, IndexError):
        return "", ""
    match last:
        case ast.Expr(ast.Call(ast.Name("check"), [ast.Constant(str(id)), ast.Name(name)], [])):
            return id, name
    return "", ""


def _answer(cell: Cell | None) -> str:
    found = None if cell is None or cell.is_code else ANSWER.search(cell.node.source)
    return found["code"] if found else ""


def faults(page: Page, own: Sequence[Check]) -> Iterator[tuple[int, str]]:
    """What is wrong with the your-turns of a lesson, as (line, message): their form, and checks of no points that stand
    in none of them or in two.
    """
    free, seen = {check.id: check for check in own if not check.points}, {}
    for turn in turns(page):
        line = turn.cell.source_line
        yield from ((line, message) for message in _form(turn))
        if not turn.check:
            continue
        if turn.check in seen:
            yield line, f"check {turn.check!r} already stands in the your-turn of line {seen[turn.check]}"
        seen.setdefault(turn.check, line)
        if turn.check not in free:
            yield line, f"a your-turn has a check of this unit with points=0, which {turn.check!r} is not"
        elif turn.function != free[turn.check].name:
            yield line, f"check {turn.check!r} is about {free[turn.check].name!r}, not {turn.function!r}"
    for cell in page.cells:
        if cell.is_code and TURN not in cell.tags:
            for call in calls(cell):
                if called(call) == "check":
                    yield cell.line_of(call), f"check() stands in cells tagged {TURN} only, and in exercises.md"
    for id in free.keys() - seen.keys():
        yield 1, f"check {id!r} has no points, so a cell tagged {TURN} must end with it; none does"


def _form(turn: Turn) -> Iterator[str]:
    try:
        tree = turn.cell.syntax()
    except SyntaxError:  # reported as such
        return
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    if turn.function not in defined:
        yield FORM
    if (open_ := len(_dots(tree))) != 1:
        yield f"a your-turn leaves one line to write, as `...`; here are {open_}"
    if any(isinstance(node, ast.Expr) and node.value in _dots(node) for node in ast.walk(tree)):
        yield "write `return ...` or `name = ...`: a line of `...` alone does nothing, and the function returns None"
    if not turn.answer:
        yield HOW
    elif fault := _answer_fault(turn):
        yield fault


def _dots(tree: ast.AST) -> list[ast.Constant]:
    """Every `...` but those that index a tensor."""
    index = {id(node) for each in ast.walk(tree) if isinstance(each, ast.Subscript) for node in ast.walk(each.slice)}
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value is Ellipsis and id(node) not in index
    ]


def _answer_fault(turn: Turn) -> str:
    try:
        tree = ast.parse(turn.answer)
    except SyntaxError as error:
        return f"the way to write it is no Python: {error.msg}"
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return "" if turn.function in defined else f"the way to write it defines no function {turn.function!r}"
