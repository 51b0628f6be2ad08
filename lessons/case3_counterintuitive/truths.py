"""The truth of each prediction card of case 3, computed when a learner reveals it."""

from course_lib import experiments
from course_lib.accounting import hardware, roofline

RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def flops_for_a_call(us, giga, kilo, late, upside) -> float:
    return us * 1e-6 * giga * 1e9


def same_numbers() -> str:
    sorts = experiments.load("sorting", RECORDED).measured
    times = sorts["32 bits, stable"] / sorts["16 bits, stable"]
    return "far" if times > 5 else "twice" if times > 1.4 else "equal"


def eight_chains() -> str:
    hops = experiments.load("independent_chains", RECORDED).measured
    share = hops["128 MiB, 8 chains"] / hops["128 MiB, 1 chain"]
    return "fifth" if share <= 0.2 else "half" if share < 0.75 else "equal"


def last_logits() -> float:
    device = hardware.load("mi300x")
    every, last = (
        roofline.predict_seconds([roofline.matmul(rows, 3584, 152_064, dtype="bf16")], device=device)
        for rows in (8192, 1)
    )
    return every / last
