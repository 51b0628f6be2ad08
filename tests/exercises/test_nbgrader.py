"""nbgrader itself, from the command line, on one unit: generate, submit, autograde, validate."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from course_lib.teaching.checks.check import check
from tools.source import load_checks, units

ROOT = Path(__file__).resolve().parents[2]
UNIT = next(folder for folder in units(ROOT) if (folder / "exercises.md").exists() and (folder / "checks.py").exists())
STUDENTS = ("good", "blank", "wrong")
pytestmark = pytest.mark.slow

WARNS = """
_right = {name}
def {name}(*args, **kwargs):
    import sys, warnings
    warnings.warn("careful")
    print("trouble", file=sys.stderr)
    print("a step")
    return _right(*args, **kwargs)
"""
WRONG = """
{checks}
{name} = next(check.wrong[{wrong!r}] for check in CHECKS if check.id == {id!r})
"""


def run(course: Path, *command: str) -> str:
    """`nbgrader …` in the course folder as a teaching assistant runs it: with the environment on PATH. What it says."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("COURSE_", "NBGRADER_"))}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *command], cwd=course, env=environment, capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return said


def read(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, as_version=4)


def grading(cell) -> dict:
    return cell.metadata.get("nbgrader", {})


class Submissions:
    """The released notebook with the solution's cells put back, changed by `change(name, source, check id)`."""

    def __init__(self, course: Path):
        self.course = course
        self.released = course / "exercises" / UNIT.name / f"{UNIT.name}.ipynb"
        solution = read(course / "solutions" / UNIT.name / f"{UNIT.name}.ipynb")
        self.answers = {grading(c).grade_id: c.source for c in solution.cells if grading(c).get("solution")}

    def submit(self, student: str, change=None, blank: bool = False) -> Path:
        nb = read(self.released)
        graded = [re.fullmatch(r'check\("([^"]+)", (\w+)\)', cell.source) for cell in nb.cells]
        functions = {match[2]: match[1] for match in graded if match}
        for cell in nb.cells:
            if grading(cell).get("solution") and not blank:
                cell.source = self.answers[grading(cell).grade_id]
                for name, id in functions.items():
                    if change and cell.cell_type == "code" and re.search(rf"^def {name}\b", cell.source, re.MULTILINE):
                        cell.source = change(name, cell.source, id)
        path = self.course / "submitted" / student / UNIT.name / f"{UNIT.name}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(nb, path)
        return path


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    course = tmp_path_factory.mktemp("nbgrader")
    shutil.copy(ROOT / "nbgrader_config.py", course)
    shutil.copytree(ROOT / "solutions" / UNIT.name, course / "solutions" / UNIT.name)
    run(course, "generate_assignment", UNIT.name)
    return course


@pytest.fixture(scope="module")
def checks():
    return {each.id: each for each in load_checks(UNIT, ROOT)}


@pytest.fixture(scope="module")
def wrong(checks) -> tuple[str, str]:
    """The check that the student "wrong" fails, and the known wrong answer that is given."""
    return next((each.id, next(iter(each.wrong))) for each in checks.values() if each.points and each.wrong)


@pytest.fixture(scope="module")
def scores(course, wrong) -> dict[str, dict[str, tuple]]:
    """student -> grade_id -> (automatic score or None, points), after one `nbgrader autograde`.

    The student "wrong" has one known wrong answer; all other functions are right, but warn and print.
    """
    from nbgrader.api import Gradebook

    def change(name, source, id):
        known = WRONG.format(checks=(UNIT / "checks.py").read_text(), name=name, id=id, wrong=wrong[1])
        return known if id == wrong[0] else source + WARNS.format(name=name)

    submissions = Submissions(course)
    submissions.submit("good")
    submissions.submit("blank", blank=True)
    submissions.submit("wrong", change)
    run(course, "autograde", UNIT.name)
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        found = {name: gradebook.find_submission_notebook(UNIT.name, UNIT.name, name) for name in STUDENTS}
        return {
            student: {grade.name: (grade.auto_score, grade.max_score) for grade in notebook.grades}
            for student, notebook in found.items()
        }


def automatic(notebook: Path) -> dict[str, str]:
    """grade_id -> check id of the grade cells in a notebook."""
    cells = [cell for cell in read(notebook).cells if grading(cell).get("grade") and cell.cell_type == "code"]
    return {grading(cell).grade_id: re.search(r'check\("([^"]+)"', cell.source)[1] for cell in cells}


@pytest.fixture(scope="module")
def items(course) -> dict[str, str]:
    found = automatic(course / "exercises" / UNIT.name / f"{UNIT.name}.ipynb")
    assert found
    return found


def test_the_command_line_releases_what_the_build_releases(course):
    released = course / "exercises" / UNIT.name / f"{UNIT.name}.ipynb"
    assert released.read_bytes() == (ROOT / "exercises" / UNIT.name / f"{UNIT.name}.ipynb").read_bytes()


def test_solutions_get_full_marks(scores, items, checks):
    full = {grade_id: (checks[id].points, checks[id].points) for grade_id, id in items.items()}
    assert {grade_id: scores["good"][grade_id] for grade_id in items} == full


def test_blanks_get_nothing(scores):
    assert {score for score, _ in scores["blank"].values()} == {0}, "free text included"


def test_free_text_waits_for_a_person(scores, items):
    texts = scores["good"].keys() - items.keys()
    assert {scores["good"][text][0] for text in texts} <= {None}


def test_a_known_wrong_answer_costs_its_item_and_warnings_and_prints_cost_nothing(scores, items, wrong):
    for grade_id, id in items.items():
        assert scores["wrong"][grade_id][0] == (0 if id == wrong[0] else scores["good"][grade_id][0]), grade_id


def test_the_graded_notebook_shows_why(course, scores, items, checks, wrong):
    nb = read(course / "autograded" / "wrong" / UNIT.name / f"{UNIT.name}.ipynb")
    cell = next(cell for cell in nb.cells if items.get(grading(cell).get("grade_id")) == wrong[0])
    (output,) = [output for output in cell.outputs if output.output_type == "execute_result"]
    assert output.data["text/plain"] == "0"
    assert output.data["text/html"] == check(wrong[0], checks[wrong[0]].wrong[wrong[1]])._html()


@pytest.mark.parametrize(("student", "failed"), [("good", 0), ("wrong", 1)])
def test_validate_before_handing_in(course, scores, student, failed):
    from nbgrader.validator import Validator

    results = Validator().validate(str(course / "submitted" / student / UNIT.name / f"{UNIT.name}.ipynb"))
    assert len(results.get("failed", [])) == failed
    assert results.keys() <= {"failed"}
