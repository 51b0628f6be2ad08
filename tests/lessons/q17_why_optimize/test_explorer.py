"""The explorer of returns against a ledger that is kept month by month; its task, its ends and its static form."""

from itertools import product

import pytest

from course_lib.units.q17_why_optimize import explorer
from tests.explorers import STEP, calls_of

START = {"spend": 40_000, "share": 0.24, "speedup": 3, "weeks": 2, "success": 0.7, "months": 6}


def balance(spend, share, speedup, weeks, success, months) -> float:
    """Dollars at the end: every month is paid with the part as it was and as it is, in one of two futures."""
    before = after = 0.0
    for _ in range(months):
        before += spend
        after += spend * (1 - share) + spend * share / speedup
    return success * (before - after) - 5_000 * weeks


@pytest.mark.parametrize(("spend", "pays"), [(14_881, True), (14_880, False), (40_000, True)])
def test_the_task_has_the_answer_of_the_lesson(spend, pays):
    assert (balance(**START | {"spend": spend}) >= 0) == pays
    shown = explorer.view(**START | {"spend": spend})
    assert shown.figure.title.startswith("Pays after" if pays else "Would pay after")


def test_below_ten_thousand_no_speedup_is_enough():
    at = {spend: explorer.view(**START | {"spend": spend}).readout for spend in (10_000, 9_900)}
    label = explorer.say("rows", "needed")
    assert at[10_000][label] == "×126.00"
    assert at[9_900][label] == "no speed-up is enough"
    assert (
        balance(**START | {"spend": 10_000, "speedup": 127}) > 0 > balance(**START | {"spend": 10_000, "speedup": 125})
    )
    assert balance(**START | {"spend": 9_900, "speedup": 1e9}) < 0


@pytest.mark.parametrize(
    "state", [(25_000, 0.2, 3, 17.6, 0.55, 32), (200_000, 0.04, 3, 4.4, 0.55, 5), (112_500, 0.8, 3, 9.9, 0.55, 1)]
)
def test_at_the_limit_itself_no_speedup_is_enough(state):
    assert explorer.view(*state).readout[explorer.say("rows", "needed")] == "no speed-up is enough"


def test_what_is_shown_is_the_ledger():
    shown = explorer.view(**START)
    assert shown.readout[explorer.say("rows", "back")] == "26,880 dollars"
    assert balance(**START) == pytest.approx(26_880 - 10_000)
    assert shown.readout[explorer.say("rows", "roi")] == "168.8%"
    assert shown.readout[explorer.say("rows", "after")] == "2.23 months"


def test_every_end_of_the_sliders_can_be_drawn():
    ends = product((100, 1e8), (0.01, 0.99), (1.01, 100), (0.1, 500), (0.05, 1), (0.1, 120))
    for state in ends:
        figure = explorer.view(*state).figure
        for mark in figure.marks:
            assert all(figure.x.low <= x <= figure.x.high for x in mark.x)
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_the_static_form_says_whether_it_pays(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(explorer.returns())
    assert "They cross after 2.23 months." in " ".join(text.split())


def test_a_share_of_more_than_all_is_refused():
    with pytest.raises(ValueError, match="share"):
        explorer.returns(share=24)


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(**START | {"spend": 50_000})) < STEP


def test_one_month_is_one():
    assert "over 1 month a return" in explorer.view(**START | {"months": 1}).figure.title
