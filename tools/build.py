"""`lessons/` -> `notebooks/` (executed), `solutions/`, `exercises/` (nbgrader's release and the checks' public cases).

    python -m tools.build            lint, then build; a notebook is executed only if what decides its outputs changed
    python -m tools.build q05        that unit alone (prefix or folder name; several are allowed)
    python -m tools.build --all      execute every notebook
    python -m tools.build --lint     lint only
    python -m tools.build --check    drift: does what is committed come from lessons/? Executes and writes nothing

One way only: nothing is read back from a notebook but its outputs. All but outputs is the same at every build.
"""

import argparse
import contextlib
import getpass
import hashlib
import json
import logging
import os
import re
import socket
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import nbformat

from course_lib import units as course_units
from course_lib.teaching.checks.check import public_cases
from tools import keep, prose, terms
from tools.core_path import Times, fill, folded, times
from tools.freshness import LIBRARY, changed, made_from
from tools.lint import SECRET, lint
from tools.outputs import HOW, images_without_words
from tools.source import Page, SourceError, files, load_checks, notebook, read_page, to_bytes, units
from tools.trials import tried

ROOT = Path(__file__).resolve().parent.parent
KERNEL = Path(__file__).with_name("watched_kernel.py")
SECONDS_PER_CELL = 300
MAP = "{{units}}"
"""In the text of a lesson: the table of all units by part."""
TRACKS = "{{tracks}}"
"""In the text of a lesson: the ways through the course that its front matter names, with their summed minutes."""
CLAIMS = "{{claims}}"
"""In the text of a lesson: the table of all units with claims on trial, each with the anchor of its prefix."""

README_MAP = re.compile(r"(<!-- units: .*?-->)\n.*?\n(<!-- end of units -->)", re.DOTALL)


class BuildError(Exception):
    """What stops a build, in one line for the author."""


def main(argv: list[str] | None = None, root: Path = ROOT) -> int:
    """The command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="course build", description="Build the notebooks from lessons/.")
    parser.add_argument("unit", nargs="*", help="units to build, by prefix or folder name (default: all)")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--all", action="store_true", help="execute every notebook, changed or not")
    mode.add_argument("--lint", action="store_true", help="only check the sources")
    mode.add_argument("--check", action="store_true", help="compare what is built with the sources; execute nothing")
    mode.add_argument("--draft", action="store_true", help="execute once, on a busy machine too; drafts stay stale")
    options = parser.parse_args(argv)
    try:
        problems = lint(root, options.unit)
        if not problems and options.check:
            problems = drift(root, options.unit)
        if not problems and not (options.check or options.lint):
            build(root, options.unit, everything=options.all, draft=options.draft)
    except SourceError as error:
        problems = error.problems
    except BuildError as error:
        problems = [error]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def build(root: Path, chosen: Sequence[str] = (), everything: bool = False, draft: bool = False) -> list[str]:
    """Write all that is built of the chosen units (default: all), and execute the notebooks whose outputs are stale;
    returns the names of the executed units. A draft takes what one run measures, and stays stale.
    """
    made = derived(root, chosen)
    for path, content in made.items():
        _write(root / path, content)
    pages = lesson_notebooks(root, chosen)
    stale = [unit for unit, nb in pages.items() if everything or why_stale(root, unit, nb)]
    for unit in pages.keys() - set(stale):
        _write(root / _notebook_path(unit), to_bytes(_with_outputs(pages[unit], _stored(root, unit))))
    for unit in _progress(stale):
        _write(root / _notebook_path(unit), to_bytes((drafted if draft else execute)(pages[unit], root, unit)))
    for path in strays(root, made) if not chosen else ():
        print(f"{path}: no lesson makes this file; remove it", file=sys.stderr)
    print(f"{len(stale)} of {len(pages)} notebooks executed; the others are up to date.")
    return stale


def drift(root: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Every committed file that the sources do not make, or make differently, and every notebook whose outputs are
    stale, with what is wrong.
    """
    found, made = [], derived(root, chosen)
    for path, content in made.items():
        if not (root / path).exists():
            found.append(f"{path}: missing; run `make build`")
        elif (root / path).read_bytes() != content:
            found.append(f"{path}: differs from what lessons/ makes; run `make build`")
    for unit, nb in lesson_notebooks(root, chosen).items():
        path = _notebook_path(unit)
        if not (root / path).exists():
            found.append(f"{path}: missing; run `make build`")
        elif (why := why_stale(root, unit, nb)) != prose.ANOTHER and not _same_text(root, unit, nb):
            found.append(f"{path}: its cells or metadata differ from what lessons/{unit} makes; run `make build`")
        elif why:
            found.append(f"{path}: its outputs are stale: {why}; run `make build`")
        else:
            found += [f"{path}: {fault}" for fault in _wordless(root, unit)]
    strange = strays(root, made) if not chosen else ()
    return found + [f"{path}: no lesson makes this file; remove it" for path in strange]


def _same_text(root: Path, unit: str, nb: nbformat.NotebookNode) -> bool:
    """Whether the built notebook of a unit is that of its lesson, but for its outputs."""
    stored = _stored(root, unit)
    texts = prose.values(nb, stored) if stored else None
    return texts is not None and to_bytes(without_outputs(stored)) == to_bytes(prose.filled(nb, texts))


def _wordless(root: Path, unit: str) -> list[str]:
    """The cell, and its line in the lesson, of every image of a stored output that no words describe."""
    stored = nbformat.read(root / _notebook_path(unit), as_version=4)
    cells = read_page(root / "lessons" / unit / "lesson.md", root).cells
    places = [(index + 1, cells[index].source_line) for index in images_without_words(stored)]
    return [f"cell {number} (lessons/{unit}/lesson.md:{line}): {HOW}" for number, line in places]


# ------------------------------------------------------------------------------------------------------ what is built


def _notebook_path(unit: str) -> Path:
    return Path("notebooks", f"{unit}.ipynb")


def lesson_notebooks(root: Path, chosen: Sequence[str] = ()) -> dict[str, nbformat.NotebookNode]:
    """Unit -> its lesson as a notebook without outputs.

    Slides show the cells that the lesson marks for them, so all others are marked to be skipped.
    """
    notebooks = {}
    for folder in units(root, chosen):
        page, taken = read_page(folder / "lesson.md", root), _times(folder, root)
        nb = notebook(page, _course(page, taken.core))
        for cell, minutes in zip(nb.cells, taken.cells, strict=True):
            if "slideshow" not in cell.metadata:
                cell.metadata["slideshow"] = {"slide_type": "skip"}
            if cell.cell_type == "markdown":
                cell.source = fill(cell.source, taken, minutes)
            if cell.cell_type == "markdown" and MAP in cell.source:
                cell.source = cell.source.replace(MAP, unit_map(root))
            if cell.cell_type == "markdown" and TRACKS in cell.source:
                tracks = track_map(root, page.front["course"].get("tracks", {}))
                cell.source = cell.source.replace(TRACKS, tracks)
            if cell.cell_type == "markdown" and CLAIMS in cell.source:
                cell.source = cell.source.replace(CLAIMS, claim_map(root))
        terms.with_hovers(nb, page, terms.known(root, folder.name))
        notebooks[folder.name] = nb
    return notebooks


def _course(page: Page, minutes: int) -> dict:
    return {key: page.front["course"][key] for key in ("unit", "title")} | {"minutes": minutes}


def _times(folder: Path, root: Path) -> Times:
    """How long a unit takes."""
    exercises = folder / "exercises.md"
    pages = (read_page(path, root) if path.exists() else None for path in (folder / "lesson.md", exercises))
    return times(*pages)


def unit_map(root: Path, notebooks: str = "") -> str:
    """The units that belong to a part as a table. `notebooks` stands before the names of notebooks in its links."""
    folders = {folder.name: folder for folder in units(root)}
    fronts = {name: read_page(folder / "lesson.md", root).front["course"] for name, folder in folders.items()}
    lines = ["| part | question | lesson | core path | deeper | exercises |", "| --- | --- | --- | --- | --- | --- |"]
    for part in dict.fromkeys(filter(None, (front.get("part") for front in fronts.values()))):
        rows = [
            f"**{front['title']}** | [**open**]({notebooks}{name}.ipynb) | {_minutes(_times(folders[name], root))} |"
            for name, front in fronts.items()
            if front.get("part") == part
        ]
        lines += [f"| {'' if i else part} | {row}" for i, row in enumerate(rows)]
    return "\n".join(lines)


def _minutes(taken: Times) -> str:
    """Three cells of the map."""
    return " | ".join(f"{minutes} min" if minutes else "–" for minutes in (taken.core, taken.deeper, taken.exercises))


def track_map(root: Path, tracks: Mapping[str, Sequence[Sequence[str]]]) -> str:
    """The ways through the course as a table. tracks: name -> the numbers ("Q8+", "Case 1") of the lessons of each
    session. A number that no lesson has is a `BuildError`.
    """
    here = {}
    for folder in units(root):
        title = read_page(folder / "lesson.md", root).front["course"]["title"]
        here[title.partition(". ")[0]] = (folder.name, _times(folder, root).core)
    lines = ["| way | session | lessons | core paths |", "| --- | --- | --- | --- |"]
    for track, sessions in tracks.items():
        numbers = [number for session in sessions for number in session]
        if lost := [number for number in numbers if number not in here]:
            raise BuildError(f"course.tracks: {track!r} names {lost[0]!r}, which no lesson has")
        whole = sum(here[number][1] for number in numbers)
        lines.append(f"| **{track}** | {len(sessions)} | {len(numbers)} lessons | **{whole} min** |")
        for n, session in enumerate(sessions, 1):
            names = (f"[{each}]({here[each][0]}.ipynb)" for each in session)
            lines.append(f"| | {n} | {', '.join(names)} | {sum(here[each][1] for each in session)} min |")
    return "\n".join(lines)


def claim_map(root: Path) -> str:
    """The units with claims on trial as a table: how many each has, and how many of them its lesson votes on. Links
    such as `claims.ipynb#q05` lead to the rows.
    """
    lines = ["| lesson | claims | voted on in the lesson |", "| --- | --- | --- |"]
    for folder in units(root):
        cards = folder / "cards.toml"
        tables = tomllib.loads(cards.read_text(encoding="utf-8")) if cards.exists() else {}
        claims = [table for table in tables.values() if table.get("kind") == "claim"]
        if claims:
            title = read_page(folder / "lesson.md", root).front["course"]["title"]
            name = f'<a id="{course_units.prefix(folder.name)}"></a>[{title}]({folder.name}.ipynb)'
            lines.append(f"| {name} | {len(claims)} | {sum(not claim.get('docket') for claim in claims)} |")
    return "\n".join(lines)


def derived(root: Path, chosen: Sequence[str] = ()) -> dict[Path, bytes]:
    """Path -> content of every built file but the executed notebooks."""
    solutions, made = {}, {}
    for folder in units(root, chosen):
        unit, page, taken = folder.name, read_page(folder / "lesson.md", root), _times(folder, root)
        about = {key: page.front["course"][key] for key in ("title", "part") if key in page.front["course"]}
        about |= {"minutes": taken.core, "deeper": taken.deeper, "exercises": taken.exercises}
        nb = notebook(page, _course(page, taken.core))
        about |= {"cells": cells_by_call(nb)}
        ids = {cell.line: node.id for cell, node in zip(page.cells, nb.cells, strict=True)}
        if below := folded(page):
            about |= {"folded": {ids[line]: ids[head] for line, head in below.items()}}
        if own := terms.read(folder)[0]:
            about |= {"terms": terms.introductions(nb, own)}
        made[Path("notebooks", f"{unit}.json")] = _json(about)
        if (folder / "exercises.md").exists():
            page = read_page(folder / "exercises.md", root)
            solutions[unit] = to_bytes(with_canaries(notebook(page, _course(page, taken.exercises))))
        if checks := load_checks(folder, root):
            shown = tried(folder, root)
            made[Path("exercises", unit, "checks.json")] = _json(
                {check.id: public_cases(check, shown[check.id].drawn) for check in checks}
            )
    if (root / "README.md").exists():
        made[Path("README.md")] = readme(root).encode()
    made |= {Path("solutions", unit, f"{unit}.ipynb"): content for unit, content in solutions.items()}
    return made | {Path("exercises", unit, f"{unit}.ipynb"): content for unit, content in released(solutions).items()}


def readme(root: Path) -> str:
    """The README with the map of the units that there are between its two comments."""
    text = (root / "README.md").read_text(encoding="utf-8")
    return README_MAP.sub(lambda found: f"{found[1]}\n{unit_map(root, 'notebooks/')}\n{found[2]}", text)


def _json(data: Mapping) -> bytes:
    return (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode()


def with_canaries(nb: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with a comment in every solution and mark scheme that no other has, which nothing may give away."""
    for cell in nb.cells:
        lines = []
        for line in cell.source.split("\n"):
            lines.append(line)
            if (mark := SECRET.search(line)) and mark[1] == "BEGIN":
                place = f"{nb.metadata.course.unit} {cell.id} {len(lines)}"
                canary = f"canary-{hashlib.sha256(place.encode()).hexdigest()[:8]}"
                indent = line[: len(line) - len(line.lstrip())]
                lines.append(f"{indent}# {canary}" if cell.cell_type == "code" else f"<!-- {canary} -->")
        cell.source = "\n".join(lines)
    return nb


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
    expected = {*made, *(_notebook_path(folder.name) for folder in units(root))}
    built = [root / folder for folder in ("notebooks", "solutions", "exercises")]
    present = (path.relative_to(root) for folder in built if folder.is_dir() for path in files(folder))
    return sorted(path for path in present if path not in expected)


# --------------------------------------------------------------------------------------------------------- executing


def without_outputs(nb: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of a notebook without what executing it added; the values in its text stay."""
    nb = nbformat.from_dict(nb)
    for key in ("made_from", "measured", "values", "draft"):
        nb.metadata.get("course", {}).pop(key, None)
    for cell in _code(nb):
        cell.outputs, cell.execution_count = [], None
    return nb


def why_stale(root: Path, unit: str, nb: nbformat.NotebookNode) -> str:
    """Why the outputs in a unit's notebook are not those that its lesson `nb` has today; empty where they are."""
    stored = _stored(root, unit)
    if stored is None or not all(cell.execution_count for cell in _code(stored)):
        return "it was not executed"
    if [(cell.source, cell.metadata.get("tags")) for cell in _code(stored)] != [
        (cell.source, cell.metadata.get("tags")) for cell in _code(nb)
    ]:
        return "its code is another one"
    if prose.values(nb, stored) is None:
        return prose.ANOTHER
    if stored.metadata.get("course", {}).get("draft"):
        return "it is a draft"
    folder = root / "lessons" / unit
    news = changed(root, folder, stored.metadata.get("course", {}).get("made_from", {}), _reads(root, unit))
    return f"{', '.join(news[:3])} changed" if news else ""


def _stored(root: Path, unit: str) -> nbformat.NotebookNode | None:
    """The executed notebook of a unit; None where there is none that can be read."""
    try:
        return nbformat.read(root / _notebook_path(unit), as_version=4)
    except (OSError, ValueError, nbformat.ValidationError):
        return None


def _code(nb: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def _reads(root: Path, unit: str) -> Sequence[str]:
    return read_page(root / "lessons" / unit / "lesson.md", root).front["course"].get("reads", ())


def _with_outputs(nb: nbformat.NotebookNode, stored: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """A copy of `nb` with the outputs of a notebook that has the same code, and the values that its prose asks for."""
    texts = prose.values(nb, stored)
    nb, before = prose.filled(nb, texts), stored.metadata.course
    nb.metadata.course |= {key: before[key] for key in ("made_from", "measured") if key in before}
    _keep_values(nb, texts)
    for cell, before in zip(_code(nb), _code(stored), strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return nb


def execute(nb: nbformat.NotebookNode, root: Path, unit: str) -> nbformat.NotebookNode:
    """A copy of `nb` with outputs and what they were made from, run in an empty folder; executed again where the
    machine was too busy to judge what was measured. Raises `BuildError` at the first cell that fails.
    """
    runs = []
    while len(runs) < keep.RUNS:
        runs.append(_run(nb, root, unit))
        if not runs[-1].doubts:
            return runs[-1].notebook
    whole = [run for run in runs if run.notebook]
    if not whole:  # what fails each time on a quiet machine is not noise
        raise BuildError(runs[-1].doubts[0])
    made = keep.kept(whole[-1].notebook, _stored(root, unit))
    if made is None:
        raise BuildError(f"{whole[-1].doubts[0]}; there are no measured outputs to keep, so build on a quiet machine")
    prefix, day = unit.partition("_")[0], made.metadata.course.measured
    print(f"{prefix}: the machine was busy; the measured outputs of {day} stay", file=sys.stderr)
    return made


def drafted(nb: nbformat.NotebookNode, root: Path, unit: str) -> nbformat.NotebookNode:
    """A copy of `nb` with the outputs of one run, on a busy machine too: for an author to look at."""
    run = _run(nb, root, unit)
    if run.notebook is None:
        raise BuildError(run.doubts[0])
    run.notebook.metadata.course.pop("measured", None)
    run.notebook.metadata.course.draft = True
    return run.notebook


@dataclass(frozen=True)
class Run:
    """An executed notebook, None where a judge stopped it; and what its judges doubt, with the lines of their cells."""

    notebook: nbformat.NotebookNode | None
    doubts: list[str]


def _run(nb: nbformat.NotebookNode, root: Path, unit: str) -> Run:
    """Execute a notebook once. Raises `BuildError` at the first cell that fails, unless a judge failed it."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellControlSignal, CellExecutionError, DeadKernelError

    nb, language = nbformat.from_dict(nb), nb.metadata.language_info
    cells, running = read_page(root / "lessons" / unit / "lesson.md", root).cells, [0]
    asked, texts, judged = prose.asked(nb), {}, []

    async def starts(cell, cell_index):
        running[0] = cell_index
        if cell_index in asked:
            above, fields = asked[cell_index]
            texts.setdefault(above, {}).update(await prose.evaluate(client, fields))

    def place() -> str:
        return f"lessons/{unit}/lesson.md:{cells[running[0]].source_line}"

    def executed(cell, cell_index, execute_reply):
        lines = verdicts.read_text(encoding="utf-8").splitlines()[len(judged) :]
        judged.extend((place(), *json.loads(line)) for line in lines)

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as aside:
        spec, verdicts = Path(aside, "python3", "kernel.json"), Path(aside, "judged")
        command = [sys.executable, str(KERNEL), aside, "-f", "{connection_file}"]
        _write(spec, _json({"argv": command, "display_name": "Python 3", "language": "python"}))
        kernels = KernelSpecManager(kernel_dirs=[aside])
        client = NotebookClient(
            nb,
            km=AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels),
            timeout=SECONDS_PER_CELL,
            extra_arguments=["--log-level=40"],  # no warning about TCP
            record_timing=False,
            coalesce_streams=True,
            resources={"metadata": {"path": folder}},
            on_cell_start=starts,
            on_cell_executed=executed,
        )
        try:
            paths = os.pathsep.join([str(LIBRARY), *filter(None, [os.environ.get("PYTHONPATH")])])  # as here
            env = {**os.environ, "COURSE_STATIC": "1", "COURSE_HOME": folder, "PYTHONPATH": paths}
            client.execute(env=env, cleanup_kc=True)
        except prose.FieldError as error:
            line = prose.line_of(cells[running[0]], error.args[0])
            raise BuildError(f"lessons/{unit}/lesson.md:{line}: {{{{{error.args[0]}}}}}: {error.args[1]}") from None
        except (CellExecutionError, CellControlSignal, DeadKernelError) as error:
            said = str(getattr(error, "evalue", error)).strip().splitlines() or [""]
            kind = getattr(error, "ename", type(error).__name__)
            failed = f"{place()}: the cell failed: {kind}: {said[-1]}"
            if judged and judged[-1][:3] == (place(), False, "quiet"):
                return Run(None, [failed])
            raise BuildError(failed) from None
        nb.metadata.language_info = language  # the kernel puts its Python version in
        for index, text in private(nb, folder):
            line = cells[index].source_line
            raise BuildError(f"lessons/{unit}/lesson.md:{line}: the output shows a path, host or user: {text!r}")
        for index in images_without_words(nb):
            raise BuildError(f"lessons/{unit}/lesson.md:{cells[index].source_line}: {HOW}")
        opened, recorded = (Path(aside, name).read_text().splitlines() for name in ("opened", "recorded"))
    nb = prose.filled(nb, texts)
    nb.metadata.course.made_from = made_from(root, root / "lessons" / unit, opened, recorded, _reads(root, unit))
    _keep_values(nb, texts)
    if keep.measured(nb):
        nb.metadata.course.measured = date.today().isoformat()
    unsure = [(line, claim) for line, holds, how, claim in judged if not (holds and how == "quiet")]
    return Run(nb, [f"{line}: the machine was too busy to judge whether {claim}" for line, claim in unsure])


def _keep_values(nb: nbformat.NotebookNode, texts: Mapping[str, Mapping[str, str]]) -> None:
    if texts:
        nb.metadata.course["values"] = texts


PRIVATE_PATH = re.compile(
    r"(?<![\w.:/])/(?:home|Users|root|tmp|var|private|work|opt|usr|mnt|srv|data)/[^\s\"'<>]+|\b[A-Z]:\\\w+"
)


def private(nb: nbformat.NotebookNode, *places: str) -> list[tuple[int, str]]:
    """(cell index, text) of every output that names an absolute path, this host, this user or one of `places`."""
    names = {socket.gethostname()}
    with contextlib.suppress(OSError, KeyError):  # a user without a name, as in some containers
        names.add(getpass.getuser())
    names -= {"course", "docker", "learner", "localhost", "root", "runner", "student", "teacher", "user"}  # words
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
