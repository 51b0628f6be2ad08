"""FLOPs of one convolution by three algorithms, counted."""

from math import log2


def direct(n: int, kernel: int) -> int:
    """A multiplication and an addition for each number of the signal and each of the kernel: 2 · n · kernel."""
    return 2 * n * kernel


def padded_length(n: int, kernel: int) -> int:
    """The first power of two that holds all n + kernel − 1 sums."""
    return 1 << (n + kernel - 2).bit_length()


def by_fft(n: int, kernel: int) -> float:
    """Three real transforms of that length L, each counted as 2.5 · L · log2 L, half of the usual 5 · L · log2 L of a
    complex one; the product of the spectra is left out.
    """
    length = padded_length(n, kernel)
    return 7.5 * length * log2(length)


def winograd(pair, kernel) -> tuple[list[float], int]:
    """(two sums of a kernel of three over four numbers, multiplications): F(2, 3), with four in place of six."""
    d, g = pair, kernel
    m = [
        (d[0] - d[2]) * g[0],
        (d[1] + d[2]) * ((g[0] + g[1] + g[2]) / 2),
        (d[2] - d[1]) * ((g[0] - g[1] + g[2]) / 2),
        (d[1] - d[3]) * g[2],
    ]
    return [m[0] + m[1] + m[2], m[1] - m[2] - m[3]], len(m)
