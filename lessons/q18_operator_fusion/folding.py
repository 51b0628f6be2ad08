"""A batch norm with fixed statistics, folded into a convolution behind or before it. Plain Python in one dimension for
the claims, torch in two for the lesson.
"""

from collections.abc import Sequence

TAPS = (0.5, -1.0, 2.0)
INPUT = (1.0, 3.0, -2.0, 4.0, 0.5, 2.0)
MEAN, VARIANCE, GAIN, SHIFT = 1.0, 4.0, 3.0, 2.0


def convolved(x: Sequence[float], taps=TAPS, bias: float = 0.0) -> list[float]:
    """Three taps, a zero on each side."""
    padded = [0.0, *x, 0.0]
    return [bias + sum(tap * padded[at + place] for place, tap in enumerate(taps)) for at in range(len(x))]


def normed(x: Sequence[float], mean=MEAN, variance=VARIANCE) -> list[float]:
    return [GAIN * (value - mean) / variance**0.5 + SHIFT for value in x]


def _scale_and_shift() -> tuple[float, float]:
    scale = GAIN / VARIANCE**0.5
    return scale, SHIFT - MEAN * scale


def error_behind() -> float:
    """Largest error of folding a batch norm into the convolution before it."""
    scale, shift = _scale_and_shift()
    folded = convolved(INPUT, [scale * tap for tap in TAPS], shift)
    return max(abs(a - b) for a, b in zip(folded, normed(convolved(INPUT)), strict=True))


def errors_before() -> tuple[float, float]:
    """Largest errors, inside and at the border, of folding a batch norm into the convolution behind it."""
    scale, shift = _scale_and_shift()
    folded = convolved(INPUT, [scale * tap for tap in TAPS], shift * sum(TAPS))
    off = [abs(a - b) for a, b in zip(folded, convolved(normed(INPUT)), strict=True)]
    return max(off[1:-1]), max(off[0], off[-1])


def nets(torch, seed: int = 0):
    """A padded 3×3 convolution, a batch norm with statistics of some past training, and images."""
    torch.manual_seed(seed)
    conv, norm = torch.nn.Conv2d(16, 16, 3, padding=1).eval(), torch.nn.BatchNorm2d(16).eval()
    with torch.no_grad():
        norm.running_mean.normal_()
        norm.running_var.uniform_(0.5, 2)
        norm.weight.uniform_(0.5, 2)
        norm.bias.normal_()
    return conv, norm, torch.randn(2, 16, 32, 32)


def folded_behind(torch, conv, norm):
    """The convolution that does what `conv`, then `norm` do."""
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    return conv.weight * scale[:, None, None, None], (conv.bias - norm.running_mean) * scale + norm.bias


def folded_before(torch, norm, conv):
    """The convolution that does what `norm`, then `conv` would do without padding."""
    scale = norm.weight / (norm.running_var + norm.eps).sqrt()
    shift = norm.bias - norm.running_mean * scale
    return conv.weight * scale[None, :, None, None], conv.bias + (conv.weight * shift[None, :, None, None]).sum(
        (1, 2, 3)
    )


def edges(difference) -> tuple[float, float]:
    """Largest difference inside and at the border of images."""
    off = difference.abs().amax((0, 1))
    inside = off[1:-1, 1:-1].max().item()
    off[1:-1, 1:-1] = 0
    return inside, off.max().item()
