"""The answers of Q10's cards, computed."""

from course_lib.accounting import inference
from course_lib.units.q10_why_compress import network, serving


def sixty_four_readers(readers, context):
    return serving.faster(readers, context, "4.5-bit")


def three_bits():
    import torch

    weights = network.trained(torch, 0)
    before, after = (
        network.accuracy(torch, each, 0) for each in (weights, network.quantised(torch, weights, 3, "tensor"))
    )
    if after > before - 3:
        return "as-before"
    return "ninety" if after > 80 else "two-thirds" if after > 40 else "chance"


def products_stop():
    return inference.products_stop_gaining("h100-sxm", "4.5-bit")


def nemo_on_mi300x():
    weights, caches = 24.0, 30 * 10_000 * 0.16e-3  # GB, as the card states them
    return (weights + caches) / (weights * (4 + 16 / 32) / 16 + caches)
