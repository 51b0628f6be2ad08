"""MLPs: plain, gated, and mixtures of experts."""

from course_lib.accounting import units
from course_lib.accounting.layers import tape
from course_lib.accounting.layers.base import Layer, matrix
from course_lib.accounting.quantity import symbol

# FLOP per element; exp, tanh, erf and a division count as 1
ACTIVATIONS = {
    "relu": 1,  # max
    "gelu": 5,  # x/√2, erf, +1, ·x, ·½
    "gelu-tanh": 9,  # x², x³, ·0.044715, +x, ·√(2/π), tanh, +1, ·x, ·½
    "silu": 4,  # −x, exp, +1, divide
}


class MLP(Layer):
    """Two matrices, or three with a gate."""

    sizes = {"d": "model width", "f": "width of the MLP"}
    gated = bias = False
    activation = "gelu"
    dropout = 0.0
    style = ""

    def __init__(self, **given):
        super().__init__(**given)
        units.choice(self.activation, "activation", ACTIVATIONS)
        self._m = symbol("m", 3 if self.gated else 2, "matrices of the MLP")

    def parameters(self, active=False):
        return {"mlp": self._m * self.d * self.f + self.bias * ((self._m - 1) * self.f + self.d)}

    def projections(self):
        gate = {"gate": (self.d, self.f)} if self.gated else {}
        return gate | {"up": (self.d, self.f), "down": (self.f, self.d)}

    def flops(self, x):
        return {"mlp": 2 * x.B * x.T * self._m * self.d * self.f}

    def extras(self, x):
        return {"activation": (ACTIVATIONS[self.activation] + self.gated) * x.B * x.T * self.f}  # + the gate's product

    def ops(self, x):
        return tape.mlp(self, x) if self.style else super().ops(x)

    def tensors(self, each):
        up = matrix(each, self.d, self.f, bias=self.bias)
        return up * (1 + self.gated) + matrix(each, self.f, self.d, bias=self.bias)

    def cache(self, x):
        return {}

    def shard(self, t, e=1):
        return self.but(f=self.f // t)


class Mixture(MLP):
    """A router, without bias, and E experts, of which a token uses A; S more are shared by all tokens. Each is an MLP
    of width f.
    """

    sizes = {
        "d": "model width",
        "f": "width of one expert",
        "E": "experts",
        "A": "experts that a token uses",
        "S": "shared experts",
    }
    S = 0
    held = None  # experts on this rank, where ranks share them; the others are not its parameters

    def __init__(self, **given):
        super().__init__(**given)
        if self.A > self.E:
            raise ValueError(f"A={self.A.value} must not exceed E={self.E.value}: a token uses some of the experts.")

    def projections(self):
        return {}  # of which expert?

    ops, tensors = Layer.ops, Layer.tensors

    def _parts(self, tokens, used, each):
        parts = {"router": tokens * self.d * self.E, "mlp" if self.held is None else "experts": tokens * used * each}
        return parts | ({"shared": tokens * self.S * each} if self.S else {})

    def parameters(self, active=False):
        return self._parts(1, self.A if active else self.held or self.E, super().parameters()["mlp"])

    def flops(self, x):
        return self._parts(2 * x.B * x.T, self.A, self._m * self.d * self.f)

    def shard(self, t, e=1):
        return self.but(f=self.f // t, held=self.E // e)

    def omits(self, x):
        return ("The softmax over experts, the choice among them and the weighted sum of their results.",)

    def extras(self, x):
        return {"activation": (self.A + self.S) * super().extras(x)["activation"]}
