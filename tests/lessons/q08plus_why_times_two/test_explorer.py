"""The explorer of data-sheet lines: its four readings against hand counts, and its static form."""

import pytest

from course_lib.units.q08plus_why_times_two import explorer as module
from tests.explorers import STEP, calls_of

FLOPS = 8_178_368_512  # ResNet-50, as FlopCounterMode counts it


def rates(device="h100-sxm"):
    return module.view(device, "bf16", "resnet-50", "dense", "flops", 1.0).figure.marks[0].y


def test_each_lost_two_doubles_the_reading():
    right, sparse, macs, both = rates()
    assert right == pytest.approx(989e12 / FLOPS)
    assert (sparse, macs, both) == pytest.approx((1979e12 / FLOPS, 2 * right, 2 * 1979e12 / FLOPS))


def test_a_quarter_of_both_lost_twos_is_what_the_card_can_do():
    shown = module.view("a100-40-sxm", "bf16", "resnet-50", "sparse", "macs", 0.25)
    assert shown.readout["expected ÷ possible"] == "×1"
    assert "times what the card can do" not in shown.figure.title
    assert shown.figure.marks[2].x == (3,)


def test_every_device_and_dtype_has_both_lines():
    for device in module._devices():
        for dtype in module._dtypes({"device": device}):
            shown = module.view(device, dtype, "vit-b16", "sparse", "flops", 1.0)
            assert shown.readout["expected ÷ possible"] == "×2"


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.datasheet(line="sparse", count="macs"))
    assert "gives 483,960, 4 times as much" in text.replace("\n", " ")
    assert 'line="sparse", count="macs", share=1.0' in text


def test_the_line_reads_as_it_is_printed_and_the_limit_has_its_name():
    shown = module.view("h100-sxm", "bf16", "resnet-50", "sparse", "macs", 1.0)
    assert shown.readout["line"] == "1,979 TFLOP/s"
    assert (shown.figure.marks[1].label, shown.figure.marks[1].y[0]) == ("possible", pytest.approx(989e12 / FLOPS))


def test_a_step_of_the_slider_is_little_work():
    module.view("h100-sxm", "bf16", "vit-l16", "sparse", "macs", 1.0)
    assert calls_of(lambda: module.view("h100-sxm", "bf16", "resnet-50", "dense", "flops", 0.5)) < STEP
