"""Rounding whole tensors, and what sums and products of rounded numbers are expected to cost."""

import math

from course_lib.accounting import precision

ONE_ROUNDING = math.sqrt(math.log(2) / 18)
"""Relative error of one rounding, root mean square, in units of 2⁻ᶠ (f fraction bits): 0.196.

The error is even over a spacing, which has a variance of spacing²/12; sizes are even on a logarithmic axis, so that the
mean square over an octave from 1 to 2 is 3/(2·ln 2).
"""


def fraction_bits(dtype) -> int:
    return round(-math.log2(precision.limits(dtype).eps))


def product_error(dtype, terms: int, sums: str = "fp32") -> float:
    """Relative error, root mean square, of a dot product of `terms` random numbers of both signs.

    dtype: what both factors are rounded to; sums: the format of the running sum, which grows like √k, so that its
    k-th rounding counts with k/terms of the result's square. The sums of fp32 are taken as exact.
    """
    inputs = 2 * 4.0 ** -fraction_bits(dtype)
    adding = 0.0 if sums == "fp32" else 4.0 ** -fraction_bits(sums) * terms / 2
    return ONE_ROUNDING * math.sqrt(inputs + adding)


def nearest(torch, values, bits: int):
    """fp32 values with `bits` fraction bits, to nearest, ties to even; the exponent is that of fp32."""
    cut = 23 - bits
    codes = values.contiguous().view(torch.int32)
    half = (1 << (cut - 1)) - 1 + ((codes >> cut) & 1)
    return ((codes + half) & -(1 << cut)).view(torch.float32)


def stochastic(torch, values, generator):
    """fp32 values as bf16 numbers, each to one of its two neighbours, by adding random bits below the fraction."""
    codes = values.contiguous().view(torch.int32)
    return ((codes + torch.randint(0, 2**16, codes.shape, generator=generator, dtype=torch.int32)) & -(2**16)).view(
        torch.float32
    )


def block_error(values, dtype: str, block: int) -> float:
    """Relative error, root mean square, of all numbers but those of the first 32, with one scale for `block` numbers.

    A block's largest size becomes the format's largest number. For what has no floating format, such as int8, the
    largest whole number.
    """
    whole = dtype.startswith("int")
    if whole:
        held = precision.quantized(values, int(dtype.removeprefix("int")), block).values
    else:
        held = []
        for start in range(0, len(values), block):
            part = values[start : start + block]
            scale = max(map(abs, part)) / precision.limits(dtype).max
            held += [precision.rounded(value / scale, dtype) * scale for value in part]
    rest = list(zip(values, held, strict=True))[32:]
    return math.sqrt(sum((value - kept) ** 2 for value, kept in rest) / sum(value**2 for value, _ in rest))
