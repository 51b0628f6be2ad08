"""Laws that hold for every model, shape and device."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from course_lib.accounting import flops, hardware, models, precision, roofline, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.models import Transformer

sizes = st.integers(1, 10**6)


@st.composite
def transformers(draw):
    kv_heads = draw(st.integers(1, 8))
    heads = kv_heads * draw(st.integers(1, 8))
    experts = draw(st.integers(1, 8))
    return Transformer(
        "drawn",
        layers=draw(st.integers(1, 100)),
        d_model=draw(st.integers(1, 64)) * heads,
        heads=heads,
        kv_heads=draw(st.sampled_from([None, kv_heads])),
        head_dim=draw(st.sampled_from([None, 64, 128])),
        d_ff=draw(st.sampled_from([None, 3072, 11008])),
        vocab=draw(st.integers(1, 300_000)),
        context=draw(st.integers(64, 4096)),
        gated_mlp=draw(st.booleans()),
        activation=draw(st.sampled_from(["relu", "gelu", "gelu-tanh", "silu"])),
        bias=draw(st.booleans()),
        qkv_bias=draw(st.sampled_from([None, True, False])),
        norm=draw(st.sampled_from(["layernorm", "rmsnorm"])),
        qk_norm=draw(st.booleans()),
        positions=draw(st.sampled_from(["learned", "rotary"])),
        tied_head=draw(st.booleans()),
        experts=experts,
        active_experts=draw(st.integers(1, experts)),
    )


def assert_parts_sum(breakdown: Breakdown):
    assert sum(value for _, value in breakdown.flat()) == breakdown.total
    for value in breakdown.parts.values():
        if isinstance(value, Breakdown):
            assert_parts_sum(value)


@given(transformers(), st.integers(1, 64), st.integers(1, 64), st.booleans(), st.booleans())
def test_parts_sum_to_the_total(model, batch, seq, causal, extras):
    for breakdown in (
        model.parameters(),
        flops.forward(model, batch, seq, causal=causal, extras=extras),
        flops.training_step(model, batch, seq, causal=causal),
    ):
        assert_parts_sum(breakdown)
        assert_parts_sum(breakdown["layer"])
        assert int(breakdown["layers"]) == model.layers * int(breakdown["layer"])


@given(transformers(), st.integers(1, 64), st.integers(1, 64), st.booleans())
def test_flops_are_linear_in_the_batch(model, batch, seq, extras):
    one = flops.forward(model, 1, seq, extras=extras)
    assert flops.forward(model, batch, seq, extras=extras) == batch * one


@given(transformers(), st.integers(1, 64))
def test_training_is_three_forwards_and_recomputing_adds_at_most_one(model, seq):
    forward = flops.forward(model, 2, seq)
    none, selective, full = (
        flops.training_step(model, 2, seq, recompute=kind) for kind in ("none", "selective", "full")
    )
    assert none == 3 * forward
    assert int(selective) - int(none) == forward["attention.scores"] + forward["attention.values"]
    assert int(full) - int(none) == int(forward["layers"])
    assert forward.macs * 2 == int(forward)


@given(transformers(), st.integers(1, 64))
def test_causal_leaves_half_of_the_pairs_and_the_diagonal(model, seq):
    full, causal = flops.forward(model, 1, seq), flops.forward(model, 1, seq, causal=True)
    for part in ("attention.scores", "attention.values"):
        assert 2 * seq * causal[part] == (seq + 1) * full[part]
    assert causal["mlp"] == full["mlp"]


@given(transformers(), st.integers(1, 64))
def test_extras_only_add(model, seq):
    plain, more = flops.forward(model, 2, seq), flops.forward(model, 2, seq, extras=True)
    added = {"attention.softmax", "norm", "activation", "residual"}
    added |= {"embedding"} if model.positions == "learned" else set()
    counted = dict(more.flat())
    assert set(counted) - set(dict(plain.flat())) == added
    assert {name: counted[name] for name, _ in plain.flat()} == dict(plain.flat())
    rows = 2 * seq
    assert more["attention.softmax"] == model.layers * flops.softmax(rows * model.heads, seq)
    if model.norm == "layernorm" and not model.qk_norm:
        assert more["norm"] == (2 * model.layers + 1) * flops.layer_norm(rows, model.d_model)


@given(transformers())
def test_active_parameters_leave_out_only_idle_experts(model):
    everything, active = model.parameters(), model.parameters(active=True)
    assert everything["mlp"] * model.active_experts == active["mlp"] * model.experts
    assert int(everything) - everything["mlp"] == int(active) - active["mlp"]


@given(sizes, sizes, sizes)
def test_matmul_is_symmetric_and_exact_counts_one_addition_less(m, k, n):
    assert flops.matmul(m, k, n) == flops.matmul(n, k, m) == flops.matmul(m, k, n, exact=True) + m * n


@given(sizes, sizes, st.integers(1, 4), st.integers(1, 4))
def test_a_one_by_one_convolution_is_a_matmul(in_channels, out_channels, height, width):
    convolution = flops.conv2d(
        in_channels=in_channels, out_channels=out_channels, kernel=1, out_height=height, out_width=width
    )
    assert convolution == flops.matmul(height * width, in_channels, out_channels)


# ---------------------------------------------------------------- roofline

devices = st.builds(
    lambda peak, bandwidth, overhead: hardware.Device(
        "drawn", "drawn", "gpu", {"bf16": peak}, bandwidth, 10**9, overhead
    ),
    st.floats(1e9, 1e16),
    st.floats(1e8, 1e14),
    st.floats(0, 1e-3),
)
ops = st.builds(
    roofline.Op, st.just("x"), st.integers(0, 10**15), st.integers(1, 10**13), st.just("bf16"), st.integers(1, 100)
)


@given(ops, devices)
def test_place_agrees_with_itself(op, device):
    place = roofline.place(flops=op.flops, bytes=op.bytes, device=device, dtype="bf16")
    assert place.ridge == roofline.ridge_point(device, "bf16")
    assert place.intensity == op.intensity
    assert (place.bound == "compute") == (op.intensity >= place.ridge)
    assert 0 <= place.attainable <= device.peak("bf16")
    if op.flops:
        assert place.seconds == pytest.approx(op.flops / place.attainable)


@given(ops, devices)
def test_t26_a_step_takes_between_the_larger_time_and_the_sum(op, device):
    compute, traffic = op.flops / device.peak("bf16"), op.bytes / device.memory_bandwidth
    seconds = roofline.place(flops=op.flops, bytes=op.bytes, device=device, dtype="bf16").seconds
    assert max(compute, traffic) <= seconds <= compute + traffic <= 2 * seconds


def _one_by_one(several, device, launches):
    """Starts and running times through a queue, call by call: when is the last one done?"""
    host = done = 0.0
    for op in several:
        seconds = roofline.place(flops=op.flops, bytes=op.bytes, device=device, dtype=op.dtype).seconds
        for _ in range(op.calls):
            host = (done if launches == "in turn" else host) + device.call_overhead
            done = max(host, done) + seconds / op.calls
    return done


@given(st.lists(ops, max_size=5), devices, st.sampled_from(["in turn", "ahead"]))
def test_predicted_seconds_are_those_of_a_queue(several, device, launches):
    several = [replace(op, calls=1 + op.calls % 20) for op in several]
    predicted = roofline.predict_seconds(iter(several), device=device, launches=launches)
    queue, slack = _one_by_one(several, device, launches), 1 + 1e-9
    if launches == "in turn":
        assert predicted == pytest.approx(queue)
    else:
        in_turn = roofline.predict_seconds(several, device=device, launches="in turn")
        assert predicted <= queue * slack, "the least that a queue needs"
        assert queue <= in_turn * slack
        assert in_turn <= 2 * predicted * slack
    kind = {"in turn": "cpu", "ahead": "gpu"}[launches]
    assert roofline.predict_seconds(several, device=replace(device, kind=kind)) == predicted


def test_a_queue_hides_the_launches_of_long_kernels_and_the_kernels_of_short_ones():
    gpu = replace(hardware.load("h100-sxm"), call_overhead=5e-6)
    long, short = roofline.matmul(8192, 8192, 8192, "bf16"), roofline.elementwise(16, reads=2)
    assert roofline.predict_seconds([long] * 10, device=gpu) == 10 * long.on(gpu).seconds
    assert roofline.predict_seconds([short] * 10, device=gpu) == pytest.approx(50e-6)


@given(ops, devices, st.floats(1, 100))
def test_a_faster_device_is_never_slower(op, device, factor):
    faster = replace(device, memory_bandwidth=device.memory_bandwidth * factor)
    assert roofline.predict_seconds(op, device=faster) <= roofline.predict_seconds(op, device=device)


@given(sizes, sizes, sizes, st.integers(1, 8), st.sampled_from(precision.names()))
def test_matmul_moves_each_operand_once(m, k, n, batch, dtype):
    op = roofline.matmul(m, k, n, dtype, batch=batch)
    assert op.flops == batch * flops.matmul(m, k, n)
    expected = sum(precision.nbytes(batch * a * b, dtype) for a, b in ((m, k), (k, n), (m, n)))
    assert op.bytes == expected
    assert op.dtype == dtype


@given(sizes, st.integers(0, 4), st.integers(1, 4), st.integers(0, 9))
def test_elementwise_counts_its_tensors(elements, reads, writes, work):
    op = roofline.elementwise(elements, reads=reads, writes=writes, flops_per_element=work, dtype="bf16")
    assert (op.flops, op.bytes, op.calls) == (work * elements, 2 * elements * (reads + writes), 1)


# ---------------------------------------------------------------- units


@given(st.floats(1e-12, 1e26), st.sampled_from(["FLOP", "B/s", "s"]))
@settings(max_examples=300)
def test_formatted_numbers_read_back_within_half_a_digit(value, unit):
    text = units.format_si(value, unit).removesuffix(unit).rstrip()
    prefixes = {"p": 1e-12, "n": 1e-9, "µ": 1e-6, "m": 1e-3}
    prefixes |= {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18, "Z": 1e21, "Y": 1e24}
    scale = prefixes.get(text[-1], 1)
    digits = text[:-1] if text[-1] in prefixes else text
    assert float(digits) * scale == pytest.approx(value, rel=0.0051)


@given(st.floats(1, 99_999))
def test_bandwidths_in_gigabytes_are_refused(value):
    with pytest.raises(ValueError, match="looks like GB/s"):
        units.bandwidth(value)


@given(st.floats(1e-3, 999_999))
def test_peaks_in_teraflops_are_refused(value):
    with pytest.raises(ValueError, match="looks like TFLOP/s"):
        units.peak_rate(value)


@given(st.integers(1, 10**30))
def test_counts_are_exact(value):
    assert units.count(value, "n") == value
    assert units.count(float(value), "n") == int(float(value))


@given(st.sampled_from(models.names()), st.data())
def test_a_slip_of_the_pen_finds_the_name(name, data):
    position = data.draw(st.integers(0, len(name) - 1))
    slip = name[:position] + name[position + 1 :]
    if slip not in models.names():
        with pytest.raises(ValueError, match="Did you mean"):
            models.load(slip)


@given(sizes, sizes, sizes, st.sampled_from(["fp32", "bf16"]))
def test_an_op_stands_where_its_numbers_do(m, k, n, dtype):
    op = roofline.matmul(m, k, n, dtype=dtype)
    peak = {"fp32": 19.5e12, "bf16": 312e12}[dtype]
    assert op.on("a100-40-sxm") == op.on(hardware.load("a100-40-sxm"))
    assert op.on("a100-40-sxm").seconds == max(op.flops / peak, op.bytes / 1555e9)
