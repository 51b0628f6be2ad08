"""NUMBERS.md: published or independently derivable answers. Each test is named after its row."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.accounting import (
    communication,
    economics,
    flops,
    hardware,
    inference,
    memory,
    models,
    parallelism,
    precision,
    roofline,
)
from course_lib.accounting.models import Transformer


def gpt2_without_biases():
    return replace(models.load("gpt2"), bias=False)


def cs336_xl():
    """The GPT-2 XL shape of Stanford CS336, assignment 1: SwiGLU with d_ff 6400, RMSNorm, no biases, untied, rotary."""
    return Transformer(
        "cs336-xl",
        layers=48,
        d_model=1600,
        heads=25,
        vocab=50257,
        context=1024,
        d_ff=6400,
        gated_mlp=True,
        activation="silu",
        bias=False,
        norm="rmsnorm",
        positions="rotary",
        tied_head=False,
    )


# ---------------------------------------------------------------- 1 parameters


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("gpt2", 124_439_808, id="P01"),
        pytest.param("gpt3-175b", 174_604_259_328, id="P05"),
        pytest.param("llama2-7b", 6_738_415_616, id="P08"),
        pytest.param("llama3-8b", 8_030_261_248, id="P09-8b"),
        pytest.param("llama3-70b", 70_553_706_496, id="P09-70b"),
    ],
)
def test_parameters_of_published_models(name, expected):
    assert int(models.load(name).parameters()) == expected


def test_p02_gpt2_without_biases():
    assert int(gpt2_without_biases().parameters()) == 124_337_664


def test_p03_parts_of_gpt2_without_biases():
    parameters = gpt2_without_biases().parameters()
    assert int(parameters["layer"]) == 7_079_424
    assert parameters["layer.attention.qkv"] == 1_769_472
    assert parameters["layer.mlp"] == 2 * 2_359_296
    assert parameters["embedding.position"] == 786_432
    assert parameters["embedding.token"] == 38_597_376


def test_p06_cs336_xl():
    parameters = cs336_xl().parameters()
    assert int(parameters) == 2_127_057_600
    assert round(precision.nbytes(int(parameters), "fp32") / 1e9, 3) == 8.508


def test_p10_parts_of_llama3_70b():
    parameters = models.load("llama3-70b").parameters()
    assert int(parameters["mlp"]) == pytest.approx(56.3e9, rel=0.01)
    assert parameters["embedding.token"] + parameters["head"] == pytest.approx(2.1e9, rel=0.01)
    assert int(parameters["attention"]) == pytest.approx(12e9, rel=0.01)


def test_p12_scaling_book_inference_question_1():
    model = Transformer(
        "q1",
        layers=64,
        d_model=4096,
        heads=32,
        kv_heads=8,
        head_dim=256,
        d_ff=16384,
        vocab=32128,
        context=8192,
        gated_mlp=True,
        bias=False,
        norm="rmsnorm",
        positions="rotary",
    )
    parameters = model.parameters()
    assert round((int(parameters) - parameters["norm"]) / 1e9, 3) == 18.385  # the book leaves the norms out


@pytest.mark.parametrize(
    ("layers", "width", "heads", "billions"),
    [(48, 6144, 64, 22.07), (96, 12288, 96, 174.6), (105, 20480, 128, 529.6), (128, 25600, 160, 1008.0)],
    ids=["P15-22B", "P15-175B", "P15-530B", "P15-1T"],
)
def test_p15_megatron_formula(layers, width, heads, billions):
    vocab, context = 51200, 2048
    model = Transformer("megatron", layers=layers, d_model=width, heads=heads, vocab=vocab, context=context)
    # 12lh²(1 + 13/(12h) + (V + s)/(12lh)) leaves out the final norm, 2h
    formula = 12 * layers * width**2 + 13 * layers * width + (vocab + context) * width
    assert int(model.parameters()) == formula + 2 * width
    assert formula / 1e9 == pytest.approx(billions, rel=5e-4)


def test_p16_opt_formula_is_gpt2_without_positions():
    parameters = models.load("gpt2").parameters()
    assert int(parameters) - parameters["embedding.position"] == 123_653_376


def test_active_parameters_of_mixtral_are_12_9_billion():
    # Jiang et al. 2024, "Mixtral of Experts": 47 B parameters, 13 B active
    mixtral = models.load("mixtral-8x7b")
    assert int(mixtral.parameters()) == 46_702_792_704
    assert int(mixtral.parameters(active=True)) == 12_879_925_248


# ---------------------------------------------------------------- 2 FLOPs


def test_f01_small_matmul():
    assert flops.matmul(2, 3, 2) == 24
    assert flops.matmul(2, 3, 2, exact=True) == 20


def test_f02_nanogpt_one_sequence():
    gpt2 = gpt2_without_biases()
    assert int(flops.forward(gpt2)) == 291_648_307_200
    assert int(flops.training_step(gpt2, batch=1, seq=1024)) == 874_944_921_600


def test_f03_nanogpt_parts():
    forward = flops.forward(models.load("gpt2"))
    assert forward["layer.attention.scores"] == 1_610_612_736
    assert forward["layer.mlp"] == 9_663_676_416
    assert forward["head"] == 79_047_426_048


def test_f04_palm_formula():
    gpt2 = gpt2_without_biases()
    parameters = gpt2.parameters()
    matrices = int(parameters) - parameters["embedding.position"]
    per_token = 6 * matrices + 12 * gpt2.layers * gpt2.q_width * gpt2.context
    palm = per_token * gpt2.context
    assert palm == 875_062_886_400
    assert round(palm / int(flops.training_step(gpt2, 1, 1024)), 4) == 1.0001


def test_f05_forward_of_one_token():
    assert round(int(flops.forward(models.load("gpt2"))) / 1024 / 1e6, 2) == 284.81


def test_f06_cs336_xl_forward_and_shares():
    forward = flops.forward(cs336_xl())
    assert int(forward) == pytest.approx(4.5133e12, rel=2e-5)
    projections = forward.share("attention.qkv") + forward.share("attention.out")
    products = forward.share("attention.scores") + forward.share("attention.values")
    shares = [round(100 * s, 1) for s in (projections, products, forward.share("mlp"), forward.share("head"))]
    assert shares == [22.3, 7.1, 66.9, 3.6]


def test_f10_f11_training_a_70b():
    assert flops.six_nd(70e9, 15e12) == 63 * 10**23
    assert flops.six_nd(70e9, 1) == 420_000_000_000


@pytest.mark.parametrize(
    ("params", "printed"),
    [(125e6, 2.25e20), (1.32e9, 2.38e21), (2.65e9, 4.77e21), (6.66e9, 1.20e22), (12.85e9, 2.31e22), (174.6e9, 3.14e23)],
    ids=["125M", "1.3B", "2.7B", "6.7B", "13B", "175B"],
)
def test_f12_gpt3_table(params, printed):
    assert float(f"{flops.six_nd(params, 300e9):.2e}") == printed


def test_f16_chinchilla_and_gopher():
    assert float(f"{flops.six_nd(70e9, 1.4e12):.2e}") == 5.88e23
    assert float(f"{flops.six_nd(280e9, 300e9):.2e}") == 5.04e23


def test_f19_scores_and_values_equal_the_projections_at_twice_the_width():
    model = Transformer("q5", layers=1, d_model=4096, heads=32, vocab=1000, context=10**6, positions="rotary")
    attention = flops.forward(model, seq=8192)["attention"]
    assert attention["scores"] + attention["values"] == attention["qkv"] + attention["out"]


def test_f20_attention_over_matmuls_is_t_over_8d():
    model = Transformer(
        "sb", layers=1, d_model=8192, heads=64, vocab=1000, context=10**6, gated_mlp=True, positions="rotary"
    )
    for tokens in (8192, 65536):
        layer = flops.forward(model, seq=tokens)["layer"]
        products = layer["attention.scores"] + layer["attention.values"]
        assert products / (int(layer) - products) == tokens / (8 * 8192)


def test_f21_contraction_is_a_matmul():
    i, j, k, m, n, o, p = 2, 3, 5, 7, 11, 13, 17
    assert flops.matmul(k * p, i * j, m * n * o) == 2 * i * j * k * p * m * n * o


def test_f22_gpt3_mlp_weight_in_mib():
    gpt3 = models.load("gpt3-175b")
    assert precision.nbytes(gpt3.mlp_width * gpt3.d_model, "fp32") == 2304 * 2**20


def test_f24_softmax():
    assert flops.softmax(4096, 4096) == 3 * 4096**2 == 50_331_648
    assert flops.softmax(4096, 4096, stable=True) == 5 * 4096**2
    assert flops.layer_norm(2048, 768) == 8 * 2048 * 768


def test_f25_resnet_stem():
    stem = flops.conv2d(in_channels=3, out_channels=64, kernel=7, out_height=112, out_width=112)
    assert stem == 236_027_904


def test_f27_first_matrix_of_the_gpt2_mlp():
    layer = models.load("gpt2").parameters()["layer"]
    up = (layer["mlp"] - 768 + 3072) // 2  # both matrices are 768 × 3072; the biases are 3072 and 768
    assert up == 2_362_368
    assert round(precision.nbytes(up, "fp32") / 1e6, 2) == 9.45


def test_f28_full_recompute_makes_six_nd_eight_nd():
    gpt2 = models.load("gpt2")
    full, plain = (flops.training_step(gpt2, 4, 512, recompute=kind) for kind in ("full", "none"))
    assert 3 * int(full["layers"]) == 4 * int(plain["layers"])
    assert full["head"] == plain["head"]


# ---------------------------------------------------------------- 4 roofline and time


@pytest.mark.parametrize(
    ("device", "dtype", "ridge", "digits"),
    [
        pytest.param(replace(hardware.load("tpu-v5e"), memory_bandwidth=8.2e11), "bf16", 240, 0, id="T01-v5e"),
        pytest.param("h100-sxm", "bf16", 295, 0, id="T01-h100"),
        pytest.param("h200-sxm", "bf16", 206, 0, id="T01-h200"),
        pytest.param("b200-sxm", "bf16", 281, 0, id="T01-b200"),
        pytest.param("a100-40-sxm", "bf16", 200.6, 1, id="T01-a100-40"),
        pytest.param("a100-80-sxm", "bf16", 153.0, 1, id="T01-a100-80"),
        pytest.param("v100-sxm2", "fp16", 139, 0, id="T01-v100"),
    ],
)
def test_t01_ridge_points(device, dtype, ridge, digits):
    assert round(roofline.ridge_point(device, dtype), digits) == ridge


def test_t02_intensities():
    assert roofline.matmul(1, 10**6, 1, "bf16").intensity == pytest.approx(1 / 2, rel=1e-5)
    assert roofline.elementwise(10**6, reads=2, writes=1, dtype="fp32").intensity == 1 / 12
    assert roofline.matmul(32, 10**6, 10**6, "bf16").intensity == pytest.approx(32, rel=1e-4)


def test_defaults_of_the_op_constructors():
    # one tensor read, one written, one operation per element, fp32, one call
    assert roofline.elementwise(1000, name="x") == roofline.Op(
        "x", flops=1000, bytes=2 * 4 * 1000, dtype="fp32", calls=1
    )
    assert roofline.matmul(2, 3, 5, name="x") == roofline.Op(
        "x", flops=60, bytes=4 * (6 + 15 + 10), dtype="fp32", calls=1
    )
    assert roofline.Op("x", flops=1, bytes=1).calls == 1


def test_t03_int8_matmul_on_v5e():
    v5e = replace(hardware.load("tpu-v5e"), memory_bandwidth=8.1e11, peaks={"int8": 3.94e14})
    assert roofline.matmul(16, 10**7, 10**7, "int8").intensity == pytest.approx(2 * 16, rel=1e-4)
    assert round(roofline.ridge_point(v5e, "int8")) == 486
    assert roofline.matmul(243 - 1, 10**7, 10**7, "int8").intensity < roofline.ridge_point(v5e, "int8")
    assert roofline.matmul(243 + 1, 10**7, 10**7, "int8").intensity > roofline.ridge_point(v5e, "int8")


def test_t07_square_matmul():
    op = roofline.matmul(4096, 4096, 4096, "bf16")
    assert op.flops == 137_438_953_472
    assert op.bytes == 100_663_296
    assert round(op.intensity, 1) == 1365.3


def test_t08_matmul_on_two_chips_that_share_the_contraction():
    # each multiplies [B, D/2] by [D/2, F] at 1.97e14 FLOP/s, then they add their bf16 [B, F] over 4.5e10 B/s
    chip = replace(hardware.load("tpu-v5e"), peaks={"bf16": 1.97e14})
    rows, columns = 1024, 8192

    def compute_over_exchange(depth):
        work = flops.matmul(rows, depth // 2, columns)
        exchange = communication.all_reduce(nbytes=2 * rows * columns, ranks=2, bandwidth=4.5e10)
        return economics.training_seconds(work, device=chip, mfu=1) / exchange.seconds

    assert compute_over_exchange(8754) < 1 < compute_over_exchange(8758)


def test_t14_nanogpt_mfu():
    # 100 sequences of 1024 tokens in 0.755 s on an A100
    rate = {"tokens_per_second": 100 * 1024 / 0.755, "device": "a100-40-sxm"}
    assert round(100 * economics.mfu(gpt2_without_biases(), seq=1024, **rate), 2) == 37.14
    assert round(100 * economics.mfu(flops_per_token=874_944_921_600 / 1024, **rate), 2) == 37.14


def test_t15_nanogpt_training_time():
    # 6·N·D with the parameters of GPT-2 without biases
    work = flops.six_nd(124_337_664, 300e9)
    assert round(economics.training_seconds(work, device="a100-40-sxm", devices=8, mfu=0.3) / 86400, 2) == 3.46


def test_t16_seventy_billion_on_1024_h100():
    # the lecture takes half of the 1979e12 that are printed with sparsity; at 989e12 it is 144.0 days
    h100 = replace(hardware.load("h100-sxm"), peaks={"bf16": 1979e12 / 2})
    seconds = economics.training_seconds(flops.six_nd(70e9, 15e12), device=h100, devices=1024, mfu=0.5)
    assert round(seconds / 86400, 1) == 143.9


def test_t20_palm():
    # appendix B: 6N + 12·L·H·Q·T for N = 540.35e9, 118 layers, 48 heads of 256, 2048 tokens
    per_token = 6 * 540_350_000_000 + 12 * 118 * 48 * 256 * 2048
    pod = {"device": replace(hardware.load("tpu-v4"), peaks={"bf16": 275e12}), "devices": 6144}
    assert round(1e-3 / economics.training_seconds(per_token, mfu=1, **pod), 1) == 515.5
    assert round(100 * economics.mfu(flops_per_token=per_token, tokens_per_second=238.3e3, **pod), 1) == 46.2


def test_t23_llama3_405b_over_all_hours():
    # 3.79e25 FLOP in 30.84 million GPU hours; 15.6 T tokens (the count cancels)
    h100 = replace(hardware.load("h100-sxm"), peaks={"bf16": 989e12})
    tokens = 15.6e12
    rate = tokens / (30.84e6 * 3600)
    share = economics.mfu(flops_per_token=3.79e25 / tokens, tokens_per_second=rate, device=h100)
    assert round(100 * share, 1) == 34.5


@pytest.mark.parametrize(
    ("fraction", "speedup", "expected"),
    [(0.5, 2, 1.333), (0.3, 3, 1.25), (0.1, 10, 1.099)],
)
def test_t27_amdahl(fraction, speedup, expected):
    assert round(economics.amdahl(fraction=fraction, speedup=speedup), 3) == expected


# ---------------------------------------------------------------- 5 communication and parallelism


@pytest.mark.parametrize(("ranks", "factor"), [(2, 1), (8, 1.75), (64, 1.969)])
def test_c01_ring_all_reduce_factor(ranks, factor):
    sent = communication.all_reduce(nbytes=64e6, ranks=ranks, bandwidth=1e9).bytes_per_rank
    assert round(sent / 64e6, 3) == factor


@pytest.mark.parametrize(("gigabits", "seconds"), [(200, 12.8), (1600, 1.6)])
def test_c02_eighty_billion_fp32_gradients_over_a_link(gigabits, seconds):
    # the source sends them once over one link; a ring all-reduce of many ranks takes nearly twice as long
    nbytes = precision.nbytes(80e9, "fp32")
    message = communication.point_to_point(nbytes=nbytes, bandwidth=gigabits * 1e9 / 8)
    assert message.seconds == pytest.approx(seconds)


def test_c06_all_gather_in_a_node_of_h100():
    nbytes = precision.nbytes(4096 * 65536, "bf16")
    gathered = communication.all_gather(nbytes=nbytes, ranks=8, bandwidth=450e9)
    assert round(1e3 * gathered.seconds, 2) == 1.04


@pytest.mark.parametrize(("stages", "microbatches", "expected"), [(4, 16, 0.1579), (8, 32, 0.1795)])
def test_c18_pipeline_bubble(stages, microbatches, expected):
    assert round(parallelism.pipeline_bubble(stages=stages, microbatches=microbatches), 4) == expected


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_c20_ring_that_passes_whole_buffers(ranks):
    size, bandwidth = 8e9, 1e10
    naive, ring = (
        communication.all_reduce(nbytes=size, ranks=ranks, bandwidth=bandwidth, algorithm=algorithm)
        for algorithm in ("ring-full", "ring")
    )
    assert naive.seconds == pytest.approx((ranks - 1) * size / bandwidth)
    assert ring.seconds == pytest.approx(2 * (ranks - 1) / ranks * size / bandwidth)


# ---------------------------------------------------------------- 6 inference


def decoder(parameters, numbers_per_token, context):
    """A decoder of exactly so many parameters whose cache takes so many numbers a token.

    40 layers of width d = a 40th of half those numbers; every part is a multiple of d, and the vocabulary fills up.
    Positions are rotary, so that `context` is a limit and adds no parameter.
    """
    layers, width = 40, numbers_per_token // 80
    sizes = {"layers": layers, "d_model": width, "heads": 1, "d_ff": 4 * width, "context": context}
    rest = {"bias": False, "norm": "rmsnorm", "positions": "rotary"}
    blocks = int(Transformer("x", vocab=1, **sizes, **rest).parameters()) - width
    model = Transformer("as stated", vocab=(parameters - blocks) / width, **sizes, **rest)
    assert int(model.parameters()) == parameters
    return model


@pytest.mark.parametrize(
    ("batch", "milliseconds"), [(1, 4.98), (8, 12.13), (16, 20.30), (32, 36.65), (64, 69.33), (240, 249.09)]
)
def test_i07_llama2_13b_on_eight_v5e(batch, milliseconds):
    # 26 GB of bf16 weights and 6.7 GB of cache a sequence: 8375 tokens of 400 000 numbers of 2 bytes
    chip = replace(hardware.load("tpu-v5e"), memory_bandwidth=8.2e11, peaks={"bf16": 1.97e14})
    result = inference.decode_step(
        decoder(13e9, 400_000, 8375), batch=batch, context=8375, device=chip, devices=8, reads="all"
    )
    assert (result.weight_bytes, result.kv_bytes) == (26 * 10**9, 67 * 10**8 * batch)
    assert 1e3 * result.seconds == pytest.approx(milliseconds, abs=0.0051)  # the table rounds 4.9848 to 4.98
    assert result.bound == "memory"


@pytest.mark.parametrize(("batch", "milliseconds"), [(4, 2.57), (256, 21.05)])
def test_i10_thirty_billion_in_int8_on_sixteen_v5e(batch, milliseconds):
    # 100 kB of int8 cache a token; bf16 arithmetic. At B = 256 the products compute (4.9 ms), the cache takes 16.2 ms
    chip = replace(hardware.load("tpu-v5e"), memory_bandwidth=8.1e11, peaks={"bf16": 1.97e14})
    formats = {"weight_dtype": "int8", "kv_dtype": "int8", "compute_dtype": "bf16", "reads": "all"}
    result = inference.decode_step(
        decoder(30e9, 100_000, 8192), batch=batch, context=8192, device=chip, devices=16, **formats
    )
    assert round(1e3 * result.seconds, 2) == milliseconds
    assert result.bound == "memory"


@pytest.mark.parametrize(
    ("batch", "gigabytes", "milliseconds"), [(1, 26.87, 8.02), (64, 79.7, 23.8), (256, 240.8, 71.9)]
)
def test_i15_llama2_13b_on_an_h100(batch, gigabytes, milliseconds):
    model = models.load("llama2-13b")
    parameters = model.parameters()
    assert int(parameters) - parameters["norm"] == 13_015_449_600  # the lecture leaves the norms out
    result = inference.decode_step(model, batch=batch, context=1024, device="h100-sxm", reads="all")
    digits = 2 if batch == 1 else 1
    assert round((result.weight_bytes + result.kv_bytes) / 1e9, digits) == gigabytes
    assert round(1e3 * result.seconds, digits) == milliseconds
    assert result.fits == (batch < 256)


@pytest.mark.parametrize(
    ("dtype", "expected"), [("mxfp8", 1.03125), ("mxfp6", 0.78125), ("mxfp4", 0.53125)], ids=["mxfp8", "mxfp6", "mxfp4"]
)
def test_i21_mx_bytes_include_the_scale(dtype, expected):
    assert precision.bytes_per_element(dtype) == expected
    assert precision.nbytes(32 * 1000, dtype) == expected * 32 * 1000


# ---------------------------------------------------------------- 7 cost and reliability


def test_x04_gpt3_on_one_v100():
    # 28 TFLOP/s reached, a year of 365 days; "4.6 million dollars" in the blog, 4.67 exactly
    v100 = replace(hardware.load("v100-sxm2"), peaks={"fp16": 28e12})
    seconds = economics.training_seconds(3.14e23, device=v100, mfu=1, dtype="fp16")
    assert round(seconds / (365 * 86400), 1) == 355.6
    assert round(economics.cost(price_per_hour=1.5, seconds=seconds) / 1e6, 2) == 4.67


def test_x08_young_interval():
    assert round(economics.young_interval(checkpoint_seconds=60, mtbf_seconds=3 * 3600) / 60, 2) == 18.97


def test_x09_eight_devices_for_a_month():
    assert economics.cost(price_per_hour=10, seconds=720 * 3600, devices=8) == pytest.approx(57.6e3)


# ---------------------------------------------------------------- LESSONS.md


def test_lessons_smallest_compute_bound_square_on_an_h100():
    # LESSONS.md, q04: 886
    def bound(n):
        op = roofline.matmul(n, n, n, "bf16")
        return roofline.place(flops=op.flops, bytes=op.bytes, device="h100-sxm", dtype="bf16").bound

    assert (bound(885), bound(886)) == ("memory", "compute")


def test_lessons_linear_layer_batches_on_an_h100():
    # LESSONS.md, q05: batch 1 -> 100 takes 1.05 times as long, 100 -> 10 000 takes 32 times as long
    seconds = [
        roofline.predict_seconds(roofline.matmul(batch, 4096, 4096, "bf16"), device="h100-sxm")
        for batch in (1, 100, 10_000)
    ]
    assert round(seconds[1] / seconds[0], 2) == 1.05
    assert round(seconds[2] / seconds[1]) == 32


# ---------------------------------------------------------------- CONTRACT.md, by hand


def two_layer_model(**changes):
    sizes = {"layers": 2, "d_model": 8, "heads": 4, "vocab": 10, "context": 16, "d_ff": 20}
    return Transformer("by hand", **(sizes | changes))


@pytest.mark.parametrize(
    ("activation", "gated", "per_element"),
    [
        ("relu", False, 1),  # max
        ("gelu", False, 5),  # scale, erf, add 1, times x, times ½
        ("gelu-tanh", False, 9),  # two products, scale, add, scale, tanh, add 1, times x, times ½
        ("silu", False, 4),  # negate, exp, add 1, divide
        ("silu", True, 5),  # and the product with the gate
    ],
)
def test_extras_activation(activation, gated, per_element):
    model = two_layer_model(activation=activation, gated_mlp=gated)
    assert flops.forward(model, 3, 5, extras=True)["activation"] == 2 * 3 * 5 * 20 * per_element


@pytest.mark.parametrize(("norm", "per_element"), [("layernorm", 8), ("rmsnorm", 4)])
def test_extras_norm_residual_and_embedding(norm, per_element):
    forward = flops.forward(two_layer_model(norm=norm, qk_norm=True, kv_heads=2), 3, 5, extras=True)
    # each layer: two norms over d = 8, one over the queries (8), one over the keys (4); one more at the end
    assert forward["norm"] == 3 * 5 * per_element * (2 * (8 + 8 + 8 + 4) + 8)
    assert forward["residual"] == 3 * 5 * 8 * 2 * 2
    assert forward["embedding"] == 3 * 5 * 8


@pytest.mark.parametrize(("experts", "active"), [(2, 1), (4, 3)])
def test_a_mixture_counts_its_active_experts_and_its_router(experts, active):
    model = two_layer_model(experts=experts, active_experts=active, bias=False)
    forward = flops.forward(model, 3, 5)
    assert forward["router"] == 2 * (2 * 3 * 5 * 8 * experts)
    assert forward["mlp"] == 2 * (2 * 3 * 5 * active * 2 * 8 * 20)
    parameters = model.parameters()
    assert parameters["router"] == 2 * 8 * experts
    assert parameters["mlp"] == 2 * experts * 2 * 8 * 20
    full = flops.training_step(model, 3, 5, recompute="full")
    assert (full["router"], full["mlp"]) == (4 * forward["router"], 4 * int(forward["mlp"]))


def test_parameters_of_every_bias_and_norm_by_hand():
    parameters = two_layer_model(gated_mlp=True, kv_heads=2, qk_norm=True, tied_head=False).parameters()
    assert parameters["attention.qkv"] == 2 * ((8 * 8 + 8) + 2 * (8 * 4 + 4))
    assert parameters["attention.out"] == 2 * (8 * 8 + 8)
    assert parameters["mlp"] == 2 * (2 * (8 * 20 + 20) + (20 * 8 + 8))
    assert parameters["norm"] == 2 * (2 * (8 + 8) + 2 * 2) + (8 + 8)  # gains and biases; q and k norms are gains over 2
    assert parameters["head"] == parameters["embedding.token"] == 10 * 8
    assert parameters["embedding.position"] == 16 * 8


def test_what_is_left_out_is_said():
    gpt2 = models.load("gpt2")
    plain, extras = flops.forward(gpt2).omitted, flops.forward(gpt2, extras=True).omitted
    assert any("Softmax" in sentence and "embedding look-up" in sentence for sentence in plain)
    assert set(extras) == {sentence for sentence in plain if "Softmax" not in sentence}
    assert any("Biases" in sentence for sentence in extras)
    none, full = (flops.training_step(gpt2, 1, 8, recompute=kind).omitted for kind in ("none", "full"))
    assert set(plain) < set(none) < set(full)
    assert any("optimizer" in sentence for sentence in none)
    assert any("non-reentrant" in sentence for sentence in full)


def test_defaults_of_a_transformer():
    minimal = Transformer("m", 2, 8, 4, 10, 16)
    assert (minimal.layers, minimal.d_model, minimal.heads, minimal.vocab, minimal.context) == (2, 8, 4, 10, 16)
    assert (minimal.head_width, minimal.q_width, minimal.kv_width, minimal.mlp_width) == (2, 8, 8, 32)
    assert (minimal.gated_mlp, minimal.activation, minimal.bias, minimal.norm) == (False, "gelu", True, "layernorm")
    assert (minimal.qk_norm, minimal.positions, minimal.tied_head) == (False, "learned", True)
    assert (minimal.experts, minimal.active_experts, minimal.dropout) == (1, 1, 0.0)


def test_an_op_is_named_after_its_shape():
    assert roofline.matmul(2, 3, 5).name == "matmul 2×3×5"
    assert roofline.matmul(2, 3, 5, batch=4).name == "matmul 4×[2×3×5]"


# ---------------------------------------------------------------- 3 training memory (more in test_memory.py)


def test_m12_a_long_sequence_of_llama3_8b():
    """Bekman, Machine Learning Engineering. Its 28 copies of the hidden state in a layer are an estimate of its own."""
    model, tokens, gib = models.load("llama3-8b"), 32768, 2**30
    assert precision.nbytes(tokens * model.d_model, "bf16") == 0.25 * gib
    kept = memory.activations(model, 1, tokens, precision="bf16", attention="sdpa", recompute="full")
    assert kept["checkpoint"] == 8 * gib
    assert precision.nbytes(tokens * model.vocab, "fp32") / gib == pytest.approx(15.656, abs=5e-4)


def test_m17_state_of_the_cs336_xl_model():
    """The 16 bytes a parameter; the assignment's activations are counted in a convention of its own."""
    state = memory.model_state(cs336_xl().parameters(), "fp32-adamw")
    assert int(state) / 1e9 == pytest.approx(34.03, abs=5e-3)


# ---------------------------------------------------------------- every row

ROWS = """
P01 P02 P03 P05 P06 P08 P09 P10 P12 P15 P16
F01 F02 F03 F04 F05 F06 F10 F11 F12 F16 F19 F20 F21 F22 F24 F25 F27 F28
M01 M05 M06 M08 M10 M12 M17 M18
T01 T02 T03 T07 T08 T14 T15 T16 T20 T23 T26 T27
C01 C02 C06 C18 C20
I01 I02 I07 I10 I15 I19 I21
X01 X02 X03 X04 X07 X08 X09
"""

# Rows that no call of the contract answers, with the lesson that they belong to
LESSON_ROWS = {
    "M18": "q02: the largest batch by the activations of CS336 assignment 1, a convention of its own",
    "I19": "q11: words a minute over tokens a word is a reading speed, one division",
    "X07": "q13: 54 days over 419 failures is a reported observation, one division; X08 starts from such a number",
}


@pytest.mark.parametrize("row", ROWS.split())
def test_every_row_has_a_test_or_belongs_to_a_lesson(row):
    """A test is named after its row (`test_t08_…`), or a case has it as its id ("P01", "P09-8b")."""
    named = re.compile(rf'def test_(\w+_)?{row.lower()}_|id="{row}[-"]|"{row}-[^"]+"[,\]]')
    tested = any(named.search(file.read_text("utf-8")) for file in Path(__file__).parent.glob("test_*.py"))
    assert tested != (row in LESSON_ROWS)
