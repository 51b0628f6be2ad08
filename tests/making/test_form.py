"""The form of a lesson, held against the template of a unit: each rule turned red by one fault, with its line."""

import re

import pytest

from tools.lint import lint
from tools.new import new

PART = '  # part: "C. The budget"'


class Unit:
    """A new unit that has its part."""

    def __init__(self, root):
        self.root, self.folder = root, new(root, "q99_new_thing", "Q99. A thing")
        self.edit("lesson.md", PART, '  part: "C. The budget"')

    def edit(self, name, old, new):
        """Replace a text once; returns the line where it began."""
        path = self.folder / name
        text = path.read_text()
        assert old in text, old
        path.write_text(text.replace(old, new, 1))
        return text[: text.index(old)].count("\n") + 1

    def problems(self):
        """(line, message) of what the lint says of the lesson."""
        return [(each.line, each.message) for each in lint(self.root) if each.path.endswith("/lesson.md")]


@pytest.fixture
def unit(tmp_path):
    return Unit(tmp_path)


def cell(source, tags=""):
    return f"\n```{{code-cell}} ipython3\n{tags}{source}\n```\n"


def test_a_new_unit_has_the_form(unit):
    assert lint(unit.root) == []


def test_a_lesson_of_no_part_has_no_limits(unit):
    unit.edit("lesson.md", "## Count\n", "## Count\n" + "\nword " * 3000)
    assert len(unit.problems()) > 0
    unit.edit("lesson.md", '  part: "C. The budget"', "  part: Z. Other")
    assert unit.problems() == []


LONG = "\n" + "word " * 2400 + "\n"
CARDS = cell('card("q99.read-once")\n' * 3)
TRANSFER = 'card("q99.elsewhere")'
TRY = "explore.interact(weight_bytes, parameters=8e9, bits=(2, 32))"
AGAIN, VOTE, REVIEWED = 'card("q99.read-once")', 'card("q99.twice-the-peak")', 'review("q99")'
NEXT_CLOSES = '+++ {"cid": "q99-next", "tags": ["close"]}'
FOLDED = '+++ {"cid": "q99-deeper", "jp-MarkdownHeadingCollapsed": true}'

RATE, NEXT = '+++ {"cid": "q99-rate"}', '+++ {"cid": "q99-next"}'
CLOSE = ":tags: [close, nbval-check-output]"

# what is replaced, by what; then in the edited text: what the problem's line holds (or that of a number of lines below)
BAD = {
    "words": ("## Count\n", "## Count\n" + LONG, "## Count", 0, "core path: 2,7"),
    "code cells": (RATE, cell("1") * 19 + f"\n{RATE}", ":cid: q99-card-transfer", -1, "31 code cells, 30"),
    "cards": (RATE, CARDS + f"\n{RATE}", TRANSFER, 0, "7 cards, 6 are the limit"),
    "one claim": ('card("q99.twice-the-peak")', "1", NEXT, 0, "1 claims are voted on; 2 to 4 are wanted"),
    "five claims": (
        'card("q99.twice-the-peak")',
        "\n".join([VOTE] * 4),
        ":cid: q99-claim-2",
        4,
        "5 claims are voted on; 2 to 4",
    ),
    "transfer not the last": (TRANSFER, f"{TRANSFER}\n{AGAIN}", TRANSFER, 0, "'q99.read-once' stands after it"),
    "two transfers": (TRANSFER, f"{TRANSFER}\n{TRANSFER}", TRANSFER, 1, "2 cards with `transfer = true`"),
    "two your-turns": (":tags: [your-turn]\ndef share", "def share", NEXT, 0, "2 cells tagged your-turn"),
    "no interact": (TRY, "weight_bytes(8e9, 16)", ":cid: q99-turn-bytes\n", -1, "explore.interact(function"),
    "interact of another": (TRY, TRY.replace("weight", "x"), ":cid: q99-turn-bytes\n", -1, "explore.interact(function"),
    "no review": ('review("q99")', "1", ":cid: q99-imports", -1, 'the cell after the imports is review("q99")'),
    "review too late": (
        'review("q99")',
        f"1\n```\n\n```{{code-cell}} ipython3\n{REVIEWED}",
        ":cid: q99-imports",
        -1,
        "and no other is",
    ),
    "review of another unit": ('review("q99")', 'review("q05")', 'review("q05")', 0, 'is reviewed as review("q99")'),
    "no answer": ("[answer, nbval-check-output]", "[nbval-check-output]", NEXT, 0, "0 cells tagged answer"),
    "two answers": (CLOSE, ":tags: [answer, close]", ":cid: q99-close", -1, "2 cells tagged answer"),
    "late answer": ("Say here", "word " * 200 + "Say here", ":cid: q99-answer", -1, "the first third of the core's 5"),
    "no close": (CLOSE, ":tags: []", NEXT, 0, "0 cells tagged close"),
    "early close": (
        "## What to keep",
        "## What to keep\n\n" + "word " * 300,
        ":cid: q99-close",
        -1,
        "the last third of the core's 6",
    ),
    "close in words": (f":cid: q99-close\n{CLOSE}", ":tags: []", NEXT_CLOSES, 0, "it is a code cell"),
    "deeper, not folded": (FOLDED, "+++", "## Deeper: what only", 0, "is folded"),
    "folded, not deeper": ("## Deeper: what only", "## Deep: what only", FOLDED, 0, "is folded"),
    "deeper without minutes": ("({{minutes}} minutes)", "", "## Deeper: what only", 0, "the first paragraph says"),
    "heading in a deeper section": ("it is used elsewhere.", "it.\n\n## More", "## More", 0, "ends a deeper section"),
}


@pytest.mark.slow  # all of them together
@pytest.mark.parametrize("name", BAD)
def test_a_fault_is_named_with_its_line(unit, name):
    old, text, at, below, says = BAD[name]
    unit.edit("lesson.md", old, text)
    if at == NEXT_CLOSES:
        unit.edit("lesson.md", NEXT, NEXT_CLOSES)
    line = unit.edit("lesson.md", at, at) + below
    found = unit.problems()
    assert any(where == line and says in message for where, message in found), (line, found)


def test_a_long_core_path_says_where_it_is_long(unit):
    unit.edit("lesson.md", "## Count\n", "## Count\n" + LONG)
    unit.edit("lesson.md", "## On trial\n", "## On trial\n\n" + "word " * 100)
    ((_, message),) = [each for each in unit.problems() if "words" in each[1] and "limit" in each[1]]
    assert re.match(
        r"core path: 2,8\d\d words, 2,500 are the limit; the longest sections are 'Count' with 2,5", message
    )
    assert message.index("'Count'") < message.index("'On trial' with 1")
    assert "## Deeper: …" in message


def test_what_a_deeper_section_defines_is_not_used_in_the_core(unit):
    unit.edit("lesson.md", '\n+++ {"cid": "q99-next"}', cell("import math\nspare = 1") + '\n+++ {"cid": "q99-next"}')
    assert unit.problems() == []
    line = unit.edit("lesson.md", "Then the [exercises]", cell("print(spare, math)") + "\nThe [exercises]")
    assert unit.problems() == [
        (line + 2, "the core path uses 'math', which only a deeper section defines"),
        (line + 2, "the core path uses 'spare', which only a deeper section defines"),
    ]


TURNS = {
    "no dots": ("return ...", "return parameters * bits / 8", "here are 0"),
    "two lines to write": ("return ...", "bytes = ...\n    return ...", "here are 2"),
    "dots alone": ("    return ...", "    ...", "a line of `...` alone does nothing"),
    "no check": ('\n\ncheck("q99.turn-bytes", weight_bytes)', "", "a your-turn ends with check("),
    "check of another function": ('bytes", weight_bytes)', 'bytes", units)', "a your-turn ends with check("),
    "another name": ("weight_bytes", "bytes_of", "check 'q99.turn-bytes' is about 'weight_bytes', not 'bytes_of'"),
    "graded check": ("q99.turn-bytes", "q99.read-seconds", "with points=0, which 'q99.read-seconds' is not"),
    "check twice": ("q99.turn-reads", "q99.turn-bytes", "already stands in the your-turn of line"),
    "check in no cell": ("q99.turn-reads", "q99.turn-bytes", "check 'q99.turn-reads' has no points, so a cell tagged"),
    "no tag": (":tags: [your-turn]\n", "", "check() stands in cells tagged your-turn only"),
    "no way to write it": ("One way to write it", "A way", "the markdown cell after a your-turn holds"),
    "way without a fence": ("```python\ndef weight", "```\ndef weight", "the markdown cell after a your-turn holds"),
    "way of another function": ("```python\ndef weight_", "```python\ndef ", "defines no function 'weight_bytes'"),
    "way that is no Python": (
        "return parameters * bits / 8",
        "return parameters *",
        "the way to write it is no Python",
    ),
}


@pytest.mark.parametrize("name", TURNS)
def test_the_form_of_a_your_turn(tmp_path, name):
    unit = Unit(tmp_path)
    old, text, says = TURNS[name]
    path = unit.folder / "lesson.md"
    if name == "another name":
        path.write_text(path.read_text().replace(old, text))
    else:
        unit.edit("lesson.md", old, text)
    found = [problem for problem in lint(unit.root) if says in problem.message]
    assert found, lint(unit.root)
    assert all(problem.path.endswith("lesson.md") for problem in found)


def test_a_check_without_points_is_not_for_exercises(unit):
    line = unit.edit("exercises.md", 'check("q99.read-seconds", read_seconds)', 'check("q99.turn-bytes", weight_bytes)')
    found = [(problem.line, problem.message) for problem in lint(unit.root) if problem.path.endswith("exercises.md")]
    assert (line, "check 'q99.turn-bytes' has no points: it belongs in a your-turn of lesson.md") in found
    assert any("points: 2, but check 'q99.turn-bytes' has 0" in message for _, message in found)


def test_an_index_of_dots_is_no_line_to_write(unit):
    unit.edit("lesson.md", "return ...", "return (parameters, parameters[..., 0], ...)")
    assert lint(unit.root) == []
