"""Hand-over to nbgrader: its gradebook, its feedback and its export work as usual, and a person's points stay."""

import json
import os
import re
import subprocess
import sys

import pytest

pytest.importorskip("nbgrader")

from course_lib.grading import run
from course_lib.grading.results import book
from tests.grading.toy import FULL, RIGHT, UNIT, grade_id

pytestmark = pytest.mark.slow  # nbgrader itself

TAGS = {"p", "a", "code", "pre", "div", "span", "blockquote", "ul", "li", "br", "em"}
GRADES = {"q98-twice-check": 2, "q98-share-check": 3, "q98-bandwidth-check": 1, "q98-pieces-check": 2}


@pytest.fixture
def three(handed_in, grade):
    """Three students and one who handed nothing in, graded into the gradebook."""
    handed_in.enrol("ada", "bob", "eve", "zoe")
    handed_in.submit("ada")
    handed_in.submit("bob", RIGHT | {"q98-share": "def share(n, m):\n    return n"})
    handed_in.submit("eve", {})
    return grade(gradebook=True)


def in_gradebook(handed_in) -> dict:
    """student -> cell -> (automatic points, a person's points, waits for a person), read by nbgrader's own look-up."""
    with book.gradebook(handed_in.folder) as gradebook:
        return {
            submission.student_id: {
                grade.name: (grade.auto_score, grade.manual_score, grade.needs_manual_grade)
                for notebook in submission.notebooks
                for grade in notebook.grades
            }
            for submission in gradebook.assignment_submissions(UNIT)
        }


def by_hand(handed_in, student, cell, points, comment=None):
    """What formgrader does when a person types points."""
    with book.gradebook(handed_in.folder) as gradebook:
        grade = gradebook.find_grade(cell, UNIT, UNIT, student)
        grade.manual_score, grade.needs_manual_grade = points, False
        if comment:
            gradebook.find_comment(cell, UNIT, UNIT, student).manual_comment = comment
        gradebook.db.commit()


def nbgrader(handed_in, *command):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_")}
    environment["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), environment["PATH"]])
    (handed_in.folder / "nbgrader_config.py").write_text(
        "import os\nc = get_config()\nc.CourseDirectory.root = os.getcwd()\n"
        f"c.CourseDirectory.course_id = {book.COURSE_ID!r}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command],
        cwd=handed_in.folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_gradebook_has_what_the_csv_has(handed_in, three):
    found = in_gradebook(handed_in)
    assert set(found) == {"ada", "bob", "eve"}
    right = {cell: (points, None, False) for cell, points in GRADES.items()}
    assert found["ada"] == right | {"q98-why": (None, None, True)}
    assert found["bob"] == right | {"q98-share-check": (1, None, False), "q98-why": (None, None, True)}
    assert found["eve"] == {cell: (0, None, False) for cell in GRADES} | {"q98-why": (0, None, False)}
    with book.gradebook(handed_in.folder) as gradebook:
        assert {student.id: student.first_name for student in gradebook.students} == dict.fromkeys(three, "Ada")
        assert gradebook.find_assignment(UNIT).max_score == 11
        assert gradebook.find_submission(UNIT, "bob").score == 6
    assert (three["zoe"]["status"], three["bob"]["total"]) == ("nothing", "6")


def test_the_autograded_notebook_is_the_released_one_with_answers_and_what_the_checks_said(handed_in, three):
    nb = json.loads((handed_in.folder / "autograded" / "bob" / UNIT / f"{UNIT}.ipynb").read_text())
    expected = handed_in.notebook(RIGHT | {"q98-share": "def share(n, m):\n    return n"})
    for got, want in zip(nb["cells"], expected["cells"], strict=True):
        assert (got["source"], got["metadata"]) == (want["source"], want["metadata"])
    outputs = {grade_id(cell): cell["outputs"] for cell in nb["cells"] if cell.get("outputs")}
    assert outputs.keys() == GRADES.keys()
    (output,) = outputs["q98-share-check"]
    assert output["data"]["text/plain"] == "1"
    assert "Divide by the cards." in output["data"]["text/html"]


def test_a_person_grades_and_the_csv_follows(handed_in, three, grade):
    by_hand(handed_in, "ada", "q98-why", 2.5, "Well read.")
    by_hand(handed_in, "bob", "q98-share-check", 3)
    rows = grade(gradebook=True)
    assert rows["ada"] | {"q98-why": "2.5", "total": "10.5", "to_grade_by_hand": "0"} == rows["ada"]
    assert rows["bob"] | {"q98.share": "3", "q98-why": "", "to_grade_by_hand": "1"} == rows["bob"]
    page = (handed_in.folder / "grades" / UNIT / "feedback" / "ada.html").read_text()
    assert "Well read." in page
    assert "Points: 2.5 of 3" in page
    assert "set by a person" in (handed_in.folder / "grades" / UNIT / "feedback" / "bob.html").read_text()


def test_a_persons_points_stay_and_are_looked_at_again_only_where_the_answer_changed(handed_in, three, grade):
    by_hand(handed_in, "ada", "q98-why", 2.5)
    by_hand(handed_in, "ada", "q98-share-check", 1.5)
    handed_in.submit("ada", RIGHT | {"q98-twice": "def twice(x):\n    return x + x"})
    grade(gradebook=True)
    found = in_gradebook(handed_in)["ada"]
    assert (found["q98-why"], found["q98-share-check"]) == ((None, 2.5, False), (3, 1.5, False))
    handed_in.submit("ada", RIGHT | {"q98-why": "No, the memory."})
    rows = grade(gradebook=True)
    found = in_gradebook(handed_in)["ada"]
    assert (found["q98-why"], found["q98-share-check"]) == ((None, 2.5, True), (3, 1.5, False))
    assert rows["ada"]["q98-why"] == "2.5"


def test_what_nbgrader_lost_is_handed_over_again(handed_in, three, grade):
    before = in_gradebook(handed_in)
    notebook = handed_in.folder / "autograded" / "ada" / UNIT / f"{UNIT}.ipynb"
    notebook.unlink()
    grade(gradebook=True)
    assert notebook.is_file()
    (handed_in.folder / "gradebook.db").unlink()
    grade(gradebook=True)
    assert in_gradebook(handed_in) == before


def test_a_kill_between_the_gradebook_and_its_mark_does_no_harm(handed_in, three, grade, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    handed_in.submit("eve")
    with monkeypatch.context() as patch:
        patch.setattr(run.Store, "mark_handed_over", killed)
        with pytest.raises(KeyboardInterrupt):
            grade(gradebook=True)
    rows = grade(gradebook=True)
    assert {name: float(rows["eve"][name]) for name in FULL} == FULL
    assert sorted(in_gradebook(handed_in)) == ["ada", "bob", "eve"]


def test_a_failed_hand_over_writes_nothing(handed_in, three, grade, monkeypatch):
    before = in_gradebook(handed_in)
    handed_in.submit("eve")
    handed_in.enrol("ada", "bob", "eve", "fay", "zoe")
    handed_in.submit("fay")
    real = book._add_points

    def fails(*arguments):
        real(*arguments)
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(book, "_add_points", fails)
        with pytest.raises(OSError, match="disk"):
            grade(gradebook=True)
    assert in_gradebook(handed_in) == before
    grade(gradebook=True)
    assert in_gradebook(handed_in)["fay"]["q98-twice-check"] == (2, None, False)


def test_another_form_of_the_unit_is_refused_once_there_are_submissions(handed_in, three, task):
    import dataclasses

    fewer = dataclasses.replace(task, items=task.items[1:])
    with pytest.raises(ValueError, match="another form"):
        book.hand_over(handed_in.folder, fewer, [], [])


@pytest.mark.parametrize(
    ("text", "readable"),
    [("2026-11-21 10:00:00.000000 UTC", True), ("soon", False), ("", False)],
)
def test_timestamps(handed_in, grade, text, readable):
    handed_in.enrol("ada")
    handed_in.submit("ada").with_name("timestamp.txt").write_text(text)
    assert grade(gradebook=True)["ada"]["status"] == "graded"
    with book.gradebook(handed_in.folder) as gradebook:
        date = gradebook.find_submission(UNIT, "ada").timestamp
    assert (date is not None and (date.hour, date.minute) == (10, 0)) == readable
    page = (handed_in.folder / "grades" / UNIT / "teacher.html").read_text()
    assert ("timestamp.txt is no date" in page) != readable


def test_a_timestamp_that_is_a_pipe_blocks_nothing(handed_in, grade):
    handed_in.enrol("ada")
    os.mkfifo(handed_in.submit("ada").with_name("timestamp.txt"))
    assert grade(gradebook=True)["ada"]["status"] == "graded"


@pytest.mark.parametrize(
    "text",
    [
        "<script>evil()</script>",
        "<img src=x onerror=evil()>",
        "[a](javascript:evil())",
        "[a](java&#115;cript:evil())",
        "![a](http://example.org/x.png)",
        "[a][b]\n\n[b]: javascript:evil()",
        "<javascript:evil()>",
        "<!-- --><iframe src=x>",
        "> - <svg\nonload=evil()>",
        "`<b>` $a<b$ <b",
        "\\<b>",
        "```\n<b>\n```\n<b>",
    ],
)
def test_a_students_text_makes_no_tag_and_no_link_but_an_address(text):
    from nbconvert.filters.markdown import markdown2html

    page = markdown2html(book.harmless(text))
    assert set(re.findall(r"<([a-zA-Z!]+)", page)) <= TAGS
    assert not re.search(r"\b(src|on\w+)=\"", page)
    assert {scheme.lower() for scheme in re.findall(r'href="([^:"]*)', page)} <= {"http"}
    assert book.harmless(text).replace("\u2060", "") == text


@pytest.mark.slow
def test_nbgraders_own_feedback_and_export_work_as_usual(handed_in, three):
    by_hand(handed_in, "bob", "q98-why", 2, "Say which bus.")
    nbgrader(handed_in, "generate_feedback", UNIT)
    page = (handed_in.folder / "feedback" / "bob" / UNIT / f"{UNIT}.html").read_text()
    assert "Say which bus." in page
    assert "Divide by the cards." in page
    assert "Score: 8.0 / 11.0" in page
    nbgrader(handed_in, "export", "--to", "all.csv")
    lines = (handed_in.folder / "all.csv").read_text().splitlines()
    assert any("bob" in line and ",8.0," in line for line in lines)
