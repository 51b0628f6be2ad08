"""The committed course: lessons that lint, built files that come from them, notebooks with their outputs."""

import ast
import re
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tools.build import drift, private
from tools.lint import lint

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


WIDTH = 88
"""Characters of a printed line at most: a window of 1000 pixels shows 104 without the file browser."""

GROUPED = re.compile(r"\d(?:[\u00a0\u2009\u202f]|&nbsp;|&thinsp;|&#160;)\d{3}(?!\d)")


def texts(output) -> list[str]:
    """The texts of a stored output; the bytes of pictures are none."""
    data = [value for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
    return [output.get("text", ""), *data]


def printed(cell) -> list[str]:
    """The lines that a reader sees of a cell as plain text: streams, and values that have no richer form."""
    plain = (output.data["text/plain"] for output in cell.outputs if set(output.get("data", {})) == {"text/plain"})
    return [
        line for text in [*(output.get("text", "") for output in cell.outputs), *plain] for line in text.splitlines()
    ]


def ends_in_value(source: str) -> bool:
    """Whether the last line of a cell is an expression, whose value a notebook shows."""
    body = ast.parse(TransformerManager().transform_cell(source)).body
    return bool(body) and isinstance(body[-1], ast.Expr) and not source.rstrip().endswith(";")


def faults(nb: nbformat.NotebookNode) -> list[str]:
    """What is wrong with a stored notebook: not executed in order, outputs missing, errors, widget state, timing."""
    found, count = [], 0
    if "widgets" in nb.metadata:
        found.append("widget state is stored")
    for index, cell in enumerate(nb.cells):
        if cell.cell_type != "code":
            continue
        count, tags = count + 1, cell.metadata.get("tags", [])
        if cell.execution_count != count:
            found.append(f"cell {index}: execution count {cell.execution_count}, not {count}")
        shown = [output for output in cell.outputs if output.get("text") or output.get("data")]
        if not shown and ("nbval-check-output" in tags or ends_in_value(cell.source)):
            found.append(f"cell {index}: shows something, but no output is stored")
        if any(output.output_type == "error" for output in cell.outputs) and "raises-exception" not in tags:
            found.append(f"cell {index}: an error is stored")
        if any("widget-view" in kind for output in cell.outputs for kind in output.get("data", {})):
            found.append(f"cell {index}: a widget is stored in place of its static form")
        if any(GROUPED.search(text) for output in cell.outputs for text in texts(output)):
            found.append(f"cell {index}: thousands are grouped by a space, where the course has commas")
        for line in printed(cell):
            if len(line) > WIDTH:
                found.append(f"cell {index}: a printed line has {len(line)} characters, at most {WIDTH}: {line!r}")
        if "execution" in cell.metadata:
            found.append(f"cell {index}: timing is stored")
    return found


@pytest.mark.slow
def test_the_lessons_have_no_lint_problem():
    assert [str(problem) for problem in lint(ROOT)] == []


@pytest.mark.slow
def test_what_is_built_comes_from_the_lessons():
    assert drift(ROOT) == []


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs(path):
    nb = nbformat.read(path, as_version=4)
    assert faults(nb) == []
    assert private(nb) == []


@pytest.fixture
def good():
    output = nbformat.v4.new_output("stream", text="4\n")
    cell = nbformat.v4.new_code_cell("print(4)", execution_count=1, outputs=[output])
    cell.metadata["tags"] = ["nbval-check-output"]
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# A"), cell])
    assert faults(nb) == []
    return nb


@pytest.mark.parametrize("outputs", [[], [nbformat.v4.new_output("stream", text="")]])
@pytest.mark.parametrize("source", ["x = 4  # and the output is checked", "x"])
def test_a_cell_without_its_output_is_found(good, source, outputs):
    good.cells[1].source, good.cells[1].outputs = source, outputs
    assert faults(good) == ["cell 1: shows something, but no output is stored"]
    good.cells[1].metadata["tags"] = []
    assert len(faults(good)) == (source == "x")


def test_a_cell_that_never_ran_is_found(good):
    good.cells[1].execution_count = None
    assert faults(good) == ["cell 1: execution count None, not 1"]


def test_a_stored_error_is_found(good):
    good.cells[1].outputs.append(nbformat.v4.new_output("error", ename="E", evalue="", traceback=[]))
    assert faults(good) == ["cell 1: an error is stored"]


@pytest.mark.parametrize("text", ["124\u00a0439\u00a0808 B", "1\u202f365", "<td>4&nbsp;096</td>"])
def test_thousands_grouped_by_a_space_are_found(good, text):
    good.cells[1].outputs[0].text = text
    assert faults(good) == ["cell 1: thousands are grouped by a space, where the course has commas"]
    good.cells[1].outputs[0].text = "124,439,808 B"
    assert faults(good) == []


def test_a_printed_line_that_a_narrow_window_breaks_is_found(good):
    good.cells[1].outputs[0].text = f"{'x' * WIDTH}\nshort\n"
    assert faults(good) == []
    good.cells[1].outputs[0].text = f"{'x' * (WIDTH + 1)}\nshort\n"
    assert faults(good) == [f"cell 1: a printed line has 89 characters, at most 88: {'x' * 89!r}"]
    value = {"text/plain": "y" * 100}
    good.cells[1].outputs[0] = nbformat.v4.new_output("display_data", value)
    assert len(faults(good)) == 1
    value["text/html"] = "<p>what is seen</p>"
    good.cells[1].outputs[0] = nbformat.v4.new_output("display_data", value)
    assert faults(good) == []


def test_stored_widgets_are_found(good):
    good.cells[1].outputs[0] = nbformat.v4.new_output(
        "display_data", {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}}
    )
    good.metadata["widgets"] = {}
    assert len(faults(good)) == 2
