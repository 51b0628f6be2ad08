"""The terms of `glossary.toml`: where lessons introduce them, where they use them, and the hovers of later units."""

import html
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat

from course_lib import units as course_units
from course_lib.teaching.glossary import Term, split
from tools.core_path import sections
from tools.source import Page, Problem, front_matter, no_toml, toml_lines, units

NAME = "glossary.toml"

NOT_PROSE = r"""
    \\[\\`*$\[]                                                               # an escaped mark is none
    | ^[ \t>]*(?P<fence>`{3,}|~{3,})[^\n]*\n .*? (?:^[ \t>]*(?P=fence)|\Z)    # code in a fence, code cells among it
    | ^\+\+\+[^\n]* | ^[ ]{0,3}\#{1,6}\s[^\n]*                                # the edge of a cell, a heading
    | (?<!`)(?P<ticks>`+)(?!`) (?:(?!\n\s*\n).)+? (?<!`)(?P=ticks)(?!`)       # code in a line
    | \$\$ .+? \$\$ | \$ (?:(?!\n\s*\n)[^$])+ \$ | \{\{ .*? \}\}              # formulas, computed values
    | <!-- .*? --> | </?[a-zA-Z][^>]*> | !\[[^\]]*\]\([^)]*\) | https?://\S+  # comments, tags, pictures, addresses
"""
FLAGS = re.VERBOSE | re.DOTALL | re.MULTILINE
UNREAD = re.compile(rf"{NOT_PROSE} | \]\([^)\s]*\)", FLAGS)
"""What of a text nobody reads as prose. Of a link that is its target."""
LINKED = re.compile(rf"\[[^\]]*\]\([^)]*\) | <a\b[^>]*>.*?</a> | {NOT_PROSE}", FLAGS)
"""That, and where no hover can stand: in a link."""


def blanked(text: str, hidden: re.Pattern) -> str:
    """The text with spaces in the place of what is hidden: what is left stands where it stood."""
    return hidden.sub(lambda found: re.sub(r"\S", " ", found[0]), text)


class Words:
    """Terms as they occur in prose: under all their names, with a plural -s, in capitals or not, the longest first. A
    word with a hyphen ("compute-bound") is one word.
    """

    def __init__(self, terms: Sequence[Term]):
        self.terms = terms

    @cached_property
    def _of(self) -> Mapping[str, Term]:
        return {name.casefold(): term for term in reversed(self.terms) for name in term.names}  # of two, the first

    @cached_property
    def _pattern(self) -> re.Pattern:
        names = sorted(self._of, key=len, reverse=True)
        either = "|".join(r"\s+".join(map(re.escape, name.split())) for name in names) or "(?!)"
        return re.compile(rf"(?<![\w-])(?:{either})s?(?![\w-])", re.IGNORECASE)

    def uses(self, text: str) -> Iterator[tuple[Term, re.Match]]:
        """Each use of a term in a text."""
        for found in self._pattern.finditer(text):
            name = " ".join(found[0].casefold().split())
            yield self._of.get(name) or self._of[name.removesuffix("s")], found


def bold(text: str, use: re.Match) -> bool:
    """Whether a use stands in bold by itself, which introduces its term."""
    return text[: use.start()].endswith("**") and text.startswith("**", use.end())


# ---------------------------------------------------------------------------------------------------------- the lint


@dataclass(frozen=True)
class Lesson:
    """A unit that has a glossary: its terms, the lines of their table, and its lesson with only the prose left."""

    unit: str
    terms: tuple[Term, ...]
    lines: Mapping[str, int]
    prose: str

    def at(self, use: re.Match) -> str:
        return f"lessons/{self.unit}/lesson.md:{self.line(use)}"

    def line(self, use: re.Match) -> int:
        return self.prose.count("\n", 0, use.start()) + 1


def read(folder: Path) -> tuple[list[Term], dict[str, int]]:
    """The terms of a unit and, by name, their lines; none without a table, nor any of another form, which `form_faults`
    reports. Raises `TOMLDecodeError`.
    """
    path = folder / NAME
    if not path.exists():
        return [], {}
    text = path.read_text(encoding="utf-8")
    lines = toml_lines(text)
    table = {key: line for key, line in tomllib.loads(text).items() if isinstance(line, str) and all(split(key))}
    terms = [Term(split(key), line, folder.name) for key, line in table.items()]
    return terms, {split(key)[0]: lines.get((key,), 1) for key in table}


def form_faults(path: Path) -> Iterator[tuple[int, str]]:
    """(line, message) of what is wrong with a glossary.toml by itself."""
    text = path.read_text(encoding="utf-8")
    try:
        table, lines = tomllib.loads(text), toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        yield no_toml(error)
        return
    for key, line in table.items():
        if not (isinstance(line, str) and line.strip()) or "\n" in line:
            yield lines.get((key,), 1), f"{key!r} needs one line that says what it means"
        if not all(split(key)):
            yield lines.get((key,), 1), f"{key!r} has an empty name beside a |"


def faults(root: Path, chosen: Sequence[str]) -> list[Problem]:
    """Every term that is used before it is introduced, never introduced, or introduced twice, as far as one of the
    chosen units has a part in it. Units without a glossary.toml are not looked at.
    """
    lessons = list(filter(None, map(_lesson, units(root))))
    found = list(_twice(lessons, chosen))
    for place, lesson in enumerate(lessons):
        later = [term for other in lessons[place + 1 :] for term in other.terms]
        first: dict[Term, re.Match] = {}
        introduced: dict[Term, re.Match] = {}
        for term, use in Words([*lesson.terms, *later]).uses(lesson.prose):
            first.setdefault(term, use)
            if bold(lesson.prose, use):
                introduced.setdefault(term, use)
        own = [term for term in lesson.terms if lesson.unit in chosen]
        found += [problem for term in own for problem in _introduction(lesson, term, first, introduced)]
        for term in later:
            if term in first and {lesson.unit, term.unit} & set(chosen):
                found.append(_early(lesson, term, first[term], lessons))
    return found


def _lesson(folder: Path) -> Lesson | None:
    """A unit with a glossary; None for one without, and for one that cannot be read, which is reported elsewhere."""
    try:
        terms, lines = read(folder)
        text = (folder / "lesson.md").read_text(encoding="utf-8") if terms else ""
        skip = front_matter(text)[1] if terms else 0
    except (OSError, ValueError):
        return None
    head = "".join(text.splitlines(keepends=True)[:skip])
    prose = re.sub(r"\S", " ", head) + blanked(text[len(head) :], UNREAD)
    return Lesson(folder.name, tuple(terms), lines, prose) if terms else None


def _introduction(lesson: Lesson, term: Term, first: Mapping, introduced: Mapping) -> Iterator[Problem]:
    table, name = f"lessons/{lesson.unit}/{NAME}", term.name
    if term not in introduced:
        message = f"{name!r} stands nowhere in bold in lesson.md: **{name}** where it is explained, or no term"
        yield Problem(table, lesson.lines[name], message)
    elif first[term].start() < introduced[term].start():
        said = " ".join(first[term][0].split())
        message = f"{said!r} is used before it is introduced, in bold, in line {lesson.line(introduced[term])}"
        yield Problem(f"lessons/{lesson.unit}/lesson.md", lesson.line(first[term]), message)


def _early(lesson: Lesson, term: Term, use: re.Match, lessons: Sequence[Lesson]) -> Problem:
    """A use in a unit that comes before the one that introduces the term."""
    later = next(other for other in lessons if other.unit == term.unit)
    bolds = (found for each, found in Words([term]).uses(later.prose) if bold(later.prose, found))
    where = next((later.at(found) for found in bolds), f"lessons/{term.unit}/{NAME}:{later.lines[term.name]}")
    said = " ".join(use[0].split())
    message = f"{said!r} is used here, but introduced later, in {where}: introduce it here, or say it in other words"
    return Problem(f"lessons/{lesson.unit}/lesson.md", lesson.line(use), message)


def _twice(lessons: Sequence[Lesson], chosen: Sequence[str]) -> Iterator[Problem]:
    """Names that two terms have."""
    seen: dict[str, tuple[str, int]] = {}
    for lesson in lessons:
        for term in lesson.terms:
            here = lesson.unit, lesson.lines[term.name]
            for name in term.names:
                unit, line = seen.setdefault(name.casefold(), here)
                if (unit, line) != here and {unit, lesson.unit} & set(chosen):
                    message = f"{name!r} is a term already, in lessons/{unit}/{NAME}:{line}"
                    yield Problem(f"lessons/{here[0]}/{NAME}", here[1], message)


# --------------------------------------------------------------------------------------------------------- the build


def introductions(nb: nbformat.NotebookNode, terms: Sequence[Term]) -> dict[str, str]:
    """Term -> id of the cell that introduces it."""
    words, found = Words(terms), {}
    for cell in nb.cells:
        if cell.cell_type == "markdown":
            text = blanked(cell.source, UNREAD)
            for term, use in words.uses(text):
                if bold(text, use):
                    found.setdefault(term.name, cell.id)
    return found


def known(root: Path, unit: str) -> list[Term]:
    """The terms that the units before this one introduce."""
    before = [folder for folder in units(root) if course_units.order(folder.name) < course_units.order(unit)]
    return [term for folder in before for term in read(folder)[0]]


def with_hovers(nb: nbformat.NotebookNode, page: Page, terms: Sequence[Term]) -> None:
    """Mark the first use of each of these terms in the core path of a page, in its notebook `nb`, with the term's line,
    which a mouse shows. "The caches" after a "KV cache" in the same cell are short for that: a page where they are the
    first use has no hover for "cache".

    A keyboard cannot reach it, for JupyterLab lets no text take the focus: `glossary()` is the way for all.
    """
    words, met = Words(terms), set()
    core = {cell.line for cell in sections(page)[0].cells if not cell.is_code} if terms else set()
    for cell in (node for node, cell in zip(nb.cells, page.cells, strict=True) if cell.line in core):
        marks, here = [], []
        for term, use in words.uses(blanked(cell.source, LINKED)):
            short = any(name.endswith(f" {term.name}") for longer in here for name in longer.names)
            if term not in met and not short:
                marks.append((use, term))
            met.add(term)
            here.append(term)
        for use, term in reversed(marks):
            shown = f'<abbr title="{_attribute(term.line)}">{cell.source[use.start() : use.end()]}</abbr>'
            cell.source = cell.source[: use.start()] + shown + cell.source[use.end() :]


def _attribute(line: str) -> str:
    """A line within a tag of Markdown: no sign of it may begin a formula, code or the next cell of a table."""
    return re.sub(r"[$`|{}\\]", lambda sign: f"&#{ord(sign[0])};", html.escape(line))
