"""The record as a file to keep or hand on, and two records made one: `course progress --export` and `--import`.

A `.json` file holds every event and can be imported again, on another machine too; a `.csv` file is a table for a
spreadsheet, one row for each card and exercise. Nothing is sent anywhere.
"""

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import course_lib
from course_lib import atomic
from course_lib.teaching.record import record as records
from course_lib.teaching.record.record import SCHEMA, NewerSchemaError, Record

EXPORTED = "{number} events of {where} are in {file} now."
IMPORTED = "All {number} events in {file} are added to {where}."
IMPORTED_SOME = "{new} of the {number} events in {file} are added to {where}; the others were there already."
IMPORTED_NONE = "Nothing new: all {number} events in {file} are in {where} already."

SUFFIX = "{file} must end in .json (everything; can be imported again) or in .csv (a table for a spreadsheet)."
EXISTS = "{file} exists already and is left as it is. Give another name, or add --force to replace it."
ITSELF = "{file} is the record itself. Give another name."
NOTHING = "Nothing is recorded yet, so there is nothing to export."
NOT_WRITTEN = "{file} could not be written ({reason}). Nothing else was changed."
NO_FILE = "{file} could not be read ({reason}). Nothing was changed."
NO_RECORD = "{file} is not a record that `course progress --export` wrote as .json. Nothing was changed."
NEWER = "{file} was written by a newer version of this course. Update the course to read it; nothing was changed."
NO_FOLDER = "No copy of the course was found here to import into. Run `course lab` first, or change into its folder."

COLUMNS = ("id", "first_at", "guess", "sure", "answer", "right", "decades_off", "guesses", "hints", "checks")


def export(record: Record, file: Path | str, force: bool = False) -> str:
    """Write the record to `file`, as its suffix says, and return one line about it. ValueError, one line, where that
    cannot be; an existing file is replaced only with `force`.
    """
    path = Path(file)
    if path.suffix.lower() not in (".json", ".csv"):
        raise ValueError(SUFFIX.format(file=path))
    if record.path and path.resolve() == record.path.resolve():
        raise ValueError(ITSELF.format(file=path))
    if path.exists() and not force:
        raise ValueError(EXISTS.format(file=path))
    if record.path and (records.parse(record.path) or {}).get("schema", SCHEMA) > SCHEMA:
        raise ValueError(NEWER.format(file=record.path))
    events = record.document()["events"]
    if not events:
        raise ValueError(NOTHING)
    try:
        atomic.replace(path, table(record.events()) if path.suffix.lower() == ".csv" else document(events))
    except OSError as error:
        raise ValueError(NOT_WRITTEN.format(file=path, reason=error.strerror or type(error).__name__)) from None
    return EXPORTED.format(number=len(events), where=record.where, file=path)


def document(events: Sequence[Any]) -> str:
    """The events as JSON, in the record's own form."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"schema": SCHEMA, "course": course_lib.__version__, "exported": now}
    return records.to_text({**about, "events": list(events)})


def merge(record: Record, file: Path | str) -> str:
    """Add to the record the events of another one that it does not hold yet; return one line about it. ValueError, one
    line, where that cannot be; the record is then as before.

    The earliest first guess at a card counts, wherever it was made.
    """
    path = Path(file)
    if record.path is None:
        raise ValueError(NO_FOLDER)
    try:
        path.stat()
        theirs = records.parse(path)
    except OSError as error:
        raise ValueError(NO_FILE.format(file=path, reason=error.strerror or type(error).__name__)) from None
    if theirs is None:
        raise ValueError(NO_RECORD.format(file=path))
    if theirs["schema"] > SCHEMA:
        raise ValueError(NEWER.format(file=path))
    try:
        new = record.merge(theirs["events"])
    except NewerSchemaError:
        raise ValueError(NEWER.format(file=record.path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(NOT_WRITTEN.format(file=record.path, reason=reason)) from None
    number = len(theirs["events"])
    line = IMPORTED if new == number else IMPORTED_SOME if new else IMPORTED_NONE
    return line.format(new=new, number=number, file=path, where=record.path)


def table(events: Sequence[Mapping[str, Any]]) -> str:
    """One row for each card and exercise, as CSV. What was typed at length (a reflection) is only in the JSON."""
    rows: dict[str, dict[str, Any]] = {}
    for event in events:
        payload = event["payload"]
        if payload.get("round"):
            continue  # practice with other numbers
        row = rows.setdefault(event["id"], {"id": event["id"], "first_at": event.get("at", "")})
        match event["kind"]:
            case "guess":
                row.setdefault("guess", payload.get("value") if payload.get("sure") else "")
                row.setdefault("sure", payload.get("sure", ""))
                row["guesses"] = row.get("guesses", 0) + 1
            case "hint":
                row["hints"] = row.get("hints", 0) + 1
            case "reveal":
                row.setdefault("answer", payload.get("truth"))
                row.setdefault("right", payload.get("right"))
                row.setdefault("decades_off", payload.get("decades"))
            case "check" if payload.get("outcome") != "stub":
                row["checks"] = row.get("checks", 0) + 1
                row["right"] = row.get("right", False) or payload.get("outcome") == "right"
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows.values() if len(row) > 2)
    return text.getvalue().rstrip("\n")
