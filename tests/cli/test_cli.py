"""The `course` command: what it prints, and its exit code. An expected error is one line on the error stream."""

import json
import os
import subprocess
import sys

import pytest

from course_lib import cli, experiments, units
from course_lib.experiments.profile import doctor, profile


@pytest.fixture(autouse=True)
def cache_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(profile, "_in_memory", None)
    return tmp_path / "cache"


@pytest.fixture
def no_measuring(monkeypatch):
    """A profile that nobody measured."""
    entry = {"id": "this-machine", "name": "Example", "kind": "cpu", "peaks": {"fp32": 2e11}, "memory_bandwidth": 4e10}
    entry |= {"memory_capacity": 10**10, "call_overhead": 1e-6, "measured_at": "2026-01-02"}

    def measure(quick=False, progress=iter):
        conditions = {**profile.conditions(), "date": "2026-01-02", "quick": quick}
        return {"schema": 1, "cpu": entry, "cuda": None, "conditions": conditions, "raw": {}}

    monkeypatch.setattr(profile, "measure", measure)


def one_line(text, *parts):
    assert text.count("\n") == 1, text
    assert all(part in text for part in parts), text
    assert "Traceback" not in text


def test_doctor(no_measuring, cache_folder, capsys):
    assert cli.main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "fp32 200 GFLOP/s" in out
    assert f"kept in {cache_folder / 'profile.json'}" in out
    assert len(out.splitlines()) <= 15
    assert json.loads((cache_folder / "profile.json").read_text("utf-8"))["cpu"]["peaks"] == {"fp32": 2e11}


def test_doctor_if_stale(no_measuring, cache_folder, monkeypatch, capsys):
    assert cli.main(["doctor", "--if-stale"]) == 0
    monkeypatch.setattr(profile, "measure", lambda **_: pytest.fail("measured although nothing is stale"))
    assert cli.main(["doctor", "--if-stale"]) == 0
    assert "kept and still valid" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["{", "[]", '{"schema": 99}', "\x00"])
def test_doctor_replaces_a_damaged_profile(no_measuring, cache_folder, content, capsys):
    cache_folder.mkdir()
    (cache_folder / "profile.json").write_text(content, "utf-8")
    assert cli.main(["doctor", "--if-stale"]) == 0
    assert json.loads((cache_folder / "profile.json").read_text("utf-8"))["schema"] == 1
    assert capsys.readouterr().err == ""


def test_doctor_where_nothing_can_be_kept(no_measuring, tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file" / "below"))
    assert cli.main(["doctor"]) == 2
    captured = capsys.readouterr()
    one_line(captured.err, "course doctor: ", "could not be kept", "COURSE_CACHE")
    assert "fp32 200 GFLOP/s" in captured.out, "the report is shown all the same"
    assert profile.current("cpu")[0].memory_bandwidth == 4e10, "and the profile serves this process"


def test_doctor_without_torch(monkeypatch, capsys):
    def gone():
        raise experiments.Unavailable("PyTorch is not installed.")

    monkeypatch.setattr(doctor.timing, "need_torch", gone)
    assert cli.main(["doctor"]) == 2
    captured = capsys.readouterr()
    one_line(captured.err, "PyTorch is not installed.")
    assert "no PyTorch" in captured.out


def test_interrupted(monkeypatch, capsys):
    monkeypatch.setattr(experiments, "doctor", lambda refresh: (_ for _ in ()).throw(KeyboardInterrupt))
    assert cli.main(["doctor"]) == 130
    one_line(capsys.readouterr().err, "interrupted")


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["record", "--only", "same_flop"], ["course record: ", "Did you mean 'same_flops'"]),
        (["record", "--on", "cuda"], ["needs an NVIDIA GPU"]),
        (["record", "--check", "/nowhere/x.json"], ["x.json cannot be read"]),
    ],
)
def test_expected_errors_are_one_line(arguments, parts, capsys, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert cli.main(arguments) == 2
    one_line(capsys.readouterr().err, *parts)


def test_an_edited_recording_is_refused(tmp_path, capsys):
    (tmp_path / "x.json").write_text('{"schema": 1, "digest": "0"}')
    assert cli.main(["record", "--check", str(tmp_path / "x.json")]) == 2
    one_line(capsys.readouterr().err, "x.json is refused", "digest")


def test_record_hands_its_arguments_on(monkeypatch, capsys):
    from course_lib.experiments.recordings import taking

    called = {}
    monkeypatch.setattr(taking, "record", lambda **given: called.update(given) or ("there.json", True))
    assert cli.main(["record", "--on", "cpu", "--only", "same_flops", "--out", "there.json"]) == 0
    assert called == {"on": "cpu", "only": ["same_flops"], "out": "there.json", "quick": False, "apart": True}
    assert capsys.readouterr().out == "recorded in there.json\n"
    monkeypatch.setattr(taking, "record", lambda **_: ("there.json.partial", False))
    assert cli.main(["record"]) == 130


def test_lab_hands_its_arguments_on(monkeypatch):
    from course_lib.teaching.lab import my_course

    called = []
    monkeypatch.setattr(my_course, "main", lambda arguments: called.append(list(arguments)) or 0)
    assert cli.main(["lab"]) == 0
    assert cli.main(["lab", "--", "--no-browser", "--port", "8899"]) == 0
    assert called == [[], ["--no-browser", "--port", "8899"]]


def test_build_outside_a_checkout(monkeypatch, capsys):
    monkeypatch.setattr(units, "checkout", lambda: None)
    monkeypatch.setattr(subprocess, "run", None)
    assert cli.main(["build"]) == 2
    one_line(capsys.readouterr().err, "works in a checkout")


def test_build_hands_its_options_and_its_exit_code_on(monkeypatch, root):
    called = []

    def run(command, cwd):
        called.append((command[1:], cwd))
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(subprocess, "run", run)
    assert cli.main(["build", "--check"]) == 3
    assert cli.main(["build", "q05", "q06", "--lint"]) == 3
    assert cli.main(["new", "q99_new", "A title"]) == 3
    assert called == [
        (["-m", "tools.build", "--check"], root),
        (["-m", "tools.build", "q05", "q06", "--lint"], root),
        (["-m", "tools.new", "q99_new", "A title"], root),
    ]


@pytest.fixture
def copy(monkeypatch, tmp_path):
    """A learner's copy with a record of one event, in a course whose current folder is elsewhere."""
    from course_lib.teaching.lab import my_course

    folder = tmp_path / "my_course"
    (folder / ".course").mkdir(parents=True)
    event = {"kind": "guess", "id": "q05.linear-1-to-100", "at": "2026", "payload": {"value": 2.0, "sure": "very"}}
    (folder / ".course" / "record.json").write_text(json.dumps({"schema": 1, "events": [event]}))
    monkeypatch.setattr(my_course, "copy_folder", lambda: folder)
    monkeypatch.delenv("COURSE_HOME")
    monkeypatch.delenv("COURSE_STATIC")
    monkeypatch.chdir(tmp_path)
    return folder


def test_progress_finds_the_copy_from_outside(copy, capsys):
    assert cli.main(["progress"]) == 0
    out = capsys.readouterr().out
    assert "You have revealed 0 of" in out
    assert f"Kept in {copy / '.course' / 'record.json'}." in out


def test_progress_where_nothing_is_recorded(copy, capsys):
    (copy / ".course" / "record.json").unlink()
    assert cli.main(["progress"]) == 0
    assert capsys.readouterr().out.startswith("Nothing is recorded yet. Open a lesson")


def test_progress_of_the_folder_one_is_in_goes_first(copy, tmp_path, capsys, monkeypatch):
    mine = tmp_path / "another"
    (mine / ".course").mkdir(parents=True)
    monkeypatch.chdir(mine)
    assert cli.main(["progress"]) == 0
    assert "Nothing is recorded yet" in capsys.readouterr().out


def test_progress_exported_and_imported(copy, tmp_path, capsys):
    assert cli.main(["progress", "--export", "mine.json"]) == 0
    assert cli.main(["progress", "--export", "mine.csv"]) == 0
    assert [line.rsplit(": ")[-1] for line in capsys.readouterr().out.splitlines()] == ["1.", "1."]
    assert (tmp_path / "mine.csv").read_text().startswith("id,")
    assert cli.main(["progress", "--export", "mine.json"]) == 2
    one_line(capsys.readouterr().err, "course progress: mine.json exists already", "--force")
    assert cli.main(["progress", "--export", "mine.json", "--force"]) == 0
    (copy / ".course" / "record.json").unlink()
    capsys.readouterr()
    assert cli.main(["progress", "--import", "mine.json"]) == 0
    assert capsys.readouterr().out.startswith("Added to ")
    assert cli.main(["progress", "--import", "nowhere.json"]) == 2
    one_line(capsys.readouterr().err, "nowhere.json could not be read", "No such file")


def test_progress_is_not_exported_and_imported_at_once(capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["progress", "--export", "a.json", "--import", "b.json"])
    assert left.value.code == 2


def test_a_missing_package_is_named(monkeypatch, capsys):
    def lab(_):
        raise ModuleNotFoundError("No module named 'jupyterlab'", name="jupyterlab")

    from course_lib.teaching.lab import my_course

    monkeypatch.setattr(my_course, "main", lab)
    assert cli.main(["lab"]) == 2
    one_line(capsys.readouterr().err, "'jupyterlab' is not installed", "make lab")


@pytest.mark.parametrize("arguments", [[], ["walk"], ["record", "--on", "tpu"]])
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(arguments)
    assert left.value.code == 2
    assert "usage: course" in capsys.readouterr().err


def test_as_a_module_from_a_checkout(root, tmp_path):
    """`python -m course_lib` in the checkout's folder, with nothing installed on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "course_lib", "record", "--check", str(tmp_path / "no.json")],
        cwd=root,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": ""},
    )
    assert done.returncode == 2
    one_line(done.stderr, "no.json cannot be read")


def test_help_costs_no_heavy_import(root):
    code = "\n".join(
        [
            "import sys, course_lib.cli as c",
            "try: c.main(['--help'])",
            "except SystemExit: print('torch' in sys.modules, 'IPython' in sys.modules)",
        ]
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True)
    assert done.stdout.endswith("False False\n")


@pytest.mark.parametrize(("arguments", "lines"), [(["--help"], 0), (["doctor"], 1), (["doctor"], 100_000)])
def test_a_reader_that_has_seen_enough(root, arguments, lines):
    """`course --help | head -1` ends without a complaint, whether what is printed waits for the end or does not."""
    code = (
        "import sys, course_lib.cli as c\n"
        f"c._doctor = lambda **_: print('a line\\n' * {lines})\n"
        f"sys.exit(c.main({arguments}))"
    )
    reader = subprocess.Popen([sys.executable, "-c", "pass"], stdin=subprocess.PIPE)
    reader.wait()
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, env=buffered, stdout=reader.stdin, stderr=subprocess.PIPE, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
