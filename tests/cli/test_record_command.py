"""`course record`: little is lost when something fails on a rare machine, and what is missing says why."""

import copy
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.experiments import registry
from course_lib.experiments.profile import machine, profile
from course_lib.experiments.recordings import loading, taking
from course_lib.experiments.running import errors, experiment, result, timing
from tests.experiments import example

CHOSEN = ("same_flops", "ten_times_flops", "roofline_points", "hardware_friendly")


@pytest.fixture(autouse=True)
def no_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(profile, "_in_memory", None)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of recordings."""
    place = tmp_path / "recordings"
    place.mkdir()
    monkeypatch.setattr(loading, "folder", lambda: place)
    return place


def measured_profile(quick=True, progress=iter):
    """A profile that nobody measured."""
    conditions = {**profile.conditions(), "date": "2026-01-02", "quick": False}
    return {"schema": 1, "cpu": dict(example.CPU), "cuda": None, "conditions": conditions, "raw": {"cpu": {}}}


def one_case(name, **case):
    """An experiment with one case, under a name that is registered."""
    found = registry.get("launch_gaps")
    say = copy.copy(found.say)
    say.name = name
    facts = {"elements": 1, "part": "x"}
    listed = (experiment.Case("only", "call", expect=lambda device: 1.0, facts=facts, **case),)
    return experiment.replace(found, say=say, cases=lambda device, quick: listed)


@pytest.fixture
def in_process(monkeypatch, folder):
    """Measured in this process, with experiments that the test gives by name."""
    monkeypatch.setattr(profile, "measure", measured_profile)

    def with_experiments(**given):
        monkeypatch.setattr(registry, "get", given.__getitem__)

    return with_experiments


def good(name):
    return one_case(name, observe=lambda bench, seconds: [1.0, 2.0, 3.0])


# ---------------------------------------------------------------- what fails


def test_an_experiment_that_fails_is_unavailable_with_its_reason(in_process, folder, capsys):
    def broken(bench, seconds):
        raise RuntimeError("no kernel image in /opt/some/where/lib.so\nfor this device")

    in_process(same_flops=good("same_flops"), ten_times_flops=one_case("ten_times_flops", observe=broken))
    path, complete = taking.record(on="cpu", only=["ten_times_flops", "same_flops"])
    assert complete
    reason = "RuntimeError: no kernel image in lib.so for this device"
    held = loading.read(path)
    assert list(held["results"]) == ["same_flops"]
    assert reason in held["unavailable"]["ten_times_flops"]
    assert f"ten_times_flops is unavailable: {held['unavailable']['ten_times_flops']}" in capsys.readouterr().err
    assert reason in taking.check(path).splitlines()[1]
    assert experiments.recorded("ten_times_flops") == ()
    with pytest.raises(experiments.Unavailable, match=r"was not recorded on .*no kernel image"):
        experiments.load("ten_times_flops", held["device"]["id"])
    assert experiments.load("same_flops").measured == {"only": 2.0}


def test_a_module_that_does_not_even_import_loses_nothing_else(in_process, folder, monkeypatch):
    fine = good("same_flops")

    def get(name):
        if name == "ten_times_flops":
            raise ImportError("No module named 'triton'")
        return fine

    monkeypatch.setattr(registry, "get", get)
    path, _ = taking.record(on="cpu", only=["ten_times_flops", "same_flops"])
    assert loading.read(path)["unavailable"] == {"ten_times_flops": "ImportError: No module named 'triton'"}


def test_a_case_that_fails_is_left_out_under_a_budget_only(kept, monkeypatch):
    def fails(bench, seconds):
        raise RuntimeError("unsupported")

    both = one_case("same_flops", observe=lambda bench, seconds: [1.0])
    cases = (*both.cases(None, True), experiment.replace(one_case("x", observe=fails).cases(None, True)[0], name="bad"))
    both = experiment.replace(both, cases=lambda device, quick: cases)
    r = experiment.run(both, "cpu", budget=10.0)
    assert list(r.raw) == ["only"]
    assert "Left out (bad): RuntimeError: unsupported" in r.provenance["notes"]
    with pytest.raises(RuntimeError, match="unsupported"):
        experiment.run(both, "cpu")


def test_a_budget_shortens_every_case_and_leaves_out_what_would_start_too_late(kept, monkeypatch):
    given, clock = [], iter([0.0, 0.0, 5.0, 11.0])
    monkeypatch.setattr(experiment.time, "monotonic", lambda: next(clock))
    first = one_case("same_flops", observe=lambda bench, seconds: [given.append(seconds) or 1.0])
    cases = tuple(experiment.replace(first.cases(None, True)[0], name=f"case {n}") for n in range(3))
    three = experiment.replace(first, cases=lambda device, quick: cases, full_seconds=30.0)
    r = experiment.run(three, "cpu", quick=False, budget=10.0)
    assert list(r.raw) == ["case 0", "case 1"]
    assert given == pytest.approx([2.0, 2.0])
    assert any(note.startswith("Left out (case 2): The 10 s") for note in r.provenance["notes"])


def test_an_experiment_gets_the_seconds_that_it_states(in_process, folder, monkeypatch):
    given, real = {}, experiment.run

    def run(chosen, on, quick, progress, budget):
        given[chosen.name] = budget
        return real(chosen, on, quick, progress, budget)

    monkeypatch.setattr(experiment, "run", run)
    longer = experiment.replace(good("ten_times_flops"), recording_seconds=60.0)
    in_process(same_flops=good("same_flops"), ten_times_flops=longer)
    taking.record(on="cpu", only=["same_flops", "ten_times_flops"])
    assert given == {"same_flops": taking.BUDGET, "ten_times_flops": 60.0}


@pytest.mark.parametrize("name", registry.names())
def test_no_experiment_asks_for_so_long_that_it_seems_to_hang(name):
    assert registry.get(name).recording_seconds <= taking.HANGS / 2


@pytest.fixture
def kept(monkeypatch):
    """Predictions are made with the profile of the example."""
    monkeypatch.setattr(profile, "current", lambda on: (hardware.measured(example.CPU), "An example."))


def test_a_full_profile_that_fails_is_replaced_by_a_quick_one(in_process, folder, monkeypatch):
    def measure(quick, progress=iter):
        if not quick:
            raise RuntimeError("fp8 went wrong")
        return measured_profile()

    monkeypatch.setattr(profile, "measure", measure)
    in_process(same_flops=good("same_flops"))
    monkeypatch.setattr(profile, "measure", measure)
    path, _ = taking.record(on="cpu", only=["same_flops"])
    assert loading.read(path)["conditions"]["not_in_full"] == "RuntimeError: fp8 went wrong"


def test_when_the_time_is_up_the_rest_is_unavailable(in_process, folder, monkeypatch):
    monkeypatch.setattr(taking, "SECONDS", 0.0)
    in_process(same_flops=good("same_flops"))
    with pytest.raises(experiments.Unavailable, match=r"Nothing could be recorded\. same_flops: The time"):
        taking.record(on="cpu", only=["same_flops"])


def test_what_was_measured_is_written_as_it_goes(in_process, folder, monkeypatch):
    seen = []

    def last(bench, seconds):
        (partial,) = folder.glob("*.partial")
        seen.extend(loading.read(partial)["results"])
        raise KeyboardInterrupt

    in_process(same_flops=good("same_flops"), ten_times_flops=one_case("ten_times_flops", observe=last))
    with pytest.raises(KeyboardInterrupt):
        taking.record(on="cpu", only=["same_flops", "ten_times_flops"])
    assert seen == ["same_flops"]
    assert not list(folder.glob("*.json"))
    (partial,) = folder.glob("*.partial")
    assert list(loading.read(partial)["results"]) == ["same_flops"], "a killed run has lost the last one only"


def test_a_finished_recording_leaves_no_partial_file(in_process, folder):
    in_process(same_flops=good("same_flops"))
    path, _ = taking.record(on="cpu", only=["same_flops"])
    assert list(folder.iterdir()) == [path]


# ---------------------------------------------------------------- the process that measures


def stand_in(on, names, quick, seconds, measured, sender):
    """A measuring process that crashes in one experiment and hangs in another."""
    if not measured:
        sender.send(("begin", "profile"))
        sender.send(("profile", "profile", measured_profile(), {"sm_clock": 1.98e9}))
    for name in names:
        sender.send(("begin", name))
        if name == "ten_times_flops":
            os._exit(3)
        if name == "roofline_points":
            time.sleep(600)
        sender.send(("result", name, example.result(name), None))


@pytest.mark.slow
def test_a_crash_and_a_hang_cost_one_experiment_each(folder, monkeypatch):
    monkeypatch.setattr(taking, "_worker", stand_in)
    patience, take = taking.HANGS, taking._State.take

    def patient_until_it_measures(state, kind, name, *content):
        if kind == "begin" and name == "roofline_points":
            monkeypatch.setattr(taking, "HANGS", 0.5)
        if kind == "unavailable":
            monkeypatch.setattr(taking, "HANGS", patience)
        take(state, kind, name, *content)

    monkeypatch.setattr(taking._State, "take", patient_until_it_measures)
    path, complete = taking.record(on="cpu", only=CHOSEN, apart=True)
    assert complete
    held = loading.read(path)
    assert set(held["results"]) == {"same_flops", "hardware_friendly"}
    assert held["unavailable"]["ten_times_flops"] == "The process that measured it ended (3)."
    assert held["unavailable"]["roofline_points"].startswith("It was stopped when it had finished nothing")
    assert held["gauges"] == {"profile": {"sm_clock": 1.98e9}}, "measured once, not by every process"


def told(on, names, quick, seconds, measured, sender):
    """A measuring process that has told all it has when it is interrupted."""
    sender.send(("profile", "profile", measured_profile(), None))
    sender.send(("result", "same_flops", example.result("same_flops"), None))


@pytest.fixture
def interruptible():
    """SIGINT as a terminal's process has it: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_an_interrupt_while_a_result_is_written_does_not_lose_it(folder, monkeypatch, interruptible):
    write = taking._State._write

    def interrupted(state):
        if state.results:
            signal.raise_signal(signal.SIGINT)
        write(state)

    monkeypatch.setattr(taking, "_worker", told)
    monkeypatch.setattr(taking._State, "_write", interrupted)
    path, complete = taking.record(on="cpu", only=["same_flops", "ten_times_flops"], apart=True)
    assert not complete
    assert list(loading.read(path)["results"]) == ["same_flops"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_a_second_interrupt_ends_at_once(folder, monkeypatch, interruptible):
    def impatient(state):
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(taking, "_worker", told)
    monkeypatch.setattr(taking._State, "_write", impatient)
    with pytest.raises(KeyboardInterrupt):
        taking.record(on="cpu", only=["same_flops"], apart=True)


def dead(*_):
    """A measuring process that ends before it says anything."""


def test_a_process_that_never_measures_is_no_endless_loop(folder, monkeypatch):
    monkeypatch.setattr(taking, "_worker", dead)
    with pytest.raises(experiments.Unavailable, match="profile of this machine could not be measured"):
        taking.record(on="cpu", only=["same_flops"], apart=True)


# ---------------------------------------------------------------- from a bare checkout

BLOCKED = ("numpy", "psutil", "tqdm", "pynvml", "matplotlib", "IPython", "ipywidgets", "anywidget", "transformers")


@pytest.fixture
def bare(tmp_path, without):
    """Environment of a Python, and of all that it starts, which imports torch and the standard library only."""
    place = tmp_path / "bare"
    place.mkdir()
    (place / "sitecustomize.py").write_text(without(BLOCKED), "utf-8")
    return {**os.environ, "PYTHONPATH": str(place)}


@pytest.mark.slow
def test_python_m_course_lib_record(root, bare, tmp_path):
    """The command of README.md on a bare machine, quickly; torch.compile and CUDA are not asked for here."""
    out, only = tmp_path / "out.json", ("cuda_graphs", "launch_gaps", "allocator_trace")
    command = [
        sys.executable,
        "-m",
        "course_lib",
        "record",
        "--on",
        "cpu",
        "--quick",
        "--out",
        str(out),
        "--only",
        *only,
    ]
    done = subprocess.run(command, cwd=root, env=bare, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "launch_gaps 1/5" in done.stderr, "progress without tqdm is lines"
    text = out.read_text("utf-8")
    data = json.loads(text)
    assert set(data["results"]) == {"launch_gaps", "allocator_trace"}
    assert data["unavailable"] == {"cuda_graphs": registry.get("cuda_graphs").gpu_only}
    assert data["digest"] == result.digest(data)
    assert data["device"]["id"] == loading.device_id("cpu", machine.this().cpu_name)
    for private in (socket.gethostname(), str(tmp_path), str(root)):
        assert private not in text
    assert taking.check(out).splitlines()[1].startswith("cuda_graphs is unavailable: A CUDA graph")


MINUTES = [name for name in registry.names() if name not in ("launch_gaps", "matmul_sweep")]


@pytest.mark.slow
def test_an_interrupt_keeps_what_is_there(root, bare, tmp_path):
    """Ctrl-C in a terminal reaches both processes; what was measured until then is a readable recording.

    Much is left to measure, so that it reaches them before they are done, however late this process has its turn.
    """
    out = tmp_path / "out.json"
    partial = tmp_path / "out.json.partial"
    command = [sys.executable, "-m", "course_lib", "record", "--on", "cpu", "--quick", "--out", str(out)]
    running = subprocess.Popen(
        [*command, "--only", "launch_gaps", "matmul_sweep", *MINUTES],
        cwd=root,
        env=bare,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background job ignores it
    )
    lines = []
    for line in running.stderr:
        lines.append(line)
        if line.startswith("matmul_sweep 1/"):
            os.killpg(running.pid, signal.SIGINT)
            break
    running.stderr.read()
    assert running.wait(60) == 130, lines
    assert not out.exists()
    assert "launch_gaps" in loading.read(partial)["results"]


# ---------------------------------------------------------------- what a recording must be


def test_every_shipped_recording_is_valid():
    shipped = sorted(loading.folder().glob("*.json"))
    assert shipped
    for path in shipped:
        assert taking.check(path).startswith(f"{path.name} is valid: ")


def written(folder, **changed):
    """A recording in which some keys are changed, and the digest is right again."""
    data = json.loads(example.keep(folder, example.result()).read_text("utf-8"))
    path = folder / "changed.json"
    path.write_text(result.canonical(result.sign({**data, **changed})), "utf-8")
    return path


def test_a_recording_from_before_there_were_reasons_is_valid(folder):
    data = json.loads(written(folder).read_text("utf-8"))
    for key in ("unavailable", "gauges"):
        del data[key]
    path = folder / "old.json"
    path.write_text(result.canonical(result.sign(data)), "utf-8")
    assert loading.unavailable(loading.read(path)) == {}


@pytest.mark.parametrize("wrong", [{"unavailable": {"mfu": None}}, {"unavailable": ["mfu"]}, {"schema": 99}])
def test_what_is_not_well_formed_is_refused(folder, wrong):
    path = written(folder, **wrong)
    with pytest.raises(experiments.Unavailable, match="refused"):
        taking.check(path)


def test_what_is_too_large_is_refused(folder, monkeypatch):
    path = example.keep(folder, example.result())
    monkeypatch.setattr(loading, "LARGEST", 1000)
    with pytest.raises(experiments.Unavailable, match="refused: it is larger than"):
        loading.read(path)


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (RuntimeError("a\n\n  b\nc\nd"), "RuntimeError: a b c"),
        (RuntimeError("in /home/someone/x/y.py: no"), "RuntimeError: in y.py: no"),
        (RuntimeError(r"in C:\Users\someone\y.py: no"), "RuntimeError: in y.py: no"),
        (experiments.Unavailable("Say a/b in B/s."), "Say a/b in B/s."),
        (ValueError(), "ValueError"),
        (RuntimeError("x" * 1000), f"RuntimeError: {'x' * 285}…"),
    ],
)
def test_a_reason_is_one_line_without_paths(problem, said):
    assert errors.in_one_line(problem) == said


def test_an_interrupted_case_ends_the_experiment_and_not_the_recording(in_process, folder, monkeypatch):
    stopped = timing.Repeats((1e-3,), interrupted=True)
    monkeypatch.setattr(timing, "measure", lambda *_, **__: stopped)
    in_process(
        same_flops=good("same_flops"), ten_times_flops=one_case("ten_times_flops", build=lambda bench: lambda: None)
    )
    path, complete = taking.record(on="cpu", only=["same_flops", "ten_times_flops"])
    assert not complete
    assert path.name.endswith(".partial")
    assert set(loading.read(path)["results"]) == {"same_flops", "ten_times_flops"}
