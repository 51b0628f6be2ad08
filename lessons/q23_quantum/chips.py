"""Energy of an operation: of published analog chips with their converters, of a GPU at its limit, of a read weight."""

from dataclasses import dataclass

from course_lib.accounting import hardware
from course_lib.accounting.hardware import hierarchy


@dataclass(frozen=True)
class Chip:
    """A published chip, as its authors report it: operations a second (2 per multiply-add), W, bits of an operand.

    The photonic one counts 16 bits, where blocks of numbers share one exponent.
    """

    rate: float
    power: float
    bits: str
    source: str


CHIPS = {
    "photonic": Chip(
        65.5e12,
        78 + 1.6,  # electrical and optical
        "16",
        "'Universal photonic artificial intelligence acceleration', Nature 2025, 10.1038/s41586-025-08854-x, and the maker's article 'A new kind of computer'",
    ),
    "in-memory, precise": Chip(
        16.1e12, 16.1 / 2.48, "8", "Nature Electronics 2023, 10.1038/s41928-023-01010-1, abstract: four-phase reading"
    ),
    "in-memory, quick": Chip(
        63.1e12, 63.1 / 9.76, "8", "Nature Electronics 2023, 10.1038/s41928-023-01010-1, abstract: one-phase reading"
    ),
}
CELLS = 64 * 256 * 256
"""Weights that the in-memory chip holds: 64 cores (its abstract) of 256 × 256 cells (reports on it)."""

READ = hierarchy.energy("hbm2").of(1) * 1e12
"""pJ of reading one weight of 8 bits from HBM2, the memory and its interface alone."""


def picojoules(name: str) -> float:
    """pJ of an operation of one of `CHIPS`."""
    return CHIPS[name].power / CHIPS[name].rate * 1e12


def gpu_picojoules(id: str, dtype: str) -> float:
    """pJ of an operation of a GPU that reaches its peak at its power limit."""
    device = hardware.load(id)
    return device.power / device.peak(dtype) * 1e12


def per_product(side: int, conversion: float, product: float) -> float:
    """pJ of a multiply-add of an analog side × side matrix: 2 · side conversions serve side² of them.

    conversion: pJ of one; product: pJ of a multiply-add in the analog part.
    """
    return 2 * conversion / side + product
