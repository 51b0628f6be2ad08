"""What decides what a notebook shows: the files that its kernel opened, the recordings of the experiments that it asked
for, and the unit's own files.

They are kept with a digest each in the notebook, so that a unit is executed again when one of them changes.
"""

import ast
import hashlib
import io
import json
import tokenize
from collections.abc import Iterable, Sequence
from functools import cache
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
RECORDINGS = "course_lib/experiments/recordings"
OF = "recordings of "  # an experiment: one file holds those of many
FOLDERS = ("course_lib", "lessons", "notebooks", "exercises")


def made_from(
    root: Path, folder: Path, opened: Iterable[str], recorded: Iterable[str] = (), reads: Sequence[str] = ()
) -> dict[str, str | None]:
    """Path -> digest of every file (or folder of data) that decides the outputs of the lesson in `folder`; beside the
    paths the recordings of each experiment, from all devices.

    opened: what its kernel opened or listed. recorded: the experiments whose recordings it asked for. reads: names of
    files that it reads of all units, those to come as well.
    """
    found = {name for path in opened if (name := _name(root, Path(path)))} | _own(root, folder, reads)
    return {name: _now(root, name) for name in sorted(found | {OF + name for name in recorded})}


def changed(root: Path, folder: Path, before: dict[str, str | None], reads: Sequence[str] = ()) -> list[str]:
    """What differs from that which a notebook was made from, is gone, or is new in the unit."""
    names = before.keys() | _own(root, folder, reads)
    return sorted(name for name in names if before.get(name) != _now(root, name))


def _now(root: Path, name: str) -> str | None:
    """The digest of a file, a folder or an experiment's recordings; None where there is none."""
    if name.startswith(OF):
        return _recorded(name.removeprefix(OF))
    path = _path(root, name)
    return digest(path) if path.exists() else None


def _recorded(name: str) -> str | None:
    """Of the results of an experiment on all devices, and of why others have none."""
    files = sorted((LIBRARY / RECORDINGS).glob("*.json"))
    found = {path.name: each for path in files if (each := _parts(path, path.stat().st_mtime_ns).get(name))}
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:12] if found else None


@cache
def _parts(path: Path, modified: int) -> dict[str, str]:
    """Experiment -> digest of what a recording says of it; once for each state of a file."""
    data = json.loads(path.read_bytes())
    said = data["results"] | data.get("unavailable", {})
    return {name: hashlib.sha256(json.dumps(each).encode()).hexdigest() for name, each in said.items()}


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
    if name.parent.as_posix() == RECORDINGS and path.suffix == ".json":
        return None  # its parts count
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
