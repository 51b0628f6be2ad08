"""A unit with one exercise of each kind, and submissions to it."""

import copy
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from course_lib.grading.intake.intake import submission
from course_lib.grading.intake.task import Task
from tools.build import derived

UNIT = "q98_toy"
FRONT = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
course:
  unit: q98_toy
  title: Exercises for a toy
---
"""
CELL = """
```{{code-cell}} ipython3
---
nbgrader: {{grade: {grade}, grade_id: {id}, locked: {grade}, {points}schema_version: 3, solution: {answer},
  task: false}}
---
{source}
```
"""
TEXT = """
## 5. Why?

Say why.

+++ {"nbgrader": {META}}

<!-- BEGIN SOLUTION -->
Because of the bus.
<!-- END SOLUTION -->
""".replace(
    "META",
    '"grade": true, "grade_id": "q98-why", "locked": false, "points": 3, "schema_version": 3, "solution": true, '
    '"task": false',
)
SOLVED = {
    "q98-twice": "def twice(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION",
    "q98-share": "def share(n, m):\n    ### BEGIN SOLUTION\n    return n / m\n    ### END SOLUTION",
    "q98-bandwidth": "bandwidth = None  # a text with number and unit\n### BEGIN SOLUTION\n"
    'bandwidth = "3350 GB/s"\n### END SOLUTION',
    "q98-pieces": "def pieces(n, size):\n    ### BEGIN SOLUTION\n    return ceil(n / size)\n    ### END SOLUTION",
}
CHECKED = {"q98-twice": 2, "q98-share": 3, "q98-bandwidth": 1, "q98-pieces": 2}
CHECKS = """
from math import ceil

from course_lib.teaching.checks.check import Check


def _twice(x):
    return 2 * x


def _squared(x):
    return x * x


def _share(n, m):
    return n / m


def _undivided(n, m):
    return n


def _bandwidth():
    return 3.35


def _thousandfold():
    return 3350


def _pieces(n, size):
    return ceil(n / size)


CHECKS = [
    Check(id="q98.twice", points=2, signature="twice(x)", public=[(3,), (5.5,)], reference=_twice,
          generate=lambda rng: (rng.randint(10_000, 99_999),), wrong={"squared": _squared}),
    Check(id="q98.share", points=3, signature="share(n, m)", groups={"one card": 1, "several cards": 2},
          public={"one card": [(5, 1)], "several cards": [(6, 4)]}, reference=_share,
          generate=lambda rng, group: (rng.randint(10, 99), 1 if group == "one card" else rng.randint(2, 9)),
          wrong={"undivided": _undivided}),
    Check(id="q98.bandwidth", points=1, signature="bandwidth", unit="TB/s", reference=_bandwidth,
          wrong={"GB for TB": _thousandfold}),
    Check(id="q98.pieces", points=2, signature="pieces(n, size)", public=[(7, 2), (8, 4)], reference=_pieces,
          generate=lambda rng: (rng.randint(100, 999), rng.randint(2, 9))),
    Check(id="q98.turn-twice", points=0, signature="twice(x)", public=[(3,)], reference=_twice,
          generate=lambda rng: (rng.randint(10, 99),)),
]
"""
WORDS = """
[twice.wrong]
squared = "You squared it."

[share.wrong]
undivided = "Divide by the cards."

[bandwidth.wrong]
"GB for TB" = "That many GB/s, or TB/s?"
"""


def write_unit(root: Path) -> None:
    """The sources of the unit, and all that is built from them."""
    unit = root / "lessons" / UNIT
    unit.mkdir(parents=True)
    (unit / "lesson.md").write_text(FRONT + "\n# A toy\n\n```{code-cell} ipython3\nimport math\n```\n")
    page = (
        FRONT + "\n# Exercises\n\n```{code-cell} ipython3\nfrom math import ceil\n\nfrom course_lib import check\n```\n"
    )
    for number, (id, source) in enumerate(SOLVED.items(), 1):
        name = id.removeprefix("q98-")
        page += f"\n## {number}. The {name}\n\n**Deliverable**: {name}.\n"
        page += CELL.format(grade="false", id=id, points="", answer="true", source=source)
        check, points = f'check("q98.{name}", {name})', f"points: {CHECKED[id]}, "
        page += CELL.format(grade="true", id=f"{id}-check", points=points, answer="false", source=check)
    (unit / "exercises.md").write_text(page + TEXT)
    (unit / "checks.py").write_text(CHECKS)
    (unit / "checks.toml").write_text(WORDS)
    for path, content in derived(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


RIGHT = {
    "q98-twice": "def twice(x):\n    return 2 * x",
    "q98-share": "def share(n, m):\n    return n / m",
    "q98-bandwidth": 'bandwidth = "3.35 TB/s"',
    "q98-pieces": "def pieces(n, size):\n    return ceil(n / size)",
    "q98-why": "The bus.",
}
FULL = {"q98.twice": 2, "q98.share": 3, "q98.bandwidth": 1, "q98.pieces": 2}
NOTHING = dict.fromkeys(FULL, 0)


def grade_id(cell: Mapping) -> str | None:
    return cell["metadata"].get("nbgrader", {}).get("grade_id")


class HandedIn:
    """A folder of submissions to the unit, beside which the gradebook will lie."""

    def __init__(self, root: Path, folder: Path):
        self.root, self.folder, self.submitted = root, folder, folder / "submitted"
        self.submitted.mkdir(parents=True)
        self.roster = folder / "roster.csv"
        self.released = json.loads((root / "exercises" / UNIT / f"{UNIT}.ipynb").read_text())

    def enrol(self, *students: str) -> None:
        self.roster.write_text("\n".join(["student,first_name,last_name", *(f"{id},Ada,{id}" for id in students)]))

    def notebook(self, answers: Mapping[str, str] = RIGHT, edit: Callable | None = None) -> dict:
        nb = copy.deepcopy(self.released)
        for cell in nb["cells"]:
            if grade_id(cell) in answers:
                cell["source"] = answers[grade_id(cell)]
        return (edit(nb) or nb) if edit else nb

    def path(self, student: str) -> Path:
        path = self.submitted / student / UNIT / f"{UNIT}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def digest(self, student: str) -> str:
        """Of what was handed in, with which the hidden inputs are drawn."""
        return submission(self.submitted, student, student, Task.load(self.root, UNIT)).digest

    def submit(self, student: str, answers: Mapping[str, str] = RIGHT, edit: Callable | None = None) -> Path:
        path = self.path(student)
        path.write_text(json.dumps(self.notebook(answers, edit), indent=1))
        return path
