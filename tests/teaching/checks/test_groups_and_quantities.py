"""Partial credit by groups of inputs, and quantities: an assigned number or a text with a unit."""

import json

import pytest

from course_lib.teaching.checks.check import Check, Close, check, faults, public_cases
from tests.teaching.checks.toy_checks import a_check


def share(**changes):
    values = {
        "id": "q99.share",
        "points": 3,
        "signature": "share(n, m)",
        "groups": {"one card": 1, "several cards": 2},
        "public": {"one card": [(5, 1)], "several cards": [(6, 4), (8, 2)]},
        "generate": lambda rng, group: (rng.randint(10, 99), 1 if group == "one card" else rng.randint(2, 9)),
        "reference": lambda n, m: n / m,
        "wrong": {"undivided": lambda n, m: n},
        "messages": {"undivided": "Divide by the cards."},
    }
    return Check(**(values | changes))


def bandwidth(**changes):
    values = {
        "id": "q99.bandwidth",
        "points": 2,
        "signature": "bandwidth",
        "unit": "TB/s",
        "reference": lambda: 3.35,
        "same": Close(rel=0.01),
        "wrong": {"GB for TB": lambda: 3350},
        "messages": {"GB for TB": "Is that TB/s?"},
        "insight": "So it is.",
    }
    return Check(**(values | changes))


# ------------------------------------------------------------------------------------------------------- groups


def test_groups_in_the_data():
    data = public_cases(share())
    assert data["groups"] == {"one card": 1, "several cards": 2}
    assert [case["group"] for case in data["cases"]] == ["one card", "several cards", "several cards"]
    assert [case["expected"] for case in data["cases"]] == [5, 1.5, 4]
    assert "groups" not in public_cases(a_check())
    assert all("group" not in case for case in public_cases(a_check())["cases"])


@pytest.mark.parametrize(
    ("function", "score", "says"),
    [
        (lambda n, m: n / m, 3, "Score: 3 of 3"),
        (lambda n, m: n, 1, "Points so far: 1 of 3, for one card."),
        (lambda n, m: n / m if m > 1 else 0, 2, "Points so far: 2 of 3, for several cards."),
        (lambda n, m: n if m == 1 else [][0], 1, "Points so far: 1 of 3, for one card."),
        (lambda n, m: 1.5 if m == 4 else -1, 0, "Not yet"),
    ],
)
def test_each_group_earns_its_points(unit, function, score, says):
    unit.hold(share())
    result = check("q99.share", function)
    assert (result.score, result.passed) == (score, score == 3)
    assert says in result.message
    assert ("so far" in result.message) == (0 < score < 3)


def test_a_function_that_keeps_something_earns_no_group(unit):
    unit.hold(share())
    calls = []

    def forgets(n, m):
        calls.append(n)
        return n / m + (len(calls) > 3)

    assert check("q99.share", forgets).score == 0


def test_a_wrong_answer_may_be_right_in_a_whole_group_but_not_in_most_of_one():
    assert faults(share()) == []
    some = {"some": lambda n, m: n / m if m < 9 and m != 4 else 0}
    assert any("is right on" in fault for fault in faults(share(wrong=some, messages={"some": "No."})))
    late = {"late": lambda n, m: n / m if m != 4 else 0}
    assert any("drawn inputs several cards" in fault for fault in faults(share(wrong=late, messages={"late": "No."})))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"groups": {"one card": 1, "several cards": 1}}, ["'q99.share'", "sum to 3"]),
        ({"groups": {"one card": 3, "several cards": 0}}, ["positive"]),
        ({"public": [(5, 1)]}, ["public must be a mapping"]),
        ({"public": {"one card": [(5, 1)]}}, ["public must be a mapping", "several cards"]),
        ({"public": {"one card": [(5, 1)], "several cards": []}}, ["public must be a mapping"]),
        ({"groups": {}}, ["public is a mapping", "groups"]),
        ({"generate": None}, ["generate must be a function"]),
    ],
)
def test_refused_groups(refuses, changes, says):
    refuses(lambda: share(**changes), says)


# --------------------------------------------------------------------------------------------------- quantities


@pytest.mark.parametrize("value", ["3.35 TB/s", "3350 GB/s", "3.36e12 B/s", 3.35, "3.35", "3,350 GB/s"])
def test_a_right_quantity_under_any_prefix(unit, value):
    unit.hold(bandwidth())
    result = check("q99.bandwidth", value)
    assert (result.score, result.message) == (2, "Right. Score: 2 of 2.\nSo it is.")


@pytest.mark.parametrize(
    ("value", "outcome", "says"),
    [
        (None, "stub", "Not done yet: give `bandwidth` a value"),
        (..., "stub", "Not done yet"),
        (3350, "wrong", "`bandwidth` is 3350 TB/s. Is that TB/s?"),
        ("3.35 PB/s", "wrong", "Is that TB/s?"),
        (1, "wrong", "`bandwidth` is 1 TB/s; that is too small."),
        (10, "wrong", "`bandwidth` is 10 TB/s; that is too large by a factor of 2.985."),
        (-3.35, "wrong", "is not right"),
        ("3.35 TB", "form", "a text with number and unit"),
        ("fast", "form", "a text with number and unit"),
        (True, "form", "a text with number and unit"),
        (float("nan"), "form", "is nan"),
        (lambda: 3.35, "form", "a text with number and unit"),
    ],
)
def test_other_quantities(unit, value, outcome, says):
    unit.hold(bandwidth())
    result = check("q99.bandwidth", value)
    assert (result.outcome, result.score) == (outcome, 0)
    assert says in result.message
    assert "3.35" not in result.message.replace(repr(value), ""), "never the right value"


def test_a_bet_is_not_told_how_far_it_is_off(unit):
    unit.hold(bandwidth(how_far=False))
    assert check("q99.bandwidth", 10).message == "Not yet: `bandwidth` is 10 TB/s; that is not right."
    assert check("q99.bandwidth", 3.35).passed
    assert "Is that TB/s?" in check("q99.bandwidth", 3350).message, "a known wrong answer has its sentence"


def test_a_pure_number(unit):
    unit.hold(bandwidth(unit=""))
    assert check("q99.bandwidth", "335 %").passed
    assert "Write a plain number; it has no unit." in check("q99.bandwidth", "3.35 TB/s").message
    assert "`bandwidth` is 1; that is too small" in check("q99.bandwidth", 1).message


def test_a_quantity_in_the_data():
    data = json.loads(json.dumps(public_cases(bandwidth())))
    assert (data["unit"], data["signature"]) == ("TB/s", "bandwidth")
    assert data["cases"] == [{"input": {"args": []}, "expected": 3.35}]
    assert faults(bandwidth()) == []
    near = {"rounded": lambda: 3.36}
    assert any("rounded" in fault for fault in faults(bandwidth(wrong=near, messages={"rounded": "No."})))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"public": [(1,)]}, ["has no public", "'TB/s'"]),
        ({"generate": lambda rng: ()}, ["has no public, generate"]),
        ({"signature": "bandwidth()"}, ["the variable's name", "'bandwidth()'"]),
        ({"points": 0}, ["asks for a function, not for a quantity"]),
    ],
)
def test_refused_quantities(refuses, changes, says):
    refuses(lambda: bandwidth(**changes), says)
