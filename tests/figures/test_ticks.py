"""Ticks are plain numbers, on the axis, few, and round."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.figures.ticks import FEW, MOST, few_ticks, linear_ticks, log_ticks, tick_text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1e-5, "s", "10 µs"),
        (2e-3, "s", "2 ms"),
        (5e-10, "s", "0.5 ns"),
        (3600, "s", "3,600 s"),
        (1e4, "s", "10⁴ s"),
        (9999.999999999998, "s", "10⁴ s"),
        (2e5, "s", "2·10⁵ s"),
        (14_400, "s", "1.44·10⁴ s"),
        (1e12, "s", "10¹² s"),
        (2e7, "B", "20 MB"),
        (5e11, "FLOP/s", "500 G"),
        (0.1, "FLOP/B", "0.1"),
        (2048, "", "2,048"),
        (2**20, "", "1.049 M"),
        (0.001, "", "0.001"),
        (30, "×", "30×"),
        (0.3, "×", "0.3×"),
        (50, "%", "50"),
        (0, "B", "0"),
        (-20e6, "B", "−20 MB"),
        (10.0**-6, "s", "1 µs"),
        (999.9999999999999e-6, "s", "1 ms"),
    ],
)
def test_texts(value, unit, text):
    assert tick_text(value, unit) == text


@given(st.floats(-9, 12), st.floats(0.02, 12))
def test_log_ticks_lie_on_the_axis_from_many_to_few(low, decades):
    low, high = 10**low, 10 ** (low + decades)
    sets = list(log_ticks(low, high))
    fitting = [ticks for ticks in sets if len(ticks) <= 9]
    assert fitting, "some set has few enough ticks"
    assert all(low * (1 - 1e-8) <= tick <= high * (1 + 1e-8) for ticks in sets for tick in ticks)
    assert len(fitting[0]) >= FEW
    assert all(ticks == sorted(set(ticks)) for ticks in sets)


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e9))
def test_linear_ticks_lie_on_the_axis_at_equal_steps(low, width):
    if width < 1e-6 * abs(low):
        return
    high = low + width
    for ticks in linear_ticks(low, high):
        assert all(low - 1e-6 * width <= tick <= high + 1e-6 * width for tick in ticks)
        steps = {round((b - a) / width, 5) for a, b in pairwise(ticks)}
        assert len(steps) <= 1 or max(steps) - min(steps) < 1e-4
    assert any(FEW <= len(ticks) <= 9 for ticks in linear_ticks(low, high))


@given(st.floats(1e-9, 1e9), st.floats(0.02, 15), st.booleans())
def test_ticks_are_few_on_any_axis(low, decades, log):
    high = low * 10**decades
    found = few_ticks(low, high, log)
    assert 2 <= len(found) <= MOST
    slack = 1e-8 * (low if log else high - low)
    assert all(low - slack <= tick <= high * (1 + 1e-8) for tick in found)


def test_powers_of_two_are_ticks_of_their_own():
    from course_lib.figures.ticks import _roundness

    assert sorted([511, 512, 513, 96], key=_roundness, reverse=True)[0] == 512
    assert math.isclose(_roundness(0.5), 0)
