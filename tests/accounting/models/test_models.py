"""Models: published sizes, laws of image models and refusals. The real classes are compared in test_truth.py."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import flops, models
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.models.convnet import ConvNet, Convolution, Linear, Pool, Residual, Stage, resnet

GPT2, BERT, VIT, RESNET = (models.load(name) for name in ("gpt2", "bert-base", "vit-b16", "resnet-50"))


# ---------------------------------------------------------------- published sizes


# The exact counts that the makers or the hub print for the checkpoint.
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("llama3.1-405b", 405_853_388_800),
        ("llama3.2-1b", 1_235_814_400),
        ("tinyllama-1.1b", 1_100_048_384),
        ("mixtral-8x22b", 140_620_634_112),
        ("qwen3-30b-a3b", 30_532_122_624),
        ("gemma-2b", 2_506_172_416),
        ("gemma-7b", 8_537_680_896),
        ("gemma2-2b", 2_614_341_888),
        ("gemma3-1b", 999_885_952),
        ("phi-2", 2_779_683_840),
        ("phi-3-mini", 3_821_079_552),
        ("opt-125m", 125_239_296),
        ("bert-base", 109_482_240),
        ("vit-ti16", 5_717_416),
        ("vit-s16", 22_050_664),
        ("vit-b16", 86_567_656),
        ("vit-l16", 304_326_632),
    ],
)
def test_parameters_of_published_checkpoints(name, expected):
    assert int(models.load(name).parameters()) == expected


# Biderman et al. 2023, "Pythia", README of the models: all parameters, and those outside both embedding matrices
@pytest.mark.parametrize(
    ("name", "total", "without_embeddings"),
    [
        ("pythia-160m", 162_322_944, 85_056_000),
        ("pythia-1.4b", 1_414_647_808, 1_208_602_624),
        ("pythia-6.9b", 6_857_302_016, 6_444_163_072),
    ],
)
def test_parameters_of_pythia(name, total, without_embeddings):
    parameters = models.load(name).parameters()
    assert int(parameters) == total
    assert total - parameters["embedding.token"] - parameters["head"] == without_embeddings


def test_active_parameters_of_qwen3_are_3_3_billion():
    # the model card: 30.5 B parameters, 3.3 B active
    qwen3 = models.load("qwen3-30b-a3b")
    assert int(qwen3.parameters()) // 10**8 == 305
    assert int(qwen3.parameters(active=True)) // 10**8 == 33


def vgg16():
    layers = []
    for width, repeats in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        layers += [Convolution(width, 3, padding=1, activation="relu")] * repeats + [Pool(2)]
    dense = [Linear(4096, activation="relu"), Linear(4096, activation="relu"), Linear(1000)]
    return ConvNet("vgg16", [Stage("features", layers), Stage("classifier", dense)], image=224)


def alexnet():
    layers = [Convolution(64, 11, 4, 2, activation="relu"), Pool(3, 2)]
    layers += [Convolution(192, 5, padding=2, activation="relu"), Pool(3, 2)]
    layers += [Convolution(width, 3, padding=1, activation="relu") for width in (384, 256, 256)]
    dense = [Linear(4096, activation="relu"), Linear(4096, activation="relu"), Linear(1000)]
    return ConvNet("alexnet", [Stage("features", [*layers, Pool(3, 2)]), Stage("classifier", dense)], image=224)


# torchvision's pages of the weights: num_params, and "GFLOPS", which are 1e9 multiply-adds
@pytest.mark.parametrize(
    ("model", "parameters", "giga_macs"),
    [
        (resnet("resnet-18", [2, 2, 2, 2], "basic"), 11_689_512, 1.81),
        (resnet("resnet-34", [3, 4, 6, 3], "basic"), 21_797_672, 3.66),
        (resnet("resnet-50", [3, 4, 6, 3], "bottleneck"), 25_557_032, 4.09),
        (resnet("resnet-101", [3, 4, 23, 3], "bottleneck"), 44_549_160, 7.80),
        (resnet("resnet-152", [3, 8, 36, 3], "bottleneck"), 60_192_808, 11.51),
        (vgg16(), 138_357_544, 15.47),
        (alexnet(), 61_100_840, 0.71),
        (models.load("mobilenet-v2"), 3_504_872, 0.30),
        (models.load("vit-b16"), 86_567_656, 17.56),
        (models.load("vit-b32"), 88_224_232, 4.41),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_sizes_of_image_models_are_those_of_torchvision(model, parameters, giga_macs):
    assert int(model.parameters()) == parameters
    assert round(flops.forward(model).macs / 1e9, 2) == giga_macs


def test_the_catalogue_names_source_and_date():
    assert len(models.names()) >= 30
    for name in models.names():
        title, date = models.source(name)
        assert len(title) > 10
        assert re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", date)
        assert models.load(name).name == name


# ---------------------------------------------------------------- laws


@st.composite
def decoders(draw):
    """Combinations of the fields that no published model has, too."""
    kv_heads, experts = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    heads, positions = kv_heads * draw(st.integers(1, 4)), draw(st.sampled_from(["learned", "rotary"]))
    booleans = ("gated_mlp", "bias", "qkv_bias", "qk_norm", "tied_head", "head_bias")
    return models.Transformer(
        "drawn",
        layers=draw(st.integers(1, 5)),
        d_model=draw(st.integers(1, 9)),
        heads=heads,
        kv_heads=kv_heads,
        head_dim=draw(st.integers(1, 9)),
        d_ff=draw(st.integers(1, 9)),
        vocab=draw(st.integers(1, 30)),
        context=draw(st.integers(1, 30)),
        norm=draw(st.sampled_from(["layernorm", "rmsnorm"])),
        positions=positions,
        position_offset=draw(st.integers(0, 3)) if positions == "learned" else 0,
        block_norms=draw(st.integers(1, 4)),
        experts=experts,
        active_experts=draw(st.integers(1, experts)),
        **{name: draw(st.booleans()) for name in booleans},
    )


def tensors(m, experts):
    """Elements of each tensor that a checkpoint of `m` would hold, one by one."""
    d, head, q, k = m.d_model, m.head_dim, m.heads * m.head_dim, m.kv_heads * m.head_dim

    def linear(inputs, outputs, bias):
        return [inputs * outputs, *([outputs] if bias else [])]

    def norm(width):
        return [width, *([width] if m.bias and m.norm == "layernorm" else [])]

    found = [m.vocab * d, *norm(d)]
    if m.positions == "learned":
        found += [d] * (m.context + m.position_offset)
    for _ in range(m.layers):
        found += linear(d, q, m.qkv_bias) + linear(d, k, m.qkv_bias) + linear(d, k, m.qkv_bias) + linear(q, d, m.bias)
        found += [head, head] if m.qk_norm else []
        found += [d * m.experts] if m.experts > 1 else []
        for _ in range(m.block_norms):
            found += norm(d)
        for _ in range(experts):
            found += linear(d, m.d_ff, m.bias) + linear(m.d_ff, d, m.bias)
            found += linear(d, m.d_ff, m.bias) if m.gated_mlp else []
    return found + ([] if m.tied_head else [m.vocab * d]) + ([m.vocab] if m.head_bias else [])


@given(decoders())
def test_parameters_are_the_sum_of_the_tensors(model):
    assert int(model.parameters()) == sum(tensors(model, model.experts))
    assert int(model.parameters(active=True)) == sum(tensors(model, model.active_experts))


@st.composite
def convolutional(draw):
    """A stack of layers on images from 12 pixels up, with a global pooling at the end, so that any image fits."""
    layers = draw(
        st.lists(
            st.one_of(
                st.builds(
                    Convolution,
                    st.integers(1, 8),
                    st.integers(1, 3),
                    padding=st.just(1),
                    bias=st.booleans(),
                    norm=st.booleans(),
                    activation=st.sampled_from([None, "relu", "silu"]),
                ),
                st.builds(Pool, st.integers(2, 3), st.just(1), kind=st.sampled_from(["max", "average"])),
            ),
            max_size=4,
        )
    )
    stages = [Stage("stem", [Convolution(4, 3, padding=1)]), *layers, Stage("head", [Pool(), Linear(3)])]
    return ConvNet("drawn", stages, image=draw(st.integers(12, 20)), channels=draw(st.integers(1, 4)))


def assert_parts_sum(breakdown: Breakdown):
    assert sum(value for _, value in breakdown.flat()) == breakdown.total


@given(convolutional(), st.integers(1, 9), st.integers(12, 30))
def test_a_convolutional_network_adds_up(model, batch, image):
    forward = flops.forward(model, batch, image=image)
    extras = flops.forward(model, batch, image=image, extras=True)
    step = flops.training_step(model, batch, image=image)
    for breakdown in (model.parameters(), forward, extras, step):
        assert_parts_sum(breakdown)
    assert forward == batch * flops.forward(model, image=image)
    assert forward.macs * 2 == int(forward)
    assert {name: dict(extras.flat())[name] for name, _ in forward.flat()} == dict(forward.flat())
    assert 3 * int(forward) - int(step) == forward["stem.convolution"]  # what reads the image has one gradient less
    assert model.parameters() == replace(model, image=image).parameters()  # pooled, so no size depends on the image


@given(
    st.integers(1, 12), st.integers(1, 5), st.integers(1, 4), st.integers(0, 3), st.integers(1, 3), st.integers(1, 3)
)
def test_a_convolution_costs_what_a_loop_over_its_windows_does(side, kernel, stride, padding, channels, outputs):
    starts = range(-padding, side + padding - kernel + 1, stride)
    multiply_adds = sum(outputs * channels * kernel * kernel for _ in starts for _ in starts)
    layers = [Convolution(outputs, kernel, stride, padding)]
    if not starts:
        with pytest.raises(ValueError, match="is larger than its padded image"):
            ConvNet("drawn", layers, image=side, channels=channels)
    else:
        model = ConvNet("drawn", layers, image=side, channels=channels)
        assert flops.forward(model).macs == multiply_adds


def test_extras_of_a_convolutional_network_by_hand():
    """2 channels of 4×4 → a convolution to 3 of 2×2 with batch norm and ReLU → a max pooling to 1×1."""
    model = ConvNet("tiny", [Convolution(3, 3, norm=True, activation="relu"), Pool(2)], image=4, channels=2)
    extras = dict(flops.forward(model, batch=5, extras=True).flat())
    assert extras == {
        "convolution1.convolution": 2 * 5 * (3 * 2 * 2) * (2 * 3 * 3),
        "convolution1.norm": 4 * 5 * (3 * 2 * 2),
        "convolution1.activation": 5 * (3 * 2 * 2),
        "pool2.pool": 5 * 3 * 4,
    }


def test_a_layer_that_reads_the_image_through_a_pooling_has_one_gradient_less():
    model = ConvNet("pooled", [Pool(2), Convolution(4, 3), Convolution(4, 1)], image=12)
    forward, step = flops.forward(model), flops.training_step(model, batch=1)
    assert step["convolution2.convolution"] == 2 * forward["convolution2.convolution"]
    assert step["convolution3.convolution"] == 3 * forward["convolution3.convolution"]


def test_what_is_left_out_is_named():
    assert any("sliding window" in line for line in flops.forward(models.load("mistral-7b")).assumptions)
    assert any("soft cap" in line for line in flops.forward(models.load("gemma2-2b")).omitted)
    assert any("experts" in line for line in flops.forward(models.load("mixtral-8x7b"), extras=True).omitted)
    assert not any("experts" in line for line in flops.forward(GPT2).omitted)
    assert any("early stop" in line for line in flops.training_step(GPT2, 1, 8, recompute="full").omitted)
    assert any("Interpolating" in line for line in flops.forward(VIT, image=384).omitted)
    assert not any("Interpolating" in line for line in flops.forward(VIT, image=224).omitted)
    assert any("Batch norm" in line for line in flops.forward(RESNET).omitted)
    assert not any("Batch norm" in line for line in flops.forward(RESNET, extras=True).omitted)


def test_only_multiply_adds_have_macs():
    for model in (GPT2, BERT, VIT, RESNET):
        forward = flops.forward(model)
        assert 2 * forward.macs == int(forward)
        with pytest.raises(ValueError, match="no multiply-adds"):
            _ = flops.forward(model, extras=True).macs


def test_the_pooler_and_the_classifier_read_one_token():
    assert flops.forward(BERT, 3, seq=100)["pooler"] == flops.forward(BERT, 3, seq=7)["pooler"] == 2 * 3 * 768 * 768
    assert flops.forward(VIT, 3, image=384)["head"] == flops.forward(VIT, 3)["head"] == 2 * 3 * 768 * 1000


# ---------------------------------------------------------------- refusals


def vit(**changes):
    return replace(VIT, **changes)


def net(*layers, image=8, channels=4):
    return ConvNet("net", layers, image=image, channels=channels)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        # decoders and encoders
        (lambda: replace(GPT2, heads=2.5), ["heads=2.5", "whole number"]),
        (lambda: replace(GPT2, layers=-12), ["layers=-12", "at least 1"]),
        (lambda: replace(GPT2, block_norms=0), ["block_norms=0", "at least 1"]),
        (lambda: replace(GPT2, position_offset=-2), ["position_offset=-2", "at least 0"]),
        (lambda: replace(GPT2, positions="rotary", position_offset=2), ["position_offset=2", "'rotary'"]),
        (lambda: replace(BERT, heads=5), ["heads=5", "d_model=768"]),
        (lambda: replace(BERT, segments=0), ["segments=0"]),
        (lambda: replace(BERT, activation="gleu"), ["activation='gleu'", "Did you mean 'gelu'"]),
        (lambda: flops.forward(BERT, seq=513), ["seq=513", "context=512", "bert-base"]),
        (lambda: flops.forward(BERT, causal=True), ["causal=True", "decoder", "bert-base"]),
        (lambda: flops.forward(BERT, image=224), ["image=224", "seq="]),
        (lambda: flops.forward(GPT2, image=224), ["image=224", "gpt2 reads tokens", "seq="]),
        (lambda: flops.training_step(GPT2, 8), ["seq=None", "gpt2 reads up to 1024"]),
        (lambda: flops.training_step(BERT, 8), ["seq=None", "512"]),
        (lambda: flops.forward({"layers": 2}), ["model={'layers': 2}", "ConvNet"]),
        # vision transformers
        (lambda: vit(image=225), ["image=(225, 225)", "multiple of patch=16"]),
        (lambda: vit(image=0), ["image=0"]),
        (lambda: vit(image=(224, 224, 3)), ["image=(224, 224, 3)", "(height, width)"]),
        (lambda: vit(patch=14.5), ["patch=14.5", "whole number"]),
        (lambda: vit(heads=7), ["heads=7", "d_model=768"]),
        (lambda: vit(classes=0), ["classes=0"]),
        (lambda: vit(dropout=10), ["dropout=10", "between 0 and 1"]),
        (lambda: flops.forward(VIT, seq=197), ["seq=197", "image="]),
        (lambda: flops.forward(VIT, image=230), ["image=(230, 230)", "patch=16"]),
        (lambda: flops.forward(VIT, causal=True), ["causal=True", "vit-b16"]),
        # convolutional networks
        (lambda: flops.forward(RESNET, seq=10), ["seq=10", "resnet-50 reads images"]),
        (lambda: flops.forward(RESNET, causal=True), ["causal=True"]),
        (lambda: flops.forward(RESNET, batch=0), ["batch=0"]),
        (lambda: flops.training_step(RESNET, 1, recompute="full"), ["recompute='full'", "ConvNet", "'none'"]),
        (lambda: net(), ["layers=()", "must have"]),
        (lambda: net(Pool(2)), ["nothing here has parameters"]),
        (lambda: ConvNet("net", Linear(3), image=8), ["layers=Linear", "must be a list"]),
        (lambda: net(Convolution(4, 3), "relu"), ["layers[1]='relu'", "Known: Stage, Convolution"]),
        (lambda: Stage("a", [Stage("b", [Linear(1)])]), ["layers[0]=Stage", "Known: Convolution"]),
        (lambda: net(Stage("a", [Linear(1)]), Stage("a", [Linear(1)])), ["'a'", "name of its own"]),
        (lambda: Stage("a.b", [Linear(1)]), ["name='a.b'", "without a dot"]),
        (lambda: Stage("a", []), ["layers=()", "'a'"]),
        (lambda: net(Convolution(4, 9)), ["kernel=(9, 9)", "4×8×8", "larger than its padded image"]),
        (lambda: net(Convolution(4, 3), Pool(7)), ["kernel=(7, 7)", "4×6×6"]),
        (lambda: net(Convolution(6, 3, groups=3)), ["groups=3", "4 channels", "convolution1"]),
        (lambda: Convolution(4, 3, groups=3), ["groups=3", "out_channels=4"]),
        (lambda: Convolution(4, 3, stride=0), ["stride=0"]),
        (lambda: Convolution(4, 3, padding=-1), ["padding=-1"]),
        (lambda: Convolution(4, (3, 3, 3)), ["kernel=(3, 3, 3)", "(height, width)"]),
        (lambda: Convolution(4, 3, activation="rleu"), ["activation='rleu'", "Did you mean 'relu'"]),
        (lambda: Pool(2, padding=2), ["padding=(2, 2)", "half of kernel=(2, 2)"]),
        (lambda: Pool(stride=2), ["kernel=None", "stride"]),
        (lambda: Pool(2, kind="mean"), ["kind='mean'", "max, average"]),
        (lambda: net(Linear(3), Convolution(4, 1)), ["Convolution of convolution2", "flattened"]),
        (lambda: Residual([]), ["main=()"]),
        (lambda: net(Residual([Convolution(5, 1)])), ["residual1", "5×8×8", "4×8×8", "shortcut"]),
        (lambda: flops.forward(net(Linear(3)), image=9), ["image=9", "linear layer", "image=8"]),
        (lambda: resnet("r", [2, 2], "botleneck"), ["block='botleneck'", "Did you mean 'bottleneck'"]),
        (lambda: resnet("r", [2, 2.5], "basic"), ["stages=2.5"]),
        # names
        (lambda: models.load("resnet50"), ["model='resnet50'", "Did you mean 'resnet-50'"]),
        (lambda: models.load("vit-b/16"), ["Did you mean 'vit-b16'"]),
        (lambda: models.load(["gpt2"]), ["model=['gpt2']"]),
    ],
)
def test_the_message_names_argument_value_and_remedy(call, says, refuses):
    refuses(call, says)


def test_frozen_and_equal_by_value():
    assert replace(RESNET, image=(224, 224)).parameters() == RESNET.parameters()
    assert {RESNET: 1}[resnet("resnet-50", (3, 4, 6, 3), "bottleneck")] == 1
    assert vit(image=[224, 224]).image == (224, 224)
    assert vit(image=224.0) == VIT
