"""The explorer of the tie against searches that are counted step by step; its task, its ends and its static form."""

import math
from itertools import product

import pytest

from course_lib.units.q23_quantum import explorer
from tests.explorers import STEP, calls_of

START = {"quantum": 1e-3, "classical": 1e-9, "cores": 1}


def both(bits, quantum, classical, cores):
    """Seconds of both searches through 2^bits items, their calls and tests counted as whole numbers."""
    calls = math.floor(math.pi / 4 * 2 ** (bits / 2))
    return calls * quantum, 2 ** (bits - 1) / cores * classical


@pytest.mark.parametrize(("cores", "bits", "time"), [(1, 41.2, "20.6 min"), (10_000, 67.7, "143 days")])
def test_the_task_has_the_answer_of_the_lesson(cores, bits, time):
    shown = explorer.view(**START | {"cores": cores}).readout
    assert shown[explorer.say("rows", "items")] == f"2^{bits}"
    assert shown[explorer.say("rows", "tie")] == time
    for near, grover_wins in ((math.floor(bits), False), (math.ceil(bits), True)):
        slow, quick = both(near, 1e-3, 1e-9, cores)
        assert (slow < quick) == grover_wins


def test_an_hour_needs_seventeen_microseconds():
    title = {call: explorer.view(call, 1e-9, 10_000).figure.title for call in (16.5e-6, 17.5e-6)}
    assert title[16.5e-6].endswith("after 56.0 min")
    assert title[17.5e-6].endswith("after 63.0 min")


def test_lines_cross_at_the_point():
    slow, quick, point = explorer.view(**START).figure.marks
    at = (point.x[0] - slow.x[0]) / (slow.x[1] - slow.x[0])
    for line in (slow, quick):
        rise = math.log(line.y[1] / line.y[0])
        assert line.y[0] * math.exp(at * rise) == pytest.approx(point.y[0])


def test_every_end_of_the_sliders_can_be_drawn():
    for state in product((1e-6, 10), (1e-11, 1e-6), (1, 1_000_000)):
        figure = explorer.view(*state).figure
        for mark in figure.marks:
            assert all(figure.x.low <= x <= figure.x.high for x in mark.x)
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_long_times_are_days_and_years():
    assert explorer._time(86_400 * 3) == "3 days"
    assert explorer._time(86_400 * 365.25 * 41) == "41 years"
    assert explorer._time(86_400 * 365.25 * 3e6) == "3 million years"


def test_the_static_form_says_where_they_tie(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    assert "They cross at 2^41.2 candidates, after 20.6 min." in " ".join(repr(explorer.break_even()).split())


def test_half_a_core_is_refused():
    with pytest.raises(ValueError, match="cores"):
        explorer.break_even(cores=0)


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(**START | {"quantum": 2e-3})) < STEP
