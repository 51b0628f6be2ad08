"""Number formats: their names, and how many bytes a number takes.

A name says how a number is *stored* or, in a device's peaks, which arithmetic is meant. tf32 is arithmetic on numbers
stored as fp32, so it takes 4 bytes. The block formats count their scales: MX formats share one 8-bit scale among 32
numbers (OCP Microscaling Formats Specification v1.0, 2023), NVFP4 one 8-bit scale among 16 (NVIDIA, "Introducing
NVFP4", 2025; its one fp32 scale per tensor is left out).
"""

from course_lib.accounting import units

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
    "int64": (64, 1),
    "int32": (32, 1),
    "int16": (16, 1),
    "int8": (8, 1),
    "int4": (4, 1),
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
    """The course's name of a format: "float32" → "fp32", "half" → "fp16", `torch.bfloat16` → "bf16".

    Objects of torch and numpy are read by their name; neither library is imported. ValueError, with the nearest known
    name, for anything else.
    """
    text = dtype.__name__ if isinstance(dtype, type) else str(dtype)
    text = text.strip().lower().removeprefix("torch.")
    for candidate in (text, text.replace("_", "-")):
        if candidate in _FORMATS:
            return candidate
    return _ALIASES[text] if text in _ALIASES else units.choice(text, name, _FORMATS)


def bytes_per_element(dtype):
    """Bytes that one number takes, exact: an int where whole (bf16: 2), else a Fraction (int4: 1/2, mxfp8: 33/32)."""
    bits, elements = _FORMATS[normalise(dtype)]
    if bits % (8 * elements) == 0:
        return bits // (8 * elements)
    from fractions import Fraction  # costs an import that most callers never need

    return Fraction(bits, 8 * elements)


def nbytes(elements, dtype) -> int:
    """Bytes of a tensor of `elements` numbers. Sub-byte formats are packed; a last byte or block counts in full."""
    bits, block = _FORMATS[normalise(dtype)]
    blocks = -(-units.count(elements, "elements", minimum=0) // block)
    return -(-blocks * bits // 8)
