from pathlib import Path

import pytest

from course_lib.teaching import units
from course_lib.teaching.record import record

TOYS = Path(__file__).parent / "toy_units"


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """A learner's folder with an empty record, as the current folder, in a process that has recorded nothing yet."""
    (tmp_path / ".course").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COURSE_HOME", raising=False)
    monkeypatch.delenv("COURSE_STATIC", raising=False)
    monkeypatch.setattr(record, "_pending", {})
    monkeypatch.setattr(record, "_said", set())
    return tmp_path


@pytest.fixture
def toys(learner, monkeypatch):
    """The unit `t1_toy` in the place of the built units."""
    monkeypatch.setattr(units, "root", lambda: TOYS)
    monkeypatch.setattr(units, "__path__", [str(TOYS)])
    units.cards.cache_clear()
    yield learner
    units.cards.cache_clear()
