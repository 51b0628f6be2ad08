"""The diary's ledger against hand calculations, and a ladder against exact fractions."""

from fractions import Fraction
from random import Random

import pytest

from course_lib.units.case1_gpt2_ladder import diary

# GPT-2 small from its sizes: 12 layers of width 768, vocabulary 50,257, one sample of 1,024 tokens
T, D, L, V = 1024, 768, 12, 50_257
HEAD = 2 * T * D * V
FORWARD = L * (2 * T * 12 * D * D + 4 * T * T * D) + HEAD


def test_a_sample_is_three_forward_passes():
    assert diary.sample_flops() == 3 * FORWARD


@pytest.mark.parametrize(("dtype", "peak"), [("fp32", 19.5e12), ("tf32", 156e12), ("bf16", 312e12)])
def test_ceilings_by_the_data_sheet(dtype, peak):
    assert diary.ceiling(dtype) == pytest.approx(peak / (3 * FORWARD))


def test_the_title():
    assert round(100 * diary.utilisation(32, "fp32")) == 144
    assert diary.utilisation(32, "fp32") == pytest.approx(28.0e12 / 19.5e12, rel=1e-3)


def test_the_ledger_by_hand():
    # 500 - (120 - 40); (40 + 60 + 20 + 250) x 3/5 + 50; less 10
    assert list(diary.added_up().values()) == pytest.approx([500, 420, 272, 262])
    assert pytest.approx(1.908, abs=1e-3) == 500 / 262


def test_a_ladder_against_fractions():
    rng = Random(0)
    for _ in range(50):
        parts = {name: rng.randrange(1, 300) for name in "abcd"}
        rungs = [(rng.choice("abcd"), rng.choice([2, 4, 8])) for _ in range(6)]
        left = {name: Fraction(ms) for name, ms in parts.items()}
        found = []
        for name, speedup in rungs:
            left[name] = left[name] / speedup
            found.append(float(sum(left.values())))
        assert diary.climb(parts, rungs) == pytest.approx(found)


def test_recomputing_leaves_out_the_head():
    assert diary.recompute_factor() == pytest.approx((4 * FORWARD - HEAD) / (3 * FORWARD), rel=1e-6)
    assert 1 / diary.recompute_factor() == pytest.approx(0.8045, abs=1e-3)


def test_the_third_rung_by_hand():
    # 72 + 150 + 50 = 272 ms for 16; for 32: 2 x (72 + 150 + 52.5) + 50 = 599
    assert diary.recomputed({"forward": 72, "backward": 150, "fixed": 50}) == pytest.approx(2 * 272 / 599, rel=1e-3)
    assert diary.recomputed({"forward": 72, "backward": 150, "fixed": 50}, 1, 0.5) == pytest.approx(2 * 272 / 308)
