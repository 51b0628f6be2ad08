"""`course grade`: intake, sandbox, results, hand-over. Every student of the roster gets a row.

What a student handed in is read each time, and run only if something has changed that its result depends on: the
answers, the task with its checks, the course key, or this library. Results are kept as they come (`kept`), so that an
interrupted run goes on where it was.
"""

import hashlib
import hmac
import itertools
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading import tries
from course_lib.grading.intake import intake
from course_lib.grading.intake.intake import Held, Submission
from course_lib.grading.intake.roster import Student, read_roster
from course_lib.grading.intake.task import Task
from course_lib.grading.private import root_of
from course_lib.grading.results import book, pages
from course_lib.grading.results.feedback import explained
from course_lib.grading.results.kept import Store
from course_lib.grading.sandbox.engine import Engine
from course_lib.grading.seeds import new_key, read_key, write_key
from course_lib.grading.sentences import say
from course_lib.teaching import checks
from course_lib.teaching.checks.check_form import HIDDEN


@dataclass
class Row:
    """A student in a unit: the submission with its result, or the reason why it is held.

    kind     the key of the reason's sentence.
    result   what is kept of it (`tries.Result`).
    """

    student: Student
    folder: str | None
    submission: Submission | None = None
    kind: str = ""
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    digest: str = ""
    result: Mapping | None = None

    @property
    def held(self) -> bool:
        """Whether no grade can be given: a person must look, or nothing was handed in."""
        return self.result is None

    @property
    def nothing(self) -> bool:
        return self.kind in intake.NOTHING

    def hold(self, kind: str, **values) -> None:
        self.kind, self.reason = kind, say("held", kind, **values)


@dataclass(frozen=True)
class Course:
    """Where things are: the course folder with the gradebook, the submissions; and the course key.

    secret   files that no student's code may see, beside those in these folders.
    """

    folder: Path
    submitted: Path
    key: bytes
    secret: Sequence[Path]


def grade(
    root: Path,
    submitted: str | Path,
    roster: str | Path,
    *,
    units: Sequence[str] | None = None,
    only: Sequence[str] = (),
    again: bool = False,
    private: str | Path | None = None,
    course: str | Path | None = None,
    key: str | Path | None = None,
    gradebook: bool = True,
) -> list[str]:
    """Grade what lies in `submitted` with the lessons of the checkout `root`, and write everything; returns what to
    tell the teaching assistant, line by line.

    only       ids of the students whose work is run (none: all); what is kept of the others stays.
    again      run also what has a result that still holds.
    private    folder of private units, built; theirs are graded like those of the checkout.
    course     folder of the gradebook and of all results; None: the one that holds `submitted`.
    key        file of the course key; None: `$COURSE_KEY`, else one in the user's settings, made if there is none.
    gradebook  whether to write nbgrader's gradebook and `autograded/`.
    """
    submitted = Path(submitted).absolute()
    if not submitted.is_dir():
        raise ValueError(f"SUBMITTED must be a folder with one folder for each student; {submitted} is none")
    folder = Path(course).absolute() if course else submitted.parent
    if gradebook and submitted != folder / "submitted":
        raise ValueError(
            f"nbgrader reads {folder / 'submitted'}, not {submitted}: name the folder so, or grade with --no-gradebook"
        )
    students = read_roster(Path(roster))
    if unknown := sorted(set(only) - {student.id for student in students}):
        raise ValueError(f"--student {unknown[0]}: the roster {roster} holds no such id")
    own = Path(private).absolute() if private else None
    names = units or units_in([root, *([own] if own else [])], submitted)
    if not names:
        raise ValueError(f"{submitted} holds no file or folder that is named after a unit; name the unit with --unit")
    roots = {unit: root_of(unit, root, own) for unit in names}
    tasks = [Task.load(home, unit) for unit, home in roots.items()]
    secret, kept, lines = _key(key)
    sources = [home / "lessons" / unit / "checks.py" for unit, home in roots.items()]
    place = Course(folder, submitted, secret, [kept, Path(roster).absolute(), *sources])
    with Store(folder / ".grading") as store:
        folders, strangers = intake.folders(submitted, students)
        graded = [(task, _rows(place, task, students, folders, store)) for task in tasks]
        _run(place, graded, store, only, again)
        for task, rows in graded:
            entries = {}
            if gradebook:
                _hand_over(place, task, rows, store)
                entries = book.entries(folder, task)
            lines += pages.write(folder / "grades" / task.unit, task, rows, entries, strangers)
    return lines


def units_in(roots: Sequence[Path], submitted: Path) -> list[str]:
    """The units of these checkouts for which somebody handed something in, by the names of folders and notebooks."""
    units = sorted(path.name for root in roots for path in (root / "exercises").glob("*") if path.is_dir())
    paths = (path for pattern in ("*/*", "*/*/*") for path in submitted.glob(pattern))
    names = {path.name for path in paths if path.is_dir() or intake.is_notebook(path.name)}
    return [unit for unit in units if any(unit in name for name in names)]


def _key(named: str | Path | None) -> tuple[bytes, Path, list[str]]:
    """The course key, its file, and what to say of it. A file that nobody names lies in the user's settings."""
    named = named or os.environ.get("COURSE_KEY")
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    path = Path(named).absolute() if named else settings / "where-did-the-flops-go" / "course.key"
    if named or path.exists():
        return read_key(path), path, []
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_key(path, new_key())
    return read_key(path), path, [say("new-key", path=path)]


# ------------------------------------------------------------------------------------------------- what is to be run


def _rows(course: Course, task: Task, roster: Sequence[Student], folders: Mapping[str, str], store: Store) -> list[Row]:
    """A row for every student; those whose result is kept and still holds have it."""
    known, common = store.results(task.unit), _common_digest(course.key, task)
    rows = []
    for student in roster:
        row = Row(student, folders.get(student.id))
        rows.append(row)
        try:
            row.submission = intake.submission(course.submitted, row.folder, student.id, task)
        except Held as held:
            row.hold(held.kind, **held.values)
            continue
        row.notes = list(row.submission.notes)
        row.digest = hashlib.sha256(common + row.submission.digest.encode()).hexdigest()
        digest, result = known.get(student.id, ("", None))
        if digest == row.digest:
            row.result = result
        else:
            row.hold("not_run")
    return rows


def _common_digest(key: bytes, task: Task) -> bytes:
    """Of all that every result of a task depends on: the task, the key, this library, the Python that runs it."""
    digest = hashlib.sha256(f"{task.digest} {platform.python_version()} {HIDDEN}".encode())
    digest.update(hmac.new(key, b"digest", hashlib.sha256).digest())
    rooms = Path(__file__).parent, Path(checks.__file__).parent
    for path in sorted(path for room in rooms for kind in ("*.py", "*.toml") for path in room.rglob(kind)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()


def _run(
    course: Course, graded: Sequence[tuple[Task, Sequence[Row]]], store: Store, only: Sequence[str], again: bool
) -> None:
    """Run what has no result yet, and keep each result as it comes."""
    open_rows = {
        f"{task.unit} {row.student.id}": (task, row)
        for task, rows in graded
        for row in rows
        if row.submission and (row.held or again) and (not only or row.student.id in only)
    }
    if not open_rows:
        return
    from tqdm import tqdm

    submissions = {name: (task, row.submission) for name, (task, row) in open_rows.items()}
    shown = {"total": len(open_rows), "desc": "grading", "unit": "submission", "disable": None}
    with Engine(secret=_secret(course)) as engine, tqdm(**shown) as progress:
        for name, (result, seeds) in tries.results(engine, course.key, submissions):
            task, row = open_rows[name]
            row.result, row.kind, row.reason = json.loads(json.dumps(result)), "", ""
            store.put(task.unit, row.student.id, row.digest, row.result, seeds)
            progress.update()


def _secret(course: Course) -> list[Path]:
    """Files that the self-test looks for: some of each kind that students' code could gain by."""
    handed_in = (path for pattern in ("*/*.ipynb", "*/*/*.ipynb") for path in course.submitted.glob(pattern))
    own = (path for path in course.folder.glob("*") if path.is_file())
    kept = course.folder / ".grading" / "results.db"
    return [*course.secret, kept, *itertools.islice(own, 20), *itertools.islice(handed_in, 20)]


# ----------------------------------------------------------------------------------------------------- the hand-over


def _hand_over(course: Course, task: Task, rows: Sequence[Row], store: Store) -> None:
    """Give nbgrader what it has not yet, or has in an older form."""
    before, known = store.handed_over(task.unit), book.submissions(course.folder, task)
    graded, marks = [], {}
    for row in rows:
        if row.submission is None:
            continue
        folder = course.submitted / row.folder / task.unit
        date, readable = book.timestamp(folder)
        if not readable:
            row.notes.append(say("notes", "timestamp"))
        if row.held:
            continue
        digests = _item_digests(task, row, date)
        old = before.get(row.student.id, {}) if row.student.id in known else {}
        notebook = course.folder / "autograded" / row.student.id / task.unit / f"{task.unit}.ipynb"
        if old == digests and notebook.is_file():
            continue
        marks[row.student.id] = digests
        same = {id for id, digest in digests.items() if old.get(id) == digest}
        points = {item.grade_id: pages.automatic(task, item, row) for item in task.items}
        graded.append(book.HandOver(row.student.id, points, same, _notebook(task, row), date))
    book.hand_over(course.folder, task, [row.student for row in rows], graded)
    store.mark_handed_over(task.unit, marks)


def _item_digests(task: Task, row: Row, date) -> dict[str, str]:
    """A digest of each item's answer and points, and under "" one of the whole hand-over."""
    contents = {
        item.grade_id: json.dumps([row.submission.answers[item.answer], pages.automatic(task, item, row)])
        for item in task.items
    }
    contents[""] = f"{row.digest} {date}"
    return {id: hashlib.sha256(content.encode()).hexdigest() for id, content in contents.items()}


def _notebook(task: Task, row: Row) -> dict:
    """The notebook that formgrader shows: as released, with the answers, and under each check what it said."""
    texts = {answer.grade_id for answer in task.answers if answer.text}
    answers = {id: book.harmless(text) if id in texts else text for id, text in row.submission.answers.items()}
    notebook = task.rebuilt(answers)
    for item in task.items:
        if item.check:
            scored = row.result["scored"][item.column]
            data = {"text/plain": f"{scored['points']:g}", "text/html": pages.as_html(explained(item, scored))}
            output = {"output_type": "execute_result", "execution_count": 1, "data": data, "metadata": {}}
            notebook["cells"][item.index] |= {"outputs": [output], "execution_count": 1}
    return notebook
