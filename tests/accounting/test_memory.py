"""Model state, LoRA, the KV cache and Korthikanti's formula; `test_memory_truth.py` has what PyTorch really does."""

import html
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from course_lib.accounting import memory, models, units
from course_lib.accounting.memory import Recipe, accumulated_peak, activations, kv_cache, model_state, training_peak
from course_lib.accounting.models import Transformer, VisionTransformer

VIT = VisionTransformer("vit-b-16", 12, 768, 12, image=224, patch=16, classes=1000)
GPT2, LLAMA = models.load("gpt2"), models.load("llama3-8b")


# ---------------------------------------------------------------- model state


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_m01_zero_figure_1(stage, gigabytes):
    state = model_state(7.5e9, zero_stage=stage, ranks=64)
    assert round(int(state) / 1e9, 1) == gigabytes


@pytest.mark.parametrize("ranks", [1, 2, 64])
@pytest.mark.parametrize(
    ("recipe", "kept", "shared"),
    [("mixed-adamw-fp32-grads", 4, 16), ("mixed-adamw-4-byte-grads", 6, 12), ("fp32-adamw", 8, 8)],
)
def test_stage_1_is_the_distributed_optimizer_of_megatron(recipe, kept, shared, ranks):
    # NVIDIA/Megatron-LM, README, "Distributed Optimizer": 4 + 16/d for fp16 parameters and gradients, 6 + 12/d for bf16
    # parameters and fp32 gradients, 8 + 8/d for fp32, with d data ranks; without it 20, 18 and 16 (d = 1)
    assert int(model_state(64e6, recipe, zero_stage=1, ranks=ranks)) == 64e6 * (kept + shared / ranks)


def test_m05_seven_billion_in_two_conventions():
    assert int(model_state(7e9, "fp32-adamw")) == int(model_state(7e9, "mixed-adamw")) == 112 * 10**9


@pytest.mark.parametrize(
    ("recipe", "gigabytes"),
    [
        ("bf16-weights-fp32-adam", 10),
        ("mixed-adamw", 16),
        ("mixed-adamw-4-byte-grads", 18),
        ("mixed-adamw-fp32-grads", 20),
    ],
)
def test_m06_conventions_for_one_billion(recipe, gigabytes):
    assert int(model_state(1e9, recipe)) == gigabytes * 10**9


@pytest.mark.parametrize(
    ("recipe", "build"),
    [
        ("fp32-adamw", lambda torch, parameters: torch.optim.AdamW(parameters)),
        ("fp32-sgd", lambda torch, parameters: torch.optim.SGD(parameters, lr=0.1)),
        ("fp32-sgd-momentum", lambda torch, parameters: torch.optim.SGD(parameters, lr=0.1, momentum=0.9)),
    ],
)
def test_recipes_equal_the_bytes_of_a_real_optimizer(recipe, build):
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(31, 17), torch.nn.LayerNorm(17), torch.nn.Linear(17, 5, bias=False))
    optimizer = build(torch, model.parameters())
    model(torch.randn(3, 31)).sum().backward()
    optimizer.step()
    tensors = [*model.parameters(), *(parameter.grad for parameter in model.parameters())]
    for state in optimizer.state.values():
        tensors += [value for name, value in state.items() if name != "step" and value is not None]
    count = sum(parameter.numel() for parameter in model.parameters())
    assert int(model_state(count, recipe)) == sum(tensor.nbytes for tensor in tensors)


def test_adafactor_names_what_a_number_per_parameter_cannot_hold():
    """The real optimizer keeps a row and a column for each matrix; the recipe leaves them out and says so."""
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.randn(40, 30))
    optimizer = torch.optim.Adafactor([weight])
    weight.grad = torch.randn_like(weight)
    optimizer.step()
    kept = sum(value.numel() for name, value in optimizer.state[weight].items() if name != "step")
    assert kept == 40 + 30
    state = model_state(40 * 30, "fp32-adafactor")
    assert int(state) == 8 * 40 * 30
    assert any("n + m numbers" in sentence for sentence in state.omitted)


def blocks_by_hand(params, block):
    """Bytes of `params` 8-bit numbers with an fp32 scale for each block that is full."""
    return params + 4 * (params // block)


def test_eight_bit_states_count_their_scales():
    params = 2048 * 1000
    state = model_state(params, "fp32-adamw-8bit")
    assert state["moment1"] == state["moment2"] == blocks_by_hand(params, 2048)


def test_nf4_weights_take_half_a_byte_and_0_127_bits():
    """QLoRA, section 3: double quantisation leaves 0.127 bits of scales for each parameter."""
    weights = model_state(64 * 256 * 1000, "frozen-nf4")
    bits = Fraction(8 * int(weights), 64 * 256 * 1000)
    assert round(float(bits) - 4, 3) == 0.127
    assert list(weights.parts) == ["weights"]


@given(params=st.integers(1, 10**12), ranks=st.integers(2, 10**4), stage=st.sampled_from([1, 2, 3]))
def test_shares_cover_the_model_and_waste_less_than_a_parameter_a_rank(params, ranks, stage):
    if ranks > params:
        with pytest.raises(ValueError, match="ranks="):
            model_state(params, zero_stage=stage, ranks=ranks)
        return
    whole, share = model_state(params), model_state(params, zero_stage=stage, ranks=ranks)
    for name, value in share.parts.items():
        assert value == whole[name] or whole[name] <= ranks * value < whole[name] + ranks * 4
    assert int(share) <= int(whole)


def test_more_stages_never_hold_more():
    held = [int(model_state(7e9, zero_stage=stage, ranks=8 if stage else 1)) for stage in range(4)]
    assert held == sorted(held, reverse=True)
    assert len(set(held)) == 4


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_one_rank_holds_everything(stage):
    assert model_state(1e9, zero_stage=stage) == model_state(1e9)


def test_offload_moves_parts_to_the_host():
    whole = model_state(1e9)
    state = model_state(1e9, offload=("master", "moment1", "moment2"))
    assert list(state.parts) == ["weights", "grads"]
    assert int(state) + int(state["host"]) == int(whole)
    assert list(model_state(1e9, offload="master")["host"].parts) == ["master"]


def test_every_text_of_an_offloaded_state_says_what_the_host_holds():
    state = model_state(1e9, zero_stage=1, ranks=3, offload=("master", "moment2"))
    for text in (state.explain(), repr(state), state.to_json(), state._repr_html_()):
        assert "host's memory" in html.unescape(text)
        assert text.count("1,333,333,336 B") >= 2  # ⌈1e9/3⌉ · 4
    assert "host" not in repr(model_state(1e9))


def test_every_text_of_a_peak_names_the_largest_phase_and_the_others():
    peak = training_peak(GPT2, seq=64)
    said = peak.assumptions[-1]
    assert said.startswith(f"The largest phase is {peak.phase}")
    assert [name for name, phase in peak.phases.items() if f"{name} {units.format_exact(int(phase))} B" in said] == [
        name for name in peak.phases if name != peak.phase
    ]
    assert said in peak.explain()
    assert said in repr(peak)
    read = json.loads(peak.to_json())
    assert read["phase"] == peak.phase
    assert {name: phase["total"] for name, phase in read["phases"].items()} == {
        name: int(phase) for name, phase in peak.phases.items()
    }
    assert said in read["assumptions"]


@pytest.mark.parametrize("call", [activations, training_peak])
def test_a_model_without_dropout_is_said_to_have_none(call):
    def says(model):
        return any(sentence.startswith("No dropout:") for sentence in call(model, seq=64).assumptions)

    assert says(GPT2)
    assert not says(replace(GPT2, dropout=0.1))


def test_a_breakdown_of_parameters_counts_as_its_total():
    assert model_state(GPT2.parameters()) == model_state(124_439_808)


def test_every_recipe_has_a_name_and_a_source():
    assert {"fp32-adamw", "mixed-adamw", "mixed-adamw-fp32-grads", "frozen-nf4"} <= set(memory.recipes())
    assert all(memory.recipe(name).source for name in memory.recipes())
    assert [memory.recipe(name).total for name in ("fp32-adamw", "bf16-weights-fp32-adam")] == [16, 10]


def test_lora_adapters_equal_real_linear_pairs():
    torch = pytest.importorskip("torch")
    rank = 8
    widths = {"q": (4096, 4096), "k": (4096, 1024), "v": (4096, 1024), "out": (4096, 4096)}
    widths |= {"gate": (4096, 14336), "up": (4096, 14336), "down": (14336, 4096)}
    with torch.device("meta"):
        pairs = [
            (torch.nn.Linear(width_in, rank, bias=False), torch.nn.Linear(rank, width_out, bias=False))
            for _ in range(LLAMA.layers)
            for width_in, width_out in widths.values()
        ]
    real = sum(parameter.numel() for pair in pairs for module in pair for parameter in module.parameters())
    adapters = memory.lora_parameters(LLAMA, rank, targets=tuple(widths))
    assert int(adapters) == real
    assert adapters.unit == "parameters"


def test_qlora_state_adds_up():
    adapters = memory.lora_parameters(LLAMA, 16)
    state = model_state(LLAMA.parameters(), "frozen-nf4") + model_state(adapters, "mixed-adamw")
    assert state["moment1"] == 4 * int(adapters)
    assert int(state) < int(model_state(LLAMA.parameters(), "frozen-bf16"))


# ---------------------------------------------------------------- activations by formula


def test_m08_the_attention_term_of_korthikanti():
    """5as/h of GPT-3 (96 heads, 2048 tokens, width 12288) is 80; of MT-NLG (128 heads, width 20480) 64."""
    mt_nlg = Transformer("mt-nlg", layers=105, d_model=20480, heads=128, vocab=51200, context=2048)
    for model, ratio in ((models.load("gpt3-175b"), 80), (mt_nlg, 64)):
        layers = [
            activations(model, batch=1, seq=2048, convention="megatron", recompute=recompute)["layer"]
            for recompute in ("none", "selective")
        ]
        assert int(layers[0]) - int(layers[1]) == ratio * 2048 * model.d_model


def test_m10_gpt3_activations():
    counted = activations(models.load("gpt3-175b"), batch=1, seq=2048, convention="megatron")
    assert round(int(counted["layer"]) / 1e9, 3) == 2.869
    assert round(int(counted) / 1e9, 1) == 275.4


def test_korthikanti_full_recompute_keeps_two_bytes_of_each_input():
    counted = activations(GPT2, batch=4, seq=512, convention="megatron", recompute="full")
    assert int(counted) == 12 * 2 * 4 * 512 * 768


def test_llm_c_allocates_what_a_fused_loss_keeps():
    """GPT-2 124M by llm.c on an A800, batch 56: its log says 18,564 MiB for activations (-r 1: GELU recomputed)."""
    model, b, d, layers = Transformer("llm.c", 12, 768, 12, 50304, 1024), 56 * 1024, 768, 12
    # train_gpt2.cu, ActivationTensors: numbers of 2 bytes, of 4. ln1, ln2, atty, 2 residuals, 4 d of fch, 3 d of qkvr;
    # mean and deviation of two norms, a log-sum-exp a head
    per_layer = 12 * b * d, b * (4 + 12)
    # encoded, lnf, GELU, two scratches, logits; mean and deviation of lnf, losses
    once = b * (d + d + 4 * d + 4 * d + d + 50304), 3 * b
    table = 2 * (layers * per_layer[0] + once[0]) + 4 * (layers * per_layer[1] + once[1])
    assert int(table / 2**20) == 18_564
    counted = activations(model, 56, precision="bf16", attention="sdpa", fused_loss=True)
    gelu_again, scratch = 2 * (layers - 1) * b * 4 * d, 2 * b * 5 * d
    assert int(counted) - gelu_again + scratch == pytest.approx(table, rel=5e-4)
    kept_twice = int(activations(model, 56, precision="bf16", attention="sdpa")) + 2 * b * 50304
    assert kept_twice - int(counted) == pytest.approx(4 * b * 50304, rel=1e-3)  # log-probabilities in fp32


def test_activations_are_linear_in_the_batch_up_to_what_is_shared():
    two, three, four = (int(activations(LLAMA, batch=batch, seq=1024)) for batch in (2, 3, 4))
    assert four - three == three - two
    assert 2 * two > four  # rotation and the label's weight are there once


@given(batch=st.integers(1, 64), seq=st.integers(1, 1024), recompute=st.sampled_from(["selective", "full"]))
def test_recompute_never_keeps_more_than_it_drops(batch, seq, recompute):
    kept = activations(GPT2, batch=batch, seq=seq, precision="amp-bf16", recompute=recompute)
    mask = 4 * batch * seq * seq  # eager attention holds its mask for the second run
    assert int(kept) <= int(activations(GPT2, batch=batch, seq=seq, precision="amp-bf16")) + mask


@given(batch=st.integers(1, 32), seq=st.integers(1, 512), precision=st.sampled_from(["fp32", "bf16", "amp-bf16"]))
def test_the_peak_is_the_largest_phase_and_grows_with_the_batch(batch, seq, precision):
    peak = training_peak(GPT2, batch=batch, seq=seq, precision=precision)
    assert int(peak) == max(map(int, peak.phases.values())) == int(peak.phases[peak.phase])
    assert int(training_peak(GPT2, batch=batch + 1, seq=seq, precision=precision)) >= int(peak)


@given(
    batch=st.sampled_from([1, 6, 12]),
    seq=st.integers(1, 512),
    recompute=st.sampled_from(["none", "full"]),
    optimizer=st.sampled_from(["adamw", "sgd"]),
)
def test_parts_need_what_one_needs_and_at_most_all_gradients_more(batch, seq, recompute, optimizer):
    how = {"seq": seq, "recompute": recompute, "optimizer": optimizer}
    assert accumulated_peak(GPT2, batch, 1, **how).phases == training_peak(GPT2, batch, **how).phases
    alone, all_gradients = int(training_peak(GPT2, 1, **how)), 4 * int(GPT2.parameters())
    if batch > 1:
        assert alone <= int(accumulated_peak(GPT2, batch, batch, **how)) <= alone + all_gradients


@pytest.mark.parametrize("parts", [0, 5, 1.5])
def test_parts_that_cut_no_equal_pieces_are_refused(parts):
    with pytest.raises(ValueError, match=f"parts={parts}"):
        accumulated_peak(GPT2, batch=12, parts=parts, seq=8)


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt2-xl", "llama2-7b", "llama3-8b", "qwen2-0.5b", "qwen3-0.6b", "mistral-7b"]
)
def test_weights_and_gradients_of_a_step_are_all_parameters(name):
    model = models.load(name)
    phases = training_peak(model, batch=1, seq=64, precision="amp-bf16").phases
    assert phases["optimizer"]["weights"] == phases["optimizer"]["gradients"] == 4 * int(model.parameters())
    assert int(phases["optimizer"]) == int(model_state(model.parameters(), "fp32-adamw")) + sum(
        phases["optimizer"][part] for part in ("inputs", "logits", "temporaries")
    )


# ---------------------------------------------------------------- the KV cache


@pytest.mark.parametrize(
    ("model", "dtype", "per_token"),
    [
        ("llama3-8b", "bf16", 131_072),
        ("llama3-70b", "int8", 163_840),
        ("llama3-70b", "bf16", 327_680),
        ("llama2-13b", "bf16", 819_200),
    ],
)
def test_i01_kv_cache_of_one_token(model, dtype, per_token):
    assert int(kv_cache(models.load(model), batch=1, tokens=1, dtype=dtype)) == per_token


def test_i01_opt_13b():
    opt = Transformer("opt-13b", layers=40, d_model=5120, heads=40, vocab=50272, context=2048)
    assert int(kv_cache(opt, batch=1, tokens=1, dtype="fp16")) == 819_200


def test_i02_llama3_8b():
    assert round(int(kv_cache(LLAMA, batch=1, tokens=1024)) / 1e6) == 134
    assert round(int(kv_cache(LLAMA, batch=128, tokens=1024)) / 1e9, 1) == 17.2


@given(tokens=st.integers(1, 5000), page=st.integers(1, 300), batch=st.integers(1, 9))
def test_pages_hold_the_cache_and_waste_less_than_one_each(tokens, page, batch):
    cache, paged = kv_cache(LLAMA, batch=batch, tokens=tokens), kv_cache(LLAMA, batch, tokens, page_tokens=page)
    pages = 0
    while pages * page < tokens:  # hand out pages until the tokens of one sequence fit
        pages += 1
    assert int(paged) == int(kv_cache(LLAMA, batch=batch, tokens=pages * page))
    assert int(paged) - paged["waste"] == int(cache)


@given(tokens=st.integers(1, 600), page=st.integers(1, 40), window=st.integers(1, 500), layers=st.integers(1, 32))
def test_windows_keep_pages_of_at_most_so_many_tokens(tokens, page, window, layers):
    """Handed out token by token, layer by layer."""
    model = replace(LLAMA, window=window, window_layers=layers)
    kept = taken = 0
    for layer in range(LLAMA.layers):
        held = [at for at in range(tokens) if layer >= layers or at >= tokens - window]
        kept += len(held)
        taken += page * len({at // page for at in range(len(held))})
    cache, paged = kv_cache(model, tokens=tokens), kv_cache(model, tokens=tokens, page_tokens=page)
    assert int(cache) == kept * int(kv_cache(replace(LLAMA, layers=1), tokens=1))
    assert cache["keys"] == cache["values"] == paged["keys"]
    assert int(paged) == taken * int(kv_cache(replace(LLAMA, layers=1), tokens=1))
    assert any("sliding window" in sentence for sentence in cache.assumptions) == (window < tokens)


def test_a_cache_of_blocks_counts_their_scales():
    assert int(kv_cache(LLAMA, tokens=64, dtype="mxfp8")) * 32 == int(kv_cache(LLAMA, tokens=64, dtype="int8")) * 33


# ---------------------------------------------------------------- errors teach


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: model_state(7.5), ["params=7.5", "whole number"]),
        (lambda: model_state(0), ["params=0", "at least 1"]),
        (lambda: model_state(1e9, "mixed-adam"), ["recipe='mixed-adam'", "Did you mean 'mixed-adamw'"]),
        (lambda: model_state(1e9, zero_stage=4), ["zero_stage=4", "0 (none), 1, 2 or 3"]),
        (lambda: model_state(GPT2), ["params=Transformer 'gpt2'", "model.parameters()"]),
        (lambda: model_state(10, Recipe(0, 0)), ["Recipe", "0 bytes per parameter", "weights"]),
        (lambda: model_state(1e9, offload=None), ["offload=None", "moment1"]),
        (lambda: model_state(1e9, offload=1), ["offload=1", "moment1"]),
        (lambda: model_state(1e9, "fp32-sgd", offload="master"), ["'master'", "weights, grads."]),
        (lambda: memory.lora_parameters(LLAMA, 8, None), ["targets=None", "'q'"]),
        (lambda: memory.lora_parameters(VIT, 8), ["model=VisionTransformer 'vit-b-16' must"]),
        (lambda: kv_cache(VIT), ["model=VisionTransformer 'vit-b-16' must"]),
        (lambda: activations(models.load("resnet-50"), precision="bf16"), ["model=ConvNet 'resnet-50':", "in fp32"]),
        (lambda: training_peak(models.load("resnet-50")), ["model='resnet-50'", "no blocks"]),
        (lambda: activations(VIT, convention="megatron"), ["model=VisionTransformer 'vit-b-16' is none"]),
        (lambda: activations(GPT2, precision=0), ["precision=0", "fp32"]),
        (lambda: activations(GPT2, precision=[]), ["precision=[]", "fp32"]),
        (lambda: training_peak(GPT2, foreach=1), ["foreach=1", "True or False"]),
        (lambda: model_state(10, zero_stage=1, ranks=11), ["ranks=11", "params=10"]),
        (lambda: model_state(1e9, offload="momentum"), ["offload='momentum'", "moment1"]),
        (lambda: model_state(1e9, "frozen-bf16", offload="weights"), ["leaves nothing on the device"]),
        (lambda: model_state(model_state(1e9)), ["params is in B", "model.parameters()"]),
        (lambda: Recipe(weights=16, grads=2), ["weights=16", "bytes per parameter", "bf16 takes 2"]),
        (lambda: Recipe(weights=0.5, grads=2), ["weights=0.5", "Fraction(1, 2)"]),
        (lambda: Recipe(weights=2, grads=None), ["grads=None", "finite number"]),
        (lambda: activations(GPT2, seq=2048, convention="megatron"), ["seq=2048", "context=1024"]),
        (lambda: memory.lora_parameters(LLAMA, 8, ("query",)), ["targets='query'", "q, k, v, out"]),
        (lambda: memory.lora_parameters(GPT2, 8, "gate"), ["'gate'", "gpt2", "up, down"]),
        (lambda: memory.lora_parameters(LLAMA, 2000), ["rank=2000", "1024"]),
        (
            lambda: memory.lora_parameters(models.load("mixtral-8x7b"), 8, "up"),
            ["'up'", "mixtral-8x7b", "it has q, k, v, out."],
        ),
        (lambda: memory.lora_parameters(LLAMA, 8, ()), ["targets=()", "at least one"]),
        (lambda: activations(GPT2, batch=0), ["batch=0"]),
        (lambda: activations(GPT2, seq=2048), ["seq=2048", "context=1024", "gpt2"]),
        (lambda: activations(GPT2, precision="bf-16"), ["precision='bf-16'", "Did you mean 'bf16'"]),
        (lambda: activations(GPT2, attention="flash"), ["attention='flash'", "eager, sdpa"]),
        (lambda: activations(GPT2, recompute="ful"), ["recompute='ful'", "Did you mean 'full'"]),
        (lambda: activations(GPT2, convention="nemo"), ["convention='nemo'", "torch, megatron"]),
        (lambda: activations(GPT2, image=224), ["image=224", "seq="]),
        (lambda: activations("gpt-2"), ["model='gpt-2'", "gpt2"]),
        (lambda: activations("bert-base", seq=8), ["bert-base", "GPT-2", "Llama", "VisionTransformer"]),
        (lambda: activations(models.load("mixtral-8x7b"), seq=8), ["mixtral-8x7b", "how a model is written"]),
        (lambda: activations(replace(GPT2, kv_heads=4)), ["gpt2", "how a model is written"]),
        (lambda: activations(GPT2, convention="megatron", precision="fp32"), ["precision='fp32'", "2 bytes"]),
        (lambda: activations(GPT2, convention="megatron", attention="sdpa"), ["attention='sdpa'", "megatron"]),
        (lambda: activations(VIT, seq=197), ["seq=197", "vit-b-16", "images"]),
        (lambda: activations(VIT, image=384), ["image=384", "dataclasses.replace"]),
        (lambda: activations(VIT, image=(112, 448)), ["image=(112, 448)", "224"]),
        (lambda: training_peak(GPT2, optimizer="adam"), ["optimizer='adam'", "Did you mean 'adamw'"]),
        (lambda: kv_cache(GPT2, tokens=4096), ["tokens=4096", "context=1024"]),
        (lambda: kv_cache(VIT, tokens=8), ["models.Transformer", "decoder"]),
        (lambda: kv_cache(LLAMA, tokens=8, page_tokens=0), ["page_tokens=0"]),
        (lambda: kv_cache(LLAMA, tokens=8, dtype="bf61"), ["dtype='bf61'", "bf16"]),
    ],
)
def test_the_message_names_argument_value_and_remedy(call, says, refuses):
    refuses(call, says)
