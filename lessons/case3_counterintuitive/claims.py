"""Claims on trial in case 3: each function decides one claim by computing it and returns the verdict with its numbers."""

import warnings
from math import log2

from course_lib import experiments
from course_lib.accounting import hardware, roofline
from course_lib.accounting.hardware import multiprocessors
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.case3_counterintuitive import counted

RECORDED = "amd-epyc-2-cores"
A100 = "a100-40-sxm"


def s004_074() -> Verdict:
    """Issued instructions a clock of both kernels, with and without the cap of four schedulers."""
    first, wished = 32 * 0.1, 16 * 0.7
    second = min(4, wished)
    gain = second / min(4, first)
    return Verdict("holds" if gain > 3 else "fails", first=first, wished=wished, second=second, gain=gain)


def s004_080() -> Verdict:
    """Does dropout with p = 0 take at least half as long as copying what it would have to write?"""
    found = experiments.load("unwritten", RECORDED).measured
    drops, zero, copy, evaluated = (
        1e6 * found[name] for name in ("dropout, p = 0.1", "dropout, p = 0", "clone", "dropout, not training")
    )
    return Verdict("holds" if zero > copy / 2 else "fails", drops=drops, zero=zero, copy=copy, eval=evaluated)


def s004_068() -> Verdict:
    """Passes of a radix sort against levels of comparisons, for ten million keys of 32 bits."""
    passes, levels = 32 // 8, log2(1e7)
    return Verdict(
        "holds" if passes > levels else "fails",
        passes=passes,
        levels=levels,
        bits=8 * levels,
        ms=1e7 / counted.ONESWEEP * 1e3,
    )


def s004_069() -> Verdict:
    """Radix over comparisons for keys of 16 bits, and of 32 against the fastest of the default sorts and the slowest."""
    found = experiments.load("sorting", RECORDED).measured
    small = found["16 bits, stable"] / found["16 bits, default"]
    large = found["32 bits, two radix passes"] / found["32 bits, default, no 512-bit registers"]
    plain = found["32 bits, two radix passes"] / found["32 bits, default, no vectors"]
    return Verdict(by_cases(ratio > 1 for ratio in (small, large, plain)), small=small, large=large, plain=plain)


def s004_072() -> Verdict:
    """The recorded layers of Q8: is unfolding and multiplying ever, or always, faster than the library?"""
    found = experiments.load("im2col", RECORDED).measured
    layers = [name.removesuffix(", library") for name in found if name.endswith(", library")]
    ratios = [found[f"{layer}, unfold + product"] / found[f"{layer}, library"] for layer in layers]
    ruling = "holds" if all(ratio < 1 for ratio in ratios) else "fails"  # "always"
    wins = sum(ratio > 1 for ratio in ratios)
    return Verdict(ruling, wins=wins, layers=len(layers), most=max(ratios), least=min(ratios))


def s004_073() -> Verdict:
    """All places taken by warps with one instruction, and half of them by warps with three; a load takes 400 clocks."""
    full = multiprocessors.issue_share(16, 1, latency=400)
    half = multiprocessors.issue_share(8, 3, latency=400)
    return Verdict("holds" if half > full else "fails", full=full, half=half, gain=half / full)


def s004_075() -> Verdict:
    """Does the number of active warps tell how busy a scheduler is?"""
    busy = multiprocessors.issue_share(16, 1, latency=400)
    few = multiprocessors.issue_share(4, 8, latency=400)
    return Verdict("fails" if few > busy else "holds", warps=16, busy=busy, few=few)


def s004_077() -> Verdict:
    """The two times that the claim gives, by the data sheet."""
    device = hardware.load(A100)
    work = 2 * 4096**3
    product = work / (0.8 * device.peak("fp16")) * 1e3
    addition = roofline.elementwise(4096**2, reads=2, dtype="fp16").on(A100).seconds * 1e3
    within = abs(product / 30 - 1) < 0.5 and abs(addition / 5 - 1) < 0.5
    return Verdict(
        "holds" if within else "fails",
        product=product,
        addition=addition,
        rate=work / 30e-3 / 1e12,
        share=addition / (product + addition),
    )


def s004_079() -> Verdict:
    """Bytes of an intermediate that fusing removes, against those of none, one and several spilled numbers."""
    saved, many = 8, 4
    spilled = {count: 8 * count for count in (0, 1, many)}
    return Verdict(
        by_cases(nbytes > saved for nbytes in spilled.values()),
        saved=saved,
        one=spilled[1],
        several=spilled[many],
        many=many,
    )


def s004_081() -> Verdict:
    """Dropouts in the graph of a scripted module in evaluation mode, and after freezing."""
    scripted, frozen = dropouts()
    return Verdict("holds" if not scripted else "fails", scripted=scripted, frozen=frozen)


def dropouts() -> tuple[int, int]:
    """(dropouts in the scripted graph, dropouts in the frozen one) of a linear layer and a dropout."""
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.1)).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is deprecated, which the lesson says
        scripted = torch.jit.script(module)
        frozen = torch.jit.freeze(scripted)
    return tuple(str(form.inlined_graph).count("aten::dropout") for form in (scripted, frozen))


def s001_23() -> Verdict:
    """Warps at 32 and at 255 registers a thread, and how busy a scheduler is with more independent work in the few."""
    fits = {
        registers: multiprocessors.occupancy(threads=256, registers=registers, shared=0, device=A100)
        for registers in (32, 255)
    }
    most, few = fits[32].warps, fits[255].warps
    many = multiprocessors.issue_share(most // 4, 1, latency=30)
    busy = {count: multiprocessors.issue_share(few // 4, count, latency=30) for count in (4, 16)}
    return Verdict(
        by_cases(share > many for share in busy.values()),
        registers=255,
        warps=few,
        most=most,
        share=fits[255].share,
        needed=most // few,
        many=many,
        four=busy[4],
        sixteen=busy[16],
    )
