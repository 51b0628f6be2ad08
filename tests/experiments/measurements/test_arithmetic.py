"""The experiments of Q4 and Q6 to Q8+, against instrumented runs of the very calls that are timed."""

import math
import time
from types import SimpleNamespace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode, sdpa_backward_flop_count, sdpa_flop_count

from course_lib.accounting import flops, hardware, models, precision
from course_lib.experiments import registry
from course_lib.experiments.nets import tiny_gpt
from course_lib.experiments.running import experiment, torch_events
from course_lib.experiments.running.bench import Bench
from course_lib.experiments.running.result import Result
from course_lib.units.q04_why_matmul.experiments import elementwise_vs_matmul, gemm_ladder, matmul_sweep
from course_lib.units.q06_why_count_flops.experiments import mfu, train_step_waterfall
from course_lib.units.q07_attention_is_quadratic.experiments import attention_scaling, softmax_variants
from course_lib.units.q08_convolution_or_attention.experiments import (
    conv_vs_attention,
    convolution_kinds,
    im2col,
    image_models,
    network_search,
)
from course_lib.units.q08plus_why_times_two.experiments import counted_matmul

CPU = hardware.Device("x", "x", "cpu", {"fp32": 2e11, "bf16": 8e11}, 4e10, 10**10, 1e-6)
GPU = hardware.load("h100-sxm")
OLD_GPU = hardware.load("v100-sxm2")
NAMES = (
    "matmul_sweep",
    "gemm_ladder",
    "elementwise_vs_matmul",
    "counted_matmul",
    "softmax_variants",
    "attention_scaling",
    "im2col",
    "conv_vs_attention",
    "convolution_kinds",
    "image_models",
    "network_search",
    "train_step_waterfall",
    "mfu",
)


def cases(name, device=CPU, quick=True):
    return {case.name: case for case in registry.get(name).cases(device, quick)}


@pytest.fixture
def bench():
    return Bench.on_device(torch, "cpu")


class Moved(TorchDispatchMode):
    """Bytes that every operation reads and writes, a tensor that it changes in place twice, and how many there are."""

    WRITE_ONLY = ("copy_", "fill_", "zero_")

    def __init__(self):
        super().__init__()
        self.bytes = self.calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        aliases = [argument.alias_info for argument in func._schema.arguments]
        if any(alias is not None and not alias.is_write for alias in aliases) or "_unsafe_view" in func._schema.name:
            return out  # a view moves nothing
        read = tree_leaves(args[1:] if func._schema.name.endswith(self.WRITE_ONLY) else args)
        self.calls += 1
        self.bytes += sum(t.numel() * t.element_size() for t in (*read, *tree_leaves(out)) if torch.is_tensor(t))
        return out


def measured(case, bench):
    """(FLOPs of products, bytes, calls) of a whole case, counted while its timed function runs once."""
    call = case.build(bench)
    with torch.no_grad(), FlopCounterMode(display=False) as products, Moved() as moved:
        call()
    return tuple(count / case.share for count in (products.get_total_flops(), moved.bytes, moved.calls))


def product_flops(call):
    """FLOPs of all products in `call`, those inside SDPA too, which on a processor no counter sees otherwise."""
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops()


# ---------------------------------------------------------------- all of them


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("device", [CPU, GPU, OLD_GPU], ids=lambda device: device.id)
def test_cases_and_predictions_exist_for_every_device(name, device):
    quick, full = cases(name, device), cases(name, device, quick=False)
    assert len(quick) == len(registry.get(name).cases(device, True)), "names are unique"
    assert all(full[case].ops == quick[case].ops for case in quick)
    for chosen in (quick, full):
        assert {op.dtype for case in chosen.values() for op in case.ops} <= set(device.peaks)
        predicted = registry.get(name).predict(tuple(chosen.values()), device)
        told = [value for value in predicted.values() if value is not None]
        assert told
        assert all(math.isfinite(value) and value > 0 for value in told)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run(name, kept_profile, timed_once, capfd):
    state, threads, graded = torch.get_rng_state(), torch.get_num_threads(), torch.is_grad_enabled()
    r = experiment.run(registry.get(name), on="cpu")
    assert capfd.readouterr() == ("", ""), "a run prints nothing, neither through Python nor past it"
    assert torch.equal(torch.get_rng_state(), state)
    assert (torch.get_num_threads(), torch.is_grad_enabled()) == (threads, graded)
    assert Result.from_json(r.to_json()) == r
    assert set(r.prediction) == {row["case"] for row in r.rows}
    assert all(row["predicted"] == r.prediction[row["case"]] for row in r.rows)
    assert all(row["q1"] <= row["measured"] <= row["q3"] for row in r.rows)
    figure = registry.get(name).plot(r)
    assert all(row["case"].split(": ")[-1] in figure.alt for row in r.rows)


@pytest.mark.parametrize("name", ["matmul_sweep", "gemm_ladder"])
def test_rates_are_flops_over_the_time_of_the_whole_case(name, kept_profile, nothing_timed):
    r = experiment.run(registry.get(name), on="cpu")
    for case in registry.get(name).cases(CPU, True):
        seconds = 2e-3 / case.share
        assert r[case.name]["measured"] == pytest.approx(case.flops / seconds)
        assert r[case.name]["q3"] == pytest.approx(case.flops / (1.5e-3 / case.share))


@pytest.fixture
def nothing_timed(monkeypatch):
    """Nothing is built; every call took 1, 2 and 3 ms."""
    from course_lib.experiments.running import timing

    monkeypatch.setattr(
        experiment, "_measure", lambda case, *_: timing.Repeats((1e-3, 2e-3, 3e-3)).scaled(1 / case.share)
    )


# ---------------------------------------------------------------- products


@pytest.mark.parametrize(
    "name", ["square 16, fp32", "square 256, bf16", "skinny 1, fp32", "skinny 256, fp32", "square 511, fp32"]
)
def test_matmul_sweep_counts_what_runs(name, bench):
    case = cases("matmul_sweep")[name]
    flops, moved, calls = measured(case, bench)
    # a case is one call: of a set that is taken in turn, `share` calls run
    assert (flops, moved, calls) == (case.flops, case.bytes, case.calls)
    assert case.facts["flops"] == case.flops


@pytest.mark.parametrize("side", [16, 128, 512])
def test_sum_and_product_move_the_same_bytes(side, bench):
    both = cases("elementwise_vs_matmul")
    add, product = both[f"add {side}"], both[f"product {side}"]
    assert measured(add, bench)[1:] == (add.bytes, 1)
    assert measured(product, bench) == (product.flops, product.bytes, 1)
    assert add.bytes == product.bytes == 12 * side**2
    assert product.flops == 2 * side * add.flops


def test_the_ratio_tends_to_intensity_over_ridge():
    """The course's own card: 4096² in bf16 on an H100 takes 4.6 times as long, not 8192 times."""
    predicted = elementwise_vs_matmul.EXPERIMENT.predict(registry.get("elementwise_vs_matmul").cases(GPU, True), GPU)
    assert predicted["4096×4096"] == pytest.approx((4096 / 3) / (989e12 / 3.35e12))
    assert predicted["256×256"] is None


def test_ratio_is_the_quotient_of_medians(kept_profile, monkeypatch):
    from course_lib.experiments.running import timing

    monkeypatch.setattr(
        experiment, "_measure", lambda case, *_: timing.Repeats((7e-3 if case.name.startswith("product") else 2e-3,))
    )
    r = experiment.run(registry.get("elementwise_vs_matmul"), on="cpu")
    assert [row["measured"] for row in r.rows] == pytest.approx([3.5] * 4)
    assert [row["flops_ratio"] for row in r.rows] == [32, 256, 1024, 2048]


RUNGS = ("dot products", "row by row", "outer products", "tiles", "library, new result", "library, out=")


@pytest.mark.parametrize("name", RUNGS)
def test_every_rung_counts_what_runs(name, bench):
    case = cases("gemm_ladder")[name]
    flops, moved, calls = measured(case, bench)
    assert (moved, calls) == (case.bytes, case.calls)
    assert flops == (0 if name == "dot products" else case.flops)  # no counter knows torch.dot
    assert case.flops == 2 * 512**3


def test_the_loop_does_its_share_of_the_multiply_adds(bench):
    case = cases("gemm_ladder")["loop over numbers"]
    call = case.build(bench)
    a, columns = (closure(call)[name] for name in ("a", "columns"))
    assert len(columns) * len(a) == case.calls * case.share
    torch.testing.assert_close(torch.tensor(call()), torch.tensor(columns) @ torch.tensor(a))
    assert case.predict(CPU) is None


def test_every_rung_computes_the_product(bench):
    n = 24
    dots = gemm_ladder.build_dots(bench, n, "fp32")
    columns = torch.stack([column for column, _ in closure(dots)["pairs"]])
    torch.testing.assert_close(dots(), columns @ closure(dots)["a"])
    rows = gemm_ladder.build_rows(bench, n, "fp32")
    left = torch.cat([row for row, _ in closure(rows)["pairs"]])
    torch.testing.assert_close(rows(), left @ closure(rows)["b"])
    outer = gemm_ladder.build_outer(bench, n, "fp32")
    pairs = closure(outer)["pairs"]
    expected = torch.cat([column for column, _ in pairs], dim=1) @ torch.cat([row for _, row in pairs])
    torch.testing.assert_close(outer(), expected)
    tiles = gemm_ladder.build_tiles(bench, n, 8, "fp32")
    left, right = (torch.cat([torch.cat(row, 1) for row in closure(tiles)[side]]) for side in ("left", "right"))
    torch.testing.assert_close(tiles(), left @ right)


def closure(call):
    """What the timed function of a case refers to, by name."""
    return dict(zip(call.__code__.co_freevars, (cell.cell_contents for cell in call.__closure__), strict=True))


# ---------------------------------------------------------------- counted


def numbers(matrix, tally):
    return [[counted_matmul.Number(x, tally) for x in row] for row in matrix.tolist()]


def values(matrix):
    return torch.tensor([[x.value for x in row] for row in matrix])


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 2, 2), (3, 5, 2), (8, 16, 8)])
def test_numbers_count_the_products_of_torch(shape):
    m, k, n = shape
    tally, a, b = counted_matmul.Tally(), torch.rand(m, k), torch.rand(k, n)
    with FlopCounterMode(display=False) as counter:
        expected = a @ b
    result = counted_matmul.product(numbers(a, tally), numbers(b, tally))
    torch.testing.assert_close(values(result), expected)
    assert (tally.multiplications, tally.additions) == (m * k * n, m * n * (k - 1))
    assert tally.total == counter.get_total_flops() - m * n


def test_strassen_is_right_and_wins_at_sixteen():
    """12 and 25 operations for 2×2; the first side at which one level saves any is 16."""
    counts = {}
    for n in (2, 4, 8, 14, 16):
        tally, a, b = counted_matmul.Tally(), torch.rand(n, n), torch.rand(n, n)
        torch.testing.assert_close(
            values(counted_matmul.strassen(numbers(a, tally), numbers(b, tally))), a @ b, atol=1e-5, rtol=1e-4
        )
        counts[n] = tally.total
    assert counts[2] == 25
    assert [n for n, total in counts.items() if total < n * n * (2 * n - 1)] == [16]


@pytest.mark.parametrize("gauss", [False, True])
def test_complex_products_are_right(gauss):
    a, b = (torch.randn(3, 3, dtype=torch.complex128) for _ in range(2))
    tally = counted_matmul.Tally()

    def complexes(matrix):
        number = counted_matmul.Number
        return [
            [counted_matmul.Complex(number(z.real, tally), number(z.imag, tally), gauss) for z in row]
            for row in matrix.tolist()
        ]

    result = counted_matmul.product(complexes(a), complexes(b))
    found = torch.tensor([[complex(z.re.value, z.im.value) for z in row] for row in result], dtype=torch.complex128)
    torch.testing.assert_close(found, a @ b)
    assert (tally.multiplications, tally.additions) == ((81, 5 * 27 + 2 * 18) if gauss else (108, 2 * 27 + 2 * 18))


def test_what_is_counted_is_what_was_predicted(kept_profile):
    r = experiment.run(registry.get("counted_matmul"), on="cpu", quick=False)
    assert r.measured == dict(r.prediction)
    assert r["8×16×8, from 0"]["measured"] == r["8×16×8, from 0"]["convention"]


# ---------------------------------------------------------------- softmax


SOFTMAX = {
    "naive": softmax_variants.naive_softmax,
    "stable": softmax_variants.stable_softmax,
    "stable, in blocks": softmax_variants.blocked_softmax,
    "online, in blocks": softmax_variants.online_softmax,
    "library": softmax_variants.library_softmax,
    "log of softmax": softmax_variants.log_of_softmax,
    "log-softmax, library": softmax_variants.library_log_softmax,
}


@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_variants_are_right_and_overflow_as_they_say(name):
    scores = torch.randn(8, 64)
    truth = (torch.log_softmax if name.startswith("log") else torch.softmax)(scores.double(), 1).float()
    torch.testing.assert_close(SOFTMAX[name](torch, scores, torch.empty_like(scores), 4, 16)(), truth)
    large = torch.linspace(0, 1000, 64).repeat(4, 1)
    result = SOFTMAX[name](torch, large, torch.empty_like(large), 4, 16)()
    exact = (torch.log_softmax if name.startswith("log") else torch.softmax)(large.double(), 1).float()
    found = "NaN" if result.isnan().any() else "right" if torch.allclose(result, exact) else "−∞"
    assert result.isneginf().any() == (found == "−∞")
    assert found == cases("softmax_variants")[name].facts["of_large"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax_variants_count_what_runs(name, bench):
    """Of the unfused variants all bytes; of those in blocks the calls, as their temporaries stay in a cache."""
    case = cases("softmax_variants")[name]
    _, moved, calls = measured(case, bench)
    assert calls == case.calls
    array = 16384 * 1024 * 4
    if "blocks" not in name:
        assert moved == pytest.approx(case.facts["passes"] * array, rel=0.005)  # one number a row is left out
    else:
        assert case.facts["passes"] == 2
        assert moved > 7 * array, "without a cache each call's operands would cross memory"


# ---------------------------------------------------------------- attention


PRODUCTS = ("scores", "values", "summary", "normaliser", "SDPA")


@pytest.mark.parametrize(
    "name",
    ["eager 256", "SDPA 256", "window 512", "linear 256", "eager 256, both ways", "linear 256, both ways"],
)
def test_attention_counts_its_products(name, bench):
    case = cases("attention_scaling", quick=False)[name]
    products = sum(op.flops for op in case.ops if op.name in PRODUCTS)
    if name.startswith(("SDPA", "window")):  # the softmax is inside of the call
        heads, queries, keys = (2, 256, 256) if "SDPA" in name else (2 * 4, 128, 384)
        products -= 5 * heads * queries * keys
    assert product_flops(case.build(bench)) == products


def test_the_backward_pass_of_sdpa_is_what_torch_counts():
    shape = (1, 2, 256, 64)
    forward, backward = cases("attention_scaling", quick=False)["SDPA 256, both ways"].ops
    assert forward.flops == sdpa_flop_count(shape, shape, shape) + 5 * 2 * 256 * 256
    assert backward.flops == sdpa_backward_flop_count(shape, shape, shape, shape)
    queries, keys = (2, 2, 128, 64), (2, 2, 384, 64)  # two blocks of two heads, three blocks of keys each
    ops = {op.name: op for op in cases("attention_scaling")["window 256, both ways"].ops}
    assert ops["SDPA, backward"].flops == sdpa_backward_flop_count(queries, queries, keys, keys)


@pytest.mark.parametrize("form", ["eager", "linear"])
def test_both_ways_moves_what_its_calls_do(form, bench):
    case = cases("attention_scaling")[f"{form} 256, both ways"]
    call = case.build(bench)
    with Moved() as moved:
        call()
    assert moved.bytes == case.bytes
    assert moved.calls == case.calls


def test_windowed_attention_both_ways_has_the_gradients_of_a_mask():
    n, block = 512, attention_scaling.BLOCK
    inputs = [tensor.requires_grad_() for tensor in torch.randn(3, 1, 2, n, 64).unbind()]
    number = torch.arange(n) // block
    near = (number[:, None] - number[None, :]).abs() <= 1
    gradient = torch.randn(1, 2, n, 64)
    windowed = attention_scaling.window(torch, n, "cpu")(*inputs)
    masked = torch.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=near)
    for found, right in zip(
        torch.autograd.grad(windowed, inputs, gradient), torch.autograd.grad(masked, inputs, gradient), strict=True
    ):
        torch.testing.assert_close(found, right, atol=1e-5, rtol=1e-4)


def test_both_ways_gives_the_gradients_of_three_inputs(bench):
    gradients = [
        cases("attention_scaling", quick=False)[f"{form} 256, both ways"].build(Bench.on_device(torch, "cpu"))()
        for form in ("eager", "SDPA")
    ]
    for eager, sdpa in zip(*gradients, strict=True):
        assert eager.abs().sum() > 0
        torch.testing.assert_close(eager, sdpa)


def test_the_forms_of_attention_are_what_they_say():
    n, block = 512, attention_scaling.BLOCK
    q, k, v = torch.randn(3, 1, 2, n, 64).unbind()
    truth = torch.softmax(q.double() @ k.double().transpose(-2, -1) / 8, -1) @ v.double()
    for form in (attention_scaling.eager, attention_scaling.sdpa):
        torch.testing.assert_close(form(torch, n, "cpu")(q, k, v), truth.float())
    number = torch.arange(n) // block
    near = (number[:, None] - number[None, :]).abs() <= 1
    windowed = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=near)
    torch.testing.assert_close(attention_scaling.window(torch, n, "cpu")(q, k, v), windowed)
    weights = (torch.nn.functional.elu(q) + 1) @ (torch.nn.functional.elu(k) + 1).transpose(-2, -1)
    linear = (weights / weights.sum(-1, keepdim=True)) @ v
    torch.testing.assert_close(attention_scaling.linear(torch, n, "cpu")(q, k, v), linear, atol=1e-5, rtol=1e-4)


def test_eager_attention_moves_what_its_calls_do(bench):
    case = cases("attention_scaling")["eager 256"]
    call = case.build(bench)
    with torch.inference_mode(), Moved() as moved:
        call()
    assert moved.bytes == case.bytes


# ---------------------------------------------------------------- convolutions


@pytest.mark.parametrize("layer", im2col.LAYERS, ids=lambda layer: layer.name)
def test_a_convolution_is_a_product_of_the_unfolded_image(layer, bench):
    known = cases("im2col")
    calls = {
        variant: im2col.build(Bench.on_device(torch, "cpu"), layer, 4, "fp32", variant)
        for variant in ("library", "unfold", "unfold + product")
    }
    torch.testing.assert_close(calls["library"](), calls["unfold + product"](), atol=1e-3, rtol=1e-3)
    unfolded = calls["unfold"]()
    assert unfolded.numel() * 4 == known[f"{layer.name}, unfold"].facts["unfolded"]
    for variant in ("library", "unfold + product"):
        assert product_flops(calls[variant]) == known[f"{layer.name}, {variant}"].flops
    with Moved() as moved:
        calls["library"]()
    assert moved.bytes == known[f"{layer.name}, library"].bytes
    image = closure(calls["unfold"])["image"]
    assert known[f"{layer.name}, unfold"].bytes == 4 * (image.numel() + unfolded.numel())


@pytest.mark.parametrize("side", [112, 224])
@pytest.mark.parametrize("block", [conv_vs_attention.CONVOLUTION, *conv_vs_attention.WIDTHS])
def test_both_blocks_count_what_runs(block, side, bench):
    case = cases("conv_vs_attention")[f"{block}, {side}"]
    call = case.build(bench)
    with torch.inference_mode():
        assert product_flops(call) == case.facts["flops"]
        assert torch.isfinite(call()).all()


def test_flops_of_the_bottleneck_grow_with_the_pixels_and_of_attention_faster():
    known = cases("conv_vs_attention")
    bottleneck, vit = (
        known[f"{block}, 448"].facts["flops"] / known[f"{block}, 224"].facts["flops"]
        for block in (conv_vs_attention.CONVOLUTION, conv_vs_attention.ATTENTION)
    )
    assert bottleneck == 4
    assert 4 < vit < 16


@pytest.mark.parametrize("layout", convolution_kinds.LAYOUTS)
@pytest.mark.parametrize("kind", convolution_kinds.KINDS)
def test_kinds_of_convolution_count_what_runs(kind, layout, bench):
    case = cases("convolution_kinds")[f"{kind}, {layout}"]
    call = case.build(bench)
    with Moved() as moved:
        call()
    assert (product_flops(call), moved.bytes) == (case.flops, case.bytes)
    assert call().is_contiguous(memory_format=torch.channels_last) == convolution_kinds.LAYOUTS[layout]


@pytest.mark.parametrize("case", cases("network_search").values(), ids=lambda case: case.name)
def test_small_networks_count_what_runs(case, bench):
    """Every network, and the bytes of all its calls: an operation that works in place reads and writes the same."""
    call = case.build(bench)
    with torch.inference_mode(), FlopCounterMode(display=False) as counter:
        assert torch.isfinite(call()).all()
    assert counter.get_total_flops() == case.facts["flops"]


def test_misordered_pairs():
    measured = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert network_search.misordered(measured, measured) == (0, 3)
    assert network_search.misordered({"a": 3, "b": 2, "c": 1}, measured) == (3, 3)
    assert network_search.misordered({"a": 1, "b": 1, "c": 2}, measured) == (0, 2)


@pytest.mark.slow
def test_whole_models_count_what_runs_in_both_layouts(bench):
    known, results = cases("image_models"), {}
    for layout in (image_models.ROWS_FIRST, image_models.CHANNELS_LAST):
        case = known[f"mobilenet-v2, {layout}"]
        call = case.build(bench)
        with torch.inference_mode():
            assert product_flops(call) == case.facts["flops"]
            results[layout] = call()
    torch.testing.assert_close(*results.values(), atol=1e-3, rtol=1e-3)


# ---------------------------------------------------------------- the training step


STEP = train_step_waterfall.Step(tiny_gpt.describe(2, 32, 2, 100, 16), 2, 16, "fp32")


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_a_gpt2_on_meta_costs_what_flops_counts(attention):
    gpt2 = models.load("gpt2")
    tokens = torch.zeros(2, 64, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        tiny_gpt.on_meta(gpt2, attention)(tokens, labels=tokens).loss.backward()
    assert counter.get_total_flops() == int(flops.training_step(gpt2, 2, 64))
    with pytest.raises(ValueError, match="is not a GPT-2"):
        tiny_gpt.on_meta(models.load("llama3-8b"))


def test_products_of_a_step_are_what_a_counter_counts(bench):
    take_step = STEP.build(bench)
    with FlopCounterMode(display=False) as counter:
        take_step()
    counts = counter.get_flop_counts()["Global"]
    ops = train_step_waterfall.step_ops(STEP)
    products = sum(op.flops for name in ("forward, products", "backward, products") for op in ops[name])
    assert sum(counts[op] for op in counts if op in (torch.ops.aten.mm, torch.ops.aten.addmm)) == products
    net = tiny_gpt.build(bench, STEP.model, attention="eager")
    tokens = tiny_gpt.tokens(bench, STEP.model, STEP.batch, STEP.seq)
    with FlopCounterMode(display=False) as counter:
        net(tokens, labels=tokens).loss.backward()
    assert STEP.flops == counter.get_total_flops()


def test_the_norms_and_activations_of_a_step_move_what_its_calls_do(bench):
    """Layer norm keeps two numbers a row besides, and the table of positions is read once and not for each sequence."""
    net = tiny_gpt.build(bench, STEP.model, attention="sdpa")
    tokens = tiny_gpt.tokens(bench, STEP.model, STEP.batch, STEP.seq)
    moved = _Classed()
    with torch.no_grad(), moved:
        net(tokens)
    ops = train_step_waterfall.step_ops(STEP)["forward, norms and activations"]
    assert moved.calls == sum(op.calls for op in ops)
    assert moved.bytes == pytest.approx(sum(op.bytes for op in ops), rel=0.03)


class _Classed(TorchDispatchMode):
    """Bytes and calls of the operations that are classified as norms and activations."""

    bytes = calls = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        results = tree_leaves(out)[:1]
        numbers = results[0].is_floating_point()  # the positions of the tokens are added up too, as integers
        if numbers and train_step_waterfall.classify([func._schema.name]) == "forward, norms and activations":
            self.calls += 1
            self.bytes += sum(
                t.numel() * t.element_size() for t in (*tree_leaves(args), *results) if torch.is_tensor(t)
            )
        return out


def test_attention_of_a_step_is_half_of_what_torch_counts_without_a_mask():
    shape = (STEP.batch, STEP.model.heads, STEP.seq, STEP.model.head_width)
    ops = train_step_waterfall.step_ops(STEP)
    assert [op.flops for op in ops["forward, attention"]] == [sdpa_flop_count(shape, shape, shape) // 2] * 2
    backward = sdpa_backward_flop_count(shape, shape, shape, shape) // 2
    assert [op.flops for op in ops["backward, attention"]] == [backward] * 2


def test_a_data_sheet_says_nothing_about_the_small_calls_of_a_step():
    predicted = train_step_waterfall.EXPERIMENT.predict(registry.get("train_step_waterfall").cases(GPU, True), GPU)
    assert predicted["32 tokens: forward, products"] is None
    assert predicted["large batch: forward, products"] > 1e-3
    assert predicted["large batch: between the operations"] is None


def test_the_optimizer_is_one_pass_over_every_parameter(bench):
    net = tiny_gpt.build(bench, STEP.model, attention="sdpa")
    (adamw,) = train_step_waterfall.step_ops(STEP)["optimizer"]
    assert adamw.calls == len(list(net.parameters()))
    assert adamw.bytes == 7 * sum(p.numel() * p.element_size() for p in net.parameters())


def test_classes_sum_to_each_step_and_see_what_lies_between(bench, capfd):
    take_step = STEP.build(bench)

    def with_pause():
        time.sleep(0.02)
        take_step()

    seconds = train_step_waterfall.profile_steps(bench, with_pause, 0.0)
    assert capfd.readouterr() == ("", "")
    assert set(seconds) == set(train_step_waterfall.CLASSES)
    for n in range(train_step_waterfall.FEWEST):
        assert all(times[n] >= 0 for times in seconds.values())
        assert seconds["between the operations"][n] > 0.01, "the pause; half of it leaves room for the profiler's clock"
        for class_ in ("forward, products", "backward, products", "loss", "optimizer", "backward, attention"):
            assert seconds[class_][n] > 0


def test_a_profile_made_by_hand_is_sorted_into_its_classes():
    """Times in µs: a step of 100, in it a product of 30 inside linear, a backward product of 20, a view of 5."""

    def event(name, start, end, own, parent=None, kernels=0.0):
        return SimpleNamespace(
            name=name,
            time_range=SimpleNamespace(start=start, end=end),
            self_cpu_time_total=own,
            self_device_time_total=kernels,
            cpu_parent=parent,
        )

    step = event(torch_events.REGION, 0, 100, 40)
    linear = event("aten::linear", 10, 45, 5, step)
    engine = event("autograd::engine::evaluate_function: MmBackward0", 50, 72, 2, None)  # on a GPU a thread of its own
    events = [
        step,
        linear,
        event("aten::addmm", 12, 42, 30, linear, kernels=11),
        engine,
        event("aten::mm", 51, 71, 20, engine, kernels=22),
        event("aten::view", 80, 85, 5, step),
        event("aten::mm", 200, 300, 100, None, kernels=99),  # outside of the step
    ]
    on_cpu = train_step_waterfall.by_class(events, on_gpu=False)
    assert on_cpu["forward, products"] == pytest.approx([35e-6])
    assert on_cpu["backward, products"] == pytest.approx([20e-6])
    assert on_cpu["forward, copies and look-ups"] == pytest.approx([5e-6])
    assert on_cpu["between the operations"] == pytest.approx([40e-6])
    on_gpu = train_step_waterfall.by_class(events, on_gpu=True)
    assert on_gpu["forward, products"] == pytest.approx([11e-6])
    assert on_gpu["between the operations"] == pytest.approx([(100 - 33) * 1e-6])


def test_all_classes_of_a_run_come_from_one_profile(monkeypatch, bench):
    profiled = []

    def once(bench, take_step, seconds):
        profiled.append(bench)
        return {class_: [1.0] for class_ in train_step_waterfall.CLASSES}

    monkeypatch.setattr(train_step_waterfall, "profile_steps", once)
    monkeypatch.setattr(train_step_waterfall.Step, "build", lambda *_: None)
    known = registry.get("train_step_waterfall").cases(CPU, True)
    for case in known:
        case.observe(bench, 0.1)
    assert len(profiled) == 2, "one for each batch"
    known[0].observe(Bench.on_device(torch, "cpu"), 0.1)
    assert len(profiled) == 3, "another run profiles again"


def test_shares_sum_to_the_step(kept_profile, monkeypatch):
    from course_lib.experiments.running import timing

    monkeypatch.setattr(experiment, "_measure", lambda case, *_: timing.Repeats((len(case.name) * 1e-3,)))
    r = experiment.run(registry.get("train_step_waterfall"), on="cpu")
    for batch in (train_step_waterfall.LARGE, train_step_waterfall.SMALL):
        assert sum(row["share"] for row in r.rows if row["batch"] == batch) == pytest.approx(100)


def test_utilisation_by_hand(kept_profile, nothing_timed):
    """2 ms a step against the profile's peak of 200 GFLOP/s."""
    r = experiment.run(registry.get("mfu"), on="cpu")
    row = r["512 tokens"]
    assert row["flops"] == mfu.Step(train_step_waterfall.gpt(CPU), 4, 128, "fp32").flops
    assert row["measured"] == pytest.approx(100 * row["flops"] / (2e-3 * 200e9))
    assert row["rate"] == pytest.approx(512 / 2e-3)
    assert all(0 < value < 100 for value in r.prediction.values())


def test_the_step_of_a_gpu_is_gpt2_small():
    model = train_step_waterfall.gpt(GPU)
    assert model.parameters().total == 124_439_808
    assert {case.ops[0].dtype for case in cases("mfu", GPU).values()} == {"bf16"}
    assert precision.normalise(cases("mfu", OLD_GPU)["16384 tokens"].ops[0].dtype) == "fp16"


def test_formats_of_the_sweep():
    assert {case.ops[0].dtype for case in cases("matmul_sweep").values()} == {"fp32", "bf16"}
    assert {case.ops[0].dtype for case in cases("matmul_sweep", OLD_GPU).values()} == {"fp32", "fp16"}
    assert matmul_sweep.predict([cases("matmul_sweep", GPU)["square 8192, bf16"]], GPU) == {
        "square 8192, bf16": pytest.approx(989e12)
    }
