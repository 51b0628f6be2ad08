"""Claims on trial in Q14: each function decides one claim by computing it and returns the verdict with its numbers."""

import random
from collections.abc import Sequence
from statistics import fmean, pvariance

from course_lib.accounting import memory, models, roofline
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q14_gradient_accumulation.adam import step_lengths

NUMBERS = (1.0, 2.0, 3.0, 6.0, 2.0, 4.0, 1.0, 5.0)


def _gradient(inputs: Sequence[float], targets: Sequence[float] | None = None) -> float:
    """Of the mean of (w·x − target)², at w = 2; the targets are 1 unless they are given."""
    targets = targets or [1.0] * len(inputs)
    return fmean(2 * (2 * x - target) * x for x, target in zip(inputs, targets, strict=True))


def _split(numbers: Sequence, sizes: Sequence[int]) -> list[Sequence]:
    found, begin = [], 0
    for size in sizes:
        found.append(numbers[begin : begin + size])
        begin += size
    return found


def _normalised(numbers: Sequence[float]) -> list[float]:
    mean, deviation = fmean(numbers), pvariance(numbers) ** 0.5
    return [(x - mean) / deviation for x in numbers]


def s003_62() -> Verdict:
    """The gradient of a square loss of eight numbers, at once and in two parts."""
    whole = _gradient(NUMBERS)
    halves, unequal = _split(NUMBERS, (4, 4)), _split(NUMBERS, (6, 2))
    found = {
        "equal": fmean(map(_gradient, halves)) / whole,
        "unequal": fmean(map(_gradient, unequal)) / whole,
        "weighted": sum(len(part) * _gradient(part) for part in unequal) / len(NUMBERS) / whole,
        "norm": fmean(_gradient(_normalised(part), part) for part in halves) / _gradient(_normalised(NUMBERS), NUMBERS),
    }
    off = {name: abs(ratio - 1) for name, ratio in found.items()}
    return Verdict(by_cases(value < 1e-9 for value in off.values()), off=off)


def s003_61() -> Verdict:
    """GPT-2's peak, at once and one sequence at a time."""

    def peaks(batch, seq):
        how = {"batch": batch, "seq": seq, "attention": "sdpa"}
        return [int(memory.accumulated_peak("gpt2", parts=parts, **how)) / 1e9 for parts in (1, batch)]

    long, short = peaks(16, 1024), peaks(4, 16)
    return Verdict(by_cases(after < before for before, after in (long, short)), long=long, short=short)


def slower() -> Verdict:
    """An MLP matrix of GPT-2 on an H100, bf16: time of all parts over that of the whole; and updates, by their bytes."""

    def seconds(parts):
        return parts * roofline.matmul(16384 // parts, 768, 3072, dtype="bf16").on("h100-sxm").seconds

    parts = {count: seconds(count) / seconds(1) for count in (16, 256, 2048)}
    update = 7 * 4 * int(models.load("gpt2").parameters())  # AdamW reads four numbers a weight and writes three
    return Verdict(by_cases(ratio > 1.05 for ratio in parts.values()), parts=parts, updates=16 * update / update)


def no_division() -> Verdict:
    """The mean length of twenty steps of Adam with four times the gradient, over that with the right one."""

    def ratio(size, decay=0.0):
        draw = random.Random(0)
        gradients = [size * (1 + draw.gauss(0, 0.5)) for _ in range(20)]
        long, right = (step_lengths([factor * g + decay for g in gradients]) for factor in (4, 1))
        return sum(long) / sum(right)

    # the decay pulls against the gradient: -0.1 · a weight of 0.2
    found = {"plain": ratio(0.01), "epsilon": ratio(1e-8), "decay": ratio(0.01, decay=-0.02)}
    return Verdict(by_cases(abs(value - 1) < 0.01 for value in found.values()), ratio=found)


def dropout() -> Verdict:
    """Masks for eight numbers from one stream, drawn at once and part by part; and another draw."""

    def gradient(seed, sizes):
        draw, total = random.Random(seed), 0.0
        for part in _split(NUMBERS, sizes):
            kept = [2 * x * (draw.random() < 0.5) for x in part]  # dropped, or twice as large
            total += len(part) / len(NUMBERS) * _gradient(kept)
        return total

    whole = gradient(1, (8,))
    off = {"same": abs(gradient(1, (4, 4)) / whole - 1), "other": abs(gradient(2, (8,)) / whole - 1)}
    return Verdict("fails" if off["same"] < 1e-9 else "holds", off=off)
