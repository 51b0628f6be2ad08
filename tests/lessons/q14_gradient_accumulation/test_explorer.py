"""A step of the explorer against hand calculations; its task, its states and its static form."""

import pytest

from course_lib.units.q14_gradient_accumulation import explorer, plans
from tests.explorers import STEP, calls_of


def test_a_step_of_gpt2_by_hand():
    params = 124_439_808
    here = plans.step("gpt2", "a100-40-sxm", 16, 4, 8)
    assert here.sent == 2 * 7 * (4 * params // 8)
    assert here.sent_each == 4 * here.sent
    assert here.update == pytest.approx(28 * params / 1.555e12)
    # three passes of 2·124 M FLOPs a token (the head's matrix is the embedding) and of attention, 4·12·1024·768 a token
    forward = 16 * 1024 * (2 * (params - 1024 * 768) + 4 * 12 * 1024 * 768)
    assert here.compute == pytest.approx(3 * forward / 156e12, rel=0.01)


def test_one_card_has_nobody_to_send_to():
    assert plans.step("gpt2", "t4", 4, 2, 1).sent == 0


@pytest.mark.parametrize(("model", "fewest"), [("gpt2", 4), ("gpt2-xl", 64)])
def test_the_task_has_the_answer_of_the_lesson(model, fewest):
    room = 42.95e9  # the card reports 40 GiB
    fit = [parts for parts in explorer.splits(64) if plans.step(model, "a100-40-sxm", 64, parts, 8).peak <= room]
    assert min(fit) == fewest


@pytest.mark.parametrize(("parts", "fits"), [(1, "no"), (4, "yes")])
def test_the_static_form_says_whether_it_fits(parts, fits, monkeypatch):
    monkeypatch.setenv("COURSE_STATIC", "1")
    line = next(line for line in repr(explorer.accumulate(parts=parts)).splitlines() if line.startswith("fits"))
    assert line.split("  ")[-1].strip() == fits


def test_parts_that_no_card_has_are_refused():
    with pytest.raises(ValueError, match="parts"):
        explorer.accumulate(sequences=4, parts=8)


def test_every_state_is_inside_the_axes():
    for model in explorer.MODELS:
        for sequences in explorer.SEQUENCES:
            figure = explorer.view(model, "t4", sequences, 1, 8).figure
            top = plans.step(model, "t4", sequences, 1, 8).peak / 1e9
            assert figure.y.low < top < figure.y.high


def test_a_step_of_the_slider_is_little_work():
    state = ("gpt2", "a100-40-sxm", 64, 4, 8)
    explorer.view(*state)
    assert calls_of(lambda: explorer.view(*state)) < STEP
