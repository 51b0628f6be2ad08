"""The build of a toy course: what it makes, that it makes the same twice, what it skips, and how it fails."""

import hashlib
import json
import os
import subprocess
import sys

import nbformat
import pytest

from tools import build as builder
from tools.build import BuildError, build, derived, lesson_notebooks, private
from tools.source import to_bytes


def snapshot(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def everything(root):
    return derived(root) | {unit: to_bytes(nb) for unit, nb in lesson_notebooks(root).items()}


def test_what_is_built(built):
    made = {path for path in snapshot(built.root) if not path.startswith(("lessons/", ".trials/"))}
    assert made == {
        "notebooks/q99_toy.ipynb",
        "notebooks/q99_toy.json",
        "solutions/q99_toy/q99_toy.ipynb",
        "exercises/q99_toy/q99_toy.ipynb",
        "exercises/q99_toy/checks.json",
    }
    about = json.loads((built.root / "notebooks/q99_toy.json").read_text())
    assert about == {"title": "A toy", "minutes": 5, "deeper": 0, "exercises": 10, "cells": {}}
    data = json.loads((built.root / "exercises/q99_toy/checks.json").read_text())
    chosen, drawn = data["q99.twice"]["cases"][:2], data["q99.twice"]["cases"][2:]
    assert chosen == [{"input": {"args": [3]}, "expected": 6}, {"input": {"args": [5.5]}, "expected": 11.0}]
    for case in drawn:
        (x,) = case["input"]["args"]
        assert case == {"input": {"args": [x]}, "expected": 2 * x, "drawn": True}
    assert len({json.dumps(case) for case in drawn}) == 4
    (wrong,) = data["q99.twice"]["wrong"]
    assert (wrong["name"], wrong["message"]) == ("squared", "You squared it.")
    assert wrong["outputs"] == [case["input"]["args"][0] ** 2 for case in (*chosen, *drawn)]


def test_the_executed_notebook(built):
    nb = nbformat.read(built.notebook, as_version=4)
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [1, 2, 3, 4]
    assert [output.text for output in code[1].outputs] == ["2\ntwice\n"], "one stream, however it was flushed"
    assert code[2].outputs[0].data == {"text/plain": "4"}
    assert all("execution" not in cell.metadata for cell in nb.cells), "no timing records"
    ids = [cell.id for cell in nb.cells]
    assert len(set(ids)) == len(ids), "two equal cells have two ids"
    assert "q99-why" in ids
    course = dict(nb.metadata.course)
    assert {name for name in course.pop("made_from") if name.startswith("lessons/")} == {
        f"lessons/q99_toy/{name}" for name in ("cards.toml", "truths.py", "claims.py")
    }
    assert course == {"unit": "q99_toy", "title": "A toy", "minutes": 5}
    assert "version" not in nb.metadata.language_info, "not the Python of one machine"


def test_nbgrader_made_the_exercises(built):
    nb = nbformat.read(built.root / "exercises" / "q99_toy" / "q99_toy.ipynb", as_version=4)
    graded = {cell.metadata.nbgrader.grade_id: cell for cell in nb.cells if "nbgrader" in cell.metadata}
    assert graded["q99-twice"].source.splitlines()[-1] == "    raise NotImplementedError()"
    assert graded["q99-why"].source == "*Your answer: replace this line.*"
    assert graded["q99-twice-check"].metadata.editable is False
    assert all(cell.metadata.nbgrader.checksum for cell in graded.values())
    assert not list(built.root.rglob("gradebook.db"))


def test_two_builds_are_equal_byte_for_byte(toy, tmp_path):
    other = type(toy)(tmp_path / "another folder")
    assert everything(toy.root) == everything(other.root)


PRINT_DIGEST = """
import sys
from pathlib import Path
from tests.making.test_build import digest
print(digest(Path(sys.argv[1])))
"""


def digest(root):
    made = everything(root)
    return hashlib.sha256(b"".join(made[path] for path in sorted(made, key=str))).hexdigest()


@pytest.mark.slow
def test_a_process_with_another_hash_seed_makes_the_same(toy):
    """No order of a set slips in."""
    done = subprocess.run(
        [sys.executable, "-c", PRINT_DIGEST, str(toy.root)],
        cwd=builder.ROOT,
        env={**os.environ, "PYTHONHASHSEED": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest(toy.root)


def test_an_unchanged_unit_is_not_executed_again(built):
    before = snapshot(built.root)
    times = {path: (built.root / path).stat().st_mtime_ns for path in before}
    assert build(built.root) == []
    assert snapshot(built.root) == before
    assert {path: (built.root / path).stat().st_mtime_ns for path in before} == times, "nothing was written"


def test_a_failing_cell_names_unit_file_line_and_error(toy):
    line = toy.edit("lesson.md", 'print("twice")', 'raise ValueError("first\\nlast words")')
    cell = line - 1  # the cell's source begins one line above
    with pytest.raises(BuildError) as error:
        build(toy.root)
    assert str(error.value) == f"lessons/q99_toy/lesson.md:{cell}: the cell failed: ValueError: last words"
    assert not toy.notebook.exists()


def test_a_dead_kernel_is_reported_too(toy):
    line = toy.edit("lesson.md", 'print("twice")', "import os; os._exit(3)")
    with pytest.raises(BuildError, match=rf"lesson\.md:{line - 1}: the cell failed: DeadKernelError"):
        build(toy.root)


def test_an_error_on_purpose_is_kept(toy):
    toy.edit("lesson.md", ":tags: [nbval-check-output]", ":tags: [raises-exception]")
    toy.edit("lesson.md", 'print("twice")', "1 / 0")
    build(toy.root)
    nb = nbformat.read(toy.notebook, as_version=4)
    assert nb.cells[3].outputs[-1].ename == "ZeroDivisionError"


def test_an_output_with_a_path_stops_the_build(toy):
    line = toy.edit("lesson.md", 'print("twice")', "import os; print(os.getcwd())")
    with pytest.raises(BuildError, match=rf"lesson\.md:{line - 1}: the output shows a path"):
        build(toy.root)


def test_cells_run_static_and_away_from_the_checkout(toy):
    toy.edit(
        "lesson.md", 'print("twice")', 'import os; print(os.environ["COURSE_STATIC"]); open("left.txt", "w").close()'
    )
    build(toy.root)
    assert nbformat.read(toy.notebook, as_version=4).cells[3].outputs[0].text == "2\n1\n"
    assert {path.name for path in toy.notebook.parent.iterdir()} == {"q99_toy.json", "q99_toy.ipynb"}


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("/home/ada/course/x.py", True),
        ("see /Users/ada", True),
        ("File /tmp/ipykernel_12/3.py:1", True),
        (r"C:\Users", True),
        ("https://example.org/home/x", False),
        ("989 TFLOP/s and 3.35 TB/s", False),
        ("</var> and/or", False),
    ],
)
def test_private_texts(output, shown):
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", text=output)])
    assert bool(private(nbformat.v4.new_notebook(cells=[cell]))) == shown


def test_the_private_texts_of_this_machine(monkeypatch):
    monkeypatch.setattr("socket.gethostname", lambda: "babbage")
    monkeypatch.setattr("getpass.getuser", lambda: "lovelace")
    html = nbformat.v4.new_output("display_data", {"text/html": "<b>lovelace</b>@babbage"})
    image = nbformat.v4.new_output("display_data", {"image/png": "lovelace"})
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[html, image])])
    assert len(private(nb)) == 1, "one hit in the text, none in the image"
    monkeypatch.setattr("getpass.getuser", lambda: "learner")
    told = nbformat.v4.new_output("stream", text="What the learner answered")
    assert private(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=[told])])) == []


def test_the_units_with_claims_and_their_anchors(toy):
    shown = '| <a id="q99"></a>[A toy](q99_toy.ipynb) | 1 | 1 |'
    assert builder.claim_map(toy.root).splitlines()[2:] == [shown]
    toy.edit("lesson.md", "The same cell again:", "The claims:\n\n{{claims}}")
    assert f"The claims:\n\n{builder.claim_map(toy.root)}" in [
        cell.source for cell in lesson_notebooks(toy.root)["q99_toy"].cells
    ]
    toy.edit("cards.toml", 'claim = "It is two."', 'claim = "It is two."\ndocket = true')
    assert builder.claim_map(toy.root).endswith("| 1 | 0 |")
    toy.edit("cards.toml", 'kind = "claim"', 'kind = "reflection"')
    assert len(builder.claim_map(toy.root).splitlines()) == 2


def test_where_cards_and_verdicts_are_shown():
    def code(id, source):
        return nbformat.v4.new_code_cell(source, id=id)

    cells = [
        nbformat.v4.new_markdown_cell('card("q99.text")', id="text"),
        code("first", 'card("q99.one")'),
        code("again", 'card("q99.one")\ncard("q99.two")'),
        code("table", 'verdicts("q99")'),
        code("other", 'scorecard("q99.three")'),
    ]
    found = builder.cells_by_call(nbformat.v4.new_notebook(cells=cells))
    assert found == {"q99.one": "first", "q99.two": "again", "verdicts": "table"}
