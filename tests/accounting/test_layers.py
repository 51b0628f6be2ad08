"""Layers and models made of them, against transformers classes that no catalogue entry describes."""

import doctest
import inspect
import warnings
from dataclasses import replace

import pytest

from course_lib.accounting import flops, memory, models, parallelism
from course_lib.accounting.layers import (
    MLP,
    Attention,
    Block,
    Embedding,
    Head,
    Layer,
    Mamba2,
    Mixture,
    Norm,
    Rotary,
    base,
)
from course_lib.accounting.models import Model

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore")


def real(name, config=None, device="cpu", **arguments):
    torch.manual_seed(0)  # a router may not send two tokens the same way, whatever the weights are
    with torch.device(device):
        return getattr(transformers, f"{name}ForCausalLM")(
            getattr(transformers, config or f"{name}Config")(**arguments, attn_implementation="eager")
        )


def counted(model, batch, seq, mask=True):
    """(parameters, FLOP of a forward pass, of forward and backward), by torch."""
    from torch.utils.flop_counter import FlopCounterMode

    device = next(model.parameters()).device
    inputs = {"input_ids": torch.ones(batch, seq, dtype=torch.long, device=device)}
    if mask:
        inputs["attention_mask"] = torch.ones(batch, seq, device=device)
    with FlopCounterMode(display=False) as forward:
        logits = model(**inputs, use_cache=False).logits
    with FlopCounterMode(display=False) as backward:
        logits.sum().backward()
    whole = forward.get_total_flops() + backward.get_total_flops()
    return sum(p.numel() for p in model.parameters()), forward.get_total_flops(), whole


def ours(model, batch, seq):
    step = flops.training_step(model, batch, seq)
    return int(model.parameters()), int(flops.forward(model, batch, seq)), int(step)


def cached(model, batch, tokens) -> int:
    """Numbers that a real cache holds after `tokens` tokens."""
    with torch.no_grad():
        output = model(torch.ones(batch, tokens, dtype=torch.long), use_cache=True)
    cache = getattr(output, "cache_params", None) or output.past_key_values

    def tensors(held):
        if torch.is_tensor(held):
            yield held
        elif isinstance(held, (dict, list, tuple)):
            for each in held.values() if isinstance(held, dict) else held:
                yield from tensors(each)

    return sum(tensor.numel() for layer in cache.layers for tensor in tensors(list(vars(layer).values())))


# ---------------------------------------------------------------- latent attention and shared experts


def deepseek(layers=5, dense=2, query=28, shared=1, experts=8, active=3):
    """(arguments of transformers, our model)"""
    arguments = {
        "vocab_size": 100,
        "hidden_size": 32,
        "intermediate_size": 80,
        "moe_intermediate_size": 24,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "n_shared_experts": shared,
        "n_routed_experts": experts,
        "num_experts_per_tok": active,
        "kv_lora_rank": 20,
        "q_lora_rank": query,
        "qk_rope_head_dim": 6,
        "v_head_dim": 10,
        "qk_nope_head_dim": 14,
        "n_group": 4,
        "topk_group": 2,
        "first_k_dense_replace": dense,
    }
    sizes = {"layers": layers, "dense_layers": dense, "d_model": 32, "heads": 4, "query_latent": query, "latent": 20}
    sizes |= {"rotary_dim": 6, "head_dim": 14, "value_dim": 10, "d_ff": 80, "expert_d_ff": 24, "experts": experts}
    sizes |= {"active_experts": active, "shared_experts": shared, "vocab": 100, "context": 64}
    return arguments, models.deepseek("small", **sizes)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [{}, {"shared": 2}, {"query": None}, {"dense": 0}, {"dense": 5, "active": 1}],
    ids=["as published", "two shared", "no latent of queries", "no dense layer", "dense alone"],
)
@pytest.mark.parametrize(("batch", "seq"), [(2, 20), (1, 1)])
def test_deepseek_equals_small_real_ones(case, batch, seq):
    arguments, model = deepseek(**case)
    assert ours(model, batch, seq) == counted(
        real("DeepseekV3", **arguments, experts_implementation="eager"), batch, seq
    )


def test_the_latent_cache_equals_the_real_one_expanded():
    """transformers caches keys and values of every head; the paper's cache, which we count, keeps the latent."""
    arguments, model = deepseek()
    network = real("DeepseekV3", **arguments, experts_implementation="eager")
    heads, key, value, latent, rotated = 4, 6 + 14, 10, 20, 6
    held = cached(network, 2, 20)
    numbers = {5 * 2 * 20 * (latent + rotated), 5 * 2 * 20 * heads * (key + value)}
    assert held in numbers
    assert int(memory.kv_cache(model, 2, 20, dtype="int8")) == min(numbers)


def test_deepseek_v3_to_the_last_parameter():
    with torch.device("meta"):
        network = transformers.DeepseekV3ForCausalLM(transformers.DeepseekV3Config())
    model = models.load("deepseek-v3")
    assert int(model.parameters()) == sum(p.numel() for p in network.parameters()) == 671_026_404_352
    # its report: 671 B parameters, 37 B of them for a token; 576 numbers a layer and token in the cache
    assert round(int(model.parameters(active=True)) / 1e9, 1) == 37.6
    assert int(memory.kv_cache("deepseek-v3", tokens=32768)) == 2 * 32768 * 61 * 576 == 2_302_672_896


def test_pages_of_a_latent_cache_hold_whole_tokens():
    paged = memory.kv_cache("deepseek-v3", 2, 100, page_tokens=64)
    assert int(paged) == int(memory.kv_cache("deepseek-v3", 2, 128))
    assert paged["waste"] == 2 * 28 * 61 * 576 * 2


# ---------------------------------------------------------------- state-space mixers


def mamba2(**sizes):
    arguments = {"num_hidden_layers": 2, "hidden_size": 32, "num_heads": 4, "head_dim": 16, "state_size": 8}
    arguments |= {"n_groups": 2, "vocab_size": 100, "chunk_size": 16, "tie_word_embeddings": False}
    block = Block(Norm(d=32, rms=True), Mamba2(d=32, h=4, w=16, G=2, s=8, K=16))
    ends = [Embedding(d=32, V=100)], [Norm(d=32, rms=True), Head(d=32, V=100)]
    return arguments, Model("small", ends[0], [block] * 2, ends[1])


@pytest.mark.parametrize(("batch", "seq"), [(2, 40), (1, 16), (3, 17), (1, 1)])
def test_mamba2_equals_small_real_ones(batch, seq):
    arguments, model = mamba2()
    parameters, forward, step = counted(real("Mamba2", **arguments), batch, seq, mask=False)
    assert (int(model.parameters()), int(flops.forward(model, batch, seq))) == (parameters, forward)
    # FlopCounterMode takes the weight gradient of a convolution in g groups, here of one channel each, for g times
    # what it is
    channels = 4 * 16 + 2 * 2 * 8
    over = (channels - 1) * int(flops.forward(model, batch, seq)["mixer.conv"])
    assert int(flops.training_step(model, batch, seq)) == step - over


def test_the_state_of_mamba2_is_what_a_real_cache_holds_however_long_the_sequence_is():
    arguments, model = mamba2()
    network = real("Mamba2", **arguments)
    assert int(memory.kv_cache(model, 2, 40, dtype="int8")) == cached(network, 2, 40)
    assert memory.kv_cache(model, 2, 400) == memory.kv_cache(model, 2, 40)


@pytest.mark.parametrize("name", ["mamba2-130m", pytest.param("mamba2-2.7b", marks=pytest.mark.slow)])
def test_mamba2_of_the_catalogue_equals_the_real_one(name):
    layers, width, heads = {"mamba2-130m": (24, 768, 24), "mamba2-2.7b": (64, 2560, 80)}[name]
    arguments = {"num_hidden_layers": layers, "hidden_size": width, "num_heads": heads, "head_dim": 64}
    arguments |= {"state_size": 128, "n_groups": 1, "vocab_size": 50288, "tie_word_embeddings": True}
    network = real("Mamba2", device="meta", **arguments)
    parameters, forward, _ = counted(network, 1, 700, mask=False)
    model = models.load(name)
    assert (int(model.parameters()), int(flops.forward(model, 1, 700))) == (parameters, forward)


def test_the_example_of_a_layer_is_short_runs_and_is_the_same_mixer():
    found = doctest.DocTestFinder().find(Layer, "Layer", globs={})
    example = next(test for test in found if test.name == "Layer")
    assert doctest.DocTestRunner().run(example).failed == 0
    written = next(each.source for each in example.examples if each.source.startswith("class "))
    assert len(written.splitlines()) <= 15
    scope = {"ceil": base.total.__globals__["ceil"], "Layer": Layer}
    exec(written, scope)
    norm = Norm(d=768, rms=True)
    after = [norm, Head(d=768, V=50288, tied=True)]
    blocks = [Block(norm, scope["Mixer"](d=768, i=1536, h=24, s=128))] * 24
    own, model = Model("own", [Embedding(d=768, V=50288)], blocks, after), models.load("mamba2-130m")
    assert int(own.parameters()) == int(model.parameters())
    for batch, seq in ((2, 1000), (1, 1), (3, 257)):
        assert ours(own, batch, seq) == ours(model, batch, seq)
    with pytest.raises(ValueError, match="Mixer does not say what autograd saves for it: define saved"):
        memory.activations(own, 1, 8)


# ---------------------------------------------------------------- hybrids, windows, odd shapes


def test_a_hybrid_of_mixers_and_attention_equals_a_real_one():
    arguments = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4, "num_attention_heads": 4}
    arguments |= {"num_key_value_heads": 2, "attn_layer_indices": [2], "mamba_n_heads": 4, "mamba_d_head": 16}
    arguments |= {"mamba_d_state": 8, "mamba_n_groups": 1, "mamba_chunk_size": 16, "vocab_size": 100}
    network = real("Bamba", **arguments)
    norm, mlp = Norm(d=32, rms=True), MLP(d=32, f=48, gated=True, activation="silu")
    scan = Block(norm, Mamba2(d=32, h=4, w=16, s=8, K=16), norm, mlp, label="mixer")
    attend = Block(norm, Attention(d=32, h=4, g=2, w=8), norm, mlp, label="attention")
    tied = network.config.tie_word_embeddings
    model = Model("hybrid", [Embedding(d=32, V=100)], [scan, scan, attend, scan], [norm, Head(d=32, V=100, tied=tied)])
    parameters, forward, _ = counted(network, 3, 40, mask=False)
    assert (int(model.parameters()), int(flops.forward(model, 3, 40))) == (parameters, forward)
    views = flops.forward(model, 3, 40).views
    assert set(views) == {"layers", "mixer", "attention"}
    assert 3 * int(views["mixer"]) + int(views["attention"]) == int(views["layers"])


@pytest.mark.parametrize("window", [5, 12, 40])
@pytest.mark.parametrize("seq", [1, 12, 13, 40])
def test_causal_pairs_of_windows_are_those_of_the_real_mask(window, seq):
    from transformers.masking_utils import sliding_window_causal_mask_function

    allowed = sliding_window_causal_mask_function(window)
    rows, columns = torch.arange(seq)[:, None], torch.arange(seq)[None, :]
    pairs = int(allowed(0, 0, rows, columns).sum())
    model = models.Transformer("windowed", 3, 16, 4, 50, 64, window=window, window_layers=2, positions="rotary")
    scores = flops.forward(model, 2, seq, causal=True)["attention.scores"]
    full = seq * (seq + 1) // 2
    assert scores == 2 * 2 * 16 * (2 * pairs + full)
    assert flops.forward(model, 2, seq)["attention.scores"] == 3 * 2 * 2 * 16 * seq * seq


@pytest.mark.slow
@pytest.mark.parametrize("seq", [7, 16, 40])
@pytest.mark.parametrize("kv_heads", [1, 4])
def test_gemma3_equals_a_small_real_one(kv_heads, seq):
    arguments = {"num_hidden_layers": 6, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": kv_heads}
    arguments |= {"intermediate_size": 48, "vocab_size": 100, "head_dim": 24, "sliding_window": 16}
    network = real("Gemma3", "Gemma3TextConfig", **arguments)
    model = models.Transformer(
        "gemma", 6, 32, 4, 100, 64, kv_heads=kv_heads, head_dim=24, d_ff=48, gated_mlp=True, activation="gelu-tanh",
        bias=False, norm="rmsnorm", qk_norm=True, positions="rotary", block_norms=4, window=16, window_layers=5,
    )  # fmt: skip
    assert ours(model, 2, seq) == counted(network, 2, seq)


# ---------------------------------------------------------------- laws and refusals


def test_a_plan_for_deepseek_holds_all_of_it():
    model = models.load("deepseek-v3")
    plan = parallelism.Plan(data=32, tensor=1, expert=32)
    whole, held = model.parameters(), parallelism.rank_parameters(model, plan)
    assert 32 * held["experts"] == 58 * 256 * 3 * 7168 * 2048
    assert int(held) - held["experts"] == int(whole) - 32 * held["experts"]
    two = parallelism.rank_parameters(model, parallelism.Plan(tensor=2))
    replicated = whole["attention.latent"] + whole["norm"] + whole["router"] + 61 * 7168 * 1536
    assert 2 * int(two) - replicated == int(whole)


def test_activations_of_deepseek_v3_on_a_rank_are_those_of_its_tensors():
    """Tensor by tensor as in its paper (2024, section 2.1), 2 bytes a number: what matrices, norms and attention read.

    128 heads with queries and keys of 128 + 64 and values of 128; latents of 1536 and 512; 8 of 256 experts and 1 more.
    """
    entering = [7168, 7168]  # a norm, and what it makes
    attention = [*entering, 1536, 1536, 512, 512, 128 * 192, 128 * 192, 128 * 128, 128 * 128]
    scores = 4 * 128  # a log-sum-exp a head, in fp32
    dense, expert = [18432] * 4, [2048] * 4  # gate, its activation, up, their product
    mixture = [*entering, *[7168] * 8, *expert * 8, *expert]
    layers = 3 * (2 * sum(attention + entering + dense) + scores) + 58 * (2 * sum(attention + mixture) + scores)
    plan, step = parallelism.Plan(data=64, expert=64), {"batch": 64, "seq": 4096}
    held = parallelism.rank_memory("deepseek-v3", plan, **step)
    assert held["activations.layers"] == 4096 * layers
    two = parallelism.rank_memory("deepseek-v3", replace(plan, tensor=2), **step)
    whole = 2 * (61 * sum(entering * 2 + [1536, 1536, 512, 512]))  # not divided among tensor ranks; nor are the copies
    assert two["activations.layers"] == 4096 * (whole + 58 * 2 * 8 * 7168 + layers) // 2


def test_traffic_of_deepseek_v3_counts_latents_and_its_58_mixtures():
    step = {"batch": 64, "seq": 4096}
    sent = parallelism.traffic("deepseek-v3", parallelism.Plan(data=64, expert=64), **step)
    tokens, copies, moves = 4096, 8, 4  # of one rank; dispatch and combine, forward and backward
    assert sent["expert"] == 58 * moves * tokens * copies * 7168 * 2 * 63 // 64
    plan = parallelism.Plan(data=64, tensor=8)
    d, latents, rotated = 7168, 1536 + 512, 64
    # forward a sum of d after attention and MLP; backward of what their divided matrices read; d at both ends
    sums = 61 * (2 * d + latents + rotated + d) + 2 * d
    assert parallelism.traffic("deepseek-v3", plan, **step)["tensor"] == 2 * tokens * sums * 2 * 7 // 8
    sequence = parallelism.traffic("deepseek-v3", replace(plan, sequence_parallel=True), **step)["tensor"]
    again = 61 * (latents + d) + d  # for the gradients of weights; the rotated key meets none
    assert sequence == 2 * tokens * (2 * sums + again) * 7 // 8


def test_the_fullest_and_the_busiest_stage_may_be_the_first_with_a_mixture():
    plan = parallelism.Plan(data=8, expert=8, pipeline=61, microbatches=61)
    model = replace(models.load("deepseek-v3"), after=[Norm(d=7168, rms=True), Head(d=7168, V=8)])
    for ask in (parallelism.rank_memory, parallelism.traffic):
        assert "stage 3 of 61" in ask(model, plan, batch=8 * 61, seq=4096).assumptions[0]


def test_a_model_written_out_layer_by_layer_is_the_constructed_one():
    for name, style in (("gpt2", "gpt2"), ("qwen3-0.6b", "llama")):
        whole = models.load(name)
        d, V, w = whole.d_model, whole.vocab, whole.head_width
        rms, biased = style == "llama", style == "gpt2"
        norm = Norm(d=d, rms=rms, bias=biased)
        heads = {"h": whole.heads, "g": whole.kv_heads or whole.heads, "w": w, "qk_norm": whole.qk_norm, "rms": rms}
        attention = Attention(d=d, qkv_bias=biased, out_bias=biased, style=style, **heads)
        mlp = MLP(d=d, f=whole.mlp_width, gated=rms, bias=biased, activation=whole.activation, style=style)
        before = [Embedding(d=d, V=V), Rotary(w=w)] if rms else [Embedding(d=d, V=V, positions=whole.context)]
        after = [norm, Head(d=d, V=V, tied=True)]
        model = Model(name, before, [Block(norm, attention, norm, mlp)] * whole.layers, after, whole.context)
        assert model.parameters() == whole.parameters()
        for ask in (flops.forward, flops.training_step, memory.activations, memory.training_peak):
            assert ask(model, 2, 48) == ask(whole, 2, 48)
        assert memory.kv_cache(model, 2, 48) == memory.kv_cache(whole, 2, 48)
        assert parallelism.rank_parameters(model, TENSOR) == parallelism.rank_parameters(whole, TENSOR)


TENSOR = parallelism.Plan(tensor=4)


def test_what_is_not_divided_needs_no_shard():
    model = models.load("mamba2-130m")
    stages = [int(parallelism.rank_parameters(model, parallelism.Plan(pipeline=2), stage)) for stage in (0, 1)]
    assert sum(stages) == int(model.parameters()) + 50288 * 768  # the tied head is a copy
    with pytest.raises(ValueError, match=r"mamba2-130m.*Mamba2 does not say how it is divided"):
        parallelism.rank_parameters(model, parallelism.Plan(tensor=2))


def test_blocks_that_are_equal_count_together_whether_or_not_they_are_one_object():
    def block():
        return Block(Norm(d=8), Attention(d=8, h=2, g=1, w=4), Norm(d=8), MLP(d=8, f=9))

    shared, apart = ([block()] * 3, [block() for _ in range(3)])
    left, right = (Model("m", [Embedding(d=8, V=5)], blocks, [Head(d=8, V=5)], 9) for blocks in (shared, apart))
    assert left.parameters() == right.parameters()
    assert left.parameters().explain() == right.parameters().explain()
    assert len(right.kinds) == 1


class Adapter(Layer):
    sizes = {"d": "model width", "r": "rank"}  # noqa: RUF012

    def parameters(self, active=False):
        return {"adapter": 2 * self.d * self.r}

    def flops(self, x):
        return {"adapter": 4 * x.B * x.T * self.d * self.r}

    def saved(self, x):
        return {"adapter": x.m * x.B * x.T * (self.d + self.r)}

    def cache(self, x):
        return {}


def test_a_layer_of_ones_own_stands_among_others_or_alone():
    gpt2 = models.load("gpt2")
    before, blocks, after = gpt2.parts
    own = Model("adapted", before, [Block(*blocks[0].layers, Adapter(d=768, r=4))] * 12, after, 1024)
    batch, seq, each = 2, 64, 12 * 2 * 768 * 4
    assert int(own.parameters()) - int(gpt2.parameters()) == each
    for ask in (flops.forward, flops.training_step):
        assert (
            int(ask(own, batch, seq)) - int(ask(gpt2, batch, seq))
            == (1 if ask is flops.forward else 3) * 2 * 128 * each
        )
    kept = {again: int(memory.activations(own, batch, seq, recompute=again)) for again in ("none", "full")}
    assert kept["none"] - int(memory.activations(gpt2, batch, seq)) == 12 * 4 * 128 * (768 + 4)
    assert kept["full"] == int(memory.activations(gpt2, batch, seq, recompute="full"))
    assert memory.kv_cache(own, 2, 64) == memory.kv_cache(gpt2, 2, 64)
    alone = Model("alone", [Embedding(d=768, V=9)], [Adapter(d=768, r=4)] * 12, [Head(d=768, V=9)])
    once, twice = (flops.training_step(alone, 1, 8, recompute=again)["adapter"] for again in ("none", "full"))
    assert (once, twice) == (3 * 8 * 2 * each, 4 * 8 * 2 * each)


class Silent(Layer):
    sizes = {"d": "model width"}  # noqa: RUF012


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Attention(d=8, h=2, w=4), ["Attention needs g=", "key heads"]),
        (lambda: Attention(d=8, h=2, g=1, w=4, windows=3), ["Attention knows no windows=", "Did you mean 'window'"]),
        (lambda: Attention(d=8, h=3, g=2, w=4), ["g=2", "h=3"]),
        (lambda: Attention(d=8, h=3, g=1, w=4, window=2.5), ["window=2.5", "whole number"]),
        (lambda: MLP(d=8, f=2.5), ["f=2.5", "whole number"]),
        (lambda: MLP(d=0, f=2), ["d=0", "at least 1"]),
        (lambda: MLP(d=8, f=2, activation="swish"), ["activation='swish'", "silu"]),
        (lambda: Mixture(d=8, f=9, E=2, A=3), ["A=3", "E=2"]),
        (lambda: Model("m", [], ["attention"], []), ["layers=['attention']", "list of layers"]),
        (lambda: Silent(d=3).parameters(), ["Silent does not say", "define parameters"]),
        (lambda: Silent(d=3).flops(None), ["Silent does not say", "define flops"]),
        (lambda: Silent(d=3).cache(None), ["Silent does not say", "define cache"]),
        (lambda: Silent(d=3).saved(base.Inputs(1, 1)), ["Silent does not say", "define saved"]),
        (lambda: Silent(d=3).shard(2, 1), ["Silent does not say", "define shard"]),
        (lambda: flops.forward("mamba2-130m", seq=8, extras=True), ["Mamba2 does not say", "define extras"]),
        (lambda: flops.training_step("mamba2-130m", 1, 8, recompute="selective"), ["'selective'", "mamba2-130m"]),
        (
            lambda: memory.activations("deepseek-v3", seq=8),
            ["deepseek-v3", "LatentAttention does not say what"],
        ),
        (lambda: memory.training_peak("mixtral-8x7b", seq=8), ["mixtral-8x7b", "Mixture does not say"]),
        (lambda: flops.forward(Model("m", [], [], [Head(d=8, V=5)])), ["seq=None", "no context"]),
        (lambda: parallelism.rank_memory("mamba2-130m", parallelism.Plan(), batch=1, seq=8), ["Mamba2 does not say"]),
        (lambda: parallelism.traffic("mamba2-130m", parallelism.Plan(context=2), batch=1, seq=8), ["define passed"]),
        (lambda: models.deepseek("m", **{"layers": 1} | dict.fromkeys(DEEPSEEK, 2)), ["dense_layers=2", "layers=1"]),
    ],
)
def test_what_cannot_be_said_is_refused(call, says, refuses):
    refuses(call, says)


def of_mlps():
    mlp = MLP(d=8, f=9, gated=True, activation="silu", style="llama")
    return Model("of MLPs", [Embedding(d=8, V=5)], [Block(Norm(d=8, rms=True), mlp)], [Norm(d=8), Head(d=8, V=5)])


DEEPSEEK = [name for name in inspect.signature(models.deepseek).parameters if name not in ("name", "layers")]


def test_a_cache_beyond_the_context_warns():
    with pytest.warns(UserWarning, match="tokens=9000 is beyond the context of llama3-8b, 8192 tokens"):
        memory.kv_cache("llama3-8b", tokens=9000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        memory.kv_cache("llama3-8b", tokens=8192)
