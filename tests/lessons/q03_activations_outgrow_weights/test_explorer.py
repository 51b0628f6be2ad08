"""The timeline of a training step, against `training_peak`, against the traced allocator, and as an explorer."""

import itertools

import pytest

from course_lib.accounting import memory, models
from course_lib.units.q03_activations_outgrow_weights import explorer as module
from course_lib.units.q03_activations_outgrow_weights.explorer import levels, timeline, view

CASES = list(itertools.product(("gpt2", "tinyllama-1.1b"), ("fp32", "amp-bf16", "bf16"), ("eager", "sdpa"), (1, 8)))


@pytest.mark.parametrize(("name", "precision", "attention", "batch"), CASES)
@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
def test_the_highest_instants_are_those_of_training_peak(name, precision, attention, batch, recompute):
    model = models.load(name)
    how = {"precision": precision, "attention": attention, "recompute": recompute}
    phases = levels(model, batch, 512, **how)
    peak = memory.training_peak(model, batch, 512, **how)
    assert max(map(max, phases.values())) == int(peak)
    assert phases["backward"][0] == int(peak.phases["loss_backward"])
    assert max(phases["backward"][1::2]) == int(peak.phases["block_backward"])
    assert phases["optimizer"] == [int(peak.phases[name]) for name in ("end_of_backward", "optimizer")]


def test_the_forward_pass_rises_by_what_is_saved_and_the_logits():
    model = models.load("gpt2")
    forward = levels(model, 2, 128)["forward"]
    logits = 4 * 2 * 128 * model.vocab
    assert forward[-1] - forward[0] == int(memory.activations(model, 2, 128)) + logits
    steps = [after - before for before, after in itertools.pairwise(forward[1:-1])]
    assert set(steps) == {int(memory.activations(model, 2, 128)["layer"])}


def test_the_ends_of_the_phases_are_those_of_the_traced_step():
    from course_lib.experiments.measurements import allocator_trace
    from course_lib.experiments.nets import tiny_gpt

    model = tiny_gpt.describe(layers=4, d_model=128, heads=4, vocab=1024, context=128)

    class Cpu:
        kind = "cpu"

    expected = allocator_trace._predicted(model, 4, Cpu)
    phases = levels(model, 4, 128)
    assert phases["forward"][-1] == expected["forward, 100 %"]
    assert max(map(max, phases.values())) == expected["peak"]


def test_the_static_form_says_in_words_what_the_picture_shows():
    shown = timeline(recompute="full")
    text = repr(shown)
    assert "15.4 GB" in text
    assert 'recompute="full"' in text
    assert shown.state["batch"] == 16


@pytest.mark.parametrize("name", module.MODELS)
def test_every_model_can_be_drawn(name):
    shown = view(name, "h100-sxm", "sdpa", "full", "bf16", 1, 512)
    assert shown.figure.marks
    assert "saved by autograd" in shown.readout


@pytest.mark.parametrize(("tokens", "falls"), [(1, False), (64, False), (1024, True)])
def test_it_says_whether_the_backward_pass_falls_from_block_to_block(tokens, falls):
    said = view("gpt2", "rtx-4090", "eager", "none", "fp32", 1, tokens).figure.description
    ends = levels(models.load("gpt2"), 1, tokens)["backward"][2::2]
    assert (ends == sorted(ends, reverse=True)) is falls
    assert ("It falls block by block" in said) is falls
    assert ("It does not fall block by block" in said) is not falls


@pytest.mark.parametrize(
    ("recompute", "precision", "end"),
    [("full", "fp32", ": it fits"), ("none", "bf16", ": tight"), ("none", "fp32", " × the device")],
)
def test_only_what_leaves_a_tenth_of_the_device_is_said_to_fit(recompute, precision, end):
    assert view("gpt2", "rtx-4090", "eager", recompute, precision, 16, 1024).figure.title.endswith(end)


def test_a_sequence_beyond_the_context_is_refused_in_words():
    with pytest.raises(ValueError, match="context"):
        view("gpt2", "h100-sxm", "sdpa", "full", "bf16", 1, 2048)
