"""Projects against hand calculations, the generations of cards against data sheets typed here, and what is measured
against brute force.
"""

from itertools import combinations

import pytest

from course_lib.accounting import hardware
from course_lib.units.q17_why_optimize import growth, projects
from course_lib.units.q17_why_optimize.experiments import complexity_race, index_break_even


def test_attention_by_hand():
    # 24 % · 2/3 = 16 % of 40,000 = 6,400; times 0.7 = 4,480 a month; 10,000/4,480; six months: 26,880/10,000 - 1
    attention = projects.ATTENTION
    assert attention.saved == pytest.approx(0.16)
    assert attention.monthly == pytest.approx(4480)
    assert attention.pays_after == pytest.approx(10_000 / 4480)
    assert attention.roi == pytest.approx(1.688)


def test_a_part_that_gets_slower_saves_less_than_nothing():
    assert projects.saved(0.5, 0.5) == pytest.approx(-0.5)


# fp16 TFLOP/s, GB/s, dollars: typed from the data sheets and the price lists
SHEETS = {"a100-40-sxm": (312, 1555, 2.745), "h100-sxm": (989, 3350, 6.88), "b200-sxm": (2250, 8000, 14.24)}


@pytest.mark.parametrize("id", SHEETS)
def test_a_generation_over_a_v100(id):
    peak, bandwidth, price = (new / old for new, old in zip(SHEETS[id], (125, 900, 3.06), strict=True))
    new = growth.versus(id)
    assert (new.peak, new.bandwidth, new.price) == pytest.approx((peak, bandwidth, price), rel=1e-3)
    assert (new.flops, new.bytes) == pytest.approx((peak / price, bandwidth / price), rel=1e-3)


def test_no_card_with_a_price_is_left_out():
    priced = {id for id in hardware.names() if hardware.load(id).price_per_hour and not id.startswith("tpu")}
    assert set(growth.CARDS) == priced
    assert [growth.versus(id).year for id in growth.CARDS] == sorted(growth.versus(id).year for id in growth.CARDS)


def test_the_title():
    new = growth.versus("b200-sxm")
    assert (round(new.peak), round(new.bytes, 1)) == (18, 1.9)
    assert round(new.year - growth.versus("v100-sxm2").year) == 7


def test_a_year_compounds():
    rate = growth.a_year(growth.work(), growth.between_trainings())
    assert growth.between_trainings() == pytest.approx(50 / 12)  # May 2020 to July 2024
    assert rate ** (50 / 12) == pytest.approx(
        3.791e25 / 3.15e23, rel=1e-3
    )  # 6 · 405e9 · 15.6e12 over 6 · 175e9 · 300e9


@pytest.mark.parametrize("n", [64, 256])
def test_both_ways_find_the_duplicates(n):
    drawn = complexity_race.numbers(n).tolist()
    pairs = sum(a == b for a, b in combinations(drawn, 2))
    assert complexity_race.counter("pairs", n)() == pairs > 0
    assert complexity_race.counter("sort", n)() == n - len(set(drawn))


def test_a_scan_and_a_search_give_one_answer(monkeypatch):
    import numpy as np

    few = np.random.default_rng(1).random(1000, dtype=np.float32)
    monkeypatch.setattr(index_break_even, "NUMBERS", 1000)
    monkeypatch.setattr(index_break_even, "_data", lambda: (few, np.sort(few)))
    answers = {step: index_break_even._call(step)() for step in ("scan", "search", "wide")}
    assert set(answers.values()) == {sum(x < 0.5 for x in few.tolist())}
