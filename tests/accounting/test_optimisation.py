"""Stable rates and noise floors against torch's own SGD on bowls, with and without noise."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import optimisation


def after(rate, curvatures, momentum, steps=3000):
    """The loss that torch.optim.SGD reaches on a bowl, from 1 in each direction, in float64."""
    w = torch.ones(len(curvatures), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=rate, momentum=momentum)
    bowl = torch.tensor(curvatures, dtype=torch.float64)
    for _ in range(steps):
        w.grad = bowl * w.detach()
        optimizer.step()
        if w.abs().max() > 1e12:
            return math.inf
    return 0.5 * (bowl * w.detach() ** 2).sum().item()


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9, 0.95])
@pytest.mark.parametrize("curvatures", [(1.0, 100.0), (40.0, 3.0), (0.2,)])
def test_just_below_it_converges_and_just_above_it_diverges(curvatures, momentum):
    limit = optimisation.stable_rate(max(curvatures), momentum=momentum)
    assert after(0.98 * limit, curvatures, momentum) < 1e-3
    assert after(1.02 * limit, curvatures, momentum) > 1e3


@pytest.mark.parametrize("momentum", [0.0, 0.5, 0.9])
@pytest.mark.parametrize(("rate", "curvature"), [(0.4, 1.0), (0.05, 1.0), (0.02, 50.0), (1.5, 1.0)])
def test_floor_is_where_many_noisy_copies_end(rate, curvature, momentum):
    draw, sigma = np.random.default_rng(16), 0.7
    w = v = np.zeros(20_000)
    for _ in range(400):
        v = momentum * v + curvature * w + sigma * draw.standard_normal(len(w))
        w = w - rate * v
    found = (0.5 * curvature * w**2).mean()
    assert found == pytest.approx(optimisation.noise_floor(rate, curvature, sigma, momentum=momentum), rel=0.06)


@given(rate=st.floats(1e-4, 1.9), sigma=st.floats(0, 10), batch=st.integers(1, 1000))
def test_a_batch_divides_the_floor(rate, sigma, batch):
    floor = optimisation.noise_floor(rate, 1.0, sigma)
    assert optimisation.noise_floor(rate, 1.0, sigma / math.sqrt(batch)) == pytest.approx(floor / batch)


def test_at_the_limit_there_is_no_floor():
    assert optimisation.noise_floor(0.2, 10, 1) == math.inf
    assert optimisation.noise_floor(0.19, 10, 1) < math.inf
    assert optimisation.noise_floor(0, 10, 1) == 0


@pytest.mark.parametrize("call", [lambda: optimisation.stable_rate(0), lambda: optimisation.stable_rate(-1)])
def test_a_curvature_is_above_zero(call):
    with pytest.raises(ValueError, match="curvature"):
        call()


@pytest.mark.parametrize("momentum", [1, 1.5, -0.1, "much"])
def test_a_momentum_is_from_zero_to_below_one(momentum):
    with pytest.raises(ValueError, match="momentum"):
        optimisation.stable_rate(1, momentum=momentum)
    with pytest.raises(ValueError, match="momentum"):
        optimisation.noise_floor(0.1, 1, 1, momentum=momentum)


@pytest.mark.parametrize(("rate", "sigma", "named"), [(-0.1, 1, "rate"), (0.1, -1, "sigma"), ("fast", 1, "rate")])
def test_what_makes_no_sense_is_refused(rate, sigma, named):
    with pytest.raises(ValueError, match=named):
        optimisation.noise_floor(rate, 1, sigma)
