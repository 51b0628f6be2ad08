"""Activations and peaks against PyTorch itself, on small real models of transformers.

Three witnesses: what autograd packs (saved_tensors_hooks), the CPU allocator (the profiler's memory events) and
MemTracker under fake tensors. The configurations are written out twice, in the words of transformers and in ours.
"""

import contextlib
import gc
import sys
from dataclasses import replace
from itertools import accumulate, combinations, product

import pytest

from course_lib.accounting import memory
from course_lib.accounting.models import Transformer, VisionTransformer

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# ---------------------------------------------------------------- models, in both vocabularies

_FUNCTION = {"gelu-tanh": "gelu_new", "gelu": "gelu", "relu": "relu"}


def gpt2(layers=2, d=48, heads=4, f=160, vocab=300, context=512, activation="gelu-tanh", dropout=0.0):
    """(function that builds the real model for an attention implementation, our description of it)."""

    def build(attention):
        config = transformers.GPT2Config(
            n_layer=layers,
            n_embd=d,
            n_head=heads,
            n_inner=f,
            vocab_size=vocab,
            n_positions=context,
            activation_function=_FUNCTION[activation],
            resid_pdrop=dropout,
            embd_pdrop=dropout,
            attn_pdrop=dropout,
            use_cache=False,
            attn_implementation=attention,
        )
        return transformers.GPT2LMHeadModel(config)

    more = {"d_ff": f, "activation": activation, "dropout": dropout}
    return build, Transformer("gpt2-like", layers, d, heads, vocab, context, **more)


def llama(
    layers=2, d=48, heads=4, kv_heads=2, f=112, vocab=300, dropout=0.0, family="Llama", tied=False, head_dim=None
):
    def build(attention):
        arguments = {"head_dim": head_dim} if head_dim else {}
        config = getattr(transformers, f"{family}Config")(
            num_hidden_layers=layers,
            hidden_size=d,
            num_attention_heads=heads,
            num_key_value_heads=kv_heads,
            intermediate_size=f,
            vocab_size=vocab,
            max_position_embeddings=512,
            attention_dropout=dropout,
            tie_word_embeddings=tied,
            pad_token_id=None,
            use_cache=False,
            attn_implementation=attention,
            **arguments,
        )
        return getattr(transformers, f"{family}ForCausalLM")(config)

    ours = Transformer(
        "llama-like",
        layers,
        d,
        heads,
        vocab,
        512,
        kv_heads=kv_heads,
        head_dim=head_dim,
        d_ff=f,
        gated_mlp=True,
        activation="silu",
        bias=False,
        qkv_bias=family == "Qwen2",
        norm="rmsnorm",
        qk_norm=family == "Qwen3",
        positions="rotary",
        tied_head=tied,
        dropout=dropout,
    )
    return build, ours


def vit(layers=2, d=48, heads=4, f=160, image=40, patch=8, classes=10, dropout=0.0, activation="gelu"):
    def build(attention):
        config = transformers.ViTConfig(
            num_hidden_layers=layers,
            hidden_size=d,
            num_attention_heads=heads,
            intermediate_size=f,
            image_size=image,
            patch_size=patch,
            num_labels=classes,
            hidden_act=_FUNCTION[activation],
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=dropout,
            attn_implementation=attention,
        )
        return transformers.ViTForImageClassification(config)

    more = {"d_ff": f, "activation": activation, "dropout": dropout}
    return build, VisionTransformer("vit-like", layers, d, heads, image, patch, classes, **more)


# ---------------------------------------------------------------- witnesses


def prepare(build, attention, precision, recompute):
    model = build(attention).train()
    if precision == "bf16":
        model.to(torch.bfloat16)
    if recompute == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def inputs_for(model, batch, seq):
    config = model.config
    if seq is None:
        pixels = torch.randn(batch, 3, config.image_size, config.image_size, dtype=next(model.parameters()).dtype)
        return {"pixel_values": pixels, "labels": torch.zeros(batch, dtype=torch.long)}
    tokens = torch.randint(1, config.vocab_size, (batch, seq))
    return {"input_ids": tokens, "labels": tokens.clone()}


def forward(model, inputs, precision):
    with torch.autocast("cpu", torch.bfloat16) if precision == "amp-bf16" else contextlib.nullcontext():
        return model(**inputs)


def bytes_of(tensors) -> int:
    """Bytes of the distinct storages of `tensors`."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}.values())


def saved_for_backward(model, inputs, precision) -> int:
    """Bytes of distinct storages that autograd packs, less parameters, buffers and inputs."""
    kept = {}

    def pack(tensor):
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        output = forward(model, inputs, precision)
    for known in (*model.parameters(), *model.buffers(), *inputs.values()):
        kept.pop(known.untyped_storage().data_ptr(), None)
    del output
    return bytes_of(kept.values())


def optimizer_for(model, name, foreach=False):
    if name == "adamw":
        return torch.optim.AdamW(model.parameters(), foreach=foreach)
    return torch.optim.SGD(
        model.parameters(), lr=1e-3, momentum=0.9 if name == "sgd-momentum" else 0.0, foreach=foreach
    )


def allocator_peak(model, inputs, precision, optimizer, parts=1) -> int:
    """Peak of the CPU allocator in the second training step, counted from the profiler's memory events.

    parts: equal parts into which the inputs are cut; their gradients are added up before the step.
    """
    from torch.profiler import ProfilerActivity, profile

    def step():
        optimizer.zero_grad(set_to_none=True)
        for part in zip(*(tensor.chunk(parts) for tensor in inputs.values()), strict=True):
            output = forward(model, dict(zip(inputs, part, strict=True)), precision)
            output.loss.backward()
        optimizer.step()
        return output

    output = step()
    del output
    optimizer.zero_grad(set_to_none=True)
    gc.collect()
    states = [value for state in optimizer.state.values() for value in state.values() if torch.is_tensor(value)]
    live = bytes_of([*model.parameters(), *model.buffers(), *inputs.values(), *states])
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recording:
        held = step()  # the caller holds the logits
    del held
    events = [event for event in recording.profiler.kineto_results.events() if event.name() == "[memory]"]
    peak = live
    for event in sorted(events, key=lambda event: event.start_ns()):
        live += event.nbytes()
        peak = max(peak, live)
    return peak


# ---------------------------------------------------------------- cases: every pair of option values


def pairwise(**options) -> list[tuple]:
    """Rows, one value of each option, in which every two values of two options meet at least once; greedily few."""
    names = list(options)
    left = {
        frozenset({(one, a), (other, b)})
        for one, other in combinations(names, 2)
        for a in options[one]
        for b in options[other]
    }
    order = sorted(left, key=lambda pair: sorted(map(repr, pair)))
    rows = []
    while left:
        row = dict(next(pair for pair in order if pair in left))
        for name in names:
            if name not in row:
                gains = {a: sum(frozenset({(name, a), held}) in left for held in row.items()) for a in options[name]}
                row[name] = max(gains, key=gains.get)
        left -= set(map(frozenset, combinations(row.items(), 2)))
        rows.append(tuple(row[name] for name in names))
    return rows


# attention and dropout decide together which kernel runs
CORES = [("eager", 0.0), ("eager", 0.1), ("sdpa", 0.0), ("sdpa", 0.1)]
PRECISIONS, RECOMPUTE = ["fp32", "amp-bf16", "bf16"], ["none", "selective", "full"]
FAMILIES = {
    "gpt2": (gpt2, {}),
    "gpt2-gelu": (gpt2, {"activation": "gelu"}),
    "gpt2-relu": (gpt2, {"activation": "relu", "layers": 3}),
    "llama-gqa": (llama, {"layers": 4}),
    "llama-mha": (llama, {"kv_heads": 4, "tied": True}),
    "qwen2": (llama, {"family": "Qwen2", "kv_heads": 1}),
    "qwen3": (llama, {"family": "Qwen3", "head_dim": 32, "tied": True}),
    "mistral": (llama, {"family": "Mistral", "layers": 1}),
    "vit": (vit, {}),
    "vit-relu": (vit, {"activation": "relu"}),
}
OPTIONS = {
    "name": list(FAMILIES),
    "core": CORES,
    "precision": PRECISIONS,
    "recompute": RECOMPUTE,
    "batch": [1, 3],  # in one sequence, much that is copied otherwise is a view
}
SAVED = pairwise(**OPTIONS)


def test_every_pair_of_option_values_is_among_the_cases():
    for (one, values), (other, others) in combinations(enumerate(OPTIONS.values()), 2):
        assert {(row[one], row[other]) for row in SAVED} == set(product(values, others))
    assert len(SAVED) <= 45


# ---------------------------------------------------------------- what autograd saves: equal to the byte


@pytest.fixture
def recompute_attention(monkeypatch):
    """A function that puts a checkpoint around the attention core of a model."""
    from torch.utils.checkpoint import checkpoint
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    def change(model, attention):
        module = sys.modules[type(model).__module__]
        core = module.eager_attention_forward if attention == "eager" else ALL_ATTENTION_FUNCTIONS["sdpa"]

        def checkpointed(*arguments, **options):
            return checkpoint(core, *arguments, use_reentrant=False, **options)

        if attention == "eager":
            monkeypatch.setattr(module, "eager_attention_forward", checkpointed)
        else:
            monkeypatch.setitem(ALL_ATTENTION_FUNCTIONS, "sdpa", checkpointed)

    return change


@pytest.mark.parametrize(("name", "core", "precision", "recompute", "batch"), SAVED)
def test_activations_equal_what_autograd_saves(name, core, precision, recompute, batch, recompute_attention):
    (attention, dropout), (family, shape) = core, FAMILIES[name]
    build, ours = family(**shape, dropout=dropout)
    seq = None if family is vit else 40
    model = prepare(build, attention, precision, recompute)
    if recompute == "selective":
        recompute_attention(model, attention)
    inputs = inputs_for(model, batch, seq)
    options = {"batch": batch, "seq": seq, "precision": precision, "attention": attention, "recompute": recompute}
    counted = memory.activations(ours, **options)
    # Llama's blocks get mask and rotation by keyword: the checkpoint keeps them in a closure, which autograd never sees
    unseen = int(counted["attention"]) if family is llama and recompute == "full" else 0
    assert int(counted) - unseen == saved_for_backward(model, inputs, precision)
    if recompute == "selective" and precision == "fp32":  # the inside of bf16 products would blur the peak
        peak = allocator_peak(model, inputs, precision, optimizer_for(model, "adamw"))
        assert int(memory.training_peak(ours, **options)) == pytest.approx(peak, rel=0.01)


class FusedLoss(torch.autograd.Function):
    """Cross-entropy that keeps logits, labels and a log-sum-exp a row, as Triton kernels and llm.c do."""

    @staticmethod
    def forward(ctx, logits, labels):
        sums = logits.detach().float().logsumexp(-1)
        ctx.save_for_backward(logits, labels, sums)
        return (sums - logits.detach().float().gather(-1, labels[..., None])[..., 0]).mean()


@pytest.mark.parametrize("family", [gpt2, llama])
@pytest.mark.parametrize(("batch", "precision"), [(1, "fp32"), (3, "bf16"), (2, "amp-bf16")])
def test_a_fused_loss_keeps_the_logits_and_no_probabilities(family, batch, precision):
    build, ours = family()
    model = prepare(build, "sdpa", precision, "none")

    def fused(logits, labels, vocab_size, **more):
        labels = torch.nn.functional.pad(labels, (0, 1), value=0)[..., 1:].contiguous()
        return FusedLoss.apply(logits, labels)

    model.loss_function = fused
    options = {"batch": batch, "seq": 40, "precision": precision, "attention": "sdpa"}
    counted = memory.activations(ours, **options, fused_loss=True)
    assert int(counted) == saved_for_backward(model, inputs_for(model, batch, 40), precision)
    assert counted["loss"] < memory.activations(ours, **options)["loss"] or precision == "fp32"


# ---------------------------------------------------------------- the peak: within 1 % of the allocator

# Two sizes: under autocast the CPU's bf16 products allocate up to 1 MB inside, which must stay small beside the peak.
SMALL = {
    "gpt2": (gpt2, {"layers": 3}, 4, 96),
    "llama": (llama, {"layers": 3}, 4, 96),
    "vit": (vit, {"layers": 3}, 6, None),
}
WIDE = {
    "gpt2": (gpt2, {"layers": 3, "d": 128, "f": 512, "vocab": 3000}, 6, 192),
    "llama": (llama, {"layers": 3, "d": 128, "f": 344, "vocab": 3000}, 6, 192),
    "vit": (vit, {"layers": 3, "d": 128, "f": 512, "image": 120}, 24, None),
}
# few tokens and a large vocabulary: the step ends at its peak
SHORT = {
    "gpt2": (gpt2, {"vocab": 4000}, 1, 16),
    "llama": (llama, {"vocab": 4000}, 1, 16),
    "llama-tied": (llama, {"vocab": 4000, "tied": True}, 1, 16),
    "llama-narrow": (llama, {"d": 64, "f": 512, "vocab": 40}, 1, 8),
    "vit": (vit, {"d": 96, "f": 384, "image": 16}, 1, None),
}
LOSS = {"gpt2": (gpt2, {"vocab": 2500}, 4, 64), "qwen2": (llama, {"vocab": 2500, "family": "Qwen2"}, 4, 64)}

PEAKS = [
    *((shapes[name], precision, *core, recompute, "adamw")
      for shapes, precision in ((SMALL, "fp32"), (WIDE, "amp-bf16"))
      for name, core, recompute in pairwise(name=list(SMALL), core=CORES, recompute=["none", "full"])),
    *((SHORT[name], "fp32", "eager", 0.0, "none", optimizer)
      for name in SHORT for optimizer in ("adamw", "sgd", "sgd-momentum")),
    *((LOSS[name], "fp32", "eager", 0.1, recompute, "sgd-momentum") for name in LOSS for recompute in ("none", "full")),
]  # fmt: skip

# one sequence: views where more sequences need copies, and heads that are wider together than the model
PEAKS += [
    ((family, {"d": 128, "f": 256, "vocab": 200, **shape}, 1, 256), precision, "sdpa", 0.1, recompute, "adamw")
    for family, shape in ((gpt2, {}), (llama, {"head_dim": 64}), (llama, {"head_dim": 64, "kv_heads": 4}))
    for precision in ("fp32", "amp-bf16", "bf16") for recompute in ("none", "full")
]  # fmt: skip
# an MLP that is narrow beside attention: the forward pass of the last block is at its largest inside attention
PEAKS += [
    ((llama, {"d": 64, "kv_heads": 4, "f": 30, "vocab": 50, "head_dim": 64}, 2, 64), "fp32", *rest, "adamw")
    for rest in (("eager", 0.0, "none"), ("eager", 0.1, "full"), ("sdpa", 0.1, "none"))
]


def peaks_of(case, foreach=False):
    """(our Peak, the allocator's)."""
    (family, shape, batch, seq), precision, attention, dropout, recompute, optimizer = case
    build, ours = family(**shape, dropout=dropout)
    model = prepare(build, attention, precision, recompute)
    truth = allocator_peak(model, inputs_for(model, batch, seq), precision, optimizer_for(model, optimizer, foreach))
    options = {"attention": attention, "recompute": recompute, "optimizer": optimizer, "foreach": foreach}
    return memory.training_peak(ours, batch=batch, seq=seq, precision=precision, **options), truth


def label(case):
    (family, shape, _, _), *rest = case
    return "-".join(map(str, (family.__name__, shape.get("vocab", ""), *rest)))


@pytest.mark.parametrize("case", PEAKS, ids=label)
def test_peak_is_within_one_percent_of_the_allocator(case):
    ours, truth = peaks_of(case)
    assert int(ours) == pytest.approx(truth, rel=0.01)


# a peak in each phase; heads that are the embedding and others; blocks that keep their ops and blocks that run again
ACCUMULATED = [
    ((gpt2, {"layers": 3, "vocab": 50}, 4, 96), "sdpa", "none", 2),
    ((gpt2, {"layers": 3}, 4, 96), "eager", "full", 4),
    ((gpt2, {"vocab": 2500}, 4, 64), "sdpa", "none", 4),
    ((gpt2, {"vocab": 4000}, 2, 16), "eager", "none", 2),
    ((llama, {"layers": 3}, 4, 96), "sdpa", "none", 2),
    ((llama, {"vocab": 2500}, 4, 64), "sdpa", "full", 2),
    ((llama, {"vocab": 4000}, 2, 16), "eager", "none", 2),
    ((llama, {"vocab": 4000, "tied": True}, 2, 16), "eager", "none", 2),
]


@pytest.mark.parametrize(
    "case", ACCUMULATED, ids=lambda case: f"{case[0][0].__name__}-{case[0][1].get('vocab', '')}-{case[2]}"
)
def test_peak_in_parts_is_within_one_percent_of_the_allocator(case):
    (family, shape, batch, seq), attention, recompute, parts = case
    build, ours = family(**shape)
    model = prepare(build, attention, "fp32", recompute)
    optimizer = optimizer_for(model, "adamw", False)
    truth = allocator_peak(model, inputs_for(model, batch, seq), "fp32", optimizer, parts)
    how = {"seq": seq, "attention": attention, "recompute": recompute}
    assert int(memory.accumulated_peak(ours, batch=batch, parts=parts, **how)) == pytest.approx(truth, rel=0.01)


def test_heads_wider_than_the_mlp_are_said_to_need_more():
    _, wide = llama(d=64, kv_heads=4, f=30, head_dim=64)
    _, narrow = llama(d=64, kv_heads=4, f=256, head_dim=64)
    sentences = [memory.training_peak(model, seq=8).omitted for model in (wide, narrow)]
    assert [any("wider than its MLP" in sentence for sentence in said) for said in sentences] == [True, False]


def test_each_phase_is_the_largest_somewhere():
    phases = set()
    for (family, shape, batch, seq), precision, attention, dropout, recompute, optimizer in PEAKS:
        _, ours = family(**shape, dropout=dropout)
        options = {"precision": precision, "attention": attention, "recompute": recompute, "optimizer": optimizer}
        phases.add(memory.training_peak(ours, batch=batch, seq=seq, **options).phase)
    assert phases == {"loss_backward", "block_backward", "end_of_backward", "optimizer"}


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "sgd-momentum"])
@pytest.mark.parametrize("name", ["llama-narrow", "vit"])
def test_multi_tensor_optimizers_within_one_percent_of_the_allocator(name, optimizer):
    ours, truth = peaks_of((SHORT[name], "fp32", "eager", 0.0, "none", optimizer), foreach=True)
    assert int(ours) == pytest.approx(truth, rel=0.01)


@pytest.mark.parametrize("precision", ["amp-bf16", "bf16"])
@pytest.mark.parametrize("family", [gpt2, llama, vit])
def test_optimizer_phase_in_other_precisions(family, precision):
    """The state has the precision of the weights: 4 bytes under autocast, 2 in bf16."""
    build, ours = family()
    model = prepare(build, "eager", precision, "none")
    batch, seq = 2, None if family is vit else 24
    optimizer = optimizer_for(model, "adamw")
    forward(model, inputs_for(model, batch, seq), precision).loss.backward()
    optimizer.step()
    moments = [state[name] for state in optimizer.state.values() for name in ("exp_avg", "exp_avg_sq")]
    phase = memory.training_peak(ours, batch=batch, seq=seq, precision=precision).phases["optimizer"]
    assert phase["weights"] == bytes_of(model.parameters())
    assert phase["gradients"] == bytes_of(parameter.grad for parameter in model.parameters())
    assert phase["optimizer_state"] == bytes_of(moments)


def backward_of_patch_convolution(width, image, patch) -> int:
    """Peak that the backward pass of a patch convolution of one image adds, alone, by the profiler's memory events."""
    from torch.profiler import ProfilerActivity, profile

    convolution = torch.nn.Conv2d(3, width, patch, patch)
    tokens = convolution(torch.randn(1, 3, image, image)).flatten(2).transpose(1, 2)
    gradient = torch.randn(tokens.shape)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recording:
        tokens.backward(gradient)
    events = [event for event in recording.profiler.kineto_results.events() if event.name() == "[memory]"]
    return max(accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_the_scratch_of_a_patch_convolution_is_all_that_a_small_vision_model_leaves_out(optimizer):
    width, image, patch = 192, 160, 16
    shape = {"layers": 1, "d": width, "heads": 3, "f": 768, "image": image, "patch": patch}
    ours, truth = peaks_of(((vit, shape, 1, None), "fp32", "eager", 0.0, "none", optimizer))
    output, weights = 4 * width * (image // patch) ** 2, 4 * width * 3 * patch**2
    scratch = (
        backward_of_patch_convolution(width, image, patch) - output - 2 * weights
    )  # we count a copy of the weights
    end = int(ours.phases["end_of_backward"]) + scratch
    assert max(end, int(ours)) == pytest.approx(truth, rel=0.01)
    assert any("patch convolution" in sentence for sentence in ours.omitted)


def mem_tracker_peak(case) -> int:
    """MemTracker's peak of the second step under fake tensors."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed._tools.mem_tracker import MemTracker

    (family, shape, batch, seq), precision, attention, dropout, recompute, name = case
    build, _ = family(**shape, dropout=dropout)
    with FakeTensorMode():
        model = prepare(build, attention, precision, recompute)
        inputs = inputs_for(model, batch, seq) | {"attention_mask": torch.ones(batch, seq)}  # fakes hide its values
        optimizer = optimizer_for(model, name)
        tracker = MemTracker()
        tracker.track_external(model, optimizer, *inputs.values())
        with tracker:
            for _ in range(2):
                optimizer.zero_grad(set_to_none=True)
                tracker.reset_mod_stats()
                output = None
                output = forward(model, inputs, precision)
                output.loss.backward()
                optimizer.step()
        return tracker.get_tracker_snapshot("peak")[torch.device("cpu")]["Total"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        (SMALL["gpt2"], "fp32", "eager", 0.0, "none", "adamw"),
        (SMALL["llama"], "fp32", "eager", 0.0, "none", "adamw"),
        (WIDE["gpt2"], "amp-bf16", "eager", 0.1, "none", "adamw"),
        (WIDE["llama"], "amp-bf16", "eager", 0.0, "full", "adamw"),
        (SHORT["gpt2"], "fp32", "eager", 0.0, "none", "adamw"),
        (SHORT["llama"], "fp32", "eager", 0.0, "none", "adamw"),
        (LOSS["gpt2"], "fp32", "eager", 0.1, "full", "sgd-momentum"),
    ],
    ids=label,
)
def test_peak_is_within_one_percent_of_mem_tracker(case):
    (family, shape, batch, seq), precision, attention, dropout, recompute, optimizer = case
    _, ours = family(**shape, dropout=dropout)
    options = {"precision": precision, "attention": attention, "recompute": recompute, "optimizer": optimizer}
    predicted = memory.training_peak(ours, batch=batch, seq=seq, **options)
    assert int(predicted) == pytest.approx(mem_tracker_peak(case), rel=0.01)


# ---------------------------------------------------------------- the KV cache


@pytest.mark.parametrize("kv_heads", [4, 2, 1])
def test_kv_cache_equals_a_real_dynamic_cache(kv_heads):
    build, ours = llama(kv_heads=kv_heads, head_dim=16, layers=3)
    model = build("sdpa").eval().to(torch.bfloat16)
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(input_ids=torch.ones(3, 37, dtype=torch.long), past_key_values=cache, use_cache=True)
    held = bytes_of(tensor for layer in cache.layers for tensor in (layer.keys, layer.values))
    assert int(memory.kv_cache(ours, batch=3, tokens=37)) == held


@pytest.mark.parametrize("tokens", [5, 12, 13, 40])
def test_kv_cache_of_windows_equals_a_real_static_cache(tokens):
    """Gemma 3 of six layers, five of which look back on 12 tokens."""
    config = transformers.Gemma3TextConfig(
        num_hidden_layers=6,
        hidden_size=48,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        intermediate_size=64,
        vocab_size=300,
        sliding_window=12,
        layer_types=["sliding_attention"] * 5 + ["full_attention"],
    )
    model = transformers.Gemma3ForCausalLM(config).eval().to(torch.bfloat16)
    cache = transformers.StaticCache(config=config, max_cache_len=tokens)
    with torch.no_grad():
        model(input_ids=torch.ones(3, tokens, dtype=torch.long), past_key_values=cache, use_cache=True)
    held = bytes_of(tensor for layer in cache.layers for tensor in (layer.keys, layer.values))
    _, ours = llama(layers=6, head_dim=16)
    ours = replace(ours, window=12, window_layers=5)
    assert int(memory.kv_cache(ours, batch=3, tokens=tokens)) == held
