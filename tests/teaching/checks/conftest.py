"""The toy checks as the build leaves them."""

import json
import sys
import types

import pytest

from course_lib import units
from course_lib.teaching.checks import check_run
from course_lib.teaching.checks.check import Check, check, public_cases
from tests.teaching.checks.toy_checks import CHECKS


class Unit:
    """A built folder with checks of our own, and an empty record."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)

    def hold(self, *checks: Check) -> None:
        """Make these the unit's checks."""
        self.write({check.id: public_cases(check) for check in checks})

    def write(self, data: dict) -> None:
        (self.folder / "checks.json").write_text(json.dumps(data))


@pytest.fixture
def unit(tmp_path, monkeypatch) -> Unit:
    """The unit q99 with the toy checks. Attempts are recorded in the test's own folder, which is the current one.

    No answer is late on a busy machine; a test of the limit sets its own.
    """
    monkeypatch.setattr(sys.modules[check.__module__], "SECONDS", 300.0)
    monkeypatch.setattr(units, "home", lambda: tmp_path / "course")
    monkeypatch.setenv("COURSE_HOME", str(tmp_path))
    monkeypatch.delenv("COURSE_STATIC")
    monkeypatch.chdir(tmp_path)
    made = Unit(tmp_path / "course" / "exercises" / "q99_toy")
    lesson = tmp_path / "course" / "lessons" / "q99_toy" / "lesson.md"
    lesson.parent.mkdir(parents=True)
    lesson.touch()
    made.hold(*CHECKS)
    return made


@pytest.fixture
def clock(monkeypatch):
    """The seconds that the limit counts: they pass by `clock.now += …` only. Alarms ring by the real clock."""
    clock = types.SimpleNamespace(now=0.0)
    monkeypatch.setattr(check_run, "time", types.SimpleNamespace(monotonic=lambda: clock.now))
    return clock
