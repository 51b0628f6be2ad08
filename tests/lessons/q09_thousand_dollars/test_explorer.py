"""The explorer of prices: its dollars by hand, where half the size gets cheaper, and its static form."""

import pytest

from course_lib.accounting import economics
from course_lib.units.q09_thousand_dollars import explorer as module
from course_lib.units.q09_thousand_dollars import plans
from tests.explorers import STEP, calls_of


def lines(**state):
    shown = module.view(**({"budget": 1000, "device": "h100-sxm", "mfu": 0.4, "served": 1, "serving": 0.4} | state))
    return [dict(zip(mark.x, mark.y, strict=True)) for mark in shown.figure.marks[:2]], shown


def test_the_plan_costs_its_budget_and_serving_comes_on_top():
    (train, life), _ = lines(served=78.8)
    size = plans.plan().params
    assert train[size] == pytest.approx(1000, rel=1e-6)
    assert life[size] == pytest.approx(2000, rel=1e-3)  # three times 26.3 billion tokens: as much again
    (_, dearer), _ = lines(served=78.8, serving=0.04)
    assert dearer[size] == pytest.approx(11_000, rel=1e-3)


def test_all_sizes_have_the_loss_of_the_plan():
    plan, models = module.trained(1000, "h100-sxm", 0.4)
    assert all(economics.besiroglu_loss(*model) == pytest.approx(plan.loss, rel=1e-6) for model in models)


@pytest.mark.parametrize(("served", "cheaper"), [(32, False), (33, True)])
def test_half_the_size_gets_cheaper_at_32_billion_tokens(served, cheaper):
    (_, life), shown = lines(served=served)
    size = plans.plan().params
    assert (life[size // 2] < life[size]) == cheaper
    assert ("is the cheaper one" in shown.figure.title) == cheaper


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.price_of_a_loss(served=50))
    assert "adds 50.0 billion tokens that are served" in text
    assert 'explorer.price_of_a_loss(budget=1000.0, device="h100-sxm", mfu=0.4, served=50.0, serving=0.4)' in text


def test_a_step_of_a_slider_is_little_work():
    state = {"budget": 1000, "device": "h100-sxm", "mfu": 0.4, "served": 1, "serving": 0.4}
    assert calls_of(lambda: module.view(**state | {"served": 2})) < STEP
    assert calls_of(lambda: module.view(**state | {"budget": 1100})) < STEP


@pytest.mark.parametrize("served", [0.01, 10, 10_000, 100_000])
@pytest.mark.parametrize("serving", [0.0001, 0.04, 0.4])
@pytest.mark.parametrize("budget", [10, 1000, 1e7])
def test_the_cheapest_is_dearer_to_both_sides(budget, serving, served):
    """Also where so much is served that it lies close to the wall; no finer search finds one that is 2 % cheaper."""
    (_, life), _ = lines(budget=budget, served=served, serving=serving)
    best = min(life, key=life.get)
    assert min(life) < best < max(life)
    plan = plans.plan(budget)
    wall, each = plans.wall(plan), plans.flop_per_dollar("h100-sxm", 1)
    for step in range(1, 400):
        params = round(wall * 1.02**step) + 1
        if params > 4 * plan.params:
            break
        tokens = plans.longer(plan, params).tokens
        dollars = (6 * params * tokens / 0.4 + 2 * params * served * 1e9 / serving) / each
        assert life[best] < 1.02 * dollars
