"""FLOPs and parameters against the real thing: transformers classes on the meta device, counted by torch itself.

The configurations are written out here, in the words of transformers, and not read from the library under test.
Residual networks and other convolutional ones are built here from torch.nn.
"""

import random
from dataclasses import dataclass, replace

import pytest

from course_lib.accounting import flops, memory, models
from course_lib.accounting.layers.convolution import ImageLayer, in_a_row
from course_lib.accounting.models.convnet import ConvNet, Convolution, Linear, Pool, Residual, Stage
from course_lib.experiments.nets import image_nets

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

BATCH, SEQ = 2, 96


def gpt2(layers, width, heads):
    return "GPT2Config", "GPT2LMHeadModel", {"n_layer": layers, "n_embd": width, "n_head": heads}


def llama_like(family, layers, width, heads, kv_heads, mlp, vocab, tied=False, **more):
    arguments = {
        "num_hidden_layers": layers,
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": mlp,
        "vocab_size": vocab,
        "tie_word_embeddings": tied,
    }
    return f"{family}Config", f"{family}ForCausalLM", arguments | more


def gemma3_text(*sizes, **more):
    return "Gemma3TextConfig", *llama_like("Gemma3", *sizes, **more)[1:]


def opt(layers, width, heads):
    arguments = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads, "ffn_dim": 4 * width}
    return "OPTConfig", "OPTForCausalLM", arguments | {"vocab_size": 50272, "word_embed_proj_dim": width}


def pythia(layers, width, heads, vocab):
    arguments = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads, "vocab_size": vocab}
    return "GPTNeoXConfig", "GPTNeoXForCausalLM", arguments | {"intermediate_size": 4 * width}


def vit(layers, width, heads, mlp, **more):
    arguments = {"num_hidden_layers": layers, "hidden_size": width, "num_attention_heads": heads}
    arguments |= {"intermediate_size": mlp, "num_labels": 1000}
    return "ViTConfig", "ViTForImageClassification", arguments | more


# name -> (config class, model class, arguments), as in each model's published config.json
CONFIGS = {
    "gpt2": gpt2(12, 768, 12),
    "gpt2-medium": gpt2(24, 1024, 16),
    "gpt2-large": gpt2(36, 1280, 20),
    "gpt2-xl": gpt2(48, 1600, 25),
    "llama2-7b": llama_like("Llama", 32, 4096, 32, 32, 11008, 32000),
    "llama2-13b": llama_like("Llama", 40, 5120, 40, 40, 13824, 32000),
    "llama2-70b": llama_like("Llama", 80, 8192, 64, 8, 28672, 32000),
    "llama3-8b": llama_like("Llama", 32, 4096, 32, 8, 14336, 128256),
    "llama3-70b": llama_like("Llama", 80, 8192, 64, 8, 28672, 128256),
    "llama3.1-405b": llama_like("Llama", 126, 16384, 128, 8, 53248, 128256),
    "llama3.2-1b": llama_like("Llama", 16, 2048, 32, 8, 8192, 128256, tied=True),
    "tinyllama-1.1b": llama_like("Llama", 22, 2048, 32, 4, 5632, 32000),
    "mistral-7b": llama_like("Mistral", 32, 4096, 32, 8, 14336, 32000),
    "qwen2-0.5b": llama_like("Qwen2", 24, 896, 14, 2, 4864, 151936, tied=True),
    "qwen2-7b": llama_like("Qwen2", 28, 3584, 28, 4, 18944, 152064),
    "qwen3-0.6b": llama_like("Qwen3", 28, 1024, 16, 8, 3072, 151936, tied=True, head_dim=128),
    "qwen3-8b": llama_like("Qwen3", 36, 4096, 32, 8, 12288, 151936, head_dim=128),
    "gemma-2b": llama_like("Gemma", 18, 2048, 8, 1, 16384, 256000, tied=True, head_dim=256),
    "gemma-7b": llama_like("Gemma", 28, 3072, 16, 16, 24576, 256000, tied=True, head_dim=256),
    "gemma2-2b": llama_like("Gemma2", 26, 2304, 8, 4, 9216, 256000, tied=True, head_dim=256),
    "gemma3-1b": gemma3_text(26, 1152, 4, 1, 6912, 262144, tied=True, head_dim=256),
    "phi-2": llama_like("Phi", 32, 2560, 32, 32, 10240, 51200),
    "phi-3-mini": llama_like("Phi3", 32, 3072, 32, 32, 8192, 32064, pad_token_id=0),
    "opt-125m": opt(12, 768, 12),
    "opt-1.3b": opt(24, 2048, 32),
    "opt-13b": opt(40, 5120, 40),
    "pythia-160m": pythia(12, 768, 12, 50304),
    "pythia-1.4b": pythia(24, 2048, 16, 50304),
    "pythia-6.9b": pythia(32, 4096, 32, 50432),
    "bert-base": ("BertConfig", "BertModel", {"vocab_size": 30522}),
}
# the experts of transformers do not run on meta tensors: parameters here, FLOPs on small ones below
MIXTURES = {
    "mixtral-8x7b": llama_like("Mixtral", 32, 4096, 32, 8, 14336, 32000, num_local_experts=8),
    "mixtral-8x22b": llama_like("Mixtral", 56, 6144, 48, 8, 16384, 32000, num_local_experts=8),
    "qwen3-30b-a3b": llama_like(
        "Qwen3Moe", 48, 2048, 32, 4, 6144, 151936, head_dim=128, num_experts=128, moe_intermediate_size=768
    ),
}
IMAGES = {"vit-s16": vit(12, 384, 6, 1536), "vit-b16": vit(12, 768, 12, 3072), "vit-l16": vit(24, 1024, 16, 4096)}


def build(config_class, model_class, arguments, device="meta", **more):
    import transformers

    is_text = model_class != "ViTForImageClassification"
    more |= {"use_cache": False} if is_text else {}
    config = getattr(transformers, config_class)(**arguments, **more, attn_implementation="eager")
    with torch.device(device):
        return getattr(transformers, model_class)(config)


def count(run):
    """FLOP that torch counts in a forward and a backward pass of `run()`, as (forward, forward + backward)."""
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as forward:
        output = run()
    with FlopCounterMode(display=False) as backward:
        output.sum().backward()
    return forward.get_total_flops(), forward.get_total_flops() + backward.get_total_flops()


def count_tokens(real, batch=BATCH, seq=SEQ, device="meta"):
    encoder = hasattr(real, "pooler")
    tokens = torch.ones(batch, seq, dtype=torch.long, device=device)
    # without a mask transformers asks meta tensors for their values, and an encoder asks a mask that is not for pairs
    mask = torch.ones((batch, 1, seq, seq) if encoder else (batch, seq), device=device)

    def run():
        output = real(input_ids=tokens, attention_mask=mask)
        return output.pooler_output if encoder else output.logits

    return count(run)


def count_images(real, batch, channels, height, width, **more):
    def run():
        output = real(torch.empty(batch, channels, height, width, device="meta"), **more)
        return getattr(output, "logits", output)

    return count(run)


def size(real):
    return sum(parameter.numel() for parameter in real.parameters())


# ---------------------------------------------------------------- language models


@pytest.mark.parametrize("name", CONFIGS)
def test_flops_and_parameters_equal_the_real_model(name):
    """Three models of 80 blocks and more have their parameters compared whole, and their FLOPs with 4 of the blocks."""
    (config_class, model_class, arguments), ours = CONFIGS[name], models.load(name)
    real = build(config_class, model_class, arguments)
    assert int(ours.parameters()) == size(real)
    if ours.layers >= 80:
        real, ours = build(config_class, model_class, arguments | {"num_hidden_layers": 4}), replace(ours, layers=4)
    assert (int(flops.forward(ours, BATCH, SEQ)), int(flops.training_step(ours, BATCH, SEQ))) == count_tokens(real)


@pytest.mark.parametrize("name", ["gpt2", "llama3.2-1b", "bert-base"])
@pytest.mark.parametrize(("batch", "seq"), [(1, 2), (3, 17), (1, 512)])
def test_flops_equal_the_real_model_at_other_shapes(name, batch, seq):
    ours = models.load(name)
    counted = int(flops.forward(ours, batch, seq)), int(flops.training_step(ours, batch, seq))
    assert counted == count_tokens(build(*CONFIGS[name]), batch, seq)


@pytest.mark.parametrize("name", MIXTURES)
def test_parameters_equal_the_real_mixture(name):
    assert int(models.load(name).parameters()) == size(build(*MIXTURES[name]))


@pytest.mark.parametrize(("family", "experts", "active"), [("Mixtral", 4, 2), ("Mixtral", 3, 1), ("Qwen3Moe", 8, 3)])
def test_flops_of_a_mixture_equal_a_small_real_one(family, experts, active):
    """On the CPU, with experts in a loop, as every other implementation hides its products from the counter."""
    qwen = family == "Qwen3Moe"
    more = {"num_experts": experts, "moe_intermediate_size": 48} if qwen else {"num_local_experts": experts}
    more |= {"num_experts_per_tok": active, "head_dim": 16}
    torch.manual_seed(0)
    config = llama_like(family, 2, 32, 4, 2, 48, 100, **more)
    real = build(*config, device="cpu", experts_implementation="eager")
    ours = models.Transformer(
        "small",
        layers=2,
        d_model=32,
        heads=4,
        kv_heads=2,
        head_dim=16,
        d_ff=48,
        vocab=100,
        context=64,
        gated_mlp=True,
        activation="silu",
        bias=False,
        norm="rmsnorm",
        qk_norm=qwen,
        positions="rotary",
        tied_head=False,
        experts=experts,
        active_experts=active,
    )
    assert int(ours.parameters()) == size(real)
    counted = int(flops.forward(ours, 2, 20)), int(flops.training_step(ours, 2, 20))
    assert counted == count_tokens(real, 2, 20, device="cpu")


def drawn_llama(rng):
    kv_heads, head_dim, layers = rng.randint(1, 4), 2 * rng.randint(1, 40), rng.randint(1, 4)
    heads = kv_heads * rng.randint(1, 5)
    width = heads * rng.randint(1, 60)  # which Llama asks for, though head_dim is given
    mlp, vocab, tied, biased = rng.randint(1, 900), rng.randint(50, 3000), rng.random() < 0.5, rng.random() < 0.5
    ours = models.Transformer(
        "drawn",
        layers=layers,
        d_model=width,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        d_ff=mlp,
        vocab=vocab,
        context=4096,
        gated_mlp=True,
        bias=False,
        norm="rmsnorm",
        positions="rotary",
        tied_head=tied,
        qkv_bias=biased,
    )
    # Qwen2 is the Llama of transformers with biases on q, k and v
    family, more = ("Qwen2" if biased else "Llama"), {"head_dim": head_dim, "pad_token_id": None}
    return ours, llama_like(family, layers, width, heads, kv_heads, mlp, vocab, tied=tied, **more)


def drawn_gpt2(rng):
    layers, heads, vocab, context = rng.randint(1, 4), rng.randint(1, 9), rng.randint(50, 3000), rng.randint(200, 500)
    width, mlp = heads * rng.randint(1, 70), rng.randint(1, 900)
    ours = models.Transformer(
        "drawn", layers=layers, d_model=width, heads=heads, vocab=vocab, context=context, d_ff=mlp
    )
    config_class, model_class, arguments = gpt2(layers, width, heads)
    return ours, (config_class, model_class, arguments | {"vocab_size": vocab, "n_positions": context, "n_inner": mlp})


@pytest.mark.parametrize("draw", [drawn_llama, drawn_gpt2])
@pytest.mark.parametrize("seed", range(5))
def test_architectures_that_no_file_lists_are_exact_too(draw, seed):
    rng = random.Random(seed)
    ours, config = draw(rng)
    real, batch, seq = build(*config), rng.randint(1, 5), rng.randint(2, 200)
    assert int(ours.parameters()) == size(real)
    counted = int(flops.forward(ours, batch, seq)), int(flops.training_step(ours, batch, seq))
    assert counted == count_tokens(real, batch, seq)


# ---------------------------------------------------------------- recomputation


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable`:FutureWarning")
@pytest.mark.parametrize("name", ["gpt2", "llama3.2-1b"])
def test_full_recompute_equals_a_real_checkpointed_step(name):
    """One more forward of every block and nothing else, measured with reentrant checkpointing on the real model."""
    real = build(*CONFIGS[name]).train()
    real.gradient_checkpointing_enable({"use_reentrant": True})
    real.enable_input_require_grads()  # reentrant checkpointing needs an input with a gradient
    step = flops.training_step(models.load(name), BATCH, SEQ, recompute="full")
    assert int(step) == count_tokens(real)[1]


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable`:FutureWarning")
def test_full_recompute_equals_a_real_checkpointed_step_on_images():
    real = build(*IMAGES["vit-b16"]).train()
    real.gradient_checkpointing_enable({"use_reentrant": True})
    step = flops.training_step(models.load("vit-b16"), 2, recompute="full")
    assert int(step) == count_images(real, 2, 3, 224, 224)[1]


def test_selective_recompute_equals_checkpointing_the_attention_core(monkeypatch):
    from torch.utils.checkpoint import checkpoint
    from transformers.models.llama import modeling_llama

    core = modeling_llama.eager_attention_forward

    def recomputed(module, query, key, value, mask, **more):
        def attend(query, key, value):
            return core(module, query, key, value, mask, **more)[0]

        return checkpoint(attend, query, key, value, use_reentrant=True), None

    monkeypatch.setattr(modeling_llama, "eager_attention_forward", recomputed)
    step = flops.training_step(models.load("llama3.2-1b"), BATCH, SEQ, recompute="selective")
    assert int(step) == count_tokens(build(*CONFIGS["llama3.2-1b"]))[1]


# ---------------------------------------------------------------- frozen weights, packed documents

LINEARS = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "out", "dense": "out"}
LINEARS |= {"gate_proj": "gate", "up_proj": "up", "down_proj": "down", "fc1": "up", "fc2": "down"}


class Adapter(torch.nn.Module):
    """LoRA by hand: a linear layer, and beside it two of rank r."""

    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear
        self.a = torch.nn.Linear(linear.in_features, rank, bias=False, device="meta")
        self.b = torch.nn.Linear(rank, linear.out_features, bias=False, device="meta")

    def forward(self, x):
        return self.linear(x) + self.b(self.a(x))


def three_layers(name):
    """(the course's model, the real one), with three layers."""
    config_class, model_class, arguments = CONFIGS[name]
    depth = "n_layer" if name == "gpt2" else "num_hidden_layers"
    return replace(models.load(name), layers=3), build(config_class, model_class, arguments | {depth: 3}).train()


def adapted(name, rank, targets):
    """Both, the real one with all weights frozen but for adapters beside the targets, in every layer."""
    ours, real = three_layers(name)
    real.requires_grad_(False)
    for module in list(real.modules()):
        for child, linear in list(module.named_children()):
            if LINEARS.get(child) in targets:
                setattr(module, child, Adapter(linear, rank))
    return ours, real


@pytest.mark.parametrize(
    ("name", "targets"),
    [("llama3.2-1b", targets.split()) for targets in ("q v", "q", "k", "v", "out", "gate", "down", "k up")]
    + [("llama3.2-1b", ["q", "k", "v", "out", "gate", "up", "down"])]
    + [("phi-2", targets.split()) for targets in ("q v", "up", "out down")],  # attention beside the MLP
)
def test_lora_equals_a_real_step_with_frozen_weights(name, targets):
    (ours, real), lora = adapted(name, 8, targets), {"rank": 8, "targets": targets}
    assert int(flops.training_step(ours, 3, 48, lora=lora)) == count_tokens(real, 3, 48)[1]
    trained = sum(parameter.numel() for parameter in real.parameters() if parameter.requires_grad)
    assert trained == int(memory.lora_parameters(ours, **lora))


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable`:FutureWarning")
def test_lora_with_full_recompute_equals_a_real_checkpointed_step():
    ours, real = adapted("llama3.2-1b", 4, ("k", "down"))
    real.gradient_checkpointing_enable({"use_reentrant": True})
    real.enable_input_require_grads()
    lora = {"rank": 4, "targets": ("k", "down")}
    step = flops.training_step(ours, BATCH, SEQ, recompute="full", lora=lora)
    assert int(step) == count_tokens(real)[1]


@pytest.mark.parametrize("name", ["gpt2", "llama3-8b"])  # the head of one is its embedding
@pytest.mark.parametrize("frozen", [1, 2, 3])
def test_frozen_blocks_equal_a_real_step(name, frozen):
    ours, real = three_layers(name)
    body = real.transformer if name == "gpt2" else real.model
    blocks = body.h if name == "gpt2" else body.layers
    tables = (body.wte, body.wpe) if name == "gpt2" else (body.embed_tokens,)
    for module in (*tables, *blocks[:frozen]):
        module.requires_grad_(False)
    assert int(flops.training_step(ours, BATCH, SEQ, frozen=frozen)) == count_tokens(real)[1]


def test_packed_documents_cost_what_they_cost_alone():
    """A document attends to itself only, so the real model run on each alone does the same products."""
    (ours, real), lengths = three_layers("llama3.2-1b"), (17, 40, 40, 1, 30)
    alone = [count_tokens(real, 1, length) for length in lengths]
    packed = {"batch": 2, "seq": 64, "documents": lengths}
    assert int(flops.forward(ours, **packed)) == sum(forward for forward, _ in alone)
    assert int(flops.training_step(ours, **packed)) == sum(step for _, step in alone)
    pairs = sum(length * (length + 1) // 2 for length in lengths)
    causal = flops.forward(ours, causal=True, **packed)["layer.attention.scores"]
    assert causal == 2 * pairs * 2048


def test_a_window_holds_inside_each_packed_document():
    """Gemma 3 1B: 512 tokens in 22 of 26 layers, which a query of a document counts back from itself."""
    lengths, heads = (700, 324), 4 * 256
    packed = flops.forward("gemma3-1b", 1, 1024, causal=True, documents=lengths)
    whole = sum(sum(range(1, length + 1)) for length in lengths)
    windowed = sum(sum(min(token, 512) for token in range(1, length + 1)) for length in lengths)
    assert packed["attention.scores"] == 2 * heads * (4 * whole + 22 * windowed)
    assert any("the W − 1 before it" in sentence for sentence in packed.assumptions)


@pytest.mark.parametrize(("tokens_per_second", "published", "lora"), [(17_120, 682, None), (25_206, 673, 32)])
def test_published_fine_tuning_counts_no_pairs_and_no_gradients_of_frozen_weights(tokens_per_second, published, lora):
    """TFLOP/s of an H100 in NVIDIA NeMo 24.07, docs/source/performance/performance_summary.md: Llama 2 7B, packed
    SQuAD, 4096 tokens. Their count leaves scores out; documents of one token have next to none. Rank 32 of q, k and v
    is NeMo's default, which the page does not state.
    """
    how = {"lora": {"rank": lora, "targets": ("q", "k", "v")}} if lora else {}
    packed, whole = (
        int(flops.training_step("llama2-7b", 1, 4096, documents=lengths, **how)) * tokens_per_second / 4096 / 1e12
        for lengths in ([1] * 4096, [4096])
    )
    assert packed == pytest.approx(published, rel=0.01)
    assert whole > 1.1 * published


# ---------------------------------------------------------------- vision transformers


@pytest.mark.parametrize("name", IMAGES)
def test_vision_transformers_equal_the_real_ones(name):
    real, ours = build(*IMAGES[name]), models.load(name)
    assert int(ours.parameters()) == size(real)
    assert (int(flops.forward(ours, 3)), int(flops.training_step(ours, 3))) == count_images(real, 3, 3, 224, 224)


@pytest.mark.parametrize("sides", [(384, 384), (160, 240)])
def test_vision_transformers_equal_the_real_ones_at_other_image_sizes(sides):
    real, ours = build(*IMAGES["vit-b16"]), models.load("vit-b16")
    counted = int(flops.forward(ours, 2, image=sides)), int(flops.training_step(ours, 2, image=sides))
    assert counted == count_images(real, 2, 3, *sides, interpolate_pos_encoding=True)


@pytest.mark.parametrize("seed", range(3))
def test_vision_transformers_that_no_file_lists_are_exact_too(seed):
    rng = random.Random(seed)
    layers, heads, patch, classes, channels, batch = (rng.randint(1, 9) for _ in range(6))
    width, mlp = heads * rng.randint(1, 40), rng.randint(1, 500)
    image = patch * rng.randint(1, 9), patch * rng.randint(1, 9)
    more = {"image_size": image, "num_channels": channels, "patch_size": patch, "num_labels": classes}
    real = build(*vit(layers, width, heads, mlp, **more))
    ours = models.VisionTransformer(
        "drawn", layers, width, heads, image=image, patch=patch, classes=classes, channels=channels, d_ff=mlp
    )
    assert int(ours.parameters()) == size(real)
    counted = int(flops.forward(ours, batch)), int(flops.training_step(ours, batch))
    assert counted == count_images(real, batch, channels, *image)


def test_the_backward_pass_of_a_vision_transformer_is_not_twice_its_forward():
    ours = models.load("vit-b16")
    assert round(int(flops.training_step(ours, 1)) / int(flops.forward(ours, 1)), 4) == 2.9934


# ---------------------------------------------------------------- convolutional networks


class Block(torch.nn.Module):
    """A residual block of torch.nn: `main` and `shortcut`, added."""

    def __init__(self, main, shortcut):
        super().__init__()
        self.main, self.shortcut = main, shortcut

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


def normed(inputs, outputs, kernel, stride=1):
    convolution = torch.nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return torch.nn.Sequential(convolution, torch.nn.BatchNorm2d(outputs))


def real_resnet(blocks, bottleneck):
    nn = torch.nn
    rows, inputs, growth = [normed(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64, 4 if bottleneck else 1
    for width, stride, repeats in zip((64, 128, 256, 512), (1, 2, 2, 2), blocks, strict=True):
        for index in range(repeats):
            step, outputs = (stride if index == 0 else 1), width * growth
            if bottleneck:
                inner = [normed(inputs, width, 1), nn.ReLU(), normed(width, width, 3, step), nn.ReLU()]
                inner.append(normed(width, outputs, 1))
            else:
                inner = [normed(inputs, width, 3, step), nn.ReLU(), normed(width, width, 3)]
            same = step == 1 and inputs == outputs
            rows.append(Block(nn.Sequential(*inner), nn.Identity() if same else normed(inputs, outputs, 1, step)))
            inputs = outputs
    return nn.Sequential(*rows, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, 1000))


RESNETS = {"resnet-18": ((2, 2, 2, 2), False), "resnet-50": ((3, 4, 6, 3), True)}


@pytest.mark.parametrize("name", RESNETS)
@pytest.mark.parametrize(("batch", "sides"), [(2, (224, 224)), (1, (160, 192)), (3, (33, 33))])
def test_residual_networks_equal_the_real_ones(name, batch, sides):
    with torch.device("meta"):
        real = real_resnet(*RESNETS[name])
    ours = models.load(name)
    assert int(ours.parameters()) == size(real)
    counted = int(flops.forward(ours, batch, image=sides)), int(flops.training_step(ours, batch, image=sides))
    assert counted == count_images(real, batch, 3, *sides)


def test_the_backward_pass_of_a_residual_network_is_not_twice_its_forward():
    ours = models.load("resnet-50")
    assert round(int(flops.training_step(ours, 1)) / int(flops.forward(ours, 1)), 4) == 2.9711


def drawn_layers(rng, channels, side, depth=3):
    """A random network twice: as our layers and as modules of torch.nn. Channels and side that come out, too."""
    nn, ours, real = torch.nn, [], []
    for _ in range(depth):
        kernel, stride = rng.randint(1, min(5, side)), rng.randint(1, 2)
        padding = rng.randint(0, kernel // 2)
        kind = rng.choice(["convolution", "pool", "residual"])
        if kind == "convolution":
            outputs, biased = rng.randint(1, 12), rng.random() < 0.5
            ours.append(Convolution(outputs, kernel, stride, padding, bias=biased, activation="relu"))
            real += [nn.Conv2d(channels, outputs, kernel, stride, padding, bias=biased), nn.ReLU()]
            channels = outputs
        elif kind == "pool":
            ours.append(Pool(kernel, stride, padding))
            real.append(nn.MaxPool2d(kernel, stride, padding))
        else:
            outputs, stride, padding = rng.randint(1, 12), 1, 0
            new = rng.choice([channels, channels + 1])
            main = [Convolution(outputs, 3, 1, 1, norm=True), Convolution(new, 1)]
            ours.append(Residual(main, [Convolution(new, 1, bias=False)] if new != channels else []))
            inner = [nn.Conv2d(channels, outputs, 3, 1, 1), nn.BatchNorm2d(outputs), nn.Conv2d(outputs, new, 1)]
            shortcut = nn.Conv2d(channels, new, 1, bias=False) if new != channels else nn.Identity()
            real.append(Block(nn.Sequential(*inner), shortcut))
            channels, kernel = new, 1
        with torch.device("meta"):
            side = nn.MaxPool2d(kernel, stride, padding)(torch.empty(1, 1, side, side)).shape[-1]
    return ours, real, channels, side


def saved_bytes(real, image) -> int:
    """Bytes of the storages that autograd keeps of a forward pass, without weights, buffers and the image."""
    known = {t.untyped_storage().data_ptr() for t in (*real.parameters(), *real.buffers(), image)}
    kept = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = real(image)
    assert output.requires_grad
    return sum(storage.nbytes() for pointer, storage in kept.items() if pointer not in known)


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "side"), [(2, 64), (3, 33)])
@pytest.mark.parametrize("name", ["resnet-18", "resnet-50", "mobilenet-v2"])
def test_activations_of_a_convolutional_network_equal_what_autograd_saves(name, batch, side):
    ours = models.load(name)
    real = image_nets.as_module(ours) if name == "mobilenet-v2" else real_resnet(*RESNETS[name])
    real = real.to_empty(device="cpu").train()
    assert int(memory.activations(ours.at(side), batch)) == saved_bytes(real, torch.rand(batch, 3, side, side))


@pytest.mark.parametrize("seed", range(12))
def test_activations_of_networks_that_no_file_lists_equal_what_autograd_saves(seed):
    rng = random.Random(seed)
    channels, side, batch = rng.randint(1, 4), rng.randint(6, 40), rng.randint(2, 3)
    layers, modules, outputs, left = drawn_layers(rng, channels, side)
    real = torch.nn.Sequential(*modules, torch.nn.Flatten(), torch.nn.Linear(outputs * left * left, 5))
    ours = ConvNet("drawn", [*layers, Stage("head", [Linear(5)])], image=side, channels=channels)
    assert int(memory.activations(ours, batch)) == saved_bytes(real, torch.rand(batch, channels, side, side))


@pytest.mark.parametrize("seed", range(12))
def test_networks_that_no_file_lists_are_exact_too(seed):
    """A pooling or a residual block may read the image itself, where the gradient ends."""
    rng = random.Random(seed)
    channels, side, batch, classes = rng.randint(1, 4), rng.randint(6, 40), rng.randint(1, 3), rng.randint(1, 20)
    with torch.device("meta"):
        layers, modules, outputs, left = drawn_layers(rng, channels, side)
        head = torch.nn.Linear(outputs * left * left, classes)
        real = torch.nn.Sequential(*modules, torch.nn.Flatten(), head)
    ours = ConvNet("drawn", [*layers, Stage("head", [Linear(classes)])], image=side, channels=channels)
    assert int(ours.parameters()) == size(real)
    counted = int(flops.forward(ours, batch)), int(flops.training_step(ours, batch))
    assert counted == count_images(real, batch, channels, side, side)


def test_grouped_convolutions_are_exact_where_torch_counts_the_weight_gradient_too_high():
    """FlopCounterMode takes the weight gradient of a convolution in g groups for g times what it is (torch 2.13)."""
    groups = 4
    with torch.device("meta"):
        grouped = torch.nn.Conv2d(16, 32, 3, groups=groups)
        real = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 1), grouped)
    ours = ConvNet("grouped", [Convolution(16, 1), Convolution(32, 3, groups=groups)], image=10)
    assert int(ours.parameters()) == size(real)
    forward, step = count_images(real, 2, 3, 10, 10)
    assert int(flops.forward(ours, 2)) == forward
    weight_gradient = int(flops.forward(ours, 2)["convolution2"])
    assert int(flops.training_step(ours, 2)) == step - (groups - 1) * weight_gradient


@dataclass(frozen=True)
class Separable(ImageLayer):
    """A depthwise 3×3 convolution of the channels that come in, then a 1×1 convolution, which the library lacks."""

    width: int

    def steps(self, image):
        channels = image.sizes[0]
        return in_a_row([Convolution(channels, 3, padding=1, groups=channels), Convolution(self.width, 1)], image)


def test_a_layer_of_ones_own_stands_among_the_others():
    with torch.device("meta"):
        separable = torch.nn.Conv2d(16, 16, 3, padding=1, groups=16), torch.nn.Conv2d(16, 24, 1)
        real = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 1), *separable)
    ours = ConvNet("separable", [Convolution(16, 1), Separable(24)], image=10)
    assert (int(ours.parameters()), int(flops.forward(ours, 2))) == (size(real), count_images(real, 2, 3, 10, 10)[0])
    assert set(flops.forward(ours).parts) == {"convolution1", "separable2"}


# ---------------------------------------------------------------- single operations


def test_matmul_and_conv2d_equal_flop_counter_mode():
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        torch.empty(5, 7, device="meta") @ torch.empty(7, 11, device="meta")
    assert flops.matmul(5, 7, 11) == counter.get_total_flops()

    image = torch.empty(2, 6, 20, 30, device="meta")
    convolution = torch.nn.Conv2d(6, 8, (3, 5), stride=2, groups=2, device="meta")
    with FlopCounterMode(display=False) as counter:
        _, _, height, width = convolution(image).shape
    counted = flops.conv2d(
        in_channels=6, out_channels=8, kernel=(3, 5), out_height=height, out_width=width, batch=2, groups=2
    )
    assert counted == counter.get_total_flops()
