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
from course_lib.words import words

say = words(__file__)

COLUMNS = ("id", "first_at", "guess", "sure", "bound", "answer", "right", "decades_off", "guesses", "hints", "checks")


def export(record: Record, file: Path | str, force: bool = False) -> str:
    """Write the record to `file`, as its suffix says, and return one line about it. ValueError, one line, where that
    cannot be; an existing file is replaced only with `force`.
    """
    path = Path(file)
    if path.suffix.lower() not in (".json", ".csv"):
        raise ValueError(say("suffix", file=path))
    if record.path and path.resolve() == record.path.resolve():
        raise ValueError(say("itself", file=path))
    if path.exists() and not force:
        raise ValueError(say("exists", file=path))
    if record.path and (records.parse(record.path) or {}).get("schema", SCHEMA) > SCHEMA:
        raise ValueError(say("newer", file=record.path))
    events = record.document()["events"]
    if not events:
        raise ValueError(say("nothing"))
    try:
        atomic.replace(path, table(record.events()) if path.suffix.lower() == ".csv" else document(events))
    except OSError as error:
        raise ValueError(say("not-written", file=path, reason=error.strerror or type(error).__name__)) from None
    return say("exported", number=len(events), where=record.where, file=path)


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
        raise ValueError(say("no-folder"))
    try:
        path.stat()
        theirs = records.parse(path)
    except OSError as error:
        raise ValueError(say("no-file", file=path, reason=error.strerror or type(error).__name__)) from None
    if theirs is None:
        raise ValueError(say("no-record", file=path))
    if theirs["schema"] > SCHEMA:
        raise ValueError(say("newer", file=path))
    try:
        new = record.merge(theirs["events"])
    except NewerSchemaError:
        raise ValueError(say("newer", file=record.path)) from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ValueError(say("not-written", file=record.path, reason=reason)) from None
    number = len(theirs["events"])
    case = "all" if new == number else "some" if new else "none"
    return say("imported", case, new=new, number=number, file=path, where=record.path)


def table(events: Sequence[Mapping[str, Any]]) -> str:
    """One row for each card and exercise, and for each question of the inventory and sitting, as CSV.

    What was typed at length (a reflection) is only in the JSON.
    """
    rows: dict[str, dict[str, Any]] = {}
    for event in events:
        payload = event["payload"]
        if payload.get("round"):
            continue  # practice with other numbers
        name = f"{event['id']} {payload.get('sitting')}" if event["kind"] == "inventory" else event["id"]
        row = rows.setdefault(name, {"id": name, "first_at": event.get("at", "")})
        match event["kind"]:
            case "guess":
                row.setdefault("guess", payload.get("value") if payload.get("sure") or "bound" in payload else "")
                row.setdefault("sure", payload.get("sure", ""))
                row.setdefault("bound", payload.get("bound", ""))
                row["guesses"] = row.get("guesses", 0) + 1
            case "hint":
                row["hints"] = row.get("hints", 0) + 1
            case "reveal":
                row.setdefault("answer", payload.get("truth"))
                row.setdefault("right", payload.get("right"))
                row.setdefault("decades_off", payload.get("decades"))
            case "inventory":
                row.setdefault("guess", payload.get("value"))
                row.setdefault("right", payload.get("right"))
            case "check" if payload.get("outcome") != "stub":
                row["checks"] = row.get("checks", 0) + 1
                row["right"] = row.get("right", False) or payload.get("outcome") == "right"
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(row for row in rows.values() if len(row) > 2)
    return text.getvalue().rstrip("\n")
