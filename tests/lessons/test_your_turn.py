"""Every your-turn: its check says "not done yet" to the cell as it is shipped, and "right" to the way to write it; the
lesson runs with either.
"""

from pathlib import Path

import nbformat
import pytest

from course_lib.teaching.checks.check_texts import say
from tools.build import execute, lesson_notebooks
from tools.source import read_page, units
from tools.turns import turns

ROOT = Path(__file__).resolve().parents[2]
TURNS = {folder.name: found for folder in units(ROOT) if (found := turns(read_page(folder / "lesson.md", ROOT)))}
RIGHT, UNDONE = say("right_turn"), say("stub_dots", signature="|").partition("|")[0]


def said(nb: nbformat.NotebookNode, unit: str) -> list[str]:
    """What the checks in the your-turn cells of an executed notebook show, in order."""
    places = {turn.cell.line for turn in TURNS[unit]}
    lines = [cell.line for cell in read_page(ROOT / "lessons" / unit / "lesson.md", ROOT).cells]
    assert len(nb.cells) == len(lines), f"the notebook is older than its lesson: course build {unit}"
    cells = [cell for line, cell in zip(lines, nb.cells, strict=True) if line in places]
    return ["".join(output.get("data", {}).get("text/plain", "") for output in cell.outputs) for cell in cells]


@pytest.mark.parametrize("unit", TURNS)
def test_as_shipped_it_is_not_done_yet_and_the_lesson_runs(unit):
    """The build has executed it."""
    stored = nbformat.read(ROOT / "notebooks" / f"{unit}.ipynb", as_version=4)
    texts = said(stored, unit)
    assert len(texts) == len(TURNS[unit])
    assert [text for text in texts if not text.startswith(UNDONE)] == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", TURNS)
def test_the_way_to_write_it_is_right_and_the_lesson_runs(unit):
    nb = lesson_notebooks(ROOT, [unit])[unit]
    answers = {turn.cell.line: turn.answered for turn in TURNS[unit]}
    for cell, source in zip(nb.cells, read_page(ROOT / "lessons" / unit / "lesson.md", ROOT).cells, strict=True):
        cell.source = answers.get(source.line, cell.source)
    done = execute(nb, ROOT, unit)
    assert [text for text in said(done, unit) if not text.startswith(RIGHT)] == []
    shown = [output.get("data", {}).get("text/plain", "") for cell in done.cells for output in cell.get("outputs", ())]
    assert [text for text in shown if text.startswith("Write `")] == [], "each function under sliders gives a value"
