"""The record keeps every event, whatever happens to its file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib.teaching import record, units
from course_lib.teaching.check import check
from course_lib.teaching.record import Record, progress


def document(folder: Path) -> dict:
    return json.loads((folder / ".course" / "record.json").read_text())


def test_an_event_is_written_and_read_back(learner):
    Record.open().add("guess", "t1.speed-up", {"value": 3.0, "sure": "very"})
    stored = document(learner)
    assert stored["schema"] == 1
    assert [(e["kind"], e["id"], e["payload"]) for e in stored["events"]] == [
        ("guess", "t1.speed-up", {"value": 3.0, "sure": "very"})
    ]
    assert Record.open().events("t1.speed-up") == stored["events"]
    assert Record.open().events("t1.other") == []
    assert Record.open().where == str(learner / ".course" / "record.json")


def test_the_nearest_parent_with_a_course_folder_counts(learner, monkeypatch):
    deep = learner / "notebooks" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    Record.open().add("hint", "t1.a", {"n": 1})
    assert len(document(learner)["events"]) == 1


def test_without_a_course_folder_course_home_is_used(learner, monkeypatch, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(elsewhere)
    monkeypatch.setenv("COURSE_HOME", str(elsewhere / "home"))
    Record.open().add("hint", "t1.a", {"n": 1})
    assert len(json.loads((elsewhere / "home" / "record.json").read_text())["events"]) == 1


def test_without_any_folder_events_stay_in_memory_and_one_line_says_so(learner, monkeypatch, tmp_path_factory, capsys):
    monkeypatch.chdir(tmp_path_factory.mktemp("bare"))
    Record.open().add("hint", "t1.a", {"n": 1})
    Record.open().add("hint", "t1.a", {"n": 2})
    assert [e["payload"]["n"] for e in Record.open().events("t1.a")] == [1, 2]
    assert Record.open().where == "memory"
    assert capsys.readouterr().out.count(record.NO_FOLDER) == 1


def test_nothing_is_recorded_or_said_while_a_notebook_is_built(learner, monkeypatch, capsys):
    monkeypatch.setenv("COURSE_STATIC", "1")
    Record.open().add("check", "t1.a", {"passed": True})
    assert not (learner / ".course" / "record.json").exists()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"schema": 1}', b'{"schema": "1", "events": []}', b"\xff\xfe", b"[" * 100_000]
)
def test_a_damaged_record_is_set_aside_with_one_line(learner, capsys, content):
    (learner / ".course" / "record.json").write_bytes(content)
    Record.open().add("hint", "t1.a", {"n": 1})
    aside = list((learner / ".course").glob("record.damaged-*.json"))
    assert [path.read_bytes() for path in aside] == [content]
    assert len(document(learner)["events"]) == 1
    assert capsys.readouterr().out.splitlines() == [record.SET_ASIDE.format(file=aside[0].name)]


def test_two_damaged_records_are_both_kept(learner):
    for content in ("one", "two"):
        (learner / ".course" / "record.json").write_text(content)
        Record.open()
    kept = {path.read_text() for path in (learner / ".course").glob("record.damaged-*.json")}
    assert kept == {"one", "two"}


def test_a_record_of_a_newer_course_is_left_untouched(learner, capsys):
    path = learner / ".course" / "record.json"
    path.write_text(newer := '{"schema": 2, "events": {"another": "form"}}')
    opened = Record.open()
    opened.add("hint", "t1.a", {"n": 1})
    assert path.read_text() == newer
    assert [e["payload"] for e in Record.open().events()] == [{"n": 1}]
    assert opened.where == "memory"
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_read_only_folder_keeps_events_in_memory(learner, monkeypatch, capsys):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(record.tempfile, "mkstemp", refuse)  # chmod would not stop a test that runs as root
    Record.open().add("hint", "t1.a", {"n": 1})
    assert len(Record.open().events()) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_what_a_full_disk_refused_is_written_with_the_next_event(learner, monkeypatch, capsys):
    opened = Record.open()
    opened.add("hint", "t1.a", {"n": 1})

    def full(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(record.os, "fsync", full)
        opened.add("hint", "t1.a", {"n": 2})
        assert opened.where == "memory"
        assert "No space left on device" in opened.notice
        assert [e["payload"]["n"] for e in Record.open().events()] == [1, 2]
    assert [e["payload"]["n"] for e in document(learner)["events"]] == [1]
    assert sorted(path.name for path in (learner / ".course").iterdir()) == [".record.lock", "record.json"]
    opened.add("hint", "t1.a", {"n": 3})
    assert [e["payload"]["n"] for e in document(learner)["events"]] == [1, 2, 3]
    assert opened.where != "memory"
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_folder_that_vanishes_loses_nothing(learner):
    opened = Record.open()
    (learner / ".course").rmdir()
    opened.add("hint", "t1.a", {"n": 1})
    assert len(opened.events()) == 1


def test_events_that_are_not_understood_are_kept_in_the_file_and_passed_over(learner):
    strange = [7, {"kind": "guess"}, {"kind": "later", "id": "t1.a", "payload": {}}]
    (learner / ".course" / "record.json").write_text(json.dumps({"schema": 1, "events": strange, "more": True}))
    Record.open().add("hint", "t1.a", {"n": 1})
    assert document(learner)["events"][:3] == strange
    assert document(learner)["more"] is True
    assert [e["kind"] for e in Record.open().events()] == ["later", "hint"]


def test_a_payload_that_is_not_json_is_kept_as_text(learner):
    Record.open().add("check", "t1.a", {"got": {1, 2}})
    assert Record.open().events()[0]["payload"] == {"got": "{1, 2}"}


WRITER = """
import sys
from course_lib.teaching.record import Record
opened = Record.open()
for n in range(int(sys.argv[2])):
    opened.add("hint", "t1." + sys.argv[1], {"n": n})
"""


def test_two_processes_that_write_at_once_lose_nothing(learner):
    many = 60
    environment = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_")}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, name, str(many)], cwd=learner, env=environment) for name in "ab"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    for name in "ab":
        assert [e["payload"]["n"] for e in Record.open().events(f"t1.{name}")] == list(range(many))


# ---- Progress ----


def reveal(opened: Record, id: str, sure: str, right: bool, decades: float | None = None):
    opened.add("guess", id, {"value": 1.0, "sure": sure})
    opened.add("reveal", id, {"truth": 2.0, "right": right, "decades": decades})


def test_progress_counts_cards_decades_calibration_and_checks(toys):
    opened = Record.open()
    reveal(opened, "t1.speed-up", "very", False, -2.0)
    reveal(opened, "t1.bytes", "very", True, 0.1)
    reveal(opened, "t1.zeros", "guess", True)
    opened.add("guess", "t1.share", {"value": 1.0, "sure": "fairly"})
    for id, outcome in [("t1.e1", "wrong"), ("t1.e1", "right"), ("t1.e2", "raised"), ("t1.e3", "stub")]:
        opened.add("check", id, {"outcome": outcome})
    found = progress()
    (unit,) = found.units
    assert (unit.unit, unit.committed, unit.revealed) == ("t1_toy", 4, 3)
    assert unit.decades == pytest.approx((2.0 + 0.1) / 2)  # off by two decades and by a tenth: the median is in between
    assert (unit.checks_passed, unit.checks_tried) == (1, 2)
    assert found.calibration == {"guess": (1, 1), "fairly": (0, 0), "very": (1, 2)}
    assert "t1 toy" in str(found)
    assert "50 %" in found._repr_html_()


def arithmetic_intensity(m, k, n, bytes_per_element):
    return 2 * m * k * n / ((m * k + k * n + m * n) * bytes_per_element)


def stub(m, k, n, bytes_per_element):
    raise NotImplementedError


def forgets_the_product(m, k, n, bytes_per_element):
    return 2 * m * k * n / ((m * k + k * n) * bytes_per_element)


@pytest.mark.parametrize(
    ("tries", "counted"),
    [
        ([stub], (0, 0)),
        ([stub, forgets_the_product], (0, 1)),
        ([forgets_the_product, arithmetic_intensity], (1, 1)),
        ([arithmetic_intensity, stub], (1, 1)),
    ],
)
def test_what_check_found_reaches_progress(learner, tries, counted):
    for function in tries:
        check("q05.intensity", function)
    (unit,) = (unit for unit in progress().units if units.prefix(unit.unit) == "q05")
    assert (unit.checks_passed, unit.checks_tried) == counted
    assert ("1 of 1 tried" in str(progress())) is (counted == (1, 1))


def test_claims_that_stand_only_on_the_docket_are_no_cards(toys):
    stated = (Path(__file__).parent / "toy_units" / "t1_toy" / "cards.toml").read_text()
    tables, docket = stated.count("\nkind = ") + stated.startswith("kind = "), stated.count("docket = true")
    assert docket == 1
    reveal(Record.open(), "t1.s000-02", "very", True)
    (unit,) = progress().units
    assert (unit.cards, unit.committed, unit.revealed) == (tables - docket, 0, 0)
    assert progress().calibration["very"] == (1, 1)


def test_calibration_goes_by_the_first_guess(toys):
    opened = Record.open()
    opened.add("guess", "t1.speed-up", {"value": 9.0, "sure": "very"})
    reveal(opened, "t1.speed-up", "guess", False)
    assert progress().calibration["very"] == (0, 1)
    assert progress().calibration["guess"] == (0, 0)


def test_progress_of_an_empty_record_lists_the_units(toys):
    assert [(u.unit, u.committed) for u in progress().units] == [("t1_toy", 0)]


def test_progress_survives_events_of_a_unit_that_is_gone(toys):
    Record.open().add("reveal", "q99.gone", {"decades": "far"})
    assert [u.unit for u in progress().units] == ["t1_toy", "q99"]
