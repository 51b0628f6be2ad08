"""The record handed over: exported, imported, merged; and nothing that is written here goes anywhere else."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.teaching.record import exchange, record
from course_lib.teaching.record.record import Record

ROOT = Path(__file__).resolve().parents[3]


def events(path: Path) -> list:
    return json.loads(path.read_text())["events"]


@pytest.fixture
def played(learner):
    """A record of four events on a card, and one check."""
    opened = Record.open()
    opened.add("guess", "t1.speed-up", {"value": 100.0, "text": "100", "sure": "very"})
    opened.add("hint", "t1.speed-up", {"n": 1})
    opened.add("guess", "t1.speed-up", {"value": 7.0, "text": "7", "sure": "guess"})
    opened.add("reveal", "t1.speed-up", {"truth": 1.05, "right": False, "decades": 1.98})
    opened.add("check", "t1.e1", {"outcome": "wrong", "diagnosis": None})
    return opened


def own_file(folder: Path) -> Path:
    return folder / ".course" / "record.json"


# ---- Export ------------------------------------------------------------------------------------------------------


def test_an_export_holds_every_event_and_the_version(played, learner):
    strange = {"kind": "later", "more": [1]}
    document = json.loads(own_file(learner).read_text())
    own_file(learner).write_text(json.dumps({**document, "events": [*document["events"], strange]}))
    line = exchange.export(Record.open(), "mine.json")
    exported = json.loads((learner / "mine.json").read_text())
    assert exported["events"] == events(own_file(learner))
    assert exported["schema"] == 1
    assert exported["exported"].startswith("20")
    assert line.endswith(": 6.")
    assert "mine.json" in line


def test_an_export_takes_along_what_could_not_be_written_yet(learner, monkeypatch):
    opened = Record.open()
    with monkeypatch.context() as patch:
        patch.setattr(record.atomic, "replace", lambda *_, **__: (_ for _ in ()).throw(OSError(28, "No space left")))
        opened.add("hint", "t1.a", {"n": 1})
    exchange.export(Record.open(), "mine.json")
    assert [event["payload"] for event in events(learner / "mine.json")] == [{"n": 1}]


def test_a_table_has_one_row_for_each_card_and_exercise(played, learner):
    played.add("reveal", "t1.speed-up", {"truth": 9.0, "right": True, "decades": 0.0, "round": 1})
    played.add("guess", "t1.new-device", {"value": 10.0, "text": "10", "bound": 2.0})
    played.add("review", "t1.speed-up", {"did": "guess", "value": 3.0, "sure": "very"})
    played.add("guess", "t1.why", {"value": "=HYPERLINK(1)", "text": "long", "sure": ""})
    played.add("check", "t1.e1", {"outcome": "right"})
    played.add("check", "t1.e2", {"outcome": "stub"})
    exchange.export(Record.open(), "mine.csv")
    with open(learner / "mine.csv", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    speed_up, transfer, why, e1 = (rows.pop(f"t1.{name}") for name in ("speed-up", "new-device", "why", "e1"))
    assert rows == {}
    assert speed_up.pop("first_at").startswith("20")
    assert speed_up == {
        "id": "t1.speed-up",
        "guess": "100.0",
        "sure": "very",
        "bound": "",
        "answer": "1.05",
        "right": "False",
        "decades_off": "1.98",
        "guesses": "2",
        "hints": "1",
        "checks": "",
    }
    assert (transfer["guess"], transfer["sure"], transfer["bound"]) == ("10.0", "", "2.0")
    assert (why["guess"], why["guesses"]) == ("", "1")  # what was written at length stays in the JSON
    assert (e1["right"], e1["checks"]) == ("True", "2")


@pytest.mark.parametrize("name", ["mine.json", "mine.csv"])
def test_an_existing_file_is_replaced_only_by_force(played, learner, name):
    (learner / name).write_text("precious")
    with pytest.raises(ValueError, match=f"{name} exists already and is left as it is.*--force"):
        exchange.export(played, name)
    assert (learner / name).read_text() == "precious"
    exchange.export(played, name, force=True)
    assert "t1.speed-up" in (learner / name).read_text()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mine.txt", "must end in .json"),
        ("mine", "must end in .json"),
        (".course/record.json", "is the record itself"),
        ("file/mine.json", "could not be written"),
    ],
)
def test_a_bad_place_gives_one_line_and_changes_nothing(played, learner, name, message):
    (learner / "file").write_text("a file where a folder is needed")
    before = own_file(learner).read_text()
    with pytest.raises(ValueError, match=message) as refused:
        exchange.export(played, name, force=True)
    assert "\n" not in str(refused.value)
    assert own_file(learner).read_text() == before


def test_nothing_recorded_and_a_newer_record_are_not_exported(learner):
    with pytest.raises(ValueError, match="Nothing is recorded yet"):
        exchange.export(Record.open(), "mine.json")
    own_file(learner).write_text('{"schema": 2, "events": {}}')
    with pytest.raises(ValueError, match="newer version"):
        exchange.export(Record.open(), "mine.json")
    assert not (learner / "mine.json").exists()


# ---- Import ------------------------------------------------------------------------------------------------------


def event(id: str, second: int, kind: str = "hint") -> dict:
    return {"kind": kind, "id": id, "at": f"2026-11-21T10:00:{second:02}.5+00:00", "payload": {"n": second}}


def put(path: Path, *found, **more) -> Path:
    path.write_text(json.dumps({"schema": 1, "events": list(found), **more}))
    return path


def test_two_records_become_one_in_the_order_of_time(learner):
    put(own_file(learner), event("t1.a", 1), event("t1.a", 5), more="kept")
    other = put(learner / "other.json", event("t1.b", 3), event("t1.a", 5), event("t1.b", 7))
    line = exchange.merge(Record.open(), other)
    assert ": 2 of the events in" in line
    assert "the others of 3 were there already" in line
    merged = json.loads(own_file(learner).read_text())
    assert [(e["id"], e["payload"]["n"]) for e in merged["events"]] == [
        ("t1.a", 1),
        ("t1.b", 3),
        ("t1.a", 5),
        ("t1.b", 7),
    ]
    assert merged["more"] == "kept"
    assert exchange.merge(Record.open(), other).startswith("Nothing new: all events in")
    assert json.loads(own_file(learner).read_text()) == merged


def test_the_way_there_and_back_changes_nothing(played, learner):
    before = events(own_file(learner))
    exchange.export(played, "mine.json")
    exchange.merge(Record.open(), "mine.json")
    assert events(own_file(learner)) == before
    own_file(learner).unlink()
    exchange.merge(Record.open(), "mine.json")
    assert events(own_file(learner)) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not a record"),
        ("id,first_at\n", "is not a record"),
        ('{"schema": 1}', "is not a record"),
        ('{"cells": []}', "is not a record"),
        ('{"schema": 2, "events": []}', "newer version"),
        (None, "could not be read"),
    ],
)
def test_a_bad_file_gives_one_line_and_changes_nothing(played, learner, content, message):
    if content is not None:
        (learner / "other.json").write_text(content)
    before = own_file(learner).read_text()
    with pytest.raises(ValueError, match=message) as refused:
        exchange.merge(Record.open(), "other.json")
    assert "\n" not in str(refused.value)
    assert own_file(learner).read_text() == before
    if content is not None:
        assert (learner / "other.json").read_text() == content


def test_a_folder_in_place_of_a_file_gives_one_line(played, learner):
    with pytest.raises(ValueError, match="Is a directory"):
        exchange.merge(Record.open(), learner)


def test_nothing_is_imported_into_a_newer_record_or_into_no_course(learner, monkeypatch, tmp_path_factory):
    other = put(learner / "other.json", event("t1.a", 1))
    own_file(learner).write_text(newer := '{"schema": 2, "events": {}}')
    with pytest.raises(ValueError, match="newer version"):
        exchange.merge(Record.open(), other)
    assert own_file(learner).read_text() == newer
    monkeypatch.chdir(tmp_path_factory.mktemp("bare"))
    with pytest.raises(ValueError, match="No copy of the course"):
        exchange.merge(Record.open(), other)


def test_a_disk_that_is_full_leaves_the_record_as_it_was(played, learner, monkeypatch):
    other = put(learner / "other.json", event("t1.a", 1))
    before = own_file(learner).read_text()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(ValueError, match="No space left on device"):
            exchange.merge(Record.open(), other)
    assert own_file(learner).read_text() == before


# ---- Nothing leaves the machine ----------------------------------------------------------------------------------

EVERYTHING = """
import sys
from pathlib import Path
seen = []
sys.addaudithook(lambda name, args: seen.append(name) if name.startswith("socket.") else None)
from course_lib import check, cli, progress
from course_lib import units
from course_lib.teaching.lab import my_course
from course_lib.teaching.record.record import Record
my_course.update(units.home(), Path.cwd())
Record.open().add("guess", "q05.linear-1-to-100", {"value": 3.0, "sure": "very"})
Record.open().add("reveal", "q05.linear-1-to-100", {"truth": 1.0, "right": False, "decades": 2.0})
check("q05.intensity", lambda m, k, n, bytes_per_element: 1.0)
print(progress(), progress()._repr_html_())
assert cli.main(["progress"]) == 0
for name in ("mine.json", "mine.csv"):
    assert cli.main(["progress", "--export", name]) == 0
assert cli.main(["progress", "--import", "mine.json"]) == 0
print("opened:", seen)
if sys.argv[1:]:
    import socket
    socket.getaddrinfo("localhost", 80)
    print("opened:", len(seen) > 0)
"""


@pytest.mark.parametrize("more", [[], ["and a socket, to see that the hook hears of it"]])
def test_copy_record_and_progress_open_no_socket(learner, more):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_")}
    command = [sys.executable, "-c", EVERYTHING, *more]
    done = subprocess.run(
        command, cwd=learner, env=kept | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-1 - len(more)] == "opened: []"
    assert lines[-1] == ("opened: True" if more else "opened: []")
