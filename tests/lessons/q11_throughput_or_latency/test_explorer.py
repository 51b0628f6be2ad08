"""The Pareto explorer: its readings against the calculator and the task of the lesson, its work, its static form."""

from bisect import bisect_right
from math import hypot, log10

import pytest

from course_lib.accounting import inference
from course_lib.units.q11_throughput_or_latency import explorer as module
from tests.explorers import STEP, calls_of


def test_the_title_is_that_of_the_lesson():
    shown = module.pareto_view("llama3-8b", "h100-sxm", 1024, 64)
    assert shown.readout["time, rate over batch 1"] == "×1.56 and ×41.1"
    assert shown.figure.title.startswith("Batch 64: ×41.1 the throughput for ×1.56")


@pytest.mark.parametrize("context", [1024, 8192])
def test_the_task_has_the_answer_of_the_calculator(context):
    most = inference.largest_batch("llama3-8b", seconds=0.010, context=context, device="h100-sxm")
    times = [module.step("llama3-8b", "h100-sxm", context, batch).seconds for batch in (most, most + 1)]
    assert times[0] <= 0.010 < times[1]


def test_at_the_knee_a_step_takes_twice_as_long_as_reading_the_weights():
    knee = round(module.knee("llama3-8b", "h100-sxm", 1024))
    step = module.step("llama3-8b", "h100-sxm", 1024, knee)
    assert step.kv_bytes == pytest.approx(step.weight_bytes, rel=0.01)


@pytest.mark.parametrize("device", ["h100-sxm", "h200-sxm", "rtx-4090"])
@pytest.mark.parametrize("context", [128, 1024, 8192])
def test_every_batch_lies_on_the_drawn_curve(device, context):
    def place(batch):
        step = module.step("llama3-8b", device, context, batch)
        return log10(step.seconds), log10(step.tokens_per_second)

    drawn = module.drawn("llama3-8b", device)
    for batch in range(1, 1024, 5):
        after = bisect_right(drawn, batch)
        (x0, y0), (x1, y1) = map(place, drawn[after - 1 : after + 1])
        x, y = place(batch)
        off = abs((x1 - x0) * (y0 - y) - (x0 - x) * (y1 - y0)) / hypot(x1 - x0, y1 - y0)
        assert off < 0.015, batch  # of a power of ten: three pixels


def test_a_batch_that_does_not_fit_is_said():
    shown = module.pareto_view("llama2-13b", "rtx-4090", 1024, 1)
    assert "does not fit" in shown.figure.title


def test_a_step_of_a_slider_is_cheap_wherever_it_goes():
    for model in module.MODELS:
        for device in module.DEVICES:
            assert calls_of(lambda model=model, device=device: module.pareto_view(model, device, 3000, 77)) < STEP


def test_the_static_form_says_what_the_picture_shows(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = repr(module.pareto(batch=64)).replace("\n", " ")
    assert "9,085 tokens a second" in text
    assert "batch=64" in text
