"""What students and the teacher read: the failing input, the diagnosis; never a hidden input, seed or reference."""

import json
import re

import pytest

from course_lib.grading.results.scoring import calls_for
from course_lib.grading.run import HIDDEN
from course_lib.grading.seeds import exercise_seed, read_key
from tests.grading.toy import RIGHT, UNIT


def page(handed_in, student) -> str:
    return (handed_in.folder / "grades" / UNIT / "feedback" / f"{student}.html").read_text()


def teacher(handed_in) -> str:
    return (handed_in.folder / "grades" / UNIT / "teacher.html").read_text()


def exercise(text: str, title: str) -> str:
    """The part of a page below one heading."""
    return re.search(rf"<h2>[^<]*{title}</h2>(.*?)(?=<h2>|</body>)", text, re.DOTALL)[1]


ANSWERS = {
    "squared": {"q98-twice": "def twice(x):\n    return x * x"},
    "off": {"q98-twice": "def twice(x):\n    return 2 * x + 1"},
    "text": {"q98-twice": "def twice(x):\n    return 'six'"},
    "error": {"q98-twice": "def twice(x):\n    raise KeyError('lost')"},
    "memorised": {"q98-twice": "def twice(x):\n    return 2 * x if [x] in SEEN else 0"},
    "no-cards": {"q98-share": "def share(n, m):\n    return n"},
    "some-cards": {"q98-share": "def share(n, m):\n    return n / m if [n, m] in SEEN or m == 1 else 0"},
    "gigabytes": {"q98-bandwidth": "bandwidth = 3350"},
    "blank": {id: None for id in RIGHT},
}
SAYS = {
    "squared": ("The twice", ["Points: 0 of 2", "<code>twice(x=3)</code> returned 9", "You squared it."]),
    "off": ("The twice", ["returned 7", "too large"]),
    "text": ("The twice", ["&#x27;six&#x27;", "should be of type number"]),
    "error": ("The twice", ["raised KeyError", "lost"]),
    "memorised": (
        "The twice",
        ["Points: 0 of 2", "Right on the inputs that you can see in the exercise, not right"],
    ),
    "no-cards": ("The share", ["Points: 1 of 3", "Right for one card. Not right for several cards.", "Divide by the"]),
    "some-cards": ("The share", ["Points: 1 of 3", "not right on others: several cards."]),
    "gigabytes": ("The bandwidth", ["Points: 0 of 1", "3350 TB/s", "That many GB/s, or TB/s?"]),
    "blank": ("The pieces", ["Points: 0 of 2", "<code>pieces</code> is not done"]),
}


@pytest.fixture(scope="module")
def answers(root):
    """What each hands in; SEEN are all inputs that `check()` asks."""
    built = json.loads((root / "exercises" / UNIT / "checks.json").read_text())
    seen = repr([case["input"]["args"] for data in built.values() for case in data["cases"]])
    return {
        who: {id: text.replace("SEEN", seen) for id, text in (RIGHT | own).items() if text}
        for who, own in ANSWERS.items()
    }


def test_what_students_and_the_teacher_read(handed_in, grade, answers):
    handed_in.enrol(*answers, "right", "absent")
    for who, own in answers.items():
        handed_in.submit(who, own)
    handed_in.submit("right")
    grade()
    for who, (title, says) in SAYS.items():
        part = exercise(page(handed_in, who), title)
        assert [text for text in says if text not in part] == [], (who, part)
    assert "Right on every input." in exercise(page(handed_in, "right"), "The twice")
    assert "Nothing of this unit was handed in" in page(handed_in, "absent")
    assert "a person reads this answer" in exercise(page(handed_in, "right"), r"Why\?")
    assert "No answer." in exercise(page(handed_in, "blank"), r"Why\?")
    twice = exercise(teacher(handed_in), "The twice")
    assert "<td>1</td><td>squared</td><td>You squared it.</td>" in twice
    assert "<td>1</td><td></td><td>an error</td>" in twice
    assert "<td>1</td><td></td><td>not done</td>" in twice
    assert "<td>1. The twice</td><td>2</td><td>0.80</td><td>4</td><td>0</td><td>6</td><td>0</td>" in teacher(handed_in)
    assert "absent" in exercise(teacher(handed_in), "Nothing handed in")
    _nothing_secret(handed_in, grade, [*answers, "right"])


def _nothing_secret(handed_in, grade, students):
    """No seed, hidden input or canary in anything that a student is given."""
    key, checks = read_key(grade.key), {}
    from course_lib.grading.intake.task import Task

    for item in Task.load(handed_in.root, UNIT).items:
        if item.check:
            checks[item.check.id] = item.check
    for student in students:
        text = page(handed_in, student)
        assert "canary" not in text
        for id, check in checks.items():
            seed = exercise_seed(key, student, id, handed_in.digest(student))
            assert str(seed) not in text
            for call in calls_for(check, seed, HIDDEN):
                if not call.public and id == "q98.twice":
                    (value,) = call.arguments["args"]
                    assert not re.search(rf"\b({value}|{2 * value})\b", text)


def test_a_function_cannot_smuggle_hidden_inputs_into_its_feedback(handed_in, grade):
    spy = """
seen = []
def {name}:
    seen.append({what})
    if len(seen) > {quiet}:
        raise ValueError(repr(seen))
    return [*seen]
"""
    handed_in.enrol("ada", "bob")
    for student, quiet in (("ada", 0), ("bob", 5)):
        sources = {
            "q98-twice": spy.format(name="twice(x)", what="x", quiet=quiet),
            "q98-pieces": "def pieces(n, size):\n    raise ValueError(repr(seen))",
        }
        handed_in.submit(student, RIGHT | sources)
    grade(gradebook=True)
    _nothing_secret(handed_in, grade, ["ada", "bob"])
    key = read_key(grade.key)
    from course_lib.grading.intake.task import Task

    (check,) = [item.check for item in Task.load(handed_in.root, UNIT).items if item.column == "q98.twice"]
    for student in ("ada", "bob"):
        shown = (handed_in.folder / "autograded" / student / UNIT / f"{UNIT}.ipynb").read_text()
        for call in calls_for(check, exercise_seed(key, student, "q98.twice", handed_in.digest(student)), HIDDEN):
            if not call.public:
                assert not re.search(rf"\b{call.arguments['args'][0]}\b", shown)


def test_student_text_is_text(handed_in, grade):
    evil = "<script>alert(1)</script>"
    handed_in.enrol("ada")
    path = handed_in.submit("ada", RIGHT | {"q98-twice": f"def twice(x):\n    raise ValueError({evil!r})"})
    path.with_name("<b>.ipynb").write_text(json.dumps(handed_in.notebook()))
    path.rename(path.with_name(f"{evil.replace('/', '')}.ipynb"))
    grade(gradebook=True)
    for text in (page(handed_in, "ada"), teacher(handed_in)):
        assert "<script" not in text
        assert "<b>" not in text
    nb = json.loads((handed_in.folder / "autograded" / "ada" / UNIT / f"{UNIT}.ipynb").read_text())
    shown = [output["data"]["text/html"] for cell in nb["cells"] for output in cell.get("outputs", [])]
    assert shown
    assert not any("<script" in text for text in shown)
