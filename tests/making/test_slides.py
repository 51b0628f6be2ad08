"""Slides of a lesson hold the cells that its author marked for them, and no other."""

import re
from pathlib import Path

import nbformat
import pytest

from tools.build import lesson_notebooks
from tools.source import read_page

ROOT = Path(__file__).resolve().parents[2]
UNITS = sorted(path.parent.name for path in (ROOT / "lessons").glob("*/lesson.md"))


@pytest.fixture(scope="module")
def notebooks():
    return lesson_notebooks(ROOT)


def slides(nb: nbformat.NotebookNode) -> str:
    """The page that `jupyter nbconvert --to slides` makes."""
    from nbconvert import SlidesExporter

    return SlidesExporter().from_notebook_node(nb)[0]


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("unit", UNITS)
def test_slides_hold_the_marked_cells_only(notebooks, unit):
    cells = read_page(ROOT / "lessons" / unit / "lesson.md", ROOT).cells
    marked = [number for number, cell in enumerate(cells) if "slideshow" in cell.node.metadata]
    nb = nbformat.from_dict(notebooks[unit])
    if not marked:  # not shown to a class
        assert {cell.metadata.slideshow.slide_type for cell in nb.cells} == {"skip"}
        return
    for number, cell in enumerate(nb.cells):
        cell.source = f"Cell{number}Ofall"
    shown = re.findall(r"Cell(\d+)Ofall", slides(nb))
    assert sorted(set(map(int, shown))) == marked
    assert len(marked) < len(cells)


@pytest.mark.parametrize("unit", UNITS)
def test_a_lesson_has_slides_and_begins_with_one(notebooks, unit):
    if notebooks[unit].metadata.course.minutes < 40:
        pytest.skip("no lesson for a lecture")
    kinds = [cell.metadata.slideshow.slide_type for cell in notebooks[unit].cells]
    assert kinds[0] == "slide"
    assert kinds.count("slide") >= 5
    assert set(kinds) <= {"slide", "subslide", "notes", "skip"}, "a fragment would share the page of the cell before it"
    assert 20 <= len(kinds) - kinds.count("skip") <= 36, "20 minutes"


def test_marked_or_not_is_part_of_what_the_build_makes(toy):
    toy.edit("lesson.md", '+++ {"cid": "q99-why"}', '+++ {"cid": "q99-why", "slideshow": {"slide_type": "slide"}}')
    (nb,) = lesson_notebooks(toy.root).values()
    assert [cell.metadata.slideshow.slide_type for cell in nb.cells if cell.id == "q99-why"] == ["slide"]
    assert [cell.metadata.slideshow.slide_type for cell in nb.cells if cell.id != "q99-why"] == ["skip"] * 6
