"""State-space mixers: a state of fixed size in place of keys and values."""

from course_lib.accounting.answers.quantity import ceil, symbol
from course_lib.accounting.layers.base import Layer


class Mamba2(Layer):
    """The mixer of Mamba-2 (Dao and Gu 2024) as transformers computes it: a causal depthwise convolution with bias,
    then the scan in chunks of K tokens, the last one padded.
    """

    sizes = {
        "d": "model width",
        "h": "heads of the mixer",
        "w": "width of one head",
        "G": "groups of heads that share their input and output projection",
        "s": "numbers of state for each channel",
        "y": "taps of the convolution",
        "K": "tokens of a chunk",
    }
    G, y, K = 1, 4, 256

    def __init__(self, **given):
        super().__init__(**given)
        self._i = symbol("i", self.h * self.w, "width of all heads")
        self._c = symbol("c", self._i + 2 * self.G * self.s, "channels of the convolution")

    def parameters(self, active=False):
        d, h, i, c = self.d, self.h, self._i, self._c
        return {
            "mixer.in": d * (i + c + h),
            "mixer.conv": c * (self.y + 1),
            "mixer.scan": 3 * h,
            "mixer.out": i * d,
            "norm": i,
        }

    def flops(self, x):
        B, T, d, i, s, K = x.B, x.T, self.d, self._i, self.s, self.K
        n = symbol("n", ceil(T, K), "chunks of a sequence")
        padded = 2 * B * n * K
        return {
            "mixer.in": 2 * B * T * d * (i + self._c + self.h),
            "mixer.conv": 2 * B * (T + self.y - 1) * self._c * self.y,
            "mixer.scores": padded * K * self.h * s,
            "mixer.values": padded * K * i,
            "mixer.states": padded * i * s,
            "mixer.chunks": 2 * B * (n + 1) * (n + 1) * i * s,
            "mixer.read": padded * i * s,
            "mixer.out": 2 * B * T * i * d,
        }

    def omits(self, x):
        return ("The decays of the state, the gate and the norm of the mixer.",)

    def cache(self, x):
        return {"state": self._i * self.s, "conv": self._c * self.y}
