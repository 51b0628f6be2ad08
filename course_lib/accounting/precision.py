"""Number formats: their names, how many bytes a number takes, what they can hold and how they round.

A name says how a number is *stored* or, in a device's peaks, which arithmetic is meant. tf32 is arithmetic on numbers
stored as fp32, so it takes 4 bytes. The block formats count their scales: MX formats share one 8-bit scale among 32
numbers (OCP Microscaling Formats Specification v1.0, 2023), NVFP4 one 8-bit scale among 16 (NVIDIA, "Introducing
NVFP4", 2025; its one fp32 scale per tensor is left out). What mixes formats is named by the mean: "4.85-bit".

Stored weights, by the layout of a block. q4_0 … q8_0 as in llama.cpp (ggml-common.h): an fp16 scale; q4_k and q5_k have
two, and 12 bytes of 6-bit scales and minima, q6_k 16 scales of 8 bits. int4-g32: groups of 32 with scale and zero in
bf16 (gpt-fast, quantize.py). int4-g128: groups of 128 with an fp16 scale and a 4-bit zero (AWQ, Lin et al. 2023; GPTQ,
Frantar et al. 2022, whose order of columns is left out). nf4: an 8-bit scale for 64 numbers, an fp32 scale for 256 of
those (Dettmers et al., QLoRA, 2023, section 3).

Ranges: IEEE 754-2019 (fp64, fp32, fp16); NVIDIA A100 Architecture whitepaper, 2020 (tf32: the exponent of fp32, the
fraction of fp16; bf16); OCP 8-bit Floating Point Specification v1.0, 2023 (fp8); the MX specification (6 and 4 bits).
"""

import math
import re
from dataclasses import dataclass

from course_lib.accounting import units
from course_lib.accounting.answers.explained import Explained
from course_lib.accounting.answers.quantity import Quantity, ceil, of, symbol

# name -> (bits of one block, numbers in a block)
_FORMATS = {
    "fp64": (64, 1),
    "fp32": (32, 1),
    "tf32": (32, 1),
    "bf16": (16, 1),
    "fp16": (16, 1),
    "fp8-e4m3": (8, 1),
    "fp8-e5m2": (8, 1),
    "mxfp8": (32 * 8 + 8, 32),
    "mxfp6": (32 * 6 + 8, 32),
    "mxfp4": (32 * 4 + 8, 32),
    "nvfp4": (16 * 4 + 8, 16),
    "q8_0": (8 * 34, 32),
    "q6_k": (8 * 210, 256),
    "q5_k": (8 * 176, 256),
    "q4_k": (8 * 144, 256),
    "q4_0": (8 * 18, 32),
    "nf4": (256 * (64 * 4 + 8) + 32, 256 * 64),
    "int4-g32": (32 * 4 + 16 + 16, 32),
    "int4-g128": (128 * 4 + 16 + 4, 128),
    "int64": (64, 1),
    "int32": (32, 1),
    "int16": (16, 1),
    "int8": (8, 1),
    "int4": (4, 1),
}

# name -> (fraction bits, smallest and largest exponent of a normal number, codes that the largest exponent lacks at its
# top, whether there are infinities). For a block format: of its elements, before the shared scale. mxfp8 and mxfp6 are
# E4M3 and E3M2 here; the specification also allows E5M2 and E2M3.
_FLOATS = {
    "fp64": (52, -1022, 1023, 0, True),
    "fp32": (23, -126, 127, 0, True),
    "tf32": (10, -126, 127, 0, True),
    "bf16": (7, -126, 127, 0, True),
    "fp16": (10, -14, 15, 0, True),
    "fp8-e4m3": (3, -6, 8, 1, False),  # the topmost code is NaN
    "fp8-e5m2": (2, -14, 15, 0, True),
    "mxfp8": (3, -6, 8, 1, False),
    "mxfp6": (2, -2, 4, 0, False),
    "mxfp4": (1, 0, 2, 0, False),
    "nvfp4": (1, 0, 2, 0, False),
}

_ALIASES = {
    "float64": "fp64",
    "double": "fp64",
    "float32": "fp32",
    "float": "fp32",
    "single": "fp32",
    "tensorfloat32": "tf32",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "fp8": "fp8-e4m3",  # what is meant when nobody says which: weights and activations use e4m3
    "float8_e4m3fn": "fp8-e4m3",
    "float8_e4m3": "fp8-e4m3",
    "e4m3": "fp8-e4m3",
    "float8_e5m2": "fp8-e5m2",
    "e5m2": "fp8-e5m2",
    "long": "int64",
    "int": "int32",
    "short": "int16",
}


def names() -> tuple[str, ...]:
    """Every format that this course knows, widest first."""
    return tuple(_FORMATS)


def normalise(dtype, name: str = "dtype") -> str:
    """The course's name of a format: "float32" → "fp32", "half" → "fp16", `torch.bfloat16` → "bf16"; a mean of so many
    bits a number is "4.85-bit".

    Objects of torch and numpy are read by their name; neither library is imported. ValueError, with the nearest known
    name, for anything else.
    """
    text = dtype.__name__ if isinstance(dtype, type) else str(dtype)
    text = text.strip().lower().removeprefix("torch.")
    for candidate in (text, text.replace("_", "-")):
        if candidate in _FORMATS:
            return candidate
    if _mean_bits(text):
        return text
    return _ALIASES[text] if text in _ALIASES else units.choice(text, name, _FORMATS)


def _mean_bits(name: str) -> tuple[int, int] | None:
    """So many bits in so many numbers, (485, 100) for "4.85-bit"; None for what is no such name."""
    found = re.fullmatch(r"(\d+)\.?(\d*)-bit", name)
    bits, numbers = (int(found[1] + found[2]), 10 ** len(found[2])) if found else (0, 1)
    return (bits, numbers) if 0 < bits <= 64 * numbers else None


def bytes_per_element(dtype):
    """Bytes that one number takes, exact: an int where whole (bf16: 2), else a Fraction (int4: 1/2, mxfp8: 33/32)."""
    name = normalise(dtype)
    bits, elements = _FORMATS.get(name) or _mean_bits(name)
    if bits % (8 * elements) == 0:
        return bits // (8 * elements)
    from fractions import Fraction  # costs an import that most callers never need

    return Fraction(bits, 8 * elements)


def nbytes(elements, dtype) -> int:
    """Bytes of a tensor of `elements` numbers. Sub-byte formats are packed; a last byte or block counts in full."""
    return stored(of(units.count(elements, "elements", minimum=0)), dtype).value


def stored(elements: Quantity, dtype) -> Quantity:
    """`nbytes` of a number of elements that carries its derivation."""
    name = normalise(dtype)
    bits, block = _FORMATS.get(name) or _mean_bits(name)
    if name not in _FORMATS:  # a mean has no blocks
        return ceil(bits * elements, 8 * block)
    common = math.gcd(bits, 8)
    return ceil(bits // common * ceil(elements, block), 8 // common)


# ---------------------------------------------------------------- range and rounding


@dataclass(frozen=True, repr=False)
class Limits(Explained):
    """What a floating format can hold; made by `limits`. All four are exact."""

    max: float  # largest finite number
    min_normal: float  # smallest positive number with the full fraction
    min_subnormal: float  # smallest positive number
    eps: float  # distance from 1 to the next larger number


def limits(dtype) -> Limits:
    """Range and precision of a floating format: fp16 → max 65504, min_normal 2⁻¹⁴, min_subnormal 2⁻²⁴, eps 2⁻¹⁰.

    For a block format (MX, NVFP4): of its elements, before the shared scale. Integer formats have neither subnormals
    nor an eps: ValueError, naming their range.
    """
    name = normalise(dtype)
    fraction, smallest, top, lacking, _ = _floating(name)
    f, N = symbol("f", fraction, "fraction bits"), symbol("N", smallest, "exponent of the smallest normal number")
    E = symbol("E", top, "largest exponent")
    k = symbol("k", 1 + lacking, "1, or 2 where the topmost code is NaN instead of a number")
    assumptions = ("Subnormal numbers are kept, not flushed to zero.",)
    if _FORMATS[name][1] > 1:
        assumptions += ("These are the elements of a block; its shared scale moves all of them together.",)
    return Limits(
        max=(2 - k * 2.0**-f) * 2.0**E,
        min_normal=2.0**N,
        min_subnormal=2.0 ** (N - f),
        eps=2.0**-f,
        assumptions=assumptions,
    )


def rounded(value, dtype) -> float:
    """The number that `value` becomes in a floating format: to nearest, ties to even, subnormals kept.

    One rounding, from the float64 that `value` is. Beyond the range: infinity where the format has one (fp64 … fp16,
    fp8-e5m2); fp8-e4m3 and the MX and NVFP4 elements, which have none, give ± their largest number, also for an
    infinity (the saturating conversion of OCP's FP8 and MX specifications, and what torch 2.13 does). NaN stays NaN,
    although the 6- and 4-bit elements could not hold one. Block scales are not applied. Hardware may round tf32
    operands in other ways (PTX offers ties away from zero, and plain truncation happens).
    """
    name = normalise(dtype)
    fraction, smallest, _, _, infinite = _floating(name)
    try:
        number = None if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # RuntimeError: a tensor of several numbers
        number = None
    if number is None:
        raise ValueError(f"value={value!r} must be one number that a float holds; round a list number by number.")
    if math.isnan(number) or number == 0:
        return number
    size, largest = abs(number), _largest(name)
    if size < 2 * largest:  # also keeps the scaling below from overflowing
        place = max(math.frexp(size)[1] - 1, smallest) - fraction  # exponent of the last place
        size = math.ldexp(round(math.ldexp(size, -place)), place)  # exact but for `round`, which takes ties to even
    if size > largest:
        size = math.inf if infinite else largest
    return math.copysign(size, number)


def neighbours(value, dtype) -> tuple[float, float]:
    """The next numbers of a floating format below and above `value`, which need not be one of them itself.

    bf16 around 1: (1 − 2⁻⁸, 1 + 2⁻⁷), because the numbers below a power of two lie twice as close as those above.
    Around 0: minus and plus the smallest subnormal. Where the format ends there is none: −inf or inf, also in a format
    without infinities. ValueError for what is no finite number.
    """
    name = normalise(dtype)
    _floating(name)
    number = rounded(value, "fp64")  # refuses what is no number
    if not math.isfinite(number):
        raise ValueError(f"value={value!r} must be finite: nothing lies beside an infinity, nor beside NaN.")
    size = abs(number)
    inner, outer = _towards_zero(size, name), _away_from_zero(size, name)
    return (inner, outer) if number >= 0 else (-outer, -inner)


def stochastic(value, dtype, u) -> float:
    """`value` in a floating format by stochastic rounding: up to the neighbour above with the probability of its place
    between the two neighbours, so that the mean over many draws is `value`.

    u: a number from 0 to 1, 1 excluded, drawn for this rounding (`random.random()`). What the format holds stays, and
    what lies beyond its range becomes what `rounded` makes of it. (Gupta et al. 2015, "Deep Learning with Limited
    Numerical Precision", arXiv 1502.02551, for fixed-point numbers.)
    """
    if isinstance(u, (bool, str)) or not 0 <= u < 1:
        raise ValueError(f"u={u!r} must be a number drawn from 0 to 1, with 1 excluded.")
    nearest = rounded(value, dtype)
    if nearest == value or math.isnan(nearest) or abs(value) > _largest(normalise(dtype)):
        return nearest
    below, above = neighbours(value, dtype)
    return above if u < (float(value) - below) / (above - below) else below


def _towards_zero(size: float, name: str) -> float:
    """The next number nearer to zero than `size`, which is not negative; beyond zero for 0."""
    fraction, smallest, *_ = _FLOATS[name]
    if size == 0:
        return -(2.0 ** (smallest - fraction))
    if size > _largest(name):
        return _largest(name)
    mantissa, exponent = math.frexp(size)
    place = max(exponent - (2 if mantissa == 0.5 else 1), smallest) - fraction  # below a power of two: half as far
    return math.ldexp(math.ceil(math.ldexp(size, -place)) - 1, place)


def _away_from_zero(size: float, name: str) -> float:
    """The next number farther from zero than `size`, which is not negative; inf where there is none."""
    fraction, smallest, *_ = _FLOATS[name]
    if size >= _largest(name):
        return math.inf
    place = (max(math.frexp(size)[1] - 1, smallest) if size else smallest) - fraction
    return math.ldexp(math.floor(math.ldexp(size, -place)) + 1, place)


def _floating(name: str) -> tuple[int, int, int, int, bool]:
    if name not in _FLOATS and not name.removeprefix("int").isdigit():
        raise ValueError(f"dtype={name!r} says how numbers are stored; range and rounding are those of their scales.")
    if name not in _FLOATS:
        bound = 2 ** (_FORMATS[name][0] - 1)
        raise ValueError(
            f"dtype={name!r} is an integer format: the whole numbers from {-bound} to {bound - 1} and nothing between. "
            f"Floating formats are {', '.join(_FLOATS)}."
        )
    return _FLOATS[name]


def _largest(name: str) -> float:
    fraction, _, top, lacking, _ = _FLOATS[name]
    return (2 - (1 + lacking) * 2.0**-fraction) * 2.0**top


# ---------------------------------------------------------------- whole numbers with a scale


@dataclass(frozen=True)
class Quantized:
    """Numbers as whole numbers times a scale; made by `quantized`."""

    integers: tuple[int, ...]
    scales: tuple[float, ...]  # one for each group
    values: tuple[float, ...]  # integer · scale: what the numbers have become


def quantized(values, bits, group=None) -> Quantized:
    """Numbers on a symmetric grid of whole numbers: each group's largest size becomes 2^(bits − 1) − 1.

    scale = max |v| / (2^(bits − 1) − 1) of a group, integer = v/scale to nearest, ties to even (Jacob et al. 2018,
    arXiv 1712.05877, without a zero point). values: a list of finite numbers; bits: 2 to 16; group: so many numbers
    share a scale (the last group may be shorter), None for all of them. A group of zeros has the scale 0.
    """
    numbers = [_finite(value) for value in values]
    if not numbers:
        raise ValueError("values is empty: give at least one number.")
    width, size = units.count(bits, "bits", minimum=2), len(numbers) if group is None else units.count(group, "group")
    if width > 16:
        raise ValueError(f"bits={bits!r} must lie between 2 and 16: bits of one whole number, not of a tensor.")
    top = 2 ** (width - 1) - 1
    scales = [max(map(abs, numbers[start : start + size])) / top for start in range(0, len(numbers), size)]
    integers = [round(v / scales[place // size]) if scales[place // size] else 0 for place, v in enumerate(numbers)]
    held = [number * scales[place // size] for place, number in enumerate(integers)]
    return Quantized(tuple(integers), tuple(scales), tuple(held))


def _finite(value) -> float:
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)
    except (TypeError, ValueError, RuntimeError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"values holds {value!r}: each must be one finite number; a matrix goes in row by row.")
    return number


units.teach(globals())
