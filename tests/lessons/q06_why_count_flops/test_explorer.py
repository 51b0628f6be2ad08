"""The explorer of the FLOP tree: its boxes against the calculator, its rule of thumb, and its static form."""

import pytest

from course_lib.accounting import flops, models
from course_lib.figures.plots import Line
from course_lib.units.q06_why_count_flops import explorer as module
from tests.explorers import STEP, calls_of


def heights(view) -> list[list[float]]:
    """Of each level the heights of its boxes, from the bottom."""
    levels = [[], [], [], []]
    for box in (mark for mark in view.figure.marks if isinstance(mark, Line)):
        levels[round(box.x[0] + 0.45)].append(max(box.y) - min(box.y))
    return levels


@pytest.mark.parametrize("model", ["gpt2", "llama3-8b", "mixtral-8x7b"])
@pytest.mark.parametrize("work", module.WORK)
def test_every_level_adds_up_to_the_count(model, work):
    chosen = models.load(model)
    counted = {"forward": flops.forward(chosen, 1, 512)}
    counted |= {name: flops.training_step(chosen, 1, 512, recompute=name) for name in ("none", "full")}
    count = counted[work]
    for level in heights(module.view(model, work, 512, False)):
        assert sum(level) == pytest.approx(int(count) / 512)
    assert heights(module.view(model, work, 512, False))[3][-1] == pytest.approx(int(count["head"]) / 512)


def test_the_rule_counts_parameters():
    readout = module.view("gpt2", "forward", 1024, False).readout
    assert readout["the rule ÷ the count"] == "×0.874"  # 2 · 124,439,808 ÷ 284,812,800
    assert readout["2·N says"] == "249 MFLOP"
    assert "of which a token uses" in module.view("mixtral-8x7b", "none", 64, True).readout


@pytest.mark.parametrize("model", module._language_models())
@pytest.mark.parametrize("work", module.WORK)
def test_title_and_numbers_are_short_enough_for_a_page(model, work):
    """A page of 1280 px has room for a title of 60 letters and, beside the others, for a number of 24."""
    context = models.load(model).context
    for tokens in (1, context // 128, context):
        view = module.view(model, work, tokens, False)
        assert len(view.figure.title) <= 60, view.figure.title
        assert view.figure.title.startswith(f"{model}: ")
        long = {name: value for name, value in view.readout.items() if len(value) > 24}
        assert not long, long


def test_a_context_that_the_model_lacks_is_said_in_a_sentence():
    with pytest.raises(ValueError, match="longer than context=1024"):
        module.view("gpt2", "forward", 2048, False)


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.flop_tree())
    assert "head 27.1 %" in text
    assert 'explorer.flop_tree(model="gpt2", work="forward", tokens=1024, causal=False)' in text


def test_a_step_of_the_slider_is_little_work():
    module.view("llama3-8b", "none", 1, False)
    assert calls_of(lambda: module.view("llama3-8b", "none", 2, False)) < STEP
