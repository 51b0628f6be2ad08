"""What a training step keeps: the activations saved for the backward pass, and the peak of a whole step, in bytes.

Two conventions for activations. "torch" counts what autograd really saves, op by op (`tape`). "megatron" is the formula
of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from course_lib.accounting import models, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import NOTHING, Quantity, symbol, total
from course_lib.accounting.layers import tape
from course_lib.accounting.units import FrozenDict

_PRECISIONS = ("fp32", "bf16", "amp-bf16")
_ATTENTION = ("eager", "sdpa")
_RECOMPUTE = ("none", "selective", "full")
_OPTIMIZER_STATES = {"adamw": 2, "sgd": 0, "sgd-momentum": 1}  # optimizer -> tensors that it keeps per weight


def activations(
    model,
    batch=1,
    seq=None,
    image=None,
    precision=None,
    attention: str = "eager",
    recompute: str = "none",
    convention: str = "torch",
    fused_loss: bool = False,
) -> Breakdown:
    """Bytes kept from the forward pass for the backward pass, without weights and inputs.

    seq: None is the model's context; images take `image` (None: the model's own) instead. precision: "fp32" (the
    default), "bf16" (weights too) or "amp-bf16" (autocast). recompute: "selective" runs scores, softmax and values
    again, "full" every block. Parts are summed over the layers; "layer.…" is one of them.
    fused_loss: one kernel makes loss and gradient, as in llm.c: in place of log-probabilities in fp32 the logits are
    kept as the head makes them, and their gradient takes their place.
    convention: "torch" counts the storages that autograd saves, labels given. "megatron" is Korthikanti's
    sbh(34 + 5as/h) a layer, which fixes 16-bit numbers, dropout and eager attention.
    """
    units.choice(convention, "convention", ("torch", "megatron"))
    units.choice(recompute, "recompute", _RECOMPUTE)
    units.choice(attention, "attention", _ATTENTION)
    model = models.resolve(model).at(image)
    if units.flag(fused_loss, "fused_loss") and (convention == "megatron" or model.reads_images):
        raise ValueError("fused_loss=True is known of a language model's head under convention='torch'.")
    if convention == "megatron":
        return _megatron(model, batch, seq, image, precision, attention, recompute)
    x = _inputs(model, batch, seq, image, "fp32" if precision is None else precision, attention, recompute, fused_loss)
    return model.breakdown(
        "B", lambda layer: _live(layer.saved(x)), assumptions=_assumptions(model, x), omitted=_UNSAVED
    )


_UNSAVED = (
    "What the forward pass frees again, and the logits that the caller holds.",
    "The state of the random generator that each recomputed region stores.",
)


def _assumptions(model, x, foreach=False) -> tuple[str, ...]:
    dropout = getattr(model, "dropout", 0.0)
    said = [model.written]
    if not model.reads_images:
        said.append("No KV cache: use_cache=False.")
    if x.cast:
        said.append("Autocast keeps the copies of the weights that the backward pass multiplies with.")
    if x.fused_loss:
        said.append(
            "The kernel of the loss keeps the logits, and writes their gradient over them; nobody else holds them."
        )
    if dropout:
        said.append("A dropout mask takes as many bytes as the numbers that it masks; on a GPU it takes one.")
        if x.attention == "sdpa":
            said.append(
                "With dropout, the CPU's scaled_dot_product_attention keeps scores as eager attention does, in fp32."
            )
    else:
        said.append("No dropout: the model has none; those of the catalogue never do, whatever they were trained with.")
        if x.attention == "sdpa":
            said.append("scaled_dot_product_attention runs its fused kernel, with is_causal for a decoder.")
    if foreach:
        said.append("A multi-tensor optimizer, as measured on the CPU: all its temporaries exist at once.")
    return tuple(said)


def _inputs(model, batch, seq, image, precision, attention, recompute, fused_loss=False):
    """What the layers are asked about; ValueError for images that the model has no positions for."""
    units.choice(precision, "precision", _PRECISIONS)
    units.choice(attention, "attention", _ATTENTION)
    units.choice(recompute, "recompute", _RECOMPUTE)
    if image is not None and model.reads_images and units.pair(image, "image") != units.pair(model.image, "image"):
        raise ValueError(
            f"image={image!r} is not the {model.image!r} that {model.name} has positions for. Try "
            "dataclasses.replace(model, image=...)."
        )
    how = {"precision": precision, "attention": attention, "recompute": recompute, "fused_loss": fused_loss}
    return model.inputs(batch, seq, image, **how)


def _live(parts) -> dict:
    return {name: amount for name, amount in parts.items() if amount.value}


def _megatron(model, batch, seq, image, precision, attention, recompute) -> Breakdown:
    """Korthikanti et al., equations 1 and 2, without tensor parallelism, op by op as in their section 4.1."""
    if not (model.decodes and hasattr(model, "heads")):
        raise ValueError(
            f"convention='megatron' is a formula for a models.Transformer; model={units.shortly(model)} is none."
        )
    if image is not None:
        raise ValueError(f"image={image!r}: {model.name} takes sequences of tokens; give seq=.")
    if precision == "fp32":
        raise ValueError("precision='fp32' does not fit convention='megatron', which counts 2 bytes a number.")
    if precision is not None:
        units.choice(precision, "precision", _PRECISIONS)
    if attention != "eager":
        raise ValueError(f"attention={attention!r} does not fit convention='megatron', which keeps the scores.")
    x = model.inputs(batch, seq)
    L, d = symbol("L", model.layers, "layers"), symbol("d", model.d_model, "model width")
    h = symbol("h", model.heads, "heads")
    token, pair = x.B * x.T * d, x.B * x.T * x.T * h
    layer = {
        "attention.qkv": 2 * token,
        "attention.scores": 4 * token,
        "attention.softmax": 3 * pair,  # its output, and the mask of its dropout
        "attention.values": 2 * token + 2 * pair,
        "attention.out": 3 * token,
        "mlp": 19 * token,
        "norm": 4 * token,
    }
    if recompute == "selective":
        layer["attention.values"] = 2 * token
        del layer["attention.softmax"]
    elif recompute == "full":
        layer = {"checkpoint": 2 * token}
    return Breakdown.from_terms(
        "B",
        {name: L * part for name, part in layer.items()},
        assumptions=(
            "Korthikanti et al. 2022: 2 bytes a number, 1 a dropout mask, dropout after softmax, attention and MLP.",
            "An MLP of width 4·d without a gate, and heads that are d wide together, whatever the model has.",
        ),
        omitted=("Embedding, final norm, head and loss.",),
        views={"layer": Breakdown.from_terms("B", layer)},
    )


# ---------------------------------------------------------------- the peak of a training step


@dataclass(frozen=True, eq=False, repr=False)
class Peak(Breakdown):
    """The largest phase of a training step, made by `training_peak`; `phases` has all, each at its largest instant.

    Parts: weights, optimizer_state, inputs, logits (the caller holds them), activations (still saved), gradients (of
    weights, those that exist by then) and temporaries (gradients of activations, and what one op needs on top).
    """

    phases: Mapping[str, Breakdown] = field(default_factory=dict)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "phases", FrozenDict(self.phases))

    @property
    def phase(self) -> str:
        """The name of the largest phase."""
        return max(self.phases, key=lambda name: int(self.phases[name]))

    def __repr__(self) -> str:
        """The table as text, and the phases under it."""
        return f"{super().__repr__()}\n{_largest_phase(self.phases)}"

    def to_json(self) -> str:
        """JSON text as of a Breakdown, with the name of the largest "phase" and all "phases"."""
        import json

        phases = {name: json.loads(phase.to_json()) for name, phase in self.phases.items()}
        return json.dumps({**json.loads(super().to_json()), "phase": self.phase, "phases": phases}, ensure_ascii=False)


def training_peak(
    model,
    batch=1,
    seq=None,
    image=None,
    precision: str = "fp32",
    attention: str = "eager",
    recompute: str = "none",
    optimizer: str = "adamw",
    foreach: bool = False,
) -> Peak:
    """Bytes alive at the worst instant of a training step, as PyTorch's CPU allocator counts them.

    The second step (the optimizer's state exists), after zero_grad(set_to_none=True); the caller holds the logits.
    seq to recompute: as in `activations`. optimizer: "adamw", "sgd" or "sgd-momentum". foreach: AdamW updates all
    tensors at once instead of one at a time; on a GPU that is PyTorch's default.
    Phases: loss_backward (loss and head), block_backward (with the forward pass of the last block), end_of_backward
    (the embedding) and optimizer.
    """
    return accumulated_peak(model, batch, 1, seq, image, precision, attention, recompute, optimizer, foreach)


def accumulated_peak(
    model,
    batch=1,
    parts=1,
    seq=None,
    image=None,
    precision: str = "fp32",
    attention: str = "eager",
    recompute: str = "none",
    optimizer: str = "adamw",
    foreach: bool = False,
) -> Peak:
    """Bytes alive at the worst instant of a step whose `batch` goes through the model in `parts` equal parts.

    As `training_peak`, of one part, and from the second part on the gradients of all weights are alive from its
    beginning: each new one is added to the old one as soon as it is made, and freed. The caller holds the logits of one
    part. ValueError where `parts` does not divide `batch`.
    """
    batch, parts = units.count(batch, "batch"), units.count(parts, "parts")
    if batch % parts:
        raise ValueError(f"parts={parts} must divide batch={batch}: the parts of a step are equal here.")
    units.flag(foreach, "foreach")
    states = _OPTIMIZER_STATES[units.choice(optimizer, "optimizer", _OPTIMIZER_STATES)]
    model = models.resolve(model)
    x = _inputs(model, batch // parts, seq, image, precision, attention, recompute)
    step = model.naming(lambda inputs: tape.Step(model, inputs))(x)
    before, layer, after = map(total, step.tensors)
    weights = before + step.L * layer + after
    held = {
        "weights": weights,
        "optimizer_state": total([weights] * states),
        "inputs": step.inputs,
        "logits": step.logits,
    }
    omitted = (*_BESIDE, *([_PATCH_SCRATCH] if model.reads_images else []))
    if any(step.attention._q > layer.f for layer in model.kinds[0][0].layers if hasattr(layer, "f")):
        omitted += (_WIDE_ATTENTION,)
    said = (*_assumptions(model, x, foreach), *([_ACCUMULATES] if parts > 1 else []))
    more = {"assumptions": said, "omitted": omitted}
    instants = _instants(step, weights if parts > 1 else NOTHING)
    instants["optimizer"] = (NOTHING, weights, _update(step.tensors, weights, optimizer, foreach))
    phases = {}
    for name, (saved, gradients, temporaries) in instants.items():
        alive = held | {"activations": saved, "gradients": gradients, "temporaries": temporaries}
        phases[name] = Breakdown.from_terms("B", _live(alive), **more)
    largest = max(phases.values(), key=int)
    own = {item.name: getattr(largest, item.name) for item in fields(Breakdown)}
    own["assumptions"] = (*largest.assumptions, _largest_phase(phases))
    return Peak(**own, phases=phases)


def _largest_phase(phases) -> str:
    first, *others = sorted(phases, key=lambda name: -int(phases[name]))
    rest = ", ".join(f"{name} {units.format_exact(int(phases[name]))} B" for name in others)
    return f"The largest phase is {first}, with {units.format_exact(int(phases[first]))} B; the others: {rest}."


_BESIDE = (
    "Buffers of the model, the step counters of the optimizer and single numbers such as the loss.",
    "What kernels allocate inside: up to a few MB for a product of bf16 matrices on the CPU.",
    "The rounding, caching and fragmentation of a GPU's allocator.",
)

_ACCUMULATES = "Gradients of earlier parts are alive; a new one is added to them as soon as it is made."

_WIDE_ATTENTION = (
    "Copies inside the attention of a model whose heads together are wider than its MLP: measured, its peak is up to "
    "13 % above this number in bf16 or under autocast, and up to 4 % in fp32."
)
_PATCH_SCRATCH = (
    "The scratch of oneDNN in the backward pass of the patch convolution on the CPU, which end_of_backward would need. "
    "For patches of 16, 20 and 32 pixels it measured four times the weights of the convolution and one image, for each "
    "thread; for 8, 10 and 14 next to nothing. At a batch of 1 or 2 of a small model it can be the peak: 1 to 26 % "
    "above this number, in the cases measured."
)


def _instants(step, there) -> dict[str, tuple]:
    """Phase -> (activations still saved, gradients of weights, other temporaries) at its largest instant.

    there: the gradients of all weights, where each new one leaves as soon as it has been added to them; else NOTHING.
    """
    head, norm, block, embedding = step.head, step.final_norm, step.layer, step.embedding
    of_head, of_norm = (total(op.grads for op in ops) for ops in (head, norm))
    of_block = total(step.tensors[1])
    made = of_head, of_head + of_norm + step.R * of_block, of_head + of_norm + step.L * of_block
    if there:  # a head that is the embedding waits: its gradient is added with the embedding's
        made = (of_head if step.tied else NOTHING,) * 3
        norm, block, embedding = map(_passing, (norm, block, embedding))
        head = head if step.tied else _passing(head)
    one, outside = _saved(block), _saved(embedding) + total(step.kept.values())
    others, stream = step.R * one, step.stream  # stream: the gradient of the residual stream
    loss, last = tape.largest_instant(head), tape.largest_instant([*norm, *block], made[0], stream)
    first, end = tape.largest_instant(block, made[1], stream), tape.largest_instant(embedding, made[2], stream)
    in_blocks = (
        (outside + others + last[0], there + last[1], last[2]),
        (outside + first[0], there + first[1], first[2]),
        *((outside + others + one, there, forward) for forward in (step.unsaved, step.in_core)),  # the last one
    )
    return {
        "loss_backward": (outside + others + one + _saved(norm) + loss[0], there + loss[1], loss[2]),
        "block_backward": max(in_blocks, key=lambda instant: total(instant).value),
        "end_of_backward": (end[0], there + end[1], end[2]),
    }


def _passing(ops) -> list:
    """The ops, with gradients of weights that are there for the length of their op only."""
    return [op._replace(extra=op.extra + op.grads, grads=NOTHING) for op in ops]


def _saved(ops) -> Quantity:
    return total(tape.by_part(ops).values())


def _update(tensors, weights, optimizer, foreach) -> Quantity:
    """Temporaries of the optimizer. AdamW needs a denominator for each tensor, √v and its scaled copy.

    One tensor at a time, the denominator of the tensor before is still alive. SGD works in place.
    """
    if optimizer != "adamw":
        return NOTHING
    if foreach:
        return weights  # √v of all tensors, scaled in place
    before, layer, after = tensors
    sequence = [*before, *layer, *layer[:1], *after]
    pairs = zip([NOTHING, *sequence[:-1]], sequence, strict=True)
    return max((old + new + new for old, new in pairs), key=lambda amount: amount.value)


units.teach(globals())
