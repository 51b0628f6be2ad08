"""Terms: each slip in introducing or using one, with its line; and the hovers of later units."""

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest

from course_lib import units
from tools.build import derived, lesson_notebooks
from tools.lint import lint

EARLY, TOY, LATE = "q98_early", "q99_toy", "q101_late"

PAGE = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  name: python3
course:
  unit: UNIT
  title: Another toy
---

"""
GLOSSARY = '"arithmetic intensity|intensity" = "FLOPs for each byte that moves."\n'
TEXT = """\
Why twice? See [intensity by others](intensity.md), `intensity`, $intensity$ and ![intensity](x.svg).

### On arithmetic intensity

The **arithmetic intensity** decides. Intensities differ: one intensity is low.
"""


@pytest.fixture
def course(toy):
    """The toy unit introduces a term; a unit before it and one after it have a glossary of their own."""
    toy.edit("lesson.md", "Why twice? ![a circle](circle.svg)\n", TEXT.replace("[intensity by others]", "[others]"))
    (toy.unit / "glossary.toml").write_text(GLOSSARY)
    for unit, text, glossary in (
        (EARLY, "A **byte** has eight bits.\n", 'byte = "Eight bits."\n'),
        (LATE, "A **word** has bytes.\n", 'word = "Some bytes."\n'),
    ):
        folder = toy.unit.parent / unit
        folder.mkdir()
        (folder / "lesson.md").write_text(PAGE.replace("UNIT", unit) + text)
        (folder / "glossary.toml").write_text(glossary)
    return toy


def put(course, unit: str, text: str, name: str = "lesson.md") -> int:
    """Add text to the end of a file of a unit; returns its first line."""
    path = course.unit.parent / unit / name
    before = path.read_text()
    path.write_text(f"{before}\n{text}\n")
    return before.count("\n") + 2


def said(course, *chosen: str):
    return [str(problem).removeprefix("lessons/") for problem in lint(course.root, chosen)]


def line_of(course, words: str) -> int:
    text = (course.unit / "lesson.md").read_text()
    return text[: text.index(words)].count("\n") + 1


def test_a_good_course_has_no_problem(course):
    assert said(course) == []


@pytest.mark.parametrize(
    "use", ["An intensity.", "Arithmetic\nintensity.", "ARITHMETIC INTENSITY", "Low *intensitys*!"]
)
def test_an_earlier_unit_may_not_use_a_term(course, use):
    line, where = put(course, EARLY, use), f"lessons/{TOY}/lesson.md:{line_of(course, '**arithmetic')}"
    (problem,) = said(course)
    assert problem.startswith(f"{EARLY}/lesson.md:{line}: ")
    assert f"is used here, but introduced later, in {where}" in problem


@pytest.mark.parametrize(
    "no_use",
    [
        "intensified",
        "low-intensity",
        "## Intensity",
        "`intensity`",
        "$intensity$",
        "[x](intensity.md)",
        "<b id='intensity'>",
    ],
)
def test_what_is_no_use(course, no_use):
    put(course, EARLY, no_use)
    assert said(course) == []


def test_code_is_no_use(course):
    put(course, EARLY, "```{code-cell} ipython3\nimport intensity\n```\n\n~~~text\nintensity\n~~~")
    assert said(course) == []


def test_a_later_unit_may_use_it(course):
    put(course, LATE, "An intensity.")
    assert said(course) == []


def test_an_early_use_concerns_both_units_and_no_other(course):
    put(course, EARLY, "An intensity.")
    assert [len(said(course, prefix)) for prefix in ("q98", "q99", "q101")] == [1, 1, 0]


def test_a_unit_without_a_glossary_is_not_looked_at(course):
    put(course, EARLY, "An intensity.")
    (course.unit.parent / EARLY / "glossary.toml").unlink()
    assert said(course) == []


def test_a_use_before_the_introduction(course):
    line = course.edit("lesson.md", "# A toy", "# A toy\n\nThe intensity matters.") + 2
    (problem,) = said(course)
    bold = line_of(course, "**arithmetic")
    expected = f"{TOY}/lesson.md:{line}: 'intensity' is used before it is introduced, in bold, in line {bold}"
    assert problem == expected


def test_a_term_that_is_nowhere_in_bold(course):
    course.edit("lesson.md", "**arithmetic intensity**", "arithmetic intensity")
    (problem,) = said(course)
    assert problem.startswith(f"{TOY}/glossary.toml:1: 'arithmetic intensity' stands nowhere in bold")


def test_a_term_in_bold_with_other_words_is_not_introduced(course):
    course.edit("lesson.md", "**arithmetic intensity**", "**low arithmetic intensity**")
    assert "stands nowhere in bold" in said(course)[0]


def test_a_term_of_two_units(course):
    put(course, LATE, '"Intensity" = "Another."', "glossary.toml")
    put(course, LATE, "**Intensity** again.")
    (problem,) = [problem for problem in said(course) if "nowhere in bold" not in problem]
    assert problem == f"{LATE}/glossary.toml:3: 'Intensity' is a term already, in lessons/{TOY}/glossary.toml:1"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x = 3", "'x' needs one line"),
        ('x = " "', "'x' needs one line"),
        ('x = "a\\nb"', "'x' needs one line"),
        ('"x|" = "A."', "an empty name"),
        ("x = ", "no valid TOML"),
    ],
)
def test_a_glossary_of_another_form(course, line, message):
    (course.unit / "glossary.toml").write_text(f"# words\n{line}\n")
    (problem,) = [problem for problem in said(course) if "nowhere in bold" not in problem]
    assert problem.startswith(f"{TOY}/glossary.toml:2: ")
    assert message in problem


def test_the_longest_of_two_terms_counts(course):
    """The name of one term in that of another is no use of it."""
    put(course, LATE, '"intensity wall" = "A wall."', "glossary.toml")
    put(course, LATE, "An **intensity wall**.")
    put(course, EARLY, "An intensity wall.")
    (problem,) = said(course)
    assert "'intensity wall' is used here" in problem


def test_units_are_ordered_as_they_are_read():
    read = ["00_start", "q01_a", "q08_z", "q08plus_a", "q09_b", "q24_c", "published", "case1_d", "case2_a", "claims"]
    assert sorted(sorted(read), key=units.order) == read


# --------------------------------------------------------------------------------------------------------- the build


class Hovers(HTMLParser):
    """(title, text) of each `abbr` of a text."""

    def __init__(self, text: str):
        super().__init__()
        self.found, self._title = [], None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        if tag == "abbr":
            self._title = dict(attributes)["title"]

    def handle_data(self, data):
        if self._title is not None:
            self.found.append((self._title, data))
            self._title = None


def texts(course, unit: str) -> str:
    return "\n".join(cell.source for cell in lesson_notebooks(course.root)[unit].cells)


def test_only_the_first_use_in_a_later_unit_has_a_hover(course):
    put(course, EARLY, "An intensity, which the lint refuses.")
    put(course, LATE, "The intensity, arithmetic\nintensity and intensity.")
    assert Hovers(texts(course, LATE)).found == [
        ("Eight bits.", "bytes"),
        ("FLOPs for each byte that moves.", "intensity"),
    ]
    assert "A **word** has <abbr title=" in texts(course, LATE)
    assert "abbr" not in texts(course, EARLY) + texts(course, TOY)


def test_a_short_name_after_its_long_one_has_no_hover_of_its_own(course):
    course.edit("lesson.md", "**arithmetic intensity**", "**arithmetic intensity** and **low arithmetic intensity**")
    (course.unit / "glossary.toml").write_text(
        "'arithmetic intensity' = 'FLOPs for each byte.'\n'low arithmetic intensity' = 'Less than one.'\n"
    )
    put(course, LATE, "Low arithmetic intensity: the arithmetic intensity is small.\n\n+++\n\nAn arithmetic intensity.")
    assert Hovers(texts(course, LATE)).found[1:] == [("Less than one.", "Low arithmetic intensity")]


@pytest.mark.parametrize(
    "place",
    [
        "[intensity](x.md)",
        "<a href='x'>intensity</a>",
        "`intensity`",
        "$intensity$",
        "# intensity",
        "<i title='intensity'>",
        "```text\nintensity\n```",
        "{{intensity:.0f}}",
        "https://example.org/intensity",
    ],
)
def test_where_no_hover_stands(course, place):
    put(course, LATE, f"{place}\n\nLow intensity.")
    assert f"{place}\n\nLow <abbr" in texts(course, LATE)


def test_a_deeper_section_has_none(course):
    put(
        course,
        LATE,
        '+++ {"jp-MarkdownHeadingCollapsed": true}\n\n## Deeper: more\n\nIts intensity.\n\n+++\n\nintensity too',
    )
    put(course, LATE, "+++\n\n## Back\n\nThe intensity here.")
    assert "The <abbr" in texts(course, LATE)
    assert "Its intensity." in texts(course, LATE)
    assert "\nintensity too" in texts(course, LATE)


def test_a_line_cannot_break_out_of_its_tag(course):
    line = 'Less than "<b>" & $x$ or `y` | {{z}}'
    (course.unit / "glossary.toml").write_text(f"intensity = '{line}'\n")
    course.edit("lesson.md", "**arithmetic intensity**", "**intensity**")
    put(course, LATE, "Low intensity.")
    shown = texts(course, LATE)
    assert Hovers(shown).found[1] == (line, "intensity")
    assert not set("$`|{}") & set(shown.partition("Low ")[2])


def test_the_build_says_where_terms_are_introduced(course):
    about = json.loads(derived(course.root)[Path("notebooks", f"{TOY}.json")])
    assert about["terms"] == {"arithmetic intensity": "q99-why"}
    shutil.rmtree(course.unit.parent / LATE)
    (course.unit / "glossary.toml").unlink()
    assert "terms" not in json.loads(derived(course.root)[Path("notebooks", f"{TOY}.json")])


def test_hovers_leave_a_valid_notebook(course):
    put(course, LATE, "Low intensity.")
    for nb in lesson_notebooks(course.root).values():
        nbformat.validate(nb)
