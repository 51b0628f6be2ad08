"""One unit from its sources to the students' points: author, release, submissions, grade, hand-grade in a real
formgrader, feedback, CSV.
"""

import csv
import os
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("nbgrader")

from course_lib.grading import run
from course_lib.grading.results import book
from course_lib.grading.sandbox.engine import Engine, SandboxMissing
from course_lib.grading.seeds import new_key, write_key
from tests.grading.toy import RIGHT, UNIT, HandedIn, write_unit

from .conftest import ROOT, serve

pytestmark = pytest.mark.browser
STUDENTS = [f"s{number:02}" for number in range(20)]
SQUARED = {"q98-twice": "def twice(x):\n    return x * x"}
EVIL = "The bus <img src=x onerror='window.evil=1'><script>window.evil = 1</script> [click](javascript:evil()) and a<b."


@pytest.fixture
def course(tmp_path) -> HandedIn:
    """A checkout with the toy unit, in which 20 students have handed in: by threes right, blank, a known mistake."""
    folder = tmp_path / "course"
    write_unit(folder)
    shutil.copy(ROOT / "nbgrader_config.py", folder)
    course = HandedIn(folder, folder)
    course.enrol(*STUDENTS, "absent")
    for number, student in enumerate(STUDENTS):
        course.submit(student, [RIGHT, {}, RIGHT | SQUARED][number % 3])
    course.submit(STUDENTS[0], RIGHT | {"q98-why": EVIL})
    write_key(tmp_path / "course.key", new_key())
    return course


@pytest.fixture
def grade(course, tmp_path, monkeypatch):
    try:
        with Engine(workers=1):
            pass
    except SandboxMissing:
        monkeypatch.setattr(run, "Engine", lambda: Engine(unsafe=True))

    def grade() -> dict:
        run.grade(course.folder, course.submitted, course.roster, key=tmp_path / "course.key")
        with open(course.folder / "grades" / UNIT / "grades.csv", newline="") as file:
            return {row["student"]: row for row in csv.DictReader(file)}

    return grade


def nbgrader(course, *arguments):
    environment = {**os.environ, "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=course.folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# Formgrader says so itself once it has bound the boxes to the points and comments that it fetched.
BOUND = "window.formgrader?.grades?.loaded && formgrader.comments?.loaded"


def points(page, cell: str, value: str, comment: str = ""):
    """Type points, and a comment, as a person does; wait until formgrader says that they are saved."""
    page.wait_for_function(BOUND)
    box = page.locator(f"input#{cell}")
    with page.expect_response(lambda answer: "/api/grade/" in answer.url and answer.request.method == "PUT"):
        box.fill(value)
        box.press("Tab")
    if comment:
        with page.expect_response(lambda answer: "/api/comment/" in answer.url and answer.request.method == "PUT"):
            page.locator(f"textarea#{cell}-comment").fill(comment)
            page.locator(f"textarea#{cell}-comment").press("Tab")


def test_from_the_sources_to_the_points(course, grade, browser, tmp_path):
    rows = grade()
    assert [rows[student]["total"] for student in STUDENTS[:3]] == ["8", "0", "6"]
    assert {rows[student]["to_grade_by_hand"] for student in STUDENTS[::3]} == {"1"}
    waiting = [student for student in STUDENTS if rows[student]["to_grade_by_hand"] == "1"]
    assert len(waiting) == 13
    with book.gradebook(course.folder) as gradebook:
        ids = {student: gradebook.find_submission_notebook(UNIT, UNIT, student).id for student in STUDENTS}
    with serve(course.folder, tmp_path) as lab:
        context = browser.new_context()
        context.route("**/*", lambda r: r.continue_() if r.request.url.startswith((lab.url, "data:")) else r.abort())
        page, problems = context.new_page(), []
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"{lab.url}formgrader/manage_assignments?token={lab.token}")
        page.locator(f"text={UNIT}").first.wait_for()
        page.locator("td.num-submissions:has-text('20')").wait_for()
        page.goto(f"{lab.url}formgrader/manage_submissions/{UNIT}")
        page.locator("text=needs manual grading").first.wait_for()
        assert page.locator("td.status:has-text('needs manual grading')").count() == 13
        assert page.locator("td.status:has-text('needs autograding')").count() == 0
        page.goto(f"{lab.url}formgrader/gradebook/{UNIT}/{UNIT}")
        page.locator("td.name >> nth=19").wait_for()
        for number, student in enumerate(waiting):
            page.goto(f"{lab.url}formgrader/submissions/{ids[student]}/")
            if number == 0:
                assert page.locator("text=The bus").count() == 1
                assert "onerror" in page.locator("body").inner_text(), "a student's tags are text"
                assert page.evaluate("window.evil") is None
                assert page.locator("a[href^='javascript:']", has_text="click").count() == 0
            points(page, "q98-why", "2" if number % 2 else "3", "Which bus?" if number == 1 else "")
        page.goto(f"{lab.url}formgrader/submissions/{ids[STUDENTS[2]]}/")
        page.locator("text=You squared it.").wait_for()
        points(page, "q98-twice-check", "1")
        context.close()
        assert [problem for problem in problems if "MathJax" not in problem and "require" not in problem] == []
    rows = grade()
    assert {row["to_grade_by_hand"] for row in rows.values()} == {"0"}
    assert [rows[waiting[number]]["q98-why"] for number in range(4)] == ["3", "2", "3", "2"]
    assert rows[STUDENTS[2]] | {"q98.twice": "1", "total": "9"} == rows[STUDENTS[2]]
    assert (rows["absent"]["status"], rows["absent"]["total"]) == ("nothing", "")
    own = (course.folder / "grades" / UNIT / "feedback" / f"{waiting[1]}.html").read_text()
    assert "Which bus?" in own
    assert "Points: 2 of 3" in own
    nbgrader(course, "generate_feedback", UNIT)
    theirs = (course.folder / "feedback" / waiting[1] / UNIT / f"{UNIT}.html").read_text()
    assert "Which bus?" in theirs
    assert "You squared it." in theirs
