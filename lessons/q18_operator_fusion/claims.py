"""Claims on trial in Q18: each function decides one claim by computing it and returns the verdict with its numbers."""

import math
import random
from statistics import fmean, pvariance

from course_lib import experiments
from course_lib.accounting import hardware, roofline
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q18_operator_fusion import folding, generated, saving


def s000_19() -> Verdict:
    """Folds before and behind, and a mean that waits for the last input."""
    inside, border = folding.errors_before()
    first = []
    for last in (1.0, 100.0):
        outputs = folding.convolved([*folding.INPUT, 0.0, 0.0, last])
        first.append(folding.normed(outputs, fmean(outputs), pvariance(outputs))[0])
    behind = folding.error_behind()
    ruling = by_cases(off < 1e-9 for off in (behind, border, abs(first[0] - first[1])))
    return Verdict(ruling, behind=behind, inside=inside, border=border, first=first)


def s000_24() -> Verdict:
    """A softmax in which maximum and sum were found in one pass, against one with two."""
    draw = random.Random(0)
    numbers = [draw.gauss(0, 3) for _ in range(1000)]
    most, total = -math.inf, 0.0
    for x in numbers:
        larger = max(most, x)
        total = total * math.exp(most - larger) + math.exp(x - larger)
        most = larger
    top = max(numbers)
    whole = sum(math.exp(x - top) for x in numbers)
    error = max(abs(math.exp(x - most) / total - math.exp(x - top) / whole) for x in numbers)
    calls, fused = 1 + 2 + 2 + 1 + 2, 2  # large tensors read and written by max, subtract, exp, sum, divide
    return Verdict("fails" if error < 1e-12 and fused < calls else "holds", error=error, calls=calls, fused=fused)


def s000_18() -> Verdict:
    def less(reads):
        calls = [roofline.elementwise(1000, reads=reads)] * 3
        fused = roofline.fuse(calls, intermediates=[4000] * 2)
        return 1 - fused.bytes / sum(op.bytes for op in calls)

    one, two = less(1), less(2)
    return Verdict(by_cases(abs(value - 2 / 3) < 0.01 for value in (one, two)), one=one, two=two)


def s000_20() -> Verdict:
    saved = {channels: saving.saved(channels, 3) for channels in (64, 256, 512)}
    return Verdict(by_cases(share >= 0.5 for share in saved.values()), saved=saved)


def s000_21() -> Verdict:
    """Vectors that fused loops need at a time, against registers: a pointwise loop against the 16 of AVX2, a softmax,
    whose row waits for its sum while one vector more is worked on, against the 32 of AVX-512.
    """
    alive, waiting = generated.alive(generated.LOOP), generated.BUFFER // 16
    return Verdict(by_cases([alive > 16, waiting + 1 > 32]), alive=alive, waiting=waiting)


def s000_22() -> Verdict:
    """A chain of n operations of one FLOP on fp32 numbers: n / 8 FLOP/B."""
    needed = 8 * roofline.ridge_point("a100-40-sxm", "fp32")
    eight = roofline.fuse([roofline.elementwise(1000)] * 8, intermediates=[4000] * 7).on("a100-40-sxm").bound
    return Verdict("fails" if eight == "memory" else "holds", needed=needed, eight=eight)


def s000_23() -> Verdict:
    """Spilled fp32 numbers of a thread for which a multiprocessor's L1 has room, with 64 warps resident and with 8."""
    a100 = hardware.load("a100-40-sxm")
    multiprocessors = a100.level("registers").capacity // (65536 * 4)
    near = (
        a100.level("shared").capacity // multiprocessors
    )  # one memory: L1, and shared memory where a kernel asks for it
    many, few = (near // (warps * 32 * 4) for warps in (64, 8))
    return Verdict(by_cases(spilled > few for spilled in (16, 256)), many=many, few=few)


def s000_25() -> Verdict:
    """A warp that goes both ways takes the time of both: short ones are hidden behind the bytes, long ones are not."""

    def dearer(flops):
        one, both = (roofline.elementwise(1000, flops_per_element=ways * flops) for ways in (1, 2))
        return both.on("a100-40-sxm").seconds / one.on("a100-40-sxm").seconds

    short, long = dearer(1), dearer(200)
    breaks = experiments.load("compile_report", "amd-epyc-2-cores").measured["if x.sum() > 0"]
    return Verdict(by_cases(times > 1.01 for times in (short, long)), short=short, long=long, breaks=breaks)


def s004_010() -> Verdict:
    """What tuning can gain at 75 % of the bandwidth: of necessary bytes, and of a row that is read twice for once."""
    tuned, twice = 1 / 0.75, (2 + 1) / (1 + 1) / 0.75
    calls = [roofline.elementwise(1000), roofline.elementwise(1000, reads=2)]
    fused = sum(call.bytes for call in calls) / roofline.fuse(calls, intermediates=[4000]).bytes
    return Verdict(by_cases(gain < fused for gain in (tuned, twice)), tuned=tuned, fused=fused, twice=twice)


def s004_035() -> Verdict:
    """Kernels of 50 µs, 1 µs between them; the host needs 7 µs for each launch and does not wait."""
    ready = done = 0.0
    for _ in range(100):
        ready += 7
        done = max(done, ready) + 51
    fused = 7 + 100 * 50
    gain = done / fused
    return Verdict("fails" if gain < 1.05 else "holds", summed=100 * 57 / 1e3, ahead=done / 1e3, gain=gain)


def s004_064() -> Verdict:
    kernel, product = generated.CALLS
    return Verdict("fails" if product.startswith("extern") else "holds", kernel=kernel, product=product)


def s004_076() -> Verdict:
    product = roofline.matmul(4096, 4096, 4096, dtype="bf16")
    added = roofline.elementwise(4096**2, reads=2, dtype="bf16")
    apart = roofline.predict_seconds([product, added], device="h100-sxm")
    joined = roofline.predict_seconds(roofline.fuse([product, added], intermediates=[2 * 4096**2]), device="h100-sxm")
    return Verdict("fails" if joined < apart else "holds", apart=apart * 1e6, joined=joined * 1e6)


def s004_078() -> Verdict:
    apart, fused = 2 + 2, 1 + 1 + 1  # read, write, read, write; read the input, write the intermediate and the result
    return Verdict("fails" if fused < apart else "holds", apart=apart, fused=fused)
