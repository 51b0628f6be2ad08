"""The explorer of ladders against a ledger by hand; its task, its ends and its static form."""

from itertools import product

import pytest

from course_lib.accounting import flops, models
from course_lib.units.case1_gpt2_ladder import explorer
from tests.explorers import STEP, calls_of

START = {
    "batch": 16,
    "tokens": 1024,
    "dtype": "fp32",
    "attention": 120,
    "model": 330,
    "fixed": 50,
    "faster": 3,
    "precision": 5 / 3,
}


def row(name, **changed):
    return explorer.view(**START | changed).readout[explorer.say("rows", name)]


def test_a_causal_kernel_can_end_up_to_seven_percent_below_the_line():
    """What the note says, for all tokens of the slider: the fewer they are, the less of the work is scores."""

    def saved(tokens):
        whole, half = (flops.training_step(models.load("gpt2"), 1, tokens, causal=c).total for c in (False, True))
        return 1 - half / whole

    share = {tokens: saved(tokens) for tokens in (256, 512, 1024)}
    assert 0.06 < share[1024] < 0.07
    assert share[256] < share[512] < share[1024]
    assert any("up to 7 % below" in note for note in explorer.say.all("notes"))


def test_the_first_task_has_the_answer_of_the_lesson():
    assert row("least") == "718 ms"  # 16 x 874.9 GFLOP / 19.5 TFLOP/s
    titles = {batch: explorer.view(**START | {"batch": batch}).figure.title for batch in (11, 12)}
    assert titles[11].startswith("500 ms are possible")
    assert titles[12].startswith("500 ms are impossible")


def test_the_second_task_has_the_answer_of_the_lesson():
    assert row("attention").startswith("420 ms")
    assert row("attention", attention=180, model=270).startswith("380 ms")
    assert row("attention", attention=179, model=271).startswith("381 ms")


def test_what_is_shown_is_the_ledger():
    # 40 / 1.667 + 330 / 1.667 + 50 = 272; 16 / 0.272 = 58.8
    assert row("precision").startswith("272 ms")
    assert row("gain") == "×1.84"
    assert row("start", dtype="bf16").endswith("9% of peak")


def test_every_end_of_the_sliders_can_be_drawn():
    for batch, tokens, dtype, ms, speedup in product((1, 64), (256, 1024), ("fp32", "bf16"), (1, 600), (1, 100)):
        figure = explorer.view(batch, tokens, dtype, ms, ms, ms, speedup, min(speedup, 16)).figure
        for mark in figure.marks:
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_the_static_form_says_whether_it_is_possible(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = " ".join(repr(explorer.ladder()).split())
    assert "at 718 ms, the least that the fp32 peak allows. They use 144%, 171% and 264% of it." in text


def test_a_format_without_a_peak_is_refused():
    with pytest.raises(ValueError, match="dtype"):
        explorer.ladder(dtype="fp8")


def test_a_step_of_the_slider_is_little_work():
    assert calls_of(lambda: explorer.view(**START | {"attention": 200})) < STEP
