"""The results of a unit as files: a CSV with a column for each exercise, a page for each student, one for the teacher.

All is made from the kept results and the gradebook, without a date or anything else that differs from run to run.
"""

import csv
import html
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from course_lib import atomic
from course_lib.grading.intake.task import Item, Task
from course_lib.grading.results.book import Entry
from course_lib.grading.results.feedback import by_hand, explained, overridden
from course_lib.grading.sentences import say

Entries = Mapping[str, Mapping[str, Entry]]
"""Student -> grade_id -> what the gradebook says; empty where no gradebook is kept."""


def write(folder: Path, task: Task, rows: Sequence, entries: Entries, strangers: Sequence[str]) -> list[str]:
    """Write all files of a unit into `folder`; returns what to tell the teaching assistant, line by line."""
    atomic.replace(folder / "grades.csv", table(task, rows, entries), alone=True)
    for row in rows:
        page = student_page(task, row, entries)
        atomic.replace(folder / "feedback" / f"{row.student.id}.html", page, alone=True)
    atomic.replace(folder / "teacher.html", teacher_page(task, rows, entries, strangers), alone=True)
    waiting = sum(_waiting(task, row, entries) > 0 for row in rows)
    lines = [say("report", "summary", unit=task.unit, folder=folder, waiting=waiting, **_counts(rows))]
    lines += _held(rows)
    if nothing := ", ".join(row.student.id for row in rows if row.nothing):
        lines.append(say("report", "nothing", students=nothing))
    if suspicious := len(_suspicious(task, rows)):
        lines.append(say("report", "suspicious", count=suspicious))
    return lines + ([say("report", "strangers", names=", ".join(strangers))] if strangers else [])


def _counts(rows: Sequence) -> dict[str, int]:
    held, nothing = sum(row.held for row in rows), sum(row.nothing for row in rows)
    return {"graded": len(rows) - held, "held": held - nothing, "nothing": nothing}


def _held(rows: Sequence) -> list[str]:
    """A line for each reason why submissions wait for a person."""
    by_kind: dict[str, list] = {}
    for row in rows:
        if row.held and not row.nothing:
            by_kind.setdefault(row.kind, []).append(row)
    lines = []
    for alike in by_kind.values():
        first, last = alike[0].student.id, alike[-1].student.id
        values = {"student": first, "reason": alike[0].reason, "count": len(alike), "first": first, "last": last}
        lines.append(say("report", "held" if len(alike) == 1 else "held_alike", **values))
    return lines


def _suspicious(task: Task, rows: Sequence) -> list[tuple]:
    """(student, exercise, points, what it was) of each answer that the student saw called right, and that is not."""
    found = []
    for row in rows:
        if row.held:
            continue
        for item in task.items:
            if item.check and item.check.id in row.submission.right:
                scored = row.result["scored"][item.column]
                if scored["outcome"] != "right":
                    points = say("report", "points", points=_number(scored["points"]), max=_number(item.points))
                    found.append((row.student.id, item.title, points, say("outcomes", scored["outcome"])))
    return found


def points(task: Task, item: Item, row, entries: Entries) -> float | None:
    """The points of an item: what the gradebook says, else what the check gave; None where nobody has graded it yet."""
    if row.held:
        return None
    entry = entries.get(row.student.id, {}).get(item.grade_id)
    if entry:
        return entry.points
    return automatic(task, item, row)


def automatic(task: Task, item: Item, row) -> float | None:
    """What the check gave. A text that was left as it was given gets nothing; any other waits for a person (None)."""
    if item.check:
        return row.result["scored"][item.column]["points"]
    return 0.0 if task.is_blank(item, row.submission.answers) else None


def table(task: Task, rows: Sequence, entries: Entries) -> str:
    """The CSV, one row for each student of the roster. An empty field is not graded yet; `total` counts it as zero."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns = [item.column for item in task.items]
    writer.writerow(
        ["student", "last_name", "first_name", "status", "reason", *columns, "to_grade_by_hand", "total", "max_points"]
    )
    for row in rows:
        student, found = row.student, [points(task, item, row, entries) for item in task.items]
        last = [
            _waiting(task, row, entries),
            "" if row.held else _number(sum(each or 0 for each in found)),
            _number(task.points),
        ]
        names = [student.id, student.last_name or "", student.first_name or ""]
        status = ["nothing" if row.nothing else "held" if row.held else "graded", row.reason]
        writer.writerow([*map(_plain, [*names, *status]), *map(_number, found), *last])
    return text.getvalue()


def _plain(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def _waiting(task: Task, row, entries: Entries) -> int:
    """How many items of a graded submission wait for a person."""
    return 0 if row.held else sum(points(task, item, row, entries) is None for item in task.items)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def as_html(lines: Iterable[str]) -> str:
    """Sentences as paragraphs; what stands in backticks as code. All else is text, whatever it looks like."""
    paragraphs = (html.escape(line) for text in lines for line in text.split("\n"))
    return "".join(re.sub(r"`([^`]+)`", r"<code>\1</code>", f"<p>{line}</p>") for line in paragraphs)


def student_page(task: Task, row, entries: Entries) -> str:
    """The feedback for one student."""
    title = say("report", "student_title", unit=task.unit)
    if row.held:
        return _page(title, as_html([say("report", "student_nothing" if row.nothing else "student_held")]))
    found = [points(task, item, row, entries) for item in task.items]
    total = {"total": _number(sum(each or 0 for each in found)), "max": _number(task.points)}
    lines = [say("report", "total", **total)]
    if None in found:
        lines.append(say("report", "total_waits"))
    body = as_html(lines)
    for item, earned in zip(task.items, found, strict=True):
        entry = entries.get(row.student.id, {}).get(item.grade_id)
        if item.check:
            said = [*explained(item, row.result["scored"][item.column]), *overridden(entry)]
        else:
            said = by_hand(entry, task.is_blank(item, row.submission.answers))
        key = "points_wait" if earned is None else "points"
        line = say("report", key, points=_number(earned), max=_number(item.points))
        body += f"<h2>{html.escape(item.title)}</h2>{as_html([line, *said])}"
    if row.result["notes"]:
        body += f"<h2>{say('report', 'cells_title')}</h2>{as_html(row.result['notes'])}"
    return _page(title, body)


def teacher_page(task: Task, rows: Sequence, entries: Entries, strangers: Sequence[str]) -> str:
    """Points by exercise, the commonest wrong answers, who is held, what intake repaired."""
    graded = [row for row in rows if not row.held]
    body = as_html([say("report", "teacher_counts", **_counts(rows))])
    body += _table(say.all("report", "by_exercise"), [_exercise(task, item, graded, entries) for item in task.items])
    if suspicious := _suspicious(task, rows):
        body += f"<h2>{say('report', 'suspicious_title')}</h2>{as_html([say('report', 'suspicious_read')])}"
        body += _table(say.all("report", "suspicious_head"), suspicious)
    for item in task.items:
        if item.check and (counts := _wrong_answers(item, graded)):
            body += f"<h2>{html.escape(item.title)}</h2>{_table(say.all('report', 'wrong_answers'), counts)}"
    for title, found in (
        ("held_title", [(row.student.id, row.reason) for row in rows if row.held and not row.nothing]),
        ("nothing_title", [(row.student.id, row.reason) for row in rows if row.nothing]),
        ("alone_title", _alone(task, graded)),
        ("strangers_title", [(name,) for name in strangers]),
        ("notes_title", [(row.student.id, note) for row in rows for note in row.notes]),
    ):
        if found:
            body += f"<h2>{say('report', title)}</h2>{_table((), found)}"
    return _page(say("report", "teacher_title", unit=task.unit), body)


def _alone(task: Task, rows: Sequence) -> list[tuple]:
    """(student, exercise, points) of what ran again alone."""
    titles = {item.column: item.title for item in task.items}
    return [
        (row.student.id, titles[column], _number(row.result["scored"][column]["points"]))
        for row in rows
        for column in row.result["alone"]
    ]


def _exercise(task: Task, item: Item, graded: Sequence, entries: Entries) -> tuple:
    """A row of the table of exercises: title, points, mean, how many have all, some, none, and how many wait."""
    found = [points(task, item, row, entries) for row in graded]
    known = [each for each in found if each is not None]
    mean = f"{sum(known) / len(known):.2f}" if known else ""
    full, none = sum(each >= item.points for each in known), sum(each <= 0 for each in known)
    return (item.title, _number(item.points), mean, full, len(known) - full - none, none, found.count(None))


def _wrong_answers(item: Item, graded: Sequence) -> list[tuple]:
    """(count, what it was) of the answers to an item that are not right, the commonest first."""
    scored = [row.result["scored"][item.column] for row in graded]
    counts = Counter(
        tuple(one["diagnosis"] or ("", say("outcomes", one["outcome"]))) for one in scored if one["outcome"] != "right"
    )
    return [(count, *what) for what, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))]


def _table(head: Sequence[str], rows: Sequence[Sequence]) -> str:
    def line(cells, tag):
        return f"<tr>{''.join(f'<{tag}>{html.escape(str(cell))}</{tag}>' for cell in cells)}</tr>"

    return f"<table>{line(head, 'th') if head else ''}{''.join(line(row, 'td') for row in rows)}</table>"


PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
body {{ font-family: sans-serif; line-height: 1.5; max-width: 50em; margin: 2em auto; padding: 0 1em; }}
code {{ overflow-wrap: anywhere; }}
table {{ border-collapse: collapse; }}
th, td {{ border: 1px solid; padding: .2em .6em; text-align: left; vertical-align: top; }}
</style>
</head>
<body>
<h1>{title}</h1>
{body}
</body>
</html>
"""


def _page(title: str, body: str) -> str:
    return PAGE.format(title=html.escape(title), body=body)
