"""The explorer of attention's share: against the shares worked out by hand, and its static form."""

import pytest

from course_lib.figures import plots
from course_lib.units.q07_attention_is_quadratic import explorer as module
from tests.explorers import STEP, calls_of


def readout(**changed):
    return module.attention_view(**{"model": "gpt2", "pairs": "all", "context": 1024} | changed).readout


def test_half_of_the_layers_is_at_six_times_the_width():
    """24·n·d² of projections and MLP against 4·n²·d of scores and values."""
    assert module.half("gpt2", "all", 1) == 6 * 768
    assert module.half("gpt3-175b", "all", 1) == 6 * 12288
    assert module.half("gpt2", "causal", 1) == 2 * 6 * 768 - 1  # n + 1 keys a query on average, halved


def test_half_of_the_whole_pass_counts_the_head():
    layers, head = 32 * (2 * 4096 * (4096 + 2 * 1024) + 2 * 4096**2 + 6 * 4096 * 14336), 2 * 4096 * 128256
    assert module.half("llama3-8b", "all", 0) == (layers + head) // (4 * 32 * 4096) == 28_628
    assert module.half("llama3-8b", "causal", 0) == 2 * 28_628 - 1


def test_numbers_of_one_state():
    d, n = 768, 1024
    share = 4 * n * d / (24 * d * d + 4 * n * d)
    assert readout()["their share of the layers"] == f"{share:.1%}"
    assert readout()["scores of one layer"] == "25.2 MB"
    assert readout()["keys and values"] == "37.7 MB"


@pytest.mark.parametrize("model", module.MODELS)
def test_the_name_of_the_pass_stands_under_its_own_curve(model):
    """The layers' curve runs above that of the pass: a name above the lower one would be read as the upper one's."""
    places, whole, layers = module.curve(model, "all")
    marks = module.attention_view(model, "all", 1024).figure.marks
    [name] = [mark for mark in marks if isinstance(mark, plots.Label)]
    apart = any(mark.label == "layers only" for mark in marks if isinstance(mark, plots.Line))
    assert apart == (max(b - a for a, b in zip(whole, layers, strict=True)) > 4), "curves that coincide have one name"
    assert name.text == ("whole pass" if apart else "whole pass, and layers")
    assert all(name.y < whole[i] <= layers[i] for i in range(len(places)) if places[i] >= name.x / 2)


@pytest.mark.parametrize("model", module.MODELS)
@pytest.mark.parametrize("pairs", module.PAIRS)
@pytest.mark.parametrize("context", [module.LEAST, module.MOST])
def test_every_corner_has_a_picture(model, pairs, context):
    view = module.attention_view(model, pairs, context)
    assert view.figure.title
    assert "%" in view.figure.description


def test_a_step_of_the_slider_is_little_work():
    readout()
    assert calls_of(lambda: readout(context=2001)) < STEP


def test_the_static_form_and_its_call():
    text = repr(module.attention(context=4608))
    assert 'explorer.attention(model="gpt2", pairs="all", context=4608)' in text
    assert "4,608 tokens" in text
    with pytest.raises(ValueError, match="pairs"):
        module.attention(pairs="some")
