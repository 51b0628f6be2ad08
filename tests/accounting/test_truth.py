"""FLOPs and parameters against the real thing: transformers classes on the meta device, counted by torch itself.

The configurations are written out here, in the words of transformers, and not read from the library under test.
"""

import pytest

from course_lib.accounting import flops, models

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


# name -> (config class, model class, arguments), as in each model's published config.json
CONFIGS = {
    "gpt2": gpt2(12, 768, 12),
    "gpt2-medium": gpt2(24, 1024, 16),
    "gpt2-large": gpt2(36, 1280, 20),
    "gpt2-xl": gpt2(48, 1600, 25),
    "llama2-7b": llama_like("Llama", 32, 4096, 32, 32, 11008, 32000),
    "llama3-8b": llama_like("Llama", 32, 4096, 32, 8, 14336, 128256),
    "mistral-7b": llama_like("Mistral", 32, 4096, 32, 8, 14336, 32000),
    "qwen2-0.5b": llama_like("Qwen2", 24, 896, 14, 2, 4864, 151936, tied=True),
    "qwen2-7b": llama_like("Qwen2", 28, 3584, 28, 4, 18944, 152064),
    "qwen3-0.6b": llama_like("Qwen3", 28, 1024, 16, 8, 3072, 151936, tied=True, head_dim=128),
    "qwen3-8b": llama_like("Qwen3", 36, 4096, 32, 8, 12288, 151936, head_dim=128),
}
# too slow or not possible to run on meta tensors: the parameters only
PARAMETERS_ONLY = {
    "llama2-13b": llama_like("Llama", 40, 5120, 40, 40, 13824, 32000),
    "llama3-70b": llama_like("Llama", 80, 8192, 64, 8, 28672, 128256),
    "mixtral-8x7b": llama_like("Mixtral", 32, 4096, 32, 8, 14336, 32000, num_local_experts=8, num_experts_per_tok=2),
}


def build(name):
    import transformers

    config_class, model_class, arguments = (CONFIGS | PARAMETERS_ONLY)[name]
    config = getattr(transformers, config_class)(**arguments, attn_implementation="eager", use_cache=False)
    with torch.device("meta"):
        return getattr(transformers, model_class)(config)


@pytest.mark.parametrize("name", CONFIGS)
def test_flops_and_parameters_equal_the_real_model(name):
    from torch.utils.flop_counter import FlopCounterMode

    real, ours = build(name), models.load(name)
    assert int(ours.parameters()) == sum(p.numel() for p in real.parameters())

    tokens = torch.ones(BATCH, SEQ, dtype=torch.long, device="meta")
    mask = torch.ones(BATCH, SEQ, device="meta")  # without it transformers asks meta tensors for their values
    with FlopCounterMode(display=False) as counter:
        logits = real(input_ids=tokens, attention_mask=mask).logits
    assert int(flops.forward(ours, batch=BATCH, seq=SEQ)) == counter.get_total_flops()

    with FlopCounterMode(display=False) as backward_counter:
        logits.sum().backward()
    step = counter.get_total_flops() + backward_counter.get_total_flops()
    assert int(flops.training_step(ours, BATCH, SEQ)) == step


@pytest.mark.parametrize("name", PARAMETERS_ONLY)
def test_parameters_equal_the_real_model(name):
    assert int(models.load(name).parameters()) == sum(p.numel() for p in build(name).parameters())


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


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing_enable`:FutureWarning")
def test_full_recompute_equals_a_real_checkpointed_step():
    """One more forward of every block and nothing else, measured with reentrant checkpointing on the real GPT-2."""
    from torch.utils.flop_counter import FlopCounterMode

    real = build("gpt2").train()
    real.gradient_checkpointing_enable({"use_reentrant": True})
    real.enable_input_require_grads()  # reentrant checkpointing needs an input with a gradient
    tokens = torch.ones(BATCH, SEQ, dtype=torch.long, device="meta")
    with FlopCounterMode(display=False) as counter:
        real(input_ids=tokens, attention_mask=torch.ones(BATCH, SEQ, device="meta")).logits.sum().backward()
    counted = flops.training_step(models.load("gpt2"), BATCH, SEQ, recompute="full")
    assert int(counted) == counter.get_total_flops()
