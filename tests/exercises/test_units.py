"""Every unit: its solutions score full marks, its blanks zero, each known wrong answer gets its own message."""

import functools
import re
import sys
from pathlib import Path

import nbformat
import numpy
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from course_lib.teaching.checks.check import CheckResult, check
from course_lib.teaching.checks.check_values import plain
from tools.source import load_checks, units

ROOT = Path(__file__).resolve().parents[2]
UNITS = [folder.name for folder in units(ROOT) if (folder / "exercises.md").exists()]
CHECKS = [a_check for folder in units(ROOT) for a_check in load_checks(folder, ROOT)]
WRONG = [(a_check, name) for a_check in CHECKS for name in a_check.wrong]


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """No answer is late on a busy machine; each takes less than a tenth of a second on one that is quiet."""
    monkeypatch.setattr(sys.modules[check.__module__], "SECONDS", 60.0)


@functools.cache
def graded(notebook: Path) -> dict[str, tuple[CheckResult, float]]:
    """Run the code cells of a notebook; grade_id -> (what its check says, points in nbgrader's metadata)."""
    namespace, results = {"__name__": "__main__"}, {}
    for cell in nbformat.read(notebook, as_version=4).cells:
        if cell.cell_type != "code":
            continue
        source = TransformerManager().transform_cell(cell.source)
        nbgrader = cell.metadata.get("nbgrader", {})
        if nbgrader.get("grade") and not nbgrader.get("solution"):
            results[nbgrader.grade_id] = (eval(source, namespace), nbgrader.points)
        else:
            exec(compile(source, f"{notebook.stem}:{cell.id}", "exec"), namespace)
    return results


def answer(a_check, function):
    """What a learner gives to `check`: the function, or the quantity."""
    return function if a_check.unit is None else function()


@pytest.mark.parametrize("unit", UNITS)
def test_points_are_split_only_where_the_check_splits_them(unit):
    """What stands after "2 points:" below a heading is what some check of that exercise scores in groups."""
    split = {a_check.id for a_check in CHECKS if a_check.groups}
    for exercise in (ROOT / "lessons" / unit / "exercises.md").read_text().split("\n## ")[1:]:
        if re.search(r"^\*Difficulty .* points?:", exercise, re.MULTILINE):
            named = re.findall(r'^check\("([^"]+)"', exercise, re.MULTILINE)
            assert split.intersection(named), exercise.partition("\n")[0]


def test_there_are_exercises():
    assert UNITS
    assert WRONG


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("unit", UNITS)
def test_solutions_score_full_marks(unit):
    results = graded(ROOT / "solutions" / unit / f"{unit}.ipynb")
    assert len(results) > 0
    for grade_id, (result, points) in results.items():
        assert result.passed, f"{grade_id}: {result}"
        assert result.score == points, grade_id


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("unit", UNITS)
def test_blanks_score_zero(unit):
    results = graded(ROOT / "exercises" / unit / f"{unit}.ipynb")
    assert {grade_id for grade_id, (result, _) in results.items() if result.outcome != "stub" or result.score} == set()
    assert results.keys() == graded(ROOT / "solutions" / unit / f"{unit}.ipynb").keys()


@pytest.mark.parametrize("a_check", CHECKS, ids=lambda a_check: a_check.id)
def test_the_reference_passes(a_check):
    result = check(a_check.id, answer(a_check, a_check.reference))
    assert result.passed
    assert result.message.endswith(a_check.insight)
    assert not a_check.insight or result.message.count("\n") == 1


@pytest.mark.parametrize("dress", ["numpy", "torch"])
@pytest.mark.parametrize("a_check", [each for each in CHECKS if each.unit is None], ids=lambda a_check: a_check.id)
def test_a_right_answer_in_arrays_passes(a_check, dress):
    """Every number of the answer and every list of them, however deep it stands, in the dress."""
    torch = pytest.importorskip("torch") if dress == "torch" else None

    def dressed(value):
        if isinstance(value, dict):
            return {key: dressed(each) for key, each in value.items()}
        if type(value) in (int, float):
            return torch.tensor(value, dtype=torch.float64) if torch else numpy.float64(value)
        if not isinstance(value, list):
            return value
        if value and all(type(each) in (int, float) for each in value):
            return torch.tensor(value, dtype=torch.float64) if torch else numpy.array(value)
        return [dressed(each) for each in value]

    def function(*args, **kwargs):
        return dressed(plain(a_check.reference(*args, **kwargs)))

    result = check(a_check.id, function)
    assert result.passed, result


@pytest.mark.parametrize(("a_check", "name"), WRONG, ids=lambda value: getattr(value, "id", value))
def test_a_known_wrong_answer_is_diagnosed(a_check, name):
    message = a_check.messages[name]
    result = check(a_check.id, answer(a_check, a_check.wrong[name]))
    assert result.diagnosis == name
    assert result.score < a_check.points if a_check.groups else result.score == 0
    assert message in result.message
    assert not a_check.insight or a_check.insight not in result.message
    others = [other for key, other in a_check.messages.items() if key != name]
    assert not any(other in result.message for other in others)
