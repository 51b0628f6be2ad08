"""What a learner reads: the core path of each built notebook, with its fields filled and its hovers in it."""

import re
from pathlib import Path

import nbformat
import pytest

from tools.core_path import DEEPER, FOLDED
from tools.limits import PARTS, WORDS
from tools.source import read_page, units

ROOT = Path(__file__).resolve().parents[2]
LESSONS = [
    folder.name for folder in units(ROOT) if PARTS.match(str(read_page(folder / "lesson.md", ROOT).course.get("part")))
]


def core_text(nb) -> str:
    """All Markdown that does not start folded: a folded section ends before the next heading of level 1 or 2."""
    kept, folded = [], False
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            if re.match("##? ", cell.source):
                folded = FOLDED in cell.metadata and cell.source.startswith(DEEPER)
            if not folded:
                kept.append(cell.source)
    return "\n".join(kept)


@pytest.mark.parametrize("unit", LESSONS)
def test_the_core_as_built_keeps_to_its_words(unit):
    """Every run of letters and digits, in links, hovers, formulas and folded solutions too."""
    nb = nbformat.read(ROOT / "notebooks" / f"{unit}.ipynb", as_version=4)
    assert len(re.findall(r"\w+", core_text(nb))) <= WORDS


def test_there_are_lessons():
    assert len(LESSONS) >= 9
