"""`course new` makes a unit that lints, builds and passes the tests of all units as it is."""

import dataclasses
import os
import random
import re
import shutil
import subprocess
import sys

import pytest

from course_lib.teaching.checks.check import Check, faults
from course_lib.words import words
from tools import source
from tools.build import ROOT, main
from tools.new import new

UNIT, TITLE = "q99_new_thing", "Q99. What's new: a thing?"
ALL_UNITS = (
    "tests/exercises/test_units.py",
    "tests/lessons/test_your_turn.py",
    "tests/claims/test_claims.py::test_every_claim_is_in_the_ledger",
    "tests/claims/test_claims.py::test_the_code_decides_as_the_derivation_does",
    "tests/claims/test_truths.py",
    "tests/making/test_slides.py",
    "tests/making/test_repository.py",
    "tests/teaching/cards/test_cards.py::test_the_built_units_have_only_complete_cards_each_with_its_function",
)
"""Tests that hold for every unit. Those of a release are the same for any unit, and slow."""


@pytest.mark.slow
def test_a_new_unit_builds_and_passes_the_tests_at_once(tmp_path):
    """In a copy of the course that has no other unit."""
    for name in ("course_lib", "tools", "tests", "pyproject.toml", "nbgrader_config.py"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    (tmp_path / "lessons").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(*command: str, status: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *command], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    assert "course build" in run("course_lib", "new", UNIT, TITLE)
    assert run("course_lib", "build", "q99").startswith("1 of 1 notebooks executed")
    assert run("course_lib", "build", "q99").startswith("0 of 1 notebooks executed")
    run("course_lib", "build", "--check")
    said = run("pytest", "-q", "--nbval-lax", "notebooks", *ALL_UNITS)
    assert " failed" not in said
    lesson = tmp_path / "lessons" / UNIT / "lesson.md"
    lesson.write_text(lesson.read_text().replace("return bandwidth / nbytes", "return nbytes / bandwidth"))
    said = run("pytest", "-q", "tests/lessons/test_your_turn.py", status=1)
    assert "the fraction stands upside down" in said, "a way to write it that is wrong"
    assert "1 failed, 1 passed" in said
    assert "How long does that take" in (tmp_path / "notebooks" / f"{UNIT}.ipynb").read_text()


def test_the_names_of_the_template_are_gone(tmp_path):
    folder = new(tmp_path, UNIT, TITLE)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    assert [name for name, text in texts.items() if "q00" in text or "xample" in text] == []
    assert f'title: "{TITLE}"' in texts["lesson.md"]
    assert main(["--lint"], tmp_path) == 0


@pytest.mark.parametrize(
    ("unit", "title", "says"),
    [
        ("Q99 new", "A title", "a unit is called <prefix>_<words>"),
        ("q99", "A title", "a unit is called <prefix>_<words>"),
        ("../q99_x", "A title", "a unit is called <prefix>_<words>"),
        ("q99_toy", "A title", "q99_toy has the prefix 'q99' already"),
        ("q99_other", "A title", "q99_toy has the prefix 'q99' already"),
        ("q98_other", "", "a title is one line"),
        ("q98_other", 'A "title"', "without quotation marks"),
    ],
)
def test_names_that_cannot_be(toy, refuses, unit, title, says):
    before = sorted(toy.root.rglob("*"))
    refuses(lambda: new(toy.root, unit, title), [says])
    assert sorted(toy.root.rglob("*")) == before


def test_contributing_says_every_field_of_a_check_and_its_example_is_sound():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("### A check") : text.index("## Change or add an explorer")]
    rows = "\n".join(line.split("|")[1] for line in section.splitlines() if line.startswith("| "))
    assert [field.name for field in dataclasses.fields(Check) if f"`{field.name}`" not in rows] == []
    names = {}
    exec(re.search(r"```python\n(.*?)```", section, re.DOTALL)[1], names)
    (check,) = names["CHECKS"]
    assert faults(dataclasses.replace(check, messages={"upside down": "Upside down."})) == []
    assert check.draw(random.Random(1)) != check.draw(random.Random(2))


def test_the_experiment_of_contributing_runs(tmp_path):
    from course_lib.experiments.running import experiment

    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Change or add an experiment") : text.index("## Draw a figure")]
    for kind, suffix in (("python", ".py"), ("toml", ".toml")):
        (block,) = re.findall(rf"```{kind}\n(.*?)```", section, re.DOTALL)
        (tmp_path / f"copies{suffix}").write_text(block)
    made = source.run_file(tmp_path / "copies.py").EXPERIMENT
    found = experiment.run(made)
    assert found.name == "copies"
    assert [row["bytes"] for row in found.rows] == [8 * 10**5, 8 * 10**6]
    assert all(row["measured"] > 0 for row in found.rows)
    assert made.plot(found)


def test_a_list_of_words_that_is_one_sentence_is_named(tmp_path):
    (tmp_path / "copies.toml").write_text('method = "A sentence."')
    with pytest.raises(KeyError, match=r"copies\.toml: method is one message"):
        words(str(tmp_path / "copies.py")).all("method")


def test_what_contributing_says_where_to_edit_is_there():
    """Paths from the top, in code; those of a unit in general have a < or a *."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", text)
    tops = "course_lib/", "tools/", "tests/", "benchmarks/", "docs/"
    paths = [span for span in code if span.startswith(tops) and not re.search(r"[<*\s]", span)]
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []
