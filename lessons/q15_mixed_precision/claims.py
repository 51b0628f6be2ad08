"""Claims on trial in Q15: each function decides one claim by computing it and returns the verdict with its numbers."""

import math
import random

from course_lib.accounting import hardware, memory, models, precision, roofline
from course_lib.accounting.queues import launch
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q15_mixed_precision import narrow

A100 = "a100-40-sxm"
MIXED, WIDE = memory.recipe("mixed-adamw"), memory.recipe("fp32-adamw")


def s000_27() -> Verdict:
    """Three failures of fp16, each with an fp32 master weight beside it: which of them does it cure?"""
    update, gradient, large = 2e-4, 1e-8, 1e5
    alone, master = (precision.rounded(1 + update, dtype) for dtype in ("fp16", "fp32"))
    given = precision.rounded(precision.rounded(gradient, "fp16"), "fp32")
    scaled = precision.rounded(gradient * 2**16, "fp16") / 2**16
    over = precision.rounded(precision.rounded(large, "fp16"), "fp32")
    cured = (alone == 1 < master, given > 0, math.isfinite(over))
    return Verdict(
        by_cases(cured),
        alone=alone,
        master=master,
        gradient=precision.rounded(gradient, "fp16"),
        given=given,
        scaled=scaled,
        large=over,
    )


def s003_63() -> Verdict:
    """Half the memory: state, activations. Faster: a large product, an addition, a row of short kernels."""
    seven, device = models.load("llama2-7b"), hardware.load(A100)
    state = {name: 7 * recipe.total for name, recipe in {"fp32": WIDE, "mixed": MIXED}.items()}
    one = {"batch": 1, "seq": 2048, "attention": "sdpa"}
    kept = {p: int(memory.activations(seven, precision=p, **one)) / 1e9 for p in ("fp32", "bf16", "amp-bf16")}
    gain = {}
    for name, work in {
        "product": lambda dtype: roofline.matmul(4096, 4096, 4096, dtype),
        "addition": lambda dtype: roofline.elementwise(2**24, reads=2, dtype=dtype),
    }.items():
        wide, thin = (roofline.predict_seconds((work(dtype),), device=device) for dtype in ("fp32", "fp16"))
        gain[name] = wide / thin
    runs = [launch.launch_time(100, issue=7e-6, run=run, gap=1e-6).seconds for run in (1e-6, 0.5e-6)]
    gain["launches"] = runs[0] / runs[1]
    halved = [2 * state["mixed"] == state["fp32"], *(kept[p] < 0.6 * kept["fp32"] for p in ("bf16", "amp-bf16"))]
    faster = [times > 1.1 for times in gain.values()]
    return Verdict(by_cases([*halved, *faster]), state=state, kept=kept, gain=gain)


def s003_49() -> Verdict:
    return Verdict(
        "holds" if WIDE.total == MIXED.total == 16 else "fails",
        wide=WIDE.total,
        mixed=MIXED.total,
        state=7 * MIXED.total,
    )


def s003_50() -> Verdict:
    kept = memory.Recipe(1, 1, master=4, moment1=4, moment2=4).total
    inside = MIXED.total
    fits = [total == 14 for total in (kept, inside)]
    return Verdict(by_cases(fits), kept=kept, kept_gb=7 * kept, inside=inside, inside_gb=7 * inside)


def s003_64() -> Verdict:
    both = {dtype: precision.limits(dtype) for dtype in ("bf16", "fp16")}
    wider = both["bf16"].max > both["fp16"].max and both["bf16"].min_subnormal < both["fp16"].min_subnormal
    return Verdict(
        "holds" if wider else "fails",
        largest={dtype: each.max for dtype, each in both.items()},
        smallest={dtype: each.min_subnormal for dtype, each in both.items()},
        eps={dtype: each.eps for dtype, each in both.items()},
    )


def _added(update: float, times: int, held) -> float:
    weight = 1.0
    for _ in range(times):
        weight = held(weight + update)
    return weight


def _bf16(value: float) -> float:
    return precision.rounded(value, "bf16")


def s003_75() -> Verdict:
    """A weight of 1 that gets small updates, and one that gets large ones, without a master copy."""
    alone = {"small": _added(0.001, 500, _bf16), "large": _added(0.01, 50, _bf16)}
    master = _added(0.001, 500, lambda value: precision.rounded(value, "fp32"))
    total, lost = 1.0, 0.0
    for _ in range(500):
        wanted = _bf16(0.001 - lost)
        after = _bf16(total + wanted)
        total, lost = after, _bf16(_bf16(after - total) - wanted)
    draw = random.Random(15).random
    runs = [_added(0.001, 500, lambda value: precision.stochastic(value, "bf16", draw())) for _ in range(200)]
    chance = sum(runs) / len(runs)
    fails_alone = [abs(end - 1.5) > 0.25 for end in alone.values()]
    only_cure = [abs(end - 1.5) > 0.25 for end in (total, chance)]
    return Verdict(by_cases([*fails_alone, *only_cure]), alone=alone, master=master, kahan=total, chance=chance)


def s004_096() -> Verdict:
    peak = hardware.load(A100).peak
    bits = {dtype: narrow.fraction_bits(dtype) for dtype in ("fp32", "tf32")}
    same = bits["fp32"] == bits["tf32"]
    return Verdict(
        "holds" if same else "fails",
        fp32=peak("fp32") / 1e12,
        tf32=peak("tf32") / 1e12,
        bits=bits,
        cut=bits["fp32"] - bits["tf32"],
    )


def s004_057() -> Verdict:
    before, after, left = 200 + 250 + 50, 120 + 150 + 50, 380 - (200 - 120) - (250 - 150)
    fits = before == 380 and after == left == 250
    return Verdict("holds" if fits else "fails", before=before, after=after, left=left)


def s004_058() -> Verdict:
    peak = hardware.load(A100).peak
    wide, thin = (precision.bytes_per_element(dtype) for dtype in ("fp32", "fp16"))
    fp32, tf32 = (peak("fp16") / peak(dtype) for dtype in ("fp32", "tf32"))
    return Verdict(
        "holds" if round(fp32) == 16 and wide == 2 * thin else "fails", fp32=fp32, tf32=tf32, wide=wide, narrow=thin
    )


def s004_060() -> Verdict:
    """Gradients of norm 6, a scale of 1,024, clipped to a norm of 1 before and after unscaling."""
    norm, scale, most = 6.0, 1024.0, 1.0
    before = norm * scale * min(1.0, most / (norm * scale)) / scale
    after = norm * min(1.0, most / norm)
    unread = norm * scale / scale == norm
    return Verdict(by_cases([unread, before == after]), seen=norm * scale, before=before, after=after)
