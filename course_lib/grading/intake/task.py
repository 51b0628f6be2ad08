"""What is graded in a unit: the released notebook, its answer cells, its check cells and free texts."""

import ast
import copy
import hashlib
import importlib.util
import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from course_lib.teaching.checks.check_form import Check
from course_lib.teaching.checks.check_words import with_words

HEADING = re.compile(r"^#{2,4} +(.+?) *$", re.MULTILINE)


def read_checks(path: Path) -> list[Check]:
    """The `CHECKS` of a checks.py, with their sentences from the checks.toml beside it, if there is one.

    Raises what running that file raises, `TOMLDecodeError` and `WordsError`; no bytecode is left beside it.
    """
    words = path.with_suffix(".toml")
    return with_words(run_file(path).CHECKS, tomllib.loads(words.read_text(encoding="utf-8")) if words.exists() else {})


def run_file(path: Path) -> ModuleType:
    """What a Python file of a unit defines, run under a name of its own; no bytecode is left beside it."""
    spec = importlib.util.spec_from_file_location(f"_{path.stem}_of_{path.parent.name}", path)
    module = importlib.util.module_from_spec(spec)
    write, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(module)
    finally:
        sys.dont_write_bytecode = write
    return module


@dataclass(frozen=True)
class Answer:
    """A cell that the student fills in: where it stands in the released notebook, and its text there.

    `names`: the functions or quantities that it is asked to define; `text`: a text that a person grades.
    """

    grade_id: str
    index: int
    stub: str
    names: tuple[str, ...] = ()
    text: bool = False


@dataclass(frozen=True)
class Item:
    """What has points: a check, or (without one) a text that a person grades. `title` is the heading of its exercise,
    `answer` the grade_id of the cell that answers it.
    """

    grade_id: str
    index: int
    points: float
    title: str
    answer: str
    check: Check | None = None

    @property
    def column(self) -> str:
        """Its name in tables: the id of the check, or that of the cell."""
        return self.check.id if self.check else self.grade_id


@dataclass(frozen=True)
class Task:
    """A unit as it was released. `digest` changes with the released notebook and with the checks."""

    unit: str
    notebook: Mapping
    answers: Sequence[Answer]
    items: Sequence[Item]
    digest: str

    @classmethod
    def load(cls, root: Path, unit: str) -> "Task":
        """Read a unit from a checkout. Raises `ValueError` where its exercises or their checks do not fit together."""
        path, checks_path = root / "exercises" / unit / f"{unit}.ipynb", root / "lessons" / unit / "checks.py"
        if not path.is_file():
            raise ValueError(f"there are no exercises of unit {unit!r} in {root / 'exercises'}")
        shown = path.with_name("checks.json")
        drawn = _drawn(shown) if shown.exists() else {}
        found = read_checks(checks_path) if checks_path.exists() else ()
        checks = {check.id: replace(check, drawn=drawn.get(check.id, ())) for check in found}
        notebook = json.loads(path.read_bytes())
        answers, items = _cells(notebook, checks, path)
        digest = hashlib.sha256()
        for part in (path, shown, checks_path, checks_path.with_suffix(".toml")):
            read = part.read_bytes() if part.exists() else b""
            digest.update(len(read).to_bytes(8, "big") + read)
        return cls(unit, notebook, answers, items, digest.hexdigest())

    @property
    def points(self) -> float:
        return sum(item.points for item in self.items)

    def is_blank(self, item: Item, answers: Mapping[str, str]) -> bool:
        """Whether the cell that answers an item was left as it was given."""
        return answers[item.answer] == next(one.stub for one in self.answers if one.grade_id == item.answer)

    def rebuilt(self, texts: Mapping[str, str]) -> dict:
        """The released notebook with these texts (grade_id -> source) in its answer cells, and no outputs."""
        notebook = copy.deepcopy(dict(self.notebook))
        for answer in self.answers:
            notebook["cells"][answer.index]["source"] = texts.get(answer.grade_id, answer.stub)
        return notebook


def _drawn(shown: Path) -> dict[str, list[tuple[str, dict]]]:
    """Check id -> (group, input) of what the built `check()` asks beside the inputs that stand in checks.py."""
    cases = {id: data["cases"] for id, data in json.loads(shown.read_bytes()).items()}
    return {
        id: [(case.get("group", ""), case["input"]) for case in own if case.get("drawn")] for id, own in cases.items()
    }


def source_of(cell: Mapping) -> str:
    """The text of a cell, whichever form its file gives it; empty for what is no text."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    return source if isinstance(source, str) else ""


def nbgrader_of(cell: Mapping) -> Mapping:
    """The nbgrader metadata of a cell; empty where there is none, or no mapping."""
    return mapping(mapping(cell.get("metadata")).get("nbgrader"))


def mapping(value) -> Mapping:
    """A value from a file of JSON; empty for what is no mapping."""
    return value if isinstance(value, dict) else {}


def checked(source: str) -> tuple[str, str] | None:
    """("id", "name") of a cell that is nothing but `check("id", name)`; None for any other cell."""
    match = re.fullmatch(r"""\s*check\(\s*(["'])([^"']+)\1\s*,\s*(\w+)\s*\)\s*""", source)
    return (match[2], match[3]) if match else None


def _cells(notebook: Mapping, checks: Mapping[str, Check], path: Path) -> tuple[list[Answer], list[Item]]:
    answers, items, title = [], [], path.stem
    wanted = {found[1] for cell in notebook["cells"] if (found := checked(source_of(cell)))}
    for index, cell in enumerate(notebook["cells"]):
        meta, source = nbgrader_of(cell), source_of(cell)
        if cell["cell_type"] == "markdown" and not meta and (headings := HEADING.findall(source)):
            title = headings[-1]
        if meta.get("solution"):
            names = tuple(sorted(wanted & _defined(source))) if cell["cell_type"] == "code" else ()
            answers.append(Answer(meta["grade_id"], index, source, names, cell["cell_type"] == "markdown"))
        if meta.get("grade"):
            found = checked(source) if cell["cell_type"] == "code" else None
            if found and found[0] not in checks:
                raise ValueError(f"{path}: the check {found[0]!r} of cell {meta['grade_id']!r} is not in checks.py")
            check = checks[found[0]] if found else None
            if check and check.points != meta["points"]:
                raise ValueError(
                    f"{path} gives {meta['points']:g} points for {check.id!r} where checks.py says {check.points:g}: "
                    "build the unit again"
                )
            own = [one.grade_id for one in answers if check is None or check.name in one.names]
            if not own:
                raise ValueError(f"{path}: no answer cell above {meta['grade_id']!r} defines what it checks")
            items.append(Item(meta["grade_id"], index, meta["points"], title, own[-1], check))
    if not items:
        raise ValueError(f"{path}: nothing in this notebook has points")
    return answers, items


def _defined(source: str) -> set[str]:
    """The names that a released cell defines at its top: functions, classes, variables."""
    names = set()
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            names |= {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return names
