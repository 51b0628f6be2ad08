"""`course grade` from its arguments: which folders, which units, which key."""

import os
from collections.abc import Sequence
from pathlib import Path

from course_lib.grading.intake.roster import read_roster
from course_lib.grading.intake.task import Task
from course_lib.grading.private import root_of
from course_lib.grading.run import Course, units_in
from course_lib.grading.run import grade as grade_all
from course_lib.grading.seeds import new_key, read_key, write_key
from course_lib.grading.sentences import say


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
    """Grade what lies in `submitted` with the lessons of the checkout `root`; returns lines for the terminal.

    only       ids of the students whose work is run; none: all.   again  run also what has a result that still holds.
    private    folder of private units, built; theirs are graded like those of the checkout.
    course     folder of the gradebook and of all results; None: the one that holds `submitted`.
    key        file of the course key; None: `$COURSE_KEY`, else `key_path()`, where a key is made if there is none.
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
    names = list(units or units_in([root, *([own] if own else [])], submitted))
    if not names:
        raise ValueError(f"{submitted} holds no file or folder that is named after a unit; name the unit with --unit")
    tasks = [Task.load(root_of(unit, root, own), unit) for unit in names]
    secret, kept, lines = _key(key)
    hidden = [
        kept,
        Path(roster).absolute(),
        *(root_of(unit, root, own) / "lessons" / unit / "checks.py" for unit in names),
    ]
    place = Course(folder, submitted, secret, hidden)
    return [*lines, *grade_all(place, tasks, students, only=only, again=again, gradebook=gradebook)]


def key_path() -> Path:
    """Where the course key is kept, unless $COURSE_KEY or --key says another place."""
    settings = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(settings) / "where-did-the-flops-go" / "course.key"


def _key(named: str | Path | None) -> tuple[bytes, Path, list[str]]:
    """The course key, its file, and what to say of it."""
    named = named or os.environ.get("COURSE_KEY")
    path = Path(named).absolute() if named else key_path()
    if named or path.exists():
        return read_key(path), path, []
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_key(path, new_key())
    return read_key(path), path, [say("new-key", path=path)]
