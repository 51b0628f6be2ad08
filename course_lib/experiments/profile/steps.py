"""What the profile measures, step by step. Each step times for about its budget and writes what it found to `raw`
(`parts` says how).

The budgets of a full profile of a processor add up to about 7 s; warming up, making tensors, and calls that are longer
than their budget make it less than 20 s on two cores. A quick profile takes the first three kinds of steps only.
"""

from collections.abc import Callable
from dataclasses import dataclass

from course_lib.experiments.profile import machine, parts
from course_lib.experiments.running.bench import Bench
from course_lib.words import words

say = words(__file__)

# What a full profile has under `raw` for each device, beside what a quick one has.
FULL = {
    "cpu": ("levels", "staircase", "fresh_allocation", "functions", "latency", "disk"),
    "cuda": ("levels", "staircase", "fresh_allocation", "functions", "latency", "launch", "pcie"),
}


@dataclass(frozen=True)
class Step:
    """One part of the measurement, so that its progress can be shown; budget: seconds that it times for."""

    name: str
    budget: float
    run: Callable[[], None]


def steps(torch, on: str, quick: bool, raw: dict) -> list[Step]:
    """The steps that fill `raw` for the processor ("cpu") or the GPU ("cuda")."""
    bench = Bench.on_device(torch, on)
    last_level, memory = _sizes(torch, on)
    # each of three arrays: at least 64 MB and 4 (quick: 1) times the last-level cache, but at most 1/32 of the memory
    large = min(max(64 * parts.MB, (1 if quick else 4) * last_level), memory // 32)
    caches = machine.caches() if on == "cpu" else {"l2": (last_level, 1)}
    levels = {name: {"bytes": each, "copies": copies} for name, (each, copies) in caches.items()}
    raw.update(gemm={}, bandwidth={}, call_overhead={}, last_level_cache=last_level, levels=levels)

    def step(what: str, budget: float, measure: Callable, *arguments, **values) -> Step:
        return Step(say(on, what, **values), budget, lambda: measure(bench, *arguments, budget, raw))

    sizes = _square_sides(on, quick)
    each = 0.1 if quick else 0.2  # s for one matrix product, one round of the bandwidth
    products = {
        dtype: step("products", each * len(sizes), parts.gemm, dtype, sizes, dtype=dtype)
        for dtype in dtypes(torch, on, quick)
    }
    bandwidth = step("bandwidth", each, parts.memory_bandwidth, large // 4)
    overhead = step("overhead", 2 * each, parts.call_overhead)
    if quick:
        return [bandwidth, *products.values(), overhead]
    # On a shared machine the bandwidth drifts with what the neighbours do: full profiles take it three times, and the
    # fp32 products twice, some seconds apart.
    found = [
        bandwidth,
        *products.values(),
        overhead,
        bandwidth,
        step("staircase", 0.7, parts.staircase, 3 * large),
        step("latency", 0.4, parts.latency),
        step("fresh_allocation", 0.7, parts.fresh_allocation),
        step("functions", 0.5, parts.functions),
        products["fp32"],
        bandwidth,
    ]
    if on == "cpu":
        found.append(step("disk", 0.2, parts.disk))
    else:
        found.append(step("launch", 0.2, parts.launch))
        found.append(step("pcie", 0.4, parts.pcie))
    return found


def missing(raw: dict) -> list[str]:
    """What a full profile of today has and these raw measurements lack."""
    return [key for on, found in raw.items() for key in FULL[on] if key not in found]


def _sizes(torch, on: str) -> tuple[int, int]:
    """(bytes of the last-level cache, bytes of memory)"""
    if on == "cpu":
        return machine.last_level_cache(), machine.memory()
    properties = torch.cuda.get_device_properties(0)
    return properties.L2_cache_size, properties.total_memory


def dtypes(torch, on: str, quick: bool) -> list[str]:
    """Formats whose peak is measured, fp32 first. tf32 since compute capability 8.0, fp8 since 8.9."""
    if on == "cpu":
        return ["fp32", "bf16"] if quick else ["fp32", "bf16", "fp64"]
    capability = torch.cuda.get_device_capability(0)
    tf32 = ["tf32"] if capability >= (8, 0) else []
    fp8 = ["fp8-e4m3"] if capability >= (8, 9) and not quick else []
    return ["fp32", *tf32, "bf16", "fp16", *([] if quick else ["fp64"]), *fp8]


def _square_sides(on: str, quick: bool) -> tuple[int, ...]:
    if on == "cpu":
        return (512, 1024) if quick else (512, 1024, 2048)
    return (4096,) if quick else (2048, 4096, 8192)
