"""A live run from end to end, and the recorder."""

import contextlib
import copy
import io
import json

import pytest

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.experiments import registry
from course_lib.experiments.profile import machine, profile
from course_lib.experiments.recordings import loading, taking
from course_lib.experiments.running import experiment, result, timing
from tests.experiments.example import CPU


def with_columns(name, key):
    return key in {column.key for column in registry.get(name).columns}


TIMED = [name for name in registry.names() if with_columns(name, "attained") and with_columns(name, "calls")]


@pytest.mark.parametrize("name", ["ten_times_flops", *TIMED])
def test_a_run(name, kept_profile, timed_once):
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        r = experiments.run(name, on="cpu")
    assert shown.getvalue() == "", "a run prints nothing"
    assert r.name == name
    assert r.device["memory_bandwidth"] == 40e9
    assert experiments.Result.from_json(r.to_json()) == r
    assert r.provenance["profile"] == "Predicted with this machine's profile of 2026-01-02."
    cases = registry.get(name).cases(hardware.measured(kept_profile["cpu"]), True)
    assert set(r.raw) == {case.name for case in cases}
    for case in cases:
        if case.build:
            assert r.raw[case.name] == pytest.approx([s / case.share for s in (1e-3, 2e-3, 3e-3)])
    if name != "ten_times_flops":
        for row in r.rows:
            assert row["attained"] == pytest.approx(row["flops"] / row["measured"])
            assert row["predicted"] == r.prediction[row["case"]]


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_any_experiment_runs_quietly_or_says_what_it_needs(name, kept_profile, timed_once, capfd):
    if registry.get(name).gpu_only:
        with pytest.raises(experiments.Unavailable, match="GPU"):
            experiments.run(name, on="cpu")
        return
    r = experiments.run(name, on="cpu")
    assert capfd.readouterr() == ("", ""), "a run prints nothing"
    assert r.rows
    assert experiments.Result.from_json(r.to_json()) == r
    assert set(r.prediction) >= {row["case"] for row in r.rows}


def test_ratios_are_quotients_of_medians(kept_profile, nothing_built, monkeypatch):
    """The n-th case takes n ms, so the ratio of a pair says which two cases it was made of."""
    times = iter(range(1, 100))
    monkeypatch.setattr(timing, "measure", lambda call, **_: timing.Repeats((next(times) * 1e-3,)))
    r = experiments.run("ten_times_flops", on="cpu")
    cases = registry.get("ten_times_flops").cases(hardware.measured(kept_profile["cpu"]), True)
    seconds = {case.name: n * 1e-3 / case.share for n, case in enumerate(cases, 1)}
    from course_lib.units.q05_flops_are_not_time.experiments.ten_times_flops import PAIRS

    assert [row["case"] for row in r.rows] == list(PAIRS)
    for row in r.rows:
        small, large = PAIRS[row["case"]]
        assert row["measured"] == pytest.approx(seconds[large] / seconds[small])
        assert row["large_flops"] == 10 * row["small_flops"]


def test_a_live_run_without_a_profile(recordings):
    """The one test that really measures: finite times, whatever they are."""
    r = experiments.run("same_flops", on="cpu")
    assert all(0 < row["q1"] <= row["measured"] <= row["q3"] < 60 for row in r.rows)
    assert all(row["repeats"] >= 3 for row in r.rows)
    assert "quick profile measured in this process" in r.provenance["profile"]
    assert len(r.compare().rows) == 4


def test_an_interrupted_run_keeps_what_was_measured(kept_profile, nothing_built, monkeypatch, recordings):
    taken = []

    def measure(call, *, seconds, at_least):
        taken.append(1)
        if len(taken) == 3:
            raise KeyboardInterrupt
        return timing.Repeats((1e-3, 1e-3), interrupted=False)

    monkeypatch.setattr(timing, "measure", measure)
    r = experiments.run("same_flops", on="cpu")
    assert [row["case"] for row in r.rows] == ["one large GEMM", "GEMV passes"]
    assert r.provenance["interrupted"]
    assert "Interrupted: 2 of 4 cases were measured." in str(r)
    assert len(r.compare().rows) == 2
    assert r.plot().alt
    assert experiments.Result.from_json(r.to_json()) == r


def test_an_interrupt_within_a_case_keeps_its_repeats(kept_profile, monkeypatch):
    monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Repeats((1e-3,), interrupted=True))
    r = experiments.run("ten_times_flops", on="cpu")
    assert r.rows == ()
    assert list(r.raw) == ["additions"]
    with pytest.raises(experiments.Unavailable, match="nothing to draw"):
        r.plot()


def test_an_interrupt_before_anything_was_measured_goes_on(kept_profile, monkeypatch):
    def measure(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(timing, "measure", measure)
    with pytest.raises(KeyboardInterrupt):
        experiments.run("same_flops", on="cpu")


def test_what_disturbed_a_run_is_said(kept_profile, nothing_built, monkeypatch):
    monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Repeats((1e-3, 2e-3, 9e-3)))
    monkeypatch.setattr(machine.Clock, "used_by_others", lambda self: 0.35)
    monkeypatch.setattr(machine, "last_level_cache", lambda: 256 * 2**20)
    r = experiments.run("same_flops", on="cpu")
    assert r.disturbed
    text = str(r)
    assert "Other programs used 35% of the processor" in text
    assert "spread widely: one large GEMM, GEMV passes, additions, tiny GEMMs." in text
    assert "last-level cache of this machine holds 268 MB" in text


def test_nothing_disturbs_a_count(kept_profile, monkeypatch):
    monkeypatch.setattr(machine.Clock, "used_by_others", lambda self: 0.35)
    monkeypatch.setattr(machine, "last_level_cache", lambda: 256 * 2**20)
    r = experiments.run("counted_matmul", on="cpu")
    assert not r.disturbed
    text = str(r) + str(r.compare())
    assert "Not a time: how fast this machine is" in text
    for word in ("Other programs", "last-level cache", "this machine's profile"):
        assert word not in text


def test_unknown_names():
    with pytest.raises(ValueError, match="Did you mean 'same_flops'"):
        experiments.run("sameflops")


# ---------------------------------------------------------------- the recorder


@pytest.mark.slow
def test_recording_with_torch_and_the_standard_library_only(python_without, tmp_path):
    """The profile is measured quickly and one experiment is run; nothing else may be imported."""
    out = tmp_path / "out.json"
    code = f"""
from course_lib.cli import main
from course_lib.experiments.recordings import taking
path, complete = taking.record(on="cpu", only=["same_flops"], out={str(out)!r}, quick=True)
assert complete
raise SystemExit(main(["record", "--check", {str(out)!r}]))
"""
    blocked = {"numpy", "psutil", "tqdm", "pynvml", "matplotlib", "IPython", "ipywidgets", "anywidget"}
    done = python_without(blocked, code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("out.json is valid: ")
    assert "same_flops 1/4: one large GEMM" in done.stderr, "progress without tqdm is lines"
    data = json.loads(out.read_text("utf-8"))
    import socket

    assert data["device"]["id"] == loading.device_id("cpu", machine.this().cpu_name)
    assert data["digest"] == result.digest(data)
    assert data["command"] == "course record --on cpu --only same_flops"
    assert {"torch", "python", "system", "threads", "machine", "date"} <= set(data["conditions"])
    assert socket.gethostname() not in out.read_text("utf-8")
    assert str(tmp_path) not in out.read_text("utf-8")


def test_a_recording_lands_in_the_folder_and_is_loaded_from_there(nothing_built, recordings):
    path, complete = taking.record(on="cpu", only=["same_flops"], quick=True)
    id = loading.device_id("cpu", machine.this().cpu_name)
    assert complete
    assert path == recordings / f"{id}.json"
    assert experiments.recorded("same_flops") == (id,)
    loaded = experiments.load("same_flops")
    assert loaded.device["id"] == id
    assert loaded["one large GEMM"]["measured"] == pytest.approx(2e-3)


def test_a_part_is_renewed_and_the_rest_stays(nothing_built, recordings):
    path, _ = taking.record(on="cpu", only=["same_flops", "ten_times_flops"], quick=True)
    before = json.loads(path.read_text("utf-8"))
    taking.record(on="cpu", only=["same_flops", "roofline_points"], quick=True)
    after = loading.read(path)
    assert set(after["results"]) == {"same_flops", "ten_times_flops", "roofline_points"}
    assert after["results"]["ten_times_flops"] == before["results"]["ten_times_flops"]
    assert after["conditions"] == before["conditions"]
    assert after["profile_raw"] == before["profile_raw"]
    assert after["command"].split("; ") == [
        "course record --on cpu --only same_flops ten_times_flops",
        "course record --on cpu --only same_flops roofline_points",
    ]


def test_a_part_of_another_device_is_refused(nothing_built, recordings, monkeypatch):
    path, _ = taking.record(on="cpu", only=["same_flops"], quick=True)
    before = path.read_text("utf-8")
    monkeypatch.setattr(loading, "device_id", lambda kind, name: "another")
    monkeypatch.setattr(profile, "measure", lambda **_: pytest.fail("measured before it was refused"))
    with pytest.raises(experiments.Unavailable, match="and this is another"):
        taking.record(on="cpu", only=["same_flops"], out=path)
    assert path.read_text("utf-8") == before


@pytest.mark.slow
def test_an_interrupted_recording_replaces_nothing(nothing_built, recordings, monkeypatch):
    whole, _ = taking.record(on="cpu", only=["same_flops"], quick=True)
    before = whole.read_text("utf-8")
    run = experiment.run

    def stopped(*arguments):
        monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Repeats((1e-3,), interrupted=True))
        return run(*arguments)

    monkeypatch.setattr(experiment, "run", stopped)
    path, complete = taking.record(on="cpu", quick=True)
    assert not complete
    assert path.name == f"{whole.name}.partial"
    assert whole.read_text("utf-8") == before
    done = list(loading.read(path)["results"])
    assert done, "it can be read"
    assert "same_flops" not in done, "nothing comes after the first that was interrupted"
    assert [name for name in done if experiments.recorded(name)] == [], "half a recording is not shown"


def test_unknown_experiments_are_refused_before_anything_is_measured(monkeypatch):
    monkeypatch.setattr(profile, "measure", lambda **_: pytest.fail("measured"))
    with pytest.raises(ValueError, match="only='same_flop'"):
        taking.record(on="cpu", only=["same_flop"])


def test_the_machine_is_the_kept_profile(kept_profile):
    assert experiments.here("cpu").memory_bandwidth == kept_profile["cpu"]["memory_bandwidth"]


def test_the_machine_is_measured_into_memory_where_no_profile_is_kept(cache_folder, monkeypatch):
    measured = copy.deepcopy(kept := {"cpu": CPU, "cuda": None, "conditions": profile.conditions()})
    monkeypatch.setattr(profile, "measure", lambda quick: {"schema": 1, **measured, "quick": quick})
    monkeypatch.setattr(profile, "use", lambda data: monkeypatch.setattr(profile, "_in_memory", data))
    assert experiments.here("cpu").name == kept["cpu"]["name"]
    assert not cache_folder.exists(), "nothing is written"


def test_without_torch_a_recording_stands_in(python_without):
    """In the lesson's own calls; the recording is the one that this repository ships."""
    code = """
from course_lib import experiments
r = experiments.run("same_flops")
print(r.replayed, r.compare().rows[0]["measured"], experiments.here("cpu").name == r.device["name"])
try:
    experiments.run("same_flops", on="cpu")
except experiments.Unavailable as line:
    print(str(line).splitlines()[0][:24])
"""
    done = python_without({"torch"}, code)
    assert done.stdout.splitlines() == ["True None True", "PyTorch is not installed"], done.stderr
