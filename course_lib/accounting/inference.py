"""Inference: how long a decode step and a prefill take at best, and what speculative decoding gains.

The two phases as in Pope et al., "Efficiently scaling transformer inference", MLSys 2023. All devices share weights,
cache and work evenly.
"""

from dataclasses import dataclass

from course_lib.accounting import economics, hardware, memory, models, precision, units
from course_lib.accounting import flops as _flops
from course_lib.accounting.explained import Explained
from course_lib.accounting.quantity import largest, symbol

_COMMUNICATION = "Communication between devices."


@dataclass(frozen=True, repr=False)
class Decode(Explained):
    """One decode step: the next token of every sequence in the batch; made by `decode_step`."""

    seconds: float
    tokens_per_second: float  # of the whole batch
    weight_bytes: int
    kv_bytes: int
    bound: str  # "compute" or "memory": which of the two takes most of the step
    fits: bool  # whether weights, keys and values fit into the memory of the devices


@dataclass(frozen=True, repr=False)
class Prefill(Explained):
    """The forward pass over the prompts; made by `prefill`."""

    seconds: float
    tokens_per_second: float  # of prompt
    flops: int


def decode_step(
    model, *, batch, context, device, devices=1, weight_dtype="bf16", kv_dtype="bf16", compute_dtype="bf16"
) -> Decode:
    """The time of one decode step for `batch` sequences, each with `context` tokens in the cache.

    seconds = kv_bytes/(n·W) + max(weight_bytes/(n·W), 2·batch·active parameters/(n·peak)): attention waits for the keys
    and values of every sequence; the matrix products read all weights once, embedding included, and compute meanwhile.
    Mixtures read every expert and compute with the active ones.
    """
    device, model = hardware.resolve(device), models.resolve(model, decodes=True)
    context, count = model.length(context, "context"), units.count(devices, "devices")
    B, n = symbol("B", units.count(batch, "batch"), "sequences in the batch"), symbol("n", count, "devices")
    M = symbol("M", int(model.parameters()), "parameters")
    N = symbol("N", int(model.parameters(active=True)), "parameters that one token meets")
    weight_bytes = symbol("weight_bytes", precision.stored(M, precision.normalise(weight_dtype, "weight_dtype")))
    cache = memory.kv_cache(model, batch, context, precision.normalise(kv_dtype, "kv_dtype"))
    kv_bytes = symbol("kv_bytes", cache.quantity)
    P = symbol("P", device.peak(compute_dtype), "peak of one device in FLOP/s")
    W = symbol("W", device.memory_bandwidth, "memory bandwidth of one device in B/s")
    reading_kv, reading_weights, computing = kv_bytes / (n * W), weight_bytes / (n * W), 2 * B * N / (n * P)
    seconds = symbol("seconds", reading_kv + largest(reading_weights, computing))
    mixture = (
        ("That a small batch of a mixture touches only some of its experts: all are read here.",)
        if N.value < M.value
        else ()
    )
    return Decode(
        seconds=seconds,
        tokens_per_second=B / seconds,
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        bound="compute" if computing >= largest(reading_weights, reading_kv) else "memory",
        fits=weight_bytes.value + kv_bytes.value <= count * device.memory_capacity,
        assumptions=(
            "Every device holds and does an equal share, all at data-sheet rate.",
            "The matrix products overlap with reading the weights; attention only reads keys and values.",
            "`bound` names what takes most of the step; `fits` holds weights, keys and values against the memory.",
        ),
        omitted=(
            _COMMUNICATION,
            "The FLOP of attention scores and values, the framework calls and sampling.",
            "Activations, which `fits` does not count either.",
            *mixture,
        ),
    )


def prefill(model, *, batch, tokens, device, devices=1, mfu, compute_dtype="bf16") -> Prefill:
    """The time to first token for `batch` prompts of `tokens` tokens: forward FLOP over n · peak · mfu.

    mfu: the share of the peak that is reached, in (0, 1]; a prompt is long enough for compute to be the limit.
    """
    device, model = hardware.resolve(device), models.resolve(model, decodes=True)
    tokens, batch = model.length(tokens, "tokens"), units.count(batch, "batch")
    work = int(_flops.forward(model, batch, tokens))
    economics.training_seconds(work, device=device, devices=devices, mfu=mfu, dtype=compute_dtype)  # checks its inputs
    flops = symbol("flops", work, "FLOP of the forward pass, as `flops.forward` counts them")
    B, T = symbol("B", batch, "sequences in the batch"), symbol("T", tokens, "tokens of each prompt")
    n, P = symbol("n", int(devices), "devices"), symbol("P", device.peak(compute_dtype), "peak of one device in FLOP/s")
    u = symbol("u", float(mfu), "share of the peak that is reached: mfu")
    seconds = symbol("seconds", flops / (n * P * u))
    return Prefill(
        seconds=seconds,
        tokens_per_second=B * T / seconds,
        flops=work,
        assumptions=(
            "Compute is the limit: a short prompt waits for the weights instead.",
            "All T·T pairs of scores and values count, and the head runs at every position.",
        ),
        omitted=(_COMMUNICATION, "Waiting in a queue, and the framework calls."),
    )


def speculative_speedup(*, acceptance, draft_tokens, cost_ratio) -> float:
    """How many times faster speculative decoding is than plain decoding, in the mean.

    A draft model proposes `draft_tokens` (γ) tokens, each accepted with probability `acceptance` (α) if all before it
    were; the large model checks them in one step and adds one token of its own. A round gives 1 + α + … + α^γ tokens
    and costs γ·cost_ratio + 1 steps of the large model (Leviathan, Kalman, Matias, ICML 2023, theorem 3.8).

    cost_ratio: time of a step of the draft over that of the large model. Checking γ + 1 tokens is taken to cost as much
    as one: true while decoding waits for memory.
    """
    accepted = units.fraction(acceptance, "acceptance")
    drafted = units.count(draft_tokens, "draft_tokens", minimum=0)
    cost = units.fraction(cost_ratio, "cost_ratio")
    tokens = drafted + 1 if accepted == 1 else (1 - accepted ** (drafted + 1)) / (1 - accepted)
    return tokens / (drafted * cost + 1)


units.teach(globals())
