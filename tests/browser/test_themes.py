"""Every text that the course draws stands out from its ground, in the light and in the dark theme."""

import pytest

pytestmark = pytest.mark.browser

CELLS = ('card("q05.zeros")', "explore.roofline()", 'verdicts("q05")')


def test_texts_stand_out_in_both_themes(open_cells):
    notebook = open_cells("from course_lib import card, explore, verdicts", *CELLS, toys=False)
    card = notebook.card("q05.zeros")
    card.get_by_role("button", name="Hint 1").click()
    card.locator("strong", has_text="Hint 1 of 3: the idea").wait_for()
    assert notebook.pale(card) == []
    explorer = notebook.show(".course-explorer")
    explorer.get_by_role("button").first.wait_for()
    assert notebook.pale(explorer) == []
    docket = notebook.show("details:has(table)")
    docket.locator("summary").click()
    assert notebook.pale(docket) == []
    aligned = "cells => [...new Set(cells.map(getComputedStyle).map(s => `${s.textAlign} ${s.verticalAlign}`))]"
    assert docket.locator("th, td").evaluate_all(aligned) == ["left top"]
