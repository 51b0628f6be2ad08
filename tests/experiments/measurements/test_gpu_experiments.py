"""The experiments of which a GPU shows most: what they count, against instruments; their GPU paths, with stand-ins."""

import contextlib
import ctypes
import math
import os
import threading
import types
from dataclasses import replace

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from course_lib import experiments
from course_lib.accounting import hardware
from course_lib.experiments import registry
from course_lib.experiments.measurements import (
    allocator_trace,
    cuda_graphs,
    low_precision,
    training_ladder,
)
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.profile import gauges, machine
from course_lib.experiments.running import allocation, compiling, experiment, timing
from course_lib.experiments.running.bench import Bench
from course_lib.units.q11_throughput_or_latency.experiments import decode_sweep
from course_lib.units.q12_eighty_percent_busy.experiments import launch_gaps, utilisation_gauges
from course_lib.units.q18_operator_fusion.experiments import fusion_chain
from tests.experiments.measurements.test_counts import CPU, instrumented

NAMES = (
    "launch_gaps",
    "cuda_graphs",
    "copies_and_streams",
    "fusion_chain",
    "low_precision",
    "training_ladder",
    "decode_sweep",
    "allocator_trace",
    "utilisation_gauges",
)
GPU_ONLY = ("cuda_graphs", "copies_and_streams")
H100 = hardware.load("h100-sxm")
MEASURED = replace(H100, call_overhead=5e-6)  # as a profile describes it
FOREVER = {  # cases that nothing predicts, with everything known
    "cuda_graphs": {"capture, 1 row"},
    "allocator_trace": None,  # points between the ends of phases, and what is reserved
    "utilisation_gauges": {f"{load}: gauge" for load in ("tiny calls", "additions", "matrix product")},
}


def cases(name, device=CPU, quick=True):
    return registry.get(name).cases(device, quick)


def named(name, device=CPU, quick=True):
    return {case.name: case for case in cases(name, device, quick)}


@pytest.fixture
def bench():
    return Bench.on_device(torch, "cpu")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "device", [H100, MEASURED, hardware.load("t4"), hardware.load("v100-sxm2")], ids=lambda d: d.id
)
def test_predictions_for_a_gpu_are_made_without_one(name, device):
    for quick in (True, False):
        listed = cases(name, device, quick)
        predicted = registry.get(name).predict(listed, device)
        assert set(predicted) == {case.name for case in listed}
        assert all(value is None or (math.isfinite(value) and value > 0) for value in predicted.values())
        if device is MEASURED and FOREVER.get(name, set()) is not None:
            assert {case for case, value in predicted.items() if value is None} <= FOREVER.get(name, set())


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name not in GPU_ONLY])
def test_a_quick_run_on_a_processor(name, kept_profile, timed_once):
    r = experiments.run(name, on="cpu")
    assert experiments.Result.from_json(r.to_json()) == r
    assert set(r.raw) == {row["case"] for row in r.rows} == {case.name for case in cases(name)}
    assert r.compare().rows
    assert r.plot().alt


@pytest.mark.parametrize("name", GPU_ONLY)
def test_where_a_processor_has_nothing_to_show(name, kept_profile):
    with pytest.raises(experiments.Unavailable, match="NVIDIA GPU") as said:
        experiments.run(name, on="cpu")
    assert "\n" not in str(said.value)


# ---------------------------------------------------------------- launches and graphs


def test_launch_and_run_overlap_on_a_gpu_and_add_up_on_a_processor():
    gpu, cpu = named("launch_gaps", MEASURED), named("launch_gaps")
    seconds = 3 * 4 * 2**24 / MEASURED.memory_bandwidth
    assert gpu["16 numbers, as it runs"].predict(MEASURED) == 5e-6
    assert gpu["16777216 numbers, as it runs"].predict(MEASURED) == pytest.approx(seconds)
    assert gpu["16777216 numbers, host"].predict(MEASURED) == 5e-6
    assert cpu["16 numbers, as it runs"].predict(CPU) == pytest.approx(CPU.call_overhead + 3 * 4 * 16 / 4e10)
    assert gpu["16 numbers, as it runs"].predict(H100) is None, "no data sheet states what a launch costs"


def test_host_and_gpu_are_told_apart(bench, monkeypatch):
    """A GPU that needs 7 µs for each call, and a clock on which launching one takes 3 µs."""
    order, clock = [], iter(range(10**9))

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            order.append("event")

        def elapsed_time(self, other):
            return 7e-3 * launch_gaps.LAUNCHES

    fake = types.SimpleNamespace(
        Event=Event, _sleep=lambda cycles: order.append("sleep"), synchronize=lambda: order.append("wait")
    )
    monkeypatch.setattr(torch, "cuda", fake)
    tick = 3e-6 * launch_gaps.LAUNCHES  # between two readings of the clock
    monkeypatch.setattr(launch_gaps.time, "perf_counter", lambda: tick * next(clock))
    host, gpu = launch_gaps._apart(bench, 16, seconds=20 * tick)
    assert host == pytest.approx([3e-6] * len(host))
    assert gpu == pytest.approx([7e-6] * len(gpu))
    assert len(host) >= 3
    assert order[:5] == ["wait", "sleep", "event", "event", "wait"], "launched while the GPU is kept busy"


def test_the_chain_is_what_its_operations_say(bench):
    call = cuda_graphs._launched(bench, 8, "fp32")
    one = next(case for case in cases("cuda_graphs", MEASURED) if case.name == "1 row, launched")
    with FlopCounterMode(display=False) as products, torch.no_grad():
        call()
    matmuls = [op for op in one.ops if op.name.startswith("matmul")]
    assert products.get_total_flops() == 8 * sum(op.flops for op in matmuls)
    assert one.calls == 2 * cuda_graphs.LAYERS


def test_a_graph_is_launched_once():
    predicted = {name: case.predict(MEASURED) for name, case in named("cuda_graphs", MEASURED).items()}
    assert predicted["1 row, launched"] == pytest.approx(40 * 5e-6)
    assert predicted["1 row, graph"] < predicted["1 row, launched"] / 2
    assert predicted["16384 rows, graph"] == pytest.approx(predicted["16384 rows, launched"], rel=0.05)


def test_a_replayed_graph_keeps_what_it_works_on(bench, monkeypatch):
    import gc
    import weakref

    monkeypatch.setattr(cuda_graphs, "_captured", lambda bench, call: types.SimpleNamespace(replay=lambda: None))

    def build():
        tensor = bench.random(4)
        return weakref.ref(tensor), cuda_graphs.replayed(bench, lambda: tensor.add_(1))

    kept, replay = build()
    gc.collect()
    assert kept() is not None
    del replay
    gc.collect()
    assert kept() is None


def test_copies_beside_a_product_take_the_longer_of_the_two():
    predicted = {name: case.predict(H100) for name, case in named("copies_and_streams", H100).items()}
    copy, product = 256 * 2**20 / H100.links["pcie"], 2 * 12288**3 / H100.peak("bf16")
    assert predicted["copy alone: pinned, to the GPU"] == pytest.approx(copy)
    assert predicted["copy, then product"] == pytest.approx(copy + product)
    assert predicted["copy beside product, pinned"] == pytest.approx(max(copy, product))


# ---------------------------------------------------------------- fusion and formats

SMALL = 2**16


def test_the_chain_counts_what_runs():
    for name in ("four passes", "one pass: x·mask"):
        case = named("fusion_chain")[name]
        _, moved, calls = instrumented(case)
        assert (moved, calls) == (case.bytes, case.calls)
    full = named("fusion_chain", H100, quick=False)
    assert full["four passes"].bytes == 3 * full["torch.compile"].bytes == 3 * full["Triton kernel"].bytes
    assert full["four passes"].flops == full["torch.compile"].flops


def test_every_form_of_the_chain_gives_the_same_numbers(bench):
    operands = fusion_chain._operands(bench, SMALL, "fp32")
    _, x, mask, out, _ = operands
    expected = torch.nn.functional.gelu(x * 1.5 + 0.25, approximate="tanh") * mask
    assert 0.05 < (mask == 0).float().mean() < 0.15
    fusion_chain._four(*operands)()
    assert torch.allclose(out, expected)
    assert torch.allclose(fusion_chain._fresh(*operands)(), expected)
    fusion_chain._check(bench, x, mask, out, "this")
    with pytest.raises(experiments.Unavailable, match="numbers of this"):
        fusion_chain._check(bench, x, mask, out * 1.1, "this")


def test_the_formula_of_the_triton_kernel(bench):
    """Its tanh by way of exp, in torch; the kernel itself runs on a GPU, where its numbers are compared each time."""
    value = torch.linspace(-30, 30, 10_001)
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tanh = 1.0 - 2.0 / (1.0 + torch.exp(2.0 * inner))
    expected = torch.nn.functional.gelu(value, approximate="tanh")
    assert torch.allclose(0.5 * value * (1.0 + tanh), expected, atol=1e-5)


def test_compiling_leaves_nothing_behind(bench):
    before = dict(os.environ)
    with compiling.compiling(bench):
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    assert dict(os.environ) == before


def test_a_compiler_that_is_missing_or_fails_is_a_reason(bench, monkeypatch):
    reason = r"torch.compile failed\. RuntimeError: in kernel\.cpp$"
    with pytest.raises(experiments.Unavailable, match=reason), compiling.compiling(bench):
        raise RuntimeError("in /some/folder/kernel.cpp")
    monkeypatch.setattr(machine, "compiler", lambda: None)
    with pytest.raises(experiments.Unavailable, match="needs a C\\+\\+ compiler"), compiling.compiling(bench):
        pass


def test_without_a_compiler_the_rest_of_the_chain_is_measured(kept_profile, timed_once, monkeypatch):
    monkeypatch.setattr(machine, "compiler", lambda: None)
    monkeypatch.setattr(fusion_chain, "_operands", lambda b, n, d, f=fusion_chain._operands: f(b, SMALL, d))
    r = experiments.run("fusion_chain", on="cpu", quick=False)
    assert [row["case"] for row in r.rows] == ["four passes", "four passes, fresh results", "one pass: x·mask"]
    assert "Left out (torch.compile): torch.compile needs a C++ compiler" in str(r)


def test_the_step_of_the_mlp_is_counted(bench, monkeypatch):
    counted = []

    def measure(call, **_):
        with FlopCounterMode(display=False) as products:
            call()
        counted.append(products.get_total_flops())
        return timing.Repeats((1e-3,))

    monkeypatch.setattr(timing, "measure", measure)
    case = named("low_precision")["MLP step, fp32"]
    assert case.observe(bench, 0.1) == (1e-3,)
    assert counted == [case.flops]


def test_fp32_products_are_what_the_case_says_and_the_setting_comes_back(bench, monkeypatch):
    seen = []

    def measure(call, **_):
        seen.append(torch.get_float32_matmul_precision())
        return timing.Repeats((1e-3,))

    monkeypatch.setattr(timing, "measure", measure)
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        for dtype in ("fp32", "tf32"):
            low_precision._product(bench, 0.1, 16, dtype)
        assert seen == ["highest", "high"]
        assert torch.get_float32_matmul_precision() == "medium"
    finally:
        torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize(("capability", "refused"), [((7, 5), {"tf32", "bf16", "fp8-e4m3"}), ((9, 0), set())])
def test_formats_that_a_gpu_lacks_are_refused(monkeypatch, capability, refused):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    for dtype in low_precision.FORMATS["gpu"]:
        expected = pytest.raises(experiments.Unavailable, match=dtype) if dtype in refused else contextlib.nullcontext()
        with expected:
            low_precision._need(torch, "cuda", dtype)


# ---------------------------------------------------------------- models


@pytest.mark.slow
def test_the_ladder_predicts_the_peak_of_every_rung(bench, monkeypatch):
    """The allocator counts; the bf16 products of a processor allocate a little inside, which no one predicts."""
    monkeypatch.setattr(timing, "measure", lambda call, **_: timing.Repeats((2e-3, 4e-3)))
    for name, case in named("training_ladder").items():
        rates = case.observe(bench, 0.1)
        tokens = 512 if name in ("larger batch", "checkpointing") else 128
        assert rates == [tokens / 2e-3, tokens / 4e-3]
        tolerance = 0.001 if name == "eager fp32" else 0.05
        assert case.facts["peak"] == pytest.approx(case.facts["peak_predicted"], rel=tolerance)


def test_the_ceiling_of_a_rung_is_the_peak_over_what_the_step_multiplies(bench):
    case = named("training_ladder")["eager fp32"]
    model, tokens = tiny_gpt.describe(layers=2, d_model=128, heads=4, vocab=512, context=64), 2 * 64
    net = tiny_gpt.build(bench, model)
    batch = tiny_gpt.tokens(bench, model, 2, 64)
    with FlopCounterMode(display=False) as products:
        net(batch, labels=batch).loss.backward()
    assert case.predict(CPU) == pytest.approx(tokens * CPU.peak("fp32") / products.get_total_flops())


def test_blocks_are_compiled_once_for_all(bench):
    """Not once for each of them, which would take minutes and pass torch's limit."""
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    model = tiny_gpt.describe(layers=10, d_model=16, heads=2, vocab=32, context=8)
    net, tokens = tiny_gpt.build(bench, model, "sdpa"), tiny_gpt.tokens(bench, model, 1, 8)
    expected = net(tokens, labels=tokens).loss
    for block in net.h:
        block.compile(backend=counter, dynamic=False)
    assert torch.allclose(net(tokens, labels=tokens).loss, expected)
    assert counter.frame_count == 1


def test_decode_counts_the_weights_and_the_cache(bench):
    found = named("decode_sweep")
    case = found["batch 8, 512 tokens"]
    model = tiny_gpt.describe(layers=6, d_model=512, heads=8, vocab=8192, context=2049)
    net = tiny_gpt.build(bench, model)
    cache = tiny_gpt.KVCache(bench, model, 8, 512)
    weights, kept = case.ops
    assert weights.bytes == allocation.bytes_of(net.parameters())
    assert kept.bytes == cache.nbytes
    seconds = kept.bytes / 4e10 + max(weights.bytes / 4e10, weights.flops / 2e11)
    assert case.predict(CPU) == pytest.approx(seconds)
    assert set(found) <= {name for c in decode_sweep.cases(H100, False) for name in [c.name]}, "a GPU has the same"


def test_a_decode_step_takes_the_same_place_every_time(bench, kept_profile):
    nets = decode_sweep._Nets(tiny_gpt.describe(layers=2, d_model=16, heads=2, vocab=32, context=9), "fp32")
    with torch.inference_mode():
        step = decode_sweep._case("x", nets, 3, 8, graph=False).build(bench)
        first, second = step(), step()
    assert first.shape == (3, 1, 32)
    assert torch.equal(first, second)


def test_the_trace_ends_where_accounting_says(bench):
    model = tiny_gpt.describe(layers=3, d_model=32, heads=2, vocab=64, context=32)
    expected = allocator_trace._predicted(model, 2, CPU)
    found = allocator_trace._observe(model, 2, bench)
    assert set(expected) <= set(found)
    for name, value in expected.items():
        assert found[name] == pytest.approx([value] * allocator_trace.STEPS, rel=0.01), name


def test_the_history_of_a_gpu_is_read_phase_by_phase(monkeypatch):
    entries = [{"action": "alloc", "size": 1}]  # before the first phase
    fake = types.SimpleNamespace(
        _record_memory_history=lambda **_: None, _snapshot=lambda: {"device_traces": [[], list(entries)]}
    )
    cuda = types.SimpleNamespace(memory=fake, synchronize=lambda: None, current_device=lambda: 1)
    monkeypatch.setattr(torch, "cuda", cuda)

    def forward():
        for action, size in (("segment_alloc", 99), ("alloc", 512), ("alloc", 100)):
            entries.append({"action": action, "size": size})

    def backward():
        for action in ("free_requested", "free_completed"):
            entries.append({"action": action, "size": 512})

    assert allocator_trace._on_gpu(torch, (forward, backward, lambda: None)) == [[512, 100], [-512], []]


# ---------------------------------------------------------------- gauges


@pytest.fixture
def clocks(monkeypatch):
    """The clocks of the gauges: both move by `clocks.work` and the wall's alone by `clocks.sleep`, and by no load."""

    class Clocks:
        wall = processor = 0.0

        def sleep(self, seconds):
            self.wall += seconds

        def work(self, seconds, cores=1):
            self.wall += seconds
            self.processor += cores * seconds

    clocks = Clocks()
    fake = types.SimpleNamespace(perf_counter=lambda: clocks.wall, process_time=lambda: clocks.processor)
    monkeypatch.setattr(utilisation_gauges, "time", fake)
    monkeypatch.setattr(machine, "cores", lambda: 4)
    return clocks


def test_the_gauge_of_a_processor_is_its_share_of_all_cores(clocks):
    timed, used = utilisation_gauges._on_cpu(torch, lambda: clocks.sleep(0.01), 0.1)
    assert (timed, used) == (pytest.approx([0.01] * 5), [0.0] * 5)
    timed, used = utilisation_gauges._on_cpu(torch, lambda: clocks.work(0.01, cores=3), 0.1)
    assert (timed, used) == (pytest.approx([0.01] * 5), pytest.approx([3 / 4] * 5))


def test_shares_of_peak_and_bandwidth_by_hand():
    op = experiment.roofline.matmul(1024, 1024, 1024)
    seconds = 2 * 1024**3 / 1e11  # at half the peak of the example
    assert utilisation_gauges._share(op, seconds, CPU, "of the peak") == pytest.approx(0.5)
    assert utilisation_gauges._share(op, seconds, CPU, "of the bandwidth") == pytest.approx(
        3 * 4 * 1024**2 / seconds / 4e10
    )


class Library:
    """NVML for two GPUs, as far as it is asked: it gives the readings of the second."""

    def __init__(self, missing=()):
        self.is_open = False

        def opened(now):
            self.is_open = now
            return 0

        def handle(number, failed=0):
            def found(which, device):
                device._obj.value = number
                return failed

            return found

        def by_uuid(uuid, device):
            return handle(7)(uuid, device) if uuid == b"GPU-1234" else 2

        def clock(device, kind, found):
            found._obj.value = {(7, 1): 1980, (7, 2): 2619}[device.value, kind.value]
            return 0

        def number(value):
            def reading(*arguments):
                arguments[-1]._obj.value = value
                return 0

            return reading

        def rates(device, found):
            found._obj.gpu, found._obj.memory = 97, 12
            return 0

        def version(text, length):
            text.value = b"570.86.10"
            return 0

        functions = {
            "nvmlInit_v2": lambda: opened(True),
            "nvmlShutdown": lambda: opened(False),
            "nvmlDeviceGetHandleByUUID": by_uuid,
            "nvmlDeviceGetHandleByIndex_v2": handle(1),
            "nvmlDeviceGetClockInfo": clock,
            "nvmlDeviceGetMaxClockInfo": lambda *_: 3,  # not supported
            "nvmlDeviceGetPowerUsage": number(412_000),
            "nvmlDeviceGetEnforcedPowerLimit": number(700_000),
            "nvmlDeviceGetTemperature": number(61),
            "nvmlDeviceGetUtilizationRates": rates,
            "nvmlSystemGetDriverVersion": version,
        }
        vars(self).update({name: function for name, function in functions.items() if name not in missing})


@pytest.mark.parametrize("uuid", ["1234", "GPU-1234"])
def test_the_gauges_of_torchs_own_gpu(monkeypatch, uuid):
    library = Library(missing=("nvmlDeviceGetEnforcedPowerLimit",))
    monkeypatch.setattr(gauges.ctypes, "CDLL", lambda name: library)
    cuda = types.SimpleNamespace(
        is_available=lambda: True, get_device_properties=lambda _: types.SimpleNamespace(uuid=uuid)
    )
    with gauges.reading(types.SimpleNamespace(cuda=cuda)) as gauge:
        assert library.is_open
        assert gauge.state() == {"sm_clock": 1.98e9, "memory_clock": 2.619e9, "power": 412.0, "temperature": 61.0}
        assert gauge.utilization() == 0.97
        assert gauge.driver() == "570.86.10"
    assert not library.is_open
    assert gauges._device(library, "other").value == 1, "an unknown GPU is the first"
    assert isinstance(gauges._device(library, uuid), ctypes.c_void_p)


def test_no_driver_no_gauges(monkeypatch):
    def missing(name):
        raise OSError(name)

    monkeypatch.setattr(gauges.ctypes, "CDLL", missing)
    for available in (True, False):
        cuda = types.SimpleNamespace(is_available=lambda available=available: available)
        with gauges.reading(types.SimpleNamespace(cuda=cuda)) as gauge:
            assert gauge is None


def test_a_gauge_is_read_while_the_load_runs(monkeypatch, clocks):
    """Its last calls go on until the gauge was read, however late the thread that reads it has its turn."""
    monkeypatch.setattr(utilisation_gauges, "SETTLE", 0.05)
    monkeypatch.setattr(utilisation_gauges, "SAMPLES", 0.01)
    read = threading.Event()
    stand_in = types.SimpleNamespace(utilization=lambda: read.set() or 1.0)
    monkeypatch.setattr(gauges, "reading", lambda torch: contextlib.nullcontext(stand_in))
    fake = types.SimpleNamespace(cuda=types.SimpleNamespace(synchronize=lambda: None))

    def load():
        clocks.sleep(0.2)
        assert clocks.wall < 1 or read.wait(60)

    timed, seen = utilisation_gauges._on_gpu(fake, load, 1.0)
    assert timed == pytest.approx([0.2] * len(timed))
    assert set(seen) == {1.0}


def test_a_rung_is_described_in_words():
    rung = training_ladder.Rung(16, products="tf32", autocast=True, attention="sdpa", recompute="full")
    assert str(rung) == "autocast to bf16, sdpa, batch 16, recompute every block"
    assert rung.format == "bf16"
