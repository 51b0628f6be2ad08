from pathlib import Path

import pytest

from course_lib import units

TOYS = Path(__file__).parent / "toy_units"


@pytest.fixture
def toys(learner, monkeypatch):
    """The unit `t1_toy` in the place of the built units."""
    monkeypatch.setattr(units, "home", lambda: TOYS)
    monkeypatch.setattr(units, "__path__", [str(TOYS / "lessons")])
    units.cards.cache_clear()
    yield learner
    units.cards.cache_clear()
