"""The experiments of case 1: that what is compared computes the same, that a profile is sorted right, and that what is
predicted is Amdahl's law. No time is asserted.
"""

import statistics

import pytest
import torch

from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running.bench import Bench
from course_lib.units.case1_gpt2_ladder import gpt_steps
from course_lib.units.case1_gpt2_ladder.experiments import (
    attention_apart,
    batch_bargain,
    same_loss,
    step_shares,
)

SMALL = gpt_steps.Step(tiny_gpt.describe(2, 32, 2, 64, 48), 48, attention="eager", optimizer="loop")


@pytest.fixture
def bench():
    return Bench.on_device(torch, "cpu")


@pytest.mark.parametrize(
    "changed",
    [
        {"attention": "sdpa"},
        {"attention": "sdpa", "optimizer": "fused"},
        {"optimizer": "foreach"},
        {"attention": "sdpa", "recompute": "full"},
    ],
)
def test_every_rung_trains_the_same_network(bench, changed, monkeypatch):
    monkeypatch.setattr(same_loss, "STEPS", 5)
    assert same_loss.loss(bench, SMALL.but(**changed)) == pytest.approx(same_loss.loss(bench, SMALL), rel=1e-4)


def test_autocast_is_seen_in_the_loss(bench, monkeypatch):
    monkeypatch.setattr(same_loss, "STEPS", 5)
    plain, auto = (same_loss.loss(bench, step) for step in (SMALL, SMALL.but(autocast=True)))
    assert auto == pytest.approx(plain, rel=0.02)
    assert auto != plain


def test_fused_attention_computes_what_the_eager_form_does():
    """By the softmax written out, row by row, in fp64."""
    seen = []

    class Watched:
        on = "cpu"
        torch = torch

        @staticmethod
        def random(*shape):
            drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(len(seen)))
            seen.append(drawn)
            return drawn

    ways = attention_apart.calls(Watched, SMALL)
    query, key, value = seen
    grads = {}
    for way in ("eager", "causal"):
        ways[way]()
        grads[way] = [tensor.grad.clone() for tensor in seen]
    for eager, fused in zip(*grads.values(), strict=True):
        torch.testing.assert_close(eager, fused, rtol=1e-4, atol=1e-5)
    rows = torch.zeros(value.shape, dtype=torch.float64)  # the gradient of the values is the weights' column sums
    scores = query.detach().double() @ key.detach().double().transpose(-1, -2) * SMALL.model.head_width**-0.5
    for last in range(SMALL.seq):
        weights = torch.softmax(scores[..., last, : last + 1], dim=-1)
        rows[..., : last + 1, :] += weights.unsqueeze(-1)
    torch.testing.assert_close(grads["eager"][2].double(), rows, rtol=1e-4, atol=1e-5)


def test_a_profile_sums_to_the_step_and_sees_every_kind(bench):
    found = step_shares.profiled(bench, SMALL, 2)
    assert set(found) == set(step_shares.KINDS)
    assert all(len(seconds) == 2 for seconds in found.values())
    shares = step_shares.shares({kind: statistics.median(seconds) for kind, seconds in found.items()})
    assert sum(shares.values()) == pytest.approx(1)
    assert min(shares[kind] for kind in ("scores", "passes", "products", "optimizer", "loss")) > 0


@pytest.mark.parametrize(
    ("names", "shapes", "kind"),
    [
        (["aten::bmm"], [[8, 48, 16], [8, 16, 48]], "scores"),
        (["aten::_softmax", "aten::softmax"], [[2, 4, 48, 48]], "passes"),
        (["aten::mul"], [[2, 4, 48, 48], []], "passes"),
        (["aten::mul"], [[2, 48, 128], []], "pointwise"),
        (["aten::mul", "Optimizer.step#AdamW.step"], [[48, 48]], "optimizer"),
        (["aten::addmm"], [[384], [48, 128], [128, 384]], "products"),
        (["aten::_log_softmax", "aten::cross_entropy_loss"], [[48, 64]], "loss"),
        (["aten::copy_"], [[2, 48, 128]], "between"),
        (["autograd::engine::evaluate_function: BmmBackward0"], [], "between"),
    ],
)
def test_operations_are_sorted(names, shapes, kind):
    assert step_shares.classify(names, shapes, 48) == kind


def test_a_bargain_is_counted_in_samples(bench, monkeypatch):
    took = {"plain": [1.0, 2.0, 4.0], (4, "plain"): [2.0, 4.0, 4.0], (4, "again"): [4.0, 5.0, 8.0]}
    monkeypatch.setattr(batch_bargain, "race", lambda calls, rounds, on: took)
    found = batch_bargain.bargains(bench, SMALL, (4,), 3)[4]
    assert found == {"scaling": [2.0, 2.0, 1.0], "factor": [2.0, 1.25, 2.0], "gain": [1.0, 1.6, 2.0]}


def test_flops_of_recomputing():
    model, seq = SMALL.model, SMALL.seq
    head = 2 * seq * model.d_model * model.vocab
    layer = 2 * seq * 12 * model.d_model**2 + 4 * seq * seq * model.d_model
    forward = model.layers * layer + head
    assert SMALL.but(recompute="full").factor == pytest.approx((4 * forward - head) / (3 * forward))
