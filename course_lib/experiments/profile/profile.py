"""The measured profile of this machine: peaks, memory bandwidth, call overhead; kept in a file that
`hardware.this_machine` reads. What else was measured stands there under `raw`: see `steps.FULL`.

Conventions, also written into the file:
* a peak is the best median rate over square matrix products of a few sizes, `torch.mm(a, b, out=c)`, 2·n³ FLOP each;
* memory bandwidth is that of `torch.add(a, b, out=c)` on arrays much larger than the last-level cache, counted as 3
  streams (two read, one written; the cache line that some processors read before they write it is not counted);
* call overhead is the time of the same addition on 16 numbers;
* the bandwidth of a cache is the best rate of that addition over working sets that fill at most half of it, all its
  copies together, and do not fit into the level before; None where such a call mostly waits for its own overhead, or
  where the rate is not above that of the level beyond;
* a link's bandwidth is that of copies from and to pinned memory, the slower direction.
"""

import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import date

from course_lib import atomic
from course_lib.accounting import hardware
from course_lib.experiments.profile import gauges, machine, steps
from course_lib.experiments.profile.steps import Step
from course_lib.experiments.running import timing
from course_lib.words import words

say = words(__file__)

BANDWIDTH_PATTERN = "torch.add(a, b, out=c) in fp32, arrays larger than the caches, 3 streams of 4 bytes an element"
PEAK_PATTERN = "torch.mm(a, b, out=c), square, best median of the sizes in raw"
OVERHEAD_PATTERN = "torch.add(a, b, out=c) on 16 numbers"
NEGLIGIBLE = 0.2  # share of a call's time up to which its overhead leaves the call a measure of bandwidth
WORTHWHILE = 0.25  # a dtype whose matrix product runs below this share of the fp32 rate is emulated, and gets no peak

_in_memory: dict | None = None  # profile measured by this process where none could be read or kept


# ---------------------------------------------------------------- which profile holds


def current(on: str) -> tuple[hardware.Device, str]:
    """(the device to predict with, sentences saying whence).

    The full profile measured in this process, else the kept one; where neither fits, a quick one (≤ 3 s) is measured
    into memory.
    """
    mine = _in_memory if _in_memory and _in_memory[on] and not stale(_in_memory) else None
    if mine and not mine["conditions"]["quick"]:
        return hardware.measured(mine[on]), say("predicted", "here")
    try:
        kept = read()
        reason = stale(kept)
        if not reason:
            others = kept["conditions"].get("used_by_others") or 0.0
            case = "busy" if others > machine.BUSY else "kept"
            return hardware.this_machine(on), say("predicted", case, date=kept[on]["measured_at"], others=others)
    except hardware.ProfileMissing as missing:
        reason = str(missing)
    if not mine:
        mine = measure(quick=True)
        use(mine)
    return hardware.measured(mine[on]), say("predicted", "quick", reason=reason)


def read() -> dict:
    """The kept profile as JSON. Raises hardware.ProfileMissing as `hardware.this_machine` does."""
    hardware.this_machine("cpu")  # both decide whether it can be read
    hardware.this_machine("auto")
    return json.loads(hardware.profile_path().read_text("utf-8"))


def stale(data: dict) -> str:
    """A sentence why `data` does not describe this machine and torch any more; "" when it does."""
    then, now = data.get("conditions"), conditions()
    if data["schema"] != hardware.PROFILE_SCHEMA or not isinstance(then, dict):
        return say("stale", "form")
    if then.get("machine") != now["machine"]:
        return say("stale", "machine")
    if then.get("torch") != now["torch"]:
        return say("stale", "torch", torch=then.get("torch"))
    if not then.get("quick") and (missing := steps.missing(data.get("raw", {}))):
        return say("stale", "older", missing=", ".join(missing))
    return ""


def conditions() -> dict:
    """Under what something is measured now: versions, threads, machine."""
    torch = timing.need_torch()
    with gauges.reading(torch) as gauge:
        driver = gauge and gauge.driver()
    return {
        "machine": asdict(machine.this()),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
        **({"cuda": torch.version.cuda, "driver": driver} if torch.cuda.is_available() else {}),
    }


def entry(device: hardware.Device) -> dict:
    """The entry of the profile file of a measured Device."""
    facts = ("id", "name", "kind", "peaks", "memory_bandwidth", "memory_capacity", "call_overhead", "links")
    return {
        **{fact: getattr(device, fact) for fact in facts},
        "levels": {name: asdict(level) for name, level in device.levels.items()},
        "measured_at": device.source("memory_bandwidth")[1],
    }


def use(data: dict) -> None:
    """Predict with this profile in this process, whatever is kept."""
    global _in_memory
    _in_memory = data


def keep(data: dict) -> None:
    """Keep the profile for `hardware.this_machine`, replacing the old one in one step; OSError where the folder cannot
    be written.

    It is used in this process either way.
    """
    use(data)
    atomic.replace(hardware.profile_path(), json.dumps(data, indent=1, allow_nan=False))


# ---------------------------------------------------------------- measuring


def measure(quick: bool = False, progress: Callable[[list[Step]], Iterable[Step]] = iter) -> dict:
    """Measure the processor, and the GPU if torch sees one: the content of the profile file.

    quick: peaks, bandwidth and overhead only (≤ 3 s on two cores); else all of `steps.FULL` and more repeats
    (≤ 20 s).
    """
    torch = timing.need_torch()
    on = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    raw: dict[str, dict] = {name: {} for name in on}
    todo = [step for name in on for step in steps.steps(torch, name, quick, raw[name])]
    start = machine.Clock.now()
    with torch.inference_mode():
        for step in progress(todo):
            step.run()
    others = start.used_by_others()
    return {
        "schema": hardware.PROFILE_SCHEMA,
        "cpu": _entry(torch, "cpu", raw["cpu"]),
        "cuda": _entry(torch, "cuda", raw["cuda"]) if "cuda" in raw else None,
        "conditions": {
            **conditions(),
            "date": date.today().isoformat(),
            "quick": quick,
            "used_by_others": others,
            "peaks": PEAK_PATTERN,
            "memory_bandwidth": BANDWIDTH_PATTERN,
            "call_overhead": OVERHEAD_PATTERN,
        },
        "raw": raw,
    }


def _entry(torch, on: str, raw: dict) -> dict:
    """An entry of the profile file from its raw measurements."""
    this = machine.this()
    fp32 = _best(raw["gemm"]["fp32"])
    peaks = {
        dtype: max(size["rate"] for size in sizes.values())
        for dtype, sizes in raw["gemm"].items()
        if _best(sizes) >= WORTHWHILE * fp32
    }
    return {
        "id": "this-machine" if on == "cpu" else "this-gpu",
        "name": this.cpu_name if on == "cpu" else this.gpu,
        "kind": "cpu" if on == "cpu" else "gpu",
        "peaks": peaks,
        "memory_bandwidth": raw["bandwidth"]["rate"],
        "memory_capacity": this.memory if on == "cpu" else torch.cuda.get_device_properties(0).total_memory,
        "call_overhead": raw["call_overhead"]["add of 16 numbers"]["median"],
        "levels": _levels(raw),
        "links": {"pcie": min(raw["pcie"][way]["rate"] for way in raw["pcie"] if way.startswith("pinned"))}
        if "pcie" in raw
        else {},
        "measured_at": date.today().isoformat(),
    }


def _best(sizes: dict) -> float:
    """The fastest single repeat in FLOP/s: the least disturbed one decides whether a dtype is worth measuring."""
    return max(size["rate"] * size["median"] / min(size["seconds"]) for size in sizes.values())


def _levels(raw: dict) -> dict[str, dict]:
    """The caches of an entry, the nearest first, from their sizes and the bandwidth by working set."""
    overhead = raw["call_overhead"]["add of 16 numbers"]["median"]
    rates = {
        int(size): found["rate"]
        for size, found in raw.get("staircase", {}).items()
        if overhead <= NEGLIGIBLE * found["median"]
    }
    capacities = {name: level["bytes"] * level["copies"] for name, level in raw["levels"].items()}
    smaller = dict(zip(list(capacities)[1:], capacities.values(), strict=False))  # capacity of the level before
    found, beyond = {}, raw["bandwidth"]["rate"]
    for name, capacity in reversed(capacities.items()):
        inside = [rate for size, rate in rates.items() if smaller.get(name, 0) < size <= capacity / 2]
        bandwidth = max((rate for rate in inside if rate > beyond), default=None)
        found[name] = {"capacity": capacity, "bandwidth": bandwidth}
        beyond = bandwidth or beyond
    return {name: found[name] for name in capacities}
