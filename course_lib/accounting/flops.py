"""Counting FLOPs, with 2 per multiply-add, always.

What is counted is what `torch.utils.flop_counter.FlopCounterMode` counts with eager attention: every matrix product and
convolution. The rest (softmax, norms, activations, additions) stands in `.omitted`, and `extras=True` counts it.
"""

from course_lib.accounting import units
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.convnet import grouped
from course_lib.accounting.models import SYMBOLS, ConvNet, Encoder, Transformer, VisionTransformer

_SYMBOLS = {"B": "sequences in the batch", "T": "tokens in a sequence"} | SYMBOLS
_IMAGE_SYMBOLS = {"B": "images in the batch", "T": "tokens of an image: its patches and the class token"} | SYMBOLS
# FLOP per element; exp, tanh, erf and a division count as 1
_ACTIVATION = {
    "relu": 1,  # max
    "gelu": 5,  # x/√2, erf, +1, ·x, ·½
    "gelu-tanh": 9,  # x², x³, ·0.044715, +x, ·√(2/π), tanh, +1, ·x, ·½
    "silu": 4,  # −x, exp, +1, divide
}
_NORM = {
    "layernorm": 8,  # as tallied in layer_norm
    "rmsnorm": 4,  # square, sum, ·1/rms, ·gain
}
# FLOP for each unit of `work` of a step of a convolutional network
_STEP = _ACTIVATION | {
    "multiply-add": 2,
    "batchnorm": 4,  # with running statistics: −mean, ·1/σ, ·gain, +bias
    "pool": 1,  # a comparison or an addition for each element of a window
    "add": 1,
}
# the parts that are computed once more in the backward pass
_RECOMPUTED = {
    "none": (),
    "selective": ("attention.scores", "attention.values"),
    "full": ("attention.qkv", "attention.scores", "attention.values", "attention.out", "router", "mlp"),
}

_ASSUMES_TWO = "Two FLOP per multiply-add."
_ASSUMES_PAIRS = "All T·T pairs of scores and values, masked or not."
_ASSUMES_CAUSAL = "A causal mask leaves T·(T + 1)/2 pairs of scores and values."
_ASSUMES_CONVOLUTION = (
    "A convolution costs 2 · images · output channels · output height · output width · input channels of its group · "
    "kernel height · kernel width; multiplications with the zeros of its padding count."
)
_ASSUMES_NO_IMAGE_GRADIENT = "The image needs no gradient: what reads it has one product in the backward pass, not two."
_ASSUMES_KIND = {
    Transformer: (
        "A layer with a sliding window costs what one without does, as in eager attention.",
        "The head runs at every position.",
    ),
    Encoder: ("The pooler reads the first token only.",),
    VisionTransformer: ("The head reads the class token only.",),
}
_OMITS_EXTRAS = "Softmax, norms, activation functions, residual additions and the embedding look-up."
_OMITS_ALWAYS = (
    "Biases, the scaling of embeddings and scores, soft caps, masking of scores, rotary rotation and dropout."
)
_OMITS_ROUTING = "The softmax over experts, the choice among them and the weighted sum of their results."
_OMITS_CONVNET_EXTRAS = "Batch norm, activation functions, pooling and residual additions."
_OMITS_CONVNET_ALWAYS = "Biases and the update of running statistics."
_OMITS_RESIZING = "Interpolating the learned positions to the patches of another image size."
_OMITS_OPTIMIZER = "The optimizer step."
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
    pair = kernel if isinstance(kernel, (tuple, list)) else (kernel, kernel)
    if len(pair) != 2:
        raise ValueError(f"kernel={kernel!r} must be an int or a pair (height, width).")
    height, width = (units.count(side, "kernel") for side in pair)
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


def forward(model, batch=1, seq=None, causal: bool = False, extras: bool = False, *, image=None) -> Breakdown:
    """FLOP of one forward pass over `batch` sequences of `seq` tokens (None: the model's context) or, for a
    VisionTransformer or ConvNet, `batch` images of `image` pixels (side or (height, width); None: the model's own).

    Parts of a transformer: attention.qkv, attention.scores, attention.values, attention.out, router (mixtures), mlp and
    head, summed over the layers; "layer.…" is one layer, "layers.…" all of them without what lies outside. An Encoder
    has pooler in place of head, a VisionTransformer also embedding.patch. A ConvNet has its stages, and in each
    convolution and linear. causal=False counts all T² pairs of scores and values, as eager attention computes them;
    causal=True the T(T+1)/2 that a decoder's mask leaves. The head is counted at every position, pooler and classifier
    at one. extras=True adds attention.softmax (3 per element), norm, activation, residual and embedding; to the stages
    of a ConvNet norm, activation, pool and residual.
    """
    _check_inputs(model, seq, image, causal)
    units.flag(extras, "extras")
    if isinstance(model, ConvNet):
        return _convnet(model, batch, image, training=False, extras=extras)
    values = _values(model, batch, seq, image)
    layer, outside = _layer_terms(values, causal), _outside_terms(model, values)
    if extras:
        layer, outside = layer | _layer_extras(model, values, causal), outside | _outside_extras(model, values)
    omitted = () if extras else (_OMITS_EXTRAS,)
    return _assemble(model, values, layer, outside, causal, omitted, multiply_adds=not extras)


def training_step(model, batch, seq=None, causal: bool = False, recompute: str = "none", *, image=None) -> Breakdown:
    """FLOP of forward and backward over `batch` sequences of `seq` tokens, which a language model needs, or `batch`
    images; the optimizer is not in it.

    The backward of a matrix product or convolution is two of the same size, so each part is 3 × the forward; what reads
    the image itself is 2 ×, as no gradient flows into it. recompute: "full" runs every block forward once more, not the
    embedding and not the head (reentrant checkpointing); "selective" runs scores and values once more; a ConvNet takes
    "none" only. Parts are named as in `forward`. `FlopCounterMode` counts the same, except that it takes the weight
    gradient of a convolution in g groups for g times what it is (torch 2.13).
    """
    again = _RECOMPUTED[units.choice(recompute, "recompute", _RECOMPUTED)]
    _check_inputs(model, seq, image, causal)
    if isinstance(model, ConvNet):
        if recompute != "none":
            raise ValueError(
                f"recompute={recompute!r} runs the blocks of a transformer again; {model.name} is a ConvNet, "
                "so only 'none' is known."
            )
        return _convnet(model, batch, image, training=True)
    if seq is None and not isinstance(model, VisionTransformer):
        raise ValueError(f"seq=None: say how many tokens a sequence has; {model.name} reads up to {model.context}.")
    values = _values(model, batch, seq, image)
    layer = {name: _times(4 if name in again else 3, term) for name, term in _layer_terms(values, causal).items()}
    outside = {
        name: _times(2 if name == "embedding.patch" else 3, term)
        for name, term in _outside_terms(model, values).items()
    }
    omitted = (_OMITS_EXTRAS, _OMITS_OPTIMIZER, *((_OMITS_EARLY_STOP,) if recompute == "full" else ()))
    image_stays = (_ASSUMES_NO_IMAGE_GRADIENT,) if isinstance(model, VisionTransformer) else ()
    return _assemble(model, values, layer, outside, causal, omitted, image_stays, multiply_adds=True)


def _check_inputs(model, seq, image, causal) -> None:
    """Refuse a model that is none, tokens for an image model, an image for a language model, a mask where none is."""
    if not isinstance(model, (Transformer, Encoder, VisionTransformer, ConvNet)):
        raise ValueError(
            f"model={units.shortly(model)} must be a models.Transformer, Encoder, VisionTransformer or ConvNet; "
            "models.load('gpt2') gives one."
        )
    units.flag(causal, "causal")
    reads_images = isinstance(model, (VisionTransformer, ConvNet))
    if reads_images and seq is not None:
        raise ValueError(f"seq={seq!r}: {model.name} reads images; give image=, a side in pixels or (height, width).")
    if image is not None and not reads_images:
        raise ValueError(f"image={image!r}: {model.name} reads tokens; give seq=, the tokens in a sequence.")
    if causal and not isinstance(model, Transformer):
        raise ValueError(
            f"causal={causal!r}: only a decoder (models.Transformer) has a causal mask; {model.name} has none."
        )


# ---------------------------------------------------------------- transformers


def _values(model, batch, seq, image) -> dict[str, int]:
    """The number that each symbol stands for."""
    values = {"B": units.count(batch, "batch")} | model.sizes()
    if isinstance(model, VisionTransformer):
        patches = model.patches(image)
        return values | {"P": patches, "T": patches + 1}
    seq = model.context if seq is None else units.count(seq, "seq")
    if model.positions == "learned" and seq > model.context:
        raise ValueError(f"seq={seq} is longer than context={model.context}: {model.name} has no position beyond it.")
    return values | {"T": seq}


def _layer_terms(values: dict[str, int], causal: bool) -> dict[str, tuple[int, str]]:
    """Matrix products of one layer, forward: name -> (FLOP, formula)."""
    B, T, d, q, k, f, m, E, A = (values[letter] for letter in "BTdqkfmEA")
    pairs, pairs_text = _pairs(T, causal)
    terms = {
        "attention.qkv": (2 * B * T * d * (q + 2 * k), "2·B·T·d·(q + 2·k)"),
        "attention.scores": (2 * B * pairs * q, f"2·B·{pairs_text}·q"),
        "attention.values": (2 * B * pairs * q, f"2·B·{pairs_text}·q"),
        "attention.out": (2 * B * T * q * d, "2·B·T·q·d"),
    }
    if E > 1:
        return terms | {"router": (2 * B * T * d * E, "2·B·T·d·E"), "mlp": (2 * B * T * A * m * d * f, "2·B·T·A·m·d·f")}
    return terms | {"mlp": (2 * B * T * m * d * f, "2·B·T·m·d·f")}


def _outside_terms(model, values: dict[str, int]) -> dict[str, tuple[int, str]]:
    """Matrix products and convolutions outside the layers, forward."""
    B, T, d = (values[letter] for letter in "BTd")
    if isinstance(model, Encoder):
        return {"pooler": (2 * B * d * d, "2·B·d·d")}
    if isinstance(model, VisionTransformer):
        P, c, p, K = (values[letter] for letter in "PcpK")
        return {"embedding.patch": (2 * B * P * c * p * p * d, "2·B·P·c·p·p·d"), "head": (2 * B * d * K, "2·B·d·K")}
    return {"head": (2 * B * T * d * values["V"], "2·B·T·d·V")}


def _layer_extras(model, values: dict[str, int], causal: bool) -> dict[str, tuple[int, str]]:
    """What is no matrix product, in one layer, forward."""
    B, T, d, h, q, k, f, n, A = (values[letter] for letter in "BTdhqkfnA")
    pairs, pairs_text = _pairs(T, causal)
    norm, activation = _NORM[model.norm], _ACTIVATION[model.activation] + model.gated_mlp  # +1: product with the gate
    normed, normed_text = (n * d + q + k, "(n·d + q + k)") if model.qk_norm else (n * d, "n·d")
    return {
        "attention.softmax": (3 * B * h * pairs, f"3·B·h·{pairs_text}"),
        "norm": (norm * B * T * normed, f"{norm}·B·T·{normed_text}"),
        "activation": (activation * B * T * A * f, f"{activation}·B·T·A·f"),
        "residual": (2 * B * T * d, "2·B·T·d"),
    }


def _outside_extras(model, values: dict[str, int]) -> dict[str, tuple[int, str]]:
    """What is no matrix product, outside the layers: one norm, the sums in the embedding, the pooler's tanh."""
    B, T, d = (values[letter] for letter in "BTd")
    norm = _NORM[model.norm]
    extras = {"norm": (norm * B * T * d, f"{norm}·B·T·d")}
    if isinstance(model, Encoder):
        return extras | {"embedding": (2 * B * T * d, "2·B·T·d"), "activation": (B * d, "B·d")}
    if isinstance(model, VisionTransformer):
        return extras | {"embedding.position": (B * T * d, "B·T·d")}
    return extras | {"embedding": (B * T * d, "B·T·d")} if model.positions == "learned" else extras


def _pairs(T: int, causal: bool) -> tuple[int, str]:
    """Pairs of a query and a key: all T², or those that a causal mask leaves."""
    return (T * (T + 1) // 2, "T·(T + 1)/2") if causal else (T * T, "T·T")


def _times(factor: int, term: tuple[int, str]) -> tuple[int, str]:
    return factor * term[0], f"{factor}·{term[1]}"


def _assemble(model, values, layer, outside, causal, omitted, assumptions=(), *, multiply_adds) -> Breakdown:
    """All layers and what lies outside, with the views "layer" and "layers"."""
    terms = {name: term for name, term in outside.items() if name.startswith("embedding")}
    terms |= {name: (values["L"] * value, f"L·{formula}") for name, (value, formula) in layer.items()}
    for name, (value, formula) in outside.items():
        inside = terms.get(name) if name in layer else None
        terms[name] = (inside[0] + value, f"{inside[1]} + {formula}") if inside else (value, formula)
    omitted += (_OMITS_ALWAYS,)
    if model.experts > 1:
        omitted += (_OMITS_ROUTING,)
    if isinstance(model, VisionTransformer) and values["P"] != model.patches():
        omitted += (_OMITS_RESIZING,)
    kind = next(sentences for kind, sentences in _ASSUMES_KIND.items() if isinstance(model, kind))
    symbols = _IMAGE_SYMBOLS if isinstance(model, VisionTransformer) else _SYMBOLS
    one_layer = Breakdown.from_terms(
        "FLOP", layer, values, omitted=omitted, symbols=symbols, multiply_adds=multiply_adds
    )
    return Breakdown.from_terms(
        "FLOP",
        terms,
        values,
        assumptions=(_ASSUMES_TWO, _ASSUMES_CAUSAL if causal else _ASSUMES_PAIRS, *kind, *assumptions),
        omitted=omitted,
        symbols=symbols,
        views={"layer": one_layer, "layers": one_layer * values["L"]},
        multiply_adds=multiply_adds,
    )


# ---------------------------------------------------------------- convolutional networks


def _convnet(model, batch, image, training: bool, extras: bool = False) -> Breakdown:
    """Every convolution and linear layer by stage; forward, or with both gradients. extras: all other steps too."""
    B = units.count(batch, "batch")
    terms = []
    for step in model.steps(image):
        if extras or step.op == "multiply-add":
            term = _times(_STEP[step.op], (B * step.work, f"B·{step.work_text}"))
            terms.append((step.part, *(_times(2 + step.learned, term) if training else term)))
    return Breakdown.from_terms(
        "FLOP",
        grouped(terms),
        {"B": B},
        assumptions=(_ASSUMES_TWO, _ASSUMES_CONVOLUTION, *((_ASSUMES_NO_IMAGE_GRADIENT,) if training else ())),
        omitted=(
            *(() if extras else (_OMITS_CONVNET_EXTRAS,)),
            _OMITS_CONVNET_ALWAYS,
            *((_OMITS_OPTIMIZER,) if training else ()),
        ),
        symbols={"B": _IMAGE_SYMBOLS["B"]},
        multiply_adds=not extras,
    )
