"""Architectures as data: a model is what stands before its blocks, the blocks, and what stands after.

`Model` takes lists of layers. `Transformer` (decoders), `Encoder` (BERT), `VisionTransformer`, `deepseek`, `mamba2` and
`ConvNet` make them from a configuration. The catalogue is `models.toml`; each entry names the configuration that it was
copied from.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from course_lib.accounting import units
from course_lib.accounting.answers.quantity import symbol
from course_lib.accounting.layers import (
    MLP,
    Attention,
    Block,
    Embedding,
    Head,
    LatentAttention,
    Layer,
    Mamba2,
    Mixture,
    Norm,
    PatchEmbedding,
    PooledHead,
    Rotary,
)
from course_lib.accounting.layers.stack import Stack
from course_lib.accounting.models.convnet import mobilenet_v2, resnet


@dataclass(frozen=True)
class Model(Stack):
    """A model of any layers: those `before` its blocks, the blocks themselves as `layers`, and those `after` them.

    Blocks that are equal are counted together; where there are several kinds, each is a view by its label. context:
    tokens that a sequence has where none are said. A layer that is no Block stands in `layers` as a block of its own.
    """

    name: str
    before: Sequence[Layer]
    layers: Sequence[Layer]
    after: Sequence[Layer]
    context: int | None = None

    def __post_init__(self):
        for name in ("before", "layers", "after"):
            given = getattr(self, name)
            if not isinstance(given, (list, tuple)) or not all(isinstance(layer, Layer) for layer in given):
                raise ValueError(f"{name}={units.shortly(given)} must be a list of layers, such as [Norm(d=768)].")
            object.__setattr__(self, name, tuple(given))
        if self.context is not None:
            object.__setattr__(self, "context", units.count(self.context, "context"))

    def stack(self):
        alone = {id(layer): Block(layer) for layer in self.layers if not isinstance(layer, Block)}
        return list(self.before), [alone.get(id(layer), layer) for layer in self.layers], list(self.after)


class _Blocks(Stack):
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
    window, window_layers = None, 0

    def _check(self, *counts: str, or_zero: tuple[str, ...] = ()) -> None:
        """Convert the fields `counts` and the optional sizes to int, and refuse what does not fit. or_zero may be 0."""
        optional = (name for name in ("kv_heads", "head_dim", "d_ff", "window") if getattr(self, name) is not None)
        for name in ("layers", "d_model", "heads", *counts, *or_zero, *optional):
            object.__setattr__(self, name, units.count(getattr(self, name), name, minimum=int(name not in or_zero)))
        units.choice(self.activation, "activation", ("relu", "gelu", "gelu-tanh", "silu"))
        units.fraction(self.dropout, "dropout")
        if self.head_dim is None and self.d_model % self.heads:
            raise ValueError(f"heads={self.heads} must divide d_model={self.d_model}, unless a head has a head_dim.")

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

    @property
    def _style(self) -> str:
        """The implementation in transformers that it is built as, whose saved bytes are described; "" for others."""
        return ""

    @cached_property
    def _width(self):
        return symbol("d", self.d_model, "model width")

    def _norm(self) -> Norm:
        rms = self.norm == "rmsnorm"
        return Norm(d=self._width, bias=self.bias and not rms, rms=rms)

    def _blocks(self) -> list[Block]:
        """The blocks, those with a sliding window first."""
        near, far = self.window_layers, self.layers - self.window_layers
        return [self._block(self.window, "windowed")] * near + ([self._block(None, "full")] * far if far else [])

    def _block(self, window, label: str) -> Block:
        d, norm, rms = self._width, self._norm(), self.norm == "rmsnorm"
        attention = Attention(
            d=d,
            h=self.heads,
            g=self.kv_heads or self.heads,
            w=self.head_width,
            window=window,
            qkv_bias=self.bias if self.qkv_bias is None else self.qkv_bias,
            out_bias=self.bias,
            qk_norm=self.qk_norm,
            rms=rms,
            dropout=self.dropout,
            style=self._style,
        )
        options = {"gated": self.gated_mlp, "bias": self.bias, "activation": self.activation}
        options |= {"dropout": self.dropout, "style": self._style}
        if self.experts > 1:
            mlp = Mixture(d=d, f=self.mlp_width, E=self.experts, A=self.active_experts, **options)
        else:
            mlp = MLP(d=d, f=self.mlp_width, **options)
        others = [norm] * (self.block_norms - 1)  # besides the one before attention
        return Block(norm, attention, *others[:1], mlp, *others[1:], label=label)


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
    active_experts of them. activation: "relu", "gelu", "gelu-tanh" or "silu". window: tokens that a query sees in
    window_layers of the layers, itself included: the cache keeps no more, and causal pairs are fewer.

    What these words cannot say (a LayerNorm with bias where nothing else has one, queries and keys normed over all
    heads together) is not this class: the counts would be those of another model. `Model` takes any layers.

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
        counts = "vocab", "context", "experts", "active_experts", "block_norms"
        self._check(*counts, or_zero=("window_layers", "position_offset"))
        if (self.window is None) != (self.window_layers == 0) or self.window_layers > self.layers:
            raise ValueError(
                f"window={self.window} and window_layers={self.window_layers} go together, "
                f"for at most layers={self.layers}."
            )
        for name in ("gated_mlp", "bias", "qk_norm", "tied_head", "head_bias", "qkv_bias"):
            if (name, getattr(self, name)) != ("qkv_bias", None):
                units.flag(getattr(self, name), name)
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

    @property
    def _style(self):
        same = (self.experts, self.block_norms, self.head_bias, self.position_offset) == (1, 2, False, 0)
        kind = (self.norm, self.positions, self.gated_mlp)
        if same and kind == ("rmsnorm", "rotary", True) and self.activation == "silu":
            return "llama"
        alike = self.q_width == self.kv_width == self.d_model and not self.qk_norm
        return "gpt2" if same and alike and kind == ("layernorm", "learned", False) else ""

    def stack(self):
        d, V = self._width, symbol("V", self.vocab, "vocabulary")
        if self.positions == "learned":
            rows = {"positions": self.context, "spare": self.position_offset}
            before = [Embedding(d=d, V=V, dropout=self.dropout, **rows)]
        else:
            before = [Embedding(d=d, V=V), Rotary(w=self.head_width)]
        return before, self._blocks(), [self._norm(), Head(d=d, V=V, tied=self.tied_head, bias=self.head_bias)]


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

    decodes = False

    def __post_init__(self):
        self._check("vocab", "context", "segments")

    def stack(self):
        d = self._width
        embedding = Embedding(d=d, V=self.vocab, positions=self.context, segments=self.segments)
        pooler = PooledHead(d=d, K=d, part="pooler", reads="The pooler reads the first token only.")
        return [embedding, self._norm()], self._blocks(), [pooler]


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

    context = None
    decodes, reads_images = False, True
    _style = "vit"

    def __post_init__(self):
        self._check("patch", "classes", "channels")
        units.flag(self.bias, "bias")
        object.__setattr__(self, "image", units.image_size(self.image))
        self.patches()  # refuses an image that patches do not tile

    @property
    def tokens(self) -> int:
        """Tokens of its own image: the patches and the class token."""
        return self.patches() + 1

    def patches(self, image=None) -> int:
        """Patches of an `image` (side or (height, width) in pixels; None: its own)."""
        height, width = units.pair(self.image if image is None else image, "image")
        if height % self.patch or width % self.patch:
            raise ValueError(
                f"image={(height, width)} must be a multiple of patch={self.patch} in both directions: "
                "patches tile the image, and pixels at its edge would be dropped."
            )
        return (height // self.patch) * (width // self.patch)

    def stack(self):
        d = self._width
        embedding = PatchEmbedding(d=d, p=self.patch, c=self.channels, P=self.patches(), dropout=self.dropout)
        return [embedding], self._blocks(), [self._norm(), PooledHead(d=d, K=self.classes)]

    def _tokens(self, seq, image):
        patches = symbol("P", self.patches(image), "patches of the image")
        return symbol("T", patches + 1, "tokens of an image: its patches and the class token"), patches

    def omits(self, x):
        resized = x.image != self.patches()
        said = "Interpolating the learned positions to the patches of another image size."
        return (*super().omits(x), *((said,) if resized else ()))


# ---------------------------------------------------------------- other families


def deepseek(
    name,
    *,
    layers,
    dense_layers,
    d_model,
    heads,
    query_latent,
    latent,
    rotary_dim,
    head_dim,
    value_dim,
    d_ff,
    expert_d_ff,
    experts,
    active_experts,
    shared_experts,
    vocab,
    context,
) -> Model:
    """A decoder with latent attention, and after dense_layers with a gated MLP of width d_ff a mixture with shared
    experts in each layer (DeepSeek-AI, DeepSeek-V2 and V3, 2024). query_latent=None: queries come from no latent.
    head_dim: unrotated width of a head's query and key. No biases, RMSNorm, rotary positions, a head of its own.

    What is trained by no gradient (the biases that balance the experts) is no parameter; multi-token prediction is not
    in it.
    """
    d, V, norm = _ends(d_model, vocab)
    attention = LatentAttention(d=d, h=heads, a=query_latent, c=latent, r=rotary_dim, u=head_dim, v=value_dim)
    gated = {"gated": True, "activation": "silu"}
    dense = Block(norm, attention, norm, MLP(d=d, f=d_ff, **gated), label="dense")
    mixture = Mixture(d=d, f=expert_d_ff, E=experts, A=active_experts, S=shared_experts, **gated)
    sparse = Block(norm, attention, norm, mixture, label="mixture")
    layers, dense_layers = units.count(layers, "layers"), units.count(dense_layers, "dense_layers", minimum=0)
    if dense_layers > layers:
        raise ValueError(f"dense_layers={dense_layers} must not exceed layers={layers}.")
    blocks = [dense] * dense_layers + [sparse] * (layers - dense_layers)
    before, after = [Embedding(d=d, V=V), Rotary(w=rotary_dim)], [norm, Head(d=d, V=V)]
    return Model(name, before, blocks, after, context)


def mamba2(name, *, layers, d_model, heads, head_dim, state, vocab, context, groups=1, tied_head=True) -> Model:
    """A decoder of Mamba-2 mixers alone (Dao and Gu 2024): no attention, no MLP, RMSNorm, no positions."""
    d, V, norm = _ends(d_model, vocab)
    block = Block(norm, Mamba2(d=d, h=heads, w=head_dim, G=groups, s=state))
    after = [norm, Head(d=d, V=V, tied=units.flag(tied_head, "tied_head"))]
    return Model(name, [Embedding(d=d, V=V)], [block] * units.count(layers, "layers"), after, context)


def _ends(d_model, vocab):
    """Symbols of both, and an RMSNorm of that width."""
    d = symbol("d", units.count(d_model, "d_model"), "model width")
    return d, symbol("V", units.count(vocab, "vocab"), "vocabulary"), Norm(d=d, rms=True)


# ---------------------------------------------------------------- the catalogue

_KINDS = {
    "transformer": Transformer,
    "encoder": Encoder,
    "vision-transformer": VisionTransformer,
    "resnet": resnet,
    "mobilenet-v2": mobilenet_v2,
    "deepseek": deepseek,
    "mamba2": mamba2,
}


@cache
def _catalogue() -> dict[str, dict]:
    from course_lib.accounting import catalogue

    return catalogue.read("models/models.toml")


def names() -> tuple[str, ...]:
    """Every model of the catalogue."""
    return tuple(_catalogue())


def load(name: str) -> Stack:
    """The model `name` of the catalogue; an unknown name is a ValueError with the nearest."""
    return _load(units.choice(name, "model", names()))


@cache
def _load(name: str):
    entry = dict(_catalogue()[name])
    entry.pop("source")
    return _KINDS[entry.pop("kind", "transformer")](name, **entry)


def resolve(model, decodes: bool = False) -> Stack:
    """`model`, or the one of that name; decodes: ValueError unless it says the next token."""
    found = load(model) if isinstance(model, str) else model
    if not isinstance(found, Stack):
        raise ValueError(
            f"model={units.shortly(model)} must be a name, such as 'gpt2', or a models.Transformer, Encoder, "
            "VisionTransformer, ConvNet or Model; models.load('gpt2') gives one."
        )
    if decodes and not found.decodes:
        raise ValueError(
            f"model={units.shortly(found)} must be a models.Transformer or another decoder: only a language model that "
            "says the next token has a causal mask and keeps keys and values."
        )
    return found


def source(name: str) -> tuple[str, str]:
    """(title or url, date) of the configuration that the catalogue's entry was copied from."""
    title, date = _catalogue()[units.choice(name, "model", names())]["source"]
    return title, date


units.teach(globals())
