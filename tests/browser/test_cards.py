"""What a learner does with a card: commit, reveal, retry, by keyboard and by mouse, across restarts."""

import pytest

pytestmark = pytest.mark.browser

LESSON = "notebooks/q05_flops_are_not_time.ipynb"
IMPORTS = "from course_lib import"
CARD = "q05.linear-1-to-100"


def test_a_card_is_committed_and_revealed_by_keyboard_and_comes_back(open_notebook):
    notebook = open_notebook(LESSON)
    page = notebook.page
    notebook.run_cells(IMPORTS, f'card("{CARD}")')
    card = notebook.card(CARD)
    assert card.get_by_role("button", name="Reveal").is_disabled()
    assert "You said" not in card.inner_text()

    card.get_by_label("Your guess:").focus()
    page.keyboard.type("100")
    slider = card.get_by_role("slider", name="or slide:")
    assert slider.get_attribute("aria-valuetext") == "100 ×"
    page.keyboard.press("Tab")  # the slider
    page.keyboard.press("Tab")  # how sure
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert card.get_by_role("group", name="How sure:").get_by_label("very sure").is_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # Commit
    card.get_by_text("Committed: 100 ×, very sure.").wait_for()
    page.keyboard.press("Tab")  # Retry
    page.keyboard.press("Tab")
    page.keyboard.press("Space")  # Reveal
    card.get_by_text("You said 100 ×; it is 1.05 ×.").wait_for()
    card.get_by_role("img", name="your first guess, 100 ×, and the answer, 1.05 ×").wait_for()

    notebook.restart_kernel()
    assert notebook.page.locator(".course-card").count() == 0
    notebook.run_cells(IMPORTS, f'card("{CARD}")')
    again = notebook.card(CARD)
    again.get_by_text("You said 100 ×; it is 1.05 ×.").wait_for()
    assert again.get_by_label("Your guess:").input_value() == "100"
    assert again.get_by_label("very sure").is_checked()
    assert again.get_by_role("button", name="Commit").is_disabled()


def test_the_slider_of_a_card_never_contradicts_its_box(open_notebook):
    notebook = open_notebook(LESSON)
    notebook.run_cells(IMPORTS, f'card("{CARD}")')
    card = notebook.card(CARD)
    box, slider = card.get_by_label("Your guess:"), card.get_by_role("slider", name="or slide:")
    for typed, said, shown in [
        ("100", "100 ×", "100 ×"),
        ("123.4", "123.4 ×", ""),
        ("1e9", "1e9 ×", ""),
        ("1/3", "not set", "–"),
        ("0,250", "not set", "–"),
        ("0", "not set", "–"),
        ("", "not set", "–"),
        ("0,25", "not set", "–"),
    ]:
        box.fill(typed)
        assert (slider.get_attribute("aria-valuetext"), card.locator(".shown").text_content()) == (said, shown)
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Write 0.25 with a point.").wait_for()
    assert (box.input_value(), slider.get_attribute("aria-valuetext")) == ("0,25", "not set")
    slider.press("End")
    assert card.locator(".shown").text_content() == slider.get_attribute("aria-valuetext") != "not set"


def test_a_guess_typed_while_the_kernel_works_is_committed_whole(open_notebook):
    notebook = open_notebook(LESSON)
    notebook.run_cells(IMPORTS, f'card("{CARD}")')
    card = notebook.card(CARD)
    card.get_by_label("Your guess:").wait_for()
    notebook.page.evaluate(
        """() => {
            const code = 'import time; time.sleep(3)';
            jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code});
        }"""
    )
    card.get_by_label("Your guess:").press_sequentially("1000")
    card.get_by_label("fairly sure").click()
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_text("Sent. The kernel answers when it is free.").wait_for()
    card.get_by_text("Committed: 1,000 ×, very sure.").wait_for()
