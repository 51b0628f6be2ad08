"""The predictor: on a machine whose costs are known it finds them; what it claims to run is what transformers runs."""

import dataclasses
import json
import math

import pytest
import torch

from benchmarks.real_models import llama_like, transformers_model
from course_lib.accounting import flops, models
from course_lib.experiments import calibration, predictor, workload
from course_lib.experiments.bench import Bench
from course_lib.experiments.workload import Attention, Calls, Elementwise, Gather, Matmul, Rowwise

CACHE, CALL, PEAK, BANDWIDTH, IN_CACHE, FAULT = 32 * 2**20, 1e-6, 100e9, 20e9, 100e9, 0.4e-9
COST = {"exp": 1e-9, "tanh": 2e-9, "softmax": 0.5e-9}  # s an element


def cost(operation) -> float:
    """Seconds on a made-up machine: a call, arithmetic at a peak, bytes by where they lie, faults beyond 32 MiB."""
    seconds = CALL
    match operation:
        case Calls(calls=calls):
            return calls * 2e-6
        case Matmul(m=m, n=n):
            weights = operation.weight_bytes
            cold = weights / BANDWIDTH if operation.cold or weights > CACHE else 0.0
            seconds += cold + (weights / 40e9 if min(m, n) == 1 else operation.flops / PEAK + 1e-10 * weights / 4)
        case Elementwise() | Rowwise():
            beyond = operation.cold or operation.bytes > CACHE
            traffic = operation.bytes / (BANDWIDTH if beyond else IN_CACHE)
            seconds += max(
                operation.elements * COST.get(operation.function, 0.3e-9 if _waits(operation) else 0), traffic
            )
        case Gather(rows=rows, result_bytes=nbytes):
            seconds += 5e-9 * rows + nbytes / (BANDWIDTH if operation.cold else IN_CACHE)
        case Attention(scores=scores, width=width):
            seconds += scores * (4 * width / PEAK + 0.5e-9)
    return seconds + (FAULT * operation.result_bytes if operation.new and operation.result_bytes > 2**25 else 0.0)


def _waits(operation) -> bool:
    return isinstance(operation, Rowwise) or operation.function in workload.COSTLY


def made_up(**changes) -> dict:
    operations = [
        {"kind": type(operation).__name__, **dataclasses.asdict(operation), "seconds": cost(operation)}
        for operation in calibration.OPERATIONS
    ]
    one_thread = {"clock": calibration.CLOCK, "operations": operations}
    return {"raw": {"cpu": {"last_level_cache": CACHE, "one_thread": one_thread, **changes}}}


@pytest.fixture(scope="module")
def made_up_machine():
    return predictor.Predictor(json.loads(json.dumps(made_up())))


@pytest.mark.parametrize(
    ("operation", "bound"),
    [
        (Matmul(300, 500, 700), "compute"),
        (Matmul(24, 1000, 900, cold=True), "compute"),
        (Matmul(1, 900, 900), "memory"),
        (Matmul(1, 900, 900, cold=True), "memory"),
        (Matmul(4096, 4096, 1), "memory"),
        (Matmul(100, 80, 60, batch=16), "compute"),
        (Elementwise(100, "add"), "overhead"),
        (Elementwise(123_456, "multiply", new=True), "memory"),
        (Elementwise(123_456, "tanh", new=True), "compute"),
        (Elementwise(30_000_000, "copy", new=True), "memory"),
        (Rowwise(777, 333, "softmax", new=True), "compute"),
        (Gather(3000, 333, new=True), "memory"),
        (Gather(3000, 333, new=True, cold=True), "memory"),
        (Attention(6, 256, 256, 96), "compute"),
        (Calls(calls=100), "overhead"),
    ],
)
def test_known_costs_are_recovered(made_up_machine, operation, bound):
    found = made_up_machine.predict(operation)
    assert found.seconds == pytest.approx(cost(operation), rel=0.05)
    assert found.low < cost(operation) < found.high
    assert found.bound == bound
    assert sum(found.parts.values()) == pytest.approx(found.seconds)


def test_what_the_terms_are_worth(made_up_machine):
    """Not only the sums are right: peak, bandwidth and faults come out one by one."""
    parts = made_up_machine.predict(Matmul(512, 512, 512)).parts
    assert parts["arithmetic"] == pytest.approx(2 * 512**3 / PEAK, rel=0.03)
    assert made_up_machine.predict(Matmul(1, 2048, 2048, cold=True)).parts["cold weights"] == pytest.approx(
        4 * 2048**2 / BANDWIDTH, rel=0.05
    )
    fresh = made_up_machine.predict(Elementwise(2**25, "copy", new=True)).parts["fresh memory"]
    assert fresh == pytest.approx(FAULT * 2**27, rel=0.01)
    assert "fresh memory" not in made_up_machine.predict(Elementwise(2**20, "copy", new=True)).parts


def test_cold_costs_more_and_a_few_rows_no_less_than_one(made_up_machine):
    for operation in (Matmul(16, 512, 512), Elementwise(10_000, "add"), Rowwise(100, 100), Gather(500, 100)):
        cold = dataclasses.replace(operation, cold=True)
        assert made_up_machine.predict(cold).seconds > made_up_machine.predict(operation).seconds
    rows = [made_up_machine.predict(Matmul(m, 640, 640)).seconds for m in (1, 2, 4, 8, 16)]
    assert rows == sorted(rows)


def test_the_stated_uncertainty_is_the_scatter_of_the_calibration():
    data = made_up()
    for number, record in enumerate(data["raw"]["cpu"]["one_thread"]["operations"]):
        if record["kind"] == "Attention":
            record["seconds"] *= 2.0 if number % 2 else 0.5
    noisy = predictor.Predictor(data)
    assert noisy.spread["Attention"] > 1.5
    assert noisy.spread["Matmul"] == predictor.FLOOR
    found = noisy.predict(Attention(6, 256, 256, 96))
    assert found.high / found.seconds == pytest.approx(noisy.spread["Attention"])
    near = predictor.Predictor(made_up()).predict(Elementwise(10 * 2**20, "copy", new=True))
    assert near.undecided, "at 40 MiB memory may be fresh or not"
    assert (
        near.low < cost(Elementwise(10 * 2**20, "copy")) < cost(Elementwise(10 * 2**20, "copy", new=True)) < near.high
    )
    for elements in (2**20, 2**25):
        assert not predictor.Predictor(made_up()).predict(Elementwise(elements, "copy", new=True)).undecided


def test_what_cannot_be_predicted_is_refused(made_up_machine):
    with pytest.raises(ValueError, match="course doctor"):
        predictor.Predictor({"schema": 1, "raw": {"cpu": {"gemm": {}}}})
    short = made_up()
    del short["raw"]["cpu"]["one_thread"]["operations"][3:]
    with pytest.raises(ValueError, match=f"of the {len(calibration.OPERATIONS)} operations"):
        predictor.Predictor(short)
    with pytest.raises(ValueError, match="is of no kind that is predicted"):
        made_up_machine.predict("matmul")
    with pytest.raises(ValueError, match="Did you mean 'gelu'"):
        Elementwise(10, "gleu")
    with pytest.raises(ValueError, match="m=0"):
        Matmul(0, 1, 1)
    gpt2 = models.load("gpt2")
    for model, reason in (
        (models.load("resnet-50"), "only decoders"),
        (models.load("mixtral-8x7b"), "experts"),
        (dataclasses.replace(gpt2, activation="relu"), "activation"),
    ):
        with pytest.raises(ValueError, match=reason):
            made_up_machine.predict_model(model, 1, 16)
    with pytest.raises(ValueError, match="dropout"):
        made_up_machine.predict_model(dataclasses.replace(gpt2, dropout=0.1), 1, 16, step=True)
    with pytest.raises(ValueError, match="attention"):
        made_up_machine.predict_model(gpt2, 1, 16, attention="flash")


# ---------------------------------------------------------------- models

TINY_GPT2 = dataclasses.replace(models.load("gpt2"), layers=2, d_model=64, heads=4, vocab=300, context=64, d_ff=None)
TINY_LLAMA = llama_like("tiny", layers=2, d_model=64, heads=4, kv_heads=2, d_ff=160, vocab=300, context=64)

FLASH = "_scaled_dot_product_flash_attention_for_cpu"


def counted(call, *names: str) -> dict[str, int]:
    """ATen operation -> how often `call` ran it."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as seen:
        call()
    events = {event.key: event.count for event in seen.key_averages()}
    return {name: sum(events.get(f"aten::{kind}", 0) for kind in name.split("+")) for name in names}


@pytest.mark.parametrize("model", [TINY_GPT2, TINY_LLAMA], ids=["gpt2", "llama"])
@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("batch", [1, 3])
def test_a_forward_lists_what_transformers_runs(model, attention, batch):
    """Products, norms, softmax, attention and activations, one for one."""
    tokens = torch.randint(model.vocab, (batch, 24))
    real = transformers_model(model, attention).eval()
    with torch.inference_mode():
        names = ("mm+addmm", "bmm", "native_layer_norm", "_softmax", "tanh", "silu", "embedding", "rsqrt", FLASH)
        ran = counted(lambda: real(tokens, use_cache=False), *names)
    listed = workload.forward(model, batch, 24, attention)

    def times(kind, function=None):
        return sum(
            number
            for _, operation, number in listed
            if isinstance(operation, kind) and function in (None, getattr(operation, "function", None))
        )

    batched = sum(n for _, op, n in listed if isinstance(op, Matmul) and op.batch > 1)
    assert times(Matmul) - batched == ran["mm+addmm"]
    assert times(Attention) == ran[FLASH]
    assert times(Rowwise, "layer_norm") == ran["native_layer_norm"]
    assert times(Elementwise, "sum") == ran["rsqrt"], "one RMSNorm each"
    assert times(Gather) == ran["embedding"]
    if attention == "eager":
        assert batched == ran["bmm"]
        assert times(Rowwise, "softmax") == ran["_softmax"]
    assert times(Elementwise, "tanh") == ran["tanh"]
    assert times(Elementwise, "silu") == ran["silu"]


@pytest.mark.parametrize("model", [TINY_GPT2, TINY_LLAMA], ids=["gpt2", "llama"])
def test_the_products_of_a_forward_and_a_step_have_the_counted_flops(model):
    def products(parts):
        return sum(number * op.flops for _, op, number in parts if isinstance(op, Matmul))

    for batch, seq in ((1, 24), (3, 40)):
        forward = workload.forward(model, batch, seq, "eager")
        step = workload.step(model, batch, seq, "eager")
        assert products(forward) == int(flops.forward(model, batch, seq=seq))
        assert products(step) == int(flops.training_step(model, batch, seq=seq))


def test_a_step_runs_its_backward_kernels():
    """Backward kernels of a real step, as the profiler sees them, one for one."""
    real = transformers_model(TINY_GPT2, "sdpa")
    tokens = torch.randint(300, (2, 24))
    names = ("native_layer_norm_backward", f"{FLASH}_backward", "tanh_backward")
    ran = counted(lambda: real(tokens, labels=tokens, use_cache=False).loss.backward(), *names)
    listed = workload.step(TINY_GPT2, 2, 24)

    def times(test):
        return sum(number for _, operation, number in listed if test(operation))

    assert ran["native_layer_norm_backward"] == times(
        lambda op: isinstance(op, Rowwise) and op.function == "layer_norm backward"
    )
    assert ran[names[1]] == times(lambda op: isinstance(op, Attention) and op.backward)
    assert ran["tanh_backward"] == times(lambda op: getattr(op, "function", "") == "tanh backward")


def test_a_model_is_the_sum_of_its_operations(made_up_machine):
    for step in (False, True):
        found = made_up_machine.predict_model(TINY_GPT2, 2, 24, attention="eager", step=step)
        listed = (workload.step if step else workload.forward)(TINY_GPT2, 2, 24, "eager", CACHE)
        assert found.seconds == pytest.approx(
            sum(number * made_up_machine.predict(operation).seconds for _, operation, number in listed)
        )
        assert found.low < found.seconds < found.high
        assert sum(found.parts.values()) == pytest.approx(found.seconds)
    assert "optimizer" in found.parts
    assert str(found)
    large = made_up_machine.predict_model(models.load("gpt2"), 1, 256)
    assert large.bound == "compute"
    assert large.seconds == pytest.approx(int(flops.forward(models.load("gpt2"), 1, seq=256)) / PEAK, rel=0.4)


def test_skipped_blocks_of_causal_attention():
    """Of 1024 keys, a block of 256 queries sees 512, 512, 1024 and 1024."""
    assert Attention(1, 1024, 1024, 64).scores == 256 * (512 + 512 + 1024 + 1024)
    assert Attention(2, 500, 500, 64).scores == 2 * 500 * 500
    assert Attention(1, 1024, 1024, 64, causal=False).scores == 1024**2


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("operation", calibration.OPERATIONS, ids=lambda op: f"{type(op).__name__}")
def test_every_calibration_operation_writes_what_it_claims(operation, monkeypatch):
    """The real call's result has the bytes that the operation states, and it does run."""
    small = {"elements": 4096, "m": 96, "k": 96, "n": 96, "rows": 50, "queries": 80, "keys": 80}
    sizes = dataclasses.asdict(operation)
    limit = {name: min(size, sizes[name]) for name, size in small.items() if name in sizes}
    operation = dataclasses.replace(operation, **limit)
    monkeypatch.setattr(calibration, "TABLE", 2**16)
    with torch.inference_mode():
        found = calibration.build(Bench.on_device(torch, "cpu"), operation)()
    results = [found] if isinstance(found, torch.Tensor) else list(found or ())
    if isinstance(operation, Rowwise):
        results = results[:1]  # the gradients of gain and bias are small
    assert sum(4 * tensor.numel() for tensor in results) == operation.result_bytes


def test_cold_calls_take_another_operand_each_time(monkeypatch):
    monkeypatch.setattr(calibration, "TABLE", 2**16)
    seen = []
    bench = Bench.on_device(torch, "cpu")
    monkeypatch.setattr(torch, "mm", lambda a, b, out: seen.append((a.data_ptr(), b.data_ptr())))
    for operation, which in ((Matmul(4, 64, 64, cold=True), 1), (Matmul(64, 64, 1, cold=True), 0)):
        call = calibration.build(bench, operation)
        seen.clear()
        for _ in range(9):
            call()
        assert len({pointers[which] for pointers in seen}) == 9, "a set of twice the table is gone through in turn"
        assert len({pointers[1 - which] for pointers in seen}) == 1


def test_functions_that_are_not_built_are_refused():
    with pytest.raises(ValueError, match="new=True"):
        calibration.build(Bench.on_device(torch, "cpu"), Elementwise(10, "gelu"))


def test_thread_seconds_is_processor_time_of_this_thread(monkeypatch):
    """A call that needs 3 ms of processor time and waits much longer; sometimes it is disturbed."""
    clock = {"thread": 0.0, "wall": 0.0, "calls": 0}

    def call():
        clock["calls"] += 1
        clock["thread"] += 3e-3 + (5e-3 if clock["calls"] % 3 == 0 else 0.0)
        clock["wall"] += 0.1

    monkeypatch.setattr(calibration.time, "thread_time", lambda: clock["thread"])
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: clock["wall"])
    assert calibration.thread_seconds(call, 1.0) == pytest.approx(3e-3)
    assert 10 <= clock["calls"] <= 14, "it stops after a second of wall time"


def test_fast_calls_are_timed_in_blocks(monkeypatch):
    clock = {"thread": 0.0}
    monkeypatch.setattr(calibration.time, "thread_time", lambda: round(clock["thread"], 6))
    monkeypatch.setattr(calibration.time, "perf_counter", lambda: clock["thread"])

    def call():
        clock["thread"] += 2e-7

    assert calibration.thread_seconds(call, 0.01) == pytest.approx(2e-7, rel=0.02)


def test_the_calibration_runs_on_one_thread_and_puts_the_threads_back(monkeypatch):
    before, used = torch.get_num_threads(), []
    monkeypatch.setattr(calibration, "OPERATIONS", calibration.OPERATIONS[:2])
    monkeypatch.setattr(calibration, "thread_seconds", lambda *_: used.append(torch.get_num_threads()) or 1e-3)
    records = list(calibration.run(Bench.on_device(torch, "cpu"), 0.1))
    assert used == [1, 1]
    assert torch.get_num_threads() == before
    assert [predictor._operation(record) for record in records] == list(calibration.OPERATIONS)


def test_the_least_squares_find_the_coefficients_and_no_negative_one():
    points = [({"a": x, "b": y, "c": x * y}, 2.0 * x + 3.0 * y) for x in (1, 5, 9) for y in (2, 4, 11)]
    fit = predictor._Fit.of(points)
    assert fit.coefficients["a"] == pytest.approx(2.0, rel=1e-4)
    assert fit.coefficients["b"] == pytest.approx(3.0, rel=1e-4)
    falling = predictor._Fit.of([({"a": 1, "b": x}, 10.0 - x) for x in (1, 2, 3)])
    assert dict(falling.coefficients) == {"a": pytest.approx(8.0, rel=0.05)}


def test_bandwidth_between_two_steps():
    assert predictor._interpolated([(1, 10.0), (4, 40.0)], 2) == pytest.approx(20.0)
    assert predictor._interpolated([(1, 10.0), (4, 40.0)], 0.1) == 10.0
    assert predictor._interpolated([(1, 10.0), (4, 40.0)], 99) == 40.0
    assert math.isfinite(predictor._interpolated([(1, 10.0), (4, 40.0)], 4))


def test_predicting_needs_no_torch(python_without, tmp_path):
    file = tmp_path / "profile.json"
    file.write_text(json.dumps(made_up()), "utf-8")
    code = f"""
import json, pathlib
from course_lib.accounting import models
from course_lib.experiments import predictor, workload
p = predictor.Predictor(json.loads(pathlib.Path({str(file)!r}).read_text()))
print(p.predict(workload.Matmul(512, 512, 512)).bound, p.predict_model(models.load("gpt2"), 1, 64).bound)
"""
    done = python_without({"torch", "numpy", "psutil", "tqdm", "matplotlib"}, code)
    assert done.stdout == "compute compute\n", done.stderr
