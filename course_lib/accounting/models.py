"""Architectures as data: what a model is made of, and how many parameters each part has.

`Transformer` (decoders), `Encoder` (BERT), `VisionTransformer` and `ConvNet`. The catalogue is `models.toml`; each
entry names the configuration that it was copied from.
"""

from dataclasses import dataclass
from functools import cache

from course_lib.accounting import units
from course_lib.accounting.breakdown import Breakdown
from course_lib.accounting.convnet import ConvNet, image_size, mobilenet_v2, pair, resnet

# letters of the formulas, here and in `flops`
SYMBOLS = {
    "L": "layers",
    "d": "model width",
    "h": "query heads",
    "w": "width of one head",
    "q": "width of all query heads",
    "k": "width of all key heads, and of all value heads",
    "f": "width of the MLP",
    "m": "matrices of the MLP",
    "n": "norms of model width in a layer",
    "E": "experts",
    "A": "experts that a token uses",
    "V": "vocabulary",
    "C": "context",
    "s": "segments",
    "c": "channels of the image",
    "p": "side of a patch",
    "P": "patches of the image",
    "K": "classes",
}


class _Blocks:
    """What the transformers have in common: a stack of equal layers, each of attention and an MLP, and one more norm.

    The class attributes stand for the fields of `Transformer` that the other kinds lack.
    """

    kv_heads = head_dim = qkv_bias = None
    gated_mlp = qk_norm = False
    bias = True
    norm = "layernorm"
    positions = "learned"
    block_norms = 2
    experts = active_experts = 1

    def _check(self, *counts: str) -> None:
        """Convert the fields `counts` and the optional sizes to int, and refuse what does not fit."""
        optional = (name for name in ("kv_heads", "head_dim", "d_ff") if getattr(self, name) is not None)
        for name in ("layers", "d_model", "heads", *counts, *optional):
            object.__setattr__(self, name, units.count(getattr(self, name), name))
        units.choice(self.activation, "activation", ("relu", "gelu", "gelu-tanh", "silu"))
        units.fraction(self.dropout, "dropout")
        if self.head_dim is None and self.d_model % self.heads:
            alone = "unless head_dim says how wide a head is" if isinstance(self, Transformer) else "as heads share it"
            raise ValueError(f"heads={self.heads} must divide d_model={self.d_model}, {alone}.")

    @property
    def head_width(self) -> int:
        """Width of one head: head_dim, or d_model/heads."""
        return self.head_dim or self.d_model // self.heads

    @property
    def q_width(self) -> int:
        """Width of all query heads together."""
        return self.heads * self.head_width

    @property
    def kv_width(self) -> int:
        """Width of all key heads together, which is also that of all value heads."""
        return (self.kv_heads or self.heads) * self.head_width

    @property
    def mlp_width(self) -> int:
        """Width of the (or of one expert's) MLP: d_ff, or 4·d_model."""
        return self.d_ff or 4 * self.d_model

    def sizes(self) -> dict[str, int]:
        """The number that each letter of `SYMBOLS` stands for in this model."""
        return {
            "L": self.layers,
            "d": self.d_model,
            "h": self.heads,
            "w": self.head_width,
            "q": self.q_width,
            "k": self.kv_width,
            "f": self.mlp_width,
            "m": 3 if self.gated_mlp else 2,
            "n": self.block_norms,
            "E": self.experts,
            "A": self.active_experts,
        }

    def parameters(self, active: bool = False) -> Breakdown:
        """Trainable parameters, equal to the real checkpoint's; a tied head counts once, under embedding.token.

        Parts: embedding.token, embedding.position, attention.qkv, attention.out, router, mlp, norm, head, summed over
        the layers; "layer.…" is one layer, "layers.…" all of them. An Encoder has embedding.segment and pooler, a
        VisionTransformer embedding.patch and embedding.cls. active=True keeps everything but counts active_experts
        experts: the parameters that one token meets.
        """
        values = self.sizes()
        before, after = self._outside(values)
        layer = self._layer(values, active)
        L, d = values["L"], values["d"]
        terms = before | {name: (L * value, f"L·{formula}") for name, (value, formula) in layer.items()}
        # one norm stands outside the layers: the final one, or the one after BERT's embedding
        gain = (2 * d, "2·d") if self._norm_bias else (d, "d")
        terms["norm"] = (terms["norm"][0] + gain[0], f"{terms['norm'][1]} + {gain[1]}")
        one_layer = Breakdown.from_terms("parameters", layer, values, symbols=SYMBOLS)
        return Breakdown.from_terms(
            "parameters",
            terms | after,
            values,
            assumptions=self._assumptions(active),
            symbols=SYMBOLS,
            views={"layer": one_layer, "layers": one_layer * L},
        )

    @property
    def _norm_bias(self) -> bool:
        return self.bias and self.norm == "layernorm"

    def _layer(self, values: dict[str, int], active: bool) -> dict[str, tuple[int, str]]:
        """Parameters of one layer: part -> (number, formula)."""
        d, w, q, k, f, m, n, E, A = (values[letter] for letter in "dwqkfmnEA")
        layer = {"attention.qkv": (d * (q + 2 * k), "d·(q + 2·k)"), "attention.out": (q * d, "q·d")}
        mlp, mlp_text = m * d * f, "m·d·f"
        norm, norm_text = (n * 2 * d, "n·2·d") if self._norm_bias else (n * d, "n·d")  # gain and bias, or gain alone
        if self.bias if self.qkv_bias is None else self.qkv_bias:
            layer["attention.qkv"] = ((d + 1) * (q + 2 * k), "(d + 1)·(q + 2·k)")
        if self.bias:
            layer["attention.out"] = ((q + 1) * d, "(q + 1)·d")
            mlp, mlp_text = mlp + (m - 1) * f + d, "(m·d·f + (m - 1)·f + d)"
        if E > 1:
            layer["router"] = (d * E, "d·E")
            mlp, mlp_text = (A * mlp, f"A·{mlp_text}") if active else (E * mlp, f"E·{mlp_text}")
        if self.qk_norm:
            norm, norm_text = norm + 2 * w, f"({norm_text} + 2·w)"
        return layer | {"mlp": (mlp, mlp_text), "norm": (norm, norm_text)}

    def _assumptions(self, active: bool) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class Transformer(_Blocks):
    """A decoder-only transformer.

    kv_heads=None is `heads` (multi-head attention); head_dim=None is d_model/heads; d_ff=None is 4·d_model.
    gated_mlp: three matrices of width d_ff (SwiGLU) instead of two. bias: q, k, v, o, the MLP matrices and LayerNorm
    have biases; qkv_bias overrides it for q, k, v. RMSNorm never has one; head_bias: the head has one. norm:
    "layernorm" or "rmsnorm". block_norms: norms of width d_model in each layer; 2 before attention and MLP, 1 where
    the two run side by side on one normed input (Phi-2), 4 where their outputs are normed too (Gemma 2). qk_norm: two
    more over head_dim in each layer. positions: "learned" adds (context + position_offset)·d_model parameters, "rotary"
    none; position_offset: rows of that table that no position of the context uses (2 in OPT). tied_head: the head is
    the token embedding. experts > 1: each expert is an MLP, and a router of d_model·experts (no bias) picks
    active_experts of them. activation: "relu", "gelu", "gelu-tanh" or "silu". window: tokens that a layer with a
    sliding window looks back on, in window_layers of the layers; only the cache counts less for it.

    What these words cannot say (a LayerNorm with bias where nothing else has one, queries and keys normed over all
    heads together, shared experts, latent attention) is not this class: the counts would be those of another model.

    Sizes that do not fit (heads that do not divide d_model without head_dim, kv_heads that do not divide heads, more
    active experts than experts, zero or negative sizes) raise ValueError.
    """

    name: str
    layers: int
    d_model: int
    heads: int
    vocab: int
    context: int
    kv_heads: int | None = None
    head_dim: int | None = None
    d_ff: int | None = None
    gated_mlp: bool = False
    activation: str = "gelu"
    bias: bool = True
    qkv_bias: bool | None = None
    norm: str = "layernorm"
    qk_norm: bool = False
    positions: str = "learned"
    tied_head: bool = True
    experts: int = 1
    active_experts: int = 1
    dropout: float = 0.0
    block_norms: int = 2
    head_bias: bool = False
    position_offset: int = 0
    window: int | None = None
    window_layers: int = 0

    def __post_init__(self):
        self._check("vocab", "context", "experts", "active_experts", "block_norms")
        object.__setattr__(self, "window_layers", units.count(self.window_layers, "window_layers", minimum=0))
        if self.window is not None:
            object.__setattr__(self, "window", units.count(self.window, "window"))
        if (self.window is None) != (self.window_layers == 0) or self.window_layers > self.layers:
            raise ValueError(
                f"window={self.window} and window_layers={self.window_layers} go together, "
                f"for at most layers={self.layers}."
            )
        object.__setattr__(self, "position_offset", units.count(self.position_offset, "position_offset", minimum=0))
        for name in ("gated_mlp", "bias", "qk_norm", "tied_head", "head_bias"):
            units.flag(getattr(self, name), name)
        if self.qkv_bias is not None:
            units.flag(self.qkv_bias, "qkv_bias")
        units.choice(self.norm, "norm", ("layernorm", "rmsnorm"))
        units.choice(self.positions, "positions", ("learned", "rotary"))
        if self.position_offset and self.positions != "learned":
            raise ValueError(
                f"position_offset={self.position_offset} adds rows to a table of positions, which "
                f"positions={self.positions!r} does not have."
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(
                f"kv_heads={self.kv_heads} must divide heads={self.heads}: every key head serves equally many queries."
            )
        if self.active_experts > self.experts:
            raise ValueError(f"active_experts={self.active_experts} must not exceed experts={self.experts}.")

    def sizes(self) -> dict[str, int]:
        """The number that each letter of `SYMBOLS` stands for in this model."""
        return super().sizes() | {"V": self.vocab, "C": self.context}

    def _outside(self, values):
        d, V, C, offset = (*(values[letter] for letter in "dVC"), self.position_offset)
        before, after = {"embedding.token": (V * d, "V·d")}, {}
        if self.positions == "learned":
            rows = f"(C + {offset})" if offset else "C"
            before["embedding.position"] = ((C + offset) * d, f"{rows}·d")
        if not self.tied_head:
            after["head"] = ((d + 1) * V, "(d + 1)·V") if self.head_bias else (V * d, "V·d")
        elif self.head_bias:
            after["head"] = (V, "V")
        return before, after

    def _assumptions(self, active):
        tied = ("The head is the token embedding and counts once.",) if self.tied_head else ()
        some = active and self.active_experts < self.experts
        return tied + ((f"Counts {self.active_experts} of {self.experts} experts in each layer.",) if some else ())


@dataclass(frozen=True)
class Encoder(_Blocks):
    """A bidirectional encoder as BERT (Devlin et al. 2018): LayerNorm after the residual, biases everywhere.

    The embedding of tokens, `context` learned positions and `segments` is summed and normed. The pooler, a
    d_model·d_model linear layer with tanh on the first token, ends it: the model that users fine-tune, without the
    head of pre-training. The fields mean what they mean for `Transformer`.
    """

    name: str
    layers: int
    d_model: int
    heads: int
    vocab: int
    context: int
    segments: int = 2
    d_ff: int | None = None
    activation: str = "gelu"
    dropout: float = 0.0

    def __post_init__(self):
        self._check("vocab", "context", "segments")

    def sizes(self) -> dict[str, int]:
        """The number that each letter of `SYMBOLS` stands for in this model."""
        return super().sizes() | {"V": self.vocab, "C": self.context, "s": self.segments}

    def _outside(self, values):
        d, V, C, s = (values[letter] for letter in "dVCs")
        before = {
            "embedding.token": (V * d, "V·d"),
            "embedding.position": (C * d, "C·d"),
            "embedding.segment": (s * d, "s·d"),
        }
        return before, {"pooler": ((d + 1) * d, "(d + 1)·d")}


@dataclass(frozen=True)
class VisionTransformer(_Blocks):
    """A vision transformer (Dosovitskiy et al. 2020): a pre-LayerNorm encoder over the patches of an image.

    image: side in pixels, or (height, width); patch: side of a patch, which divides both. A convolution with bias makes
    the patches tokens, a learned class token joins them, each has a learned position. A linear classifier with bias
    reads the class token after the final LayerNorm. bias: q, k, v, o, the MLP matrices and LayerNorm have biases. The
    other fields mean what they mean for `Transformer`.
    """

    name: str
    layers: int
    d_model: int
    heads: int
    image: int | tuple[int, int]
    patch: int
    classes: int
    channels: int = 3
    d_ff: int | None = None
    activation: str = "gelu"
    bias: bool = True
    dropout: float = 0.0

    def __post_init__(self):
        self._check("patch", "classes", "channels")
        units.flag(self.bias, "bias")
        object.__setattr__(self, "image", image_size(self.image))
        self.patches()  # refuses an image that patches do not tile

    @property
    def tokens(self) -> int:
        """Tokens of its own image: the patches and the class token."""
        return self.patches() + 1

    def patches(self, image=None) -> int:
        """Patches of an `image` (side or (height, width) in pixels; None: its own)."""
        height, width = pair(self.image if image is None else image, "image")
        if height % self.patch or width % self.patch:
            raise ValueError(
                f"image={(height, width)} must be a multiple of patch={self.patch} in both directions: "
                "patches tile the image, and pixels at its edge would be dropped."
            )
        return (height // self.patch) * (width // self.patch)

    def sizes(self) -> dict[str, int]:
        """The number that each letter of `SYMBOLS` stands for in this model."""
        own = {"c": self.channels, "p": self.patch, "P": self.patches(), "K": self.classes}
        return super().sizes() | own

    def _outside(self, values):
        d, c, p, P, K = (values[letter] for letter in "dcpPK")
        before = {
            "embedding.patch": ((c * p * p + 1) * d, "(c·p·p + 1)·d"),
            "embedding.position": ((P + 1) * d, "(P + 1)·d"),
            "embedding.cls": (d, "d"),
        }
        return before, {"head": ((d + 1) * K, "(d + 1)·K")}


# ---------------------------------------------------------------- the catalogue

_KINDS = {
    "transformer": Transformer,
    "encoder": Encoder,
    "vision-transformer": VisionTransformer,
    "resnet": resnet,
    "mobilenet-v2": mobilenet_v2,
}


@cache
def _catalogue() -> dict[str, dict]:
    from course_lib.accounting import catalogue

    return catalogue.read("models.toml")


def names() -> tuple[str, ...]:
    """Every model of the catalogue."""
    return tuple(_catalogue())


def load(name: str) -> Transformer | Encoder | VisionTransformer | ConvNet:
    """The model `name` of the catalogue; an unknown name is a ValueError with the nearest."""
    return _load(units.choice(name, "model", names()))


@cache
def _load(name: str):
    entry = dict(_catalogue()[name])
    entry.pop("source")
    return _KINDS[entry.pop("kind", "transformer")](name, **entry)


def source(name: str) -> tuple[str, str]:
    """(title or url, date) of the configuration that the catalogue's entry was copied from."""
    title, date = _catalogue()[units.choice(name, "model", names())]["source"]
    return title, date
