"""The small models of one budget: what they cost, that they learn, and the parabola through their losses."""

import math

import numpy as np
import pytest
import torch

from course_lib.units.q09_thousand_dollars.experiments import tiny_scaling


def test_every_model_of_a_budget_costs_the_same():
    for budget, sizes in (tiny_scaling.BUDGETS | tiny_scaling.MORE).items():
        for size in sizes:
            spent = 6 * tiny_scaling.parameters(size) * tiny_scaling.STEPS * tiny_scaling.batch(size, budget)
            assert spent == pytest.approx(budget, rel=0.03)  # a batch is whole


def test_parameters_are_those_that_multiply():
    """Against FLOP counted by torch: 2 for each weight of a forward pass over one window."""
    w = tiny_scaling._weights(torch, "cpu", (8, 32), torch.Generator().manual_seed(0))
    assert sum(weight.numel() for weight in w[1:]) == tiny_scaling.parameters((8, 32)) == 6273


def test_a_seed_gives_the_same_loss_and_training_helps(monkeypatch):
    monkeypatch.setattr(tiny_scaling, "STEPS", 60)
    first, second = (tiny_scaling.loss(torch, "cpu", (4, 16), 5e8, seed=2) for _ in range(2))
    assert first == pytest.approx(second, abs=0.02)
    assert first < math.log(65) - 1  # all characters equally likely


def test_the_valley_is_numpys():
    points = [(849, 2.6), (2145, 2.45), (6273, 2.41), (12_481, 2.5), (24_897, 2.7)]
    fitted = np.polyfit(np.log([params for params, _ in points]), [loss for _, loss in points], 2)
    assert tiny_scaling.valley(points) == pytest.approx(fitted, rel=1e-6)
    assert tiny_scaling.best_size(points) == pytest.approx(np.exp(-fitted[1] / 2 / fitted[0]))
    assert tiny_scaling.read_off(points, 5000) == pytest.approx(np.polyval(fitted, np.log(5000)))


def test_a_valley_is_found_where_it_was_put():
    points = [(params, 2 + 0.1 * math.log(params / 4000) ** 2) for params in (800, 2000, 6000, 20_000)]
    assert tiny_scaling.best_size(points) == pytest.approx(4000)
