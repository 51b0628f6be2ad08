"""The explorer of resolution: its lines against the calculator, and its static form."""

import pytest

from course_lib.accounting import flops, models, roofline, units
from course_lib.accounting.models import operations
from course_lib.units.q08_convolution_or_attention import explorer as module
from tests.explorers import STEP, calls_of


@pytest.mark.parametrize("name", module.MODELS)
def test_the_lines_are_what_the_calculator_says(name):
    shown = module.view(name, 28, "a100-40-sxm", "fp32")
    line = shown.figure.marks[module.MODELS.index(name)]
    expected = int(flops.forward(models.load(name), image=896))
    assert line.y[line.x.index(896)] == expected
    assert shown.readout[name] == units.format_si(expected, "FLOP")
    seconds = roofline.predict_seconds(operations.forward(models.load(name), image=896), device="a100-40-sxm")
    assert shown.readout[f"{name}: time"] == units.format_seconds(seconds)


def test_vit_ti_passes_resnet_50_between_896_and_928():
    sides = range(module.STEP, module.MOST + 1, module.STEP)
    larger = [a > b for a, b in zip(module.curve("vit-ti16"), module.curve("resnet-50"), strict=True)]
    assert next(side for side, is_larger in zip(sides, larger, strict=True) if is_larger) == 928
    assert all(a > b for a, b in zip(module.curve("vit-b16"), module.curve("resnet-50"), strict=True))


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.resolution(model="vit-ti16"))
    assert "224 × 224" in text
    assert "8.18 GFLOP" in text
    assert 'explorer.resolution(model="vit-ti16", steps=7, device="h100-sxm", dtype="bf16")' in text


def test_a_step_of_the_slider_is_little_work():
    module.view("vit-ti16", 1, "h100-sxm", "bf16")
    assert calls_of(lambda: module.view("vit-ti16", 2, "h100-sxm", "bf16")) < STEP
