"""Training on many ranks: what one rank holds, and what it sends in a step.

Conventions. *Tensor* parallelism as Megatron-LM (Shoeybi et al. 2019): the query heads, the MLP's width and the
vocabulary are divided, norms and the biases after a sum are replicated, and an all-reduce ends attention and MLP.
*Sequence* parallelism and activations as Korthikanti et al. 2022. *Pipeline*: equal shares of the layers and the 1F1B
schedule (Narayanan et al. 2021), in which stage i of p keeps the activations of p − i microbatches. *Expert*: the
experts are divided among the data ranks. *Data* parallelism with ZeRO stages 0 to 3 (Rajbhandari et al. 2020). Weights,
gradients and activations on the wire are 16-bit; tokens are spread evenly over the experts.
"""

from dataclasses import dataclass, replace

from course_lib.accounting import communication, hardware, memory, models, units
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.layers.base import added
from course_lib.accounting.models import Model, Transformer
from course_lib.accounting.quantity import Quantity, ceil, of, symbol, total

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
    rank, stage = _rank(model, plan, stage), units.count(stage, "stage", minimum=0)
    before, _, after = rank.parts
    terms = rank.over_blocks([block.parameters() for block, _ in rank.kinds])
    terms |= added(layer.parameters() for layer in before)
    ends = added(layer.parameters() for layer in after)
    terms |= {{"norm": "final_norm"}.get(name, name): part for name, part in ends.items()}
    copies = [layer.V * layer.d for layer in after if plan.pipeline > 1 and getattr(layer, "tied", False)]
    if copies:
        terms["head"] = total([*copies, ends.get("head", 0)])
    return Breakdown.from_terms(
        "parameters",
        terms,
        assumptions=(
            "What is divided by t or e is this rank's share; L counts the layers of its stage.",
            "Norms, positions, routers and the biases after a sum are replicated on the tensor ranks.",
        ),
    )


def _rank(model, plan, stage) -> Model:
    """The layers that one rank of a stage holds, each as its share."""
    model = _check(model, plan)
    stage, last = units.count(stage, "stage", minimum=0), plan.pipeline - 1
    if stage > last:
        raise ValueError(f"stage={stage} must be less than pipeline={plan.pipeline}: stages count from 0.")
    t = symbol("t", plan.tensor, "tensor-parallel ranks") if plan.tensor > 1 else of(1)
    e = symbol("e", plan.expert, "ranks that share the experts") if plan.expert > 1 else of(1)
    before, blocks, after = model.parts
    here = len(blocks) // plan.pipeline
    blocks = blocks[stage * here : (stage + 1) * here]
    shared = model.naming(lambda layer: layer.shard(t, e))
    shares = {key: shared(layer) for key, layer in {id(layer): layer for layer in (*before, *blocks, *after)}.items()}
    stages = before if stage == 0 else [], blocks, after if stage == last else []
    return Model(model.name, *([shares[id(layer)] for layer in layers] for layers in stages))


def rank_memory(
    model, plan, *, batch, seq, recompute="none", attention="sdpa", recipe="mixed-adamw", device=None
) -> Breakdown:
    """Bytes that the fullest rank holds at the peak of a training step over `batch` sequences of `seq` tokens.

    batch: sequences of the whole step, over all data ranks and microbatches, which must divide it. recipe: as in
    `memory.model_state`. Parts: `state` and `activations` of either the first stage, which keeps most microbatches, or
    the last, which has the logits: whichever is fuller. 16-bit activations by Korthikanti's rules, for any width of
    heads and MLP, with dropout masks only where the model has dropout; attention "eager" keeps the scores, "sdpa" one
    fp32 number a row of them. device: an id or a `hardware.Device`; an assumption then says whether the plan fits it.
    """
    model = _check(model, plan, described=True)
    stages = {0, plan.pipeline - 1}
    held = max((_stage_memory(model, plan, s, batch, seq, recipe, recompute, attention) for s in stages), key=int)
    if device is None:
        return held
    device = hardware.resolve(device)
    verdict = "It fits" if held.fits(device) else "It does not fit"
    said = (
        f"{verdict}: {units.format_bytes(int(held))} on {device.id} with {units.format_bytes(device.memory_capacity)}."
    )
    return replace(held, assumptions=(*held.assumptions, said))


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
    units.choice(recompute, "recompute", ("none", "selective", "full"))
    units.choice(attention, "attention", ("eager", "sdpa"))
    rank, tokens = _rank(model, plan, stage), _micro(model, plan, batch, seq)
    block, L = rank.kinds[0][0], rank.count
    share, mlp = (layer for layer in block.layers if layer.branch)
    d, f, h, q, k = share.d, mlp.f, share.h, share._q, share._k
    b = symbol("b", tokens, "tokens of a microbatch")
    t = symbol("s", plan.tensor if plan.sequence_parallel else 1, "ranks that share what is not divided by t")
    i = symbol("i", min(plan.microbatches, plan.pipeline - stage), "microbatches in flight")
    n, dropout, mixture = model.block_norms, model.dropout > 0, model.experts > 1
    A = mlp.A if mixture else 1
    whole = b * (2 * d * (n + min(n, 2)) + 2 * d * dropout)
    wide = 4 if model.gated_mlp else 2
    divided = b * (2 * (2 * q + 2 * k) + 2 * wide * A * f + 2 * A * d * mixture)  # the experts read copies
    part, core = ceil(whole, t) + divided, _core(b, seq, h, dropout, attention)
    kept = {"none": part + core, "selective": part, "full": ceil(2 * b * d, t)}[recompute]
    terms = {"none": {}, "selective": {"recomputed": core}, "full": {"recomputed": part + core}}[recompute]
    terms["layers"] = i * L * kept
    if stage == 0 and dropout:
        terms["embedding"] = i * ceil(b * d, t)
    if stage == plan.pipeline - 1:
        V = rank.parts[2][-1].V
        terms["head"] = ceil(4 * b * d, t) + 4 * b * V
    return Breakdown.from_terms("B", terms, assumptions=("The logits are kept once, in fp32.",))


def _core(b, seq, h, dropout, attention) -> Quantity:
    """Bytes that the attention core keeps: softmax output, with dropout its mask and its result; or log-sum-exp."""
    if attention == "sdpa":
        return 4 * h * b
    return (5 if dropout else 2) * h * b * symbol("T", seq, "tokens of a sequence")


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
    model = _check(model, plan, described=True)
    stages = sorted({0, min(1, plan.pipeline - 1), plan.pipeline - 1})
    return max((_stage_traffic(model, plan, s, batch, seq, recompute) for s in stages), key=int)


def _stage_traffic(model, plan, stage, batch, seq, recompute) -> Breakdown:
    terms: dict[str, list[Quantity]] = {}
    for kind, times, collective, nbytes, ranks in _messages(model, plan, stage, batch, seq, recompute):
        cost = collective(nbytes=nbytes, ranks=ranks, bandwidth=1e9)  # the bytes do not depend on the bandwidth
        terms.setdefault(kind, []).append(times * cost.derivation["bytes_per_rank"])
    return Breakdown.of(
        "B",
        {kind: total(sent) for kind, sent in terms.items()} or {"none": 0},
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
    m, c, layers = plan.microbatches, communication, model.layers // plan.pipeline
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
        sums = m * (layers * halves * (forwards + 1) + ends)
        if plan.sequence_parallel:
            again = m * (layers * halves + (stage == plan.pipeline - 1))
            yield "tensor", sums, c.reduce_scatter, activation, plan.tensor
            yield "tensor", sums + again, c.all_gather, activation, plan.tensor
        else:
            yield "tensor", sums, c.all_reduce, activation, plan.tensor
    if plan.expert > 1:
        share = plan.tensor if plan.sequence_parallel else 1  # then each tensor rank dispatches its own tokens
        dispatched = -(-activation * model.active_experts // share)
        yield "expert", m * layers * 2 * (forwards + 1), c.all_to_all, dispatched, plan.expert
    if plan.pipeline > 1:
        neighbours = (stage > 0) + (stage < plan.pipeline - 1)
        share = plan.tensor if plan.sequence_parallel else 1
        yield "pipeline", m * neighbours, c.point_to_point, -(-activation // share), 2
        if model.tied_head and stage in (0, plan.pipeline - 1):
            yield "pipeline", 1, c.all_reduce, _WIRE * -(-model.vocab // plan.tensor) * model.d_model, 2


def _gradient_messages(plan):
    """(times in a step, collective) of the data ranks, by ZeRO stage (Rajbhandari et al. 2020, section 7)."""
    m, c = plan.microbatches, communication
    return {
        0: ((1, c.all_reduce),),
        1: ((1, c.reduce_scatter), (1, c.all_gather)),
        2: ((m, c.reduce_scatter), (1, c.all_gather)),
        3: ((2 * m, c.all_gather), (m, c.reduce_scatter)),
    }[plan.zero_stage]


# ---------------------------------------------------------------- what fits together


def _check(model, plan, described: bool = False) -> models.Stack:
    """The model, if the plan fits it. described: a Transformer, whose activations and messages are known here."""
    model = models.resolve(model, decodes=True)
    if described and not isinstance(model, Transformer):
        raise ValueError(f"model={units.shortly(model)} must be a models.Transformer; of others see `rank_parameters`.")
    if not isinstance(plan, Plan):
        raise ValueError(f"plan={units.shortly(plan)} must be a parallelism.Plan, such as Plan(data=8, tensor=4).")
    layers = len(model.parts[1])
    if plan.pipeline > layers:
        raise ValueError(f"pipeline={plan.pipeline} has more stages than {model.name} has layers ({layers}).")
    if layers % plan.pipeline:
        raise ValueError(f"pipeline={plan.pipeline} must divide layers={layers}: stages hold equally many.")
    experts = 1
    for layer in (layer for block, _ in model.kinds for layer in getattr(block, "layers", ())):
        sizes = {name: getattr(layer, letter).value for letter, name in _DIVIDED.items() if hasattr(layer, letter)}
        experts = sizes.pop("experts", experts)
        for name, size in sizes.items():
            shared = name == "kv_heads" and plan.tensor % size == 0  # more ranks than key heads: each keeps one
            if size % plan.tensor and not shared:
                raise ValueError(f"tensor={plan.tensor} must divide {name}={size}: every rank takes an equal share.")
    if experts % plan.expert:
        raise ValueError(f"expert={plan.expert} must divide experts={experts}: ranks hold equally many experts.")
    if plan.sequence_parallel and plan.tensor == 1:
        raise ValueError("sequence_parallel=True divides what the tensor ranks replicate; it needs tensor > 1.")
    return model


_DIVIDED = {"h": "heads", "g": "kv_heads", "f": "d_ff", "E": "experts"}  # sizes that ranks share


def _micro(model, plan, batch, seq) -> int:
    """Tokens of one microbatch on one rank."""
    batch, seq = units.count(batch, "batch"), model.length(units.count(seq, "seq"), "seq")
    if batch % (plan.data * plan.microbatches):
        raise ValueError(
            f"batch={batch} must be a multiple of data · microbatches = {plan.data * plan.microbatches}: it is the "
            "number of sequences of the whole step."
        )
    return batch // (plan.data * plan.microbatches) * seq


units.teach(globals())
