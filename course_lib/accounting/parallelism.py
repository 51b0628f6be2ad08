"""Training on many ranks: what one rank holds, what it sends in a step, and how long the step takes.

Conventions. *Tensor* parallelism as Megatron-LM (Shoeybi et al. 2019): the query heads, the MLP's width and the
vocabulary are divided, norms and the biases after a sum are replicated, and an all-reduce ends attention and MLP.
*Sequence* parallelism and activations as Korthikanti et al. 2022. *Pipeline*: equal shares of the layers and the 1F1B
schedule (Narayanan et al. 2021), in which stage i of p keeps the activations of p − i microbatches. *Expert*: the
experts are divided among the data ranks. *Data* parallelism with ZeRO stages 0 to 3 (Rajbhandari et al. 2020). Weights,
gradients and activations on the wire are 16-bit; tokens are spread evenly over the experts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from course_lib.accounting import communication, flops, hardware, memory, units
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.explained import Explained
from course_lib.accounting.models import Transformer

_WIRE = 2  # bytes of a number on the wire: bf16


@dataclass(frozen=True)
class Plan:
    """How a model is laid out on data · tensor · pipeline ranks.

    expert: how many ranks share one layer's experts; they are data ranks, so it divides `data`. zero_stage: what the
    data ranks shard (1 optimizer state, 2 also gradients, 3 also weights). microbatches: of each pipeline and data
    rank in a step. sequence_parallel: tensor ranks also divide norms, residuals and their activations by tokens.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    zero_stage: int = 0
    microbatches: int = 1
    sequence_parallel: bool = False

    def __post_init__(self):
        for name in ("data", "tensor", "pipeline", "expert", "microbatches"):
            object.__setattr__(self, name, units.count(getattr(self, name), name))
        units.flag(self.sequence_parallel, "sequence_parallel")
        if self.zero_stage not in (0, 1, 2, 3) or isinstance(self.zero_stage, bool):
            raise ValueError(f"zero_stage={self.zero_stage!r} must be 0, 1, 2 or 3.")
        if self.data % self.expert:
            raise ValueError(f"expert={self.expert} must divide data={self.data}: experts are shared among data ranks.")

    @property
    def ranks(self) -> int:
        """How many devices the plan takes."""
        return self.data * self.tensor * self.pipeline


def pipeline_bubble(*, stages, microbatches) -> float:
    """Share of a step in which a stage of a pipeline idles: (p − 1)/(m + p − 1), for GPipe and 1F1B alike.

    Filling and draining take p − 1 of the m + p − 1 slots. (p − 1)/m, as some print it, is idle over busy time.
    """
    stages, microbatches = units.count(stages, "stages"), units.count(microbatches, "microbatches")
    return (stages - 1) / (microbatches + stages - 1)


# ---------------------------------------------------------------- what a rank holds


def rank_parameters(model, plan, stage: int = 0) -> Breakdown:
    """Parameters on one rank of pipeline stage `stage` (from 0), before ZeRO shards them.

    Parts: those of this stage's layers as in `model.parameters()`, with a mixture's MLPs under `experts`; `embedding`
    on the first stage, `final_norm` and `head` on the last. A tied head is a copy there unless that is also the first.
    """
    shard = _shard(model, plan)
    stage = units.count(stage, "stage", minimum=0)
    if stage >= plan.pipeline:
        raise ValueError(f"stage={stage} must be less than pipeline={plan.pipeline}: stages count from 0.")
    whole, last = shard.parameters(), stage == plan.pipeline - 1
    layers = whole["layers"]
    parts, derivation = dict(layers.parts), dict(layers.derivation)
    if model.experts > 1:
        here = model.experts // plan.expert
        parts["experts"], derivation["experts"] = here * parts.pop("mlp"), f"{here}·[{derivation.pop('mlp')}]"
        parts["router"] = shard.layers * model.d_model * model.experts
        derivation["router"] = f"{shard.layers}·{model.d_model}·{model.experts}"
    if stage == 0:
        parts["embedding"] = whole["embedding"]
    if last:
        parts["final_norm"] = whole["norm"] - layers["norm"]
        times = parts["final_norm"] // model.d_model  # gain, or gain and bias
        derivation["final_norm"] = f"{times}·d = {times}·{model.d_model}"
        head = {"head": whole["head"]} if "head" in whole.parts else {}  # its weight, or only its bias if it is tied
        formulas = [whole.derivation[name] for name in head]
        if model.tied_head and plan.pipeline > 1:
            head["copy"] = whole["embedding.token"]
            formulas.append(whole["embedding"].derivation["token"])
        if head:
            parts["head"] = sum(head.values())
            derivation["head"] = " + ".join(f"[{formula}]" for formula in formulas)
    return Breakdown.of(
        "parameters",
        parts,
        derivation=derivation,
        symbols=whole.symbols,
        assumptions=(
            "Each symbol stands for this rank's share: its layers, query and key heads, MLP width and vocabulary.",
            "Norms, positions and the biases after a sum are replicated on the tensor ranks.",
        ),
    )


def rank_memory(model, plan, *, batch, seq, recipe="mixed-adamw", recompute="none", attention="sdpa") -> Breakdown:
    """Bytes that the fullest rank holds at the peak of a training step over `batch` sequences of `seq` tokens.

    batch: sequences of the whole step, over all data ranks and microbatches, which must divide it. recipe: as in
    `memory.model_state`. Parts: `state` and `activations` of either the first stage, which keeps most microbatches, or
    the last, which has the logits: whichever is fuller. 16-bit activations by Korthikanti's rules, for any width of
    heads and MLP, with dropout masks only where the model has dropout; attention "eager" keeps the scores, "sdpa" one
    fp32 number a row of them.
    """
    _check(model, plan)
    stages = {0, plan.pipeline - 1}
    return max((_stage_memory(model, plan, s, batch, seq, recipe, recompute, attention) for s in stages), key=int)


def _stage_memory(model, plan, stage, batch, seq, recipe, recompute, attention) -> Breakdown:
    parameters = rank_parameters(model, plan, stage)
    experts = parameters.parts.get("experts", 0)
    state = _state(int(parameters) - experts, recipe, plan.zero_stage, plan.data)
    if experts:
        state = _state(experts, recipe, plan.zero_stage, plan.data // plan.expert) + state
    activations = _activations(model, plan, stage, batch, seq, recompute, attention)
    return Breakdown.of(
        "B",
        {"state": state, "activations": activations},
        symbols={**state.symbols, **activations.symbols},
        assumptions=(
            f"The rank belongs to pipeline stage {stage} of {plan.pipeline}, counted from 0.",
            *_sharding(plan, experts),
            *activations.assumptions,
        ),
        omitted=(
            "Communication buffers, gathered weights of ZeRO stage 3, temporaries and the allocator's own share.",
        ),
    )


def _sharding(plan, experts) -> tuple[str, ...]:
    """What ZeRO shards, in words. Experts have fewer replicas than the rest: their ranks are data ranks too."""
    replicas = plan.data // plan.expert
    if not plan.zero_stage:
        return ()
    if experts:
        return (
            f"ZeRO stage {plan.zero_stage}: experts over {replicas} ranks, all else over {plan.data}, in this order.",
        )
    return (f"ZeRO stage {plan.zero_stage} over {plan.data} ranks.",)


def _state(params, recipe, zero_stage, ranks) -> Breakdown:
    """Model state of one rank; alone it has nothing to shard."""
    return memory.model_state(params, recipe, zero_stage=zero_stage if ranks > 1 else 0, ranks=ranks)


def _activations(model, plan, stage, batch, seq, recompute, attention) -> Breakdown:
    """Bytes of activations of one rank of a stage: its layers for every microbatch in flight, and what stands around.

    Per token and layer, in bytes (Korthikanti et al. 2022, section 4.1, there for f = 4d and q = k = d, with dropout).
    Whole on every tensor rank, unless sequence parallel: the inputs of norms, of the attention and of the MLP (2d
    each), and two dropout masks (d each). Divided: q, k, v and the attention's output (2 bytes each), the tensors of
    the MLP (two of width f; gated four: gate, its activation, up, product). Pairs of tokens: see `attention`.
    """
    units.choice(recompute, "recompute", ("none", "selective", "full"))
    units.choice(attention, "attention", ("eager", "sdpa"))
    shard, tokens = _shard(model, plan), _micro(model, plan, batch, seq)
    t = plan.tensor if plan.sequence_parallel else 1
    d, q, k, f, h = model.d_model, shard.q_width, shard.kv_width, shard.mlp_width, shard.heads
    dropout = model.dropout > 0
    wide = 4 if model.gated_mlp else 2
    values = {
        "b": tokens,
        "d": d,
        "q": q,
        "k": k,
        "f": f,
        "h": h,
        "s": seq,
        "t": t,
        "n": model.block_norms,
        "L": shard.layers,
        "i": min(plan.microbatches, plan.pipeline - stage),
        "V": shard.vocab,
        "A": model.active_experts,
    }
    n, L, i, A = (values[name] for name in "nLiA")
    whole = 2 * d * (n + min(n, 2)) + 2 * d * dropout
    whole_text = f"(2·d·(n + {min(n, 2)}){' + 2·d' if dropout else ''})"
    copies = 2 * A * d * (model.experts > 1)  # what the experts of a mixture read
    split_text = f"(2·(2·q + 2·k) + {2 * wide}·A·f{' + 2·A·d' if copies else ''})"
    block = -(-tokens * whole // t) + tokens * (2 * (2 * q + 2 * k) + 2 * wide * A * f + copies)
    block_text = f"(b·{whole_text}/t + b·{split_text})"
    core, core_text = _core(tokens, seq, h, dropout, attention)
    kept, kept_text = (block + core, f"({block_text} + {core_text})") if recompute == "none" else (block, block_text)
    terms = {}
    if recompute == "full":
        kept, kept_text = -(-tokens * 2 * d // t), "2·b·d/t"
        terms["recomputed"] = (block + core, f"{block_text} + {core_text}")
    elif recompute == "selective":
        terms["recomputed"] = (core, core_text)
    terms["layers"] = (i * L * kept, f"i·L·{kept_text}")
    if stage == 0 and dropout:
        terms["embedding"] = (i * -(-tokens * d // t), "i·b·d/t")
    if stage == plan.pipeline - 1:
        terms["head"] = (-(-4 * tokens * d // t) + 4 * tokens * shard.vocab, "4·b·d/t + 4·b·V")
    return Breakdown.from_terms(
        "B",
        terms,
        values,
        symbols={
            "b": "tokens of a microbatch",
            "d": "model width",
            "q": "width of this rank's query heads",
            "k": "width of this rank's key heads, and of its value heads",
            "f": "this rank's share of the width of the MLP",
            "h": "this rank's query heads",
            "s": "tokens of a sequence",
            "t": "ranks that share what is not tensor parallel: 1 without sequence parallelism",
            "n": "norms of a layer",
            "L": "layers of this stage",
            "i": "microbatches in flight",
            "V": "rows of the vocabulary on this rank",
            "A": "experts that a token uses",
        },
        assumptions=("The logits are kept once, in fp32.",),
    )


def _core(tokens, seq, heads, dropout, attention) -> tuple[int, str]:
    """Bytes that the attention core keeps: softmax output, with dropout its mask and its result; or log-sum-exp."""
    if attention == "sdpa":
        return 4 * heads * tokens, "4·h·b"
    return ((5 if dropout else 2) * heads * tokens * seq, f"{5 if dropout else 2}·h·b·s")


# ---------------------------------------------------------------- what a rank sends


def traffic(model, plan, *, batch, seq, recompute="none") -> Breakdown:
    """Bytes that the busiest rank sends in one training step, by kind of parallelism.

    data: an all-reduce of the gradients (stage 0); a reduce-scatter of gradients and an all-gather of weights (1, 2; at
    stage 2 gradients are reduced after every microbatch); stage 3 gathers the weights before forward and again before
    backward of every microbatch. tensor: an all-reduce of the activations after attention and after the MLP, forward
    and backward (and again where a block is recomputed), one after the embedding, one before the head; sequence
    parallelism splits each in two and gathers the inputs of each half block once more. expert: two all-to-alls
    forward and two backward in each layer. pipeline: activations onward, their gradients back, and the sum of a tied
    embedding's two gradients. Rings, 16-bit numbers.
    """
    _check(model, plan)
    stages = sorted({0, min(1, plan.pipeline - 1), plan.pipeline - 1})
    return max((_stage_traffic(model, plan, s, batch, seq, recompute) for s in stages), key=int)


def _stage_traffic(model, plan, stage, batch, seq, recompute) -> Breakdown:
    terms: dict[str, list[tuple[int, str]]] = {}
    for kind, times, collective, nbytes, ranks in _messages(model, plan, stage, batch, seq, recompute):
        cost = collective(nbytes=nbytes, ranks=ranks, bandwidth=1e9)  # the bytes do not depend on the bandwidth
        formula = next(formula for name, formula, _ in cost.derivation if name == "bytes_per_rank")
        text = f"[{times}·{formula} = {times}·{units.substitute(formula, cost.values)}] ({collective.__name__})"
        terms.setdefault(kind, []).append((times * cost.bytes_per_rank, text))
    parts = {kind: sum(sent for sent, _ in items) for kind, items in terms.items()}
    return Breakdown.of(
        "B",
        parts or {"none": 0},
        derivation={kind: " + ".join(text for _, text in items) for kind, items in terms.items()},
        symbols={"N": "bytes of the buffer, as each collective counts them", "n": "ranks that take part"},
        assumptions=(
            f"The rank belongs to pipeline stage {stage} of {plan.pipeline}, counted from 0.",
            "Rings; 16-bit numbers; tokens are spread evenly over the experts.",
        ),
        omitted=(
            "The few numbers of the loss and of the gradient's norm.",
            "The gradients of norms that sequence parallelism leaves to be summed over the tensor ranks.",
        ),
    )


def _messages(model, plan, stage, batch, seq, recompute):
    """(kind, times in a step, collective, nbytes, ranks) of everything that a rank of a stage takes part in."""
    units.choice(recompute, "recompute", ("none", "selective", "full"))
    tokens = _micro(model, plan, batch, seq)
    shard, m, c = _shard(model, plan), plan.microbatches, communication
    parameters = rank_parameters(model, plan, stage)
    experts = parameters.parts.get("experts", 0)
    groups = ((int(parameters) - experts, plan.data), (experts, plan.data // plan.expert))
    for count, ranks in groups:
        if count and ranks > 1:
            for times, collective in _gradient_messages(plan):
                yield "data", times, collective, _WIRE * count, ranks
    activation = _WIRE * tokens * model.d_model
    forwards = 2 if recompute == "full" else 1
    if plan.tensor > 1:
        halves = min(model.block_norms, 2)  # a block with one norm runs attention and MLP side by side: one sum
        ends = (stage == 0) + (stage == plan.pipeline - 1)
        sums = m * (shard.layers * halves * (forwards + 1) + ends)
        if plan.sequence_parallel:
            again = m * (shard.layers * halves + (stage == plan.pipeline - 1))
            yield "tensor", sums, c.reduce_scatter, activation, plan.tensor
            yield "tensor", sums + again, c.all_gather, activation, plan.tensor
        else:
            yield "tensor", sums, c.all_reduce, activation, plan.tensor
    if plan.expert > 1:
        share = plan.tensor if plan.sequence_parallel else 1  # then each tensor rank dispatches its own tokens
        dispatched = -(-activation * model.active_experts // share)
        yield "expert", m * shard.layers * 2 * (forwards + 1), c.all_to_all, dispatched, plan.expert
    if plan.pipeline > 1:
        neighbours = (stage > 0) + (stage < plan.pipeline - 1)
        share = plan.tensor if plan.sequence_parallel else 1
        yield "pipeline", m * neighbours, c.point_to_point, -(-activation // share), 2
        if model.tied_head and stage in (0, plan.pipeline - 1):
            yield "pipeline", 1, c.all_reduce, _WIRE * shard.vocab * model.d_model, 2


def _gradient_messages(plan):
    """(times in a step, collective) of the data ranks, by ZeRO stage (Rajbhandari et al. 2020, section 7)."""
    m, c = plan.microbatches, communication
    return {
        0: ((1, c.all_reduce),),
        1: ((1, c.reduce_scatter), (1, c.all_gather)),
        2: ((m, c.reduce_scatter), (1, c.all_gather)),
        3: ((2 * m, c.all_gather), (m, c.reduce_scatter)),
    }[plan.zero_stage]


# ---------------------------------------------------------------- how long a step takes


@dataclass(frozen=True, repr=False)
class Step(Explained):
    """Seconds of one training step; made by `step_time`."""

    seconds: float
    compute: float  # busy with arithmetic
    tensor: float
    expert: float
    pipeline: float  # sending and receiving between stages
    bubble: float  # idle while the pipeline fills and drains
    data: float  # the part of the data ranks' traffic that compute does not hide
    tokens_per_second: float  # of all ranks
    mfu: float


def step_time(
    model, plan, *, batch, seq, device, efficiency, bandwidths, latency=0.0, overlap=0.0, recompute="none", dtype="bf16"
) -> Step:
    """Seconds of a training step over `batch` sequences of `seq` tokens.

    efficiency: share of the peak that a rank's kernels reach while they run. bandwidths: kind of parallelism ("data",
    "tensor", "expert", "pipeline") -> one-way B/s of one rank, for each kind that has more than one rank. latency:
    seconds of one message. overlap: share of the data ranks' traffic that hides behind compute.
    """
    _check(model, plan)
    device, ranks = hardware.resolve(device), plan.ranks
    batch, seq = units.count(batch, "batch"), units.count(seq, "seq")
    efficiency, overlap = units.fraction(efficiency, "efficiency"), units.fraction(overlap, "overlap")
    if efficiency == 0:
        raise ValueError("efficiency=0 must be more than zero: a rank that computes nothing never ends the step.")
    work = int(flops.training_step(model, batch, seq, recompute=recompute))
    useful = int(flops.training_step(model, batch, seq))
    peak = device.peak(dtype)
    stages = range(plan.pipeline) if plan.pipeline < 3 else (0, 1, plan.pipeline - 1)
    spent = dict.fromkeys(("data", "tensor", "expert", "pipeline"), 0.0)
    for stage in stages:
        for kind, seconds in _seconds(model, plan, stage, batch, seq, recompute, bandwidths, latency).items():
            spent[kind] = max(spent[kind], seconds)
    compute = work / (ranks * peak * efficiency)
    busy = compute + spent["tensor"] + spent["expert"] + spent["pipeline"]
    bubble = busy * (plan.pipeline - 1) / plan.microbatches
    data = spent["data"] * (1 - overlap)
    seconds = busy + bubble + data
    return Step(
        seconds=seconds,
        compute=compute,
        tensor=spent["tensor"],
        expert=spent["expert"],
        pipeline=spent["pipeline"],
        bubble=bubble,
        data=data,
        tokens_per_second=batch * seq / seconds,
        mfu=useful / (seconds * ranks * peak),
        derivation=(
            ("compute", "F/(R·P·e)", "s"),
            ("tensor", "", "s"),
            ("expert", "", "s"),
            ("pipeline", "", "s"),
            ("bubble", "(compute + tensor + expert + pipeline)·(p - 1)/m", "s"),
            ("data", "D·(1 - o)", "s"),
            ("seconds", "compute + tensor + expert + pipeline + bubble + data", "s"),
            ("tokens_per_second", "B·T/seconds", "tokens/s"),
            ("mfu", "U/(seconds·R·P)", ""),
        ),
        values={
            "F": work,
            "U": useful,
            "R": ranks,
            "P": peak,
            "e": efficiency,
            "p": plan.pipeline,
            "m": plan.microbatches,
            "D": spent["data"],
            "o": overlap,
            "B": batch,
            "T": seq,
            "compute": compute,
            "bubble": bubble,
            **spent,
            "data": data,
            "seconds": seconds,
        },
        symbols={
            "F": "FLOP of the step, recomputation included",
            "U": "FLOP of the step without recomputation",
            "R": "ranks",
            "P": "peak of one rank in FLOP/s",
            "e": "share of the peak that the kernels reach",
            "p": "stages of the pipeline",
            "m": "microbatches",
            "D": "seconds of the data ranks' traffic",
            "o": "share of it that compute hides",
            "B": "sequences",
            "T": "tokens of a sequence",
        },
        assumptions=(
            "The FLOP divide evenly over the ranks.",
            "Tensor, expert and pipeline traffic is not overlapped with compute.",
            "Each kind of traffic takes as long as on its busiest stage: the collectives that `traffic` lists.",
        ),
        omitted=("The optimizer, data loading, stragglers, checkpoints and failures.",),
    )


def _seconds(model, plan, stage, batch, seq, recompute, bandwidths, latency) -> dict[str, float]:
    """Seconds of traffic of one stage by kind."""
    spent: dict[str, float] = {}
    for kind, times, collective, nbytes, ranks in _messages(model, plan, stage, batch, seq, recompute):
        if not isinstance(bandwidths, Mapping) or kind not in bandwidths:
            raise ValueError(
                f"bandwidths={units.shortly(bandwidths)} must have {kind!r}: the plan sends {kind} traffic. "
                "It maps the kind to the one-way B/s of one rank, such as {'tensor': 450e9}."
            )
        rate = units.bandwidth(bandwidths[kind], f"bandwidths[{kind!r}]")
        cost = collective(nbytes=nbytes, ranks=ranks, bandwidth=rate, latency=latency)
        spent[kind] = spent.get(kind, 0.0) + times * cost.seconds
    return spent


# ---------------------------------------------------------------- what fits together


def _shard(model, plan) -> Transformer:
    """The dense part of one rank's model: its layers, heads, MLP width (of one expert) and vocabulary."""
    _check(model, plan)
    return replace(
        model,
        layers=model.layers // plan.pipeline,
        heads=model.heads // plan.tensor,
        kv_heads=max((model.kv_heads or model.heads) // plan.tensor, 1),  # more ranks than key heads: each keeps one
        head_dim=model.head_width,
        d_ff=model.mlp_width // plan.tensor,
        vocab=-(-model.vocab // plan.tensor),
        experts=1,
        active_experts=1,
    )


def _check(model, plan) -> None:
    if not isinstance(model, Transformer):
        raise ValueError(
            f"model={units.shortly(model)} must be a models.Transformer; models.load('llama3-70b') gives one."
        )
    if not isinstance(plan, Plan):
        raise ValueError(f"plan={units.shortly(plan)} must be a parallelism.Plan, such as Plan(data=8, tensor=4).")
    t, kv_heads = plan.tensor, model.kv_heads or model.heads
    if plan.pipeline > model.layers:
        raise ValueError(f"pipeline={plan.pipeline} has more stages than {model.name} has layers ({model.layers}).")
    if model.layers % plan.pipeline:
        raise ValueError(f"pipeline={plan.pipeline} must divide layers={model.layers}: stages hold equally many.")
    for name, size in (("heads", model.heads), ("d_ff", model.mlp_width)):
        if size % t:
            raise ValueError(f"tensor={t} must divide {name}={size}: every tensor rank takes an equal share.")
    if kv_heads % t and t % kv_heads:
        raise ValueError(f"tensor={t} must divide kv_heads={kv_heads} or be a multiple of it.")
    if model.experts % plan.expert:
        raise ValueError(f"expert={plan.expert} must divide experts={model.experts}: ranks hold equally many experts.")
    if plan.sequence_parallel and t == 1:
        raise ValueError("sequence_parallel=True divides what the tensor ranks replicate; it needs tensor > 1.")


def _micro(model, plan, batch, seq) -> int:
    """Tokens of one microbatch on one rank."""
    batch, seq = units.count(batch, "batch"), units.count(seq, "seq")
    if batch % (plan.data * plan.microbatches):
        raise ValueError(
            f"batch={batch} must be a multiple of data · microbatches = {plan.data * plan.microbatches}: it is the "
            "number of sequences of the whole step."
        )
    if model.positions == "learned" and seq > model.context:
        raise ValueError(f"seq={seq} is longer than context={model.context}: {model.name} has no position beyond it.")
    return batch // (plan.data * plan.microbatches) * seq
