"""Reading `lessons/<unit>/`: notebooks in MyST text with the source line of every cell, and the unit's checks."""

import ast
import contextlib
import hashlib
import json
import re
import tomllib
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jupytext.myst
import nbformat
import yaml
from IPython.core.inputtransformer2 import TransformerManager

from course_lib import units as course_units
from course_lib.grading.intake.task import read_checks, run_file
from course_lib.teaching.checks.check_words import WordsError

NOTEBOOK_FILES = ("lesson.md", "exercises.md")
UNIT_TABLES = (
    "cards.toml",
    "checks.toml",
    "explorer.toml",
    "glossary.toml",
    "items.toml",
    "ledger.toml",
    "mutants.toml",
)
UNIT_FILES = (*NOTEBOOK_FILES, *UNIT_TABLES, "teaching.md")  # and Python

FENCE = re.compile(r"^(?P<indent>[ \t>]*)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")

EMPTY = "an empty cell: write something or remove it"


@dataclass(frozen=True, order=True)
class Problem:
    """Something wrong in a source file. `path` relative to the checkout, `line` from 1."""

    path: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.message}"


class SourceError(Exception):
    """Source files that cannot be built, as `Problem`s."""

    def __init__(self, problems: list[Problem]):
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


@dataclass(frozen=True)
class Cell:
    """A cell: its `node` (no id yet), the line of its fence, +++ or first text, and the first line of its source."""

    node: nbformat.NotebookNode
    line: int
    source_line: int

    @property
    def is_code(self) -> bool:
        return self.node.cell_type == "code"

    @property
    def tags(self) -> list[str]:
        return self.node.metadata.get("tags", [])

    def syntax(self) -> ast.Module:
        """The syntax tree of a code cell, line and cell magics included. Raises `SyntaxError`."""
        source = self.node.source
        blank = len(source) - len(source.lstrip("\n"))  # IPython drops leading blank lines
        return ast.parse("\n" * blank + TransformerManager().transform_cell(source))

    def line_of(self, node: ast.AST) -> int:
        """The line of the file in which a piece of the cell's code begins."""
        return self.source_line + node.lineno - 1


def called(call: ast.Call) -> str:
    """The name that is called: `card` of `card("q05.x")` and of `course_lib.card("q05.x")`."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


@dataclass(frozen=True)
class Page:
    """One notebook in text: its front matter and cells."""

    path: str
    front: dict
    cells: list[Cell]

    @property
    def course(self) -> dict:
        """What the front matter says of the course; empty where that is no table."""
        course = self.front.get("course")
        return course if isinstance(course, dict) else {}


def units(root: Path, chosen: Sequence[str] = ()) -> list[Path]:
    """The folders of `lessons/` that hold anything, in the order of the course; only those `chosen` by name or prefix,
    where any are.

    `SourceError` for a name that no folder has.
    """
    there = (folder for folder in (root / "lessons").glob("*") if folder.is_dir() and files(folder))
    folders = sorted(there, key=lambda folder: course_units.order(folder.name))
    known = {name: folder for folder in folders for name in (folder.name, folder.name.partition("_")[0])}
    if unknown := [name for name in chosen if name not in known]:
        raise SourceError([Problem(f"lessons/{name}", 1, "there is no such unit") for name in unknown])
    wanted = {known[name] for name in chosen}
    return [folder for folder in folders if folder in wanted] if chosen else folders


def files(folder: Path) -> list[Path]:
    """The source files of a unit, sorted; editors' and Python's leavings are none."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return sorted(
        p for p in found if not any(part.startswith((".", "__pycache__")) for part in p.relative_to(folder).parts)
    )


def front_matter(text: str) -> tuple[dict, int]:
    """The front matter and the number of its lines. `ValueError(message, line)` if there is none or it is no YAML."""
    lines = text.splitlines()
    if not lines or lines[0] != "---" or "---" not in lines[1:]:
        raise ValueError("the front matter is missing: the file must begin with YAML between two lines of ---", 1)
    end = lines.index("---", 1)
    try:
        front = yaml.safe_load("\n".join(lines[1:end]))
    except yaml.YAMLError as error:
        mark = getattr(error, "context_mark", None) or getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or _one_line(error)
        raise ValueError(f"the front matter is no valid YAML: {problem}", mark.line + 2 if mark else 1) from None
    if not isinstance(front, dict):
        raise ValueError("the front matter must be a YAML mapping", 1)
    return front, end + 1


def fences(text: str) -> tuple[list[tuple[int, int, str]], list[tuple[int, str]]]:
    """Fences as (opening line, closing line, info), and the faults of fences and `+++` lines as (line, message)."""
    try:
        skip = front_matter(text)[1]
    except ValueError:
        skip = 0
    found, faults, open_, empty = [], [], None, None  # empty: the last +++ line, while nothing stands below it
    for number, line in enumerate(text.splitlines(), 1):
        match = FENCE.match(line) if number > skip else None
        if match and match["fence"][0] == "`" and "`" in match["info"]:
            match = None  # inline code, not a fence
        cell = bool(match) and re.match(r"\{(code|raw)-cell\}", match["info"].strip())
        if open_:
            start, fence, info = open_
            if match and match["fence"].startswith(fence) and not match["info"].strip():
                found.append((start, number, info))
                open_ = None
            elif cell and not info.startswith("{code-cell}"):
                faults.append((number, f"a code-cell fence inside the fence opened in line {start}: indent it by four"))
            continue
        if match:
            open_ = (number, match["fence"], match["info"].strip())
            if cell and match["indent"]:
                faults.append((number, "a code-cell fence must start at the beginning of a line, in no list or quote"))
        block_break = number > skip and line.startswith("+++")
        if block_break:
            faults += _block_break_faults(number, line[3:].strip())
        if empty and (block_break or cell):
            faults.append((empty, EMPTY))
        if line.strip():
            empty = number if block_break else None
    if open_:
        faults.append((open_[0], "this fence is never closed"))
    if empty:
        faults.append((empty, EMPTY))
    return found, sorted(faults)


def _block_break_faults(number: int, metadata: str) -> list[tuple[int, str]]:
    try:
        if metadata and not isinstance(json.loads(metadata), dict):
            return [(number, "the metadata of a +++ line must be a JSON object")]
    except json.JSONDecodeError as error:
        return [(number, f"the metadata of this +++ line is no valid JSON: {error}")]
    return []


def read_page(path: Path, root: Path) -> Page:
    """The notebook in `path`. Raises `SourceError` for what jupytext would misread or refuse."""
    return _page(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


@lru_cache(maxsize=64)
def _page(name: str, text: str) -> Page:
    """A page from its text: the lint, the map of the course and the build all want it."""
    try:
        front, _ = front_matter(text)
    except ValueError as error:
        raise SourceError([Problem(name, error.args[1], error.args[0])]) from None
    found, faults = fences(text)
    if faults:
        raise SourceError([Problem(name, line, message) for line, message in faults])
    try:
        notebook = jupytext.myst.myst_to_notebook(text, add_source_map=True)
    except (jupytext.myst.MystMetadataParsingError, yaml.YAMLError) as error:
        at = re.search(r"at line (\d+)", str(error))
        raise SourceError([Problem(name, int(at[1]) if at else 1, _one_line(error))]) from None
    closing = {start: end for start, end, _ in found}
    lines, cells = text.splitlines(), []
    for node, mapped in zip(notebook.cells, notebook.metadata.source_map, strict=True):
        if node.cell_type == "markdown":
            source_line = next(i for i in range(mapped, len(lines)) if lines[i].strip()) + 1
            line = mapped if node.metadata else source_line
        else:
            line, source_line = mapped, closing[mapped] - len(node.source.split("\n"))
        cells.append(Cell(node, line, source_line))
    return Page(name, front, cells)


def notebook(page: Page, course: dict) -> nbformat.NotebookNode:
    """The notebook of a page, without outputs: stable ids, and the same kernel and language on every machine."""
    nb = nbformat.v4.new_notebook()
    nb.metadata = nbformat.from_dict(
        {
            "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
            "language_info": {
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
                "pygments_lexer": "ipython3",
            },
            "course": course,
        }
    )
    seen = {}
    for cell in page.cells:
        node = nbformat.from_dict(cell.node)
        key = (node.cell_type, node.source)
        seen[key] = seen.get(key, 0) + 1
        node.id = node.metadata.get("cid") or _hash_id(course["unit"], *key, seen[key])
        nb.cells.append(node)
    return nb


def _hash_id(*parts) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:12]


def to_bytes(nb: nbformat.NotebookNode) -> bytes:
    """A valid notebook as the bytes of its file."""
    nbformat.validate(nb)
    return (nbformat.writes(nb).rstrip("\n") + "\n").encode()


def load_checks(folder: Path, root: Path) -> list:
    """The `CHECKS` of a unit, empty without checks.py. Raises `SourceError` with the failing lines."""
    path, words = folder / "checks.py", folder / "checks.toml"
    if not path.exists():
        return []
    name, beside = (each.relative_to(root).as_posix() for each in (path, words))
    try:
        return read_checks(path)
    except SyntaxError as error:
        raise SourceError([Problem(name, error.lineno or 1, f"SyntaxError: {error.msg}")]) from None
    except tomllib.TOMLDecodeError as error:
        raise SourceError([Problem(beside, *no_toml(error))]) from None
    except WordsError as error:
        lines = toml_lines(words.read_text(encoding="utf-8")) if words.exists() else {}
        raise SourceError(
            [Problem(beside, _nearest(keys, lines), message) for keys, message in error.faults.items()]
        ) from None
    except Exception as error:
        raise SourceError([Problem(name, *_raised(error, path))]) from None


def no_module(path: Path) -> tuple[int, str] | None:
    """The line of a Python file at which it cannot be run, and why; None for one that can."""
    try:
        run_file(path)
    except SyntaxError as error:
        return error.lineno or 1, f"SyntaxError: {error.msg}"
    except Exception as error:
        return _raised(error, path)


def _raised(error: Exception, path: Path) -> tuple[int, str]:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    return lines[-1] if lines else 1, f"{type(error).__name__}: {_one_line(error)}"


def no_toml(error: tomllib.TOMLDecodeError) -> tuple[int, str]:
    """The line of a file that is no TOML, and what to say of it."""
    at = re.search(r"at line (\d+)", str(error))
    return int(at[1]) if at else 1, f"no valid TOML: {error}"


def toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """(table, keys …) -> the line where it stands, for TOML in which every head of a table and every key begins one."""
    found, table = {}, ()
    for number, line in enumerate(text.splitlines(), 1):
        head, key = re.match(r"\[[^\[\]]+\]", line), re.match(r"(\"([^\"\\]|\\.)*\"|'[^']*'|[\w-]+)(?=\s*=)", line)
        if head:
            table = _keys(head[0])
        if head or key:
            found.setdefault(table if head else (*table, *_keys(f"{key[0]} = 0")), number)
    return found


def _keys(line: str) -> tuple[str, ...]:
    """The keys of one line of TOML, from the outermost; none where it is text that only looks like one."""
    keys, inner = (), {}
    with contextlib.suppress(tomllib.TOMLDecodeError):
        inner = tomllib.loads(line)
    while inner:
        ((key, inner),) = inner.items()
        keys = (*keys, key)
    return keys


def _nearest(keys: tuple[str, ...], lines: dict[tuple[str, ...], int]) -> int:
    """The line of these keys, or of the table in which they are missing."""
    return next((lines[keys[:end]] for end in range(len(keys), 0, -1) if keys[:end] in lines), 1)


def _one_line(error) -> str:
    return " ".join(str(error).split())
