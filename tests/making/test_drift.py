"""The drift check: each kind of edit to what is built turns it red, and names the file."""

import nbformat
import pytest

from tools.build import build, drift, main

NOTEBOOK = "notebooks/q99_toy.ipynb"
EXERCISES = "exercises/q99_toy/q99_toy.ipynb"
DATA = ("notebooks/q99_toy.json", "exercises/q99_toy/checks.json")


def test_a_fresh_build_has_no_drift(built):
    assert drift(built.root) == []


def edit_notebook(path, change):
    nb = nbformat.read(path, as_version=4)
    change(nb)
    nbformat.write(nb, path)


def set_source(nb):
    nb.cells[0].source += "!"


def set_metadata(nb):
    nb.cells[0].metadata["slideshow"] = {"slide_type": "slide"}


def set_course(nb):
    nb.metadata.course.minutes += 1


def set_id(nb):
    nb.cells[0].id = "another"


def drop_cell(nb):
    del nb.cells[-1]


def solve(nb):
    cell = next(cell for cell in nb.cells if "NotImplementedError" in cell.source)
    cell.source = cell.source.replace("raise NotImplementedError()", "return 2 * x")


@pytest.mark.parametrize("change", [set_source, set_metadata, set_course, set_id, drop_cell])
@pytest.mark.parametrize("path", [NOTEBOOK, "solutions/q99_toy/q99_toy.ipynb", "exercises/q99_toy/q99_toy.ipynb"])
def test_an_edited_notebook(built, path, change):
    edit_notebook(built.root / path, change)
    found = drift(built.root)
    assert len(found) == 1
    assert found[0].startswith(f"{path}: ")


def test_a_solution_line_in_the_exercises(built):
    edit_notebook(built.root / "exercises" / "q99_toy" / "q99_toy.ipynb", solve)
    assert [line.split(":")[0] for line in drift(built.root)] == ["exercises/q99_toy/q99_toy.ipynb"]


def test_outputs_are_no_drift(built):
    def other_output(nb):
        nb.cells[3].outputs = []

    edit_notebook(built.notebook, other_output)
    assert drift(built.root) == []


@pytest.mark.parametrize("path", [NOTEBOOK, EXERCISES, *DATA])
def test_a_missing_file(built, path):
    (built.root / path).unlink()
    assert drift(built.root) == [f"{path}: missing; run `make build`"]


@pytest.mark.parametrize(
    "path", ["notebooks/q98_gone.ipynb", "exercises/q99_toy/notes.txt", "exercises/q99_toy/checks.py"]
)
def test_a_file_that_no_lesson_makes(built, path):
    (built.root / path).write_text("x")
    assert drift(built.root) == [f"{path}: no lesson makes this file; remove it"]


def test_a_changed_source(built, capsys):
    built.edit("cards.toml", "How many?", "How much?")
    assert main(["--check"], built.root) == 1
    said = capsys.readouterr().err
    assert said == f"{NOTEBOOK}: its outputs are stale: lessons/q99_toy/cards.toml changed; run `make build`\n"


def test_a_changed_check(built):
    built.edit("checks.py", "(5.5,)", "(6.5,)")
    assert drift(built.root) == ["exercises/q99_toy/checks.json: differs from what lessons/ makes; run `make build`"]


def test_the_readme_maps_the_units(built):
    """The map is written anew; what people wrote around it stays."""
    lesson = built.unit / "lesson.md"
    lesson.write_text(lesson.read_text().replace("  title: A toy", "  title: A toy\n  part: Z. Toys", 1))
    readme = built.root / "README.md"
    readme.write_text("Before.\n<!-- units: here -->\nold\n<!-- end of units -->\nAfter.\n")
    assert "README.md: differs from what lessons/ makes; run `make build`" in drift(built.root)
    build(built.root)
    assert "README.md" not in str(drift(built.root))
    text = readme.read_text()
    assert "| Z. Toys | **A toy** | [**open**](notebooks/q99_toy.ipynb) | 5 min | – | 10 min |" in text
    assert text.startswith("Before.\n<!-- units: here -->\n| part |")
    assert text.endswith("|\n<!-- end of units -->\nAfter.\n")
