"""A small course of one unit in a temporary folder: what the build and the lint are tried on."""

import shutil
from pathlib import Path

import pytest

from tools.build import build

LESSON = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
course:
  unit: q99_toy
  title: A toy
---

# A toy

```{code-cell} ipython3
import math
```

+++ {"cid": "q99-why"}

Why twice? ![a circle](circle.svg)

```{code-cell} ipython3
:tags: [nbval-check-output]

print(2 * math.floor(1.5), flush=True)
print("twice")
```

```{code-cell} ipython3
2 + 2
```

The same cell again:

```{code-cell} ipython3
2 + 2
```
"""

TEXT_CELL = (
    '"grade": true, "grade_id": "q99-why", "locked": false, "points": 1, "schema_version": 3, "solution": true, '
    '"task": false'
)
EXERCISES = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
course:
  unit: q99_toy
  title: Exercises for a toy
---

# Exercises

```{code-cell} ipython3
from course_lib import check
```

## 1. Twice

*Difficulty 1 of 5. 10 minutes. 3 points.*

**Deliverable**: `twice(x)` returns 2x.

```{code-cell} ipython3
---
nbgrader: {grade: false, grade_id: q99-twice, locked: false, schema_version: 3, solution: true, task: false}
---
def twice(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

```{code-cell} ipython3
---
nbgrader: {grade: true, grade_id: q99-twice-check, locked: true, points: 2, schema_version: 3, solution: false,
  task: false}
---
check("q99.twice", twice)
```

Say why.

+++ {"nbgrader": {TEXT_CELL}}

<!-- BEGIN SOLUTION -->
Two of them. Marking: 1 point for the idea.
<!-- END SOLUTION -->
""".replace("TEXT_CELL", TEXT_CELL)

CARDS = """\
[how-many]
kind = "number"
prompt = "How many?"
unit = ""
tolerance = 0.1

[it-is-two]
kind = "claim"
claim = "It is two."
corrected = "It is two, give or take nothing."
because = "Counted {times:.0f} times."

[it-is-two.evidence]
"two ÷ one" = "{ratio:.1f}"
"""

TRUTHS = """\
def how_many():
    return 2.0
"""

CLAIMS = """\
from course_lib.teaching.cards.verdict import Verdict


def it_is_two():
    return Verdict("holds", times=2, ratio=2.0)
"""

LEDGER = """\
it-is-two = "holds"  # counted
how-many = 2  # counted
"""

CHECKS = """\
from course_lib.teaching.checks.check import Check


def _twice(x):
    return 2 * x


def _squared(x):
    return x * x


CHECKS = [
    Check(
        id="q99.twice",
        points=2,
        signature="twice(x)",
        public=[(3,), (5.5,)],
        generate=lambda rng: (rng.randint(3, 99),),
        reference=_twice,
        wrong={"squared": _squared},
    ),
]
"""

WORDS = """\
[twice]
insight = "Twice is not squared."

[twice.wrong]
"squared" = "You squared it."
"""


class Toy:
    """The toy course; `edit` replaces text in one of its files and returns the line where that text began."""

    def __init__(self, root: Path):
        self.root = root
        self.unit = root / "lessons" / "q99_toy"
        self.unit.mkdir(parents=True, exist_ok=True)
        texts = {"lesson.md": LESSON, "exercises.md": EXERCISES, "cards.toml": CARDS, "truths.py": TRUTHS}
        texts |= {
            "claims.py": CLAIMS,
            "checks.py": CHECKS,
            "checks.toml": WORDS,
            "ledger.toml": LEDGER,
            "teaching.md": "# Plans\n",
        }
        for name, text in texts.items():
            (self.unit / name).write_text(text)

    def edit(self, name: str, old: str, new: str) -> int:
        path = self.unit / name
        text = path.read_text()
        assert text.count(old) >= 1, f"{old!r} is not in {name}"
        path.write_text(text.replace(old, new, 1))
        return text[: text.index(old)].count("\n") + 1

    @property
    def notebook(self) -> Path:
        return self.root / "notebooks" / "q99_toy.ipynb"


@pytest.fixture
def toy(tmp_path) -> Toy:
    return Toy(tmp_path / "course")


@pytest.fixture(scope="session")
def built_once(tmp_path_factory) -> Path:
    toy = Toy(tmp_path_factory.mktemp("built") / "course")
    assert build(toy.root) == ["q99_toy"]
    return toy.root


@pytest.fixture
def built(built_once, tmp_path) -> Toy:
    """A toy course that was built (in another folder: nothing built may depend on where)."""
    shutil.copytree(built_once, tmp_path / "course")
    return Toy(tmp_path / "course")
