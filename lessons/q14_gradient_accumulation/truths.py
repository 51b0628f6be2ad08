"""The truth of each prediction card of Q14, computed when a learner reveals it."""

import random

from course_lib.accounting import communication, memory
from course_lib.units.q14_gradient_accumulation.adam import step_lengths


def forgotten(parts, root) -> float:
    """A hundred steps of Adam on one weight with random gradients: the mean step, with the factor over without it."""
    draw = random.Random(0)
    gradients = [draw.gauss(0.01, 0.02) for _ in range(100)]
    long, right = (step_lengths([factor * g for g in gradients]) for factor in (parts, 1))
    return sum(long) / sum(right)


def in_parts(parts, each, even, without) -> float:
    assert parts * each == 16
    return int(memory.accumulated_peak("gpt2", batch=16, parts=parts, seq=1024, attention="sdpa")) / 1e9


def padded() -> float:
    lengths, losses = (512, 512, 31, 17), (2, 2, 6, 6)
    return sum(n * loss for n, loss in zip(lengths, losses, strict=True)) / sum(lengths)


def forgotten_no_sync() -> float:
    return 32 * communication.all_reduce(nbytes=int(4 * 1.5e9), ranks=64, bandwidth=50e9).seconds
