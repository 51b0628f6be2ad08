"""The truth of each prediction card of case 2, computed when a learner reveals it."""

from course_lib.units.case2_serving_kernels import counted, sampling


def served(batch, kept, layer, number) -> float:
    """Per cent of the step."""
    return 100 * counted.sooner(batch)


def shared(requests, common, own, alone, every, once) -> float:
    """Pages with copies over pages without."""
    return requests * counted.held(1, common, own) / counted.held(requests, common, own)


def plus_twenty(shift, ties) -> float:
    """The mean of chi-square, by adding up the probabilities of all rounded values."""
    shares = sampling.rounded_shares(sampling.LOGITS, shift)
    return sampling.expected_chi_square(shares, sampling.LOGITS, 400_000)


def ones_that_fit() -> int:
    """Sequences at once."""
    return counted.fitting("qwen3-8b", "rtx-4090", common=2000, own=500)
