"""Inference: how long a decode step and a prefill take at best, and what speculative decoding gains.

The two phases as in Pope et al., "Efficiently scaling transformer inference", MLSys 2023. All devices share weights,
cache and work evenly.
"""

from dataclasses import dataclass

from course_lib.accounting import economics, hardware, memory, precision, units
from course_lib.accounting import flops as _flops
from course_lib.accounting.explained import Explained
from course_lib.accounting.models import Transformer

_SYMBOLS = {
    "B": "sequences in the batch",
    "T": "tokens of each prompt",
    "C": "tokens of each sequence in the cache",
    "L": "layers",
    "k": "width of all key heads, and of all value heads",
    "s": "layers with a sliding window",
    "w": "tokens that such a layer looks back on",
    "M": "parameters",
    "N": "parameters that one token meets",
    "flops": "FLOP of the forward pass, as `flops.forward` counts them",
    "n": "devices",
    "W": "memory bandwidth of one device in B/s",
    "P": "peak of one device in FLOP/s",
    "u": "share of the peak that is reached: mfu",
}
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
    device, context = hardware.resolve(device), _positions(model, context, "context")
    batch, devices = units.count(batch, "batch"), units.count(devices, "devices")
    weight_dtype = precision.normalise(weight_dtype, "weight_dtype")
    kv_dtype = precision.normalise(kv_dtype, "kv_dtype")
    parameters, active = int(model.parameters()), int(model.parameters(active=True))
    weight_bytes = precision.nbytes(parameters, weight_dtype)
    kv_bytes = int(memory.kv_cache(model, batch=batch, tokens=context, dtype=kv_dtype))
    peak, bandwidth = device.peak(compute_dtype), device.memory_bandwidth
    reading_kv, reading_weights = kv_bytes / (devices * bandwidth), weight_bytes / (devices * bandwidth)
    computing = 2 * batch * active / (devices * peak)
    seconds = reading_kv + max(reading_weights, computing)
    mixture = (
        ("That a small batch of a mixture touches only some of its experts: all are read here.",)
        if model.experts > 1
        else ()
    )
    return Decode(
        seconds=seconds,
        tokens_per_second=batch / seconds,
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        bound="compute" if computing >= max(reading_weights, reading_kv) else "memory",
        fits=weight_bytes + kv_bytes <= devices * device.memory_capacity,
        derivation=(
            ("weight_bytes", f"ceil(M·{precision.bytes_per_element(weight_dtype)})", "B"),
            ("kv_bytes", _kv_formula(model, precision.bytes_per_element(kv_dtype)), "B"),
            ("seconds", "kv_bytes/(n·W) + max(weight_bytes/(n·W), 2·B·N/(n·P))", "s"),
            ("tokens_per_second", "B/seconds", "tokens/s"),
        ),
        values={
            "B": batch,
            "C": context,
            "L": model.layers,
            "k": model.kv_width,
            "s": model.window_layers,
            "w": model.window or 0,
            "M": parameters,
            "N": active,
            "weight_bytes": weight_bytes,
            "kv_bytes": kv_bytes,
            "n": devices,
            "W": bandwidth,
            "P": peak,
            "seconds": seconds,
        },
        symbols=_SYMBOLS,
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
    device, tokens = hardware.resolve(device), _positions(model, tokens, "tokens")
    batch = units.count(batch, "batch")
    work = int(_flops.forward(model, batch, tokens))
    seconds = economics.training_seconds(work, device=device, devices=devices, mfu=mfu, dtype=compute_dtype)
    return Prefill(
        seconds=seconds,
        tokens_per_second=batch * tokens / seconds,
        flops=work,
        derivation=(
            ("seconds", "flops/(n·P·u)", "s"),
            ("tokens_per_second", "B·T/seconds", "tokens/s"),
            ("flops", "", "FLOP"),
        ),
        values={
            "B": batch,
            "T": tokens,
            "n": units.count(devices, "devices"),
            "P": device.peak(compute_dtype),
            "u": float(mfu),
            "flops": work,
            "seconds": seconds,
        },
        symbols=_SYMBOLS,
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


def _kv_formula(model, each) -> str:
    """Bytes of keys and values; a layer with a sliding window keeps no more than its window."""
    if model.window:
        return f"ceil(2·k·B·((L - s)·C + s·min(C, w))·{each})"
    return f"ceil(2·L·k·B·C·{each})"


def _positions(model, value, name: str) -> int:
    """`value` as a number of tokens that `model` has positions for."""
    if not isinstance(model, Transformer):
        raise ValueError(f"model={units.shortly(model)} must be a models.Transformer: only a language model decodes.")
    tokens = units.count(value, name)
    if model.positions == "learned" and tokens > model.context:
        raise ValueError(f"{name}={tokens} is more than the {model.context} positions that {model.name} has learned.")
    return tokens
