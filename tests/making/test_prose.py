"""Values in prose: what the kernel computed stands in the text, stays there without executing, and is asked anew."""

import shutil

import nbformat
import pytest

from tests.making.conftest import Toy
from tools.build import BuildError, build, drift
from tools.lint import lint
from tools.prose import fault, fields
from tools.source import Problem

NOTEBOOK = "notebooks/q99_toy.ipynb"


def asks(text):
    return [field.asks for field in fields(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("{{a / b:.0f}} times, {{ n }}", ["a / b:.0f", "n"]),
        ("""{{d["x"]['y']:.1f}}""", ["""d["x"]['y']:.1f"""]),
        ('{{ {"a": {"b": 1}}["a"] }}', ['{"a": {"b": 1}}["a"]']),
        ("{{x:{width}}} and {{y}}", ["x:{width}", "y"]),
        ("{{a\n+ b}}", ["a\n+ b"]),
        ("{{minutes}}, {{deeper}}, {{exercises}}, {{units}}", []),
        ("{{minutes + 1}}", ["minutes + 1"]),
        (r"$\frac{{a}}{b}$ is {{c}}", ["c"]),
        ("$$\n\\frac{{a}}{b}\n$$\n{{c}}", ["c"]),
        ("`{{a}}` and ``b ` {{c}}``, {{d}}", ["d"]),
        ("```python\nf'{{a}}'\n```\n{{b}}", ["b"]),
        ("> ~~~\n> {{a}}\n> ~~~\n\n{{b}}", ["b"]),
        ("one $ alone\n\n{{a}}\n\nanother $", ["a"]),
        ("a tick ` alone\n\n{{a}}\n\nanother `", ["a"]),
        ("{{a, and {b}}", ["a, and {b"]),
        ("{{a\n\nb}} {{c}}", [None, "c"]),
        ("{a} {b}}", []),
    ],
)
def test_what_is_a_field(text, found):
    assert asks(text) == found


@pytest.mark.parametrize("text", ["a", "a:.3f", "a!r:>9", "a:{w}.{p}f", '{"a": 1}["a"]', "f(x, y=2)", "a == b", "a, b"])
def test_right_fields(text):
    assert fault(text) == ""


@pytest.mark.parametrize("text", ["", ":.2f", "a b", "a(", "a = 1", "a} and {b", "import os", "a = ", "a=", "'''a'''"])
def test_wrong_fields(text):
    assert fault(text)


def faulty(toy, name, old, new):
    line = toy.edit(name, old, new)
    return line, lint(toy.root)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{{", "{{ is never closed in its paragraph"),
        ("{{}}", "{{}}: it is empty"),
        ("{{ 2 + }}", "{{2 +}}: SyntaxError: "),
        ("{{x y}}", "{{x y}}: SyntaxError: "),
    ],
)
def test_the_lint_names_line_and_fault(toy, text, said):
    line, problems = faulty(toy, "lesson.md", "Why twice?", f"Why twice?\nAnd why\n{text}")
    assert [(problem.path, problem.line) for problem in problems] == [("lessons/q99_toy/lesson.md", line + 2)]
    assert problems[0].message.startswith(said)


def test_a_field_that_nothing_computes(toy):
    line, problems = faulty(toy, "lesson.md", "# A toy\n", "# A toy\n\n{{math.pi}}\n")
    message = "{{math.pi}}: no code cell stands above it that could compute it"
    assert problems == [Problem("lessons/q99_toy/lesson.md", line + 2, message)]


def test_exercises_have_no_values(toy):
    line, problems = faulty(toy, "exercises.md", "Say why.", "Say {{twice(2)}}.")
    assert [problem.line for problem in problems] == [line]
    assert "exercises are not executed" in problems[0].message


# ----------------------------------------------------------------------------------------------------------- building


TEXT = """It is {{x / 2:.2f}} and {{"'".join(["a", 'b'])}}, not $\\frac{{x}}{2}$."""


def asking(root):
    """A toy course with TEXT after its third code cell and after its fourth, where x is another."""
    toy = Toy(root)
    toy.edit("lesson.md", "2 + 2\n```\n\nThe same cell again:\n", f"x = 7\n```\n\n{TEXT}\n")
    toy.edit("lesson.md", "2 + 2\n```\n", f"x = 8\n```\n\n{TEXT}\n")
    return toy


@pytest.fixture(scope="module")
def asked_once(tmp_path_factory):
    toy = asking(tmp_path_factory.mktemp("asked") / "course")
    assert build(toy.root) == ["q99_toy"]
    return toy.root


@pytest.fixture
def asked(asked_once, tmp_path):
    shutil.copytree(asked_once, tmp_path / "course")
    return asking(tmp_path / "course")


def texts(toy):
    return [cell.source for cell in nbformat.read(toy.notebook, as_version=4).cells if cell.cell_type == "markdown"]


def test_values_are_filled_with_what_the_cells_above_made(asked):
    assert texts(asked)[-2:] == [f"It is {half} and a'b, not $\\frac{{{{x}}}}{{2}}$." for half in ("3.50", "4.00")]
    assert drift(asked.root) == []
    course = nbformat.read(asked.notebook, as_version=4).metadata.course
    assert {each["x / 2:.2f"] for each in course["values"].values()} == {"3.50", "4.00"}


def test_prose_is_written_without_executing(asked):
    asked.edit("lesson.md", "It is {{x", "It always was {{x")
    assert [line.partition(": ")[2] for line in drift(asked.root)] == [
        "its cells or metadata differ from what lessons/q99_toy makes; run `make build`"
    ]
    assert build(asked.root) == []
    assert [text[:18] for text in texts(asked)[-2:]] == ["It always was 3.50", "It is 4.00 and a'b"]
    assert drift(asked.root) == []
    asked.edit("lesson.md", "It always was {{x / 2:.2f}}", "Something")
    assert build(asked.root) == []
    assert drift(asked.root) == []


def test_another_value_is_computed(asked):
    asked.edit("lesson.md", "{{x / 2:.2f}}", "{{x / 2:.3f}}")
    said = f"{NOTEBOOK}: its outputs are stale: its prose asks for another value; run `make build`"
    assert drift(asked.root) == [said]
    assert build(asked.root) == ["q99_toy"]
    assert [text[:10] for text in texts(asked)[-2:]] == ["It is 3.50", "It is 4.00"]
    assert texts(asked)[-2].startswith("It is 3.500 and")
    assert drift(asked.root) == []


def test_other_code_computes_other_values(asked):
    asked.edit("lesson.md", "x = 7", "x = 9")
    assert len(drift(asked.root)) == 1
    assert build(asked.root) == ["q99_toy"]
    assert [text[:10] for text in texts(asked)[-2:]] == ["It is 4.50", "It is 4.00"]


def test_a_value_that_was_typed_over_in_the_notebook(asked):
    asked.notebook.write_text(asked.notebook.read_text().replace("It is 3.50", "It is 3.60"))
    assert len(drift(asked.root)) == 1
    assert build(asked.root) == []
    assert texts(asked)[-2].startswith("It is 3.50 ")


def test_a_field_that_raises_stops_the_build(asked):
    before = asked.notebook.read_bytes()
    line = asked.edit("lesson.md", "It is {{x / 2:.2f}}", "It is\n{{x:.2f}}, {{x / 0:.2f}}")
    with pytest.raises(BuildError) as error:
        build(asked.root)
    assert str(error.value) == (
        f"lessons/q99_toy/lesson.md:{line + 1}: {{{{x / 0:.2f}}}}: ZeroDivisionError: division by zero"
    )
    assert asked.notebook.read_bytes() == before
