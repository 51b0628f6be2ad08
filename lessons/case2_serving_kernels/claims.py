"""The verdicts on the claims of this unit, computed when a learner reveals one."""

from dataclasses import replace

from course_lib.accounting import hardware
from course_lib.teaching.cards.verdict import Verdict


def half_the_bits() -> Verdict:
    """8 billion weights, read once."""
    wide, narrow = (_read_ms(8e9 * bits / 8, hardware.load("h100-sxm")) for bits in (16, 8))
    return Verdict("holds" if narrow * 2 == wide else "fails", wide=f"{wide:.1f}", narrow=f"{narrow:.1f}")


def twice_the_peak() -> Verdict:
    """16 GB, read once, by a device and by one that differs in nothing but its peaks."""
    device = hardware.load("h100-sxm")
    faster = replace(device, peaks={dtype: 2 * peak for dtype, peak in device.peaks.items()})
    before, after = _read_ms(16e9, device), _read_ms(16e9, faster)
    return Verdict("holds" if after <= before / 2 else "fails", before=f"{before:.1f}", after=f"{after:.1f}")


def _read_ms(nbytes: float, device: hardware.Device) -> float:
    return nbytes / device.memory_bandwidth * 1e3
