"""`check` in a notebook: what a learner sees of it in both themes, and that no function stops the notebook."""

import json

import pytest

from .conftest import CONTRAST, THEMES

pytestmark = pytest.mark.browser

CELLS = (
    "import time\nfrom course_lib import check",
    """def right(m, k, n, bytes_per_element):
    return 2 * m * k * n / (bytes_per_element * (m * k + k * n + m * n))
def one_flop(m, k, n, bytes_per_element):
    return right(m, k, n, bytes_per_element) / 2
def sleeps(m, k, n, bytes_per_element):
    while True:
        try:
            time.sleep(1)
        except:
            pass
def asks(m, k, n, bytes_per_element):
    return float(input("How many FLOPs? "))
def cleans_up(*args):
    raise SystemExit""",
    'check("q05.intensity", one_flop)',
    'check("q05.intensity", sleeps)',
    'check("q05.intensity", asks)',
    'check("q05.intensity", cleans_up)',
    'check("q05.intensity", right)',
)


def test_each_answer_is_one_calm_line_and_the_next_cell_runs(open_cells, lab):
    checks = open_cells(*CELLS, toys=False)
    assert checks.errors() == []
    shown = checks.page.locator(".course-check")
    texts = ["two.", "had not finished after 5 seconds", "asked for input()", "raised SystemExit", "Right on every"]
    assert shown.count() == len(texts)
    for number, text in enumerate(texts):
        assert text in shown.nth(number).inner_text()
    assert checks.page.locator(".jp-Stdin-input").count() == 0, "no box asks for input"
    events = json.loads((lab.folder / ".course" / "record.json").read_text())["events"]
    found = [event["payload"]["outcome"] for event in events if event["id"] == "q05.intensity"]
    assert found == ["wrong", "late", "raised", "raised", "right"], "each attempt once"
    for theme in THEMES:
        checks.theme(theme)
        contrasts = [pair for number in range(len(texts)) for pair in shown.nth(number).evaluate(CONTRAST)]
        assert len(contrasts) > 5
        assert [pair for pair in contrasts if pair[1] < 4.5] == []
