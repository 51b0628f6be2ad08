"""Norms over the model's width."""

from course_lib.accounting.answers.quantity import product
from course_lib.accounting.layers import tape
from course_lib.accounting.layers.base import WIDTH, Call, Plain

# FLOP per element. LayerNorm: mean 1, variance 3, subtract and divide 2, gain and bias 2. RMSNorm: square, sum, ·1/rms,
# ·gain
EACH = {False: 8, True: 4}


class Norm(Plain):
    """LayerNorm, with a bias or without, or RMSNorm."""

    sizes = WIDTH
    bias = rms = False

    def parameters(self, active=False):
        return {"norm": (1 + self.bias) * self.d}

    def ops(self, x, first=False, residual=False):
        return tape.norm(self, x, first, residual)

    def ranked(self, b, T, eager):
        return {"whole": 2 * b * self.d}

    def tensors(self, each):
        return [product(each, self.d)] * (1 + self.bias)

    def calls(self, x):
        return [Call("norm", self.extras(x)["norm"], 2 * x.B * x.T * self.d)]

    def extras(self, x):
        return {"norm": EACH[self.rms] * x.B * x.T * self.d}
