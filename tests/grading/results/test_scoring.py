"""Points from replies: the calls that are made, partial credit, and agreement with `check()` on what it can see."""

import dataclasses
import json
import random

import pytest

from course_lib import units as package_data
from course_lib.grading.results.scoring import Scored, calls_for, score
from course_lib.grading.sandbox.conversation import Reply
from course_lib.teaching.checks.check import Check, check, public_cases
from course_lib.teaching.checks.check_form import decode_arguments
from course_lib.teaching.checks.check_values import plain
from tests.grading.sandbox.conftest import AREA, RIDGE, ROOT, deserved
from tools.source import load_checks, units

FOLDERS = [folder for folder in units(ROOT) if (folder / "checks.py").exists()]


def checks_of(folder) -> list[Check]:
    """The checks of a unit, with what the build drew for `check()`."""
    shown = json.loads((ROOT / "exercises" / folder.name / "checks.json").read_text())
    drawn = {
        id: [(case.get("group", ""), case["input"]) for case in data["cases"] if "drawn" in case]
        for id, data in shown.items()
    }
    return [dataclasses.replace(each, drawn=drawn.get(each.id, ())) for each in load_checks(folder, ROOT)]


CHECKS = [each for folder in FOLDERS for each in checks_of(folder)]
GROUPED = Check(
    id="q99.cost",
    points=3,
    signature="cost(items, express)",
    public={"plain": [(1, False)], "express": [(1, True), (2, True)]},
    generate=lambda rng, group: (rng.randrange(3, 99), group == "express"),
    reference=lambda items, express: 2 * items + 5 * express,
    wrong={"no surcharge": lambda items, express: 2 * items},
    messages={"no surcharge": "Express costs 5 more."},
    groups={"plain": 1, "express": 2},
)
SPEED = Check(
    id="q99.speed",
    points=1,
    signature="speed",
    unit="TB/s",
    reference=lambda: 3.35,
    wrong={"per device pair": lambda: 6.7},
    messages={"per device pair": "That is two devices."},
)


def replies_of(calls, function) -> list[Reply]:
    """What the calls of `function` give, made here."""
    found = []
    for call in calls:
        args, kwargs = decode_arguments(call.arguments)
        try:
            found.append(Reply("value", plain(function(*args, **kwargs) if callable(function) else function)))
        except Exception as error:
            found.append(Reply("raised", error=f"{type(error).__name__}: {error}".rstrip(": ")))
    return found


def scored(check: Check, function, draws: int = 3) -> Scored:
    calls = calls_for(check, 11, draws)
    return score(check, calls, replies_of(calls, function))


def test_the_calls_are_public_repeated_hidden():
    calls = calls_for(RIDGE, 5, 3)
    assert [call.public for call in calls] == [True, True, True, False, False, False]
    assert calls[2] == calls[0]
    rng = random.Random(5)
    assert [call.arguments["args"] for call in calls[3:]] == [list(RIDGE.generate(rng)) for _ in range(3)]
    assert calls == calls_for(RIDGE, 5, 3)
    assert calls != calls_for(RIDGE, 6, 3)
    assert {call.function for call in calls} == {"ridge"}


def test_each_group_is_drawn():
    calls = calls_for(GROUPED, 5, 2)
    assert [(call.group, call.public) for call in calls] == [
        ("plain", True), ("express", True), ("express", True), ("plain", True),
        ("plain", False), ("plain", False), ("express", False), ("express", False),
    ]  # fmt: skip
    assert all(call.arguments["args"][1] == (call.group == "express") for call in calls)


def test_a_quantity_is_looked_at_once():
    assert [call.arguments for call in calls_for(SPEED, 5, 8)] == [{"args": []}]


def test_what_the_build_drew_for_check_is_graded():
    """Right on all that stands in checks.py and on all that is hidden, and `check()` says that it is wrong."""
    a_check = dataclasses.replace(RIDGE, drawn=[("", {"args": [7, 2]})])
    calls = calls_for(a_check, 5, 3)
    assert [call.public for call in calls] == [True, True, True, True, False, False, False]
    assert (calls[2].arguments, calls[3]) == ({"args": [7, 2]}, calls[0])
    assert [at for at, call in enumerate(calls) if call.drawn] == [2]
    found = scored(a_check, lambda peak, bandwidth: 3 if (peak, bandwidth) == (7, 2) else peak / bandwidth)
    assert (found.points, found.outcome) == (0, "wrong")
    assert "ridge(peak=7, bandwidth=2)" in found.failing
    assert scored(RIDGE, lambda peak, bandwidth: 3 if (peak, bandwidth) == (7, 2) else peak / bandwidth).points == 3


def test_draws_below_zero():
    with pytest.raises(ValueError, match="draws must be at least 0, not -1"):
        calls_for(RIDGE, 5, -1)


def test_right():
    assert scored(RIDGE, lambda peak, bandwidth: peak / bandwidth) == Scored(3, 3, {"": True}, None, None, "right")


def test_a_known_wrong_answer_is_diagnosed():
    found = scored(RIDGE, lambda peak, bandwidth: bandwidth / peak)
    assert (found.points, found.outcome) == (0, "wrong")
    assert found.diagnosis == ("upside down", "You divided the bandwidth by the peak.")
    assert found.failing.startswith("`ridge(peak=9.89e14, bandwidth=3.35e12)` returned 0.00338")
    assert "Not yet" not in found.failing
    assert "295" not in found.failing


def test_a_known_wrong_answer_that_raises_later_is_diagnosed_as_check_does():
    """By the outputs before the error, if they are enough and one of them is wrong."""
    asked = [(3, True), (4, False), (5, True), (0, True)]
    a_check = dataclasses.replace(GROUPED, groups={}, public=asked, generate=lambda rng: (rng.randrange(3, 99), True))

    def no_surcharge(items, express):
        return 2 * items * (1 / items) * items

    assert scored(a_check, no_surcharge).diagnosis == ("no surcharge", "Express costs 5 more.")
    assert scored(dataclasses.replace(a_check, public=asked[2:] + asked[:2]), no_surcharge).diagnosis is None
    right = {3: 11, 4: 8, 5: 15}
    assert scored(a_check, lambda items, express: right[items]).diagnosis is None


def test_what_holds_for_the_public_inputs_only_earns_nothing_and_says_no_hidden_input():
    known = {(989e12, 3.35e12): 989 / 3.35, (312e12, 1.555e12): 312 / 1.555}
    found = scored(RIDGE, lambda *args: known.get(args, 0.0))
    assert (found.points, found.outcome, found.failing, found.diagnosis) == (0, "wrong", None, None)


def test_groups_earn_by_themselves():
    found = scored(GROUPED, lambda items, express: 2 * items)
    assert (found.points, found.max_points, found.outcome) == (1, 3, "partial")
    assert found.groups == {"plain": True, "express": False}
    assert found.diagnosis == ("no surcharge", "Express costs 5 more.")
    assert "express=True" in found.failing
    assert scored(GROUPED, lambda items, express: 2 * items + 5 * express).points == 3


def test_a_hidden_fault_costs_its_group_only():
    found = scored(GROUPED, lambda items, express: (2 * items + 5 * express) * (items < 3 or not express))
    assert (found.points, found.groups, found.failing) == (1, {"plain": True, "express": False}, None)


@pytest.mark.parametrize(
    ("value", "outcome", "points"),
    [
        (3.35, "right", 1),
        ("3.35 TB/s", "right", 1),
        ("3350 GB/s", "right", 1),
        ("3.35", "right", 1),
        ("6.7 TB/s", "wrong", 0),
        ("fast", "form", 0),
        ("1" * 100_000, "form", 0),
        (None, "stub", 0),
        (True, "form", 0),
        (float("nan"), "form", 0),
    ],
)
def test_a_quantity(value, outcome, points):
    found = scored(SPEED, value)
    assert (found.outcome, found.points) == (outcome, points)


def test_a_bet_is_not_told_how_far_it_is_off():
    assert "a factor of 2" in scored(SPEED, "6.7 TB/s").failing
    assert scored(dataclasses.replace(SPEED, how_far=False), "6.7 TB/s").failing.endswith("that is not right.")


@pytest.mark.parametrize(
    ("reply", "outcome", "said"),
    [
        (Reply("late"), "late", "`ridge(peak=9.89e14, bandwidth=3.35e12)` had not finished within the time limit."),
        (Reply("memory"), "memory", "needed more memory"),
        (Reply("died", error="SIGSEGV"), "died", "ended the whole Python process. SIGSEGV"),
        (Reply("refused", error="why"), "refused", "gave no value that can be graded: why."),
        (Reply("missing"), "missing", "`ridge` is not defined."),
        (Reply("not-run"), "not-run", "was not run"),
        (Reply("raised", error="KeyError: 'a'"), "raised", "raised KeyError: 'a'."),
        (Reply("raised", error="NotImplementedError"), "stub", "`ridge` is not done."),
        (Reply("value", None), "stub", "returned None"),
        (Reply("value", "300"), "form", "should be a number, not text"),
        (Reply("value", True), "form", "should be of type number, not bool"),
        (Reply("value", float("inf")), "form", "should be a finite number"),
        (Reply("value", 10**400), "wrong", "is not right"),
    ],
)
def test_what_came_of_a_public_input_is_said(reply, outcome, said):
    calls = calls_for(RIDGE, 5, 1)
    found = score(RIDGE, calls, [reply] * len(calls))
    assert (found.outcome, found.points) == (outcome, 0)
    assert said in found.failing


def test_a_function_that_keeps_something_is_told_so():
    seen = []

    def ridge(peak, bandwidth):
        seen.append(peak)
        return peak / bandwidth + (len(seen) > 2)

    found = scored(RIDGE, ridge)
    assert found.points == 0
    assert "when it was called again with the same input" in found.failing


def test_replies_that_do_not_belong_to_the_calls():
    calls = calls_for(RIDGE, 5, 1)
    with pytest.raises(ValueError, match=r"q99\.ridge.*3 replies do not belong to these 4 calls"):
        score(RIDGE, calls, [Reply("late")] * 3)
    with pytest.raises(ValueError, match="do not belong"):
        score(AREA, calls, [Reply("late")] * 4)


@pytest.fixture(scope="module")
def data_of_checks(tmp_path_factory):
    """A course whose data of `check()` is made of the sources as they are now."""
    home = tmp_path_factory.mktemp("course")
    for folder in FOLDERS:
        lesson, data = home / "lessons" / folder.name, home / "exercises" / folder.name
        lesson.mkdir(parents=True)
        (lesson / "lesson.md").touch()
        data.mkdir(parents=True)
        cases = {each.id: public_cases(each, each.drawn) for each in checks_of(folder)}
        (data / "checks.json").write_text(json.dumps(cases))
    return home


@pytest.fixture
def built(data_of_checks, tmp_path, monkeypatch):
    monkeypatch.setattr(package_data, "home", lambda: data_of_checks)
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("a_check", CHECKS, ids=lambda each: each.id)
def test_it_agrees_with_check(built, a_check):
    """Right, each known wrong answer and odd values: the same verdict and diagnosis as `check()` gives a learner."""
    quantity = a_check.unit is not None

    def value_of(function):
        return function() if quantity else function

    functions = [a_check.reference, *a_check.wrong.values()]
    functions += [
        lambda *_, value=value, **__: value for value in (None, True, 0, float("nan"), "1", [], {}, [[1]], 10**400)
    ]
    for function in functions:
        said, found = check(a_check.id, value_of(function)), scored(a_check, value_of(function), draws=0)
        assert (found.outcome == "right") == said.passed
        assert found.points == said.score
        assert (found.diagnosis and found.diagnosis[0]) == said.diagnosis


@pytest.mark.parametrize("a_check", [each for each in CHECKS if each.points], ids=lambda each: each.id)
def test_a_known_wrong_answer_scores_what_it_deserves_in_hidden_draws(a_check):
    """By inputs that nobody saw too; what it hears is its own message."""
    calls = calls_for(a_check, 23, 3)
    for name, function in a_check.wrong.items():
        found = score(a_check, calls, replies_of(calls, function))
        assert (found.points, found.diagnosis) == (deserved(a_check, calls, function), (name, a_check.messages[name]))
