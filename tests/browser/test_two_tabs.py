"""One notebook in two browser tabs, which share one kernel: both show what was done in either, and nothing is lost."""

import json

import pytest

from .conftest import Notebook

pytestmark = pytest.mark.browser

CELLS = ('card("t1.rows")', 'card("t1.why")', "from course_lib import explore\nexplore.roofline(m=1)", "1 + 1")


@pytest.fixture
def tabs(open_cells):
    """The same notebook, run, in two tabs; (first, second)."""
    first = open_cells(*CELLS)
    first.save()
    second = Notebook(first.lab, first.page.context.new_page(), first.name)
    assert len(first.lab.api("kernels")) == 1
    return first, second


def titled(explorer, words: str):
    explorer.locator("svg > title", has_text=words).wait_for(state="attached")


def test_cards_show_in_both_what_was_done_in_either(tabs, lab):
    first, second = (tab.card("t1.rows") for tab in tabs)
    second.get_by_label("Your guess:").fill("5")  # typed, not yet committed
    second.get_by_label("a guess").click()
    first.get_by_label("Your guess:").fill("100")
    first.get_by_label("very sure").click()
    first.get_by_role("button", name="Commit").click()
    for card in (first, second):
        card.get_by_text("Committed: 100 ×, very sure. You can reveal").wait_for()
        assert card.get_by_label("Your guess:").input_value() == "100"
    second.get_by_role("button", name="Retry").click()
    second.get_by_text("Give your second guess").wait_for()
    assert second.get_by_label("Your guess:").input_value() == "5", "what was typed here is not lost"
    second.get_by_role("button", name="Commit").click()
    first.get_by_text("Your first guess, 100 ×, is kept and will be compared.").wait_for()
    first.get_by_role("button", name="Reveal").click()
    for card in (first, second):
        card.get_by_text("You said 100 ×; it is 1.02 ×.").wait_for()
    events = json.loads((lab.folder / ".course" / "record.json").read_text())["events"]
    assert [(event["kind"], event["payload"].get("value")) for event in events] == [
        ("guess", 100.0),
        ("guess", 5.0),
        ("reveal", None),
    ]


def test_a_text_half_written_in_one_tab_survives_a_commit_in_the_other(tabs):
    first, second = (tab.card("t1.why") for tab in tabs)
    second.get_by_label("Your answer:").fill("A long thought, ")
    first.get_by_label("Your answer:").fill("Short.")
    first.get_by_role("button", name="Commit").click()
    second.get_by_text("Your text is kept.").wait_for()
    second.get_by_role("button", name="Retry").click()
    second.get_by_text("Change your text").wait_for()
    assert second.get_by_label("Your answer:").input_value() == "A long thought, "


def test_explorers_move_together_and_answer_each(tabs):
    first, second = (tab.show(".course-explorer") for tab in tabs)
    sliders = [explorer.get_by_role("slider", name="Rows m") for explorer in (first, second)]
    for explorer in (first, second):
        titled(explorer, "m = 1: ")
    for tab, explorer in zip(tabs, (first, second), strict=True):  # the same question from both, one after the other
        explorer.get_by_role("button", name="Reset").click()
        tab.page.wait_for_function("!document.querySelector('.course-explorer[aria-busy]')", timeout=2500)
    sliders[0].press("ArrowRight")
    for explorer in (first, second):
        titled(explorer, "m = 2: ")
    assert [slider.get_attribute("aria-valuetext") for slider in sliders] == ["2", "2"]
    sliders[1].press("ArrowRight")  # from where the other tab has left it
    for explorer in (first, second):
        titled(explorer, "m = 3: ")
    sliders[0].press("Home")
    titled(second, "m = 1: ")
    sliders[0].press("ArrowRight")
    titled(second, "m = 2: ")
    sliders[1].press("Home")
    titled(first, "m = 1: ")
    sliders[1].press("ArrowRight")  # asks what the other tab has asked before
    for explorer in (first, second):
        titled(explorer, "m = 2: ")
    assert all(not explorer.locator(".sentence").text_content() for explorer in (first, second))


def test_a_notebook_open_twice_in_one_tab(open_cells):
    notebook = open_cells(*CELLS)
    notebook.page.evaluate("jupyterapp.commands.execute('docmanager:clone')")
    explorers = notebook.page.locator(".course-explorer")
    notebook.page.wait_for_function("document.querySelectorAll('.jp-NotebookPanel').length === 2")
    notebook.show(".course-explorer")
    notebook.page.wait_for_function("document.querySelectorAll('.course-explorer').length === 2")
    explorers.nth(1).get_by_role("slider", name="Rows m").press("ArrowRight")
    for number in range(2):
        titled(explorers.nth(number), "m = 2: ")
        slider = explorers.nth(number).get_by_role("slider", name="Rows m", include_hidden=True)
        assert slider.get_attribute("aria-valuetext") == "2"


def test_the_tab_that_saves_last_is_asked(tabs):
    """JupyterLab's own question: neither tab writes over what the other saved without the learner's word."""
    first, second = tabs
    for tab, text in ((first, "'first'"), (second, "'second'")):
        tab.page.evaluate(
            "(s) => jupyterapp.shell.currentWidget.content.widgets.at(-1).model.sharedModel.setSource(s)", text
        )
    first.save()
    second.page.evaluate("() => { window.saving = jupyterapp.commands.execute('docmanager:save') }")
    dialog = second.page.get_by_role("dialog")
    dialog.get_by_text("has changed on disk").wait_for()
    stored = json.loads((first.lab.folder / first.name).read_text())["cells"][-1]["source"]
    assert "".join(stored) == "'first'"
    dialog.get_by_role("button", name="Cancel").click()
    source = second.page.evaluate("jupyterapp.shell.currentWidget.content.widgets.at(-1).model.sharedModel.source")
    assert source == "'second'"
