"""What stands before and after the blocks: embeddings and heads."""

from course_lib.accounting.answers.quantity import ceil, product, smallest, symbol
from course_lib.accounting.layers import tape
from course_lib.accounting.layers.base import WIDTH, Call, Layer, Plain, matrix, product_call

VOCABULARY = WIDTH | {"V": "vocabulary"}


class Embedding(Plain):
    """A row for each token, to which a learned one for its position is added, if there are `positions` (and `spare`
    rows that none of them uses), and one of `segments`. tied: whether the head has the same matrix.
    """

    sizes = VOCABULARY
    positions = segments = None
    spare = 0
    dropout, tied = 0.0, False

    def __init__(self, **given):
        super().__init__(**given)
        self._C = None if self.positions is None else symbol("C", self.positions, "context")

    def parameters(self, active=False):
        parts = {"embedding.token": self.V * self.d}
        if self.positions is not None:
            parts["embedding.position"] = (self._C + self.spare) * self.d
        if self.segments is not None:
            parts["embedding.segment"] = symbol("s", self.segments, "segments") * self.d
        return parts

    def touched(self, x):  # a row a sequence; a head with the same matrix reads all of it
        rows = {name: smallest(x.B * self.d, part) for name, part in self.parameters().items()}
        return rows | ({"embedding.token": self.V * self.d} if self.tied else {})

    def extras(self, x):
        added = (self.positions is not None) + (self.segments is not None)
        return {"embedding": added * x.B * x.T * self.d} if added else {}

    def ops(self, x):
        return super().ops(x) if self.segments or self.spare else tape.embedding(self, x)

    def kept(self, x):
        masked = x.recompute != "none" and x.attention == "eager"
        return {"attention.mask": product(x.s, x.B, x.T, x.T)} if masked else {}

    def tensors(self, each):
        positions = [] if self._C is None else [product(each, self._C, self.d)]
        return [product(each, self.V, self.d), *positions]

    def read(self, x):
        """Bytes of its inputs, labels included."""
        return product(16, x.B, x.T)

    def shard(self, t, e=1):
        return self.but(V=ceil(self.V, t))


class PatchEmbedding(Layer):
    """A convolution with bias makes patches tokens, a class token joins them, each has a learned position."""

    sizes = WIDTH | {"p": "side of a patch", "c": "channels of the image", "P": "patches of the image"}
    dropout = 0.0
    backward = 1  # no gradient flows into the image

    def parameters(self, active=False):
        d, p, c = self.d, self.p, self.c
        patch = (c * p * p + 1) * d
        return {"embedding.patch": patch, "embedding.position": (self.P + 1) * d, "embedding.cls": 1 * d}

    def flops(self, x):
        p = self.p
        return {"embedding.patch": 2 * x.B * x.image * self.c * p * p * self.d}

    def extras(self, x):
        return {"embedding.position": x.B * x.T * self.d}

    def calls(self, x):
        added = Call("embedding.position", x.B * x.T * self.d, 3 * x.B * x.T * self.d)
        return [product_call("embedding.patch", x.B * x.image, self.c * self.p * self.p, self.d), added]

    def ops(self, x):
        return tape.patches(self, x)

    def tensors(self, each):
        d, p = product(each, self.d), self.p
        return [d, product(each, self.P + 1, self.d), product(each, self.c, self.d, p, p), d]

    def read(self, x):
        """Bytes of its inputs, labels included."""
        return product(x.s, x.B, x.image, self.c, self.p, self.p) + 8 * x.B


class Head(Layer):
    """Scores for every word of the vocabulary, at every position. tied: its matrix is the token embedding."""

    sizes = VOCABULARY
    tied = bias = False
    wires = {"head": ("in",)}

    def assumes(self, x):
        return ("The head runs at every position.",)

    def parameters(self, active=False):
        rows = (0 if self.tied else self.d) + self.bias
        return {"head": rows * self.V} if rows else {}

    def flops(self, x):
        return {"head": 2 * x.B * x.T * self.d * self.V}

    def extras(self, x):
        return {}

    def cache(self, x):
        return {}

    def ops(self, x):
        return super().ops(x) if self.bias else tape.language_head(self, x)

    def logits(self, x):
        """Bytes of what it makes."""
        return product(x.m, x.B, x.T, self.V)

    def tensors(self, each):
        return [] if self.tied else [product(each, self.V, self.d)]

    shard = Embedding.shard


class PooledHead(Layer):
    """A linear layer with bias on one token of each sequence: a classifier, or BERT's pooler with its tanh."""

    sizes = WIDTH | {"K": "classes"}
    part, reads = "head", "The head reads the class token only."

    def assumes(self, x):
        return (self.reads,)

    def parameters(self, active=False):
        return {self.part: (self.d + 1) * self.K}

    def flops(self, x):
        return {self.part: 2 * x.B * self.d * self.K}

    def extras(self, x):
        return {"activation": x.B * self.K} if self.part == "pooler" else {}

    def calls(self, x):
        return super().calls(x) if self.part == "pooler" else [product_call(self.part, x.B, self.d, self.K)]

    def ops(self, x):
        return super().ops(x) if self.part == "pooler" else tape.classifier(self, x)

    def logits(self, x):
        """Bytes of what it makes."""
        return product(x.m, x.B, self.K)

    def tensors(self, each):
        return matrix(each, self.d, self.K, bias=True)


class Rotary(Plain):
    """Cosines and sines of the positions, which all blocks share."""

    sizes = {"w": "width of one head"}

    def parameters(self, active=False):
        return {}

    extras = Plain.flops

    def ops(self, x):
        return []

    def tensors(self, each):
        return []

    def kept(self, x):
        return {"attention.rotary": product(2 * x.s, x.T, self.w)}
