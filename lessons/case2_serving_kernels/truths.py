"""The truths behind the cards of this unit, computed when a learner reveals one."""

from course_lib.accounting import hardware


def read_once() -> float:
    """Milliseconds to read 16 GB once from the memory of an H100 SXM."""
    return 16e9 / hardware.load("h100-sxm").memory_bandwidth * 1e3


def elsewhere() -> float:
    """Milliseconds to read 40 GB once from the memory of an A100 with 80 GB."""
    return 40e9 / hardware.load("a100-80-sxm").memory_bandwidth * 1e3
