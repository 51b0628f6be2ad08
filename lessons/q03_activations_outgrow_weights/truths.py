"""The truth of each prediction card of Q3, computed when a learner reveals it."""

from dataclasses import replace

from course_lib.accounting import flops, hardware, memory, models

BATCH, SEQ = 16, 1024  # the step that the lesson follows: GPT-2 small in fp32
GPT2 = models.load("gpt2")


def _saved(model=GPT2, **how) -> int:
    return int(memory.activations(model, batch=BATCH, seq=SEQ, **how))


def saved_bytes() -> float:
    return _saved() / 1e9


def tokens_until() -> int:
    """By trying one token more each time."""
    weights = 4 * int(GPT2.parameters())
    lengths = range(1, GPT2.context + 1)
    return next(t for t in lengths if int(memory.activations(GPT2, batch=1, seq=t, attention="sdpa")) > weights)


def gelu() -> float:
    return (_saved() - _saved(replace(GPT2, activation="gelu"))) / 1e9


def dropout() -> float:
    return _saved(replace(GPT2, dropout=0.1)) / _saved()


def recompute_cost() -> float:
    plain, full = (int(flops.training_step(GPT2, batch=BATCH, seq=SEQ, recompute=how)) for how in ("none", "full"))
    return full / plain


def kv_cache(model: str, layers: int, kv_heads: int, sequences: int, tokens: int, half: str, one: str) -> float:
    """half, one: what two slips come to, which the card's text names."""
    known = models.load(model)
    assert (known.layers, known.kv_heads or known.heads, known.head_width) == (layers, kv_heads, 128)
    size = int(memory.kv_cache(known, batch=sequences, tokens=tokens)) / 1e9
    assert abs(float(half) * 2 / size - 1) < 0.01
    assert abs(float(one) * sequences / size - 1) < 0.01
    return size


def context_that_fits() -> int:
    model, users = models.load("llama2-7b"), 32
    card, each = hardware.load("h100-sxm"), users * int(memory.kv_cache(model, batch=1, tokens=1))
    as_sold, reported = (
        (size - 2 * int(model.parameters())) // each for size in (card.nominal_memory, card.memory_capacity)
    )
    assert reported == 4294  # the card's text names it
    return as_sold


def opt_on_paper() -> float:
    """A GPT-2 of its sizes: the block is the same but for the ReLU.

    Without the statistics of two norms, two numbers of 2 bytes each, and of fused attention, 4 bytes a head.
    """
    opt = models.load("opt-1.3b")
    alike = replace(GPT2, layers=opt.layers, d_model=opt.d_model, heads=opt.heads, activation=opt.activation)
    layer = memory.activations(alike, batch=8, seq=1024, precision="bf16", attention="sdpa")["layer"]
    statistics = 8 * 1024 * (2 * 2 * 2 + 4 * opt.heads)
    return alike.layers * (int(layer) - statistics) / 1e9
