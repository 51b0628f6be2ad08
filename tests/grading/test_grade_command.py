"""`course grade`: everyone has a row, points are what the answers deserve, a second run regrades what changed."""

import json
import os
import sqlite3
import subprocess
import sys

import pytest

from course_lib.grading import run, tries
from course_lib.grading.seeds import exercise_seed, new_key, read_key, write_key
from tests.grading.toy import FULL, NOTHING, RIGHT, UNIT, grade_id

SQUARED = RIGHT | {"q98-twice": "def twice(x):\n    return x ** 2"}
UNDIVIDED = RIGHT | {"q98-share": "def share(n, m):\n    return n"}


def points(row) -> dict:
    return {name: float(row[name]) for name in FULL}


@pytest.fixture
def counted(monkeypatch):
    """The keys of the jobs that were run."""
    keys = []
    real = run.Engine

    class Counting:
        def __init__(self, **options):
            self.engine = real(**options)

        def __enter__(self):
            self.running = self.engine.__enter__()
            return self

        def __exit__(self, *error):
            return self.engine.__exit__(*error)

        def run(self, jobs, side_by_side=None):
            for answered in self.running.run(jobs, side_by_side):
                keys.append(answered.key.split()[-1])
                yield answered

    monkeypatch.setattr(run, "Engine", Counting)
    return keys


def test_points_are_what_the_answers_deserve(handed_in, grade):
    handed_in.enrol("right", "blank", "squared", "undivided", "unit", "late", "nobody")
    handed_in.submit("right")
    handed_in.submit("blank", {})
    handed_in.submit("squared", SQUARED)
    handed_in.submit("undivided", UNDIVIDED)
    handed_in.submit("unit", RIGHT | {"q98-bandwidth": "bandwidth = 3350"})
    rows = grade()
    assert points(rows["right"]) == FULL
    assert points(rows["blank"]) == NOTHING
    assert points(rows["squared"]) == FULL | {"q98.twice": 0}
    assert points(rows["undivided"]) == FULL | {"q98.share": 1}
    assert points(rows["unit"]) == FULL | {"q98.bandwidth": 0}
    assert (rows["nobody"]["status"], rows["nobody"]["total"]) == ("nothing", "")
    assert "no folder" in rows["nobody"]["reason"]
    assert rows["right"] | {"total": "8", "max_points": "11", "to_grade_by_hand": "1", "q98-why": ""} == rows["right"]
    assert rows["blank"] | {"total": "0", "to_grade_by_hand": "0", "q98-why": "0"} == rows["blank"]
    assert list(rows) == sorted(rows), "in the order of the ids"


def test_helpers_in_other_cells_and_broken_cells_beside(handed_in, grade):
    def edit(nb):
        extra = ["def half(x):\n    return x / 2", "%matplotlib inline\n!ls", "raise SystemExit", "this is no Python ("]
        nb["cells"][1:1] = [{"cell_type": "code", "metadata": {}, "source": source, "outputs": []} for source in extra]

    handed_in.enrol("ada")
    handed_in.submit("ada", RIGHT | {"q98-twice": "def twice(x):\n    return 4 * half(x)"}, edit)
    assert points(grade()["ada"]) == FULL


def test_a_broken_answer_costs_only_itself(handed_in, grade):
    handed_in.enrol("ada", "bob")
    handed_in.submit("ada", RIGHT | {"q98-twice": "def twice(x:\n    return"})
    handed_in.submit("bob", RIGHT | {"q98-twice": "import os\ndef twice(x):\n    os._exit(0)"})
    rows = grade()
    assert points(rows["ada"]) == points(rows["bob"]) == FULL | {"q98.twice": 0}


def test_a_second_run_changes_nothing_and_runs_nothing(handed_in, grade, counted):
    handed_in.enrol("ada", "bob")
    handed_in.submit("ada")
    handed_in.submit("bob", SQUARED)
    grade()
    first = {path: path.read_bytes() for path in (handed_in.folder / "grades").rglob("*.*")}
    assert sorted(counted) == ["ada", "bob"]
    grade()
    assert sorted(counted) == ["ada", "bob"]
    assert {path: path.read_bytes() for path in (handed_in.folder / "grades").rglob("*.*")} == first


def test_the_csv_of_the_same_input_is_the_same_elsewhere(handed_in, grade, tmp_path):
    handed_in.enrol("ada", "bob", "eve")
    for student, answers in (("bob", SQUARED), ("ada", RIGHT)):
        handed_in.submit(student, answers)
    grade()
    first = grade.csv.read_bytes()
    other = tmp_path / "other"
    other.mkdir()
    run.grade(handed_in.root, handed_in.submitted, handed_in.roster, course=other, key=grade.key, gradebook=False)
    assert (other / "grades" / UNIT / "grades.csv").read_bytes() == first


def test_only_what_changed_is_run_again(handed_in, grade, counted, monkeypatch):
    handed_in.enrol("ada", "bob")
    handed_in.submit("ada")
    handed_in.submit("bob", SQUARED)
    grade()
    counted.clear()
    handed_in.submit("bob")
    assert points(grade()["bob"]) == FULL
    assert counted == ["bob"]
    counted.clear()
    monkeypatch.setattr(run, "HIDDEN", 9)
    grade()
    assert sorted(counted) == ["ada", "bob"], "as after a change of the library"
    counted.clear()
    key = grade.key.with_name("other.key")
    write_key(key, new_key())
    grade(key=key)
    assert sorted(counted) == ["ada", "bob"], "another key draws other inputs"


def test_outputs_and_metadata_are_no_change(handed_in, grade, counted):
    handed_in.enrol("ada")
    handed_in.submit("ada")
    grade()
    counted.clear()

    def executed(nb):
        nb["metadata"]["widgets"] = {"x": 1}
        for cell in nb["cells"]:
            if cell["cell_type"] == "code":
                cell["execution_count"], cell["outputs"] = (
                    7,
                    [{"output_type": "stream", "name": "stdout", "text": "hi"}],
                )

    handed_in.submit("ada", edit=executed)
    grade()
    assert counted == []


def test_an_interrupt_loses_nothing(handed_in, grade, counted, monkeypatch):
    students = [f"s{number}" for number in range(6)]
    handed_in.enrol(*students)
    for student in students:
        handed_in.submit(student)
    real, seen = tries.score, []

    def interrupted(*arguments):
        seen.append(1)
        if len(seen) == 3 * len(FULL) + 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(tries, "score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        grade()
    monkeypatch.setattr(tries, "score", real)
    counted.clear()
    rows = grade()
    assert len(counted) == 3, "three results were kept"
    assert {student: points(rows[student]) for student in students} == dict.fromkeys(students, FULL)


def test_two_graders_at_once_are_refused(handed_in, grade):
    from course_lib.grading.results.kept import Store

    handed_in.enrol("ada")
    handed_in.submit("ada")
    with Store(handed_in.folder / ".grading"), pytest.raises(RuntimeError, match="another `course grade` is at work"):
        grade()


def test_the_seeds_are_logged_and_are_those_of_the_key(handed_in, grade):
    handed_in.enrol("ada")
    handed_in.submit("ada")
    grade()
    path = handed_in.folder / ".grading" / "results.db"
    assert os.stat(path).st_mode & 0o077 == 0, "nobody else reads it"
    with sqlite3.connect(path) as db:
        logged = dict(db.execute("select exercise, seed from seed where student = 'ada'").fetchall())
    key = read_key(grade.key)
    assert logged == {id: str(exercise_seed(key, "ada", id, handed_in.digest("ada"))) for id in FULL}


def test_a_free_text_is_never_run(handed_in, grade, tmp_path):
    handed_in.enrol("ada")
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')"

    def as_code(nb):
        for cell in nb["cells"]:
            if grade_id(cell) == "q98-why":
                cell["cell_type"] = "code"

    handed_in.submit("ada", RIGHT | {"q98-why": trap}, as_code)
    grade()
    assert not (tmp_path / "ran").exists()


# ------------------------------------------------------------------------------------------------- refused, in one line


@pytest.mark.parametrize(
    ("roster", "says"),
    [
        ("", ["roster.csv", "first line must name the columns"]),
        ("name\nada", ["first line must name the columns"]),
        ("student\n", ["holds no student"]),
        ("student\nada\nADA", ["line 3", "twice"]),
        ("student\n../ada", ["line 2", "cannot name a folder"]),
        ("student,first_name\n,Ada", ["line 2", "missing"]),
    ],
)
def test_refused_rosters(handed_in, grade, refuses, roster, says):
    handed_in.submit("ada")
    handed_in.roster.write_text(roster)
    refuses(grade, says)


def test_rosters_as_spreadsheets_save_them(handed_in, grade):
    handed_in.submit("zoë")
    for encoding, text in (("utf-8-sig", "Student;Last name\nzoë;Ü"), ("utf-16", "id\tlast_name\r\nzoë\tÜ\r\n\r\n")):
        handed_in.roster.write_bytes(text.encode(encoding))
        assert {id: row["last_name"] for id, row in grade().items()} == {"zoë": "Ü"}


def test_refused_folders_units_and_keys(handed_in, grade, refuses, tmp_path):
    handed_in.enrol("ada")
    refuses(grade, ["no file or folder that is named after a unit", "--unit"])
    handed_in.submit("ada")
    refuses(lambda: grade(units=["q97_none"]), ["'q97_none'"])
    (tmp_path / "bad.key").write_text("x")
    os.chmod(tmp_path / "bad.key", 0o600)
    refuses(lambda: grade(key=tmp_path / "bad.key"), ["bad.key", "holds no course key"])
    moved = handed_in.submitted.with_name("homework")
    handed_in.submitted.rename(moved)
    refuses(grade, ["must be a folder", str(handed_in.submitted)])
    handed_in.submitted = moved
    refuses(lambda: grade(gradebook=True), ["nbgrader reads", "--no-gradebook"])
    assert list(grade()) == ["ada"]


def test_the_key_is_made_once_and_then_kept(handed_in, grade, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    monkeypatch.delenv("COURSE_KEY", raising=False)
    handed_in.enrol("ada")
    handed_in.submit("ada")
    grade(key=None)
    path = tmp_path / "settings" / "where-did-the-flops-go" / "course.key"
    assert any(str(path) in line for line in grade.lines)
    assert os.stat(path).st_mode & 0o777 == 0o600
    before = path.read_bytes()
    grade(key=None)
    assert path.read_bytes() == before
    assert not any(str(path) in line for line in grade.lines)


def test_the_command_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "course_lib", "grade", str(tmp_path / "none"), "--roster", "r.csv"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("course grade: SUBMITTED must be a folder")
    assert done.stderr.count("\n") == 1


def test_the_parent_imports_no_torch(tmp_path):
    code = "import sys, course_lib.grading.run, course_lib.grading.release; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_the_stored_results_hold_no_reference(handed_in, grade):
    """Nothing that is written says what the right answers to hidden inputs are."""
    handed_in.enrol("ada")
    handed_in.submit("ada", SQUARED)
    grade()
    with sqlite3.connect(handed_in.folder / ".grading" / "results.db") as db:
        ((data,),) = db.execute("select data from result").fetchall()
    twice = json.loads(data)["scored"]["q98.twice"]
    assert set(twice) == {"points", "max_points", "groups", "diagnosis", "failing", "outcome", "whole"}
