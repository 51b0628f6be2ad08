"""What is counted in a lesson, and the minutes that follow: counted by hand, and by another reader of Markdown."""

from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from tools.build import derived, lesson_notebooks
from tools.core_path import Counts, counts, folded, heading, sections, stated, times, words
from tools.source import read_page, units

ROOT = Path(__file__).resolve().parents[2]

DEEPER = """
+++ {"jp-MarkdownHeadingCollapsed": true}

## Deeper: why not three

It adds a reason ({{minutes}} minutes).

```{code-cell} ipython3
two = 1 + 1
```

### A heading of its own

Still deeper, for {{minutes}}.

+++ {"jp-MarkdownHeadingCollapsed": true}

## Deeper: another

It adds another ({{minutes}} minutes), with a card.

```{code-cell} ipython3
card("q99.how-many")
```

## After it

The core takes {{minutes}}, deeper sections {{deeper}}, exercises {{exercises}}.
"""


@pytest.fixture
def page(toy):
    """The toy's lesson, with two deeper sections."""

    def read(text=DEEPER, name="lesson.md"):
        path = toy.unit / name
        path.write_text(path.read_text() + text)
        return read_page(path, toy.root)

    return read


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Two words.", 2),
        ("# A heading — of six words, counted", 6),
        ("4096 × 4096 and `inline code`", 5),
        ("[three more words](https://example.org/a-b-c) here", 10),
        ("see ![a long description](circle.svg) there", 7),
        ("with $x = \\frac{1}{2} y$ in it, and $$a + b\n= c$$ too", 13),
        ("1. first\n2. second", 4),
        ("{{ratio:.1f}} times, {{a + b}} more", 6),
        ("before\n\n```python\nx = 1\n```\n\nafter", 5),
        ("| a | b |\n| --- | --- |\n| c | 1 |", 4),
        ("<details><summary>One way</summary>\n\n```python\nreturn 1\n```\n\n</details>", 9),
    ],
)
def test_words_counted_by_hand(page, text, number):
    assert words(page(f"\n+++\n\n{text}\n").cells[-1:]) == number


class Text(HTMLParser):
    """The text of a page."""

    def __init__(self, html: str):
        super().__init__()
        self.text = ""
        self.feed(html)

    def handle_data(self, text):
        self.text += text


def test_no_fewer_words_than_a_reader_of_markdown_shows():
    """Every cell without a field, of all lessons: what is shown and holds a letter or a digit."""
    read, compared = MarkdownIt("commonmark").enable("table"), 0
    for folder in units(ROOT):
        for cell in read_page(folder / "lesson.md", ROOT).cells:
            if not (cell.is_code or "{{" in cell.node.source):
                shown = Text(read.render(cell.node.source)).text
                seen = [word for word in shown.split() if any(map(str.isalnum, word))]
                assert words([cell]) >= len(seen), f"{folder.name}:{cell.line}"
                compared += 1
    assert compared > 200


def test_sections_are_found(page):
    core, one, two = sections(page())
    assert [section.heading for section in (core, one, two)] == ["", "why not three", "another"]
    assert [len(section.cells) for section in (one, two)] == [3, 2]
    assert heading(core.cells[-1]) == "After it"
    assert counts(one.cells) == Counts(words=4 + 7 + 5 + 5, code=1, cards=0, turns=0, explorers=0)
    assert counts(two.cells) == Counts(words=2 + 9, code=1, cards=1, turns=0, explorers=0)


def test_cells_below_a_folded_heading(page):
    whole = page()
    core, one, two = (section.cells for section in sections(whole))
    expected = {cell.line: section[0].line for section in (one, two) for cell in section[1:]}
    assert folded(whole) == expected
    assert not set(expected) & {cell.line for cell in core}


def test_folded_without_the_words_or_the_words_without_folding_is_no_section(page):
    text = DEEPER.replace('+++ {"jp-MarkdownHeadingCollapsed": true}', "+++")
    assert len(sections(page(text))) == 1
    assert len(sections(page(DEEPER.replace("## Deeper: ", "## Deep: ")))) == 1


def test_what_is_counted_in_code(page):
    text = """
```{code-cell} ipython3
:tags: [your-turn]
def f(x):
    return ...


check("q99.f", f)
```

```{code-cell} ipython3
explore.interact(f, x=(1, 9))
```

```{code-cell} ipython3
parts = explorer.parts(1)
explore.roofline("h100-sxm")
```

```{code-cell} ipython3
explorer.bytes()
```

```{code-cell} ipython3
explore.build(view, {"n": explore.Whole("n", start=1), "on": explore.Flag("on")})
```

```{code-cell} ipython3
shares = [explorer.share(kind) for kind in explorer.KINDS]
explorer.shown = explorer.share(1)
print(explorer.share(2))
explorer.KINDS
```

```{code-cell} ipython3
:tags: [raises-exception]
card("q99.a"
```

```{code-cell} ipython3
%matplotlib inline
card("q99.how-many")
course_lib.card("q99.it-is-two")
discard("q99.it-is-two")
```
"""
    found = counts(page(text).cells[-8:])
    assert found == Counts(words=0, code=8, cards=2, turns=1, explorers=3)
    assert found.minutes == 8 * 0.5 + 2 * 1.5 + 1 * 4 + 3 * 5


def test_minutes_are_rounded_to_five_for_the_core_and_to_one_for_a_section(page, toy):
    exercises = read_page(toy.unit / "exercises.md", toy.root)
    assert times(page("\n+++\n\n" + "word " * 450), None).core == 5, "450 words and four cells: 4.5 minutes"
    taken = times(page("\n+++\n\n" + "word " * 600 + DEEPER), exercises)
    assert (taken.core, taken.deeper, taken.exercises) == (10, 2 + 2, 10), "1,050 words and four cells: 7.9 minutes"
    assert set(taken.cells) == {10, 2}


def test_halves_are_rounded_up(page):
    """Five cells are 2.5 minutes, and 1,800 words ten."""
    short = page("\n+++\n\n" + "word " * 1000)
    rest = 1800 - words(short.cells)
    full = page(f"{'word ' * rest}\n\n```{{code-cell}} ipython3\n1\n```\n")
    assert counts(full.cells).minutes == 12.5
    assert times(full, None).core == 15


def test_the_build_fills_text_and_metadata(page, toy):
    page()
    (nb,) = lesson_notebooks(toy.root).values()
    text = "\n".join(cell.source for cell in nb.cells)
    assert "It adds a reason (2 minutes)." in text
    assert "Still deeper, for 2." in text
    assert "It adds another (2 minutes), with a card." in text
    assert "The core takes 5, deeper sections 4, exercises 10." in text
    assert nb.metadata.course.minutes == 5
    about = derived(toy.root)[Path("notebooks/q99_toy.json")].decode()
    assert '"minutes": 5,\n "deeper": 4,\n "exercises": 10,' in about


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("## 1. A\n\n*Difficulty 2 of 5. 15 minutes. 3 points.*", 15),
        ("## 1. A\n\n*Difficulty 4 of 5. 20 minutes. 4 points, graded by hand.*\n\nMore.", 20),
        ("## 1. A\n\n*Difficulty 6 of 5. 15 minutes. 3 points.*", None),
        ("## 1. A\n\n*15 minutes. 3 points.*", None),
    ],
)
def test_the_minutes_that_an_exercise_states(page, text, minutes):
    assert stated(page(f"\n+++\n\n{text}\n").cells[-1]) == minutes
