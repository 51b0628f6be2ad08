"""`course grade`: intake, sandbox, results, hand-over. Every student of the roster gets a row.

What a student handed in is read each time, and run only if something has changed that its result depends on: the
answers, the task with its checks, the course key, or this library. Results are kept as they come (`kept`), so that an
interrupted run goes on where it was.
"""

import hashlib
import hmac
import json
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from course_lib.grading.intake import intake
from course_lib.grading.intake.intake import Held, Submission
from course_lib.grading.intake.roster import Student
from course_lib.grading.intake.task import Item, Task
from course_lib.grading.results import book, pages
from course_lib.grading.results.feedback import explained
from course_lib.grading.results.kept import Store
from course_lib.grading.results.scoring import calls_for, score
from course_lib.grading.sandbox.engine import Answered, Engine, Job
from course_lib.grading.seeds import exercise_seed
from course_lib.grading.sentences import say
from course_lib.teaching import checks
from course_lib.teaching.checks.check_form import HIDDEN


@dataclass
class Row:
    """A student in a unit: the submission with its result, or the reason why it is held.

    result: {"scored": {item's column: the fields of `Scored`}, "notes": [what the run had to say]}
    """

    student: Student
    folder: str | None
    submission: Submission | None = None
    reason: str = ""
    notes: list[str] = field(default_factory=list)
    digest: str = ""
    result: Mapping | None = None

    @property
    def held(self) -> bool:
        return self.result is None


@dataclass(frozen=True)
class Course:
    """Where things are: the checkout with the lessons, the course folder with the gradebook, the submissions."""

    root: Path
    folder: Path
    submitted: Path
    key: bytes


def units_in(root: Path, submitted: Path) -> list[str]:
    """The units of a checkout for which somebody handed something in, by the names of folders and files."""
    units = [path.name for path in sorted((root / "exercises").glob("*")) if path.is_dir()]
    names = {path.name for pattern in ("*/*", "*/*/*") for path in submitted.glob(pattern)}
    return [unit for unit in units if any(unit in name for name in names)]


def grade(course: Course, tasks: Sequence[Task], roster: Sequence[Student], *, gradebook: bool = True) -> list[str]:
    """Grade all, write everything, and return what to tell the teaching assistant, line by line."""
    lines = []
    with Store(course.folder / ".grading") as store:
        by_task = {task.unit: _rows(course, task, roster, store) for task in tasks}
        _run(course, tasks, by_task, store)
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
            row.reason = str(held)
            continue
        row.notes = list(row.submission.notes)
        content = json.dumps([student.id, dict(row.submission.answers), list(row.submission.others)], sort_keys=True)
        row.digest = hashlib.sha256(common + content.encode()).hexdigest()
        digest, result = known.get(student.id, ("", None))
        if digest == row.digest:
            row.result = result
        else:
            row.reason = say("held", "not_run")
    return rows


def _common_digest(key: bytes, task: Task) -> bytes:
    """Of all that every result of a task depends on: the task, the key, this library, the Python that runs it."""
    digest = hashlib.sha256(f"{task.digest} {platform.python_version()} {HIDDEN}".encode())
    digest.update(hmac.new(key, b"digest", hashlib.sha256).digest())
    rooms = Path(__file__).parent, Path(checks.__file__).parent
    for path in sorted(path for room in rooms for kind in ("*.py", "*.toml") for path in room.rglob(kind)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.digest()


def _run(course: Course, tasks: Sequence[Task], by_task: Mapping[str, Sequence[Row]], store: Store) -> None:
    """Run what has no result yet, and keep each result as it comes."""
    open_rows = {
        f"{number} {row.student.id}": (task, row)
        for number, task in enumerate(tasks)
        for row in by_task[task.unit]
        if row.held and row.submission
    }
    if not open_rows:
        return
    jobs = [job for key, (task, row) in open_rows.items() for job in _jobs(course.key, key, task, row)]
    waiting: dict[str, dict[str, Answered]] = {key: {} for key in open_rows}
    left = {key: sum(_row_of(job.key) == key for job in jobs) for key in open_rows}
    with Engine() as engine, _progress(len(open_rows)) as progress:
        for answered in engine.run(iter(jobs)):
            key = _row_of(answered.key)
            waiting[key][answered.key] = answered
            if len(waiting[key]) == left[key]:
                task, row = open_rows[key]
                row.result, seeds = _scored(course.key, key, task, row, waiting.pop(key))
                row.reason = ""
                store.put(task.unit, row.student.id, row.digest, row.result, seeds)
                progress.update()


def _progress(total: int):
    from tqdm import tqdm

    return tqdm(total=total, desc="grading", unit="submission", disable=None)


def _allows(task: Task) -> list[tuple[str, ...]]:
    """The sets of modules that exercises of a task allow: each is a run of its own."""
    return sorted({tuple(sorted(item.check.allow)) for item in task.items if item.check})


def _items(task: Task, allow: tuple[str, ...]) -> list[Item]:
    return [item for item in task.items if item.check and tuple(sorted(item.check.allow)) == allow]


def _jobs(key: bytes, row_key: str, task: Task, row: Row) -> Iterator[Job]:
    cells = tuple(row.submission.answers[answer.grade_id] for answer in task.answers if not answer.text)
    for number, allow in enumerate(_allows(task)):
        calls = [call for item in _items(task, allow) for call in _calls(key, row.student.id, item)[1]]
        yield Job(f"{number} {row_key}", cells, tuple(calls), allow, tuple(row.submission.others))


def _row_of(job_key: str) -> str:
    return job_key.partition(" ")[2]


def _calls(key: bytes, student: str, item: Item) -> tuple[int, tuple]:
    """The seed of an exercise for a student, and the calls that it draws."""
    seed = exercise_seed(key, student, item.check.id)
    return seed, calls_for(item.check, seed, HIDDEN)


def _scored(key: bytes, row_key: str, task: Task, row: Row, answered: Mapping[str, Answered]) -> tuple[dict, dict]:
    """(the result as it is kept, the seeds it was drawn with)."""
    scored, seeds, notes = {}, {}, []
    for number, allow in enumerate(_allows(task)):
        one = answered[f"{number} {row_key}"]
        replies = list(one.replies)
        if one.note and one.note not in notes:
            notes.append(one.note)
        for item in _items(task, allow):
            seeds[item.check.id], calls = _calls(key, row.student.id, item)
            mine, replies = replies[: len(calls)], replies[len(calls) :]
            scored[item.column] = asdict(score(item.check, calls, mine))
    return json.loads(json.dumps({"scored": scored, "notes": notes})), seeds


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
