"""Which files decide what a notebook shows: those that its kernel opened, and the unit's own.

They are kept with a digest each in the notebook, so that a unit is executed again when one of them changes.
"""

import ast
import hashlib
import io
import tokenize
from collections.abc import Iterable, Sequence
from importlib.util import source_from_cache
from pathlib import Path

from course_lib import units
from tools.source import files

ASIDE = (
    "teaching.md",
    "exercises.md",
    "checks.py",
    "checks.toml",
    "ledger.toml",
    "mutants.toml",
)  # of a unit, but not of its lesson
LIBRARY = Path(units.__file__).resolve().parent.parent
FOLDERS = ("course_lib", "lessons", "notebooks", "exercises")


def made_from(root: Path, folder: Path, opened: Iterable[str], reads: Sequence[str] = ()) -> dict[str, str]:
    """Path -> digest of every file (or folder of data) that decides the outputs of the lesson in `folder`.

    opened: what its kernel opened or listed. reads: names of files that it reads of all units, those to come as well.
    """
    found = {name for path in opened if (name := _name(root, Path(path)))} | _own(root, folder, reads)
    return {name: digest(_path(root, name)) for name in sorted(found)}


def changed(root: Path, folder: Path, before: dict[str, str], reads: Sequence[str] = ()) -> list[str]:
    """The files that differ from those that a notebook was made from, that are gone, or that are new in the unit."""
    return sorted(
        name
        for name in before.keys() | _own(root, folder, reads)
        if not _path(root, name).exists() or before.get(name) != digest(_path(root, name))
    )


def digest(path: Path) -> str:
    """Of a file's content, of Python without comments and docstrings; of the names of a folder's data."""
    if path.is_dir():
        content = "\0".join(_data(path)).encode()
    else:
        content = _code(path.read_text(encoding="utf-8")) if path.suffix == ".py" else path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:12]


def _own(root: Path, folder: Path, reads: Sequence[str]) -> set[str]:
    own = [path for path in files(folder) if path.name not in (*ASIDE, "lesson.md")]  # its cells are compared as such
    others = [path for name in reads for path in folder.parent.glob(f"*/{name}")]
    return {path.relative_to(root).as_posix() for path in (*own, *others)}


def _name(root: Path, path: Path) -> str | None:
    """How a file is called that may decide an output; None for any other, and for Python's own folders."""
    path = Path(source_from_cache(str(path)) if path.suffix == ".pyc" else path).resolve()
    base = next((base for base in (root.resolve(), LIBRARY) if path.is_relative_to(base)), None)
    if base is None or not path.exists():
        return None
    name = path.relative_to(base)
    if path.is_dir():  # one more recording may be shown
        counts = name.parts[:1] == ("course_lib",) and path.name != "__pycache__" and bool(_data(path))
    else:
        counts = name.parts[0] in FOLDERS and path.suffix != ".ipynb" and path.name not in (*ASIDE, "lesson.md")
    return name.as_posix() if counts else None


def _data(folder: Path) -> list[str]:
    """The names of a folder's data. Tables beside modules are none: those read them by name."""
    other = (".py", ".md", ".toml") if (folder / "__init__.py").exists() else (".py", ".md")
    return sorted(path.name for path in folder.iterdir() if path.is_file() and path.suffix not in other)


def _path(root: Path, name: str) -> Path:
    return (LIBRARY if name.startswith("course_lib/") else root) / name


def _code(text: str) -> bytes:
    """The lines of a Python file without comments, docstrings and blank lines; equal under every version of Python."""
    lines = text.splitlines()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            line, start = token.start
            lines[line - 1] = lines[line - 1][:start]
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        first = body[0] if isinstance(body, list) and body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            lines[first.lineno - 1 : first.end_lineno] = [""] * (first.end_lineno - first.lineno + 1)
    return "\n".join(line.rstrip() for line in lines if line.strip()).encode()
