"""A unit as it is graded."""

import json
from pathlib import Path

import pytest

from course_lib.grading.intake.task import Task
from course_lib.grading.results.scoring import calls_for

ROOT = Path(__file__).resolve().parents[3]
UNITS = sorted(path.parent.name for path in ROOT.glob("exercises/*/checks.json"))


@pytest.mark.parametrize("unit", UNITS)
def test_the_grade_asks_all_that_check_asks(unit):
    """What `check()` calls wrong must not score in full."""
    built = json.loads((ROOT / "exercises" / unit / "checks.json").read_text())
    graded = [item.check for item in Task.load(ROOT, unit).items if item.check]
    assert {check.id for check in graded} == {id for id, data in built.items() if data["points"]}
    for check in graded:
        asked = [case["input"] for case in built[check.id]["cases"]]
        public = [call.arguments for call in calls_for(check, 1, 0)]
        assert public == (asked if check.unit is not None else [*asked, asked[0]])


def test_there_are_built_checks():
    assert UNITS
