"""The truth of each prediction card of Q5, computed when a learner reveals it."""

from math import log

from course_lib import experiments
from course_lib.accounting import hardware, models, roofline
from course_lib.experiments.running.timing import measure

WIDTH = 4096  # the layer that the lesson follows: Linear(4096 -> 4096)


def _layer_seconds(rows: int) -> float:
    return roofline.matmul(rows, WIDTH, WIDTH, dtype="bf16").on("h100-sxm").seconds


def linear_1_to_100() -> float:
    return _layer_seconds(100) / _layer_seconds(1)


def linear_100_to_10000() -> float:
    return _layer_seconds(10_000) / _layer_seconds(100)


def where_the_bound_changes() -> float:
    """Smallest number of rows whose intensity reaches the ridge point, by trying them."""
    ridge = roofline.ridge_point("h100-sxm", "bf16")
    return next(
        rows for rows in range(1, WIDTH) if roofline.matmul(rows, WIDTH, WIDTH, dtype="bf16").intensity >= ridge
    )


def gemm_or_adds() -> float:
    here = experiments.here("cpu")
    product = roofline.matmul(512, 512, 512, dtype="fp32")
    adds = roofline.elementwise(product.flops, reads=2, writes=1, flops_per_element=1, dtype="fp32")
    return adds.on(here).seconds / product.on(here).seconds


def zeros() -> str:
    """Times a 512-row product with dense weights and with 90 % zeros; the choice nearest to the ratio of the times."""
    import torch

    rows, dense, out = torch.randn(512, 1024), torch.randn(1024, 1024), torch.empty(512, 1024)
    pruned = dense * (torch.rand_like(dense) > 0.9)
    full, zeroed = [], []
    for _ in range(7):  # in turns, and the best of each: what else runs here then disturbs both alike
        full.extend(measure(lambda: torch.mm(rows, dense, out=out), seconds=0.005, at_least=1).values)
        zeroed.extend(measure(lambda: torch.mm(rows, pruned, out=out), seconds=0.005, at_least=1).values)
    speedup = {"the-same": 1, "twice-as-fast": 2, "ten-times-faster": 10}
    return min(speedup, key=lambda choice: abs(log(min(full) / min(zeroed) / speedup[choice])))


def wish_for_bandwidth() -> float:
    peak = hardware.load("h100-sxm").peak("bf16")
    return peak / roofline.matmul(128, WIDTH, WIDTH, dtype="bf16").intensity / 1e12


def mistral_on_l4() -> float:
    """Every weight read once in a pass, and used in a multiply-add for each of its tokens."""
    weights = models.load("mistral-7b").parameters().total

    def seconds(tokens: int) -> float:
        return roofline.place(flops=2 * weights * tokens, bytes=2 * weights, device="l4", dtype="bf16").seconds

    return seconds(2000) / seconds(20)


def strassen() -> int:
    """The first n, in steps of 8, at which seven products and 18 additions of half the size are faster."""

    def seconds(op) -> float:
        return op.on("h100-sxm").seconds

    def wins(n: int) -> bool:
        half = n // 2
        product = seconds(roofline.matmul(half, half, half, dtype="bf16"))
        addition = seconds(roofline.elementwise(half**2, reads=2, dtype="bf16"))
        return 7 * product + 18 * addition < seconds(roofline.matmul(n, n, n, dtype="bf16"))

    return next(n for n in range(8, 10**6, 8) if wins(n))
