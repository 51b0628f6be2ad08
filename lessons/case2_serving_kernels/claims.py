"""Claims on trial in case 2: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.teaching.cards.verdict import Verdict
from course_lib.units.case2_serving_kernels import roundings, splitting

LAYERS = [(4096, 768), (4096, 16_384), (4096, 4096), (16_384, 4096)]


def _ruling(cases) -> str:
    """What the claim is: true in all cases, in some of them, or in none."""
    cases = list(cases)
    return "holds" if all(cases) else "holds-if" if any(cases) else "fails"


def s001_04() -> Verdict:
    """Two right forms in two formats, and a kernel that gives zeros: does passing go with being right?"""
    share = {name: roundings.share_close(name) for name in roundings.FORMATS}
    small = [once for once, _ in roundings.pairs(roundings.fp32, scale=1e-9)]
    zeros = sum(roundings.close(0.0, value, atol=1e-8) for value in small) / len(small)
    assert sum(roundings.close(0.0, value) for value in small) == 0  # without atol the zeros are noticed
    return Verdict(_ruling([share["fp32"] == 1, share["bf16"] == 1, zeros < 0.5]), share=share, zeros=zeros)


def s001_12() -> Verdict:
    """The rule on four layers and three batches: does its answer depend on anything but the inputs?"""
    chosen = [splitting.selector(*layer, 32) for layer in LAYERS]
    others = [splitting.selector(*layer, batch) for batch in (1, 4096) for layer in LAYERS]
    adapts = len(set(chosen + others)) > 1
    return Verdict("holds" if adapts else "fails", choices=", ".join(chosen), others=", ".join(sorted(set(others))))
