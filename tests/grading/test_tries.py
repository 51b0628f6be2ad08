"""What of a submission is run again, and what is told of it: the notebook as it stands, and what was late."""

import contextlib
import copy
import io
import re

import pytest

from course_lib.grading import run, tries
from course_lib.grading.intake import intake
from course_lib.grading.sandbox.conversation import Answered, Reply
from course_lib.teaching.checks.check import check
from course_lib.teaching.checks.check_form import decode_arguments
from course_lib.teaching.checks.check_texts import said_right
from tests.grading.toy import FULL, RIGHT, UNIT

KEY = bytes(32)


class Engine:
    """Runs jobs here, without a sandbox. A function in `slow` is late unless it runs alone."""

    def __init__(self, *slow):
        self.slow, self.jobs = slow, []

    def run(self, jobs, side_by_side=None):
        for job in jobs:
            self.jobs.append((job, side_by_side))
            names = {"check": lambda *_: None}
            for source in (*job.others[:1], *job.cells):
                with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                    exec(source.replace("from course_lib import check", ""), names)
            yield Answered(job.key, tuple(self._reply(call, names, side_by_side) for call in job.calls), 0.0)

    def _reply(self, call, names, side_by_side):
        if call.function in self.slow and side_by_side is None:
            return Reply("late")
        args, kwargs = decode_arguments(call.arguments)
        found = names.get(call.function)
        try:
            return Reply("value", found(*args, **kwargs) if callable(found) else found)
        except Exception as error:
            return Reply("raised", error=str(error))


@pytest.fixture
def results(handed_in, task):
    """results(engine, answers, edit): what is kept of one submission."""

    def found(engine, answers=RIGHT, edit=None):
        handed_in.submit("ada", answers, edit)
        submission = intake.submission(handed_in.submitted, "ada", "ada", task)
        ((name, (result, seeds)),) = tries.results(engine, KEY, {"one": (task, submission)})
        assert (name, set(seeds)) == ("one", set(FULL))
        return result

    return found


def points(result) -> dict:
    return {column: scored["points"] for column, scored in result["scored"].items()}


def with_cells(*sources):
    def edit(nb):
        nb["cells"][1:1] = [{"cell_type": "code", "metadata": {}, "source": one, "outputs": []} for one in sources]

    return edit


def test_what_is_right_runs_once(results):
    engine = Engine()
    assert points(results(engine, edit=with_cells("x = 1"))) == FULL
    assert len(engine.jobs) == 1


def test_what_is_wrong_runs_again_only_where_the_notebook_holds_more(results, task):
    (stub,) = [answer.stub for answer in task.answers if answer.grade_id == "q98-pieces"]
    wrong = RIGHT | {"q98-twice": "def twice(x):\n    return 3 * x", "q98-pieces": stub}
    engine = Engine()
    assert points(results(engine, wrong)) == FULL | {"q98.twice": 0, "q98.pieces": 0}
    assert len(engine.jobs) == 1, "the released cells and the answers are all there is"
    engine = Engine()
    assert points(results(engine, wrong, with_cells("x = 1"))) == FULL | {"q98.twice": 0, "q98.pieces": 0}
    _, again = engine.jobs
    assert {call.function for call in again[0].calls} == {"twice"}, "an empty answer is not tried again"
    assert again[0].cells[-1] == wrong["q98-twice"], "down to its check"


def test_of_a_later_try_only_the_points_are_told(results):
    uses = RIGHT | {"q98-share": "def share(n, m):\n    return n / m if ONES == [1] and m == 1 else 'a secret'"}
    edit = with_cells("ONES = []", "ONES.append(1)")
    engine = Engine()
    scored = results(engine, uses, edit)["scored"]["q98.share"]
    assert (scored["points"], scored["whole"], scored["outcome"]) == (1, True, "partial")
    assert (scored["failing"], scored["diagnosis"]) == (None, None)
    assert [job.silent for job, _ in engine.jobs] == [False, True]


def test_a_later_try_that_earns_no_more_changes_nothing(results):
    wrong = RIGHT | {"q98-twice": "def twice(x):\n    return x * x"}
    scored = results(Engine(), wrong, with_cells("x = 1"))["scored"]["q98.twice"]
    assert scored["diagnosis"][0] == "squared"
    assert not scored["whole"]


def test_what_was_late_runs_again_alone(results):
    engine = Engine("twice")
    result = results(engine)
    assert points(result) == FULL
    assert result["alone"] == ["q98.twice"]
    (_, beside), (again, alone) = engine.jobs
    assert (beside, alone, again.silent) == (None, 1, True)
    assert {call.function for call in again.calls} == {"twice"}


def test_a_result_does_not_depend_on_who_else_is_graded(handed_in, task):
    submissions = {}
    for number in range(5):
        student = f"s{number}"
        answers = RIGHT if number % 2 else RIGHT | {"q98-twice": "def twice(x):\n    return TWO * x"}
        handed_in.submit(student, answers, with_cells("globals()['TWO'] = 2"))
        submissions[student] = task, intake.submission(handed_in.submitted, student, student, task)
    together = dict(tries.results(Engine("share"), KEY, submissions))
    apart = {name: dict(tries.results(Engine("share"), KEY, {name: one}))[name] for name, one in submissions.items()}
    assert together == apart
    assert {name: points(result) for name, (result, _) in together.items()} == dict.fromkeys(submissions, FULL)


def test_new_content_meets_new_inputs(handed_in, task):
    digests = []
    for source in (RIGHT["q98-twice"], RIGHT["q98-twice"], RIGHT["q98-twice"] + "  # again"):
        handed_in.submit("ada", RIGHT | {"q98-twice": source})
        digests.append(intake.submission(handed_in.submitted, "ada", "ada", task).digest)
    assert digests[0] == digests[1] != digests[2]


# --------------------------------------------------------------------------------------------- what the teacher sees


def teacher(handed_in) -> str:
    return (handed_in.folder / "grades" / UNIT / "teacher.html").read_text()


def said(text: str):
    """An edit: the stored output of each check."""

    def edit(nb):
        for cell in nb["cells"]:
            if cell["cell_type"] == "code" and "".join(cell["source"]).startswith("check("):
                data = {"text/plain": [text], "text/html": "<p>x</p>"}
                cell["outputs"] = [
                    {"output_type": "execute_result", "data": data, "metadata": {}, "execution_count": 1}
                ]

    return edit


def test_a_suspicious_zero_is_shown_to_the_teacher(handed_in, grade):
    handed_in.enrol("ada", "bob", "eve")
    wrong = RIGHT | {"q98-twice": "def twice(x):\n    return 3 * x"}
    handed_in.submit("ada", wrong, said("Right on every example. Score: 2 of 2."))
    handed_in.submit("bob", wrong, said("Not yet: `twice(x=3)` returned 9."))
    handed_in.submit("eve", edit=said("Right on every example. Score: 2 of 2."))
    grade()
    part = re.search(r"<h2>Said Right in the notebook.*?(?=<h2>|</body>)", teacher(handed_in), re.DOTALL)[0]
    assert re.findall(r"<td>(ada|bob|eve)</td><td>(.*?)</td><td>(.*?)</td>", part) == [
        ("ada", "1. The twice", "Points: 0 of 2.")
    ]
    assert any("fewer points: 1; see teacher.html" in line for line in grade.lines)


def test_what_check_says_is_known_as_right():
    for id, answer in (("q02.state-of-8b", "128 GB"), ("q05.ridge", lambda *_: None)):
        result = check(id, answer)
        assert said_right(repr(result)) == result.passed


def test_one_student_is_graded_alone_and_again(handed_in, grade, monkeypatch):
    handed_in.enrol("ada", "bob")
    for student in ("ada", "bob"):
        handed_in.submit(student)
    ran = []
    real = tries.results

    def results(engine, key, submissions):
        ran.append(sorted(submissions))
        return real(engine, key, submissions)

    monkeypatch.setattr(run.tries, "results", results)
    rows = grade(only=["bob"])
    assert (rows["ada"]["status"], rows["bob"]["status"]) == ("held", "graded")
    grade()
    grade(only=["ada"], again=True)
    assert ran == [[f"{UNIT} bob"], [f"{UNIT} ada"], [f"{UNIT} ada"]]
    with pytest.raises(ValueError, match="--student eve"):
        grade(only=["eve"])


def test_nothing_handed_in_is_not_held_and_the_held_are_grouped(handed_in, grade):
    students = [f"s{number}" for number in range(6)]
    handed_in.enrol("nobody", *students)
    for student in students:
        handed_in.path(student).write_text("no JSON")
    rows = grade()
    assert rows["nobody"]["status"] == "nothing"
    assert {rows[student]["status"] for student in students} == {"held"}
    held = [line for line in grade.lines if "held:" in line]
    assert len(held) == 1
    assert "6 students, s0 to s5" in held[0]
    assert any(line.split() == ["nothing", "handed", "in:", "nobody"] for line in grade.lines)


def test_no_spreadsheet_takes_a_name_for_a_formula(handed_in, grade):
    handed_in.roster.write_text("student,first_name,last_name\nada,=1+1,@SUM(A1)\nbob,-Bob,+B\n")
    handed_in.submit("ada")
    rows = grade()
    assert (rows["ada"]["first_name"], rows["ada"]["last_name"]) == ("'=1+1", "'@SUM(A1)")
    assert (rows["bob"]["first_name"], rows["bob"]["last_name"]) == ("'-Bob", "'+B")


def test_points_that_differ_from_the_checks_stop_the_run(handed_in, task, tmp_path):
    root = tmp_path / "other"
    for place in ("exercises", "lessons"):
        for path in (handed_in.root / place / UNIT).iterdir():
            copied = root / place / UNIT / path.name
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(path.read_bytes())
    checks = root / "lessons" / UNIT / "checks.py"
    checks.write_text(checks.read_text().replace('id="q98.twice", points=2', 'id="q98.twice", points=4'))
    with pytest.raises(ValueError, match=r"2 points for 'q98.twice' where checks.py says 4: build the unit again"):
        type(task).load(root, UNIT)


def test_a_stray_text_file_names_no_unit(handed_in):
    handed_in.enrol("ada")
    handed_in.submit("ada")
    (handed_in.root / "exercises" / "q97_other").mkdir(exist_ok=True)
    (handed_in.submitted / "ada" / "q97_other.txt").write_text("to do")
    assert run.units_in([handed_in.root], handed_in.submitted) == [UNIT]
    (handed_in.submitted / "ada" / "q97_other.ipynb").write_text("{}")
    assert run.units_in([handed_in.root], handed_in.submitted) == ["q97_other", UNIT]
    (handed_in.root / "exercises" / "q97_other").rmdir()


def test_a_hard_link_is_noted_and_a_crowd_of_cells_is_held(handed_in, grade):
    handed_in.enrol("ada", "bob")
    path = handed_in.submit("ada")
    (handed_in.folder / "elsewhere.ipynb").hardlink_to(path)
    crowd = [{"cell_type": "code", "metadata": {}, "source": "", "outputs": []}] * 5_000
    handed_in.submit("bob", edit=lambda nb: nb["cells"].extend(copy.deepcopy(crowd)))
    rows = grade()
    assert "hard link" in teacher(handed_in)
    assert "more than 5000 cells" in rows["bob"]["reason"]


def test_names_are_shown_in_their_order(handed_in, grade):
    handed_in.enrol("ada")
    path = handed_in.submit("ada")
    path.rename(path.with_name(f"{UNIT}\u202egnp.ipynb"))
    grade()
    assert "\u202e" not in teacher(handed_in)
    assert f"{UNIT}\ufffdgnp.ipynb" in teacher(handed_in)
