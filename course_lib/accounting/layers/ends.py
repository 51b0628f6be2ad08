"""What stands before and after the blocks: embeddings and heads."""

from course_lib.accounting.layers.base import WIDTH, Layer, Plain
from course_lib.accounting.quantity import ceil, symbol

VOCABULARY = WIDTH | {"V": "vocabulary"}


class Embedding(Plain):
    """A row for each token; `positions` learned rows are added, and `spare` more that no position uses; and one of
    `segments`."""

    sizes = VOCABULARY
    positions = segments = None
    spare = 0
    backward = 0

    def parameters(self, active=False):
        parts = {"embedding.token": self.V * self.d}
        if self.positions is not None:
            rows = symbol("C", self.positions, "context") + self.spare
            parts["embedding.position"] = rows * self.d
        if self.segments is not None:
            parts["embedding.segment"] = symbol("s", self.segments, "segments") * self.d
        return parts

    def extras(self, x):
        added = (self.positions is not None) + (self.segments is not None)
        return {"embedding": added * x.B * x.T * self.d} if added else {}

    def shard(self, t, e=1):
        return self.but(V=ceil(self.V, t))


class PatchEmbedding(Layer):
    """A convolution with bias makes patches tokens, a class token joins them, each has a learned position."""

    sizes = WIDTH | {"p": "side of a patch", "c": "channels of the image", "P": "patches of the image"}
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


class Head(Layer):
    """Scores for every word of the vocabulary, at every position. tied: its matrix is the token embedding."""

    sizes = VOCABULARY
    tied = bias = False

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


class Rotary(Plain):
    """Cosines and sines of the positions, which all blocks share."""

    sizes = {"w": "width of one head"}

    def parameters(self, active=False):
        return {}

    extras = Plain.flops
