"""Checks without points, and what `check` says of the `...` that a your-turn leaves to write."""

import math

import pytest

from course_lib.teaching.checks.check import check, public_cases
from course_lib.teaching.record.record import Record
from tests.teaching.checks.toy_checks import a_check

TURN = a_check(id="q99.turn-intensity", points=0, insight="FLOPs for each byte.")
UNDONE = "Not done yet: in `intensity(flops, nbytes)` there is still `...` where something is to be written. "
UNDONE += "Write it and run the cell again."


@pytest.fixture
def turn(unit):
    unit.hold(TURN, a_check())
    return lambda function: check("q99.turn-intensity", function)


def intensity(flops, nbytes):
    return flops / nbytes


def test_right_without_a_score(turn):
    result = turn(intensity)
    assert result.passed
    assert result.message == "Right on every example.\nFLOPs for each byte."
    assert (result.score, result.points) == (0, 0)
    assert check("q99.intensity", intensity).message == "Right on every example. Score: 2 of 2."


def returns_dots(flops, nbytes):
    return ...


def dots_by_a_name(flops, nbytes):
    per_byte = ...
    return per_byte


def dots_in_a_list(flops, nbytes):
    return [1.0, ...]


def dots_in_one_branch(flops, nbytes):
    return flops / nbytes if nbytes == 4 else ...


def divides_dots(flops, nbytes):
    return ... / nbytes


def calls_with_dots(flops, nbytes):
    return math.sqrt(...)


def looks_into_dots(flops, nbytes):
    return (...).real


@pytest.mark.parametrize(
    "function",
    [returns_dots, dots_by_a_name, dots_in_a_list, dots_in_one_branch, divides_dots, calls_with_dots, looks_into_dots],
)
@pytest.mark.parametrize("id", ["q99.turn-intensity", "q99.intensity"])
def test_dots_are_not_done_yet(turn, id, function):
    result = check(id, function)
    assert result.outcome == "stub"
    assert result.message == UNDONE
    assert result.score == 0


def test_arrays_of_dots(turn):
    numpy, torch = pytest.importorskip("numpy"), pytest.importorskip("torch")
    assert turn(lambda flops, nbytes: numpy.sqrt(...)).outcome == "stub"
    assert turn(lambda flops, nbytes: torch.ones(2) * ...).outcome == "stub"
    assert turn(lambda flops, nbytes: torch.exp(...)).outcome == "stub"


def test_none_is_answered_kindly(turn):
    def nothing(flops, nbytes):
        flops / nbytes

    result = turn(nothing)
    assert result.outcome == "form"
    assert result.message.startswith("Not yet: `intensity(flops=10, nbytes=4)` returned None. Does every path")


@pytest.mark.parametrize("error", [ValueError("an ellipsis"), TypeError("no float")])
def test_another_error_is_no_stub(turn, error):
    def fails(flops, nbytes):
        raise error

    assert turn(fails).outcome == "raised"


def test_a_known_wrong_answer_is_told_from_it(turn):
    result = turn(lambda flops, nbytes: nbytes / flops)
    assert result.diagnosis == "upside down"
    assert "You divided bytes by FLOPs." in result.message


def test_an_attempt_is_kept(turn):
    turn(returns_dots)
    turn(intensity)
    kept = [event["payload"] for event in Record.open().events()]
    assert [(each["outcome"], each["points"]) for each in kept] == [("stub", 0), ("right", 0)]


def test_its_data_are_those_of_any_check():
    assert public_cases(TURN) == public_cases(a_check(insight="FLOPs for each byte.")) | {"points": 0}


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"points": -1}, ["points must be a positive number, or 0 in a your-turn", "-1"]),
        ({"unit": "GB", "signature": "x", "public": (), "generate": None}, ["asks for a function, not for a quantity"]),
        ({"groups": {"one": 1}}, ["points of groups must be positive and sum to 0"]),
    ],
)
def test_a_your_turn_that_cannot_be(refuses, changes, says):
    refuses(lambda: a_check(**{"points": 0, **changes}), says)
