"""Budgets that are taken apart and put together again, and laws that are found again."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.units.q09_thousand_dollars import fits, money, plans


@given(trials=st.floats(0, 3), lost=st.floats(0, 0.9), stored=st.floats(0, 500), sent=st.floats(0, 500))
def test_a_ledger_adds_up_and_its_run_costs_the_budget(trials, lost, stored, sent):
    lines = money.ledger(1000, trials=trials, lost=lost, stored_gb=stored, months=2, sent_gb=sent)
    assert sum(lines.values()) == pytest.approx(1000)
    useful = lines["final run"] + lines["trial runs"]
    assert lines["trial runs"] == pytest.approx(trials * lines["final run"], abs=1e-6)
    assert lines["lost runs"] == pytest.approx(lost * (useful + lines["lost runs"]), abs=1e-6)
    assert lines["storage"] == pytest.approx(stored * 2 * 0.023)


def test_a_ledger_wants_more_than_its_storage():
    with pytest.raises(ValueError, match="does not even pay"):
        money.ledger(1, trials=0, lost=0, stored_gb=1000, months=1, sent_gb=0)


def test_the_plan_spends_its_budget():
    """By hand: 1000/6.88 h · 3600 s · 989e12 FLOP/s · 0.4, and 6·N·D of it."""
    plan = plans.plan()
    assert plan.flops == pytest.approx(1000 / 6.88 * 3600 * 989e12 * 0.4)
    assert 6 * plan.params * plan.tokens == pytest.approx(plan.flops, rel=1e-6)
    assert plans.served_until_cheaper(plan, plan.params // 2) == pytest.approx(1.2287 * plan.tokens, rel=1e-3)


def test_a_law_without_noise_is_found_again():
    E, A, B, a, b = law = (1.8, 480.0, 2000.0, 0.34, 0.36)  # exponents of the grid
    params = np.tile(np.geomspace(2e7, 2e9, 6), 4)
    tokens = params * np.repeat([5, 20, 80, 300], 6)
    assert fits.fitted(params, tokens, E + A / params**a + B / tokens**b) == pytest.approx(law, rel=1e-3)
    sizes = np.geomspace(1e8, 1e11, 200_001)  # against a scan of every size
    scanned = sizes[np.argmin(E + A / sizes**a + B / (1e22 / 6 / sizes) ** b)]
    assert fits.best_size(law, 1e22) == pytest.approx(scanned, rel=1e-3)


def test_the_wall_is_where_the_models_own_term_uses_up_the_loss():
    plan = plans.plan()
    by_hand = (482.01 / (plan.loss - 1.8172)) ** (1 / 0.3478)
    assert plans.wall(plan) == pytest.approx(by_hand, rel=1e-6)
