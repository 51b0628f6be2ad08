"""The learner's copy in JupyterLab: updates over edited and over open notebooks, and what `progress()` shows."""

import json
import shutil

import pytest

from course_lib.teaching.lab import my_course

pytestmark = pytest.mark.browser


def shipped(folder, **notebooks: list[str]):
    """A course that ships notebooks of these code cells, by name; the first is where the copy begins."""
    for name, sources in {"00_start_here": ["1"], **notebooks}.items():
        cells = [
            {"id": f"c{n}", "cell_type": "code", "metadata": {}, "source": s, "outputs": [], "execution_count": None}
            for n, s in enumerate(sources)
        ]
        kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        path = folder / "notebooks" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}))
    return folder


@pytest.fixture
def copy(lab):
    """A folder for a copy of its own, below what JupyterLab serves."""
    folder = lab.folder / "copy"
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def edit(notebook, cell: int, source: str):
    """Replace the source of a cell, as typing does."""
    notebook.page.evaluate(
        "([n, s]) => jupyterapp.shell.currentWidget.content.widgets[n].model.sharedModel.setSource(s)", [cell, source]
    )


def sources(notebook) -> list[str]:
    cells = notebook.page.evaluate("jupyterapp.shell.currentWidget.content.model.sharedModel.toJSON().cells")
    return ["".join(cell["source"]) for cell in cells]


def stored(path) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]]


def test_an_update_keeps_edited_notebooks_and_the_outputs_of_others(copy, open_notebook, tmp_path):
    course = shipped(tmp_path / "v1", edited=["a = 1", "print(a)"], run=["print(6 * 7)"])
    my_course.update(course, copy)
    notebook = open_notebook("copy/notebooks/edited.ipynb")
    edit(notebook, 0, "a = 'my own work'")
    notebook.save()
    notebook.turn_to("copy/notebooks/run.ipynb")
    notebook.run_cells("6 * 7")
    notebook.save()

    newer = shipped(tmp_path / "v2", edited=["a = 2", "print(a)"], run=["print(6 * 7)", "print('new')"])
    assert my_course.update(newer, copy) == [
        my_course.say("news", "renewed", names="notebooks/run.ipynb"),
        my_course.say("news", "beside", names="notebooks/edited.new.ipynb"),
    ]
    notebook.load("copy/notebooks/edited.ipynb")
    assert sources(notebook) == ["a = 'my own work'", "print(a)"]
    notebook.turn_to("copy/notebooks/edited.new.ipynb")
    assert sources(notebook) == ["a = 2", "print(a)"]
    notebook.turn_to("copy/notebooks/run.ipynb")
    assert sources(notebook) == ["print(6 * 7)", "print('new')"]
    assert notebook.show(".jp-OutputArea-output").inner_text().strip() == "42"


@pytest.mark.parametrize("answer", ["Overwrite", "Revert"])
def test_an_update_under_an_open_notebook_lets_the_learner_decide(copy, open_notebook, tmp_path, answer):
    """`course lab` updates no copy that is open; should another program do so, JupyterLab asks before it saves."""
    my_course.update(shipped(tmp_path / "v1", lesson=["a = 1"]), copy)
    notebook = open_notebook("copy/notebooks/lesson.ipynb")
    edit(notebook, 0, "a = 'not saved yet'")
    my_course.update(shipped(tmp_path / "v2", lesson=["a = 2"]), copy)
    assert stored(copy / "notebooks/lesson.ipynb") == ["a = 2"]
    assert sources(notebook) == ["a = 'not saved yet'"]
    notebook.page.evaluate("() => { window.saving = jupyterapp.commands.execute('docmanager:save') }")
    dialog = notebook.page.get_by_role("dialog")
    dialog.get_by_text("has changed on disk").wait_for()
    assert sources(notebook) == ["a = 'not saved yet'"]
    assert stored(copy / "notebooks/lesson.ipynb") == ["a = 2"]
    dialog.get_by_role("button", name=answer).click()
    kept = ["a = 'not saved yet'"] if answer == "Overwrite" else ["a = 2"]
    notebook.page.evaluate("window.saving")
    notebook.page.wait_for_function("!jupyterapp.shell.currentWidget.context.model.dirty")
    assert sources(notebook) == kept
    assert stored(copy / "notebooks/lesson.ipynb") == kept


# ---- progress() --------------------------------------------------------------------------------------------------

START, LESSON = "notebooks/00_start_here.ipynb", "notebooks/q05_flops_are_not_time.ipynb"


def play(lab):
    """A record of a learner who has revealed all cards of the first lesson."""
    from course_lib import units
    from course_lib.teaching.record.record import Record

    record = Record(lab.folder / ".course" / "record.json")
    for number, (id, table) in enumerate(units.cards("q05_flops_are_not_time").items()):
        off = [-2.3, 1.1, 0.1, -0.6, 0.02][number % 5] if table["kind"] == "number" else None
        sure, right = ["very", "guess", "fairly"][number % 3], number % 4 == 0
        record.add("guess", id, {"value": 3.0 if off else "x", "text": "3", "sure": sure})
        record.add("reveal", id, {"truth": 1.0, "right": right, "decades": off})
    record.add("check", "q05.predict", {"outcome": "wrong"})


def test_progress_can_be_read_in_both_themes(open_notebook, lab):
    play(lab)
    notebook = open_notebook(START)
    notebook.run_cells("from course_lib", "progress()")
    shown = notebook.show(".course-progress")
    assert "You have revealed" in shown.inner_text()
    assert shown.get_by_role("img").get_attribute("aria-label").startswith("First guesses at a number: ")
    assert notebook.pale(shown) == []
    for row in shown.get_by_role("row").all():
        assert row.evaluate("row => row.scrollWidth <= row.clientWidth + 1")  # no cell is cut off


def arrive(notebook, cell: str):
    """Wait until this cell of the lesson is the active one."""
    notebook.page.wait_for_function(
        """([path, cell]) => {
            const panel = jupyterapp.shell.currentWidget;
            return panel?.context?.path === path && panel.content.activeCell?.model.id === cell;
        }""",
        arg=[LESSON, cell],
    )


def test_a_thing_to_revisit_is_opened_by_keyboard(open_notebook, lab):
    play(lab)
    notebook = open_notebook(START)
    notebook.run_cells("from course_lib", "progress()")
    link = notebook.show(".course-progress").get_by_role("link").first
    cell = link.get_attribute("href").partition("#cell-id=")[2]
    link.focus()
    notebook.page.keyboard.press("Enter")
    arrive(notebook, cell)


def test_a_link_to_a_cell_makes_it_the_active_one(open_notebook, lab):
    """In a lesson that is open already; else Shift+Enter would run another cell, and jump there."""
    play(lab)
    notebook = open_notebook(LESSON)
    notebook.turn_to(START)
    notebook.run_cells("from course_lib", "progress()")
    link = notebook.show(".course-progress").locator("a[href*='#cell-id=']").first
    cell = link.get_attribute("href").partition("#cell-id=")[2]
    link.click()
    arrive(notebook, cell)
    # At once, and not when the focus happens to arrive, which is all that JupyterLab promises.
    follow = """async (cell) => {
        const notebook = jupyterapp.shell.currentWidget.content;
        await notebook.setFragment(`#cell-id=${cell}`);
        return notebook.activeCell.model.id;
    }"""
    for other in ("q05-card-1", "q05-recap", cell):
        assert notebook.page.evaluate(follow, other) == other


def test_a_new_learner_is_told_how_to_begin(open_notebook):
    notebook = open_notebook(START)
    notebook.run_cells("from course_lib", "progress()")
    assert "Nothing is recorded yet." in notebook.show(".course-progress").inner_text()


def test_a_folded_answer_stands_apart_from_what_follows(open_cells):
    text = "<details><summary>One way</summary>\\n\\nThis.\\n\\n</details>\\n\\nNext."
    folded = open_cells(f'from IPython.display import Markdown\nMarkdown("{text}")').show("details")
    apart = "(d) => d.nextElementSibling.getBoundingClientRect().top - d.getBoundingClientRect().bottom"
    assert folded.evaluate(apart) >= 10
