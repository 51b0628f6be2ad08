"""A small decoder that trains for one step on ranks, split by a `parallelism.Plan`: with every byte counted.

Written out in plain torch: vocabulary, heads and the MLP's width are divided over the tensor ranks, layers over the
stages (all microbatches forward, then all backward), sequences over the data ranks, with ZeRO stages 0 to 3 over the
rank's parameters as one flat buffer. Plain SGD, fp32. At stage 3 a microbatch runs forward without a graph, drops the
weights, gathers them again and runs forward once more with its backward pass: nothing whole is kept in between.
No positions: they would add nothing to what is sent.
"""

from dataclasses import dataclass

from course_lib.accounting import models, parallelism
from course_lib.units.q20_design_a_framework import ranks

LAYERS, WIDTH, HEADS, VOCAB, SEQ, BATCH, RATE = 4, 128, 4, 512, 64, 8, 0.5
MODEL = models.Transformer(
    "small decoder", LAYERS, WIDTH, HEADS, VOCAB, SEQ, bias=False, norm="rmsnorm", positions="rotary", tied_head=False
)
PLANS = {
    "data 4": parallelism.Plan(data=4),
    "ZeRO-1, data 4": parallelism.Plan(data=4, zero_stage=1),
    "ZeRO-3, data 4": parallelism.Plan(data=4, zero_stage=3),
    "ZeRO-3, 2 microbatches": parallelism.Plan(data=4, zero_stage=3, microbatches=2),
    "tensor 4": parallelism.Plan(tensor=4),
    "pipeline 4, 4 microbatches": parallelism.Plan(pipeline=4, microbatches=4),
    "3D: data 2, tensor 2, pipeline 2": parallelism.Plan(data=2, tensor=2, pipeline=2, microbatches=2),
}


def predicted(plan: parallelism.Plan) -> int:
    """Bytes that the busiest rank sends in a step, by the calculator; it counts 16-bit numbers, and here are 32."""
    return 2 * int(parallelism.traffic(MODEL, plan, batch=BATCH, seq=SEQ))


@dataclass(frozen=True)
class Step:
    """payload: bytes handed over by the busiest rank, without the loss's few; total: by all ranks, with them; sockets:
    bytes that really went, of all ranks (None where the system does not tell); off: the largest difference of a weight
    from the same step on one rank, over the largest change of a weight.
    """

    payload: int
    total: int
    sockets: int | None
    off: float


def step(plan: parallelism.Plan) -> Step:
    """One training step on real ranks, against the same on one rank alone."""
    import torch

    torch.set_num_threads(1)
    start, tokens = weights(torch), batch(torch)
    truth = alone(torch, start, tokens)
    moved = max((truth[name] - start[name]).abs().max().item() for name in start)
    found = ranks.run(plan.ranks, lambda rank: on_rank(rank, plan, start, tokens, truth))
    sent = [sum(bytes_ for kind, bytes_ in payload.items() if kind != "loss") for payload, _, _ in found]
    total = sum(sum(payload.values()) for payload, _, _ in found)
    return Step(max(sent), total, found[0][1], max(off for _, _, off in found) / moved)


def on_rank(rank, plan, start, tokens, truth):
    """(payload by kind, bytes of the sockets, largest difference from `truth`) of one rank."""
    import torch

    here = _Place(rank, plan)
    held = here.shard(start)
    (place, after), sockets = ranks.measured(rank, lambda: _train(torch, here, held, tokens))
    right = torch.cat([value.flatten() for value in here.shard(truth).values()])
    return dict(rank.payload), sockets, (after - right[place]).abs().max().item()


# ---------------------------------------------------------------- weights, data, one rank alone


def weights(torch) -> dict:
    """Name → fp32 weights of the whole decoder, the same at every call."""
    draw = torch.Generator().manual_seed(0)

    def normal(*shape):
        return torch.randn(*shape, generator=draw) * shape[-1] ** -0.5

    named = {"embedding": torch.randn(VOCAB, WIDTH, generator=draw)}
    for layer in range(LAYERS):
        named |= {f"{layer}.norm1": torch.ones(WIDTH), f"{layer}.norm2": torch.ones(WIDTH)}
        named |= {f"{layer}.{name}": normal(WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        named |= {f"{layer}.up": normal(4 * WIDTH, WIDTH), f"{layer}.down": normal(WIDTH, 4 * WIDTH)}
    return named | {"norm": torch.ones(WIDTH), "head": normal(VOCAB, WIDTH)}


def batch(torch):
    """[sequences, tokens + 1]"""
    return torch.randint(VOCAB, (BATCH, SEQ + 1), generator=torch.Generator().manual_seed(1))


def alone(torch, start, tokens) -> dict:
    """The weights after the step, on one rank, by torch's own cross-entropy."""
    held = {name: value.clone().requires_grad_() for name, value in start.items()}
    x = torch.nn.functional.embedding(tokens[:, :-1], held["embedding"])
    for layer in range(LAYERS):
        x = _block(torch, x, held, layer, lambda t: t, lambda t: t)
    logits = _norm(torch, x, held["norm"]) @ held["head"].T
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).backward()
    return {name: (value - RATE * value.grad).detach() for name, value in held.items()}


def _norm(torch, x, weight):
    return torch.nn.functional.rms_norm(x, (WIDTH,), weight)


def _block(torch, x, held, layer, enter, leave):
    """enter: before the columns, whose inputs' gradients are summed over the tensor ranks; leave: after the rows."""
    F = torch.nn.functional
    inputs = enter(_norm(torch, x, held[f"{layer}.norm1"]))
    q, k, v = ((inputs @ held[f"{layer}.{n}"].T).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for n in "qkv")
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
    x = x + leave(mixed @ held[f"{layer}.o"].T)
    inputs = enter(_norm(torch, x, held[f"{layer}.norm2"]))
    return x + leave(F.gelu(inputs @ held[f"{layer}.up"].T) @ held[f"{layer}.down"].T)


# ---------------------------------------------------------------- a rank's place and share

_ROWS = ("embedding", "head", "q", "k", "v", "up")  # divided by their first dimension, the outputs
_COLUMNS = ("o", "down")  # by their second, the inputs


class _Place:
    """Where a rank stands in data × pipeline × tensor, with a group for each."""

    def __init__(self, rank, plan):
        d, p, t = plan.data, plan.pipeline, plan.tensor
        index, self.t = divmod(rank.place, t)
        self.d, self.p = divmod(index, p)
        self.plan, self.first, self.last = plan, self.p == 0, self.p == p - 1

        def at(data, stage, tensor):
            return (data * p + stage) * t + tensor

        self.tensor = rank.split(f"t{self.d}.{self.p}", [at(self.d, self.p, i) for i in range(t)])
        self.stages = rank.split(f"p{self.d}.{self.t}", [at(self.d, i, self.t) for i in range(p)])
        self.data = rank.split(f"d{self.p}.{self.t}", [at(i, self.p, self.t) for i in range(d)])
        each = LAYERS // p
        self.layers = range(self.p * each, (self.p + 1) * each)

    def shard(self, whole: dict) -> dict:
        """This rank's share: its stage's layers, and of them its rows or columns."""
        own = {name for name in whole if name.split(".")[0].isdigit() and int(name.split(".")[0]) in self.layers}
        own |= {"embedding"} if self.first else set()
        own |= {"norm", "head"} if self.last else set()
        return {name: self._cut(name, value).clone() for name, value in whole.items() if name in own}

    def _cut(self, name, value):
        last = name.split(".")[-1]
        if last in _ROWS or last in _COLUMNS:
            return value.chunk(self.plan.tensor, dim=0 if last in _ROWS else 1)[self.t].contiguous()
        return value


# ---------------------------------------------------------------- one step on one rank


def _train(torch, here, held: dict, tokens):
    """(place in the rank's flat weights, what stands there after the step): all of them, or ZeRO-3's share."""
    plan, names = here.plan, list(held)
    shapes = [held[name].shape for name in names]

    def unflat(vector):
        pieces = vector.split([shape.numel() for shape in shapes])
        return {name: piece.view(shape) for name, piece, shape in zip(names, pieces, shapes, strict=True)}

    flat = torch.cat([held[name].flatten() for name in names])
    own = slice(here.data.place * (flat.numel() // plan.data), (here.data.place + 1) * (flat.numel() // plan.data))
    mine = flat[own].clone()  # what ZeRO's rank updates
    micro = tokens.chunk(plan.data)[here.d].chunk(plan.microbatches)
    scale = 1 / (plan.microbatches * plan.data)
    total = torch.zeros_like(mine if plan.zero_stage >= 2 else flat)
    if plan.pipeline > 1:
        leaves = _leaves(unflat(flat))
        _pipeline(torch, here, leaves, micro, scale)
        total += _gradient(torch, leaves)
    else:
        for part in micro:
            if plan.zero_stage == 3:
                with torch.no_grad():
                    _loss(torch, here, unflat(here.data.all_gather(mine)), part)
                leaves = _leaves(unflat(here.data.all_gather(mine)))
            else:
                leaves = _leaves(unflat(flat))
            (_loss(torch, here, leaves, part) * scale).backward()
            gradient = _gradient(torch, leaves)
            total += here.data.reduce_scatter(gradient) if plan.zero_stage >= 2 else gradient
    if plan.zero_stage == 0:
        return slice(None), flat - RATE * here.data.all_reduce(total)
    if plan.zero_stage == 1:
        total = here.data.reduce_scatter(total)
    mine = mine - RATE * total
    if plan.zero_stage == 3:
        return own, mine  # weights stay in shards
    return slice(None), here.data.all_gather(mine)


def _leaves(named: dict) -> dict:
    return {name: value.detach().clone().requires_grad_() for name, value in named.items()}


def _gradient(torch, leaves: dict):
    return torch.cat([leaf.grad.flatten() for leaf in leaves.values()])


def _functions(torch, group):
    """(enter, leave): identity forward and a sum of gradients backward, and the other way round. (Megatron's f and g.)"""

    class Enter(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view_as(x)

        @staticmethod
        def backward(ctx, gradient):
            return group.all_reduce(gradient.clone(), "tensor")

    class Leave(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, kind):
            return group.all_reduce(x.clone(), kind)

        @staticmethod
        def backward(ctx, gradient):
            return gradient, None

    return Enter.apply, Leave.apply


def _layers(torch, here, held, x, tokens):
    """What the stage's layers make of x, or of the tokens on the first stage."""
    enter, leave = _functions(torch, here.tensor)
    if here.first:
        rows, begin = held["embedding"].shape[0], here.t * held["embedding"].shape[0]
        mine = (tokens[:, :-1] >= begin) & (tokens[:, :-1] < begin + rows)
        found = torch.nn.functional.embedding((tokens[:, :-1] - begin).clamp(0, rows - 1), held["embedding"])
        x = leave(found * mine[..., None], "tensor")
    for layer in here.layers:
        x = _block(torch, x, held, layer, enter, lambda t: leave(t, "tensor"))
    return x


def _end(torch, here, held, x, tokens):
    """The mean cross-entropy, where each tensor rank has a share of the vocabulary."""
    enter, leave = _functions(torch, here.tensor)
    logits = enter(_norm(torch, x, held["norm"])) @ held["head"].T
    wanted, rows = tokens[:, 1:], held["head"].shape[0]
    top = here.tensor.all_reduce(logits.detach().amax(-1), "loss", largest=True)
    total = leave((logits - top[..., None]).exp().sum(-1), "loss")
    mine = (wanted >= here.t * rows) & (wanted < (here.t + 1) * rows)
    place = (wanted - here.t * rows).clamp(0, rows - 1)
    right = leave(logits.gather(-1, place[..., None])[..., 0] * mine, "loss")
    return (total.log() + top - right).mean()


def _loss(torch, here, held, tokens):
    return _end(torch, here, held, _layers(torch, here, held, None, tokens), tokens)


def _pipeline(torch, here, held, micro, scale) -> None:
    """All microbatches forward, then all backward: gradients end in the leaves of `held`."""
    kept = []
    for number, tokens in enumerate(micro):
        entered = None
        if not here.first:
            entered = torch.empty(len(tokens), SEQ, WIDTH)
            entered = here.stages.receive(entered, here.p - 1, number).requires_grad_()
        left = _layers(torch, here, held, entered, tokens)
        if here.last:
            left = _end(torch, here, held, left, tokens) * scale
        else:
            here.stages.send(left.detach(), here.p + 1, number)
        kept.append((entered, left))
    for number, (entered, left) in reversed(list(enumerate(kept))):
        tag = len(micro) + number
        gradient = None if here.last else here.stages.receive(torch.empty_like(left), here.p + 1, tag)
        left.backward(gradient)
        if not here.first:
            here.stages.send(entered.grad, here.p - 1, tag)
