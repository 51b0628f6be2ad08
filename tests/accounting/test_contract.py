"""NUMBERS.md: published or independently derivable answers. Each test is named after its row."""

from dataclasses import replace

import pytest

from course_lib.accounting import flops, hardware, models, precision, roofline
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


@pytest.mark.parametrize(
    ("dtype", "expected"), [("mxfp8", 1.03125), ("mxfp6", 0.78125), ("mxfp4", 0.53125)], ids=["mxfp8", "mxfp6", "mxfp4"]
)
def test_i21_mx_bytes_include_the_scale(dtype, expected):
    assert precision.bytes_per_element(dtype) == expected
    assert precision.nbytes(32 * 1000, dtype) == expected * 32 * 1000


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
