"""`lessons/` -> `notebooks/` (executed), `solutions/`, `exercises/` (nbgrader's release), `course_lib/teaching/units/`.

    python -m tools.build            lint, then build; a notebook is executed only if its unit's folder changed
    python -m tools.build --all      execute every notebook
    python -m tools.build --lint     lint only
    python -m tools.build --check    drift: does what is committed come from lessons/? Executes and writes nothing

One way only: nothing is read back from a notebook but its outputs. All but outputs is the same at every build.
"""

import argparse
import contextlib
import getpass
import json
import logging
import os
import re
import socket
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import nbformat

from course_lib.teaching.checks.check import public_cases
from tools.lint import lint
from tools.outputs import HOW, images_without_words
from tools.source import files, folder_hash, load_checks, notebook, read_page, to_bytes, units

ROOT = Path(__file__).resolve().parent.parent
UNITS = Path("course_lib", "teaching", "units")
UNIT_DATA = ("cards.toml", "truths.py", "claims.py")
SECONDS_PER_CELL = 300


class BuildError(Exception):
    """What stops a build, in one line for the author."""


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="course build", description="Build the notebooks from lessons/.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--all", action="store_true", help="execute every notebook, changed or not")
    mode.add_argument("--lint", action="store_true", help="only check the sources")
    mode.add_argument("--check", action="store_true", help="compare what is built with the sources; execute nothing")
    options = parser.parse_args(argv)
    problems = lint(root)
    if not problems and options.check:
        problems = drift(root)
    if not problems and not (options.check or options.lint):
        try:
            build(root, everything=options.all)
        except BuildError as error:
            problems = [error]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def build(root: Path, everything: bool = False) -> list[str]:
    """Write all that is built, and execute the notebooks of changed units; returns the names of the executed units."""
    made = derived(root)
    for path, content in made.items():
        _write(root / path, content)
    pages = lesson_notebooks(root)
    stale = [unit for unit, nb in pages.items() if everything or not _is_current(root / _notebook_path(unit), nb)]
    for unit in _progress(stale):
        _write(root / _notebook_path(unit), to_bytes(execute(pages[unit], root, unit)))
    for path in strays(root, made):
        print(f"{path}: no lesson makes this file; remove it", file=sys.stderr)
    print(f"{len(stale)} of {len(pages)} notebooks executed; the others are up to date.")
    return stale


def drift(root: Path) -> list[str]:
    """Every committed file that the sources do not make, or make differently (outputs aside), with what is wrong."""
    found, made = [], derived(root)
    for path, content in made.items():
        if not (root / path).exists():
            found.append(f"{path}: missing; run `make build`")
        elif (root / path).read_bytes() != content:
            found.append(f"{path}: differs from what lessons/ makes; run `make build`")
    for unit, nb in lesson_notebooks(root).items():
        path = _notebook_path(unit)
        if not (root / path).exists():
            found.append(f"{path}: missing; run `make build`")
        elif without_outputs((root / path).read_bytes()) != to_bytes(nb):
            found.append(f"{path}: its cells or metadata differ from what lessons/{unit} makes; run `make build`")
        else:
            found += [f"{path}: {fault}" for fault in _wordless(root, unit)]
    return found + [f"{path}: no lesson makes this file; remove it" for path in strays(root, made)]


def _wordless(root: Path, unit: str) -> list[str]:
    """The cell, and its line in the lesson, of every image of a stored output that no words describe."""
    stored = nbformat.read(root / _notebook_path(unit), as_version=4)
    cells = read_page(root / "lessons" / unit / "lesson.md", root).cells
    places = [(index + 1, cells[index].source_line) for index in images_without_words(stored)]
    return [f"cell {number} (lessons/{unit}/lesson.md:{line}): {HOW}" for number, line in places]


# ------------------------------------------------------------------------------------------------------ what is built


def _notebook_path(unit: str) -> Path:
    return Path("notebooks", f"{unit}.ipynb")


def lesson_notebooks(root: Path) -> dict[str, nbformat.NotebookNode]:
    """Unit -> its lesson as a notebook without outputs; `metadata.course` carries the hash of the unit's folder.

    Slides show the cells that the lesson marks for them, so all others are marked to be skipped.
    """
    notebooks = {}
    for folder in units(root):
        page = read_page(folder / "lesson.md", root)
        reads = page.front["course"].get("reads", ())
        nb = notebook(page, {**_course(page), "hash": folder_hash(folder, reads)})
        for cell in nb.cells:
            if "slideshow" not in cell.metadata:
                cell.metadata["slideshow"] = {"slide_type": "skip"}
        notebooks[folder.name] = nb
    return notebooks


def _course(page) -> dict:
    return {key: page.front["course"][key] for key in ("unit", "title", "minutes")}


def derived(root: Path) -> dict[Path, bytes]:
    """Path -> content of every built file but the executed notebooks."""
    solutions, data = {}, {}
    for folder in units(root):
        if (folder / "exercises.md").exists():
            page = read_page(folder / "exercises.md", root)
            solutions[folder.name] = to_bytes(notebook(page, _course(page)))
        data |= _unit_data(folder, root)
    made = {Path("solutions", unit, f"{unit}.ipynb"): content for unit, content in solutions.items()}
    made |= {Path("exercises", unit, f"{unit}.ipynb"): content for unit, content in released(solutions).items()}
    return made | data


def _unit_data(folder: Path, root: Path) -> dict[Path, bytes]:
    """The package data of a unit: what it is, cards, truths and claims as they are, the checks without code."""
    target = UNITS / folder.name
    data = {target / "__init__.py": f'"""Built from lessons/{folder.name}; change it there."""\n'.encode()}
    page = read_page(folder / "lesson.md", root)
    course = page.front["course"]
    about = {key: course[key] for key in ("title", "minutes", "part") if key in course}
    about["cells"] = cells_by_call(notebook(page, _course(page)))
    data[target / "unit.json"] = (json.dumps(about, indent=1, ensure_ascii=False) + "\n").encode()
    data |= {target / name: (folder / name).read_bytes() for name in UNIT_DATA if (folder / name).exists()}
    if checks := load_checks(folder, root):
        cases = {check.id: public_cases(check) for check in checks}
        data[target / "checks.json"] = (json.dumps(cases, indent=1, ensure_ascii=False) + "\n").encode()
    return data


def cells_by_call(nb: nbformat.NotebookNode) -> dict[str, str]:
    """Card id, or "verdicts", -> the id of the first cell that shows it, so that others can link there."""
    found: dict[str, str] = {}
    for cell in nb.cells:
        if cell.cell_type == "code":
            for id in re.findall(r"\bcard\(\"([^\"]+)\"\)", cell.source):
                found.setdefault(id, cell.id)
            if re.search(r"\bverdicts\(", cell.source):
                found.setdefault("verdicts", cell.id)
    return found


def released(solutions: dict[str, bytes]) -> dict[str, bytes]:
    """What nbgrader's generate_assignment makes of solution notebooks, by unit; no gradebook is left."""
    if not solutions:
        return {}
    from nbgrader.converters import GenerateAssignment
    from nbgrader.converters.base import NbGraderException
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(ROOT)).load_config()
    with tempfile.TemporaryDirectory() as course:
        config.CourseDirectory.root = course
        config.SaveCells.enabled = False
        config.GenerateAssignment.no_database = True
        release = {}
        for unit, content in solutions.items():
            _write(Path(course, "solutions", unit, f"{unit}.ipynb"), content)
            log = logging.Logger("nbgrader", logging.ERROR)
            messages = _Messages(log)
            try:
                coursedir = CourseDirectory(config=config, log=log)
                coursedir.assignment_id = unit
                GenerateAssignment(coursedir=coursedir, config=config, log=log).start()
            except NbGraderException as error:
                raise BuildError(f"lessons/{unit}/exercises.md: nbgrader: {messages.first or error}") from None
            release[unit] = Path(course, "exercises", unit, f"{unit}.ipynb").read_bytes()
        return release


class _Messages(logging.Handler):
    """Keeps the first line of the first message that reaches a logger."""

    def __init__(self, log: logging.Logger):
        super().__init__()
        self.first = ""
        log.addHandler(self)

    def emit(self, record):
        self.first = self.first or record.getMessage().splitlines()[0]


def strays(root: Path, made: Iterable[Path]) -> list[Path]:
    """Files in the built folders that no lesson makes; `made` are the paths of `derived`."""
    expected = {*made, *(_notebook_path(folder.name) for folder in units(root)), UNITS / "__init__.py"}
    built = [root / folder for folder in ("notebooks", "solutions", "exercises", UNITS)]
    present = (path.relative_to(root) for folder in built if folder.is_dir() for path in files(folder))
    return sorted(path for path in present if path not in expected)


# --------------------------------------------------------------------------------------------------------- executing


def without_outputs(content: bytes) -> bytes:
    """A notebook file as it was before execution."""
    nb = nbformat.reads(content.decode(), as_version=4)
    for cell in nb.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return to_bytes(nb)


def _is_current(path: Path, nb: nbformat.NotebookNode) -> bool:
    """Whether the file at `path` is `nb`, executed: same cells and metadata, so the same hash of the folder."""
    if not path.exists():
        return False
    try:
        content = path.read_bytes()
        stored = nbformat.reads(content.decode(), as_version=4)
        executed = all(cell.execution_count for cell in stored.cells if cell.cell_type == "code")
        return executed and without_outputs(content) == to_bytes(nb)
    except (ValueError, nbformat.ValidationError):
        return False


def execute(nb: nbformat.NotebookNode, root: Path, unit: str) -> nbformat.NotebookNode:
    """A copy of `nb` with outputs, run in an empty folder. Raises `BuildError` at the first cell that fails."""
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError

    nb, language = nbformat.from_dict(nb), nb.metadata.language_info
    cells, running = read_page(root / "lessons" / unit / "lesson.md", root).cells, [0]
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            nb,
            kernel_name="python3",
            timeout=SECONDS_PER_CELL,
            extra_arguments=["--log-level=40"],  # no warning about TCP
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
            on_cell_start=lambda cell, cell_index: running.__setitem__(0, cell_index),
        )
        try:
            client.execute(env={**os.environ, "COURSE_STATIC": "1", "COURSE_HOME": folder})
        except (CellExecutionError, CellControlSignal, DeadKernelError) as error:
            said = str(getattr(error, "evalue", error)).strip().splitlines() or [""]
            kind = getattr(error, "ename", type(error).__name__)
            line = cells[running[0]].source_line
            raise BuildError(f"lessons/{unit}/lesson.md:{line}: the cell failed: {kind}: {said[-1]}") from None
        nb.metadata.language_info = language  # the kernel puts its Python version in
        for index, text in private(nb, folder):
            line = cells[index].source_line
            raise BuildError(f"lessons/{unit}/lesson.md:{line}: the output shows a path, host or user: {text!r}")
        for index in images_without_words(nb):
            raise BuildError(f"lessons/{unit}/lesson.md:{cells[index].source_line}: {HOW}")
    return nb


PRIVATE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|tmp|var|private|work|opt|usr|mnt|srv|data)/[^\s\"'<>]+|\b[A-Z]:\\\w+"
)


def private(nb: nbformat.NotebookNode, *places: str) -> list[tuple[int, str]]:
    """(cell index, text) of every output that names an absolute path, this host, this user or one of `places`."""
    names = {socket.gethostname()}
    with contextlib.suppress(OSError, KeyError):  # a user without a name, as in some containers
        names.add(getpass.getuser())
    names -= {"localhost", "root", "runner", "user"}  # everyday words
    words = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names) if len(name) > 3) or r"(?!)")
    found = []
    for index, cell in enumerate(nb.cells):
        for output in cell.get("outputs", []):
            for text in _texts(output):
                hits = [PRIVATE_PATH.search(text), words.search(text)]
                found += [(index, hit[0]) for hit in hits if hit] + [
                    (index, place) for place in places if place in text
                ]
    return found


def _texts(output) -> list[str]:
    """The texts of an output: streams, tracebacks, and all data that is no image."""
    data = [value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")]
    texts = [value if isinstance(value, str) else json.dumps(value) for value in data]
    return [output.get("text", ""), *output.get("traceback", []), *texts]


# ----------------------------------------------------------------------------------------------------------- helpers


def _write(path: Path, content: bytes) -> None:
    """Write only what changes, so that unchanged files keep their time."""
    if not (path.exists() and path.read_bytes() == content):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _progress(names: list[str]):
    """The names, with a progress bar where tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return names
    return tqdm(names, desc="executing", unit="notebook", disable=None)


if __name__ == "__main__":
    sys.exit(main())
