"""Ways to round with less harm, each in its smallest form: GPTQ, SmoothQuant, AWQ, and scales of a cache."""

from course_lib.experiments.running import timing
from course_lib.units.q10_why_compress.network import on_grid


def relative(wrong, right) -> float:
    """Root of the mean squared difference over the root of the mean square."""
    return ((wrong - right).norm() / right.norm()).item()


def output_error(weights, rounded, inputs) -> float:
    """How far off a layer's outputs are."""
    return relative(inputs @ rounded.T, inputs @ weights.T)


def gptq(torch, weights, inputs, bits: int, damping=0.01):
    """A matrix [outputs, inputs] on a grid with a scale a row: column after column is rounded, and the columns after it
    take over its error (Frantar et al. 2022, section 3.3, without blocks).

    With H = XᵀX of the inputs and the upper Cholesky factor U of H⁻¹, column j's error e = (w − q)/U[j, j] is taken from
    the later columns by e·U[j, later]. damping: of the mean of H's diagonal, added to it.
    """
    h = (inputs.T @ inputs).double()
    h += damping * h.diagonal().mean() * torch.eye(len(h), dtype=h.dtype)
    u = torch.linalg.cholesky(torch.linalg.inv(h), upper=True)
    left, top = weights.double().clone(), 2 ** (bits - 1) - 1
    scale, rounded = left.abs().amax(1) / top, torch.empty_like(left)
    with timing.single_thread(torch):  # many small steps
        for j in range(left.shape[1]):
            rounded[:, j] = (left[:, j] / scale).round().clamp(-top, top) * scale
            error = (left[:, j] - rounded[:, j]) / u[j, j]
            left[:, j:] -= error[:, None] * u[j, j:]
    return rounded.to(weights.dtype)


# ---------------------------------------------------------------- a scale moved between inputs and weights


def with_large_channel(torch, rows: int, channels: int, factor: float, seed=0):
    """(inputs [rows, channels], weights [64, channels]), normal; one channel of the inputs is `factor` times as large."""
    generator = torch.Generator().manual_seed(seed)
    x, w = (torch.randn(size, channels, generator=generator) for size in (rows, 64))
    x[:, channels // 3] *= factor
    return x, w


def _moved(x, w, power: float):
    """Inputs divided, and weights multiplied, by a power of the size of each channel's inputs over that of its weights."""
    s = x.abs().amax(0) ** power / w.abs().amax(0) ** (1 - power) if power else 1.0
    return x / s, w * s


def both_rounded(torch, x, w, bits: int, power: float) -> float:
    """Error of x·wᵀ, with inputs and weights on grids with one scale each, after a scale has moved (SmoothQuant)."""
    small, large = _moved(x, w, power)
    return relative(on_grid(torch, small, bits, "tensor") @ on_grid(torch, large, bits, "tensor").T, x @ w.T)


def weights_rounded(torch, x, w, bits: int, power: float) -> float:
    """The same with the weights alone rounded, a scale a row (AWQ): s is a power of the mean size of a channel's inputs."""
    s = x.abs().mean(0) ** power
    s = s / (s.max() * s.min()).sqrt()
    return relative((x / s) @ on_grid(torch, w * s, bits, "row").T, x @ w.T)


# ---------------------------------------------------------------- keys and values


def cache_errors(torch, tokens: int, width: int, factor: float, seed=0) -> dict[tuple[str, int, str], float]:
    """(what is rounded, bits, what shares a scale) -> error of attention's output for 64 queries; one channel of the keys
    is `factor` times as large.
    """
    generator = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randn(count, width, generator=generator) for count in (64, tokens, tokens))
    k[:, width // 3] *= factor
    q[:, width // 3] /= factor  # so that the scores stay of the same size

    def attended(keys, values):
        return torch.nn.functional.scaled_dot_product_attention(q, keys, values)

    def channels(matrix, bits):
        return on_grid(torch, matrix.T.contiguous(), bits, "row").T

    right, found = attended(k, v), {}
    for bits in (8, 4):
        found["keys", bits, "token"] = relative(attended(on_grid(torch, k, bits, "row"), v), right)
        found["keys", bits, "channel"] = relative(attended(channels(k, bits), v), right)
        found["values", bits, "token"] = relative(attended(k, on_grid(torch, v, bits, "row")), right)
    return found
