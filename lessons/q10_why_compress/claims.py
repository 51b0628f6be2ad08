"""The claims on trial of Q10, decided by code."""

from course_lib.accounting import hardware
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q10_why_compress import network, serving


def _right(*bits, outlier=False) -> list[float]:
    """Right answers in % of the digits network as it is, or with an outlier, and with its weights in so many bits."""
    import torch

    weights = network.trained(torch, 0)
    if outlier:
        weights = network.with_outlier(weights)
    others = [network.quantised(torch, weights, each, "tensor") for each in bits]
    return [network.accuracy(torch, each, 0) for each in (weights, *others)]


def s003_71() -> Verdict:
    one, many = serving.faster(1, 1024, "4.5-bit"), serving.faster(64, 4096, "4.5-bit")
    prompt = serving.prompt_seconds(2048) / serving.prompt_seconds(2048, "4.5-bit")
    before, after = _right(8)
    gains = [ratio > 1.05 for ratio in (one, many, prompt)]
    ruling = by_cases(gains)
    return Verdict(ruling, one=one, many=many, prompt=prompt, lost=abs(before - after))


class _Counted(float):
    """A number that counts its multiplications."""

    done = 0

    def __mul__(self, other):
        _Counted.done += 1
        return float(self) * other


def _multiplications(weights, inputs, places=None) -> int:
    """Those of a sum of products: over all weights, as a dense kernel, or over the stored places."""
    _Counted.done = 0
    sum(_Counted(weights[at]) * inputs[at] for at in (range(len(weights)) if places is None else places))
    return _Counted.done


def s003_13() -> Verdict:
    """A row with half zeros: multiplied as a dense row, and in the pattern that an H100 skips."""
    weights, inputs = [0.5, 0.0, -0.25, 0.0] * 16, [1.0] * 64
    dense = _multiplications(weights, inputs) / len(weights)
    stored = _multiplications(weights, inputs, [at for at, weight in enumerate(weights) if weight]) / len(weights)
    h100 = hardware.load("h100-sxm")
    pattern = h100.sparse_peaks["bf16"] / h100.peak("bf16")
    kept = (2 * 16 + 2 * 2) / (4 * 16)  # bits of two of four numbers and of their places
    ruling = "holds" if dense < 0.6 else "holds-if" if stored < 0.6 and pattern > 1.9 else "fails"
    return Verdict(ruling, dense=dense, pattern=pattern, kept=kept)


def eight_bits() -> Verdict:
    before, after, coarse = _right(8, 3)
    _, outlier, fallen = _right(8, 4, outlier=True)
    ruling = "holds" if before - after > 0.5 else "fails"
    return Verdict(ruling, before=before, after=after, three=coarse, outlier=outlier, fallen=fallen)


def ninety_percent() -> Verdict:
    """Bytes of a 4096 × 4096 matrix in fp32: dense, and a tenth of it in CSR (indices of 8 bytes, as torch keeps them)."""
    n, value, index = 4096, 4, 8
    dense, sparse = n * n * value, round(0.1 * n * n) * (value + index) + (n + 1) * index
    fewer = dense / sparse
    return Verdict("holds" if fewer >= 9 else "fails", fewer=fewer)
