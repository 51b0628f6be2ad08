"""`course grade`: intake, sandbox, results, hand-over. Every student of the roster gets a row.

What a student handed in is read each time, and run only if something has changed that its result depends on: the
answers, the task with its checks, the course key, or this library. Results are kept as they come (`kept`), so that an
interrupted run goes on where it was.
"""

import hashlib
import hmac
import itertools
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from course_lib.grading import tries
from course_lib.grading.intake import intake
from course_lib.grading.intake.intake import Held, Submission
from course_lib.grading.intake.roster import Student
from course_lib.grading.intake.task import Task
from course_lib.grading.results import book, pages
from course_lib.grading.results.feedback import explained
from course_lib.grading.results.kept import Store
from course_lib.grading.sandbox.engine import Engine
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
    secret: Sequence[Path] = ()


def units_in(roots: Sequence[Path], submitted: Path) -> list[str]:
    """The units of these checkouts for which somebody handed something in, by the names of folders and notebooks."""
    units = sorted(path.name for root in roots for path in (root / "exercises").glob("*") if path.is_dir())
    paths = (path for pattern in ("*/*", "*/*/*") for path in submitted.glob(pattern))
    names = {path.name for path in paths if path.is_dir() or intake.is_notebook(path.name)}
    return [unit for unit in units if any(unit in name for name in names)]


def grade(
    course: Course,
    tasks: Sequence[Task],
    roster: Sequence[Student],
    *,
    only: Sequence[str] = (),
    again: bool = False,
    gradebook: bool = True,
) -> list[str]:
    """Grade all, write everything, and return what to tell the teaching assistant, line by line.

    only    ids of the students whose work is run (none: all); what is kept of the others stays.
    again   run also where a result is kept that still holds.
    """
    lines = []
    with Store(course.folder / ".grading") as store:
        by_task = {task.unit: _rows(course, task, roster, store) for task in tasks}
        _run(course, by_task, tasks, store, only, again)
        _, strangers = intake.folders(course.submitted, roster)
        for task in tasks:
            rows = by_task[task.unit]
            entries = {}
            if gradebook:
                _hand_over(course, task, rows, store)
                entries = book.entries(course.folder, task)
            lines += pages.write(course.folder / "grades" / task.unit, task, rows, entries, strangers)
    return lines


# ------------------------------------------------------------------------------------------------- what is to be run


def _rows(course: Course, task: Task, roster: Sequence[Student], store: Store) -> list[Row]:
    """A row for every student; those whose result is kept and still holds have it."""
    folders, _ = intake.folders(course.submitted, roster)
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
    course: Course,
    by_task: Mapping[str, Sequence[Row]],
    tasks: Sequence[Task],
    store: Store,
    only: Sequence[str],
    again: bool,
) -> None:
    """Run what has no result yet, and keep each result as it comes."""
    open_rows = {
        f"{task.unit} {row.student.id}": (task, row)
        for task in tasks
        for row in by_task[task.unit]
        if row.submission and (row.held or again) and (not only or row.student.id in only)
    }
    if not open_rows:
        return
    submissions = {name: (task, row.submission) for name, (task, row) in open_rows.items()}
    with Engine(secret=_secret(course)) as engine, _progress(len(open_rows)) as progress:
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


def _progress(total: int):
    from tqdm import tqdm

    return tqdm(total=total, desc="grading", unit="submission", disable=None)


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
    digests = {}
    for item in task.items:
        content = json.dumps([row.submission.answers[item.answer], pages.automatic(task, item, row)])
        digests[item.grade_id] = hashlib.sha256(content.encode()).hexdigest()
    digests[""] = hashlib.sha256(f"{row.digest} {date}".encode()).hexdigest()
    return digests


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
