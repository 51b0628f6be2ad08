"""The profile of this machine: measured, kept, stale, used."""

import json
import re
import subprocess
import sys

import numpy
import pytest
import torch

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.experiments.measurements import disk_stream, host_to_device
from course_lib.experiments.profile import doctor, machine, parts, profile, steps
from course_lib.experiments.running import calls, timing
from tests.experiments.example import GPU, keep, result


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
    assert hardware.this_machine("cpu") == hardware.measured(quick["cpu"])


def test_the_numbers_follow_from_the_raw_repeats(quick):
    raw, entry = quick["raw"]["cpu"], quick["cpu"]
    median = numpy.median(raw["bandwidth"]["seconds"])
    assert entry["memory_bandwidth"] == pytest.approx(3 * raw["bandwidth"]["array_bytes"] / median)
    assert entry["peaks"]["fp32"] == pytest.approx(
        max(2 * int(n) ** 3 / r["median"] for n, r in raw["gemm"]["fp32"].items())
    )
    assert raw["bandwidth"]["array_bytes"] >= min(64e6, machine.memory() // 32) // 4 * 4
    assert quick["conditions"]["memory_bandwidth"] == profile.BANDWIDTH_PATTERN


@pytest.fixture
def small(monkeypatch):
    """Steps small enough to run, with nothing timed: every call runs once, and took 2 ms."""
    monkeypatch.setattr(machine, "last_level_cache", lambda: 2**20)
    monkeypatch.setattr(parts, "MB", 10**4)
    monkeypatch.setattr(disk_stream, "rates", lambda file, size, piece, cold, seconds: [size / 0.1, size / 0.1])


def test_a_full_profile_has_every_step(timed_once, small):
    seen = []
    data = profile.measure(progress=lambda steps: (seen.append(step) or step for step in steps))
    raw = data["raw"]["cpu"]
    labels = [step.name for step in seen]
    assert labels.count("processor: memory bandwidth") == 3
    assert labels.count("processor: fp32 matrix products") == 2
    assert sum(step.budget for step in seen) <= 9, "and 20 s with all that is not timed"
    assert data["cpu"]["memory_bandwidth"] == pytest.approx(3 * raw["bandwidth"]["array_bytes"] / 2e-3)
    assert data["cpu"]["call_overhead"] == 2e-3
    assert len(raw["bandwidth"]["rounds"]) == 3
    assert set(steps.FULL["cpu"]) <= set(raw)
    assert steps.missing(data["raw"]) == []
    assert not profile.stale(data)
    assert set(raw["gemm"]) == {"fp32", "bf16", "fp64"}
    working_sets = [int(n) for n in raw["staircase"]]
    assert working_sets == sorted(working_sets)
    assert working_sets[0] == 24 * 1024
    assert json.loads(json.dumps(data, allow_nan=False)) == data


def test_the_entries_of_the_file_keep_their_keys(quick):
    keys = {"id", "name", "kind", "peaks", "memory_bandwidth", "memory_capacity", "call_overhead", "measured_at"}
    assert set(quick["cpu"]) == keys | {"levels", "links"}


def test_rates_follow_from_what_a_call_does(timed_once, small):
    """Every call took 2 ms; how much it did is counted from its operands here."""
    raw = {"gemm": {}, "call_overhead": {}}
    bench = parts.Bench.on_device(torch, "cpu")
    with torch.inference_mode():
        parts.functions(bench, 0.1, raw)
        parts.fresh_allocation(bench, 0.1, raw)
        parts.disk(bench, 0.1, raw)
    assert 1 / raw["functions"]["exp"]["rate"] == pytest.approx(2e-3 / 512**2)
    assert raw["fresh_allocation"][str(2**20)]["out="]["rate"] == pytest.approx(2**20 / 2e-3)
    assert raw["disk"]["rate"] == pytest.approx(raw["disk"]["file_bytes"] / 0.1)


def test_a_known_machine_is_recovered(monkeypatch):
    """A machine of 50 GFLOP/s in fp32, 20 GB/s and 3 µs a call; the fake clock is told what the next call does."""
    peak, bandwidth, call = 50e9, 20e9, 3e-6
    next_seconds = {}
    real = parts.record

    def measure(_, *, seconds, at_least=5):
        return timing.Repeats((next_seconds["s"],) * 3)

    def product(m, k, n, dtype):
        def build(bench):
            next_seconds["s"] = call + 2 * m * k * n / (peak * {"fp32": 1, "bf16": 4, "fp64": 0.1}[dtype])

        return build

    def add(bench, elements, seconds):
        next_seconds["s"] = call + 12 * elements / bandwidth
        return measure(None, seconds=seconds)

    monkeypatch.setattr(timing, "measure", measure)
    monkeypatch.setattr(calls, "product", product)
    monkeypatch.setattr(parts, "add", add)
    raw = {"gemm": {}, "bandwidth": {}, "call_overhead": {}, "levels": {}}
    bench = parts.Bench.on_device(torch, "cpu")
    for dtype in ("fp32", "bf16", "fp64"):
        parts.gemm(bench, dtype, (512, 1024, 2048), 0.1, raw)
    parts.memory_bandwidth(bench, 10**8, 0.1, raw)
    parts.call_overhead(bench, 0.1, raw)
    entry = profile._entry(torch, "cpu", raw)
    assert entry["peaks"] == {"fp32": pytest.approx(peak, rel=0.01), "bf16": pytest.approx(4 * peak, rel=0.01)}
    assert entry["memory_bandwidth"] == pytest.approx(bandwidth, rel=0.01)
    assert entry["call_overhead"] == pytest.approx(call, rel=0.01)
    assert real(timing.Repeats((2.0,)), 10)["rate"] == 5.0


def test_levels_are_told_apart_by_their_working_sets():
    """A machine of 1 µs a call, 100 GB/s from L2 and 40 GB/s from memory; its L3 is no faster than memory."""

    def took(seconds, size):
        return {"median": seconds, "rate": size / seconds}

    def call(size):
        return 1e-6 + size / (500e9 if size <= 2**17 else 100e9 if size <= 2**22 else 40e9)

    raw = {
        "levels": {
            "l1": {"bytes": 2**16, "copies": 2},
            "l2": {"bytes": 2**20, "copies": 4},
            "l3": {"bytes": 2**25, "copies": 1},
        },
        "call_overhead": {"add of 16 numbers": {"median": 1e-6}},
        "bandwidth": {"rate": 40e9},
        "staircase": {str(2**p): took(call(2**p), 2**p) for p in range(15, 29)},
    }
    assert profile._levels(raw) == {
        "l1": {"capacity": 2**17, "bandwidth": None},  # such a call mostly waits for its overhead
        "l2": {"capacity": 2**22, "bandwidth": 2**21 / call(2**21)},
        "l3": {"capacity": 2**25, "bandwidth": None},
    }
    del raw["staircase"]  # a quick profile
    assert {level["bandwidth"] for level in profile._levels(raw).values()} == {None}


def test_an_emulated_dtype_gets_no_peak_and_a_slow_one_no_large_sizes(monkeypatch):
    """fp32 as on an old laptop (20 GFLOP/s), bf16 emulated at a fifth of it."""
    seconds = iter([2 * 512**3 / 20e9, 2 * 1024**3 / 20e9, 2 * 512**3 / 4e9])
    monkeypatch.setattr(
        timing, "measure", lambda call, *, seconds, at_least=5, s=seconds: timing.Repeats((next(s),) * 3)
    )
    bench = parts.Bench.on_device(torch, "cpu")
    raw = {
        "gemm": {},
        "bandwidth": {"rate": 1e10},
        "call_overhead": {"add of 16 numbers": {"median": 1e-6}},
        "levels": {},
    }
    for dtype in ("fp32", "bf16"):
        parts.gemm(bench, dtype, (512, 1024, 2048), 0.1, raw)
    assert list(raw["gemm"]["fp32"]) == ["512", "1024"], "2048 would take 0.9 s"
    assert list(raw["gemm"]["bf16"]) == ["512"], "1024 would take 0.5 s"
    assert profile._entry(torch, "cpu", raw)["peaks"] == {"fp32": pytest.approx(20e9)}


def test_products_in_tf32_only_where_asked_for():
    before = torch.get_float32_matmul_precision()
    with timing.fp32_products(torch, "tf32"):
        assert torch.get_float32_matmul_precision() == "high"
    assert torch.get_float32_matmul_precision() == before


def test_what_is_not_there_is_left_out_with_the_reason(monkeypatch):
    from course_lib.experiments.measurements import pointer_chase
    from course_lib.experiments.running.errors import Unavailable

    def no(*_):
        raise Unavailable("No room.")

    monkeypatch.setattr(disk_stream, "temporary_file", no)
    monkeypatch.setattr(pointer_chase, "chaser", no)
    raw, bench = {"gemm": {}}, parts.Bench.on_device(torch, "cpu")
    parts.disk(bench, 0.1, raw)
    parts.latency(bench, 0.1, raw)
    assert raw["disk"] == raw["latency"] == {"unavailable": "No room."}
    monkeypatch.setattr(torch, "_scaled_mm", no)
    parts.gemm(bench, "fp8-e4m3", (64,), 0.1, raw)
    assert raw["gemm"] == {}
    assert doctor._further("cpu", raw) == [], "and the report has no line for it"


# ---------------------------------------------------------------- the GPU's part, as far as it runs without one


class FakeGPU:
    L2_cache_size, total_memory = 50 * 2**20, 80 * 10**9


@pytest.fixture
def fake_gpu(monkeypatch):
    """torch.cuda says that there is an H100; tensors stay on the processor."""
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: FakeGPU)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _=0: (9, 0))
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    real = parts.Bench.on_device
    bench = real(torch, "cpu")
    monkeypatch.setattr(parts.Bench, "on_device", lambda torch, on: bench)
    return bench


def test_the_steps_of_a_gpu(fake_gpu):
    raw = {}
    found = steps.steps(torch, "cuda", False, raw)
    labels = " ".join(step.name for step in found)
    for part in ("tf32", "bf16", "fp16", "fp64", "fp8-e4m3", "launches", "PCIe", "latency"):
        assert part in labels
    assert "processor" not in labels
    assert "disk" not in labels
    assert raw["last_level_cache"] == FakeGPU.L2_cache_size
    assert sum(step.budget for step in found) <= 13
    quick = " ".join(step.name for step in steps.steps(torch, "cuda", True, {}))
    assert "fp8" not in quick
    assert "tf32" in quick


def test_formats_by_compute_capability(monkeypatch):
    for capability, lacks in (((7, 5), {"tf32", "fp8-e4m3"}), ((8, 0), {"fp8-e4m3"}), ((8, 9), set())):
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _, c=capability: c)
        every = {"fp32", "tf32", "bf16", "fp16", "fp64", "fp8-e4m3"}
        assert set(steps.dtypes(torch, "cuda", False)) == every - lacks


def test_launches_and_copies(fake_gpu, timed_once, monkeypatch):
    raw = {}
    parts.launch(fake_gpu, 0.1, raw)
    assert raw["launch"]["alone"]["median"] == 2e-3
    assert raw["launch"]["in a row"]["median"] == pytest.approx(2e-3 / 100)
    monkeypatch.setattr(host_to_device, "copy", lambda bench, way, size: lambda: None)
    parts.pcie(fake_gpu, 0.1, raw)
    assert set(raw["pcie"]) == set(host_to_device.WAYS)
    assert all(found["rate"] == pytest.approx(64 * 2**20 / 2e-3) for found in raw["pcie"].values())
    text = " ".join(line for _, line in doctor._further("cuda", raw))
    assert "pinned, to the GPU: 33.6 GB/s" in text
    assert "2.0 ms for a tiny kernel alone" in text


def test_fp8_products():
    """The operands are rounded to fp8, the result is that of the rounded ones, in bf16; where this torch can."""
    bench = parts.Bench.on_device(torch, "cpu")
    try:
        call = calls.fp8_product(32)(bench)
    except experiments.Unavailable:
        pytest.skip("this torch has no fp8 product on the processor")
    assert call().shape == (32, 32)
    assert call().dtype == torch.bfloat16


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
        (lambda d: d["raw"].update(cpu={"gemm": {}, "bandwidth": {}}), "lacks levels, staircase"),
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
    assert device == hardware.measured(quick["cpu"])
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
        profile.atomic.os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(OSError, match="No space"):
        profile.keep({**kept_profile, "new": True})
    assert (cache_folder / "profile.json").read_text("utf-8") == before
    assert [path.name for path in cache_folder.iterdir()] == ["profile.json"], "nothing half-written is left"


def test_a_folder_that_cannot_be_written(quick, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("COURSE_CACHE", str(tmp_path / "file" / "cache"))
    full = {**quick, "conditions": {**quick["conditions"], "quick": False}, "raw": {}}
    monkeypatch.setattr(profile, "measure", lambda progress=None: full)
    told = experiments.doctor()
    assert "could not be kept" in told.problem
    assert "COURSE_CACHE" in told.problem
    assert "\n" not in told.problem
    device, note = profile.current("cpu")
    assert device == hardware.measured(quick["cpu"])
    assert "measured in this process" in note


def test_an_interrupt_ends_the_whole_profile(monkeypatch):
    monkeypatch.setattr(timing, "measure", lambda *_, **__: timing.Repeats((1.0,), interrupted=True))
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


def test_the_report_of_a_full_profile(kept_profile, cache_folder):
    def took(seconds, **more):
        return {"median": seconds, "q1": seconds, "q3": seconds, "seconds": [seconds], **more}

    raw = {key: {} for key in steps.FULL["cpu"]}
    kept_profile["cpu"]["levels"] = {
        "l1": {"capacity": 96 * 2**10, "bandwidth": None},
        "l2": {"capacity": 2**21, "bandwidth": 1.5e11},
    }
    raw["latency"] = {"32768": took(1.5e-9), "134217728": took(90e-9)}
    raw["functions"] = {name: took(1e-3, rate=5e8) for name in ("copy", "exp", "tanh", "softmax")}
    raw["fresh_allocation"] = {"134217728": {"new result": took(0.05), "out=": took(0.01)}}
    raw["disk"] = took(0.03, rate=2e9, cold=True)
    kept_profile["raw"] = {"cpu": raw}
    (cache_folder / "profile.json").write_text(json.dumps(kept_profile), "utf-8")
    text = str(experiments.doctor())
    assert "kept and still valid" in text
    for part in (
        "L1 96.0 KiB, L2 2.00 MiB at 150 GB/s",
        "1.5 ns for a load from the nearest cache, 90 ns at random in 128 MiB",
        "exp 2.0 ns",
        "40 ms more for a new result of 128 MiB",
        "2.00 GB/s, a file dropped from the page cache before",
    ):
        assert part in text
    assert all(len(line) < 140 for line in text.splitlines())


def test_the_report_says_what_is_missing(kept_profile, monkeypatch):
    monkeypatch.setattr(machine, "compiler", lambda: None)
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: name != "ipywidgets")
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
from course_lib.experiments.recordings import loading
loading.folder = lambda: pathlib.Path({str(tmp_path)!r})
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
    caches = machine.caches()
    assert list(caches) == sorted(caches)
    assert all(2**13 <= each <= 2**31 and 1 <= copies <= this.cores for each, copies in caches.values())
    assert machine.last_level_cache() == max((each for each, _ in caches.values()), default=machine.UNKNOWN_CACHE)
    assert machine.Machine("A", 1, 1, None).cpu_name == "A, 1 core"


def test_caches_that_processors_share_count_once(tmp_path, monkeypatch):
    """Four processors, two to a core: two L1 and L2, one L3; instruction caches are not counted."""
    for cpu in range(6):
        core = f"{cpu // 2 * 2}-{cpu // 2 * 2 + 1}"
        caches = [("1", "Data", "48K", core), ("1", "Instruction", "32K", core), ("2", "Unified", "1024K", core)]
        for n, (level, kind, size, shared) in enumerate([*caches, ("3", "Unified", "32M", "0-5")]):
            folder = tmp_path / f"cpu{cpu}" / "cache" / f"index{n}"
            folder.mkdir(parents=True)
            for name, text in (("level", level), ("type", kind), ("size", size), ("shared_cpu_list", shared)):
                (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 1, 2, 3})
    assert machine._caches_of_linux(tmp_path) == {"l1": (48 * 2**10, 2), "l2": (2**20, 2), "l3": (2**25, 1)}
    assert machine._caches_of_linux(tmp_path / "nothing") == {}


def test_caches_of_a_mac(monkeypatch):
    answers = {
        "hw.perflevel0.l1dcachesize": "131072",
        "hw.perflevel0.l2cachesize": "16777216",
        "hw.perflevel0.cpusperl2": "4",
    }
    monkeypatch.setattr(machine, "_sysctl", lambda name: answers.get(name, ""))
    monkeypatch.setattr(machine, "cores", lambda: 8)
    assert machine._caches_of_macos() == {"l1": (2**17, 8), "l2": (2**24, 2)}


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
    monkeypatch.setattr(machine, "_children", lambda: 0.0)
    start = machine.Clock.now()
    assert start.used_by_others() == pytest.approx(3 / 20), "3 of 2 × 10 seconds, our own 4 not among them"


def test_what_our_own_processes_use_is_ours():
    """One that ended and was waited for, and one that still runs: each computes for 0.3 s of its processor."""
    pytest.importorskip("psutil")
    spin = "import time\nwhile time.process_time() < 0.3: pass\nprint(flush=True)\ninput()"
    before = machine._children()
    with subprocess.Popen(
        [sys.executable, "-c", spin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        child.stdout.readline()
        assert machine._children() - before > 0.25
        child.communicate("go\n")
    assert machine._children() - before > 0.25
