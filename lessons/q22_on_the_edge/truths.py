"""The truth of each prediction card of Q22, computed when a learner reveals it."""

from dataclasses import replace

from course_lib.accounting import economics, hardware, inference
from course_lib.units.q22_on_the_edge import edge, heat, paging

CHIPS = {35: "apple-a17-pro-npu", 45: "snapdragon-x-elite-npu"}  # by their TOPS


def phone_tokens(tops, gbs, bits, by_arithmetic, as_bytes, wide) -> float:
    """Tokens a second of one reader."""
    return edge.phone(weights=f"int{bits}", device=CHIPS[tops]).tokens_per_second


def throttle(watts, resistance, capacity, allowed, nocool, constant) -> float:
    """Seconds from cold."""
    return heat.Case(resistance, capacity, allowed).throttles_after(watts)


def lru() -> str:
    """Which share of 400 pages is fetched in the tenth pass, with room for 360."""
    share = paging.misses(pages=400, room=360, passes=10)[-1] / 400
    return {0: "none", 0.1: "tenth", 0.5: "half", 1: "all"}[share]


def board() -> float:
    """Joules a token of a board with 17.1 GB/s at 10 W."""
    device = replace(hardware.load(edge.PHONE), memory_bandwidth=17.1e9)
    how = {"weight_dtype": "int8", "kv_dtype": "bf16", "compute_dtype": "int8"}
    step = inference.decode_step("tinyllama-1.1b", batch=1, context=2000, device=device, **how)
    return economics.energy(power=10, seconds=step.seconds)
