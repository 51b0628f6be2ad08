"""Tensors to measure with: on one device, never zero, never allocated inside a timed call unless the case says so."""

from dataclasses import dataclass
from typing import Any

from course_lib.accounting import precision

_TORCH_NAMES = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16", "fp16": "float16"}
# random numbers that are drawn once and repeated: drawing all of them would take longer than the measurement
BLOCK = 2**20


@dataclass(frozen=True)
class Bench:
    """What a call is built from: `torch`, the device `on` ("cpu" or "cuda"), and random numbers there.

    generator: a torch.Generator of its own: the learner's random state is left alone. block: numbers drawn from it.
    """

    torch: Any
    on: str
    generator: Any
    block: Any

    @classmethod
    def on_device(cls, torch, on: str) -> "Bench":
        generator = torch.Generator(on).manual_seed(0)
        return cls(torch, on, generator, torch.rand(BLOCK, generator=generator, device=on) - 0.5)

    def random(self, *shape: int, dtype: str = "fp32"):
        """Numbers uniform in [-0.5, 0.5): zeros would let power limits and data-dependent hardware flatter the time."""
        tensor = self.empty(*shape, dtype=dtype)
        for part in tensor.view(-1).split(BLOCK):
            part.copy_(self.block[: len(part)])
        return tensor

    def empty(self, *shape: int, dtype: str = "fp32"):
        """Memory for results, touched once so that no page fault falls into a timed call."""
        return self.torch.full(shape, 0.5, dtype=torch_dtype(self.torch, dtype), device=self.on)


def torch_dtype(torch, name: str):
    """The torch dtype of a number format that torch computes in."""
    return getattr(torch, _TORCH_NAMES[precision.normalise(name)])
