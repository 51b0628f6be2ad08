"""Schedules against torch's own, noisy descents against torch's SGD, exercises against torch's Adam."""

import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler

from course_lib.units.q16_learning_rate_schedules import bowls, checks, schedules

TOTAL = 50


def torchs(make, total=TOTAL, peak=0.3):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=peak)
    scheduler, found = make(optimizer), []
    for _ in range(total):
        found.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return found


def test_kinds_are_those_of_torch():
    made = {
        "constant": lambda o: lr_scheduler.ConstantLR(o, factor=1.0),
        "step": lambda o: lr_scheduler.MultiStepLR(o, [25, 40], gamma=0.1),
        "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, TOTAL),
        "linear": lambda o: lr_scheduler.LinearLR(o, 1.0, 0.0, TOTAL),
        "wsd": lambda o: lr_scheduler.SequentialLR(
            o, [lr_scheduler.ConstantLR(o, factor=1.0), lr_scheduler.LinearLR(o, 1.0, 0.0, 10)], [40]
        ),
    }
    assert set(made) == set(schedules.KINDS)
    for kind, make in made.items():
        assert schedules.rates(kind, TOTAL, 0.3) == pytest.approx(torchs(make)), kind


def test_a_warm_up_reaches_the_peak_and_leaves_the_rest_to_the_decay():
    found = schedules.rates("cosine", 60, 0.3, warmup=10)
    assert found[:10] == pytest.approx([0.03 * step for step in range(1, 11)])
    assert found[10:] == pytest.approx(torchs(lambda o: lr_scheduler.CosineAnnealingLR(o, 50)))


def test_a_decay_goes_to_its_final_rate():
    expected = torchs(lambda o: lr_scheduler.CosineAnnealingLR(o, TOTAL, eta_min=0.02))
    assert [schedules.rate("cosine", step, TOTAL, 0.3, final=0.02) for step in range(TOTAL)] == pytest.approx(expected)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="'sine' must be one of constant"):
        schedules.rate("sine", 0, 10)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("kind", schedules.KINDS)
def test_the_mean_loss_is_that_of_many_descents(kind, momentum):
    followed, curvature, draw = schedules.rates(kind, 60, 0.05), 3.0, np.random.default_rng(1)
    w = torch.full((20_000,), bowls.START, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=momentum)
    for rate in followed:
        optimizer.param_groups[0]["lr"] = rate
        w.grad = curvature * w.detach() + 2.0 * torch.from_numpy(draw.standard_normal(20_000))
        optimizer.step()
    told = bowls.expected(followed, curvature, sigma=2.0, momentum=momentum)
    assert (curvature * w.detach() ** 2 / 2).mean().item() == pytest.approx(told[-1], rel=0.05)
    assert len(told) == 61
    assert told[0] == curvature * bowls.START**2 / 2


def test_without_momentum_simulation_and_moments_agree():
    followed = schedules.rates("linear", 100, 0.2)
    assert bowls.simulated(followed, 2.0, 0.5) == pytest.approx(bowls.expected(followed, 2.0, 0.5)[-1], rel=0.05)


@pytest.mark.parametrize("gradients", [[1e-6, 1e-6], [1000.0, 1.0, 1.0], [0.0, 2.0, -1.0, 0.5]])
def test_the_exercise_moves_as_torchs_adam(gradients):
    w = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer, found = torch.optim.Adam([w], lr=0.01, betas=(0.8, 0.99)), []
    for gradient in gradients:
        before = w.item()
        w.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        found.append(before - w.item())
    assert checks._adam_moves(gradients, 0.01, 0.8, 0.99) == pytest.approx(found, rel=1e-6, abs=1e-12)


def test_the_exercises_scheduler_is_the_lessons():
    for kind in checks.KINDS:
        for step in range(30):
            told = schedules.rate(kind, step, 30, 0.02, 4, 0.002)
            assert checks._rate_at(kind, step, 30, 0.02, 4, 0.002) == pytest.approx(told)
