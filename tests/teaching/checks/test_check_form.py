"""The form of a check: what its author may write, and the data that the build makes of it."""

import json
import math

import pytest

from course_lib.teaching.checks.check import EXACT, Close, faults, public_cases
from tests.teaching.checks.toy_checks import CHECKS, a_check


def test_a_good_check_has_no_fault():
    assert [faults(check) for check in CHECKS if check.id == "q99.intensity"] == [[]]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"wrong": {"same": lambda f, b: f / b}}, "wrong['same'] is right on every input"),
        ({"wrong": {"near": lambda f, b: f / b * (1 + 2e-6)}}, "wrong['near'] is within three tolerances"),
        (
            {"wrong": {"a": lambda f, b: 3 * f / b, "b": lambda f, b: 3.0 * f / b}},
            "no public input tells wrong['b'] from wrong['a']",
        ),
        ({"public": [(1, 1)]}, "no public input tells wrong['upside down'] from the right answer"),
        ({"generate": lambda rng: (1, rng.choice([1, 1, 5]))}, "wrong['upside down'] is right on"),
        ({"generate": lambda rng: (1, 0)}, "the reference gives no finite JSON value on intensity(flops=1, nbytes=0)"),
        ({"generate": lambda rng: 3}, "a tuple or a mapping"),
        ({"public": [(object(), 1)]}, "must hold JSON values"),
        ({"public": [(math.inf, 1)]}, "must hold JSON values"),
        ({"reference": lambda f, b: math.nan}, "no finite JSON value"),
        ({"reference": lambda f, b: {f}}, "no finite JSON value"),
        ({"wrong": {"fails": lambda f, b: f / 0}}, "wrong['fails'] gives no finite JSON value"),
    ],
)
def test_faults_of_a_check(changes, says):
    found = faults(a_check(**changes))
    assert any(says in fault for fault in found), found


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"id": "intensity"}, "id is <unit prefix>.<kebab-name>"),
        ({"id": "q99.Same_Flops"}, "id is <unit prefix>.<kebab-name>"),
        ({"points": -2}, "points must be a positive number"),
        ({"points": True}, "points must be a positive number"),
        ({"public": []}, "at least one input"),
        ({"signature": "intensity"}, "signature must look like"),
    ],
)
def test_a_check_that_cannot_be(changes, says):
    with pytest.raises(ValueError, match=says):
        a_check(**changes)


def test_no_group_is_earned_by_one_answer_to_everything():
    """Where the right answer is always None, who writes nothing is paid; one drawn input in two prevents it."""

    def found(numbers, public):
        check = a_check(
            points=2,
            signature="root(n)",
            groups={"squares": 1, "below zero": 1},
            public={"squares": [(4,), (9,)], "below zero": public},
            generate=lambda rng, group: (rng.choice([16, 25] if group == "squares" else numbers),),
            reference=lambda n: n**0.5 if n >= 0 else None,
            wrong={"half": lambda n: n / 2},
        )
        return [fault for fault in faults(check) if "on all public inputs" in fault]

    assert len(found([-1, -2], [(-1,), (-4,)])) == 1
    assert found([-1, -2], [(-1,), (1,)]) == []
    assert found([-1, 49], [(-1,), (-4,)]) == []


@pytest.mark.parametrize("tolerance", [-1, math.nan, math.inf, "small"])
def test_a_tolerance_that_cannot_be(tolerance):
    with pytest.raises(ValueError, match="rel must be a finite number"):
        Close(rel=tolerance)


@pytest.mark.parametrize(
    ("same", "got", "expected", "tolerances"),
    [
        (Close(rel=0.01), 103, 100, 3),
        (Close(rel=0.01, abs=2), 103, 100, 1.5),
        (Close(abs=0.5), 1, 0, 2),
        (EXACT, 5, 5.0, 0),
        (EXACT, 5 + 1e-12, 5, math.inf),
        (Close(rel=0.1), [100, 130], [100, 100], 3),
        (Close(rel=0.1), {"a": [1]}, {"a": [1, 1]}, math.inf),
        (Close(), "a", "b", math.inf),
        (Close(), True, 1, math.inf),
        (Close(), [], [], 0),
        (Close(), 10**400, 1.5, math.inf),
    ],
)
def test_distance(same, got, expected, tolerances):
    assert same.distance(got, expected) == pytest.approx(tolerances)


def test_the_data_of_a_check_is_json_without_code():
    data = public_cases(CHECKS[3])
    assert json.loads(json.dumps(data)) == data
    assert data["cases"] == [
        {
            "input": {"kwargs": {"x": {"array": [[0, 1, 2], [3, 4, 5]], "dtype": "float64"}, "axis": 0}},
            "expected": [1.5, 2.5, 3.5],
        }
    ]
