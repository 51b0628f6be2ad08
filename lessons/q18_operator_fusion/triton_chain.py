"""The four-operation chain as one Triton kernel. Importing this needs Triton, so `fusion_chain` imports it in a function."""

import triton
import triton.language as tl

BLOCK = 1024


@triton.jit
def _chain(x, mask, out, count, scale, shift, size: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * size + tl.arange(0, size)
    inside = at < count
    value = tl.load(x + at, mask=inside).to(tl.float32) * scale + shift
    inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
    tanh = 1.0 - 2.0 / (1.0 + tl.exp(2.0 * inner))
    value = 0.5 * value * (1.0 + tanh) * tl.load(mask + at, mask=inside).to(tl.float32)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=inside)


def chain(x, mask, out, scale: float, shift: float) -> None:
    """out = gelu_tanh(x · scale + shift) · mask, in one pass."""
    _chain[(triton.cdiv(x.numel(), BLOCK),)](x, mask, out, x.numel(), scale, shift, size=BLOCK)
