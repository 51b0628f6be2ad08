"""Every your-turn: its check says "not done yet" to the cell as it is shipped, and "right" to the way to write it; the
lesson runs with either.
"""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from course_lib.teaching.checks.check_texts import say
from tools import keep
from tools.build import lesson_notebooks
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
    return ["".join(_texts(cell)) for cell in cells]


@pytest.mark.parametrize("unit", TURNS)
def test_as_shipped_it_is_not_done_yet_and_the_lesson_runs(unit):
    """The build has executed it."""
    stored = nbformat.read(ROOT / "notebooks" / f"{unit}.ipynb", as_version=4)
    texts = said(stored, unit)
    assert len(texts) == len(TURNS[unit])
    assert [text for text in texts if not text.startswith(UNDONE)] == []


@pytest.mark.slow
@pytest.mark.parametrize("unit", TURNS)
def test_the_way_to_write_it_is_right_and_the_lesson_runs(unit, tmp_path):
    """All but what is measured, and what reads that: it needs a quiet machine, and no your-turn may need it."""
    page, nb = read_page(ROOT / "lessons" / unit / "lesson.md", ROOT), lesson_notebooks(ROOT, [unit])[unit]
    answers, measured = {turn.cell.line: turn.answered for turn in TURNS[unit]}, keep.measured(nb)
    cells = [
        nbformat.v4.new_code_cell(answers.get(cell.line, cell.node.source), metadata={"line": cell.line})
        for index, cell in enumerate(page.cells)
        if cell.is_code and index not in measured
    ]
    done = nbformat.v4.new_notebook(cells=cells)
    options = {"timeout": 600, "kernel_name": "python3", "allow_errors": True}
    client = NotebookClient(done, resources={"metadata": {"path": str(tmp_path)}}, **options)
    client.execute(env={**os.environ, "COURSE_STATIC": "1", "COURSE_HOME": str(tmp_path)})
    errors = [output for cell in done.cells for output in cell.outputs if output.output_type == "error"]
    assert [error.evalue for error in errors if error.ename != "NameError"] == []
    shown = {cell.metadata.line: "".join(_texts(cell)) for cell in done.cells}
    assert answers.keys() <= shown.keys(), "no your-turn depends on what is measured"
    assert [shown[line] for line in answers if not shown[line].startswith(RIGHT)] == []
    unwritten = [text for text in shown.values() if re.match(r"Write \w+\(…\) first", text)]
    assert unwritten == [], "each function under sliders gives a value"


def _texts(cell) -> list[str]:
    return [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
