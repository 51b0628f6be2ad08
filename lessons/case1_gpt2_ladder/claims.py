"""Claims on trial in case 1: each function decides one claim by computing it and returns the verdict with its numbers."""

from dataclasses import replace
from itertools import pairwise
from math import sqrt

from course_lib.accounting import flops, hardware, memory, models
from course_lib.experiments import published
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.case1_gpt2_ladder import diary

GPT2 = models.load(diary.MODEL)
CARD = hardware.load(diary.DEVICE)
ORDER = ("flash", "mixed", "batch", "norms")  # the diary's rungs


def s004_059() -> Verdict:
    """What 64 samples a second need of the Tensor Cores' peak, at the diary's length and at twice that."""
    share, last = (diary.utilisation(rate, "bf16") for rate in (64, 102))
    long = 64 * diary.sample_flops(replace(GPT2, context=2048), 2048) / CARD.peak("bf16")
    at = 0.85 * diary.ceiling("bf16")
    return Verdict(by_cases(found > 0.8 for found in (share, last, long)), share=share, last=last, long=long, at=at)


def s004_067() -> Verdict:
    """The gain of each rung, as printed, as added up, and in a ladder that others published."""
    stated = dict(zip(ORDER, (after.rate / before.rate for before, after in pairwise(diary.STATED)), strict=True))
    steps = list(diary.added_up().values())
    added = dict(zip(("flash", "mixed"), (before / after for before, after in pairwise(steps)), strict=False))
    took = [published.get(f"reproduce-124m-{rung}").value for rung in ("fp32", "tf32", "bf16", "compile", "flash")]
    theirs = dict(
        zip(("tf32", "bf16", "compile", "flash"), (before / after for before, after in pairwise(took)), strict=True)
    )
    first = [gains["flash"] == max(gains.values()) for gains in (stated, added, theirs)]
    return Verdict(by_cases(first), stated=stated, added=added, published=theirs)


def s004_046() -> Verdict:
    """The sum of the items, and what the forward pass leaves for the head."""
    parts = diary.PARTS
    forward = 200
    left = forward - sum(parts[name] for name in diary.FORWARD)
    work = flops.forward(GPT2, 1, diary.SEQ)
    head = work["head"] / work.total
    total = sum(parts.values())
    complete = left > 0
    back = parts["backward"] / forward
    return Verdict(by_cases([total == 500, complete]), total=total, left=left, head=head, back=back)


def s004_047() -> Verdict:
    """32 samples a second under the ceiling of each format."""
    most = {dtype: diary.ceiling(dtype) for dtype in ("fp32", "tf32", "bf16")}
    return Verdict(by_cases(each >= 32 for each in most.values()), most=most, share=diary.utilisation(32, "fp32"))


def s004_048() -> Verdict:
    """AdamW by its bytes, as one pass and as a loop, against 30 ms."""
    count = GPT2.parameters().total
    fused, loop = (1e3 * nbytes * count / CARD.memory_bandwidth for nbytes in (28, 80))
    calls = 8 * (12 * GPT2.layers + 4)
    near = [abs(ms / 30 - 1) < 0.5 for ms in (fused, loop)]
    values = {"bytes": 28 * count / 1e9, "fused": fused, "loop": loop, "calls": calls, "each": 30e3 / calls}
    return Verdict(by_cases(near), **values)


def s004_052() -> Verdict:
    """Seconds of all heads at 70 GFLOP/s, for the shape of the analysis: 32 × 2,048 tokens, heads of 64."""
    flop = 2 * 32 * flops.matmul(2048, 64, 2048)
    heads = GPT2.layers * GPT2.heads
    head = flop / 70e9
    values = {"flop": flop / 1e9, "head": head, "all": heads * head, "rate": heads * flop / 0.12 / 1e12}
    return Verdict("holds" if abs(heads * head / 0.12 - 1) < 0.5 else "fails", **values)


def s004_053() -> Verdict:
    """The snippet's product on arrays of its shapes, and its scale against that of a head."""
    import numpy as np

    query = key = np.ones((2, 8, GPT2.d_model))
    turned = list(key.T.shape)
    try:
        fine, refused = (query @ key.T).shape == (2, 8, 8), "fits"
    except ValueError:
        fine, refused = False, "refused"
    off = sqrt(GPT2.d_model) / sqrt(GPT2.head_width)
    values = {"turned": turned, "refused": refused, "off": off, "heads": GPT2.heads, "width": GPT2.head_width}
    return Verdict("holds" if fine and off == 1 else "fails", **values)


def s004_062() -> Verdict:
    """Peak of a step at 16 × 1,024, plain and recomputed, with the diary's first form and its third."""
    forms = {"eager": ("fp32", "eager"), "mixed": ("amp-bf16", "sdpa")}

    def peak(form, recompute):
        dtype, attention = forms[form]
        options = {"precision": dtype, "attention": attention, "recompute": recompute}
        return int(memory.training_peak(GPT2, 16, diary.SEQ, **options)) / 1e9

    plain, again = ({form: peak(form, recompute) for form in forms} for recompute in ("none", "full"))
    card = CARD.memory_capacity / 1e9
    fills = [plain[form] > 0.9 * card and again[form] < 0.6 * plain[form] for form in forms]
    return Verdict(by_cases(fills), plain=plain, again=again, card=card)


def s004_063() -> Verdict:
    """LayerNorms of a forward pass, and the time of one by its bytes."""
    calls = 2 * GPT2.layers + 1
    nbytes = 2 * 4 * 16 * diary.SEQ * GPT2.d_model  # read and written, four bytes each
    us = 1e6 * nbytes / CARD.memory_bandwidth
    right = [calls == 100, us > 150]
    return Verdict(by_cases(right), calls=calls, mb=nbytes / 1e6, us=us, all=calls * us / 1e3)


def s004_065() -> Verdict:
    """325 ms less what the fused part saves."""
    after = 325 - (35 - 25)
    return Verdict("holds" if after == 312 else "fails", after=after, gain=325 / after, needed=325 - 312)


def s004_066() -> Verdict:
    """The quotient of the printed rates, and what the diary's parts come to."""
    steps = diary.added_up()
    stated, gain = 102 / 32, steps["start"] / steps["fused norms"]
    texts = " → ".join(f"{ms:.0f}" for ms in steps.values())
    values = {"stated": stated, "gain": gain, "rate": 16e3 / steps["fused norms"], "steps": texts}
    return Verdict("holds" if abs(gain - stated) < 0.1 else "fails", **values)
