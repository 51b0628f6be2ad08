"""Inference: how long a decode step and a prefill take at best, and what speculative decoding gains.

The two phases as in Pope et al., "Efficiently scaling transformer inference", MLSys 2023.
"""

from bisect import bisect_left
from dataclasses import dataclass

from course_lib.accounting import communication, economics, hardware, memory, models, precision, units
from course_lib.accounting import flops as _flops
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import largest, of, symbol, total

_COMMUNICATION = "Communication between devices."
_SPLITS = {  # how devices share a model -> what that assumes
    "tensor": "Every device holds and does an equal share, all at data-sheet rate.",
    "layers": "Every device holds an equal share of the layers, and one works at a time: a token passes all of them.",
}


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
    model,
    *,
    batch,
    context,
    device,
    devices=1,
    weight_dtype="bf16",
    kv_dtype="bf16",
    compute_dtype="bf16",
    reads="touched",
    split="tensor",
    link=None,
    link_latency=0.0,
    algorithm="ring",
) -> Decode:
    """The time of one decode step for `batch` sequences, each with `context` tokens in the cache.

    seconds = kv_bytes/(n·W) + max(weight_bytes/(n·W), 2·batch·active parameters/(n·peak)): attention waits for the keys
    and values of every sequence; the matrix products read their weights once and compute meanwhile.

    reads: "touched" reads of the E experts of a mixture those that the batch touches, E·(1 − (1 − k/E)^batch) in the
    mean if the router prefers none (k at batch 1), and of tables that are looked up one row a sequence (a tied
    embedding is read whole, by the head); "all" reads every weight. `fits` counts all weights either way.
    split: "tensor" shares every matrix among the devices; "layers" gives each its layers, and a token passes one device
    after the other, so n in the formula is 1. link: B/s of one device, one way, such as `device.link("nvlink")`; with
    it the step has the devices' messages, whose steps take `link_latency` seconds each: two all-reduces a layer of
    batch·d 16-bit numbers (Shoeybi et al., Megatron-LM, 2019; `algorithm` as in `communication`), or n − 1 hand-overs.
    """
    device, model = hardware.resolve(device), models.resolve(model, decodes=True)
    context, count = model.length(context, "context"), units.count(devices, "devices")
    units.choice(reads, "reads", ("touched", "all"))
    x = model.inputs(batch, context)
    at_once = count if units.choice(split, "split", _SPLITS) == "tensor" else 1
    B, n = x.B, symbol("n", at_once, "devices that work at a time")
    M = symbol("M", int(model.parameters()), "parameters")
    N = symbol("N", int(model.parameters(active=True)), "parameters that one token meets")
    touched = total(model.collect(lambda layer: layer.touched(x)).values())
    R = M if reads == "all" else symbol("R", touched, "parameters that a step reads")
    weight_dtype = precision.normalise(weight_dtype, "weight_dtype")
    weight_bytes = symbol("weight_bytes", precision.stored(R, weight_dtype))
    cache = memory.kv_cache(model, batch, context, precision.normalise(kv_dtype, "kv_dtype"))
    kv_bytes = symbol("kv_bytes", cache.quantity)
    P = symbol("P", device.peak(compute_dtype), "peak of one device in FLOP/s")
    W = symbol("W", device.memory_bandwidth, "memory bandwidth of one device in B/s")
    reading_kv, reading_weights, computing = kv_bytes / (n * W), weight_bytes / (n * W), 2 * B * N / (n * P)
    sent = _sent(model, x, count, split, link, link_latency, algorithm)
    seconds = symbol("seconds", reading_kv + largest(reading_weights, computing) + sent)
    mixture = N.value < M.value
    routed = ("Uniform routing: every expert is equally likely, for each token on its own.",)
    all_read = ("That a small batch of a mixture touches only some of its experts: all are read here.",)
    return Decode(
        seconds=seconds,
        tokens_per_second=B / seconds,
        weight_bytes=weight_bytes,
        kv_bytes=kv_bytes,
        bound="compute" if computing >= largest(reading_weights, reading_kv) else "memory",
        fits=precision.stored(M, weight_dtype).value + kv_bytes.value <= count * device.memory_capacity,
        assumptions=(
            _SPLITS[split],
            "The matrix products overlap with reading the weights; attention only reads keys and values.",
            "`bound` names what takes most of the step; `fits` holds weights, keys and values against the memory.",
            *(routed if mixture and reads == "touched" else ()),
        ),
        omitted=(
            _COMMUNICATION if link is None else "Messages at the embedding and at the head.",
            "The FLOP of attention scores and values, the framework calls and sampling.",
            "Activations, which `fits` does not count either.",
            *(all_read if mixture and reads == "all" else ()),
        ),
    )


def _sent(model, x, devices, split, link, latency, algorithm):
    """Seconds that the messages of a step take, if the link is said."""
    if link is None:
        for name, value, default in (("link_latency", latency, 0), ("algorithm", algorithm, "ring")):
            if value != default:
                raise ValueError(f"{name}={value!r} needs link=, the B/s of one device in one direction.")
        return of(0)
    message = {"bandwidth": units.bandwidth(link, "link"), "latency": units.latency(latency, "link_latency")}
    message["nbytes"] = 2 * x.B.value * model.kinds[0][0].width.value
    if split == "layers":
        cost = communication.point_to_point(**message)
        return (devices - 1) * symbol("c", cost.seconds, "seconds that a device takes to hand B·d 16-bit numbers on")
    cost = communication.all_reduce(ranks=devices, algorithm=algorithm, **message)
    c = symbol("c", cost.seconds, "seconds of an all-reduce of B·d 16-bit numbers over all devices")
    return total(block.sums * layers * c for block, layers in model.kinds)


def largest_batch(model, *, seconds, context, device, **how) -> int:
    """The most sequences that a decode step serves in at most `seconds`, with all that it reads in memory; 0 if none.

    The inverse of `decode_step`, which says what it counts and takes the same further arguments (`how`): devices,
    weight_dtype, kv_dtype and so on. seconds: the time between two tokens of a sequence that is allowed (TPOT).
    """
    allowed = units.positive(seconds, "seconds")

    def served(batch):
        step = decode_step(model, batch=batch, context=context, device=device, **how)
        return step.seconds <= allowed and step.fits

    beyond = 1
    while served(beyond):  # a larger batch never takes less time or memory
        beyond *= 2
    return bisect_left(range(beyond), True, lo=beyond // 2 + 1, key=lambda batch: not served(batch)) - 1


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


def products_stop_gaining(device, weight_dtype="bf16", compute_dtype="bf16") -> float:
    """Rows of a batch up to which weights in fewer bits shorten a matrix product: peak/bandwidth · bytes/2.

    A product of m rows with N weights takes max(N·bytes/W, 2·m·N/P): to that many rows reading decides, from there on
    arithmetic, whose peak P belongs to `compute_dtype` (the weights are unpacked on the chip) and does not change.
    Rows and results are left out, as in `decode_step`. H100 in bf16: 295 rows for bf16 weights, 148 for int8.
    """
    device = hardware.resolve(device)
    each = float(precision.bytes_per_element(precision.normalise(weight_dtype, "weight_dtype")))
    return device.peak(compute_dtype) / device.memory_bandwidth * each / 2


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
