"""Hand-over to nbgrader: its gradebook, and the `autograded/` notebooks that formgrader and feedback read.

All points of a unit are written in one transaction, after the notebooks. What a person entered is never changed; where
the answer under it changed, nbgrader is told that it needs another look, as nbgrader's own autograder does.
"""

import datetime
import json
import os
import re
import stat
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib import atomic
from course_lib.grading.intake.roster import Student
from course_lib.grading.intake.task import Task

COURSE_ID = "where-did-the-flops-go"
"""As in nbgrader_config.py."""


@dataclass(frozen=True)
class Entry:
    """What the gradebook says about one item of one student: None where nobody has graded it yet."""

    points: float | None
    by_hand: bool
    auto: float | None
    comment: str | None


@dataclass(frozen=True)
class HandOver:
    """A graded submission on its way to nbgrader: points by grade_id (None: a person gives them), the notebook, its
    date, and the grade_ids of the items that nbgrader had before and that did not change.
    """

    student: str
    points: Mapping[str, float | None]
    same: Collection[str]
    notebook: Mapping
    timestamp: datetime.datetime | None


def harmless(text: str) -> str:
    """A student's text for a page that a teacher opens: no tag and no link in it is one, for what such a page runs can
    do all that the teacher can. An invisible sign behind each `<` and `]` that could begin one leaves code as it looks.
    """
    return re.sub(r"<(?=[A-Za-z/!?])|\](?=[(:\[])", lambda sign: sign[0] + "\u2060", text)


def gradebook(course: Path):
    """nbgrader's gradebook of the course folder, as a context."""
    from nbgrader.api import Gradebook

    return Gradebook(f"sqlite:///{course / 'gradebook.db'}", course_id=COURSE_ID)


def timestamp(folder: Path) -> tuple[datetime.datetime | None, bool]:
    """(the date in a submission's timestamp.txt, whether formgrader can read that file too)."""
    from nbgrader.utils import parse_utc

    path = folder / "timestamp.txt"
    try:
        found = os.lstat(path)
    except OSError:
        return None, True
    if not stat.S_ISREG(found.st_mode) or found.st_size > 1000:
        return None, False
    try:
        return parse_utc(path.read_text("utf-8").strip()), True
    except (ValueError, OverflowError, OSError):
        return None, False


def hand_over(course: Path, task: Task, students: Sequence[Student], graded: Sequence[HandOver]) -> None:
    """Write notebooks and points; students of the roster that nbgrader does not know are added.

    Raises `ValueError` where the gradebook holds submissions to an older form of the unit.
    """
    for one in graded:
        folder = course / "autograded" / one.student / task.unit
        atomic.replace(
            folder / f"{task.unit}.ipynb", json.dumps(one.notebook, ensure_ascii=False, indent=1), alone=True
        )
        if one.timestamp:
            atomic.replace(folder / "timestamp.txt", f"{one.timestamp} UTC", alone=True)
    with gradebook(course) as book:
        _know_the_task(book, course, task)
        try:
            _add_students(book, students)
            _add_points(book, task, graded)
            book.db.commit()
        except BaseException:
            book.db.rollback()
            raise


def submissions(course: Path, task: Task) -> set[str]:
    """The students whose submission of this task the gradebook has."""
    with gradebook(course) as book:
        return {submission.student_id for submission in book.assignment_submissions(task.unit)}


def entries(course: Path, task: Task) -> dict[str, dict[str, Entry]]:
    """Student -> grade_id -> what the gradebook says."""
    from nbgrader.api import Assignment, BaseCell, Comment, Grade, SubmittedAssignment, SubmittedNotebook

    with gradebook(course) as book:

        def rows(kind, *columns):
            """(student, grade_id, *columns) of every row of a table that belongs to cells of this task."""
            return (
                book.db.query(SubmittedAssignment.student_id, BaseCell.name, *columns)
                .select_from(kind)
                .join(BaseCell, kind.cell_id == BaseCell.id)
                .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
                .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
                .join(Assignment, SubmittedAssignment.assignment_id == Assignment.id)
                .filter(Assignment.name == task.unit)
            )

        said = {(student, cell): comment for student, cell, comment in rows(Comment, Comment.manual_comment)}
        grades = rows(Grade, Grade.score, Grade.auto_score, Grade.manual_score, Grade.needs_manual_grade)
        found: dict[str, dict[str, Entry]] = {}
        for student, cell, score, auto, manual, waits in grades:
            points = None if waits and manual is None else score
            entry = Entry(points, manual is not None, auto, said.get((student, cell)))
            found.setdefault(student, {})[cell] = entry
    return found


def _know_the_task(book, course: Path, task: Task) -> None:
    """The unit's cells and points in the gradebook, recorded by nbgrader's own step of its release."""
    import nbformat
    from nbgrader.api import MissingEntry
    from nbgrader.preprocessors import SaveCells

    wanted = {item.grade_id: float(item.points) for item in task.items}
    answers = {answer.grade_id for answer in task.answers}
    try:
        notebook = book.find_notebook(task.unit, task.unit)
        known = {cell.name: cell.max_score for cell in notebook.grade_cells}
        recorded = {cell.name for cell in notebook.source_cells}
        same = known == wanted and {cell.name for cell in notebook.solution_cells} == answers
        if same and recorded == {*wanted, *answers}:
            return
        if notebook.submissions:
            raise ValueError(
                f"{course / 'gradebook.db'} holds submissions to another form of {task.unit} (other exercises or "
                "points); keep it, and grade this form in a folder of its own"
            )
    except MissingEntry:
        book.update_or_create_assignment(task.unit)
    names = {"notebook": task.unit, "assignment": task.unit, "db_url": f"sqlite:///{course / 'gradebook.db'}"}
    SaveCells().preprocess(nbformat.reads(json.dumps(task.rebuilt({})), as_version=4), {"nbgrader": names})
    book.db.expire_all()


def _add_students(book, students: Sequence[Student]) -> None:
    from nbgrader.api import Student as Known

    known = {student.id: student for student in book.students}
    for student in students:
        values = {name: getattr(student, name) for name in ("first_name", "last_name", "email")}
        if student.id not in known:
            book.db.add(Known(id=student.id, **values))
        else:
            for name, value in values.items():
                if value is not None and getattr(known[student.id], name) != value:
                    setattr(known[student.id], name, value)
    book.db.flush()


def _add_points(book, task: Task, graded: Sequence[HandOver]) -> None:
    from nbgrader.api import Comment, Grade, SubmittedAssignment, SubmittedNotebook

    assignment = book.find_assignment(task.unit)
    notebook = book.find_notebook(task.unit, task.unit)
    graded_cells = {cell.name: cell.id for cell in notebook.grade_cells}
    answer_cells = {cell.name: cell.id for cell in notebook.solution_cells}
    known = {one.student_id: one for one in assignment.submissions}
    for one in graded:
        submission = known.get(one.student)
        if submission is None:
            submission = SubmittedAssignment(assignment_id=assignment.id, student_id=one.student)
            copy = SubmittedNotebook(notebook_id=notebook.id)
            submission.notebooks.append(copy)
            copy.grades = [Grade(cell_id=id, needs_manual_grade=False) for id in graded_cells.values()]
            copy.comments = [Comment(cell_id=id) for id in answer_cells.values()]
            book.db.add(submission)
        submission.timestamp = one.timestamp
        by_cell = {grade.cell_id: grade for copy in submission.notebooks for grade in copy.grades}
        for name, points in one.points.items():
            grade = by_cell[graded_cells[name]]
            grade.auto_score = points
            if grade.manual_score is None:
                grade.needs_manual_grade = points is None
            elif name not in one.same:
                grade.needs_manual_grade = True
