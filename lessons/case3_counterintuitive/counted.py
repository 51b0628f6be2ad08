"""FLOPs of one convolution by three algorithms, bytes of a radix sort, counted; and a published rate of one."""

from math import log2

ONESWEEP = 29.4e9
"""Keys a second, 32 bits each, on an A100 (which of the two is not said): Adinets and Merrill, arXiv 2206.01784, 2022,
abstract. Published, not measured here.
"""


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


def radix_bytes(bits: int, digit: int = 8) -> int:
    """Bytes that move for each key: one reading that counts digits, then a reading and a writing in each pass."""
    return bits // 8 * (1 + 2 * -(-bits // digit))
