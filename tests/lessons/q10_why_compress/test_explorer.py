"""The explorer of the decode step: against the calculator, and its static form."""

import pytest

from course_lib.accounting import hardware, inference
from course_lib.units.q10_why_compress import explorer as module
from tests.explorers import STEP, calls_of


@pytest.mark.parametrize(("readers", "context"), [(1, 1024), (64, 4096), (256, 128)])
@pytest.mark.parametrize("weights", ["bf16", "4.5-bit"])
def test_the_parts_add_up_to_the_step(readers, context, weights):
    found = module.parts(readers, context, weights, "int8", "h100-sxm")
    step = inference.decode_step(
        "llama3-8b", batch=readers, context=context, device="h100-sxm", weight_dtype=weights, kv_dtype="int8"
    )
    assert sum(found.values()) == pytest.approx(step.seconds)
    h100 = hardware.load("h100-sxm")
    arithmetic = 2 * readers * 8_030_261_248 / h100.peak("bf16")
    assert found["weights"] + found["arithmetic"] == pytest.approx(max(found["weights"], arithmetic))


def test_the_answer_to_its_task():
    titles = [module.view(n, 4096, "4.5-bit", "bf16", "h100-sxm").readout["as fast as in bf16"] for n in (32, 33)]
    before, after = (float(title.removeprefix("×")) for title in titles)
    assert before >= 1.5 > after


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.step(readers=64))
    assert "caches 10.3 ms" in text
    assert 'explorer.step(readers=64, context=4096, weights="4.5-bit", cache="bf16", device="h100-sxm")' in text


def test_a_step_of_the_slider_is_little_work():
    module.view(1, 4096, "4.5-bit", "bf16", "h100-sxm")
    assert calls_of(lambda: module.view(2, 4096, "4.5-bit", "bf16", "h100-sxm")) < STEP


def test_memory_is_said_of_both_bars():
    """256 caches of 8,192 tokens: 275 GB in bf16, 77 GB in 4.5 bits."""
    readout = module.view(256, 8192, "3-bit", "4.5-bit", "h100-sxm").readout
    assert (readout["memory, all in bf16"], readout["memory, in these formats"]) == (
        "too large for this device",
        "fits",
    )
