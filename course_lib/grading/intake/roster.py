"""The roster: who has a row in the results."""

import csv
import io
import json
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from course_lib.grading.sentences import say

COLUMNS = ("student", "first_name", "last_name", "email")
"""Columns of a roster; only the first is needed, `id` is another name for it, and others are ignored."""


@dataclass(frozen=True)
class Student:
    """One row of the roster. `id` is also the name of the student's folder in `submitted/`."""

    id: str
    first_name: str | None = None
    last_name: str | None = None
    email: str | None = None


def read_roster(path: Path) -> list[Student]:
    """The students, in the order of their ids. Any Unicode encoding; comma, semicolon or tab between the columns.

    Raises `ValueError` naming the line for an id that is missing, stands twice or cannot name a folder.
    """
    content = Path(path).read_bytes()
    try:
        text = content.decode(json.detect_encoding(content))
    except UnicodeDecodeError:
        raise ValueError(f"{path}: the roster is no Unicode text; save it as CSV UTF-8") from None
    lines = text.lstrip("\ufeff").splitlines()
    delimiter = max(",;\t", key=(lines or [""])[0].count)
    rows = csv.DictReader(io.StringIO("\n".join(lines)), delimiter=delimiter)
    columns = {(name or "").strip().lower().replace(" ", "_"): name for name in rows.fieldnames or ()}
    id_column = columns.get("student") or columns.get("id")
    if id_column is None:
        raise ValueError(f"{path}: the first line must name the columns, and one of them must be student (or id)")
    students: dict[str, Student] = {}
    for row in rows:
        where = f"{path}, line {rows.line_num}"
        values = {name: (row.get(columns.get(name)) or "").strip() or None for name in COLUMNS[1:]}
        student = Student((row[id_column] or "").strip(), **values)
        if not any(value for value in row.values() if isinstance(value, str) and value.strip()):
            continue
        if fault := _id_fault(student.id):
            raise ValueError(f"{where}: {fault}")
        if same_name(student.id) in students:
            raise ValueError(f"{where}: {student.id!r} stands twice, or differs from another id in capitals only")
        students[same_name(student.id)] = student
    if not students:
        raise ValueError(f"{path}: the roster holds no student")
    return sorted(students.values(), key=lambda student: student.id)


def _id_fault(id: str) -> str:
    """Why `id` cannot name a folder and a student in nbgrader; empty if it can."""
    if not id:
        return say("roster", "no_id")
    if id.startswith((".", "_")) or any(sign in id for sign in "/\\*?[]{}+") or not id.isprintable():
        return say("roster", "no_folder", id=id)
    return "" if len(id.encode()) <= 120 else say("roster", "long", id=id[:20])


def same_name(name: str) -> str:
    """Names that people confuse are equal in this form: capitals, spaces at the ends, composed letters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).strip()
