"""What a learner typed or did on a card is there again, whatever happened to the page, the kernel or the notebook."""

import json

import pytest

pytestmark = pytest.mark.browser

BUSY = """() => {
    const code = 'import time, pathlib\\nwhile not pathlib.Path("go on").exists(): time.sleep(0.05)';
    jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code});
}"""


def commit(card, guess: str):
    card.get_by_label("Your guess:").fill(guess)
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()


def guesses(lab) -> list:
    events = json.loads((lab.folder / ".course" / "record.json").read_text())["events"]
    return [event["payload"]["value"] for event in events if event["kind"] == "guess"]


def test_a_click_as_early_as_can_be_is_not_lost(open_cells):
    notebook = open_cells()
    notebook.page.evaluate(
        """() => new MutationObserver((_, observer) => {
            const buttons = [...document.querySelectorAll('.course-card button')];
            const hint = buttons.find(button => button.textContent.startsWith('Hint'));
            if (hint) { observer.disconnect(); hint.click(); }
        }).observe(document.body, {childList: true, subtree: true, characterData: true})"""
    )
    notebook.page.evaluate(
        """(source) => {
            jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(source);
            jupyterapp.commands.execute('notebook:run-cell');
        }""",
        'display(card("t1.rows"))\nimport time\ntime.sleep(0.5)',  # the kernel is still busy when the card appears
    )
    notebook.show(".course-card").get_by_text("What travels beside").wait_for()


def test_a_guess_typed_while_the_kernel_works_is_committed_whole(open_cells, lab):
    go_on = lab.folder / "go on"
    notebook = open_cells('card("t1.rows")')
    card = notebook.card("t1.rows")
    card.get_by_label("Your guess:").wait_for()
    notebook.page.evaluate(BUSY)
    card.get_by_label("Your guess:").press_sequentially("1000")
    card.get_by_label("fairly sure").click()
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Sent. The kernel answers when it is free.").wait_for()
    go_on.touch()
    card.get_by_text("Committed: 1,000 ×, very sure.").wait_for()
    go_on.unlink()


def test_what_was_typed_survives_the_theme_scrolling_and_a_reload(open_cells):
    cells = ['card("t1.rows")', 'card("t1.why")', *(f"print({n})\n" * 40 for n in range(12))]
    notebook = open_cells(*cells)
    card, text = notebook.card("t1.rows"), notebook.card("t1.why")
    card.get_by_label("Your guess:").fill("12.5")
    card.get_by_label("fairly sure").click()
    text.get_by_label("Your answer:").fill("half a tho")

    def still_there():
        card, text = notebook.card("t1.rows"), notebook.card("t1.why")
        assert card.get_by_label("Your guess:").input_value() == "12.5"
        assert card.get_by_label("fairly sure").is_checked()
        assert text.get_by_label("Your answer:").input_value() == "half a tho"

    notebook.theme("JupyterLab Dark")
    still_there()
    notebook.theme("JupyterLab Light")
    notebook.show("pre:has-text('11')")
    still_there()
    notebook.save()
    notebook.load(notebook.name)
    still_there()
    card = notebook.card("t1.rows")
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Committed: 12.5 ×, fairly sure.").wait_for()


def test_a_reload_brings_the_card_back(open_cells):
    notebook = open_cells('card("t1.rows")')
    commit(notebook.card("t1.rows"), "100")
    notebook.card("t1.rows").get_by_text("Committed: 100 ×").wait_for()
    notebook.save()
    notebook.load(notebook.name)  # the kernel still runs
    card = notebook.card("t1.rows")
    card.get_by_role("button", name="Reveal").click()
    card.get_by_text("You said 100 ×; it is 1.02 ×.").wait_for()
    assert not notebook.page.get_by_text("To get the card back").is_visible()


def test_on_another_day_a_line_says_what_to_do(open_cells, lab):
    notebook = open_cells('card("t1.rows")')
    commit(notebook.card("t1.rows"), "100")
    notebook.card("t1.rows").get_by_text("Committed: 100 ×").wait_for()
    notebook.save()
    for session in lab.api("sessions"):
        lab.api(f"sessions/{session['id']}", "DELETE")
    notebook.load(notebook.name)
    notebook.page.get_by_text("To get the card back, run the first cell and then this one").wait_for()
    assert not notebook.page.get_by_text("model not found").is_visible()
    notebook.run_all()
    notebook.card("t1.rows").get_by_text("Committed: 100 ×").wait_for()
    assert not notebook.page.get_by_text("To get the card back").is_visible()


def test_a_click_after_the_kernel_was_restarted_says_so_and_the_text_comes_back(open_cells):
    notebook = open_cells('card("t1.rows")')
    card = notebook.card("t1.rows")
    card.get_by_label("Your guess:").fill("7")
    notebook.restart_kernel(clear=False)
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("The kernel was stopped or restarted, so this click did nothing.").wait_for()
    assert card.get_by_label("Your guess:").input_value() == "7"
    notebook.run_all()
    card = notebook.card("t1.rows")
    assert card.get_by_label("Your guess:").input_value() == "7"
    assert card.get_by_label("very sure").is_checked()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Committed: 7 ×, very sure.").wait_for()


def test_a_kernel_that_does_not_answer_is_said(open_cells, lab):
    notebook = open_cells('card("t1.rows")')
    card = notebook.card("t1.rows")
    card.get_by_label("Your guess:").wait_for()
    for session in lab.api("sessions"):
        lab.api(f"sessions/{session['id']}", "DELETE")
    commit(card, "7")
    card.get_by_text("No answer has come yet.").or_(card.get_by_text("was stopped or restarted, so")).wait_for()
    assert card.get_by_label("Your guess:").input_value() == "7"


def test_two_kernels_on_one_card_show_what_the_record_says(open_cells, lab):
    """Two windows are two kernels at worst; the second finds what the first did and overwrites nothing."""
    notebook = open_cells('card("t1.rows")')
    first = notebook.card("t1.rows")
    first.get_by_label("Your guess:").wait_for()
    other = notebook.beside("two.ipynb")
    second = other.card("t1.rows")
    second.get_by_label("Your guess:").wait_for()

    commit(first, "100")
    first.get_by_text("Committed: 100 ×").wait_for()
    commit(second, "5")
    second.get_by_text("Committed: 100 ×, very sure.").wait_for()
    assert second.get_by_label("Your guess:").input_value() == "100"
    assert guesses(lab) == [100.0]
    first.get_by_role("button", name="Reveal").click()
    first.get_by_role("button", name="Same question", disabled=False).click()
    first.get_by_text("A layer gets 10,000 rows").wait_for()
    second.get_by_role("button", name="Reveal").click()  # of a round that is over
    second.get_by_text("A layer gets 10,000 rows").wait_for()
    second.get_by_text("Round 1, the one that counts").wait_for()


def test_a_card_shown_twice_works_in_both_places(open_cells, lab):
    notebook = open_cells('card("t1.rows")', 'card( "t1.rows" )')
    first = notebook.card("t1.rows")
    second = notebook.show(""".jp-CodeCell:has-text('card( "t1.rows" )') .course-card""")
    commit(first, "100")
    first.get_by_text("Committed: 100 ×").wait_for()
    second.get_by_role("button", name="Hint 1").click()
    second.get_by_text("Committed: 100 ×").wait_for()
    second.get_by_role("button", name="Reveal").click()
    second.get_by_text("You said 100 ×").wait_for()
    first.get_by_role("button", name="Reveal").click()
    first.get_by_text("You said 100 ×").wait_for()
    first.get_by_text("What travels beside").wait_for()
    assert guesses(lab) == [100.0]
