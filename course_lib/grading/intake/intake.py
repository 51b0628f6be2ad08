"""From a student's folder to the answers: whatever was done to the notebook, only its answers are taken from it.

Nothing in a submission is trusted: links are not followed, only regular files are read, sizes are limited, and of the
notebook's structure nothing is used but the text of its cells. The grader's notebook is the released one with the
answers put in (`Task.rebuilt`). What cannot be read is `Held` for a person, with the reason; it never stops a batch.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.intake.cells import Found, Unreadable, match, read_cells
from course_lib.grading.intake.roster import Student, same_name
from course_lib.grading.intake.task import Task
from course_lib.grading.sentences import say
from course_lib.teaching.checks.check_form import Check

MOST_FILES = 2_000
DEEPEST = 6
MOST_NOTEBOOKS = 10
"""Files in a student's folder that are looked at, folders in folders, and notebooks that are read."""


@dataclass(frozen=True, kw_only=True)
class Submission(Found):
    """A student's answers to a unit, their code cells, and what had to be repaired."""

    student: str

    @property
    def digest(self) -> str:
        """Of all that a result depends on."""
        content = [self.student, dict(self.answers), self.others, self.code, dict(self.until)]
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def whole(self, check: Check) -> tuple[str, ...]:
        """The code cells above a check, as they stand; none where they are the released ones with the answers."""
        return tuple(self.code[: self.until.get(check.name)])


NOTHING = {"no_folder", "nothing"}
"""Reasons that ask for nobody's eyes: nothing was handed in."""


class Held(Exception):  # noqa: N818 (nothing is wrong with the grader)
    """A submission that cannot be graded as it is: the key of the sentence that says why, and its values."""

    def __init__(self, kind: str, **values):
        super().__init__(say("held", kind, **values))
        self.kind, self.values = kind, values


def folders(submitted: Path, roster: Sequence[Student]) -> tuple[dict[str, str], list[str]]:
    """Student id -> name of the student's folder, and the names of folders that belong to nobody on the roster."""
    names = sorted(entry.name for entry in os.scandir(submitted) if not entry.name.startswith("."))
    by_id = {student.id: student.id for student in roster if student.id in names}
    alike = {same_name(student.id): student.id for student in roster if student.id not in by_id}
    for name in sorted(set(names) - set(by_id.values())):
        if (id := alike.pop(same_name(name), None)) is not None:
            by_id[id] = name
    return by_id, [_shown(name) for name in names if name not in by_id.values()]


def submission(submitted: Path, folder: str | None, student: str, task: Task) -> Submission:
    """What `student` handed in for a unit. Raises `Held` with the reason where that cannot be said."""
    if folder is None:
        raise Held("no_folder", folder=student)
    place, shown = submitted / folder, _shown(folder)
    if place.is_symlink() or not place.is_dir():
        raise Held("folder_link", folder=shown)
    try:
        found, notes = _notebook(place, shown, task)
    except OSError as error:
        raise Held("folder_unreadable", folder=shown, error=error.strerror) from None
    if folder != student:
        notes = [say("notes", "folder", folder=shown, student=student), *notes]
    return Submission(**vars(found) | {"student": student, "notes": (*notes, *found.notes)})


def is_notebook(name: str) -> bool:
    return name.lower().endswith((".ipynb", ".ipynb.json", ".ipynb.txt"))


def _shown(name: str) -> str:
    """The name of a file or folder as one line, of signs that are seen and stay in their order."""
    return " ".join("".join(sign if sign.isprintable() else "\ufffd" for sign in name).split())


def _notebook(place: Path, folder: str, task: Task) -> tuple[Found, list[str]]:
    """The answers and the notes of the notebook that is this unit's: if there are several, the one that is called so
    and has answers, else the one with most of them.
    """
    expected = f"{task.unit}/{task.unit}.ipynb"
    files, links = _files(place, folder)
    files.sort(key=lambda name: (name != expected, task.unit not in name, name.count("/"), name))
    reasons, candidates = [], []
    for name in files[:MOST_NOTEBOOKS]:
        try:
            cells, notes = read_cells(place / name)
        except Unreadable as why:
            reasons.append((_shown(name), str(why)))
            continue
        found = match(task, cells)
        if found.any:
            candidates.append((found, name, notes))
            if name == expected and found.done:
                break
    if candidates:
        found, name, notes = max(candidates, key=lambda one: one[0].done)
        if name != expected:
            notes = [say("notes", "name", name=_shown(name)), *notes]
        if others := [_shown(other) for _, other, _ in candidates if other != name]:
            notes = [*notes, say("notes", "others", count=len(others), names=", ".join(others))]
        return found, notes
    raise _why_nothing(task, folder, files, links, reasons)


def _why_nothing(task: Task, folder: str, files: Sequence[str], links: Sequence[str], reasons: Sequence) -> Held:
    """Why a folder holds no answers: a file that cannot be read, only links, other notebooks, or nothing at all."""
    for name, why in reasons:
        if task.unit in name or len(files) == 1:
            return Held("unreadable", name=name, why=why)
    if any(task.unit in name for name in files):
        return Held("no_answer", name=_shown(files[0]))
    if links:
        return Held("links", folder=folder, names=", ".join(map(_shown, links[:5])))
    return Held("nothing", folder=folder)


def _files(place: Path, folder: str) -> tuple[list[str], list[str]]:
    """The notebooks below a folder, as paths relative to it, and the links, which are not followed."""
    files, links, left = [], [], MOST_FILES
    waiting = [("", 0)]
    while waiting:
        below, depth = waiting.pop()
        with os.scandir(place / below) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    raise Held("many", folder=folder, limit=MOST_FILES)
                name = f"{below}{entry.name}"
                if entry.is_symlink():
                    links.append(name)
                elif entry.is_dir(follow_symlinks=False):
                    if depth < DEEPEST and entry.name != ".ipynb_checkpoints":
                        waiting.append((f"{name}/", depth + 1))
                elif is_notebook(entry.name):
                    files.append(name)
    return files, sorted(links)
