"""Inputs that the build draws for `check()`, beside those that the author of a check chose."""

import json
import random
import sys

import pytest

from course_lib.teaching.checks.check import check, public_cases
from course_lib.teaching.checks.check_form import drawn_inputs
from tests.teaching.checks.test_groups_and_quantities import bandwidth, share
from tests.teaching.checks.toy_checks import CHECKS

INTENSITY = CHECKS[0]


def built(one, count):
    drawn = [(group, case) for group, cases in drawn_inputs(one, count).items() for case in cases]
    return public_cases(one, drawn)


def test_they_are_drawn_as_hidden_ones_are_and_are_the_same_at_every_build():
    data = built(INTENSITY, 3)
    assert data == built(INTENSITY, 3)
    chosen, drawn = data["cases"][: len(INTENSITY.public)], data["cases"][len(INTENSITY.public) :]
    assert not any("drawn" in case for case in chosen)
    assert [case["drawn"] for case in drawn] == [True] * 3
    seeds = [random.Random(f"{INTENSITY.id}  {number}") for number in range(3)]
    assert [case["input"] for case in drawn] == [INTENSITY.draw(rng) for rng in seeds]
    assert all(len(wrong["outputs"]) == len(data["cases"]) for wrong in data["wrong"])
    json.dumps(data)


def test_each_group_has_its_own_and_a_quantity_has_none():
    groups = [case["group"] for case in built(share(), 2)["cases"]]
    assert groups[3:] == ["one card", "one card", "several cards", "several cards"]
    assert built(bandwidth(), 4) == public_cases(bandwidth())


@pytest.fixture
def drawn(unit):
    unit.write({INTENSITY.id: built(INTENSITY, 4), share().id: built(share(), 4)})
    return unit


def test_what_is_right_on_the_chosen_inputs_only_is_not_right(drawn):
    chosen = {case: INTENSITY.reference(*case) for case in INTENSITY.public}
    result = check(INTENSITY.id, lambda flops, nbytes: chosen.get((flops, nbytes), 0.0))
    assert result.outcome == "wrong"
    assert "returned 0.0" in result.message
    assert check(INTENSITY.id, INTENSITY.reference).passed


def test_a_group_is_credited_only_where_its_drawn_inputs_agree(drawn):
    result = check(
        share().id,
        lambda n, m: n / m if m == 1 or (n, m) in {case[:2] for case in share().public["several cards"]} else 0,
    )
    assert result.score == 1


def test_there_is_no_time_for_them_where_a_function_is_slow(drawn, clock, monkeypatch):
    monkeypatch.setattr(sys.modules[check.__module__], "SECONDS", 200.0)
    calls = []

    def intensity(flops, nbytes):
        calls.append((flops, nbytes))
        clock.now += 60
        return flops / nbytes

    assert check(INTENSITY.id, intensity).passed
    assert calls == list(INTENSITY.public)
    assert check(INTENSITY.id, lambda flops, nbytes: 2 * intensity(flops, nbytes)).diagnosis == "doubled"
