"""The explorer's task, its titles, and the work of a step of its slider."""

import pytest

from course_lib.units.q15_mixed_precision import explorer
from tests.explorers import STEP, calls_of


def test_the_task_by_hand():
    """Median 2^-23.25, deviation 4: 1 % lies 9.3 octaves below, a millionth 19 above; fp16: 2^-25 to 2^16."""
    assert explorer.good_scales("fp16", 1e-7, 4.0) == list(range(8, 21))
    assert explorer.good_scales("bf16", 1e-7, 4.0) == list(range(41))
    assert explorer.good_scales("fp8-e4m3", 1e-7, 4.0) == []


@pytest.mark.parametrize(
    ("exponent", "said"), [(0, "become zero"), (8, "fp16 holds them"), (20, "fp16 holds them"), (21, "too large")]
)
def test_the_title_says_what_is_lost(exponent, said):
    assert said in explorer.view("fp16", exponent, 1e-7, 4.0).figure.title


def test_a_step_of_the_slider_is_little_work():
    state = ("bf16", 20, 1e-7, 4.0)
    explorer.view(*state)
    assert calls_of(lambda: explorer.view(*state)) < STEP
