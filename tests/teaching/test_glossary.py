"""The table of terms: of a unit, of all, and what is said where there is none."""

import re
import shutil

import pytest

from course_lib import glossary, units
from tests.teaching.conftest import TOYS

ONE = """\
"arithmetic intensity|intensity" = "FLOPs for each byte that moves, <i>not</i> more."
ridge = "Where bounds meet."
"""


@pytest.fixture
def two(learner, tmp_path, monkeypatch):
    """Two units with terms and two without; the build says of one where a term is introduced."""
    shutil.copytree(TOYS, tmp_path / "course")
    (tmp_path / "course/lessons/t1_toy/glossary.toml").write_text(ONE)
    (tmp_path / "course/lessons/t5_other").mkdir()
    (tmp_path / "course/lessons/t5_other/lesson.md").write_text("")
    (tmp_path / "course/lessons/t5_other/glossary.toml").write_text('Batch = "Rows at once."\n')
    (tmp_path / "course/lessons/t6_none").mkdir()
    (tmp_path / "course/lessons/t6_none/lesson.md").write_text("")
    (tmp_path / "course/notebooks/t1_toy.json").write_text(
        '{"title": "T1.", "terms": {"arithmetic intensity": "t1-why"}}'
    )
    monkeypatch.setattr(units, "home", lambda: tmp_path / "course")
    return tmp_path / "course"


def names(shown) -> list[str]:
    return re.findall(r'<th scope="row"[^>]*><strong>([^<]*)', shown.html)


def test_the_terms_of_a_unit_in_their_order(two):
    shown = glossary("t1")
    assert names(shown) == ["arithmetic intensity", "ridge"]
    assert "also: intensity" in shown.html
    assert "&lt;i&gt;not&lt;/i&gt; more." in shown.html
    assert [re.split(r"\s{2,}", line) for line in repr(shown).splitlines()] == [
        ["term", "what it means", "introduced in"],
        ["arithmetic intensity (also: intensity)", "FLOPs for each byte that moves, <i>not</i> more.", "t1"],
        ["ridge", "Where bounds meet.", "t1"],
    ]


def test_all_terms_by_alphabet_whatever_their_capitals(two):
    assert names(glossary()) == ["arithmetic intensity", "Batch", "ridge"]


def test_a_term_links_to_the_cell_that_introduces_it(two):
    assert re.findall('href="([^"]*)"', glossary().html) == ["t1_toy.ipynb#cell-id=t1-why"]
    assert glossary("t1").html.count("href") == 1


def test_the_table_that_ends_a_lesson_is_built_without_links(two, monkeypatch):
    """Where cells are is told by a file that changes with the prose, for which no notebook is executed again."""
    monkeypatch.setenv("COURSE_STATIC", "1")
    monkeypatch.setattr(units, "about", lambda unit: pytest.fail("it was read"))
    assert "href" not in glossary("t1").html


@pytest.mark.parametrize(
    ("prefix", "line"),
    [
        ("t6", "'t6' introduces no terms."),
        ("t12", "There is no unit 't12'. Units are named by their beginning: t1, t2, t5, t6."),
        ("<b>", "There is no unit '<b>'. Units are named by their beginning: t1, t2, t5, t6."),
        (5, "There is no unit '5'. Units are named by their beginning: t1, t2, t5, t6."),
    ],
)
def test_one_kind_line_where_there_is_nothing_to_show(two, prefix, line):
    assert repr(glossary(prefix)) == line
    assert "<b>" not in glossary(prefix).html


def test_a_glossary_that_cannot_be_read_is_named(two):
    (two / "lessons/t1_toy/glossary.toml").write_text("x = ")
    for shown in (glossary(), glossary("t1")):
        assert repr(shown).startswith("t1_toy/glossary.toml cannot be read")


def test_no_unit_has_terms_yet(toys):
    assert repr(glossary()) == "No unit has introduced a term yet."
