"""MLPs: plain, gated, and mixtures of experts."""

from course_lib.accounting import units
from course_lib.accounting.answers.quantity import nearest, symbol
from course_lib.accounting.layers import tape
from course_lib.accounting.layers.base import Call, Layer, matrix, product_call

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

    wires = {"gate": ("in",), "up": ("in",), "down": ("gate", "up")}

    def projections(self):
        gate = {"gate": (self.d, self.f)} if self.gated else {}
        return gate | {"up": (self.d, self.f), "down": (self.f, self.d)}

    def flops(self, x):
        return {"mlp": 2 * x.B * x.T * self._m * self.d * self.f}

    def extras(self, x):
        return {"activation": (ACTIVATIONS[self.activation] + self.gated) * x.B * x.T * self.f}  # + the gate's product

    def calls(self, x):
        if self.gated:
            return super().calls(x)
        rows, wide = x.B * x.T, x.B * x.T * self.f
        activation = Call("activation", self.extras(x)["activation"], 2 * wide)
        return [product_call("mlp", rows, self.d, self.f), activation, product_call("mlp", rows, self.f, self.d)]

    def ops(self, x):
        return tape.mlp(self, x) if self.style else super().ops(x)

    def tensors(self, each):
        up = matrix(each, self.d, self.f, bias=self.bias)
        return up * (1 + self.gated) + matrix(each, self.f, self.d, bias=self.bias)

    def cache(self, x):
        return {}

    def ranked(self, b, T, eager):
        hidden = {"divided": 2 * b * (4 if self.gated else 2) * self.f}  # into and out of what is not linear
        return hidden | ({"whole": b * self.d} if self.dropout else {})  # the mask

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

    wires = dict.fromkeys(("router", "mlp", "shared"), ("in",))

    def projections(self):
        return {}  # of which expert?

    calls, ops, tensors = Layer.calls, Layer.ops, Layer.tensors

    def _parts(self, tokens, used, each):
        parts = {"router": tokens * self.d * self.E, "mlp" if self.held is None else "experts": tokens * used * each}
        return parts | ({"shared": tokens * self.S * each} if self.S else {})

    def parameters(self, active=False):
        return self._parts(1, self.A if active else self.held or self.E, super().parameters()["mlp"])

    def touched(self, x):
        said = "experts that a batch touches in the mean, all equally likely"
        u = symbol("u", self.E * (1 - (1 - self.A / self.E) ** x.B), said)
        return self.parameters() | {"mlp": nearest(u * super().parameters()["mlp"])}

    def flops(self, x):
        return self._parts(2 * x.B * x.T, self.A, self._m * self.d * self.f)

    def shard(self, t, e=1):
        return self.but(f=self.f // t, held=self.E // e)

    @property
    def copies(self):
        return self.A

    def ranked(self, b, T, eager):
        parts = super().ranked(b, T, eager)
        return parts | {"divided": (self.A + self.S) * parts["divided"] + 2 * b * self.A * self.d}  # and the copies

    def omits(self, x):
        return ("The softmax over experts, the choice among them and the weighted sum of their results.",)

    def extras(self, x):
        return {"activation": (self.A + self.S) * super().extras(x)["activation"]}
