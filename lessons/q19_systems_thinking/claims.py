"""Claims on trial in Q19: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib.accounting import economics, hardware
from course_lib.accounting.queues import pipeline
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q19_systems_thinking import stages

MATRIX = {"A": (0.5, 2), "B": (0.3, 3), "C": (0.1, 10)}  # share of the time, speed-up


def _saved(part, speedup) -> float:
    return part * (1 - 1 / speedup)


def s004_021() -> Verdict:
    """Of 100 ms: a large part that hardly gets faster, a small one that does; and both alike."""
    saved = {"large": _saved(50, 1.1), "small": _saved(30, 3)}
    alike = (_saved(50, 2), _saved(30, 2))
    right = (saved["large"] > saved["small"], alike[0] > alike[1])
    return Verdict(by_cases(right), saved=saved, alike=alike)


def s004_055() -> Verdict:
    gain = economics.amdahl(fraction=120 / 500, speedup=120 / 40)
    most = economics.amdahl(fraction=120 / 500, speedup=float("inf"))
    after = 500 / gain
    return Verdict("holds" if abs(after - 380) < 1 else "fails", gain=gain, most=most, after=after, saved=500 - after)


def s004_003() -> Verdict:
    turn, over = (stages.step(stages.SLOW, stages.PAUSE, overlapped=way) for way in (False, True))
    added = sum(stages.SLOW.values()) + stages.PAUSE
    right = [abs(found - added) < 1e-6 for found in (turn, over)]
    return Verdict(by_cases(right), turn=turn, over=over)


def s004_017() -> Verdict:
    gain = {name: economics.amdahl(fraction=share, speedup=speedup) for name, (share, speedup) in MATRIX.items()}
    left = {name: 100 / value for name, value in gain.items()}
    rest = 1 - sum(share - share / speedup for share, speedup in MATRIX.values())
    right = all(abs(gain[name] - said) < 0.005 for name, said in {"A": 1.33, "B": 1.25, "C": 1.1}.items())
    return Verdict("holds" if right else "fails", gain=gain, left=left, all=1 / rest)


def s004_018() -> Verdict:
    fused, alone = economics.amdahl(fraction=0.8, speedup=1.5), economics.amdahl(fraction=0.5, speedup=2)
    both = 100 / (20 + 50 / 2 + 30 / 3)
    right = (fused > alone, fused > both)
    return Verdict(by_cases(right), fused=fused, alone=alone, both=both)


def s004_023() -> Verdict:
    half, faster = (1 - 1 / economics.amdahl(fraction=0.4, speedup=speedup) for speedup in (2, 1.5))
    right = [abs(saved - 0.2) < 1e-6 for saved in (half, faster)]
    return Verdict(by_cases(right), half=half, faster=faster)


def s004_061() -> Verdict:
    """Recomputing adds a third of the work (one forward pass of three); the diary's 325 ms are 1.3 times 250."""
    step = 2 * 325
    gain = (32 / step) / (16 / 250)
    return Verdict("holds" if gain > 1.5 else "fails", step=step, gain=gain)


def s000_31() -> Verdict:
    before, after = (pipeline.rate(parts).slowest for parts in (stages.SLOW, stages.FAST))
    five, fifty = (
        stages.step(stages.SLOW, stages.PAUSE) / stages.step({**stages.SLOW, "compute": ms}, stages.PAUSE)
        for ms in (10, 1)
    )
    moved = before != after and five == fifty
    return Verdict("holds" if moved else "fails", first=before, second=after, five=five, fifty=fifty)


def s001_29() -> Verdict:
    peaks = hardware.load("a100-40-sxm").peaks
    dtype = peaks["bf16"] / peaks["fp32"]
    tenth = economics.amdahl(fraction=0.1, speedup=float("inf"))
    return Verdict("holds-if" if dtype > tenth > 1 else "fails", dtype=dtype, tenth=tenth)
