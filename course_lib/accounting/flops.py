"""Counting FLOPs, with 2 per multiply-add, always.

What is counted is what `torch.utils.flop_counter.FlopCounterMode` counts with eager attention: every matrix product and
convolution. The rest (softmax, norms, activations, additions) stands in `.omitted`, and `extras=True` counts it.
"""

from course_lib.accounting import units
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.models import Transformer

_SYMBOLS = {
    "B": "sequences in the batch",
    "T": "tokens in a sequence",
    "L": "layers",
    "d": "model width",
    "h": "query heads",
    "q": "width of all query heads",
    "k": "width of all key heads, and of all value heads",
    "f": "width of the MLP",
    "m": "matrices of the MLP",
    "E": "experts",
    "A": "experts that a token uses",
    "V": "vocabulary",
}
_OMITTED_EXTRAS = "Softmax, norms, activation functions, residual additions and the embedding look-up."
_OMITTED_ALWAYS = "Biases, the scaling and masking of scores, rotary rotation and dropout."
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
# passes over each part: 1 forward, 2 backward, 1 again where it is recomputed
_RECOMPUTED = {
    "none": (),
    "selective": ("attention.scores", "attention.values"),
    "full": ("attention.qkv", "attention.scores", "attention.values", "attention.out", "router", "mlp"),
}


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


# ---------------------------------------------------------------- a transformer: Breakdowns


def forward(model, batch=1, seq=None, causal: bool = False, extras: bool = False) -> Breakdown:
    """FLOP of one forward pass over `batch` sequences of `seq` tokens (None: the model's context).

    Parts: attention.qkv, attention.scores, attention.values, attention.out, router (mixtures), mlp and head, summed
    over the layers; "layer.…" is one layer, "layers.…" all of them without what lies outside. causal=False counts all
    T² pairs of scores and values, as eager attention computes them; causal=True the T(T+1)/2 that the mask leaves. The
    head is counted at every position. extras=True adds attention.softmax (3 per element), norm, activation, residual
    and embedding.
    """
    values = _values(model, batch, seq)
    layer = _layer_terms(values, causal)
    outside = {"head": _head_term(values)}
    omitted = (_OMITTED_EXTRAS, _OMITTED_ALWAYS)
    if extras:
        layer, outside = layer | _layer_extras(model, values, causal), outside | _outside_extras(model, values)
        omitted = (_OMITTED_ALWAYS,)
    return _assemble(values, layer, outside, causal, omitted=omitted, multiply_adds=not extras)


def training_step(model, batch, seq, causal: bool = False, recompute: str = "none") -> Breakdown:
    """FLOP of forward and backward over `batch` sequences of `seq` tokens; the optimizer is not in it.

    The backward of a matrix product is two of the same size, so each part is 3 × the forward (the embedding look-up
    needs no product). recompute: "full" runs every block forward once more, not the embedding and not the head
    (reentrant checkpointing); "selective" runs scores and values once more. Parts are named as in `forward`.
    """
    again = _RECOMPUTED[units.choice(recompute, "recompute", _RECOMPUTED)]
    values = _values(model, batch, seq)
    layer = {name: _times(4 if name in again else 3, term) for name, term in _layer_terms(values, causal).items()}
    omitted = (_OMITTED_EXTRAS, _OMITTED_ALWAYS, "The optimizer step.")
    if recompute == "full":
        omitted += ("The early stop of non-reentrant checkpointing, which skips the last products of a block.",)
    return _assemble(
        values, layer, {"head": _times(3, _head_term(values))}, causal, omitted=omitted, multiply_adds=True
    )


def _values(model, batch, seq) -> dict[str, int]:
    """The number that each symbol stands for."""
    if not isinstance(model, Transformer):
        raise ValueError(f"model={model!r} must be a models.Transformer; models.load('gpt2') gives one.")
    batch = units.count(batch, "batch")
    seq = model.context if seq is None else units.count(seq, "seq")
    if model.positions == "learned" and seq > model.context:
        raise ValueError(f"seq={seq} is longer than context={model.context}: {model.name} has no position beyond it.")
    sizes = (model.layers, model.d_model, model.heads, model.q_width, model.kv_width, model.mlp_width)
    experts = (3 if model.gated_mlp else 2, model.experts, model.active_experts, model.vocab)
    return dict(zip("BTLdhqkfmEAV", (batch, seq, *sizes, *experts), strict=True))


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


def _head_term(values: dict[str, int]) -> tuple[int, str]:
    return 2 * values["B"] * values["T"] * values["d"] * values["V"], "2·B·T·d·V"


def _layer_extras(model, values: dict[str, int], causal: bool) -> dict[str, tuple[int, str]]:
    """What is no matrix product, in one layer, forward."""
    B, T, d, h, q, k, f, A = (values[letter] for letter in "BTdhqkfA")
    pairs, pairs_text = _pairs(T, causal)
    norm, activation = (
        _NORM[model.norm],
        _ACTIVATION[model.activation] + model.gated_mlp,
    )  # +1: the product with the gate
    normed, normed_text = (2 * d + q + k, "(2·d + q + k)") if model.qk_norm else (2 * d, "2·d")
    return {
        "attention.softmax": (3 * B * h * pairs, f"3·B·h·{pairs_text}"),
        "norm": (norm * B * T * normed, f"{norm}·B·T·{normed_text}"),
        "activation": (activation * B * T * A * f, f"{activation}·B·T·A·f"),
        "residual": (2 * B * T * d, "2·B·T·d"),
    }


def _outside_extras(model, values: dict[str, int]) -> dict[str, tuple[int, str]]:
    """What is no matrix product, outside the layers: the final norm, and adding the position to the token embedding."""
    B, T, d = (values[letter] for letter in "BTd")
    norm = _NORM[model.norm]
    extras = {"norm": (norm * B * T * d, f"{norm}·B·T·d")}
    return extras | {"embedding": (B * T * d, "B·T·d")} if model.positions == "learned" else extras


def _pairs(T: int, causal: bool) -> tuple[int, str]:
    """Pairs of a query and a key: all T², or those that a causal mask leaves."""
    return (T * (T + 1) // 2, "T·(T + 1)/2") if causal else (T * T, "T·T")


def _times(factor: int, term: tuple[int, str]) -> tuple[int, str]:
    return factor * term[0], f"{factor}·{term[1]}"


def _assemble(values, layer, outside, causal, **more) -> Breakdown:
    """All layers and what lies outside, with the views "layer" and "layers"."""
    terms = {name: (values["L"] * value, f"L·{formula}") for name, (value, formula) in layer.items()}
    for name, (value, formula) in outside.items():
        inside = terms.get(name)
        terms[name] = (inside[0] + value, f"{inside[1]} + {formula}") if inside else (value, formula)
    one_layer = Breakdown.from_terms("FLOP", layer, values, **more)
    assumptions = (
        "Two FLOP per multiply-add.",
        "A causal mask leaves T·(T + 1)/2 pairs of scores and values."
        if causal
        else "All T·T pairs of scores and values.",
        "The head runs at every position.",
    )
    views = {"layer": one_layer, "layers": one_layer * values["L"]}
    return Breakdown.from_terms("FLOP", terms, values, assumptions=assumptions, symbols=_SYMBOLS, views=views, **more)
