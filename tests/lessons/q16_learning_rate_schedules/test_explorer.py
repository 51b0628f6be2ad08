"""The explorer's tasks, its states and its static form."""

import math

import pytest

from course_lib.accounting import optimisation
from course_lib.units.q16_learning_rate_schedules import bowls, explorer
from course_lib.units.q16_learning_rate_schedules.schedules import rates
from tests.explorers import STEP, calls_of

BASE = {"rate": 0.3, "momentum": "0", "kind": "constant", "warmup": 0, "curvature": 1.0, "noise": 1.0}


def end(**state):
    return explorer.view(**BASE | state).readout["loss at the end"]


def test_the_first_task_is_answered_by_the_limit():
    limit = optimisation.stable_rate(100, momentum=0.9)
    assert limit == pytest.approx(0.038)
    common = {"momentum": "0.9", "curvature": 100.0}
    assert end(rate=0.97 * limit, **common) != "more than at the start"
    assert end(rate=1.03 * limit, **common) == "more than at the start"


def test_the_second_task_is_answered_by_three_hundredths():
    constant = bowls.expected([0.03] * 200)[-1]
    cosine = bowls.expected(rates("cosine", 200, 0.3))[-1]
    assert constant == pytest.approx(cosine, rel=0.05)
    assert bowls.expected([0.3] * 200)[-1] / cosine == pytest.approx(11, abs=0.6)


@pytest.mark.parametrize(
    ("state", "title"),
    [
        ({"rate": 2.5}, "grows"),
        ({"kind": "cosine"}, "cosine: the loss ends at"),
        ({"rate": 2.05, "kind": "linear"}, "linear: the peak is too fast to stay at"),
        ({"rate": 2.0, "warmup": 100, "noise": 0.001}, "constant: the peak is too fast to stay at"),
    ],
)
def test_the_title_says_what_becomes_of_the_loss(state, title):
    assert title in explorer.view(**BASE | state).figure.title


def test_a_loss_that_leaves_the_picture_is_drawn_to_its_edge():
    """Each step multiplies the steep weight by 1 − 10 · 1000, so the first one ends far above the picture."""
    figure = explorer.view(**BASE | {"rate": 10.0, "curvature": 1000.0, "noise": 0.001}).figure
    (line,) = figure.marks
    assert (len(line.x), line.x[0], line.y[-1]) == (2, 0, figure.y.high)
    assert math.log(line.y[1] / line.y[0]) / line.x[1] == pytest.approx(2 * math.log(9999), rel=1e-3)


def test_a_step_of_the_slider_is_little_work():
    explorer.view(**BASE)
    assert calls_of(lambda: explorer.view(**BASE)) < STEP
