"""Counting FLOPs, with 2 per multiply-add, always.

What is counted is what `torch.utils.flop_counter.FlopCounterMode` counts with eager attention: every matrix product and
convolution. The rest (softmax, norms, activations, additions) stands in `.omitted`, and `extras=True` counts it.
"""

from course_lib.accounting import memory, models, units
from course_lib.accounting.answers.breakdown import Breakdown
from course_lib.accounting.answers.quantity import symbol
from course_lib.accounting.layers.base import CORE, Block

_ASSUMES_TWO = "Two FLOP per multiply-add."
_ASSUMES_NO_IMAGE_GRADIENT = "The image needs no gradient: what reads it has one product in the backward pass, not two."
_OMITS_OPTIMIZER = "The optimizer step."
RECOMPUTE = ("none", "selective", "full")
_OMITS_EARLY_STOP = "The early stop of non-reentrant checkpointing, which skips the last products of a block."


# ---------------------------------------------------------------- single operations: plain ints


def matmul(m, k, n, exact: bool = False) -> int:
    """FLOP of [m, k] @ [k, n]: 2·m·k·n; exact=True counts m·n·(2k − 1), as k products need only k − 1 additions."""
    m, k, n = (units.count(value, name) for value, name in ((m, "m"), (k, "k"), (n, "n")))
    return m * n * (2 * k - 1) if exact else 2 * m * k * n


def conv2d(*, in_channels, out_channels, kernel, out_height, out_width, batch=1, groups=1) -> int:
    """FLOP of a 2-D convolution: 2 · batch · out_channels · out_height · out_width · in_channels/groups · kernel area.

    kernel: int or (height, width). groups must divide both channel counts.
    """
    height, width = units.pair(kernel, "kernel")
    in_channels, out_channels = units.count(in_channels, "in_channels"), units.count(out_channels, "out_channels")
    groups = units.count(groups, "groups")
    for name, channels in (("in_channels", in_channels), ("out_channels", out_channels)):
        if channels % groups:
            raise ValueError(
                f"groups={groups} must divide {name}={channels}: each group takes an equal share of channels."
            )
    positions = (
        units.count(out_height, "out_height") * units.count(out_width, "out_width") * units.count(batch, "batch")
    )
    return 2 * positions * out_channels * (in_channels // groups) * height * width


def softmax(rows, cols, stable: bool = False) -> int:
    """FLOP of a softmax along `cols`: 3 per element (exp, sum, divide); stable=True 5 (max and subtract come first)."""
    return (5 if stable else 3) * units.count(rows, "rows") * units.count(cols, "cols")


def layer_norm(rows, cols) -> int:
    """FLOP of a LayerNorm along `cols`: 8 per element.

    The tally: mean: sum (1). Variance: subtract the mean (1), square (1), sum (1). Normalise: subtract the mean (1),
    multiply by 1/σ (1). Affine: gain (1), bias (1). The few operations per row (divisions, square root) are left out.
    """
    return 8 * units.count(rows, "rows") * units.count(cols, "cols")


def six_nd(params, tokens) -> int:
    """Training FLOP by the rule of thumb 6·N·D: 2 forward and 4 backward per parameter and token (Kaplan et al. 2020).

    Attention scores are not in it, and embedding parameters are, if `params` has them.
    """
    return 6 * units.count(params, "params") * units.count(tokens, "tokens")


# ---------------------------------------------------------------- a model: Breakdowns


def forward(
    model, batch=1, seq=None, causal: bool = False, extras: bool = False, *, image=None, documents=None
) -> Breakdown:
    """FLOP of one forward pass over `batch` sequences of `seq` tokens (None: the model's context) or, for a
    VisionTransformer or ConvNet, `batch` images of `image` pixels (side or (height, width); None: the model's own).

    Parts of a transformer: attention.qkv, attention.scores, attention.values, attention.out, router (mixtures), mlp and
    head, summed over the layers; "layer.…" is one layer, "layers.…" all of them without what lies outside. An Encoder
    has pooler in place of head, a VisionTransformer also embedding.patch. A ConvNet has its stages, and in each
    convolution and linear. causal=False counts all T² pairs of scores and values, as eager attention computes them;
    causal=True the T(T+1)/2 that a decoder's mask leaves. The head is counted at every position, pooler and classifier
    at one. documents: the lengths of all documents that the sequences are packed with, batch·seq tokens together, each
    of which sees itself only: Σ len² pairs, causal Σ len(len + 1)/2. extras=True adds attention.softmax (3 per
    element), norm, activation, residual and embedding; to the stages of a ConvNet norm, activation, pool and residual.
    """
    model = models.resolve(model).at(image)
    x = model.inputs(batch, seq, image, causal, documents)
    if units.flag(extras, "extras"):
        return _counted(model, x, lambda layer: layer.flops(x) | layer.extras(x), (), multiply_adds=False)
    return _counted(model, x, lambda layer: layer.flops(x), (model.omits_extras,))


def training_step(
    model,
    batch,
    seq=None,
    causal: bool = False,
    recompute: str = "none",
    *,
    image=None,
    documents=None,
    frozen=0,
    lora=None,
) -> Breakdown:
    """FLOP of forward and backward over `batch` sequences of `seq` tokens, which a language model needs, or `batch`
    images; the optimizer is not in it.

    The backward of a matrix product or convolution is two of the same size, so each part is 3 × the forward; what reads
    the image itself is 2 ×, as no gradient flows into it. recompute: "full" runs every block forward once more, not the
    embedding and not the head (reentrant checkpointing); "selective" runs scores and values once more; a ConvNet takes
    "none" only. Parts, and documents, are those of `forward`. frozen: so many of the first blocks of a decoder are not
    trained, nor is its embedding: they run forward only. lora: arguments of `memory.lora_parameters`, {"rank": 8}: all
    weights are frozen, so no product has a gradient of its weight, nor in the first block one of an input that no
    adapter stands before; the part "adapters" is theirs. `FlopCounterMode` counts the same, except that it takes the
    weight gradient of a convolution in g groups for g times what it is (torch 2.13).
    """
    units.choice(recompute, "recompute", RECOMPUTE)
    model = models.resolve(model).at(image)
    if seq is None and not model.reads_images:
        raise ValueError(f"seq=None: say how many tokens a sequence has; {model.name} reads up to {model.context}.")
    x = model.inputs(batch, seq, image, causal, documents, recompute=recompute)
    _check_recompute(model, x, recompute)
    omitted = (model.omits_extras, _OMITS_OPTIMIZER, *((_OMITS_EARLY_STOP,) if recompute == "full" else ()))
    said = (_ASSUMES_NO_IMAGE_GRADIENT,) if model.reads_images else ()
    if frozen or lora is not None:
        model, ask, said = _frozen(models.resolve(model, decodes=True), x, frozen, lora)
        return _counted(model, x, ask, omitted, said)
    return _counted(model, x, lambda layer: layer.training(x), omitted, said)


def _frozen(model, x, count, lora):
    """(the model with its first blocks as kinds of their own, what to ask a layer of it, what that assumes): the first
    `count`, which run forward only; beside adapters one, which no gradient enters, unless a checkpoint asks for one.
    """
    if lora is not None and not (isinstance(lora, dict) and "rank" in lora):
        raise ValueError(f"lora={lora!r} must be arguments of memory.lora_parameters, such as {{'rank': 8}}.")
    if count and lora is not None:
        raise ValueError(f"frozen={count!r} and lora={lora!r}: beside adapters all weights are frozen.")
    before, blocks, after = model.parts
    count = units.count(count or 1, "frozen")
    if count > len(blocks):
        raise ValueError(f"frozen={count} is more than the {len(blocks)} blocks of {model.name}.")
    first = [Block(*block.layers, label=f"first {block.label}".rstrip()) for block in blocks[:count]]
    marked = models.Model(model.name, before, [*first, *blocks[count:]], after, model.context)
    if lora is not None:
        adapters = memory.lora_parameters(model, **lora).parts.values()
        r = symbol("r", int(lora["rank"]), "rank of the adapters")
        ranks = {name: r for part in adapters for name in part.parts}
        said = ("Only adapters are trained, each two products beside the frozen one.",)
        return marked, lambda layer: layer.adapted(x, ranks, x.recompute == "full" or layer not in first)[0], said

    def ask(layer):
        if layer in first:
            return layer.flops(x)
        known = getattr(layer, "tied", False)  # with the frozen embedding
        return {name: 2 * part for name, part in layer.flops(x).items()} if known else layer.training(x)

    held = units.counted(count, "block")
    return marked, ask, (f"Frozen: the embedding and {held}; what is trained begins with a norm's gain.",)


def _check_recompute(model, x, recompute) -> None:
    """Refuse to run again what is not there."""
    if recompute != "none" and not model.kinds:
        raise ValueError(
            f"recompute={recompute!r} runs blocks again; {model.name} is a {type(model).__name__}: only 'none' is one."
        )
    if recompute == "selective" and not any(CORE[0] in block.flops(x) for block, _ in model.kinds):
        raise ValueError(f"recompute='selective' runs scores and values again, and {model.name} has none.")


def _counted(model, x, ask, omitted, assumptions=(), multiply_adds=True) -> Breakdown:
    """The Breakdown of what `ask` gets from the layers, with the sentences of the model and of its layers."""
    return model.breakdown(
        "FLOP",
        ask,
        assumptions=(_ASSUMES_TWO, *model.sentences("assumes", x), *assumptions),
        omitted=(*omitted, *model.omits(x)),
        multiply_adds=multiply_adds,
    )


units.teach(globals())
