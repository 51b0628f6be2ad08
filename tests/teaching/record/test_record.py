"""The record keeps every event, whatever happens to its file."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from course_lib.teaching.record import record
from course_lib.teaching.record.record import Record

ROOT = Path(__file__).resolve().parents[3]


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
    assert capsys.readouterr().out.count(record.say("no-folder")) == 1


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
    assert capsys.readouterr().out.splitlines() == [record.say("set-aside", file=aside[0].name)]


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


def learners_process(code: str, folder: Path, *args: str, **kwargs) -> subprocess.Popen:
    """Python code in a process of its own, in the learner's folder."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_")}
    command = [sys.executable, "-c", code, *args]
    return subprocess.Popen(
        command, cwd=folder, env=kept | {"PYTHONPATH": str(ROOT)}, text=True, stdout=subprocess.PIPE, **kwargs
    )


READ_ONLY = """
import os
from course_lib.teaching.record.record import Record
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)  # nothing stops root
for n in (1, 2):
    Record.open().add("hint", "t1.a", {"n": n})
print([event["payload"]["n"] for event in Record.open().events()], Record.open().where)
"""


def test_a_read_only_folder_keeps_events_in_memory_with_one_line():
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to other users
        course = Path(place, ".course")
        course.mkdir()
        (course / "record.json").write_text('{"schema": 1, "events": []}')
        for path in (Path(place), course):
            path.chmod(0o555)
        try:
            lines = learners_process(READ_ONLY, Path(place)).communicate(timeout=60)[0].splitlines()
        finally:
            for path in (Path(place), course):
                path.chmod(0o755)
        assert len(lines) == 2
        assert "record.json could not be written (Permission denied)" in lines[0]
        assert lines[1].startswith("[1, 2] ")
        assert json.loads((course / "record.json").read_text())["events"] == []


FULL = """
import resource, signal, sys
from course_lib.teaching.record.record import Record
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
opened = Record.open()
opened.add("hint", "t1.a", {"n": 1})
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (150, hard))  # from here on, real writes really fail
for n in (2, 3):
    opened.add("hint", "t1.a", {"n": n})
print([event["payload"]["n"] for event in opened.events()], [event["payload"]["n"] for event in Record.open().events()])
print(opened.where, opened.notice)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
if sys.argv[1] == "add":
    opened.add("hint", "t1.a", {"n": 4})
    print(opened.where, [event["payload"]["n"] for event in Record.open().events()])
    print(repr(opened.notice))
"""


def test_what_a_full_disk_refused_is_written_with_the_next_event(learner):
    lines = learners_process(FULL, learner, "add").communicate(timeout=60)[0].splitlines()
    said, read, notice, *later = lines
    assert "record.json could not be written (File too large)" in said
    assert read == "[1, 2, 3] [1, 2, 3]"
    assert notice == f"memory {said}"  # that the file can be read takes nothing back
    assert later == [f"{learner / '.course' / 'record.json'} [1, 2, 3, 4]", "''"]  # the line is taken back
    assert [e["payload"]["n"] for e in document(learner)["events"]] == [1, 2, 3, 4]
    assert sorted(path.name for path in (learner / ".course").iterdir()) == [".record.lock", "record.json"]


def test_what_a_full_disk_refused_is_written_when_the_kernel_stops(learner):
    learners_process(FULL, learner, "stop").communicate(timeout=60)
    assert [e["payload"]["n"] for e in document(learner)["events"]] == [1, 2, 3]


def test_a_lock_that_nobody_lets_go_of_stops_no_card(learner, monkeypatch, capsys):
    import fcntl

    monkeypatch.setattr(record, "PATIENCE", 0.05)
    with open(learner / ".course" / ".record.lock", "a") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        Record.open().add("hint", "t1.a", {"n": 1})
        assert len(Record.open().events()) == 1
        assert not (learner / ".course" / "record.json").exists()
    Record.open().add("hint", "t1.a", {"n": 2})
    assert [e["payload"]["n"] for e in document(learner)["events"]] == [1, 2]
    (line,) = capsys.readouterr().out.splitlines()
    assert "another program does not let go of it" in line


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
    Record.open().add("check", "t1.a", {"got": {1, 2}, "value": float("nan"), "typed": "half \ud83d of it"})
    Record.open().add("hint", "t1.a", {"n": 1})
    assert Record.open().events()[0]["payload"] == {"got": "{1, 2}", "value": "NaN", "typed": "half ? of it"}


def test_a_record_is_for_its_owner_and_reads_in_any_language(learner):
    Record.open().add("guess", "t1.a", {"value": "因为权重只读一次"})
    path = learner / ".course" / "record.json"
    assert "因为权重只读一次" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0


# ---- Several writers at once -------------------------------------------------------------------------------------

WRITER = """
import sys
from course_lib.teaching.record import record
from course_lib.teaching.record.record import Record
record.PATIENCE = 600  # on a busy machine four others may have their turns first, again and again
opened = Record.open()
for n in range(int(sys.argv[2])):
    opened.add("hint", "t1." + sys.argv[1], {"n": n})
    print(n, flush=True)
"""


def test_five_processes_that_write_at_once_lose_nothing(learner):
    many = 60
    writers = {name: learners_process(WRITER, learner, name, str(many)) for name in "abcde"}
    assert {name: writer.communicate(timeout=120) and writer.returncode for name, writer in writers.items()} == (
        dict.fromkeys(writers, 0)
    )
    for name in writers:
        assert [e["payload"]["n"] for e in Record.open().events(f"t1.{name}")] == list(range(many))
    assert len(document(learner)["events"]) == many * len(writers)


def test_a_writer_killed_at_any_moment_leaves_a_record_with_all_that_it_had_written(learner):
    moments = random.Random(5)
    for name in "abcdefgh":
        writer = learners_process(WRITER, learner, name, "100000")
        seen = int(writer.stdout.readline())  # it is writing now
        time.sleep(moments.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        seen = max([seen, *map(int, writer.communicate(timeout=60)[0].split())])
        kept = [e["payload"]["n"] for e in document(learner)["events"] if e["id"] == f"t1.{name}"]
        assert kept == list(range(len(kept)))
        assert len(kept) >= seen + 1
    Record.open().add("hint", "t1.after", {"n": 1})
    assert not list((learner / ".course").glob("record.damaged-*"))


def test_two_kernels_that_write_at_once_lose_nothing(learner):
    from jupyter_client.manager import start_new_kernel

    many, kernels = 40, []
    kept = {key: value for key, value in os.environ.items() if not key.startswith("COURSE_")}
    try:
        for _ in range(2):
            kernels.append(start_new_kernel(cwd=str(learner), env=kept | {"PYTHONPATH": str(ROOT)}))
        code = (
            "from course_lib.teaching.record.record import Record\n"
            "for n in range({many}): Record.open().add('hint', 't1.k{k}', {{'n': n}})"
        )
        asked = [client.execute(code.format(many=many, k=k)) for k, (_, client) in enumerate(kernels)]
        for request, (_, client) in zip(asked, kernels, strict=True):
            while (answer := client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != request:
                pass
            assert answer["content"]["status"] == "ok", answer["content"]
    finally:
        for manager, client in kernels:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
    for k in range(2):
        assert [e["payload"]["n"] for e in Record.open().events(f"t1.k{k}")] == list(range(many))
