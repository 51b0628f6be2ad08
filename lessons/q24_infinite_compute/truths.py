"""The truth of each prediction card of Q24, computed when a learner reveals it."""

from math import log2

from course_lib.accounting import economics, hardware, inference, roofline

LAW = "chinchilla"


def free_tonight(batch, cap, share, half) -> float:
    """Time of a step now over its time with free arithmetic."""
    step = {"batch": batch, "context": 1024}
    now = inference.decode_step("llama3-8b", device="h100-sxm", **step)
    then = inference.decode_step("llama3-8b", device=hardware.set_free("h100-sxm", "arithmetic"), **step)
    return now.seconds / then.seconds


def endless_model(params, tokens, data, all, rest, whole) -> float:
    """Nats that the model's term has."""
    return economics.loss_limit(params=params * 10**9, law=LAW) - economics.loss_limit(law=LAW)


def faster_search(times, square, cube, digits, natural, linear) -> float:
    return log2(times)


def free_bytes() -> float:
    """A step of a product with 16 rows, by the roofline of the card and of one with free bytes."""
    layer = roofline.Op("layer", flops=2 * 16 * 10**9, bytes=2 * 10**9, dtype="bf16")
    return layer.on("rtx-4090").seconds / layer.on(hardware.set_free("rtx-4090", "bytes")).seconds
