"""Attention: multi-head, grouped, windowed, and from a latent."""

from course_lib.accounting import units
from course_lib.accounting.answers.quantity import Quantity, ceil, of, product, smallest, symbol, total
from course_lib.accounting.layers import tape
from course_lib.accounting.layers.base import Call, Inputs, Layer, matrix, product_call
from course_lib.accounting.layers.norm import EACH as NORM


def said_of_pairs(x: Inputs, window=None) -> tuple[str, ...]:
    """What `pairs` counts, in words."""
    if x.documents is not None:
        later = ("Of those, no later ones.",) if window is None else ("Of those, its own and the W − 1 before it.",)
        return ("A query sees keys of its own document only.", *(later if x.causal else ()))
    if not x.causal:
        spares = (
            () if window is None else ("A sliding window spares no pair unless causal=True, as in eager attention.",)
        )
        return ("All T·T pairs of scores and values, masked or not.", *spares)
    inside = ("A window of W tokens leaves W·(W + 1)/2 + (T − W)·W of them.",) if window is not None else ()
    return ("A causal mask leaves T·(T + 1)/2 pairs of scores and values.", *inside)


def pairs(x: Inputs, window=None) -> Quantity:
    """Pairs of a query and a key in the batch: all T² of a sequence or document, or those that a causal mask leaves,
    within a window if there is one.
    """
    if x.documents is None:
        return x.B * _pairs(x.T, x.causal, window)
    found = total(number * _pairs(of(length), x.causal, window) for length, number in x.documents.items())
    return symbol("D", found if len(x.documents) < 9 else found.value, "pairs of a query and a key of one document")


def _pairs(T, causal, window) -> Quantity:
    if not causal:
        return T * T
    if window is None or window >= T:
        return T * (T + 1) // 2
    return window * (window + 1) // 2 + (T - window) * window


def wasted(x: Inputs, kept: Quantity, each: Quantity) -> dict[str, Quantity]:
    """What the last page has room for beyond the tokens kept, if the cache comes in pages."""
    return {} if x.page is None else {"waste": (ceil(kept, x.page) * x.page - kept) * each}


def core(layer, b: Quantity, T: Quantity, eager: bool) -> Quantity:
    """Bytes that the scores of a rank's heads keep: softmax output, with dropout its mask and its result, in 16 bit; or
    an fp32 log-sum-exp of each row.
    """
    return ((5 if getattr(layer, "dropout", 0) else 2) * T if eager else 4) * layer.h * b


class Attention(Layer):
    """Multi-head attention; g < h key heads serve several query heads each.

    window: how many tokens a query sees, itself included; with causal inputs it sees no more of them. qk_norm: a norm
    with gain over w for queries and one for keys; rms: which kind. dropout: of scores and of the output.
    """

    sizes = {"d": "model width", "h": "query heads", "g": "key heads", "w": "width of one head"}
    window = None
    qkv_bias = out_bias = qk_norm = rms = False
    dropout = 0.0
    style = ""  # the implementation whose saved bytes are described: "gpt2", "llama", "vit"

    def __init__(self, **given):
        super().__init__(**given)
        self._q = symbol("q", self.h * self.w, "width of all query heads")
        self._k = symbol("k", self.g * self.w, "width of all key heads, and of all value heads")
        if self.h.value % self.g.value:
            raise ValueError(
                f"g={self.g.value} must divide h={self.h.value}: every key head serves equally many queries."
            )
        if self.window is not None and not isinstance(self.window, Quantity):
            self.window = symbol("W", units.count(self.window, "window"), "tokens that a window holds")

    def parameters(self, active=False):
        d, q, k = self.d, self._q, self._k
        parts = {"attention.qkv": (d + self.qkv_bias) * (q + 2 * k), "attention.out": (q + self.out_bias) * d}
        return parts | ({"norm": 2 * self.w} if self.qk_norm else {})

    wires = dict.fromkeys("qkv", ("in",)) | {"attention.scores": ("q", "k")}
    wires |= {"attention.values": ("attention.scores", "v"), "out": ("attention.values",)}

    def projections(self):
        d, q, k = self.d, self._q, self._k
        return {"q": (d, q), "k": (d, k), "v": (d, k), "out": (q, d)}

    def flops(self, x):
        B, T, d, q, k = x.B, x.T, self.d, self._q, self._k
        scores = 2 * pairs(x, self.window) * q
        return {
            "attention.qkv": 2 * B * T * d * (q + 2 * k),
            "attention.scores": scores,
            "attention.values": scores,
            "attention.out": 2 * B * T * q * d,
        }

    def assumes(self, x):
        return said_of_pairs(x, self.window)

    def extras(self, x):
        parts = {"attention.softmax": 3 * self.h * pairs(x, self.window)}
        if self.qk_norm:
            parts["norm"] = NORM[self.rms] * x.B * x.T * (self._q + self._k)
        return parts

    def calls(self, x):
        rows, core = x.B * x.T, 2 * self.flops(x)["attention.scores"]
        return [
            product_call("attention.qkv", rows, self.d, self._q + 2 * self._k),
            Call("attention.scores and values", core, 2 * rows * (self._q + self._k)),
            product_call("attention.out", rows, self._q, self.d),
        ]

    def ops(self, x):
        return tape.attention(self, x) if self.style else super().ops(x)

    def tensors(self, each):
        d, q, k = self.d, self._q, self._k
        fused = [(q, k, k)] if self.style == "gpt2" else [(q,), (k,), (k,)]
        made = [tensor for widths in fused for tensor in matrix(each, d, *widths, bias=self.qkv_bias)]
        gains = [product(each, self.w)] * 2 if self.qk_norm else []
        return made + matrix(each, q, d, bias=self.out_bias) + gains

    def cache(self, x):
        kept = x.T if self.window is None else smallest(x.T, self.window)
        return {"keys": kept * self._k, "values": kept * self._k} | wasted(x, kept, 2 * self._k)

    @property
    def passed(self):
        return 2 * self._k

    def ranked(self, b, T, eager):
        parts = {"divided": 2 * b * (2 * self._q + 2 * self._k), "core": core(self, b, T, eager)}
        return parts | ({"whole": b * self.d} if self.dropout else {})  # the mask

    def shard(self, t, e=1):
        # more ranks than key heads: each keeps one
        g = symbol("g", 1, "key heads of this rank") if t > self.g else self.g // t
        return self.but(h=self.h // t, g=g)


class LatentAttention(Layer):
    """Attention whose keys and values are expanded from one latent a token, all that the cache keeps beside a rotated
    key (DeepSeek-AI, DeepSeek-V2, 2024, section 2.1). a=None: queries come from no latent.
    """

    sizes = {
        "d": "model width",
        "h": "heads",
        "a": "width of the latent of queries",
        "c": "width of the latent of keys and values",
        "r": "rotated width of a head's query and key",
        "u": "unrotated width of a head's query and key",
        "v": "width of a head's value",
    }
    a = None

    def parameters(self, active=False):
        d, h, a, c, r, u, v = (getattr(self, name) for name in "dhacruv")
        return {
            "attention.query": d * h * (u + r) if a is None else d * a + a * h * (u + r),
            "attention.latent": d * (c + r),
            "attention.expand": c * h * (u + v),
            "attention.out": h * v * d,
            "norm": c if a is None else a + c,
        }

    def flops(self, x):
        products = {name: 2 * x.B * x.T * part for name, part in self.parameters().items() if name != "norm"}
        out, seen = products.pop("attention.out"), 2 * pairs(x) * self.h
        scores = {"attention.scores": seen * (self.u + self.r), "attention.values": seen * self.v}
        return products | scores | {"attention.out": out}

    def assumes(self, x):
        expanded = "Keys and values are expanded from their latent for every token, as in training and prefill."
        return (*said_of_pairs(x), expanded)

    def cache(self, x):
        return {"latent": x.T * self.c, "rotated": x.T * self.r} | wasted(x, x.T, self.c + self.r)

    @property
    def gathered(self):
        return self.c + (self.d if self.a is None else self.a), self.r

    @property
    def passed(self):
        return self.h * (self.u + self.r + self.v)

    def ranked(self, b, T, eager):
        latents = self.c + (self.a or 0)  # before their norms and after; those are not divided
        heads = self.h * (2 * (self.u + self.r) + 2 * self.v)  # queries, keys, values and the output
        return {"whole": 4 * b * latents, "divided": 2 * b * heads, "core": core(self, b, T, eager)}

    def shard(self, t, e=1):
        return self.but(h=self.h // t)  # the latents stay whole on every rank
