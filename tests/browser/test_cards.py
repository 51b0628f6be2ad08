"""What a learner does with a card of each kind, with the keyboard alone and with the mouse alone."""

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
    assert notebook.focused() == "Reveal"

    notebook.restart_kernel()
    assert notebook.page.locator(".course-card").count() == 0
    notebook.run_cells(IMPORTS, f'card("{CARD}")')
    again = notebook.card(CARD)
    again.get_by_text("You said 100 ×; it is 1.05 ×.").wait_for()
    assert again.get_by_label("Your guess:").input_value() == "100"
    assert again.get_by_label("very sure").is_checked()
    assert again.get_by_role("button", name="Commit").is_disabled()


def test_two_rounds_by_keyboard_alone_and_the_focus_is_never_lost(open_cells):
    notebook = open_cells('card("t1.rows")')
    card, press = notebook.card("t1.rows"), notebook.page.keyboard.press
    card.get_by_label("Your guess:").focus()
    notebook.page.keyboard.type("twelve")
    press("Enter")
    card.get_by_text("Nothing is committed yet: choose how sure you are.").wait_for()
    assert notebook.focused() == "Your guess:×"  # the box
    for key in ("Tab", "Tab", "Space", "Enter"):  # slider, how sure, checked, committed
        press(key)
    card.get_by_text("“twelve” is not a number that this box reads.").wait_for()
    assert notebook.focused() == "a guess"
    press("Shift+Tab")
    press("Shift+Tab")
    press("ControlOrMeta+a")
    notebook.page.keyboard.type("１００")  # as a Chinese keyboard types it
    assert card.get_by_role("slider").get_attribute("aria-valuetext") == "100 ×"
    press("Enter")
    card.get_by_text("Committed: 100 ×, a guess.").wait_for()
    assert notebook.focused() == "Commit"  # the box is locked; a second Enter does nothing
    press("Enter")
    press("Tab")
    press("Enter")  # Retry
    card.get_by_text("Give your second guess").wait_for()
    assert notebook.focused() == "Your guess:×"
    press("ControlOrMeta+a")
    notebook.page.keyboard.type("1/3")
    press("Enter")
    card.get_by_text("Your first guess, 100 ×, is kept and will be compared.").wait_for()
    press("Tab")  # Retry
    press("Tab")
    press("Enter")  # Reveal
    card.get_by_text("You said 100 ×; it is 1.02 ×.").wait_for()
    assert notebook.focused() == "Reveal"
    press("Tab")
    press("Enter")
    card.get_by_text("A layer gets 10,000 rows").wait_for()
    assert notebook.focused() == "Your guess:×"
    for key in [*["Tab"] * 7, "Enter"]:  # past the slider, how sure, Commit, Retry, Reveal, new numbers to the hint
        press(key)
    card.get_by_text("What travels beside the 10,000 rows?").wait_for()
    press("Tab")
    press("Enter")
    card.get_by_text("You said 100 ×; it is 1.02 ×.").wait_for()  # the first round, unfolded
    assert notebook.focused() == "Round 1, the one that counts"


def test_each_kind_by_mouse_alone_and_no_button_moves_under_the_pointer(open_cells):
    notebook = open_cells('card("t1.pick")', 'card("t1.why")', 'card("t1.s000-01")')

    def click(card, name, words):
        button = card.get_by_role("button", name=name)
        before = places(card)
        button.click()
        card.get_by_text(words).first.wait_for()
        assert places(card) == before

    card = notebook.card("t1.pick")
    card.get_by_label("2 to the power 3").click()
    card.get_by_label("fairly sure").click()
    click(card, "Commit", "Committed: 2 to the power 3, fairly sure.")
    click(card, "Reveal", "Your first choice was not the right one.")
    card.get_by_text("It doubles each time.").wait_for()
    click(card, "Same question, new numbers", "Which is larger for n = 8?")
    assert card.get_by_role("radio", checked=True).count() == 0
    card.get_by_label("2 to the power 8").click()
    card.get_by_label("very sure").click()
    click(card, "Commit", "Committed: 2 to the power 8, very sure.")
    click(card, "Reveal", "Your first choice was right.")
    assert card.get_by_role("button", name="Same question").is_disabled()

    card = notebook.card("t1.why")
    click(card, "Commit", "the text is empty")
    card.get_by_label("Your answer:").fill("Because the weights\nmust be read.")
    click(card, "Commit", "Your text is kept.")
    click(card, "Hint 1 of 1", "What has to travel either way?")
    click(card, "Reveal", "What you wrote")
    assert "Because the weights\nmust be read." in card.inner_text()
    card.get_by_text("Because the weights travel either way.").wait_for()

    card = notebook.card("t1.s000-01")
    card.get_by_label("It fails").click()
    card.get_by_label("very sure").click()
    click(card, "Commit", "Committed: It fails, very sure.")
    click(card, "Reveal", "Your first vote was that it fails.")


def places(card) -> list:
    """Where the top left corner of each button is on the page."""
    return card.get_by_role("button").evaluate_all(
        "nodes => nodes.map(node => node.getBoundingClientRect()).map(({x, y}) => [Math.round(x), Math.round(y)])"
    )


def test_every_state_of_every_kind_stands_out(open_cells):
    kinds = {"t1.rows": ("Your guess:", "3"), "t1.share": ("Your guess:", "90"), "t1.zeros": "about 10× faster"}
    kinds |= {"t1.s000-01": "It holds", "t1.why": ("Your answer:", "So.")}
    notebook = open_cells(*(f'card("{id}")' for id in kinds))
    for id, given in kinds.items():
        card = notebook.card(id)
        assert notebook.pale(card) == []
        for hint in card.get_by_role("button", name="Hint").all():
            hint.click()
            card.locator("strong", has_text="Hint 1 of").wait_for()
        if isinstance(given, tuple):
            card.get_by_label(given[0]).fill(given[1])
        else:
            card.get_by_label(given, exact=True).click()
        if id != "t1.why":
            card.get_by_label("very sure").click()
        card.get_by_role("button", name="Commit").click()
        card.get_by_role("button", name="Reveal", disabled=False).click()
        card.get_by_text("Revealed.").wait_for()
        assert notebook.pale(card) == []


def test_the_slider_of_a_card_never_contradicts_its_box(open_cells):
    notebook = open_cells('card("t1.speed-up")')
    card = notebook.card("t1.speed-up")
    box, slider = card.get_by_label("Your guess:"), card.get_by_role("slider", name="or slide:")
    for typed, said, shown in [
        ("100", "100 ×", "100 ×"),
        ("123.4", "123.4 ×", ""),
        ("1e9", "1e9 ×", ""),
        ("１０", "10 ×", "10 ×"),
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


def test_a_double_click_counts_once(open_cells):
    notebook = open_cells('card("t1.rows")')
    card = notebook.card("t1.rows")
    card.get_by_role("button", name="Hint 1").dblclick()
    card.get_by_role("button", name="Hint 2").wait_for()
    card.get_by_label("Your guess:").fill("3")
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").dblclick()
    card.get_by_text("Committed: 3 ×").wait_for()
    card.get_by_role("button", name="Reveal").dblclick()
    card.get_by_text("You said 3 ×").wait_for()
    assert card.get_by_text("Hint 1 of 3: the idea").count() == 1
    assert card.get_by_role("button", name="Hint 2").count() == 1


def test_cards_that_cannot_be_shown_or_answered_do_not_stop_run_all(open_cells):
    notebook = open_cells('card("t1.raises")', 'card("t1.no-such")', 'card("t1.incomplete")', 'print("the", "end")')
    assert notebook.errors() == []
    assert "the end\n" in [output.get("text") for output in notebook.outputs()]
    notebook.show("p:has-text('There is no card')")
    card = notebook.card("t1.raises")
    card.get_by_label("Your guess:").fill("3")
    card.get_by_label("very sure").click()
    card.get_by_role("button", name="Commit").click()
    card.get_by_role("button", name="Reveal", disabled=False).click()
    card.get_by_text("The answer cannot be computed here (no profile of this machine: run `course doctor`).").wait_for()
    assert card.get_by_label("Your guess:").input_value() == "3"


def test_a_click_counts_though_the_page_moves_under_the_pointer(open_cells):
    """JupyterLab may scroll when the mouse goes down in another cell; a learner who drags away takes the click back."""
    long = "for n in range(60): print(n)"
    notebook = open_cells(long, 'card("t1.rows")', long)
    page, card = notebook.page, notebook.card("t1.rows")
    hint, sure = card.get_by_role("button", name="Hint 1"), card.get_by_text("very sure")

    def press(target, *, scrolled=0, dragged=0):
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        x, y = box["x"] + 5, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        if scrolled:
            card.evaluate("(card, by) => card.closest('.jp-WindowedPanel-outer').scrollBy(0, by)", scrolled)
            page.wait_for_function(
                "([card, y]) => card.getBoundingClientRect().y < y", arg=[hint.element_handle(), y - 40]
            )
        if dragged:
            page.mouse.move(x, y - dragged)
        page.mouse.up()

    press(hint, dragged=150)
    press(sure, scrolled=90)
    assert card.get_by_label("very sure").is_checked()
    press(hint, scrolled=90)
    card.get_by_text("Hint 1 of 3: the idea").first.wait_for()
    card.get_by_role("button", name="Hint 2").wait_for()
