"""The shapes of learning-rate schedules, as pure functions of the step."""

import math

KINDS = ("constant", "step", "cosine", "linear", "wsd")
DECAY = 0.2  # of the steps after the warm-up: the decay of WSD


def rate(kind: str, step: int, total: int, peak: float = 1.0, warmup: int = 0, final: float = 0.0) -> float:
    """Learning rate of step number `step`, counted from 0, of `total`.

    warmup: steps of a straight rise, of which the last has the peak already. After it, with t the share of the other
    steps that is done: "constant" stays; "step" is a tenth from t = 0.5 on and a hundredth from 0.8 on; "cosine" and
    "linear" go to `final`; "wsd" (warm-up, stable, decay) stays until t = 0.8 and is linear from there. `final` would
    be reached at step `total`.
    """
    if step < warmup:
        return peak * (step + 1) / warmup
    return final + (peak - final) * _share(kind, (step - warmup) / (total - warmup))


def _share(kind: str, t: float) -> float:
    if kind == "constant":
        return 1.0
    if kind == "step":
        return 1.0 if t < 0.5 else 0.1 if t < 0.8 else 0.01
    if kind == "cosine":
        return (1 + math.cos(math.pi * t)) / 2
    if kind == "linear":
        return 1 - t
    if kind == "wsd":
        return min(1.0, (1 - t) / DECAY)
    raise ValueError(f"kind={kind!r} must be one of {', '.join(KINDS)}.")


def rates(kind: str, total: int, peak: float = 1.0, warmup: int = 0) -> list[float]:
    """The rate of every step."""
    return [rate(kind, step, total, peak, warmup) for step in range(total)]
