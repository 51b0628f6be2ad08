"""Claims on trial in Q16: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib import experiments
from course_lib.accounting import optimisation
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q16_learning_rate_schedules import bowls, networks
from course_lib.units.q16_learning_rate_schedules.schedules import rates

RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def s003_65() -> Verdict:
    """Large and then small, on a bowl, against the same rates in reverse; and the first steps of a GPT at a large rate."""
    falling = rates("linear", 200, 0.3)
    bowl, reverse = (bowls.expected(order)[-1] for order in (falling, falling[::-1]))
    gpt = experiments.load("warm_up", RECORDED).measured
    none, warm = gpt["0.01, none"], gpt["0.01, warm-up"]
    return Verdict(by_cases([bowl < reverse, none < warm]), bowl=bowl, reverse=reverse, none=none, warm=warm)


def cosine_beats_constant() -> Verdict:
    """The recorded MLP at four peaks."""
    found = experiments.load("schedules", RECORDED).measured
    peaks = ("0.001", "0.003", "0.01", "0.03")
    cosine, constant = ({peak: found[f"{kind}, {peak}"] for peak in peaks} for kind in ("cosine", "constant"))
    return Verdict(by_cases(cosine[peak] < constant[peak] for peak in peaks), cosine=cosine, constant=constant)


def above_it_diverges() -> Verdict:
    """The network at about one and a half, two and two and a half times the limit of its first sharpness."""
    limit = optimisation.stable_rate(networks.descend(0.2).sharpness[0][1])
    runs = {f"{rate:g}": networks.descend(rate) for rate in (0.15, 0.2, 0.25)}
    gone = {rate: not run.losses[-1] < networks.GONE for rate, run in runs.items()}
    return Verdict(
        by_cases(gone.values()),
        limit=limit,
        over={rate: float(rate) / limit for rate in runs},
        fall={rate: run.fall for rate, run in runs.items()},
        steps=len(runs["0.25"].losses) - 1,
    )


def adam_normalises() -> Verdict:
    """The GPT at a small and at a large rate, with and without a warm-up: is it as good without?"""
    found = experiments.load("warm_up", RECORDED).measured
    none, warm, filled = (found[f"0.01, {start}"] for start in ("none", "warm-up", "filled"))
    small_none, small_warm = (found[f"0.001, {start}"] for start in ("none", "warm-up"))
    ruling = by_cases([small_none <= small_warm, none <= warm])
    return Verdict(ruling, small_none=small_none, small_warm=small_warm, none=none, warm=warm, filled=filled)
