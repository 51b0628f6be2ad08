"""The four needles against hand calculations, and the explorer's task, states and static form."""

import random

import pytest

from course_lib.units.q12_eighty_percent_busy import explorer
from course_lib.units.q12_eighty_percent_busy.needles import needles
from tests.explorers import STEP, calls_of


def test_a_long_addition_is_at_the_bandwidth_of_an_h100():
    shown = needles(blocks=1320, nbytes=6e8, flops=1e8)  # 179 µs at 3.35 TB/s
    assert shown.waits == "memory"
    assert shown.run == pytest.approx(6e8 / 3.35e12)
    assert (shown.util, shown.active, shown.memory) == pytest.approx((1, 1, 1), rel=1e-3)
    assert shown.peak == pytest.approx(1e8 / 6e8 * 3.35e12 / 989e12, rel=1e-3)


def test_short_kernels_wait_for_their_launches():
    shown = needles(blocks=132, nbytes=1, flops=1, chain=1e-6, issue=7e-6)
    assert (shown.util, shown.active) == pytest.approx((1 / 7, 1 / 7), rel=1e-3)


@pytest.mark.parametrize(("blocks", "filled"), [(1, 1 / 132), (66, 1 / 2), (132, 1), (133, 133 / 264), (264, 1)])
def test_sms_by_dealing_blocks_to_them(blocks, filled):
    """Each SM takes the next block when it has finished one; its busy time over the time of the last."""
    free = [0.0] * 132
    for _ in range(blocks):
        free[free.index(min(free))] += 1.0
    assert sum(free) / (132 * max(free)) == pytest.approx(filled)
    assert needles(blocks=blocks, nbytes=1, flops=1, chain=1e-3).active == pytest.approx(filled, rel=1e-4)


def test_no_gauge_shows_more_than_all():
    draw = random.Random(0)
    for _ in range(200):
        shown = needles(
            blocks=draw.randrange(1, 4000),
            nbytes=10 ** draw.uniform(0, 10),
            flops=10 ** draw.uniform(0, 13),
            chain=10 ** draw.uniform(-7, -2),
            issue=10 ** draw.uniform(-7, -4),
        )
        assert max(shown.util, shown.active, shown.memory, shown.peak) <= 1 + 1e-9
        assert shown.active <= shown.util


def test_the_task_has_the_answer_of_the_lesson():
    shown = needles(blocks=132, nbytes=1e3, flops=1e6, chain=1e-3, issue=5e-6)
    assert shown.util > 0.995
    assert shown.active > 0.995
    assert shown.memory < 0.05
    assert shown.peak < 0.01


@pytest.mark.parametrize(
    ("state", "waits"),
    [
        ({"chain": 1.0, "issue": 5.0}, "the next launch"),
        ({"chain": 1000.0}, "its chain"),
        ({"megabytes": 600.0, "blocks": 132}, "memory"),
        ({"gflop": 1000.0, "blocks": 132}, "arithmetic"),
    ],
)
def test_the_static_form_says_what_the_kernel_waits_for(state, waits, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    line = next(line for line in repr(explorer.gauges(**state)).splitlines() if line.startswith("it waits for"))
    assert line.split("  ")[-1].strip() == waits


def test_a_step_of_the_slider_is_little_work():
    state = ("h100-sxm", 1, 10.0, 5.0, 0.001, 0.001)
    explorer.view(*state)
    assert calls_of(lambda: explorer.view(*state)) < STEP
