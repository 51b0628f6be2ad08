"""The digits, and two networks that learn them."""

import pytest
import torch

from course_lib.experiments.nets import digits
from course_lib.units.q08_convolution_or_attention.experiments import data_hunger


def test_the_digits_are_those_of_uci():
    images, classes = digits.tensors(torch)
    assert images.shape == (1797, 1, 8, 8)
    assert torch.bincount(classes).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]  # its names file
    assert (images.mean().abs() < 1e-5, round(images.std().item(), 5)) == (True, 1.0)
    assert classes[:10].tolist() == list(range(10))


def test_both_networks_have_about_the_same_weights_and_the_classifier_650():
    assert data_hunger.weights(data_hunger.LINEAR) == 650  # 64 pixels and a bias for each of 10 classes
    small, large = sorted(data_hunger.weights(net) for net in (data_hunger.CONVOLUTION, data_hunger.TRANSFORMER))
    assert large < 1.05 * small


@pytest.mark.parametrize("net", data_hunger.NETS)
def test_a_seed_gives_the_same_answer_and_training_helps(net, monkeypatch):
    monkeypatch.setattr(data_hunger, "STEPS", 40)
    first, second = (data_hunger.accuracy(torch, "cpu", net, 100, seed=3) for _ in range(2))
    assert first == pytest.approx(second, abs=1.0)
    assert first > 25  # chance is 10 %


def test_the_order_of_the_pixels_is_nothing_to_a_linear_classifier(monkeypatch):
    """The shuffle has a generator of its own: only the first weights meet other pixels."""
    monkeypatch.setattr(data_hunger, "STEPS", 200)
    as_drawn, shuffled = (data_hunger.accuracy(torch, "cpu", data_hunger.LINEAR, 1000, each) for each in (False, True))
    assert as_drawn == pytest.approx(shuffled, abs=3.0)
    assert as_drawn > 85


def test_forward_uses_every_weight():
    for sizes, forward in data_hunger.NETS.values():
        w = [torch.randn(size).mul_(0.1).requires_grad_() for size in sizes()]
        forward(torch.nn.functional, w, torch.randn(4, 1, 8, 8)).square().sum().backward()
        assert all(weight.grad is not None and weight.grad.abs().sum() > 0 for weight in w)
