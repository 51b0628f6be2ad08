"""Architectures as data: what a model is made of, and how many parameters each part has.

The catalogue is `models.toml`; each entry names the configuration that it was copied from.
"""

from dataclasses import dataclass
from functools import cache

from course_lib.accounting import units
from course_lib.accounting.breakdown import Breakdown

_SYMBOLS = {
    "L": "layers",
    "d": "model width",
    "q": "width of all query heads",
    "k": "width of all key heads, and of all value heads",
    "f": "width of the MLP",
    "m": "matrices of the MLP",
    "E": "experts",
    "V": "vocabulary",
    "C": "context",
    "w": "width of one head",
}


@dataclass(frozen=True)
class Transformer:
    """A decoder-only transformer.

    kv_heads=None is `heads` (multi-head attention); head_dim=None is d_model/heads; d_ff=None is 4·d_model.
    gated_mlp: three matrices of width d_ff (SwiGLU) instead of two. bias: q, k, v, o, the MLP matrices and LayerNorm
    have biases; qkv_bias overrides it for q, k, v. RMSNorm and the head never have one. norm: "layernorm" or "rmsnorm";
    qk_norm: two more over head_dim in each layer. positions: "learned" adds context·d_model parameters, "rotary" none.
    tied_head: the head is the token embedding. experts > 1: each expert is an MLP, and a router of d_model·experts (no
    bias) picks active_experts of them. activation: "relu", "gelu", "gelu-tanh" or "silu".

    Sizes that do not fit (heads that do not divide d_model without head_dim, kv_heads that do not divide heads,
    more active experts than experts, zero or negative sizes) raise ValueError.
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

    def __post_init__(self):
        for name in ("layers", "d_model", "heads", "vocab", "context", "experts", "active_experts"):
            object.__setattr__(self, name, units.count(getattr(self, name), name))
        for name in ("kv_heads", "head_dim", "d_ff"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, units.count(getattr(self, name), name))
        units.choice(self.norm, "norm", ("layernorm", "rmsnorm"))
        units.choice(self.positions, "positions", ("learned", "rotary"))
        units.choice(self.activation, "activation", ("relu", "gelu", "gelu-tanh", "silu"))
        units.fraction(self.dropout, "dropout")
        if self.head_dim is None and self.d_model % self.heads:
            raise ValueError(
                f"heads={self.heads} must divide d_model={self.d_model}, unless head_dim says how wide a head is."
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(
                f"kv_heads={self.kv_heads} must divide heads={self.heads}: every key head serves equally many queries."
            )
        if self.active_experts > self.experts:
            raise ValueError(f"active_experts={self.active_experts} must not exceed experts={self.experts}.")

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

    def parameters(self, active: bool = False) -> Breakdown:
        """Trainable parameters, equal to the real checkpoint's; a tied head counts once, under embedding.token.

        Parts: embedding.token, embedding.position, attention.qkv, attention.out, router, mlp, norm, head, summed over
        the layers; "layer.…" is one layer, "layers.…" all of them. active=True keeps everything but counts
        active_experts experts: the parameters that one token meets.
        """
        d, q, k, f, L, V = self.d_model, self.q_width, self.kv_width, self.mlp_width, self.layers, self.vocab
        matrices = 3 if self.gated_mlp else 2
        experts = self.active_experts if active else self.experts
        qkv_bias = self.bias if self.qkv_bias is None else self.qkv_bias
        norm_bias = self.bias and self.norm == "layernorm"

        layer = {"attention.qkv": (d * (q + 2 * k), "d·(q + 2·k)"), "attention.out": (q * d, "q·d")}
        mlp, mlp_text = matrices * d * f, "m·d·f"
        norm, norm_text = (2 * d, "2·d") if norm_bias else (d, "d")  # gain and bias, or gain alone
        if qkv_bias:
            layer["attention.qkv"] = (d * (q + 2 * k) + q + 2 * k, "(d + 1)·(q + 2·k)")
        if self.bias:
            layer["attention.out"] = (q * d + d, "(q + 1)·d")
            mlp, mlp_text = mlp + (matrices - 1) * f + d, "(m·d·f + (m - 1)·f + d)"
        if self.experts > 1:
            layer["router"] = (d * self.experts, f"d·{self.experts}")
            mlp, mlp_text = experts * mlp, f"E·{mlp_text}"
        layer["mlp"] = (mlp, mlp_text)
        if self.qk_norm:
            layer["norm"] = (2 * norm + 2 * self.head_width, f"(2·{norm_text} + 2·w)")
        else:
            layer["norm"] = (2 * norm, f"2·{norm_text}")

        terms = {"embedding.token": (V * d, "V·d")}
        if self.positions == "learned":
            terms["embedding.position"] = (self.context * d, "C·d")
        terms |= {name: (L * value, f"L·{formula}") for name, (value, formula) in layer.items()}
        terms["norm"] = (terms["norm"][0] + norm, f"{terms['norm'][1]} + {norm_text}")
        if not self.tied_head:
            terms["head"] = (V * d, "V·d")

        numbers = (L, d, q, k, f, matrices, experts, V, self.context, self.head_width)
        values = dict(zip(_SYMBOLS, numbers, strict=True))
        one_layer = Breakdown.from_terms("parameters", layer, values)
        tied = ("The head is the token embedding and counts once.",) if self.tied_head else ()
        only_active = (f"Counts {experts} of {self.experts} experts in each layer.",) if experts < self.experts else ()
        return Breakdown.from_terms(
            "parameters",
            terms,
            values,
            assumptions=tied + only_active,
            symbols=_SYMBOLS,
            views={"layer": one_layer, "layers": one_layer * L},
        )


@cache
def _catalogue() -> dict[str, dict]:
    import tomllib  # read on first use: importing the calculators stays cheap
    from importlib import resources

    return tomllib.loads(resources.files(__package__).joinpath("models.toml").read_text("utf-8"))


def names() -> tuple[str, ...]:
    """Every model of the catalogue."""
    return tuple(_catalogue())


def load(name: str) -> Transformer:
    """The model `name` of the catalogue; an unknown name is a ValueError with the nearest."""
    entry = dict(_catalogue()[units.choice(name, "model", names())])
    entry.pop("source")
    return Transformer(name, **entry)


def source(name: str) -> tuple[str, str]:
    """(title or url, date) of the configuration that the catalogue's entry was copied from."""
    title, date = _catalogue()[units.choice(name, "model", names())]["source"]
    return title, date
