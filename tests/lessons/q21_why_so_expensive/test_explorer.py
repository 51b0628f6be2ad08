"""The explorer of the bill against sums by hand; its task, its ends and its static form."""

from itertools import product

import pytest

from course_lib.units.q21_why_so_expensive import explorer
from tests.explorers import STEP, calls_of

START = {
    "device": "v100-sxm2",
    "mfu": 0.224,
    "hours": "reserved",
    "price": 1.5,
    "bought": 40_000,
    "used": 0.8,
    "success": 0.5,
    "years": 20,
}
H100 = START | {"device": "h100-sxm", "mfu": 0.4, "price": 2}


def total(**state) -> float:
    """Millions of dollars, as shown."""
    return float(explorer.view(**state).readout[explorer.say("rows", "total")].split()[0])


def test_it_starts_with_the_famous_number():
    readout = explorer.view(**START).readout
    assert readout[explorer.say("rows", "run")] == "4.67 million $"
    assert total(**START) == pytest.approx(16.11, abs=0.01)


@pytest.mark.parametrize(("used", "dearer"), [(0.62, True), (0.64, False)])
def test_the_task_has_the_answer_of_the_lesson(used, dearer):
    rented = explorer.plan(**H100 | {"hours": "rented", "used": used}).total
    own = explorer.plan(**H100 | {"hours": "own", "used": used}).total
    assert (own > rented) == dearer


def test_rented_hours_that_nobody_uses_are_not_paid():
    assert total(**H100 | {"hours": "rented", "used": 0.2}) == total(**H100 | {"hours": "rented", "used": 1})
    assert total(**H100 | {"used": 0.2}) > total(**H100 | {"used": 1})


def test_people_stay_the_largest_line_and_then_the_hours_below_the_peak():
    lines = explorer.plan(**START | {"success": 1, "used": 1}).lines()
    assert sorted(lines, key=lines.get)[-2:] == ["below the peak", "people"]
    assert lines["failed tries"] == lines["idle hours"] == 0


def test_each_bar_begins_where_the_one_before_ends():
    before, line = explorer.view(**START).figure.marks[0].parts.values()
    ends = [low + high for low, high in zip(before, line, strict=True)]
    assert list(before[1:-1]) == pytest.approx(ends[:-2])
    assert ends[-1] == pytest.approx(ends[-2])


def test_every_end_of_the_sliders_can_be_drawn():
    numbers = product((0.05, 1), explorer.HOURS, (0.1, 20), (1000, 200_000), (0.05, 1), (0.05, 1), (0.1, 1000))
    for device, state in product(explorer.DEVICES, numbers):
        figure = explorer.view(device, *state).figure
        for mark in figure.marks:
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_the_static_form_says_the_total(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    assert "16.11 million" in " ".join(repr(explorer.cost_waterfall()).split())


def test_a_share_of_more_than_all_is_refused():
    with pytest.raises(ValueError, match="used"):
        explorer.cost_waterfall(used=80)


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(**START | {"years": 30})) < STEP


def test_the_lines_of_the_bill_have_their_names():
    assert tuple(explorer.plan(**START).lines()) == explorer.LINES
