"""What follows from counts: how noisy a weighted batch is, bytes that are sent, steps to a loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import sqrt

from course_lib.accounting import communication, flops, hardware, memory, models


def effective_batch(counts: Sequence[int]) -> float:
    """The batch whose plain mean is as noisy as the mean of the means of parts of so many examples.

    An example of a part of n weighs 1/(K·n), and the noise goes with the sum of the squared weights, Σ 1/(K²·n).
    """
    return len(counts) ** 2 / sum(1 / count for count in counts)


def expected_off(counts: Sequence[int], noise: float) -> float:
    """How far the mean of the parts' means is from the mean over all examples, relative to the latter: the root mean
    square over all orders of the examples. noise: their gradient noise scale.
    """
    return sqrt(max(noise * (1 / effective_batch(counts) - 1 / sum(counts)), 0.0))


def sent(params: int, *, parts: int, cards: int, no_sync: bool, size: int = 4) -> int:
    """Bytes that each card sends in a step: a ring all-reduce of all gradients, after each part or after the last."""
    once = communication.all_reduce(nbytes=size * params, ranks=cards, bandwidth=1e9)  # the rate plays no part
    return once.bytes_per_rank * (1 if no_sync else parts)


@dataclass(frozen=True)
class Step:
    """A step of one card: bytes alive at its worst, FLOPs, seconds at the peak, bytes sent with and without no_sync."""

    peak: int
    phase: str
    compute: float
    update: float
    sent: int
    sent_each: int


@cache
def step(model: str, device: str, sequences: int, parts: int, cards: int, seq: int = 1024) -> Step:
    """fp32 weights, SDPA, AdamW; `sequences` of `seq` tokens on each of `cards` cards, in `parts` equal parts.

    compute: at the device's peak, in tf32 where it has that. update: AdamW reads weights, gradients and two moments and
    writes all but the gradients, at the memory's bandwidth.
    """
    chip, params = hardware.load(device), int(models.load(model).parameters())
    alive = memory.accumulated_peak(model, batch=sequences, parts=parts, seq=seq, attention="sdpa")
    work = int(flops.training_step(model, batch=sequences, seq=seq))
    return Step(
        peak=int(alive),
        phase=alive.phase,
        compute=work / chip.peak("tf32" if "tf32" in chip.peaks else "fp32"),
        update=7 * 4 * params / chip.memory_bandwidth,
        sent=sent(params, parts=parts, cards=cards, no_sync=True),
        sent_each=sent(params, parts=parts, cards=cards, no_sync=False),
    )
