"""Energy of an operation: of published analog chips with their converters, of a GPU at its limit, of a read weight."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from course_lib.accounting import hardware
from course_lib.accounting.hardware import hierarchy


@dataclass(frozen=True)
class Chip:
    """A published chip: operations a second (2 for each multiply-add), W, bits of an operand; see `chips.toml`."""

    rate: float
    power: float
    bits: int


def _published() -> dict[str, Chip]:
    tables = tomllib.loads(Path(__file__).with_name("chips.toml").read_text(encoding="utf-8"))
    return {
        name: Chip(chip["rate"], chip["power"] if "power" in chip else chip["rate"] / chip["per_watt"], chip["bits"])
        for name, chip in tables.items()
    }


CHIPS = _published()
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
