"""The best of many by a judge: how good is it really? And how good would it be by a judge who is never wrong?"""

from functools import cache
from math import sqrt
from statistics import NormalDist

JUDGES = ("exact", "noisy", "gullible")


def chosen(torch, judge: str, tries: int, rounds: int, seed: int) -> float:
    """Mean quality, in standard deviations, of what `judge` finds best among `tries`; of so many rounds.

    Qualities are normal. The noisy judge adds an error as large, normal too; the gullible one an error whose tails are
    heavy (Student's t with 2 degrees of freedom), so that now and then something gets an enormous score for nothing.
    """
    draw = torch.Generator().manual_seed(seed)
    quality = torch.randn(rounds, tries, generator=draw)
    error = torch.randn(rounds, tries, generator=draw)
    if judge == "exact":
        error = error * 0
    elif judge == "gullible":
        error = error / torch.empty_like(error).exponential_(generator=draw).clamp(min=1e-12).sqrt()
    best = (quality + error).argmax(1, keepdim=True)
    return quality.gather(1, best).mean().item()


@cache
def largest(tries: int) -> float:
    """The largest of so many normal numbers, in the mean: the sum over x of P(largest > x), less what lies below 0."""
    normal, step = NormalDist(), 0.002
    grid = [step * (place + 0.5) for place in range(int(10 / step))]
    return step * sum(1 - normal.cdf(x) ** tries - normal.cdf(-x) ** tries for x in grid)


def expected(judge: str, tries: int) -> float | None:
    """Of quality and error of one size only half of what a score promises is quality; None where nothing is known."""
    return {"exact": largest(tries), "noisy": largest(tries) / sqrt(2), "gullible": None}[judge]
