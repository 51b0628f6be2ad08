"""Training on many ranks: what one rank holds, and what it sends in a step.

Conventions. *Tensor* parallelism as Megatron-LM (Shoeybi et al. 2019): the query heads, the MLP's width and the
vocabulary are divided, norms and the biases after a sum are replicated, and an all-reduce ends attention and MLP.
*Sequence* parallelism and activations as Korthikanti et al. 2022. *Context* parallelism is ring attention (Liu et al.
2023): the tokens of each sequence are divided, keys and values passed round. *Pipeline*: equal shares of the layers and
the 1F1B schedule (Narayanan et al. 2021), in which stage i of p keeps the activations of p − i microbatches. *Expert*:
the experts are divided among the data ranks. *Data* parallelism with ZeRO stages 0 to 3 (Rajbhandari et al. 2020).
Weights, gradients and activations on the wire are 16-bit; tokens are spread evenly over the experts.
"""

from collections import Counter
from dataclasses import dataclass, replace

from course_lib.accounting import communication, hardware, memory, models, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import NOTHING, Quantity, ceil, of, symbol, total
from course_lib.accounting.layers.base import added
from course_lib.accounting.layers.stack import Stack
from course_lib.accounting.models import Model

_WIRE = 2  # bytes of a number on the wire: bf16


@dataclass(frozen=True)
class Plan:
    """How a model is laid out on data · context · tensor · pipeline ranks.

    expert: how many ranks share one layer's experts; they are data ranks, so it divides `data`. zero_stage: what the
    data ranks shard (1 optimizer state, 2 also gradients, 3 also weights). microbatches: of each pipeline and data
    rank in a step. sequence_parallel: tensor ranks also divide norms, residuals and their activations by tokens.
    context: ranks that share the tokens of each sequence, all with the same weights. virtual: chunks of layers that a
    stage holds (Narayanan et al. 2021, "interleaved"): a microbatch passes through the pipeline that many times.
    """

    data: int = 1
    tensor: int = 1
    pipeline: int = 1
    expert: int = 1
    zero_stage: int = 0
    microbatches: int = 1
    sequence_parallel: bool = False
    context: int = 1
    virtual: int = 1

    def __post_init__(self):
        for name in ("data", "tensor", "pipeline", "expert", "microbatches", "context", "virtual"):
            object.__setattr__(self, name, units.count(getattr(self, name), name))
        units.flag(self.sequence_parallel, "sequence_parallel")
        if self.zero_stage not in (0, 1, 2, 3) or isinstance(self.zero_stage, bool):
            raise ValueError(f"zero_stage={self.zero_stage!r} must be 0, 1, 2 or 3.")
        if self.data % self.expert:
            raise ValueError(f"expert={self.expert} must divide data={self.data}: experts are shared among data ranks.")
        if self.virtual > 1 and (self.pipeline == 1 or self.microbatches % self.pipeline):
            raise ValueError(
                f"virtual={self.virtual} needs stages (pipeline={self.pipeline}) and a multiple of their number as "
                f"microbatches={self.microbatches}: each chunk works on as many in a row as there are stages."
            )

    @property
    def ranks(self) -> int:
        """How many devices the plan takes."""
        return self.replicas * self.tensor * self.pipeline

    @property
    def replicas(self) -> int:
        """Ranks with the same weights: their gradients are summed, and ZeRO shards over them."""
        return self.data * self.context


def pipeline_bubble(*, stages, microbatches, virtual=1) -> float:
    """Share of a step in which a stage of a pipeline idles: (p − 1)/(v·m + p − 1), for GPipe and 1F1B (v = 1) alike.

    Filling and draining take p − 1 of the v·m + p − 1 slots, each as long as one of the `virtual` chunks of a stage
    takes. (p − 1)/(v·m), as Narayanan et al. (2021) print it, is idle over busy time. With v > 1, p divides m.
    """
    plan = Plan(pipeline=units.count(stages, "stages"), microbatches=microbatches, virtual=virtual)
    return (plan.pipeline - 1) / (plan.virtual * plan.microbatches + plan.pipeline - 1)


def synchronous_rate(speeds, shares=None) -> float:
    """Work a second of ranks that wait for each other in every step: Σ shares / max(share/speed).

    speeds: of each rank, in any unit of work a second, above 0; the answer has the same unit. shares: what each rank
    gets of a batch, 0 or more, in any unit; None: equal shares. In proportion to the speeds it is their sum; no other
    shares are faster. What is sent between the ranks is left out.
    """
    try:
        speeds = [units.positive(speed, "speeds") for speed in speeds]
        shares = [1.0] * len(speeds) if shares is None else [units.number(share, "shares") for share in shares]
    except TypeError:
        raise ValueError(
            f"speeds={units.shortly(speeds)}, shares={units.shortly(shares)} must be lists, with one number a rank."
        ) from None
    if len(shares) != len(speeds) or not any(shares):
        raise ValueError(
            f"{units.counted(len(shares), 'share')} for {units.counted(len(speeds), 'speed')}: every rank needs one, "
            "and not all shares may be 0."
        )
    return sum(shares) / max(share / speed for share, speed in zip(shares, speeds, strict=True))


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
    here = len(blocks) // (plan.pipeline * plan.virtual)  # layers of a chunk, of which a stage has every p-th
    blocks = [block for i, block in enumerate(blocks) if i // here % plan.pipeline == stage]
    shared = model.naming(lambda layer: layer.shard(t, e))
    shares = {key: shared(layer) for key, layer in {id(layer): layer for layer in (*before, *blocks, *after)}.items()}
    stages = before if stage == 0 else [], blocks, after if stage == last else []
    return Model(model.name, *([shares[id(layer)] for layer in layers] for layers in stages))


def rank_memory(
    model,
    plan,
    *,
    batch,
    seq,
    recompute="none",
    attention="sdpa",
    recipe="mixed-adamw",
    fused_loss: bool = False,
    device=None,
) -> Breakdown:
    """Bytes that the fullest rank holds at the peak of a training step over `batch` sequences of `seq` tokens.

    batch: sequences of the whole step, over all data ranks and microbatches, which must divide it. recipe: as in
    `memory.model_state`. Parts: `state` and `activations` of either the first stage, which keeps most microbatches, or
    the last, which has the logits: whichever is fuller. 16-bit activations by Korthikanti's rules, for any width of
    heads and MLP, with dropout masks only where the model has dropout; attention "eager" keeps the scores, "sdpa" one
    fp32 number a row of them. fused_loss: as in `memory.activations`. device: an id or a `hardware.Device`; an
    assumption then says whether the plan fits it.
    """
    model = _check(model, plan)
    stages = _stages(model, plan, (0, plan.pipeline - 1))
    how = {"recompute": recompute, "attention": attention, "fused_loss": units.flag(fused_loss, "fused_loss")}
    held = max((_stage_memory(model, plan, s, batch, seq, recipe, how) for s in stages), key=int)
    if device is None:
        return held
    device = hardware.resolve(device)
    verdict = "It fits" if held.fits(device) else "It does not fit"
    said = (
        f"{verdict}: {units.format_bytes(int(held))} on {device.id} with {units.format_bytes(device.memory_capacity)}."
    )
    return replace(held, assumptions=(*held.assumptions, said))


def _stage_memory(model, plan, stage, batch, seq, recipe, how) -> Breakdown:
    parameters = rank_parameters(model, plan, stage)
    experts = parameters.parts.get("experts", 0)
    state = _state(int(parameters) - experts, recipe, plan.zero_stage, plan.replicas)
    if experts:
        state = _state(experts, recipe, plan.zero_stage, plan.replicas // plan.expert) + state
    activations = _activations(model, plan, stage, batch, seq, **how)
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
    n, stage = plan.replicas, f"ZeRO stage {plan.zero_stage}"
    if not plan.zero_stage:
        return ()
    if experts:
        return (f"{stage}: experts over {units.counted(n // plan.expert, 'rank')}, all else over {n}, in this order.",)
    return (f"{stage} over {units.counted(n, 'rank')}.",)


def _state(params, recipe, zero_stage, ranks) -> Breakdown:
    """Model state of one rank; alone it has nothing to shard."""
    return memory.model_state(params, recipe, zero_stage=zero_stage if ranks > 1 else 0, ranks=ranks)


def _activations(model, plan, stage, batch, seq, recompute, attention, fused_loss=False) -> Breakdown:
    """Bytes of activations of one rank of a stage: its layers for every microbatch in flight, and what stands around.

    Per token and layer, in bytes (Korthikanti et al. 2022, section 4.1, there for f = 4d and q = k = d, with dropout).
    Whole on every tensor rank, unless sequence parallel: the inputs of norms, of the attention and of the MLP (2d
    each), latents before and after their norms, and two dropout masks (d each). Divided: q, k, v and the attention's
    output (2 bytes each), the tensors of the MLP (two of width f; gated four: gate, its activation, up, product). The
    copies of tokens that experts read are never divided. Pairs of tokens: see `attention`.
    """
    units.choice(recompute, "recompute", ("none", "selective", "full"))
    if units.choice(attention, "attention", ("eager", "sdpa")) == "eager" and plan.context > 1:
        raise ValueError(f"attention='eager' with context={plan.context}: ring attention keeps no scores; use 'sdpa'.")
    rank, tokens = _rank(model, plan, stage), _micro(model, plan, batch, seq)
    b, T = symbol("b", tokens, "tokens of a microbatch"), symbol("T", seq, "tokens of a sequence")
    t = symbol("s", plan.tensor if plan.sequence_parallel else 1, "ranks that share what is not divided by t")
    m, p, v = plan.microbatches, plan.pipeline, plan.virtual
    i = symbol("i", min(m, p - stage), "microbatches in flight")
    if v > 1:  # Megatron-LM's warm-up and one more; the input of the first chunk is kept until its backward
        i = symbol("i", min(m * v, 2 * (p - stage - 1) + (v - 1) * p + 1), "microbatches in flight, times chunks")
    ask = model.naming(lambda block: block.ranked(b, T, attention == "eager"))
    answers = [ask(block) | {"input": 2 * b * block.width} for block, _ in rank.kinds]
    parts = [(ceil(said["whole"], t) + said["divided"], said["core"], ceil(said["input"], t)) for said in answers]
    kept = [{"none": part + core, "selective": part, "full": entry}[recompute] for part, core, entry in parts]
    again = [{"none": NOTHING, "selective": core, "full": part + core}[recompute] for part, core, _ in parts]
    layers = rank.over_blocks([{"kept": each} for each in kept])["kept"]
    if v > 1:
        if any(each != kept[0] for each in kept):
            raise ValueError(f"virtual={v}: the chunks of {model.name} hold layers of several kinds.")
        layers = symbol("l", rank.count.value // v, "layers of a chunk") * kept[0]
    terms = {"recomputed": max(again, key=int)} if recompute != "none" else {}
    terms["layers"] = i * layers
    d = rank.kinds[0][0].width
    if stage == 0 and getattr(model, "dropout", 0):
        terms["embedding"] = (symbol("j", min(m, 2 * p), "microbatches that entered") if v > 1 else i) * ceil(b * d, t)
    if stage == plan.pipeline - 1:
        V = rank.parts[2][-1].V
        terms["head"] = ceil(4 * b * d, t) + (2 if fused_loss else 4) * b * V
    said = "in 16 bits, and their gradient takes their place" if fused_loss else "in fp32"
    return Breakdown.from_terms("B", terms, assumptions=(f"The logits are kept once, {said}.",))


# ---------------------------------------------------------------- what a rank sends


def traffic(model, plan, *, batch, seq, recompute="none") -> Breakdown:
    """Bytes that the busiest rank sends in one training step, by kind of parallelism.

    data: an all-reduce of the gradients (stage 0); a reduce-scatter of gradients and an all-gather of weights (1, 2; at
    stage 2 gradients are reduced after every microbatch); stage 3 gathers the weights before forward and again before
    backward of every microbatch. tensor: an all-reduce of the activations after attention and after the MLP, forward
    and backward (and again where a block is recomputed), one after the embedding, one before the head; sequence
    parallelism splits each in two and gathers the inputs of each half block once more; latent attention sums and
    gathers its latents in place of its input. expert: two all-to-alls forward and two backward in each mixture.
    pipeline: activations onward, their gradients back, for each chunk, and the sum of a tied embedding's two gradients.
    context: keys and values of every layer go round forward, again backward and where attention is recomputed, and
    their gradients once. Gradients of weights are summed over data · context. Rings, 16-bit numbers.
    """
    model = _check(model, plan)
    stages = _stages(model, plan, (0, min(1, plan.pipeline - 1), plan.pipeline - 1))
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
    rank = _rank(model, plan, stage)
    m, c, kinds = plan.microbatches, communication, [(block, number.value) for block, number in rank.kinds]
    parameters = rank_parameters(model, plan, stage)
    experts = parameters.parts.get("experts", 0)
    groups = ((int(parameters) - experts, plan.replicas), (experts, plan.replicas // plan.expert))
    for count, ranks in groups:
        if count and ranks > 1:
            for times, collective in _gradient_messages(plan):
                yield "data", times, collective, _WIRE * count, ranks
    activation = _WIRE * tokens * kinds[0][0].width.value
    forwards = 2 if recompute == "full" else 1
    share = plan.tensor if plan.sequence_parallel else 1  # then each tensor rank sends its own tokens
    if plan.tensor > 1:
        ends, last = (stage == 0) + (stage == plan.pipeline - 1), stage == plan.pipeline - 1
        sums, gathers = Counter({activation: ends}), Counter({activation: ends + last})  # bytes -> times
        for layer, number in [(layer, number) for block, number in kinds for layer in block.branches]:
            gathered, beside = (_WIRE * tokens * of(width).value for width in layer.gathered)
            rows = (
                (activation, forwards, 1),
                (gathered + beside, 1, forwards),
                (gathered, 0, 1),
            )  # weights ask once more
            for nbytes, summed, collected in rows:
                sums[nbytes] += number * summed
                gathers[nbytes] += number * collected
        split = ((c.reduce_scatter, sums), (c.all_gather, gathers))
        for collective, counted in split if plan.sequence_parallel else ((c.all_reduce, sums),):
            for nbytes, times in counted.items():
                yield "tensor", m * times, collective, nbytes, plan.tensor
    for block, number in kinds:
        dispatched = -(-activation * sum(of(layer.copies).value for layer in block.layers) // share)
        if plan.expert > 1 and dispatched:
            yield "expert", m * number * 2 * (forwards + 1), c.all_to_all, dispatched, plan.expert
        if plan.context > 1:  # keys and values of whole sequences
            attention = model.naming(lambda layer: layer.passed)(block.branches[0])
            passed = _WIRE * tokens * plan.context * attention.value
            yield "context", m * number * (2 + (recompute != "none")), c.all_gather, passed, plan.context
            yield "context", m * number, c.reduce_scatter, passed, plan.context
    if plan.pipeline > 1:
        neighbours = 2 * plan.virtual - (stage == 0) - (stage == plan.pipeline - 1)
        yield "pipeline", m * neighbours, c.point_to_point, -(-activation // share), 2
        for head in rank.parts[0 if stage == 0 else 2]:
            if getattr(head, "tied", False):
                yield "pipeline", 1, c.all_reduce, _WIRE * (head.V * head.d).value, 2


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


def _stages(model, plan, equal) -> list[int]:
    """The stages that may hold or send most: those of `equal` layers, or all."""
    return sorted({*equal}) if len(model.kinds) == 1 else list(range(plan.pipeline))


def _check(model, plan) -> Stack:
    """The model, if the plan fits it."""
    model = models.resolve(model, decodes=True)
    if not isinstance(plan, Plan):
        raise ValueError(f"plan={units.shortly(plan)} must be a parallelism.Plan, such as Plan(data=8, tensor=4).")
    layers = len(model.parts[1])
    if plan.pipeline > layers:
        raise ValueError(f"pipeline={plan.pipeline} has more stages than {model.name} has layers ({layers}).")
    if layers % (plan.pipeline * plan.virtual):
        chunks = f" · virtual={plan.virtual}" * (plan.virtual > 1)
        raise ValueError(f"pipeline={plan.pipeline}{chunks} must divide layers={layers}: stages hold equally many.")
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
    """Tokens of one microbatch on one rank: its share of those of each sequence."""
    batch, seq = units.count(batch, "batch"), model.length(units.count(seq, "seq"), "seq")
    if batch % (plan.data * plan.microbatches):
        raise ValueError(
            f"batch={batch} must be a multiple of data · microbatches = {plan.data * plan.microbatches}: it is the "
            "number of sequences of the whole step."
        )
    if seq % plan.context:
        raise ValueError(f"context={plan.context} must divide seq={seq}: ranks take equally many tokens of a sequence.")
    return batch // (plan.data * plan.microbatches) * seq // plan.context


units.teach(globals())
