"""The profile of this machine: measured, kept, stale, used."""

import json
import re

import pytest
import torch

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.experiments import machine, profile, report, timing

from .example import GPU, keep, result


@pytest.fixture(scope="module")
def quick():
    return profile.measure(quick=True)


def test_a_quick_profile_is_one_that_this_machine_reads(quick, cache_folder):
    profile.keep(json.loads(json.dumps(quick)))
    device = hardware.this_machine()
    assert device.id == "this-machine"
    assert device.kind == "cpu"
    assert device.name == machine.this().cpu_name
    assert {"fp32"} <= set(device.peaks)
    assert device.call_overhead > 0
    assert device.source("peaks")[0].startswith("measured here")
    assert hardware.this_machine("cpu") == profile.device(quick["cpu"])


def test_the_numbers_follow_from_the_raw_repeats(quick):
    raw, entry = quick["raw"]["cpu"], quick["cpu"]
    median = sorted(raw["bandwidth"]["seconds"])[len(raw["bandwidth"]["seconds"]) // 2]
    assert entry["memory_bandwidth"] == pytest.approx(3 * raw["bandwidth"]["array_bytes"] / median, rel=0.5)
    assert entry["peaks"]["fp32"] == pytest.approx(
        max(2 * int(n) ** 3 / r["median"] for n, r in raw["gemm"]["fp32"].items())
    )
    assert raw["bandwidth"]["array_bytes"] >= min(64e6, machine.memory() // 32) // 4 * 4
    assert quick["conditions"]["memory_bandwidth"] == profile.BANDWIDTH_PATTERN


def test_a_full_profile_has_every_step(timed_once, monkeypatch):
    monkeypatch.setattr(profile.machine, "last_level_cache", lambda: 2**20)
    seen = []
    data = profile.measure(progress=lambda steps: (seen.append(step.label) or step for step in steps))
    raw = data["raw"]["cpu"]
    assert len(seen) >= 9
    assert data["cpu"]["memory_bandwidth"] == pytest.approx(3 * raw["bandwidth"]["array_bytes"] / 2e-3)
    assert data["cpu"]["call_overhead"] == 2e-3
    assert len(raw["bandwidth"]["rounds"]) == 3
    assert {"staircase", "fresh_allocation", "gemm", "call_overhead"} <= set(raw)
    assert set(raw["gemm"]) == {"fp32", "bf16", "fp64"}
    working_sets = [int(n) for n in raw["staircase"]]
    assert working_sets == sorted(working_sets)
    assert working_sets[0] == 24 * 1024


def test_an_emulated_dtype_gets_no_peak_and_a_slow_one_no_large_sizes(monkeypatch):
    """fp32 as on an old laptop (20 GFLOP/s), bf16 emulated at a fifth of it."""
    seconds = iter([2 * 512**3 / 20e9, 2 * 1024**3 / 20e9, 2 * 512**3 / 4e9])
    monkeypatch.setattr(
        timing, "measure", lambda call, *, seconds, at_least=5, s=seconds: timing.Timing((next(s),) * 3)
    )
    bench = profile.Bench.on_device(torch, "cpu")
    raw = {"gemm": {}, "bandwidth": {"rate": 1e10}, "call_overhead": {"add of 16 numbers": {"median": 1e-6}}}
    for dtype in ("fp32", "bf16"):
        profile._gemm(bench, dtype, False, 0.1, raw)
    assert list(raw["gemm"]["fp32"]) == ["512", "1024"], "2048 would take 0.9 s"
    assert list(raw["gemm"]["bf16"]) == ["512"], "1024 would take 0.5 s"
    assert profile._entry(torch, "cpu", raw)["peaks"] == {"fp32": pytest.approx(20e9)}


def test_products_in_tf32_only_where_asked_for():
    before = torch.get_float32_matmul_precision()
    with profile._fp32_products(torch, "high"):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before


# ---------------------------------------------------------------- which profile holds


def test_the_kept_profile_is_used(kept_profile):
    device, note = profile.current("cpu")
    assert device.memory_bandwidth == 40e9
    assert note == "Predicted with this machine's profile of 2026-01-02."


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda d: d["conditions"]["machine"].update(cpu="Another CPU"), "another machine"),
        (lambda d: d["conditions"]["machine"].update(cores=999), "another machine"),
        (lambda d: d["conditions"]["machine"].update(memory=1), "another machine"),
        (lambda d: d["conditions"]["machine"].update(gpu="NVIDIA H200"), "another machine"),
        (lambda d: d["conditions"].update(torch="1.0"), "PyTorch 1.0"),
        (lambda d: d.pop("conditions"), "another form"),
        (lambda d: d.update(schema=99), "schema 99"),
        (lambda d: d["cpu"].pop("peaks"), "machine profile"),
        (lambda d: d.pop("cuda"), "machine profile"),
    ],
)
def test_a_profile_that_does_not_fit_is_replaced_in_memory(
    kept_profile, cache_folder, quick, monkeypatch, change, reason
):
    change(kept_profile)
    (cache_folder / "profile.json").write_text(json.dumps(kept_profile), "utf-8")
    measured = quick
    monkeypatch.setattr(profile, "measure", lambda quick: measured)
    before = (cache_folder / "profile.json").read_text("utf-8")
    device, note = profile.current("cpu")
    assert device == profile.device(quick["cpu"])
    assert note.startswith("Predicted with a quick profile measured in this process. ")
    assert reason in note
    assert "course doctor" in note
    monkeypatch.setattr(profile, "measure", lambda quick: pytest.fail("measured twice"))
    assert profile.current("cpu")[0] == device
    assert (cache_folder / "profile.json").read_text("utf-8") == before, "measured into memory only"


def test_no_profile_and_a_damaged_one(cache_folder, quick, monkeypatch):
    monkeypatch.setattr(profile, "measure", lambda quick: measured)
    measured = quick
    assert "not been measured yet" in profile.current("cpu")[1]
    assert not cache_folder.exists()
    cache_folder.mkdir()
    (cache_folder / "profile.json").write_text("{", "utf-8")
    monkeypatch.setattr(profile, "_in_memory", None)
    assert "cannot be read" in profile.current("cpu")[1]


def test_doctor_measures_only_where_nothing_fits(quick, cache_folder, monkeypatch):
    measured = []
    monkeypatch.setattr(profile, "measure", lambda progress=None: measured.append(1) or json.loads(json.dumps(quick)))
    first = experiments.doctor()
    assert len(measured) == 1
    assert (cache_folder / "profile.json").exists()
    assert experiments.doctor().lines != ()
    assert len(measured) == 1, "kept and still valid"
    experiments.doctor(refresh=True)
    assert len(measured) == 2
    assert not first.problem


def test_a_profile_replaces_the_old_one_in_one_step(kept_profile, cache_folder, monkeypatch):
    before = (cache_folder / "profile.json").read_text("utf-8")
    monkeypatch.setattr(
        profile.files.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        profile.keep({**kept_profile, "new": True})
    assert (cache_folder / "profile.json").read_text("utf-8") == before
    assert [path.name for path in cache_folder.iterdir()] == ["profile.json"], "nothing half-written is left"


def test_a_folder_that_cannot_be_written(quick, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(
        profile, "measure", lambda progress=None: {**quick, "conditions": {**quick["conditions"], "quick": False}}
    )
    told = experiments.doctor()
    assert "could not be kept" in told.problem
    assert "COURSE_CACHE" in told.problem
    assert "\n" not in told.problem
    device, note = profile.current("cpu")
    assert device == profile.device(quick["cpu"])
    assert "measured in this process" in note


def test_an_interrupt_ends_the_whole_profile(monkeypatch):
    monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Timing((1.0,), interrupted=True))
    with pytest.raises(KeyboardInterrupt):
        profile.measure(quick=True)


# ---------------------------------------------------------------- the report


def test_the_report_says_what_matters_and_names_nobody(kept_profile, tmp_path):
    told = experiments.doctor()
    text, page = str(told), told._repr_html_()
    for part in (
        "fp32 200 GFLOP/s, bf16 800 GFLOP/s",
        "40.0 GB/s",
        "5 FLOP/B in fp32",
        "1.00 µs",
        "2026-01-02",
        torch.__version__,
    ):
        assert part in text
        assert part in page
    assert len(text.splitlines()) <= 14
    import getpass
    import socket

    for secret in (socket.gethostname(), str(tmp_path)):
        assert secret not in text
        assert secret not in page
    assert not re.search(rf"\b{re.escape(getpass.getuser())}\b", text)


def test_the_report_says_what_is_missing(kept_profile, monkeypatch):
    monkeypatch.setattr(machine, "compiler", lambda: None)
    monkeypatch.setattr(report, "_installed", lambda name: name != "ipywidgets")
    text = str(experiments.doctor())
    assert "torch.compile on the processor is lost" in text
    assert "missing: ipywidgets (sliders" in text


def test_a_busy_machine_is_told(kept_profile, cache_folder):
    kept_profile["conditions"]["used_by_others"] = 0.49
    (cache_folder / "profile.json").write_text(json.dumps(kept_profile), "utf-8")
    assert "other programs used 49%" in str(experiments.doctor())
    assert "Other programs used 49% of the processor then" in profile.current("cpu")[1]


def test_without_torch_what_still_works(python_without):
    code = """
from course_lib import experiments
told = experiments.doctor()
print(told)
assert "no PyTorch" in str(told)
assert "PyTorch is not installed" in told.problem and "\\n" not in told.problem
try:
    experiments.run("same_flops", on="cpu")
except ValueError as refusal:
    assert "recordings work without it" in str(refusal)
    assert refusal._render_traceback_() == [str(refusal)]
else:
    raise SystemExit("ran without torch")
"""
    done = python_without({"torch"}, code)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_recordings_need_no_torch(python_without, tmp_path):
    keep(tmp_path, result(entry=GPU))
    code = f"""
import pathlib
from course_lib import experiments
from course_lib.experiments import recording
recording.folder = lambda: pathlib.Path({str(tmp_path)!r})
r = experiments.load("same_flops")
print(r.device["name"])
str(r), str(r.compare()), r.compare()._repr_html_()
"""
    done = python_without({"torch", "numpy", "psutil", "tqdm", "matplotlib", "IPython"}, code)
    assert done.stdout == "NVIDIA H200\n", done.stderr


# ---------------------------------------------------------------- the machine


def test_machine_facts():
    import os

    import psutil

    this = machine.this()
    assert this.cores == len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert 0 < this.memory <= psutil.virtual_memory().total
    assert this.cpu
    assert machine.last_level_cache() >= 2**17
    assert machine.Machine("A", 1, 1, None).cpu_name == "A, 1 core"


def test_used_by_others_counts_others_and_not_us(monkeypatch):
    import psutil

    class Times(tuple):
        idle, iowait, guest, guest_nice = 0.0, 0.0, 0.0, 0.0

    readings = iter([(0.0, 0.0, Times((10.0,))), (10.0, 4.0, Times((10.0 + 4.0 + 3.0,)))])

    def reading():
        wall, own, every = next(readings)
        monkeypatch.setattr(machine.time, "perf_counter", lambda: wall)
        monkeypatch.setattr(machine.time, "process_time", lambda: own)
        return every

    monkeypatch.setattr(psutil, "cpu_times", reading)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    monkeypatch.setattr(machine.os, "cpu_count", lambda: 2)
    start = machine.Clock.now()
    assert start.used_by_others() == pytest.approx(3 / 20), "3 of 2 × 10 seconds, our own 4 not among them"
