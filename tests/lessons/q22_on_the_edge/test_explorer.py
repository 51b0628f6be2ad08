"""The explorer of a device against arithmetic by hand; its task, its ends and its static form."""

import math
from itertools import product

import pytest

from course_lib.accounting import models
from course_lib.units.q22_on_the_edge import explorer
from tests.explorers import STEP, calls_of

START = {"model": "llama3-8b", "weights": "int4", "device": "apple-a17-pro-npu", "watts": 8.0, "minutes": 10.0}


def test_the_start_is_the_title():
    shown = explorer.view(**START)
    assert shown.figure.title == "13.4 tokens/s for 3.0 minutes, then 4.2"
    seconds = -480 * math.log(1 - 20 / 64)
    joules = 8 * 3.8196e9 / 51.2e9
    written = (8 * seconds + 2.5 * (600 - seconds)) / joules
    assert shown.readout[explorer.say("rows", "written")] == f"{written:,.0f} tokens"
    assert shown.readout[explorer.say("rows", "charge")] == f"{written * joules / 50e3:.1%}"
    assert shown.readout[explorer.say("rows", "warmer")] == "20.0 K"


def test_the_task_has_the_answer_of_the_lesson():
    rates = {}
    for name in explorer.MODELS:
        shown = explorer.view(**START | {"model": name, "weights": "4.5-bit"})
        rate = float(shown.readout[explorer.say("rows", "bytes")].split()[0])
        if shown.readout[explorer.say("rows", "fits")].startswith("yes"):
            rates[name] = 51.2 / rate
    fast = [name for name, rate in rates.items() if rate >= 20]
    assert max(fast, key=lambda name: int(models.load(name).parameters())) == "phi-3-mini"
    lasting = 2.5 / (1 - math.exp(-1800 / 480))
    for watts, told in [(lasting * 0.999, "for all of 30.0 minutes"), (lasting * 1.01, "then")]:
        state = START | {"model": "phi-3-mini", "weights": "4.5-bit", "watts": watts, "minutes": 30.0}
        assert told in explorer.view(**state).figure.title


def test_what_does_not_fit_is_said():
    shown = explorer.view(**START | {"weights": "bf16"})
    assert shown.figure.title.startswith("It does not fit")
    assert shown.readout[explorer.say("rows", "fits")] == "no: 8 GB"


def test_every_end_of_the_controls_can_be_drawn():
    for state in product(explorer.MODELS, explorer.BITS, explorer.DEVICES, (1, 40), (0.5, 120)):
        figure = explorer.view(*state).figure
        for mark in figure.marks:
            assert all(figure.x.low <= x <= figure.x.high for x in mark.x)
            assert all(figure.y.low <= y <= figure.y.high for y in mark.y)


def test_a_rate_that_would_round_to_nothing_is_not_called_nothing():
    shown = explorer.view(**START | {"model": "llama3-70b", "weights": "bf16", "watts": 40.0})
    assert 0 < 2.5 / (40 * 139.17e9 / 51.2e9) < 0.05
    assert "falls below 0.1 after" in shown.figure.description


@pytest.mark.parametrize("model", explorer.MODELS)
def test_a_step_of_a_slider_is_little_work(model):
    explorer.view(**START | {"model": model})
    assert calls_of(lambda: explorer.view(**START | {"model": model, "watts": 7.7})) <= STEP


def test_the_static_form_says_when_it_slows_down(monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    text = " ".join(repr(explorer.edge_device()).split())
    assert "falls to 4.2 after 3.0 minutes" in text
