"""The ways through the course: which lessons they name, and that their minutes are those of the lessons."""

import json
import re

import pytest

from tools.build import BuildError, track_map
from tools.source import read_page


@pytest.fixture(scope="module")
def front(root):
    return read_page(root / "lessons/00_start_here/lesson.md", root).front["course"]


def rows(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def test_minutes_are_those_that_the_units_are_built_with(root, front):
    found = {}
    for row in rows(track_map(root, front["tracks"])):
        found |= {name: row[3] for name in re.findall(r"\((\w+)\.ipynb\)", row[2]) if "," not in row[2]}
    built = {name: json.loads((root / f"notebooks/{name}.json").read_text())["minutes"] for name in found}
    assert found == {name: f"{minutes} min" for name, minutes in built.items()}
    assert len(found) >= 5


def test_a_way_sums_its_sessions(root, front):
    for table in ({name: sessions} for name, sessions in front["tracks"].items()):
        whole, *sessions = rows(track_map(root, table))
        assert int(re.search(r"\d+", whole[3])[0]) == sum(int(row[3].removesuffix(" min")) for row in sessions)
        assert int(whole[1]) == len(sessions)


def test_their_names_say_how_many_sessions_they_have(front):
    assert [len(sessions) for sessions in front["tracks"].values()] == [6, 10, 16]


def test_no_way_names_a_lesson_twice_and_the_longest_has_all(root, front):
    named = [[number for session in sessions for number in session] for sessions in front["tracks"].values()]
    assert all(len(set(numbers)) == len(numbers) for numbers in named)
    cases = {f"Case {n}" for n in range(1, 5)}
    assert set(named[-1]) == {"Q8+", *(f"Q{n}" for n in range(1, 25)), *cases}


def test_a_lesson_that_nobody_has_stops_the_build(root):
    with pytest.raises(BuildError, match="'Q99', which no lesson has"):
        track_map(root, {"A day": [["Q1", "Q99"]]})
