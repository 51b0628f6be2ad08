"""Private exercises: units of the course's own form in a folder that nobody publishes, laid over a checkout.

The solutions of the course are public, and a function of its inputs that was copied passes whatever is drawn. So what
counts for marks may lie in `PRIVATE/lessons/<unit>/`, with the files that any unit has. For the time of a build or a
release that folder and the checkout stand in one place, where the same code lints, mutates, builds and packs both.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

MADE = ("notebooks", "exercises", "solutions")
PARTS = (
    *("course_lib", "lessons", *MADE, "tools"),
    *("LICENSE", "LICENSE-TEXT", "README.md", "constraints.txt", "nbgrader_config.py", "pyproject.toml"),
)
"""What a build or a release reads of a checkout."""


def units(private: Path) -> list[str]:
    """The names of the private units. Raises `ValueError` for a folder that holds none."""
    found = sorted(path.parent.name for path in (private / "lessons").glob("*/lesson.md"))
    if not found:
        raise ValueError(f"--private: {private} holds no unit; its units are folders {private}/lessons/<unit>/")
    return found


def root_of(unit: str, root: Path, private: Path | None) -> Path:
    """Where a unit and what is built of it lie: the private folder or the checkout."""
    return private if private and (private / "lessons" / unit).is_dir() else root


@contextlib.contextmanager
def overlaid(root: Path, private: Path) -> Iterator[Path]:
    """A folder with copies of the checkout and of the private units. Raises `ValueError` where both have a unit."""
    if both := sorted({path.name for path in (root / "lessons").iterdir()} & set(units(private))):
        raise ValueError(f"--private: the course has a unit {both[0]!r} of its own; give the private one another name")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "course"
        for path in [*(root / part for part in PARTS), *(private / part for part in ("lessons", *MADE))]:
            if path.exists():
                _copy(path, place)
        yield place


def _copy(path: Path, folder: Path) -> None:
    """Lay a file or a folder into `folder`, over what it holds."""
    folder.mkdir(exist_ok=True)
    if path.is_dir():
        skip = shutil.ignore_patterns("__pycache__", ".*", "*.egg-info")
        shutil.copytree(path, folder / path.name, ignore=skip, dirs_exist_ok=True)
    else:
        shutil.copy(path, folder)


def build(root: Path, private: Path, options: Sequence[str]) -> int:
    """Build the private units (`tools.build`) into their own folder; returns the exit status. What a build that fails
    has written is not kept.
    """
    names = units(private)
    with overlaid(root, private) as place:
        command = [sys.executable, "-m", "tools.build", *names, *options]
        status = subprocess.run(command, cwd=place, env=os.environ | {"PYTHONPATH": str(place)}).returncode
        for part in MADE if status == 0 else ():
            for path in (place / part).glob("*"):
                if path.name.partition(".")[0] in names:
                    _copy(path, private / part)
    return status


def points(root: Path) -> dict[str, float]:
    """Unit -> the points of its released exercises."""
    found = {}
    for path in sorted((root / "exercises").glob("*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[path.stem] = sum(cell["metadata"].get("nbgrader", {}).get("points", 0) for cell in cells)
    return found


def readable(root: Path, names: Sequence[str]) -> list[str]:
    """Graded quantities of the units `names`: what tells a learner's machine whether one is right holds its value."""
    found = []
    for name in names:
        path = root / "exercises" / name / "checks.json"
        checks = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found += [id for id, check in checks.items() if check["points"] and "unit" in check]
    return found
