"""The truth of each prediction card of Q18, computed when a learner reveals it."""

from course_lib.accounting import models, roofline
from course_lib.units.q18_operator_fusion import folding


def gate() -> float:
    numbers = 8192 * models.load("llama3-8b").mlp_width
    calls = [roofline.elementwise(numbers, dtype="bf16"), roofline.elementwise(numbers, reads=2, dtype="bf16")]
    fused = roofline.fuse(calls, intermediates=[2 * numbers])
    return roofline.predict_seconds(calls, device="h100-sxm") / roofline.predict_seconds(fused, device="h100-sxm")


def again() -> float:
    return roofline.recompute_limit("a100-40-sxm", "fp32")


def fold() -> str:
    inside, border = folding.errors_before()
    return {(False, False): "nowhere", (False, True): "border", (True, True): "everywhere"}[
        inside > 1e-9, border > 1e-9
    ]


def norm_in_calls() -> float:
    rows, width = 100_000, 5120
    large = 2 * rows * width
    square, scale = (2 * large, 2 * large + 2 * rows)
    mean, weigh = large + 2 * rows, 2 * large + 2 * width
    return (square + mean + scale + weigh) / (2 * large + 2 * width)
