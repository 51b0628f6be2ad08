"""kill -9 of the grader at moments drawn once, then resume: nothing lost, nothing doubled."""

import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("nbgrader")

from course_lib.grading.seeds import new_key, write_key
from tests.grading.toy import RIGHT, UNIT

pytestmark = pytest.mark.slow
STUDENTS = [f"s{number}" for number in range(8)]


def graded(handed_in, key, step: int) -> subprocess.CompletedProcess:
    script = Path(__file__).with_name("killed.py")
    arguments = [step, handed_in.root, handed_in.submitted, handed_in.roster, key]
    return subprocess.run([sys.executable, script, *map(str, arguments)], capture_output=True, text=True)


def tables(handed_in) -> dict:
    """Every result of a course folder: CSV, pages, notebooks, and the rows of nbgrader's tables without their ids."""
    names = [*handed_in.folder.rglob("grades/**/*.*"), *handed_in.folder.rglob("autograded/**/*.*")]
    found = {path.relative_to(handed_in.folder).as_posix(): path.read_bytes() for path in names}
    assert not [name for name in found if name.endswith(".new")]
    with sqlite3.connect(handed_in.folder / "gradebook.db") as db:
        found["points"] = sorted(
            db.execute(
                "select submitted_assignment.student_id, base_cell.name, grade.auto_score, grade.needs_manual_grade"
                " from grade join base_cell on grade.cell_id = base_cell.id"
                " join submitted_notebook on grade.notebook_id = submitted_notebook.id"
                " join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id"
            ).fetchall()
        )
        for table in ("student", "assignment", "notebook", "submitted_assignment", "submitted_notebook", "comment"):
            (found[table],) = db.execute(f"select count(*) from {table}").fetchone()
        found["source"] = sorted(db.execute("select name, source from source_cell").fetchall())
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
    return found


def test_killed_again_and_again(handed_in, tmp_path):
    key = tmp_path / "course.key"
    write_key(key, new_key())
    handed_in.enrol(*STUDENTS, "absent")
    for number, student in enumerate(STUDENTS):
        squared = {"q98-twice": "def twice(x):\n    return x * x"} if number % 3 == 0 else {}
        handed_in.submit(student, RIGHT | squared)
    done = graded(handed_in, key, 0)
    assert done.returncode == 0, done.stderr
    steps, expected = int(done.stdout), tables(handed_in)
    assert steps > 4 * len(STUDENTS)
    assert len(expected["points"]) == 5 * len(STUDENTS)
    for path in handed_in.folder.iterdir():
        if path.name not in ("submitted", "roster.csv"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    rng = random.Random(1)
    moments = [rng.randrange(1, steps + 1) for _ in range(6)]
    for moment in moments:
        done = graded(handed_in, key, moment)
        assert done.returncode in (-signal.SIGKILL, 0), (moments, done.stderr)
    done = graded(handed_in, key, 0)
    assert done.returncode == 0, (moments, done.stderr)
    assert tables(handed_in) == expected, moments
    assert (handed_in.folder / "grades" / UNIT / "grades.csv").is_file()
