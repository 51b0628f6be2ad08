"""Claims on trial in Q12: each function decides one claim by computing it and returns the verdict with its numbers."""

from course_lib import experiments
from course_lib.accounting import hardware, roofline
from course_lib.accounting.queues import launch, pipeline
from course_lib.teaching.cards.verdict import Verdict, by_cases
from course_lib.units.q12_eighty_percent_busy.needles import needles

H100, A100 = "h100-sxm", "a100-40-sxm"
ISSUE, GAP = 7e-6, 1e-6  # s
RECORDED = "amd-epyc-2-cores"  # the processor on which this project recorded its experiments


def s003_39() -> Verdict:
    """A gauge of 99 % or more beside less than 1 % of the peak: a kernel of one block."""
    one = needles(blocks=1, nbytes=1e3, flops=1e6, chain=1e-3)
    found = one.util > 0.99 and one.peak < 0.01
    return Verdict("holds" if found else "fails", util=one.util, active=one.active, peak=one.peak)


def s004_024() -> Verdict:
    """Three kernels on all SMs: a long addition, a chain of steps that wait for each other, a large product."""
    add, product = roofline.elementwise(2**28, reads=2, dtype="bf16"), roofline.matmul(8192, 8192, 8192, dtype="bf16")
    shown = {
        "addition": needles(blocks=1320, nbytes=add.bytes, flops=add.flops),
        "chain": needles(blocks=132, nbytes=10**6, flops=10**6, chain=1e-3),
        "product": needles(blocks=1320, nbytes=product.bytes, flops=product.flops),
    }
    lit = {name: gauges for name, gauges in shown.items() if gauges.active > 0.8}
    everywhere = all(gauges.waits == "compute" for gauges in lit.values())
    recorded = experiments.load("utilisation_gauges", RECORDED).measured
    return Verdict(
        "holds" if everywhere else "fails",
        active={name: gauges.active for name, gauges in lit.items()},
        memory={name: gauges.memory for name, gauges in lit.items()},
        peak={name: gauges.peak for name, gauges in lit.items()},
        gauge=recorded["additions: gauge"],
        bandwidth=recorded["additions: of the bandwidth"],
        used=recorded["additions: of the peak"],
    )


def s004_093() -> Verdict:
    """Eight workers; the input needs some times as long as the step, and a processor core of its own or none."""
    times = {"asleep-3": (3, None), "asleep-20": (20, None), "cores-8": (6, 8), "cores-4": (6, 4), "enough": (3, 4)}
    pace = {}
    for name, (fetch, cores) in times.items():
        # workers that compute are no more than the cores
        stages = {"fetch": (float(fetch), min(8, cores or 8)), "step": 1.0}
        pace[name] = pipeline.rate(stages).per_second
    return Verdict(by_cases(share == 1 for share in pace.values()), pace=pace)


def s004_035() -> Verdict:
    several = launch.launch_time(100, issue=ISSUE, run=50e-6, gap=GAP)
    fused = launch.launch_time(1, issue=ISSUE, run=100 * 50e-6)
    gain = several.seconds / fused.seconds
    claimed = 100 * (ISSUE + 50e-6) / (ISSUE + 100 * 50e-6)
    fits = abs(gain / claimed - 1) < 0.05
    return Verdict(
        "holds" if fits else "fails", gain=gain, claimed=claimed, several=several.seconds, fused=fused.seconds
    )


def _queue(runs, graph=False) -> float:
    """Seconds until unequal kernels are over: each starts when it is launched and the one before, with its gap, is over."""
    launched = free = 0.0
    for place, run in enumerate(runs):
        launched += 0.0 if graph and place else ISSUE
        free = max(launched, free) + run + GAP
    return free - GAP


def s004_036() -> Verdict:
    """100 kernels, launched one by one and as a graph; and passes that others have timed both ways."""
    gain = {}
    for run in (50, 10, 6, 5, 2, 1):
        times = {"issue": ISSUE, "run": run * 1e-6, "gap": GAP}
        alone, graph = (launch.launch_time(100, **times, graph=graph).seconds for graph in (False, True))
        gain[run] = alone / graph
    mixed = _queue([40e-6] * 4 + [1e-6] * 40) / _queue([40e-6] * 4 + [1e-6] * 40, graph=True)
    published = experiments.published.get
    small = published("b200-1b-fwd-eager").value / published("b200-1b-fwd-graphs").value
    decode = published("cloudai-8b-decode-eager").value / published("cloudai-8b-decode-graph").value
    inside = [1.05 <= value <= 1.3 for value in (*gain.values(), mixed, small, decode)]
    return Verdict(by_cases(inside), gain=gain, mixed=mixed, small=small, decode=decode)


def s004_004() -> Verdict:
    """A launch of 5 µs against the run of additions in bf16 of various sizes on an H100."""
    runs = {
        2**power: roofline.elementwise(2**power, reads=2, dtype="bf16").on(H100).seconds for power in (16, 20, 24, 28)
    }
    return Verdict(by_cases(run < 5e-6 for run in runs.values()), runs={size: run * 1e6 for size, run in runs.items()})


def s004_027() -> Verdict:
    """SpeedOfLight's memory figure is the largest share of any memory level: which level is above 80 %?"""
    kernels = {
        "streaming": {"l2": 1e9, "memory": 1e9},
        "reusing": {"l2": 20e9, "memory": 1e9},
    }
    device, of_memory, shown = hardware.load(A100), {}, {}
    for name, moved in kernels.items():
        times = {level: nbytes / device.bandwidth(level) for level, nbytes in moved.items()}
        longest = max(times.values())
        shown[name] = max(time / longest for time in times.values())
        of_memory[name] = times["memory"] / longest
    assert all(share > 0.8 for share in shown.values())
    return Verdict(by_cases(share > 0.8 for share in of_memory.values()), of_memory=of_memory)


def s004_028() -> Verdict:
    """Shares of 1.5 TB/s, and of what an A100's data sheet says."""
    sheet = hardware.load(A100).memory_bandwidth
    shares = {rate: (rate / 1500, rate * 1e9 / sheet) for rate in (1200, 600)}
    right = abs(shares[1200][0] - 0.80) < 0.005 and abs(shares[600][0] - 0.40) < 0.005
    return Verdict("holds" if right else "fails", shares=shares)


def s004_032() -> Verdict:
    """What the L1 caches would have to hand out for 85 % of an A100's memory bandwidth to be left over."""
    device = hardware.load(A100)
    passes = (1 - 0.95) * (1 - 0.20)  # of what the warps ask for, this share misses both caches
    needed = 0.85 * device.memory_bandwidth / passes
    limit = device.bandwidth("shared")  # L1 and shared memory are one array with one path
    return Verdict("holds" if needed <= limit else "fails", passes=passes, needed=needed / 1e12, limit=limit / 1e12)


def sectors(lanes=32, size=4, stride=1) -> int:
    """Sectors of 32 B that a warp's request touches."""
    return len({(lane * stride * size) // 32 for lane in range(lanes)})


def s004_033() -> Verdict:
    best = {size: sectors(size=size) for size in (4, 8, 16)}
    least = next(lanes for lanes in range(1, 33) if sectors(lanes) > 3)
    return Verdict("holds" if best[4] == 1 else "fails", best=best, least=least, worst=sectors(stride=8))
