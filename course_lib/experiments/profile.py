"""The measured profile of this machine: peaks, memory bandwidth, call overhead; kept in a file that
`hardware.this_machine` reads.

Conventions, also written into the file:
* a peak is the best median rate over square matrix products of a few sizes, `torch.mm(a, b, out=c)`, 2·n³ FLOP each;
* memory bandwidth is that of `torch.add(a, b, out=c)` on arrays much larger than the last-level cache, counted as 3
  streams (two read, one written; the cache line that some processors read before they write it is not counted);
* call overhead is the time of the same addition on 16 numbers.
"""

import contextlib
import json
import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from course_lib.accounting import hardware
from course_lib.experiments import files, machine, timing
from course_lib.experiments.bench import Bench

BANDWIDTH_PATTERN = "torch.add(a, b, out=c) in fp32, arrays larger than the caches, 3 streams of 4 bytes an element"
PEAK_PATTERN = "torch.mm(a, b, out=c), square, best median of the sizes in raw"
OVERHEAD_PATTERN = "torch.add(a, b, out=c) on 16 numbers"
WORTHWHILE = 0.25  # a dtype whose matrix product runs below this share of the fp32 rate is emulated, and gets no peak
LONGEST = 0.5  # s; a matrix product that would take longer is left out

_in_memory: dict | None = None  # profile measured by this process where none could be read or kept


@dataclass(frozen=True)
class Step:
    """One part of the measurement, so that its progress can be shown."""

    label: str
    run: Callable[[], None]


# ---------------------------------------------------------------- which profile holds


def current(on: str) -> tuple[hardware.Device, str]:
    """(the device to predict with, sentences saying whence).

    The full profile measured in this process, else the kept one; where neither fits, a quick one (≤ 3 s) is measured
    into memory.
    """
    mine = _in_memory if _in_memory and _in_memory[on] and not stale(_in_memory) else None
    if mine and not mine["conditions"]["quick"]:
        return device(mine[on]), "Predicted with the profile of this machine that was measured in this process."
    try:
        kept = read()
        reason = stale(kept)
        if not reason:
            note = f"Predicted with this machine's profile of {kept[on]['measured_at']}."
            others = kept["conditions"].get("used_by_others") or 0.0
            if others > machine.BUSY:
                note += f" Other programs used {others:.0%} of the processor then: run `course doctor` again."
            return hardware.this_machine(on), note
    except hardware.ProfileMissing as missing:
        reason = str(missing)
    if not mine:
        use(measure(quick=True))
    return device(_in_memory[on]), f"Predicted with a quick profile measured in this process. {reason}"


def read() -> dict:
    """The kept profile as JSON. Raises hardware.ProfileMissing as `hardware.this_machine` does."""
    hardware.this_machine("cpu")  # both decide whether it can be read
    hardware.this_machine("auto")
    return json.loads(hardware.profile_path().read_text("utf-8"))


def stale(data: dict) -> str:
    """A sentence why `data` does not describe this machine and torch any more; "" when it does."""
    then, now = data.get("conditions"), conditions()
    if data["schema"] != hardware.PROFILE_SCHEMA or not isinstance(then, dict):
        return "The kept profile has another form: run `course doctor`."
    if then.get("machine") != now["machine"]:
        return "The kept profile is of another machine: run `course doctor`."
    if then.get("torch") != now["torch"]:
        return f"The kept profile was measured with PyTorch {then.get('torch')}: run `course doctor`."
    return ""


def conditions() -> dict:
    """Under what something is measured now: versions, threads, machine."""
    torch = timing.need_torch()
    return {
        "machine": machine.this().as_dict(),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "threads": torch.get_num_threads(),
        **({"cuda": torch.version.cuda, "driver": _driver()} if torch.cuda.is_available() else {}),
    }


def _driver() -> str | None:
    """Version of the NVIDIA driver through NVML, if its Python binding is installed."""
    try:
        import pynvml

        pynvml.nvmlInit()
        return str(pynvml.nvmlSystemGetDriverVersion())
    except Exception:  # an optional detail: no binding, no library, no permission
        return None


def device(entry: dict) -> hardware.Device:
    """The Device of an entry of the profile file."""
    fields = {key: value for key, value in entry.items() if key != "measured_at"}
    source = ("measured here by `course doctor`", entry["measured_at"])
    return hardware.Device(
        **fields, sources=dict.fromkeys(("peaks", "memory_bandwidth", "memory_capacity", "call_overhead"), source)
    )


def entry(device: hardware.Device) -> dict:
    """The entry of the profile file of a measured Device."""
    return {
        "id": device.id,
        "name": device.name,
        "kind": device.kind,
        "peaks": dict(device.peaks),
        "memory_bandwidth": device.memory_bandwidth,
        "memory_capacity": device.memory_capacity,
        "call_overhead": device.call_overhead,
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
    files.replace(hardware.profile_path(), json.dumps(data, indent=1, allow_nan=False))


# ---------------------------------------------------------------- measuring


def measure(quick: bool = False, progress: Callable[[list[Step]], Iterable[Step]] = iter) -> dict:
    """Measure the processor, and the GPU if torch sees one: the content of the profile file.

    quick: peaks, bandwidth and overhead only (≤ 3 s on two cores); else also caches, fresh allocation and more repeats
    (≤ 20 s).
    """
    torch = timing.need_torch()
    on = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]
    raw: dict[str, dict] = {name: {} for name in on}
    steps = [step for name in on for step in _steps(torch, name, quick, raw[name])]
    start = machine.Clock.now()
    with torch.inference_mode():
        for step in progress(steps):
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
        "measured_at": date.today().isoformat(),
    }


def _steps(torch, on: str, quick: bool, raw: dict) -> list[Step]:
    bench = Bench.on_device(torch, on)
    seconds = 0.1 if quick else 0.4
    last_level = machine.last_level_cache() if on == "cpu" else torch.cuda.get_device_properties(0).L2_cache_size
    memory = machine.memory() if on == "cpu" else torch.cuda.get_device_properties(0).total_memory
    # each of three arrays: at least 64 MB and 4 (quick: 1) times the last-level cache, but at most 1/32 of the memory
    large = min(max(64 * 10**6, (1 if quick else 4) * last_level), memory // 32)
    label = "processor" if on == "cpu" else "GPU"
    raw.update(gemm={}, bandwidth={}, call_overhead={}, last_level_cache=last_level)
    steps = [
        Step(f"{label}: {dtype} matrix products", lambda dtype=dtype: _gemm(bench, dtype, quick, seconds, raw))
        for dtype in _dtypes(torch, on, quick)
    ]
    # On a shared machine the bandwidth drifts with what the neighbours do: full profiles take it three times, and the
    # fp32 products twice, some seconds apart.
    bandwidth = Step(f"{label}: memory bandwidth", lambda: _bandwidth(bench, large // 4, seconds, raw))
    steps = [bandwidth, *steps, Step(f"{label}: call overhead", lambda: _overhead(bench, seconds, raw))]
    if not quick:
        steps.append(bandwidth)
        steps.append(Step(f"{label}: bandwidth by working set", lambda: _staircase(bench, 3 * large, raw)))
        steps.append(Step(f"{label}: fresh allocation", lambda: _fresh_allocation(bench, raw)))
        steps.append(Step(f"{label}: fp32 matrix products again", lambda: _gemm(bench, "fp32", quick, seconds, raw)))
        steps.append(bandwidth)
    return steps


def _dtypes(torch, on: str, quick: bool) -> list[str]:
    """Formats whose peak is measured, fp32 first. The GPU has tf32 since compute capability 8."""
    if on == "cpu":
        return ["fp32", "bf16"] if quick else ["fp32", "bf16", "fp64"]
    tf32 = ["tf32"] if torch.cuda.get_device_capability(0) >= (8, 0) else []
    return ["fp32", *tf32, "bf16", "fp16"] if quick else ["fp32", *tf32, "bf16", "fp16", "fp64"]


def _measure(call, *, seconds: float, at_least: int = 5) -> timing.Timing:
    """`timing.measure`, where an interrupt ends the whole profile: half a profile is none."""
    timed = timing.measure(call, seconds=seconds, at_least=at_least)
    if timed.interrupted:
        raise KeyboardInterrupt
    return timed


def _record(timed: timing.Timing, amount: float | None = None) -> dict:
    """A measurement as it is kept: median, quartiles, repeats, and the rate at which `amount` (FLOP or B) was done."""
    first, third = timed.quartiles
    record = {"median": timed.median, "q1": first, "q3": third, "seconds": list(timed.seconds)}
    return record if amount is None else {**record, "rate": amount / timed.median}


def _gemm(bench: Bench, dtype: str, quick: bool, seconds: float, raw: dict) -> None:
    """2·n³ FLOP in `dtype` for a few n, as far as they take no more than about `LONGEST`."""
    if bench.on == "cpu":
        sizes = (512, 1024) if quick else (512, 1024, 2048)
    else:
        sizes = (4096,) if quick else (2048, 4096, 8192)
    kept = raw["gemm"].setdefault(dtype, {})
    with _fp32_products(bench.torch, "high" if dtype == "tf32" else "highest"):
        for n in sizes:
            if str(n // 2) in kept and 8 * min(kept[str(n // 2)]["seconds"]) > LONGEST:
                return
            a, b, c = bench.random(n, n, dtype=dtype), bench.random(n, n, dtype=dtype), bench.empty(n, n, dtype=dtype)
            timed = _measure(lambda a=a, b=b, c=c: bench.torch.mm(a, b, out=c), seconds=seconds, at_least=3)
            if str(n) not in kept or timed.median < kept[str(n)]["median"]:  # the better of two rounds: it is a ceiling
                kept[str(n)] = _record(timed, 2 * n**3)


def _best(sizes: dict) -> float:
    """The fastest single repeat in FLOP/s: the least disturbed one decides whether a dtype is worth measuring."""
    return max(size["rate"] * size["median"] / min(size["seconds"]) for size in sizes.values())


@contextlib.contextmanager
def _fp32_products(torch, precision: str):
    """Whether products of fp32 matrices may use TF32 ("high") or not ("highest"), for the length of a with-block."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(precision)
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def _add(bench: Bench, elements: int, seconds: float) -> timing.Timing:
    a, b, c = bench.random(elements), bench.random(elements), bench.empty(elements)
    return _measure(lambda: bench.torch.add(a, b, out=c), seconds=seconds)


def _bandwidth(bench: Bench, elements: int, seconds: float, raw: dict) -> None:
    """Rate of the addition on large arrays; several rounds are pooled."""
    timed = _add(bench, elements, seconds)
    rounds = [*raw["bandwidth"].get("rounds", []), list(timed.seconds)]
    pooled = timing.Timing(tuple(s for round_ in rounds for s in round_))
    raw["bandwidth"] = {"array_bytes": 4 * elements, **_record(pooled, 12 * elements), "rounds": rounds}


def _overhead(bench: Bench, seconds: float, raw: dict) -> None:
    raw["call_overhead"]["add of 16 numbers"] = _record(_add(bench, 16, seconds))
    a, b, c = bench.random(8, 8), bench.random(8, 8), bench.empty(8, 8)
    raw["call_overhead"]["matrix product 8×8×8"] = _record(
        _measure(lambda: bench.torch.mm(a, b, out=c), seconds=seconds)
    )


def _staircase(bench: Bench, largest: int, raw: dict) -> None:
    """Rate of the same addition by working set (all three arrays together, in bytes), doubling from 24 KiB on."""
    raw["staircase"] = {}
    working_set = 24 * 1024
    while working_set <= largest:
        elements = working_set // 12
        raw["staircase"][str(12 * elements)] = _record(_add(bench, elements, 0.05), 12 * elements)
        working_set *= 2


def _fresh_allocation(bench: Bench, raw: dict) -> None:
    """A large addition with a new result each time, and with `out=`: the difference is what fresh memory costs."""
    elements = 2**24
    a, b = bench.random(elements), bench.random(elements)
    raw["fresh_allocation"] = {
        "elements": elements,
        "new result": _record(_measure(lambda: bench.torch.add(a, b), seconds=0.5)),
        "out=": _record(_add(bench, elements, 0.2)),
    }
