"""Whoever looks for a module finds one of that name: no two in `course_lib` share it, or nearly."""

import re
from collections import defaultdict
from pathlib import Path

ROOM = Path(__file__).parents[1] / "course_lib"


def bare(name: str) -> str:
    """The name without what tells record, records, recorder and recording apart."""
    return re.sub(r"(?:e?s|er|ing|e)$", "", name)


def test_no_two_modules_have_nearly_the_same_name():
    found = defaultdict(list)
    for path in ROOM.rglob("*.py"):
        # A package is told by its modules; both the course and physics speak of units.
        if path.stem not in ("__init__", "__main__") and path != ROOM / "units.py":
            found[bare(path.stem)].append(path.relative_to(ROOM).as_posix())
    assert [paths for paths in found.values() if len(paths) > 1] == []


def test_near_names_are_told():
    assert len({bare(name) for name in ("record", "records", "recorder", "recording")}) == 1
    assert len({bare(name) for name in ("table", "tables")}) == 1
    assert len({bare(name) for name in ("profile", "progress", "process", "process_view")}) == 4


def test_a_room_holds_a_dozen_modules_at_most():
    rooms = {path.parent for path in ROOM.rglob("*.py")}
    assert {room.name: found for room in rooms if (found := sum(1 for _ in room.glob("[!_]*.py"))) > 12} == {}
