"""The tuning diary on trial: what it states of each rung, and what its own parts come to when they are added up."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from course_lib.accounting import flops, hardware, models

MODEL, SEQ, DEVICE = "gpt2", 1024, "a100-40-sxm"
PARTS = {"attention": 120, "FFN": 60, "norms": 20, "backward": 250, "optimizer": 30, "loading": 15, "other": 5}  # ms
MIXED = 5 / 3  # forward 200 → 120 ms, backward 250 → 150 ms
FORWARD = ("attention", "FFN", "norms")


@dataclass(frozen=True)
class Stated:
    """A rung as the diary has it: ms of a step, samples in it, samples a second as printed."""

    name: str
    ms: float
    batch: int
    rate: float


STATED = (
    Stated("start", 500, 16, 32),
    Stated("FlashAttention", 380, 16, 42),
    Stated("mixed precision", 250, 16, 64),
    Stated("twice the batch", 325, 32, 98),
    Stated("fused norms", 312, 32, 102),
)


def sample_flops(model=MODEL, seq=SEQ) -> int:
    """FLOP of training on one sample: forward, and backward as twice the forward."""
    return flops.training_step(models.resolve(model), 1, seq).total


def ceiling(dtype: str, model=MODEL, seq=SEQ, device=DEVICE) -> float:
    """Samples a second at the peak of `dtype`."""
    return hardware.load(device).peak(dtype) / sample_flops(model, seq)


def utilisation(rate: float, dtype: str, seq=SEQ) -> float:
    """Share of the peak that so many samples a second need."""
    return rate / ceiling(dtype, seq=seq)


def climb(parts: Mapping[str, float], rungs: Iterable[tuple[str, float]]) -> list[float]:
    """ms of the step after each rung; a rung (part, speed-up) makes what is left of that part faster, and stays."""
    now, after = dict(parts), []
    for part, speedup in rungs:
        now[part] /= speedup
        after.append(sum(now.values()))
    return after


def added_up() -> dict[str, float]:
    """ms after each rung of the diary by its own local factors, on 16 samples; the batch is not doubled."""
    flash = climb(PARTS, [("attention", 3)])[-1]
    mixed = climb(PARTS, [("attention", 3), *((part, MIXED) for part in (*FORWARD, "backward"))])[-1]
    return {"start": sum(PARTS.values()), "FlashAttention": flash, "mixed precision": mixed, "fused norms": mixed - 10}


def recompute_factor(model=MODEL, seq=SEQ) -> float:
    """Work of a step in which every block is computed twice, over that of a plain step; head and embedding are not."""
    model = models.resolve(model)
    return flops.training_step(model, 1, seq, recompute="full").total / flops.training_step(model, 1, seq).total


def recomputed(parts: Mapping[str, float], scaling: float = 2, share: float | None = None) -> float:
    """Samples a second over before, when each block is computed twice and the batch doubled.

    parts: ms of "forward", "backward" and "fixed", which does not grow. scaling: time of forward and backward of twice
    the batch, over that of the batch. share: of the forward pass that is done again; None: by FLOPs, all but the head.
    """
    again = 3 * (recompute_factor() - 1) if share is None else share
    before = sum(parts.values())
    after = scaling * ((1 + again) * parts["forward"] + parts["backward"]) + parts["fixed"]
    return 2 * before / after
