"""The core path of a lesson and its deeper sections: what each holds, and how many minutes it takes by one rule.

A deeper section begins with a markdown cell that is folded when the notebook is opened and whose first line is
`## Deeper: …`; it ends before the next cell that begins with a heading of level 1 or 2. All else is the core path.
"""

import ast
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tools.source import Cell, Page, called, fences

FOLDED = "jp-MarkdownHeadingCollapsed"
DEEPER = "## Deeper: "
TURN = "your-turn"
"""The tag of a cell in which the learner writes one line."""

STATED = re.compile(r"^\*Difficulty [1-5] of 5\. (\d+) minutes?\. .+\*$", re.MULTILINE)
"""The line below the heading of an exercise."""

HEADING = re.compile(r"(#{1,2}) +(.+)")
FIELD = re.compile(r"\{\{.+?\}\}")
WORD = re.compile(r"\w+")
CONTROLS = {"Choice", "Flag", "Number", "View", "Whole", "interact"}
"""Names of `explore` that show no explorer of their own; `interact` is part of a your-turn."""


@dataclass(frozen=True)
class Section:
    """The core path, which has no heading, or a deeper section: its cells in order."""

    heading: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Counts:
    """What decides how long some cells take."""

    words: int
    code: int
    cards: int
    turns: int
    explorers: int

    @property
    def minutes(self) -> float:
        """The course's estimate: nobody was timed."""
        return self.words / 180 + 0.5 * self.code + 1.5 * self.cards + 4 * self.turns + 5 * self.explorers


@dataclass(frozen=True)
class Times:
    """Minutes of a unit: of its core path, of its deeper sections and of its exercises; `cells` says for each cell of
    the lesson how long its own section takes.
    """

    core: int
    deeper: int
    exercises: int
    cells: tuple[int, ...]


def sections(page: Page) -> tuple[Section, ...]:
    """The core path, and after it each deeper section."""
    core, deeper, current = [], [], None
    for cell in page.cells:
        if begins_deeper(cell):
            deeper.append((cell.node.source.splitlines()[0].removeprefix(DEEPER), current := []))
        elif heading(cell):
            current = None
        (core if current is None else current).append(cell)
    return Section("", tuple(core)), *(Section(title, tuple(cells)) for title, cells in deeper)


def folded(page: Page) -> dict[int, int]:
    """Line of each cell below the heading of a deeper section -> line of that heading's cell."""
    deeper = (section.cells for section in sections(page)[1:])
    return {cell.line: head.line for head, *below in deeper for cell in below}


def begins_deeper(cell: Cell) -> bool:
    return bool(cell.node.metadata.get(FOLDED)) and cell.node.source.startswith(DEEPER)


def heading(cell: Cell) -> str:
    """The heading of level 1 or 2 with which a cell begins; empty for any other cell."""
    found = None if cell.is_code else HEADING.match(cell.node.source)
    return found[2].strip() if found else ""


def words(cells: Sequence[Cell]) -> int:
    """Runs of letters and digits in all Markdown, whatever it is: formulas, tables, links, tags and folded solutions
    too, so that nobody counts more. A `{{field}}` is a number with a point, which is two.
    """
    return sum(len(WORD.findall(FIELD.sub("0.0", cell.node.source))) for cell in cells if not cell.is_code)


def prose_lines(text: str) -> list[str]:
    """The lines of a Markdown text, those of its fences empty."""
    lines = text.splitlines()
    for start, end, _ in fences(text)[0]:
        lines[start - 1 : end] = [""] * (end - start + 1)
    return lines


def counts(cells: Sequence[Cell]) -> Counts:
    """What decides the minutes of these cells; of code that is no Python nothing but the cell counts."""
    code = [cell for cell in cells if cell.is_code]
    return Counts(
        words(cells),
        len(code),
        sum(called(call) == "card" for cell in code for call in calls(cell)),
        sum(TURN in cell.tags for cell in code),
        sum(map(_shows_explorer, code)),
    )


def calls(cell: Cell) -> Iterator[ast.Call]:
    """The calls in a code cell, in the order of the text."""
    try:
        tree = cell.syntax()
    except SyntaxError:  # on purpose, or the lint says so
        return iter(())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return iter(sorted(found, key=lambda call: (call.lineno, call.col_offset)))


def _shows_explorer(cell: Cell) -> bool:
    """Whether a cell ends in `explore.roofline(…)`, `explore.build(…)` or a call of its unit's `explorer`: what is
    computed with a function of these modules on the way, or assigned, shows none.
    """
    try:
        shown = cell.syntax().body[-1:]
    except SyntaxError:  # as in `calls`
        return False
    call = shown[0].value if shown and isinstance(shown[0], ast.Expr) else None
    of = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return isinstance(of, ast.Name) and of.id in ("explore", "explorer") and called(call) not in CONTROLS


def stated(cell: Cell) -> int | None:
    """The minutes that the heading block of an exercise states; None in a cell that states none."""
    found = None if cell.is_code else STATED.search(cell.node.source)
    return int(found[1]) if found else None


def times(lesson: Page, exercises: Page | None) -> Times:
    """The minutes of a unit: of the core to the nearest five, of a deeper section to whole ones, at least two."""
    core, *deeper = sections(lesson)
    minutes = max(5, 5 * _nearest(counts(core.cells).minutes / 5))
    taken = [max(2, _nearest(counts(section.cells).minutes)) for section in deeper]
    own = {cell.line: each for section, each in zip(deeper, taken, strict=True) for cell in section.cells}
    total = sum(filter(None, map(stated, exercises.cells))) if exercises else 0
    return Times(minutes, sum(taken), total, tuple(own.get(cell.line, minutes) for cell in lesson.cells))


def _nearest(value: float) -> int:
    """The nearest whole number, halves upwards: `round` would take 2.5 to 2."""
    return math.floor(value + 0.5)


def fill(text: str, taken: Times, minutes: int) -> str:
    """The text of a cell whose section takes `minutes`, with the minutes that it asks for."""
    fields = {"{{minutes}}": minutes, "{{deeper}}": taken.deeper, "{{exercises}}": taken.exercises}
    for field, value in fields.items():
        text = text.replace(field, str(value))
    return text
